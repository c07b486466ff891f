"""Weights of several models' scores: by log loss together with a nested logit model of the sum, then by accuracy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import (
    LARGEST_LOG_SCALE,
    MOST_ITERATIONS,
    TOLERANCE,
    ChoiceTree,
    Parameters,
    ways_to_value,
)
from cladist.labels import LabelMatrix

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

MOST_PAIRS = 2_000_000  # of a row and a class, in the regression for sets of labels
STEPS = (0.2, 0.1, 0.05)  # of the search for the weights that are right most often
LARGEST_WEIGHT = 100.0  # of scores in their own deviation: separable sets have no finite one
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


def fit_set_weights(scores: Floats, labels: LabelMatrix, class_nodes: Ids) -> tuple[Floats, Floats]:
    """Return the weights for sets of labels, not negative, and the same relative to each model's spread, with sum 1.

    They are those of the logistic regression of whether a row has a class on its scores, one intercept for all. With
    very many pairs of rows and classes, the first rows are enough. Where all weights would be 0, they are equal.
    """
    some = max(1, MOST_PAIRS // max(1, len(class_nodes)))
    finite = np.isfinite(scores)
    units = np.maximum(np.nanstd(np.where(finite, scores, np.nan), axis=(1, 2)), 1e-300)
    has = labels.to_indicator()[:some][:, class_nodes].toarray() > 0
    listed = finite[:, :some].all(axis=0)
    z, sign = scores[:, :some][:, listed].T / units, np.where(has[listed], 1.0, -1.0)

    def loss(theta: Floats) -> tuple[float, Floats]:
        margin = sign * (z @ theta[:-1] + theta[-1])
        by_margin = -sign * expit(-margin) / max(1, len(z))
        return float(np.logaddexp(0, -margin).sum()) / max(1, len(z)), np.append(z.T @ by_margin, by_margin.sum())

    bounds = [(0.0, LARGEST_WEIGHT)] * len(units) + [(None, None)]
    start = np.append(np.full(len(units), 1 / len(units)), 0.0)
    shares = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[:-1]
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(units), 1 / len(units))
    return shares / units, shares
