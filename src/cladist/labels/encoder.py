"""Encode every accepted form of y as a `LabelMatrix`, with the `LabelForm` in which predictions are returned.

| y | kind |
|---|---|
| 1-D sequence, array or Series of names | single |
| sequence of sets, or of lists or tuples of names | sets |
| 2-D object or string array, or frame, of path columns | paths |
| sequence of lists or tuples that are paths | path lists |
| sequence of collections of paths, 3-D array of path parts | path sets |
| 0/1 matrix or frame with one column per node | indicator |
| `LabelMatrix` | matrix |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d

from cladist.errors import DatasetError, LabelError
from cladist.labels.frames import read_frame
from cladist.labels.matrix import Encoded, LabelForm, LabelMatrix, find_scalar
from cladist.labels.paths import are_paths, encode_path_sets, encode_paths, refuse_ambiguous
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import is_missing


def encode(y: Any, taxonomy: Taxonomy | None = None, *, lists: str = "auto") -> Encoded:
    """Encode any accepted form of y as a `LabelMatrix`.

    Parameters
    ----------
    y : labels in any form
        Names, collections of names, rows of path parts, a 0/1 matrix or a `LabelMatrix`.
    taxonomy : Taxonomy, optional
        The taxonomy of the labels. None: built from rows of path parts; for names, a star of the classes.
    lists : {"auto", "paths", "sets"}
        What rows that are lists or tuples of names are. "auto": paths if all of them are paths of the taxonomy from a
        root, otherwise sets; without a taxonomy an error that says how to write either. "paths": the same with a
        taxonomy; paths without one.

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
    library = frame_library(y)
    if library in ("polars", "pyarrow"):
        return _encode_other(y, library, taxonomy, lists)
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
            return encode_paths(y.tolist(), taxonomy, LabelForm("paths", dtype=_text_or_object(y), width=y.shape[1]))
        if y.ndim == 3 and y.dtype.kind in "UTO":
            form = LabelForm("path sets", "3-D array", _text_or_object(y), n_paths=y.shape[1])
            return encode_path_sets(y.tolist(), taxonomy, form)
    return _encode_1d(y, taxonomy, lists)


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


def frame_library(data: Any) -> str:
    """Return the library that a frame, table or Series belongs to, without importing it; "" if to none."""
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and type(data).__name__ == "LazyFrame":
        raise DatasetError("A polars LazyFrame holds no rows yet; call its collect() and give the DataFrame.")
    return library if library in ("pandas", "polars", "pyarrow") else ""


def _text_or_object(y: npt.NDArray[Any]) -> str:
    return "str" if y.dtype.kind in "UT" else "object"


def _is_pandas(y: Any, name: str) -> bool:
    """Tell whether y is a pandas Series or DataFrame, without importing pandas."""
    return type(y).__name__ == name and type(y).__module__.startswith("pandas")


def _as_plain_key(key: Any) -> str | int:
    """Return the name of a Series or a column as a value that a file can hold."""
    return key if isinstance(key, (str, int)) else str(key)


def _encode_other(y: Any, library: str, taxonomy: Taxonomy | None, lists: str) -> Encoded:
    """Encode a Series or frame of polars, or an array or table of Arrow."""
    values = read_frame(y, library)
    name = getattr(values, "name", None)
    if not hasattr(values, "columns"):
        encoded = _encode_1d(values.to_list(), taxonomy, lists)
        return replace(encoded, form=_in_series(encoded.form, library, values, name))
    if values.shape[1] == 1:
        return _encode_other(y[values.columns[0]], library, taxonomy, lists)
    dtypes = tuple(str(dtype) for dtype in values.schema.values())
    form = LabelForm(container="frame", library=library, columns=tuple(values.columns), width=values.shape[1])
    form = replace(form, dtypes=dtypes[:1] if len(set(dtypes)) == 1 else dtypes)
    rows = [list(row) for row in values.rows()]
    are_numbers = all(dtype.is_numeric() or dtype == "Boolean" for dtype in values.schema.values())
    are_bits = are_numbers and all(part in (0, 1) for row in rows for part in row)
    if taxonomy is not None and are_bits and _is_indicator(values.shape[1], taxonomy):
        return _encode_indicator(np.array(rows, np.int8), taxonomy, replace(form, kind="indicator", dtype="int8"))
    return encode_paths(rows, taxonomy, replace(form, kind="paths", dtype="object"))


def _in_series(form: LabelForm, library: str, values: Any, name: Any) -> LabelForm:
    dtype = values.dtype
    categories = tuple(dtype.categories) if hasattr(dtype, "categories") else None
    name = None if name is None else _as_plain_key(name)
    return replace(
        form, container="series", library=library, name=name, dtypes=(type(dtype).__name__,), categories=categories
    )


def _encode_indicator(y: Any, taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    if taxonomy is None:
        raise LabelError("A 0/1 matrix of labels needs a taxonomy to say what its columns are; none was given.")
    if not y.shape[0]:
        raise LabelError("There are no labels: y has 0 rows.")
    return Encoded(taxonomy, LabelMatrix.from_indicator(y, taxonomy), form)


def _is_indicator(width: int, taxonomy: Taxonomy) -> bool:
    """Tell whether a frame of 0 and 1 is an indicator, and not one of paths."""
    return width == taxonomy.n_nodes or not ("0" in taxonomy or "1" in taxonomy)


def _encode_frame(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    if y.shape[1] == 1:
        return _encode_1d(y.to_numpy(), taxonomy, "auto")
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
        if are_bits and _is_indicator(y.shape[1], taxonomy):
            return _encode_indicator(values.astype(np.int8), taxonomy, replace(form, kind="indicator", dtype="int8"))
    return encode_paths(values.tolist(), taxonomy, replace(form, kind="paths", dtype="object"))


def _encode_1d(y: Any, taxonomy: Taxonomy | None, lists: str) -> Encoded:
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
    return _encode_collections(rows, taxonomy, form, lists)


def _encode_collections(rows: list[Any], taxonomy: Taxonomy | None, form: LabelForm, lists: str) -> Encoded:
    """Encode rows that are collections: of paths, of names, or of the parts of one path."""
    first = next((label for row in rows for label in row), None)
    if isinstance(first, (list, tuple, np.ndarray)):
        form = replace(form, kind="path sets", inner="tuple" if isinstance(first, tuple) else "list")
        return encode_path_sets(rows, taxonomy, form)
    if form.element in ("list", "tuple") and lists != "sets" and all(map(len, rows)):
        as_paths = replace(form, kind="path lists")
        if are_paths(rows, taxonomy, needs_parts=lists == "auto"):
            return encode_paths(rows, taxonomy, as_paths)
        if taxonomy is None:
            if lists == "auto":
                refuse_ambiguous(form, rows)
            return encode_paths(rows, taxonomy, as_paths)
        if lists == "paths":
            return _encode_single_lists(rows, taxonomy, form)
    return _encode_sets(rows, taxonomy, form)


def _encode_single_lists(rows: list[Any], taxonomy: Taxonomy, form: LabelForm) -> Encoded:
    """Encode lists that are not all paths, for a method with one label per row: as names if they are known."""
    try:
        return _encode_sets(rows, taxonomy, form)
    except LabelError:
        if max(map(len, rows)) == 1:
            raise
        return encode_paths(rows, taxonomy, replace(form, kind="path lists"))  # raises: not all of them are paths


def _encode_sets(rows: list[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    names = [label for row in rows for label in row]
    if not names and taxonomy is None:
        raise LabelError("No row has a label, so there are no classes to learn; give a taxonomy.")
    return _encode_names(names, [len(row) for row in rows], taxonomy, form)


def _is_collection(row: Any) -> bool:
    """Tell whether a row of y holds several labels; lists read from Parquet are arrays."""
    return isinstance(row, (list, tuple, set, frozenset)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _find_dtype(values: npt.NDArray[Any] | list[Any]) -> str:
    """Return the name of the numpy type of labels; text is "str", a list of several types "object"."""
    if isinstance(values, list):
        if len({type(label) for label in values}) > 1:
            return "object"
        values = np.asarray(values)
    if values.dtype.kind in "UT":
        return "str"
    if values.dtype.kind not in "biufO":
        decode = "; decode them by astype(str)" if values.dtype.kind == "S" else ""
        raise LabelError(f"Labels are texts, integers or objects; y holds {values.dtype}{decode}.")
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
            advice = _advice_on_numbers(distinct, taxonomy) or taxonomy.suggestion(label)
            raise LabelError(f"Row {row_of(label)}: the label {label!r} is not in the taxonomy{advice}")
        node_of[label] = node
    ids = np.fromiter((node_of[label] for label in labels), np.int32, len(labels))
    form = _detect_spelling(replace(form, scalar=find_scalar(labels)), node_of, taxonomy)
    return Encoded(taxonomy, LabelMatrix.from_ids(indptr, ids, taxonomy), form)


def _advice_on_numbers(distinct: list[Any], taxonomy: Taxonomy) -> str:
    """Return what to do about labels that scikit-learn has replaced by the numbers 0 to K − 1, or ""."""
    numbers = [n for n in distinct if isinstance(n, (int, np.integer)) and not isinstance(n, bool)]
    if len(numbers) < len(distinct) or min(numbers) < 0 or max(numbers) >= taxonomy.n_nodes:
        return ""
    what = "0 and 1" if max(numbers) == 1 else f"numbers from 0 to {max(numbers)}"
    two = "; for OneVsRestClassifier, leave the taxonomy out" if max(numbers) == 1 else ""
    return (
        f": y holds {what}, as scikit-learn's StackingClassifier, VotingClassifier, BaggingClassifier and "
        f"cross_val_predict encode it; give them EncodedClassifier(learner, labels=y){two}."
    )


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
