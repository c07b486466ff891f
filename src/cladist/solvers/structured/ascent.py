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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.execution import Executor, Serial
from cladist.solvers.structured.columns import blocks

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


class RowDual:
    """A dual that can be raised row by row; a problem writes the other methods.

    `gaps` holds those of all rows, each when it was last visited or measured, and `slacks` every ξ_i as last measured.
    """

    W: Floats  # (features × scores)

    def __init__(self, n_rows: int, C: float) -> None:
        self.C, self.gaps, self.slacks = C, np.full(n_rows, np.inf), np.zeros(n_rows)

    def hold_rows(self, X: Any, n_scores: int) -> None:
        """Hold rows as CSR of float64 with their squared lengths, and W = 0."""
        csr = sparse.csr_array(X, dtype=np.float64)
        self.rows = csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data
        owners = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
        self.squares = np.bincount(owners, csr.data * csr.data, csr.shape[0]).astype(np.float64)
        self.W = np.zeros((csr.shape[1], n_scores))

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows, one after the other, by `n_steps` steps at most; skip gaps below `enough`."""
        raise NotImplementedError

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last."""
        raise NotImplementedError

    def linear_part(self) -> float:
        """Return Σ_i ⟨α_i, Δ_i⟩."""
        raise NotImplementedError

    def squared_norm(self) -> float:
        """Return ‖W‖²."""
        return float((self.W * self.W).sum())

    def measure(self, executor: Executor) -> Objectives:
        """Return ½‖W‖² + C Σ_i ξ_i and Σ_i ⟨α_i, Δ_i⟩ − ½‖W‖², and refresh all gaps."""
        list(executor.map(lambda block: self.measure_block(*block), blocks(0, len(self.gaps))))
        half = 0.5 * self.squared_norm()
        return Objectives(half + self.C * float(self.slacks.sum()), self.linear_part() - half)


@dataclass(frozen=True)
class Sweeps:
    """Settings of an ascent.

    A sweep visits all rows ("permutation"), those whose gap was not small when last measured ("working_set"), or as
    many as there are, drawn by their gaps ("gap").
    """

    tol: float = 1e-3  # the relative gap to stop at
    n_sweeps: int = 100  # at most
    n_steps: int = 5  # per row and visit, at most
    sampling: str = "permutation"
    measure_every: int = 5  # sweeps, at most; fewer if the gaps met in a sweep suggest convergence
    watch: Callable[[dict[str, float]], Any] | None = None  # called with every entry of the history


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
