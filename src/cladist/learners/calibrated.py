"""`CalibratedClassifier`: any classifier over a taxonomy, with probabilities that are fitted out of fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from cladist.calibration.calibrators import Calibrator, check_method, columns_of, fit_calibrator
from cladist.calibration.listed_scores import ListedScores
from cladist.errors import ParameterError, one_of
from cladist.labels import LabelMatrix, TopK, encode
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.out_of_fold import (
    check_folds,
    is_ours,
    last_step,
    node_scores,
    pieces,
    random_folds,
    reduce_out_of_fold,
)
from cladist.taxonomy import Taxonomy, as_taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
PREFIT = "prefit"


class ProbabilityClassifier(MetaEstimatorMixin, HierarchicalClassifier):
    """Base of learners around learners that predict by calibrated probabilities."""

    takes_dags: ClassVar[bool] = True
    calibrator_: Calibrator

    def raw_scores(self, X: Any) -> Floats:
        """Return the scores that the calibrator reads (rows × classes)."""
        raise NotImplementedError

    def class_scores(self, X: Any) -> Floats:
        """Return the log-probability of every class."""
        return self.calibrator_.log_probabilities(self.raw_scores(X))

    def _fitted_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return X

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        return pieces(X, self.taxonomy_.n_nodes)

    def _best_classes(self, X: Any, k: int, beam: int | None) -> tuple[Ids, npt.NDArray[Any]]:
        best, log_p = super()._best_classes(X, k, beam)
        return best, np.exp(log_p)

    def predict_proba(self, X: Any, nodes: str = "classes", top_k: int | None = None) -> Any:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : rows, as the estimator takes them
        nodes : {"classes", "all"}
            Whether columns follow `classes_`, or `taxonomy_.names`: a node has the probability of all classes at and
            below it.
        top_k : int, optional
            Return a `cladist.labels.TopK` of this many classes per row; scored in chunks of rows, so that there is
            never an array of all rows × all classes.
        """
        rows = self._fitted_rows(X)
        one_of(type(self).__name__, "nodes", nodes, ("classes", "all"))
        if top_k is not None:
            if nodes == "all":
                raise ParameterError(f"{type(self).__name__}: top_k lists classes; leave nodes='all' out.")
            k = min(top_k, len(self.class_nodes_))
            return TopK(*self._best_classes(rows, k, None))
        parts = [np.exp(log_p) for log_p in self._scored(rows)]
        if nodes == "all":
            parts = [self.calibrator_.sum_up(part) for part in parts]
        return np.concatenate(parts)


@dataclass(eq=False, repr=False)
class CalibratedClassifier(ProbabilityClassifier):
    """Calibrated, coherent probabilities from the scores of any classifier."""

    estimator: Any
    _: KW_ONLY
    taxonomy: Any = None
    method: str = "temperature"
    level: str = "levels"
    cv: Any = 5
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        check_method("CalibratedClassifier", self.method, self.level)
        if self.cv != PREFIT:
            check_folds("CalibratedClassifier", self.cv)
        if is_ours(self.estimator) and self.taxonomy is not None:
            raise ParameterError("CalibratedClassifier: taxonomy is for classifiers that have none of their own.")

    def _given_taxonomy(self) -> Taxonomy | None:
        learner = last_step(self.estimator)
        if not is_ours(learner):
            return None if self.taxonomy is None else as_taxonomy(self.taxonomy)
        if self.cv == PREFIT:
            return learner.taxonomy_
        return None if learner.taxonomy is None else as_taxonomy(learner.taxonomy)

    @property
    def _knows_taxonomy(self) -> bool:
        return (last_step(self.estimator).taxonomy if is_ours(self.estimator) else self.taxonomy) is not None

    def fit(self, X: Any, y: Any) -> Self:
        """Train the estimator on all rows, and the calibration on out-of-fold scores."""
        self.check_parameters()
        encoded = encode(y, self._given_taxonomy())
        check_consistent_length(X, encoded.labels)
        self.taxonomy_, self.label_form_, labels = encoded.taxonomy, encoded.form, encoded.labels
        targets = labels.nodes("CalibratedClassifier")
        self.estimator_ = self.estimator if self.cv == PREFIT else clone(self.estimator).fit(X, y)
        parts = self._listed(X, labels, targets)
        rows = np.concatenate([own for own, _ in parts])
        listed = ListedScores.joined([part for _, part in parts])
        self.calibrator_ = fit_calibrator(
            listed, targets[rows], self.taxonomy_, self.class_nodes_, method=self.method, level=self.level
        )
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _listed(self, X: Any, labels: LabelMatrix, targets: Ids) -> list[tuple[Ids, ListedScores]]:
        """Return the listed scores of pieces of rows, with the rows, and set the classes."""
        learner = last_step(self.estimator_)
        ids = learner.class_nodes_ if is_ours(learner) else [self.taxonomy_.index(c) for c in learner.classes_]
        classes = np.sort(np.asarray(ids, dtype=np.int64))
        self.set_classes(classes)
        columns = columns_of(classes, self.taxonomy_)

        def reduce(scores: Floats, rows: Ids) -> ListedScores:
            return ListedScores.of(scores, columns[targets[rows]])

        if self.cv == PREFIT:
            parts, first = [], 0
            for part in pieces(X, len(classes)):
                scores = self.raw_scores(part)
                rows = np.arange(first, first + len(scores))
                parts.append((rows, reduce(scores, rows)))
                first += len(scores)
            return parts
        folds = random_folds("CalibratedClassifier", len(labels), self.cv, self.random_state)
        return reduce_out_of_fold(
            self.estimator, X, labels, classes, reduce, folds=folds, single=True, n_jobs=self.n_jobs
        )

    def raw_scores(self, X: Any) -> Floats:
        """Return the estimator's scores of the classes."""
        return np.asarray(node_scores(self.estimator_, X, self.taxonomy_)[0], dtype=np.float64)
