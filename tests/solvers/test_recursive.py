"""Recursive regularisation solved jointly: the optimum, the certificate, rounds, threads, and the guard."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.errors import ParameterError
from cladist.execution import Serial, Threads
from cladist.linear_model.problem_tree import ProblemTree, build_leaf_blocks
from cladist.solvers import Settings, members_by_class, solve_one_vs_rest
from cladist.solvers.tree import joint_dual as joint_solver
from cladist.solvers.tree import recursive
from cladist.solvers.tree.alternation import solve_alternating
from cladist.solvers.tree.dense_recursive import solve_recursive_directly
from cladist.solvers.tree.recursive import solve_recursive
from cladist.surrogates import SURROGATES
from tests.solvers.joint_reference import TREES, joint_optimum, objective, random_tree, regularizer, tree_case
from tests.solvers.problems import LOSSES, case

TIGHT = Settings(tol=1e-6, max_iter=400)
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_root = pytest.mark.parametrize("root", ["zero", "free", "fixed"])
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


def many_leaves(n_leaves=40):
    """Leaves below three nodes of one root, as many blocks as sixteens: nodes that lie above several are stored."""
    return ProblemTree(np.append([-1, 0, 0, 0], 1 + np.arange(n_leaves) % 3), np.arange(4, n_leaves + 4)[::-1].copy())


@cache
def crowd(loss, root):
    """Forty leaves, three blocks: the tree, the problem, and its lowest objective."""
    tree = many_leaves()
    problem = tree_case(4, tree, loss, n_rows=45, n_features=2)
    return tree, problem, joint_optimum(problem, tree, root).objective


def all_weights(problem, tree, root, solution):
    """The weights of all nodes, those of inner nodes being the best given the leaves."""
    M, nodes = regularizer(tree, root)
    inner = np.setdiff1d(nodes, tree.leaves)
    weights = np.zeros((len(tree.parent), problem.X.shape[1]))
    weights[tree.leaves] = problem.weights(solution)
    weights[inner] = -np.linalg.solve(M[np.ix_(inner, inner)], M[np.ix_(inner, tree.leaves)] @ weights[tree.leaves])
    return weights


def at_the_optimum(problem, tree, root, solution, rel=1e-5, best=None):
    """Assert that it has converged, to the joint optimum, and that the history says nothing else."""
    best, last = best or joint_optimum(problem, tree, root).objective, solution.history[-1]
    found = objective(problem, tree, root, all_weights(problem, tree, root, solution))
    assert solution.converged
    assert best * (1 - 1e-7) <= found <= best * (1 + rel)
    assert found <= last["objective"] * (1 + 3e-6)
    assert last["objective"] == pytest.approx(best, rel=rel)
    assert last["dual"] == pytest.approx(best, rel=rel)
    assert last["gap"] == pytest.approx((last["objective"] - last["dual"]) / last["objective"], abs=1e-12)


# ---------------------------------------------------------------- the optimum


@every_tree
@every_root
@every_loss
@pytest.mark.parametrize("C", [0.1, 1, 10])
def test_the_optimum_is_the_joint_one(tree, root, loss, C):
    problem = tree_case(0, tree, loss, C)
    at_the_optimum(problem, tree, root, solve_recursive(problem.problem, tree, TIGHT, root=root))


@every_tree
@every_root
@every_loss
@pytest.mark.parametrize("sharing", [0.25, 3.0])
def test_inner_nodes_may_be_pulled_more_or_less_than_leaves(tree, root, loss, sharing):
    tree = replace(tree, sharing=sharing)
    problem = tree_case(10, tree, loss, constant=True)
    best = joint_optimum(problem, tree, root).objective
    solution = solve_recursive(problem.problem, tree, replace(TIGHT, max_iter=10_000), root=root)
    at_the_optimum(problem, tree, root, solution, best=best)
    by_turns = solve_alternating(problem.problem, tree, Settings(1e-6, 2000), root=root, exact_inner=True)
    assert by_turns.history[-1]["objective"] == pytest.approx(best, rel=2e-6)
    assert by_turns.converged


@pytest.mark.parametrize("root", ["zero", "fixed"])
@pytest.mark.parametrize("sharing", [0.25, 3.0])
@pytest.mark.parametrize("tree", [*TREES.values(), many_leaves()], ids=[*TREES, "forty leaves"])
def test_the_objective_is_that_of_the_best_inner_nodes(tree, root, sharing):
    tree = replace(tree, sharing=sharing)
    problem = tree_case(3, tree, "hinge", C=10)
    early = Settings(tol=1e-9, max_iter=1)
    dual = solve_recursive(problem.problem, tree, early, root=root, form="dual")
    best = objective(problem, tree, root, all_weights(problem, tree, root, dual))
    assert dual.history[-1]["objective"] == pytest.approx(best, rel=1e-6)


@every_loss
def test_leaves_that_share_nothing_are_one_vs_rest(loss):
    tree = replace(TREES["nine nodes"], sharing=0.0)
    problem = tree_case(2, tree, loss, constant=True)
    flat = solve_one_vs_rest(problem.problem, Settings(1e-6, 10_000))
    solution = solve_recursive(problem.problem, tree, Settings(1e-6, 10_000))
    np.testing.assert_array_equal(problem.weights(solution), problem.weights(flat))
    with pytest.raises(ParameterError, match=r"inner nodes need a sharing over 0; got 0\.0"):
        solve_alternating(problem.problem, tree)


@pytest.mark.parametrize("root", ["zero", "fixed"])  # with a free one there may be no lowest point
@every_loss
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), blocks_per_round=st.integers(1, 3))
def test_any_tree_costs_and_weights(root, loss, seed, blocks_per_round):
    random, tree = np.random.default_rng(seed), random_tree(seed)
    assume(len(tree.leaves) > 1)  # one leaf alone has all rows: nothing is left to lose but what float32 margins miss
    costs, row_weights = random.uniform(0.3, 3, (2, len(tree.leaves))), random.uniform(0.2, 3, 40)
    problem = tree_case(seed, tree, loss, costs=costs, row_weights=row_weights, constant=True)
    tol = Settings(1e-5, 1000)
    solution = solve_recursive(problem.problem, tree, tol, root=root, blocks_per_round=blocks_per_round)
    at_the_optimum(problem, tree, root, solution, rel=2e-5)


@every_tree
@every_root
@every_loss
def test_alternating_leads_to_the_same(tree, root, loss):
    problem = tree_case(1, tree, loss)
    joint = solve_recursive(problem.problem, tree, TIGHT, root=root)
    by_turns = solve_alternating(problem.problem, tree, Settings(1e-6, 2000), root=root, exact_inner=True)
    assert joint.history[-1]["objective"] == pytest.approx(by_turns.history[-1]["objective"], rel=2e-6)
    np.testing.assert_allclose(problem.weights(joint), problem.weights(by_turns), atol=0.02)


@every_loss
def test_a_star_with_a_fixed_root_is_one_vs_rest(loss):
    tree = TREES["star"]
    problem = tree_case(2, tree, loss, constant=True)
    flat = solve_one_vs_rest(problem.problem, Settings(1e-6, 10_000))
    solution = solve_recursive(problem.problem, tree, Settings(1e-6, 10_000), root="fixed")
    np.testing.assert_array_equal(problem.weights(solution), problem.weights(flat))
    assert solution.history[-1]["objective"] == pytest.approx(sum(e["objective"] for e in flat.history))
    assert solution.converged
    free = solve_recursive(problem.problem, tree, TIGHT, root="zero")
    pooled = 0.005 if loss == "squared" else 0.02  # by how much a root that is pulled pools them
    assert not np.allclose(problem.weights(free), problem.weights(flat), atol=pooled)


@every_root
@every_loss
def test_the_order_of_siblings_does_not_matter(root, loss):
    tree, other = TREES["nine nodes"], ProblemTree(np.array([-1, 0, 0, 1, 1, 1, 2, 2, 5]), np.array([8, 7, 3, 6, 4]))
    problem = tree_case(3, tree, loss)
    one, two = (solve_recursive(problem.problem, t, TIGHT, root=root) for t in (tree, other))
    assert one.history[-1]["objective"] == pytest.approx(two.history[-1]["objective"], rel=2e-6)


# ---------------------------------------------------------------- many blocks


@every_loss
@every_root
@pytest.mark.parametrize("blocks_per_round", [1, 2, 3, 8])
def test_many_leaves_however_many_blocks_a_round(loss, root, blocks_per_round):
    tree, problem, best = crowd(loss, root)
    solution = solve_recursive(
        problem.problem, tree, Settings(2e-6, 2000), root=root, blocks_per_round=blocks_per_round
    )
    at_the_optimum(problem, tree, root, solution, best=best)


@every_loss
@pytest.mark.parametrize("n_leaves", [1, 15, 16, 17])
def test_lanes_without_a_leaf_play_no_part(loss, n_leaves):
    tree = many_leaves(n_leaves)
    problem = tree_case(5, tree, loss, n_rows=36, n_features=2)
    solution = solve_recursive(problem.problem, tree, TIGHT)
    assert solution.weights.matrix().shape == (n_leaves, 2)
    at_the_optimum(problem, tree, "zero", solution)


@every_root
@every_loss
@pytest.mark.parametrize("parent", [[-1], [-1, 0], [-1, 0, 1]], ids=["root", "below a root", "below a chain"])
def test_one_leaf(root, loss, parent):
    tree, random = ProblemTree(np.array(parent), np.array([len(parent) - 1])), np.random.default_rng(6)
    members = np.array([0, 12]), np.arange(12)
    problem = case(random.normal(size=(30, 5)), members, loss, np.ones((2, 1)))
    at_the_optimum(problem, tree, root, solve_recursive(problem.problem, tree, TIGHT, root=root))


@every_loss
def test_rows_without_features(loss):
    tree = TREES["nine nodes"]
    full = tree_case(7, tree, loss)
    X = full.X * (np.arange(len(full.X)) % 4 > 0)[:, None]
    problem = case(X, full.problem.members, loss, full.problem.costs, constant=False)
    at_the_optimum(problem, tree, "zero", solve_recursive(problem.problem, tree, TIGHT))


# ---------------------------------------------------------------- the certificate


@every_root
@every_loss
@pytest.mark.parametrize("blocks_per_round", [1, 3])
def test_the_dual_rises_the_gap_shrinks_and_the_optimum_lies_between(root, loss, blocks_per_round):
    tree, problem, best = crowd(loss, root)
    rounds = {"root": root, "blocks_per_round": blocks_per_round}
    history = solve_recursive(problem.problem, tree, Settings(1e-8, 40), **rounds).history
    assert len(history) > 1
    duals, objectives, gaps = (np.array([e[key] for e in history]) for key in ("dual", "objective", "gap"))
    rounding = 1e-6 if root == "free" else 0.0  # the bound is one for what is near the root, which moves
    assert np.all(np.diff(duals) >= -rounding * best)
    # Where the dual is not sparse the last point is returned, not the best: to keep both would take twice the memory.
    assert np.all(np.diff(objectives) <= (0 if SURROGATES[loss].sparse_dual else 1e-7 * best))
    assert np.all(np.diff(gaps) <= rounding)
    assert np.all(duals <= best * (1 + 1e-6))
    assert np.all(objectives >= best * (1 - 1e-6))
    passes = [entry["passes"] for entry in history]
    assert passes == sorted(set(passes))


# Far from the optimum, α of the squared loss are so large that float32 sums of rows differ by 1.1e-6 of the objective.
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("sweeps", [1, 2, 7])
def test_what_few_sweeps_reach_is_said_honestly(loss, sweeps):
    tree, problem, best = crowd(loss, "zero")
    solution = solve_recursive(problem.problem, tree, Settings(1e-9, sweeps))
    last = solution.history[-1]
    assert not solution.converged
    assert last["passes"] == sweeps
    assert last["gap"] > 1e-9
    assert last["dual"] <= best * (1 + 1e-6)
    found = objective(problem, tree, "zero", all_weights(problem, tree, "zero", solution))
    assert best * (1 - 1e-7) <= found <= last["objective"] * (1 + 1e-6)


def test_a_looser_tolerance_takes_no_more_sweeps():
    tree, problem, _ = crowd("logistic", "zero")
    passes = []
    for tol in (1e-2, 1e-4, 1e-6):
        last = solve_recursive(problem.problem, tree, Settings(tol, 400)).history[-1]
        assert last["gap"] <= tol
        passes.append(last["passes"])
    assert passes == sorted(passes)
    assert passes[0] < passes[-1]


@every_loss
@pytest.mark.parametrize("solve", [solve_recursive, solve_alternating, solve_recursive_directly])
@pytest.mark.parametrize("C", [1e-6, 1e-4])
def test_a_free_root_that_has_hardly_moved_is_not_there_yet(loss, solve, C):
    """With a small C weights are short for long: how far roots may have to go is no matter of these alone."""
    tree, random = TREES["nine nodes"], np.random.default_rng(11)
    y = np.arange(100) % 5
    X = random.normal(size=(100, 6)) + 3 * random.normal(size=(5, 6))[y]
    problem = case(X, members_by_class(y, 5), loss, np.full((2, 5), C), constant=True)
    best = joint_optimum(problem, tree, "free").objective
    solution = solve(problem.problem, tree, Settings(1e-2, 30), root="free")
    found = objective(problem, tree, "free", all_weights(problem, tree, "free", solution))
    assert found <= best * 1.02 or not solution.converged
    assert solve is not solve_recursive_directly or solution.converged
    assert solution.history[-1]["gap"] > -1e-6
    assert not solution.converged or solution.history[-1]["dual"] <= best * (1 + 1e-6)


def test_what_is_told_is_told_of_the_weights_returned(monkeypatch):
    """Also where the dual alone has risen so much that the gap is small enough."""
    monkeypatch.setattr(recursive, "NEAR", 0.0)
    monkeypatch.setattr(recursive, "SETTLED", 0.0)
    monkeypatch.setattr(recursive, "FIRST_CHECK", 1)
    tree, problem, _ = crowd("logistic", "zero")
    solution = solve_recursive(problem.problem, tree, Settings(0.02, 400))
    found = objective(problem, tree, "zero", all_weights(problem, tree, "zero", solution))
    assert len(solution.history) > 1
    assert solution.history[-1]["objective"] == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_next_check_comes_sooner_where_the_gap_is_nearly_small_enough(loss):
    tree, problem, _ = crowd(loss, "free")  # whose gap falls slowly
    first, second = solve_recursive(problem.problem, tree, Settings(1e-12, 12), root="free").history
    assert second["passes"] - first["passes"] == recursive.CHECK_EVERY
    nearly = solve_recursive(problem.problem, tree, Settings(0.99 * second["gap"], 400), root="free")
    apart = np.diff([entry["passes"] for entry in nearly.history])
    assert apart[:2].tolist() == [recursive.CHECK_EVERY, recursive.LEAST_BETWEEN]
    assert np.all(apart <= recursive.CHECK_EVERY)


# ---------------------------------------------------------------- threads, and the guard


@every_loss
@pytest.mark.parametrize("blocks_per_round", [1, 3])
def test_threads_change_nothing(loss, blocks_per_round):
    tree, problem, _ = crowd(loss, "zero")
    one, two = (
        solve_recursive(problem.problem, tree, Settings(1e-4, 30), blocks_per_round=blocks_per_round, executor=executor)
        for executor in (Serial(), Threads(3))
    )
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())
    without_time = [[{**entry, "seconds": 0} for entry in found.history] for found in (one, two)]
    assert without_time[0] == without_time[1]


def test_a_workspace_that_another_worker_takes_first_is_made_anew():
    """Between the question whether one is left and taking it, another worker may have it."""

    class Taken(list):
        def __len__(self):
            return 1

    tree, problem, _ = crowd("hinge", "zero")
    joint = joint_solver.JointDual(problem.problem, build_leaf_blocks(tree, "zero"))
    joint._workspaces = Taken()
    with joint.workspace() as space:
        assert space.alpha.shape == (len(problem.X), 16)
    assert list(joint._workspaces) == [space]
    with pytest.raises(KeyError), joint.workspace():
        raise KeyError  # what is left in it nobody knows
    assert not list(joint._workspaces)


def test_the_model_depends_on_blocks_per_round():
    tree, problem, _ = crowd("squared_hinge", "zero")
    one, three = (
        solve_recursive(problem.problem, tree, Settings(1e-2, 100), blocks_per_round=n).weights.matrix() for n in (1, 3)
    )
    assert not np.array_equal(one, three)
    np.testing.assert_allclose(one, three, atol=0.2)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_steps_that_go_too_far_are_taken_back(loss, monkeypatch):
    monkeypatch.setattr(joint_solver, "RELAXATION", 3.0)
    restored, restore = [], joint_solver.JointDual.start_from
    monkeypatch.setattr(joint_solver.JointDual, "start_from", lambda *given: (restored.append(given), restore(*given)))
    tree, problem, best = crowd(loss, "zero")
    solution = solve_recursive(problem.problem, tree, TIGHT)
    at_the_optimum(problem, tree, "zero", solution, best=best)
    assert len(restored) == 1  # steps are plain from then on, and what rounding does is no reason to go back
    assert np.all(np.diff([entry["dual"] for entry in solution.history]) >= 0)


# ---------------------------------------------------------------- forms, and going on


@every_loss
@every_root
@pytest.mark.parametrize("constant", [False, True])
def test_every_form_has_the_same_weights(loss, root, constant):
    tree = many_leaves()
    problem = tree_case(8, tree, loss, n_rows=60, n_features=5, constant=constant)
    dense, dual, thin = (
        solve_recursive(problem.problem, tree, Settings(1e-3, 100), root=root, form=form)
        for form in ("dense", "dual", "sparse")
    )
    X = problem.X[:, :5]
    as_array = sparse.csr_array(thin.weights.matrix()).toarray()
    np.testing.assert_array_equal(as_array, dual.weights.matrix())
    for other in (dual, thin):  # dense ones are as they have become step by step
        np.testing.assert_allclose(other.weights.intercepts, dense.weights.intercepts, atol=1e-4)
        np.testing.assert_allclose(other.weights.scores(X), dense.weights.scores(X), atol=1e-3)
        np.testing.assert_array_equal(other.weights.best(X), other.weights.scores(X).argmax(axis=1))
    objectives = [solution.history[-1]["objective"] for solution in (dense, thin, dual)]
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-4)
    # What the dual form holds above leaves may miss the best nodes given them, by no more than the gap wanted.
    assert objectives[1] * (1 - 1e-6) <= objectives[2] <= objectives[1] * (1 + 1e-3)
    np.testing.assert_allclose(dual.weights.matrix(), dense.weights.matrix(), atol=1e-3)
    some = np.array([31, 0, 31, 17])
    np.testing.assert_array_equal(dual.weights.matrix(some), dual.weights.matrix()[some])
    pruned = solve_recursive(problem.problem, tree, Settings(1e-3, 100), root=root, form="sparse", prune=0.1)
    kept = np.where(np.abs(as_array) > 0.1, as_array, 0)
    np.testing.assert_array_equal(pruned.weights.matrix().toarray(), kept)


@every_loss
@every_root
def test_going_on_from_where_it_ended(loss, root):
    tree, problem, best = crowd(loss, root)
    first = solve_recursive(problem.problem, tree, TIGHT, root=root, keep_state=True)
    again = solve_recursive(problem.problem, tree, Settings(1e-4, 400), root=root, state=first.state)
    assert again.history[-1]["passes"] == recursive.FIRST_CHECK <= first.history[-1]["passes"]
    harder = replace(problem.problem, costs=2 * problem.problem.costs)
    state = first.state.scaled(2.0)
    warm = solve_recursive(harder, tree, Settings(1e-5, 1000), root=root, state=state)
    cold = solve_recursive(harder, tree, Settings(1e-5, 1000), root=root)
    assert warm.history[-1]["objective"] == pytest.approx(cold.history[-1]["objective"], rel=2e-5)
    easier = solve_recursive(problem.problem, tree, Settings(1e-5, 1000), root=root, state=state)  # α over their bounds
    assert easier.history[-1]["objective"] == pytest.approx(best, rel=2e-5)
    assert easier.converged


# ---------------------------------------------------------------- refusals


def test_refusals():
    tree = TREES["star"]
    problem = tree_case(0, tree, "hinge").problem
    with pytest.raises(ParameterError, match="root must be one of 'zero', 'free', 'fixed'; got 'none'"):
        solve_recursive(problem, tree, root="none")
    with pytest.raises(ParameterError, match="form must be one of 'dense', 'sparse', 'dual', 'differences'; got"):
        solve_recursive(problem, tree, form="thin")
    with pytest.raises(ParameterError, match="blocks_per_round must be 1 or more; got 0"):
        solve_recursive(problem, tree, blocks_per_round=0)


@every_root
def test_no_leaves_at_all(root):
    tree = ProblemTree(np.array([-1]), np.zeros(0, np.int64))
    problem = tree_case(12, tree, "hinge", n_rows=0, n_features=3, constant=True)
    solution = solve_recursive(problem.problem, tree, root=root)
    assert solution.converged
    assert solution.weights.matrix().shape == (0, 3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])  # the dual of the others has no rows that rest
def test_with_many_rows_the_optimum_is_the_same(monkeypatch, loss):
    """Then primal points are found by one sweep, and their lengths from the rows that do not rest."""
    monkeypatch.setattr(recursive, "MANY_ROWS", 0)
    monkeypatch.setattr(recursive, "CLOSE", 0.0)
    tree, lengths, asked = TREES["nine nodes"], joint_solver.kernels.best_lengths, []

    def count_rows(problem, surrogate, listed, *arrays):
        asked.append(len(listed))
        lengths(problem, surrogate, listed, *arrays)

    monkeypatch.setattr(joint_solver.kernels, "best_lengths", count_rows)
    problem = tree_case(6, tree, loss, n_rows=150, n_features=20)
    at_the_optimum(problem, tree, "zero", solve_recursive(problem.problem, tree, Settings(1e-5, 400)))
    assert asked[0] < len(problem.X)
