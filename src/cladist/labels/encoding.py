"""The one encoder: every accepted form of y → a `LabelMatrix` and the `LabelForm` to answer in.

| y | kind |
|---|---|
| 1-D sequence, array or Series of names | single |
| sequence of sets, lists or tuples of names | sets |
| 2-D object or string array, or frame, of path columns | paths |
| 0/1 matrix or frame with one column a node | indicator |
| `LabelMatrix` | matrix |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d

from cladist.errors import LabelError
from cladist.labels.form import LabelForm
from cladist.labels.matrix import LabelMatrix
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.building import is_missing


@dataclass(frozen=True)
class Encoded:
    """What y became."""

    taxonomy: Taxonomy
    labels: LabelMatrix
    form: LabelForm


def encode(y: Any, taxonomy: Taxonomy | None = None) -> Encoded:
    """Turn any accepted form of y into a `LabelMatrix`.

    Without a taxonomy, path rows build theirs, and names make a star of the classes seen.

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
    if y is None or isinstance(y, (str, bytes)) or not (hasattr(y, "__len__") or hasattr(y, "__array__")):
        raise LabelError(f"Labels are a sequence, an array, a frame or a LabelMatrix; got {type(y).__name__}.")
    if sparse.issparse(y):
        return _encode_indicator(y, taxonomy, LabelForm("indicator", "sparse", dtype=str(y.dtype)))
    if _is_frame(y):
        return _encode_frame(y, taxonomy)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] != 1:
        return _encode_2d(y, taxonomy)
    return _encode_1d(y, taxonomy)


def to_indicator(y: Any, taxonomy: Taxonomy) -> sparse.csr_array:
    """Turn any accepted form of y into a 0/1 CSR matrix with one column a node.

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
    return Encoded(taxonomy, LabelMatrix.from_indicator(y, taxonomy), form)


def _encode_2d(y: npt.NDArray[Any], taxonomy: Taxonomy | None) -> Encoded:
    if y.dtype.kind in "biuf":
        return _encode_indicator(y, taxonomy, LabelForm("indicator", dtype=str(y.dtype)))
    dtype = "str" if y.dtype.kind in "UT" else "object"
    return _encode_paths(y, taxonomy, LabelForm("paths", dtype=dtype, width=y.shape[1]))


def _encode_frame(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    values = y.to_numpy()
    columns = tuple(map(str, y.columns))
    if values.shape[1] == 1:
        return _encode_1d(values, taxonomy)
    numeric = values.dtype.kind in "biuf" and np.all((values == 0) | (values == 1))
    if numeric and taxonomy is not None and values.shape[1] == taxonomy.n_nodes:
        form = LabelForm("indicator", "frame", dtype=str(values.dtype), columns=columns)
        return _encode_indicator(values, taxonomy, form)
    form = LabelForm("paths", "frame", dtype="object", width=values.shape[1], columns=columns)
    return _encode_paths(values.astype(object), taxonomy, form)


# -------------------------------------------------------------------- paths


def _encode_paths(y: npt.NDArray[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    """Resolve each distinct path once; predictions and data repeat few paths many times."""
    if not len(y):
        raise LabelError("There are no labels: y has 0 rows.")
    padding = _padding(y)
    rows = [tuple("" if is_missing(part) else part for part in row) for row in y.tolist()]
    parts_of = {row: _path_parts(row, k) for k, row in _first_rows(rows).items()}
    if taxonomy is None:
        taxonomy = Taxonomy.from_paths(parts_of.values())
    node_of: dict[tuple[Any, ...], int] = {}
    below_root = False
    for k, row in _first_rows(rows).items():
        found = taxonomy.find_path(parts_of[row])
        if found is None:
            raise LabelError(f"Row {k}: {' → '.join(parts_of[row])} is not a path of the taxonomy.")
        below_root = below_root or len(parts_of[row]) <= taxonomy.depth[found]
        node_of[row] = found
    nodes = np.fromiter((node_of[row] for row in rows), np.int64, len(rows))
    form = replace(form, padding=padding, below_root=below_root, scalar=_scalar_of(rows[0][:1]))
    return Encoded(taxonomy, LabelMatrix.from_nodes(nodes, taxonomy), form)


def _first_rows(rows: list[tuple[Any, ...]]) -> dict[int, tuple[Any, ...]]:
    """Return where each distinct row stands first."""
    first: dict[tuple[Any, ...], int] = {}
    for k, row in enumerate(rows):
        first.setdefault(row, k)
    return {k: row for row, k in first.items()}


def _path_parts(row: tuple[Any, ...], k: int) -> list[str]:
    end = len(row)
    while end and is_missing(row[end - 1]):
        end -= 1
    if end == 0:
        raise LabelError(f"Row {k} has an empty path; every row needs at least one part.")
    gap = next((c for c in range(end) if is_missing(row[c])), None)
    if gap is not None:
        raise LabelError(f"Row {k} has a gap in its path at column {gap}: {list(row)}; pad at the end only.")
    return [str(part) for part in row[:end]]


def _padding(y: npt.NDArray[Any]) -> str | None:
    """Return what fills short rows: "", None, or "nan" for a missing number."""
    filler = next((part for part in y[:, -1].tolist() if is_missing(part)), "")
    return filler if filler is None or isinstance(filler, str) else "nan"


# -------------------------------------------------------------------- one dimension


def _encode_1d(y: Any, taxonomy: Taxonomy | None) -> Encoded:
    container = "series" if _is_series(y) else "list" if isinstance(y, (list, tuple)) else "array"
    if isinstance(y, np.ndarray) and y.ndim == 2:
        y = column_or_1d(y, warn=True)
    if not len(y):
        raise LabelError("There are no labels: y has 0 rows.")
    values = list(y) if container == "list" else np.asarray(y)
    name = str(y.name) if container == "series" and y.name is not None else None
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise LabelError(f"Labels have one or two dimensions; y has shape {values.shape}.")
    listed = values if isinstance(values, list) else values.tolist()
    if any(_is_collection(value) for value in listed):
        element = next(type(v).__name__ for v in listed if _is_collection(v))
        form = LabelForm("sets", container, dtype="object", element=element, name=name)
        return _encode_sets(listed, taxonomy, form)
    dtype = _dtype_name(np.asarray(values)) if not isinstance(values, list) else _dtype_of_list(listed)
    form = LabelForm("single", container, dtype=dtype, scalar=_scalar_of(listed), name=name)
    return _encode_single(listed, taxonomy, form)


def _encode_single(listed: list[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    if taxonomy is None:
        taxonomy = _star(listed)
    node_of = _resolve(dict.fromkeys(listed), listed, taxonomy)
    nodes = np.fromiter((node_of[label] for label in listed), np.int64, len(listed))
    spelling = _spelling(node_of, taxonomy)
    return Encoded(taxonomy, LabelMatrix.from_nodes(nodes, taxonomy), replace(form, spelling=spelling))


def _encode_sets(listed: list[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    for k, row in enumerate(listed):
        if not _is_collection(row):
            raise LabelError(f"Row {k} is {row!r}, while other rows are collections of labels; write [{row!r}].")
    flat = [label for row in listed for label in row]
    row_of = np.repeat(np.arange(len(listed)), [len(row) for row in listed])
    if taxonomy is None:
        if not flat:
            raise LabelError("No row has a label, so there are no classes to learn; give a taxonomy.")
        taxonomy = _star(flat)
    node_of = _resolve(dict.fromkeys(flat), flat, taxonomy, row_of)
    indices = np.fromiter((node_of[label] for label in flat), np.int32, len(flat))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in listed])])
    form = replace(form, scalar=_scalar_of(flat), spelling=_spelling(node_of, taxonomy))
    return Encoded(taxonomy, LabelMatrix.closing(indptr, indices, taxonomy), form)


def _resolve(
    labels: dict[Any, None], listed: list[Any], taxonomy: Taxonomy, row_of: npt.NDArray[Any] | None = None
) -> dict[Any, int]:
    """Look up each distinct label once; an unknown one is reported with the row it first stands in."""
    node_of: dict[Any, int] = {}
    for label in labels:
        found = None if is_missing(label) else taxonomy.find(label)
        if found is None:
            position = next(k for k, other in enumerate(listed) if other is label or other == label)
            row = position if row_of is None else int(row_of[position])
            if is_missing(label):
                raise LabelError(f"Row {row} has no label ({label!r}); every label needs a name.")
            raise LabelError(f"Row {row}: the label {label!r} is not in the taxonomy{taxonomy.suggestion(label)}")
        node_of[label] = found
    return node_of


def _star(labels: list[Any]) -> Taxonomy:
    """Return the star of the classes seen, sorted as scikit-learn sorts them."""
    for k, label in enumerate(labels):
        if is_missing(label):
            raise LabelError(f"Row {k} has no label ({label!r}); every label needs a name.")
        if isinstance(label, float) and not label.is_integer():
            raise LabelError(f"Unknown label type: continuous. Row {k} has {label!r}; labels are names or integers.")
    distinct = list(dict.fromkeys(labels))
    try:
        distinct.sort()
    except TypeError:
        raise LabelError("Without a taxonomy, labels must be of one type to be sorted; got a mixture.") from None
    return Taxonomy.from_parents(dict.fromkeys(distinct))


def _spelling(node_of: dict[Any, int], taxonomy: Taxonomy) -> str:
    """Tell whether all labels were joined paths, and some had to be."""
    if all(label == taxonomy.names[v] for label, v in node_of.items() if isinstance(label, str)):
        return "name"
    by_path = all(label == taxonomy.joined_path(v) for label, v in node_of.items())
    return "path" if by_path else "name"


# -------------------------------------------------------------------- what a value is


def _is_collection(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def _is_frame(y: Any) -> bool:
    return hasattr(y, "columns") and hasattr(y, "to_numpy")


def _is_series(y: Any) -> bool:
    return type(y).__name__ == "Series" and hasattr(y, "to_numpy")


def _scalar_of(labels: Sequence[Any]) -> str:
    """Tell what labels are in Python; one number among texts makes all texts that are numbers numbers."""
    kinds = {type(label) for label in labels}
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return "bool"
    if any(issubclass(kind, (float, np.floating)) for kind in kinds):
        return "float"
    return "int" if any(issubclass(kind, (int, np.integer)) for kind in kinds) else "str"


def _dtype_name(values: npt.NDArray[Any]) -> str:
    if values.dtype.kind in "UT":
        return "str"
    if values.dtype.kind not in "biufO":
        raise LabelError(f"Labels are texts, integers or objects; y holds {values.dtype}.")
    return str(values.dtype)


def _dtype_of_list(listed: list[Any]) -> str:
    kinds = {type(label) for label in listed}
    return _dtype_name(np.asarray(listed)) if len(kinds) == 1 else "object"
