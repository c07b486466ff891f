"""The hinge loss of support vector machines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.kernels.lanes import where
from cladist.kernels.surrogate import ONE, ZERO, clip, projected, rests_at_bound


class Hinge(NamedTuple):
    """ℓ(m) = max(0, 1 − m); gain(s) = s, 0 ≤ α ≤ c.

    Attributes and methods are those of `cladist.surrogates.Surrogate`.

    Examples
    --------
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """

    smooth: bool = False
    sparse_dual: bool = True
    positive_share: float = 0.0
    negative_share: float = 0.0
    violation_per_gap: float = 4.0
    constant_factor: float = 1.0
    largest_violation: float = 0.1
    smallest_violation: float = 1e-10

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
