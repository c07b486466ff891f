"""Batch perceptrons that approach the maximum margin over all consistent labellings.

    max_{‖W‖ ≤ 1} min_{i, z ≠ y_i} ⟨W, Φ(x_i, y_i) − Φ(x_i, z)⟩ = δ,      Φ(x, y) = y ⊗ φ(x), y ∈ {±1}^N

W̄ grows by step · (y_i − Z_i) ⊗ φ(x_i) in every round, Z_i being row i's runner-up under W = W̄ / max(1, ‖W̄‖); i is the
row of least margin (hard), or drawn by weights u that grow where margins v are small (stochastic):
u_i ← u_i (1 − η v_i + η² v_i²), after the draw. Stops after a given number of rounds; hard, also when all margins are
positive. Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron", AAAI 2013,
Algorithms 1–3; their β_1 is √T, and draws are made by the weights before their update.

The mean of the differences added is a convex combination of all, so that its norm is never below δ: `bound`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.execution import Executor
from cladist.kernels import batch_perceptron
from cladist.labels import LabelMatrix
from cladist.solvers.structured.columns import Columns, ColumnStore, blocks
from cladist.solvers.structured.expansion import Expansion
from cladist.solvers.structured.score_cache import RunnerUp, ScoreBoard, Update

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
NOTES = 100  # entries of the history at most, beside the last
SAFE_TOTAL = (1e-100, 1e100)  # where weights of rows are left as they are


@dataclass(frozen=True)
class Start:
    """W̄ to begin with: Σ_k coefs[k] ⊗ φ(x_rows[k]), scaled down to this norm where it is larger."""

    rows: Ids
    coefs: Floats
    norm: float = 1.0


@dataclass(frozen=True)
class PerceptronProblem:
    """Rows, by their kernel columns and their labels, and where to begin; None: at 0."""

    columns: Columns
    labels: LabelMatrix
    start: Start | None = None


@dataclass(frozen=True)
class Rounds:
    """How to go about it.

    Attributes
    ----------
    n_rounds : int
        Shared evenly by the windows.
    step : float
        What a difference counts in W̄.
    rate : float or None
        η; None: the row of least margin instead of a drawn one.
    average : bool
        Whether the mean of all W is returned, or the last.
    stop_early : bool
        Whether to stop when all margins are positive; only without `rate`.
    windows : list of (first, last)
        Rows that are gone through one part after the other, each from where the one before ended.
    cache_bytes : float
        Kernel columns that are kept.
    """

    n_rounds: int
    step: float
    rate: float | None
    average: bool
    stop_early: bool
    windows: list[tuple[int, int]]
    cache_bytes: float = 200e6


@dataclass(frozen=True)
class PerceptronSolution:
    """W = Σ_k coefs[:, k] ⊗ φ(x_rows[k]), and how it was found; `separated` if all margins under W are positive.

    The last entry of `history` and `separated` speak of all rows, other entries of the window that was worked on.
    """

    rows: Ids
    coefs: sparse.csr_array
    history: list[dict[str, float]]
    n_rounds: int
    separated: bool


def solve_perceptron(
    problem: PerceptronProblem, rounds: Rounds, uniforms: Floats, executor: Executor
) -> PerceptronSolution:
    """Run all rounds; `uniforms`, one number in [0, 1) a round, are what rows are drawn by."""
    return _Run(problem, rounds, executor).all_windows(uniforms)


class _Run:
    """The state of a run: W̄ / step as an expansion, and the board of the window under way."""

    board: ScoreBoard
    store: ColumnStore
    weights: Floats
    totals: list[float]

    def __init__(self, problem: PerceptronProblem, rounds: Rounds, executor: Executor) -> None:
        self.problem, self.rounds, self.executor = problem, rounds, executor
        self.expansion = Expansion(problem.labels.taxonomy.n_nodes)
        self.history: list[dict[str, float]] = []
        self.pending: tuple[int, RunnerUp] | None = None  # what the scores on the board do not know yet
        self.made = 0
        self.started = time.perf_counter()
        self.begun: Floats | None = None  # scores of the first window's rows under the start
        if problem.start is not None:
            self._begin(problem.start)
        self.start_norm = float(np.sqrt(self.expansion.squared_norm))

    def _begin(self, start: Start) -> None:
        """Begin with W̄ of the start: its norm follows from the scores of its own rows."""
        coefs = sparse.csr_array(start.coefs.T)
        square = 0.0
        for first, last in self.rounds.windows:
            scores = self.problem.columns.expanded(start.rows, coefs, first, last)
            inside = (start.rows >= first) & (start.rows < last)
            square += float((start.coefs[inside] * scores.T[start.rows[inside] - first]).sum())
            self.begun = scores if self.begun is None else self.begun
        factor = min(1.0, start.norm / np.sqrt(square) if square > 0 else 1.0) / self.rounds.step
        self.expansion.begin_with(start.rows, factor * start.coefs, factor * factor * square)
        assert self.begun is not None
        self.begun *= factor

    # ---------------------------------------------------------------- windows

    def all_windows(self, uniforms: Floats) -> PerceptronSolution:
        windows = self.rounds.windows
        ends = np.linspace(0, self.rounds.n_rounds, len(windows) + 1).astype(int)
        separated = False
        with progress.task("Perceptron", self.rounds.n_rounds) as running:
            for k, (first, last) in enumerate(windows):
                self._open(first, last)
                separated = self._rounds(first, uniforms[ends[k] : ends[k + 1]], running)
                self._advance(self._scale())
        return self._finished(stopped=separated)

    def _open(self, first: int, last: int) -> None:
        """Begin a window: scores of its rows under what was learnt so far, and equal weights."""
        columns, expansion, size = self.problem.columns, self.expansion, last - first
        begun, self.begun = self.begun, None
        scores = np.zeros((expansion.n_nodes, size)) if begun is None else begun
        counted = np.zeros_like(scores) if self.rounds.average else None
        if expansion.rows and begun is None:
            rows, now = expansion.last()
            together = sparse.vstack([now, expansion.counted()[1]], format="csr") if self._mixed() else now
            found = columns.expanded(rows, together, first, last)
            scores = np.ascontiguousarray(found[: expansion.n_nodes])
            if counted is not None and self._mixed():
                counted = np.ascontiguousarray(found[expansion.n_nodes :])
        self.board = ScoreBoard(self.problem.labels[first:last], scores, counted)
        self.first, self.parts = first, blocks(0, size)
        self.store = ColumnStore(size, self.rounds.cache_bytes)
        self.weights = np.ones(size)
        self.totals = [float(b - a) for a, b in self.parts]

    def _mixed(self) -> bool:
        """Tell whether some terms are not part of all states counted."""
        return self.rounds.average and self.expansion.states > 0

    # ---------------------------------------------------------------- rounds

    def _rounds(self, first: int, uniforms: Floats, running: progress.Task) -> bool:
        """Make a round for each number; returns whether it stopped because all margins are positive."""
        every = max(1, self.rounds.n_rounds // NOTES)
        for uniform in uniforms.tolist():
            scale = self._scale()
            chosen = 0 if self.rounds.rate is None else self._drawn(uniform)
            self._advance(scale)
            if self.rounds.rate is None:
                chosen = int(self.board.margins.argmin())
                if self.rounds.stop_early and self.board.margins[chosen] > 0:
                    return True
            if self.made % every == 0:
                self._note(self.board.margins * scale)
            self.expansion.count(scale)
            found = self.board.runner_up(chosen)
            square = float(self.problem.columns.diagonal[first + chosen])
            self.expansion.add(first + chosen, found.nodes, found.values, margin=found.margin, square=square)
            self.pending = chosen, found
            self.made += 1
            running.advance()
        return False

    def _scale(self) -> float:
        """Return 1/β: W is so many times the sum of all differences."""
        return self.rounds.step / max(1.0, self.rounds.step * float(np.sqrt(self.expansion.squared_norm)))

    def _drawn(self, uniform: float) -> int:
        """Draw a row by its weight."""
        total = sum(self.totals)
        if not SAFE_TOTAL[0] < total < SAFE_TOTAL[1]:
            self.weights /= self.weights.max()
            self.totals = [float(self.weights[a:b].sum()) for a, b in self.parts]
            total = sum(self.totals)
        target = uniform * total
        for (a, b), part in zip(self.parts, self.totals, strict=True):
            if target < part:
                return int(batch_perceptron.find_row(self.weights, a, b, target))
            target -= part
        return len(self.weights) - 1  # rounding took the target past the end

    def _advance(self, scale: float) -> None:
        """Bring scores up to date, measure all margins and reweigh the rows, block by block."""
        pending, self.pending = self.pending, None
        rate, first, missing, update = (self.rounds.rate or 0.0) * scale, self.first, -1, None
        if pending is not None:
            chosen, found = pending
            column, known = self.store.look(chosen)
            missing = -1 if known else first + chosen
            update = Update(found.nodes, found.values, column, self.expansion.counted_at[-1])

        def work(part: tuple[int, int]) -> float:
            a, b = part
            if update is not None and missing >= 0:
                self.problem.columns.fill(missing, first + a, first + b, update.column[a:b])
            return self.board.advance(update, a, b, self.weights, rate)

        # One block is not worth a thread.
        run = map if len(self.parts) == 1 else self.executor.map
        self.totals = list(run(work, self.parts))

    # ---------------------------------------------------------------- telling

    def _note(self, margins: Floats) -> None:
        worst = float(margins.min())
        norm = float(np.sqrt(self.expansion.squared_norm))
        bound = (norm + self.start_norm) / self.made if self.made else np.inf
        self.history.append(
            {
                "round": self.made,
                "objective": worst,
                "bound": bound,
                "gap": bound - worst,
                "errors": float(np.mean(margins <= 0)),
                "norm": self.rounds.step * norm,
                "seconds": time.perf_counter() - self.started,
            }
        )

    def _margins_before(self, rows: Ids, coefs: sparse.csr_array) -> Iterator[Floats]:
        """Yield the margins under the final W of the rows of all windows but the last, which the board holds."""
        for first, last in self.rounds.windows[:-1]:
            scores = np.ascontiguousarray(self.problem.columns.expanded(rows, coefs, first, last))
            yield ScoreBoard(self.problem.labels[first:last], scores).margins_of(scores)

    def _finished(self, *, stopped: bool) -> PerceptronSolution:
        averaged = self.rounds.average and not stopped
        scale = self._scale()
        if averaged:
            rows, coefs = self.expansion.average()
            mean = (self.expansion.running * self.board.scores - self.board.counted) / max(1, self.expansion.states)
            margins = self.board.margins_of(mean)
        else:
            rows, coefs = self.expansion.last()
            coefs, margins = coefs * scale, self.board.margins * scale
        margins = np.concatenate([*self._margins_before(rows, coefs), margins])
        self._note(margins)
        kept = np.flatnonzero(np.diff(coefs.tocsc().indptr))  # the last term is in no state that counts
        separated = bool(margins.min() > 0)
        return PerceptronSolution(rows[kept], sparse.csr_array(coefs[:, kept]), self.history, self.made, separated)
