"""Three confidence intervals from bootstrap values, for one estimate or for many at once.

The last axis of the values is that of the resamples; the axes before it, if any, are those of the estimates, which
``benchmarks/coverage.py`` uses to measure coverage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Floats = npt.NDArray[np.float64]
STEEPEST = 0.9  # limit of acceleration × quantile; at 1 the end of the interval is infinite


def percentile_interval(estimate: Any, values: Floats, level: float) -> Floats:
    """Return percentiles of the values, shifted so that their mean is the estimate.

    Examples
    --------
    >>> percentile_interval(0.5, np.linspace(0, 2, 101), 0.9).round(2)
    array([-0.4,  1.4])
    """
    shares = np.array([(1 - level) / 2, (1 + level) / 2])
    return _quantiles(_shift(estimate, values), shares.reshape(-1, *(1,) * np.ndim(estimate)))


def accelerated_interval(estimate: Any, values: Floats, acceleration: Any, n_rows: int, level: float) -> Floats:
    """Return percentiles corrected for skewness (Efron 1987), widened for few rows (Hesterberg 2015).

    The bias of the resamples is removed by shifting their mean, not by Efron's z₀, which is infinite if all resamples
    lie on one side of the estimate, as for a macro F1 with rare nodes.

    Examples
    --------
    >>> accelerated_interval(1.0, np.linspace(0, 2, 101), 0.0, 1000, 0.9).round(2)
    array([0.1, 1.9])
    """
    z = _half_width(n_rows, level)
    ends = np.array([-z, z]).reshape(-1, *(1,) * np.ndim(estimate))
    shares = special.ndtr(ends / (1 - np.clip(acceleration * ends, -STEEPEST, STEEPEST)))
    return _quantiles(_shift(estimate, values), shares)


def t_interval(estimate: Any, values: Floats, n_rows: int, level: float) -> Floats:
    """Return the estimate plus and minus Student's t quantile times the standard deviation of the values.

    Examples
    --------
    >>> t_interval(1.0, np.array([0.9, 1.1, 1.0, 1.0]), 1000, 0.95).round(2)
    array([0.84, 1.16])
    """
    half = _half_width(n_rows, level) * values.std(axis=-1, ddof=1 if values.shape[-1] > 1 else 0)
    return np.array([estimate - half, estimate + half])


def estimate_acceleration(left_out: Floats, counts: Any = 1.0) -> Floats:
    """Return the acceleration, a third of the skewness of a metric's jackknife values over √n.

    `left_out` are the values of the metric with one row left out, `counts` how many rows have each value.

    Examples
    --------
    >>> print(estimate_acceleration(np.array([0.0, 0.0, 0.0, 1.0])).round(3))
    -0.096
    """
    counts = np.broadcast_to(counts, left_out.shape)
    mean = (counts * left_out).sum(axis=-1) / counts.sum(axis=-1)
    away = np.asarray(mean)[..., None] - left_out
    spread = (counts * away**2).sum(axis=-1)
    skewness = (counts * away**3).sum(axis=-1)
    return np.divide(skewness, 6 * spread**1.5, out=np.zeros(np.shape(spread)), where=spread > 1e-24)


def _half_width(n_rows: int, level: float) -> float:
    """Return the quantile of Student's t, scaled for a variance over n rows instead of n − 1."""
    freedom = max(n_rows - 1, 1)
    return float(stats.t.ppf((1 + level) / 2, freedom) * np.sqrt((freedom + 1) / freedom))


def _shift(estimate: Any, values: Floats) -> Floats:
    return values + (np.asarray(estimate) - values.mean(axis=-1))[..., None]


def _quantiles(values: Floats, shares: Floats) -> Floats:
    """Return the quantile of the values at each share; `shares` has an axis in front of those of the estimates."""
    ordered = np.sort(values, axis=-1)
    last = ordered.shape[-1] - 1
    at = np.broadcast_to(shares, (len(shares), *ordered.shape[:-1])) * last
    below = np.clip(np.floor(at).astype(np.int64), 0, max(last - 1, 0))
    above = np.minimum(below + 1, last)
    low, high = (np.take_along_axis(ordered[None], places[..., None], axis=-1)[..., 0] for places in (below, above))
    return np.asarray(low + (at - below) * (high - low))
