"""Regularisation on a graph of labels, by turns: each node given its neighbours.

Problem   min ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + Σ_nodes with rows n Σ_i c_in ℓ(y_in w_n·x_i)
Moves     a node with rows: dual coordinate descent around the mean m of its neighbours, its costs divided by
          S_n = Σ_v a_nv + ridge (eq. 11 of Gopal & Yang 2013); one without: m
Schedules "coloured": nodes of one colour of a colouring at a time, which are no neighbours: the objective falls
          with every move; where that is slow, the components' means are accelerated, see below
          "jacobi": all at once, from one snapshot; if the objective rose, the step is shortened until it does not:
          1 / colours of it is sure to do, being the mean of steps each of which is as good as a coloured one
Dual      max Σ gain(α) − ½ tr(AᵀM⁺A), a_n = Σ_i α_in y_in x_i = S_n (w_n − m_n) at the nodes' α
Found by  Gopal & Yang 2013, §3.2
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import checkpoints
from cladist.execution import Executor
from cladist.kernels import graph_products
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import ACTIVE_SWEEPS
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros
from cladist.solvers.graph.quadratic_form import DualCost, Graph, VectorSummary, chunks
from cladist.solvers.linear.block_prox import SHARE_OF_GAP, SWEEPS, BlockProx, NodeBlock
from cladist.solvers.problem import OneVsRest, Settings, duality_gap, fill_lanes

STAGNANT = 0.99  # of the last gap; above it, nodes are solved more exactly
SLOW = 0.9  # of the last gap; above it, if the nodes' own gaps are negligible, components are accelerated
TRIFLE = 0.01  # share of the gap below which the nodes' own gaps are negligible
COARSE = 1e-3  # the gap down to which momentum pays; below it, float32 weights leave little to gain
RISE = 1e-8  # relative rise of the objective that may be due to rounding
PRECISION = 0.05  # of the dual, as a share of the gap wanted, or of the last gap where that is wider
ONES = np.ones(WIDTH, np.float32)
SLOWEST, FASTEST = 1.0, 64.0  # of a feature that keeps its direction
FASTER, SLOWER = 2.0, 0.25
MEMORY = 5  # sweeps that a fixed point is extrapolated from
SINGULAR = 1e-10  # of the largest eigenvalue of their Gram matrix: what float32 weights cannot tell apart


@dataclass(frozen=True)
class GraphState:
    """Where a descent ended, for a warm start."""

    vectors: Floats32  # (nodes × features in use)
    order: Ids  # of the rows of α
    alphas: list[Floats32]  # (rows × 16) of each block

    def scaled(self, factor: float) -> GraphState:
        """Return the state to begin from when all costs are multiplied by a factor."""
        return replace(self, alphas=[alpha * np.float32(factor) for alpha in self.alphas])


class Descent:
    """Block descent over all nodes; rows are visited in their order in memory, which is random.

    `start` are the levels and bounds of `cladist.solvers.graph.solver.initial_point`. `accelerates` tells whether the
    means of components may be accelerated, which happens once `acceleration` is set.
    """

    acceleration: Anderson | Momentum | None = None

    def __init__(
        self,
        problem: OneVsRest,
        graph: Graph,
        executor: Executor,
        settings: Settings,
        start: tuple[Floats64, Floats64],
        state: GraphState | None = None,
        *,
        accelerates: bool = False,
    ) -> None:
        self.graph, self.executor, self.settings = graph, executor, settings
        self.rows = problem.rows
        scaled = replace(problem, costs=problem.costs / graph.pull[graph.nodes])
        self.prox = BlockProx(scaled, settings.seed, np.arange(len(problem.rows), dtype=np.int32))
        self.blocks: list[NodeBlock] = []
        self.last_gap, self.own_dual = np.inf, -np.inf
        self.accelerates = accelerates
        self.turns = self._turns()
        levels, bounds = start
        nothing = np.zeros((len(graph.loose), problem.rows.n_used))
        self.best = DualCost(-bounds, nothing, graph.loose_components)
        self.W = np.zeros((graph.n_nodes, problem.rows.n_used), np.float32)
        if state is not None:
            self.W[:] = state.vectors
            self.blocks = [replace(block, alpha=a) for block, a in zip(self.blocks, state.alphas, strict=True)]
        elif problem.rows.has_constant:
            self.W[:, -1] = levels[graph.components]
        self.place_blocks()

    def _turns(self) -> list[tuple[range, Ids]]:
        """Make the blocks; return for each colour its blocks, and its nodes without rows, which move together.

        Problems of similar difficulty, by how little else pulls at them, share a block: it takes as long as its hardest
        problem. Nodes without edges depend on no other node, and are a group of their own.
        """
        graph, turns = self.graph, []
        has_rows = np.zeros(graph.n_nodes, bool)
        has_rows[graph.nodes] = True
        colours = np.where(np.diff(graph.adjacency.indptr) > 0, graph.colours, -1)
        for colour in np.unique(colours).tolist():
            first, together = len(self.blocks), np.flatnonzero(colours[graph.nodes] == colour)
            by_pull = together[np.argsort(graph.pull[graph.nodes[together]], kind="stable")]
            n_blocks = -(-len(by_pull) // WIDTH)
            parts = np.array_split(by_pull, n_blocks) if n_blocks else []  # all of about the same size
            self.blocks += [self.prox.initial_block(part) for part in parts]
            plain = np.flatnonzero((colours == colour) & ~has_rows)
            turns.append((range(first, len(self.blocks)), plain))
        return turns

    def kept(self) -> Any:
        """Return what changes from sweep to sweep."""
        pace = self.acceleration
        return checkpoints.state_of(*self._parts()), None if pace is None else [type(pace).__name__, vars(pace)]

    def go_on(self, kept: Any) -> None:
        """Go back to what `kept` returned."""
        values, pace = kept
        checkpoints.restore(values, *self._parts())
        if pace is not None:
            self.acceleration = (Anderson if pace[0] == "Anderson" else Momentum)(self.graph, self.W.shape[1])
            vars(self.acceleration).update(pace[1])

    def _parts(self) -> list[checkpoints.Attributes]:
        own = "W", "blocks", "best", "last_gap", "own_dual"
        return [(self, own), (self.prox, ("eps", "sweeps", "active_sweeps"))]

    def nodes_of(self, b: int) -> Ids:
        """Return the nodes in the lanes of a block that are in use."""
        return self.graph.nodes[self.blocks[b].classes]

    # ---------------------------------------------------------------- one sweep

    def coloured(self, number: int) -> None:
        """Move all nodes once, a colour at a time; at first with little effort, as neighbours have yet to move."""
        self.prox.sweeps, self.prox.active_sweeps = min(number + 1, SWEEPS), min(number + 1, ACTIVE_SWEEPS)
        if self.acceleration is not None and (self.prox.surrogate.smooth or self.last_gap > COARSE):
            self._sweep_accelerated(number, self.acceleration)
        else:
            self._sweep(number)

    def _sweep_accelerated(self, number: int, acceleration: Anderson | Momentum) -> None:
        """Move components as a whole, then all nodes; if that ends higher than it began, W is what it was.

        α are not restored: descent can continue from any α, and any α prove a bound.
        """
        before, worst = self.W.copy(), self._objective()
        acceleration.move(self.W)
        acceleration.begin(self.W)
        self.place_blocks()
        self._sweep(number)
        acceleration.end(self.W)
        if self._objective() > worst * (1 + RISE):
            self.W = before
            self.place_blocks()
            acceleration.reject()

    def _sweep(self, number: int) -> None:
        for blocks, plain in self.turns:
            # Blocks of one colour do not touch each other's vectors.
            list(self.executor.map(lambda b: self._store(b, self._solve(b, number)), blocks))
            self._move_plain(plain, self.W)

    def _move_plain(self, plain: Ids, W: Floats32) -> None:
        """Move nodes without rows to what the neighbours' vectors W pull them to."""
        self.W[plain] = self.graph.neighbours[plain] @ W
        if self.graph.own_constant:
            self.W[plain, -1] = 0.0

    def _solve(self, b: int, number: int) -> NodeBlock:
        """Solve a block around the vectors that its nodes are pulled to."""
        above, nodes = aligned_zeros(self.rows.n_used), self.nodes_of(b)
        graph_products.put_means(self.graph.edges, self.graph.pull, nodes, self.W, above)
        if self.graph.own_constant:
            above[-1] = 0.0
        return self.prox.solve_block(self.blocks[b], above, b, number)

    def _store(self, b: int, block: NodeBlock) -> None:
        self.blocks[b] = block
        graph_products.put_columns(block.weights, ONES, self.nodes_of(b), self.W)

    def jacobi(self, number: int) -> None:
        """Move all nodes at once, by a shorter step where the objective would rise."""
        before = self.W.copy()
        worst = self._objective() if number else np.inf
        solved = list(self.executor.map(partial(self._solve, number=number), range(len(self.blocks))))
        for b, block in enumerate(solved):
            self._store(b, block)
        plain = np.concatenate([plain for _, plain in self.turns])
        self._move_plain(plain, before)
        share, least, whole = 1.0, 1 / len(self.turns), self.W
        while share > least and self._objective() > worst:
            share = max(share / 2, least)
            self.W = before + np.float32(share) * (whole - before)
            self.place_blocks()

    def place_blocks(self) -> None:
        """Put the present vectors of their nodes into all blocks."""

        def place(b: int) -> NodeBlock:
            return self.prox.set_weights(self.blocks[b], self.W[fill_lanes(self.nodes_of(b))].T)

        self.blocks = list(self.executor.map(place, range(len(self.blocks))))

    # ---------------------------------------------------------------- where it is

    def _lost(self) -> float:
        return sum(float(self.pull(b) @ block.lost[: len(block)]) for b, block in enumerate(self.blocks))

    def _left(self) -> float:
        """Return how far the nodes' α are from their own optima."""
        return sum(float(self.pull(b) @ np.maximum(block.left[: len(block)], 0)) for b, block in enumerate(self.blocks))

    def _objective(self) -> float:
        return self.graph.summarise(self.W, self.executor).energy + self._lost()

    def pull(self, b: int) -> Any:
        """Return S of a block's nodes."""
        return self.graph.pull[self.nodes_of(b)]

    def reach(self, lengths: Any) -> Any:
        """Return the distance within which each component's mean is bounded, given its length."""
        return np.maximum(lengths, self.rows.least_reach)

    def is_rough(self) -> bool:
        """Tell whether the nodes' own gaps exceed the gap wanted, so that evaluating all is not yet worth its cost.

        If so, nodes are solved more exactly from now on.
        """
        gain = sum(float(self.pull(b) @ block.gain[: len(block)]) for b, block in enumerate(self.blocks))
        rough = self._left() > self.settings.tol * gain
        if rough:
            self.prox.tighten()
        return rough

    def evaluate(self, expected: float) -> dict[str, float]:
        """Return objective, dual and relative gap, as exactly as the expected gap requires.

        The dual is the best bound per component, from the nodes' α so far or from the initial point. Where the nodes'
        own gaps are most of the gap, they are solved more exactly from now on; where these are negligible and the gap
        stays, the components' means are accelerated.
        """
        place = self.graph.summarise(self.W, self.executor)
        primal, left = place.energy + self._lost(), self._left()
        gains = np.zeros(len(place.lengths))
        for b, block in enumerate(self.blocks):
            np.add.at(gains, self.graph.components[self.nodes_of(b)], self.pull(b) * block.gain[: len(block)])
        cost = self.graph.dual_cost(self._shares(), self.W, PRECISION * expected * primal, self.executor)
        self.own_dual = float(np.sum(gains - cost.within(place.means, self.reach(place.lengths))))
        dual = self._best(replace(cost, fixed=cost.fixed - gains), place)
        entry = duality_gap(primal, dual)
        gap = entry["gap"]
        slow = gap > SLOW * self.last_gap and left <= TRIFLE * (primal - dual)
        may_accelerate = self.acceleration is None if self.prox.surrogate.smooth else gap > COARSE
        if slow and self.accelerates and may_accelerate:
            kind = Anderson if self.prox.surrogate.smooth else Momentum
            self.acceleration = self.acceleration or kind(self.graph, self.W.shape[1])
        elif gap > STAGNANT * self.last_gap or left > SHARE_OF_GAP * (primal - dual):
            self.prox.tighten()
        self.last_gap = gap
        return entry

    def _best(self, cost: DualCost, place: VectorSummary) -> float:
        """Return the best bound within reach of the present means, and keep its terms per component.

        In `cost`, `fixed` is the cost minus the gain.
        """
        reach = self.reach(place.lengths)
        now, before = cost.within(place.means, reach), self.best.within(place.means, reach)
        older = before < now
        sums = np.where(older[cost.loose, None], self.best.sums, cost.sums)
        self.best = DualCost(np.where(older, self.best.fixed, cost.fixed), sums, cost.loose)
        return -float(np.sum(np.minimum(now, before)))

    def _shares(self) -> Floats32:
        """Return Σ α y x of all nodes."""
        shares = np.zeros_like(self.W)

        def put(b: int) -> None:
            graph_products.put_columns(self.blocks[b].sums, self.pull(b).astype(np.float32), self.nodes_of(b), shares)

        list(self.executor.map(put, range(len(self.blocks))))
        return shares


# ---------------------------------------------------------------- acceleration of the mean vector of each component
#
# Problem   where nothing pulls a component to 0, or little does, its mean is held by rows alone: a sweep moves every
#           node only as far as its neighbours let it, and the mean by a little, sweep after sweep in the same direction
# Anderson  for losses with a continuous slope: a sweep is nearly a linear map of the mean, whose fixed point is
#           extrapolated from the last sweeps
# Momentum  for the hinge, whose kinks mislead extrapolation: each feature of the mean moves further by `pace` times
#           what the last sweep moved it; the pace doubles while the direction stays, and is a quarter where it turns
# Guard     the caller takes a move back if the sweep after it ends higher than it began
# Found by  Anderson 1965; Riedmiller & Braun 1993 (Rprop), for the pace


class _ComponentMeans:
    """The mean vector of each component of two or more nodes, now and where a sweep began."""

    def __init__(self, graph: Graph, n_features: int) -> None:
        sizes = np.bincount(graph.components)
        self.nodes = np.flatnonzero(sizes[graph.components] > 1)
        self.part = np.unique(graph.components[self.nodes], return_inverse=True)[1]
        share = 1 / sizes[graph.components[self.nodes]]
        shape = int(self.part.max(initial=-1)) + 1, graph.n_nodes
        self._matrix = sparse.csr_array((share, (self.part, self.nodes)), shape=shape)
        self.began = np.zeros((shape[0], n_features))

    def means(self, W: Floats32) -> Floats64:
        """Return the means (components × features)."""
        means = np.empty(self.began.shape)
        for columns in chunks(W):
            means[:, columns] = self._matrix @ W[:, columns].astype(np.float64)
        return means

    def add(self, steps: npt.NDArray[np.floating], W: Floats32) -> None:
        """Add a step to all nodes of each component, in place."""
        for k, node in zip(self.part.tolist(), self.nodes.tolist(), strict=True):
            W[node] += steps[k]

    def begin(self, W: Floats32) -> None:
        """Remember where a sweep begins."""
        self.began = self.means(W)


class Anderson(_ComponentMeans):
    """The fixed point of sweeps, extrapolated from how the last of them changed the means.

    With residual f = (mean after a sweep) − (mean before it), the next mean is g − Σ γ_j Δg_j, g being the mean after
    the last sweep and γ what makes ‖f − Σ γ_j Δf_j‖ least, for each component by itself.

    Memory: 40 bytes per component and feature, and 8 while a move is made.
    """

    def __init__(self, graph: Graph, n_features: int) -> None:
        super().__init__(graph, n_features)
        self.reject()

    def reject(self) -> None:
        """Forget all sweeps."""
        self.last: tuple[Floats64, Floats64] | None = None
        self.changes: list[tuple[Floats32, Floats32]] = []  # of the last sweeps, at most `MEMORY`

    def move(self, W: Floats32) -> None:
        """Move the means to where their sweeps tend."""
        if self.last is None or not self.changes:
            return
        residual, _ = self.last
        of_residual, of_mean = (np.array(changes) for changes in zip(*self.changes, strict=True))
        gram = np.einsum("ikd,jkd->kij", of_residual, of_residual, dtype=np.float64)
        right = np.einsum("ikd,kd->ki", of_residual, residual, dtype=np.float64)
        factors = np.einsum("kij,kj->ki", np.linalg.pinv(gram, rcond=SINGULAR, hermitian=True), right)
        self.add(-np.einsum("ki,ikd->kd", factors, of_mean).astype(np.float32), W)

    def end(self, W: Floats32) -> None:
        """Remember how this sweep's mean and residual differ from the last one's."""
        mean = self.means(W)
        now = mean - self.began, mean
        if self.last is not None:
            changed = [(a - b).astype(np.float32) for a, b in zip(now, self.last, strict=True)]
            self.changes = [*self.changes, (changed[0], changed[1])][-MEMORY:]
        self.last = now


class Momentum(_ComponentMeans):
    """How fast the mean of each component moves, feature by feature.

    Memory: 8 bytes per component and feature.
    """

    def __init__(self, graph: Graph, n_features: int) -> None:
        super().__init__(graph, n_features)
        self.pace, self.drift = np.zeros((2, *self.began.shape), np.float32)

    def move(self, W: Floats32) -> None:
        """Move the means as far again as the pace says."""
        self.add(self.pace * self.drift, W)

    def end(self, W: Floats32) -> None:
        """Record how far the sweep moved the means; features that keep their direction get faster, others slower."""
        drift = (self.means(W) - self.began).astype(np.float32)
        steady, turning = drift * self.drift > 0, drift * self.drift < 0
        self.pace[steady] = np.clip(FASTER * self.pace[steady], SLOWEST, FASTEST)
        self.pace[turning] *= SLOWER
        self.drift = drift

    def reject(self) -> None:
        """Go slower everywhere, and not where the last sweep went."""
        self.pace *= SLOWER
        self.drift[:] = 0
