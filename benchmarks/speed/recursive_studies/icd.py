"""ICD-10-CM, all categories: recursive regularisation beside one-vs-rest at the same C, loss and tolerance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.data_sets import DATA
from benchmarks.speed.recursive_studies.measuring import Row, fitted, say, warm
from cladist import FlatSVM, RecursiveSVM
from cladist.datasets import Dataset
from cladist.metrics import accuracy

C, SEED = 10.0, 0


def study(scale: float, tols: list[float]) -> Iterator[Row]:
    """Yield what was measured of each learner at each tolerance, one thread each, on a share of the training rows."""
    data = part_of(load(), scale)
    for tol in tols:
        for model in (FlatSVM(data.taxonomy, C=C, loss="hinge", tol=tol), recursive_svm(data, tol)):
            warm(model, data)
            row = {"learner": type(model).__name__, "tol": tol, "rows": data.X_train.shape[0], **fitted(model, data)}
            row["accuracy"] = float(accuracy(data.y_test, model.predict(data.X_test), data.taxonomy))
            say(row)
            yield row


def recursive_svm(data: Dataset, tol: float) -> RecursiveSVM:
    """Return the learner of the paper's problem."""
    return RecursiveSVM(data.taxonomy, C=C, sharing=1, loss="hinge", tol=tol)


def load() -> Dataset:
    """Return the titles of all codes, labelled with their categories, with the features of `benchmarks/papers/hr`."""
    source = DATA["icd10cm"].source()
    assert source is not None
    return source.load()


def part_of(data: Dataset, scale: float) -> Dataset:
    """Return the data with a random share of the training rows."""
    X, y = data.X_train, data.y_train
    chosen = np.sort(np.random.default_rng(SEED).permutation(X.shape[0])[: round(scale * X.shape[0])])
    parts = X[chosen], y[chosen], data.X_test, data.y_test
    return Dataset.from_parts(*parts, taxonomy=data.taxonomy, source=data.source)
