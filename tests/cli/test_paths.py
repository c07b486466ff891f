"""Labels that are paths: every command gives them back as they are written, whether or not last parts are unique."""

import csv
import json
from pathlib import Path

import pytest

PATHS = [["System", "Admin", "Program"], ["System", "Tools", "Program"], ["System", "Tools", "Editor"], ["Program"]]
WORDS = ["manage users accounts", "hammer wrench screwdriver", "write text documents", "theatre evening music"]
EDGES = "System\tAdmin\nSystem\tTools\nAdmin\tUsers\nTools\tDebuggers\nTools\tEditors\nMusic\n"
BY_EDGES = [["System", "Admin", "Users"], ["System", "Tools", "Debuggers"], ["System", "Tools", "Editors"], ["Music"]]


@pytest.fixture(params=["--path-sep /", "--path-sep ' > '", "--path-sep > on ' > '", "paths file", "edges file"])
def catalogue(request, tmp_path, monkeypatch):
    """A table of path labels; what the reader is told; the parts of each label and how it is written."""
    monkeypatch.chdir(tmp_path)
    paths = BY_EDGES if request.param == "edges file" else PATHS
    joint, sep = ("/", "/") if request.param == "--path-sep /" else (" > ", ">" if "on" in request.param else " > ")
    labels = [joint.join(path) for path in paths]
    rows = [{"text": text, "label": label} for text, label in zip(WORDS, labels, strict=True)] * 6
    Path("train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--text", "text", "--label", "label", "--path-sep", sep, "--quiet"]
    if "file" in request.param:
        content = EDGES if request.param == "edges file" else "\n".join(labels)
        Path("tree.txt").write_text(content)
        options += ["--taxonomy", "tree.txt"]
    return options, paths, labels


def train(run, catalogue, *options):
    run("train", "train.jsonl", *catalogue[0], *options, "--out", "model")


def test_one_label_a_row(run, catalogue):
    train(run, catalogue)
    _, paths, labels = catalogue
    for out in ("answers.csv", "answers.jsonl"):
        run("predict", "model", "train.jsonl", "--out", out)
    rows = list(csv.DictReader(Path("answers.csv").read_text().splitlines()))
    assert [row["label"] for row in rows[:4]] == labels
    assert [row["path"] for row in rows[:4]] == [" > ".join(path) for path in paths]
    objects = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    assert [(row["label"], row["path"]) for row in objects[:4]] == list(zip(labels, paths, strict=True))
    best = json.loads(run("predict", "model", "train.jsonl", "--top-k", "2", "--json").stdout)
    assert [(row["top"][0]["label"], row["top"][0]["path"]) for row in best[:4]] == list(
        zip(labels, paths, strict=True)
    )
    assert json.loads(run("evaluate", "model", "train.jsonl", "--json").stdout)["metrics"]["accuracy"] == 1


def test_sets_of_labels(run, catalogue):
    train(run, catalogue, "--label-sep", "|", "--method", "h-svm", "--param", "C=100")
    _, paths, labels = catalogue
    rows = json.loads(run("predict", "model", "train.jsonl", "--json").stdout)
    assert [(row["labels"], row["paths"]) for row in rows[:4]] == [
        ([label], [path]) for label, path in zip(labels, paths, strict=True)
    ]
    run("predict", "model", "train.jsonl", "--out", "answers.csv")
    table = list(csv.DictReader(Path("answers.csv").read_text().splitlines()))
    assert [row["labels"] for row in table[:4]] == labels
    assert [row["paths"] for row in table[:4]] == [" > ".join(path) for path in paths]


@pytest.mark.parametrize("options", [("--method", "hieron"), ("--method", "h-perc", "--label-sep", "|")])
def test_streams(run, catalogue, options):
    train(run, catalogue, *options, "--param", "max_iter=20")
    _, paths, labels = catalogue
    result = json.loads(run("stream", "model", "train.jsonl", "--out", "answers.jsonl", "--json").stdout)
    answers = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    if "--label-sep" in options:
        assert [(row["labels"], row["paths"]) for row in answers[:4]] == [
            ([label], [path]) for label, path in zip(labels, paths, strict=True)
        ]
    else:
        assert [(row["label"], row["path"]) for row in answers[:4]] == list(zip(labels, paths, strict=True))
    assert result["right"] == result["trained"] == len(answers)
