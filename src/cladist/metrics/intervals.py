"""Intervals from bootstrap values: three ways to get one, each for one set of values or for many at once.

Values have the resamples in their last axis; the axes before it, if any, are those of the estimates. So the study of
coverage (``benchmarks/coverage.py``) measures the very functions that users call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Floats = npt.NDArray[np.float64]
STEEPEST = 0.9  # of the acceleration times the quantile: at 1 the end would be at infinity


def percentile_interval(estimate: Any, values: Floats, level: float) -> Floats:
    """Return the percentiles of the values, moved so that their mean is the estimate.

    Examples
    --------
    >>> percentile_interval(0.5, np.linspace(0, 2, 101), 0.9).round(2)
    array([-0.4,  1.4])
    """
    shares = np.array([(1 - level) / 2, (1 + level) / 2])
    return _quantiles(_moved(estimate, values), shares.reshape(-1, *(1,) * np.ndim(estimate)))


def accelerated_interval(estimate: Any, values: Floats, acceleration: Any, n_rows: int, level: float) -> Floats:
    """Return percentiles that follow how skewed the metric is (Efron 1987), widened for few rows (Hesterberg 2015).

    The bias of the resamples is taken off by moving their mean, not by Efron's z₀: that is infinite where all
    resamples lie on one side of the estimate, as those of a macro F1 with rare nodes do.

    Examples
    --------
    >>> accelerated_interval(1.0, np.linspace(0, 2, 101), 0.0, 1000, 0.9).round(2)
    array([0.1, 1.9])
    """
    z = _half_width(n_rows, level)
    ends = np.array([-z, z]).reshape(-1, *(1,) * np.ndim(estimate))
    shares = special.ndtr(ends / (1 - np.clip(acceleration * ends, -STEEPEST, STEEPEST)))
    return _quantiles(_moved(estimate, values), shares)


def t_interval(estimate: Any, values: Floats, n_rows: int, level: float) -> Floats:
    """Return the estimate and so many standard deviations of the values to both sides.

    Examples
    --------
    >>> t_interval(1.0, np.array([0.9, 1.1, 1.0, 1.0]), 1000, 0.95).round(2)
    array([0.84, 1.16])
    """
    half = _half_width(n_rows, level) * values.std(axis=-1, ddof=1 if values.shape[-1] > 1 else 0)
    return np.array([estimate - half, estimate + half])


def acceleration_of(left_out: Floats, counts: Any = 1.0) -> Floats:
    """Return how fast a metric's standard deviation changes with it, from its values with a row left out.

    `counts` say how many rows have each value.

    Examples
    --------
    >>> print(acceleration_of(np.array([0.0, 0.0, 0.0, 1.0])).round(3))
    -0.096
    """
    counts = np.broadcast_to(counts, left_out.shape)
    mean = (counts * left_out).sum(axis=-1) / counts.sum(axis=-1)
    away = np.asarray(mean)[..., None] - left_out
    spread = (counts * away**2).sum(axis=-1)
    skewed = (counts * away**3).sum(axis=-1)
    return np.divide(skewed, 6 * spread**1.5, out=np.zeros(np.shape(spread)), where=spread > 1e-24)


def _half_width(n_rows: int, level: float) -> float:
    """Return the quantile of Student's t, for a variance over n rows instead of n − 1."""
    freedom = max(n_rows - 1, 1)
    return float(stats.t.ppf((1 + level) / 2, freedom) * np.sqrt((freedom + 1) / freedom))


def _moved(estimate: Any, values: Floats) -> Floats:
    return values + (np.asarray(estimate) - values.mean(axis=-1))[..., None]


def _quantiles(values: Floats, shares: Floats) -> Floats:
    """Return the quantile of the values at each share; `shares` has an axis in front of those of the estimates."""
    ordered = np.sort(values, axis=-1)
    last = ordered.shape[-1] - 1
    at = np.broadcast_to(shares, (len(shares), *ordered.shape[:-1])) * last
    below = np.clip(np.floor(at).astype(np.int64), 0, max(last - 1, 0))
    above = np.minimum(below + 1, last)
    taken = [np.take_along_axis(ordered[None], places[..., None], axis=-1)[..., 0] for places in (below, above)]
    return np.asarray(taken[0] + (at - below) * (taken[1] - taken[0]))
