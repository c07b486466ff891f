"""`LinearChoice`: the children of a node scored by linear classifiers of any kind, so that choices can be explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LinearChoice:
    """Weights (children × features, dense or CSR) and intercepts; the child of highest score is chosen."""

    children: Ids
    coef: Any
    intercepts: npt.NDArray[Any]

    @property
    def has_choice(self) -> bool:
        """Whether there are several children."""
        return len(self.children) > 1

    def scores(self, X: Any, rows: Ids) -> npt.NDArray[Any]:
        """Return the score of every child for some rows of a CSR matrix."""
        scores = X[rows] @ self.coef.T
        return np.asarray(scores.toarray() if sparse.issparse(scores) else scores, np.float64) + self.intercepts

    def vectors(self, places: Ids) -> tuple[Any, npt.NDArray[Any]]:
        """Return the weights and intercepts of some children."""
        return self.coef[places], self.intercepts[places]

    @classmethod
    def alone(cls, children: Ids, n_features: int) -> LinearChoice:
        """Return the choice among one child."""
        return cls(children, np.zeros((1, n_features)), np.zeros(1))

    @classmethod
    def of_classes(cls, children: Ids, estimator: Any, columns: Ids) -> LinearChoice:
        """Return the choice that a classifier makes among some of its classes, given by their columns.

        Of two classes that one classifier separates, they have minus and plus half of its score.
        """
        coef, intercepts = _weights(estimator)
        if coef.shape[0] == 1 and len(estimator.classes_) == 2:
            halves = np.array([-0.5, 0.5])[columns]
            if not sparse.issparse(coef):
                return cls(children, halves[:, None] * coef, halves * intercepts)
            scaled = sparse.csr_array(sparse.csr_array(halves[:, None]) @ coef)
            return cls(children, scaled.sorted_indices(), halves * intercepts)
        if coef.shape[0] != len(estimator.classes_):
            raise _refusal(estimator)
        return cls(children, coef[columns], intercepts[columns])

    @classmethod
    def of_children(cls, children: Ids, estimators: Mapping[int, Any], n_features: int) -> LinearChoice:
        """Return the choice by a classifier of 0 and 1 for each child, whose score is the log odds of 1."""
        parts = [(sparse.csr_array((0, n_features)), np.zeros(0))]
        for v in children.tolist():
            coef, intercepts = _weights(estimators[v])
            if coef.shape[0] > 2:
                raise _refusal(estimators[v])
            both = coef.shape[0] == 2
            parts.append((coef[[1]] - coef[[0]], intercepts[1:] - intercepts[:1]) if both else (coef, intercepts))
        coef = sparse.vstack([sparse.csr_array(coef) for coef, _ in parts], format="csr").sorted_indices()
        return cls(children, coef, np.concatenate([intercepts for _, intercepts in parts]))


def _weights(estimator: Any) -> tuple[Any, npt.NDArray[np.float64]]:
    """Return the weights (2-D) and intercepts of a linear classifier; refuse any other."""
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "intercept_"):
        raise _refusal(estimator)
    coef = estimator.coef_
    coef = sparse.csr_array(coef).sorted_indices() if sparse.issparse(coef) else np.atleast_2d(np.asarray(coef))
    return coef, np.broadcast_to(np.ravel(estimator.intercept_), (coef.shape[0],)).astype(np.float64)


def _refusal(estimator: Any) -> ParameterError:
    return ParameterError(
        f"explain: {type(estimator).__name__} has no weights of features for each class; explain models with linear "
        "classifiers, such as LogisticRegression()."
    )
