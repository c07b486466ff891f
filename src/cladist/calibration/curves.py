"""Rising curves from scores to probabilities of yes or no: sigmoids or step functions, of nodes or of levels."""

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

RIDGE = 1.0  # of the parameters of one node around those of its level
LEAST_OF_EACH = 30  # rows with and without a node, from which it has a step function of its own
LARGEST = (
    12.0  # of a parameter, relative to the spread of the scores: where rows are separable, they would grow for ever
)


class Curves(NamedTuple):
    """One curve per entity, which is a node or an option at a node.

    Attributes
    ----------
    slopes, intercepts : arrays (entities,)
        σ(slope · score + intercept); empty for step functions.
    curve_of : array (entities,)
        The step function of each entity; empty for sigmoids.
    starts, knots, values : arrays
        The step functions: points of each, joined by lines.
    """

    slopes: Floats
    intercepts: Floats
    curve_of: Ids
    starts: Ids
    knots: Floats
    values: Floats

    def evaluate(self, scores: Floats) -> Floats:
        """Return the probability of yes (rows × entities); 0 for a score of −inf."""
        if len(self.slopes):
            with np.errstate(invalid="ignore"):
                return np.where(scores == -np.inf, 0.0, expit(self.slopes * scores + self.intercepts))
        result = np.zeros(scores.shape)
        for k in np.unique(self.curve_of):
            of_curve, part = self.curve_of == k, slice(self.starts[k], self.starts[k + 1])
            taken = scores[:, of_curve]
            result[:, of_curve] = np.where(taken == -np.inf, 0.0, np.interp(taken, self.knots[part], self.values[part]))
        return result

    def pack(self) -> Arrays:
        """Return arrays for a file."""
        return {name: array for name, array in self._asdict().items() if len(array)}

    @classmethod
    def unpack(cls, arrays: Arrays, n_entities: int) -> Curves:
        """Restore curves from the arrays of `pack`; others are a `ModelFormatError`."""
        floats, ids = np.zeros(0), np.zeros(0, np.int64)
        empty = {"curve_of": ids, "starts": ids, **dict.fromkeys(("slopes", "intercepts", "knots", "values"), floats)}
        curves = cls(**{name: arrays.get(name, none) for name, none in empty.items()})
        fits = len(curves.slopes) == len(curves.intercepts) and len(curves.knots) == len(curves.values)
        fits = fits and {len(curves.slopes), len(curves.curve_of)} == {0, n_entities}
        if len(curves.curve_of):
            n_curves = int(curves.curve_of.max()) + 1
            fits = fits and are_row_ends(curves.starts, n_curves, len(curves.knots)) and curves.curve_of.min() >= 0
            fits = fits and bool(np.all(np.diff(curves.starts) > 0))
        if not fits:
            raise ModelFormatError("Its calibration curves are not as many as its nodes.")
        return curves


def fit_curves(
    scores: Floats, hits: npt.NDArray[np.bool_], entity: Ids, group_of: Ids, *, method: str, own: bool
) -> Curves:
    """Fit curves to pairs of a score and whether it was right.

    Parameters
    ----------
    scores, hits, entity : arrays (pairs,)
        Finite scores, outcomes, and the entity of each.
    group_of : array (entities,)
        The level of each entity, from 0; entities of a level share a curve.
    method : {"temperature", "platt", "vector", "isotonic"}
        A slope; a slope and an intercept; the same with an intercept of each entity; a step function.
    own : bool
        Whether each entity has a curve of its own, which is shrunk to that of its level.
    """
    if method == "isotonic":
        return _fit_steps(scores, hits, entity, group_of, own=own)
    return _fit_sigmoids(scores, hits, entity, group_of, method=method, own=own)


def _fit_sigmoids(
    scores: Floats, hits: npt.NDArray[np.bool_], entity: Ids, group_of: Ids, *, method: str, own: bool
) -> Curves:
    n_groups, n_entities = int(group_of.max(initial=0)) + 1, len(group_of)
    unit = float(np.abs(scores).mean()) if len(scores) else 1.0
    z, sign = scores / (unit or 1.0), np.where(hits, 1.0, -1.0)
    group = group_of[entity]
    # Blocks of parameters: log slope and intercept of groups, then of entities.
    sizes = [n_groups, n_groups, n_entities, n_entities]
    free = np.repeat([True, method != "temperature", own, method == "vector" or (own and method == "platt")], sizes)
    ridge = np.repeat([0.0, 0.0, RIDGE, RIDGE], sizes)
    ends = np.cumsum(sizes)[:-1]

    def loss(theta: Floats) -> tuple[float, Floats]:
        s, b, own_s, own_b = np.split(np.where(free, theta, 0.0), ends)
        slope = np.exp(s[group] + own_s[entity])
        margin = sign * (slope * z + b[group] + own_b[entity])
        by_margin = -sign * expit(-margin)
        by_slope = by_margin * slope * z
        parts = [
            np.bincount(k, w, n)
            for k, w, n in zip((group, group, entity, entity), (by_slope, by_margin) * 2, sizes, strict=True)
        ]
        penalised = ridge * theta
        total = float(np.logaddexp(0, -margin).sum() + 0.5 * penalised @ theta)
        return total / max(1, len(z)), np.where(free, np.concatenate(parts) + penalised, 0.0) / max(1, len(z))

    result = minimize(loss, np.zeros(len(free)), jac=True, method="L-BFGS-B", bounds=[(-LARGEST, LARGEST)] * len(free))
    s, b, own_s, own_b = np.split(np.where(free, result.x, 0.0), ends)
    none = np.zeros(0, np.int64)
    slopes = np.exp(s[group_of] + own_s) / (unit or 1.0)
    return Curves(slopes, b[group_of] + own_b, none, none, np.zeros(0), np.zeros(0))


def _fit_steps(scores: Floats, hits: npt.NDArray[np.bool_], entity: Ids, group_of: Ids, *, own: bool) -> Curves:
    from sklearn.isotonic import IsotonicRegression  # slow to import

    n_groups, curve_of = int(group_of.max(initial=0)) + 1, group_of.copy()
    curves = [np.flatnonzero(group_of[entity] == g) for g in range(n_groups)]
    if own:
        n_hits = np.bincount(entity, hits, len(group_of))
        enough = (n_hits >= LEAST_OF_EACH) & (np.bincount(entity, ~hits, len(group_of)) >= LEAST_OF_EACH)
        order = np.argsort(entity, kind="stable")
        starts = np.searchsorted(entity[order], np.arange(len(group_of) + 1))
        for e in np.flatnonzero(enough):
            curve_of[e] = len(curves)
            curves.append(order[starts[e] : starts[e + 1]])
    knots, values = [], []
    for pairs in curves:
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        if len(pairs):
            regression.fit(scores[pairs], hits[pairs].astype(np.float64))
        # A level without a pair has nothing to say for or against: as likely as not.
        knots.append(np.asarray(regression.X_thresholds_ if len(pairs) else [0.0], dtype=np.float64))
        values.append(np.asarray(regression.y_thresholds_ if len(pairs) else [0.5], dtype=np.float64))
    starts = np.append(0, np.cumsum([len(part) for part in knots]))
    none = np.zeros(0)
    return Curves(none, none, curve_of.astype(np.int64), starts, np.concatenate(knots), np.concatenate(values))
