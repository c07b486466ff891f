"""Dense rows of few features: the direct methods against coordinate descent and their own certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.execution import Threads
from cladist.solvers import Settings, TrainingRows, members_by_class, solve_one_vs_rest
from cladist.solvers.linear import one_vs_rest
from cladist.solvers.linear.dense_solvers import minimise_hinge, minimise_smooth
from tests.solvers.problems import LOSSES, case, dual_bounds, random_case, random_rows

TIGHT = Settings(tol=1e-7, max_iter=10_000, solver="newton")
every_loss = pytest.mark.parametrize("loss", LOSSES)


def dense_case(seed, loss, **fixed):
    problem = random_case(seed, loss, density=1.0, C=1.0, **fixed)
    return problem if len(problem.X) > problem.X.shape[1] else dense_case(seed + 1000, loss, **fixed)


def minimise(problem, k, settings):
    signed, costs = problem.signs(k)[:, None] * problem.X, problem.costs(k)
    if problem.problem.loss == "hinge":
        return minimise_hinge(signed, costs, settings)
    return minimise_smooth(signed, costs, problem.problem.surrogate, settings)


@every_loss
@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_that_of_coordinate_descent(seed, loss):
    problem = dense_case(seed, loss)
    directly, by_sweeps = (
        solve_one_vs_rest(problem.problem, Settings(1e-6, 10_000, solver=solver)) for solver in ("newton", "coordinate")
    )
    assert directly.converged
    assert by_sweeps.converged
    W, V = problem.weights(directly), problem.weights(by_sweeps)
    for k in problem.classes:
        assert problem.primal(k, W[k]) == pytest.approx(problem.primal(k, V[k]), rel=5e-6)


@every_loss
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 10_000]))
def test_the_gap_is_honest(loss, seed, steps):
    problem = random_case(seed, loss, density=1.0)
    for k in problem.classes:
        found = minimise(problem, k, Settings(tol=1e-6, max_iter=steps))
        least, most = dual_bounds(loss, problem.costs(k))
        assert np.all((found.alpha >= least) & (found.alpha <= most))
        primal = problem.primal(k, found.weights)
        assert found.primal == pytest.approx(primal, rel=1e-9)
        gap = (primal - problem.dual(k, found.alpha)) / primal
        assert gap >= -1e-12
        assert found.gap == pytest.approx(gap, rel=1e-6, abs=1e-9)
        assert found.steps <= steps
        assert found.gap <= 1e-6 or found.steps == steps


@every_loss
@pytest.mark.parametrize("seed", [9, 13])
def test_more_digits_than_there_are_do_no_harm(loss, seed):
    problem = random_case(seed, loss, density=1.0)
    for k in problem.classes:
        assert minimise(problem, k, Settings(tol=1e-15)).gap < 1e-8


@every_loss
@pytest.mark.parametrize("scales", [(1e-3, 1e3), (1e-3, 1e-3), (1e3, 1e3)])
@pytest.mark.parametrize("C", [0.01, 100.0])
def test_features_of_any_scale_are_solved(loss, scales, C):
    random = np.random.default_rng(0)
    X = (random.normal(size=(100, 4)) + 1) * np.geomspace(*scales, 4)
    problem = case(X, members_by_class(random.integers(0, 3, 100), 3), loss, np.full((2, 3), C))
    solution = solve_one_vs_rest(problem.problem, Settings(tol=1e-4))
    assert solution.converged
    assert all(entry["passes"] < 200 for entry in solution.history)


@every_loss
def test_history_and_weights_are_those_of_each_class(loss):
    problem = dense_case(2, loss, n_classes=18)
    solution = solve_one_vs_rest(problem.problem, TIGHT, executor=Threads(2), keep_state=True)
    W = problem.weights(solution)
    for k in problem.classes:
        assert solution.history[k]["objective"] == pytest.approx(problem.primal(k, W[k]), rel=1e-5)
        np.testing.assert_allclose(W[k], minimise(problem, k, TIGHT).weights, atol=1e-3)
    alone = solve_one_vs_rest(problem.problem, TIGHT)
    np.testing.assert_array_equal(alone.weights.matrix(), solution.weights.matrix())
    assert alone.history == solution.history


@every_loss
@pytest.mark.parametrize("constant", [True, False])
def test_classes_of_all_rows_and_of_none(loss, constant):
    X = random_rows(np.random.default_rng(1), 30, 4, 1.0)
    X[:5] = 0
    members = np.array([0, 30, 30], np.int64), np.arange(30)
    problem = case(X, members, loss, np.ones((2, 2)), constant=constant)
    solution = solve_one_vs_rest(problem.problem, TIGHT)
    assert all(entry["gap"] <= (1e-6 if loss == "hinge" else TIGHT.tol) for entry in solution.history)
    W = problem.weights(solution)
    np.testing.assert_allclose(W[0], -W[1], atol=1e-4)
    assert solution.history[0]["objective"] == pytest.approx(problem.primal(0, W[0]), rel=1e-5)


@every_loss
@pytest.mark.parametrize("constant", [True, False])
def test_rows_without_features(loss, constant):
    members = members_by_class(np.array([0, 1, 1, 1]), 2)
    problem = case(sparse.csr_array((4, 3)), members, loss, np.ones((2, 2)), constant=constant)
    solution = solve_one_vs_rest(problem.problem, Settings(tol=1e-5))
    assert solution.converged
    assert not solution.weights.matrix().any()
    most = solution.weights.best(np.zeros((1, 3))).tolist()
    assert most == ([1] if constant else [0])


def test_dense_rows_are_those_of_the_matrix():
    X = random_rows(np.random.default_rng(0), 9, 5, 0.5).astype(np.float32)
    rows = TrainingRows.from_matrix(X, constant=True)
    np.testing.assert_array_equal(rows.to_dense(), np.column_stack([X, np.ones(9)])[:, rows.feature_of])


def test_weights_within_tol_are_taken_as_they_are_whatever_the_number_of_classes(monkeypatch):
    measured = []
    certify = one_vs_rest.Certificate.of
    monkeypatch.setattr(one_vs_rest.Certificate, "of", lambda *given: measured.append(1) or certify(*given))
    problem = dense_case(0, "hinge", n_classes=4)
    assert solve_one_vs_rest(problem.problem, Settings(tol=1e-3, solver="newton")).converged
    assert len(measured) == 1
