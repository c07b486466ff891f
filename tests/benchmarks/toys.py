"""Tiny data and a flat learner for the benchmarks' machinery."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.data_sets import Source
from cladist import Taxonomy
from cladist.datasets import Dataset
from cladist.errors import DatasetError

TREE = Taxonomy.from_paths(["animals/cat", "animals/dog", "plants/oak", "plants/rose"])


def toy() -> Dataset:
    """Sixty rows to train on and twenty to test on, each leaf around a corner of its own."""
    noise = np.random.default_rng(0).normal(scale=0.4, size=(80, 4))
    leaves = np.arange(80) % 4
    y = np.array(["cat", "dog", "oak", "rose"])[leaves]
    X = np.eye(4)[leaves] + noise
    return Dataset(X, y, TREE, source="toy", train_rows=slice(0, 60), test_rows=slice(60, 80))


def damaged() -> Dataset:
    raise DatasetError("toy.csv, line 3: there is no label.")


def source(kind: str, load: Any = toy, **options: Any) -> Source:
    return Source(kind, load, "as they are", **options)


class Flat:
    """What a flat learner of cladist looks like from outside."""

    def __init__(self, taxonomy: Any = None, *, C: float = 1.0, loss: str = "squared_hinge", random_state: Any = None):
        self.inner = LinearSVC(C=C, loss=loss, random_state=random_state)

    def fit(self, X: Any, y: Any) -> Flat:
        self.inner.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.inner.predict(X)
