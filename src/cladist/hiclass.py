"""HiClass's classes and parameters over cladist's learners: programs change their import, and nothing else.

`LocalClassifierPerParentNode`, `LocalClassifierPerNode` and `LocalClassifierPerLevel` take the parameters of HiClass
5.0.8 and answer in its forms: padded arrays of paths, and probabilities per level. What cladist's own learners have
beyond that is in `model_`, the fitted `TopDown`, `LocalPerNode` or `LocalPerLevel`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from cladist.errors import ParameterError, one_of
from cladist.labels import LabelMatrix, encode
from cladist.learners.base import take_rows
from cladist.learners.local.families import Decision, last_parts
from cladist.learners.local.per_level import LocalPerLevel
from cladist.learners.local.per_node import LocalPerNode
from cladist.learners.local.top_down import TopDown, child_of_rows, node_problems

__all__ = ["LocalClassifierPerLevel", "LocalClassifierPerNode", "LocalClassifierPerParentNode"]


@dataclass(eq=False, repr=False)
class _LocalClassifier(ClassifierMixin, BaseEstimator):
    """What the three classes share.

    Parameters
    ----------
    local_classifier : scikit-learn classifier
        The classifier to clone; LogisticRegression by default.
    """

    learner: ClassVar[Any]

    local_classifier: Any = None
    _: KW_ONLY
    verbose: int = 0
    edge_list: Any = None
    replace_classifiers: bool = True
    n_jobs: int | None = 1
    calibration_method: str | None = None
    return_all_probabilities: bool = False
    probability_combiner: str | None = "multiply"
    tmp_dir: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the classifiers.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : paths: a 2-D array or frame, lists of lists, or one label per row
        sample_weight : array (rows,), optional
        """
        who = type(self).__name__
        one_of(who, "calibration_method", self.calibration_method, ("isotonic", "platt", "sigmoid", None))
        if self.tmp_dir is not None or not self.replace_classifiers:
            raise ParameterError(f"{who}: tmp_dir and replace_classifiers=False are not available; leave them out.")
        self.model_ = self.calibrated_ = self._new_model().fit(X, _as_table(y), sample_weight)
        if self.edge_list is not None:
            self.model_.taxonomy_.write(self.edge_list, format="edges")
        return self

    def _new_model(self) -> Any:
        estimator = LogisticRegression() if self.local_classifier is None else self.local_classifier
        return self.learner(estimator=estimator, combine=self.probability_combiner, n_jobs=self.n_jobs)

    @property
    def classes_(self) -> list[npt.NDArray[Any]]:
        """The names of the nodes of each level, sorted: the columns of `predict_proba`."""
        check_is_fitted(self, "model_")
        return [np.unique(names) for names in self._names()]

    def _names(self) -> list[list[str]]:
        taxonomy = self.model_.taxonomy_
        levels = range(int(taxonomy.depth.max()) + 1)
        return [[taxonomy.path_parts(v)[-1] for v in np.flatnonzero(taxonomy.depth == k).tolist()] for k in levels]

    def predict(self, X: Any) -> Any:
        """Return the path of every row as a padded array; one label per row if y had.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        """
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the last level, or with `return_all_probabilities` a list of all levels.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        """
        check_is_fitted(self, "model_")
        levels = []
        for part, names in zip(self.calibrated_.predict_proba(X, nodes="levels"), self._names(), strict=True):
            classes, column = np.unique(names, return_inverse=True)  # nodes that end in the same name are one column
            levels.append(part @ np.eye(len(classes))[column])
        return levels if self.return_all_probabilities else levels[-1]

    def calibrate(self, X: Any, y: Any) -> Self:
        """Fit a calibration of each classifier's probabilities to rows that it was not trained on.

        Parameters
        ----------
        X, y : rows and labels, as in `fit`
        """
        check_is_fitted(self, "model_")
        if self.calibration_method is None:
            raise ParameterError(f"{type(self).__name__}: calibrate needs calibration_method='isotonic' or 'platt'.")
        model = self.model_
        rows = model._checked_rows(X, reset=False)
        labels = encode(_as_table(y), model.taxonomy_).labels
        self.calibrated_ = self._calibrated(rows, labels)
        return self

    def _calibrated(self, rows: Any, labels: LabelMatrix) -> Any:
        """Return a copy of the model whose classifiers are calibrated."""
        model = copy(self.model_)
        model.estimators_ = dict(model.estimators_)
        for key, (_, chosen, classes) in copy(self.model_).problems(labels).items():
            if key in model.estimators_ and len(np.unique(classes)) > 1:
                calibrated = _Calibrated(model.estimators_[key], str(self.calibration_method))
                model.estimators_[key] = calibrated.fit(take_rows(rows, chosen), classes)
        return model


class LocalClassifierPerParentNode(_LocalClassifier):
    """HiClass's local classifier per parent node: `TopDown`.

    Parameters
    ----------
    local_classifier : scikit-learn classifier
        The classifier to clone; LogisticRegression by default.

    Examples
    --------
    >>> from cladist.hiclass import LocalClassifierPerParentNode
    >>> X, y = [[1], [2], [3], [4]], [["a", "b"], ["a", "c"], ["d", "e"], ["d", "f"]]
    >>> LocalClassifierPerParentNode().fit(X, y).predict([[1], [4]]).tolist()
    [['a', 'b'], ['d', 'f']]
    """

    learner = TopDown

    def _calibrated(self, rows: Any, labels: LabelMatrix) -> Any:
        model = copy(self.model_)
        model.decisions_ = dict(model.decisions_)
        for problem in node_problems(model.taxonomy_, labels.nodes("calibrate")):
            decision = model.decisions_.get(problem.parent)
            if isinstance(decision, Decision) and len(problem.children) > 1:
                calibrated = _Calibrated(decision.estimator, str(self.calibration_method))
                calibrated.fit(take_rows(rows, problem.rows), last_parts(model.taxonomy_, child_of_rows(problem)))
                model.decisions_[problem.parent] = Decision(decision.children, calibrated)
        return model


@dataclass(eq=False, repr=False)
class LocalClassifierPerNode(_LocalClassifier):
    """HiClass's local classifier per node: `LocalPerNode`.

    Parameters
    ----------
    local_classifier : scikit-learn classifier
        The classifier to clone; LogisticRegression by default.
    binary_policy : str
        As `policy` in `LocalPerNode`.

    Examples
    --------
    >>> from cladist.hiclass import LocalClassifierPerNode
    >>> X, y = [[1], [2], [3], [4]], [["a", "b"], ["a", "c"], ["d", "e"], ["d", "f"]]
    >>> LocalClassifierPerNode(binary_policy="exclusive").fit(X, y).predict([[1], [4]]).tolist()
    [['a', 'b'], ['d', 'f']]
    """

    learner = LocalPerNode

    binary_policy: str = "siblings"

    def _new_model(self) -> Any:
        return super()._new_model().set_params(policy=self.binary_policy, whole_path=True)


class LocalClassifierPerLevel(_LocalClassifier):
    """HiClass's local classifier per level: `LocalPerLevel`.

    Parameters
    ----------
    local_classifier : scikit-learn classifier
        The classifier to clone; LogisticRegression by default.

    Examples
    --------
    >>> from cladist.hiclass import LocalClassifierPerLevel
    >>> X, y = [[1], [2], [3], [4]], [["a", "b"], ["a", "c"], ["d", "e"], ["d", "f"]]
    >>> LocalClassifierPerLevel().fit(X, y).predict([[1], [4]]).tolist()
    [['a', 'b'], ['d', 'f']]
    """

    learner = LocalPerLevel


class _Calibrated(BaseEstimator):
    """A fitted classifier whose probability of each class is mapped by a function fitted to other rows."""

    def __init__(self, estimator: Any, method: str) -> None:
        self.estimator = estimator
        self.method = method

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_ = self.estimator.classes_
        scores = self.estimator.predict_proba(X)
        new = IsotonicRegression(out_of_bounds="clip") if self.method == "isotonic" else _SigmoidCalibration()
        columns = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        self.maps_ = [clone(new).fit(scores[:, k], np.asarray(y) == self.classes_[k]) for k in columns]
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        scores = self.estimator.predict_proba(X)
        if len(self.maps_) == 1:
            positive = self.maps_[0].predict(scores[:, 1])
            return np.stack([1 - positive, positive], axis=1)
        mapped = np.stack([m.predict(column) for m, column in zip(self.maps_, scores.T, strict=True)], axis=1)
        total = mapped.sum(axis=1, keepdims=True)
        return np.divide(mapped, total, out=np.zeros_like(mapped), where=total > 0)


def _as_table(y: Any) -> Any:
    """Return rows of paths as a padded array, and anything else as it is."""
    rows = y if isinstance(y, (list, tuple)) or getattr(y, "ndim", 0) == 1 else ()
    rows = list(rows)
    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        return y if not hasattr(y, "to_numpy") else y.to_numpy()
    width = max(map(len, rows))
    return np.array([[*row, *[""] * (width - len(row))] for row in rows], dtype=object)
