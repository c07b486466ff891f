"""Laws of all surrogate losses: their formulas against finite differences, brute force and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from cladist.kernels import surrogate as calls
from cladist.kernels.jit import kernel
from cladist.surrogates import SURROGATES, Hinge

every_surrogate = pytest.mark.parametrize("surrogate", SURROGATES.values(), ids=list(SURROGATES))
margins = st.floats(-8, 8)
costs = st.floats(0.1, 10)
seeds = st.integers(0, 2**32 - 1)
STEP = 1e-6


def feasible(surrogate, cost, position):
    """An α within its bounds, `position` of the way between them; unbounded sides go three costs far."""
    low, high = surrogate.dual_bounds(np.float64(cost))
    low = -3 * cost if low == -np.inf else float(low)
    high = 3 * cost if high == np.inf else float(high)
    return np.float64(low + position * (high - low))


@every_surrogate
@given(m=margins)
def test_the_slope_is_that_of_the_value(surrogate, m):
    m = np.float64(m)
    if abs(m - 1) > 2 * STEP:  # where the hinges have their kink
        difference = (surrogate.value(m + STEP) - surrogate.value(m - STEP)) / (2 * STEP)
        assert surrogate.slope(m) == pytest.approx(difference, rel=1e-6, abs=1e-8)


@every_surrogate
@given(m=margins)
def test_the_curvature_is_that_of_the_slope(surrogate, m):
    m = np.float64(m)
    if abs(m - 1) > 2 * STEP:
        difference = (surrogate.slope(m + STEP) - surrogate.slope(m - STEP)) / (2 * STEP)
        assert surrogate.curvature(m) == pytest.approx(difference, rel=1e-6, abs=1e-8)


@every_surrogate
def test_smooth_means_a_continuous_slope(surrogate):
    m = np.linspace(-3, 3, 60_001)
    jumps = np.abs(np.diff(surrogate.slope(m)))
    assert surrogate.smooth == bool(np.all(jumps < 1e-3))
    assert np.all(np.diff(surrogate.slope(m)) >= -1e-12)  # convex


@every_surrogate
@given(position=st.floats(0, 1))
def test_the_gain_is_the_least_of_value_and_share_times_margin(surrogate, position):
    """gain(s) = −ℓ*(−s) = min_m ℓ(m) + s m; at shares 0 and 1 the least may be at infinity."""
    share = feasible(surrogate, 1.0, position)
    grid = np.linspace(-40, 40, 8001)
    around = grid[np.argmin(surrogate.value(grid) + share * grid)]
    least = minimize_scalar(
        lambda m: float(surrogate.value(np.float64(m)) + share * m),
        bounds=(around - 0.02, around + 0.02),
        method="bounded",
        options={"xatol": 1e-12},
    ).fun
    assert float(surrogate.gain(share)) == pytest.approx(least, rel=1e-6, abs=1e-6)


@every_surrogate
@given(m=margins, position=st.floats(0, 1))
def test_fenchel_and_young(surrogate, m, position):
    m, share = np.float64(m), feasible(surrogate, 1.0, position)
    value, bound = surrogate.value(m), surrogate.lower_bound(m, share, np.float64(1))
    assert value - bound >= -1e-12 * (1 + abs(bound))
    assert bound == pytest.approx(surrogate.gain(share) - share * m, rel=1e-9, abs=1e-9)
    best = -surrogate.slope(m)
    assert surrogate.lower_bound(m, best, np.float64(1)) == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert surrogate.lower_bound(m, 3 * share, np.float64(3)) == pytest.approx(3 * bound, rel=1e-9, abs=1e-9)


@every_surrogate
@settings(max_examples=200)
@given(m=margins, cost=costs, position=st.floats(0, 1), norm=st.floats(0.01, 20))
def test_the_dual_step_is_the_best_of_one_alpha(surrogate, m, cost, position, norm):
    alpha = feasible(surrogate, cost, position)
    m, cost, norm = np.float64(m), np.float64(cost), np.float64(norm)

    def dual(a):
        return float(cost * surrogate.gain(np.float64(a) / cost) - a * m - 0.5 * (a - alpha) ** 2 * norm)

    after, violation = surrogate.dual_step(m, alpha, cost, norm)
    low, high = surrogate.dual_bounds(cost)
    assert low <= after <= high
    ends = max(float(low), -500.0), min(float(high), 500.0)
    best = minimize_scalar(lambda a: -dual(a), bounds=ends, method="bounded", options={"xatol": 1e-9})
    assert dual(after) >= -best.fun - 1e-4 * (1 + abs(best.fun))
    assert dual(after) >= dual(alpha) - 1e-6 * (1 + abs(dual(alpha)))
    if abs(violation) < 1e-9:
        assert after == pytest.approx(alpha, abs=1e-6)
    bound = surrogate.violation(m, alpha, cost)
    assert abs(bound) >= abs(violation) - 1e-6


@every_surrogate
@given(m=margins, cost=costs, position=st.sampled_from([0.0, 0.3, 1.0]), limit=st.floats(0.01, 2))
def test_an_alpha_that_rests_is_at_a_bound_and_does_not_move(surrogate, m, cost, position, limit):
    m, cost, alpha = np.float64(m), np.float64(cost), feasible(surrogate, cost, position)
    if surrogate.rests(m, alpha, cost, np.float64(limit), -np.float64(limit)):
        assert alpha in surrogate.dual_bounds(cost)
        assert surrogate.sparse_dual
        after, violation = surrogate.dual_step(m, alpha, cost, np.float64(1))
        assert after == alpha
        assert violation == 0


@every_surrogate
@given(P=costs, N=costs)
def test_balanced_shares_balance(surrogate, P, N):
    r, q = surrogate.balanced_shares(np.array([P]), np.array([N]))
    assert P * r[0] == pytest.approx(N * q[0])

    def gain(total):
        return P * surrogate.gain(np.float64(total / P)) + N * surrogate.gain(np.float64(total / N))

    for factor in (0.9, 0.99):
        assert gain(P * r[0]) >= gain(factor * P * r[0]) - 1e-12


@kernel
def call_all(surrogate, margin, alpha, cost, norm):
    after, violation = calls.dual_step(surrogate, margin, alpha, cost, norm)
    low, high = calls.dual_bounds(surrogate, cost)
    return (
        calls.value(surrogate, margin),
        calls.slope(surrogate, margin),
        calls.gain(surrogate, alpha / cost),
        calls.lower_bound(surrogate, margin, alpha, cost),
        after,
        violation,
        calls.violation(surrogate, margin, alpha, cost),
        float(low),
        float(high),
        calls.rests(surrogate, margin, alpha, cost, 0.1, -0.1),
    )


@every_surrogate
@given(m=margins, cost=costs, position=st.floats(0, 1), norm=st.floats(0.01, 20))
def test_kernels_compile_the_methods(surrogate, m, cost, position, norm):
    numbers = np.float64(m), feasible(surrogate, cost, position), np.float64(cost), np.float64(norm)
    np.testing.assert_allclose(
        call_all(surrogate, *numbers), call_all.py_func(surrogate, *numbers), rtol=1e-9, atol=1e-12
    )


@every_surrogate
def test_arrays_and_numbers_agree_in_either_precision(surrogate):
    m, cost = np.linspace(-3, 3, 16), np.full(16, 2.0)
    alpha = np.array([feasible(surrogate, 2.0, p) for p in np.linspace(0.1, 0.9, 16)])
    wide = surrogate.dual_step(m, alpha, cost, np.float64(1.5))
    narrow = surrogate.dual_step(*(x.astype(np.float32) for x in (m, alpha, cost)), np.float32(1.5))
    for one, other in zip(wide, narrow, strict=True):
        assert one.dtype == np.float64
        assert other.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    numbers = [surrogate.dual_step(*pair, np.float64(1.5))[0] for pair in zip(m, alpha, cost, strict=True)]
    np.testing.assert_allclose(wide[0], numbers, rtol=1e-3, atol=1e-5)


def test_a_surrogate_is_a_value():
    assert Hinge() == SURROGATES["hinge"]
    assert len(set(SURROGATES.values())) == len(SURROGATES)
