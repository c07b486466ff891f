"""Bootstrap intervals: how much a metric would vary over other test sets like this one.

A resample is drawn as weights, how often each row is drawn, and handed to the metric as `sample_weight`: rows
are encoded once and never copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.losses.pairs import Rows, read_vectors
from cladist.progress import task
from cladist.taxonomy import Taxonomy

Metric = Callable[..., Any]


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
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return a metric with a percentile bootstrap interval over rows.

    The resamples are moved so that their mean is the estimate. That matters for a macro-F1 with rare nodes:
    a resample leaves some of them without a row, so nearly all resamples score less than the rows themselves,
    and an interval left where it fell would not contain the estimate.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, taxonomy, sample_weight=...)`` that returns one number; `functools.partial`
        sets its options.
    y_true, y_pred : labels in any form
    taxonomy : Taxonomy
    level : float
        The part of resamples that the interval covers.
    n_resamples : int
    random_state : int, numpy Generator or None

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
    _check(level, n_resamples)
    true, pred = _read_once(y_true, y_pred, taxonomy)
    values = [_number(metric, true, pred, taxonomy)]
    for weight in _resamples(true.shape[0], n_resamples, random_state):
        values.append(_number(metric, true, pred, taxonomy, weight))
    estimate, low, high = _interval(values, level)
    # Moving the resamples may carry an end past what the metric can be.
    return Interval(estimate, low if min(values) < 0 else max(low, 0.0), high if max(values) > 1 else min(high, 1.0))


def bootstrap_difference(
    metric: Metric,
    y_true: Any,
    y_pred_a: Any,
    y_pred_b: Any,
    taxonomy: Taxonomy,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return metric(a) − metric(b) with a paired bootstrap interval: both see the same resampled rows.

    The other parameters are those of `bootstrap_interval`.

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
    _check(level, n_resamples)
    true, pred_a = _read_once(y_true, y_pred_a, taxonomy)
    _, pred_b = _read_once(y_true, y_pred_b, taxonomy)

    def difference(weight: npt.NDArray[np.float64] | None) -> float:
        a = _number(metric, true, pred_a, taxonomy, weight)
        return a - _number(metric, true, pred_b, taxonomy, weight)

    values = [difference(None)]
    values.extend(difference(weight) for weight in _resamples(true.shape[0], n_resamples, random_state))
    return _interval(values, level)


def _check(level: float, n_resamples: int) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"bootstrap: level must lie between 0 and 1; got {level!r}.")
    if not isinstance(n_resamples, (int, np.integer)) or n_resamples < 1:
        raise ParameterError(f"bootstrap: n_resamples must be a positive whole number; got {n_resamples!r}.")


def _read_once(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> tuple[Any, Any]:
    """Read both sides in a form that every metric takes without reading it again."""
    true, pred = read_vectors(y_true, y_pred, taxonomy)
    return _readable(true, taxonomy), _readable(pred, taxonomy)


def _readable(rows: Rows, taxonomy: Taxonomy) -> Any:
    above = taxonomy.parents
    orphan_row, _, _ = tree.first_orphan(*rows, above.indptr, above.indices)
    if orphan_row < 0:
        return LabelMatrix(rows.indptr, rows.indices, taxonomy)
    # Inconsistent: the losses take it as it is, the other metrics refuse it with their own message.
    shape = (len(rows.indptr) - 1, taxonomy.n_nodes)
    return sparse.csr_array((np.ones(len(rows.indices), np.int8), rows.indices, rows.indptr), shape=shape)


def _resamples(n_rows: int, n_resamples: int, random_state: Any) -> Iterator[npt.NDArray[np.float64]]:
    """Yield how often each row is drawn when n_rows of them are drawn with replacement."""
    rng = np.random.default_rng(random_state)
    with task("bootstrap", total=n_resamples) as resampling:
        for _ in range(n_resamples):
            drawn = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
            yield drawn.astype(np.float64)
            resampling.advance()


def _number(metric: Metric, true: Any, pred: Any, taxonomy: Taxonomy, weight: Any = None) -> float:
    value = metric(true, pred, taxonomy, sample_weight=weight)
    if not isinstance(value, (int, float, np.number)):
        name = getattr(metric, "__name__", repr(metric))
        raise ParameterError(f"bootstrap: the metric must return one number; {name} returned {type(value).__name__}.")
    return float(value)


def _interval(values: list[float], level: float) -> Interval:
    estimate, resampled = values[0], np.array(values[1:])
    moved = resampled + (estimate - resampled.mean())
    low, high = np.quantile(moved, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high))
