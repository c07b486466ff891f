"""`LabelMatrix`: the nodes of each row, closed under ancestors; `LabelForm`: the form of y, as it is returned."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError, ModelFormatError, TaxonomyError
from cladist.kernels import tree
from cladist.registry import find_class
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import as_text


class LabelMatrix:
    """A 0/1 matrix (rows × nodes) in which every node of a row has its ancestors in that row.

    Stored as sorted CSR index arrays: memory is one int32 per positive entry. Build one with `from_nodes`, `from_sets`,
    `from_indicator` or `cladist.labels.encode`.

    Parameters
    ----------
    indptr : array (rows + 1,)
        Where the nodes of each row begin and end in `indices`.
    indices : array
        The ids of the nodes of all rows, sorted within each row, with all ancestors.
    taxonomy : Taxonomy
        The taxonomy of the nodes.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> labels = LabelMatrix.from_sets([["chess"], ["art", "tennis"], []], taxonomy)
    >>> labels
    LabelMatrix(3 rows, 4 nodes, 5 entries)
    >>> labels.to_indicator().toarray()
    array([[1, 0, 0, 1],
           [1, 1, 1, 0],
           [0, 0, 0, 0]], dtype=int8)
    >>> labels.frontier_names()
    [['chess'], ['art', 'tennis'], []]
    """

    def __init__(self, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], taxonomy: Taxonomy) -> None:
        self.indptr, self.indices, self.taxonomy = indptr, indices, taxonomy

    @classmethod
    def from_ids(cls, indptr: npt.NDArray[Any], indices: npt.NDArray[Any], taxonomy: Taxonomy) -> LabelMatrix:
        """Build from the node ids of each row, as CSR in any order; ancestors are added."""
        outside = np.flatnonzero((indices < 0) | (indices >= taxonomy.n_nodes))
        if len(outside):
            row, node = int(np.searchsorted(indptr, outside[0], side="right")) - 1, indices[outside[0]]
            raise LabelError(f"Row {row} has the node id {node}; ids run from 0 to {taxonomy.n_nodes - 1}.")
        above = taxonomy.parents
        rows = indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False)
        closed_indptr, closed_indices = tree.close_rows(*rows, above.indptr, above.indices)
        return cls(closed_indptr, closed_indices, taxonomy)

    @classmethod
    def from_nodes(cls, nodes: npt.NDArray[Any], taxonomy: Taxonomy) -> LabelMatrix:
        """Build from one node id per row."""
        return cls.from_ids(np.arange(len(nodes) + 1), nodes, taxonomy)

    @classmethod
    def from_sets(cls, sets: Any, taxonomy: Taxonomy) -> LabelMatrix:
        """Build from a sequence of collections of node names."""
        from cladist.labels.encoder import encode

        return encode(list(sets), taxonomy).labels

    @classmethod
    def from_indicator(cls, matrix: Any, taxonomy: Taxonomy) -> LabelMatrix:
        """Build from a 0/1 matrix with one column per node; a node without its parent is a `LabelError`."""
        indicator = as_indicator(matrix, taxonomy)
        above = taxonomy.parents
        indptr, indices = indicator.indptr.astype(np.int64), indicator.indices.astype(np.int32)
        row, node, parent = tree.first_orphan(indptr, indices, above.indptr, above.indices)
        if row >= 0:
            names = taxonomy.names
            raise LabelError(
                f"Row {row} has {names[node]!r} but not its parent {names[parent]!r}; an indicator matrix holds "
                "all ancestors. Give sets of names instead, where ancestors are implied."
            )
        return cls(indptr, indices, taxonomy)

    @classmethod
    def from_parts(cls, parts: Sequence[LabelMatrix], taxonomy: Taxonomy) -> LabelMatrix:
        """Build from the rows of several matrices of one taxonomy, in their order."""
        counts = [np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)]
        indices = [np.zeros(0, np.int32), *(part.indices for part in parts)]
        return cls(np.cumsum(np.concatenate(counts)), np.concatenate(indices), taxonomy)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and nodes."""
        return len(self.indptr) - 1, self.taxonomy.n_nodes

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: Any) -> LabelMatrix:
        if isinstance(rows, tuple) and len(rows) == 2 and (rows[1] is Ellipsis or rows[1] == slice(None)):
            rows = rows[0]  # scikit-learn indexes labels[rows, ...]
        if isinstance(rows, tuple):
            raise LabelError("A LabelMatrix is indexed by rows only; to_indicator() has columns to index.")
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        part = self.to_indicator()[rows]
        return LabelMatrix(part.indptr.astype(np.int64), part.indices.astype(np.int32, copy=False), self.taxonomy)

    def to_indicator(self) -> sparse.csr_array:
        """Return the matrix as a scipy CSR array of int8, which shares the index arrays."""
        return sparse.csr_array((np.ones(len(self.indices), np.int8), self.indices, self.indptr), shape=self.shape)

    @cached_property
    def frontier(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """The deepest nodes of each row, which have no child in it, as CSR (indptr, indices)."""
        above = self.taxonomy.parents
        return tree.frontier_rows(self.indptr, self.indices, above.indptr, above.indices)

    @property
    def is_single(self) -> bool:
        """Whether every row is one path from a root."""
        return bool(np.all(np.diff(self.frontier[0]) == 1))

    def nodes(self, who: str) -> npt.NDArray[np.int64]:
        """Return the only label of every row; a row with none or several is a `LabelError` that names `who`."""
        indptr, indices = self.frontier
        wrong = np.flatnonzero(np.diff(indptr) != 1)
        if len(wrong):
            row = int(wrong[0])
            names = [self.taxonomy.names[v] for v in indices[indptr[row] : indptr[row + 1]]]
            what = "no label" if not names else f"{len(names)} labels: {', '.join(map(repr, names[:5]))}"
            advice = (
                ", which are no path; methods such as NodewiseSVM and FlatSVM predict sets" if find_class(who) else ""
            )
            raise LabelError(f"{who} needs exactly one label per row; row {row} has {what}{advice if names else ''}.")
        return indices.astype(np.int64)

    def frontier_names(self) -> list[list[str]]:
        """Return the names of each row's deepest nodes."""
        return list_frontier(self, self.taxonomy.names)

    def frontier_paths(self) -> list[list[list[str]]]:
        """Return the parts of the paths to each row's deepest nodes; in a DAG, of the shortest paths."""
        path_of = {v: self.taxonomy.shortest_path_parts(v) for v in np.unique(self.frontier[1]).tolist()}
        return [[list(path) for path in row] for row in list_frontier(self, path_of)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelMatrix):
            return NotImplemented
        same_rows = np.array_equal(self.indptr, other.indptr) and np.array_equal(self.indices, other.indices)
        return same_rows and self.taxonomy == other.taxonomy

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LabelMatrix({len(self)} rows, {self.taxonomy.n_nodes} nodes, {len(self.indices)} entries)"


def list_frontier(labels: LabelMatrix, values: Any) -> list[list[Any]]:
    """Return ``values[v]`` for each row's deepest nodes v."""
    indptr, indices = labels.frontier
    return [[values[v] for v in indices[a:b].tolist()] for a, b in pairwise(indptr)]


def as_indicator(matrix: Any, taxonomy: Taxonomy) -> sparse.csr_array:
    """Return a 0/1 matrix as sorted CSR; not closed under ancestors, since losses are defined for all vectors."""
    if isinstance(matrix, LabelMatrix):
        return matrix.to_indicator()
    numbers = matrix if sparse.issparse(matrix) else np.asarray(matrix)
    if numbers.dtype.kind not in "biuf":
        raise LabelError(f"An indicator matrix holds numbers 0 and 1; this one holds {numbers.dtype}.")
    if numbers.ndim != 2 or numbers.shape[1] != taxonomy.n_nodes:
        raise LabelError(
            f"An indicator matrix has one column per node, here {taxonomy.n_nodes}; this one has shape {numbers.shape}."
        )
    return as_bits(numbers, "An indicator matrix", taxonomy.names)


def as_bits(matrix: Any, who: str, columns: Sequence[Any]) -> sparse.csr_array:
    """Return a matrix of numbers as CSR without stored zeros; entries other than 0 and 1 are a `LabelError`."""
    bits = sparse.csr_array(matrix, copy=True)
    bits.sum_duplicates()
    bits.eliminate_zeros()
    wrong = np.flatnonzero(bits.data != 1)
    if len(wrong):
        row = int(np.searchsorted(bits.indptr, wrong[0], side="right")) - 1
        value, column = bits.data[wrong[0]], columns[bits.indices[wrong[0]]]
        raise LabelError(f"{who} holds only 0 and 1; row {row} has {value} at {column!r}.")
    return bits


ELEMENTS: dict[str, Callable[[Any], Any]] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}
# The kinds of y, and the containers of each, as patterns.
_CONTAINERS = {
    **dict.fromkeys(("single", "sets"), "array|list|series"),
    "paths": "array|frame",
    "path lists": "array|list|series",
    "path sets": "array|list|series|3-D array",
    "indicator": r"array|frame|(bsr|coo|csc|csr|dia|dok|lil)_(array|matrix)",
    "matrix": "array",
}


@dataclass(frozen=True)
class LabelForm:
    """The form of y, as plain values that a file can hold.

    Attributes
    ----------
    kind : {"single", "sets", "paths", "path lists", "path sets", "indicator", "matrix"}
        Names; collections of names; a table of path parts; one list of parts per row; collections of such lists; a 0/1
        matrix; a `LabelMatrix`.
    container : {"array", "list", "series", "frame", "3-D array"} or the name of a scipy class
        The container of the labels.
    dtype : str
        The name of the numpy type of predictions; strings are "str".
    scalar : {"str", "int", "float", "bool"}
        The Python type of a label.
    spelling : {"name", "path"}
        Whether labels are joined paths, in a taxonomy built from paths.
    below_root : bool
        Whether paths leave out the taxonomy's only root.
    joint : str or None
        The separator of joined paths, if it is the taxonomy's with blanks around it.
    element : {"list", "tuple", "set", "frozenset"}
        The container of the labels of one row, or of the parts of its path.
    inner : {"list", "tuple"}
        The container of the parts of a path, where rows have several.
    columns, width, padding, n_paths
        The column names of a frame, the number of columns (0: rows are as long as their paths), the filler of short
        rows of paths, and the paths per row of a 3-D array.
    library : {"pandas", "polars", "pyarrow"}
        The library of a Series or frame.
    name, dtypes, categories, ordered
        The name, types (also of the columns of a frame), categories and order of a Series.
    """

    kind: str = "single"
    container: str = "array"
    dtype: str = "str"
    scalar: str = "str"
    spelling: str = "name"
    element: str = "set"
    inner: str = "tuple"
    n_paths: int = 0
    below_root: bool = False
    joint: str | None = None
    columns: tuple[str | int, ...] | None = None
    width: int = 0
    padding: str | None = ""
    library: str = "pandas"
    name: str | int | None = None
    dtypes: tuple[str, ...] = ()
    categories: tuple[Any, ...] | None = None
    ordered: bool = False

    @property
    def is_multi(self) -> bool:
        """Whether y may hold several labels per row."""
        return self.kind in ("sets", "path sets", "indicator", "matrix")

    @property
    def has_paths(self) -> bool:
        """Whether labels are written as the parts of their paths."""
        return self.kind.startswith("path")

    @property
    def reading_of_lists(self) -> str:
        """How `encode` reads more rows of this form that are lists."""
        return "paths" if self.has_paths else "sets"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a manifest."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LabelForm:
        """Restore the form from the result of `to_dict`; anything else is a `ModelFormatError`."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        for name, value in fields.items():
            if name not in _FIELDS or not _FIELDS[name](value):
                raise ModelFormatError(f"The form of y in this model cannot be: its {name[:40]} is {repr(value)[:80]}.")
        form = cls(**fields)
        n_columns, has_numbers = len(form.columns or ()), form.dtype not in ("str", "object")
        n_dtypes = {"series": (1,), "frame": (1, n_columns)}.get(form.container, (0, 1, n_columns))
        if (
            not re.fullmatch(_CONTAINERS[form.kind], form.container)
            or len(form.dtypes) not in n_dtypes
            or (form.container == "frame" and n_columns != fields.get("width"))
            or (form.kind == "indicator" and not has_numbers)
            or (form.kind != "indicator" and form.kind != "single" and has_numbers)
        ):
            raise ModelFormatError("The form of y in this model cannot be: its fields do not fit each other.")
        return form

    def check_fits(self, taxonomy: Taxonomy, nodes: npt.NDArray[np.int64]) -> None:
        """Raise a `ModelFormatError` unless nodes of a taxonomy can be written in this form."""
        try:
            self.values(taxonomy, nodes)
        except (TaxonomyError, ValueError, TypeError, OverflowError) as problem:
            raise ModelFormatError(f"The form of y in this model does not fit its taxonomy ({problem}).") from problem
        if self.kind == "indicator" and len(self.columns or ()) > taxonomy.n_nodes:
            raise ModelFormatError("The form of y in this model has more columns than its taxonomy has nodes.")

    def spell(self, v: int, taxonomy: Taxonomy) -> str:
        """Return the text of node v in this form."""
        if self.spelling == "name":
            return taxonomy.names[v]
        return taxonomy.joined_path(v, below_root=self.below_root, sep=self.joint)

    def spell_sets(self, labels: LabelMatrix) -> list[list[str]]:
        """Return the texts of the deepest nodes of each row in this form."""
        text_of = {v: self.spell(v, labels.taxonomy) for v in np.unique(labels.frontier[1]).tolist()}
        return list_frontier(labels, text_of)

    def values(self, taxonomy: Taxonomy, nodes: npt.NDArray[np.int64] | None = None) -> npt.NDArray[Any]:
        """Return the labels of `nodes` (None: of all nodes) in this form."""
        texts = [self.spell(v, taxonomy) for v in (range(taxonomy.n_nodes) if nodes is None else nodes.tolist())]
        if self.scalar == "str":
            return np.array(texts, dtype=object if self.dtype == "object" else np.str_)
        labels = [_as_scalar(text, self.scalar) for text in texts]
        if self.dtype != "object" and not any(isinstance(label, str) for label in labels):
            return np.array(labels, dtype=self.dtype)
        # Some names are not numbers (NAICS has "31-33"): they stay texts.
        return np.fromiter(labels, dtype=object, count=len(labels))

    def render(self, labels: LabelMatrix, *, index: Any = None) -> Any:
        """Return labels in this form; `index` is the row index of a Series or frame."""
        from cladist.labels.containers import render

        return labels if self.kind == "matrix" else render(self, labels, index)

    def render_nodes(self, nodes: npt.NDArray[np.int64], taxonomy: Taxonomy, *, index: Any = None) -> Any:
        """Return one node per row in this form."""
        from cladist.labels.containers import render_nodes

        return render_nodes(self, nodes, taxonomy, index)

    def path(self, v: int, taxonomy: Taxonomy) -> list[Any]:
        """Return the parts of the path to node v, padded if the lists in y were."""
        parts = [_as_scalar(part, self.scalar) for part in taxonomy.shortest_path_parts(v)[int(self.below_root) :]]
        return parts + [self.filler] * (self.width - len(parts))

    @property
    def filler(self) -> Any:
        """What short paths are padded with."""
        return float("nan") if self.padding == "nan" else self.padding


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


def find_scalar(labels: Iterable[Any]) -> str:
    """Return the Python type of labels; one number among texts makes all texts that are numbers numbers."""
    kinds = {type(label) for label in labels}
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return "bool"
    if any(issubclass(kind, (float, np.floating)) for kind in kinds):
        return "float"
    return "int" if any(issubclass(kind, (int, np.integer)) for kind in kinds) else "str"


def _as_scalar(text: str, scalar: str) -> Any:
    """Return a name as the number that it was in y, if it was one."""
    if scalar == "bool":
        return {"True": True, "False": False}.get(text, text)
    if scalar == "str":
        return text
    try:
        number = float(text) if scalar == "float" else int(text)
    except ValueError:
        return text
    # A text such as "007", "1_000" or "nan" is a name that only looks like a number.
    return number if math.isfinite(number) and text in (str(number), as_text(number)) else text


def _is_one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _is_dtype(value: Any) -> bool:
    try:
        return isinstance(value, str) and (value in ("str", "object") or np.dtype(value).kind in "biuf")
    except (TypeError, ValueError, SyntaxError):
        return False


def _is_tuple(value: Any, *kinds: type) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, kinds) and part == part for part in value)  # no NaN


# The values that a form in a model file may have.
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "kind": _is_one_of(*_CONTAINERS),
    "container": lambda value: isinstance(value, str),
    "dtype": _is_dtype,
    "scalar": _is_one_of("str", "int", "float", "bool"),
    "spelling": _is_one_of("name", "path"),
    "joint": lambda value: value is None or (isinstance(value, str) and value != ""),
    "element": _is_one_of(*ELEMENTS),
    "inner": _is_one_of("list", "tuple"),
    "n_paths": lambda value: type(value) is int and 0 <= value <= 2**20,
    "below_root": lambda value: isinstance(value, bool),
    "columns": lambda value: value is None or _is_tuple(value, str, int),
    "width": lambda value: type(value) is int and 0 <= value <= 2**20,
    "padding": lambda value: value is None or isinstance(value, str),
    "library": _is_one_of("pandas", "polars", "pyarrow"),
    "name": lambda value: value is None or isinstance(value, (str, int)),
    "dtypes": lambda value: _is_tuple(value, str),
    "categories": lambda value: value is None or _is_tuple(value, str, int, float),
    "ordered": lambda value: isinstance(value, bool),
}
