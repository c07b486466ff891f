"""Dense columns of rows: which of them are worth being stored as such, and how solvers get them, in float32."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.features.rows_on_disk import MOST_IN_MEMORY
from cladist.mixed_rows import MixedRows, as_csr
from cladist.storage import is_mapped
from cladist.storage.scratch import ScratchArray

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]

LEAST_ENTRIES = 2**16  # of dense blocks; kernels for fewer entries take longer to load than they save
LEAST_SHARE = 0.4  # of entries that are not 0; with fewer, CSR takes less time, and hardly more memory
PIECE_ENTRIES = 2**18  # that are converted at once


def read_rows(X: Any) -> Any:
    """Return rows as solvers read them: `MixedRows` if they have dense columns that are worth it, or canonical CSR."""
    if isinstance(X, MixedRows):
        large = sum(block.size for block in X.blocks if not sparse.issparse(block)) >= LEAST_ENTRIES
        blocks = [block if large and is_worth_dense(block) else canonical_csr(block) for block in X.blocks]
        if any(not sparse.issparse(block) for block in blocks):
            return MixedRows(blocks)
        return blocks[0] if len(blocks) == 1 else canonical_csr(sparse.hstack(blocks, format="csr"))
    if isinstance(X, np.ndarray):
        return MixedRows([X]) if X.size >= LEAST_ENTRIES and is_worth_dense(X) else canonical_csr(X)
    rows = canonical_csr(X)
    n_rows, n_columns = rows.shape
    if rows.nnz == n_rows * n_columns and rows.nnz >= LEAST_ENTRIES:  # without zeros, its values are the array
        return MixedRows([rows.data.reshape(rows.shape)])
    return rows


def is_worth_dense(block: Any) -> bool:
    """Tell whether a block of columns is an array of which enough entries are not 0."""
    return not sparse.issparse(block) and np.count_nonzero(block) >= LEAST_SHARE * block.size


def canonical_csr(X: Any) -> sparse.csr_array:
    """Return a matrix as CSR with sorted indices, each once; an array in float32 or float64."""
    if isinstance(X, np.ndarray) and X.dtype == np.float16:
        X = X.astype(np.float32)
    if not (sparse.issparse(X) and X.format == "csr"):
        X = as_csr(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


@dataclass(frozen=True)
class DenseColumns:
    """Dense columns of all rows, or of the chosen ones, in arrays of the caller's.

    Attributes
    ----------
    blocks : arrays (rows × columns) of any float type
    chosen : array of int, or None
        The rows in use; None: all.
    numbers : array of int
        The columns' numbers among all features; one past the last for the constant.
    constant : bool
        Whether there is one more column, of 1.
    """

    blocks: tuple[npt.NDArray[Any], ...]
    chosen: Ids | None
    numbers: Ids
    constant: bool = False

    @classmethod
    def split(
        cls, X: MixedRows, chosen: Ids | None, *, constant: bool = False
    ) -> tuple[DenseColumns, sparse.csr_array, Ids]:
        """Return the dense columns of rows, the sparse ones as CSR, and the numbers of these among all features."""
        kept: dict[bool, list[Any]] = {True: [], False: []}
        numbers: dict[bool, list[Ids]] = {True: [np.zeros(0, np.int64)], False: [np.zeros(0, np.int64)]}
        for block, start in zip(X.blocks, X.starts, strict=True):
            is_sparse = sparse.issparse(block)
            kept[is_sparse].append(block)
            numbers[is_sparse].append(np.arange(start, start + block.shape[1]))
        none = sparse.csr_array((len(X), 0), dtype=np.float32)
        others = kept[True][0] if len(kept[True]) == 1 else sparse.hstack(kept[True] or [none], format="csr")
        if chosen is not None and len(chosen) == len(X) and np.array_equal(chosen, np.arange(len(X))):
            chosen = None
        numbers[False].append(np.full(int(constant), X.shape[1]))
        columns = cls(tuple(kept[False]), chosen, np.concatenate(numbers[False]), constant)
        return columns, canonical_csr(others), np.concatenate(numbers[True])

    def __len__(self) -> int:
        return len(self.blocks[0]) if self.chosen is None else len(self.chosen)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.numbers)

    @property
    def stays_on_disk(self) -> bool:
        """Whether copies go to temporary files: large, and not in memory now."""
        return any(map(is_mapped, self.blocks)) and 4 * len(self) * self.n_columns > MOST_IN_MEMORY

    def take(self, rows: Any) -> Floats32:
        """Return some rows, by a slice or by their numbers, as one array in float32."""
        if self.chosen is not None:
            rows = self.chosen[rows]
        parts = [block[rows] for block in self.blocks]
        if len(parts) == 1 and not self.constant:
            return np.ascontiguousarray(parts[0], np.float32)
        taken, start = np.ones((len(parts[0]), self.n_columns), np.float32), 0
        for part in parts:
            taken[:, start : start + part.shape[1]] = part
            start += part.shape[1]
        return taken

    def pieces(self) -> Iterator[slice]:
        """Yield slices of rows that take some megabytes each."""
        step = max(1, PIECE_ENTRIES // max(1, self.n_columns))
        for start in range(0, len(self), step):
            yield slice(start, min(start + step, len(self)))

    def norms(self) -> npt.NDArray[np.float64]:
        """Return ‖x‖² of the rows."""
        norms = np.empty(len(self))
        with np.errstate(over="ignore"):
            for piece in self.pieces():
                part = self.take(piece)
                norms[piece] = np.einsum("ij,ij->i", part, part, dtype=np.float64)
        return norms

    def array(self) -> Floats32:
        """Return all rows as kernels read them; the caller's array itself where it is as they need it."""
        block, whole = self.blocks[0], self.chosen is None and len(self.blocks) == 1 and not self.constant
        if whole and block.dtype == np.float32 and block.flags.c_contiguous and block.flags.writeable:
            return np.asarray(block)
        return self._copied(np.arange(len(self)))

    def copy(self, order: Ids) -> DenseColumns:
        """Return the rows in another order, copied once."""
        return DenseColumns((self._copied(order),), None, self.numbers)

    def _copied(self, order: Ids) -> Floats32:
        shape = (len(order), self.n_columns)
        scratch = ScratchArray(shape, np.float32) if self.stays_on_disk else None
        copied = np.empty(shape, np.float32) if scratch is None else scratch.array
        step = max(1, PIECE_ENTRIES // max(1, self.n_columns))
        for start in range(0, len(order), step):
            rows = order[start : start + step]
            if scratch is None:
                copied[start : start + step] = self.take(rows)
                continue
            place = np.argsort(rows, kind="stable")  # a file is read in its own order
            part = np.empty((len(rows), self.n_columns), np.float32)
            part[place] = self.take(rows[place])
            scratch.write(start, part)
        return copied

    def matrix(self, row_ids: Ids, n_features: int) -> sparse.csr_array:
        """Return some rows as CSR over all features."""
        part = sparse.csr_array(self.take(row_ids))
        return sparse.csr_array((part.data, self.numbers[part.indices], part.indptr), shape=(len(row_ids), n_features))
