"""Sixteen numbers at a time: what is compiled against what numpy says."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from llvmlite.binding import get_host_cpu_features
from numba.core.errors import NumbaError

from cladist.kernels import lanes
from cladist.kernels.jit import kernel

numbers = hnp.arrays(np.float32, (2, lanes.WIDTH), elements=st.floats(-1e3, 1e3, width=32))
wide_numbers = hnp.arrays(np.float64, (2, lanes.WIDTH), elements=st.floats(-1e3, 1e3))


@kernel
def arithmetic(values, out):
    x, y = lanes.load(values, 0), lanes.load(values, 1)
    lanes.store(out, 0, x + y)
    lanes.store(out, 1, x - y)
    lanes.store(out, 2, x * y)
    lanes.store(out, 3, x / (y * y + 1.0))
    lanes.store(out, 4, 2.0 - x)
    lanes.store(out, 5, lanes.spread(3, out))


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


@kernel
def mixtures(narrow, wide, factor, mask, out):
    x, y = lanes.load(narrow, 0), lanes.load(wide, 0)
    lanes.store(out, 0, x + y)
    lanes.store(out, 1, y - x)
    lanes.store(out, 2, x * y)
    lanes.store(out, 3, x / (y * y + 1.0))
    lanes.store(out, 4, lanes.fused(factor, x, y))
    lanes.store(out, 5, lanes.fused(y, factor, x))
    lanes.store(out, 6, lanes.where(x < y, x, y))
    lanes.store(out, 7, lanes.where(lanes.bits(mask), x, 0.1))
    lanes.store(out, 8, lanes.where(lanes.bits(mask), y, 0.1))
    lanes.store(out, 9, x)
    return lanes.any_of(y >= x), lanes.all_of(x <= y)


@kernel
def spread_like(x, like, out):
    lanes.store(out, 0, lanes.spread(x, like))


@kernel
def kept(values, out):
    lanes.store(out, 0, lanes.load(values, 0))


def both(function, values, n_rows, *arguments):
    """Run compiled and as Python; the results stand in two arrays."""
    outs = [np.zeros((n_rows, lanes.WIDTH), values.dtype) for _ in range(2)]
    answers = [f(values, *arguments, out) for f, out in zip((function, function.py_func), outs, strict=True)]
    assert answers[0] == answers[1]
    return outs


@given(numbers)
def test_arithmetic(values):
    compiled, plain = both(arithmetic, values, 6)
    np.testing.assert_allclose(compiled, plain, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(plain[0], operator.add(*values))


@given(wide_numbers)
def test_arithmetic_of_wide_lanes(values):
    compiled, plain = both(arithmetic, values, 6)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(plain[0], operator.add(*values))
    np.testing.assert_array_equal(compiled[0], operator.add(*values))


@given(numbers, wide_numbers, st.floats(-10, 10, width=32), st.integers(0, 2**16 - 1))
def test_narrow_and_wide_lanes_give_wide_ones(narrow, wide, factor, mask):
    outs = [np.zeros((10, lanes.WIDTH)) for _ in range(2)]
    arguments = narrow, wide, np.float32(factor), mask
    assert mixtures(*arguments, outs[0]) == mixtures.py_func(*arguments, outs[1])
    np.testing.assert_allclose(*outs, rtol=1e-6, atol=1e-3)  # in Python two float32 are multiplied as such
    x, y = narrow[0].astype(np.float64), wide[0]
    for out in outs:
        for row, expected in enumerate((x + y, y - x, x * y, x / (y * y + 1))):
            np.testing.assert_allclose(out[row], expected, rtol=1e-14)
        np.testing.assert_array_equal(out[6], np.minimum(x, y))
        np.testing.assert_array_equal(out[9], x)
    np.testing.assert_allclose(outs[0][4:6], [factor * x + y, y * factor + x], rtol=1e-12, atol=1e-10)


@given(st.one_of(st.floats(-1e3, 1e3), st.integers(-9, 9)))
def test_numbers_are_spread_as_the_array_has_them(x):
    for dtype in (np.float32, np.float64):
        like = np.zeros((1, lanes.WIDTH), dtype)
        outs = [np.zeros((1, lanes.WIDTH)) for _ in range(2)]
        spread_like(x, like, outs[0])
        spread_like.py_func(x, like, outs[1])
        np.testing.assert_array_equal(*outs)
        np.testing.assert_array_equal(outs[0], np.float64(dtype(x)))


def test_wide_lanes_do_not_go_into_narrow_memory():
    wide, narrow = np.full((1, lanes.WIDTH), 0.1), np.full((1, lanes.WIDTH), 0.1, np.float32)
    kept(narrow, wide)
    np.testing.assert_array_equal(wide, narrow)
    with pytest.raises(NumbaError):
        kept(wide, narrow)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_that_is_not_contiguous_is_refused(dtype):
    values = np.arange(4 * lanes.WIDTH, dtype=dtype).reshape(4, lanes.WIDTH)
    for other in (np.asfortranarray(values), values[::2]):
        with pytest.raises(NumbaError):
            kept(other, values)
        with pytest.raises(NumbaError):
            kept(values, other)


@given(st.one_of(numbers, wide_numbers), st.integers(0, 2**16 - 1))
def test_choices(values, mask):
    outs = [np.zeros((3, lanes.WIDTH), values.dtype) for _ in range(2)]
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
    if get_host_cpu_features().get("fma"):  # elsewhere products are rounded before they are added
        np.testing.assert_array_equal(compiled, plain)


def test_exponentials_of_wide_lanes_are_as_right_as_those_of_narrow_ones():
    values = np.linspace(-100, 100, 1000 * lanes.WIDTH).reshape(-1, lanes.WIDTH)
    compiled, plain = both(exponentials, values, 1000)
    narrow, _ = both(exponentials, values.astype(np.float32), 1000)
    np.testing.assert_array_equal(compiled, narrow)
    np.testing.assert_allclose(compiled, plain, rtol=2e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", range(4))
def test_rows_need_not_be_aligned(offset, dtype):
    memory = np.zeros(4 + 3 * lanes.WIDTH, dtype)
    values = memory[offset : offset + 3 * lanes.WIDTH].reshape(3, lanes.WIDTH)
    values[:2] = np.arange(2 * lanes.WIDTH).reshape(2, -1)

    lanes_sum(values)
    np.testing.assert_array_equal(values[2], values[0] + values[1])
    assert memory[:offset].sum() == 0
    assert memory[offset + 3 * lanes.WIDTH :].sum() == 0


@kernel
def lanes_sum(values):
    lanes.store(values, 2, lanes.load(values, 0) + lanes.load(values, 1))
