"""HBLR: the bound rises at every update and bounds the evidence; means and covariances by other computations; MAP."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning

from cladist import BayesianLogistic, RecursiveLogistic, Taxonomy
from cladist.errors import ParameterError, TooLargeError
from cladist.learners import bayesian
from cladist.solvers.bayesian import COVARIANCES, LIKELIHOODS, BayesianProblem, Posterior, infer, weight_of

TREE = Taxonomy.from_parents({"r": None, "a": "r", "b": "r", "a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b"})
LEAVES = np.array(["a1", "a2", "a3", "b1", "b2"])
PARENT, PLACES = TREE.parent.astype(np.int64), np.array([TREE.index(name) for name in LEAVES])
UPDATES = ("update_leaves", "update_bounds", "update_inner", "update_precisions")


def problem_of(seed=0, n=40, d=3, **options):
    random = np.random.default_rng(seed)
    labels = np.arange(n) % 5
    X = random.normal(size=(n, d)) + random.normal(size=(5, d))[labels]
    group = PARENT + 1
    fixed = np.array([1.0, *[np.nan] * 3])
    return BayesianProblem(X, labels, PARENT, PLACES, group, fixed, **options)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(COVARIANCES),
    st.sampled_from(LIKELIHOODS),
    st.booleans(),
    st.lists(st.sampled_from(UPDATES), max_size=6),
    st.sampled_from([0.1, 1.0, 10.0]),
)
def test_the_bound_rises_at_every_update(seed, covariance, likelihood, by_feature, order, scale):
    random = np.random.default_rng(seed)
    options = {"covariance": covariance, "likelihood": likelihood, "by_feature": by_feature}
    problem = problem_of(seed, int(random.integers(1, 30)), int(random.integers(1, 5)), **options)
    X = sparse.csr_array(problem.X * scale) if seed % 2 else problem.X * scale
    posterior = Posterior(replace(problem, X=X, shape=random.uniform(0.5, 3), rate=random.uniform(0.2, 3)))
    before = posterior.elbo()
    for name in [*order, *UPDATES, "lengthen_step", "centre", *UPDATES]:
        last = posterior.mean[PLACES], posterior.scores, posterior.beta
        if name == "lengthen_step":
            posterior.update_leaves()
        getattr(posterior, name)(*((*last, 2.0) if name == "lengthen_step" else ()))
        now = posterior.elbo()
        assert now >= before - 1e-8 * (1 + abs(before)), (name, before, now)
        before = now


def evidence(problem, n_draws=400_000):
    """Return log p(labels), an average over draws of the prior; one feature, a star without τ."""
    random, n_leaves = np.random.default_rng(0), len(problem.leaves)
    W = random.normal(size=(n_draws, n_leaves)) / np.sqrt(problem.fixed[0])
    logs = np.zeros(n_draws)
    for x, label in zip(problem.X[:, 0], problem.labels, strict=True):
        scores = W * x
        if problem.likelihood == "softmax":
            logs += scores[:, label] - logsumexp(scores, axis=1)
        else:
            signs = np.where(np.arange(n_leaves) == label, 1.0, -1.0)
            logs += np.log(expit(signs * scores)).sum(axis=1)
    return float(logsumexp(logs) - np.log(n_draws))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_bound_is_one_of_the_evidence(likelihood):
    X, labels = np.array([[1.0], [0.5], [-1.0], [-2.0], [0.3], [1.5]]), np.array([0, 0, 1, 1, 2, 0])
    star = np.full(3, -1), np.arange(3), np.zeros(3, np.int64), np.array([1.0])
    problem = BayesianProblem(X, labels, *star, likelihood=likelihood)
    bound, exact = infer(problem, tol=1e-9, max_iter=500)[1][-1]["elbo"], evidence(problem)
    assert bound <= exact
    # The bound of log(e⁰ + e⁰ + e⁰) = log 3 is log 6.75 at best.
    assert bound > exact - (0.1 + 0.05 * len(X) + (len(X) * np.log(6.75 / 3) if likelihood == "softmax" else 0.0))


def reference(problem, n_iterations):
    """The five updates one by one, written out for every row, leaf and feature with full matrices."""
    (n, d), L, N = problem.X.shape, len(problem.leaves), len(problem.parent)
    mu, T = np.zeros((N, d)), np.ones((len(problem.fixed), d))
    Psi = np.zeros((N, d, d))
    inner = [v for v in range(N) if v not in problem.leaves]
    children = [np.flatnonzero(problem.parent == v) for v in range(N)]
    for v in inner:
        total = T[problem.group[v]] + sum(T[problem.group[c]] for c in children[v])
        Psi[v] = np.diag(1 / total)
    for v in problem.leaves:
        Psi[v] = np.diag(1 / T[problem.group[v]])
    beta, xi = np.zeros(n), np.array([[np.sqrt(x @ Psi[v] @ x) for v in problem.leaves] for x in problem.X])
    for _ in range(n_iterations):
        for k, v in enumerate(problem.leaves):
            precision, linear = np.diag(T[problem.group[v]]), T[problem.group[v]] * mu[problem.parent[v]]
            for i, x in enumerate(problem.X):
                lam = (expit(xi[i, k]) - 0.5) / (2 * xi[i, k])
                precision = precision + 2 * lam * np.outer(x, x)
                linear = linear + ((problem.labels[i] == k) - 0.5 + 2 * lam * beta[i]) * x
            mu[v] = np.linalg.solve(precision, linear)
            full = problem.covariance == "full"
            Psi[v] = np.linalg.inv(precision) if full else np.diag(1 / np.diag(precision))
        for i, x in enumerate(problem.X):
            s = np.array([mu[v] @ x for v in problem.leaves])
            spread = np.array([x @ Psi[v] @ x for v in problem.leaves])
            xi[i] = np.sqrt(spread + (beta[i] - s) ** 2)
            if problem.likelihood == "softmax":
                lam = (expit(xi[i]) - 0.5) / (2 * xi[i])
                beta[i] = (0.5 * (L / 2 - 1) + lam @ s) / lam.sum()
        for _ in range(2000):  # means of inner nodes, one after the other, until they agree with each other
            for v in inner:
                above = mu[problem.parent[v]] if problem.parent[v] >= 0 else np.zeros(d)
                own, below = T[problem.group[v]], children[v]
                total = own + sum(T[problem.group[c]] for c in below)
                mu[v] = (own * above + sum(T[problem.group[c]] * mu[c] for c in below)) / total
                Psi[v] = np.diag(1 / total)
        for g in np.flatnonzero(np.isnan(problem.fixed)):
            members = np.flatnonzero(problem.group == g)
            b = np.full(d, problem.rate)
            for c in members:
                p = problem.parent[c]
                b += 0.5 * ((mu[c] - mu[p]) ** 2 + np.diag(Psi[c]) + np.diag(Psi[p]))
            T[g] = (problem.shape + len(members) / 2) / b
    return mu, Psi, T


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_updates_are_those_of_the_definition(covariance, likelihood):
    problem = problem_of(1, 25, 3, covariance=covariance, likelihood=likelihood, shape=1.5, rate=0.5)
    posterior = Posterior(problem)
    for name in UPDATES * 4:
        getattr(posterior, name)()
    mu, Psi, T = reference(problem, 4)
    np.testing.assert_allclose(posterior.mean, mu, atol=1e-8)
    np.testing.assert_allclose(posterior.variance, np.diagonal(Psi, axis1=1, axis2=2), atol=1e-8)
    np.testing.assert_allclose(posterior.shapes[1:, None] / posterior.rates[1:], T[1:], rtol=1e-8)
    if covariance == "full":
        np.testing.assert_allclose(posterior.full, Psi[PLACES], atol=1e-8)


def test_the_precision_has_a_closed_form():
    """b = b0 + ½ Σ E (w_c − w_p)² by draws of the weights from q."""
    problem = problem_of(2, 30, 2, by_feature=False, shape=2.0, rate=0.7)
    posterior = infer(problem, tol=1e-6, max_iter=50)[0]
    posterior.update_precisions()
    random = np.random.default_rng(0)
    draws = posterior.mean + np.sqrt(posterior.variance) * random.normal(size=(100_000, *posterior.mean.shape))
    for g, p in ((1, TREE.index("r")), (2, TREE.index("a")), (3, TREE.index("b"))):
        members = np.flatnonzero(p == PARENT)
        squares = ((draws[:, members] - draws[:, [p]]) ** 2).sum(axis=(1, 2)).mean()
        assert posterior.rates[g, 0] == pytest.approx(0.7 + 0.5 * squares, rel=0.02)
        assert posterior.shapes[g] == 2.0 + 0.5 * len(members) * 2


@pytest.mark.parametrize("precision", [1.0, 4.0])
def test_map_with_fixed_precisions_is_recursive_logistic(precision):
    problem = problem_of(3, 60, 4)
    y = LEAVES[problem.labels]
    options = {"covariance": "none", "likelihood": "one_vs_rest", "precision": precision}
    model = BayesianLogistic(TREE, **options).fit(problem.X, y)
    recursive = RecursiveLogistic(TREE, C=1 / precision, sharing=1, tol=1e-11, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # float32 ends before such a gap
        recursive.fit(problem.X, y)
    np.testing.assert_allclose(model.coef_, recursive.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, recursive.intercept_, atol=1e-5)
    np.testing.assert_allclose(model.node_coef_, recursive.node_coef_.toarray(), atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(problem.X), recursive.predict_proba(problem.X), atol=1e-5)


def test_a_weight_near_0_has_its_limit():
    xi = np.array([0.0, 1e-9, 1e-4, 1.001e-4, 1.0, 1e3])
    np.testing.assert_allclose(weight_of(xi)[:4], 0.125, rtol=1e-8)
    np.testing.assert_allclose(weight_of(xi)[4:], (expit(xi[4:]) - 0.5) / (2 * xi[4:]))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("precision", ["feature", "parent", "node", 2.0])
def test_forms_of_precision(covariance, precision):
    problem = problem_of(4, 60, 3)
    y = LEAVES[problem.labels]
    model = BayesianLogistic(TREE, covariance=covariance, precision=precision, max_iter=2000).fit(problem.X, y)
    groups = {"feature": 4, "parent": 4, "node": 8}.get(precision, 4)
    assert model.precision_.shape == (groups, 4 if precision == "feature" else 1)
    assert model.precision_[0] == pytest.approx(1.0 if isinstance(precision, str) else 2.0)
    bounds = [entry["elbo"] for entry in model.history_]
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
    assert bounds == [-entry["objective"] for entry in model.history_]
    chances = model.predict_proba(problem.X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(problem.X))


def test_the_variance_of_roots_can_be_estimated():
    problem = problem_of(5, 60, 3)
    model = BayesianLogistic(TREE, root_variance="estimate").fit(problem.X, LEAVES[problem.labels])
    assert np.ptp(model.precision_[0]) > 0


def test_a_label_above_others_has_a_leaf_of_its_own():
    problem = problem_of(6, 60, 3)
    y = np.where(problem.labels == 4, "a", LEAVES[problem.labels])
    model = BayesianLogistic(TREE).fit(problem.X, y)
    assert "a" in model.classes_
    np.testing.assert_array_equal(model.coef_, model.node_coef_[model.class_nodes_])
    assert not model.node_coef_[TREE.index("b2")].any()


def test_problems_that_are_too_large_and_wrong_parameters(monkeypatch):
    problem = problem_of(7)
    y = LEAVES[problem.labels]
    monkeypatch.setattr(bayesian, "MOST_BYTES", 48 * 200)
    with pytest.raises(TooLargeError, match="covariance='diagonal' or 'none'"):
        BayesianLogistic(TREE, covariance="full").fit(np.tile(problem.X, (1, 20)), y)
    monkeypatch.setattr(bayesian, "MOST_BYTES", 1000)
    with pytest.raises(TooLargeError, match="RecursiveLogistic"):
        BayesianLogistic(TREE).fit(problem.X, y)
    for parameter, value in {"precision": 0, "root_variance": -1, "a0": 0, "covariance": "x", "tol": 0}.items():
        with pytest.raises(ParameterError, match=parameter):
            BayesianLogistic(TREE, **{parameter: value}).fit(problem.X, y)


def test_a_fit_that_ends_early_warns():
    problem = problem_of(8)
    with pytest.warns(ConvergenceWarning, match="before its bound had settled"):
        BayesianLogistic(TREE, max_iter=2).fit(problem.X, LEAVES[problem.labels])
