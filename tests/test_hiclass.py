"""HiClass's examples run with a changed import and predict what HiClass 5.0.8 predicted, as its run was recorded.

`benchmarks/results/hiclass_parity.json` is written by ``python -m benchmarks.hiclass_parity``, which runs both.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from benchmarks.harness import RESULTS
from benchmarks.hiclass_examples import ANIMALS, EXAMPLES, X_TEST, X_TRAIN
from benchmarks.hiclass_parity import IN_LITERATURE, pad
from cladist import Taxonomy
from cladist.errors import ParameterError
from cladist.hiclass import LocalClassifierPerLevel, LocalClassifierPerNode, LocalClassifierPerParentNode

RECORDED = json.loads((RESULTS / "hiclass_parity.json").read_text(encoding="utf-8"))
CLASSES = (LocalClassifierPerParentNode, LocalClassifierPerNode, LocalClassifierPerLevel)


@pytest.mark.parametrize("title", EXAMPLES)
def test_examples_predict_what_hiclass_predicts(title):
    (recorded,) = [entry for entry in RECORDED["examples"] if entry["example"] == title]
    found = np.asarray(pad(EXAMPLES[title]("cladist"))).tolist()
    assert found == recorded["hiclass"] == recorded["cladist"]


def test_random_forests_predicted_the_same_on_three_data_sets():
    assert RECORDED["hiclass"].lstrip("v") == "5.0.8"
    assert len({row["data"] for row in RECORDED["rows"]}) == 3
    for row in RECORDED["rows"]:
        assert (row["same"] == 1.0) == (row["method"] != IN_LITERATURE), row
    assert all(row["largest difference"] < 1e-5 for row in RECORDED["probabilities"])


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("form", ["lists", "array", "frame", "Series of lists", "1-D"])
def test_answers_have_the_forms_of_hiclass(cls, form):
    y = {
        "lists": ANIMALS,
        "array": np.array(ANIMALS),
        "frame": pd.DataFrame(ANIMALS),
        "Series of lists": pd.Series(ANIMALS),
        "1-D": [row[-1] for row in ANIMALS],
    }[form]
    model = cls(local_classifier=LogisticRegression(C=1000), return_all_probabilities=True).fit(X_TRAIN, y)
    found = model.predict(X_TRAIN)
    assert isinstance(found, np.ndarray)
    assert found.shape == ((4,) if form == "1-D" else (4, 3))
    levels = model.predict_proba(X_TEST)
    assert [part.shape[1] for part in levels] == [len(names) for names in model.classes_]
    assert model.classes_[-1].tolist() == sorted(row[-1] for row in ANIMALS)
    assert clone(model).get_params()["return_all_probabilities"]


def test_parameters_that_are_not_available_say_so(tmp_path):
    for options in ({"tmp_dir": "folder"}, {"replace_classifiers": False}, {"calibration_method": "ivap"}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            LocalClassifierPerNode(**options).fit(X_TRAIN, ANIMALS)
    with pytest.raises(ParameterError, match="calibration_method='isotonic' or 'platt'"):
        LocalClassifierPerNode().fit(X_TRAIN, ANIMALS).calibrate(X_TRAIN, ANIMALS)
    LocalClassifierPerLevel(edge_list=tmp_path / "edges.txt").fit(X_TRAIN, ANIMALS)
    assert Taxonomy.read(tmp_path / "edges.txt").n_nodes == 7


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_calibration_changes_probabilities_and_no_prediction(method, cls):
    model = cls(calibration_method=method).fit(X_TRAIN * 5, ANIMALS * 5)
    before, labels = model.predict_proba(X_TEST), model.predict(X_TEST)
    after = model.calibrate(X_TEST * 5, ANIMALS * 5).predict_proba(X_TEST)
    assert not np.allclose(before, after)
    np.testing.assert_allclose(after.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X_TEST), labels)
