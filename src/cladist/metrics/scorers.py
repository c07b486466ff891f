"""Metrics as scorers, for ``GridSearchCV(scoring=...)`` and ``cross_val_score``.

A scorer takes (estimator, X, y) and reads the taxonomy from the fitted estimator, from the last step of a
pipeline, or from a search's best estimator. Larger is better, so losses and errors come negated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cladist.errors import ParameterError
from cladist.metrics import counts, hierarchical, per_example
from cladist.metrics.precision_recall_curve import average_precision as area
from cladist.taxonomy import Taxonomy

__all__ = [
    "RankingScorer",
    "Scorer",
    "accuracy",
    "average_precision",
    "h_loss",
    "hierarchical_f1",
    "macro_f1",
    "make_scorer",
    "micro_f1",
    "tree_induced_error",
]


@dataclass(frozen=True)
class Scorer:
    """A metric that scores a fitted estimator; build one with `make_scorer`.

    Attributes
    ----------
    metric : callable
        ``f(y_true, y_pred, taxonomy, sample_weight=...)``.
    greater_is_better : bool
        Whether a higher value is better; otherwise the score is negated.
    options : dict
        Further keyword arguments of the metric.
    """

    metric: Callable[..., float]
    greater_is_better: bool
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric of ``estimator.predict(X)`` against y, negated if less is better."""
        return self.of_labels(y, estimator.predict(X), _find_taxonomy(estimator), sample_weight=sample_weight)

    def of_labels(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> float:
        """Return the metric of predicted labels, negated if less is better."""
        value = self.metric(y_true, y_pred, taxonomy, sample_weight=sample_weight, **self.options)
        return float(value if self.greater_is_better else -value)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_scorer({self.metric.__name__}, greater_is_better={self.greater_is_better}{options})"


@dataclass(frozen=True)
class RankingScorer:
    """A scorer of `decision_function` by `cladist.metrics.average_precision`.

    Attributes
    ----------
    options : dict
        Further keyword arguments of the metric.
    """

    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the area under the precision–recall curve of the scores of all classes."""
        scores, classes = estimator.decision_function(X), estimator.classes_
        if scores.ndim == 1:  # of the second of two classes
            scores = np.column_stack([-scores, scores])
        return area(y, scores, _find_taxonomy(estimator), classes=classes, **self.options)


def make_scorer(metric: Callable[..., float], *, greater_is_better: bool, **options: Any) -> Scorer:
    """Turn a metric that returns one number into a scorer.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, taxonomy, *, sample_weight=None, **options)``, such as those of `cladist.metrics`;
        other processes can use it only if it can be imported by name.
    greater_is_better : bool
        False negates the metric.
    **options
        Passed to the metric at every call.

    Examples
    --------
    >>> from cladist import metrics
    >>> make_scorer(metrics.h_loss, greater_is_better=False, weights="sibling")
    make_scorer(h_loss, greater_is_better=False, weights='sibling')
    """
    if not callable(metric):
        raise ParameterError(f"make_scorer: metric must be a function of cladist.metrics; got {metric!r}.")
    return Scorer(metric, greater_is_better, options)


def _find_taxonomy(estimator: Any) -> Taxonomy:
    inner = estimator
    while not hasattr(inner, "taxonomy_"):
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        else:
            raise ParameterError(
                f"Scorers read the taxonomy_ of a fitted estimator; {type(inner).__name__} has none. "
                "Score a fitted learner of cladist, or a pipeline that ends in one."
            )
    return inner.taxonomy_


accuracy = make_scorer(per_example.accuracy, greater_is_better=True)
tree_induced_error = make_scorer(per_example.tree_induced_error, greater_is_better=False)
multiclass_error = make_scorer(per_example.multiclass_error, greater_is_better=False)
zero_one_loss = make_scorer(per_example.zero_one_loss, greater_is_better=False)
symmetric_difference_loss = make_scorer(per_example.symmetric_difference_loss, greater_is_better=False)
h_loss = make_scorer(per_example.h_loss, greater_is_better=False)
micro_f1 = make_scorer(counts.micro_f1, greater_is_better=True)
macro_f1 = make_scorer(counts.macro_f1, greater_is_better=True)
hierarchical_f1 = make_scorer(hierarchical.hierarchical_f1, greater_is_better=True)
average_precision = RankingScorer()
