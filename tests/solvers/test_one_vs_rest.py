"""One-vs-rest problems: the optimum against LIBLINEAR and scipy, the certificate, blocks and threads."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from cladist.execution import Serial, Threads
from cladist.solvers import Settings, members_by_class, solve_one_vs_rest
from cladist.solvers.linear import one_vs_rest
from tests.solvers.problems import LOSSES, case, certified, dual_bounds, members_of_matrix, random_case, random_rows

COORDINATE = Settings(solver="coordinate")
TIGHT = replace(COORDINATE, tol=1e-6, max_iter=10_000)
every_loss = pytest.mark.parametrize("loss", LOSSES)


def liblinear(problem, k):
    """Solve class k with scikit-learn, or in closed form; return the objective and whether it has converged."""
    constant = problem.problem.rows.has_constant
    if problem.problem.loss == "squared":
        return problem.primal(k, ridge_regression(problem, k)), True
    if problem.problem.loss == "logistic":
        model = LogisticRegression(solver="liblinear", fit_intercept=constant, tol=1e-10, max_iter=1000)
    else:
        dual = problem.problem.loss == "hinge"
        model = LinearSVC(loss=problem.problem.loss, dual=dual, fit_intercept=constant, tol=1e-10, max_iter=20_000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(problem.given, problem.signs(k), sample_weight=problem.costs(k))
    w = np.append(model.coef_[0], model.intercept_) if constant else model.coef_[0]
    return problem.primal(k, w), not any(issubclass(warning.category, ConvergenceWarning) for warning in told)


def ridge_regression(problem, k):
    """Return the weights of class k that minimise ½‖w‖² + Σ c (1 − y w·x)² = ½‖w‖² + Σ c (y − w·x)², in closed form."""
    X, costs = problem.X, problem.costs(k)
    return np.linalg.solve(np.eye(X.shape[1]) + 2 * (X.T * costs) @ X, 2 * (costs * problem.signs(k)) @ X)


# ---------------------------------------------------------------- the optimum


@pytest.mark.parametrize("density", [0.1, 1.0])  # by coordinate descent, and by Newton's method
@pytest.mark.parametrize("form", ["dense", "sparse", "dual"])
def test_the_squared_loss_is_ridge_regression(density, form):
    for seed in range(4):
        problem = random_case(seed, "squared", density=density, C=1.0)
        W = problem.weights(
            solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-9, max_iter=10_000), form=form)
        )
        for k in problem.classes:
            np.testing.assert_allclose(W[k], ridge_regression(problem, k), atol=1e-4)


@every_loss
@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_is_liblinears(seed, loss):
    problem = random_case(seed, loss)
    solution = solve_one_vs_rest(problem.problem, replace(TIGHT, solver="auto"))
    W = problem.weights(solution)
    # Under the hinge, rows on the margin feel every rounding of float32 weights: some end just above 1e-6, and say so.
    assert all(entry["gap"] <= (2e-6 if loss == "hinge" else TIGHT.tol) for entry in solution.history)
    assert solution.converged == all(entry["gap"] <= TIGHT.tol for entry in solution.history)
    for k in problem.classes:
        found, (theirs, has_converged) = problem.primal(k, W[k]), liblinear(problem, k)
        assert found <= theirs * (1 + 1e-5)
        assert not has_converged or found == pytest.approx(theirs, rel=1e-5)
        assert solution.history[k]["objective"] == pytest.approx(found, rel=1e-7)  # costs are rounded


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_a_quasi_newton_method(seed, loss):
    problem = random_case(seed, loss, density=0.2, C=1.0)
    W = problem.weights(solve_one_vs_rest(problem.problem, TIGHT))
    for k in problem.classes:
        signs, costs = problem.signs(k), problem.costs(k)

        def gradient(w, k=k, signs=signs, costs=costs):
            margins = problem.margins(k, w)
            slope = {
                "squared_hinge": 2 * np.maximum(0, 1 - margins),
                "logistic": 1 / (1 + np.exp(margins)),
                "squared": 2 * (1 - margins),
            }[loss]
            return w - (costs * slope * signs) @ problem.X

        start = np.zeros(problem.X.shape[1])
        found = optimize.minimize(
            lambda w, k=k: problem.primal(k, w), start, jac=gradient, method="L-BFGS-B", options={"gtol": 1e-8}
        )
        assert problem.primal(k, W[k]) == pytest.approx(found.fun, rel=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_of_the_hinge_is_that_of_its_dual(seed):
    problem = random_case(seed, "hinge", density=0.2, C=1.0)
    W = problem.weights(solve_one_vs_rest(problem.problem, TIGHT))
    for k in (0, 1):
        signed, costs = problem.signs(k)[:, None] * problem.X, problem.costs(k)
        found = optimize.minimize(
            lambda alpha, signed=signed: (
                0.5 * np.sum((alpha @ signed) ** 2) - alpha.sum(),
                signed @ (alpha @ signed) - 1,
            ),
            np.zeros(len(signed)),
            jac=True,
            bounds=[(0, cost) for cost in costs],
            options={"gtol": 1e-8, "ftol": 1e-14, "maxiter": 5000},
        )
        assert problem.primal(k, W[k]) == pytest.approx(-found.fun, rel=1e-5)


# ---------------------------------------------------------------- the certificate


@every_loss
@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_solutions_satisfy_the_conditions_of_optimality(loss, seed):
    problem = random_case(seed, loss, density=0.2, C=1.0)
    solution = solve_one_vs_rest(problem.problem, TIGHT, keep_state=True)
    W = problem.weights(solution)
    certified(problem, solution, TIGHT.tol)
    for k in problem.classes:
        alpha, costs = solution.state[0][:, k].astype(np.float64), problem.costs(k)
        np.testing.assert_allclose(problem.weights_of(k, alpha), W[k], atol=1e-4)
        margins = problem.margins(k, problem.weights_of(k, alpha))
        least, most = dual_bounds(loss, costs)
        assert np.all(alpha >= least)
        if loss == "logistic":
            # Its part of the gap is c KL(α / c ‖ σ(−m)), at least twice the square of their distance (Pinsker).
            off = np.sqrt(costs * TIGHT.tol * solution.history[k]["objective"] / 2)
            assert np.all(np.abs(alpha - costs / (1 + np.exp(margins))) <= off + 1e-4 * costs)
            continue
        assert np.all(alpha <= most * (1 + 1e-6))
        wanted = 1 - (0 if loss == "hinge" else alpha / (2 * costs))
        # A row's part of the gap is c (m − wanted)² for the squared losses, so that tol bounds how far it may be off.
        off = 2e-3 if loss == "hinge" else np.sqrt(TIGHT.tol * solution.history[k]["objective"] / costs)
        assert np.all((margins >= wanted - off - 1e-4) | (alpha >= most))
        assert np.all((margins <= wanted + off + 1e-4) | (alpha <= least))


@every_loss
@pytest.mark.parametrize("sweeps", [1, 3, 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_the_gap_is_honest(seed, sweeps, loss):
    problem = random_case(seed, loss, density=0.2)
    solution = solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-5, max_iter=sweeps), keep_state=True)
    W = problem.weights(solution)
    for k in problem.classes:
        entry, alpha = solution.history[k], solution.state[0][:, k].astype(np.float64)
        primal, dual = problem.primal(k, W[k]), problem.dual(k, alpha)
        assert dual <= primal
        assert entry["objective"] == pytest.approx(primal, rel=3e-6)
        assert entry["gap"] == pytest.approx((primal - dual) / primal, rel=1e-3, abs=3e-6)
        assert entry["passes"] <= sweeps
    assert solution.converged == all(entry["gap"] <= 1e-5 for entry in solution.history)
    assert solution.converged or sweeps < 10_000


@every_loss
def test_long_rows_are_solved_too(loss):
    random = np.random.default_rng(0)
    X, y = 10 * random_rows(random, 200, 100, 0.1), random.integers(0, 4, 200)
    problem = case(X, members_by_class(y, 4), loss, np.ones((2, 4)))
    solution = solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-3, max_iter=2000), keep_state=True)
    certified(problem, solution, 1e-3)


# ---------------------------------------------------------------- blocks and threads


@every_loss
@pytest.mark.parametrize("blocks_that_share", [1, 99])
def test_bits_do_not_depend_on_the_executor(loss, blocks_that_share, monkeypatch):
    monkeypatch.setattr(one_vs_rest, "BLOCKS_THAT_SHARE", blocks_that_share)
    problem = random_case(3, loss, n_classes=40, density=0.2, C=1.0).problem
    first, *others = [
        solve_one_vs_rest(problem, COORDINATE, executor=executor) for executor in (Serial(), Threads(2), Threads(5))
    ]
    for other in others:
        np.testing.assert_array_equal(other.weights.matrix(), first.weights.matrix())
        np.testing.assert_array_equal(other.intercepts, first.intercepts)
        assert other.history == first.history


@every_loss
@pytest.mark.parametrize("n_classes", [1, 2, 15, 16, 17, 33])
def test_any_number_of_classes_fills_blocks(loss, n_classes):
    problem = random_case(4, loss, n_classes=n_classes, density=0.2, C=1.0)
    solution = solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-5), keep_state=True)
    assert solution.weights.matrix().shape == (n_classes, problem.given.shape[1])
    assert len(solution.history) == n_classes
    assert [block.shape for block in solution.state] == [(len(problem.X), 16)] * -(-n_classes // 16)
    certified(problem, solution, 1e-5)


@every_loss
def test_classes_of_other_blocks_change_nothing(loss):
    random = np.random.default_rng(5)
    X, belongs = random_rows(random, 80, 30, 0.2), random.random((80, 33)) < 0.2
    changed = belongs.copy()
    changed[:, :16] = random.random((80, 16)) < 0.5
    costs = np.ones((2, 33))

    def weights(belongs):
        problem = case(X, members_of_matrix(belongs), loss, costs[:, : belongs.shape[1]])
        return problem.weights(solve_one_vs_rest(problem.problem, COORDINATE))

    whole = weights(belongs)
    np.testing.assert_array_equal(weights(belongs[:, :16]), whole[:16])
    np.testing.assert_array_equal(weights(changed)[16:], whole[16:])


@every_loss
@pytest.mark.parametrize("seed", range(4))
def test_a_shared_start_leads_to_the_same_optimum(loss, seed, monkeypatch):
    problem = random_case(seed, loss, n_classes=20, density=0.1)
    costs = problem.problem.costs * np.geomspace(0.1, 10, 20)
    problem = random_case(seed, loss, n_classes=20, density=0.1, costs=costs)
    alone = solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-5, max_iter=10_000))
    monkeypatch.setattr(one_vs_rest, "BLOCKS_THAT_SHARE", 1)
    shared = solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-5, max_iter=10_000), keep_state=True)
    certified(problem, shared, 1e-5)
    for one, other in zip(alone.history, shared.history, strict=True):
        assert one["objective"] == pytest.approx(other["objective"], rel=2e-5)


def test_seeds_change_the_order_and_nothing_else():
    problem = random_case(6, "hinge", density=0.2, C=1.0)
    one, same, other = [
        solve_one_vs_rest(problem.problem, replace(COORDINATE, tol=1e-5, seed=seed)) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(one.weights.matrix(), same.weights.matrix())
    assert not np.array_equal(one.weights.matrix(), other.weights.matrix())
    for k in problem.classes:
        assert one.history[k]["objective"] == pytest.approx(other.history[k]["objective"], rel=2e-5)
