"""Sixteen numbers at a time: what is compiled against what numpy says."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import lanes
from cladist.kernels.jit import kernel

numbers = hnp.arrays(np.float32, (2, lanes.WIDTH), elements=st.floats(-1e3, 1e3, width=32))


@kernel
def arithmetic(values, out):
    x, y = lanes.load(values, 0), lanes.load(values, 1)
    lanes.store(out, 0, x + y)
    lanes.store(out, 1, x - y)
    lanes.store(out, 2, x * y)
    lanes.store(out, 3, x / (y * y + 1.0))
    lanes.store(out, 4, 2.0 - x)
    lanes.store(out, 5, lanes.spread(3))


@kernel
def choices(values, out, mask):
    x, y = lanes.load(values, 0), lanes.load(values, 1)
    lanes.store(out, 0, lanes.where((x < y) | (x > 5.0), x, y))
    lanes.store(out, 1, lanes.where((x <= y) & (y >= 0.0), 1.0, x))
    lanes.store(out, 2, lanes.where(lanes.bits(mask), x, -1.0))
    return lanes.any_of(x > y), lanes.all_of(x > y), lanes.any_of(lanes.bits(mask)), lanes.all_of(lanes.bits(mask))


@kernel
def products(values, factor, out):
    lanes.store(out, 0, lanes.fused(factor, lanes.load(values, 0), lanes.load(values, 1)))


@kernel
def exponentials(values, out):
    for i in range(values.shape[0]):
        lanes.store(out, i, lanes.exp(lanes.load(values, i)))


def both(function, values, n_rows, *arguments):
    """Run compiled and as Python; the results stand in two arrays."""
    outs = [np.zeros((n_rows, lanes.WIDTH), np.float32) for _ in range(2)]
    answers = [f(values, *arguments, out) for f, out in zip((function, function.py_func), outs, strict=True)]
    assert answers[0] == answers[1]
    return outs


@given(numbers)
def test_arithmetic(values):
    compiled, plain = both(arithmetic, values, 6)
    np.testing.assert_allclose(compiled, plain, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(plain[0], operator.add(*values))


@given(numbers, st.integers(0, 2**16 - 1))
def test_choices(values, mask):
    outs = [np.zeros((3, lanes.WIDTH), np.float32) for _ in range(2)]
    assert choices(values, outs[0], mask) == choices.py_func(values, outs[1], mask)
    np.testing.assert_array_equal(*outs)
    x, y = values
    assert choices(values, outs[0], mask)[:2] == (bool((x > y).any()), bool((x > y).all()))
    assert choices(values, outs[0], mask)[2:] == (mask != 0, mask == 2**16 - 1)


@given(numbers, st.floats(-10, 10, width=32))
def test_fused_products(values, factor):
    compiled, plain = both(products, values, 1, np.float32(factor))
    # One rounding instead of two, where the machine can.
    np.testing.assert_allclose(compiled, plain, rtol=1e-6, atol=1e-3)


def test_exponentials_are_right_to_the_last_places():
    values = np.linspace(-100, 100, 1000 * lanes.WIDTH, dtype=np.float32).reshape(-1, lanes.WIDTH)
    compiled, plain = both(exponentials, values, 1000)
    exact = np.exp(np.clip(values.astype(np.float64), -80, 80))
    np.testing.assert_allclose(compiled, exact, rtol=2e-7)
    np.testing.assert_allclose(plain, exact, rtol=2e-7)


@pytest.mark.parametrize("offset", range(4))
def test_rows_need_not_be_aligned(offset):
    memory = np.zeros(4 + 3 * lanes.WIDTH, np.float32)
    values = memory[offset : offset + 3 * lanes.WIDTH].reshape(3, lanes.WIDTH)
    values[:2] = np.arange(2 * lanes.WIDTH).reshape(2, -1)

    lanes_sum(values)
    np.testing.assert_array_equal(values[2], values[0] + values[1])
    assert memory[:offset].sum() == 0
    assert memory[offset + 3 * lanes.WIDTH :].sum() == 0


@kernel
def lanes_sum(values):
    lanes.store(values, 2, lanes.load(values, 0) + lanes.load(values, 1))
