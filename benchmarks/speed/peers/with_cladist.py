"""cladist: FlatSVM and FlatLogistic over the leaves, TopDown on the given tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from shared import Data, OneVsRest, Peer, answer, folder_bytes

import cladist

WARM_UP_ROWS = 64


class _Cladist(Peer):
    """Takes a taxonomy and names. A fit to a few rows comes first, so that no kernel is compiled on the clock."""

    packages = ("cladist", "numba", "numpy", "scipy", "scikit-learn")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.folder = work / "model"
        self.X, self.X_test = data.X_train, data.X_test
        names = [str(v) for v in range(len(data.parent))]
        above = [names[p] if p >= 0 else None for p in data.parent.tolist()]
        taxonomy = cladist.Taxonomy.from_parents(dict(zip(names, above, strict=True)))
        leaves = np.array(names)[data.leaves]
        self.y = leaves[data.y_train]
        self.class_of = {name: k for k, name in enumerate(leaves.tolist())}
        options = {"n_jobs": case["threads"], **case["options"]}
        self.settings = f"{case['learner']}(taxonomy, {', '.join(f'{k}={v!r}' for k, v in options.items())})"
        learner = getattr(cladist, case["learner"])
        few = slice(0, WARM_UP_ROWS)
        learner(taxonomy, **options).fit(self.X[few], self.y[few]).predict(self.X_test[few])
        self.model = learner(taxonomy, **options)

    def fit(self) -> None:
        self.model.fit(self.X, self.y)

    def predict(self) -> np.ndarray:
        return self.model.predict(self.X_test)

    def numbers(self, predicted: Any) -> np.ndarray:
        return np.array([self.class_of[name] for name in predicted])

    def model_bytes(self) -> int:
        self.model.save(self.folder)
        return folder_bytes(self.folder)


class _Flat(_Cladist, OneVsRest):
    """A learner of one problem a leaf; it always solves all of them."""

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        super().__init__(data, case, work)
        self.classes = range(len(data.leaves)) if case["classes"] is None else case["classes"]

    def weights(self) -> tuple[Any, np.ndarray]:
        row_of = {self.class_of[name]: row for row, name in enumerate(self.model.classes_.tolist())}
        rows = [row_of[k] for k in self.classes]
        b = np.broadcast_to(self.model.intercept_, len(row_of))
        return self.model.coef_[rows], b[rows]


if __name__ == "__main__":
    answer(lambda data, case, work: (_Flat if "loss" in case else _Cladist)(data, case, work))
