"""Databases and workbooks on the command line, from training to joined predictions."""

import csv
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_database_from_training_to_joined_predictions(run, refused, shop):
    with open("train.csv", newline="") as file:
        header, *rows = csv.reader(file)
    with sqlite3.connect("shop.db") as connection:
        connection.execute(f"CREATE TABLE items (id INTEGER PRIMARY KEY, {', '.join(header)})")
        connection.executemany(f"INSERT INTO items ({', '.join(header)}) VALUES (?, ?, ?)", rows)
    connection.close()
    data = ("sqlite:///shop.db", "--query", "SELECT * FROM items")
    columns = ("--text", "title", "--text", "description", "--label", "category")
    run("train", *data, "--taxonomy", "taxonomy.csv", *columns, "--method", "top-down", "--out", "new", "--quiet")
    run("train", "train.csv", "--taxonomy", "taxonomy.csv", *columns, "--method", "top-down", "--out", "old", "--quiet")
    told = json.loads(run("evaluate", "new", *data, "--json").stdout)
    assert told == json.loads(run("evaluate", "old", "train.csv", "--json").stdout)
    found = list(csv.DictReader(run("predict", "new", *data, "--keep", "id").stdout.splitlines()))
    assert [row["id"] for row in found] == [str(k + 1) for k in range(len(rows))]
    assert json.loads(run("explain", "new", *data, "--rows", "1", "--json").stdout)[0]["label"] == found[0]["label"]
    tree = ("--label", "category", "--quiet")
    told = [
        run("taxonomy", "taxonomy.csv", *given, *tree).stdout for given in (("--data", *data), ("--data", "train.csv"))
    ]
    assert told[0].replace(data[0], "train.csv").split() == told[1].split()  # lines break elsewhere after another name
    assert "every label is in the taxonomy" in told[0]
    assert "let two queries choose the rows" in refused("split", "sqlite:///shop.db")
    assert "is a database: say which rows to read" in refused("predict", "new", "sqlite:///shop.db")
    assert "A query is for databases" in refused("predict", "new", "test.csv", "--query", "SELECT 1")


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_workbooks(run, tmp_path, monkeypatch, kind):
    pytest.importorskip("python_calamine")
    monkeypatch.chdir(tmp_path)
    files = Path(__file__).parents[1] / "datasets" / "files" / "workbook"
    for name in ("table", "tree"):
        shutil.copy(files / f"{name}.{kind}", ".")
    given = (f"table.{kind}", "--text", "text", "--label", "label", "--path-sep", "/", "--method", "svm", "--out", "m")
    run("train", *given, "--quiet")
    rows = list(csv.DictReader(run("predict", "m", f"table.{kind}", "--keep", "n").stdout.splitlines()))
    assert [row["n"] for row in rows] == ["11", "1.5", "TRUE"]
    assert [row["label"] for row in rows] == ["wear/coats", "home/cups", "home/lamps"]
    assert "5 nodes" in run("taxonomy", f"tree.{kind}").stdout


def test_duckdb_ends_without_a_word(tmp_path):
    """In a process of its own: what duckdb writes on standard error, it writes when the process ends."""
    duckdb = pytest.importorskip("duckdb")
    rows = "('wear > coats', 'rain coat'), ('wear > boots', 'rubber boots'), ('home', 'tea cup')"
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE items AS SELECT * FROM (VALUES {rows}) AS items(category, title)")
    query = ("duckdb:///shop.duckdb", "--query", "SELECT * FROM items", "--text", "title", "--label", "category")
    options = ("--path-sep", " > ", "--method", "top-down", "--out", "model", "--quiet")
    command = [sys.executable, "-m", "cladist", "train", *query, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (tmp_path / "model").is_dir()
    assert done.stderr == ""
