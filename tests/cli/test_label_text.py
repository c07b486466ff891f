"""``cladist train --label-text``."""

import json

import numpy as np
import pytest

from cladist import TextClassifier, load

COLUMNS = ("--text", "title", "--label", "category", "--taxonomy", "taxonomy.csv")
TAXONOMY = """node,parent,title,description,synonyms
bird,,,,
fish,,,,
owl,bird,,,
duck,bird,,,mallard|teal
eagle,bird,large bird of prey,,
trout,fish,,,
"""
ROWS = ["an owl,owl", "owls at night,owl", "a duck,duck", "ducks quack,duck", "a trout,trout", "river trout,trout"] * 4


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taxonomy.csv").write_text(TAXONOMY)
    (tmp_path / "train.csv").write_text("title,category\n" + "\n".join(ROWS) + "\n")
    return tmp_path


@pytest.mark.parametrize(("method", "use"), [("hr-svm", "rows"), ("hr-svm", "prior"), ("top-down", "rows")])
def test_the_model_is_that_of_the_library(run, table, method, use):
    options = ("--method", method, "--label-text", use, "--param", "label_weight=1", "--param", "empty_leaf=text")
    run("train", "train.csv", *COLUMNS, *options, "--out", "model")
    trained = load(table / "model")
    texts, labels = zip(*(row.split(",") for row in ROWS), strict=True)
    params = {"label_weight": 1, "empty_leaf": "text"}
    same = TextClassifier(method, taxonomy="taxonomy.csv", label_text=use, params=params).fit(list(texts), list(labels))
    new = ["a mallard", "bird of prey", "an owl", "teal on a river"]
    assert trained.predict(new).tolist() == same.predict(new).tolist()
    np.testing.assert_allclose(trained.decision_function(new), same.decision_function(new), rtol=1e-5)
    assert trained[-1].text_leaves_.tolist() == ["eagle"]


def test_leaves_without_rows_are_predicted_by_their_text_alone(run, table):
    options = ("--method", "hr-svm", "--label-text", "rows", "--param", "empty_leaf=text")
    (table / "new.csv").write_text("title\na large bird of prey\na mallard\n")
    found = []
    for name, extra in (("with", options), ("without", options[:2])):
        run("train", "train.csv", *COLUMNS, *extra, "--out", name)
        answers = json.loads(run("predict", name, "new.csv", "--json").stdout)
        found.append([answer["label"] for answer in answers])
    assert found[0] == ["eagle", "duck"]
    assert "eagle" not in found[1]


def test_calibration_and_a_config_file(run, table):
    (table / "train.toml").write_text('method = "hr-svm"\nlabel-text = "rows"\n\n[param]\nempty_leaf = "text"\n')
    run("train", "train.csv", *COLUMNS, "--config", "train.toml", "--calibrate", "--out", "model")
    model = load(table / "model")
    assert "eagle" in model.classes_.tolist()
    np.testing.assert_allclose(model.predict_proba(["a bird of prey"]).sum(), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((*COLUMNS, "--method", "hr-svm", "--label-text", "words"), "--label-text must be prior or rows"),
        ((*COLUMNS, "--label-text", "rows"), "is for --method hr-svm, hr-lr, top-down, not auto"),
        ((*COLUMNS, "--method", "top-down", "--label-text", "prior"), "is for --method hr-svm, hr-lr, not top-down"),
        ((*COLUMNS[:4], "--method", "hr-svm", "--label-text", "rows"), "--label-text needs --taxonomy FILE"),
        ((*COLUMNS, "--method", "hr-svm", "--param", "label_text=rows"), "hr-svm has no parameter 'label_text'"),
    ],
)
def test_what_is_refused(refused, table, options, problem):
    assert problem in refused("train", "train.csv", *options, "--out", "model")
    assert not (table / "model").exists()


def test_numbers_have_no_label_text(refused, table):
    (table / "rows.svm").write_text("owl 1:1\nduck 2:1\n")
    options = ("--taxonomy", "taxonomy.csv", "--method", "hr-svm", "--label-text", "rows")
    assert "--label-text is for texts" in refused("train", "rows.svm", *options, "--out", "model")
