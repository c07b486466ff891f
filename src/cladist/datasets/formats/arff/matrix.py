"""The features of ARFF rows: parsed into buffers of a few megabytes, kept as pieces, joined at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.formats.arff.header import Header
from cladist.datasets.formats.arff.names import Table, schema_of
from cladist.kernels import arff as kernels
from cladist.kernels.arff_tokens import MOST_LABELS, NUMERIC

PIECE = 2**19  # values parsed at a time
ROWS = 2**15  # rows parsed at a time

Labels = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]
Outcome = tuple[int, int, int, int, int, int]
"""Position, rows, labels, unsure values, error, attribute of the error."""


def largest_number(dtype: np.dtype[Any]) -> float:
    """Return the largest double that rounds to a finite number of this type.

    Examples
    --------
    >>> largest_number(np.dtype("f4")), np.finfo("f4").max.item()
    (3.4028235677973362e+38, 3.4028234663852886e+38)
    """
    highest = np.finfo(dtype).max
    if dtype == np.float64:
        return float(highest)
    half_a_step = (float(highest) - float(np.nextafter(highest, np.float32(0)))) / 2
    return float(np.nextafter(float(highest) + half_a_step, 0))


class Rows(ABC):
    """What both kinds of rows share: the attributes, and buffers for labels and for values that Python must read."""

    def __init__(self, header: Header, table: Table, dtype: np.dtype[Any], n_rows: int) -> None:
        self.schema, self.table, self.dtype = schema_of(header), table, dtype
        self.largest = largest_number(dtype)
        self.labels: Labels = (
            np.empty(2 * MOST_LABELS, np.int32),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
        )
        self.unsure = np.empty((max(len(header.kinds), 2**12), 4), np.int32)
        self.n_rows = 0  # read so far
        self.n_one_hot_bytes = 0  # kept for nominal attributes

    def is_numeric(self, attribute: int) -> bool:
        """Tell whether an attribute is one column of numbers."""
        return bool(self.schema[0][attribute] == NUMERIC)

    def taken(self) -> Any:
        """Return the rows that are kept, and keep them no longer."""
        X = self.matrix()
        self.forget()
        self.n_one_hot_bytes = 0
        return X

    @abstractmethod
    def matrix(self) -> Any:
        """Return the rows that are kept."""

    @abstractmethod
    def forget(self) -> None:
        """Keep no rows any more."""


class DenseRows(Rows):
    """Rows that spell out every value."""

    def __init__(self, header: Header, table: Table, dtype: np.dtype[Any]) -> None:
        n_rows = max(1, min(ROWS, PIECE // max(header.n_columns, 1)))
        super().__init__(header, table, dtype, n_rows)
        self.X = np.empty((n_rows, header.n_columns))
        self.pieces: list[npt.NDArray[Any]] = []

    def parse(self, text: npt.NDArray[np.uint8], position: int) -> Outcome:
        """Parse as many rows as the buffers hold."""
        outcome: Outcome = kernels.parse_dense(
            text, position, self.schema, self.largest, self.table, self.X, self.labels, self.unsure
        )
        return outcome

    def settle(self, row: int, attribute: int, x: float) -> None:
        """Put in a number, or the position of a nominal value, that Python has read."""
        column = self.schema[1][attribute]
        if self.is_numeric(attribute):
            self.X[row, column] = x
        else:
            self.X[row, column + int(x)] = 1.0

    def keep(self, n_rows: int) -> None:
        """Keep the first rows of the buffer."""
        self.pieces.append(self.X[:n_rows].astype(self.dtype))
        self.n_rows += n_rows
        self.n_one_hot_bytes += n_rows * int(self.schema[2][self.schema[3]].sum()) * self.dtype.itemsize

    def matrix(self) -> npt.NDArray[Any]:
        """Return the rows that are kept."""
        return np.concatenate([self.X[:0].astype(self.dtype), *self.pieces])

    def forget(self) -> None:
        """Keep no rows any more."""
        self.pieces = []


class SparseRows(Rows):
    """Rows that name what they hold by index; `first_index` is that of the first attribute."""

    def __init__(self, header: Header, table: Table, dtype: np.dtype[Any], first_index: int) -> None:
        super().__init__(header, table, dtype, ROWS)
        self.first_index, self.n_columns = first_index, header.n_columns
        n_entries = max(header.n_columns, PIECE)
        self.entries = np.empty(n_entries, np.int32), np.empty(n_entries), np.empty(ROWS, np.int64)
        self.seen = np.zeros(len(header.kinds), np.int64)
        self.is_nominal = np.ones(header.n_columns, bool)
        self.is_nominal[self.schema[1][self.schema[0] == NUMERIC]] = False
        self.forget()

    def parse(self, text: npt.NDArray[np.uint8], position: int) -> Outcome:
        """Parse as many rows as the buffers hold."""
        rules = (self.largest, self.first_index)
        position, n_rows, _, *others = kernels.parse_sparse(
            text,
            position,
            self.schema,
            rules,
            self.table,
            self.entries,
            self.labels,
            self.unsure,
            self.seen,
            self.n_rows,
        )
        n_labels, n_unsure, error, attribute = others
        return position, n_rows, n_labels, n_unsure, error, attribute

    def settle(self, entry: int, attribute: int, x: float) -> None:
        """Put in a number, or the position of a nominal value, that Python has read."""
        columns, values, _ = self.entries
        if self.is_numeric(attribute):
            values[entry] = x
        else:
            columns[entry] += int(x)

    def keep(self, n_rows: int) -> None:
        """Keep the first rows of the buffers."""
        columns, values, ends = self.entries
        n = int(ends[n_rows - 1]) if n_rows else 0
        self.indices.append(columns[:n].copy())
        self.values.append(values[:n].astype(self.dtype))
        self.counts.append(np.diff(ends[:n_rows], prepend=0))
        self.n_rows += n_rows
        n_bytes = self.dtype.itemsize + columns.itemsize
        self.n_one_hot_bytes += int(np.count_nonzero(self.is_nominal[columns[:n]])) * n_bytes

    def forget(self) -> None:
        """Keep no rows any more."""
        self.indices = [np.empty(0, np.int32)]
        self.values: list[npt.NDArray[Any]] = [np.empty(0, self.dtype)]
        self.counts = [np.empty(0, np.int64)]

    def matrix(self) -> sparse.csr_matrix:
        """Return the rows that are kept in CSR with sorted indices."""
        n_rows, n_entries = sum(map(len, self.counts)), sum(map(len, self.indices))
        indptr = np.zeros(n_rows + 1, np.int32 if n_entries < 2**31 else np.int64)
        np.cumsum(np.concatenate(self.counts), out=indptr[1:])
        arrays = np.concatenate(self.values), np.concatenate(self.indices), indptr
        X = sparse.csr_matrix(arrays, shape=(n_rows, self.n_columns))
        X.sort_indices()
        return X
