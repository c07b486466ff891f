"""``cladist suggest``."""

import csv
import json
from pathlib import Path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_table_of_rows_to_label(shop, run):
    told = json.loads(run("suggest", "model", "test.csv", "-n", 7, "--out", "next.csv", "--json").stdout)
    assert told == {"rows": 7, "out": "next.csv"}
    rows = rows_of("next.csv")
    texts = [" ".join(f"{row['title']} {row['description']}".split()) for row in rows_of("test.csv")]
    assert all(texts[int(row["row"]) - 1] == row["text"].removeprefix("'") for row in rows)
    assert len({row["row"] for row in rows}) == 7
    assert run("suggest", "numbers", "numbers.svm", "-n", 2).stdout.count("\n") == 3


def test_to_annotation_tools_and_back(shop, run, refused):
    run("suggest", "model", "test.csv", "-n", 3, "--to", "label-studio", "-o", "t.json", "--label-config", "c.xml")
    tasks = json.loads(Path("t.json").read_text())
    assert "<Taxonomy" in Path("c.xml").read_text()
    for task in tasks:
        task["annotations"] = [{"result": task["predictions"][0]["result"]}]
    Path("done.json").write_text(json.dumps(tasks))
    run("suggest", "model", "test.csv", "-n", 3, "--to", "doccano", "-o", "t.jsonl")
    for name in ("done.json", "t.jsonl"):
        run("suggest", "model", name, "--collect", "-o", "labelled.csv")
        labelled = rows_of("labelled.csv")
        assert [int(row["row"]) for row in labelled] == [task["data"]["row"] for task in tasks]
        assert all(row["label"] and row["text"] for row in labelled)
    run("train", "labelled.csv", "--taxonomy", "taxonomy.csv", "--text", "text", "--label", "label",
        "--method", "svm", "--out", "more", "--quiet")  # fmt: skip
    assert "--to doccano is for texts" in refused("suggest", "numbers", "numbers.svm", "--to", "doccano")
    assert "wanted JSON" in refused("suggest", "model", "test.csv", "--collect")
