"""LIBLINEAR itself (liblinear-official): -s 3 hinge, -s 1 squared hinge, -s 0 logistic; tolerances as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from liblinear.liblinearutil import parameter, predict, problem, save_model, train
from shared import Data, OneVsRest, answer

SOLVERS = {"hinge": 3, "squared_hinge": 1, "logistic": 0}
OTHERS = -1  # the class of all rows whose class is not sampled


class _Liblinear(OneVsRest):
    """All classes in one call; where some are sampled, all other rows are one class more."""

    can_sample = True
    packages = ("liblinear-official", "numpy", "scipy")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.bias = 1.0 if case["intercept"] else -1.0
        self.settings = f"-s {SOLVERS[case['loss']]} -c {case['C']:g} -B {self.bias:g} -q"
        self.work, self.X_test = work, data.X_test.astype(np.float64)
        self.n_features = self.X_test.shape[1]
        X, y, classes = data.X_train.astype(np.float64), data.y_train, case["classes"]
        if classes is not None:
            y = np.where(np.isin(y, classes), y, OTHERS)
            self.others = problem(np.where(y == OTHERS, 1.0, -1.0), X, self.bias)
        self.problem = problem(y.astype(np.float64), X, self.bias)

    def fit(self) -> None:
        self.model = train(self.problem, parameter(self.settings))

    def fit_others(self) -> None:
        train(self.others, parameter(self.settings))

    def predict(self) -> list[float]:
        return predict([], self.X_test, self.model, "-q")[0]

    def numbers(self, predicted: Any) -> np.ndarray:
        return np.asarray(predicted, dtype=np.int64)

    def model_bytes(self) -> int:
        path = self.work / "model.txt"
        save_model(str(path), self.model)
        return path.stat().st_size

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        labels = np.array(self.model.get_labels())
        with_bias = self.n_features + (self.bias > 0)
        W = np.ctypeslib.as_array(self.model.w, (with_bias, len(labels))).T
        order = np.argsort(labels)
        order = order[labels[order] != OTHERS]
        b = W[order, self.n_features] if self.bias > 0 else np.zeros(len(order))
        return W[order, : self.n_features], b


if __name__ == "__main__":
    answer(_Liblinear)
