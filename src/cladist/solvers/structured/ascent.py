"""Ascent over the dual of a large-margin problem, a row at a time, to a certified gap.

    min_W ½‖W‖² + C Σ_i ξ_i,   ξ_i = max_u [Δ(y_i, u) − ⟨W, Φ(x_i, y_i) − Φ(x_i, u)⟩]

Its dual is concave in a distribution α_i of mass C over the outputs u of every row. A sweep visits rows in a random
order and raises the dual over one row's distribution, all others fixed, so that it never falls. The gap of a row is
C ξ_i − ⟨α_i, gradient⟩; their sum is primal − dual. Stops when that is below a share of the dual, or after so many
sweeps.
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
IDLE = 0.1  # of a row's share in the gap allowed: a row with less is left as it is


class Measured(NamedTuple):
    """Both objectives at one W."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """How far they are apart, relative to the dual; infinite while the dual is 0 and the primal is not."""
        apart = self.primal - self.dual
        if self.dual == 0:
            return 0.0 if apart == 0 else np.inf
        return apart / abs(self.dual)


class RowDual(Protocol):
    """A dual that can be raised a row at a time."""

    gaps: Floats  # of all rows, each when it was last looked at

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows, one after the other, by so many steps each; not where a gap is `enough`."""

    def measure(self, executor: Executor) -> Measured:
        """Return both objectives and refresh all gaps."""


@dataclass(frozen=True)
class Sweeps:
    """How to go about it.

    Attributes
    ----------
    tol : float
        Relative gap to stop at.
    n_sweeps : int
        At most.
    n_steps : int
        Steps a row and visit, at most.
    sampling : {"permutation", "working_set", "gap"}
        Whether a sweep visits all rows; those whose gap was not small when last measured; or as many as there are,
        drawn by their gaps.
    measure_every : int
        Sweeps between two measurements at most; sooner where the gaps met in a sweep promise the end.
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
    """What was reached; one entry of `history` a measurement: passes, objective, dual, gap (relative), seconds."""

    history: list[dict[str, float]] = field(default_factory=list)
    converged: bool = False
    n_passes: int = 0


def ascend(dual: RowDual, sweeps: Sweeps, random: np.random.RandomState, executor: Executor | None = None) -> Ascent:
    """Sweep until the gap is closed; the dual holds the state and can be asked for its weights afterwards."""
    found, executor, started = Ascent(), executor or Serial(), time.perf_counter()

    def note() -> Measured:
        measured = dual.measure(executor)
        entry = {
            "passes": found.n_passes,
            "objective": measured.primal,
            "dual": measured.dual,
            "gap": measured.gap,
            "seconds": time.perf_counter() - started,
        }
        found.history.append(entry)
        if sweeps.watch is not None:
            sweeps.watch(entry)
        return measured

    now, since = note(), 0
    with progress.task("Closing the gap", sweeps.n_sweeps) as running:
        while now.gap > sweeps.tol and found.n_passes < sweeps.n_sweeps:
            allowed = sweeps.tol * abs(now.dual)
            enough = IDLE * allowed / len(dual.gaps)
            dual.sweep(_order(dual.gaps, sweeps.sampling, enough, random), sweeps.n_steps, enough)
            found.n_passes, since = found.n_passes + 1, since + 1
            running.advance()
            promising = float(dual.gaps.sum()) <= allowed
            last = found.n_passes == sweeps.n_sweeps
            if promising or last or since >= sweeps.measure_every:
                now, since = note(), 0
    found.converged = now.gap <= sweeps.tol
    return found


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
