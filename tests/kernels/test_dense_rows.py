"""Rows with dense columns: visits to four at a time are visits to one after the other, and rows are as those of CSR."""

import numpy as np
import pytest

from cladist.kernels import dense_rows, joint, lanes, one_vs_rest
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH
from tests.kernels.blocks import HINGE, LOGISTIC, SURROGATES, Block
from tests.kernels.sources import close_to_python
from tests.twins import kernels_not_named_in, same_as_python

every_loss = pytest.mark.parametrize("loss", SURROGATES, ids=lambda loss: type(loss).__name__)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
DENSE = (6, 4)  # of six features: all, or beside two sparse ones


@kernel
def carry_stored(rows, visits, v, step, products, steps):
    dense_rows.carry_step(rows, visits, v, lanes.load(step, 0), products, steps)


@kernel
def put_products(rows, i, place, W, products, out):
    lanes.store(out, 0, dense_rows.dot_mixed(rows, i, W, out))
    lanes.store(out, 1, dense_rows.dot_dense(rows[3][i], W, out))
    lanes.store(out, 2, dense_rows.tile_product(rows, i, place, W, products))
    lanes.store(out, 3, dense_rows.dot_sparse(rows, i, W, out))


@kernel
def add_stored(rows, i, W, steps, whole):
    if whole:
        dense_rows.add_mixed(rows, i, W, lanes.load(steps, 0))
    else:
        dense_rows.add_sparse(rows, i, W, lanes.load(steps, 0))


def closeness(dtype):
    return {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-12}


def block_of(n_dense, dtype=np.float64, n_rows=11):
    """Sixteen problems over rows some features of which are dense columns; the same for any number of these."""
    return Block(1, dtype, n_rows, n_dense=n_dense)


def test_kinds_and_lengths_of_rows():
    for n_dense, length in ((0, None), (6, 6)):
        block = block_of(n_dense)
        assert same_as_python(dense_rows.has_dense, block.rows) == (n_dense > 0)
        expected = np.count_nonzero(block.X[3]) if length is None else length
        assert same_as_python(dense_rows.row_length, block.rows, 3) == expected
    assert dense_rows.row_length(block_of(4).rows, 3) == 4 + np.count_nonzero(block_of(4).X[3, :2])


def test_rows_of_visits():
    block, visits = block_of(4), np.array([3, 1, 7, 2, 9], np.int32)
    dense = block.X[:, 2:].astype(np.float32)
    np.testing.assert_array_equal(same_as_python(dense_rows.row_of, block.rows, visits, 2), dense[7])
    for v, expected in ((0, [3, 1, 7, 2]), (3, [2, 9, 9, 9])):  # the last one is repeated
        np.testing.assert_array_equal(same_as_python(dense_rows.four_rows, block.rows, visits, v), dense[expected])


@every_type
@pytest.mark.parametrize("n_dense", DENSE)
def test_products_of_one_row(n_dense, dtype):
    block, close = block_of(n_dense, dtype), closeness(dtype)
    random = np.random.default_rng(3)
    W, products = random.normal(size=(6, WIDTH)).astype(dtype), random.normal(size=(4, WIDTH)).astype(dtype)
    for i in range(11):
        arguments = block.rows, i, 2, W, products, np.zeros((4, WIDTH), dtype)
        _, (*_, out) = close_to_python(dense_rows, put_products, *arguments, **close)
        n_sparse = 6 - n_dense
        beside = block.X[i, :n_sparse] @ W[:n_sparse]
        np.testing.assert_allclose(out[0], block.X[i] @ W, **close)
        np.testing.assert_allclose(out[1], block.X[i, n_sparse:] @ W[n_sparse:], **close)
        np.testing.assert_allclose(out[2], products[2] + beside, **close)
        np.testing.assert_allclose(out[3], beside, **close)


@every_type
@pytest.mark.parametrize("n_dense", DENSE)
def test_steps_along_one_row(n_dense, dtype):
    block, close = block_of(n_dense, dtype), closeness(dtype)
    W, steps = np.random.default_rng(4).normal(size=(6, WIDTH)).astype(dtype), np.ones((1, WIDTH), dtype) * 0.5
    x = block.X[3]
    for whole in (True, False):
        _, (_, _, added, *_) = close_to_python(dense_rows, add_stored, block.rows, 3, W, steps, whole, **close)
        moved = x if whole else np.where(np.arange(6) < 6 - n_dense, x, 0)
        np.testing.assert_allclose(added, W + 0.5 * moved[:, None], **close)
    _, (*_, added, _) = close_to_python(dense_rows, dense_rows.add_to_column, block.rows, 3, dtype(2), W, 5, **close)
    np.testing.assert_allclose(added[:, 5], W[:, 5] + 2 * x, **close)
    vector = W[:, 0].copy()
    _, (*_, added) = close_to_python(dense_rows, dense_rows.add_to_vector, block.rows, 3, dtype(2), vector, **close)
    np.testing.assert_allclose(added, W[:, 0] + 2 * x, **close)


@every_type
@pytest.mark.parametrize("n_dense", DENSE)
def test_products_and_steps_of_four_rows(n_dense, dtype):
    block, random, close = block_of(n_dense, dtype), np.random.default_rng(3), closeness(dtype)
    visits, W = np.array([4, 4, 0, 9, 10, 2], np.int32), random.normal(size=(6, WIDTH)).astype(dtype)
    chosen, first = block.X[visits, 6 - n_dense :], 6 - n_dense
    products, steps = np.zeros((2, 4, WIDTH), dtype)
    _, after = close_to_python(dense_rows, dense_rows.dot_tile, block.rows, visits, 1, W, products, **close)
    np.testing.assert_allclose(after[-1], chosen[1:5] @ W[first:], **close)
    dense = block.rows[3]
    inner, _ = close_to_python(dense_rows, dense_rows.multiply_rows, dense[4], dense[9], W, **close)
    np.testing.assert_allclose(inner, chosen[0] @ chosen[3], **close)
    step = random.normal(size=(1, WIDTH)).astype(dtype)
    _, after = close_to_python(dense_rows, carry_stored, block.rows, visits, 4, step, products, steps, **close)
    np.testing.assert_allclose(after[-2][1], chosen[4] @ chosen[5] * step[0], **close)
    np.testing.assert_array_equal(after[-2][[0, 2, 3]], 0)  # rows before, and beyond the last
    np.testing.assert_array_equal(after[-1], np.concatenate([step, np.zeros((3, WIDTH))]))
    steps = random.normal(size=(4, WIDTH)).astype(dtype)
    _, after = close_to_python(dense_rows, dense_rows.add_tile, block.rows, visits, 1, W, steps, **close)
    np.testing.assert_allclose(after[-2][first:], W[first:] + chosen[1:5].T @ steps, **close)
    np.testing.assert_array_equal(after[-2][:first], W[:first])
    np.testing.assert_array_equal(after[-1], 0)


# ---------------------------------------------------------------- kernels give the same for dense columns as for CSR


@every_loss
@pytest.mark.parametrize("n_visits", [1, 4, 7, 11])
def test_sweeps_are_those_over_csr(loss, n_visits):
    visits, swept = np.random.default_rng(4).permutation(11)[:n_visits].astype(np.int32), []
    for n_dense in (0, *DENSE):
        block = block_of(n_dense)
        W, alpha = np.zeros((6, WIDTH)), np.full((11, WIDTH), 0.01)
        state, active = np.zeros((4, WIDTH)), np.empty(11, np.int32)
        one_vs_rest.rest_beyond(state, np.float64(np.inf))
        one_vs_rest.weights_of(block.rows, block.mask, alpha, W)
        n_active = one_vs_rest.sweep(block.problem, loss, visits, W, alpha, state, 1e-3, active)
        swept.append((W, alpha, state, active[:n_active]))
        expected = np.zeros((6, WIDTH))
        one_vs_rest.weights_of(block.rows, block.mask, alpha, expected)
        np.testing.assert_allclose(W, expected, rtol=1e-6, atol=1e-9)
    for other in swept[1:]:
        for one, twin in zip(swept[0], other, strict=True):
            np.testing.assert_allclose(one, twin, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", [HINGE, LOGISTIC], ids=["hinge", "logistic"])
def test_joint_sweeps_are_those_over_csr(loss):
    overlap, visits, swept = np.eye(WIDTH) + 1, np.random.default_rng(5).permutation(11).astype(np.int32), []
    for n_dense in (0, *DENSE):
        block = block_of(n_dense)
        W, alpha = np.zeros((6, WIDTH)), np.full((11, WIDTH), 0.01)
        state, active, scratch = np.zeros((4, WIDTH)), np.empty(11, np.int32), np.zeros((joint.SCRATCH, WIDTH))
        one_vs_rest.rest_beyond(state, np.float64(np.inf))
        joint.add_rows(block.rows, block.mask, visits, alpha[visits], overlap, W)
        problem = block.problem._replace(norms=np.maximum(block.problem.norms, 1e-30))
        joint.sweep_joint(problem, loss, visits, W, alpha, overlap, state, 1e-3, active, scratch)
        expected = np.zeros((6, WIDTH))
        joint.add_rows(block.rows, block.mask, visits, alpha[visits], overlap, expected)
        np.testing.assert_allclose(W, expected, rtol=1e-6, atol=1e-9)
        swept.append((W, alpha))
    for other in swept[1:]:
        for one, twin in zip(swept[0], other, strict=True):
            np.testing.assert_allclose(one, twin, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", [HINGE, LOGISTIC], ids=["hinge", "logistic"])
def test_objectives_are_those_over_csr(loss):
    random, found = np.random.default_rng(6), []
    W, P, listed = random.normal(size=(6, WIDTH)), random.normal(size=(6, WIDTH)), np.arange(1, 10, dtype=np.int32)
    alpha = random.uniform(0, 0.2, (11, WIDTH))
    for n_dense in (0, *DENSE):
        block = block_of(n_dense)
        primal, gap, scaled, scaled_gap, scales = np.zeros((5, WIDTH))
        one_vs_rest.objectives(block.problem, loss, W, alpha, primal, gap)
        one_vs_rest.primals(block.problem, loss, P, scaled)
        one_vs_rest.best_scales(block.problem, loss, W, primal.copy(), scaled_gap, scales)
        parts = joint.joint_terms(block.problem, loss, W, alpha), joint.margin_products(block.problem, listed, W, alpha)
        lost, n_active = joint.leaf_losses(block.problem, loss, W, alpha, 0.05, np.empty(11, np.int32))
        lengths, vector = np.ones((1, WIDTH)), np.zeros(6)
        joint.best_lengths(block.problem, loss, listed, W, P, alpha, lengths)
        joint.add_change(block.rows, listed, np.arange(9) / 2, vector)
        found.append(np.hstack([primal, gap, scaled, scales, *parts, lost, n_active, lengths[0], vector]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6, atol=1e-9)


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, dense_rows) == []
