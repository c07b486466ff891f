"""Random one-vs-rest problems, with what they mean by the definition, in float64."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from cladist.solvers import OneVsRest, TrainingRows, members_by_class

LOSSES = ("hinge", "squared_hinge", "logistic", "squared")


@dataclass(frozen=True)
class Case:
    """A problem and its rows: as they were given, and dense with the constant feature at the end."""

    problem: OneVsRest
    given: sparse.csr_array
    X: np.ndarray

    @property
    def classes(self):
        return range(self.problem.n_classes)

    def signs(self, k):
        signs = np.full(len(self.X), -1.0)
        signs[self.problem.members_of(k)] = 1
        return signs

    def costs(self, k):
        """As float32, which is what they are solved with."""
        given = self.problem.row_weights
        weights = np.ones(len(self.X), np.float32) if given is None else given.astype(np.float32)
        positive, negative = self.problem.costs[:, k].astype(np.float32)
        return (np.where(self.signs(k) > 0, positive, negative) * weights).astype(np.float64)

    def weights(self, solution):
        """Classes × features, the intercepts last where the problem has them."""
        W = solution.weights.matrix()
        W = (W.toarray() if sparse.issparse(W) else W).astype(np.float64)
        return np.column_stack([W, solution.intercepts]) if self.problem.rows.has_constant else W

    def margins(self, k, w):
        return self.signs(k) * (self.X @ w)

    def primal(self, k, w):
        margins = self.margins(k, w)
        return 0.5 * (w @ w) + self.costs(k) @ losses(self.problem.loss, margins)

    def weights_of(self, k, alpha):
        return (alpha * self.signs(k)) @ self.X

    def dual(self, k, alpha):
        """At the feasible point nearest to α; no primal value is below it."""
        costs = self.costs(k)
        low, high = dual_bounds(self.problem.loss, costs)
        alpha = np.clip(alpha, low, high)
        w = self.weights_of(k, alpha)
        return gains(self.problem.loss, alpha, costs).sum() - 0.5 * (w @ w)


def losses(loss, margins):
    """What each margin loses."""
    miss = np.maximum(0, 1 - margins)
    return {
        "hinge": miss,
        "squared_hinge": miss**2,
        "logistic": np.logaddexp(0, -margins),
        "squared": (1 - margins) ** 2,
    }[loss]


def dual_bounds(loss, costs):
    """The lowest and the highest α."""
    return {"squared_hinge": (0, np.inf), "squared": (-np.inf, np.inf)}.get(loss, (0, costs))


def gains(loss, alpha, costs):
    """What each α adds to the dual."""
    if loss == "logistic":
        share = np.clip(alpha / costs, 1e-300, 1 - 1e-16)
        return -costs * (share * np.log(share) + (1 - share) * np.log1p(-share))
    return alpha if loss == "hinge" else alpha - alpha**2 / (4 * costs)


def case(X, members, loss, costs, *, row_weights=None, constant=True):
    """Make a case of rows, the members of each class, and costs (2 × classes)."""
    given = sparse.csr_array(X).astype(np.float32).astype(np.float64)
    dense = np.column_stack([given.toarray(), np.ones(given.shape[0])]) if constant else given.toarray()
    return Case(
        OneVsRest(TrainingRows.from_matrix(given, constant=constant), members, loss, costs, row_weights), given, dense
    )


def random_rows(random, n_rows, n_features, density):
    return random.normal(size=(n_rows, n_features)) * (random.random((n_rows, n_features)) < density)


def random_case(seed, loss, *, n_classes=None, density=None, C=None, constant=None, **fixed):
    """A small problem of one class per row, every class having one; what is not given is drawn."""
    random = np.random.default_rng(seed)
    n_rows, n_features = int(random.integers(60, 151)), int(random.integers(10, 81))
    drawn = random.choice([0.05, 0.2, 1.0]), random.choice([0.1, 1, 10]), bool(random.integers(2))
    n_classes = int(random.integers(3, 7)) if n_classes is None else n_classes
    density, C, constant = (d if g is None else g for d, g in zip(drawn, (density, C, constant), strict=True))
    y = np.append(np.arange(n_classes), random.integers(0, n_classes, n_rows - n_classes))
    costs = np.full((2, n_classes), C)
    if random.random() < 0.5:
        costs *= random.uniform(0.3, 3, costs.shape)
    row_weights = random.uniform(0.2, 3, n_rows) if random.random() < 0.5 else None
    X = random_rows(random, n_rows, n_features, density)
    members = members_by_class(y, n_classes)
    return case(X, members, loss, fixed.pop("costs", costs), row_weights=row_weights, constant=constant, **fixed)


def members_of_matrix(belongs):
    """The rows of each class, from a 0/1 matrix (rows × classes)."""
    columns = sparse.csc_array(belongs)
    return columns.indptr.astype(np.int64), columns.indices.astype(np.int64)


def certified(problem, solution, tol):
    """Assert that what the history says holds by the definition: objective, gap, and both small enough."""
    assert solution.converged
    W = problem.weights(solution)
    for k in problem.classes:
        primal, alpha = problem.primal(k, W[k]), solution.state[k // 16][:, k % 16].astype(np.float64)
        assert solution.history[k]["objective"] == pytest.approx(primal, rel=1e-5)
        gap = (primal - problem.dual(k, alpha)) / primal
        assert -1e-12 <= gap <= tol + 1e-5
