"""Kernels of perceptron rounds: each against its own Python source and its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import batch_perceptron
from tests.twins import kernels_not_named_in, same_as_python

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from([np.float32, np.float64]))
def test_products_of_rows(seed, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.random((7, 5)) < 0.5) * rng.normal(size=(7, 5)).astype(dtype)
    z = (rng.random(5) < 0.6) * rng.normal(size=5).astype(dtype)
    turned, row = sparse.csc_array(X), sparse.csr_array(z[None])
    before = np.ones(7)
    *_, thin = same_as_python(
        batch_perceptron.add_sparse_products, turned.indptr, turned.indices, turned.data, row.indices, row.data, before
    )
    *_, dense = same_as_python(batch_perceptron.add_dense_products, np.ascontiguousarray(X.T), z, before)
    np.testing.assert_array_equal(thin, dense)
    np.testing.assert_allclose(dense, 1 + X.astype(float) @ z.astype(float), atol=1e-12)


def test_add_column():
    scores, column = np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 3.0, 4.0])
    found, *_ = same_as_python(
        batch_perceptron.add_column, scores, np.array([0, 2]), np.array([2.0, -2.0]), column, 1, 3
    )
    np.testing.assert_array_equal(found - scores, [[0, 4, 6, 0], [0, 0, 0, 0], [0, -4, -6, 0]])


@given(seeds)
def test_reweigh_and_find_row(seed):
    rng = np.random.default_rng(seed)
    weights, margins = rng.random(9) + 0.1, rng.uniform(-2, 2, 9)
    changed = [weights.copy(), weights.copy()]
    totals = [
        f(w, margins, 0.5)
        for f, w in zip((batch_perceptron.reweigh, batch_perceptron.reweigh.py_func), changed, strict=True)
    ]
    assert totals[0] == totals[1]
    np.testing.assert_array_equal(changed[0], changed[1])
    v = 0.5 * margins
    np.testing.assert_allclose(changed[0], weights * (1 - v + v * v))
    assert np.isclose(totals[0], changed[0].sum())
    target = rng.random() * weights.sum()
    found = same_as_python(batch_perceptron.find_row, weights, target)
    assert found == np.searchsorted(np.cumsum(weights), target, side="right")
    assert same_as_python(batch_perceptron.find_row, weights, 1e9) == 8


def test_advance_rows():
    rng = np.random.default_rng(0)
    n = batch_perceptron.STRIDE + 9
    parent, side = np.array([-1, 0, 0]), np.ones((3, n), np.int8)
    for nodes in (np.array([0, 2]), np.zeros(0, np.int64)):
        for counted in (rng.normal(size=(3, n)), np.zeros((0, 0))):
            values, column = rng.normal(size=len(nodes)), rng.normal(size=n)
            cache = (rng.normal(size=(3, n)), counted, parent, side, np.zeros(n))
            update = (nodes, values, 0.5 * values, column)
            runs = []
            for kernel in (batch_perceptron.advance_rows, batch_perceptron.advance_rows.py_func):
                runs.append(tuple(part.copy() for part in cache))
                kernel(runs[-1], update, 3, n)
            for one, other in zip(*runs, strict=True):
                np.testing.assert_array_equal(one, other)
            scores, added, *_, margins = runs[0]
            expected = cache[0].copy()
            expected[nodes, 3:] += values[:, None] * column[3:]
            np.testing.assert_allclose(scores, expected)
            if len(counted):
                np.testing.assert_allclose((added - counted)[nodes], 0.5 * (scores - cache[0])[nodes], atol=1e-12)
            assert np.all(margins[:3] == 0)
            assert np.all(margins[3:] != 0)


def test_weights_stay_positive():
    weights = np.full(3, batch_perceptron.SMALLEST)
    batch_perceptron.reweigh(weights, np.ones(3), 0.5)
    assert np.all(weights == batch_perceptron.SMALLEST)


def test_every_kernel_has_its_test():
    assert kernels_not_named_in(__file__, batch_perceptron) == []
