"""``cladist doctor`` and ``cladist apply``."""

import csv
import json
from pathlib import Path

import pytest

from cladist import Taxonomy

COLUMNS = ("--text", "title", "--text", "description", "--label", "category")
TREE = ("--taxonomy", "taxonomy.csv")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def wrong(shop):
    """The shop with one wrong label and one empty row; the row with the wrong label, and its right one."""
    rows = rows_of("train.csv")
    first, other = rows[0]["category"], rows[-1]["category"]
    assert first != other
    rows[0]["category"] = other
    rows.append({**rows[1], "title": "!", "description": ""})
    with open("wrong.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return len(rows), first


def test_what_is_found_is_put_right(shop, run, wrong):
    n_rows, right = wrong
    result = run("doctor", "wrong.csv", *COLUMNS, *TREE, "--fix", "edits.csv", "--html", "page.html")
    assert "rows whose label is probably wrong" in result.stdout
    assert "suggested edits are in edits.csv" in result.stderr
    assert "Row 1, " in Path("page.html").read_text()
    edits = rows_of("edits.csv")
    chosen = [edit for edit in edits if (edit["action"], edit["row"]) in (("relabel", "1"), ("drop", str(n_rows)))]
    assert len(chosen) == 2
    for edit in chosen:
        edit["accept"] = "yes"
    with open("edits.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(edits[0]))
        writer.writeheader()
        writer.writerows(edits)
    told = json.loads(
        run("apply", "edits.csv", "wrong.csv", "--label", "category", *TREE, "-o", "new.csv", "--json").stdout
    )
    assert told == {"edits": 2, "rows": n_rows - 1, "out": "new.csv"}
    after = rows_of("new.csv")
    assert after[0]["category"] == right
    assert after == rows_of("train.csv")


def test_json(shop, run):
    content = json.loads(run("doctor", "train.csv", *COLUMNS, *TREE, "--test", "test.csv", "--json").stdout)
    assert content["n_rows"] == len(rows_of("train.csv"))
    assert {"row", "suspicion", "suggested"} == set(content["label_errors"][0])


def test_labels_that_are_paths_follow_nodes_that_moved(shop, run):
    Path("paths.csv").write_text("t,c\nrain coat,wear/coats\ntea cup,home/cups\nscarf,wear/scarves\n")
    Path("edits.csv").write_text(
        "accept,action,row,node,old,new,sure,evidence\nx,move,,coats,wear,home,1,\nx,merge,,scarves,,coats,1,\n"
    )
    options = ("--label", "c", "--path-sep", "/")
    run("apply", "edits.csv", "paths.csv", *options, "--out", "new.jsonl", "--out-taxonomy", "tree.paths")
    rows = [json.loads(line) for line in Path("new.jsonl").read_text().splitlines()]
    assert [row["c"] for row in rows] == ["home/coats", "home/cups", "home/coats"]
    assert [row["t"] for row in rows] == ["rain coat", "tea cup", "scarf"]
    assert Taxonomy.read("tree.paths").path("coats") == ["home", "coats"]


def test_what_is_refused(shop, refused):
    Path("edits.csv").write_text("accept,action,row,node,old,new,sure,evidence\nx,drop,9999,,,,1,\n")
    given = ("apply", "edits.csv", "train.csv", "--label", "category", *TREE)
    assert "Name the table to write with --out" in refused(*given)
    assert "row 9,999, and there are" in refused(*given, "--out", "new.csv")
    assert "train.csv: wanted the columns" in refused(
        "apply", "train.csv", "train.csv", "--label", "category", *TREE, "--out", "new.csv"
    )
    Path("edits.csv").write_text("accept,action,row,node,old,new,sure,evidence\n")
    assert "numbers.svm is read as svmlight" in refused(
        "apply", "edits.csv", "numbers.svm", "--label", "a", "--out", "new.csv"
    )
    assert "Name the column of the labels" in refused("apply", "edits.csv", "train.csv", "--out", "new.csv")
