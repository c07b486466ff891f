"""Training rows as the blocked solvers read them: float32 CSR, features numbered by frequency; then dense columns."""

from __future__ import annotations

import mmap
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError
from cladist.features.rows_on_disk import copy_rows, copy_rows_on_disk, pieces, row_ends, stay_on_disk, take_rows
from cladist.kernels import csr_rows as kernels
from cladist.linear_model.dense_columns import DenseColumns, read_rows
from cladist.mixed_rows import MixedRows
from cladist.storage import is_mapped
from cladist.storage.scratch import ScratchArray

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
RowArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]  # of CSR, and dense columns
FEW = 8  # if entries × FEW are fewer than the features, only the features that occur are counted
LONGEST = 1e24  # ‖x‖²; with C and sums over rows, float32 ends at 3e38
LINE = 64  # bytes of a cache line: sixteen float32
LARGE = 2**20
# Linux's MAP_NORESERVE, without which it refuses a map that is larger than the memory.
NORESERVE = 0x4000 if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64") else 0


@dataclass(frozen=True)
class TrainingRows:
    """CSR rows over the features that occur, the most frequent first, so that their weights are adjacent in memory.

    Dense columns come after these; they are read from the caller's arrays, and copied once, when rows are reordered.
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
    columns : DenseColumns, optional
        The dense columns, which are the last features; the constant is one of them.
    """

    indptr: Ids
    indices: npt.NDArray[np.uint32]
    data: Floats32
    norms: Floats32
    feature_of: Ids
    n_features: int
    has_constant: bool
    columns: DenseColumns | None = None

    @classmethod
    def from_matrix(cls, X: Any, *, constant: bool, chosen: Ids | None = None) -> TrainingRows:
        """Return all rows of a matrix, or the chosen ones. O(nonzeros + features log features).

        An array is dense columns if most entries are not 0, `MixedRows` are as their blocks are.
        """
        X = read_rows(X)
        return cls._from_mixed(X, constant, chosen) if isinstance(X, MixedRows) else cls._from_csr(X, constant, chosen)

    @classmethod
    def _from_mixed(cls, X: MixedRows, constant: bool, chosen: Ids | None) -> TrainingRows:
        columns, others, numbers = DenseColumns.split(X, chosen, constant=constant)
        part = cls._from_csr(others, False, chosen)
        norms = (part.norms + columns.norms()).astype(np.float32)
        _check_norms(norms)
        feature_of = np.append(numbers[part.feature_of], columns.numbers)
        return cls(part.indptr, part.indices, part.data, norms, feature_of, X.shape[1], constant, columns)

    @classmethod
    def _from_csr(cls, X: Any, constant: bool, chosen: Ids | None) -> TrainingRows:
        chosen = np.arange(X.shape[0]) if chosen is None else chosen
        lengths = X.indptr[chosen + 1] - X.indptr[chosen] + constant
        indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if indptr[-1] * FEW < X.shape[1]:  # avoids a pass over all features
            few = take_rows(X, chosen)
            used, positions = np.unique(few.indices, return_inverse=True)
            few = sparse.csr_array((few.data, positions, few.indptr), shape=(len(chosen), len(used)))
            part = cls._from_csr(few, constant, None)
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
        _check_norms(norms)
        if constant:
            feature_of = np.append(feature_of, X.shape[1])
        return cls(indptr, indices, data, norms, feature_of, X.shape[1], constant)

    def reorder(self, order: Ids) -> TrainingRows:
        """Return the same rows in another order in memory."""
        indptr = row_ends(self.indptr, order)
        copy = copy_rows_on_disk if is_mapped(self.data) else copy_rows
        indices, data = copy(self._csr, order, indptr)
        columns = None if self.columns is None else self.columns.copy(order)
        return replace(self, indptr=indptr, indices=indices, data=data, norms=self.norms[order], columns=columns)

    def matrix(self, row_ids: Ids) -> sparse.csr_array:
        """Return the chosen rows in their original features, without the constant."""
        indptr = row_ends(self.indptr, row_ids)
        indices, data = copy_rows(self._csr, row_ids, indptr)
        shape = (len(row_ids), self.n_features + self.has_constant)
        rows = sparse.csr_array((data, self.feature_of[indices], indptr), shape=shape)
        if self.columns is not None:
            rows = rows + self.columns.matrix(row_ids, shape[1])
        return rows[:, : self.n_features].sorted_indices()

    def to_dense(self, dtype: Any = np.float64) -> npt.NDArray[Any]:
        """Return the rows as an array (rows × features in use)."""
        X = np.zeros((len(self), self.n_used), dtype)
        X[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.indices] = self.data
        if self.columns is not None:
            X[:, self.n_used - self.columns.n_columns :] = self.dense
        return X

    def to_csr(self) -> sparse.csr_array:
        """Return the rows as CSR (rows × features in use)."""
        entries = self.data, self.indices.astype(np.int64), self.indptr
        rows = sparse.csr_array(entries, shape=(len(self), self.n_used))
        if self.columns is None:
            return rows
        n = self.n_used - self.columns.n_columns
        return sparse.csr_array(sparse.hstack([rows[:, :n], sparse.csr_array(self.dense)], format="csr"))

    @property
    def on_disk(self) -> bool:
        """Whether the rows are in temporary files."""
        return is_mapped(self.data) or (self.columns is not None and self.columns.stays_on_disk)

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

    @cached_property
    def dense(self) -> Floats32:
        """The dense columns (rows × columns), as kernels read them."""
        return np.zeros((len(self), 0), np.float32) if self.columns is None else self.columns.array()

    @property
    def n_entries(self) -> int:
        """The number of entries that are stored."""
        return len(self.data) + (0 if self.columns is None else len(self) * self.columns.n_columns)

    @property
    def _csr(self) -> CsrArrays:
        return self.indptr, self.indices, self.data

    @property
    def arrays(self) -> RowArrays:
        """The arrays that kernels take."""
        return (*self._csr, self.dense)


def _check_norms(norms: Floats32) -> None:
    """Refuse rows that are too long to compute with."""
    if not np.all(norms < LONGEST):
        row = int(np.flatnonzero(~(norms < LONGEST))[0])
        raise DatasetError(
            f"Row {row} of the training rows has values too large to compute with, a squared length over "
            f"{LONGEST:.0e}; scale the features, with StandardScaler for instance."
        )


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


def reserved_zeros(n_rows: int, n_columns: int) -> Floats32:
    """Return zeros of which only the rows that are written to take memory, so that there may be more than fit."""
    size = n_rows * n_columns * 4
    if not NORESERVE or size < LARGE:
        return np.zeros((n_rows, n_columns), np.float32)
    reserved = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)
    with suppress(OSError):  # as numpy asks for its own arrays
        reserved.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(reserved, np.float32).reshape(n_rows, n_columns)


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
