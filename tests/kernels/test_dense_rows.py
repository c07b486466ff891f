"""Visits to four dense rows at a time are visits to one row after the other."""

import numpy as np
import pytest

from cladist.kernels import dense_rows, lanes, one_vs_rest
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH
from tests.kernels.blocks import SURROGATES, Block
from tests.kernels.sources import close_to_python
from tests.twins import kernels_not_named_in, same_as_python

every_loss = pytest.mark.parametrize("loss", SURROGATES, ids=lambda loss: type(loss).__name__)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@kernel
def carry_stored(rows, visits, v, step, products, steps):
    dense_rows.carry_step(rows, visits, v, lanes.load(step, 0), products, steps)


def full_block(dtype, n_rows=11, n_features=5):
    """Sixteen problems whose rows have an entry for every feature."""
    block, random = Block(1, dtype, n_rows, n_features), np.random.default_rng(2)
    block.X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    indices = np.tile(np.arange(n_features, dtype=np.uint32), n_rows)
    block.rows = np.arange(n_rows + 1) * n_features, indices, block.X.ravel()
    norms = (block.X.astype(np.float64) ** 2).sum(axis=1).astype(dtype)
    block.problem = block.problem._replace(rows=block.rows, norms=norms)
    return block


def test_is_full_and_rows_of_visits():
    block = full_block(np.float32)
    assert same_as_python(dense_rows.is_full, block.rows, np.zeros((5, WIDTH)))
    assert not same_as_python(dense_rows.is_full, block.rows, np.zeros((6, WIDTH)))
    visits = np.array([3, 1, 7, 2, 9], np.int32)
    np.testing.assert_array_equal(same_as_python(dense_rows.row_of, block.rows, visits, 2), block.X[7])
    for v, expected in ((0, [3, 1, 7, 2]), (3, [2, 9, 9, 9])):  # the last one is repeated
        np.testing.assert_array_equal(same_as_python(dense_rows.four_rows, block.rows, visits, v), block.X[expected])


@every_type
def test_products_and_steps_of_four_rows(dtype):
    block, random = full_block(dtype), np.random.default_rng(3)
    visits, W = np.array([4, 4, 0, 9, 10, 2], np.int32), random.normal(size=(5, WIDTH)).astype(dtype)
    chosen = block.X.astype(np.float64)[visits]
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-12}
    products, steps = np.zeros((2, 4, WIDTH), dtype)
    _, after = close_to_python(dense_rows, dense_rows.dot_tile, block.rows, visits, 1, W, products, **close)
    np.testing.assert_allclose(after[-1], chosen[1:5] @ W, **close)
    inner, _ = close_to_python(dense_rows, dense_rows.multiply_rows, block.X[4], block.X[9], W, **close)
    np.testing.assert_allclose(inner, chosen[0] @ chosen[3], **close)
    step = random.normal(size=(1, WIDTH)).astype(dtype)
    _, after = close_to_python(dense_rows, carry_stored, block.rows, visits, 4, step, products, steps, **close)
    np.testing.assert_allclose(after[-2][1], chosen[4] @ chosen[5] * step[0], **close)
    np.testing.assert_array_equal(after[-2][[0, 2, 3]], 0)  # rows before, and beyond the last
    np.testing.assert_array_equal(after[-1], np.concatenate([step, np.zeros((3, WIDTH))]))
    steps = random.normal(size=(4, WIDTH)).astype(dtype)
    _, after = close_to_python(dense_rows, dense_rows.add_tile, block.rows, visits, 1, W, steps, **close)
    np.testing.assert_allclose(after[-2], W + chosen[1:5].T @ steps, **close)
    np.testing.assert_array_equal(after[-1], 0)


@every_loss
@pytest.mark.parametrize("n_visits", [1, 4, 7, 11])
def test_sweep_over_full_rows_is_the_sweep_over_any_rows(loss, n_visits):
    block = full_block(np.float64)
    visits, swept = np.random.default_rng(4).permutation(11)[:n_visits].astype(np.int32), []
    for n_features in (5, 6):  # with a sixth feature, in which rows have no entry, they are not full
        W, alpha = np.zeros((n_features, WIDTH)), np.full((11, WIDTH), 0.01)
        state, active = np.zeros((4, WIDTH)), np.empty(11, np.int32)
        one_vs_rest.rest_beyond(state, np.float64(np.inf))
        one_vs_rest.weights_of(block.rows, block.mask, alpha, W)
        n_active = one_vs_rest.sweep(block.problem, loss, visits, W, alpha, state, 1e-3, active)
        swept.append((W[:5], alpha, state, active[:n_active]))
        expected = np.zeros((n_features, WIDTH))
        one_vs_rest.weights_of(block.rows, block.mask, alpha, expected)
        np.testing.assert_allclose(W, expected, rtol=1e-6, atol=1e-9)
    for one, other in zip(*swept, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, dense_rows) == []
