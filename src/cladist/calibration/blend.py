"""Weights of several models' scores: by log loss together with a nested logit model of the sum, then by accuracy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import (
    LARGEST_LOG_SCALE,
    MOST_ITERATIONS,
    TOLERANCE,
    ChoiceTree,
    Parameters,
    ways_to_value,
)

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

STEPS = (0.2, 0.1, 0.05)  # of the search for the weights that are right most often
MOST_COMPARED = 20_000  # rows in that search


def combine(weights: Floats, scores: Floats) -> Floats:
    """Return Σ_m w_m s_m of scores (models × …); −inf where no model has the class.

    A model that lacks a class which others have counts as its lowest score of the row.
    """
    finite = np.isfinite(scores)
    lowest = np.where(finite, scores, np.inf).min(axis=-1, keepdims=True)
    filled = np.where(finite, scores, np.where(np.isfinite(lowest), lowest, 0.0))
    return np.where(finite.any(axis=0), np.tensordot(weights, filled, axes=1), -np.inf)


def spreads(scores: Floats) -> Floats:
    """Return the mean distance between the highest and the mean score of a row, for each model."""
    finite = np.where(np.isfinite(scores), scores, np.nan)
    return np.maximum(np.nanmean(np.nanmax(finite, axis=2) - np.nanmean(finite, axis=2), axis=1), 1e-300)


def fit_weights(
    choices: ChoiceTree, columns: Ids, scores: Floats, log_counts: Floats, targets: Ids
) -> tuple[Floats, Floats]:
    """Return the weights, not negative, that are right most often, and the same relative to each model's spread.

    `scores` are those of the listed classes (models × rows × listed). The weights of least log loss, equal ones and
    those of each model alone are compared, and the best is moved as long as the highest score is right more often. The
    nested logit model has one scale per level, which makes the size of the weights arbitrary: the relative ones sum
    to 1.
    """
    units = spreads(scores)
    equal = np.full(len(units), 1 / len(units))
    parts = [combine(unit, scores) for unit in np.diag(1 / units)]
    fixed = np.where(np.isfinite(parts[0]), 0.0, -np.inf)
    stacked = np.stack([np.where(np.isfinite(part), part, 0.0) for part in parts])
    rows = ListedScores(columns, np.tensordot(equal, stacked, axes=1) + fixed, log_counts)
    least, best = np.inf, equal
    for by_maximum in ways_to_value(choices, columns):
        problem = Parameters(choices, rows, targets, level="levels", biases=False, by_maximum=by_maximum)

        def loss(theta: Floats, problem: Parameters = problem) -> tuple[float, Floats]:
            problem.rows = rows._replace(scores=np.tensordot(theta[: len(units)], stacked, axes=1) + fixed)
            grad_scores = np.zeros(rows.scores.shape)
            value, gradient = problem.loss(theta[len(units) :], grad_scores)
            return value, np.concatenate([(stacked * grad_scores).sum(axis=(1, 2)), gradient])

        bounds = [(0.0, None)] * len(units) + [(-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)] * len(problem.ridge)
        start = np.concatenate([equal, np.zeros(len(problem.ridge))])
        options = {"maxiter": MOST_ITERATIONS, "ftol": TOLERANCE}
        result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        weights = result.x[: len(units)]
        if result.fun < least and weights.sum() > 0:
            least, best = float(result.fun), weights / weights.sum()
    some = slice(0, MOST_COMPARED)

    def n_right(shares: Floats) -> int:
        highest = combine(shares / units, scores[:, some]).argmax(axis=1)
        nodes = choices.class_nodes[columns[some][np.arange(len(highest)), highest]]
        return int(np.sum(nodes == targets[some]))

    counts = [(n_right(shares), -k, shares) for k, shares in enumerate((best, equal, *np.eye(len(units))))]
    most, _, best = max(counts, key=lambda found: found[:2])
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for giver, taker in permutations(range(len(units)), 2):
                moved = best.copy()
                moved[taker] += min(step, moved[giver])
                moved[giver] -= min(step, moved[giver])
                if (count := n_right(moved)) > most:
                    most, best, improved = count, moved, True
    return best / units, best
