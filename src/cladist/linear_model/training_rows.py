"""Training rows as the blocked solvers read them: float32 CSR, features numbered by frequency."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError
from cladist.features.rows_on_disk import copy_rows, copy_rows_on_disk, pieces, row_ends, stay_on_disk, take_rows
from cladist.kernels import csr_rows as kernels
from cladist.storage import is_mapped
from cladist.storage.scratch import ScratchArray

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
FEW = 8  # if entries × FEW are fewer than the features, only the features that occur are counted
LONGEST = 1e24  # ‖x‖²; with C and sums over rows, float32 ends at 3e38
LINE = 64  # bytes of a cache line: sixteen float32
LARGE = 2**20


@dataclass(frozen=True)
class TrainingRows:
    """CSR rows over the features that occur, the most frequent first, so that their weights are adjacent in memory.

    Large rows of a mapped matrix are copied to temporary files and not into memory.

    Attributes
    ----------
    indptr, indices, data : arrays (int64, uint32, float32)
    norms : array (rows,), float32
        ‖x_i‖².
    feature_of : array (features in use,), int64
        The column of each feature in the original matrix; one past the last for the constant.
    n_features : int
        The number of columns of that matrix.
    has_constant : bool
        Whether every row ends with a constant feature of 1, whose weight is the intercept; it is the last feature.
    """

    indptr: Ids
    indices: npt.NDArray[np.uint32]
    data: Floats32
    norms: Floats32
    feature_of: Ids
    n_features: int
    has_constant: bool

    @classmethod
    def from_matrix(cls, X: Any, *, constant: bool, chosen: Ids | None = None) -> TrainingRows:
        """Return all rows of a matrix, or the chosen ones. O(nonzeros + features log features)."""
        X = _canonical_csr(X)
        chosen = np.arange(X.shape[0]) if chosen is None else chosen
        lengths = X.indptr[chosen + 1] - X.indptr[chosen] + constant
        indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if indptr[-1] * FEW < X.shape[1]:  # avoids a pass over all features
            few = take_rows(X, chosen)
            used, positions = np.unique(few.indices, return_inverse=True)
            few = sparse.csr_array((few.data, positions, few.indptr), shape=(len(chosen), len(used)))
            part = cls.from_matrix(few, constant=constant)
            feature_of = np.append(used, X.shape[1])[part.feature_of]
            return replace(part, feature_of=feature_of.astype(np.int64), n_features=X.shape[1])
        counts = kernels.count_features((X.indptr, X.indices), chosen, X.shape[1])
        if len(counts) < X.shape[1]:
            raise DatasetError("A row has a feature that its matrix does not have; it was altered or damaged.")
        used = np.flatnonzero(counts)
        feature_of = used[np.argsort(-counts[used], kind="stable")]
        position = np.full(X.shape[1], -1, np.int64)
        position[feature_of] = np.arange(len(feature_of))
        indices, data, norms = _gather(X, chosen, indptr, position, len(used) if constant else None)
        if not np.all(norms < LONGEST):
            row = int(np.flatnonzero(~(norms < LONGEST))[0])
            raise DatasetError(
                f"Row {row} of the training rows has values too large to compute with, a squared length over "
                f"{LONGEST:.0e}; scale the features, with StandardScaler for instance."
            )
        if constant:
            feature_of = np.append(feature_of, X.shape[1])
        return cls(indptr, indices, data, norms, feature_of, X.shape[1], constant)

    def reorder(self, order: Ids) -> TrainingRows:
        """Return the same rows in another order in memory."""
        indptr = row_ends(self.indptr, order)
        copy = copy_rows_on_disk if self.on_disk else copy_rows
        indices, data = copy(self.arrays, order, indptr)
        return replace(self, indptr=indptr, indices=indices, data=data, norms=self.norms[order])

    def matrix(self, row_ids: Ids) -> sparse.csr_array:
        """Return the chosen rows in their original features, without the constant."""
        indptr = row_ends(self.indptr, row_ids)
        indices, data = copy_rows(self.arrays, row_ids, indptr)
        shape = (len(row_ids), self.n_features + self.has_constant)
        rows = sparse.csr_array((data, self.feature_of[indices], indptr), shape=shape)
        return rows[:, : self.n_features].sorted_indices()

    @property
    def on_disk(self) -> bool:
        """Whether the rows are in temporary files."""
        return is_mapped(self.data)

    def new_blocks(self, n_blocks: int) -> Any:
        """Return zeros for blocks of weights (features in use × 16), on disk if the rows are."""
        if self.on_disk:
            return ScratchArray((n_blocks, self.n_used, 16), np.float32).array
        return [aligned_zeros(self.n_used) for _ in range(n_blocks)]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_used(self) -> int:
        """The number of features that occur, with the constant."""
        return len(self.feature_of)

    @property
    def least_reach(self) -> float:
        """The length of weights that give a row of average length a score of 1."""
        usual = float(np.mean(self.norms, dtype=np.float64)) if len(self) else 0.0
        return float(1 / np.sqrt(usual)) if usual > 0 else 0.0

    @property
    def arrays(self) -> CsrArrays:
        """The arrays that kernels take."""
        return self.indptr, self.indices, self.data


def _gather(X: Any, chosen: Ids, indptr: Ids, position: Ids, constant_position: int | None) -> tuple[Any, Any, Any]:
    """Return indices, values and squared lengths of the chosen rows; feature j becomes `position[j]`.

    Rows on disk are gathered a piece at a time, into temporary files.
    """
    n_entries, on_disk = int(indptr[-1]), stay_on_disk(X.data, int(indptr[-1]))
    norms = np.empty(len(chosen), np.float32)
    copies = [ScratchArray((n_entries,), dtype) for dtype in (np.uint32, np.float32)] if on_disk else []
    for first, last in pieces(indptr) if on_disk else [(0, len(chosen))]:
        to = indptr[first : last + 1] - indptr[first]
        indices, data = np.empty(to[-1], np.uint32), np.empty(to[-1], np.float32)
        constant = constant_position is not None, constant_position or 0
        arrays = X.indptr, X.indices, X.data
        kernels.gather_rows(arrays, chosen[first:last], position, *constant, to, indices, data, norms[first:last])
        for copy, array in zip(copies, (indices, data), strict=False):
            copy.write(int(indptr[first]), array)
    return (copies[0].array, copies[1].array, norms) if on_disk else (indices, data, norms)


def _canonical_csr(X: Any) -> sparse.csr_array:
    """Return a matrix as CSR with sorted indices, each once."""
    if isinstance(X, np.ndarray) and np.count_nonzero(X) == X.size:  # in a fraction of the time
        columns = np.tile(np.arange(X.shape[1], dtype=np.int32), len(X))
        return sparse.csr_array((X.ravel(), columns, np.arange(len(X) + 1) * X.shape[1]), shape=X.shape)
    if not (sparse.issparse(X) and X.format == "csr"):
        X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def aligned_zeros(n_rows: int, n_columns: int = 16) -> Floats32:
    """Return zeros whose rows of sixteen fill one cache line each.

    Large arrays get a memory map of their own: on the heap, those of many blocks would leave holes among small arrays
    that stay, and the process would grow with every block.
    """
    size = n_rows * n_columns * 4
    if size >= LARGE:
        return np.frombuffer(mmap.mmap(-1, size), np.float32).reshape(n_rows, n_columns)
    buffer = np.zeros(size + LINE, np.uint8)
    start = -buffer.ctypes.data % LINE
    return buffer[start : start + size].view(np.float32).reshape(n_rows, n_columns)
