"""``cladist evaluate``."""

import json
from pathlib import Path

import pytest

import cladist
from cladist.cli import input as cli_input
from cladist.cli.evaluate import evaluate
from cladist.cli.input import DataSource
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


def test_columns_and_separators_are_those_of_training(run, shop):
    assert json.loads(run("evaluate", "model", "test.csv", "--json").stdout) == expected().to_dict()
    piped = run("evaluate", "model", "-", "--json", input=Path("test.csv").read_text())
    assert json.loads(piped.stdout) == expected().to_dict()
    other = Path("test.csv").read_text().replace("category", "kind", 1)
    Path("other.csv").write_text(other)
    told = run("evaluate", "model", "other.csv", "--label", "kind", "--json")
    assert json.loads(told.stdout) == expected().to_dict()


def test_a_separator_of_training_can_be_left_out(run, refused, shop):
    paths = "t,c\nrain coat,wear > coats\ntea cup,home > cups\n"
    Path("paths.csv").write_text(paths)
    Path("names.csv").write_text(paths.replace("wear > ", "").replace("home > ", ""))
    run("train", "paths.csv", "--text", "t", "--label", "c", "--path-sep", ">", "--out", "new", "--quiet")
    for given in (["paths.csv"], ["names.csv", "--path-sep", ""]):
        assert json.loads(run("evaluate", "new", *given, "--json").stdout)["metrics"]["accuracy"] == 1.0
    assert "'coats' is not in" in refused("evaluate", "new", "names.csv", "--quiet")


def test_pieces_add_up(shop, monkeypatch):
    monkeypatch.setattr(cli_input, "BATCH_ROWS", 25)
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


def test_numbers_are_counted_as_in_training(run, refused, shop):
    Path("zero.svm").write_text("a 0:1\nb 1:1\n")
    run("train", "zero.svm", "--zero-based", "--out", "new")
    assert json.loads(run("evaluate", "new", "zero.svm", "--json").stdout)["metrics"]["accuracy"] == 1.0
    assert "add --zero-based" in refused("evaluate", "new", "zero.svm", "--one-based")


def test_notes_of_another_kind_are_refused(refused, shop):
    for notes, said in (({"text": "title"}, "a list"), ({"text": [1]}, "a list"), ({"label": 1}, "a text")):
        cladist.save(cladist.load("model"), "odd", notes=notes)
        assert f"must be {said}" in refused("evaluate", "odd", "test.csv")


def test_numbers(run, shop):
    found = json.loads(run("evaluate", "numbers", "numbers.svm", "--json").stdout)
    assert found["metrics"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "test.csv", *COLUMNS], "nowhere is not a folder"),
        (["nowhere", "test.csv"], "nowhere is not a folder"),
        (["bare", "test.csv"], "name its columns with --text COLUMN and --label COLUMN."),
        (["bare", "test.csv", "--text", "title"], "name its columns with --label COLUMN."),
        (["model", "test.xlsx"], "test.xlsx: not a workbook, or a damaged one"),
        (["model", "-"], "the file is empty"),
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
    Path("test.xlsx").touch()
    cladist.save(cladist.load("model"), "bare")
    assert said in refused("evaluate", *arguments, "--quiet")


def test_unknown_labels_can_count_as_wrong_or_be_left_out(run, refused, shop):
    lines = Path("test.csv").read_text().splitlines()
    changed = [line.replace(",Tents", ",Yurts") for line in lines]
    n_new = sum(line != old for line, old in zip(changed, lines, strict=True))
    assert 0 < n_new < len(lines) - 1
    Path("new.csv").write_text("\n".join(changed) + "\n")
    Path("known.csv").write_text("\n".join(line for line in changed if not line.endswith("Yurts")) + "\n")
    assert "--unknown wrong counts such rows as wrong, --unknown skip" in refused("evaluate", "model", "new.csv")
    known = json.loads(run("evaluate", "model", "known.csv", "--json").stdout)
    skipped = run("evaluate", "model", "new.csv", "--unknown", "skip", "--json")
    assert json.loads(skipped.stdout) == known
    wrong = json.loads(run("evaluate", "model", "new.csv", "--unknown", "wrong", "--json").stdout)
    assert wrong["n_rows"] == known["n_rows"] + n_new
    n_right = known["metrics"]["accuracy"] * known["n_rows"]
    assert wrong["metrics"]["accuracy"] == pytest.approx(n_right / wrong["n_rows"])
    told = run("evaluate", "model", "new.csv", "--unknown", "wrong", "--html", "r.html").stderr
    assert f"1 label is not in the taxonomy ({n_new} times); they count as wrong: 'Yurts'" in told
    same = run("evaluate", "model", "test.csv", "--unknown", "wrong", "--json").stdout
    assert json.loads(same) == expected().to_dict()


def test_an_unknown_path_is_as_far_as_its_known_part(run, shop):
    rows = [("rain coat", "wear > coats"), ("tea cup", "home > cups"), ("desk lamp", "home > lamps")]
    Path("paths.csv").write_text("\n".join(["t,c", *(f"{t},{c}" for t, c in rows * 4)]) + "\n")
    run("train", "paths.csv", "--text", "t", "--label", "c", "--path-sep", " > ", "--out", "new", "--quiet")
    Path("new.csv").write_text("t,c\ntea cup,home > mugs\n")
    found = json.loads(run("evaluate", "new", "new.csv", "--unknown", "wrong", "--json").stdout)
    assert found["metrics"]["accuracy"] == 0
    assert found["metrics"]["tree_induced_error"] == 2  # up to home and down again
    Path("deep.csv").write_text("t,c\ntea cup,garden > pots > clay\n")
    found = json.loads(run("evaluate", "new", "deep.csv", "--unknown", "wrong", "--json").stdout)
    assert found["metrics"]["tree_induced_error"] == 5  # from cups to the root, and three down


def test_unknown_labels_of_sets(run, shop):
    Path("sets.csv").write_text("t,c\n" + "rain coat,a;b\ntea cup,c\n" * 4)
    run("train", "sets.csv", "--text", "t", "--label", "c", "--label-sep", ";", "--method", "svm", "--out", "s", "-q")
    Path("new.csv").write_text("t,c\nrain coat,a;b;new\ntea cup,new\n")
    skipped = json.loads(run("evaluate", "s", "new.csv", "--unknown", "skip", "--json").stdout)
    assert (skipped["n_rows"], skipped["metrics"]["accuracy"]) == (1, 1.0)
    wrong = json.loads(run("evaluate", "s", "new.csv", "--unknown", "wrong", "--json").stdout)
    assert (wrong["n_rows"], wrong["metrics"]["accuracy"]) == (2, 0.0)


def test_where_unknown_labels_make_no_sense(refused, shop):
    Path("new.csv").write_text("title,description,category\na,b,nothing\n")
    assert "no row has a label of the taxonomy" in refused("evaluate", "model", "new.csv", "--unknown", "skip")
