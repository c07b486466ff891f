"""The kernels of recursive least squares against their Python twins and against plain linear algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.kernels import ridge
from tests.twins import kernels_not_named_in

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n_rows=12, d=4, k=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, d)) * (random.random((n_rows, d)) < 0.8)
    targets = np.where(random.random((n_rows, k)) < 0.5, 1.0, -1.0)
    learns = (random.random(n_rows) < 0.8) & X.any(axis=1)
    return X, targets, learns, np.arange(1, n_rows + 1), random


def both(function, make):
    """Run a kernel and its twin on fresh arguments; returns what each returned and left, checked to be near."""
    results = []
    for run in (function, function.py_func):
        arguments = make()
        returned = run(*arguments)
        results.append([0 if returned is None else returned, *(a for a in arguments if isinstance(a, np.ndarray))])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    return results[0]


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([np.inf, 1.0]), st.booleans())
def test_primal_rounds(seed, c, current):
    X, targets, learns, round_of, _ = problem(seed, k=1)

    def make():
        margins = np.empty((len(X), 1))
        return [X, targets, learns, round_of, np.eye(4), np.zeros((1, 4)), 0, c, current, -1.0, margins]

    count, *arrays = both(ridge.primal_rounds, make)
    P, W = arrays[4], arrays[5]
    np.testing.assert_array_equal(P, P.T)
    if c == np.inf:
        S = X[learns]
        inverse = np.linalg.inv(np.eye(4) + S.T @ S)
        np.testing.assert_allclose(P, inverse, atol=1e-10)
        np.testing.assert_allclose(W[0], inverse @ S.T @ targets[learns, 0], atol=1e-10)
        assert count == len(S)


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([np.inf, 1.0]), st.booleans())
def test_dual_rounds(seed, c, current):
    X, targets, learns, round_of, _ = problem(seed)
    n = len(X)

    def make():
        C, numerators = X @ X.T, np.zeros((n, 2))
        space = [np.zeros((n, n)), np.zeros((n, 2)), np.zeros(n, np.int64), np.empty((n, 2))]
        return [C, numerators, targets, learns, round_of, 0, 0.5, c, current, -1.0, *space]

    n_new, *arrays = both(ridge.dual_rounds, make)
    L, U, stored = arrays[-4][:n_new, :n_new].T, arrays[-3][:n_new], arrays[-2][:n_new]
    S = X[stored]
    np.testing.assert_allclose(L @ L.T, 0.5 * np.eye(n_new) + S @ S.T, atol=1e-10)
    np.testing.assert_allclose(L @ U, targets[stored], atol=1e-10)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 5), st.booleans())
def test_budget_rounds(seed, budget, current):
    X, targets, learns, round_of, _ = problem(seed)
    n = len(X)

    def make():
        space = [np.zeros((budget + 1, budget + 1)), np.zeros((budget + 1, 2)), np.empty((n, 2))]
        place = np.arange(budget + 1)
        norms = np.einsum("ij,ij->i", X, X)
        return [X @ X.T, norms, targets, learns, round_of, place, 0, 1.0, np.inf, current, -1.0, *space]

    count, *arrays = both(ridge.budget_rounds, make)
    L, U, place = arrays[-3][:count, :count], arrays[-2][:count], arrays[5][:count]
    assert count == min(budget, np.count_nonzero(learns))
    S = X[place]
    np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, np.eye(count) + S @ S.T, atol=1e-9)
    np.testing.assert_allclose(np.tril(L) @ U, targets[place], atol=1e-9)


@given(SEEDS, st.integers(0, 5))
def test_dropping_an_example_leaves_the_factor_of_the_others(seed, r):
    random = np.random.default_rng(seed)
    S, s = random.normal(size=(6, 4)), random.normal(size=(6, 2))
    L = np.linalg.cholesky(np.eye(6) + S @ S.T)
    U = np.linalg.solve(L, s)
    _, left, weights_of = both(ridge.drop_example, lambda: [L.copy(), U.copy(), r, 6])[:3]
    kept = np.delete(np.arange(6), r)
    expected = np.linalg.cholesky(np.eye(5) + S[kept] @ S[kept].T)
    np.testing.assert_allclose(np.tril(left[:5, :5]), expected, atol=1e-10)
    np.testing.assert_allclose(weights_of[:5], np.linalg.solve(expected, s[kept]), atol=1e-10)
    weights = np.linalg.solve(np.eye(6) + S @ S.T, s)
    best = both(ridge.least_weighted, lambda: [L, U, 6, np.empty((6, 2))])[0]
    assert best == np.linalg.norm(weights, axis=1).argmin()


def test_what_is_stored():
    for stored in (ridge.is_stored, ridge.is_stored.py_func):
        assert stored(np.array([9.0]), 0.1, 1, 0)
        assert stored(np.array([9.0]), np.inf, 2, 7)
        assert stored(np.array([0.1]), 5.0, 10, 100)
        assert not stored(np.array([0.9]), 5.0, 10, 100)


def test_every_kernel_is_here():
    assert not kernels_not_named_in(__file__, ridge)
