"""Regularisation on a graph of labels, by turns: each node given its neighbours.

Problem   min ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + Σ_nodes with rows n Σ_i c_in ℓ(y_in w_n·x_i)
Moves     a node with rows: dual coordinate descent around the mean m of its neighbours, its costs divided by
          S_n = Σ_v a_nv + ridge (eq. 11 of Gopal & Yang 2013); one without: m
Schedules "coloured": nodes of one colour of a colouring at a time, which are no neighbours: the objective falls
          with every move; where that is slow, the components' means are accelerated, see `graph_acceleration`
          "jacobi": all at once, from one snapshot; if the objective rose, the step is shortened until it does not:
          1 / colours of it is sure to do, being the mean of steps each of which is as good as a coloured one
Dual      max Σ gain(α) − ½ tr(AᵀM⁺A), a_n = Σ_i α_in y_in x_i = S_n (w_n − m_n) at the nodes' α
Found by  Gopal & Yang 2013, §3.2
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.execution import Executor
from cladist.kernels import graph_products
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import ACTIVE_SWEEPS
from cladist.linear_model.training_rows import aligned_zeros
from cladist.solvers.graph.acceleration import Acceleration, Anderson, Momentum
from cladist.solvers.graph.initial_point import Start
from cladist.solvers.graph.quadratic_form import Graph, Place, Taken
from cladist.solvers.linear.block_prox import SHARE_OF_GAP, SWEEPS, BlockProx, Effort, NodeBlock
from cladist.solvers.linear.lane_block import fill_lanes
from cladist.solvers.problem import OneVsRest, Settings
from cladist.solvers.solution import duality_gap

STAGNANT = 0.99  # of the last gap; where no more is gained, what nodes miss sums up to more than it seems
SLOW = 0.9  # likewise; where nodes miss next to nothing, it is what they share that is slow
TRIFLE = 0.01  # of the gap: where nodes miss no more than that, it is not they that keep it wide
COARSE = 1e-3  # the gap down to which momentum pays; below it, float32 weights leave little to gain
RISE = 1e-8  # relative rise of the objective that may be rounding's and not the acceleration's
PRECISION = 0.05  # of the gap wanted, or of the last where that is wider: how well the dual is known
ONES = np.ones(WIDTH, np.float32)
Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class _Turn:
    """Nodes that move together: blocks of those that have rows, and the others."""

    blocks: range
    plain: Ids


@dataclass(frozen=True)
class GraphState:
    """Where a descent has come to, for one with other costs to begin from.

    Attributes
    ----------
    vectors : array (nodes × features in use)
    order : array (rows,)
        The rows' order that α are in.
    alphas : list of arrays (rows × 16)
        Of each block.
    """

    vectors: Floats32
    order: Ids
    alphas: list[Floats32]

    def scaled(self, factor: float) -> GraphState:
        """Return where to begin if all costs are so many times as large."""
        return replace(self, alphas=[alpha * np.float32(factor) for alpha in self.alphas])


class Descent:
    """All nodes on their way to the optimum; rows are in a random order in memory, in which they are visited.

    `accelerates` says whether the means of components may be accelerated: coloured sweeps are once `acceleration` is
    there.
    """

    acceleration: Acceleration | None

    def __init__(
        self, problem: OneVsRest, graph: Graph, executor: Executor, settings: Settings, state: GraphState | None = None
    ) -> None:
        self.graph, self.executor, self.settings = graph, executor, settings
        self.rows = problem.rows
        given = replace(problem, costs=problem.costs / graph.pull[graph.nodes])
        self.prox = BlockProx(given, settings.seed, np.arange(len(problem.rows), dtype=np.int32))
        self.blocks: list[NodeBlock] = []
        self.last_gap, self.own_dual = np.inf, -np.inf
        self.accelerates, self.acceleration = False, None
        self.turns = self._turns()
        self.start = Start.of(problem, graph, settings.tol, executor)
        nothing = np.zeros((len(graph.loose), problem.rows.n_used))
        self.best = Taken(-self.start.bounds, nothing, graph.loose_components)
        self.W = np.zeros((graph.n_nodes, problem.rows.n_used), np.float32)
        if state is not None:
            self.W[:] = state.vectors
            self.blocks = [replace(block, alpha=a) for block, a in zip(self.blocks, state.alphas, strict=True)]
        elif problem.rows.has_constant:
            self.W[:, -1] = self.start.levels[graph.components]
        self._move_blocks()

    def _turns(self) -> list[_Turn]:
        """Make the blocks, and return which of them, and which nodes without rows, move together.

        Problems that are as hard, by how little else pulls at them, are side by side: a block takes as long as its
        hardest. Those of nodes without edges wait for nobody, and are a turn of their own.
        """
        graph, turns = self.graph, []
        has_rows = np.zeros(graph.n_nodes, bool)
        has_rows[graph.nodes] = True
        colours = np.where(np.diff(graph.adjacency.indptr) > 0, graph.colours, -1)
        for colour in np.unique(colours).tolist():
            first, together = len(self.blocks), np.flatnonzero(colours[graph.nodes] == colour)
            by_pull = together[np.argsort(graph.pull[graph.nodes[together]], kind="stable")]
            self.blocks += [self.prox.initial_block(part) for part in evenly(by_pull)]
            plain = np.flatnonzero((colours == colour) & ~has_rows)
            turns.append(_Turn(range(first, len(self.blocks)), plain))
        return turns

    def state(self, order: Ids) -> GraphState:
        """Return where it is, given the order that rows were put into."""
        return GraphState(self.W, order, [block.alpha for block in self.blocks])

    def nodes_of(self, b: int) -> Ids:
        """Return the nodes in the lanes of a block that are in use."""
        return self.graph.nodes[self.blocks[b].classes]

    # ---------------------------------------------------------------- one sweep

    def coloured(self, number: int) -> None:
        """Move all nodes once, a colour at a time; at first with little effort, neighbours having yet to move."""
        self.prox.effort = Effort(min(number + 1, SWEEPS), min(number + 1, ACTIVE_SWEEPS))
        if self.acceleration is not None and (self._is_smooth or self.last_gap > COARSE):
            self._sweep_accelerated(number, self.acceleration)
        else:
            self._sweep(number)

    @property
    def _is_smooth(self) -> bool:
        return self.prox.surrogate.smooth

    def _may_accelerate(self, gap: float) -> bool:
        """Tell whether acceleration, and not more exact nodes, may be what closes a gap."""
        return self.acceleration is None if self._is_smooth else gap > COARSE

    def _sweep_accelerated(self, number: int, acceleration: Acceleration) -> None:
        """Move components as a whole, then all nodes; if that ends higher than it began, W is what it was.

        α stay what they are now: any are a place to go on from, and prove a bound.
        """
        before, worst = self.W.copy(), self._objective()
        acceleration.move(self.W)
        acceleration.begin(self.W)
        self._move_blocks()
        self._sweep(number)
        acceleration.end(self.W)
        if self._objective() > worst * (1 + RISE):
            self.W = before
            self._move_blocks()
            acceleration.reject()

    def _sweep(self, number: int) -> None:
        for turn in self.turns:
            list(self.executor.map(partial(self._move, number=number), turn.blocks))
            self.W[turn.plain] = self.graph.neighbours[turn.plain] @ self.W

    def _move(self, b: int, number: int) -> None:
        """Visit a block and take what it finds; blocks of one colour neither read nor write each other's vectors."""
        self._take([(b, self.prox.solve_block(self.blocks[b], self._above(b), b, number))])

    def jacobi(self, number: int) -> None:
        """Move all nodes at once; where that is too far, less."""
        before = self.W.copy()
        worst = self._objective() if number else np.inf
        self._take(self._visited(range(len(self.blocks)), number))
        plain = np.concatenate([turn.plain for turn in self.turns])
        self.W[plain] = self.graph.neighbours[plain] @ before
        share, least, whole = 1.0, 1 / len(self.turns), self.W
        while share > least and self._objective() > worst:
            share = max(share / 2, least)
            self.W = before + np.float32(share) * (whole - before)
            self._move_blocks()

    def _visited(self, blocks: Iterable[int], number: int) -> list[tuple[int, NodeBlock]]:
        numbers = list(blocks)
        visit = self.executor.map(lambda b: self.prox.solve_block(self.blocks[b], self._above(b), b, number), numbers)
        return list(zip(numbers, visit, strict=True))

    def _above(self, b: int) -> Floats32:
        """Return what the nodes of a block are pulled to, side by side."""
        above = aligned_zeros(self.rows.n_used)
        nodes = self.nodes_of(b)
        graph_products.put_means(self.graph.edges, self.graph.pull, nodes, self.W, above)
        return above

    def _take(self, visited: list[tuple[int, NodeBlock]]) -> None:
        for b, block in visited:
            self.blocks[b] = block
            graph_products.put_columns(block.weights, ONES, self.nodes_of(b), self.W)

    def _move_blocks(self) -> None:
        """Let all blocks know the present vectors of their nodes."""
        self.blocks = list(self.executor.map(self.moved, range(len(self.blocks))))

    def moved(self, b: int) -> NodeBlock:
        """Return a block at the present vectors of its nodes."""
        weights = self.W[fill_lanes(self.nodes_of(b))].T
        return self.prox.set_weights(self.blocks[b], weights)

    # ---------------------------------------------------------------- where it is

    def _lost(self) -> float:
        return sum(float(self.pull(b) @ block.lost[: len(block)]) for b, block in enumerate(self.blocks))

    def _objective(self) -> float:
        return self.graph.place(self.W, self.executor).energy + self._lost()

    def pull(self, b: int) -> Any:
        """Return S of a block's nodes."""
        return self.graph.pull[self.nodes_of(b)]

    def reach(self, lengths: Any) -> Any:
        """Return how far from where it is each component's mean is looked for, given how long it is."""
        return np.maximum(lengths, self.rows.least_reach)

    def is_rough(self) -> bool:
        """Tell whether nodes alone miss their optima by more than the gap wanted: not worth being measured yet.

        If so, more is asked of them from now on.
        """
        left = gain = 0.0
        for b, block in enumerate(self.blocks):
            pull, n = self.pull(b), len(block)
            left += float(pull @ np.maximum(block.left[:n], 0))
            gain += float(pull @ block.gain[:n])
        rough = left > self.settings.tol * gain
        if rough:
            self.prox.tighten()
        return rough

    def measured(self, expected: float) -> dict[str, float]:
        """Return objective, dual and relative gap, as exactly as befits a gap as expected.

        The dual is, of each component, the best that was proven by the nodes' α so far or by where it began. Where what
        the nodes miss of their own optima is most of the gap, more is asked of them from now on; where it is next to
        nothing and the gap stays, it is what they share that has far to go.
        """
        place = self.graph.place(self.W, self.executor)
        primal, left = place.energy + self._lost(), 0.0
        gains = np.zeros(len(place.lengths))
        for b, block in enumerate(self.blocks):
            pull, n = self.pull(b), len(block)
            np.add.at(gains, self.graph.components[self.nodes_of(b)], pull * block.gain[:n])
            left += float(pull @ np.maximum(block.left[:n], 0))
        taken = self.graph.taken(self._shares(), self.W, PRECISION * expected * primal, self.executor)
        self.own_dual = float(np.sum(gains - taken.near(place.means, self.reach(place.lengths))))
        dual = self._best(replace(taken, fixed=taken.fixed - gains), place)
        entry = duality_gap(primal, dual)
        gap = entry["gap"]
        slow = gap > SLOW * self.last_gap and left <= TRIFLE * (primal - dual)
        if slow and self.accelerates and self._may_accelerate(gap):
            kind = Anderson if self._is_smooth else Momentum
            self.acceleration = self.acceleration or kind(self.graph, self.W.shape[1])
        elif gap > STAGNANT * self.last_gap or left > SHARE_OF_GAP * (primal - dual):
            self.prox.tighten()
        self.last_gap = gap
        return entry

    def _best(self, found: Taken, place: Place) -> float:
        """Return the best bound known in reach of where it is, and remember for each component what gave it.

        `fixed` of what was found is what is left of the gain, with the sign changed.
        """
        reach = self.reach(place.lengths)
        now, before = found.near(place.means, reach), self.best.near(place.means, reach)
        older = before < now
        sums = np.where(older[found.loose, None], self.best.sums, found.sums)
        self.best = Taken(np.where(older, self.best.fixed, found.fixed), sums, found.loose)
        return -float(np.sum(np.minimum(now, before)))

    def _shares(self) -> Floats32:
        """Return Σ α y x of all nodes."""
        shares = np.zeros_like(self.W)

        def put(b: int) -> None:
            graph_products.put_columns(self.blocks[b].sums, self.pull(b).astype(np.float32), self.nodes_of(b), shares)

        list(self.executor.map(put, range(len(self.blocks))))
        return shares


def evenly(problems: Ids) -> list[Ids]:
    """Return problems in as few blocks as hold them, all of about the same size.

    Examples
    --------
    >>> [len(part) for part in evenly(np.arange(40))]
    [14, 13, 13]
    """
    return np.array_split(problems, -(-len(problems) // WIDTH)) if len(problems) else []
