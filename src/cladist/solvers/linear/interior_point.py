"""An interior point method for one linear SVM with hinge loss, for dense rows of few features.

Dual      min_α ½‖Σ_i α_i y_i x_i‖² − Σ_i α_i, 0 ≤ α_i ≤ c_i
Found by  Mehrotra's predictor and corrector: Newton steps on the conditions of optimality, with products of a bound's
          room and its multiplier that fall towards 0 (Ferris & Munson 2002 for SVMs). The n × n system is a diagonal
          plus a matrix of rank d, so that a step costs O(n d²). Like Newton's method on the smooth losses it does not
          mind the scale of features, where coordinate descent takes thousands of sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from cladist.solvers.linear.newton import Found
from cladist.solvers.problem import Settings

NEAR_THE_WALL = 0.995  # share of the way to the nearest bound that a step goes at most
CLOSEST = 1e-15  # to a bound, as a share of c
MOST_STEPS = 200
JITTER = 1e-15

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Point:
    """w, α, its room below c, and the multipliers of the bounds 0 and c.

    w is a variable of its own, equal to w(α) only in the end: to find small steps of α as differences of large ones
    would cost all digits where features are large.
    """

    w: Floats
    alpha: Floats
    room: Floats
    at_zero: Floats
    at_cost: Floats

    @property
    def products(self) -> float:
        """The mean product of a bound's room and its multiplier: 0 at the optimum."""
        return float(self.alpha @ self.at_zero + self.room @ self.at_cost) / (2 * len(self.alpha))

    def moved(self, length: float, step: _Point, costs: Floats) -> _Point:
        """Return the point after a part of a step."""
        alpha = np.clip(self.alpha + length * step.alpha, CLOSEST * costs, (1 - CLOSEST) * costs)
        room = np.maximum(self.room + length * step.room, CLOSEST * costs)
        multipliers = self.at_zero + length * step.at_zero, self.at_cost + length * step.at_cost
        return _Point(self.w + length * step.w, alpha, room, *multipliers)

    def length(self, step: _Point) -> float:
        """Return how much of a step keeps everything positive."""
        pairs = zip(
            (self.alpha, self.room, self.at_zero, self.at_cost),
            (step.alpha, step.room, step.at_zero, step.at_cost),
            strict=True,
        )
        return min(_longest(values, changes) for values, changes in pairs)


def minimise_hinge(signed: Floats, costs: Floats, settings: Settings) -> Found:
    """Minimise ½‖w‖² + Σ_i c_i max(0, 1 − m_i), m = `signed` · w, to a relative duality gap of tol.

    Where rounding ends the progress, the best point so far is returned.

    Examples
    --------
    >>> minimise_hinge(np.eye(2), np.full(2, 0.5), Settings(1e-9)).weights.round(3).tolist()
    [0.5, 0.5]
    """
    half, ones = costs / 2, np.ones(len(costs))
    point = _Point(np.zeros(signed.shape[1]), half, costs - half, ones, ones)
    best, done = _judged(signed, costs, point), 0
    while best.gap > settings.tol and done < min(settings.max_iter, MOST_STEPS):
        done += 1
        try:
            point = _stepped(signed, costs, point)
        except (LinAlgError, ValueError):  # no longer positive definite, or not finite: as far as float64 goes
            break
        found = _judged(signed, costs, point)
        if found.gap < best.gap:
            best = found
    return replace(best, steps=done)


def _judged(signed: Floats, costs: Floats, point: _Point) -> Found:
    """Return the primal at w and its relative gap to the dual at α.

    The gap is Σ_i c max(0, 1 − m) − α (1 − m), none of which is negative, and ½‖w − w(α)‖².
    """
    w, alpha = point.w, point.alpha
    miss = 1 - signed @ w
    lost = costs * np.maximum(0.0, miss)
    apart = w - alpha @ signed
    primal = float(0.5 * (w @ w) + lost.sum())
    gap = float((lost - alpha * miss).sum() + 0.5 * (apart @ apart))
    return Found(w, alpha, primal, gap / primal if primal > 0 else 0.0, 0)


def _stepped(signed: Floats, costs: Floats, point: _Point) -> _Point:
    """Make one step: predict without centring, and correct by what the prediction shows."""
    system = _System.at(signed, point)
    predicted = system.step(np.zeros(1), np.zeros(1))
    there = point.moved(point.length(predicted), predicted, costs).products
    target = point.products * (there / point.products) ** 3
    step = system.step(target - predicted.alpha * predicted.at_zero, target - predicted.room * predicted.at_cost)
    return point.moved(NEAR_THE_WALL * point.length(step), step, costs)


@dataclass(frozen=True)
class _System:
    """The Newton system at a point, brought down to d × d and factorised: I + Zᵀ Θ⁻¹ Z, Z = `signed`, Θ diagonal."""

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
        """Return the step towards the products wanted at the two bounds. O(n d)."""
        point, signed = self.point, self.signed
        wanted = 1 - signed @ point.w + zero_target / point.alpha - cost_target / point.room
        apart = point.alpha @ signed - point.w
        right = apart + (wanted / self.diagonal) @ signed
        w = self.scale * cho_solve(self.factor, self.scale * right)
        alpha = (wanted - signed @ w) / self.diagonal
        at_zero = (zero_target - point.at_zero * alpha) / point.alpha - point.at_zero
        at_cost = (cost_target + point.at_cost * alpha) / point.room - point.at_cost
        return _Point(w, alpha, -alpha, at_zero, at_cost)


def _longest(values: Floats, step: Floats) -> float:
    falling = step < 0
    return min(1.0, float(np.min(-values[falling] / step[falling]))) if falling.any() else 1.0
