"""The store of cells and the runner: what is measured when, in which order, and what a kill leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import bench, cells, harness, studies
from benchmarks.cells import MEASURED, REFUSED, STOPPED
from cladist.errors import DatasetError
from tests.benchmarks.work import toy_study

ROOT = Path(__file__).parents[2]


@pytest.fixture
def log(results, tmp_path, monkeypatch):
    """The calls so far, as (method, process)."""
    path = tmp_path / "log"
    monkeypatch.setenv("LOG", str(path))

    def calls():
        return [tuple(line.split()[1:]) for line in path.read_text().splitlines()] if path.exists() else []

    return calls


def methods_of(calls):
    return [method for method, _ in calls]


def run(*methods, **options):
    of_study = {name: options.pop(name) for name in ("settings", "version") if name in options}
    return studies.run([toy_study(*methods, **of_study)], **options)


# ---------------------------------------------------------------- what is measured


def test_a_second_run_measures_nothing_and_changes_no_file(log, results):
    run("a", "b")
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in results.rglob("*.json")}
    assert set(before) == {"d--a.json", "d--b.json"}
    assert run("a", "b") == (0, 0, [])
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in results.rglob("*.json")} == before
    assert sorted(methods_of(log())) == ["a", "b"]


def test_a_cell_says_when_by_what_and_on_what_it_was_measured(log):
    run("a")
    (cell,) = cells.read("toy").values()
    assert {"command", "date", "machine", "versions", "sources", "settings", "protocol", "peak_memory_mib"} <= set(cell)
    assert (cell["status"], cell["measured"]) == (MEASURED, {"micro": 50.0})


@pytest.mark.parametrize("change", [{"again": True}, {"settings": {"C": 2}}, {"version": 2}])
def test_other_settings_another_protocol_and_again_measure_anew(log, change):
    run("a")
    assert run("a", **change).measured == 1
    assert methods_of(log()) == ["a", "a"]


def test_other_sources_of_the_package_do_not(log, monkeypatch):
    run("a")
    monkeypatch.setattr(cells, "sources", lambda: "changed")
    assert run("a").measured == 0


def test_a_setting_that_is_not_known_here_may_be_anything(log):
    run("a", settings={"features": "TF-IDF", "Cs": (1, 10)})
    assert run("a", settings={"features": None, "Cs": (1, 10)}).measured == 0


def test_names_choose_cells(log):
    run("a", "b", methods=["b"])
    run("a", "b", data=["other"])
    assert methods_of(log()) == ["b"]


# ---------------------------------------------------------------- what goes wrong


def test_what_does_not_apply_is_recorded_and_not_tried_again(log):
    for _ in range(2):
        run("refused")
    assert methods_of(log()) == ["refused"]
    (cell,) = cells.read("toy").values()
    assert (cell["status"], cell["reason"]) == (REFUSED, "Rows have sets of labels.")


def test_a_failure_is_told_tried_again_and_stops_no_other_cell(log):
    done = run("broken", "unread", "z")
    assert done.measured == 1
    assert [failure.partition(": ")[2] for failure in sorted(done.failures)] == [
        "d, broken: ZeroDivisionError: the roof is leaking",
        "d, unread: toy.csv, line 3: there is no label.",
    ]
    assert list(cells.read("toy")) == [("d", "z")]
    assert len(run("broken", "unread", "z").failures) == 2


def test_a_cell_beyond_its_limit_is_recorded_with_it_and_tried_again_with_more_time(log):
    limit = 4 / 60  # CPU seconds, most of which the start takes
    assert run("endless", "z", limit=limit).measured == 2
    cell = cells.read("toy")["d", "endless"]
    assert (cell["status"], cell["limit_s"]) == (STOPPED, 4)
    assert run("endless", "z", limit=limit).measured == 0
    assert [planned.method for planned in studies.missing_cells([toy_study("endless")], limit=2 * limit)] == ["endless"]


def test_a_cell_beyond_its_limit_replaces_no_figure(log):
    cells.write("toy", {"data": "d", "method": "endless", "protocol": 1, "settings": {"C": 0}, "status": MEASURED})
    (failure,) = run("endless", limit=4 / 60).failures
    assert "stays" in failure
    assert cells.read("toy")["d", "endless"]["status"] == MEASURED


# ---------------------------------------------------------------- order and budget


def put(data, method, seconds):
    cell = {"data": data, "method": method, "protocol": 1, "settings": {}, "status": MEASURED, "seconds": seconds}
    cells.write("known", cell)


def test_the_cheapest_cells_come_first_by_their_data_set_and_method(results):
    put("small", "quick", 1)
    put("large", "slow", {"choosing": 500, "fit": 500})
    put("large", "middle", 100)
    wanted = [("large", "quick"), ("small", "slow"), ("small", "middle")]
    study = studies.Study("known", lambda: wanted, lambda *_: {}, lambda *_: "", "")
    plan = studies.missing_cells([study])
    assert [(p.data, p.method) for p in plan] == [("small", "middle"), ("large", "quick"), ("small", "slow")]


def test_a_budget_leaves_what_would_take_longer(log, monkeypatch):
    monkeypatch.setattr(studies, "_estimator", lambda known: lambda d, m: {"a": 1.0, "b": 1e6}[m])
    done = run("b", "a", budget=10)
    assert (done.measured, done.left) == (1, 1)
    assert methods_of(log()) == ["a"]


# ---------------------------------------------------------------- a kill


def test_a_run_that_was_killed_goes_on_where_it_was(log, results, monkeypatch):
    code = f"from tests.benchmarks.work import run_toys; run_toys({str(results)!r})"
    environment = os.environ | {"WAITS": "b", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=ROOT) as process:
        wait_for(lambda: methods_of(log())[-1:] == ["b"])
        process.send_signal(signal.SIGKILL)
        process.wait()
    child = int(log()[-1][1])
    wait_for(lambda: not Path(f"/proc/{child}").exists())  # the killed run leaves no process at work
    assert list(cells.read("toy")) == [("d", "a")]
    assert not [path for path in results.rglob("*") if path.is_file() and path.suffix != ".json"]
    assert run("a", "b", "c").measured == 2
    assert methods_of(log()) == ["a", "b", "b", "c"]


def wait_for(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("waited for two minutes")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"data": "d", "method": "a"}', "{"])
def test_a_file_that_holds_no_cell_is_refused(results, text):
    path = cells.place("toy", "d", "a")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(DatasetError, match=r"results/cells/toy/d--a\.json: not a file of results"):
        cells.read("toy")
    assert path.read_text() == text


def test_every_cell_is_where_its_names_say_and_wanted_by_a_study():
    wanted = {study.name: set(study.pairs()) for study in bench.studies_of(bench.ALL)}
    for folder in (harness.RESULTS / "cells").iterdir():
        for pair in cells.read(folder.name):
            assert pair in wanted[folder.name]
            assert cells.place(folder.name, *pair).exists()
        assert len(list(folder.iterdir())) == len(cells.read(folder.name))


def test_no_figure_is_in_two_files():
    """Cells of different studies may answer the same question only by another protocol, and no file repeats one."""
    seen = {}
    for study in bench.studies_of(bench.ALL):
        for (d, m), cell in cells.measured(study.name).items():
            figures = {
                name: cell[name] for name in ("measured", "values", "differences", "points", "interval") if name in cell
            }
            if figures:
                text = json.dumps([d, m, cell["settings"], figures], sort_keys=True)
                assert text not in seen, f"{study.name}, {d}, {m} repeats {seen[text]}"
                seen[text] = (study.name, d, m)
            assert "published" not in cell
    assert not {path.stem for path in harness.RESULTS.glob("*.json")} & {
        study.name for study in bench.studies_of(bench.ALL)
    }
