"""Leaves that are pulled to their parent plus a vector known before training, against a general convex solver."""

import numpy as np
import pytest
from scipy import optimize, sparse

from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.training_rows import TrainingRows
from cladist.solvers.problem import OneVsRest, Settings, members_by_class
from cladist.solvers.tree.recursive import solve_recursive
from cladist.surrogates import SURROGATES

PARENT = np.array([-1, -1, 0, 0, 1, 1, 1, 0, 2, 2])  # a forest; the node 2 is above two leaves
LEAVES = np.array([8, 9, 3, 4, 5, 6, 7])
N_ROWS, N_FEATURES = 60, 9


def make(loss, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N_ROWS, N_FEATURES)) * (random.random((N_ROWS, N_FEATURES)) < 0.6)
    y = np.concatenate([np.arange(len(LEAVES) - 1), random.integers(0, len(LEAVES) - 1, N_ROWS - len(LEAVES) + 1)])
    prior = random.normal(size=(len(LEAVES), N_FEATURES)) * (random.random((len(LEAVES), N_FEATURES)) < 0.5) * scale
    rows = TrainingRows.from_matrix(sparse.csr_array(X), constant=True)
    members = members_by_class(y, len(LEAVES))  # the last leaf has no row
    return X, y, prior, OneVsRest(rows, members, loss, np.full((2, len(LEAVES)), 0.7))


def objective(W, X, y, prior, loss, sharing, root="zero"):
    """The objective and its gradient over the weights of all nodes, with an intercept as their last feature."""
    X = np.hstack([X, np.ones((len(X), 1))])
    W, gradient = W.reshape(len(PARENT), -1), np.zeros((len(PARENT), X.shape[1]))
    u = np.zeros_like(W)
    u[LEAVES, :-1] = prior
    is_leaf = np.isin(np.arange(len(PARENT)), LEAVES)
    total = 0.0
    for n, p in enumerate(PARENT):
        kappa = 1.0 if is_leaf[n] else sharing
        apart = W[n] - (W[p] if p >= 0 else 0) - u[n]
        total += apart @ apart / (2 * kappa)
        gradient[n] += apart / kappa
        if p >= 0:
            gradient[p] -= apart / kappa
    surrogate = SURROGATES[loss]
    for k, n in enumerate(LEAVES):
        sign = np.where(y == k, 1.0, -1.0)
        margins = sign * (X @ W[n])
        total += 0.7 * np.sum(surrogate.value(margins))
        gradient[n] += 0.7 * (X.T @ (sign * surrogate.slope(margins)))
    return total, gradient.ravel()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("sharing", [1.0, 0.3])
def test_smooth_losses_reach_the_optimum_of_a_convex_solver(loss, sharing):
    X, y, prior, problem = make(loss)
    tree = ProblemTree(PARENT, LEAVES, sharing)
    solution = solve_recursive(problem, tree, Settings(tol=1e-6, max_iter=2000), prior=sparse.csr_array(prior))
    start = np.zeros(len(PARENT) * (N_FEATURES + 1))
    found = optimize.minimize(
        objective, start, (X, y, prior, loss, sharing), jac=True, method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    assert solution.converged
    assert solution.history[-1]["objective"] == pytest.approx(found.fun, rel=2e-6)
    assert solution.history[-1]["dual"] <= found.fun * (1 + 1e-6)
    expected = found.x.reshape(len(PARENT), -1)[LEAVES]
    np.testing.assert_allclose(solution.weights.matrix(), expected[:, :-1], atol=4e-3)
    np.testing.assert_allclose(solution.intercepts, expected[:, -1], atol=4e-3)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("sharing", [1.0, 0.3])
def test_the_hinge_is_certified(form, sharing):
    X, y, prior, problem = make("hinge", seed=1)
    tree = ProblemTree(PARENT, LEAVES, sharing)
    matrix = sparse.csr_array(prior)
    solution = solve_recursive(problem, tree, Settings(tol=1e-4, max_iter=3000), prior=matrix, form=form)
    last = solution.history[-1]
    assert solution.converged
    # Any point is above the dual, and that of the weights returned is near it.
    weights = solution.weights.matrix()
    W = np.zeros((len(PARENT), N_FEATURES + 1))
    W[LEAVES, :-1] = weights.toarray() if sparse.issparse(weights) else weights
    W[LEAVES, -1] = solution.intercepts
    inner = np.setdiff1d(np.arange(len(PARENT)), LEAVES)

    def of_inner(values):
        full = W.copy()
        full[inner] = values.reshape(len(inner), -1)
        total, gradient = objective(full.ravel(), X, y, prior, "hinge", sharing)
        return total, gradient.reshape(full.shape)[inner].ravel()

    best = optimize.minimize(of_inner, W[inner].ravel(), jac=True, method="L-BFGS-B")
    assert last["dual"] <= best.fun * (1 + 1e-6)
    assert best.fun <= last["dual"] * (1 + 3e-4)
    lower = [objective(W.ravel() + step, X, y, prior, "hinge", sharing)[0] for step in np.linspace(-0.1, 0.1, 5)]
    assert last["dual"] <= min(lower)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_without_rows_below_a_leaf_it_is_its_parent_plus_its_vector_as_far_as_rows_allow(loss):
    """With a tiny C rows have no say: leaves are what they are pulled to."""
    _, _, prior, problem = make(loss)
    tiny = problem.at_C(1e-7)
    solution = solve_recursive(tiny, ProblemTree(PARENT, LEAVES), Settings(tol=1e-3), prior=sparse.csr_array(prior))
    matrix = solution.weights.matrix()
    np.testing.assert_allclose(matrix.toarray() if sparse.issparse(matrix) else matrix, prior, atol=1e-4)


def test_a_prior_of_zero_changes_nothing():
    _, _, prior, problem = make("squared_hinge")
    tree, settings = ProblemTree(PARENT, LEAVES), Settings(tol=1e-5, max_iter=500)
    plain = solve_recursive(problem, tree, settings)
    zero = solve_recursive(problem, tree, settings, prior=sparse.csr_array(np.zeros_like(prior)))
    np.testing.assert_allclose(plain.weights.matrix(), zero.weights.matrix(), atol=2e-3)
    assert plain.history[-1]["objective"] == pytest.approx(zero.history[-1]["objective"], rel=2e-5)


@pytest.mark.parametrize("sharing", [0.0])
def test_leaves_that_share_nothing(sharing):
    X, y, prior, problem = make("squared_hinge")
    tree = ProblemTree(PARENT, LEAVES, sharing)
    solution = solve_recursive(problem, tree, Settings(tol=1e-6, max_iter=2000), prior=sparse.csr_array(prior))

    def alone(w, k):
        rows = np.hstack([X, np.ones((N_ROWS, 1))])
        u, sign = np.append(prior[k], 0.0), np.where(y == k, 1.0, -1.0)
        margins, surrogate = sign * (rows @ w), SURROGATES["squared_hinge"]
        value = (w - u) @ (w - u) / 2 + 0.7 * np.sum(surrogate.value(margins))
        return value, w - u + 0.7 * rows.T @ (sign * surrogate.slope(margins))

    found = [optimize.minimize(alone, np.zeros(N_FEATURES + 1), k, jac=True).x for k in range(len(LEAVES))]
    np.testing.assert_allclose(solution.weights.matrix(), np.array(found)[:, :-1], atol=4e-3)


@pytest.mark.parametrize("options", [{"root": "free"}, {"form": "dual"}, {"form": "differences"}])
def test_what_a_prior_excludes_is_refused(options):
    _, _, prior, problem = make("hinge")
    with pytest.raises(ValueError, match="with a prior"):
        solve_recursive(problem, ProblemTree(PARENT, LEAVES), prior=sparse.csr_array(prior), **options)
