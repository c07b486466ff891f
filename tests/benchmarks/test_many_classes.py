"""The benchmark of very many classes, on few of them, end to end."""

import json

import pytest

import cladist
from benchmarks.speed.many_classes import measuring, run, shapes
from benchmarks.speed.recursive_studies.shapes import data_of, tree_of


def test_the_tree_is_that_of_the_brief():
    taxonomy = tree_of(shapes.shape_of(10_000))
    assert len(taxonomy.leaves) == 10_000
    assert taxonomy.n_nodes - len(taxonomy.leaves) == 1_111
    full = shapes.shape_of(100_000)
    assert (full.n_samples, full.n_features, sum(full.inner), sum(full.leaves)) == (200_000, 200_000, 11_111, 100_000)


def test_models_are_trained_saved_and_measured(results, tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "TURNS", 1)
    monkeypatch.setattr(measuring, "in_new_process", lambda _, *arguments: measuring.measured(*arguments))
    folder = tmp_path / "models"
    for name in ("FlatSVM", "RecursiveSVM", "class means"):
        run.main(["--leaves", "100", "--folder", str(folder), "--train", name])
    run.main(["--leaves", "100", "--folder", str(folder), "--measure"])
    found = json.loads((results / "many-classes-100.json").read_text())
    flat, recursive, means = found["rows"]
    assert [flat["learner"], recursive["learner"], means["learner"]] == list(found["training"])
    assert found["training"]["RecursiveSVM"]["row"]["gap"] <= shapes.TOL["RecursiveSVM"]
    assert flat["accuracy"] > 0.03  # of 100 leaves with two rows each
    for row in (flat, recursive, means):
        ways = {way["way"]: way for way in row["ways"]}
        assert ways["scipy's product, best five"]["same first"] > 0.97  # rounding may decide between equals
        assert ways["index"]["times the index"] == 1
    walks = {way["way"]: way for way in recursive["ways"]}
    assert walks["beam 20"]["same first"] == 1
    assert walks["beam 1"]["same first"] < 1
    model = cladist.load(folder / "class means", mmap=True)
    data = data_of(shapes.shape_of(100))
    assert model.score(data.X_test, data.y_test) == pytest.approx(means["accuracy"])
