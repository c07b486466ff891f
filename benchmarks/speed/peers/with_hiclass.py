"""HiClass: a LinearSVC at every parent node, on the given tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hiclass import LocalClassifierPerParentNode
from shared import Data, Peer, answer, pickled_bytes
from sklearn.svm import LinearSVC


class _HiClass(Peer):
    """Takes each row's path from the root as text."""

    packages = ("hiclass", "scikit-learn", "numpy", "scipy")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.threads = case["threads"]
        self.X, self.X_test = data.X_train, data.X_test
        paths = data.paths.astype(str).astype(object)
        self.y = paths[data.y_train]
        self.class_of = {name: k for k, name in enumerate(paths[:, -1])}
        self.model = LocalClassifierPerParentNode(
            local_classifier=LinearSVC(C=case["C"], random_state=0), n_jobs=self.threads
        )
        self.settings = f"LocalClassifierPerParentNode({self.model.local_classifier!r}, n_jobs={self.threads})"

    def fit(self) -> None:
        self.model.fit(self.X, self.y)
        if self.threads > 1:  # its workers are processes, whose CPU time is known when they have ended
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor().shutdown(wait=True)

    def predict(self) -> np.ndarray:
        return self.model.predict(self.X_test)

    def numbers(self, predicted: Any) -> np.ndarray:
        return np.array([self.class_of[str(name)] for name in predicted[:, -1]])

    def model_bytes(self) -> int:
        return pickled_bytes(self.model)


if __name__ == "__main__":
    answer(_HiClass)
