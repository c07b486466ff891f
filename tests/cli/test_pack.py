"""``cladist pack``, and training on what it wrote: the model is that of the file itself."""

import json
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.cli import pack
from cladist.datasets import Dataset, read_arff_hmc, read_svmlight, read_table
from cladist.features import rows_on_disk

from .conftest import COLUMNS

ARFF = """@relation genes
@attribute expression numeric
@attribute strand {w, c}
@attribute class hierarchical 1,1/1,1/2,2
@data
0.5,w,1/1@2
0.25,c,1/2
1.5,c,2
"""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pack, "PIECE_TEXTS", 29)
    monkeypatch.setattr(rows_on_disk, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(rows_on_disk, "PIECE_BYTES", 2**12)


def coefficients(folder):
    model = cladist.load(folder)
    return (model[-1] if hasattr(model, "steps") else model).coef_


@pytest.mark.parametrize("options", [(), ("--hashing",), ("--no-characters",)])
def test_texts(options, shop, run):
    run("pack", "train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, *options, "--out", "packed")
    method = ("--method", "svm", "--quiet")
    run("train", "packed", *method, "--out", "there")
    run("train", "train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, *options, *method, "--out", "here")
    np.testing.assert_array_equal(coefficients("there"), coefficients("here"))
    answers = [run("predict", model, "test.csv", "--json").stdout for model in ("there", "here")]
    assert answers[0] == answers[1] != "[]"


@pytest.mark.parametrize("jobs", [1, 3])
def test_numbers(jobs, shop, run):
    told = json.loads(
        run("pack", "numbers.svm", "--taxonomy", "numbers.paths", "--jobs", jobs, "--out", "p", "--json").stdout
    )
    assert told.pop("seconds") >= 0
    assert told == {"rows": 6, "features": 4, "values": 9, "labels": 3, "out": "p"}
    data, wanted = Dataset.open("p"), read_svmlight("numbers.svm", zero_based=False)
    np.testing.assert_array_equal(data.X.toarray(), wanted.X.toarray())
    assert data.y.tolist() == wanted.y.tolist()
    run("train", "p", "--method", "top-down", "--out", "there", "--quiet")
    answers = [json.loads(run("predict", "there", rows, "--json").stdout) for rows in ("numbers.svm", "p")]
    assert answers[0] == answers[1]
    assert [answer["label"] for answer in answers[0]] == wanted.y.tolist()
    assert run("evaluate", "there", "p", "--json").exit_code == 0


def test_processes_read_texts_as_one_does(shop, run):
    told = [
        json.loads(run("pack", "train.csv", *COLUMNS, "--jobs", jobs, "--out", f"p{jobs}", "--json").stdout)["values"]
        for jobs in (1, 2)
    ]
    assert told[0] == told[1]
    one, two = Dataset.open("p1"), Dataset.open("p2")
    assert (one.X != two.X).nnz == 0
    assert one.y.tolist() == two.y.tolist() == read_table("train.csv", text="title", label="category").y.tolist()


def test_arff(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("genes.arff").write_text(ARFF)
    run("pack", "genes.arff", "--out", "packed")
    data, wanted = Dataset.open("packed"), read_arff_hmc("genes.arff")
    np.testing.assert_array_equal(data.X.toarray(), wanted.X)
    assert data.y == wanted.y == [["1/1", "2"], ["1/2"], ["2"]]
    assert data.taxonomy == wanted.taxonomy
    assert data.feature_names == wanted.feature_names


def test_labels_in_sets(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text("a,b 1:1\n 2:1\nb 1:2\n")
    run("pack", "rows.svm", "--out", "packed")
    assert Dataset.open("packed").y == [["a", "b"], [], ["b"]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a 1:1\n 2:1\n", (), "rows.svm, line 2, column 2: the row has no label."),
        ("a 1:1\nb x\n", (), "rows.svm, line 2, column 3: wanted index:value"),
        ("a 1:1\n", ("--hashing",), "--hashing is for texts"),
        ("a 1:1\n", ("--text", "t"), "leave out --text"),
        ("a 1:1\n", ("--format", "lshtc"), "are packed, not lshtc"),
        ("a 1:1\n", ("--jobs", "0"), "n_jobs must not be 0"),
        ("", (), "no rows to pack"),
        (ARFF.replace("0.25", "?"), ("--format", "arff"), "Row 2 has the value nan"),
    ],
)
def test_faults_are_told_in_one_sentence_and_nothing_is_written(text, options, message, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(text)
    assert message in refused("pack", "rows.svm", *options, "--out", "packed")


def test_what_is_packed_is_not_read_in_another_way(shop, run, refused):
    run("pack", "numbers.svm", "--taxonomy", "numbers.paths", "--out", "p")
    assert "leave out --taxonomy" in refused("train", "p", "--taxonomy", "numbers.paths", "--out", "m")
    assert "no packed data set" in refused("train", "numbers", "--out", "m")
    assert "was trained on texts" in refused("predict", "model", "p")


def test_a_share_of_packed_texts_is_held_out(shop, run):
    run("pack", "train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, "--no-characters", "--out", "packed")
    told = json.loads(run("train", "packed", "--method", "svm", "--test-size", "0.25", "--out", "m", "--json").stdout)
    assert told["test"]["n_rows"] > 0.2 * told["rows"]
    assert told["test"]["metrics"]["accuracy"] > 0.3
