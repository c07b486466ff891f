"""`GrowingFactor`: the Cholesky factor L of a symmetric matrix that gains rows, held in panels of rows.

Nothing that stands is moved when rows are added: memory is the lower triangle and at most one panel more, and the
work is matrix products. All rows together cost what one factorisation of the final matrix costs.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from threadpoolctl import ThreadpoolController

from cladist.errors import ModelFormatError
from cladist.storage.array_groups import Arrays

Matrix = npt.NDArray[np.float64]
PANEL = 512  # rows of a panel: large enough that products, not calls, take the time
SMALLEST = 16  # rows that the first panel begins with; most stores of a large tree stay small
LARGE = 4096  # rows from which products gain more by several threads than they lose to other programs


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for libraries takes longer than a small solve


def blas_threads(n_rows: int) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while factors are small: waiting for a second one costs more than it brings."""
    return nullcontext() if n_rows >= LARGE else _controller().limit(limits=1, user_api="blas")


class Panel:
    """Some rows of L: `left`, the columns of earlier panels, and `corner`, their own."""

    def __init__(self, start: int, capacity: int) -> None:
        self.start, self.n_rows = start, 0
        self.left = np.zeros((capacity, start))
        self.corner = np.zeros((capacity, capacity))

    @property
    def capacity(self) -> int:
        """How many rows there is room for."""
        return len(self.corner)

    @property
    def used(self) -> tuple[slice, Matrix, Matrix]:
        """The rows' numbers, and the parts of `left` and `corner` in use."""
        n = self.n_rows
        return slice(self.start, self.start + n), self.left[:n], self.corner[:n, :n]

    def widen(self) -> None:
        """Make twice as much room."""
        wider = Panel(self.start, 2 * self.capacity)
        wider.left[: self.n_rows] = self.left[: self.n_rows]
        wider.corner[: self.n_rows, : self.n_rows] = self.corner[: self.n_rows, : self.n_rows]
        self.left, self.corner = wider.left, wider.corner


class GrowingFactor:
    """L, lower triangular, of so many rows."""

    def __init__(self) -> None:
        self.panels: list[Panel] = []

    def __len__(self) -> int:
        return self.panels[-1].start + self.panels[-1].n_rows if self.panels else 0

    def solve(self, K: Matrix) -> Matrix:
        """Return L⁻¹ K; cost O(rows²) a column."""
        Z = np.empty(K.shape)
        for panel in self.panels:
            rows, left, corner = panel.used
            right = K[rows] - left @ Z[: panel.start] if panel.start else K[rows]
            Z[rows] = solve_triangular(corner, right, lower=True, check_finite=False)
        return Z

    def solve_transposed(self, U: Matrix) -> Matrix:
        """Return L⁻ᵀ U; cost O(rows²) a column."""
        right = np.array(U)
        for panel in reversed(self.panels):
            rows, left, corner = panel.used
            right[rows] = solve_triangular(corner, right[rows], lower=True, trans=1, check_finite=False)
            right[: panel.start] -= left.T @ right[rows]
        return right

    def append(self, Z: Matrix, corner: Matrix) -> None:
        """Add rows: Z (rows × len(self)) in the columns that stand, `corner` (lower triangular) in their own."""
        before, done, n_new = len(self), 0, len(corner)
        while done < n_new:
            panel = self._roomy(n_new - done)
            fits = min(panel.capacity - panel.n_rows, n_new - done)
            rows = np.concatenate([Z[done : done + fits], corner[done : done + fits, : done + fits]], axis=1)
            at = slice(panel.n_rows, panel.n_rows + fits)
            panel.left[at] = rows[:, : panel.start]
            panel.corner[at, : before + done + fits - panel.start] = rows[:, panel.start :]
            panel.n_rows += fits
            done += fits

    def _roomy(self, wanted: int) -> Panel:
        """Return the last panel, with room for at least one more row."""
        if not self.panels:
            self.panels.append(Panel(0, SMALLEST))
        last = self.panels[-1]
        while last.n_rows + wanted > last.capacity < PANEL:
            last.widen()
        if last.n_rows == last.capacity:
            self.panels.append(Panel(len(self), PANEL))
        return self.panels[-1]

    def pack(self) -> Arrays:
        """Return the arrays a model file holds: the rows in use of every panel, one after the other."""
        if not self.panels:
            return {}
        parts: list[Any] = []
        for panel in self.panels:
            _, left, corner = panel.used
            parts += [left.ravel(), corner[np.tril_indices(panel.n_rows)]]
        return {"factor": np.concatenate(parts)}

    @classmethod
    def unpack(cls, n_rows: int, arrays: Arrays) -> GrowingFactor:
        """Restore what `pack` gave of so many rows."""
        made = cls()
        if not n_rows:
            return made
        values = arrays["factor"].astype(np.float64)
        if values.shape != (n_rows * (n_rows + 1) // 2,) or not np.all(np.isfinite(values)):
            raise ModelFormatError("The factor of a store does not have as many numbers as its examples need.")
        at = 0
        for start in range(0, n_rows, PANEL):
            size = min(PANEL, n_rows - start)
            panel = Panel(start, PANEL if start else _capacity(size))
            panel.n_rows = size
            panel.left[:size] = values[at : at + size * start].reshape(size, start)
            at += size * start
            own = size * (size + 1) // 2
            panel.corner[np.tril_indices(size)] = values[at : at + own]
            at += own
            if np.any(np.diag(panel.corner)[:size] <= 0):
                raise ModelFormatError("The factor of a store has a diagonal that is not positive.")
            made.panels.append(panel)
        return made


def _capacity(size: int) -> int:
    """Return how many rows the first panel has room for once it holds so many."""
    return min(PANEL, SMALLEST * 2 ** max(0, int(np.ceil(np.log2(size / SMALLEST)))))
