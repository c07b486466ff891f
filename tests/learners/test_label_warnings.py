"""Labels that are learnt otherwise than they were meant, or can never be predicted: no learner is silent about them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from cladist import FlatSVM, HierarchicalPerceptron, LabelMatrix, Taxonomy, Thresholded, TopDown
from cladist.errors import LabelError, LabelWarning
from cladist.registry import METHODS

PATHS = [["animal", "reptile", "lizard"], ["animal", "mammal"], ["plant"], ["animal", "mammal", "cat"]] * 3
X = np.tile(np.eye(4), (3, 1))
ONE_LABEL = ("hieron", "top-down", "per-node", "per-level", "ot", "hblr")
TREE = Taxonomy.from_paths(["home/pots", "home/pans", "garden/hoses"])


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


LISTS = {"lists": PATHS, "tuples": [tuple(row) for row in PATHS], "array": objects(PATHS), "Series": pd.Series(PATHS)}


@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # some methods predict leaves only
@pytest.mark.parametrize("y", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_lists_are_paths_where_there_is_one_label_per_row_and_else_refused(method, y):
    if method.name in ONE_LABEL:
        stop = {"stop": True} if "stop" in method.load()._get_param_names() else {}
        assert method.load()(**stop).fit(X, y).taxonomy_.names == Taxonomy.from_paths(PATHS).names
    else:
        with pytest.raises(LabelError, match=r'for paths.*decode="single".*dtype=object.*for sets, write sets'):
            method.load()().fit(X, y)


def test_decode_says_what_lists_are():
    model = FlatSVM(decode="single").fit(X, PATHS)
    assert model.predict(X) == PATHS
    assert FlatSVM(decode="multi").fit(X, PATHS).taxonomy_.depth.max() == 0
    padded = [row + [""] * (3 - len(row)) for row in PATHS]
    assert FlatSVM().fit(X, padded).predict(X) == padded  # only paths are padded


@pytest.mark.parametrize(
    "y",
    [
        [set(row) for row in PATHS],
        [["red", "large"], [], ["small"], ["red", "large"]] * 3,
    ],
    ids=["sets", "rows without a label"],
)
def test_collections_of_labels_are_taken_as_they_are(y):
    FlatSVM().fit(X, y)


def test_with_a_taxonomy_lists_are_paths_if_all_of_them_are_and_else_sets():
    tree = Taxonomy.from_paths(PATHS)
    assert FlatSVM(tree).fit(X, PATHS).predict(X) == PATHS
    below = [[*row[:-1], row[-1]] if k else ["lizard", "animal"] for k, row in enumerate(PATHS)]
    assert FlatSVM(tree).fit(X, below).predict(X)[1:3] == [["mammal"], ["plant"]]
    assert FlatSVM(tree, decode="multi").fit(X, PATHS).predict(X)[0] == ["lizard"]


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


def test_the_first_rows_of_a_stream_are_read_as_those_of_fit():
    paths = [["a", "b"], ["c", "d"], ["a", "e"], ["c", "d"]]
    with pytest.raises(LabelError, match="may be a path or a set of labels"):
        HierarchicalPerceptron().partial_fit(np.eye(4), paths, classes=list("abcde"))
    sets = HierarchicalPerceptron(decode="multi").partial_fit(np.eye(4), paths, classes=list("abcde"))
    assert sets.partial_fit(np.eye(4), paths).taxonomy_.n_nodes == 5
    single = HierarchicalPerceptron(decode="single").partial_fit(np.eye(4), paths, classes=paths)
    assert single.partial_fit(np.eye(4), paths).predict(np.eye(4)) == paths
