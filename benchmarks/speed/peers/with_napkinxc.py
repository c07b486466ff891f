"""napkinXC: a probabilistic label tree (PLT) on the given tree, everything else as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.models import PLT
from shared import Data, Peer, answer, folder_bytes


class _NapkinXC(Peer):
    """Takes the tree as (parent, node, label) with one root; fitting writes the model, predicting loads it."""

    packages = ("napkinxc", "numpy", "scipy")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.folder = work / "model"
        self.folder.mkdir()
        self.X, self.X_test, self.y = data.X_train, data.X_test, data.y_train.tolist()
        label = np.full(len(data.parent), -1)
        label[data.leaves] = np.arange(len(data.leaves))
        nodes = range(1, len(data.parent) + 1)
        tree = [(-1, 0, -1), *zip((data.parent + 1).tolist(), nodes, label.tolist(), strict=True)]
        self.model = PLT(str(self.folder), tree_structure=tree, threads=case["threads"], seed=0)
        self.settings = f"PLT(tree_structure=…, threads={case['threads']}, seed=0)"

    def fit(self) -> None:
        self.model.fit(self.X, self.y)

    def ready(self) -> None:
        self.model.load()

    def predict(self) -> list[list[int]]:
        return self.model.predict(self.X_test, top_k=1)

    def numbers(self, predicted: Any) -> np.ndarray:
        return np.array([best[0] if best else -1 for best in predicted])

    def model_bytes(self) -> int:
        return folder_bytes(self.folder)


if __name__ == "__main__":
    answer(_NapkinXC)
