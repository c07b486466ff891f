"""Surrogate losses ℓ(m) of a margin m = y w·x: what linear learners minimise in place of errors.

Problem   min_w ½‖w‖² + Σ_i c_i ℓ(m_i), m_i = y_i w·x_i
Dual      max_α Σ_i c_i gain(α_i / c_i) − ½‖Σ_i α_i y_i x_i‖², gain(s) = −ℓ*(−s), α_i between its bounds; s is the share
          α / c. At the optimum α_i = −c_i ℓ'(m_i)

Each loss is a NamedTuple whose methods are its formulas. The same source serves numpy arrays and, compiled by
`cladist.kernels.surrogate`, the kernels. A new loss is one more class, and its entry in `SURROGATES`. Its fields:

smooth                      whether the slope is continuous
sparse_dual                 whether most α are at a bound at the optimum, so that their rows can be left out of sweeps
                            (shrinking); if not, a row is left out once its α no longer move
positive_share, negative_share  the shares that descent begins from
violation_per_gap           the violation of optimality that leaves about the relative duality gap tol, over tol
constant_factor             a factor of it where all rows share a constant feature
largest_violation           the violation that descent begins with at most
smallest_violation          the smallest violation that float64 can distinguish from rounding
newton_steps                the usual number of Newton steps over all rows, or their equivalent in steps over some rows

`value`, `slope`, `curvature`, `gain` and `lower_bound` take numpy's float64 numbers or arrays; `dual_bounds`,
`dual_step`, `violation` and `rests` take numpy numbers, arrays, or the sixteen lanes of a kernel, as float32 or
float64. `cladist.kernels.surrogate` says what they return. The others:

growth(factor)              the factor of α at a warm start where all costs are multiplied by a factor
balanced_shares(P, N)       the shares r and q with P r = N q that maximise P gain(r) + N gain(q)
first_violation(c)          the violation that sweeps over blocks of a joint dual leave at first; c is the largest cost
leaf_violation(tol, c)      the violation to which leaves are solved given their parents, for a relative gap of tol
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.kernels.lanes import any_of, exact_exp, exp, log, log1p, where
from cladist.kernels.surrogate import HALF, INFINITY, ONE, ZERO, clip, gain, projected, rests_at_bound, slope

SMALLEST_SHARE, LARGEST_SHARE = 1e-300, 1.0 - 1e-16  # where logarithms are finite
NEWTON_STEPS = 30
NEWTON_EXACT = np.float32(0.0025)  # of step² · steepness, about the gap that is left


class Hinge(NamedTuple):
    """ℓ(m) = max(0, 1 − m); gain(s) = s, 0 ≤ α ≤ c."""

    smooth: bool = False
    sparse_dual: bool = True
    positive_share: float = 0.0
    negative_share: float = 0.0
    violation_per_gap: float = 4.0
    constant_factor: float = 1.0
    largest_violation: float = 0.1
    smallest_violation: float = 1e-10
    newton_steps: int = 20

    def value(self, margin: Any) -> Any:
        return where(margin < ONE, ONE - margin, ZERO)

    def slope(self, margin: Any) -> Any:
        return where(margin < ONE, -ONE, ZERO)

    def curvature(self, margin: Any) -> Any:
        return 0.0 * margin

    def gain(self, share: Any) -> Any:
        return share

    def lower_bound(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return alpha * (1.0 - margin)

    def dual_bounds(self, cost: Any) -> tuple[Any, Any]:
        return ZERO, cost

    def dual_step(self, margin: Any, alpha: Any, cost: Any, norm: Any) -> tuple[Any, Any]:
        gradient = margin - ONE
        return clip(alpha - gradient / norm, ZERO, cost), projected(gradient, alpha, (ZERO, cost))

    def violation(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return projected(margin - ONE, alpha, (ZERO, cost))

    def rests(self, margin: Any, alpha: Any, cost: Any, above: Any, below: Any) -> Any:
        return rests_at_bound(margin - ONE, alpha, (ZERO, cost), above, below)

    def growth(self, factor: float) -> float:
        return factor  # most α are at a bound, and bounds move with the costs

    def balanced_shares(self, P: Any, N: Any) -> tuple[Any, Any]:
        both = np.minimum(P, N)
        return both / np.where(P > 0, P, 1), both / np.where(N > 0, N, 1)

    def first_violation(self, largest_cost: float) -> float:
        return 0.01 / largest_cost

    def leaf_violation(self, tol: float, largest_cost: float) -> float:
        return 0.1 * tol / largest_cost


class SquaredHinge(NamedTuple):
    """ℓ(m) = max(0, 1 − m)²; gain(s) = s − s² / 4, α ≥ 0."""

    smooth: bool = True
    sparse_dual: bool = True
    positive_share: float = 0.0
    negative_share: float = 0.0
    violation_per_gap: float = 150.0
    constant_factor: float = 0.25
    largest_violation: float = 0.5
    smallest_violation: float = 1e-10
    newton_steps: int = 5

    def value(self, margin: Any) -> Any:
        miss = where(margin < ONE, ONE - margin, ZERO)
        return miss * miss

    def slope(self, margin: Any) -> Any:
        return where(margin < ONE, 2.0 * (margin - ONE), ZERO)

    def curvature(self, margin: Any) -> Any:
        return 2.0 * (margin < 1)

    def gain(self, share: Any) -> Any:
        return share - share * share * 0.25

    def lower_bound(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return alpha * (1.0 - margin - 0.25 * where(cost > 0.0, alpha / cost, 0.0))

    def dual_bounds(self, cost: Any) -> tuple[Any, Any]:
        return ZERO, INFINITY

    def dual_step(self, margin: Any, alpha: Any, cost: Any, norm: Any) -> tuple[Any, Any]:
        damping = HALF / cost
        gradient = margin - ONE + damping * alpha
        after = alpha - gradient / (damping + norm)
        return clip(after, ZERO, INFINITY), projected(gradient, alpha, (ZERO, INFINITY))

    def violation(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return projected(margin - ONE + HALF / cost * alpha, alpha, (ZERO, INFINITY))

    def rests(self, margin: Any, alpha: Any, cost: Any, above: Any, below: Any) -> Any:
        return rests_at_bound(margin - ONE + HALF / cost * alpha, alpha, (ZERO, INFINITY), above, below)

    def growth(self, factor: float) -> float:
        return factor  # α = 2 c (1 − m), and margins move little

    def balanced_shares(self, P: Any, N: Any) -> tuple[Any, Any]:
        total = np.where(P + N > 0, P + N, 1)
        return 4.0 * N / total, 4.0 * P / total

    def first_violation(self, largest_cost: float) -> float:
        return 0.01 / largest_cost

    def leaf_violation(self, tol: float, largest_cost: float) -> float:
        return min(0.01, 10 * tol)


class Logistic(NamedTuple):
    """ℓ(m) = log(1 + e^−m); gain(s) = −s log s − (1 − s) log(1 − s), 0 < α < c."""

    smooth: bool = True
    sparse_dual: bool = False
    positive_share: float = 0.5
    negative_share: float = 0.02
    violation_per_gap: float = 5.0
    constant_factor: float = 1.0
    largest_violation: float = 0.1
    smallest_violation: float = 1e-6  # exponentials are float32 in either precision
    newton_steps: int = 5

    def value(self, margin: Any) -> Any:
        below = where(margin < ZERO, margin, ZERO)
        return log1p(exact_exp(below + below - margin)) - below  # log(1 + e^−|m|) + max(0, −m): nothing overflows

    def slope(self, margin: Any) -> Any:
        below = where(margin < ZERO, margin, ZERO)
        odds = exact_exp(below - margin)
        return ZERO - odds / (exact_exp(below) + odds)

    def curvature(self, margin: Any) -> Any:
        downhill = slope(self, margin)
        return -downhill * (1.0 + downhill)

    def gain(self, share: Any) -> Any:
        inside = clip(share, SMALLEST_SHARE, LARGEST_SHARE)
        return (inside - 1.0) * log1p(0.0 - inside) - inside * log(inside)

    def lower_bound(self, margin: Any, alpha: Any, cost: Any) -> Any:
        share = clip(where(cost > 0.0, alpha / cost, 0.0), 0.0, 1.0)
        return cost * (gain(self, share) - share * margin)

    def dual_bounds(self, cost: Any) -> tuple[Any, Any]:
        return ZERO, cost

    def dual_step(self, margin: Any, alpha: Any, cost: Any, norm: Any) -> tuple[Any, Any]:
        """Return α' = c σ(−t), t = m + (α' − α) ‖x‖² the margin that it leads to, by Newton's method on t.

        From 0, steps do not pass the solution, since the slope falls on either side; from elsewhere a step may pass 0,
        and is cut short there once. Two steps are nearly always enough.
        """
        t = margin
        for _ in range(NEWTON_STEPS):
            wrong = ONE / (exp(t) + ONE)
            steepness = cost * norm * wrong * (ONE - wrong) + ONE
            moved = t - (t - margin - (cost * wrong - alpha) * norm) / steepness
            passed = ((t > ZERO) & (moved < ZERO)) | ((t < ZERO) & (moved > ZERO))
            moved = where(passed, ZERO, moved)
            step = moved - t
            t = moved
            if not any_of(passed | (step * step * steepness > NEWTON_EXACT)):  # a step cut short proves nothing
                break
        after = cost / (exp(t) + ONE)
        change = (after - alpha) / cost
        return after, where(change > ZERO, change, ZERO - change)

    def violation(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return ONE / (exp(margin) + ONE) - alpha / cost  # the best α is between the present one and c σ(−m)

    def rests(self, margin: Any, alpha: Any, cost: Any, above: Any, below: Any) -> Any:
        return cost < ZERO  # never: α is between its bounds

    def growth(self, factor: float) -> float:
        return min(factor, 1.0)  # ten times the α = c σ(−m) would be ten times the margins; only c must not be passed

    def balanced_shares(self, P: Any, N: Any) -> tuple[Any, Any]:
        total = np.where(P + N > 0, P + N, 1)
        return N / total, P / total

    def first_violation(self, largest_cost: float) -> float:
        return 0.001  # violations are shares of c

    def leaf_violation(self, tol: float, largest_cost: float) -> float:
        return 0.1 * tol


class Squared(NamedTuple):
    """ℓ(m) = (1 − m)²; gain(s) = s − s² / 4, α unbounded."""

    smooth: bool = True
    sparse_dual: bool = False
    positive_share: float = 0.0
    negative_share: float = 0.0
    violation_per_gap: float = 10.0
    constant_factor: float = 0.25
    largest_violation: float = 0.1
    smallest_violation: float = 1e-10
    newton_steps: int = 1

    def value(self, margin: Any) -> Any:
        return (1.0 - margin) * (1.0 - margin)

    def slope(self, margin: Any) -> Any:
        return -2.0 * (1.0 - margin)

    def curvature(self, margin: Any) -> Any:
        return 2.0 + 0.0 * margin

    def gain(self, share: Any) -> Any:
        return share - share * share * 0.25

    def lower_bound(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return alpha * (1.0 - margin - 0.25 * where(cost > 0.0, alpha / cost, 0.0))

    def dual_bounds(self, cost: Any) -> tuple[Any, Any]:
        return -INFINITY, INFINITY

    def dual_step(self, margin: Any, alpha: Any, cost: Any, norm: Any) -> tuple[Any, Any]:
        damping = HALF / cost
        gradient = margin - ONE + damping * alpha
        return alpha - gradient / (damping + norm), gradient

    def violation(self, margin: Any, alpha: Any, cost: Any) -> Any:
        return margin - ONE + HALF / cost * alpha

    def rests(self, margin: Any, alpha: Any, cost: Any, above: Any, below: Any) -> Any:
        return cost < ZERO  # never: there are no bounds

    def growth(self, factor: float) -> float:
        return factor  # α = 2 c (1 − m), and margins move little

    def balanced_shares(self, P: Any, N: Any) -> tuple[Any, Any]:
        total = np.where(P + N > 0, P + N, 1)
        return 4.0 * N / total, 4.0 * P / total

    def first_violation(self, largest_cost: float) -> float:
        return 0.01 / largest_cost

    def leaf_violation(self, tol: float, largest_cost: float) -> float:
        return min(0.01, 10 * tol)


Surrogate = Hinge | SquaredHinge | Logistic | Squared
SURROGATES: dict[str, Surrogate] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared": Squared(),
}
