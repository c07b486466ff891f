"""The squared hinge loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.kernels.lanes import where
from cladist.kernels.surrogate import HALF, INFINITY, ONE, ZERO, clip, projected, rests_at_bound


class SquaredHinge(NamedTuple):
    """ℓ(m) = max(0, 1 − m)²; gain(s) = s − s² / 4, α ≥ 0.

    Attributes and methods are those of `cladist.surrogates.Surrogate`.

    Examples
    --------
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """

    smooth: bool = True
    sparse_dual: bool = True
    positive_share: float = 0.0
    negative_share: float = 0.0
    violation_per_gap: float = 150.0
    constant_factor: float = 0.25
    largest_violation: float = 0.5
    smallest_violation: float = 1e-10

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
