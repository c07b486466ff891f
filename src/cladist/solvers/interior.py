"""An interior point method for one linear SVM with hinge loss, for dense rows of few features.

Dual      min_α ½‖Σ_i α_i y_i x_i‖² − Σ_i α_i, 0 ≤ α_i ≤ c_i
Found by  Newton steps on the conditions of optimality with μ in the place of 0, μ falling (Ferris & Munson 2002). The
          n × n system is a diagonal plus a matrix of rank d, so that a step costs O(n d²). Like Newton's method on the
          smooth losses it does not mind the scale of features, where coordinate descent takes thousands of sweeps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cladist.solvers.newton import Found
from cladist.solvers.problem import Settings

NEAR_THE_WALL = 0.995  # share of the way to the nearest bound that a step goes at most
CENTERING = 0.1  # μ of the next step, as a share of what it is
MOST_STEPS = 200

Floats = npt.NDArray[np.float64]


def minimise_hinge(signed: Floats, costs: Floats, settings: Settings) -> Found:
    """Minimise ½‖w‖² + Σ_i c_i max(0, 1 − m_i), m = `signed` · w, to a relative duality gap of tol.

    Examples
    --------
    >>> minimise_hinge(np.eye(2), np.full(2, 0.5), Settings(1e-9)).weights.round(3).tolist()
    [0.5, 0.5]
    """
    alpha = costs / 2
    at_zero, at_cost = np.ones(len(costs)), np.ones(len(costs))  # multipliers of the two bounds
    identity = np.eye(signed.shape[1])
    for done in range(min(settings.max_iter, MOST_STEPS) + 1):
        w = alpha @ signed
        margins = signed @ w
        primal, gap = _primal_and_gap(w, margins, alpha, costs)
        if gap <= settings.tol or done == min(settings.max_iter, MOST_STEPS):
            break
        room = costs - alpha
        mu = CENTERING * (alpha @ at_zero + room @ at_cost) / (2 * len(costs))
        diagonal = at_zero / alpha + at_cost / room
        wanted = 1 - margins + mu / alpha - mu / room
        inner = identity + (signed / diagonal[:, None]).T @ signed
        step = wanted / diagonal
        step -= (signed @ np.linalg.solve(inner, step @ signed)) / diagonal
        step_zero = mu / alpha - at_zero - at_zero / alpha * step
        step_cost = mu / room - at_cost + at_cost / room * step
        length = min(_length(alpha, step), _length(room, -step))
        multiplier_length = min(_length(at_zero, step_zero), _length(at_cost, step_cost))
        alpha = np.clip(alpha + length * step, 1e-14 * costs, (1 - 1e-14) * costs)
        at_zero, at_cost = at_zero + multiplier_length * step_zero, at_cost + multiplier_length * step_cost
    return Found(w, alpha, primal, gap, done)


def _primal_and_gap(w: Floats, margins: Floats, alpha: Floats, costs: Floats) -> tuple[float, float]:
    """Return the primal, and the relative gap: Σ_i c max(0, 1 − m) − α (1 − m), none of which is negative."""
    lost = costs * np.maximum(0.0, 1 - margins)
    primal = 0.5 * (w @ w) + lost.sum()
    return float(primal), float((lost - alpha * (1 - margins)).sum() / primal) if primal > 0 else 0.0


def _length(values: Floats, step: Floats) -> float:
    """Return how much of a step keeps values positive."""
    falling = step < 0
    if not falling.any():
        return 1.0
    return min(1.0, NEAR_THE_WALL * float(np.min(-values[falling] / step[falling])))
