"""Regularisation on a graph of labels (Gopal & Yang 2013, §2.2 and §3.2): the problem, and its schedules."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from cladist import progress
from cladist.errors import one_of
from cladist.execution import Executor, Serial
from cladist.linear_model.dense import DenseWeights
from cladist.solvers.graph.block_descent import Descent, GraphState
from cladist.solvers.graph.joint_dual import JointGraph
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.problem import OneVsRest, Settings
from cladist.solvers.solution import Solution

SCHEDULES = ("coloured", "jacobi", "joint")
# Its number, the gap expected and whether it is the last → objective, dual and gap, if it is worth measuring them.
Round = Callable[[int, float, int, bool], dict[str, float] | None]


def solve_graph(
    problem: OneVsRest,
    graph: Graph,
    settings: Settings | None = None,
    *,
    schedule: str = "coloured",
    executor: Executor | None = None,
    state: GraphState | None = None,
    keep_state: bool = False,
) -> Solution:
    """Minimise ½ tr(WᵀMW) + Σ_nodes with rows Σ_i c_i ℓ(y_i w·x_i), M being that of the graph.

    Parameters
    ----------
    problem : OneVsRest
        One problem per node with rows.
    graph : Graph
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the most sweeps over the graph.
    schedule : {"coloured", "jacobi", "joint"}
        Nodes of one colour at a time, the components' means accelerated where they are slow; all at once; or joint
        sweeps over the dual and a coloured one by turns, which takes fewer sweeps where related nodes pull at each
        other more than their rows do.
    executor : Executor, optional
        Runs the blocks of sixteen nodes that move together; the result does not depend on it.
    state : GraphState, optional
        A `Solution.state` of the same rows, problems and graph to begin from; see `GraphState.scaled`.
    keep_state : bool
        Whether to return one, which has the vectors of all nodes.

    Returns
    -------
    Solution
        `weights` are those of the problems; `history` has one entry per sweep, or round of joint sweeps: `objective`,
        `dual`, `gap` (relative), `passes` and `seconds`. Sweeps that leave single nodes further from their optima than
        the gap wanted have none.

    Notes
    -----
    A component without ridge makes the dual −∞ unless its shares sum to 0. `dual` is then what bounds the objective
    as long as no component's mean is further from where it is now than from 0, or than what moves the score of a row of
    usual length by 1, if that is further. The objective being convex, a point k times as far away is better by k times
    that gap at most. A small ridge makes the bound one for all vectors.

    A sweep takes O(problems / 16 · passes · nonzeros) and O((nodes + edges) · features). Memory: 12 bytes per node and
    feature in use and 4 per problem and row; while "coloured" accelerates, 4 more per node and feature and up to 48 per
    component and feature; with "joint" 20, 8, and 8 for each pair of nodes.

    Examples
    --------
    >>> from scipy import sparse
    >>> from cladist.solvers.problem import members_by_class
    >>> from cladist.linear_model.training_rows import TrainingRows
    >>> rows = TrainingRows.from_matrix(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> path = Graph(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), np.arange(3))
    >>> solution = solve_graph(problem, path)
    >>> solution.weights.best(np.eye(3)).tolist(), solution.converged
    ([0, 1, 2], True)
    """
    one_of("solve_graph", "schedule", schedule, SCHEDULES)
    settings = settings or Settings()
    # Rows in a random order in memory: visited one after the other they are read fast, and converge as random ones do.
    order = np.random.default_rng(settings.seed).permutation(len(problem.rows)) if state is None else state.order
    problem = problem.reorder(order)
    search = Descent(problem, graph, executor or Serial(), settings, state)
    joint = JointGraph(problem, search, settings.seed) if schedule == "joint" else None
    if joint is not None and state is not None:
        joint.take_from_descent()
    sweeps, go_on = (joint.SWEEPS, joint.round) if joint is not None else (1, _rounds(search, schedule))
    history: list[dict[str, float]] = []
    started = time.perf_counter()
    with progress.task(f"graph, {schedule}", settings.max_iter) as running:
        for number in range(-(-settings.max_iter // sweeps)):
            expected = history[-1]["gap"] if history else np.inf
            passes = min(sweeps * (number + 1), settings.max_iter)
            n_sweeps = passes - sweeps * number
            entry = go_on(number, max(settings.tol, expected), n_sweeps, passes == settings.max_iter)
            running.advance(n_sweeps)
            if entry is not None:
                history.append({**entry, "passes": passes, "seconds": time.perf_counter() - started})
                if entry["gap"] <= settings.tol:
                    break
    weights = DenseWeights.from_matrix(search.W[graph.nodes], problem.rows)
    converged = history[-1]["gap"] <= settings.tol
    return Solution(weights, weights.intercepts, history, converged, search.state(order) if keep_state else None)


def _rounds(search: Descent, schedule: str) -> Round:
    sweep = search.jacobi if schedule == "jacobi" else search.coloured
    search.accelerates = schedule == "coloured"

    def go_on(number: int, expected: float, n_sweeps: int, is_last: bool) -> dict[str, float] | None:
        sweep(number)
        return None if search.is_rough() and not is_last else search.evaluate(expected)

    return go_on
