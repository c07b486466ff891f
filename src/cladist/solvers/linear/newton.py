"""Newton's method for one linear classifier with a smooth loss, for low-dimensional dense rows.

Problem   min_w ½‖w‖² + Σ_i c_i ℓ(m_i), m = `signed` · w
Moves     Newton steps on the primal, halved until they descend
Dual      α_i = −c_i ℓ'(m_i), for which the duality gap is ½‖w − w(α)‖²
Stops     when gap / primal ≤ tol
Found by  Keerthi & DeCoste 2005. The scale of features does not matter, where coordinate descent takes thousands of
          sweeps. Cost O(steps · n d²)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cladist.solvers.problem import Settings
from cladist.surrogates import Surrogate

SHORTEST_STEP = 1e-10

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BinarySolution:
    """Weights of one binary problem, their α, the primal, the relative duality gap and the number of steps."""

    weights: Floats
    alpha: Floats
    primal: float
    gap: float
    steps: int


def minimise_smooth(
    signed: Floats, costs: Floats, surrogate: Surrogate, settings: Settings, start: Floats | None = None
) -> BinarySolution:
    """Minimise ½‖w‖² + Σ_i c_i ℓ(m_i) to a relative duality gap of tol, beginning at `start` or 0.

    Examples
    --------
    >>> from cladist.surrogates import SquaredHinge
    >>> minimise_smooth(np.eye(2), np.ones(2), SquaredHinge(), Settings(1e-9)).weights.round(3).tolist()
    [0.667, 0.667]
    """

    def primal_at(w: Floats) -> float:
        return float(0.5 * (w @ w) + costs @ surrogate.value(signed @ w))

    w = np.zeros(signed.shape[1]) if start is None else start.astype(np.float64)
    identity, primal = np.eye(len(w)), primal_at(w)
    for done in range(settings.max_iter + 1):
        margins = signed @ w
        alpha = -costs * surrogate.slope(margins)
        gap = _relative_gap(signed, w, alpha, primal)
        if gap <= settings.tol or done == settings.max_iter:
            break
        curvature = costs * surrogate.curvature(margins)
        bent = curvature > 0
        hessian = identity + (signed[bent] * curvature[bent, None]).T @ signed[bent]
        step = np.linalg.solve(hessian, alpha @ signed - w)
        length, lower = 1.0, primal_at(w + step)
        while lower > primal and length > SHORTEST_STEP:
            length /= 2
            lower = primal_at(w + length * step)
        if lower > primal:  # no descent within rounding error
            break
        w, primal = w + length * step, lower
    return BinarySolution(w, alpha, primal, gap, done)


def _relative_gap(signed: Floats, w: Floats, alpha: Floats, primal: float) -> float:
    """Return (primal − dual) / primal for α = −c ℓ'(m)."""
    apart = w - alpha @ signed
    return float(0.5 * (apart @ apart) / primal) if primal > 0 else 0.0
