"""``cladist explain``."""

import csv
import json
from pathlib import Path

import pytest

import cladist
from cladist.datasets import read_texts


def expected(n_rows=None):
    texts = read_texts("test.csv", text=["title", "description"])[:n_rows]
    return cladist.load("model").explain(texts)


def test_text_json_and_files(run, shop):
    whys = expected()
    assert run("explain", "model", "test.csv", "--rows", "2").stdout == f"{whys[0]}\n\n{whys[1]}\n\n"
    assert json.loads(run("explain", "model", "test.csv", "--json", "--rows", "3").stdout) == [
        why.to_dict() for why in whys[:3]
    ]
    told = run("explain", "model", "test.csv", "--rows", "0", "--out", "why.jsonl").stderr
    assert f"{len(whys)} rows are explained in why.jsonl" in told
    assert [json.loads(line) for line in Path("why.jsonl").read_text().splitlines()] == [why.to_dict() for why in whys]
    run("explain", "model", "test.csv", "--rows", "0", "--out", "why.csv")
    with open("why.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    own = [float(row["contribution"]) for row in rows if row["row"] == "1" and row["node"] == whys[0].label]
    assert sum(own) == pytest.approx(whys[0].explanation.parts[whys[0].label], abs=1e-4)
    run("explain", "model", "test.csv", "--rows", "1", "--out", "why.txt")
    assert Path("why.txt").read_text() == f"{whys[0]}\n\n"


def test_the_page(run, shop):
    run("explain", "model", "test.csv", "--rows", "2", "--out", "why.html")
    page = Path("why.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h1>model on test.csv</h1>" in page
    assert page.count("class='cladist-explanation'") == 2
    assert all(why.to_html() in page for why in expected(2))
    assert "<script" not in page


def test_lines_and_a_label_of_choice(run, refused, shop):
    (found,) = json.loads(run("explain", "model", "-", "--json", "--node", "Saucepans", input="a dome tent").stdout)
    assert found["label"] == "Saucepans"
    assert found["runner_up"]["label"] == "Tents"
    words = {word["word"] for node in found["nodes"] for word in node["words"]}
    assert {"dome", "tent"} <= words
    assert "'Saucepan' is not in the taxonomy; did you mean 'Saucepans'" in refused(
        "explain", "model", "-", "--node", "Saucepan", input="a dome tent"
    )


def test_numbers_are_explained_by_features(run, shop):
    found = json.loads(run("explain", "numbers", "numbers.svm", "--json").stdout)
    assert len(found) == 6
    assert set(found[0]["nodes"][0]["features"]) <= {"x0", "x1", "x2", "x3"}
    for row in found:
        assert row["score"] == pytest.approx(sum(node["part"] for node in row["nodes"]))
    run("explain", "numbers", "numbers.svm", "--out", "why.html")
    run("explain", "numbers", "numbers.svm", "--out", "why.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "test.csv"], "nowhere is not a folder"),
        (["model", "nowhere.csv"], "there is no such file"),
        (["model", "test.csv", "--out", "why.pdf"], "must be one of .html, .jsonl, .csv, .tsv, .txt"),
        (["model", "test.csv", "--out", "test.csv"], "test.csv is also read"),
        (["model", "numbers.svm"], "was trained on texts"),
    ],
)
def test_refusals(refused, shop, arguments, said):
    assert said in refused("explain", *arguments)
