"""One-vs-rest linear classifiers on low-dimensional dense data, one class after the other.

Problem   min_w ½‖w‖² + Σ_i c_i ℓ(m_i), m = `signed` · w
Newton    for the smooth losses: steps on the primal, halved until they descend. With α_i = −c_i ℓ'(m_i) the duality gap
          is ½‖w − w(α)‖². Found by Keerthi & DeCoste 2005
Interior  for the hinge, whose dual is min_α ½‖Σ_i α_i y_i x_i‖² − Σ_i α_i, 0 ≤ α_i ≤ c_i: Mehrotra's predictor and
          corrector, Newton steps on the conditions of optimality, with products of a bound's slack and its multiplier
          that fall towards 0. The n × n system is a diagonal plus a matrix of rank d. Found by Ferris & Munson 2002
Stops     when (primal − dual) / primal ≤ tol, or where rounding ends the progress
Cost      O(steps · n d²), whatever the scale of features, where coordinate descent takes thousands of sweeps
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from cladist import checkpoints, progress
from cladist.execution import Executor, Serial
from cladist.linear_model.training_rows import Floats64
from cladist.solvers.problem import OneVsRest, Settings
from cladist.storage.array_pool import storable
from cladist.surrogates import Hinge, Surrogate

SHORTEST_STEP = 1e-10
STEP_TO_BOUND = 0.995  # share of the way to the nearest bound that a step goes at most
CLOSEST = 1e-15  # to a bound, as a share of c
MOST_STEPS = 200
JITTER = 1e-15


@storable
@dataclass(frozen=True)
class BinarySolution:
    """Weights of one binary problem, their α, the primal, the relative duality gap and the number of steps."""

    weights: Floats64
    alpha: Floats64
    primal: float
    gap: float
    steps: int


def solve_directly(
    problem: OneVsRest,
    settings: Settings,
    classes: Sequence[int] | None = None,
    *,
    executor: Executor | None = None,
    start: npt.NDArray[Any] | None = None,
    keep_alpha: bool = False,
) -> list[BinarySolution]:
    """Solve the problems of some or all classes, from `start` (classes × features in use); return α if asked to."""
    classes = range(problem.n_classes) if classes is None else classes
    X, surrogate = problem.rows.to_dense(), problem.surrogate
    weights = np.ones(len(X)) if problem.row_weights is None else problem.row_weights.astype(np.float64)

    def solve(k: int) -> BinarySolution:
        positive = np.zeros(len(X), bool)
        positive[problem.members_of(k)] = True
        costs = np.where(positive, problem.costs[0, k], problem.costs[1, k]) * weights
        signed = np.where(positive, 1.0, -1.0)[:, None] * X
        if surrogate.smooth:
            solution = minimise_smooth(signed, costs, surrogate, settings, None if start is None else start[k])
        else:
            solution = minimise_hinge(signed, costs, settings)
        return solution if keep_alpha else replace(solution, alpha=solution.alpha[:0])

    # Threads inside BLAS would mostly wait for each other; classes side by side use the cores better.
    solutions = []
    with progress.task("Newton steps", len(classes), unit="classes") as running, threadpool_limits(1, user_api="blas"):
        for solution in checkpoints.scope("newton").map(executor or Serial(), solve, classes):
            solutions.append(solution)
            running.advance()
    return solutions


# ---------------------------------------------------------------- Newton's method for smooth losses


def minimise_smooth(
    signed: Floats64, costs: Floats64, surrogate: Surrogate, settings: Settings, start: Floats64 | None = None
) -> BinarySolution:
    """Minimise ½‖w‖² + Σ_i c_i ℓ(m_i) to a relative duality gap of tol, beginning at `start` or 0."""

    def primal_at(w: Floats64) -> float:
        return float(0.5 * (w @ w) + costs @ surrogate.value(signed @ w))

    w = np.zeros(signed.shape[1]) if start is None else start.astype(np.float64)
    identity, primal = np.eye(len(w)), primal_at(w)
    for done in range(settings.max_iter + 1):
        margins = signed @ w
        alpha = -costs * surrogate.slope(margins)
        apart = w - alpha @ signed
        gap = float(0.5 * (apart @ apart) / primal) if primal > 0 else 0.0
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


# ---------------------------------------------------------------- an interior point method for the hinge


class _Point(NamedTuple):
    """w, α, its slack below c, and the multipliers of the bounds 0 and c.

    w is a variable of its own, equal to w(α) only in the end: computing small steps of α as differences of large ones
    would cost all digits where features are large.
    """

    w: Floats64
    alpha: Floats64
    slack: Floats64
    at_zero: Floats64
    at_cost: Floats64

    @property
    def complementarity(self) -> float:
        """The mean product of a bound's slack and its multiplier: 0 at the optimum."""
        return float(self.alpha @ self.at_zero + self.slack @ self.at_cost) / (2 * len(self.alpha))

    def advance(self, length: float, step: _Point, costs: Floats64) -> _Point:
        """Return the point after a part of a step."""
        w, alpha, slack, *multipliers = (value + length * change for value, change in zip(self, step, strict=True))
        alpha = np.clip(alpha, CLOSEST * costs, (1 - CLOSEST) * costs)
        return _Point(w, alpha, np.maximum(slack, CLOSEST * costs), *multipliers)

    def longest_step(self, step: _Point) -> float:
        """Return the share of a step, at most 1, that keeps everything positive."""
        longest = 1.0
        for values, changes in zip(self[1:], step[1:], strict=True):
            falling = changes < 0
            longest = min(longest, float(np.min(-values[falling] / changes[falling], initial=1.0)))
        return longest


def minimise_hinge(signed: Floats64, costs: Floats64, settings: Settings) -> BinarySolution:
    """Minimise ½‖w‖² + Σ_i c_i max(0, 1 − m_i) to a relative duality gap of tol."""
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


def _evaluate(signed: Floats64, costs: Floats64, point: _Point) -> BinarySolution:
    """Return the primal at w and its relative gap to the dual at α: ½‖w − w(α)‖² and the losses above their bounds."""
    w, alpha, hinge = point.w, point.alpha, Hinge()
    margins = signed @ w
    apart = w - alpha @ signed
    losses = hinge.value(margins)
    primal = float(0.5 * (w @ w) + costs @ losses)
    gap = float(np.sum(costs * losses - hinge.lower_bound(margins, alpha, costs)) + 0.5 * (apart @ apart))
    return BinarySolution(w, alpha, primal, gap / primal if primal > 0 else 0.0, 0)


def _step(signed: Floats64, costs: Floats64, point: _Point) -> _Point:
    """Return the next point: a prediction without centring, corrected by its second-order error. O(n d²).

    The Newton system is reduced to d × d: I + Zᵀ Θ⁻¹ Z, Z = `signed`, Θ the diagonal.
    """
    w, alpha, slack, at_zero, at_cost = point
    diagonal = at_zero / alpha + at_cost / slack
    system = np.eye(signed.shape[1]) + (signed / diagonal[:, None]).T @ signed
    scale = 1 / np.sqrt(np.diag(system))  # features of very different sizes would cost digits
    system *= scale[:, None] * scale
    system[np.diag_indices_from(system)] += JITTER
    factor = cho_factor(system, overwrite_a=True)

    def step_towards(zero_target: Any, cost_target: Any) -> _Point:
        """Return the step towards given products of slack and multiplier at the two bounds. O(n d)."""
        target = 1 - signed @ w + zero_target / alpha - cost_target / slack
        right = alpha @ signed - w + (target / diagonal) @ signed
        w_step = scale * cho_solve(factor, scale * right)
        alpha_step = (target - signed @ w_step) / diagonal
        zero_step = (zero_target - at_zero * alpha_step) / alpha - at_zero
        cost_step = (cost_target + at_cost * alpha_step) / slack - at_cost
        return _Point(w_step, alpha_step, -alpha_step, zero_step, cost_step)

    predicted = step_towards(0.0, 0.0)
    now = point.complementarity
    there = point.advance(point.longest_step(predicted), predicted, costs).complementarity
    target = now * (there / now) ** 3
    step = step_towards(target - predicted.alpha * predicted.at_zero, target - predicted.slack * predicted.at_cost)
    return point.advance(STEP_TO_BOUND * point.longest_step(step), step, costs)
