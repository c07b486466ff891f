"""``cladist migrate MODEL`` and ``cladist predict --crosswalk``: models on another version of their taxonomy."""

from __future__ import annotations

import csv
import io
import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cladist
from cladist import Crosswalk, Taxonomy

OLD = "node,parent,name\na,,Food\na.1,a,Bread\na.2,a,Sweets\nb,,Tools\nb.1,b,Hammers\nb.2,b,Telex\n"
NEW = "node,parent,name\na,,Food\na.1,a,Bread\na.2,a,Sweets\na.21,a.2,Cocoa\na.22,a.2,Toffee\nb,,Tools\nb.9,b,Mallets\n"
WALK = "old,new\na.2,a.21\na.2,a.22\nb.1,b.9\nb.2,\n"
ROWS = [("rye bread", "a.1"), ("wheat loaf", "a.1"), ("toffee sweet", "a.2"), ("cocoa sweet", "a.2")]
ROWS += [("iron hammer", "b.1"), ("claw hammer", "b.1"), ("telex machine", "b.2"), ("telex paper", "b.2")]
WORDS = ["rye loaf", "cocoa sweet", "claw hammer", "telex machine"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.cli.conftest import call

    folder = tmp_path_factory.mktemp("versions")
    with chdir(folder):
        Path("old.csv").write_text(OLD)
        Path("new.csv").write_text(NEW)
        Path("walk.csv").write_text(WALK)
        Path("texts.csv").write_text("\n".join(["text", *WORDS]) + "\n")
        with open("train.csv", "w", newline="") as file:
            csv.writer(file).writerows([["text", "code"], *ROWS * 4])
        columns = ("--text", "text", "--label", "code", "--taxonomy", "old.csv", "--quiet")
        for method, options in (("svm", ()), ("top-down", ("--calibrate",)), ("hr-svm", ())):
            result = call("train", "train.csv", *columns, "--method", method, *options, "--out", method)
            assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Any:
    import shutil

    shutil.copytree(trained, tmp_path / "work")
    with chdir(tmp_path / "work"):
        yield tmp_path / "work"


NEW_VERSION = ("--crosswalk", "walk.csv", "--taxonomy", "new.csv")


def answers(result: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


# ------------------------------------------------------------------ cladist migrate MODEL


@pytest.mark.parametrize("method", ["svm", "hr-svm"])
@pytest.mark.parametrize("flag", ["--taxonomy", "--to"])
def test_a_model_is_carried_over(folder: Path, run: Any, method: str, flag: str) -> None:
    result = run("migrate", method, "--crosswalk", "walk.csv", flag, "new.csv", "--out", "moved", "--report", "r.json")
    assert "The model is in moved: 4 labels, of which there were 4." in " ".join(result.stdout.split())
    before, after = cladist.load(method), cladist.load("moved")
    assert sorted(after.classes_.tolist()) == ["a.1", "a.21", "a.22", "b.9"]
    same = cladist.migrate(before, Crosswalk.read("walk.csv", old=before[-1].taxonomy_, new=Taxonomy.read("new.csv")))
    assert np.array_equal(after.decision_function(WORDS), same.decision_function(WORDS))
    assert [row["label"] for row in answers(run("predict", "moved", "texts.csv"))][0::2] == ["a.1", "b.9"]
    assert json.loads(Path("r.json").read_text())["classes"] == 4


def test_weights_of_labels_that_stay_are_bit_equal_in_the_new_folder(folder: Path, run: Any) -> None:
    run("migrate", "svm", *NEW_VERSION, "--out", "moved")
    before, after = cladist.load("svm"), cladist.load("moved")
    old, new = (one.decision_function(WORDS) for one in (before, after))
    for was, now in (("a.1", "a.1"), ("b.1", "b.9")):
        kept = new[:, after.classes_.tolist().index(now)]
        assert np.array_equal(old[:, before.classes_.tolist().index(was)], kept)


def test_a_migrated_model_as_json_and_by_a_proposed_crosswalk(folder: Path, run: Any) -> None:
    answer = json.loads(run("migrate", "svm", "--to", "new.csv", "--out", "moved", "--json").stdout)
    assert answer["out"] == "moved"
    assert answer["counts"]["split"] == 2
    again = json.loads(run("migrate", "svm", *NEW_VERSION, "--out", "moved", "--json").stdout)  # replaces the model
    assert again == {
        "model": "svm", "out": "moved", "classes_before": 4, "classes": 4,
        "counts": {"one-to-one": 3, "split": 2, "rename": 1, "retire": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("svm", "--crosswalk", "walk.csv", "--out", "moved"), "Name the new taxonomy with --to NEW"),
        (("svm", *NEW_VERSION), "Name the folder of the new model with --out NEWMODEL"),
        (("svm", *NEW_VERSION, "--out", "svm"), "one folder, or one lies in the other"),
        (("svm", *NEW_VERSION, "--out", "svm/moved"), "one folder, or one lies in the other"),
        (("svm", *NEW_VERSION, "--out", "."), "one folder, or one lies in the other"),
        (("svm", *NEW_VERSION, "--out", "walk.csv"), "is a file, and a model is a folder"),
        (("svm", *NEW_VERSION, "--out", "moved", "--label", "code"), "--label is for tables, and svm is a model"),
        (
            ("svm", *NEW_VERSION, "--out", "moved", "--worklist-size", "200"),
            "--worklist-size is for tables, and svm is a model",
        ),
        (("svm", *NEW_VERSION, "--out", "moved", "--from", "old.csv"), "--from is for tables"),
        (("svm", *NEW_VERSION, "--out", "moved", "--sure", "0.9"), "--sure is for tables"),
        (("svm", "--crosswalk", "bad.csv", "--to", "new.csv", "--out", "moved"), "is not in the new taxonomy: 'z'"),
        (("top-down", *NEW_VERSION, "--out", "moved"), "cannot be taken apart by nodes"),
    ],
)
def test_mistakes_with_models(folder: Path, refused: Any, arguments: tuple[str, ...], sentence: str) -> None:
    Path("bad.csv").write_text("old,new\na.2,z\n")
    assert sentence in refused("migrate", *arguments)
    assert not Path("moved").exists()


# ------------------------------------------------------------------ cladist predict --crosswalk


def test_predictions_in_labels_of_the_new_version(folder: Path, run: Any) -> None:
    found = answers(run("predict", "svm", "texts.csv", *NEW_VERSION))
    assert [list(row.values())[:2] + list(row.values())[3:] for row in found] == [
        ["a.1", "a > a.1", "leaf", ""],
        ["a.2", "a > a.2", "inner node", "'a.2' was split into 'a.21', 'a.22'"],
        ["b.9", "b > b.9", "leaf", ""],
        ["", "", "abstained", "'b.2' was retired"],
    ]
    assert list(found[0]) == ["label", "path", "score", "decided_at", "reason"]
    plain = answers(run("predict", "svm", "texts.csv"))
    assert [row["score"] for row in plain][:3] == [row["score"] for row in found][:3]


def test_without_the_new_taxonomy_a_split_label_is_none(folder: Path, run: Any) -> None:
    found = json.loads(run("predict", "svm", "texts.csv", "--crosswalk", "walk.csv", "--json").stdout)
    assert [(row["label"], row["path"], row["decided_at"]) for row in found] == [
        ("a.1", [], "leaf"),
        (None, None, "abstained"),
        ("b.9", [], "leaf"),
        (None, None, "abstained"),
    ]
    assert found[1]["reason"] == "'a.2' was split into 'a.21', 'a.22'"


def test_decisions_in_labels_of_the_new_version(folder: Path, run: Any) -> None:
    plain = answers(run("predict", "top-down", "texts.csv", "--proba"))
    found = answers(run("predict", "top-down", "texts.csv", "--proba", *NEW_VERSION))
    assert list(found[0]) == list(plain[0]) == ["label", "path", "confidence", "decided_at", "reason"]
    assert [row["confidence"] for row in found] == [row["confidence"] for row in plain]
    now = {"a.1": ("a.1", "leaf"), "a.2": ("a.2", "inner node"), "b.1": ("b.9", "leaf"), "b.2": ("", "abstained")}
    assert [(row["label"], row["decided_at"]) for row in found] == [now[row["label"]] for row in plain]


def test_a_set_that_holds_the_label_holds_all_parts_of_a_split_one(folder: Path, run: Any) -> None:
    plain, found = (
        json.loads(run("predict", "top-down", "texts.csv", "--conformal", "0.1", *more, "--json").stdout)
        for more in ((), NEW_VERSION)
    )
    parts = {"a.1": {"a.1"}, "a.2": {"a.21", "a.22"}, "b.1": {"b.9"}, "b.2": set()}
    for before, after in zip(plain, found, strict=True):
        assert set(after["labels"]) == set().union(*(parts[label] for label in before["labels"]))
    assert any("was split" in row["reason"] for row in found)


def test_kept_columns_several_processes_and_files(folder: Path, run: Any) -> None:
    run("predict", "svm", "train.csv", *NEW_VERSION, "--keep", "code", "--jobs", "2", "--out", "out.csv")
    with open("out.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 32
    now = {"a.1": "a.1", "a.2": "a.2", "b.1": "b.9", "b.2": ""}
    assert [row["label"] for row in table] == [now[row["code"]] for row in table]


def test_sets_of_labels(folder: Path, run: Any) -> None:
    table = "text,code\n" + "rye toffee,a.1|a.2\niron hammer,b.1\nrye bread,a.1\nhammer telex,b.1|b.2\n" * 6
    Path("sets.csv").write_text(table)
    columns = ("--text", "text", "--label", "code", "--label-sep", "|", "--taxonomy", "old.csv")
    run("train", "sets.csv", *columns, "--method", "svm", "--out", "sets", "--quiet")
    Path("two.csv").write_text("text\nrye toffee\nhammer telex\n")
    found = answers(run("predict", "sets", "two.csv", *NEW_VERSION))
    assert list(found[0]) == ["labels", "paths", "scores", "decided_at", "reason"]
    assert set(found[0]["labels"].split("|")) == {"a.1", "a.2"}
    assert (found[1]["labels"], found[1]["decided_at"]) == ("b.9", "set")
    assert found[1]["reason"] == "'b.2' was retired"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--taxonomy", "new.csv"), "--taxonomy is the version that --crosswalk FILE leads to"),
        ((*NEW_VERSION, "--top-k", "2"), "--top-k lists several; leave one out"),
        (("--crosswalk", "other.csv"), "names no node of the model's taxonomy"),
        (("--crosswalk", "none.csv"), "there is no such file"),
        ((*NEW_VERSION, "--out", "walk.csv"), "is also read"),
        (("--crosswalk", "bad.csv", "--taxonomy", "new.csv"), "is not in the new taxonomy: 'z'"),
    ],
)
def test_mistakes_with_predictions(folder: Path, refused: Any, arguments: tuple[str, ...], sentence: str) -> None:
    Path("bad.csv").write_text("old,new\na.2,z\n")
    Path("other.csv").write_text("old,new\nx,y\n")
    assert sentence in refused("predict", "svm", "texts.csv", *arguments)
