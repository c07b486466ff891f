"""Curves from the probability of the best path's nodes to how often they are right, one for each step down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from cladist.errors import ModelFormatError
from cladist.storage.array_groups import Arrays, are_row_ends

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

RIDGE = 1.0  # of a step's log slope and intercept: about the pull of a few rows towards no change
LARGEST_LOG_ODDS = 30.0
LARGEST = 5.0  # of a log slope or intercept
_NONE, _NO_IDS = np.zeros(0), np.zeros(0, np.int64)


class PathCurves(NamedTuple):
    """Of each step: σ(slope · log odds + intercept), or the points of a step function of the log odds, joined by lines.

    Without slopes and starts, probabilities are left as they are.
    """

    slopes: Floats = _NONE
    intercepts: Floats = _NONE
    starts: Ids = _NO_IDS
    knots: Floats = _NONE
    values: Floats = _NONE

    def pack(self) -> Arrays:
        """Return arrays for a file."""
        return {f"path_{name}": array for name, array in self._asdict().items() if len(array)}

    @classmethod
    def unpack(cls, arrays: Arrays, n_steps: int) -> PathCurves:
        """Restore curves of so many steps from the arrays of `pack`; others are a `ModelFormatError`."""
        curves = cls(*(arrays.pop(f"path_{name}", none) for name, none in cls()._asdict().items()))
        fits = len(curves.slopes) == len(curves.intercepts) and len(curves.knots) == len(curves.values)
        if len(curves.starts):
            fits = fits and are_row_ends(curves.starts, n_steps, len(curves.knots))
            fits = fits and bool(np.all(np.diff(curves.starts) > 0))
        else:
            fits = fits and len(curves.slopes) in (0, n_steps) and not len(curves.knots)
        if not fits:
            raise ModelFormatError("Its curves of confidence are not as many as its levels.")
        return curves


def fit_path_curves(log_mass: Floats, hits: npt.NDArray[np.bool_], *, method: str) -> PathCurves:
    """Fit the curve of every step to log-probabilities and whether they were right (rows × steps; NaN: no choice).

    "isotonic" fits step functions, any other method sigmoids.
    """
    with np.errstate(divide="ignore"):
        z = np.clip(log_mass - np.log(-np.expm1(log_mass)), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    steps = [(z[rows, k], hits[rows, k]) for k, rows in enumerate(~np.isnan(z).T)]
    if method == "isotonic":
        points = [_fit_steps(*step) for step in steps]
        starts = np.append(0, np.cumsum([len(knots) for knots, _ in points])).astype(np.int64)
        return PathCurves(_NONE, _NONE, starts, *(np.concatenate(part) for part in zip(*points, strict=True)))
    fitted = np.array([_fit_sigmoid(*step) for step in steps]).reshape(-1, 2)
    return PathCurves(np.exp(fitted[:, 0]), fitted[:, 1].copy())


def _fit_sigmoid(z: Floats, hits: npt.NDArray[np.bool_]) -> Floats:
    sign = np.where(hits, 1.0, -1.0)

    def loss(theta: Floats) -> tuple[float, Floats]:
        slope = np.exp(theta[0])
        margin = sign * (slope * z + theta[1])
        by_margin = -sign * expit(-margin)
        gradient = np.array([by_margin @ z * slope, by_margin.sum()]) + RIDGE * theta
        return float(np.logaddexp(0, -margin).sum() + 0.5 * RIDGE * theta @ theta), gradient

    return np.asarray(minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-LARGEST, LARGEST)] * 2).x)


def _fit_steps(z: Floats, hits: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    from sklearn.isotonic import IsotonicRegression  # slow to import

    if not len(z):  # never a choice
        return np.zeros(1), np.full(1, 0.5)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(z, hits.astype(np.float64))
    return np.asarray(fitted.X_thresholds_, np.float64), np.asarray(fitted.y_thresholds_, np.float64)
