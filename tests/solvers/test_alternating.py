"""Recursive regularisation by turns: the joint optimum, its conditions, the certificate, blocks and threads."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cladist.errors import ParameterError
from cladist.execution import Serial, Threads
from cladist.linear_model.problem_tree import ProblemTree
from cladist.solvers import Settings, solve_one_vs_rest
from cladist.solvers.tree.alternation import solve_alternating
from tests.solvers.joint_reference import (
    ROOTS,
    TREES,
    joint_dual,
    joint_optimum,
    objective,
    random_tree,
    regularizer,
    tree_case,
)
from tests.solvers.problems import LOSSES, dual_bounds

TIGHT = Settings(tol=1e-5, max_iter=500)
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_root = pytest.mark.parametrize("root", ROOTS)
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


def solve(problem, tree, root="zero", settings=TIGHT, **options):
    return solve_alternating(problem.problem, tree, settings, root=root, keep_state=True, **options)


def weights_of_nodes(problem, tree, solution):
    """The weights of all nodes, in the features of the rows as they were given."""
    weights = np.zeros((len(tree.parent), problem.X.shape[1]))
    for node, vector in solution.state["inner"].items():
        weights[node, problem.problem.rows.feature_of] = vector
    weights[tree.leaves] = problem.weights(solution)
    return weights


def alphas(solution):
    return solution.state["alpha"].T.astype(np.float64)


def sums_of_leaves(problem, solution):
    """Σ α y x of every problem."""
    return np.array([problem.weights_of(k, alpha) for k, alpha in enumerate(alphas(solution))])


def at_the_optimum(problem, tree, root, solution):
    """Assert that it has converged, to the joint optimum, and that the last entry of the history says so."""
    best, last = joint_optimum(problem, tree, root).objective, solution.history[-1]
    found = objective(problem, tree, root, weights_of_nodes(problem, tree, solution))
    assert solution.converged
    assert best * (1 - 1e-7) <= found <= best * (1 + 1e-5)
    assert last["objective"] == pytest.approx(found, rel=1e-5)
    assert last["gap"] <= TIGHT.tol
    assert last["gap"] == pytest.approx((last["objective"] - last["dual"]) / last["objective"], abs=1e-12)


# ---------------------------------------------------------------- the optimum


@every_tree
@every_root
@every_loss
@pytest.mark.parametrize("C", [0.1, 1, 10])
def test_the_optimum_is_the_joint_one(tree, root, loss, C):
    problem = tree_case(0, tree, loss, C)
    at_the_optimum(problem, tree, root, solve(problem, tree, root))


@every_tree
@every_root
@every_loss
def test_solving_all_inner_nodes_at_once_leads_there_too(tree, root, loss):
    problem = tree_case(1, tree, loss)
    at_the_optimum(problem, tree, root, solve(problem, tree, root, exact_inner=True))


@every_root
@every_loss
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), exact_inner=st.booleans())
def test_any_tree_costs_and_weights(root, loss, seed, exact_inner):
    random, tree = np.random.default_rng(seed), random_tree(seed)
    n_classes = len(tree.leaves)
    # What a free root leaves unregularised may have no optimum; one leaf alone has the float32 margins' for a floor.
    assume(n_classes >= (3 if root == "free" else 2))
    costs, row_weights = random.uniform(0.3, 3, (2, n_classes)), random.uniform(0.2, 3, 40)
    problem = tree_case(seed, tree, loss, costs=costs, row_weights=row_weights, constant=root != "free")
    solution = solve(problem, tree, root, Settings(1e-5, 5000), exact_inner=exact_inner)
    at_the_optimum(problem, tree, root, solution)


@every_loss
def test_a_star_with_a_fixed_root_is_one_vs_rest(loss):
    tree = TREES["star"]
    problem = tree_case(2, tree, loss, constant=True)
    flat = solve_one_vs_rest(problem.problem, Settings(1e-7, 10_000))
    solution = solve(problem, tree, "fixed", Settings(1e-7, 500))
    assert solution.history[-1]["objective"] == pytest.approx(sum(e["objective"] for e in flat.history), rel=1e-6)
    np.testing.assert_allclose(problem.weights(solution), problem.weights(flat), atol=2e-3)
    assert not np.any(solution.state["inner"][0])


@every_root
@every_loss
def test_the_order_of_siblings_does_not_matter(root, loss):
    tree, other = TREES["nine nodes"], ProblemTree(np.array([-1, 0, 0, 1, 1, 1, 2, 2, 5]), np.array([8, 7, 3, 6, 4]))
    problem = tree_case(3, tree, loss)
    one, two = solve(problem, tree, root), solve(problem, other, root)
    assert one.history[-1]["objective"] == pytest.approx(two.history[-1]["objective"], rel=1e-5)
    np.testing.assert_allclose(problem.weights(one), problem.weights(two), atol=0.03)


# ---------------------------------------------------------------- conditions of optimality


@every_tree
@every_root
@every_loss
def test_inner_nodes_are_means_and_leaves_their_parents_and_shares(tree, root, loss):
    problem = tree_case(4, tree, loss)
    solution = solve(problem, tree, root, Settings(1e-6, 2000))
    assert solution.converged
    W, sums = weights_of_nodes(problem, tree, solution), sums_of_leaves(problem, solution)
    M, nodes = regularizer(tree, root)
    inner = np.setdiff1d(nodes, tree.leaves)
    np.testing.assert_allclose((M @ W)[inner], 0, atol=0.02)
    above = np.vstack([W, np.zeros(W.shape[1])])[tree.parent[tree.leaves]]
    np.testing.assert_allclose(W[tree.leaves] - above, sums, atol=0.02)


@every_loss
def test_sum_rules_of_the_root(loss):
    tree = TREES["nine nodes"]
    problem = tree_case(5, tree, loss)
    for root in ("zero", "free"):
        solution = solve(problem, tree, root, Settings(1e-6, 2000))
        total = sums_of_leaves(problem, solution).sum(axis=0)
        expected = weights_of_nodes(problem, tree, solution)[0] if root == "zero" else 0
        np.testing.assert_allclose(total, expected, atol=0.02)


@every_root
@every_loss
def test_leaves_satisfy_the_conditions_of_optimality(root, loss):
    tree = TREES["nine nodes"]
    problem = tree_case(6, tree, loss)
    solution = solve(problem, tree, root, Settings(1e-6, 2000))
    for k, (w, alpha) in enumerate(zip(problem.weights(solution), alphas(solution), strict=True)):
        margins, costs = problem.margins(k, w), problem.costs(k)
        if loss == "logistic":
            np.testing.assert_allclose(alpha, costs / (1 + np.exp(margins)), atol=0.01)
            continue
        least, most = dual_bounds(loss, costs)
        wanted = 1 - (0 if loss == "hinge" else alpha / (2 * costs))
        assert np.all((alpha >= least) & (alpha <= most * (1 + 1e-6)))
        assert np.all((margins >= wanted - 0.01) | (alpha >= most * (1 - 1e-6)))
        assert np.all((margins <= wanted + 0.01) | (alpha <= least))


# ---------------------------------------------------------------- the certificate


@every_root
@every_loss
@pytest.mark.parametrize("exact_inner", [False, True])
def test_the_objective_never_rises(root, loss, exact_inner):
    for seed, tree in enumerate(TREES.values()):
        solution = solve(tree_case(seed, tree, loss), tree, root, Settings(1e-6, 30), exact_inner=exact_inner)
        objectives = np.array([entry["objective"] for entry in solution.history])
        assert np.all(objectives[1:] <= objectives[:-1] * (1 + 1e-6))


@pytest.mark.parametrize("root", ["zero", "fixed"])
@every_tree
@every_loss
@pytest.mark.parametrize("sweeps", [1, 3, 500])
def test_the_gap_is_honest(tree, root, loss, sweeps):
    problem = tree_case(7, tree, loss)
    solution, best = solve(problem, tree, root, Settings(1e-6, sweeps)), joint_optimum(problem, tree, root).objective
    last = solution.history[-1]
    primal = objective(problem, tree, root, weights_of_nodes(problem, tree, solution))
    dual = joint_dual(problem, tree, root, alphas(solution))
    assert dual <= best * (1 + 1e-6) <= primal * (1 + 2e-6)
    assert last["objective"] == pytest.approx(primal, rel=1e-6)
    assert last["dual"] == pytest.approx(dual, rel=1e-5, abs=1e-5 * primal)
    assert len(solution.history) <= sweeps
    assert solution.converged == (last["gap"] <= 1e-6)
    assert solution.converged or sweeps < 500


@every_tree
@every_loss
@pytest.mark.parametrize("sweeps", [1, 2, 5, 500])
def test_the_gap_of_a_free_root_holds_as_far_as_it_says(tree, loss, sweeps):
    problem = tree_case(8, tree, loss)
    solution, best = solve(problem, tree, "free", Settings(1e-5, sweeps)), joint_optimum(problem, tree, "free")
    W, last = weights_of_nodes(problem, tree, solution), solution.history[-1]
    roots = tree.inner[tree.parent[tree.inner] < 0]
    away = np.linalg.norm((W - best.weights)[roots], axis=1).max()
    further = max(1, away / np.linalg.norm(W[tree.leaves], axis=1).max())
    assert last["objective"] - best.objective <= further * (last["objective"] - last["dual"]) + 1e-6 * best.objective
    assert solution.converged == (last["gap"] <= 1e-5)
    assert solution.converged or sweeps < 500


@every_loss
def test_the_reference_closes_its_own_gap(loss):
    for seed, tree in enumerate(TREES.values()):
        for root in ROOTS:
            problem = tree_case(seed, tree, loss)
            best = joint_optimum(problem, tree, root)
            if root != "free":
                assert joint_dual(problem, tree, root, best.alpha) == pytest.approx(best.objective, rel=1e-8)
            M, _ = regularizer(tree, root)
            sums = np.array([problem.weights_of(k, best.alpha[k]) for k in problem.classes])
            taking_part = np.zeros_like(best.weights)
            taking_part[tree.leaves] = sums
            moving = np.setdiff1d(np.arange(len(M)), tree.inner[tree.parent[tree.inner] < 0] if root == "fixed" else [])
            np.testing.assert_allclose((M @ best.weights)[moving], taking_part[moving], atol=1e-4)


# ---------------------------------------------------------------- blocks and threads


@every_root
@every_loss
@pytest.mark.parametrize("exact_inner", [False, True])
def test_bits_do_not_depend_on_the_executor(root, loss, exact_inner):
    tree = ProblemTree(np.append([-1, 0, 0, 1], np.arange(40) % 4), np.arange(4, 44))
    problem, few = tree_case(9, tree, loss, n_rows=80), Settings(1e-4, 5)
    one, two = (solve(problem, tree, root, few, exact_inner=exact_inner, executor=e) for e in (Serial(), Threads(3)))
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())
    np.testing.assert_array_equal(one.state["alpha"], two.state["alpha"])
    for node, vector in one.state["inner"].items():
        np.testing.assert_array_equal(vector, two.state["inner"][node])
    without_time = [[{**entry, "seconds": 0} for entry in found.history] for found in (one, two)]
    assert without_time[0] == without_time[1]


@every_loss
@pytest.mark.parametrize("n_leaves", [1, 2, 16, 17, 33])
def test_any_number_of_leaves_fills_blocks(loss, n_leaves):
    tree = ProblemTree(np.append([-1, 0, 0], np.arange(n_leaves) % 3), np.arange(3, n_leaves + 3)[::-1].copy())
    problem = tree_case(10, tree, loss, n_rows=50, n_features=5)
    solution = solve(problem, tree, "zero")
    assert solution.weights.matrix().shape == (n_leaves, 5)
    assert solution.state["alpha"].shape == (50, n_leaves)
    at_the_optimum(problem, tree, "zero", solution)


@every_root
def test_a_leaf_that_is_all_there_is(root):
    tree = ProblemTree(np.array([-1]), np.array([0]))
    problem = tree_case(11, tree, "hinge")
    at_the_optimum(problem, tree, root, solve(problem, tree, root))


def test_no_leaves_at_all():
    tree = ProblemTree(np.array([-1]), np.zeros(0, np.int64))
    problem = tree_case(12, tree, "hinge", n_rows=0, n_features=3, constant=True)
    solution = solve(problem, tree)
    assert solution.converged
    assert solution.weights.matrix().shape == (0, 3)


def test_state_is_kept_only_if_asked_for():
    tree = TREES["star"]
    assert solve_alternating(tree_case(0, tree, "squared_hinge").problem, tree).state is None


def test_an_unknown_root_is_refused():
    tree = TREES["star"]
    with pytest.raises(ParameterError, match="root must be one of 'zero', 'free', 'fixed'; got 'none'"):
        solve(tree_case(0, tree, "hinge"), tree, "none")


# ---------------------------------------------------------------- the tree itself


@given(st.integers(0, 2**32 - 1))
def test_trees_know_their_nodes(seed):
    tree = random_tree(seed, n_nodes=20)
    paths = []
    for leaf in tree.leaves.tolist():
        path = [leaf]
        while tree.parent[path[0]] >= 0:
            path.insert(0, int(tree.parent[path[0]]))
        paths.append(path)
        assert [tree.depth[n] for n in path] == list(range(len(path)))
    used, ends = {n for path in paths for n in path}, set(tree.leaves.tolist())
    assert set(np.flatnonzero(tree.in_use).tolist()) == used
    assert tree.inner.tolist() == sorted(used - ends)
    for node in range(20):
        assert tree.n_children[node] == sum(tree.parent[n] == node for n in used)
    for parity in (0, 1):
        assert tree.select_parity(tree.leaves, parity).tolist() == [
            k for k, p in enumerate(paths) if len(p) % 2 != parity
        ]
