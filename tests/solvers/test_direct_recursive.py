"""Recursive regularisation by steps for all nodes at once: the joint optimum, whatever C and the scale of features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.errors import ParameterError
from cladist.execution import Serial, Threads
from cladist.solvers import Settings, members_by_class
from cladist.solvers.tree.dense_recursive import TreeSystem, solve_recursive_directly
from cladist.solvers.tree.recursive import solve_recursive
from tests.solvers.joint_reference import ROOTS, TREES, joint_optimum, random_tree, regularizer, tree_case
from tests.solvers.problems import LOSSES, case

TIGHT = Settings(1e-6, 200)
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_root = pytest.mark.parametrize("root", ROOTS)
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


@every_tree
@every_root
@every_loss
@pytest.mark.parametrize(("C", "sharing"), [(0.1, 1.0), (1.0, 0.25), (1.0, 3.0), (10.0, 1.0)])
def test_the_optimum_is_the_joint_one(tree, root, loss, C, sharing):
    tree = replace(tree, sharing=sharing)
    problem = tree_case(0, tree, loss, C, constant=True)
    best = joint_optimum(problem, tree, root)
    solution = solve_recursive_directly(problem.problem, tree, TIGHT, root=root)
    last = solution.history[-1]
    assert solution.converged
    assert last["objective"] == pytest.approx(best.objective, rel=2e-6)
    assert best.objective * (1 - 2e-6) <= last["dual"] <= best.objective * (1 + 1e-7)
    np.testing.assert_allclose(problem.weights(solution), best.weights[tree.leaves], atol=0.01)


@every_loss
@pytest.mark.parametrize("C", [1e-3, 100])
def test_the_scale_of_features_does_not_matter(loss, C):
    tree = TREES["nine nodes"]
    given = tree_case(1, tree, loss, C)
    scales = 10.0 ** np.linspace(-2, 2, 7)
    problem = case(given.X * scales, given.problem.members, loss, given.problem.costs)
    solution = solve_recursive_directly(problem.problem, tree, Settings(1e-4, 200))
    assert solution.converged
    assert solution.history[-1]["objective"] == pytest.approx(joint_optimum(problem, tree, "zero").objective, rel=2e-4)


@every_loss
@every_root
def test_costs_weights_and_the_history(loss, root):
    tree, random = TREES["forest"], np.random.default_rng(2)
    options = {"costs": random.uniform(0.3, 3, (2, 5)), "row_weights": random.uniform(0.2, 3, 40)}
    problem = tree_case(2, tree, loss, **options)
    best = joint_optimum(problem, tree, root).objective
    history = solve_recursive_directly(problem.problem, tree, TIGHT, root=root).history
    assert history[-1]["objective"] == pytest.approx(best, rel=2e-6)
    objectives, duals, gaps = (np.array([e[key] for e in history]) for key in ("objective", "dual", "gap"))
    assert np.all(np.diff(objectives) <= 0)
    if root != "free":  # whose bounds hold each for its own place
        assert np.all(np.diff(duals) >= 0)
        assert np.all(np.diff(gaps) <= 0)
    assert np.all(duals <= best * (1 + 1e-7))
    assert np.all(objectives >= best * (1 - 1e-7))


@every_loss
def test_few_steps_are_said_honestly_and_threads_change_nothing(loss):
    tree = TREES["nine nodes"]
    problem = tree_case(3, tree, loss, 10)
    steps = 1 if loss == "squared" else 2
    short = solve_recursive_directly(problem.problem, tree, Settings(1e-9, 2))
    assert short.converged == (loss == "squared")  # of a quadratic function Newton's method finds the optimum at once
    assert short.history[-1]["passes"] == steps
    one, two = (solve_recursive_directly(problem.problem, tree, TIGHT, executor=e) for e in (Serial(), Threads(3)))
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())


@every_loss
def test_sweeps_lead_to_the_same(loss):
    tree = TREES["chains"]
    problem = tree_case(4, tree, loss)
    steps, sweeps = (
        f(problem.problem, tree, Settings(1e-6, 2000)) for f in (solve_recursive_directly, solve_recursive)
    )
    assert steps.history[-1]["objective"] == pytest.approx(sweeps.history[-1]["objective"], rel=3e-6)


def test_an_unknown_root_is_refused():
    tree = TREES["nine nodes"]
    problem = tree_case(0, tree, "hinge").problem
    with pytest.raises(ParameterError, match="root must be one of"):
        solve_recursive_directly(problem, tree, root="none")


@given(st.integers(0, 2**32 - 1), st.sampled_from(ROOTS), st.sampled_from([0.5, 1.0, 4.0]))
def test_the_system_is_that_of_the_laplacian(seed, root, sharing):
    """Products, energies and solutions, beside those of the whole matrix."""
    tree, random = replace(random_tree(seed), sharing=sharing), np.random.default_rng(seed)
    M, _ = regularizer(tree, root)
    system, n_leaves = TreeSystem(tree, root, 3), len(tree.leaves)
    leaves, inner = random.normal(size=(n_leaves, 3)), random.normal(size=(len(system.inner), 3))
    nodes = np.concatenate([tree.leaves, system.inner])
    part = M[np.ix_(nodes, nodes)]
    whole = np.vstack([leaves, inner])
    np.testing.assert_allclose(np.vstack(system.product(leaves, inner)), part @ whole, atol=1e-9)
    assert system.energy(leaves, inner) == pytest.approx(np.sum(whole * (part @ whole)))
    factors = random.normal(size=(n_leaves, 4, 3))
    hessians = [f.T @ f for f in factors]
    full = np.kron(part, np.eye(3))
    for k, H in enumerate(hessians):
        full[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += H
    found = system.solve(system.factorise(np.asarray, hessians, Serial()), leaves, inner)
    np.testing.assert_allclose(full @ np.concatenate([part.ravel() for part in found]), whole.ravel(), atol=1e-6)
    if len(inner):
        best = system.best_above(leaves)
        np.testing.assert_allclose(system.product(leaves, best)[1], 0, atol=1e-8)
    sums = random.normal(size=(n_leaves, 3))
    if root != "free":
        spread = np.zeros((len(nodes), 3))
        spread[:n_leaves] = sums
        assert system.dual_energy(sums, inner, 1.0) == pytest.approx(np.sum(spread * np.linalg.solve(part, spread)) / 2)


def test_no_rows_of_a_leaf():
    tree = TREES["star"]
    members = members_by_class(np.arange(20) % 3, 4)  # the fourth leaf has none
    problem = case(np.random.default_rng(5).normal(size=(20, 3)), members, "hinge", np.ones((2, 4)))
    assert solve_recursive_directly(problem.problem, tree, TIGHT).converged
