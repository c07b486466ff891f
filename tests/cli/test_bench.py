"""``cladist bench``: the papers of a checkout listed, one of them run, its rows shown and kept."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import comparison, data_sets, harness, page, studies
from benchmarks.bench import Outcome
from cladist.cli import bench
from tests.benchmarks import toys
from tests.benchmarks.conftest import call_here
from tests.cli.conftest import call

WIDE = {"COLUMNS": "300"}
RUNNER = """
from benchmarks.tables import Part
from typing import NamedTuple

class Outcome(NamedTuple):
    parts: list
    remarks: list
    content: dict

def bench(name, *, data, methods, **options):
    row = [name, str(data), str(methods), str(options)]
    return Outcome([Part("A table", ["name", "data", "methods", "options"], [row], ["A remark."])], [], {"rows": row})
"""


@pytest.fixture
def toy_hr(tmp_path, monkeypatch):
    """The comparison with toys for data, measured in this process; the folder of its cells."""
    results = tmp_path / "benchmarks" / "results"
    results.parent.mkdir()
    monkeypatch.setattr(harness, "RESULTS", results)
    monkeypatch.setattr(studies, "in_new_process", call_here)
    monkeypatch.setattr(comparison, "CS", (1.0,))
    monkeypatch.setattr(comparison, "RESAMPLES", 10)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("toy", "second"):
        monkeypatch.setitem(data_sets.DATA, name, data_sets.DataSet(name, (toys.source(data_sets.OTHER),)))
    monkeypatch.delenv("CLADIST_DATA", raising=False)
    return results / "cells" / "comparison"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of its own as the current one; the package is not in a checkout."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.setattr(bench, "SOURCE_TREE", tmp_path / "site-packages")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.chdir(folder)
    return folder


def a_paper(folder: Path, name: str) -> None:
    place = folder / "benchmarks" / "papers" / name
    place.mkdir(parents=True)
    place.joinpath("published.json").write_text(json.dumps({"paper": f"{name.title()} 2024", "methods": "M"}))


def test_without_a_name_the_papers_are_listed(run):
    listed = json.loads(run("bench", "--json").stdout)
    assert [paper["name"] for paper in listed] == ["hieron", "hm3", "hmc", "hr", "hrls", "sp"]
    shown = run("bench", env=WIDE).stdout
    for text in (*(paper["paper"] for paper in listed), "cladist bench hr", "cladist bench all"):
        assert text in shown


def test_tables_are_printed(run, toy_hr):
    done = run("bench", "hr", "--data", "toy", "--methods", "top-down", env=WIDE)
    for text in ("Gopal & Yang 2013, Table 3", "published", "95 % interval", "CLEF, TD", "70.11 / 32.32"):
        assert text in done.stdout
    assert "1 cells measured" in done.stderr
    assert "benchmarks/results/cells" in done.stderr
    assert [path.name for path in toy_hr.iterdir()] == ["toy--top-down.json"]


def test_as_json_it_is_nothing_but_json(run, toy_hr):
    done = run("bench", "hr", "--data", "toy", "--methods", "top-down", "--json")
    assert done.stderr == ""
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell == json.loads((toy_hr / "toy--top-down.json").read_text())
    assert cell["status"] == "measured"


def test_quiet_leaves_the_tables(run, toy_hr):
    done = run("bench", "hr", "--data", "toy", "--methods", "top-down", "--quiet", env=WIDE)
    assert done.stderr == ""
    assert "CLEF, TD" in done.stdout


def test_all_measures_what_is_missing_and_writes_the_page(run, toy_hr, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PAGE", tmp_path / "results.md")
    monkeypatch.setattr(page, "PICTURE", tmp_path / "methods.svg")
    page.PAGE.write_text(f"{page.BEGIN}{page.END}\n", encoding="utf-8")
    arguments = ("bench", "all", "--data", "toy", "--methods", "top-down,lr", "--budget", "60")
    done = run(*arguments, env=WIDE)
    assert "2 cells measured, 0 left by the budget." in done.stderr
    assert "comparison" in done.stdout
    first = page.PAGE.read_bytes(), page.PICTURE.read_bytes()
    assert b"| toy, top-down | " in first[0]
    assert "0 cells measured" in run(*arguments).stderr
    assert (page.PAGE.read_bytes(), page.PICTURE.read_bytes()) == first


def test_ctrl_c_keeps_the_cells_and_says_so(run, toy_hr, monkeypatch):
    def stopping(function, *arguments, limit=None):
        if "second" in arguments:
            raise KeyboardInterrupt
        return call_here(function, *arguments)

    monkeypatch.setattr(studies, "in_new_process", stopping)
    arguments = ("bench", "hr", "--data", "toy,second", "--methods", "top-down")
    stopped = call(*arguments)
    assert stopped.exit_code == 130
    assert "are kept" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    monkeypatch.setattr(studies, "in_new_process", call_here)
    assert "cells measured" in run(*arguments).stderr
    assert {path.name for path in toy_hr.iterdir()} == {"second--top-down.json", "toy--top-down.json"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bench", "hrx"), "There is no paper 'hrx' to run; those that run: hieron, hm3, hmc, hr, hrls, sp, all."),
        (("bench", "hm3", "--methods", "lm-1"), "bench hm3: there is no method 'lm-1'; there are svm, h-svm"),
        (("bench", "sp", "--methods", "lm-3"), "there is no method 'lm-3'; there are hp, ksp-linear"),
        (("bench", "hr", "--data", "clev"), "there is no data set 'clev'; there are clef, rcv1"),
        (("bench", "all", "--methods", "svn"), "there is no method 'svn'; there are online-tree"),
        (("bench", "hr", "--data", "clef,"), "--data: wanted names separated by commas"),
        (("bench", "--data", "clef"), "--data needs the name of a paper"),
        (("bench", "--again"), "--again needs the name of a paper"),
        (("bench", "--budget", "3"), "--budget needs the name of a paper"),
        (("bench", "hieron", "--data", "clef"), "bench hieron: there is no data set 'clef'; there are variance-0.16"),
    ],
)
def test_bad_usage_is_refused(refused, arguments, said):
    assert said in refused(*arguments)


# ---------------------------------------------------------------- the checkout


def test_without_a_checkout_it_says_so(elsewhere, refused):
    for arguments in (("bench",), ("bench", "hr")):
        assert "There is no folder benchmarks/papers here" in refused(*arguments)


def test_the_papers_of_the_current_folder_are_listed_and_run(elsewhere, run, monkeypatch):
    a_paper(elsewhere, "toypaper")
    (elsewhere / "benchmarks" / "bench.py").write_text(RUNNER)
    for name in [name for name in sys.modules if name == "benchmarks.bench"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("benchmarks.__path__", [str(elsewhere / "benchmarks"), *__import__("benchmarks").__path__])
    assert [paper["name"] for paper in json.loads(run("bench", "--json").stdout)] == ["toypaper"]
    shown = run("bench", "toypaper", "--data", "x, y", "--again", env=WIDE).stdout
    assert "['x', 'y']" in shown
    assert "A remark." in shown
    monkeypatch.delitem(sys.modules, "benchmarks.bench")


def test_a_checkout_that_is_the_current_folder_comes_before_the_packages_own(elsewhere, monkeypatch):
    source = Path(bench.__file__).absolute().parents[3]
    monkeypatch.setattr(bench, "SOURCE_TREE", source)
    assert bench.find_checkout() == source
    a_paper(elsewhere, "mine")
    assert bench.find_checkout() == elsewhere


def test_hours_of_work_need_a_yes(elsewhere, monkeypatch):
    a_paper(elsewhere, "mine")
    ran = []
    runner = lambda *names, **options: ran.append(names) or Outcome([], [], {})  # noqa: E731
    monkeypatch.setattr(bench, "load_runner", lambda root: (runner, lambda *_, **__: (7, 300.0)))
    refused = call("bench", "mine")
    assert refused.exit_code == 2
    assert "7 cells to measure, about 5 hours: add --yes to begin" in refused.stderr
    assert ran == []
    assert call("bench", "mine", "--yes").exit_code == 0
    assert ran == [("mine",)]


def test_a_runner_hidden_by_another_folder_is_not_run(elsewhere, refused):
    a_paper(elsewhere, "hr")  # the tests have imported the other one already
    assert "another folder called benchmarks hides it" in refused("bench", "hr")


def test_a_damaged_file_of_tables_is_refused(elsewhere, refused):
    a_paper(elsewhere, "odd")
    (elsewhere / "benchmarks" / "papers" / "odd" / "published.json").write_text("[]")
    assert "not a file of published tables" in refused("bench")
