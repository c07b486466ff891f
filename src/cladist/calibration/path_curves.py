"""Curves from the probability of the best path's nodes to how often they are right, one for each step down.

A sigmoid of the log odds has two numbers, which is too few where scores are of another form than log odds, such as
margins. With more rows its slope may differ from one piece of the log odds to the next.
"""

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

RIDGE = 1.0  # of a step's mean log slope and intercept: about the pull of a few rows towards no change
BEND_RIDGE = 10.0  # of the change of the log slope from one piece to the next: few rows leave a sigmoid
MOST_PIECES = 8  # of a curve, with as many rows each
LARGEST_LOG_ODDS = 30.0
LARGEST = 5.0  # of a log slope or intercept
_NONE, _NO_IDS = np.zeros(0), np.zeros(0, np.int64)


class PathCurves(NamedTuple):
    """Of each step: σ(slope · log odds + intercept), or the points of a step function of the log odds, joined by lines.

    With slopes and knots, the slope is that of the step up to its first knot, and `values` are those from each knot on;
    what the sigmoid is of stays continuous. Without slopes and starts, probabilities are left as they are.
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
        fits = fits and len(curves.slopes) in (0, n_steps)
        if len(curves.starts):
            fits = fits and are_row_ends(curves.starts, n_steps, len(curves.knots))
            fits = fits and (len(curves.slopes) > 0 or bool(np.all(np.diff(curves.starts) > 0)))
        else:
            fits = fits and not len(curves.knots)
        if not fits:
            raise ModelFormatError("Its curves of confidence are not as many as its levels.")
        return curves


def fit_path_curves(log_mass: Floats, hits: npt.NDArray[np.bool_], *, method: str) -> PathCurves:
    """Fit the curve of every step to log-probabilities and whether they were right (rows × steps; NaN: no choice).

    "isotonic" fits step functions, "platt" sigmoids, and any other method sigmoids of several pieces.
    """
    with np.errstate(divide="ignore"):
        z = np.clip(log_mass - np.log(-np.expm1(log_mass)), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    steps = [(z[rows, k], hits[rows, k]) for k, rows in enumerate(~np.isnan(z).T)]
    if method == "isotonic":
        points = [_fit_steps(*step) for step in steps]
        starts = np.append(0, np.cumsum([len(knots) for knots, _ in points])).astype(np.int64)
        return PathCurves(_NONE, _NONE, starts, *(np.concatenate(part) for part in zip(*points, strict=True)))
    n_pieces = 1 if method == "platt" else MOST_PIECES
    knots, slopes, intercepts = zip(*(_fit_pieces(*step, n_pieces) for step in steps), strict=True)
    starts = np.append(0, np.cumsum([len(part) for part in knots])).astype(np.int64)
    first, others = np.array([part[0] for part in slopes]), np.concatenate([part[1:] for part in slopes])
    return PathCurves(first, np.array(intercepts), starts, np.concatenate(knots), others)


def _fit_pieces(z: Floats, hits: npt.NDArray[np.bool_], n_pieces: int) -> tuple[Floats, Floats, float]:
    """Return the knots of a sigmoid whose slope changes there, the slopes before and after them, and the intercept."""
    knots = np.unique(np.quantile(z, np.arange(1, n_pieces) / n_pieces)) if len(z) else np.zeros(0)
    sign, n_slopes = np.where(hits, 1.0, -1.0), len(knots) + 1
    # A row's argument of the sigmoid is the sum of the slopes, each times the part of z that lies on its piece.
    ends = np.concatenate([[-np.inf], knots, [np.inf]])
    anchored = np.where(np.isfinite(ends[:-1]), ends[:-1], 0.0)
    on_piece = np.minimum(z[:, None], ends[1:]) - anchored
    on_piece[:, 1:] = np.maximum(on_piece[:, 1:], 0.0)

    def loss(theta: Floats) -> tuple[float, Floats]:
        slopes, changes, mean = np.exp(theta[:-1]), np.diff(theta[:-1]), theta[:-1].mean()
        margin = sign * (on_piece @ slopes + theta[-1])
        by_margin = -sign * expit(-margin)
        penalty = RIDGE * (mean**2 + theta[-1] ** 2) + BEND_RIDGE * changes @ changes
        gradient = np.append(by_margin @ on_piece * slopes + RIDGE * mean / n_slopes, by_margin.sum())
        gradient[-1] += RIDGE * theta[-1]
        gradient[:-2] -= BEND_RIDGE * changes
        gradient[1:-1] += BEND_RIDGE * changes
        return float(np.logaddexp(0, -margin).sum() + 0.5 * penalty), gradient

    bounds = [(-LARGEST, LARGEST)] * (n_slopes + 1)
    theta = minimize(loss, np.zeros(n_slopes + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    return knots, np.exp(theta[:-1]), float(theta[-1])


def _fit_steps(z: Floats, hits: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    from sklearn.isotonic import IsotonicRegression  # slow to import

    if not len(z):  # never a choice
        return np.zeros(1), np.full(1, 0.5)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(z, hits.astype(np.float64))
    return np.asarray(fitted.X_thresholds_, np.float64), np.asarray(fitted.y_thresholds_, np.float64)
