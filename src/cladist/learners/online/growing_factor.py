"""`GrowingFactor`: the Cholesky factor L of a symmetric matrix that gains rows, held in panels of rows.

Adding rows moves nothing: memory is the lower triangle and at most one more panel, and the work is matrix products.
All rows together cost as much as one factorisation of the final matrix.
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

Matrix = npt.NDArray[np.float64]
PANEL = 512  # rows of a panel: large enough that products, not calls, take the time
SMALLEST = 16  # capacity of a first panel; most groups of a large tree stay small
LARGE = 4096  # rows from which several BLAS threads are faster


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # searching for libraries takes longer than a small solve


def limit_blas_threads(n_rows: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread while factors are small: synchronising costs more than it gains."""
    return nullcontext() if n_rows >= LARGE else _controller().limit(limits=1, user_api="blas")


class Panel:
    """Some rows of L: `left`, the columns of earlier panels, and `corner`, their own."""

    def __init__(self, start: int, capacity: int) -> None:
        self.start, self.n_rows, self.capacity = start, 0, capacity
        self.left = np.zeros((capacity, start))
        self.corner = np.zeros((capacity, capacity))

    @property
    def used(self) -> tuple[slice, Matrix, Matrix]:
        """The slice of the rows in L, and the used parts of `left` and `corner`."""
        n = self.n_rows
        return slice(self.start, self.start + n), self.left[:n], self.corner[:n, :n]

    def double(self) -> None:
        """Double the capacity."""
        wider = Panel(self.start, 2 * self.capacity)
        _, wider.left[: self.n_rows], wider.corner[: self.n_rows, : self.n_rows] = self.used
        self.left, self.corner, self.capacity = wider.left, wider.corner, wider.capacity


class GrowingFactor:
    """L, lower triangular; with a budget B a single panel of B + 1 rows, which the caller updates in place."""

    def __init__(self, budget: int | None = None) -> None:
        self.panels = [] if budget is None else [Panel(0, budget + 1)]

    def __len__(self) -> int:
        return self.panels[-1].start + self.panels[-1].n_rows if self.panels else 0

    def solve(self, K: Matrix) -> Matrix:
        """Return L⁻¹ K. Cost O(rows²) per column."""
        Z = np.empty(K.shape)
        for panel in self.panels:
            rows, left, corner = panel.used
            right = K[rows] - left @ Z[: panel.start] if panel.start else K[rows]
            Z[rows] = solve_triangular(corner, right, lower=True, check_finite=False)
        return Z

    def solve_transposed(self, U: Matrix) -> Matrix:
        """Return L⁻ᵀ U. Cost O(rows²) per column."""
        right = np.array(U)
        for panel in reversed(self.panels):
            rows, left, corner = panel.used
            right[rows] = solve_triangular(corner, right[rows], lower=True, trans=1, check_finite=False)
            right[: panel.start] -= left.T @ right[rows]
        return right

    def append(self, Z: Matrix, corner: Matrix) -> None:
        """Add rows: Z (rows × len(self)) in the existing columns, `corner` (lower triangular) in their own."""
        before, n_added, n_new = len(self), 0, len(corner)
        while n_added < n_new:
            panel = self._panel_with_room(n_new - n_added)
            fits = min(panel.capacity - panel.n_rows, n_new - n_added)
            rows = np.concatenate(
                [Z[n_added : n_added + fits], corner[n_added : n_added + fits, : n_added + fits]], axis=1
            )
            at = slice(panel.n_rows, panel.n_rows + fits)
            panel.left[at] = rows[:, : panel.start]
            panel.corner[at, : before + n_added + fits - panel.start] = rows[:, panel.start :]
            panel.n_rows += fits
            n_added += fits

    def _panel_with_room(self, n_rows: int) -> Panel:
        """Return the last panel, with room for at least one more row, for `n_rows` if it may grow so far."""
        if not self.panels:
            self.panels.append(Panel(0, SMALLEST))
        last = self.panels[-1]
        while last.n_rows + n_rows > last.capacity < PANEL:
            last.double()
        if last.n_rows == last.capacity:
            self.panels.append(Panel(len(self), PANEL))
        return self.panels[-1]

    def pack(self) -> Matrix:
        """Return the used rows of every panel in one array: `left`, then the lower triangle of `corner`."""
        parts = [np.zeros(0)]
        for panel in self.panels:
            _, left, corner = panel.used
            parts += [left.ravel(), corner[np.tril_indices(panel.n_rows)]]
        return np.concatenate(parts)

    @classmethod
    def unpack(cls, n_rows: int, values: Matrix, budget: int | None = None) -> GrowingFactor:
        """Restore a packed factor of `n_rows` rows from its n (n + 1) / 2 values."""
        if not np.all(np.isfinite(values)):
            raise ModelFormatError("The factor of a store has values that are not finite numbers.")
        restored, at = cls(budget), 0
        per_panel = PANEL if budget is None else budget + 1
        for start in range(0, n_rows, per_panel):
            size = min(per_panel, n_rows - start)
            middle, end = at + size * start, at + size * start + size * (size + 1) // 2
            corner = np.zeros((size, size))
            corner[np.tril_indices(size)] = values[middle:end]
            if np.any(np.diag(corner) <= 0):
                raise ModelFormatError("The factor of a store has a diagonal that is not positive.")
            restored.append(values[at:middle].reshape(size, start), corner)
            at = end
        return restored
