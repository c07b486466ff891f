"""Recursive learners, as they are by default, stay close to the flat ones on trees unrelated to the rows."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.hr.uninformative import shuffled
from cladist import FlatLogistic, FlatSVM, RecursiveLogistic, RecursiveSVM
from cladist.datasets import Dataset, load_clinc150, make_topics

SEEDS = range(5)
POINT = 0.01


def gained(recursive, flat, data):
    """How much higher the share of right labels is."""
    scores = [
        model.set_params(taxonomy=data.taxonomy).fit(data.X_train, data.y_train).score(data.X_test, data.y_test)
        for model in (recursive, flat)
    ]
    assert 0.3 < scores[1] < 0.95  # neither hopeless nor trivial
    return scores[0] - scores[1]


@pytest.mark.parametrize(
    ("recursive", "flat"),
    [(RecursiveSVM(), FlatSVM(loss="hinge")), (RecursiveLogistic(), FlatLogistic())],
    ids=["svm", "logistic"],
)
def test_generated_topics_all_parameters_tuned(recursive, flat):
    """With `sharing=1` about a point is lost on average: what labels share is then wrong, and "auto" finds that out."""
    recursive.set_params(C="cv")
    flat.set_params(C="cv")
    sizes = {"n_samples": 400, "n_features": 1000, "branching": (4, 5), "n_test": 1000, "noise": 0.8}
    found = [gained(recursive, flat, make_topics(**sizes, informative=0, random_state=seed)) for seed in SEEDS]
    assert abs(np.mean(found)) <= POINT


@pytest.mark.data
@pytest.mark.parametrize(
    ("recursive", "flat"),
    [
        (RecursiveSVM(C=10), FlatSVM(loss="hinge", C=10)),
        (RecursiveLogistic(C=1000), FlatLogistic(C=1000)),
    ],
    ids=["svm", "logistic"],
)
def test_questions_under_a_shuffled_taxonomy(recursive, flat, data_folder):
    """C as cross-validation chooses it on all training rows, for the flat learners; here every fifth row is used."""
    data = load_clinc150()
    parts = data.X_train[::5], data.y_train[::5], data.X_test, data.y_test
    few = Dataset.from_parts(*parts, taxonomy=data.taxonomy)
    assert abs(np.mean([gained(recursive, flat, shuffled(few, seed)) for seed in SEEDS])) <= POINT


@pytest.mark.data
def test_questions_share_under_their_own_taxonomy(data_folder):
    data = load_clinc150()
    model = RecursiveSVM(data.taxonomy).fit(data.X_train, data.y_train)
    assert model.sharing_ > 0
    assert gained(RecursiveSVM(), FlatSVM(loss="hinge"), data) > 0.003
