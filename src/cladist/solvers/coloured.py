"""Regularisation on a graph of labels, by turns: each node given its neighbours.

Problem   min ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + Σ_nodes with rows n Σ_i c_in ℓ(y_in w_n·x_i)
Moves     a node with rows: dual coordinate descent around the mean m of its neighbours, its costs divided by
          S_n = Σ_v a_nv + ridge (eq. 11 of Gopal & Yang 2013); one without: m
Schedules "coloured": nodes of one colour of a colouring at a time, which are no neighbours: the objective falls
          "jacobi": all at once, from one snapshot; if the objective rose, the step is shortened until it does not:
          1 / colours of it is sure to do, being the mean of steps each of which is as good as a coloured one
Dual      max Σ gain(α) − ½ tr(AᵀM⁺A), a_n = Σ_i α_in y_in x_i = S_n (w_n − m_n) at the nodes' α
Stops     when (primal − dual) / primal ≤ tol
Found by  Gopal & Yang 2013, §3.2
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.errors import one_of
from cladist.execution import Executor, Serial
from cladist.kernels.lanes import WIDTH
from cladist.solvers.around import SHARE_OF_GAP, Around, Block, padded
from cladist.solvers.graphs import Graph
from cladist.solvers.problem import OneVsRest, Settings
from cladist.solvers.rows import aligned
from cladist.solvers.solution import Solution
from cladist.solvers.weights import DenseWeights

SCHEDULES = ("coloured", "jacobi")
PRECISION = 0.02  # of the gap wanted, or of the last where that is wider: how well the dual is known
Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]


def solve_graph(
    problem: OneVsRest,
    graph: Graph,
    settings: Settings | None = None,
    *,
    schedule: str = "coloured",
    executor: Executor | None = None,
    keep_state: bool = False,
) -> Solution:
    """Minimise ½ tr(WᵀMW) + Σ_nodes with rows Σ_i c_i ℓ(y_i w·x_i), M being that of the graph.

    Parameters
    ----------
    problem : OneVsRest
        One problem a node that has rows.
    graph : Graph
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the most sweeps over the graph.
    schedule : {"coloured", "jacobi"}
    executor : Executor, optional
        Runs the blocks of sixteen nodes that move together; the result does not depend on it.
    keep_state : bool
        Whether to return the vectors of all nodes (nodes × features in use).

    Returns
    -------
    Solution
        `weights` are those of the problems; `history` has an entry a sweep: `objective`, `dual`, `gap` (relative) and
        `seconds`.

    Notes
    -----
    A component without ridge makes the dual −∞ unless its shares sum to 0. `dual` is then what bounds the objective
    as long as no component's mean is further from where it is now than the longest vector is from 0, or than what moves
    the score of a row of usual length by 1.

    A sweep takes O(problems / 16 · passes · nonzeros) and O((nodes + edges) · features). Memory: 12 bytes a node and
    feature in use and 4 a problem and row.

    Examples
    --------
    >>> from scipy import sparse
    >>> from cladist.solvers.problem import members_by_class
    >>> from cladist.solvers.rows import Rows
    >>> rows = Rows.of(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> path = Graph(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), np.arange(3))
    >>> solution = solve_graph(problem, path)
    >>> solution.weights.best(np.eye(3)).tolist(), solution.converged
    ([0, 1, 2], True)
    """
    one_of("solve_graph", "schedule", schedule, SCHEDULES)
    settings = settings or Settings()
    search = Descent(problem, graph, executor or Serial(), settings.seed)
    sweep = search.jacobi if schedule == "jacobi" else search.coloured
    history: list[dict[str, float]] = []
    started = time.perf_counter()
    with progress.task(f"graph, {schedule}", settings.max_iter) as running:
        for number in range(settings.max_iter):
            sweep(number)
            entry = search.measured(max(settings.tol, history[-1]["gap"] if history else np.inf))
            history.append({**entry, "seconds": time.perf_counter() - started})
            running.advance()
            if entry["gap"] <= settings.tol:
                break
    weights = DenseWeights.of_matrix(search.W[graph.nodes], problem.rows)
    converged = history[-1]["gap"] <= settings.tol
    return Solution(weights, weights.intercepts, history, converged, search.W if keep_state else None)


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
            self.blocks = list(self.executor.map(self._moved, range(len(started))))

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

    def _moved(self, b: int) -> Block:
        weights = self.W[padded(self.nodes_of(b))].T
        return self.around.moved(self.blocks[b], weights)

    # ---------------------------------------------------------------- where it is

    def _objective(self) -> float:
        lost = sum(float(self._pull(b) @ block.lost[: len(block)]) for b, block in enumerate(self.blocks))
        return self.graph.energy(self.W) + lost

    def _pull(self, b: int) -> Any:
        return self.graph.pull[self.nodes_of(b)]

    def measured(self, expected: float) -> dict[str, float]:
        """Return objective, dual and relative gap, as exactly as befits a gap as expected.

        Where what the nodes miss of their own optima is most of it, more is asked of them from now on.
        """
        primal, gain, left = self._objective(), 0.0, 0.0
        shares = np.zeros_like(self.W)
        for b, block in enumerate(self.blocks):
            pull, n = self._pull(b), len(block)
            gain += float(pull @ block.gain[:n])
            left += float(pull @ np.maximum(block.left[:n], 0))
            shares[self.nodes_of(b)] = (block.shares[:, :n] * pull.astype(np.float32)).T
        longest = float(np.sqrt(np.max(np.sum(np.square(self.W, dtype=np.float64), axis=1))))
        reach = max(longest, self.rows.least_reach)
        dual = gain - self.graph.dual_cost(shares, self.W, reach, PRECISION * expected * primal)
        missed = np.sqrt(2 * left * float(self.graph.pull.max()))  # of the shares' sum, which a loose component has
        if left + bool(self.graph.loose) * reach * missed > SHARE_OF_GAP * (primal - dual):
            self.around.tighten()
        gap = (primal - dual) / primal if primal > 0 else 0.0
        return {"objective": primal, "dual": dual, "gap": gap}


def evenly(problems: Ids) -> list[Ids]:
    """Return problems in as few blocks as hold them, all of about the same size.

    Examples
    --------
    >>> [len(part) for part in evenly(np.arange(40))]
    [14, 13, 13]
    """
    return np.array_split(problems, -(-len(problems) // WIDTH)) if len(problems) else []
