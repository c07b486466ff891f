"""`ProbabilityClassifier`: the prediction API of learners that calibrate the scores of other models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from sklearn.base import MetaEstimatorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from cladist.calibration.calibrators import Calibrator, check_method
from cladist.errors import ParameterError, is_count, one_of
from cladist.labels import LabelMatrix, TopK, encode
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.out_of_fold import check_folds, is_ours, last_step, pieces
from cladist.storage.array_groups import Arrays, group
from cladist.taxonomy import Taxonomy, as_taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class ProbabilityClassifier(MetaEstimatorMixin, HierarchicalClassifier):
    """Base of `CalibratedClassifier` and `BlendedClassifier`, which write `fit`, `models` and `raw_scores`."""

    takes_dags: ClassVar[bool] = True
    packs_estimators: ClassVar[bool] = True  # in a file, fitted models are part of the state

    method: str
    level: str
    cv: Any
    calibrator_: Calibrator

    @property
    def models(self) -> list[Any]:
        """The models given, before they are fitted."""
        raise NotImplementedError

    def raw_scores(self, X: Any) -> Floats:
        """Return the scores that the calibrator reads (rows × classes)."""
        raise NotImplementedError

    # ---------------------------------------------------------------- training

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        who = type(self).__name__
        check_method(who, self.method, self.level)
        if self.cv != "prefit":
            check_folds(who, self.cv)
        for model in self.models:
            learner = last_step(model)
            if not any(hasattr(learner, name) for name in ("decision_function", "predict_proba")):
                raise ParameterError(f"{who}: a classifier needs decision_function or predict_proba; got {model!r}.")
        if self.taxonomy is not None and all(map(is_ours, self.models)):
            raise ParameterError(f"{who}: taxonomy is for classifiers without one; give it to cladist's learners.")

    def _given_taxonomy(self) -> Taxonomy | None:
        """Return the taxonomy of the first learner that has one, or the parameter."""
        for learner in map(last_step, self.models):
            if is_ours(learner):
                given = learner.taxonomy_ if self.cv == "prefit" else learner.taxonomy
                if given is not None:
                    return as_taxonomy(given)
        return None if self.taxonomy is None else as_taxonomy(self.taxonomy)

    @property
    def _knows_taxonomy(self) -> bool:
        given = [getattr(last_step(model), "taxonomy", None) for model in self.models]
        return any(taxonomy is not None for taxonomy in (self.taxonomy, *given))

    def encode_labels(self, X: Any, y: Any) -> LabelMatrix:
        """Return y as a matrix, and set the taxonomy and the form of y."""
        self.check_parameters()
        reading = next((last_step(m).reading_of_lists for m in self.models if is_ours(m)), "paths")
        encoded = encode(y, self._given_taxonomy(), lists=reading)
        check_consistent_length(X, encoded.labels)
        self.taxonomy_, self.label_form_ = encoded.taxonomy, encoded.form
        return encoded.labels

    def copy_features(self, model: Any) -> None:
        """Set the number and the names of features that a fitted model has."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    # ---------------------------------------------------------------- prediction

    @property
    def decodes_sets(self) -> bool:
        """Whether predictions are sets of labels."""
        return hasattr(self, "calibrator_") and self.calibrator_.of_sets

    def class_scores(self, X: Any) -> Floats:
        """Return the log-probability of every class; for sets, its log odds."""
        if self.decodes_sets:
            with np.errstate(divide="ignore"):
                return np.asarray(logit(self.calibrator_.predict(self.raw_scores(X))))
        return self.calibrator_.log_probabilities(self.raw_scores(X))

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the nodes with a probability of at least one half; with a node, all above it have it too."""
        parts = []
        for rows in self._chunks(X):
            chosen = self.calibrator_.predict_nodes(self.raw_scores(rows)) >= 0.5
            indptr = np.append(0, np.cumsum(chosen.sum(axis=1)))
            parts.append(LabelMatrix.from_ids(indptr, np.nonzero(chosen)[1], self.taxonomy_))
        return LabelMatrix.from_parts(parts, self.taxonomy_)

    def predict_proba(self, X: Any, nodes: str = "classes", top_k: int | None = None) -> Any:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : rows, as the estimator takes them
        nodes : {"classes", "all"}
            Whether columns follow `classes_`, or `taxonomy_.names`. A node has the probability of all classes at and
            below it; for sets, never more than a parent.
        top_k : int, optional
            Return a `cladist.labels.TopK` of this many classes per row, or of all if they are fewer. Rows are scored in
            chunks: there is never an array of all rows × all classes.
        """
        rows, who = self._fitted_rows(X), type(self).__name__
        one_of(who, "nodes", nodes, ("classes", "all"))
        if top_k is not None:
            if nodes == "all" or not is_count(top_k):
                raise ParameterError(f"{who}: top_k is a whole number from 1 up, of classes; got {top_k!r}, {nodes!r}.")
            return TopK(*self._best_classes(rows, min(top_k, len(self.class_nodes_)), None))
        predict = self.calibrator_.predict if nodes == "classes" else self.calibrator_.predict_nodes
        return np.concatenate([predict(self.raw_scores(part)) for part in self._chunks(rows)])

    def predict_top_k(self, X: Any, k: int, *, beam: int | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the k most probable labels of every row and their probabilities, best first; see `predict_proba`."""
        return super().predict_top_k(X, k, beam=beam)

    def _best_classes(self, X: Any, k: int, beam: int | None) -> tuple[Ids, npt.NDArray[Any]]:
        best, scores = super()._best_classes(X, k, beam)
        return best, 1 / (1 + np.exp(-scores)) if self.decodes_sets else np.exp(scores)

    def _fitted_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return X  # the models inside check them

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        return pieces(X, max(at_least, self.taxonomy_.n_nodes))

    # ---------------------------------------------------------------- saving and loading

    def unpack_calibrator(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore the calibrator."""
        packed = group("calibrator", arrays)
        self.calibrator_ = Calibrator.unpack(state["calibration"], packed, self.taxonomy_, self.class_nodes_)
