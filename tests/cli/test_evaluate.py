"""``cladist evaluate``."""

import json
from pathlib import Path

import pytest

import cladist
from cladist.cli import reading
from cladist.cli.evaluate import evaluate
from cladist.cli.reading import DataSource
from cladist.datasets import read_table
from cladist.metrics import report

COLUMNS = ("--text", "title", "--text", "description", "--label", "category")
SOURCE = DataSource("test.csv", text=("title", "description"), label="category")


def expected():
    model = cladist.load("model")
    data = read_table("test.csv", text=["title", "description"], label="category")
    return report(data.y, model.predict(data.X), model[-1].taxonomy_)


def test_json_is_the_report(run, shop):
    result = run("evaluate", "model", "test.csv", *COLUMNS, "--json")
    assert json.loads(result.stdout) == expected().to_dict()
    assert result.stderr == ""


def test_pieces_add_up(shop, monkeypatch):
    monkeypatch.setattr(reading, "BATCH_ROWS", 25)
    assert evaluate(cladist.load("model"), SOURCE).metrics == pytest.approx(expected().metrics)


def test_the_tables_for_people(run, shop):
    shown = run("evaluate", "model", "test.csv", *COLUMNS, "--quiet").stdout
    assert "108 rows, 30 nodes (forest)" in shown
    assert f"{expected().metrics['tree_induced_error']:.4f}" in shown
    assert "hierarchical, mean of rows" in shown


def test_the_page(run, shop):
    result = run("evaluate", "model", "test.csv", *COLUMNS, "--html", "report.html")
    assert "The report is in report.html" in result.stderr
    page = Path("report.html").read_text()
    assert "<h1>model on test.csv</h1>" in page
    assert "Sleeping bags" in page


def test_numbers(run, shop):
    found = json.loads(run("evaluate", "numbers", "numbers.svm", "--json").stdout)
    assert found["metrics"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "test.csv", *COLUMNS], "nowhere is not a folder"),
        (["model", "test.csv", "--text", "title"], "--label COLUMN"),
        (["model", "test.csv", "--text", "title", "--label", "kind"], "there is no column 'kind'"),
        (["model", "other.csv", "--text", "title", "--label", "category"], "line 2, column 'category': 'Boats'"),
        (["model", "test.csv", *COLUMNS, "--html", "model"], "this is a folder"),
        (["model", "test.csv", *COLUMNS, "--html", "nowhere/report.html"], "there is no such folder"),
        (["numbers", "test.csv", *COLUMNS], "numbers was trained on numbers"),
        (["model", "numbers.svm"], "model was trained on texts"),
    ],
)
def test_what_is_refused(refused, shop, arguments, said):
    Path("other.csv").write_text("title,category\nsloop,Boats\n")
    assert said in refused("evaluate", *arguments, "--quiet")
