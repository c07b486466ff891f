"""Regularisation on graphs: the optimum by the definition, descent, certificates, colours, executors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.errors import ParameterError, TooLargeError
from cladist.execution import Serial, Threads
from cladist.solvers import Settings, solve_one_vs_rest
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import SCHEDULES, solve_graph
from cladist.solvers.linear import block_prox
from cladist.solvers.tree.alternation import solve_alternating
from tests.solvers.joint_reference import TREES, joint_optimum, quadratic_optimum, tree_case
from tests.solvers.problems import LOSSES, case, members_of_matrix

TIGHT = Settings(tol=1e-6, max_iter=5000)
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES)
DESCENTS = ("coloured", "jacobi")
every_descent = pytest.mark.parametrize("schedule", DESCENTS)
every_ridge = pytest.mark.parametrize("ridge", [0.0, 0.3])


def random_graph(seed, n_nodes=9, density=0.3, ridge=0.0, n_problems=5):
    """Weighted edges, a node without any, and problems at some nodes, at least two of each component's."""
    random = np.random.default_rng(seed)
    upper = np.triu(random.random((n_nodes, n_nodes)) < density, 1) * random.uniform(0.3, 3, (n_nodes, n_nodes))
    adjacency = upper + upper.T
    adjacency[-1] = adjacency[:, -1] = 0
    nodes = np.append(random.permutation(n_nodes - 1)[: n_problems - 1], n_nodes - 1)
    return Graph(sparse.csr_array(adjacency), random.permutation(nodes), ridge)


def graph_case(seed, graph, loss, C=1.0, **options):
    """A problem for each node that has one, all nodes together as in a tree of as many leaves."""

    class Leaves:
        leaves = graph.nodes

    return tree_case(seed, Leaves, loss, C, **options)


def optimum(problem, graph):
    """The lowest objective, and the vectors of all nodes there."""
    M = graph.matrix.toarray()
    nodes = np.flatnonzero(np.isin(graph.components, graph.components[graph.nodes]))
    W, _ = quadratic_optimum(problem, M, nodes, graph.nodes, graph.pull if graph.own_constant else None)
    return objective(problem, graph, W), W


def objective(problem, graph, W):
    lost = sum(problem.primal(k, W[v]) - 0.5 * W[v] @ W[v] for k, v in enumerate(graph.nodes))
    shared = W[:, :-1] if graph.own_constant else W
    own = graph.pull @ W[:, -1] ** 2 if graph.own_constant else 0.0
    return 0.5 * (np.sum(shared * (graph.matrix @ shared)) + own) + lost


def vectors(problem, solution):
    """The vectors of all nodes, in the features of the rows as they were given."""
    W = np.zeros((len(solution.state.vectors), problem.X.shape[1]))
    features = problem.problem.rows.feature_of
    W[:, features] = solution.state.vectors[:, : len(features)]
    if problem.problem.rows.has_constant:
        W[:, -1] = solution.state.vectors[:, -1]
    return W


def times_as_far(problem, graph, W, where):
    """How far the components' means are from the best, as a multiple of what bounds hold for; 1 at least."""
    lengths = graph.summarise(W).lengths
    away = [
        np.linalg.norm((W - where)[part].mean(axis=0)) / max(lengths[k], problem.problem.rows.least_reach)
        for part in graph.loose
        for k in graph.components[part[:1]]
    ]
    return max([1, *away])


def solve(problem, graph, settings=TIGHT, **options):
    return solve_graph(problem.problem, graph, settings, keep_state=True, **options)


# ---------------------------------------------------------------- the optimum


@every_loss
@every_schedule
@every_ridge
@pytest.mark.parametrize("C", [0.1, 1, 10])
def test_the_optimum_is_that_of_a_convex_solver(loss, schedule, ridge, C):
    for seed in (0, 1):
        graph = random_graph(seed, ridge=ridge)
        problem = graph_case(seed, graph, loss, C)
        best, _ = optimum(problem, graph)
        solution = solve(problem, graph, schedule=schedule)
        found, last = objective(problem, graph, vectors(problem, solution)), solution.history[-1]
        assert solution.converged
        assert best * (1 - 1e-6) <= found <= best * (1 + 1e-5)
        assert last["objective"] == pytest.approx(found, rel=1e-5)
        assert last["gap"] == pytest.approx((last["objective"] - last["dual"]) / last["objective"], abs=1e-12)


@every_loss
@every_descent
@every_ridge
@pytest.mark.parametrize("C", [0.1, 1])
def test_constants_of_their_own_and_their_certificate(loss, schedule, ridge, C):
    for seed in (0, 1):
        graph = replace(random_graph(seed, ridge=ridge), own_constant=True)
        problem = graph_case(seed, graph, loss, C, constant=True)
        best, where = optimum(problem, graph)
        solution = solve(problem, graph, schedule=schedule)
        W = vectors(problem, solution)
        assert solution.converged
        assert best * (1 - 1e-6) <= objective(problem, graph, W) <= best * (1 + 1e-5)
        assert solution.history[-1]["objective"] == pytest.approx(objective(problem, graph, W), rel=1e-5)
        for max_iter in (1, 2, 5):
            early = solve(problem, graph, Settings(1e-9, max_iter), schedule=schedule)
            W, last = vectors(problem, early), early.history[-1]
            assert last["objective"] == pytest.approx(objective(problem, graph, W), rel=1e-5)
            gap = last["objective"] - last["dual"]
            far = times_as_far(problem, graph, np.c_[W[:, :-1], 0 * W[:, -1]], np.c_[where[:, :-1], 0 * W[:, -1]])
            assert best >= last["objective"] - far * gap - 1e-6 * best
        shared = replace(graph, own_constant=False)
        assert abs(optimum(problem, shared)[0] - best) > 1e-5 * best  # another problem than with shared constants
    with pytest.raises(ParameterError, match="own constants"):
        solve(problem, graph, schedule="joint")


@every_loss
def test_constants_of_their_own_are_those_of_flat_problems_without_features(loss):
    """Rows that say nothing, relations of any strength: each node learns how frequent it is, and no other."""
    edges = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], float))
    members = members_of_matrix(np.array([[1, 0, 1]] * 3 + [[0, 1, 1]] * 9))
    problem = case(np.zeros((12, 2)), members, loss, np.ones((2, 3)))
    solution = solve(problem, Graph(edges, np.arange(3), own_constant=True))
    np.testing.assert_allclose(solution.intercepts, solve_one_vs_rest(problem.problem, TIGHT).intercepts, atol=2e-3)


@every_loss
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), density=st.floats(0, 1), ridge=st.sampled_from([0.0, 0.01, 2.0]))
@example(seed=264, density=0.375, ridge=0.0)  # a component with rows at one node, which nothing regularises
def test_any_graph_costs_and_weights(loss, seed, density, ridge):
    random = np.random.default_rng(seed)
    n_nodes = int(random.integers(3, 12))
    graph = random_graph(seed, n_nodes, density, ridge, n_problems=int(random.integers(2, n_nodes + 1)))
    n = len(graph.nodes)
    options = {"costs": random.uniform(0.3, 3, (2, n)), "row_weights": random.uniform(0.2, 3, 40)}
    problem = graph_case(seed, graph, loss, **options)
    solution = solve(problem, graph, Settings(1e-5, 5000))
    best, _ = optimum(problem, graph)
    assert solution.converged
    assert objective(problem, graph, vectors(problem, solution)) == pytest.approx(best, rel=2e-5)


@every_loss
@pytest.mark.parametrize("tree", [tree for name, tree in TREES.items() if name in ("nine nodes", "star", "chains")])
def test_a_tree_read_as_a_graph_is_a_tree_with_a_free_root(loss, tree):
    above = np.flatnonzero(tree.parent >= 0)
    ends = above, tree.parent[above]
    edges = sparse.csr_array((np.ones(len(above)), ends), shape=(len(tree.parent),) * 2)
    graph = Graph(sparse.csr_array(edges + edges.T), tree.leaves)
    problem = tree_case(3, tree, loss)
    solution = solve(problem, graph)
    assert solution.history[-1]["objective"] == pytest.approx(joint_optimum(problem, tree, "free").objective, rel=1e-5)
    other = solve_alternating(problem.problem, tree, TIGHT, root="free", exact_inner=True)
    assert solution.history[-1]["objective"] == pytest.approx(other.history[-1]["objective"], rel=1e-5)


@every_loss
@every_schedule
def test_nodes_without_edges_are_plain_problems(loss, schedule):
    graph = Graph(sparse.csr_array((4, 4)), np.array([2, 0, 3]))
    problem = graph_case(4, graph, loss)
    solution, flat = solve(problem, graph, schedule=schedule), solve_one_vs_rest(problem.problem, TIGHT)
    assert solution.history[-1]["objective"] == pytest.approx(sum(e["objective"] for e in flat.history), rel=2e-6)
    np.testing.assert_allclose(problem.weights(solution), problem.weights(flat), atol=2e-3)
    assert not solution.state.vectors[1].any()


@every_loss
def test_components_without_rows_stay_at_zero(loss):
    edges = sparse.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]]))
    graph = Graph(edges, np.array([0, 1]))
    solution = solve(graph_case(5, graph, loss), graph)
    assert solution.converged
    assert not solution.state.vectors[2:].any()
    assert solution.state.vectors[:2].any()


@every_loss
def test_nodes_without_rows_are_means_and_others_means_and_shares(loss):
    graph = random_graph(6, ridge=0.2)
    problem = graph_case(6, graph, loss)
    W = vectors(problem, solve(problem, graph, Settings(1e-9, 5000)))
    plain = np.setdiff1d(np.arange(graph.n_nodes), graph.nodes)
    pulled = graph.neighbours.toarray() @ W
    np.testing.assert_allclose(W[plain], pulled[plain], atol=1e-3)
    _, best = optimum(problem, graph)
    np.testing.assert_allclose(W, best, atol=5e-3)


# ---------------------------------------------------------------- on the way there


@every_loss
@every_descent
@every_ridge
def test_the_objective_never_rises(loss, schedule, ridge):
    for seed in range(4):
        graph = random_graph(seed, 20, 0.6, ridge, n_problems=18)
        problem = graph_case(seed, graph, loss, 10.0)
        values = [e["objective"] for e in solve(problem, graph, Settings(1e-9, 15), schedule=schedule).history]
        assert np.all(np.diff(values) <= 1e-6 * np.array(values[:-1]))


@every_loss
def test_all_at_once_may_go_too_far_and_is_held_back(loss):
    """Two nodes that change places for ever if nothing holds them: the step is shortened."""
    graph = Graph(sparse.csr_array(1 - np.eye(6)), np.arange(6))
    problem = graph_case(7, graph, loss, 0.01)
    solution = solve(problem, graph, Settings(1e-5, 2000), schedule="jacobi")
    values = [e["objective"] for e in solution.history]
    assert solution.converged
    assert np.all(np.diff(values) <= 1e-6 * np.array(values[:-1]))


@every_loss
@pytest.mark.parametrize("sweeps", [1, 3, 5000])
@pytest.mark.parametrize("schedule", ["coloured", "joint"])
def test_the_gap_is_honest_with_a_ridge(loss, schedule, sweeps):
    for seed in (8, 9):
        graph = random_graph(seed, ridge=0.1)
        problem = graph_case(seed, graph, loss)
        solution = solve(problem, graph, Settings(1e-6, sweeps), schedule=schedule)
        best, _ = optimum(problem, graph)
        last = solution.history[-1]
        assert last["dual"] <= best * (1 + 1e-7) <= last["objective"] * (1 + 1e-6)
        assert solution.converged == (last["gap"] <= 1e-6)


@every_loss
@pytest.mark.parametrize("sweeps", [1, 3, 5000])
@pytest.mark.parametrize("schedule", ["coloured", "joint"])
def test_the_gap_without_a_ridge_holds_as_far_as_it_says(loss, schedule, sweeps):
    for seed in (10, 11):
        graph = random_graph(seed, density=0.6)
        problem = graph_case(seed, graph, loss)
        solution = solve(problem, graph, Settings(1e-6, sweeps), schedule=schedule)
        best, where = optimum(problem, graph)
        W, last = vectors(problem, solution), solution.history[-1]
        further = times_as_far(problem, graph, W, where)
        assert last["objective"] - best <= further * (last["objective"] - last["dual"]) + 1e-6 * best


@every_loss
@pytest.mark.parametrize("C", [0.001, 1.0])
def test_the_best_bound_so_far_holds_where_the_vectors_are_now(loss, C):
    """Of a loose component it hangs on the mean: what is remembered is judged anew, and never more than is true."""
    for seed in (14, 15):
        graph = random_graph(seed, density=0.6)
        problem = graph_case(seed, graph, loss, C, constant=True)
        best, where = optimum(problem, graph)
        for sweeps in (2, 4, 8, 16):
            solution = solve(problem, graph, Settings(1e-7, sweeps))
            W, last = vectors(problem, solution), solution.history[-1]
            further = times_as_far(problem, graph, W, where)
            assert last["objective"] - best <= further * (last["objective"] - last["dual"]) + 1e-6 * best


@every_loss
def test_strong_relations_are_certified_in_a_few_sweeps(loss):
    """Nothing pulls the component to 0, and C is so small that all nodes are nearly alike."""
    graph = Graph(sparse.csr_array(1 - np.eye(30)), np.arange(30))
    problem = graph_case(16, graph, loss, 1e-4, n_rows=90, constant=True)
    solution = solve(problem, graph, Settings(1e-2, 50))
    best, _ = optimum(problem, graph)
    assert solution.converged
    assert solution.history[-1]["passes"] <= 5
    assert best * (1 - 1e-6) <= objective(problem, graph, vectors(problem, solution)) <= best * (1 + 1e-2)


@every_loss
@every_schedule
def test_a_fit_that_begins_where_another_ended_finds_its_own_optimum(loss, schedule):
    graph = random_graph(17, density=0.5)
    small, large = (graph_case(17, graph, loss, C) for C in (0.3, 1.0))
    state = solve(small, graph).state.scaled(1 / 0.3)
    best, _ = optimum(large, graph)
    solution = solve(large, graph, Settings(1e-6, 5000, seed=5), schedule=schedule, state=state)
    assert solution.converged
    assert objective(large, graph, vectors(large, solution)) == pytest.approx(best, rel=1e-5)
    again = solve(large, graph, Settings(1e-3, 100), schedule=schedule, state=solution.state)
    assert again.history[-1]["passes"] <= (4 if schedule == "joint" else 2)


@settings(max_examples=40)
@example(seed=11, n_nodes=11, density=0.125, ridge=True)  # a path, whose nodes are pulled by different amounts
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(2, 12), density=st.floats(0.1, 1), ridge=st.booleans())
def test_what_a_graph_takes_from_the_dual(seed, n_nodes, density, ridge):
    """By the definition: max tr(VᵀA) − ½ tr(VᵀMV), V free where M is regular, its mean as far as said elsewhere."""
    random = np.random.default_rng(seed)
    graph = random_graph(seed, n_nodes, density, 0.3 * ridge, n_problems=2)
    A, W = random.normal(size=(2, n_nodes, 3)).astype(np.float32).astype(np.float64)
    M, expected = graph.matrix.toarray(), 0.0
    B, reach = A.copy(), random.uniform(1, 3, n_nodes)[: graph.components.max() + 1]
    for part in graph.loose:
        total = A[part].sum(axis=0)
        expected += W[part].mean(axis=0) @ total + reach[graph.components[part[0]]] * np.linalg.norm(total)
        B[part] -= total / len(part)
    expected += 0.5 * np.sum(B * (np.linalg.pinv(M, rcond=1e-10) @ B))
    found = graph.dual_cost(A, W, 1e-6).within(graph.summarise(W).means, reach).sum()
    assert expected - 1e-9 * abs(expected) <= found <= expected + 2e-6 + 1e-9 * abs(expected)


def test_stiffness_bounds_the_eigenvalues_of_small_and_large_graphs():
    path = sparse.diags_array([np.ones(699), np.ones(699)], offsets=[-1, 1]).tocsr()
    for adjacency, ridge in ((path, 0.0), (path, 0.5), (path[:50][:, :50].tocsr(), 0.0)):
        graph = Graph(sparse.csr_array(adjacency), np.array([0]), ridge)
        second = np.linalg.eigvalsh(graph.matrix.toarray())[1]
        assert 0.98 * second <= graph.stiffness <= second


# ---------------------------------------------------------------- colours, blocks and threads


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(1, 40), density=st.floats(0, 1))
def test_neighbours_have_different_colours_and_no_colour_is_missing(seed, n_nodes, density):
    graph = random_graph(seed, n_nodes, density, n_problems=1)
    edges = sparse.coo_array(graph.adjacency)
    assert np.all(graph.colours[edges.row] != graph.colours[edges.col])
    assert np.array_equal(np.unique(graph.colours), np.arange(graph.colours.max() + 1))


def test_colours_are_spread_evenly():
    graph = random_graph(0, 400, 0.02, n_problems=400)
    counts = np.bincount(graph.colours)
    assert counts.max() <= 2 * counts.min()


@every_loss
@every_schedule
def test_bits_do_not_depend_on_the_executor(loss, schedule):
    graph = random_graph(12, 60, 0.05, n_problems=50)
    problem = graph_case(12, graph, loss, n_rows=80)
    one, two = (solve(problem, graph, Settings(1e-6, 4), schedule=schedule, executor=e) for e in (Serial(), Threads(3)))
    np.testing.assert_array_equal(one.state.vectors, two.state.vectors)
    without_time = [[{**entry, "seconds": 0} for entry in found.history] for found in (one, two)]
    assert without_time[0] == without_time[1]


@every_loss
def test_joint_sweeps_reach_what_edges_pass_on_slowly(loss):
    """A path of nodes that pull hard at each other, rows at its ends only: block descent passes on little at a time."""
    path = sparse.csr_array(sparse.diags_array([np.full(29, 50.0), np.full(29, 50.0)], offsets=[-1, 1]))
    graph = Graph(path, np.array([0, 29, 3]), 0.01)
    problem = graph_case(13, graph, loss, 0.1)
    sweeps = [
        solve(problem, graph, Settings(1e-3, 2000), schedule=schedule).history[-1]["passes"]
        for schedule in ("joint", "coloured")
    ]
    assert 4 * sweeps[0] < sweeps[1]


def test_joint_sweeps_want_a_graph_of_some_thousand_nodes():
    graph = Graph(sparse.csr_array((8_001, 8_001)), np.array([0, 1]))
    with pytest.raises(TooLargeError, match="use schedule='coloured' beyond 8000"):
        solve(graph_case(0, graph, "hinge"), graph, schedule="joint")


def test_an_unknown_schedule_is_refused():
    graph = random_graph(0)
    with pytest.raises(ParameterError, match="schedule"):
        solve(graph_case(0, graph, "hinge"), graph, schedule="random")


@pytest.mark.parametrize("schedule", ["coloured", "jacobi"])
def test_a_slow_outer_loop_does_not_ask_for_what_rounding_hides(schedule, monkeypatch):
    """Exponentials are float32: asked for more, nodes would sweep until their limit at every visit, for nothing."""
    swept = []
    descend = block_prox.kernels.descend

    def counted(*arguments):
        found = descend(*arguments)
        swept.append(found[0])
        return found

    monkeypatch.setattr(block_prox.kernels, "descend", counted)
    random = np.random.default_rng(0)
    X = random.normal(size=(22, 30)) * (random.random((22, 30)) < 0.4)
    belongs = random.random((22, 5)) < 0.4
    problem = case(X, members_of_matrix(belongs), "logistic", np.full((2, 5), 100.0))
    edges = np.zeros((5, 5))
    edges[[0, 1, 3], [1, 2, 4]] = edges[[1, 2, 4], [0, 1, 3]] = 1
    graph = Graph(sparse.csr_array(edges), np.arange(5))
    solution = solve_graph(problem.problem, graph, Settings(1e-4, 100), schedule=schedule)
    assert len(solution.history) > 20
    assert np.mean(swept[len(swept) // 2 :]) < block_prox.SWEEPS / 10
