"""Bootstrap intervals: how much a metric would vary over other test sets like this one.

A resample is an array of weights, how often each row is drawn, passed to the metric as `sample_weight`: rows are
encoded once and never copied. ``benchmarks/coverage.py`` measures the coverage of the intervals.

Resamples of rows without an error have none either, so an interval would claim that the model never errs. As in
Laplace's rule of succession, one correct and one wrong row are added; to compare two models, half a row for each
combination of correct and wrong (Agresti & Min 2005). An added row is spread over some rows of the sample: it has their
labels, and is wrong by being predicted the labels of another row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, special, stats

from cladist.errors import ParameterError, one_of
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.losses import NodeRows, read_vectors
from cladist.progress import task
from cladist.taxonomy import Taxonomy

Metric = Callable[..., Any]
Floats = npt.NDArray[np.float64]
METHODS = ("accelerated", "t", "percentile")
ADDED = 2.0  # pseudo-rows in total
MOST_CARRIERS = 50  # rows of the sample over which an added row is spread
MOST_GROUPS = 200  # groups of rows that the jackknife leaves out
STEEPEST = 0.9  # limit of acceleration × quantile; at 1 the end of the interval is infinite


class Interval(NamedTuple):
    """An estimate and the ends of its interval."""

    estimate: float
    low: float
    high: float


def bootstrap_interval(
    metric: Metric,
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    method: str = "accelerated",
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return a metric with a bootstrap interval over rows.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, taxonomy, sample_weight=...)`` that returns one number; `functools.partial`
        sets its options.
    y_true, y_pred, taxonomy
        The true and the predicted labels in any form, and their taxonomy.
    level : float
        The probability with which the interval should contain the metric of very many rows.
    n_resamples : int
        The number of resamples.
    method : {"accelerated", "t", "percentile"}
        "accelerated" corrects for skewness, which metrics near 0 or 1 have; "t" is symmetric about the estimate. Both
        are widened for few rows like Student's t, and draw from the rows and two more, one correct and one wrong, since
        a sample without errors does not prove that there are none. "percentile" does neither; it is narrower, and
        covers less often than `level`.
    random_state : int, numpy Generator or None
        The seed or source of the resamples.

    Notes
    -----
    A macro F1 over all nodes counts those without a row as 0, so it grows with the number of rows until all nodes
    occur. Its interval is for test sets of this size, not for very many rows.

    Examples
    --------
    >>> from cladist.metrics import accuracy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> y_true, y_pred = ["chess", "art"] * 50, ["chess", "art", "tennis", "art"] * 25
    >>> estimate, low, high = bootstrap_interval(accuracy, y_true, y_pred, taxonomy, random_state=0)
    >>> estimate, low < estimate < high
    (0.75, True)
    """
    return _bootstrap(metric, y_true, (y_pred,), taxonomy, level, n_resamples, method, random_state)


def bootstrap_difference(
    metric: Metric,
    y_true: Any,
    y_pred_a: Any,
    y_pred_b: Any,
    taxonomy: Taxonomy,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    method: str = "t",
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return metric(a) − metric(b) with a paired bootstrap interval: both see the same resampled rows.

    Parameters
    ----------
    metric, y_true, taxonomy, level, n_resamples, method, random_state
        As in `bootstrap_interval`; the added rows are half a row for each combination of correct and wrong.
    y_pred_a, y_pred_b : labels in any form
        The labels that the two models predict.

    Examples
    --------
    >>> from cladist.metrics import accuracy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> y_true, one, other = ["chess", "art"] * 50, ["chess", "art"] * 50, ["tennis", "art"] * 50
    >>> estimate, low, high = bootstrap_difference(accuracy, y_true, one, other, taxonomy, random_state=0)
    >>> estimate, low > 0
    (0.5, True)
    """
    return _bootstrap(metric, y_true, (y_pred_a, y_pred_b), taxonomy, level, n_resamples, method, random_state)


def _bootstrap(
    metric: Metric,
    y_true: Any,
    predicted: tuple[Any, ...],
    taxonomy: Taxonomy,
    level: float,
    n_resamples: int,
    method: str,
    random_state: Any,
) -> Interval:
    """Return the metric of the first prediction, minus that of the second if there is one, and its interval."""
    rng = np.random.default_rng(random_state)
    if not 0 < level < 1:
        raise ParameterError(f"bootstrap: level must lie between 0 and 1; got {level!r}.")
    if not isinstance(n_resamples, (int, np.integer)) or n_resamples < 1:
        raise ParameterError(f"bootstrap: n_resamples must be a positive whole number; got {n_resamples!r}.")
    one_of("bootstrap", "method", method, METHODS)
    pairs = [read_vectors(y_true, pred, taxonomy) for pred in predicted]
    true, preds = pairs[0][0], [pred for _, pred in pairs]
    n_rows = len(true.indptr) - 1
    evaluate = _WeightedMetric(metric, true, preds, taxonomy)
    estimate = evaluate(None)
    if method == "percentile":
        values = np.array([evaluate(weight) for weight in _draw_weights(n_rows, 0, n_resamples, rng)])
        return evaluate.limit(estimate, percentile_interval(estimate, values, level))
    sample = Sample.from_rows(true, preds, rng)
    evaluate = _WeightedMetric(metric, sample.true, sample.preds, taxonomy)
    centre = evaluate(sample.weights())
    values = np.array([evaluate(weight) for weight in _draw_weights(n_rows, sample.n_added, n_resamples, rng)])
    if method == "t":
        ends = t_interval(centre, values, n_rows, level)
    else:
        acceleration = estimate_acceleration(np.array([evaluate(weight) for weight in sample.leave_out(rng)]))
        ends = accelerated_interval(centre, values, acceleration, n_rows, level)
    return evaluate.limit(estimate, ends)


class _WeightedMetric:
    """A metric of one prediction, or the difference of two, as a function of the weights of rows."""

    def __init__(self, metric: Metric, true: NodeRows, preds: Any, taxonomy: Taxonomy) -> None:
        self.metric, self.taxonomy = metric, taxonomy
        self.true = _as_labels(true, taxonomy)
        self.preds = [_as_labels(pred, taxonomy) for pred in preds]
        self.least, self.most = np.inf, -np.inf  # values of the metric so far

    def __call__(self, weight: Floats | None) -> float:
        values = [self._evaluate(pred, weight) for pred in self.preds]
        self.least, self.most = min(self.least, *values), max(self.most, *values)
        return values[0] - values[1] if len(values) > 1 else values[0]

    def _evaluate(self, pred: Any, weight: Floats | None) -> float:
        value = self.metric(self.true, pred, self.taxonomy, sample_weight=weight)
        if not isinstance(value, (int, float, np.number)):
            name, kind = getattr(self.metric, "__name__", repr(self.metric)), type(value).__name__
            raise ParameterError(f"bootstrap: the metric must return one number; {name} returned {kind}.")
        return float(value)

    def limit(self, estimate: float, ends: Any) -> Interval:
        """Return an interval that contains the estimate and stays in the range of the metric: from 0, and up to 1."""
        low, high = min(float(ends[0]), estimate), max(float(ends[1]), estimate)
        least, most = 0.0 if self.least >= 0 else -np.inf, 1.0 if self.most <= 1 else np.inf
        if len(self.preds) > 1:  # the range of a difference is known only if both ends are
            least, most = least - most, most - least
        return Interval(estimate, max(low, least), min(high, most))


def _as_labels(rows: NodeRows, taxonomy: Taxonomy) -> Any:
    above = taxonomy.parents
    orphan_row, _, _ = tree.first_orphan(*rows, above.indptr, above.indices)
    if orphan_row < 0:
        return LabelMatrix(rows.indptr, rows.indices, taxonomy)
    # Not closed under ancestors: the losses accept it, the other metrics refuse it with their own message.
    shape = (len(rows.indptr) - 1, taxonomy.n_nodes)
    return sparse.csr_array((np.ones(len(rows.indices), np.int8), rows.indices, rows.indptr), shape=shape)


def _draw_weights(n_rows: int, n_added: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield how often each row is drawn, with replacement, when as many are drawn as there are.

    The `n_added` rows that follow the first `n_rows` weigh `ADDED` rows together.
    """
    n_drawn = n_rows + (int(ADDED) if n_added else 0)
    with task("bootstrap", total=n_resamples) as resampling:
        for _ in range(n_resamples):
            n_drawn_added = int(rng.binomial(n_drawn, ADDED / n_drawn)) if n_added else 0
            own = np.bincount(rng.integers(n_rows, size=n_drawn - n_drawn_added), minlength=n_rows)
            added = np.bincount(rng.integers(n_added, size=n_drawn_added), minlength=n_added) if n_added else own[:0]
            yield np.concatenate([own, added]).astype(np.float64)
            resampling.advance()


@dataclass(frozen=True)
class Sample:
    """The rows of a sample, followed by the added rows."""

    true: NodeRows
    preds: tuple[NodeRows, ...]  # of each model
    n_rows: int  # without the added ones
    n_blocks: int  # kinds of added rows
    n_carriers: int  # rows over which each kind is spread

    @classmethod
    def from_rows(cls, true: NodeRows, preds: Sequence[NodeRows], rng: np.random.Generator) -> Sample:
        """Add rows on which the model is correct and wrong, or two models in every combination."""
        n_rows = len(true.indptr) - 1
        carriers = rng.permutation(n_rows)[:MOST_CARRIERS]
        others = _choose_others(true, carriers, rng)
        # If all rows have the same labels, no row can be wrong.
        kinds = list(product([carriers] if others is None else [carriers, others], repeat=len(preds)))
        extended = [
            _append(pred, true, np.concatenate(sources))
            for pred, sources in zip(preds, zip(*kinds, strict=True), strict=True)
        ]
        carried = np.tile(carriers, len(kinds))
        return cls(_append(true, true, carried), tuple(extended), n_rows, len(kinds), len(carriers))

    @property
    def n_added(self) -> int:
        """The number of added rows, which together weigh `ADDED`."""
        return self.n_blocks * self.n_carriers

    def weights(self) -> Floats:
        """Return the weight of every row: 1, or its share of the added rows."""
        return np.concatenate([np.ones(self.n_rows), np.full(self.n_added, ADDED / self.n_added)])

    def leave_out(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield weights that leave out one row, or one of at most `MOST_GROUPS` groups of rows."""
        groups = np.array_split(rng.permutation(self.n_rows), min(self.n_rows, MOST_GROUPS))
        if self.n_rows <= MOST_GROUPS:  # a group is one row, as much as an added row
            groups += np.split(np.arange(self.n_rows, self.n_rows + self.n_added), self.n_blocks)
        for group in groups:
            weights = self.weights()
            weights[group] = 0.0
            yield weights


def _choose_others(true: NodeRows, carriers: Any, rng: np.random.Generator) -> Any:
    """Return for each carrier another row with different labels, or None if all rows have the same."""
    number_of: dict[bytes, int] = {}
    pairs = zip(true.indptr[:-1].tolist(), true.indptr[1:].tolist(), strict=True)
    kind = np.array([number_of.setdefault(true.indices[a:b].tobytes(), len(number_of)) for a, b in pairs])
    if len(number_of) == 1:
        return None
    others = np.zeros(len(carriers), np.int64)
    for own in np.unique(kind[carriers]):
        of_kind = kind[carriers] == own
        others[of_kind] = rng.choice(np.flatnonzero(kind != own), size=int(of_kind.sum()))
    return others


def _append(rows: NodeRows, source: NodeRows, added: Any) -> NodeRows:
    """Return rows followed by some rows of another list."""
    counts = np.concatenate([np.diff(rows.indptr), np.diff(source.indptr)[added]])
    pieces = [source.indices[source.indptr[k] : source.indptr[k + 1]] for k in added]
    return NodeRows(np.concatenate([[0], np.cumsum(counts)]), np.concatenate([rows.indices, *pieces]))


# The last axis of `values` is that of the resamples; the axes before it, if any, are those of several estimates.


def percentile_interval(estimate: Any, values: Floats, level: float) -> Floats:
    """Return percentiles of the values, shifted so that their mean is the estimate."""
    shares = np.array([(1 - level) / 2, (1 + level) / 2])
    return _quantiles(_shift(estimate, values), shares.reshape(-1, *(1,) * np.ndim(estimate)))


def accelerated_interval(estimate: Any, values: Floats, acceleration: Any, n_rows: int, level: float) -> Floats:
    """Return percentiles corrected for skewness (Efron 1987), widened for few rows (Hesterberg 2015).

    The bias of the resamples is removed by shifting their mean, not by Efron's z₀, which is infinite if all resamples
    lie on one side of the estimate, as for a macro F1 with rare nodes.
    """
    z = _half_width(n_rows, level)
    ends = np.array([-z, z]).reshape(-1, *(1,) * np.ndim(estimate))
    shares = special.ndtr(ends / (1 - np.clip(acceleration * ends, -STEEPEST, STEEPEST)))
    return _quantiles(_shift(estimate, values), shares)


def t_interval(estimate: Any, values: Floats, n_rows: int, level: float) -> Floats:
    """Return the estimate plus and minus Student's t quantile times the standard deviation of the values."""
    half = _half_width(n_rows, level) * values.std(axis=-1, ddof=1 if values.shape[-1] > 1 else 0)
    return np.array([estimate - half, estimate + half])


def estimate_acceleration(left_out: Floats, counts: Any = 1.0) -> Floats:
    """Return the acceleration, a third of the skewness of a metric's jackknife values over √n.

    `left_out` are the values of the metric with one row left out, `counts` how many rows have each value.
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
