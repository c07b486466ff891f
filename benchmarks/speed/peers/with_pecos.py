"""PECOS: XR-Linear on the given tree, everything else as it comes; predictions by its predict-only model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pecos.utils.cluster_util import ClusterChain
from pecos.xmc.xlinear.model import XLinearModel
from scipy import sparse
from shared import Data, Peer, answer, folder_bytes


class _Pecos(Peer):
    """Takes the tree as a chain of matrices, children × parents, from the root down."""

    packages = ("libpecos", "numpy", "scipy")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.folder, self.threads = work / "model", case["threads"]
        self.X, self.X_test = data.X_train, data.X_test
        n_rows, n_classes = len(data.y_train), len(data.leaves)
        ones = np.ones(n_rows, np.float32)
        self.Y = sparse.csc_matrix((ones, (np.arange(n_rows), data.y_train)), shape=(n_rows, n_classes))
        self.chain = chain(data.paths)
        self.settings = f"XLinearModel.train(X, Y, C=chain, threads={self.threads}); predict(X, only_topk=1)"

    def fit(self) -> None:
        self.model = XLinearModel.train(self.X, self.Y, C=self.chain, threads=self.threads)

    def ready(self) -> None:
        self.model.save(str(self.folder))
        self.model = XLinearModel.load(str(self.folder), is_predict_only=True)

    def predict(self) -> sparse.csr_matrix:
        return self.model.predict(self.X_test, only_topk=1, threads=self.threads)

    def numbers(self, predicted: Any) -> np.ndarray:
        found = np.full(predicted.shape[0], -1)
        found[np.diff(predicted.indptr) > 0] = predicted.indices  # one entry per row at most
        return found

    def model_bytes(self) -> int:
        return folder_bytes(self.folder)


def chain(paths: np.ndarray) -> ClusterChain:
    """Return which nodes of a level belong to which of the level above; the order of classes is that of the labels."""
    matrices, above = [], np.zeros(len(paths), np.int64)
    for level in range(paths.shape[1]):
        _, first, here = np.unique(paths[:, level], return_index=True, return_inverse=True)
        if level == paths.shape[1] - 1:
            here = first = np.arange(len(paths))
        parents = above[first]
        ones = np.ones(len(first), np.float32)
        shape = (len(first), int(above.max()) + 1)
        matrices.append(sparse.csc_matrix((ones, (np.arange(len(first)), parents)), shape=shape))
        above = here
    return ClusterChain(matrices)


if __name__ == "__main__":
    answer(_Pecos)
