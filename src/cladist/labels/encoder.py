"""Encode every accepted form of y as a `LabelMatrix`, with the `LabelForm` in which predictions are returned.

| y | kind |
|---|---|
| 1-D sequence, array or Series of names | single |
| sequence of sets, lists or tuples of names | sets |
| 2-D object or string array, or frame, of path columns | paths |
| 0/1 matrix or frame with one column per node | indicator |
| `LabelMatrix` | matrix |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d

from cladist.errors import LabelError
from cladist.labels.matrix import LabelForm, LabelMatrix
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import as_text, is_missing


@dataclass(frozen=True)
class Encoded:
    """The result of `encode`.

    Attributes
    ----------
    taxonomy : Taxonomy
        The taxonomy of the labels: the one given, or the one built from y.
    labels : LabelMatrix
        The labels of all rows.
    form : LabelForm
        The form of y, in which predictions are returned.
    """

    taxonomy: Taxonomy
    labels: LabelMatrix
    form: LabelForm


def encode(y: Any, taxonomy: Taxonomy | None = None) -> Encoded:
    """Encode any accepted form of y as a `LabelMatrix`.

    Parameters
    ----------
    y : labels in any form
        Names, collections of names, rows of path parts, a 0/1 matrix or a `LabelMatrix`.
    taxonomy : Taxonomy, optional
        The taxonomy of the labels. None: built from rows of path parts; for names, a star of the classes.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> encode(["chess", "art"], taxonomy).labels.to_indicator().toarray().tolist()
    [[1, 0, 0, 1], [0, 1, 0, 0]]
    >>> encode(["ches"], taxonomy)
    Traceback (most recent call last):
    cladist.errors.LabelError: Row 0: the label 'ches' is not in the taxonomy; did you mean 'chess'?
    """
    if isinstance(y, LabelMatrix):
        if taxonomy is not None and y.taxonomy != taxonomy:
            raise LabelError("This LabelMatrix belongs to another taxonomy than the one given.")
        return Encoded(y.taxonomy, y, LabelForm("matrix"))
    unordered = isinstance(y, (str, bytes, set, frozenset, Mapping))
    if y is None or unordered or not (hasattr(y, "__len__") or hasattr(y, "__array__")):
        raise LabelError(f"Labels are a sequence, an array, a frame or a LabelMatrix; got {type(y).__name__}.")
    if sparse.issparse(y):
        container = f"{y.format}_{'array' if isinstance(y, sparse.sparray) else 'matrix'}"
        return _encode_indicator(y, taxonomy, LabelForm("indicator", container, dtype=str(y.dtype)))
    if _is_pandas(y, "DataFrame"):
        return _encode_frame(y, taxonomy)
    if not isinstance(y, (list, tuple)) and not _is_pandas(y, "Series"):
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] != 1:
            if y.dtype.kind in "biuf":
                return _encode_indicator(y, taxonomy, LabelForm("indicator", dtype=str(y.dtype)))
            dtype = "str" if y.dtype.kind in "UT" else "object"
            return _encode_paths(y, taxonomy, LabelForm("paths", dtype=dtype, width=y.shape[1]))
    return _encode_1d(y, taxonomy)


def to_indicator(y: Any, taxonomy: Taxonomy) -> sparse.csr_array:
    """Encode any accepted form of y as a 0/1 CSR matrix with one column per node.

    Parameters
    ----------
    y, taxonomy
        As in `encode`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> to_indicator([["b"], []], Taxonomy.from_paths(["a/b"])).toarray()
    array([[1, 1],
           [0, 0]], dtype=int8)
    """
    return encode(y, taxonomy).labels.to_indicator()


def _is_pandas(y: Any, name: str) -> bool:
    """Tell whether y is a pandas Series or DataFrame, without importing pandas."""
    return type(y).__name__ == name and type(y).__module__.startswith("pandas")


def _as_plain_key(key: Any) -> str | int:
    """Return the name of a Series or a column as a value that a file can hold."""
    return key if isinstance(key, (str, int)) else str(key)


def _encode_indicator(y: Any, taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    if taxonomy is None:
        raise LabelError("A 0/1 matrix of labels needs a taxonomy to say what its columns are; none was given.")
    if not y.shape[0]:
        raise LabelError("There are no labels: y has 0 rows.")
    return Encoded(taxonomy, LabelMatrix.from_indicator(y, taxonomy), form)


def _encode_frame(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    if y.shape[1] == 1:
        return _encode_1d(y.to_numpy(), taxonomy)
    dtypes = tuple(map(str, y.dtypes))
    form = LabelForm(
        container="frame",
        columns=tuple(_as_plain_key(column) for column in y.columns),
        dtypes=dtypes[:1] if len(set(dtypes)) == 1 else dtypes,
        width=y.shape[1],
    )
    values = y.astype(object).to_numpy()
    if taxonomy is not None and all(dtype.kind in "biuf" for dtype in y.dtypes) and not y.isna().to_numpy().any():
        are_bits = bool(np.all((values == 0) | (values == 1)))
        may_be_paths = y.shape[1] != taxonomy.n_nodes and ("0" in taxonomy or "1" in taxonomy)
        if are_bits and not may_be_paths:
            return _encode_indicator(values.astype(np.int8), taxonomy, replace(form, kind="indicator", dtype="int8"))
    return _encode_paths(values, taxonomy, replace(form, kind="paths", dtype="object"))


def _encode_paths(y: npt.NDArray[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    """Encode rows of path parts; each distinct path is looked up once, since data repeat few paths many times."""
    if not len(y):
        raise LabelError("There are no labels: y has 0 rows.")
    rows = [tuple("" if is_missing(part) else part for part in row) for row in y.tolist()]
    first_row = _find_first_rows(rows)
    parts_of = {row: _split_path(row, k) for row, k in first_row.items()}
    if taxonomy is None:
        taxonomy = Taxonomy.from_paths(parts_of.values())
    node_of: dict[tuple[Any, ...], int] = {}
    for row, parts in parts_of.items():
        node = taxonomy.find_path(parts)
        if node is None:
            raise LabelError(f"Row {first_row[row]}: {' → '.join(parts)} is not a path of the taxonomy.")
        node_of[row] = node
    nodes = np.fromiter((node_of[row] for row in rows), np.int64, len(rows))
    filler = next((part for part in y[:, -1].tolist() if is_missing(part)), "")
    form = replace(
        form,
        padding=filler if filler is None or isinstance(filler, str) else "nan",
        below_root=all(len(parts_of[row]) <= taxonomy.depth[v] for row, v in node_of.items()),
        scalar=_find_scalar(part for row in first_row for part in row if part != ""),
    )
    return Encoded(taxonomy, LabelMatrix.from_nodes(nodes, taxonomy), form)


def _find_first_rows(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """Return the position at which each distinct row stands first."""
    first: dict[tuple[Any, ...], int] = {}
    for k, row in enumerate(rows):
        try:
            first.setdefault(row, k)
        except TypeError:
            raise LabelError(f"Row {k}: a part of a path is a text or a number; got {list(row)}.") from None
    return first


def _split_path(row: tuple[Any, ...], k: int) -> list[str]:
    end = len(row)
    while end and row[end - 1] == "":
        end -= 1
    if end == 0:
        raise LabelError(f"Row {k} has an empty path; every row needs at least one part.")
    gap = next((c for c in range(end) if row[c] == ""), None)
    if gap is not None:
        raise LabelError(f"Row {k} has a gap in its path at column {gap}: {list(row)}; pad at the end only.")
    return [as_text(part) for part in row[:end]]


def _encode_1d(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    container = "series" if _is_pandas(y, "Series") else "list" if isinstance(y, (list, tuple)) else "array"
    if isinstance(y, np.ndarray) and y.ndim == 2:
        y = column_or_1d(y, warn=True)
    values = list(y) if container == "list" else np.asarray(y)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise LabelError(f"Labels have one or two dimensions; y has shape {values.shape}.")
    if not len(values):
        raise LabelError("There are no labels: y has 0 rows.")
    form = LabelForm(container=container)
    if container == "series":
        name = None if y.name is None else _as_plain_key(y.name)
        form = replace(form, name=name, dtypes=(str(y.dtype),))
        if form.dtypes == ("category",):
            form = replace(form, categories=tuple(y.cat.categories.tolist()), ordered=bool(y.cat.ordered))
    rows = values if isinstance(values, list) else values.tolist()
    element = next((type(row).__name__ for row in rows if _is_collection(row)), None)
    if element is None:
        return _encode_names(rows, None, taxonomy, replace(form, dtype=_find_dtype(values)))
    for k, row in enumerate(rows):
        if not _is_collection(row):
            instead = [] if is_missing(row) else [row]
            raise LabelError(f"Row {k} is {row!r}, while other rows are collections of labels; write {instead!r}.")
    form = replace(form, kind="sets", dtype="object", element="list" if element == "ndarray" else element)
    names = [label for row in rows for label in row]
    if not names and taxonomy is None:
        raise LabelError("No row has a label, so there are no classes to learn; give a taxonomy.")
    return _encode_names(names, [len(row) for row in rows], taxonomy, form)


def _is_collection(row: Any) -> bool:
    """Tell whether a row of y holds several labels; lists read from Parquet are arrays."""
    return isinstance(row, (list, tuple, set, frozenset)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _find_scalar(labels: Iterable[Any]) -> str:
    """Return the Python type of labels; one number among texts makes all texts that are numbers numbers."""
    kinds = {type(label) for label in labels}
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return "bool"
    if any(issubclass(kind, (float, np.floating)) for kind in kinds):
        return "float"
    return "int" if any(issubclass(kind, (int, np.integer)) for kind in kinds) else "str"


def _find_dtype(values: npt.NDArray[Any] | list[Any]) -> str:
    """Return the name of the numpy type of labels; text is "str", a list of several types "object"."""
    if isinstance(values, list):
        if len({type(label) for label in values}) > 1:
            return "object"
        values = np.asarray(values)
    if values.dtype.kind in "UT":
        return "str"
    if values.dtype.kind not in "biufO":
        raise LabelError(f"Labels are texts, integers or objects; y holds {values.dtype}.")
    return str(values.dtype)


def _encode_names(labels: list[Any], counts: list[int] | None, taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    """Encode the labels of all rows, `counts` of each row (None: one); each distinct label is looked up once."""
    indptr = np.arange(len(labels) + 1) if counts is None else np.concatenate([[0], np.cumsum(counts)])
    try:
        distinct = list(dict.fromkeys(labels))
    except TypeError:  # only a collection cannot be hashed
        distinct = labels

    def row_of(label: Any) -> int:
        position = next(k for k, other in enumerate(labels) if other is label)
        return int(np.searchsorted(indptr, position, side="right")) - 1

    for label in distinct:
        if isinstance(label, Collection) and not isinstance(label, str):
            raise LabelError(f"Row {row_of(label)}: a label is a text or a number; got {label!r}.")
    if taxonomy is None:
        taxonomy = _build_star(distinct, row_of)
    node_of: dict[Any, int] = {}
    for label in distinct:
        _require_name(label, row_of)
        node = taxonomy.find(label)
        if node is None:
            raise LabelError(
                f"Row {row_of(label)}: the label {label!r} is not in the taxonomy{taxonomy.suggestion(label)}"
            )
        node_of[label] = node
    ids = np.fromiter((node_of[label] for label in labels), np.int32, len(labels))
    form = _detect_spelling(replace(form, scalar=_find_scalar(labels)), node_of, taxonomy)
    return Encoded(taxonomy, LabelMatrix.from_ids(indptr, ids, taxonomy), form)


def _require_name(label: Any, row_of: Callable[[Any], int]) -> None:
    if is_missing(label):
        raise LabelError(f"Row {row_of(label)} has no label ({label!r}); every label needs a name.")


def _build_star(distinct: list[Any], row_of: Callable[[Any], int]) -> Taxonomy:
    """Return the star of the classes, sorted as scikit-learn sorts them."""
    for label in distinct:
        _require_name(label, row_of)
        if isinstance(label, (float, np.floating)) and not float(label).is_integer():
            raise LabelError(
                f"Unknown label type: continuous. Row {row_of(label)} has {label!r}; labels are names or integers."
            )
    other = next((label for label in distinct if isinstance(label, str) != isinstance(distinct[0], str)), None)
    if other is not None:
        raise LabelError(
            f"Without a taxonomy, labels must be of one type to be sorted; row {row_of(other)} has {other!r} beside "
            f"{distinct[0]!r}."
        )
    try:
        names = sorted(distinct)
    except TypeError:
        raise LabelError("Without a taxonomy, labels must be of one type to be sorted; got a mixture.") from None
    return Taxonomy.from_parents(dict.fromkeys(names))


def _detect_spelling(form: LabelForm, node_of: dict[Any, int], taxonomy: Taxonomy) -> LabelForm:
    """Return the form with the spelling "path" if all labels are joined paths, at least one of several parts.

    The name of a node that shares its last part with others is its path: then both spellings fit, and "path" is used.
    """
    sep = taxonomy.sep
    if sep is None or not any(isinstance(label, str) and sep in label for label in node_of):
        return form
    for below_root, joint in product((False, True), (None, f" {sep} ", f"{sep} ")):
        path = replace(form, spelling="path", below_root=below_root, joint=joint)
        if all(label == path.spell(v, taxonomy) for label, v in node_of.items()):
            return path
    return form
