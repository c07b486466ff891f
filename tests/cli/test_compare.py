"""``cladist compare``."""

import json
from pathlib import Path

import pytest

from cladist.cli.compare import parse_time

COLUMNS = ("--text", "title", "--text", "description", "--label", "category", "--taxonomy", "taxonomy.csv")
QUICK = ("--methods", "top-down", "--cv", 2, "--budget", "1000h", "--no-control")


def test_the_table_the_page_and_the_command_that_trains(shop, run):
    result = run("compare", "train.csv", *COLUMNS, *QUICK, "--html", "page.html")
    assert "hierarchy" in result.stdout.splitlines()[0]
    assert "top-down" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("cladist train train.csv --taxonomy taxonomy.csv --text title --text description")
    assert "The comparison is in page.html" in result.stderr
    assert last.split(" --out")[0] in Path("page.html").read_text()
    run(*last.split()[1:], "--quiet")
    assert Path("model").is_dir()


def test_json_of_several_is_ranked(shop, run, refused):
    for name in ("one", "two"):
        told = run("compare", "train.csv", *COLUMNS, *QUICK, "--json").stdout
        Path(f"{name}.json").write_text(told)
    content = json.loads(told)
    assert {row["method"] for row in content["methods"]} == {"svm", "top-down"}
    assert content["command"].startswith("cladist train")
    assert "Nemenyi" in run("compare", "one.json", "two.json").stdout
    assert "is no result of cladist compare" in refused("compare", "one.json", "train.csv")


def test_groups_and_times(shop, run, refused):
    rows = Path("train.csv").read_text().splitlines()
    group = [f"{rows[0]},g", *(f"{row},{k % 5}" for k, row in enumerate(rows[1:]))]
    Path("grouped.csv").write_text("\n".join(group) + "\n")
    for option in ("--groups", "--time"):
        told = json.loads(run("compare", "grouped.csv", *COLUMNS, *QUICK, option, "g", "--json").stdout)
        assert told["n_held_out"] <= len(rows) - 1
    assert "'nothing'" in refused("compare", "grouped.csv", *COLUMNS, *QUICK, "--groups", "nothing")


def test_budgets():
    assert [parse_time(text) for text in ("90", "1.5s", "10m", "2h")] == [90, 1.5, 600, 7200]


@pytest.mark.parametrize("text", ["", "0", "-3", "ten", "3 days"])
def test_a_budget_that_is_no_time_is_refused(shop, refused, text):
    assert "--budget must be a time above 0" in refused("compare", "train.csv", *COLUMNS, f"--budget={text}")
