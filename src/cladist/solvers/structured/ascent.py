"""Ascent over the dual of a large-margin problem, row by row, to a certified duality gap.

    min_W ½‖W‖² + C Σ_i ξ_i,   ξ_i = max_u [Δ(y_i, u) − ⟨W, Φ(x_i, y_i) − Φ(x_i, u)⟩]

The dual is concave in the distributions α_i of mass C over the outputs u of row i. A sweep visits rows in random order
and raises the dual over one row's distribution, all others fixed, so that it never decreases. The gap of a row is
C ξ_i − ⟨α_i, gradient⟩, and their sum is primal − dual. Stops when that is at most `tol` times the dual, or after
`n_sweeps` sweeps (Rousu et al. 2005, Algorithm 1; Lacoste-Julien et al. 2013).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.execution import Executor, Serial

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
SAMPLINGS = ("permutation", "working_set", "gap")
IDLE = 0.1  # a row whose gap is below this part of its share of the allowed gap is not visited


class Objectives(NamedTuple):
    """Both objectives at one W."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """The duality gap relative to the dual; infinite while the dual is 0 and the primal is not."""
        gap = self.primal - self.dual
        if self.dual == 0:
            return 0.0 if gap == 0 else np.inf
        return gap / abs(self.dual)


def objectives_of(squared_norm: float, C: float, slacks: Floats, linear: float) -> Objectives:
    """Return ½‖W‖² + C Σ_i ξ_i and Σ_i ⟨α_i, Δ_i⟩ − ½‖W‖²; `linear` is the first sum of the dual."""
    half = 0.5 * squared_norm
    return Objectives(half + C * float(slacks.sum()), linear - half)


class RowDual(Protocol):
    """A dual that can be raised row by row."""

    gaps: Floats  # of all rows, each when it was last visited or measured

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows, one after the other, by `n_steps` steps at most; skip gaps below `enough`."""

    def measure(self, executor: Executor) -> Objectives:
        """Return both objectives and refresh all gaps."""


@dataclass(frozen=True)
class Sweeps:
    """Settings of an ascent.

    Attributes
    ----------
    tol : float
        The relative gap to stop at.
    n_sweeps : int
        The largest number of sweeps.
    n_steps : int
        The largest number of steps per row and visit.
    sampling : {"permutation", "working_set", "gap"}
        Whether a sweep visits all rows; those whose gap was not small when last measured; or as many as there are,
        drawn by their gaps.
    measure_every : int
        The largest number of sweeps between two measurements; fewer when the gaps met in a sweep suggest convergence.
    watch : callable, optional
        Called with every entry of the history.
    """

    tol: float = 1e-3
    n_sweeps: int = 100
    n_steps: int = 5
    sampling: str = "permutation"
    measure_every: int = 5
    watch: Callable[[dict[str, float]], Any] | None = None


@dataclass
class Ascent:
    """The result; `history` has one entry per measurement: passes, objective, dual, gap (relative), seconds."""

    history: list[dict[str, float]] = field(default_factory=list)
    converged: bool = False
    n_passes: int = 0

    def record(self, objectives: Objectives, seconds: float) -> dict[str, float]:
        """Append an entry to the history and return it."""
        primal, dual = objectives
        entry = {"passes": self.n_passes, "objective": primal, "dual": dual, "gap": objectives.gap, "seconds": seconds}
        self.history.append(entry)
        return entry


def ascend(dual: RowDual, sweeps: Sweeps, random: np.random.RandomState, executor: Executor | None = None) -> Ascent:
    """Sweep until the gap is closed; the dual holds the state and has the weights afterwards."""
    ascent, executor, started = Ascent(), executor or Serial(), time.perf_counter()

    def measure() -> Objectives:
        objectives = dual.measure(executor)
        entry = ascent.record(objectives, time.perf_counter() - started)
        if sweeps.watch is not None:
            sweeps.watch(entry)
        return objectives

    now, since = measure(), 0
    with progress.task("Closing the gap", sweeps.n_sweeps) as running:
        while now.gap > sweeps.tol and ascent.n_passes < sweeps.n_sweeps:
            allowed = sweeps.tol * abs(now.dual)
            enough = IDLE * allowed / len(dual.gaps)
            dual.sweep(_order(dual.gaps, sweeps.sampling, enough, random), sweeps.n_steps, enough)
            ascent.n_passes, since = ascent.n_passes + 1, since + 1
            running.advance()
            seems_closed = float(dual.gaps.sum()) <= allowed
            if seems_closed or ascent.n_passes == sweeps.n_sweeps or since >= sweeps.measure_every:
                now, since = measure(), 0
    ascent.converged = now.gap <= sweeps.tol
    return ascent


def _order(gaps: Floats, sampling: str, enough: float, random: np.random.RandomState) -> Ids:
    """Return the rows of the next sweep."""
    if sampling == "gap":
        above = gaps - gaps.min()
        total = float(above.sum())
        if total > 0:
            return random.choice(len(gaps), len(gaps), p=above / total)
    if sampling == "working_set":
        open_rows = np.flatnonzero(gaps > enough)
        if len(open_rows):
            return random.permutation(open_rows)
    return random.permutation(len(gaps))
