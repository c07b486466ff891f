"""The linear SVM that `TopDown` puts at its nodes when it is given no other classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data

from cladist.learners.packing import Arrays, group, pack_matrix, prefixed, unpack_matrix


class LinearNode(ClassifierMixin, BaseEstimator):
    """One-vs-rest linear SVM, min_w ½‖w‖² + C Σ_i max(0, 1 − y_i (w·x_i + b))², solved by LIBLINEAR.

    Weights are kept sparse: at a node deep in a taxonomy most features never occur, and their weight is 0.

    Parameters
    ----------
    C : float
        Weight of the losses.
    random_state : int, RandomState or None
        For the order in which the solver visits rows.

    Examples
    --------
    >>> LinearNode().fit([[0.0], [1.0]], ["no", "yes"]).predict([[0.9]]).tolist()
    ['yes']
    """

    def __init__(self, *, C: float = 1.0, random_state: Any = 0) -> None:
        self.C = C
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        svm = LinearSVC(C=self.C, random_state=self.random_state).fit(X, y, sample_weight=sample_weight)
        self.classes_ = svm.classes_
        self.coef_ = sparse.csr_array(svm.coef_)
        self.intercept_ = svm.intercept_
        return self

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Return the distance from each class's hyperplane; (rows,) for two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        products = X @ self.coef_.T
        scores = (products.toarray() if sparse.issparse(products) else products) + self.intercept_
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]

    def _pack_state(self) -> tuple[dict[str, Any], Arrays]:
        arrays = {
            "classes": self.classes_,
            "intercept": self.intercept_,
            **prefixed("coef", pack_matrix(self.coef_)),
        }
        return {}, arrays

    def _unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.classes_, self.intercept_ = arrays["classes"], arrays["intercept"]
        self.coef_ = unpack_matrix(group("coef", arrays), self.n_features_in_)
