"""`LabelMatrix`: the nodes of each row, closed under ancestors by construction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError
from cladist.kernels import tree
from cladist.taxonomy import Taxonomy


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
        """Wrap index arrays that are closed under ancestors, sorted and in range."""
        self.indptr = indptr
        self.indices = indices
        self.taxonomy = taxonomy

    @classmethod
    def from_ids(cls, indptr: npt.NDArray[Any], indices: npt.NDArray[Any], taxonomy: Taxonomy) -> LabelMatrix:
        """Build from the node ids of each row, as CSR in any order; ancestors are added."""
        outside = np.flatnonzero((indices < 0) | (indices >= taxonomy.n_nodes))
        if len(outside):
            row = int(np.searchsorted(indptr, outside[0], side="right")) - 1
            raise LabelError(
                f"Row {row} has the node id {indices[outside[0]]}; ids run from 0 to {taxonomy.n_nodes - 1}."
            )
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
        counts = np.diff(indptr)
        wrong = np.flatnonzero(counts != 1)
        if len(wrong):
            row = int(wrong[0])
            names = [self.taxonomy.names[v] for v in indices[indptr[row] : indptr[row + 1]]]
            what = "no label" if not names else f"{len(names)} labels: {', '.join(map(repr, names[:5]))}"
            raise LabelError(f"{who} needs exactly one label per row; row {row} has {what}.")
        return indices.astype(np.int64)

    def frontier_names(self) -> list[list[str]]:
        """Return the names of each row's deepest nodes."""
        indptr, indices = self.frontier
        names = self.taxonomy.names
        return [[names[v] for v in indices[a:b]] for a, b in pairwise(indptr)]

    def frontier_paths(self) -> list[list[list[str]]]:
        """Return the parts of the paths to each row's deepest nodes; in a DAG, of the shortest paths."""
        indptr, indices = self.frontier
        path_of = {v: self.taxonomy.shortest_path_parts(v) for v in np.unique(indices).tolist()}
        return [[list(path_of[v]) for v in indices[a:b].tolist()] for a, b in pairwise(indptr)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelMatrix):
            return NotImplemented
        return (
            np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and self.taxonomy == other.taxonomy
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LabelMatrix({len(self)} rows, {self.taxonomy.n_nodes} nodes, {len(self.indices)} entries)"


def as_indicator(matrix: Any, taxonomy: Taxonomy) -> sparse.csr_array:
    """Check a 0/1 matrix, dense or sparse, and return it as sorted CSR without stored zeros.

    It need not be closed under ancestors, since losses are defined for all vectors.
    """
    if isinstance(matrix, LabelMatrix):
        return matrix.to_indicator()
    given = matrix if sparse.issparse(matrix) else np.asarray(matrix)
    if given.dtype.kind not in "biuf":
        raise LabelError(f"An indicator matrix holds numbers 0 and 1; this one holds {given.dtype}.")
    if given.ndim != 2 or given.shape[1] != taxonomy.n_nodes:
        raise LabelError(
            f"An indicator matrix has one column per node, here {taxonomy.n_nodes}; this one has shape {given.shape}."
        )
    indicator = sparse.csr_array(given, copy=True)
    indicator.sum_duplicates()
    indicator.eliminate_zeros()
    wrong = np.flatnonzero(indicator.data != 1)
    if len(wrong):
        row = int(np.searchsorted(indicator.indptr, wrong[0], side="right")) - 1
        value, name = indicator.data[wrong[0]], taxonomy.names[indicator.indices[wrong[0]]]
        raise LabelError(f"An indicator matrix holds only 0 and 1; row {row} has {value} at {name!r}.")
    return indicator
