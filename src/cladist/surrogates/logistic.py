"""The logistic loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.kernels.lanes import any_of, exact_exp, exp, log, log1p, where
from cladist.kernels.surrogate import ONE, ZERO, clip, gain, slope

SMALLEST_SHARE, LARGEST_SHARE = 1e-300, 1.0 - 1e-16  # where logarithms are finite
NEWTON_STEPS = 30
NEWTON_EXACT = np.float32(0.0025)  # of step² · steepness, about the gap that is left


class Logistic(NamedTuple):
    """ℓ(m) = log(1 + e^−m); gain(s) = −s log s − (1 − s) log(1 − s), 0 < α < c.

    Attributes and methods are those of `cladist.surrogates.Surrogate`.

    Examples
    --------
    >>> Logistic().value(np.array([-1.0, 0.0, 2.0])).round(3).tolist()
    [1.313, 0.693, 0.127]
    """

    smooth: bool = True
    sparse_dual: bool = False
    positive_share: float = 0.5
    negative_share: float = 0.02
    violation_per_gap: float = 5.0
    constant_factor: float = 1.0
    largest_violation: float = 0.1
    smallest_violation: float = 1e-6  # exponentials are float32 in either precision

    def value(self, margin: Any) -> Any:
        below = where(margin < ZERO, margin, ZERO)
        return log1p(exact_exp(below + below - margin)) - below  # log(1 + e^−|m|) + max(0, −m): nothing overflows

    def slope(self, margin: Any) -> Any:
        below = where(margin < ZERO, margin, ZERO)
        return ZERO - exact_exp(below - margin) / (exact_exp(below) + exact_exp(below - margin))

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
