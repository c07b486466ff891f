"""Ascent over the dual of a large-margin problem, row by row, to a certified duality gap; and the duals.

    min_W ½‖W‖² + C Σ_i ξ_i,   ξ_i = max_u [Δ(y_i, u) − ⟨W, Φ(x_i, y_i) − Φ(x_i, u)⟩]

The dual is concave in the distributions α_i of mass C over the outputs u of row i. A sweep visits rows in random order
and raises the dual over one row's distribution, all others fixed, so that it never decreases. The gap of a row is
C ξ_i − ⟨α_i, gradient⟩, and their sum is primal − dual. Stops when that is at most `tol` times the dual, or after
`n_sweeps` sweeps (Rousu et al. 2005, Algorithm 1; Lacoste-Julien et al. 2013).

`LinearLabellings` and `KernelLabellings` are the dual over labellings, `PathDual` that over single labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import checkpoints, progress
from cladist.execution import Executor, Serial
from cladist.kernels import markov, path_margin
from cladist.labels import LabelMatrix
from cladist.solvers.structured.columns import Columns, ColumnStore, blocks
from cladist.storage.array_pool import storable

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
SAMPLINGS = ("permutation", "working_set", "gap")
IDLE = 0.1  # a row whose gap is below this part of its share of the allowed gap is not visited


@storable
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
    kept: tuple[str, ...] = ("W", "gaps", "slacks")  # what changes from sweep to sweep

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

    kept = checkpoints.scope("ascent")
    parts: list[checkpoints.Attributes] = [(dual, dual.kept), (ascent, ("history", "n_passes"))]
    state = kept.load()
    if state is None:
        now, since = measure(), 0
    else:
        values, now, since, drawn = state
        checkpoints.restore(values, *parts)
        random.set_state(drawn)
    with progress.task("Closing the gap", sweeps.n_sweeps, unit="sweeps") as running:
        if ascent.n_passes:
            running.advance(ascent.n_passes)
        while now.gap > sweeps.tol and ascent.n_passes < sweeps.n_sweeps:
            allowed = sweeps.tol * abs(now.dual)
            enough = IDLE * allowed / len(dual.gaps)
            dual.sweep(_order(dual.gaps, sweeps.sampling, enough, random), sweeps.n_steps, enough)
            ascent.n_passes, since = ascent.n_passes + 1, since + 1
            running.advance()
            seems_closed = float(dual.gaps.sum()) <= allowed
            if seems_closed or ascent.n_passes == sweeps.n_sweeps or since >= sweeps.measure_every:
                now, since = measure(), 0
            kept.save(lambda: [checkpoints.state_of(*parts), now, since, random.get_state()])  # noqa: B023 - at once
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


# ---------------------------------------------------------------- labellings


class LabellingLoss(NamedTuple):
    """The loss of labellings, and how they are scored; arrays have one entry per node."""

    cost: Floats  # of a wrong node
    hierarchical: bool  # whether a node is charged only where its parent is right (ℓ_H̃), or always (ℓ_Δ)
    consistent: bool  # whether only consistent labellings compete
    edges: bool  # whether each of the four states of an edge has weights, or a node has them, times its sign
    factor: Floats  # of a node's feature; only without `edges`

    @property
    def n_scores(self) -> int:
        """The number of scores per row."""
        return len(self.cost) * (4 if self.edges else 1)


class LabellingDual(RowDual):
    """The dual over labellings, in the marginals of edges; at y to begin with (W = 0). The base of both forms of W.

        max_μ  Σ_i ⟨μ_i, ℓ_i⟩ − ½‖W‖²,   W = Σ_i b_i ⊗ φ(x_i)

    μ_i are the marginals of a distribution of mass C over labellings, four states per edge; on a tree, these are all
    μ ≥ 0 whose edges agree on the nodes they share. With features of edges, b_i = C·(states of y_i) − μ_i; with those
    of nodes, b_i = C·(signs of y_i) − (mean signs under μ_i), times the nodes' factors. A step moves mass from the
    worst labelling in use to the best of all, both found by message passing, on each part where they differ by its own
    exact step. Memory: 33 bytes for each row and node, beside W.

    Rousu, Saunders, Szedmak & Shawe-Taylor, ICML 2005 (conditional gradient); steps away from the worst labelling in
    use, without a list of them: Garber & Meshi, NIPS 2016.
    """

    def __init__(self, labels: LabelMatrix, loss: LabellingLoss, C: float) -> None:
        super().__init__(len(labels), C)
        self.loss, self.parent = loss, labels.taxonomy.parent
        self.marks = np.ascontiguousarray(labels.to_indicator().toarray()).astype(np.uint8)
        self.marginals = self._true_states()

    def _true_states(self) -> Floats:
        """Return C at the state of y on every edge (rows × nodes × 4)."""
        above = np.where(self.parent < 0, np.uint8(1), self.marks[:, self.parent])
        states = np.zeros((*self.marks.shape, 4))
        np.put_along_axis(states, (2 * above + self.marks).astype(np.int64)[:, :, None], self.C, axis=2)
        return states

    def state(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels that describe the problem."""
        return self.marginals, self.marks, self.parent, tuple(self.loss)

    def linear_part(self) -> float:
        """Return Σ_i ⟨μ_i, ℓ_i⟩."""
        return float(markov.marginal_losses(self.marginals, self.marks, self.parent, *self.loss[:2]))

    def coefficients(self) -> sparse.csr_array:
        """Return b_i of all rows (scores × rows)."""
        if self.loss.edges:
            b = (self._true_states() - self.marginals).reshape(len(self.marks), -1)
        else:
            on = self.marginals[:, :, 1] + self.marginals[:, :, 3]
            b = 2.0 * self.loss.factor * (self.C * self.marks - on)
        b[np.abs(b) <= markov.NEGLIGIBLE * self.C] = 0.0
        return sparse.csr_array(b.T)


class LinearLabellings(LabellingDual):
    """W as an array (features × scores), kept up to date."""

    kept = (*RowDual.kept, "marginals")

    def __init__(self, X: Any, labels: LabelMatrix, loss: LabellingLoss, C: float) -> None:
        super().__init__(labels, loss, C)
        self.hold_rows(X, loss.n_scores)

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits = self.C, n_steps, enough
        markov.sweep_rows(self.rows, self.W, order, *self.state(), limits, self.squares, self.gaps)

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last."""
        markov.measure_rows(self.rows, self.W, first, last, *self.state(), self.C, self.slacks, self.gaps)


class KernelLabellings(LabellingDual):
    """W by its scores on all rows (rows × scores), which a step changes by a kernel column."""

    kept = ("scores", "gaps", "slacks", "marginals")

    def __init__(
        self, columns: Columns, labels: LabelMatrix, loss: LabellingLoss, C: float, cache_bytes: float = 200e6
    ) -> None:
        super().__init__(labels, loss, C)
        self.columns, self.store = columns, ColumnStore(len(labels), cache_bytes)
        self.scores = np.zeros((len(labels), loss.n_scores))

    def _column(self, i: int) -> Floats:
        column, is_filled = self.store.look(i)
        if not is_filled:
            for first, last in blocks(0, len(column)):
                self.columns.fill(i, first, last, column[first:last])
        return column

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits, room = (self.C, n_steps, enough), markov.working_room(len(self.parent))
        change, loss = np.empty(self.loss.n_scores), tuple(self.loss)
        for i in order.tolist():
            own, square = self.scores[i].copy(), float(self.columns.diagonal[i])
            state = own, self.marginals[i], self.marks[i], self.parent, loss
            self.gaps[i] = markov.ascend_row(*state, limits, square, room, change)
            places = np.flatnonzero(change)
            if len(places):
                markov.add_column(self.scores, places, change[places], self._column(i))

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last."""
        markov.measure_scores(self.scores, first, last, *self.state(), self.C, self.slacks, self.gaps)

    def squared_norm(self) -> float:
        """Return ‖W‖² = Σ_i ⟨b_i, scores of row i⟩."""
        return float(self.coefficients().multiply(self.scores.T).sum())


# ---------------------------------------------------------------- single labels


@dataclass(frozen=True)
class PathLoss:
    """The loss between labels, and how they are scored: λ_ru = size_r · factor_u."""

    losses: Floats  # D(y, r) (labels × labels), 0 on the diagonal
    parent: Ids  # of every node, −1 at roots; parents come first
    nodes: Ids  # of the labels
    size: Floats  # of the labels
    factor: Floats  # of the nodes
    slack: bool = False  # whether κ = D (slack rescaling); otherwise κ = 1

    def tree(self) -> tuple[Ids, Ids, Floats, Floats]:
        """Return the arguments of the kernels."""
        return self.parent, self.nodes, self.size, self.factor

    def features(self) -> Floats:
        """Return the features of all labels (labels × nodes)."""
        features = np.zeros((len(self.nodes), len(self.parent)))
        for r in range(len(self.nodes)):
            path_margin.add_path(self.tree(), r, 1.0, features[r])
        return features


class PathDual(RowDual):
    """The dual over single labels that share the nodes of their paths, in masses of labels, C per row.

        min_W ½‖W‖² + C Σ_i ξ_i,  ξ_i = max_r [D(y_i, r) − κ (S_{y_i} − S_r)],  S_r = Σ_{u ∈ path(r)} λ_ru w_u·x_i

    with κ = 1 (margin rescaling) or κ = D(y_i, r) (slack rescaling). All mass is at y to begin with (W = 0); a step
    moves mass from the worst label in use to the best of all. Memory: 8 bytes for each row and label, beside W.

    Cai & Hofmann, CIKM 2004; Tsochantaridis, Joachims, Hofmann & Altun, JMLR 6, 2005; block-coordinate Frank–Wolfe:
    Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013.
    """

    kept = (*RowDual.kept, "masses", "linear")

    def __init__(self, X: Any, true: Ids, loss: PathLoss, C: float) -> None:
        super().__init__(len(true), C)
        self.hold_rows(X, len(loss.parent))
        self.loss, self.true, self.linear = loss, true, np.zeros(len(true))
        self.masses = np.zeros((len(true), len(loss.nodes)))
        self.masses[np.arange(len(true)), true] = C

    def state(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels that describe the problem."""
        return self.masses, self.true, self.loss.losses, self.loss.tree(), self.loss.slack

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits = self.C, n_steps, enough
        path_margin.sweep_labels(self.rows, self.W, order, *self.state(), limits, self.squares, self.gaps)

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks, gaps and ⟨α_i, D_i⟩ of rows first … last."""
        outputs = self.slacks, self.gaps, self.linear
        path_margin.measure_labels(self.rows, self.W, first, last, *self.state(), self.C, *outputs)

    def linear_part(self) -> float:
        """Return Σ_i ⟨α_i, D_i⟩."""
        return float(self.linear.sum())
