"""One-vs-rest problems of every kind: rows of many classes or none, hardly any rows, and states to begin from."""

import numpy as np
import pytest

from cladist.solvers import Settings, members_by_class, solve_one_vs_rest
from cladist.solvers.linear.one_vs_rest import growth, scaled
from tests.solvers.problems import LOSSES, case, certified, members_of_matrix, random_case, random_rows

every_loss = pytest.mark.parametrize("loss", LOSSES)


@every_loss
@pytest.mark.parametrize("constant", [True, False])
def test_rows_of_many_classes_and_of_none(loss, constant):
    random = np.random.default_rng(7)
    X, belongs = random_rows(random, 60, 20, 0.2), random.random((60, 6)) < 0.3
    belongs[:, 0], belongs[:, 1], belongs[:10] = True, False, False
    belongs[:, 2] = True
    X[5:15] = 0
    problem = case(X, members_of_matrix(belongs), loss, np.ones((2, 6)), constant=constant)
    solution = solve_one_vs_rest(problem.problem, Settings(1e-5, 10_000, solver="coordinate"), keep_state=True)
    certified(problem, solution, 1e-5)


@every_loss
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("features", [0, 3])
def test_one_row(loss, constant, features):
    members = members_by_class(np.zeros(1, np.int64), 1)
    problem = case(np.ones((1, features)), members, loss, np.ones((2, 1)), constant=constant)
    solution = solve_one_vs_rest(problem.problem, Settings(tol=1e-5, solver="coordinate"), keep_state=True)
    certified(problem, solution, 1e-5)
    assert solution.weights.best(problem.given).tolist() == [0]


@every_loss
def test_no_rows_and_no_classes(loss):
    nothing = np.zeros(0, np.int64)
    without_rows = case(np.zeros((0, 3)), (np.zeros(3, np.int64), nothing), loss, np.ones((2, 2)))
    solution = solve_one_vs_rest(without_rows.problem)
    assert solution.converged
    assert solution.weights.scores(np.ones((2, 3))).tolist() == [[0, 0], [0, 0]]
    without_classes = case(np.eye(3), (np.zeros(1, np.int64), nothing), loss, np.ones((2, 0)))
    solution = solve_one_vs_rest(without_classes.problem)
    assert solution.weights.scores(np.eye(3)).shape == (3, 0)
    assert solution.history == []


# ---------------------------------------------------------------- beginning from a state


def passes(solution):
    return sum(entry["passes"] for entry in solution.history)


@every_loss
@pytest.mark.parametrize("density", [0.2, 1.0])
@pytest.mark.parametrize("factor", [1.0, 3.0, 0.2])
def test_a_warm_start_leads_to_the_same_optimum(loss, density, factor):
    n_cold, n_warm = 0, 0
    tight = Settings(1e-5, 10_000, solver="coordinate" if density < 1 else "newton")
    for seed in range(4):
        cheap = random_case(seed, loss, density=density, C=1.0)
        state = solve_one_vs_rest(cheap.problem, tight, keep_state=True).state
        problem = random_case(seed, loss, density=density, C=1.0, costs=cheap.problem.costs * factor).problem
        cold = solve_one_vs_rest(problem, tight)
        warm = solve_one_vs_rest(problem, tight, state=scaled(state, growth(loss, factor)))
        assert warm.converged
        for one, other in zip(cold.history, warm.history, strict=True):
            assert one["objective"] == pytest.approx(other["objective"], rel=2e-5)
        n_cold, n_warm = n_cold + passes(cold), n_warm + passes(warm)
    # How many sweeps end at the gap wanted is partly chance; α scaled down leaves nothing to gain where few do.
    assert n_warm <= 1.5 * n_cold or factor < 1


@every_loss
@pytest.mark.parametrize("density", [0.2, 1.0])
def test_no_state_is_kept_unless_it_is_asked_for(loss, density):
    assert solve_one_vs_rest(random_case(8, loss, density=density).problem).state is None


def test_alphas_grow_with_the_costs_but_for_the_logistic_loss():
    assert [growth(loss, 10.0) for loss in LOSSES] == [10.0, 10.0, 1.0, 10.0]
    assert [growth(loss, 0.2) for loss in LOSSES] == [0.2, 0.2, 0.2, 0.2]
