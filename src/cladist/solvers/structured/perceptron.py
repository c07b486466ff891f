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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import checkpoints
from cladist.execution import Executor
from cladist.kernels import batch_perceptron, runner_up
from cladist.labels import LabelMatrix
from cladist.solvers.structured.columns import Columns, ColumnStore, blocks

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
HISTORY_ENTRIES = 100  # at most, beside the last
SAFE_TOTAL = (1e-100, 1e100)  # weights of rows are scaled back when their sum leaves this range
NO_IDS, NO_VALUES = np.zeros(0, np.int64), np.zeros(0)


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


class Expansion:
    """W = Σ_k c_k ⊗ φ(x_k), c_k ∈ R^N: terms are added one by one, and `last` and `average` return both forms of W.

    ‖W + c ⊗ φ(x)‖² = ‖W‖² + 2 Σ_v c_v a_v + ‖c‖² K(x, x), a = W φ(x), keeps the norm up to date (Algorithm 3, α).

    The average of the states W_t is Σ_t weight_t W_t / Σ_t 1. A term added in state t is part of all later states, so
    its weight is P_T − P_t, where P_t is the running sum of weights.
    """

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        self.rows: list[int] = []
        self.nodes: list[Ids] = []
        self.values: list[Floats] = []
        self.counted_at: list[float] = []  # P when the term was added
        self.squared_norm = 0.0
        self.running = 0.0  # P
        self.states = 0

    def add(self, row: int, nodes: Ids, values: Floats, *, margin: float, square: float) -> None:
        """Add a term with entries `values` at `nodes`; margin is Σ_v c_v a_v before, square is K(x, x)."""
        self.rows.append(row)
        self.nodes.append(nodes)
        self.values.append(values)
        self.counted_at.append(self.running)
        growth = 2.0 * margin + float((values * values).sum()) * square
        self.squared_norm = max(0.0, self.squared_norm + growth)  # rounding must not make it negative

    def begin_with(self, rows: Ids, coefs: Floats, squared_norm: float) -> None:
        """Add the terms of initial weights, coefs (rows × nodes), whose norm is known."""
        for row, values in zip(rows.tolist(), coefs, strict=True):
            nodes = np.flatnonzero(values)
            self.add(row, nodes, values[nodes], margin=0.0, square=0.0)
        self.squared_norm = squared_norm

    def count(self, weight: float) -> None:
        """Count the present state in the average with this weight."""
        self.running += weight
        self.states += 1

    def last(self) -> tuple[Ids, sparse.csr_array]:
        """Return the rows of the present W, each once, and their coefficients (nodes × rows)."""
        return self._merge(np.ones(len(self.rows)))

    def average(self) -> tuple[Ids, sparse.csr_array]:
        """Return the rows of the average, each once, and their coefficients (nodes × rows)."""
        return self._merge((self.running - np.array(self.counted_at)) / max(1, self.states))

    def counted(self) -> tuple[Ids, sparse.csr_array]:
        """Return rows and coefficients of Σ_k P_k c_k ⊗ φ(x_k); the average is P_T W minus this, over the states."""
        return self._merge(np.array(self.counted_at))

    def _merge(self, factors: Floats) -> tuple[Ids, sparse.csr_array]:
        rows, place = np.unique(np.array(self.rows, np.int64), return_inverse=True)
        if not len(rows):
            return rows, sparse.csr_array((self.n_nodes, 0), dtype=np.float64)
        lengths = [len(nodes) for nodes in self.nodes]
        entries = np.concatenate(self.values) * np.repeat(factors, lengths)
        at: Any = (np.concatenate(self.nodes), np.repeat(place, lengths))
        total = sparse.csr_array(sparse.coo_array((entries, at), shape=(self.n_nodes, len(rows))))
        total.eliminate_zeros()
        return rows, total


class ScoreCache:
    """Node scores a = W φ(x) of some rows (nodes × rows), kept up to date in place, and each row's margin.

    `counted`, if given, holds the scores of Σ_k P_k c_k ⊗ φ(x_k), see `Expansion`, from which those of the average
    follow. Memory: 9 bytes for each row and node, 17 with `counted`.
    """

    def __init__(self, labels: LabelMatrix, scores: Floats, counted: Floats | None = None) -> None:
        parent = labels.taxonomy.parent
        self.parent = parent
        self.marks = np.ascontiguousarray(labels.to_indicator().toarray().T).astype(np.uint8)
        above = np.where((parent < 0)[:, None], np.uint8(1), self.marks[parent])
        self.side = np.where(self.marks == 1, np.int8(1), -above.astype(np.int8))
        self.scores = scores
        self.counted = np.zeros((0, 0)) if counted is None else counted
        self.margins = np.zeros(len(labels))

    def advance(
        self,
        first: int,
        last: int,
        nodes: Ids = NO_IDS,
        values: Floats = NO_VALUES,
        column: Floats = NO_VALUES,
        P: float = 0.0,
    ) -> None:
        """Let W grow by c ⊗ φ(z), c having `values` at `nodes`, and measure the margins of rows first … last.

        `column` is K(z, ·) for all rows, P the running sum of weights. Without nodes, margins are measured only.
        """
        cache = self.scores, self.counted, self.parent, self.side, self.margins
        batch_perceptron.advance_rows(cache, (nodes, values, P * values, column), first, last)

    def runner_up(self, i: int) -> tuple[Ids, Floats, float]:
        """Return y − z of row i, z the best other labelling: the nodes where it is −2 or 2, its values, its score."""
        difference = np.empty(len(self.parent))
        scores, marks = np.ascontiguousarray(self.scores[:, i]), np.ascontiguousarray(self.marks[:, i])
        margin = runner_up.runner_up_of(scores, self.parent, marks, difference)
        nodes = np.flatnonzero(difference)
        return nodes, difference[nodes], float(margin)

    def margins_of(self, scores: Floats) -> Floats:
        """Return the margins of these rows under other scores (nodes × rows)."""
        margins = np.zeros(scores.shape[1])
        runner_up.margin_rows(scores, self.parent, self.side, 0, scores.shape[1], margins)
        return margins


class PerceptronState:
    """W̄ / step as a sum of joint features, and the scores a and margins of the rows of one window under it.

    `windows` (first, last) are parts of the rows that are trained on one after the other, each from where the one
    before ended; `n_rounds` is T over all of them. W̄ begins with `initial`, by default 0. With `average` the mean of
    all W can be returned. `executor` runs blocks of rows; columns take `cache_bytes` at most.
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
        scores = scores if first == self.windows[0][0] else None
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
        self._run(lambda part: self.cache.advance(*part))

    def _run(self, work: Callable[[tuple[int, int]], None]) -> None:
        """Call `work` on all blocks of the window's rows; one block is not worth a thread."""
        run = map if len(self.parts) == 1 else self.executor.map
        for _ in run(work, self.parts):
            pass

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
        (nodes, values, margin), row = self.cache.runner_up(i), self.first + i  # c. c_t = y_i − Z_i
        square, P = float(self.columns.diagonal[row]), self.expansion.running
        self.expansion.add(row, nodes, values, margin=margin, square=square)  # d. α = ‖W̄‖²; e. β follows
        column, is_filled = self.store.look(i)

        def work(part: tuple[int, int]) -> None:
            a, b = part
            if not is_filled:
                self.columns.fill(row, self.first + a, self.first + b, column[a:b])
            self.cache.advance(a, b, nodes, values, column, P)

        self._run(work)  # f. a_j ← a_j + K(x_i, x_j) c_t; then a. of the next round
        self.n_rounds += 1

    def keep(self, kept: checkpoints.Scope, window: int, n_draws: int, *others: checkpoints.Attributes) -> None:
        """Keep where the rounds are: in which window, after how many draws in it, and the attributes of others."""
        kept.save(lambda: [window, n_draws, checkpoints.state_of(*self._changing(), *others)])

    def go_on(self, state: Any, window: int, *others: checkpoints.Attributes) -> int:
        """Go back, in a window just opened, to what `keep` kept, if it is of that window; return the draws until then.

        Windows before it are not opened again.
        """
        if state is None or state[0] != window:
            return 0
        checkpoints.restore(state[2], *self._changing(), *others)
        return int(state[1])

    def _changing(self) -> list[checkpoints.Attributes]:
        expansion = "rows", "nodes", "values", "counted_at", "squared_norm", "running", "states"
        cache = "scores", "counted", "margins"
        return [(self, ("n_rounds", "history")), (self.expansion, expansion), (self.cache, cache)]

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
