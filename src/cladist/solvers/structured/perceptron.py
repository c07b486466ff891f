"""The state of a structured perceptron: W̄, the scores and margins of all rows under W, and the average of all W.

    max_{‖W‖ ≤ 1} min_{i, z ≠ y_i} ⟨W, Φ(x_i, y_i) − Φ(x_i, z)⟩ = δ,      Φ(x, y) = y ⊗ φ(x), y ∈ {±1}^N

A round chooses a row i and adds step · (y_i − Z_i) ⊗ φ(x_i) to W̄, Z_i being the best other labelling of row i under
W = W̄ / max(1, ‖W̄‖). The hard perceptron chooses the row of least margin v, the stochastic one draws it by weights u,
u_i ← u_i (1 − η v_i + η² v_i²) after the draw. Nothing but the number of rounds ends them; all margins positive means
that every row is right. Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron",
AAAI 2013, Algorithms 1–3.

The mean of the differences added is a convex combination of all, so that its norm is never below δ: `bound`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.execution import Executor
from cladist.kernels import batch_perceptron
from cladist.labels import LabelMatrix
from cladist.solvers.structured.columns import Columns, ColumnStore, blocks
from cladist.solvers.structured.expansion import Expansion
from cladist.solvers.structured.score_cache import ScoreCache, Update

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
HISTORY_ENTRIES = 100  # at most, beside the last
SAFE_TOTAL = (1e-100, 1e100)  # weights of rows are scaled back when their sum leaves this range


@dataclass(frozen=True)
class InitialWeights:
    """W̄ of the first round: Σ_k coefs[k] ⊗ φ(x_rows[k]), scaled down to `norm` where it is longer."""

    rows: Ids
    coefs: Floats
    norm: float = 1.0


@dataclass(frozen=True)
class PerceptronSolution:
    """W = Σ_k coefs[:, k] ⊗ φ(x_rows[k]), and how it was reached.

    `separated` tells whether all margins under W are positive. The last entry of `history` and `separated` are measured
    on all rows, other entries on the rows of their window.
    """

    rows: Ids
    coefs: sparse.csr_array
    history: list[dict[str, float]]
    n_rounds: int
    separated: bool

    def by_number(self, order: Ids) -> tuple[Ids, sparse.csr_array]:
        """Return the rows by their numbers in `order`, ascending, and their coefficients."""
        numbers = order[self.rows]
        ascending = np.argsort(numbers)
        return numbers[ascending], sparse.csr_array(self.coefs[:, ascending])


class RowWeights:
    """The weights u that rows are drawn by, all 1 at first."""

    def __init__(self, n_rows: int) -> None:
        self.u, self.total = np.ones(n_rows), float(n_rows)

    def draw(self, uniform: float) -> int:
        """Return a row i with probability u_i / Σu, chosen by a number in [0, 1)."""
        if not SAFE_TOTAL[0] < self.total < SAFE_TOTAL[1]:
            self.u /= self.u.max()
            self.total = float(self.u.sum())
        return int(batch_perceptron.find_row(self.u, uniform * self.total))

    def update(self, margins: Floats, eta: float) -> None:
        """Let u_i become u_i (1 − η v_i + η² v_i²), v being the margins."""
        self.total = float(batch_perceptron.reweigh(self.u, margins, eta))


class PerceptronState:
    """W̄ / step as a sum of joint features, and the scores a and margins of the rows of one window under it.

    Parameters
    ----------
    columns : Columns
        Kernel columns of all rows.
    labels : LabelMatrix
        y of all rows, in a tree or forest.
    step : float
        The factor of every difference in W̄.
    n_rounds : int
        T, over all windows; the history has an entry for about every hundredth.
    average : bool
        Whether the mean of all W is returned, or the last.
    windows : list of (first, last)
        Parts of the rows that are trained on one after the other, each from where the one before ended.
    executor : Executor
        Runs blocks of rows.
    initial : InitialWeights, optional
        W̄ of the first round; 0 by default.
    cache_bytes : float
        Memory for kernel columns.
    """

    cache: ScoreCache
    store: ColumnStore

    def __init__(
        self,
        columns: Columns,
        labels: LabelMatrix,
        *,
        step: float,
        n_rounds: int,
        average: bool,
        windows: list[tuple[int, int]],
        executor: Executor,
        initial: InitialWeights | None = None,
        cache_bytes: float = 200e6,
    ) -> None:
        self.columns, self.labels, self.windows, self.executor = columns, labels, windows, executor
        self.step, self.average, self.cache_bytes = step, average, cache_bytes
        self.every = max(1, n_rounds // HISTORY_ENTRIES)
        self.expansion = Expansion(labels.taxonomy.n_nodes)
        self.history: list[dict[str, float]] = []
        self.n_rounds, self.started = 0, time.perf_counter()
        self.first_scores: Floats | None = None  # of the first window's rows under the initial weights
        if initial is not None:
            self._begin(initial)
        self.initial_norm = float(np.sqrt(self.expansion.squared_norm))

    def _begin(self, initial: InitialWeights) -> None:
        """Set W̄ to the initial weights, whose norm follows from the scores of their own rows."""
        rows, coefs, square = initial.rows, sparse.csr_array(initial.coefs.T), 0.0
        for first, last in self.windows:
            scores = self.columns.expand(rows, coefs, first, last)
            inside = (rows >= first) & (rows < last)
            square += float((initial.coefs[inside] * scores.T[rows[inside] - first]).sum())
            self.first_scores = scores if self.first_scores is None else self.first_scores
        factor = min(1.0, initial.norm / np.sqrt(square) if square > 0 else 1.0) / self.step
        self.expansion.begin_with(rows, factor * initial.coefs, factor * factor * square)
        assert self.first_scores is not None
        self.first_scores *= factor

    def open(self, first: int, last: int) -> None:
        """Begin a window: compute scores and margins of its rows under the W reached so far."""
        expansion, shape = self.expansion, (self.expansion.n_nodes, last - first)
        scores, self.first_scores = self.first_scores, None
        counted = np.zeros(shape) if self.average else None
        if scores is None:
            scores = np.zeros(shape)
            if expansion.rows:
                rows, coefs = expansion.last()
                if counted is not None:  # both at once, since columns are expensive
                    coefs = sparse.vstack([coefs, expansion.counted()[1]], format="csr")
                both = np.ascontiguousarray(self.columns.expand(rows, coefs, first, last))
                scores = both[: shape[0]]
                counted = None if counted is None else both[shape[0] :]
        self.first, self.parts = first, blocks(0, last - first)
        self.cache = ScoreCache(self.labels[first:last], scores, counted)
        self.store = ColumnStore(last - first, self.cache_bytes)
        self._advance(None)

    @property
    def inverse_beta(self) -> float:
        """1/β = step / max(1, ‖W̄‖), by which sums of differences become W."""
        return self.step / max(1.0, self.step * float(np.sqrt(self.expansion.squared_norm)))

    @property
    def margins(self) -> Floats:
        """v_i = a_iᵀ(y_i − Z_i)/β of all rows of the window, Z_i being the best labelling other than y_i."""
        return self.cache.margins * self.inverse_beta

    def add(self, i: int) -> None:
        """Add the difference c = y_i − Z_i of row i of the window to W̄, and bring scores and margins up to date.

        The comments name the steps of Algorithm 3.
        """
        if self.n_rounds % self.every == 0:
            self._record(self.margins)
        self.expansion.count(self.inverse_beta)
        c, row = self.cache.runner_up(i), self.first + i  # c. c_t = y_i − Z_i
        square = float(self.columns.diagonal[row])
        self.expansion.add(row, c.nodes, c.values, margin=c.margin, square=square)  # d. α = ‖W̄‖²; e. β follows
        column, is_filled = self.store.look(i)
        update = Update(c.nodes, c.values, column, self.expansion.counted_at[-1])
        self._advance(
            update, missing=-1 if is_filled else row
        )  # f. a_j ← a_j + K(x_i, x_j) c; then a. of the next round
        self.n_rounds += 1

    def _advance(self, update: Update | None, missing: int = -1) -> None:
        """Add an update to all scores and measure all margins, block by block; `missing` is a column to compute."""

        def work(part: tuple[int, int]) -> None:
            a, b = part
            if update is not None and missing >= 0:
                self.columns.fill(missing, self.first + a, self.first + b, update.column[a:b])
            self.cache.advance(update, a, b)

        run = map if len(self.parts) == 1 else self.executor.map  # one block is not worth a thread
        for _ in run(work, self.parts):
            pass

    def _record(self, margins: Floats) -> None:
        worst = float(margins.min())
        norm = float(np.sqrt(self.expansion.squared_norm))
        bound = (norm + self.initial_norm) / self.n_rounds if self.n_rounds else np.inf
        self.history.append(
            {
                "round": self.n_rounds,
                "objective": worst,
                "bound": bound,
                "gap": bound - worst,
                "errors": float(np.mean(margins <= 0)),
                "norm": self.step * norm,
                "seconds": time.perf_counter() - self.started,
            }
        )

    def solution(self, *, averaged: bool) -> PerceptronSolution:
        """Return the mean of all W, or the last one, with its margins on all rows as the last entry of the history."""
        if averaged:
            rows, coefs = self.expansion.average()
            mean = (self.expansion.running * self.cache.scores - self.cache.counted) / max(1, self.expansion.states)
            last_margins = self.cache.margins_of(mean)
        else:
            rows, coefs = self.expansion.last()
            coefs, last_margins = coefs * self.inverse_beta, self.margins
        margins = [self._margins_under(rows, coefs, *window) for window in self.windows[:-1]]
        margins.append(last_margins)  # of the last window, whose scores are cached
        every_margin = np.concatenate(margins)
        self._record(every_margin)
        used = np.flatnonzero(np.diff(coefs.tocsc().indptr))  # the last term is in no W that counts
        separated = bool(every_margin.min() > 0)
        return PerceptronSolution(rows[used], sparse.csr_array(coefs[:, used]), self.history, self.n_rounds, separated)

    def _margins_under(self, rows: Ids, coefs: sparse.csr_array, first: int, last: int) -> Floats:
        scores = np.ascontiguousarray(self.columns.expand(rows, coefs, first, last))
        return ScoreCache(self.labels[first:last], scores).margins_of(scores)
