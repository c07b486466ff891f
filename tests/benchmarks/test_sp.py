"""The studies of Liu et al. 2013's tables, on toys: every published row, what is chosen, what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import cells, studies
from benchmarks.cells import MEASURED
from benchmarks.data_sets import NEAR, STAND_IN, DataSet
from benchmarks.papers.sp import data_sets, equal_f1, run, times
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS
from cladist import Taxonomy
from cladist.datasets import Dataset
from cladist.datasets.loaders.catalogue import VARIABLE
from tests.benchmarks import toys


def toy():
    data = toys.toy()
    return replace(data, y=[{str(label)} for label in data.y])


@pytest.fixture
def toy_table(results, monkeypatch, in_this_process):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("benchmarks.comparison.RESAMPLES", 20)
    for name, kind in (("news20", NEAR), ("ccat", STAND_IN)):
        monkeypatch.setitem(DATA, name, DataSet(DATA[name].title, (toys.source(kind, toy, multilabel=True),)))
    for name, method in METHODS.items():
        few = {k: v[:2] for k, v in method.stages.items()}
        monkeypatch.setitem(METHODS, name, replace(method, stages=few))


def measure(*data, methods=None):
    assert studies.run([run.STUDY], data=list(data), methods=methods).failures == []
    return cells.read("sp")


def test_every_published_row_is_there(results):
    table_2, table_3, table_4, _ = run.parts()
    published = {line[0]: line[1] for part in (table_2, table_4) for line in part.rows}
    assert published["NEWS20, by date, HP"] == "0.93 / 0.39 / 0.56"
    assert published["NEWS20, by date, KSP-linear"] == "0.87 / 0.83 / 0.85"
    assert published["NEWS20, shuffled, KSP-Gaussian"] == "0.94 / 0.74 / 0.83"
    assert published["WIPO, KSP-polynomial"] == "0.91 / 0.72 / 0.81"
    assert published["CCAT, flat SVM"] == "—"
    of_news = [line[1].partition(" s")[0] for line in table_3.rows if line[0].startswith("NEWS20, by date")]
    assert of_news == ["559", "4406", "39305"]
    assert {line[4] for line in table_2.rows if line[0].startswith("WIPO")} == {"not to be had"}
    assert {line[2] for line in table_2.rows if line[0].startswith("CCAT")} == {"not measured yet"}


def test_cells_are_measured(toy_table):
    found = measure("news20", "ccat")
    assert len(found) == 2 * len(METHODS)
    for (data, _), cell in found.items():
        assert cell["status"] == MEASURED
        assert cell["kind"] == (STAND_IN if data == "ccat" else NEAR)
        assert cell["measured"]["F1"] > 0.5
        low, high = cell["interval"]["F1"]
        assert low <= cell["measured"]["F1"] <= high
        best = max(entry["F1"] for entry in cell["tried"])
        assert [entry["F1"] for entry in cell["tried"] if entry.items() >= cell["chosen"].items()] == [best]
    shown = {line[0]: line for part in run.parts() for line in part.rows}
    assert "rounds=1" in shown["NEWS20, by date, HP"][5]
    assert "a quarter held out" in shown["NEWS20, by date, HP"][5]
    assert measure("news20", methods=["hp"])["news20", "hp"] == found["news20", "hp"]


def test_it_says_where_it_is_worse_and_what_was_tried(toy_table):
    cell = measure("news20", methods=["ksp-linear"])["news20", "ksp-linear"]

    def said(**change):
        return run._figures("", {("news20", "ksp-linear"): cell | change}, ("ksp-linear",)).remarks[1:]

    (text,) = said(interval={"F1": [0.5, 0.6], "P": [0, 1], "R": [0, 1]})
    assert text.startswith("NEWS20, by date, KSP-linear: F1 lies below the published one; ")
    assert said(interval={"F1": [0.5, 0.6], "P": [0, 1], "R": [0, 1]}, kind=STAND_IN) == []
    assert said(interval={"F1": [0.8, 0.845], "P": [0, 1], "R": [0, 1]}) == []  # within the paper's rounding


def test_a_family_is_cut_out(monkeypatch):
    taxonomy = Taxonomy.from_paths(["A/b", "A/c", "D/e"])
    y = [["b"], ["e"], ["c", "e"], ["A"], ["b", "c"], ["e"], ["b"]]
    data = Dataset(np.arange(14.0).reshape(7, 2), y, taxonomy, train_rows=slice(0, 4), test_rows=slice(4, 7))
    cut = data_sets.family(data, "A")
    assert cut.taxonomy.names == ("A", "b", "c")
    assert [sorted(labels) for labels in cut.y_train] == [["b"], ["c"], ["A"]]
    assert cut.X_train.tolist() == [[0, 1], [4, 5], [6, 7]]
    assert [sorted(labels) for labels in cut.y_test] == [["b", "c"], ["b"]]
    monkeypatch.setattr(data_sets, "TEST_ROWS", 1)
    assert len(data_sets.family(data, "A").y_test) == 1


def test_time_to_the_f1_of_a_flat_svm(toy_table, monkeypatch):
    monkeypatch.setattr(equal_f1, "FACTORS", (1, 2))
    assert equal_f1.missing("news20", "hp") == "not measured yet"
    measure("news20", methods=["svm"])
    assert studies.run([equal_f1.STUDY], data=["news20"]) == (3, 0, [])
    found = cells.read(equal_f1.NAME)
    assert [len(found["news20", m]["points"]) >= 1 for m in ("svm", "hp", "ksp-linear")] == [True] * 3
    part = equal_f1.part()
    assert part.rows[0][0] == "NEWS20, flat SVM"
    assert all(len(line) == len(part.header) for line in part.rows)


def test_times_as_multiples_of_ksp(toy_table):
    assert times.missing("news20", "lm-1") == "not measured yet"  # no cell tells KSP's settings yet
    measure("news20", methods=["ksp-linear", "lm-1", "lm-2"])
    assert studies.run([times.STUDY], data=["news20"]) == (2, 0, [])
    lines = {line[0]: line for line in run.parts()[1].rows}
    assert lines["NEWS20, by date, LM-1"][1] == "4406 s = 7.88 × KSP-linear"
    assert lines["NEWS20, by date, LM-1"][2].endswith("× KSP-linear")
    assert lines["NEWS20, by date, KSP-linear"][2].endswith(" s")
    assert lines["WIPO, LM-2"][2:5] == ["—", "—", "not to be had"]
