"""LIBLINEAR in scikit-learn: LinearSVC; LogisticRegression(solver="liblinear") one-vs-rest. Tolerances as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from shared import Data, OneVsRest, answer, pickled_bytes
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

OTHERS = -1  # the class of all rows whose class is not sampled


class _Sklearn(OneVsRest):
    """What both have in common."""

    can_sample = True
    packages = ("scikit-learn", "numpy", "scipy")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.X, self.X_test = (X.astype(np.float64) for X in (data.X_train, data.X_test))  # what LIBLINEAR wants
        self.y, self.classes = data.y_train, case["classes"]
        self.model: Any = self.new(case)
        self.settings = repr(self.model)

    def fit(self) -> None:
        self.model.fit(self.X, self.targets())

    def predict(self) -> np.ndarray:
        return self.model.predict(self.X_test)

    def model_bytes(self) -> int:
        return pickled_bytes(self.model)


class _Svc(_Sklearn):
    """All classes in one call; where some are sampled, all other rows are one class more."""

    def new(self, case: dict[str, Any]) -> LinearSVC:
        return LinearSVC(loss=case["loss"], C=case["C"], fit_intercept=case["intercept"], random_state=0)

    def targets(self) -> np.ndarray:
        return self.y if self.classes is None else np.where(np.isin(self.y, self.classes), self.y, OTHERS)

    def fit_others(self) -> None:
        clone(self.model).fit(self.X, self.targets() == OTHERS)

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        asked = self.model.classes_ != OTHERS
        b = np.broadcast_to(self.model.intercept_, asked.shape)  # 0.0 without one
        return self.model.coef_[asked], b[asked]


class _Logistic(_Sklearn):
    """One call a class, so that some can be solved without any other."""

    def new(self, case: dict[str, Any]) -> OneVsRestClassifier:
        return OneVsRestClassifier(
            LogisticRegression(solver="liblinear", C=case["C"], fit_intercept=case["intercept"], random_state=0)
        )

    def targets(self) -> np.ndarray:
        if self.classes is None:
            return self.y
        return (self.y[:, None] == np.asarray(self.classes)).astype(int)  # one column a problem

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        each = self.model.estimators_
        return np.concatenate([e.coef_ for e in each]), np.array([np.ravel(e.intercept_)[0] for e in each])


if __name__ == "__main__":
    answer(lambda data, case, work: (_Logistic if case["loss"] == "logistic" else _Svc)(data, case, work))
