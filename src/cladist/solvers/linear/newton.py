"""Newton's method on the primal of one linear classifier with a smooth loss, for dense rows of few features.

Keerthi & DeCoste 2005: Newton steps with halving. They do not mind the scale of features, where coordinate descent
takes thousands of sweeps. Cost O(steps · n d²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cladist.solvers.problem import Settings

SHORTEST_STEP = 1e-10

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """Weights, the dual variables that belong to them, and how good they are."""

    weights: Floats
    alpha: Floats
    primal: float
    gap: float
    steps: int


def minimise_smooth(signed: Floats, costs: Floats, loss: str, settings: Settings, start: Floats | None = None) -> Found:
    """Minimise ½‖w‖² + Σ_i c_i ℓ(m_i), m = `signed` · w, for the squared hinge or the logistic loss.

    Stops when (primal − dual) / primal ≤ tol, the dual being that of α_i = −c_i ℓ'(m_i).

    Examples
    --------
    >>> found = minimise_smooth(np.eye(2), np.ones(2), "squared_hinge", Settings(1e-9))
    >>> found.weights.round(3).tolist()
    [0.667, 0.667]
    """
    w = np.zeros(signed.shape[1]) if start is None else start.astype(np.float64)
    identity = np.eye(len(w))
    primal, alpha, curvature = _primal(signed, costs, loss, w)
    for done in range(settings.max_iter + 1):
        gap = _relative_gap(signed, w, alpha, primal)
        if gap <= settings.tol or done == settings.max_iter:
            break
        bent = curvature > 0
        hessian = identity + (signed[bent] * curvature[bent, None]).T @ signed[bent]
        step = np.linalg.solve(hessian, alpha @ signed - w)
        length, tried = 1.0, _primal(signed, costs, loss, w + step)
        while tried[0] > primal and length > SHORTEST_STEP:
            length /= 2
            tried = _primal(signed, costs, loss, w + length * step)
        if tried[0] > primal:  # rounding has the last word: no step is short enough to gain
            break
        w = w + length * step
        primal, alpha, curvature = tried
    return Found(w, alpha, primal, gap, done)


def _primal(signed: Floats, costs: Floats, loss: str, w: Floats) -> tuple[float, Floats, Floats]:
    """Return ½‖w‖² + Σ c ℓ(m), and −c ℓ'(m) and c ℓ''(m) of every row."""
    margins, regularizer = signed @ w, 0.5 * (w @ w)
    if loss == "logistic":
        wrong = 0.5 * (1 - np.tanh(margins / 2))
        lost = costs @ np.logaddexp(0, -margins)
        return float(regularizer + lost), costs * wrong, costs * wrong * (1 - wrong)
    miss = np.maximum(0.0, 1 - margins)
    return float(regularizer + costs @ miss**2), 2 * costs * miss, 2 * costs * (miss > 0)


def _relative_gap(signed: Floats, w: Floats, alpha: Floats, primal: float) -> float:
    """Return (primal − dual) / primal; with α on the loss's own curve the gap is ½‖w − w(α)‖²."""
    apart = w - alpha @ signed
    return float(0.5 * (apart @ apart) / primal) if primal > 0 else 0.0
