"""`suggest`: uncertain rows, unlike each other, over the tree; tasks of annotation tools out and in."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from cladist import CalibratedClassifier, FlatSVM, Taxonomy, TopDown
from cladist.datasets import make_topics
from cladist.errors import DatasetError, ParameterError
from cladist.evaluation import Suggestion, suggest
from cladist.evaluation.annotation import doccano_lines, label_studio_config, label_studio_tasks, read_annotations
from cladist.evaluation.suggestion import _diverse, _expected_distance, _features

DATA = make_topics(n_samples=300, n_features=200, branching=(3, 3), noise=0.8, random_state=0)
TREE = Taxonomy.from_paths(["sport/chess", "sport/tennis", "art/film", "art/a/b"])
TEXTS = ["a game", "a match < & >", "a film"]
BATCH = Suggestion(
    np.array([2, 0]), np.ones(2), [["film", "chess"], ["chess", "film"]], np.array([[0.6, 0.4], [0.5, 0.5]]), TREE
)


def test_uncertainty_is_the_expected_distance():
    nodes = np.array([[TREE.index(name) for name in ("chess", "tennis", "film")]] * 3)
    P = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    assert _expected_distance(nodes, P, TREE).tolist() == [1.0, 2.0, 0.0]  # siblings are 2 edges apart, branches 4
    assert _expected_distance(nodes[:1], np.array([[0.5, 0.0, 0.0]]), TREE).tolist() == [3.0]  # 0.5 of anything else


def test_a_batch_has_neither_twins_nor_one_branch_alone():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    best = np.array([TREE.index(name) for name in ("chess", "chess", "chess", "film")])
    features = _features(rows, best, TREE)
    order = _diverse(np.array([1.0, 0.99, 0.9, 0.9]), features, 4)
    assert order.tolist() == [0, 3, 2, 1]
    assert np.allclose(features.multiply(features).sum(axis=1), 1)


@pytest.mark.parametrize("calibrated", [False, True])
def test_what_is_suggested_is_less_certain(calibrated):
    model = TopDown(DATA.taxonomy)
    model = (CalibratedClassifier(model, random_state=0) if calibrated else model).fit(DATA.X[:150], DATA.y[:150])
    rest, y = DATA.X[150:], DATA.y[150:]
    batch = suggest(model, rest, n=40)
    assert len(set(batch.rows.tolist())) == 40
    wrong = model.predict(rest) != y
    assert wrong[batch.rows].mean() > wrong.mean()
    assert [row[0] for row in batch.labels] == model.predict(rest)[batch.rows].tolist()
    everything = suggest(model, rest, n=1000)
    assert sorted(everything.rows.tolist()) == list(range(150))


def test_sets_of_labels():
    y = [{a, b} for a, b in zip(DATA.y, np.roll(DATA.y, 1), strict=True)]
    model = FlatSVM(DATA.taxonomy, targets="nodes").fit(DATA.X, y)
    batch = suggest(model, DATA.X, n=5)
    assert np.all((batch.uncertainty >= 0) & (batch.uncertainty <= 1))
    scores = model.decision_function(DATA.X)
    assert np.abs(scores[batch.rows[0]]).min() <= np.quantile(np.abs(scores).min(axis=1), 0.5)


def test_what_is_refused():
    model = TopDown(DATA.taxonomy).fit(DATA.X, DATA.y)
    for given, n, message in (
        (LogisticRegression(), 3, "wanted a fitted learner"),
        (TopDown(), 3, "wanted a fitted learner"),
        (model, 0, "n must be a whole number of rows"),
    ):
        with pytest.raises(ParameterError, match=message):
            suggest(given, DATA.X, n=n)
    with pytest.raises(ParameterError, match="there are no rows"):
        suggest(model, DATA.X[:0], n=3)


# ---------------------------------------------------------------- annotation tools


def annotated(tmp_path, content):
    path = tmp_path / "export.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_tasks_of_label_studio_come_back(tmp_path):
    tasks = label_studio_tasks(BATCH, TEXTS)
    assert [task["data"] for task in tasks] == [{"text": "a film", "row": 3}, {"text": "a game", "row": 1}]
    result = tasks[0]["predictions"][0]["result"]
    assert result[0]["value"] == {"taxonomy": [["art", "film"]]}
    assert (result[0]["type"], result[0]["from_name"], result[0]["to_name"]) == ("taxonomy", "taxonomy", "text")
    tasks[0]["annotations"] = [{"was_cancelled": True, "result": []}, {"result": result}]
    tasks[1]["annotations"] = [{"was_cancelled": True, "result": []}]
    ancestors = {**result[0], "value": {"taxonomy": [["art"], ["art", "a"], ["art", "a", "b"], ["sport"]]}}
    tasks.append({"data": {"text": "x"}, "annotations": [{"result": [ancestors]}]})
    found = read_annotations(annotated(tmp_path, tasks), TREE)
    assert found == [("a film", 2, ["film"]), ("x", -1, ["b", "sport"])]


def test_lines_of_doccano_come_back(tmp_path):
    lines = list(doccano_lines(BATCH, TEXTS))
    assert json.loads(lines[1]) == {"text": "a game", "label": ["sport/chess"], "row": 1}
    more = json.dumps({"id": 7, "text": "none", "label": []})
    found = read_annotations(annotated(tmp_path, "\n".join([*lines, more, ""])), TREE)
    assert found == [("a film", 2, ["film"]), ("a game", 0, ["chess"])]


def test_names_with_the_separator(tmp_path):
    tree = Taxonomy.from_parents({"and/or": "logic", "x": "logic"})
    batch = BATCH._replace(labels=[["and/or"], ["x"]], taxonomy=tree)
    found = read_annotations(annotated(tmp_path, "\n".join(doccano_lines(batch, TEXTS))), tree)
    assert [entry.labels for entry in found] == [["and/or"], ["x"]]


def test_the_configuration_has_every_node_and_no_markup_of_names():
    from xml.etree import ElementTree

    tree = Taxonomy.from_parents({'a "b" <c> & d': None, "e": 'a "b" <c> & d'})
    root = ElementTree.fromstring(label_studio_config(tree))
    assert [choice.get("value") for choice in root.iter("Choice")] == ['a "b" <c> & d', "e"]
    dag = Taxonomy.from_edges([("a", "c"), ("b", "c")])
    assert label_studio_config(dag).count("<Choice") == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "wanted JSON or JSON lines"),
        ("[1]", "task 1: it has no text"),
        ([{"data": {}, "annotations": [{"result": []}]}], "task 1: it has no text"),
        ([{"text": "a"}], "task 1: it has no text"),
        ([{"text": "a", "label": ["art/none"]}], "the label 'art/none' is no path of the taxonomy"),
        ('{"text": "a", "label": 3}', "task 1: it has no text"),
    ],
)
def test_exports_that_are_refused(tmp_path, content, message):
    with pytest.raises(DatasetError, match=message):
        read_annotations(annotated(tmp_path, content), TREE)
