"""``cladist split``."""

import csv
import json
from pathlib import Path

import pytest


def rows_of(path):
    with open(path, newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        (f"text {k}\nsecond line" if k % 7 == 0 else f"text, {k}", f"label {k % 9}", f"g{k % 11}") for k in range(100)
    ]
    rows += [("alone", "single", "g99")]
    with open("shop.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\r\n").writerows([("t", "c", "g"), *rows])


def test_every_row_is_in_one_file_as_it_was(run):
    told = json.loads(run("split", "shop.csv", "--test-size", "0.3", "--json").stdout)
    assert told == {"train": "shop-train.csv", "test": "shop-test.csv", "train_rows": 71, "test_rows": 30}
    header, *rows = rows_of("shop.csv")
    parts = [rows_of(f"shop-{part}.csv") for part in ("train", "test")]
    assert all(part[0] == header for part in parts)
    assert sorted(parts[0][1:] + parts[1][1:]) == sorted(rows)
    assert [row for row in rows if row in parts[1]] == parts[1][1:]  # in their order
    assert Path("shop-test.csv").read_bytes().count(b"\r\n") == 31


def test_each_label_has_its_share_and_a_row_to_train_on(run):
    run("split", "shop.csv", "--label", "c", "--test-size", "0.25", "--out-train", "a.csv", "--out-test", "b.csv")
    train, test = ([row[1] for row in rows_of(path)[1:]] for path in ("a.csv", "b.csv"))
    assert set(train) == {f"label {k}" for k in range(9)} | {"single"}
    assert len(test) == 25
    assert all(2 <= test.count(f"label {k}") <= 4 for k in range(9))


def test_groups_stay_together(run):
    run("split", "shop.csv", "--groups", "g", "--out-train", "a.csv", "--out-test", "b.csv")
    train, test = ({row[2] for row in rows_of(path)[1:]} for path in ("a.csv", "b.csv"))
    assert test
    assert not train & test


def test_another_seed_draws_other_rows(run):
    found = []
    for seed in (0, 0, 1):
        run("split", "shop.csv", "--seed", seed, "--out-train", "a.csv", "--out-test", "b.csv")
        found.append(Path("b.csv").read_bytes())
    assert found[0] == found[1] != found[2]


def test_other_formats(run):
    Path("n.svm").write_text("# made by hand\n" + "".join(f"a {k}:1\n" for k in range(1, 11)))
    run("split", "n.svm")
    assert Path("n-train.svm").read_text().startswith("# made by hand\na ")
    assert len(Path("n-test.svm").read_text().splitlines()) == 1 + 2
    Path("n.jsonl").write_text("".join(json.dumps({"t": k, "c": k % 2}) + "\n" for k in range(10)))
    run("split", "n.jsonl", "--label", "c")
    assert len(Path("n-test.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--test-size", "20"], "between 0 and 1; got 20"),
        (["--label", "c", "--groups", "g"], "two ways to draw rows"),
        (["--label", "kind"], "there is no column 'kind'"),
        (["--out-test", "shop.csv"], "shop.csv is also read"),
        (["--test-size", "0.001"], "leaves one of the files without rows"),
        (["--format", "parquet"], "parquet files are not split"),
    ],
)
def test_refusals(refused, arguments, said):
    assert said in refused("split", "shop.csv", *arguments)
