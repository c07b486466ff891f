"""The data of the online comparison: rows of unit length, labels as closed sets, split anew by every shuffle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data_sets import NOT_TO_BE_HAD, OTHER, STAND_IN
from benchmarks.rcv1_standin import load_rcv1_standin
from cladist.datasets import Dataset, load_enron, load_icd10cm
from cladist.datasets.loaders.catalogue import vectorise
from cladist.errors import DatasetError
from cladist.features import text_features
from cladist.labels import LabelMatrix, encode
from cladist.learners.row_arrays import normalize_rows

SHUFFLES = 5


@dataclass(frozen=True)
class DataSet:
    """A data set: the paper's table it stands beside, if any, and how many rows are for training and for testing."""

    title: str
    load: Callable[[], Dataset]
    n_train: int
    n_test: int
    published: str | None = None
    remark: str = ""
    kind: str = OTHER

    def found(self) -> Dataset | None:
        """Return the data, or None where its files are not."""
        try:
            return self.load()
        except DatasetError:
            return None


@dataclass(frozen=True)
class Split:
    """One shuffle."""

    X_train: Any
    X_test: Any
    y_train: LabelMatrix
    y_test: LabelMatrix


def shuffled(data: Dataset, chosen: DataSet, seed: int) -> Split:
    """Put all rows in a random order; the first are for training, the next for testing."""
    order = np.random.default_rng(seed).permutation(data.X.shape[0])
    train, test = order[: chosen.n_train], order[chosen.n_train : chosen.n_train + chosen.n_test]
    X = normalize_rows(sparse.csr_array(data.X))
    labels = encode(data.y, data.taxonomy).labels
    return Split(X[train], X[test], labels[train], labels[test])


def _nothing() -> Dataset:
    raise DatasetError("OHSUMED is not public in the form the paper used.")


DATA = {
    "rcv1": DataSet(
        "RCV1",
        load_rcv1_standin,
        3000,
        3000,
        "RCV1",
        "The column measured is a stand-in for RCV1: 6,000 of its stories over 944 words, not the paper's chunks.",
        kind=STAND_IN,
    ),
    "ohsumed": DataSet("OHSUMED", _nothing, 40_000, 15_503, "OHSUMED", kind=NOT_TO_BE_HAD),
    "enron": DataSet("Enron", load_enron, 988, 660),
    "icd": DataSet(
        "ICD-10-CM chapters",
        lambda: vectorise(load_icd10cm(level="chapter"), text_features(characters=False)),
        4000,
        2000,
        remark="The chapters of ICD-10-CM are all roots, so that methods with and without gates are the same there. A "
        "row of unseen words has margin 0 everywhere, which the online methods call on, as the paper does: about one "
        "row in a hundred, which makes a quarter of the perceptrons' H-loss and two fifths of that of least squares.",
    ),
}
