"""``cladist bench``: the papers of a checkout listed, one of them run, its rows shown and kept."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import harness
from benchmarks.papers.hr import data_sets, measuring, verdicts
from benchmarks.papers.hr import run as hr
from cladist.cli import bench
from tests.benchmarks import toys
from tests.cli.conftest import call

WIDE = {"COLUMNS": "200"}
RUNNER = """
from benchmarks.harness import Outcome

def bench(*, data, methods, again):
    row = [str(data), str(methods), str(again)]
    return Outcome(["data", "methods", "again"], [row], ["A remark."], {"rows": row})
"""


@pytest.fixture
def toy_hr(tmp_path, monkeypatch):
    """The runner of hr with toys for data, measured in this process; its file of results."""
    results = tmp_path / "benchmarks" / "results"
    results.parent.mkdir()
    monkeypatch.setattr(harness, "RESULTS", results)
    monkeypatch.setattr(hr, "measure_apart", measuring.measure)
    monkeypatch.setattr(measuring, "CS", (1.0,))
    monkeypatch.setattr(measuring, "RESAMPLES", 10)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, title, kind in (
        ("toy", "toy", data_sets.OTHER),
        ("second", "second", data_sets.OTHER),
        ("standin", "RCV1", data_sets.STAND_IN),
    ):
        monkeypatch.setitem(data_sets.DATA, name, data_sets.DataSet(title, (toys.source(kind),)))
    monkeypatch.delenv("CLADIST_DATA", raising=False)
    return results / "hr.json"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of its own as the current one; the package is not in a checkout."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.setattr(bench, "SOURCE_TREE", tmp_path / "site-packages")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.chdir(folder)
    return folder


def a_paper(folder: Path, name: str, *, runner: str = "") -> None:
    place = folder / "benchmarks" / "papers" / name
    place.mkdir(parents=True)
    place.joinpath("published.json").write_text(json.dumps({"paper": f"{name.title()} 2024", "methods": "M"}))
    if runner:
        place.joinpath("run.py").write_text(runner)


def test_without_a_name_the_papers_are_listed(run):
    listed = json.loads(run("bench", "--json").stdout)
    assert {paper["name"]: paper["runs"] for paper in listed} == {
        "hieron": True,
        "hm3": True,
        "hr": True,
        "hrls": True,
        "sp": True,
    }
    shown = run("bench", env=WIDE).stdout
    for paper in listed:
        assert paper["paper"] in shown
    assert "cladist bench hr" in shown


def test_a_table_is_printed(run, toy_hr):
    done = run("bench", "hr", "--data", "toy,clef", "--methods", "td", env=WIDE)
    for text in ("Gopal & Yang 2013", "published", "95 % interval", "toy, TD", "70.11 / 32.32", "data not found"):
        assert text in done.stdout
    assert "not in the paper" in done.stdout
    assert "bootstrap over test rows" in done.stdout
    assert "benchmarks/results" in done.stderr


def test_as_json_it_is_nothing_but_json(run, toy_hr):
    done = run("bench", "hr", "--data", "toy", "--methods", "td", "--json")
    assert done.stderr == ""
    content = json.loads(done.stdout)
    assert content == json.loads(toy_hr.read_text())
    assert content["rows"][0]["status"] == "measured"


def test_quiet_leaves_the_table(run, toy_hr):
    done = run("bench", "hr", "--data", "toy", "--methods", "td", "--quiet", env=WIDE)
    assert done.stderr == ""
    assert "toy, TD" in done.stdout


def test_a_stand_in_is_never_printed_as_the_papers_data(run, toy_hr):
    done = run("bench", "hr", "--data", "standin", "--methods", "td", env=WIDE)
    assert "stand-in" in done.stdout
    assert "exact" not in done.stdout
    (row,) = json.loads(toy_hr.read_text())["rows"]
    assert row["kind"] == "stand-in"


def test_times_are_printed_below_the_table(run, toy_hr):
    done = run("bench", "hr", "--data", "toy", "--methods", "td", env=WIDE)
    assert "Training time (Table 4)" in done.stdout
    assert "published minutes" in done.stdout


def test_verdicts_are_printed_and_written(run, toy_hr, monkeypatch):
    monkeypatch.setattr(verdicts, "COMPARED", ("toy",))
    monkeypatch.setattr(verdicts, "RESAMPLES", 10)
    monkeypatch.setattr(verdicts, "judge_apart", verdicts.judge_pair)
    waiting = run("bench", "hr", "--verdicts", env=WIDE | {"COLUMNS": "400"}).stdout
    assert "not measured yet: cladist bench hr --data toy --methods hr-svm,svm" in waiting
    run("bench", "hr", "--data", "toy", "--methods", "lr,hr-lr")
    content = json.loads(run("bench", "hr", "--verdicts", "--methods", "hr-lr", "--json").stdout)
    assert [row["method"] for row in content["rows"]] == ["HR-LR − LR"]
    shown = run("bench", "hr", "--verdicts", "--methods", "hr-lr", env=WIDE).stdout
    assert "toy, HR-LR − LR" in shown
    assert toy_hr.with_name("hr-verdicts.json").exists()


def test_a_second_run_keeps_the_rows_and_again_does_not(run, toy_hr, monkeypatch):
    measured = []
    monkeypatch.setattr(hr, "measure_apart", lambda *names: measured.append(names) or measuring.measure(*names))
    arguments = ("bench", "hr", "--data", "toy", "--methods", "td")
    first = run(*arguments, env=WIDE).stdout
    assert run(*arguments, env=WIDE).stdout == first
    assert len(measured) == 1
    run(*arguments, "--again")
    assert len(measured) == 2


def test_ctrl_c_keeps_the_rows_and_says_so(run, toy_hr, monkeypatch):
    def stopping(data_set, method, by):
        if data_set == "second":
            raise KeyboardInterrupt
        return measuring.measure(data_set, method, by)

    monkeypatch.setattr(hr, "measure_apart", stopping)
    arguments = ("bench", "hr", "--data", "toy,second", "--methods", "td")
    stopped = call(*arguments)
    assert stopped.exit_code == 130
    assert "are kept" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert [row["data"] for row in json.loads(toy_hr.read_text())["rows"]] == ["toy"]
    monkeypatch.setattr(hr, "measure_apart", measuring.measure)
    rows = json.loads(run(*arguments, "--json").stdout)["rows"]
    assert [row["data"] for row in rows] == ["toy", "second"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bench", "hrx"), "There is no paper 'hrx' to run; those that run: hieron, hm3, hr, hrls, sp."),
        (("bench", "hm3", "--methods", "lm-1"), "bench hm3: there is no method 'lm-1'; there are svm, h-svm"),
        (("bench", "sp", "--methods", "lm-3"), "there is no method 'lm-3'; there are hp, ksp-linear"),
        (("bench", "hr", "--data", "clev"), "there is no data set 'clev'; there are clef, rcv1"),
        (
            ("bench", "hr", "--methods", "svn"),
            "there is no method 'svn'; there are svm, hr-svm, hr-svm-graph, lr, hr-lr",
        ),
        (("bench", "hr", "--verdicts", "--methods", "svm"), "there is no method 'svm'; there are hr-svm, hr-lr"),
        (("bench", "hieron", "--verdicts"), "There are no verdicts for hieron"),
        (("bench", "--verdicts"), "--verdicts needs the name of a paper"),
        (("bench", "hr", "--data", "clef,"), "--data: wanted names separated by commas"),
        (("bench", "--data", "clef"), "--data needs the name of a paper"),
        (("bench", "--again"), "--again needs the name of a paper"),
        (("bench", "hieron", "--data", "clef"), "leave out --data and --methods"),
    ],
)
def test_bad_usage_is_refused(refused, arguments, said):
    assert said in refused(*arguments)


# ---------------------------------------------------------------- the checkout


def test_without_a_checkout_it_says_so(elsewhere, refused):
    for arguments in (("bench",), ("bench", "hr")):
        assert "There is no folder benchmarks/papers here" in refused(*arguments)


def test_the_checkout_of_the_current_folder_is_run(elsewhere, run, refused):
    a_paper(elsewhere, "toypaper", runner=RUNNER)
    a_paper(elsewhere, "unrun")
    listed = json.loads(run("bench", "--json").stdout)
    assert [(paper["name"], paper["runs"]) for paper in listed] == [("toypaper", True), ("unrun", False)]
    shown = run("bench", "toypaper", "--data", "x, y", "--again").stdout
    assert "['x', 'y']" in shown
    assert "A remark." in shown
    content = json.loads(run("bench", "toypaper", "--json").stdout)
    assert content == {"rows": ["None", "None", "False"]}
    assert "those that run: toypaper." in refused("bench", "unrun")


def test_the_packages_own_checkout_comes_first(elsewhere, monkeypatch):
    a_paper(elsewhere, "mine", runner=RUNNER)
    source = Path(bench.__file__).absolute().parents[3]
    monkeypatch.setattr(bench, "SOURCE_TREE", source)
    assert bench.find_checkout() == source


def test_a_runner_hidden_by_another_folder_is_not_run(elsewhere, refused):
    a_paper(elsewhere, "hr", runner=RUNNER)  # the tests have imported the other one already
    assert "another folder called benchmarks hides it" in refused("bench", "hr")


def test_a_damaged_file_of_tables_is_refused(elsewhere, refused):
    a_paper(elsewhere, "odd")
    (elsewhere / "benchmarks" / "papers" / "odd" / "published.json").write_text("[]")
    assert "not a file of published tables" in refused("bench")
