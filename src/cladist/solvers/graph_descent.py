"""Regularisation on a graph of labels, by turns: each node given its neighbours.

Problem   min ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + Σ_nodes with rows n Σ_i c_in ℓ(y_in w_n·x_i)
Moves     a node with rows: dual coordinate descent around the mean m of its neighbours, its costs divided by
          S_n = Σ_v a_nv + ridge (eq. 11 of Gopal & Yang 2013); one without: m
Schedules "coloured": nodes of one colour of a colouring at a time, which are no neighbours: the objective falls
          "jacobi": all at once, from one snapshot; if the objective rose, the step is shortened until it does not:
          1 / colours of it is sure to do, being the mean of steps each of which is as good as a coloured one
Dual      max Σ gain(α) − ½ tr(AᵀM⁺A), a_n = Σ_i α_in y_in x_i = S_n (w_n − m_n) at the nodes' α
Found by  Gopal & Yang 2013, §3.2
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.execution import Executor
from cladist.kernels.lanes import WIDTH
from cladist.solvers.around import SHARE_OF_GAP, Around, Block, padded
from cladist.solvers.graphs import Graph
from cladist.solvers.problem import OneVsRest
from cladist.solvers.rows import aligned

STAGNANT = 0.99  # of the last gap; where no more is gained, what nodes miss sums up to more than it seems
PRECISION = 0.02  # of the gap wanted, or of the last where that is wider: how well the dual is known
Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class _Turn:
    """Nodes that move together: blocks of those that have rows, and the others."""

    blocks: range
    plain: Ids


class Descent:
    """All nodes on their way to the optimum."""

    def __init__(self, problem: OneVsRest, graph: Graph, executor: Executor, seed: int) -> None:
        self.graph, self.executor = graph, executor
        self.rows = problem.rows
        self.W = np.zeros((graph.n_nodes, problem.rows.n_used), np.float32)
        self.around = Around(replace(problem, costs=problem.costs / graph.pull[graph.nodes]), seed)
        self.blocks: list[Block] = []
        self.last_gap = np.inf
        has_rows = np.zeros(graph.n_nodes, bool)
        has_rows[graph.nodes] = True
        self.turns, colours = [], graph.colours
        for colour in range(int(colours.max()) + 1):
            first = len(self.blocks)
            self.blocks += [self.around.begin(part) for part in evenly(np.flatnonzero(colours[graph.nodes] == colour))]
            plain = np.flatnonzero((colours == colour) & ~has_rows)
            self.turns.append(_Turn(range(first, len(self.blocks)), plain))

    def nodes_of(self, b: int) -> Ids:
        """Return the nodes in the lanes of a block that are in use."""
        return self.graph.nodes[self.blocks[b].classes]

    # ---------------------------------------------------------------- one sweep

    def coloured(self, number: int) -> None:
        """Move all nodes once, a colour at a time."""
        for turn in self.turns:
            self._take(self._visited(turn.blocks, number))
            self.W[turn.plain] = self.graph.neighbours[turn.plain] @ self.W

    def jacobi(self, number: int) -> None:
        """Move all nodes at once; where that is too far, less."""
        before, started = self.W.copy(), self.blocks
        worst = self._objective() if number else np.inf
        self._take(self._visited(range(len(self.blocks)), number))
        plain = np.concatenate([turn.plain for turn in self.turns])
        self.W[plain] = self.graph.neighbours[plain] @ before
        share, least, whole = 1.0, 1 / len(self.turns), self.W
        while share > least and self._objective() > worst:
            share = max(share / 2, least)
            self.W = before + np.float32(share) * (whole - before)
            self.blocks = list(self.executor.map(self.moved, range(len(started))))

    def _visited(self, blocks: Iterable[int], number: int) -> list[tuple[int, Block]]:
        numbers = list(blocks)
        visit = self.executor.map(lambda b: self.around.visited(self.blocks[b], self._above(b), b, number), numbers)
        return list(zip(numbers, visit, strict=True))

    def _above(self, b: int) -> Floats32:
        """Return what the nodes of a block are pulled to, side by side."""
        above = aligned(self.rows.n_used)
        nodes = self.nodes_of(b)
        above[:, : len(nodes)] = (self.graph.neighbours[nodes] @ self.W).T
        above[:, len(nodes) :] = above[:, len(nodes) - 1 : len(nodes)]
        return above

    def _take(self, visited: list[tuple[int, Block]]) -> None:
        for b, block in visited:
            self.blocks[b] = block
            self.W[self.nodes_of(b)] = block.weights[:, : len(block)].T

    def moved(self, b: int) -> Block:
        """Return a block at the present vectors of its nodes."""
        weights = self.W[padded(self.nodes_of(b))].T
        return self.around.moved(self.blocks[b], weights)

    # ---------------------------------------------------------------- where it is

    def _objective(self) -> float:
        lost = sum(float(self.pull(b) @ block.lost[: len(block)]) for b, block in enumerate(self.blocks))
        return self.graph.energy(self.W) + lost

    def pull(self, b: int) -> Any:
        """Return S of a block's nodes."""
        return self.graph.pull[self.nodes_of(b)]

    def reach(self) -> Any:
        """Return how far from where it is each component's mean is looked for."""
        return np.maximum(self.graph.lengths_of_means(self.W), self.rows.least_reach)

    def measured(self, expected: float) -> dict[str, float]:
        """Return objective, dual and relative gap, as exactly as befits a gap as expected.

        Where what the nodes miss of their own optima is most of it, more is asked of them from now on.
        """
        primal, gain, left = self._objective(), 0.0, 0.0
        shares = np.zeros_like(self.W)
        for b, block in enumerate(self.blocks):
            pull, n = self.pull(b), len(block)
            gain += float(pull @ block.gain[:n])
            left += float(pull @ np.maximum(block.left[:n], 0))
            shares[self.nodes_of(b)] = (block.shares[:, :n] * pull.astype(np.float32)).T
        dual = gain - self.graph.dual_cost(shares, self.W, self.reach(), PRECISION * expected * primal)
        gap = (primal - dual) / primal if primal > 0 else 0.0
        if left > SHARE_OF_GAP * (primal - dual) or gap > STAGNANT * self.last_gap:
            self.around.tighten()
        self.last_gap = gap
        return {"objective": primal, "dual": dual, "gap": gap}


def evenly(problems: Ids) -> list[Ids]:
    """Return problems in as few blocks as hold them, all of about the same size.

    Examples
    --------
    >>> [len(part) for part in evenly(np.arange(40))]
    [14, 13, 13]
    """
    return np.array_split(problems, -(-len(problems) // WIDTH)) if len(problems) else []
