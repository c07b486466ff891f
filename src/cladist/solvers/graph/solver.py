"""Regularisation on a graph of labels (Gopal & Yang 2013, §2.2 and §3.2): the problem, its schedules, the joint dual.

Problem   min ½ tr(WᵀMW) + Σ_nodes with rows n Σ_i c_in ℓ(y_in w_n·x_i), M being that of the graph
Schedules "coloured" and "jacobi" are block descent, `cladist.solvers.graph.block_descent`; "joint" is block
          Gauss–Seidel on the joint dual, in turn with coloured sweeps
Dual      W = KA, a_n = Σ_i α_in y_in x_i and K = M⁻¹: one problem in all α. Moving α_in by δ moves the weights of every
          node m by K[m, n] δ y x_i, however many edges lie between: block descent passes it on edge by edge
Stops     when (primal − dual) / primal ≤ tol; the primal point is a coloured sweep from W
Begins    at equal nodes in each component, w having a weight for the constant feature only: the best of these for
          min_w Σ_i P_i ℓ(w·x_i) + N_i ℓ(−w·x_i), P_i and N_i being what row i costs in all nodes of a component that it
          is a positive and a negative row of. Where relations pull more than rows do this is nearly the optimum, which
          descent from 0 takes many sweeps to come to
Found by  coordinate descent on sixteen nodes at a time, `cladist.kernels.joint`, with K in place of a tree's overlap

In a component that nothing pulls to 0, M is singular and the dual wants s = Σ a_n = 0. Its mean is pulled to where it
was a sweep ago instead (Rockafellar's proximal point): K = M⁺ + 11ᵀ / ρ, and s goes to 0.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from cladist import checkpoints, progress
from cladist.errors import ParameterError, TooLargeError, one_of
from cladist.execution import Executor, Serial
from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros
from cladist.linear_model.weights import DenseWeights
from cladist.solvers.cost import count_effort
from cladist.solvers.graph.block_descent import PRECISION, Descent, GraphState
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.problem import History, OneVsRest, Settings, Solution, duality_gap, initial_alpha, random_generator
from cladist.solvers.tree.joint_dual import FULL_EVERY, LEAST_NORM, PASSES, RESTING
from cladist.surrogates import Surrogate

SCHEDULES = ("coloured", "jacobi", "joint")
JOINT_SWEEPS = 4  # per round, before the one that is coloured
SMALLEST_EPS = 1e-6
MOST_NODES = 8_000  # K takes 8 bytes for each pair of nodes
FURTHEST, STEPS = 40.0, 60  # scores between which, and steps by which, the best common one is looked for
HOPELESS = 3.0  # times the gap wanted: where the initial shares leave more, descent will soon know better
INITIAL_PRECISION = 0.1  # of their bounds, as a share of the gap wanted


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
    >>> from cladist.solvers import TrainingRows, members_by_class
    >>> rows = TrainingRows.from_matrix(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> path = Graph(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), np.arange(3))
    >>> solution = solve_graph(problem, path)
    >>> solution.weights.best(np.eye(3)).tolist(), solution.converged
    ([0, 1, 2], True)
    """
    one_of("solve_graph", "schedule", schedule, SCHEDULES)
    settings = settings or Settings()
    if graph.own_constant and not problem.rows.has_constant:
        graph = replace(graph, own_constant=False)
    if graph.own_constant and schedule == "joint":
        raise ParameterError("solve_graph: schedule='joint' shares all features; use 'coloured' with own constants.")
    # Rows in a random order in memory: visited one after the other they are read fast, and converge as random ones do.
    order = np.random.default_rng(settings.seed).permutation(len(problem.rows)) if state is None else state.order
    problem = problem.reorder(order)
    executor = executor or Serial()
    start = initial_point(problem, graph, settings.tol, executor)
    search = Descent(problem, graph, executor, settings, start, state, accelerates=schedule == "coloured")
    joint = JointGraph(problem, search, settings.seed) if schedule == "joint" else None
    if joint is not None and state is not None:
        joint.take_from_descent()
    sweeps = 1 if joint is None else JOINT_SWEEPS
    history: History = []
    started = time.perf_counter()
    kept, first = checkpoints.scope("sweeps"), 0
    found = kept.load()
    if found is not None:
        first, history, values = found
        search.go_on(values)
    with progress.task(f"graph, {schedule}", settings.max_iter, unit="sweeps") as running:
        if first:
            running.advance(first)
        for number in range(first, -(-settings.max_iter // sweeps)):
            expected = max(settings.tol, history[-1]["gap"] if history else np.inf)
            passes = min(sweeps * (number + 1), settings.max_iter)
            n_sweeps = passes - sweeps * number
            if joint is not None:
                entry: dict[str, float] | None = joint.round(number, expected, n_sweeps)
            else:
                (search.jacobi if schedule == "jacobi" else search.coloured)(number)
                rough = search.is_rough() and passes < settings.max_iter
                entry = None if rough else search.evaluate(expected)
            running.advance(n_sweeps)
            if entry is not None:
                history.append({**entry, "passes": passes, "seconds": time.perf_counter() - started})
                if entry["gap"] <= settings.tol:
                    break
            if joint is None:
                done = number + 1
                kept.save(lambda: [done, history, search.kept()])  # noqa: B023 - called at once
    weights = DenseWeights.from_matrix(search.W[graph.nodes], problem.rows)
    converged = history[-1]["gap"] <= settings.tol
    end_state = GraphState(search.W, order, [block.alpha for block in search.blocks]) if keep_state else None
    return Solution(weights, weights.intercepts, history, converged, end_state)


# ---------------------------------------------------------------- where descent begins


def initial_point(problem: OneVsRest, graph: Graph, tol: float, executor: Executor) -> tuple[Floats64, Floats64]:
    """Return the score of all rows at the initial point, and a lower bound of the objective, for each component.

    The score is the weight of the constant feature, or 0. Bounds are those of components of several nodes, if they may
    be near the gap wanted; −∞ where nothing is known.

    In the dual, α is r_i times their cost for positive and q_i times it for negative rows, P_i r_i = N_i q_i: what a
    row adds to the shares of all nodes is 0, as the dual of a component that nothing pulls to 0 wants it.
    """
    sizes = np.bincount(graph.components)
    levels, bounds = np.zeros(len(sizes)), np.full(len(sizes), -np.inf)
    component, surrogate = graph.components[graph.nodes], problem.surrogate
    shares, lost = np.zeros((graph.n_nodes, problem.rows.n_used), np.float32), 0.0
    indptr, rows = problem.members
    weight = problem.weights32.astype(np.float64)
    members = sparse.csr_array((weight[rows], rows, indptr), shape=(problem.n_classes, len(weight)))
    for k in np.unique(component[sizes[component] > 1]).tolist():
        part = np.flatnonzero(component == k)
        costs, own = problem.costs[:, part].astype(np.float64), members[part]
        P = costs[0] @ own
        N = np.maximum(costs[1].sum() * weight - costs[1] @ own, 0)
        r, q = surrogate.balanced_shares(P, N)
        bounds[k] = float(P @ surrogate.gain(r) + N @ surrogate.gain(q))
        _add_shares(problem, costs, own, weight, (r, q), graph.nodes[part], shares)
        if problem.rows.has_constant:
            held = graph.pull[graph.components == k].sum() if graph.own_constant else graph.ridge * sizes[k]
            levels[k] = common_score(surrogate, float(P.sum()), float(N.sum()), float(held))
        lost += float(P.sum() * surrogate.value(levels[k]) + N.sum() * surrogate.value(-levels[k]))
    known = np.isfinite(bounds)
    left = lost - bounds[known].sum()
    if not known.any() or left + graph.least_cost(shares, executor) > HOPELESS * tol * lost:
        return levels, np.full(len(sizes), -np.inf)
    cost = graph.dual_cost(shares, None, INITIAL_PRECISION * tol * lost, executor).fixed  # all, since shares cancel
    return levels, np.where(known, bounds - cost, -np.inf)


def _add_shares(
    problem: OneVsRest, costs: Floats64, own: Any, weight: Floats64, factors: Any, nodes: Ids, shares: Any
) -> None:
    """Write Σ α y x of some nodes into `shares`."""
    r, q = factors
    X = problem.rows.to_csr()
    alike = (weight * q) @ X
    pairs = sparse.diags_array(costs[0]) @ own @ sparse.diags_array(r)
    pairs = pairs + sparse.diags_array(costs[1]) @ own @ sparse.diags_array(q)
    different = sparse.csr_array(pairs @ X)
    for k, node in enumerate(nodes.tolist()):
        shares[node] = -costs[1, k] * alike
        ends = slice(different.indptr[k], different.indptr[k + 1])
        shares[node, different.indices[ends]] += different.data[ends]


def common_score(surrogate: Surrogate, P: float, N: float, ridge: float) -> float:
    """Return the score z that minimises P ℓ(z) + N ℓ(−z) + ½ ridge z², by bisection."""
    low, high = np.float64(-FURTHEST), np.float64(FURTHEST)
    for _ in range(STEPS):
        z = (low + high) / 2
        if ridge * z + P * surrogate.slope(z) - N * surrogate.slope(-z) > 0:
            high = z
        else:
            low = z
    return float((low + high) / 2)


# ---------------------------------------------------------------- the joint dual


class JointGraph:
    """The state of the joint dual, and the block descent that computes primal points from it."""

    def __init__(self, problem: OneVsRest, descent: Descent, seed: int) -> None:
        graph = descent.graph
        if graph.n_nodes > MOST_NODES:
            raise TooLargeError(
                f"schedule='joint' holds a number for each pair of nodes, and there are {graph.n_nodes}; use "
                f"schedule='coloured' beyond {MOST_NODES}."
            )
        self.problem, self.graph, self.descent, self.seed = problem, graph, descent, seed
        self.surrogate = problem.surrogate
        self.norms = np.maximum(problem.rows.norms, LEAST_NORM)
        self.order = np.random.default_rng(seed).permutation(len(problem.rows)).astype(np.int32)
        self.blocks = self._blocks()
        self.alphas = [initial_alpha(self._lane_problem(block), self.surrogate) for block in self.blocks]
        self.active = [self.order] * len(self.blocks)
        self.A = np.zeros((problem.n_classes, problem.rows.n_used), np.float32)
        self.centres = np.zeros((int(graph.components.max()) + 1, problem.rows.n_used), np.float32)
        for b in range(len(self.blocks)):
            self._set_sums(b)
        self.eps = self.surrogate.first_violation(max(1.0, float(problem.costs.max())))

    def _blocks(self) -> list[Ids]:
        """Return the problems of each block, related ones side by side."""
        walk = np.empty(self.graph.n_nodes, np.int64)
        walk[csgraph.reverse_cuthill_mckee(self.graph.adjacency, symmetric_mode=True)] = np.arange(len(walk))
        order = np.argsort(walk[self.graph.nodes], kind="stable")
        return [order[start : start + WIDTH] for start in range(0, len(order), WIDTH)]

    @cached_property
    def K(self) -> Floats32:  # noqa: N802 - the docstring's letter
        """K (nodes × problems)."""
        M = self.graph.matrix.toarray()
        typical = float(np.mean(self.graph.pull))
        for part in self.graph.loose:
            M[np.ix_(part, part)] += typical / len(part) ** 2
        return np.linalg.inv(M)[:, self.graph.nodes].astype(np.float32)

    @cached_property
    def coupling(self) -> Floats32:
        """K among the problems."""
        return self.K[self.graph.nodes]

    # ---------------------------------------------------------------- blocks

    def _lane_problem(self, classes: Ids) -> LaneProblem:
        return self.problem.lanes(classes, self.norms)

    def _set_sums(self, b: int) -> None:
        classes, W = self.blocks[b], aligned_zeros(self.A.shape[1])
        lanes = self._lane_problem(classes)
        flat.weights_of(lanes.rows, lanes.mask, self.alphas[b], W)
        self.A[classes] = W[:, : len(classes)].T

    def _weights(self, b: int) -> Floats32:
        """Return the weights of a block's nodes, side by side."""
        classes, W = self.blocks[b], aligned_zeros(self.A.shape[1])
        W[:, : len(classes)] = (self.coupling[classes] @ self.A + self._centres(self.graph.nodes[classes])).T
        return W

    def _centres(self, nodes: Ids) -> Floats32:
        return self.centres[self.graph.components[nodes]]

    def _visit(self, b: int, sweep: int) -> None:
        classes = self.blocks[b]
        overlap = np.zeros((WIDTH, WIDTH), np.float32)
        overlap[: len(classes), : len(classes)] = self.coupling[np.ix_(classes, classes)]
        full = sweep % FULL_EVERY == 0
        active = kernels.visit_block(
            self._lane_problem(classes), self.surrogate, self.order if full else self.order[:0], self.active[b],
            self._weights(b), self.alphas[b], overlap, np.float32(self.eps), np.float32(RESTING), PASSES,
            random_generator(self.seed, b, sweep), count_effort(),
        )  # fmt: skip
        self.active[b] = active if full else self.active[b]
        self._set_sums(b)

    # ---------------------------------------------------------------- all nodes

    def sweep(self, sweep: int) -> None:
        """Visit every block; then components that nothing pulls to 0 are pulled to where they are now."""
        for b in range(len(self.blocks)):
            self._visit(b, sweep)
        for _, k, step in self._steps():
            self.centres[k] += step

    def _steps(self) -> Iterator[tuple[Ids, int, Floats32]]:
        """Yield the nodes of each component that nothing pulls to 0, its number, and how far s moves its mean."""
        components, pull = self.graph.components[self.graph.nodes], np.float32(1 / np.mean(self.graph.pull))
        for part in self.graph.loose:
            k = int(self.graph.components[part[0]])
            yield part, k, pull * self.A[components == k].sum(axis=0)

    def round(self, number: int, expected: float, n_sweeps: int) -> dict[str, float]:
        """Sweep `n_sweeps` times, then once by colours from there; return objective, dual and gap of `descent.W`.

        Of the two α the better goes on: joint sweeps move what all nodes share, coloured ones bring each node to its
        optimum.
        """
        for k in range(n_sweeps):
            self.sweep(JOINT_SWEEPS * number + k)
        self._start_descent()
        self.descent.coloured(number)
        entry = self.descent.evaluate(expected)
        primal = entry["objective"]
        dual = self._dual(PRECISION * expected * primal)
        if self.descent.own_dual > dual:
            self.take_from_descent()
        self.eps = max(self.eps / 2, SMALLEST_EPS)
        return duality_gap(primal, max(dual, entry["dual"]))

    def _dual(self, precision: float) -> float:
        """Return the bound that the joint α give, for vectors near those of the descent."""
        shares = np.zeros_like(self.descent.W)
        shares[self.graph.nodes] = self.A
        gain = sum(self._gain(b) for b in range(len(self.blocks)))
        place = self.graph.summarise(self.descent.W)
        cost = self.graph.dual_cost(shares, self.descent.W, precision)
        return gain - float(np.sum(cost.within(place.means, self.descent.reach(place.lengths))))

    def _gain(self, b: int) -> float:
        rows = np.flatnonzero(self.alphas[b].any(axis=1)).astype(np.int32)
        lanes = self._lane_problem(self.blocks[b])
        return float(kernels.dual_gain(lanes, self.surrogate, rows, self.alphas[b]))

    @cached_property
    def _lanes(self) -> list[list[tuple[int, int]]]:
        """Where each lane of the descent's blocks is among ours: block and lane."""
        place = {c: (b, lane) for b, block in enumerate(self.blocks) for lane, c in enumerate(block.tolist())}
        return [[place[c] for c in block.classes.tolist()] for block in self.descent.blocks]

    def _start_descent(self) -> None:
        """Start the block descent at W and the present α."""
        self.descent.W = self.K @ self.A + self._centres(np.arange(self.graph.n_nodes))
        for k, block in enumerate(self.descent.blocks):
            alpha, pull = aligned_zeros(len(self.problem.rows)), self.descent.pull(k).astype(np.float32)
            for lane, (b, at) in enumerate(self._lanes[k]):
                alpha[:, lane] = self.alphas[b][:, at] / pull[lane]
            alpha[:, len(block) :] = alpha[:, len(block) - 1 : len(block)]
            self.descent.blocks[k] = replace(block, alpha=alpha)
        self.descent.place_blocks()

    def take_from_descent(self) -> None:
        """Continue from the α of the block descent, and from its means of loose components."""
        for k, block in enumerate(self.descent.blocks):
            pull = self.descent.pull(k).astype(np.float32)
            for lane, (b, at) in enumerate(self._lanes[k]):
                self.alphas[b][:, at] = block.alpha[:, lane] * pull[lane]
        for b in range(len(self.blocks)):
            self._set_sums(b)
        for part, k, step in self._steps():
            self.centres[k] = self.descent.W[part].mean(axis=0) - step
