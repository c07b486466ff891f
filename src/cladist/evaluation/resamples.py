"""Scores of several methods on the same resamples of rows, and intervals that hold for all differences together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from cladist.labels import LabelMatrix
from cladist.losses import TreeDistance, ZeroOne
from cladist.metrics.significance import Interval

Floats = npt.NDArray[np.float64]
BLOCK = 50  # resamples at once, which bounds the memory


class Measure(NamedTuple):
    """What methods are compared by: its title, whether more is better, the factor and the digits it is shown with."""

    title: str
    more_is_better: bool = True
    factor: float = 100.0
    digits: int = 1

    def shown(self, value: float) -> str:
        """Return a value as text."""
        return f"{self.factor * value:.{self.digits}f}"


MEASURES = {
    "macro_f1": Measure("macro F1"),
    "micro_f1": Measure("micro F1"),
    "hierarchical_f1": Measure("hierarchical F1"),
    "accuracy": Measure("accuracy"),
    "tree_induced_error": Measure("tree-induced error", more_is_better=False, factor=1.0, digits=3),
}


@dataclass(frozen=True)
class Resamples:
    """How often each row is drawn in each resample; whole groups of rows are drawn if there are any."""

    n_rows: int
    n_resamples: int
    seed: int
    groups: npt.NDArray[np.int64] | None = None

    def blocks(self) -> Iterator[Floats]:
        """Yield weights (resamples × rows), the same ones at every call."""
        random = np.random.default_rng(self.seed)
        n_units = self.n_rows if self.groups is None else int(self.groups.max()) + 1
        for first in range(0, self.n_resamples, BLOCK):
            n = min(BLOCK, self.n_resamples - first)
            drawn = random.integers(n_units, size=(n, n_units)) + np.arange(n)[:, None] * n_units
            weights = np.bincount(drawn.ravel(), minlength=n * n_units).reshape(n, n_units).astype(np.float64)
            yield weights if self.groups is None else weights[:, self.groups]


def resampled_scores(
    true: LabelMatrix, predicted: Mapping[str, LabelMatrix], measure: str, nodes: npt.NDArray[Any], draws: Resamples
) -> dict[str, Floats]:
    """Return for each prediction its score on all rows, followed by those on the resamples."""
    scores = {name: _scorer(true, labels, measure, nodes) for name, labels in predicted.items()}
    values = {name: [np.atleast_1d(score(np.ones((1, draws.n_rows))))] for name, score in scores.items()}
    for weights in draws.blocks():
        for name, score in scores.items():
            values[name].append(score(weights))
    return {name: np.concatenate(parts) for name, parts in values.items()}


def _scorer(true: LabelMatrix, pred: LabelMatrix, measure: str, nodes: npt.NDArray[Any]) -> Callable[[Floats], Floats]:
    """Return the function of the weights of rows (resamples × rows) that computes a measure."""
    if measure in ("accuracy", "tree_induced_error"):
        loss = ZeroOne() if measure == "accuracy" else TreeDistance()
        values = loss.per_example(true, pred, true.taxonomy)
        sign, offset = (-1.0, 1.0) if measure == "accuracy" else (1.0, 0.0)
        return lambda weights: np.asarray(offset + sign * (weights @ values) / weights.sum(axis=1))
    first = 1 if len(true.taxonomy.roots) == 1 else 0
    chosen = np.arange(first, true.taxonomy.n_nodes) if measure == "hierarchical_f1" else nodes
    t, p = (side.to_indicator().tocsc()[:, chosen].astype(np.float64) for side in (true, pred))
    both, sums = t.multiply(p).tocsr(), (t + p).tocsr()
    if measure == "macro_f1":
        return _macro(both, sums, t)
    both_of_row, sum_of_row = (np.asarray(side.sum(axis=1)).ravel() for side in (both, sums))
    return lambda weights: _divide(2 * (weights @ both_of_row), weights @ sum_of_row)


def _macro(both: Any, sums: Any, t: Any) -> Callable[[Floats], Floats]:
    """Return the mean F1 of nodes that have true rows in a resample."""
    used = np.flatnonzero(np.asarray(t.sum(axis=0)).ravel())
    both_t, sums_t, true_t = (sparse.csr_array(side.tocsc()[:, used].T) for side in (both, sums, t))

    def score(weights: Floats) -> Floats:
        columns = weights.T
        counted = (true_t @ columns) > 0
        f1 = _divide(2 * (both_t @ columns), sums_t @ columns)
        return _divide((f1 * counted).sum(axis=0), counted.sum(axis=0))

    return score


def _divide(part: Floats, whole: Any) -> Floats:
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)


def simultaneous_intervals(
    differences: Sequence[Floats], n_rows: int, level: float = 0.95, extra: Sequence[float] = ()
) -> list[Interval]:
    """Return an interval for each difference such that all of them hold together with probability `level`.

    Each difference is its value on all rows followed by its values on resamples. Intervals are as many standard errors
    wide as the largest of all standardised differences exceeds with probability 1 − `level` (the single-step max-t
    procedure), and at least as wide as Student's t interval. `extra` are variances beside that of the rows.
    """
    estimates = np.array([values[0] for values in differences])
    centred = np.array([values[1:] - values[1:].mean() for values in differences])
    deviations = centred.std(axis=1, ddof=1)
    standardised = np.divide(centred, deviations[:, None], out=np.zeros_like(centred), where=deviations[:, None] > 0)
    largest = float(np.quantile(np.abs(standardised).max(axis=0), level))
    half = max(largest, float(stats.t.ppf((1 + level) / 2, max(n_rows - 1, 1))))
    errors = np.sqrt(deviations**2 + (np.zeros(len(estimates)) if not len(extra) else np.asarray(extra)))
    return [
        Interval(float(e), float(e - half * s), float(e + half * s)) for e, s in zip(estimates, errors, strict=True)
    ]
