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

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d

from cladist.errors import LabelError
from cladist.labels.form import LabelForm
from cladist.labels.kinds import dtype_of, is_collection, is_frame, is_series, plain_key, scalar_of, sparse_kind
from cladist.labels.matrix import LabelMatrix
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
        return _encode_matrix(y, taxonomy)
    unordered = isinstance(y, (str, bytes, set, frozenset, Mapping))
    if y is None or unordered or not (hasattr(y, "__len__") or hasattr(y, "__array__")):
        raise LabelError(f"Labels are a sequence, an array, a frame or a LabelMatrix; got {type(y).__name__}.")
    if sparse.issparse(y):
        return _encode_indicator(y, taxonomy, LabelForm("indicator", sparse_kind(y), dtype=str(y.dtype)))
    if is_frame(y):
        return _encode_frame(y, taxonomy)
    if not isinstance(y, (list, tuple)) and not is_series(y):
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] != 1:
            return _encode_2d(y, taxonomy)
    return _encode_1d(y, taxonomy)


def to_indicator(y: Any, taxonomy: Taxonomy) -> sparse.csr_array:
    """Encode any accepted form of y as a 0/1 CSR matrix.

    Parameters
    ----------
    y : labels in any form
        The labels; see `encode`.
    taxonomy : Taxonomy
        The taxonomy of the labels; its nodes are the columns of the matrix.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> to_indicator([["b"], []], Taxonomy.from_paths(["a/b"])).toarray()
    array([[1, 1],
           [0, 0]], dtype=int8)
    """
    return encode(y, taxonomy).labels.to_indicator()


# -------------------------------------------------------------------- whole matrices


def _encode_matrix(y: LabelMatrix, taxonomy: Taxonomy | None) -> Encoded:
    if taxonomy is not None and y.taxonomy != taxonomy:
        raise LabelError("This LabelMatrix belongs to another taxonomy than the one given.")
    return Encoded(y.taxonomy, y, LabelForm("matrix"))


def _encode_indicator(y: Any, taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    if taxonomy is None:
        raise LabelError("A 0/1 matrix of labels needs a taxonomy to say what its columns are; none was given.")
    if not y.shape[0]:
        raise LabelError("There are no labels: y has 0 rows.")
    return Encoded(taxonomy, LabelMatrix.from_indicator(y, taxonomy), form)


def _encode_2d(y: npt.NDArray[Any], taxonomy: Taxonomy | None) -> Encoded:
    if y.dtype.kind in "biuf":
        return _encode_indicator(y, taxonomy, LabelForm("indicator", dtype=str(y.dtype)))
    dtype = "str" if y.dtype.kind in "UT" else "object"
    return _encode_paths(y, taxonomy, LabelForm("paths", dtype=dtype, width=y.shape[1]))


def _encode_frame(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    if y.shape[1] == 1:
        return _encode_1d(y.to_numpy(), taxonomy)
    dtypes = tuple(map(str, y.dtypes))
    form = LabelForm(
        container="frame",
        columns=tuple(plain_key(column) for column in y.columns),
        dtypes=dtypes[:1] if len(set(dtypes)) == 1 else dtypes,
        width=y.shape[1],
    )
    values = y.astype(object).to_numpy()
    if taxonomy is not None and _are_bits(y, values) and not _may_be_paths(y, taxonomy):
        return _encode_indicator(values.astype(np.int8), taxonomy, replace(form, kind="indicator", dtype="int8"))
    return _encode_paths(values, taxonomy, replace(form, kind="paths", dtype="object"))


def _may_be_paths(bits: Any, taxonomy: Taxonomy) -> bool:
    """Tell whether a frame of 0 and 1 may hold paths: it has not one column per node, and 0 or 1 are names."""
    return bits.shape[1] != taxonomy.n_nodes and ("0" in taxonomy or "1" in taxonomy)


def _are_bits(y: Any, values: npt.NDArray[Any]) -> bool:
    if not all(dtype.kind in "biuf" for dtype in y.dtypes) or y.isna().to_numpy().any():
        return False
    return bool(np.all((values == 0) | (values == 1)))


# -------------------------------------------------------------------- paths


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
    form = replace(
        form,
        padding=_find_padding(y),
        below_root=all(len(parts_of[row]) <= taxonomy.depth[v] for row, v in node_of.items()),
        scalar=scalar_of(part for row in first_row for part in row if part != ""),
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


def _find_padding(y: npt.NDArray[Any]) -> str | None:
    """Return the filler of short rows: "", None, or "nan" for a missing number."""
    filler = next((part for part in y[:, -1].tolist() if is_missing(part)), "")
    return filler if filler is None or isinstance(filler, str) else "nan"


# -------------------------------------------------------------------- one dimension


def _encode_1d(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    container = "series" if is_series(y) else "list" if isinstance(y, (list, tuple)) else "array"
    if isinstance(y, np.ndarray) and y.ndim == 2:
        y = column_or_1d(y, warn=True)
    values = list(y) if container == "list" else np.asarray(y)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise LabelError(f"Labels have one or two dimensions; y has shape {values.shape}.")
    if not len(values):
        raise LabelError("There are no labels: y has 0 rows.")
    form = _series_form(y) if container == "series" else LabelForm(container=container)
    labels = values if isinstance(values, list) else values.tolist()
    element = next((type(row).__name__ for row in labels if is_collection(row)), None)
    if element is not None:
        element = "list" if element == "ndarray" else element
        return _encode_sets(labels, taxonomy, replace(form, kind="sets", dtype="object", element=element))
    return _encode_single(labels, taxonomy, replace(form, dtype=dtype_of(values), scalar=scalar_of(labels)))


def _series_form(y: Any) -> LabelForm:
    name = None if y.name is None else plain_key(y.name)
    form = LabelForm(container="series", name=name, dtypes=(str(y.dtype),))
    if form.dtypes != ("category",):
        return form
    return replace(form, categories=tuple(y.cat.categories.tolist()), ordered=bool(y.cat.ordered))


def _encode_single(labels: list[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    if taxonomy is None:
        taxonomy = _build_star(labels)
    node_of = _find_nodes(labels, taxonomy)
    nodes = np.fromiter((node_of[label] for label in labels), np.int64, len(labels))
    return Encoded(taxonomy, LabelMatrix.from_nodes(nodes, taxonomy), _detect_spelling(form, node_of, taxonomy))


def _encode_sets(rows: list[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    for k, row in enumerate(rows):
        if not is_collection(row):
            instead = [] if is_missing(row) else [row]
            raise LabelError(f"Row {k} is {row!r}, while other rows are collections of labels; write {instead!r}.")
    flat = [label for row in rows for label in row]
    counts = [len(row) for row in rows]
    row_of = np.repeat(np.arange(len(rows)), counts)
    if taxonomy is None:
        if not flat:
            raise LabelError("No row has a label, so there are no classes to learn; give a taxonomy.")
        taxonomy = _build_star(flat, row_of)
    node_of = _find_nodes(flat, taxonomy, row_of)
    indices = np.fromiter((node_of[label] for label in flat), np.int32, len(flat))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    form = _detect_spelling(replace(form, scalar=scalar_of(flat)), node_of, taxonomy)
    return Encoded(taxonomy, LabelMatrix.from_ids(indptr, indices, taxonomy), form)


RowOf = npt.NDArray[Any] | None  # the row of each label; None: one label per row


def _find_row(labels: list[Any], label: Any, row_of: RowOf) -> int:
    """Return the row in which a label stands first."""
    position = next(k for k, other in enumerate(labels) if other is label)
    return position if row_of is None else int(row_of[position])


def _list_distinct(labels: list[Any], row_of: RowOf) -> list[Any]:
    """Return each label once, in order of appearance."""
    try:
        distinct = list(dict.fromkeys(labels))
    except TypeError:  # only a collection cannot be hashed
        distinct = labels
    for label in distinct:
        if isinstance(label, Collection) and not isinstance(label, str):
            raise LabelError(f"Row {_find_row(labels, label, row_of)}: a label is a text or a number; got {label!r}.")
    return distinct


def _find_nodes(labels: list[Any], taxonomy: Taxonomy, row_of: RowOf = None) -> dict[Any, int]:
    """Return the node of each distinct label; an unknown label is an error that names its first row."""
    node_of: dict[Any, int] = {}
    for label in _list_distinct(labels, row_of):
        if is_missing(label):
            raise LabelError(
                f"Row {_find_row(labels, label, row_of)} has no label ({label!r}); every label needs a name."
            )
        node = taxonomy.find(label)
        if node is None:
            row = _find_row(labels, label, row_of)
            raise LabelError(f"Row {row}: the label {label!r} is not in the taxonomy{taxonomy.suggestion(label)}")
        node_of[label] = node
    return node_of


def _build_star(labels: list[Any], row_of: RowOf = None) -> Taxonomy:
    """Return the star of the classes, sorted as scikit-learn sorts them."""
    distinct = _list_distinct(labels, row_of)
    for label in distinct:
        if is_missing(label):
            raise LabelError(
                f"Row {_find_row(labels, label, row_of)} has no label ({label!r}); every label needs a name."
            )
        if isinstance(label, (float, np.floating)) and not float(label).is_integer():
            row = _find_row(labels, label, row_of)
            raise LabelError(f"Unknown label type: continuous. Row {row} has {label!r}; labels are names or integers.")
    other = next((label for label in distinct if isinstance(label, str) != isinstance(distinct[0], str)), None)
    if other is not None:
        raise LabelError(
            f"Without a taxonomy, labels must be of one type to be sorted; row {_find_row(labels, other, row_of)} has "
            f"{other!r} beside {distinct[0]!r}."
        )
    try:
        distinct.sort()
    except TypeError:
        raise LabelError("Without a taxonomy, labels must be of one type to be sorted; got a mixture.") from None
    return Taxonomy.from_parents(dict.fromkeys(distinct))


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
