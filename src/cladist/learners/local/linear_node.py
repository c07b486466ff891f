"""The linear SVM that `TopDown` puts at its nodes when it is given no other classifier."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from cladist.errors import ParameterError, is_count, is_positive
from cladist.learners.base import random_generator
from cladist.learners.packing import Arrays, group, pack_matrix, prefixed, unpack_matrix
from cladist.solvers import one_vs_rest_svm


class LinearNode(ClassifierMixin, BaseEstimator):
    """One-vs-rest linear SVM with squared hinge loss, the problem of scikit-learn's LinearSVC.

    min_{w, b} ½(‖w‖² + b²) + C Σ_i s_i max(0, 1 − y_i (w·x_i + b))² for every class, solved to a relative duality
    gap of `tol`. Weights are kept sparse: at a node deep in a taxonomy most features never occur. Unlike LIBLINEAR,
    whose random numbers are shared by all threads, the result does not depend on what runs beside it.

    Parameters
    ----------
    C : float
        Weight of the losses.
    tol : float
        Relative duality gap.
    max_iter : int
        Passes over the rows at most; if they do not suffice, a ConvergenceWarning says so.
    random_state : int, RandomState or None
        For the order in which the solver visits rows.

    Examples
    --------
    >>> LinearNode().fit([[0.0], [1.0]], ["no", "yes"]).predict([[0.9]]).tolist()
    ['yes']
    """

    classes_: npt.NDArray[Any]
    coef_: Any
    intercept_: npt.NDArray[Any]
    n_iter_: int
    converged_: bool
    objective_: float

    def __init__(self, *, C: Any = 1.0, tol: float = 1e-3, max_iter: int = 1000, random_state: Any = 0) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            X, targets, sample_weight = (part[sample_weight > 0] for part in (X, targets, sample_weight))
        if len(np.unique(targets)) < 2:
            raise ParameterError("LinearNode needs two classes or more to choose between; it was given one class.")
        solution = one_vs_rest_svm(
            X,
            targets,
            len(self.classes_),
            C=self.C,
            sample_weight=sample_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=int(random_generator("LinearNode", self.random_state).randint(2**31 - 1)),
        )
        if not solution.converged:
            gap = max(entry["gap"] for entry in solution.history)
            message = f"LinearNode made max_iter={self.max_iter} passes and still has a gap of {gap:.1e}; raise it."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.coef_, self.intercept_ = solution.weights, solution.intercepts
        self.n_iter_ = max(int(entry["passes"]) for entry in solution.history)
        self.converged_ = solution.converged
        self.objective_ = float(sum(entry["objective"] for entry in solution.history))
        return self

    def _check_parameters(self) -> None:
        for name in ("C", "tol"):
            if not is_positive(getattr(self, name)):
                raise ParameterError(f"LinearNode: {name} must be positive; got {getattr(self, name)!r}.")
        if not is_count(self.max_iter):
            raise ParameterError(f"LinearNode: max_iter must be a whole number from 1 up; got {self.max_iter!r}.")

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
        state = {"n_iter": self.n_iter_, "converged": self.converged_, "objective": self.objective_}
        return state, arrays

    def _unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.n_iter_ = state["n_iter"]
        self.converged_, self.objective_ = state["converged"], state["objective"]
        self.classes_, self.intercept_ = arrays["classes"], arrays["intercept"]
        self.coef_ = unpack_matrix(group("coef", arrays), self.n_features_in_)
