"""``cladist taxonomy --diff`` and ``cladist migrate``."""

from __future__ import annotations

import csv
import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from cladist import Crosswalk

OLD = "node,parent,name\na,,Food\na.1,a,Bread\na.2,a,Sweets\nb,,Tools\n"
NEW = OLD.replace("Tools", "Hand tools") + "a.21,a.2,Chocolate\na.22,a.2,Toffee\n"
TEXTS = {
    "a.21": ("dark chocolate", "cocoa powder", "milk chocolate cocoa"),
    "a.22": ("toffee", "caramel", "caramel toffee"),
}


def rows(n: int) -> list[list[str]]:
    """Return rows of which every third has one new label; every fourth of the others has it already."""
    table = []
    for k in range(n):
        if k % 3 == 0:
            table.append([f"rye bread {k}", "a.1", ""])
            continue
        label = ("a.21", "a.22")[k % 2]
        table.append([f"{TEXTS[label][k % 5 % 3]} {k}", "a.2", label if k % 4 == 0 or k % 7 == 0 else ""])
    return table


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "code", "done"], *rows(600)])
    with chdir(tmp_path):
        yield tmp_path


def read(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


DATA = ("data.csv", "--text", "text", "--label", "code")
TREES = ("--from", "old.csv", "--to", "new.csv")


def test_diff_writes_a_crosswalk_and_a_page(folder: Path, run: Any) -> None:
    result = run("taxonomy", "old.csv", "--diff", "new.csv", "--out", "walk.csv", "--html", "walk.html")
    assert "split   a.2 Sweets → a.21 Chocolate" in result.stdout
    walk = Crosswalk.read("walk.csv")
    assert walk.targets("a.2") == ("a.21", "a.22")
    page = Path("walk.html").read_text(encoding="utf-8")
    assert page.count("<path d=") == 3
    assert "now an inner node" in page
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")
    answer = json.loads(run("taxonomy", "old.csv", "--diff", "new.csv", "--json").stdout)
    assert answer["counts"] == {"one-to-one": 2, "split": 2, "rename": 1}
    assert answer["entries"][1]["old"] == "a.2"
    by_rows = ("--data", "data.csv", "--text", "text", "--label", "code")
    run("taxonomy", "old.csv", "--diff", "new.csv", *by_rows)


def test_rows_without_checks_stay_open_and_are_on_the_worklist(folder: Path, run: Any) -> None:
    run("taxonomy", "old.csv", "--diff", "new.csv", "--out", "walk.csv")
    result = run(
        "migrate", *DATA, "--crosswalk", "walk.csv", "--to", "new.csv", "--out", "out.csv", "--worklist", "work.csv",
        "--report", "report.json",
    )  # fmt: skip
    assert "No checked rows show that models are right 95% of the time" in " ".join(result.stdout.split())
    table = read("out.csv")
    assert [row["text"] for row in table] == [row[0] for row in rows(600)]
    assert {(row["status"], row["new_label"]) for row in table} == {("mapped", "a.1"), ("open", "")}
    assert {row["candidates"] for row in table} == {"", "a.21;a.22", "a.22;a.21"}
    assert json.loads(Path("report.json").read_text())["statuses"] == {"mapped": 200, "open": 400}
    work = read("work.csv")
    assert len(work) == 30
    first = work[0]
    assert table[int(first["row"]) - 1]["text"] == first["text"]


def test_checked_rows_let_models_decide(folder: Path, run: Any) -> None:
    truth = {k: ("a.21", "a.22")[k % 2] for k in range(600) if k % 3}
    with open("work.csv", "w", newline="") as file:
        csv.writer(file).writerows([["new_label", "row"], *([truth[k], k + 1] for k in truth if k % 5 == 1), ["", 2]])
    report = json.loads(run("migrate", *DATA, *TREES, "--checked", "work.csv", "--out", "out.jsonl", "--json").stdout)
    table = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
    decided = {k: row["new_label"] for k, row in enumerate(table) if row["status"] == "decided"}
    assert len(decided) > 200
    assert {k: truth[k] for k in decided} == decided
    assert report["threshold"]["lower_bound"] >= 0.95
    assert report["statuses"]["known"] == sum(k % 5 == 1 for k in truth)
    again = run("migrate", *DATA, *TREES, "--known", "done", "--out", "again.tsv")
    assert "models help" in again.stdout


def test_labels_that_are_paths(folder: Path, run: Any) -> None:
    Path("p.csv").write_text("text,code\nx,a > a.1\ny,a > a.2\n")
    run("migrate", "p.csv", "--label", "code", "--path-sep", ">", *TREES, "--out", "o.csv")
    assert [(row["new_label"], row["candidates"]) for row in read("o.csv")] == [
        ("a>a.1", ""),
        ("", "a>a.2>a.21;a>a.2>a.22"),
    ]


def test_columns_of_the_same_name_are_kept(folder: Path, run: Any) -> None:
    Path("s.csv").write_text("status,code\nok,a.1\n")
    run("migrate", "s.csv", "--label", "code", *TREES, "--out", "o.csv")
    assert read("o.csv")[0] == {
        "status": "ok", "code": "a.1", "migrated_new_label": "a.1", "migrated_status": "mapped",
        "migrated_confidence": "1.0", "migrated_candidates": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("migrate", "-", *DATA[1:], *TREES, "--out", "o.csv"), "DATA is read twice"),
        (("migrate", *DATA, *TREES), "Name the table to write with --out FILE"),
        (("migrate", *DATA, *TREES, "--out", "o.xlsx"), "ending in .csv, .tsv, .jsonl"),
        (("migrate", "data.csv", *TREES, "--out", "o.csv"), "Name the column of the old labels"),
        (
            ("migrate", *DATA, "--from", "old.csv", "--out", "o.csv"),
            "Name the crosswalk with --crosswalk FILE, or both",
        ),
        (("migrate", *DATA, *TREES, "--old-column", "x", "--out", "o.csv"), "go together"),
        (("migrate", *DATA, *TREES, "--out", "data.csv"), "is also read"),
        (("migrate", *DATA, "--from", "new.csv", "--to", "none.csv", "--out", "o.csv"), "there is no such file"),
        (("migrate", *DATA, *TREES, "--known", "nothing", "--out", "o.csv"), "there is no column 'nothing'"),
        (("migrate", "odd.csv", "--label", "code", *TREES, "--out", "o.csv"), "Row 2: the crosswalk has no old label"),
        (("migrate", *DATA, *TREES, "--checked", "bad.csv", "--out", "o.csv"), "wanted the number of a row, got 'x'"),
        (
            ("migrate", *DATA, *TREES, "--worklist-size", "9", "--out", "o.csv"),
            "name its file with --worklist FILE",
        ),
        (("taxonomy", "old.csv", "--out", "w.csv"), "name the new version of FILE with --diff NEW"),
        (("taxonomy", "old.csv", "--diff", "new.csv", "--out", "w.json"), "A crosswalk is written as .csv or .tsv"),
        (("taxonomy", "old.csv", "--diff", "new.csv", "--data", "data.csv"), "with --text and --label"),
        (("taxonomy", "old.csv", "--text", "text"), "--text is for --diff NEW"),
    ],
)
def test_mistakes(folder: Path, refused: Any, arguments: tuple[str, ...], sentence: str) -> None:
    Path("odd.csv").write_text("code\na.1\nz\n")
    Path("bad.csv").write_text("row,new_label\nx,a.21\n")
    assert sentence in refused(*arguments)


def test_unknown_labels_may_stay_open(folder: Path, run: Any) -> None:
    Path("odd.csv").write_text("code\na.1\nz\n")
    run("migrate", "odd.csv", "--label", "code", *TREES, "--unknown", "open", "--out", "o.csv")
    assert [row["status"] for row in read("o.csv")] == ["mapped", "unknown"]


def test_evaluate_on_labels_of_another_version(folder: Path, run: Any, refused: Any) -> None:
    Path("train.csv").write_text("text,code\n" + "rye bread,a.1\nwheat loaf,a.1\ntoffee,a.2\ncocoa,a.2\nhammer,b\n" * 3)
    run("train", "train.csv", "--text", "text", "--label", "code", "--taxonomy", "old.csv", "--method", "top-down",
        "--out", "model", "--quiet")  # fmt: skip
    Path("test.csv").write_text("text,code\nrye bread,a.1\ntoffee,a.22\nhammer,b\n")
    Path("walk.csv").write_text("old,new\na.2,a.21\na.2,a.22\n")
    plain = run("evaluate", "model", "test.csv", "--taxonomy", "new.csv")
    assert "2 nodes are new ('a.21', 'a.22')" in " ".join(plain.stderr.split())
    mapped = json.loads(
        run("evaluate", "model", "test.csv", "--taxonomy", "new.csv", "--crosswalk", "walk.csv", "--json").stdout
    )
    same = json.loads(run("evaluate", "model", "train.csv", "--taxonomy", "old.csv", "--json").stdout)
    assert same == json.loads(run("evaluate", "model", "train.csv", "--json").stdout)
    assert mapped["metrics"]["tree_induced_error"] == pytest.approx(1 / 3)
    assert "--crosswalk needs the version" in refused("evaluate", "model", "test.csv", "--crosswalk", "walk.csv")
    Path("bad.csv").write_text("old,new\na.2,z\n")
    assert "is not in the new taxonomy: 'z'" in refused(
        "evaluate", "model", "test.csv", "--taxonomy", "new.csv", "--crosswalk", "bad.csv"
    )
