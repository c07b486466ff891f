"""The formulas that solvers and kernels ask of a surrogate loss."""

from __future__ import annotations

from typing import Any, Protocol


class Surrogate(Protocol):
    """A convex loss ℓ of a margin m, as used in min_w ½‖w‖² + Σ_i c_i ℓ(m_i), m_i = y_i w·x_i.

    The dual is max_α Σ_i c_i gain(α_i / c_i) − ½‖Σ_i α_i y_i x_i‖², gain(s) = −ℓ*(−s), α_i between its bounds; s is the
    share α / c. At the optimum α_i = −c_i ℓ'(m_i).

    `value`, `slope`, `curvature`, `gain` and `lower_bound` take numpy's float64 numbers or arrays. `dual_bounds`,
    `dual_step`, `violation` and `rests` take numpy numbers, arrays, or the sixteen lanes of a kernel, as float32 or
    float64.

    Attributes
    ----------
    smooth : bool
        Whether the slope is continuous.
    sparse_dual : bool
        Whether most α are at a bound at the optimum, so that their rows can be left out of sweeps (shrinking). If not,
        a row is left out once its α no longer move.
    positive_share, negative_share : float
        The shares that descent begins from.
    violation_per_gap : float
        The violation of optimality that leaves about the relative duality gap `tol`, as a multiple of `tol`.
    constant_factor : float
        A factor of it where all rows share a constant feature.
    largest_violation : float
        The violation that descent begins with at most.
    smallest_violation : float
        The smallest violation that float64 can distinguish from rounding.
    """

    @property
    def smooth(self) -> bool: ...
    @property
    def sparse_dual(self) -> bool: ...
    @property
    def positive_share(self) -> float: ...
    @property
    def negative_share(self) -> float: ...
    @property
    def violation_per_gap(self) -> float: ...
    @property
    def constant_factor(self) -> float: ...
    @property
    def largest_violation(self) -> float: ...
    @property
    def smallest_violation(self) -> float: ...

    def value(self, margin: Any) -> Any:
        """Return ℓ(m)."""

    def slope(self, margin: Any) -> Any:
        """Return ℓ'(m)."""

    def curvature(self, margin: Any) -> Any:
        """Return ℓ''(m)."""

    def gain(self, share: Any) -> Any:
        """Return −ℓ*(−s) = min_m ℓ(m) + s m: the gain of α = s c in the dual, for c = 1."""

    def lower_bound(self, margin: Any, alpha: Any, cost: Any) -> Any:
        """Return c gain(α / c) − α m ≤ c ℓ(m) (Fenchel and Young), with equality for α = −c ℓ'(m)."""

    def dual_bounds(self, cost: Any) -> tuple[Any, Any]:
        """Return the lowest and the highest α for a cost of c."""

    def dual_step(self, margin: Any, alpha: Any, cost: Any, norm: Any) -> tuple[Any, Any]:
        """Return the α' that maximises c gain(α' / c) − α' m − ½ (α' − α)² ‖x‖², and the violation of optimality at α.

        The violation is the projected gradient, or for the logistic loss |α' − α| / c.
        """

    def violation(self, margin: Any, alpha: Any, cost: Any) -> Any:
        """Return the violation of optimality at α, or an upper bound that is cheaper than a step."""

    def rests(self, margin: Any, alpha: Any, cost: Any, above: Any, below: Any) -> Any:
        """Tell whether α is at a bound, with a gradient beyond `above` or `below`."""

    def growth(self, factor: float) -> float:
        """Return the factor of α at a warm start where all costs are multiplied by a factor."""

    def balanced_shares(self, P: Any, N: Any) -> tuple[Any, Any]:
        """Return the shares r and q with P r = N q that maximise P gain(r) + N gain(q)."""

    def first_violation(self, largest_cost: float) -> float:
        """Return the violation that sweeps over blocks of a joint dual leave at first."""

    def leaf_violation(self, tol: float, largest_cost: float) -> float:
        """Return the violation to which leaves are solved given their parents, for a relative gap of `tol`."""
