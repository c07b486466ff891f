"""Bootstrap intervals: how much a metric would vary over other test sets like this one.

A resample is an array of weights, how often each row is drawn, passed to the metric as `sample_weight`: rows are
encoded once and never copied. ``benchmarks/coverage.py`` measures the coverage of the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError, one_of
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.losses.pairs import NodeRows, read_vectors
from cladist.metrics.intervals import accelerated_interval, estimate_acceleration, percentile_interval, t_interval
from cladist.metrics.resamples import Sample
from cladist.progress import task
from cladist.taxonomy import Taxonomy

Metric = Callable[..., Any]
Weights = npt.NDArray[np.float64]
METHODS = ("accelerated", "t", "percentile")


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
    y_true, y_pred : labels in any form
        The true and the predicted labels.
    taxonomy : Taxonomy
        The taxonomy of the labels.
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
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import accuracy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> y_true, y_pred = ["chess", "art"] * 50, ["chess", "art", "tennis", "art"] * 25
    >>> estimate, low, high = bootstrap_interval(accuracy, y_true, y_pred, taxonomy, random_state=0)
    >>> estimate, low < estimate < high
    (0.75, True)
    """
    return _bootstrap(
        metric, y_true, (y_pred,), taxonomy, level, n_resamples, method, np.random.default_rng(random_state)
    )


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
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import accuracy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> y_true, one, other = ["chess", "art"] * 50, ["chess", "art"] * 50, ["tennis", "art"] * 50
    >>> estimate, low, high = bootstrap_difference(accuracy, y_true, one, other, taxonomy, random_state=0)
    >>> estimate, low > 0
    (0.5, True)
    """
    predicted = (y_pred_a, y_pred_b)
    return _bootstrap(
        metric, y_true, predicted, taxonomy, level, n_resamples, method, np.random.default_rng(random_state)
    )


def _bootstrap(
    metric: Metric,
    y_true: Any,
    predicted: tuple[Any, ...],
    taxonomy: Taxonomy,
    level: float,
    n_resamples: int,
    method: str,
    rng: np.random.Generator,
) -> Interval:
    """Return the metric of the first prediction, minus that of the second if there is one, and its interval."""
    _check_options(level, n_resamples, method)
    read = [read_vectors(y_true, pred, taxonomy) for pred in predicted]
    true, preds = read[0][0], [pred for _, pred in read]
    n_rows = len(true.indptr) - 1
    estimate = _WeightedMetric(metric, true, preds, taxonomy)(None)
    if method == "percentile":
        evaluate = _WeightedMetric(metric, true, preds, taxonomy)
        values = np.array([evaluate(weight) for weight in _draw_weights(n_rows, n_resamples, rng)])
        return evaluate.limit(estimate, percentile_interval(estimate, values, level))
    sample = Sample.from_rows(true, preds, rng)
    evaluate = _WeightedMetric(metric, sample.true, sample.preds, taxonomy)
    centre = evaluate(sample.weights())
    values = np.array([evaluate(weight) for weight in sample.resample(n_resamples, rng)])
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

    def __call__(self, weight: Weights | None) -> float:
        values = [_call_metric(self.metric, self.true, pred, self.taxonomy, weight) for pred in self.preds]
        self.least, self.most = min(self.least, *values), max(self.most, *values)
        return values[0] - values[1] if len(values) > 1 else values[0]

    def limit(self, estimate: float, ends: Any) -> Interval:
        """Return an interval that contains the estimate and stays in the range of the metric: from 0, and up to 1."""
        low, high = min(float(ends[0]), estimate), max(float(ends[1]), estimate)
        least, most = 0.0 if self.least >= 0 else -np.inf, 1.0 if self.most <= 1 else np.inf
        if len(self.preds) > 1:  # the range of a difference is known only if both ends are
            least, most = least - most, most - least
        return Interval(estimate, max(low, least), min(high, most))


def _check_options(level: float, n_resamples: int, method: str) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"bootstrap: level must lie between 0 and 1; got {level!r}.")
    if not isinstance(n_resamples, (int, np.integer)) or n_resamples < 1:
        raise ParameterError(f"bootstrap: n_resamples must be a positive whole number; got {n_resamples!r}.")
    one_of("bootstrap", "method", method, METHODS)


def _as_labels(rows: NodeRows, taxonomy: Taxonomy) -> Any:
    above = taxonomy.parents
    orphan_row, _, _ = tree.first_orphan(*rows, above.indptr, above.indices)
    if orphan_row < 0:
        return LabelMatrix(rows.indptr, rows.indices, taxonomy)
    # Not closed under ancestors: the losses accept it, the other metrics refuse it with their own message.
    shape = (len(rows.indptr) - 1, taxonomy.n_nodes)
    return sparse.csr_array((np.ones(len(rows.indices), np.int8), rows.indices, rows.indptr), shape=shape)


def _draw_weights(n_rows: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Weights]:
    """Yield how often each row is drawn when n_rows of them are drawn with replacement."""
    with task("bootstrap", total=n_resamples) as resampling:
        for _ in range(n_resamples):
            counts = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
            yield counts.astype(np.float64)
            resampling.advance()


def _call_metric(metric: Metric, true: Any, pred: Any, taxonomy: Taxonomy, weight: Any = None) -> float:
    value = metric(true, pred, taxonomy, sample_weight=weight)
    if not isinstance(value, (int, float, np.number)):
        name = getattr(metric, "__name__", repr(metric))
        raise ParameterError(f"bootstrap: the metric must return one number; {name} returned {type(value).__name__}.")
    return float(value)
