"""Recursive regularisation by products of matrices: the joint optimum, certified in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cladist.execution import Serial, Threads
from cladist.solvers import Settings
from cladist.solvers.tree.duality_gap import leaf_energy
from cladist.solvers.tree.matrix_products import solve_by_products
from tests.solvers.joint_reference import TREES, joint_optimum, tree_case
from tests.solvers.problems import LOSSES

TIGHT = Settings(1e-6)
every_loss = pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "hinge"])  # which is not smooth
every_root = pytest.mark.parametrize("root", ["zero", "fixed"])
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


@every_tree
@every_root
@every_loss
@pytest.mark.parametrize(("C", "sharing", "constant"), [(0.1, 1.0, True), (1.0, 0.25, False), (10.0, 3.0, True)])
def test_the_optimum_is_the_joint_one(tree, root, loss, C, sharing, constant):
    tree = replace(tree, sharing=sharing)
    problem = tree_case(0, tree, loss, C, constant=constant)
    best = joint_optimum(problem, tree, root).objective
    solution = solve_by_products(problem.problem, tree, TIGHT, root=root, most_steps=1000)
    last = solution.history[-1]
    assert solution.converged
    assert last["objective"] == pytest.approx(best, rel=2e-6)
    assert best * (1 - 2e-6) <= last["dual"] <= best * (1 + 1e-7)


@every_loss
@every_root
def test_costs_of_classes_and_weights_of_rows(loss, root):
    tree, random = TREES["forest"], np.random.default_rng(2)
    options = {"costs": random.uniform(0.3, 3, (2, 5)), "row_weights": random.uniform(0.2, 3, 40)}
    problem = tree_case(2, tree, loss, **options)
    best = joint_optimum(problem, tree, root)
    solution = solve_by_products(problem.problem, tree, TIGHT, root=root, most_steps=1000)
    assert solution.history[-1]["objective"] == pytest.approx(best.objective, rel=2e-6)
    np.testing.assert_allclose(problem.weights(solution), best.weights[tree.leaves], atol=0.01)


@every_loss
def test_the_gap_is_that_of_the_weights_returned(loss):
    """However wide: the objective is theirs, and no dual is above the optimum."""
    tree = TREES["nine nodes"]
    problem = tree_case(3, tree, loss, 10.0, constant=True)
    best = joint_optimum(problem, tree, "zero").objective
    for steps in (0, 1, 3):
        solution = solve_by_products(problem.problem, tree, Settings(1e-9), most_steps=steps)
        last, W = solution.history[-1], problem.weights(solution)
        lost = sum(problem.primal(k, w) - w @ w / 2 for k, w in enumerate(W))
        assert last["passes"] <= steps
        assert solution.converged == (last["gap"] <= 1e-9)
        assert last["objective"] == pytest.approx(lost + leaf_energy([W], tree, "zero") / 2, rel=1e-6)
        assert last["dual"] <= best * (1 + 1e-7)


def test_threads_change_nothing():
    tree = TREES["nine nodes"]
    problem = tree_case(3, tree, "logistic", 10, n_rows=200)
    one, two = (solve_by_products(problem.problem, tree, TIGHT, executor=e) for e in (Serial(), Threads(3)))
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())
