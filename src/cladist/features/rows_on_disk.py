"""CSR rows that lie in files: chosen, renumbered and reordered a piece at a time, into temporary files.

Rows in a random order are read and written in long stretches all the same: each piece of the source is divided by where
its rows go, and each part of the result is put in order in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import csr_rows as kernels
from cladist.storage import is_mapped
from cladist.storage.scratch import ScratchArray

Ids = npt.NDArray[np.int64]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]

ENTRY_BYTES = 8  # of an index and a value
PIECE_BYTES = 2**27  # of rows that are in memory at once
MOST_IN_MEMORY = 2**28  # bytes of rows that are copied into memory although they lie in a file


def stay_on_disk(data: npt.NDArray[Any], n_entries: int) -> bool:
    """Tell whether so many entries of rows, whose values are given, belong on disk: large, and not in memory now."""
    return n_entries * ENTRY_BYTES > MOST_IN_MEMORY and is_mapped(data)


def pieces(indptr: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield first and last row of pieces of about `PIECE_BYTES`."""
    start, n_rows = 0, len(indptr) - 1
    while start < n_rows:
        end = int(np.searchsorted(indptr, indptr[start] + PIECE_BYTES // ENTRY_BYTES, side="right")) - 1
        end = min(max(end, start + 1), n_rows)
        yield start, end
        start = end


def row_ends(indptr: npt.NDArray[Any], rows: Ids) -> Ids:
    """Return the `indptr` of the chosen rows."""
    lengths = indptr[rows + 1] - indptr[rows]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def copy_rows(arrays: CsrArrays, order: Ids, indptr: Ids) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return indices and values of rows in another order, in memory; `indptr` is theirs."""
    indices, data = np.empty(indptr[-1], arrays[1].dtype), np.empty(indptr[-1], arrays[2].dtype)
    kernels.copy_rows(arrays, order, indptr, indices, data)
    return indices, data


def copy_rows_on_disk(arrays: CsrArrays, order: Ids, indptr: Ids) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return indices and values of different rows in any order as arrays on disk. Memory: three pieces."""
    ends = np.array([end for _, end in pieces(indptr)], np.int64)
    place = np.full(len(arrays[0]) - 1, -1, np.int64)  # of each row of the source, −1 if it is left out
    place[order] = np.arange(len(order))
    copies = [ScratchArray((int(indptr[-1]),), array.dtype) for array in arrays[1:]]
    starts = np.append(0, ends[:-1])
    filled, arrived = indptr[starts], [[np.zeros(0, np.int64)] for _ in ends]
    for first, last in pieces(arrays[0]):
        rows = first + np.flatnonzero(place[first:last] >= 0)
        parts = np.searchsorted(ends, place[rows], side="right")
        by_part = np.argsort(parts, kind="stable")
        rows, parts = rows[by_part], parts[by_part]
        to = row_ends(arrays[0], rows)
        values = copy_rows(arrays, rows, to)
        cuts = np.searchsorted(parts, np.arange(len(ends) + 1))
        for part in np.flatnonzero(np.diff(cuts)).tolist():
            a, b = cuts[part], cuts[part + 1]
            for copy, array in zip(copies, values, strict=True):
                copy.write(int(filled[part]), array[to[a] : to[b]])
            filled[part] += to[b] - to[a]
            arrived[part].append(rows[a:b])
    for start, end, came in zip(starts.tolist(), ends.tolist(), arrived, strict=True):
        rows = np.concatenate(came)
        here = slice(int(indptr[start]), int(indptr[end]))
        local = row_ends(arrays[0], rows), copies[0].array[here], copies[1].array[here]
        position = np.empty(end - start, np.int64)
        position[place[rows] - start] = np.arange(len(rows))
        for copy, array in zip(copies, copy_rows(local, position, indptr[start : end + 1] - here.start), strict=True):
            copy.write(here.start, array)
    return copies[0].array, copies[1].array


def take_rows(X: Any, rows: npt.NDArray[Any]) -> Any:
    """Return some rows of a CSR matrix: on disk if the matrix is there, they are many, and none is chosen twice."""
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
    indptr = row_ends(X.indptr, rows)
    arrays = X.indptr, X.indices, X.data
    on_disk = stay_on_disk(X.data, int(indptr[-1])) and len(np.unique(rows)) == len(rows)
    copy = copy_rows_on_disk if on_disk else copy_rows
    indices, data = copy(arrays, rows, indptr)
    return as_csr(indptr, indices, data, X.shape[1])


def slice_rows(X: Any, first: int, last: int) -> Any:
    """Return adjacent rows of a CSR matrix, which share its memory."""
    ends = X.indptr[first : last + 1]
    return as_csr(ends - ends[0], X.indices[ends[0] : ends[-1]], X.data[ends[0] : ends[-1]], X.shape[1])


def as_csr(indptr: npt.NDArray[Any], indices: Any, data: Any, n_columns: int) -> sparse.csr_array:
    """Return arrays in canonical form as a CSR matrix that shares indices and values.

    Beyond 2³¹ entries `indptr` is int64, and scipy's constructor would copy `indices` to make them int64, too.
    """
    X = sparse.csr_array((len(indptr) - 1, n_columns), dtype=data.dtype)
    X.indptr, X.indices, X.data = indptr if len(data) >= 2**31 else indptr.astype(np.int32), indices, data
    X.has_sorted_indices = X.has_canonical_format = True
    return X
