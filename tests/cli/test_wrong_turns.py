"""What is probably meant otherwise is said in one sentence on standard error, and only that."""

import json
from pathlib import Path

import numpy as np
import pytest

import cladist

pytestmark = pytest.mark.filterwarnings("default")  # as for a user: said, not raised
TEXTS = ["rain coat", "tea cup", "desk lamp", "iron pan"]
GIVEN = ("--text", "t", "--label", "c", "--out", "model", "--quiet")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(*labels):
    rows = [{"t": text, "c": label} for text, label in zip(TEXTS, labels, strict=False)]
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 2))


def said(result):
    """Return the warnings, of which each is one line."""
    lines = result.stderr.splitlines()
    assert all(line.startswith("Warning: ") for line in lines)
    return [line.removeprefix("Warning: ") for line in lines]


# ------------------------------------------------------------------ separators


@pytest.mark.parametrize(
    ("labels", "options", "wanted"),
    [
        (["a/b", "c/d"], [], "2 of 2 labels contain '/', as in 'a/b'; if labels are paths, give path_sep='/'"),
        (["a > b", "a > c", "a"], [], "2 of 3 labels contain ' > ', as in 'a > b'"),
        (["a|b", "a|c"], [], "contain '|'"),
        (["a > b", "a > c"], ["--path-sep", "/"], "2 of 2 labels have no '/', and 2 of these contain ' > ', as 'a >"),
        (["a > b", "a>c", "a > d"], ["--path-sep", " > "], "1 of 3 labels have no ' > ', as 'a>c'"),
        (["a", "b"], ["--path-sep", "/"], "2 of 2 labels have no '/', as 'a'"),
        ([["a/b", "c/d"], ["a/b"]], ["--method", "svm"], "2 of 2 labels contain '/'"),
    ],
)
def test_labels_that_are_not_split_where_they_should_be(run, labels, options, wanted):
    table(*labels)
    (sentence,) = said(run("train", "new.jsonl", *GIVEN, *options))
    assert wanted in sentence
    assert "--path-sep" in sentence


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (["a", "b"], []),
        (["a/b", "c"], []),
        (["/a", "b/"], []),
        (["and/or", "b", "c"], []),
        (["a/b", "a/c", "d"], ["--path-sep", "/"]),
        (["home > TV/Audio", "home > TV/Video", "w/o"], ["--path-sep", " > "]),
    ],
)
def test_nothing_is_said_of_labels_that_may_be_meant(run, labels, options):
    table(*labels)
    assert said(run("train", "new.jsonl", *GIVEN, *options)) == []


def test_a_taxonomy_says_what_is_meant(run):
    table("a/b", "c/d")
    Path("tree.json").write_text('{"x": ["a/b", "c/d"]}')
    assert said(run("train", "new.jsonl", *GIVEN, "--taxonomy", "tree.json")) == []


def test_a_taxonomy_split_elsewhere(refused):
    table("a > b", "a > c")
    Path("tree.paths").write_text("a/b\na/c\n")
    sentence = refused("train", "new.jsonl", *GIVEN, "--taxonomy", "tree.paths", "--path-sep", " > ")
    assert "'a > b' is not in the taxonomy, in which 'a/b' is one node: labels are split at ' > '" in sentence
    assert "not split at '/'" in sentence
    sentence = refused("train", "new.jsonl", *GIVEN, "--taxonomy", "tree.paths")
    assert "its parts at ' > ' are a path of it, while the taxonomy's are joined by '/'" in sentence


# ------------------------------------------------------------------ labels that cannot be predicted


def test_labels_above_others(run):
    table("a/b", "a/c", "a", "d")
    given = (*GIVEN, "--path-sep", "/", "--method", "top-down")
    (sentence,) = said(run("train", "new.jsonl", *given))
    assert "can never predict 1 of the 4 labels in y, which 2 of 8 rows have: 'a'; give stop=True" in sentence
    assert "--param stop=true" in sentence
    assert said(run("train", "new.jsonl", *given, "--param", "stop=true")) == []
    assert said(run("train", "new.jsonl", *GIVEN, "--path-sep", "/")) == []


# ------------------------------------------------------------------ texts without a known word


@pytest.fixture
def stream_model(run):
    table("a", "b", "c", "d")
    run("train", "new.jsonl", *GIVEN, "--method", "hieron")


@pytest.mark.parametrize("options", [(), ("--top-k", "2"), ("--out", "answers.csv"), ("--json",)])
def test_texts_without_a_known_word(run, stream_model, options):
    result = run("predict", "model", "-", *options, input="rain coat\n\nqqqq zzzz\ntea cup\n")
    sentence = next(line for line in result.stderr.splitlines() if line.startswith("Warning: "))
    assert sentence.startswith("Warning: The model knows no word in 2 of 4 rows (rows 2, 3); ")
    assert "Warning" not in run("predict", "model", "-", *options, input="rain coat\ntea cup\n").stderr


def test_only_the_first_of_many_are_named(run, stream_model):
    n_rows = 10_000  # several batches
    (sentence,) = said(run("predict", "model", "-", "--out", "answers.csv", "--quiet", input="qq\n" * n_rows))
    assert "no word in 10,000 of 10,000 rows (rows 1, 2, 3, 4, 5, …)" in sentence


def test_texts_without_a_known_word_in_a_stream(run, stream_model):
    rows = [{"t": "rain coat", "c": "a"}, {"t": "qqq"}, {"t": "tea cup"}]
    Path("more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (sentence,) = said(run("stream", "model", "more.jsonl", "--quiet"))
    assert "no word in 1 of 3 rows (line 2); " in sentence


def test_rows_of_numbers_may_be_zero(run):
    cladist.save(cladist.FlatSVM().fit(np.eye(2), ["a", "b"]), "numbers")
    Path("zeros.svm").write_text("a 1:0\nb 2:1\n")
    assert said(run("predict", "numbers", "zeros.svm")) == []
