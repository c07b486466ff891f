"""Labels that are learnt otherwise than they were meant, or can never be predicted: no learner is silent about them."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from cladist import FlatSVM, HierarchicalPerceptron, LabelMatrix, Taxonomy, Thresholded, TopDown
from cladist.errors import LabelError, LabelWarning
from cladist.registry import METHODS

PATHS = [["animal", "reptile", "lizard"], ["animal", "mammal"], ["plant"], ["animal", "mammal", "cat"]] * 3
X = np.tile(np.eye(4), (3, 1))
ONE_LABEL = ("hieron", "top-down", "ot", "hblr")
TREE = Taxonomy.from_paths(["home/pots", "home/pans", "garden/hoses"])


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


@pytest.mark.parametrize("y", [PATHS, [tuple(row) for row in PATHS], objects(PATHS), pd.Series(PATHS)], ids=str)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_lists_that_read_as_paths(method, y):
    with (
        pytest.warns(LabelWarning, match=r"look like paths.*np\.array\(rows, dtype=object\).*write sets"),
        pytest.raises(LabelError, match="one label per row") if method.name in ONE_LABEL else nullcontext(),
    ):
        method.load()().fit(X, y)


@pytest.mark.parametrize(
    "y",
    [
        [set(row) for row in PATHS],
        [[row[-1]] for row in PATHS],
        [["red", "large"], ["large"], ["red"], ["large", "red"]] * 3,
        [["red", "large"], [], ["small"], ["red", "large"]] * 3,
    ],
    ids=["sets", "one label per row", "no fixed place", "rows without a label"],
)
def test_collections_of_labels_are_taken_as_they_are(y):
    FlatSVM().fit(X, y)


def test_with_a_taxonomy_lists_may_hold_what_is_above():
    tree = Taxonomy.from_paths(PATHS)
    assert FlatSVM(tree).fit(X, PATHS).predict(X)[0] == ["lizard"]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_labels_that_can_never_be_predicted_are_told(method):
    y = np.array(["home", "pots", "pans", "garden", "hoses"] * 4)
    rows = LabelMatrix.from_sets([[name] for name in y], TREE).to_indicator().toarray() * 2.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = method.load()(TREE).fit(rows, y)
    lost = sorted({str(name) for name in y} - {str(name) for name in model.classes_})
    told = [str(warning.message) for warning in caught if warning.category is LabelWarning]
    assert len(told) == bool(lost)
    assert all(repr(name) in told[0] for name in lost)


def test_what_may_end_above_is_counted_once():
    y = np.array(["home", "pots", "pans", "hoses"] * 10)
    rows = LabelMatrix.from_sets([[name] for name in y], TREE).to_indicator().toarray() * 2.0
    message = "TopDown can never predict 1 of the 4 labels in y, which 10 of 40 rows have: 'home'; give stop=True"
    for model in (TopDown(TREE), TopDown(TREE, C="cv"), Thresholded(TopDown(TREE), cv=3, random_state=0)):
        labels = [{name} for name in y] if isinstance(model, Thresholded) else y
        with pytest.warns(LabelWarning, match=message) as caught:
            model.fit(rows, labels)
        assert len(caught) == 1
    TopDown(TREE, stop=True).fit(rows, y)
    TopDown(TREE).fit(rows, y, sample_weight=(y != "home").astype(float))


def test_the_first_rows_of_a_stream_that_read_as_paths_are_told():
    model = HierarchicalPerceptron()
    paths = [["a", "b"], ["c", "d"], ["a", "e"], ["c", "d"]]
    with pytest.warns(LabelWarning, match="rows of y look like paths"):
        model.partial_fit(np.eye(4), paths, classes=list("abcde"))
    model.partial_fit(np.eye(4), paths)
