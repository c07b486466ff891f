"""The SVM solver against LIBLINEAR and its own certificate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from cladist.kernels import svm
from cladist.solvers import linear_svm, one_vs_rest_svm


def objective(w, b, X, signs, C, weights):
    miss = np.maximum(0, 1 - signs * (X @ w + b))
    return 0.5 * (w @ w + b * b) + C * np.sum(weights * miss**2)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 10.0]), st.booleans(), st.booleans())
def test_optimum_equals_liblinears(seed, C, weighted, by_newton):
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 5)) * (random.random((40, 5)) < 0.7)
    y = random.integers(0, 3, 40)
    y[:3] = [0, 1, 2]
    weights = random.uniform(0.2, 3, 40) if weighted else np.ones(40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_svm, "FEW_FEATURES", 500 if by_newton else 0)
        ours = one_vs_rest_svm(X, y, 3, C=C, sample_weight=weights, tol=1e-7, max_iter=20_000)
    theirs = LinearSVC(C=C, tol=1e-10, max_iter=200_000, dual=False).fit(X, y, sample_weight=weights)
    assert ours.converged
    for k in range(3):
        signs = np.where(y == k, 1.0, -1.0)
        found = objective(ours.weights.toarray()[k], ours.intercepts[k], X, signs, C, weights)
        best = objective(theirs.coef_[k], theirs.intercept_[k], X, signs, C, weights)
        assert found == pytest.approx(best, rel=1e-5)
        assert ours.history[k]["objective"] == pytest.approx(found, rel=1e-9)


def test_features_of_any_scale_are_solved():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 4)) + 100, random.integers(0, 3, 100)
    assert one_vs_rest_svm(X, y, 3).converged


def test_the_gap_is_honest_when_passes_run_out(monkeypatch):
    monkeypatch.setattr(linear_svm, "FEW_FEATURES", 0)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 10)), random.integers(0, 2, 200)
    rough = one_vs_rest_svm(X, y, 2, C=100.0, tol=1e-9, max_iter=2)
    fine = one_vs_rest_svm(X, y, 2, C=100.0, tol=1e-9, max_iter=100_000)
    assert not rough.converged
    assert rough.history[0]["gap"] > 1e-9
    assert fine.converged
    assert rough.history[0]["objective"] * (1 - rough.history[0]["gap"]) <= fine.history[0]["objective"]


def test_features_that_never_occur_have_no_weight():
    X = np.array([[1.0, 0, 0, 2], [0, 0, 0, 1]])
    solution = one_vs_rest_svm(X, np.array([0, 1]), 2)
    assert set(solution.weights.indices) <= {0, 3}
    assert solution.weights.shape == (1, 4)


def test_kernels_equal_their_python_twins():
    random = np.random.default_rng(1)
    X, signs = random.normal(size=(12, 3)), np.where(random.random(12) < 0.5, 1.0, -1.0)
    rows = (np.arange(0, 37, 3), np.tile(np.arange(3), 12), X.ravel())
    D = np.full(12, 0.5)
    results = []
    for solve in (svm.solve_squared_hinge, svm.solve_squared_hinge.py_func):
        w, alpha = np.zeros(4), np.zeros(12)
        results.append((solve(rows, signs, D, 1.0, 1e-6, 500, 3, w, alpha), w, alpha))
    np.testing.assert_allclose(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1])
    order = svm.shuffled(50, np.array([5], np.uint64))
    np.testing.assert_array_equal(order, svm.shuffled.py_func(50, np.array([5], np.uint64)))
    assert sorted(order) == list(range(50))
