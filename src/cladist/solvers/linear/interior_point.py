"""An interior point method for one linear SVM with hinge loss, for low-dimensional dense rows.

Problem   min_w ½‖w‖² + Σ_i c_i ℓ(m_i), ℓ the hinge, m = `signed` · w
Dual      min_α ½‖Σ_i α_i y_i x_i‖² − Σ_i α_i, 0 ≤ α_i ≤ c_i
Moves     Mehrotra's predictor and corrector: Newton steps on the conditions of optimality, with products of a bound's
          slack and its multiplier that fall towards 0. The n × n system is a diagonal plus a matrix of rank d, so that
          a step costs O(n d²), whatever the scale of features
Stops     when (primal − dual) / primal ≤ tol, or where rounding ends the progress
Found by  Ferris & Munson 2002, for SVMs
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from cladist.solvers.linear.newton import BinarySolution
from cladist.solvers.problem import Settings
from cladist.surrogates import Hinge

STEP_TO_BOUND = 0.995  # share of the way to the nearest bound that a step goes at most
CLOSEST = 1e-15  # to a bound, as a share of c
MOST_STEPS = 200
JITTER = 1e-15

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Point:
    """w, α, its distance from c, and the multipliers of the bounds 0 and c.

    w is a variable of its own, equal to w(α) only in the end: computing small steps of α as differences of large ones
    would cost all digits where features are large.
    """

    w: Floats
    alpha: Floats
    room: Floats
    at_zero: Floats
    at_cost: Floats

    @property
    def complementarity(self) -> float:
        """The mean product of a bound's slack and its multiplier: 0 at the optimum."""
        return float(self.alpha @ self.at_zero + self.room @ self.at_cost) / (2 * len(self.alpha))

    def advance(self, length: float, step: _Point, costs: Floats) -> _Point:
        """Return the point after a part of a step."""
        alpha = np.clip(self.alpha + length * step.alpha, CLOSEST * costs, (1 - CLOSEST) * costs)
        room = np.maximum(self.room + length * step.room, CLOSEST * costs)
        multipliers = self.at_zero + length * step.at_zero, self.at_cost + length * step.at_cost
        return _Point(self.w + length * step.w, alpha, room, *multipliers)

    def longest_step(self, step: _Point) -> float:
        """Return the share of a step, at most 1, that keeps everything positive."""
        longest = 1.0
        for name in ("alpha", "room", "at_zero", "at_cost"):
            values, changes = getattr(self, name), getattr(step, name)
            falling = changes < 0
            longest = min(longest, float(np.min(-values[falling] / changes[falling], initial=1.0)))
        return longest


def minimise_hinge(signed: Floats, costs: Floats, settings: Settings) -> BinarySolution:
    """Minimise ½‖w‖² + Σ_i c_i max(0, 1 − m_i) to a relative duality gap of tol.

    Examples
    --------
    >>> minimise_hinge(np.eye(2), np.full(2, 0.5), Settings(1e-9)).weights.round(3).tolist()
    [0.5, 0.5]
    """
    half, ones = costs / 2, np.ones(len(costs))
    point = _Point(np.zeros(signed.shape[1]), half, costs - half, ones, ones)
    best, done = _evaluate(signed, costs, point), 0
    while best.gap > settings.tol and done < min(settings.max_iter, MOST_STEPS):
        done += 1
        try:
            point = _step(signed, costs, point)
        except (LinAlgError, ValueError):  # no longer positive definite, or not finite: the limit of float64
            break
        solution = _evaluate(signed, costs, point)
        if solution.gap < best.gap:
            best = solution
    return replace(best, steps=done)


def _evaluate(signed: Floats, costs: Floats, point: _Point) -> BinarySolution:
    """Return the primal at w and its relative gap to the dual at α: ½‖w − w(α)‖² and the losses above their bounds."""
    w, alpha, hinge = point.w, point.alpha, Hinge()
    margins = signed @ w
    apart = w - alpha @ signed
    losses = hinge.value(margins)
    primal = float(0.5 * (w @ w) + costs @ losses)
    gap = float(np.sum(costs * losses - hinge.lower_bound(margins, alpha, costs)) + 0.5 * (apart @ apart))
    return BinarySolution(w, alpha, primal, gap / primal if primal > 0 else 0.0, 0)


def _step(signed: Floats, costs: Floats, point: _Point) -> _Point:
    """Return the next point: a prediction without centring, corrected by its second-order error."""
    system = _System.at(signed, point)
    predicted = system.step(np.zeros(1), np.zeros(1))
    there = point.advance(point.longest_step(predicted), predicted, costs).complementarity
    target = point.complementarity * (there / point.complementarity) ** 3
    step = system.step(target - predicted.alpha * predicted.at_zero, target - predicted.room * predicted.at_cost)
    return point.advance(STEP_TO_BOUND * point.longest_step(step), step, costs)


@dataclass(frozen=True)
class _System:
    """The Newton system at a point, reduced to d × d and factorised: I + Zᵀ Θ⁻¹ Z, Z = `signed`, Θ diagonal."""

    signed: Floats
    point: _Point
    diagonal: Floats
    scale: Floats
    factor: tuple[Floats, bool]

    @classmethod
    def at(cls, signed: Floats, point: _Point) -> _System:
        """Set the system up. O(n d²)."""
        diagonal = point.at_zero / point.alpha + point.at_cost / point.room
        inner = np.eye(signed.shape[1]) + (signed / diagonal[:, None]).T @ signed
        scale = 1 / np.sqrt(np.diag(inner))  # features of very different sizes would cost digits
        inner *= scale[:, None] * scale
        inner[np.diag_indices_from(inner)] += JITTER
        return cls(signed, point, diagonal, scale, cho_factor(inner, overwrite_a=True))

    def step(self, zero_target: Floats, cost_target: Floats) -> _Point:
        """Return the step towards given products of slack and multiplier at the two bounds. O(n d)."""
        point, signed = self.point, self.signed
        wanted = 1 - signed @ point.w + zero_target / point.alpha - cost_target / point.room
        apart = point.alpha @ signed - point.w
        right = apart + (wanted / self.diagonal) @ signed
        w = self.scale * cho_solve(self.factor, self.scale * right)
        alpha = (wanted - signed @ w) / self.diagonal
        at_zero = (zero_target - point.at_zero * alpha) / point.alpha - point.at_zero
        at_cost = (cost_target + point.at_cost * alpha) / point.room - point.at_cost
        return _Point(w, alpha, -alpha, at_zero, at_cost)
