"""The squared loss of ridge regression on ±1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.kernels.lanes import where
from cladist.kernels.surrogate import HALF, INFINITY, ONE, ZERO


class Squared(NamedTuple):
    """ℓ(m) = (1 − m)²; gain(s) = s − s² / 4, α unbounded.

    Attributes and methods are those of `cladist.surrogates.Surrogate`.

    Examples
    --------
    >>> Squared().value(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 1.0]
    """

    smooth: bool = True
    sparse_dual: bool = False
    positive_share: float = 0.0
    negative_share: float = 0.0
    violation_per_gap: float = 10.0
    constant_factor: float = 0.25
    largest_violation: float = 0.1
    smallest_violation: float = 1e-10

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
