"""The choice between coordinate descent and Newton steps: by cost, the same optimum whichever is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cladist import FlatLogistic, FlatSVM, RecursiveLogistic, RecursiveSVM, TopDown
from cladist.errors import ParameterError, TooLargeError
from cladist.execution import Threads
from cladist.linear_model.problem_tree import ProblemTree
from cladist.solvers import Settings, members_by_class, solve_one_vs_rest
from cladist.solvers.cost import (
    UNLIMITED,
    DescentLimit,
    SlowDescentError,
    _is_unscaled,
    count_effort,
    fits_newton,
    newton_visits,
    product_steps,
)
from cladist.solvers.linear import one_vs_rest
from cladist.solvers.tree.recursive import solve_recursive
from tests.learners.flat_rows import TAXONOMY, single
from tests.solvers.problems import LOSSES, case, random_rows

every_loss = pytest.mark.parametrize("loss", LOSSES)
slow_steps = pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "squared"])  # which takes one step
STAR = ProblemTree(np.array([-1, *[0] * 16]), np.arange(1, 17))


def dense_problem(loss, *, n_rows=200, n_features=12, n_classes=3, scale=1.0, C=1.0, seed=0):
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n_rows) % n_classes)
    X = (random.normal(size=(n_rows, n_features)) + random.normal(size=(n_classes, n_features))[y]) * scale
    return case(X, members_by_class(y, n_classes), loss, np.full((2, n_classes), C))


@pytest.fixture
def steps(monkeypatch):
    """The classes that Newton steps were taken for."""
    classes = []
    solve = one_vs_rest.solve_directly

    def recorded(problem, settings, chosen=None, **options):
        classes.extend(range(problem.n_classes) if chosen is None else chosen)
        return solve(problem, settings, chosen, **options)

    monkeypatch.setattr(one_vs_rest, "solve_directly", recorded)
    return classes


@pytest.mark.parametrize(("factor", "expected"), [(1.0, False), (30.0, True)])
def test_features_of_other_scales_are_seen(factor, expected):
    X = np.random.default_rng(0).normal(size=(50, 6)) * 0.01  # far smaller than the constant feature
    X[:, 2] *= factor
    problem = case(X, members_by_class(np.arange(50) % 2, 2), "hinge", np.ones((2, 2))).problem
    assert _is_unscaled(problem) is expected


@slow_steps
def test_short_rows_are_descended_and_long_ones_go_by_newton_steps(loss, steps):
    short, long = dense_problem(loss, scale=0.05).problem, dense_problem(loss, scale=30.0, C=100.0).problem
    assert solve_one_vs_rest(short).converged
    assert not steps
    assert solve_one_vs_rest(long).converged
    assert steps == [0, 1, 2]


@every_loss
def test_features_of_different_scales_reach_the_optimum(loss):
    """As measurements come: columns from 1 to 140,000, which coordinate descent takes for ever with."""
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 20)) * np.geomspace(1, 140_000, 20)
    problem = case(X, members_by_class(random.integers(0, 4, 300), 4), loss, np.ones((2, 4)))
    auto, newton = (solve_one_vs_rest(problem.problem, Settings(1e-4, solver=solver)) for solver in ("auto", "newton"))
    assert auto.converged
    for one, other in zip(auto.history, newton.history, strict=True):
        assert one["objective"] == pytest.approx(other["objective"], rel=3e-4)


@slow_steps
@pytest.mark.parametrize("form", ["dense", "sparse", "dual"])
def test_a_later_block_may_go_by_newton_steps_alone(loss, form, steps, monkeypatch):
    problem = dense_problem(loss, n_classes=20, n_rows=400, scale=0.05).problem
    descend = one_vs_rest._solve_block

    def slow_from_the_second(problem, b, *rest):
        if b > 0:
            raise SlowDescentError
        return descend(problem, b, *rest)

    monkeypatch.setattr(one_vs_rest, "_solve_block", slow_from_the_second)
    settings = Settings(1e-4, 10_000)
    mixed = solve_one_vs_rest(problem, settings, form=form, keep_state=True)
    assert steps == [16, 17, 18, 19]
    assert mixed.converged
    monkeypatch.undo()
    plain = solve_one_vs_rest(problem, replace(settings, solver="coordinate"), form=form, keep_state=True)
    np.testing.assert_allclose(
        [entry["objective"] for entry in mixed.history], [entry["objective"] for entry in plain.history], rtol=3e-4
    )
    assert [alpha.shape for alpha in mixed.state] == [alpha.shape for alpha in plain.state]
    again = solve_one_vs_rest(problem, settings, form=form, state=mixed.state)
    assert again.converged


@every_loss
def test_the_choice_does_not_depend_on_the_executor(loss):
    problem = dense_problem(loss, n_classes=40, n_rows=400, scale=3.0, C=10.0).problem
    one, two = (solve_one_vs_rest(problem, executor=executor) for executor in (None, Threads(2)))
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())


def test_where_newton_steps_do_not_fit_descent_has_no_limit():
    random = np.random.default_rng(0)
    wide = case(random_rows(random, 9, 5000, 1.0), members_by_class(np.arange(9) % 2, 2), "hinge", np.ones((2, 2)))
    assert not fits_newton(wide.problem)
    assert newton_visits(wide.problem, Settings()) == UNLIMITED
    with pytest.raises(TooLargeError, match="9 rows, 5,001 features and 2 classes"):
        solve_one_vs_rest(wide.problem, Settings(solver="newton"))
    small = dense_problem("hinge").problem
    assert newton_visits(small, Settings()) < UNLIMITED
    assert newton_visits(small, Settings(solver="coordinate")) == UNLIMITED


@slow_steps
def test_joint_descent_gives_way_on_a_tree(loss):
    settings = Settings(1e-3, 1000)
    long = dense_problem(loss, n_classes=16, scale=30.0, C=100.0).problem
    short = dense_problem(loss, n_rows=400, n_classes=16, scale=0.05, n_features=150).problem
    with pytest.raises(SlowDescentError):
        solve_recursive(long, STAR, settings, limit=DescentLimit(long, STAR, settings, can_be_dense=True))
    limit = DescentLimit(short, STAR, settings, can_be_dense=True)
    assert solve_recursive(short, STAR, settings, limit=limit).converged


def test_descent_is_judged_by_the_rate_at_which_the_gap_falls():
    problem = dense_problem("hinge", n_classes=16, scale=0.05, n_features=60).problem

    def begin():
        limit = DescentLimit(problem, STAR, Settings(1e-3), can_be_dense=True)
        share = limit.newton / limit.joint_visit / 4  # visits that cost a quarter of Newton steps
        limit.check(int(share), 0, np.inf, 1)
        limit.check(int(share), 0, 0.5, 0)
        return limit, share

    limit, share = begin()
    limit.check(int(2 * share), 0, 0.05, 0)  # at a tenth for a quarter of the cost, two quarters remain
    limit, share = begin()
    with pytest.raises(SlowDescentError):
        limit.check(int(2 * share), 0, 0.45, 0)
    limit = DescentLimit(problem, STAR, Settings(1e-3), can_be_dense=False)
    limit.check(10**15, 10**15, 0.5, 0)


@pytest.mark.parametrize("learner", [FlatSVM, FlatLogistic, RecursiveSVM, RecursiveLogistic, TopDown])
def test_every_linear_learner_takes_a_solver(learner):
    X, y = single(n_features=6, density=1.0)
    close = {"tol": 1e-6, "max_iter": 20_000}
    fitted = [learner(TAXONOMY, solver=solver, **close).fit(X, y) for solver in ("auto", "coordinate", "newton")]
    for other in fitted[1:]:
        assert fitted[0].history_[-1]["objective"] == pytest.approx(other.history_[-1]["objective"], rel=1e-5)
    with pytest.raises(ParameterError, match="solver must be one of"):
        learner(TAXONOMY, solver="sgd").fit(X, y)


@pytest.fixture
def without_judgement(monkeypatch):
    """Descent does not give way to Newton steps, however slow it is; they cost 20 visits to each of 200 rows."""
    monkeypatch.setattr(one_vs_rest, "count_effort", lambda *_: count_effort(UNLIMITED))
    costs = {"coordinate": UNLIMITED, "auto": 20 * 200}
    monkeypatch.setattr(one_vs_rest, "newton_visits", lambda problem, settings: costs[settings.solver])


@slow_steps
def test_newton_steps_finish_a_descent_that_ends_at_max_iter(loss, steps, without_judgement):
    problem = dense_problem(loss, scale=30.0, C=100.0).problem
    descended, finished = (solve_one_vs_rest(problem, Settings(1e-3, 60, solver=s)) for s in ("coordinate", "auto"))
    assert not descended.converged
    assert finished.converged
    assert steps == [0, 1, 2]


@slow_steps
def test_newton_steps_do_not_finish_a_descent_that_was_allowed_few_sweeps(loss, steps, without_judgement):
    problem = dense_problem(loss, scale=30.0, C=100.0).problem
    for n_sweeps, expected in ((4, []), (5, [0, 1, 2])):
        solve_one_vs_rest(problem, Settings(1e-9, n_sweeps))
        assert steps == expected


@pytest.mark.parametrize("learner", [RecursiveSVM, RecursiveLogistic])
def test_newton_steps_finish_a_joint_descent_that_ends_at_max_iter(learner, monkeypatch):
    monkeypatch.setattr(DescentLimit, "check", lambda limit, visits, *_: limit.costs.append(visits * limit.joint_visit))
    monkeypatch.setattr("cladist.solvers.cost._expected_joint_visits", lambda _: 0.0)
    X, y = single(n_features=6, density=1.0)
    options = {"C": 100.0, "max_iter": 60, "sharing": 1.0, "tol": 1e-3}
    with pytest.warns(ConvergenceWarning):
        assert not learner(TAXONOMY, solver="coordinate", **options).fit(30 * X, y).converged_
    assert learner(TAXONOMY, **options).fit(30 * X, y).converged_


def test_products_of_matrices_are_tried_where_they_are_expected_to_cost_least():
    random = np.random.default_rng(3)
    y = random.permutation(np.arange(3000) % 16)
    X = random.normal(size=(3000, 100)) / 10 + random.normal(size=(16, 100))[y] / 10
    for loss, X_given, expected in (("logistic", X, True), ("hinge", X, False), ("logistic", X[:40], False)):
        members = members_by_class(y[: len(X_given)], 16)
        problem = case(X_given, members, loss, np.ones((2, 16))).problem
        assert bool(product_steps(problem, STAR, Settings(1e-2))) == expected
        assert product_steps(problem, STAR, Settings(1e-2, solver="coordinate")) == 0
        assert product_steps(problem, STAR, Settings(1e-2, max_iter=2)) == 2 * expected
