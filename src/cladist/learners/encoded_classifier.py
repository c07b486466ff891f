"""`EncodedClassifier`: a learner for scikit-learn's meta-estimators, which replace labels by the numbers 0 to K − 1."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cladist.errors import LabelError
from cladist.learners.out_of_fold import class_scores, is_ours


def _has(name: str) -> Any:
    return lambda model: hasattr(getattr(model, "estimator_", model.estimator), name)


@dataclass(eq=False, repr=False)
class EncodedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose labels may be given as their positions in the sorted list of all labels.

    `VotingClassifier`, `StackingClassifier`, `BaggingClassifier`, `cross_val_predict` with probabilities or scores and
    `CalibratedClassifierCV(ensemble=False)` train their classifiers on the numbers 0 to K − 1 in place of the labels,
    which a taxonomy does not know. This wrapper translates them, and orders columns by number, as scikit-learn expects.
    Labels that are no such numbers pass unchanged.

    Parameters
    ----------
    estimator : classifier
        A learner of cladist, or a Pipeline that ends in one.
    labels : sequence of labels
        All labels, such as y: one per row, repeats allowed.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the labels.
    classes_ : array
        The numbers, or the labels, of the classes, sorted: columns of `predict_proba` and `decision_function`.

    Examples
    --------
    >>> from sklearn.ensemble import VotingClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from cladist import EncodedClassifier, RecursiveLogistic, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X, y = [[2, 0], [2, 1], [0, 2]] * 5, ["tennis", "chess", "art"] * 5
    >>> tree = EncodedClassifier(RecursiveLogistic(taxonomy), labels=y)
    >>> vote = VotingClassifier([("tree", tree), ("flat", LogisticRegression())], voting="soft").fit(X, y)
    >>> vote.predict(X[:3]).tolist()
    ['tennis', 'chess', 'art']
    """

    estimator: Any
    _: KW_ONLY
    labels: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : rows, as the classifier takes them
        y : labels, one per row, or their numbers
        sample_weight : array (rows,), optional
            Passed on to the classifier, the last step of a Pipeline.
        """
        if self.labels is None:
            raise LabelError("EncodedClassifier: labels must hold all labels, such as y; got None.")
        all_labels, y = np.unique(np.asarray(self.labels)), np.asarray(y)
        self.is_encoded_ = self._are_numbers(y, all_labels)
        step = f"{self.estimator.steps[-1][0]}__" if isinstance(self.estimator, Pipeline) else ""
        options = {} if sample_weight is None else {f"{step}sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, all_labels[y] if self.is_encoded_ else y, **options)
        found = np.asarray(self.estimator_.classes_)
        known = np.isin(found, all_labels)  # a learner may also predict nodes that are no labels of rows
        codes = np.searchsorted(all_labels, found[known]) if self.is_encoded_ else found[known]
        order = np.argsort(codes, kind="stable")
        self.columns_, self.classes_ = np.flatnonzero(known)[order], codes[order]
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def _are_numbers(self, y: npt.NDArray[Any], all_labels: npt.NDArray[Any]) -> bool:
        """Tell whether y holds numbers in place of labels."""
        if y.dtype.kind not in "iu" or np.isin(y, all_labels).all():
            return False
        if y.min() < 0 or y.max() >= len(all_labels):
            raise LabelError(
                f"EncodedClassifier: numbers in y go from 0 to {len(all_labels) - 1}, the number of labels less one; "
                f"got {y.min()} to {y.max()}."
            )
        if len(all_labels) > 2 and y.max() <= 1:
            raise LabelError(
                f"EncodedClassifier: y holds only 0 and 1, and there are {len(all_labels)} labels. OneVsRestClassifier "
                "and other schemes of two classes train on whether a row has a label; give them a learner without a "
                "taxonomy."
            )
        return True

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label of every row, as a number if `fit` was given numbers.

        Parameters
        ----------
        X : rows, as the classifier takes them
        """
        check_is_fitted(self)
        found = np.asarray(self.estimator_.predict(X))
        by_class = {label: k for k, label in enumerate(np.asarray(self.estimator_.classes_)[self.columns_].tolist())}
        places = np.array([by_class.get(label, -1) for label in found.tolist()], dtype=np.int64)
        other = np.flatnonzero(places < 0)
        if len(other):  # nodes that are no labels of rows
            places[other] = self._all_scores(X)[other][:, self.columns_].argmax(axis=1)
        return self.classes_[places]

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of every class; columns follow `classes_`.

        Parameters
        ----------
        X : rows, as the classifier takes them
        """
        check_is_fitted(self)
        probabilities = self.estimator_.predict_proba(X)[:, self.columns_]
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the score of every class; columns follow `classes_`, and two classes have one column.

        Parameters
        ----------
        X : rows, as the classifier takes them
        """
        check_is_fitted(self)
        scores = self._all_scores(X)[:, self.columns_]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _all_scores(self, X: Any) -> npt.NDArray[np.float64]:
        if is_ours(self.estimator_):
            return np.asarray(class_scores(self.estimator_, X), dtype=np.float64)
        scores = np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
        return np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores
