"""Kernel columns K(x_i, ·): computed one block of rows at a time, and cached while there is room."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BLOCK = 4096  # rows per task of a round, whatever the number of workers


class Columns(Protocol):
    """Kernel values between the rows of a problem."""

    diagonal: Floats  # K(x_i, x_i)

    def fill(self, i: int, first: int, last: int, out: Floats) -> None:
        """Write K(x_i, x_r) for rows r of first … last, one of the `blocks` of a window, into `out`."""

    def expand(self, rows: npt.NDArray[np.int64], coefs: Any, first: int, last: int) -> Floats:
        """Return Σ_k coefs[:, k] K(x_rows[k], ·), coefs being CSR (any × rows), for rows first … last."""


def blocks(first: int, last: int) -> list[tuple[int, int]]:
    """Return the blocks of rows that first … last is split into.

    Examples
    --------
    >>> blocks(0, 10_000)
    [(0, 4096), (4096, 8192), (8192, 10000)]
    """
    return [(start, min(start + BLOCK, last)) for start in range(first, last, BLOCK)]


class ColumnStore:
    """A cache of the columns used last, as many as fit."""

    def __init__(self, length: int, most_bytes: float) -> None:
        self.length = length
        self.capacity = max(1, int(most_bytes // (8 * max(1, length))))
        self.columns: OrderedDict[int, Floats] = OrderedDict()

    def look(self, i: int) -> tuple[Floats, bool]:
        """Return the column of row i and whether it is filled; if not, the caller must fill it."""
        known = i in self.columns
        if known:
            self.columns.move_to_end(i)
        else:
            # The array of the column used longest ago is reused.
            full = len(self.columns) >= self.capacity
            self.columns[i] = self.columns.popitem(last=False)[1] if full else np.empty(self.length)
        return self.columns[i], known
