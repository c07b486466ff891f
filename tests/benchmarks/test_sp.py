"""The runner of Liu et al. 2013's tables, on toys: every published row, what is chosen, what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.papers.hr.data_sets import NEAR, STAND_IN, DataSet
from benchmarks.papers.rows import MEASURED, NO_DATA
from benchmarks.papers.sp import data_sets, equal_f1, measuring, run, showing, times
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS
from cladist import Taxonomy
from cladist.datasets import Dataset
from cladist.datasets.loaders.catalogue import VARIABLE
from cladist.errors import ParameterError
from tests.benchmarks import toys


def toy():
    data = toys.toy()
    return replace(data, y=[{str(label)} for label in data.y])


@pytest.fixture
def toy_table(results, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(measuring, "RESAMPLES", 20)
    for name, kind in (("news20", NEAR), ("ccat", STAND_IN)):
        monkeypatch.setitem(DATA, name, DataSet(DATA[name].title, (toys.source(kind, toy, multilabel=True),)))
    for name, method in METHODS.items():
        few = {k: v[:2] for k, v in method.stages.items()}
        monkeypatch.setitem(METHODS, name, replace(method, stages=few))
    return results / "sp.json"


def bench(*data, methods=None, **options):
    return run.bench(data=list(data), methods=methods, measure=measuring.measure, **options)


def test_every_published_row_is_there(results, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    outcome = run.bench()
    assert len(outcome.rows) == len(DATA) * len(METHODS)
    rows = {(row["data"], row["method"]): row for row in outcome.content["rows"]}
    assert all(row["status"] == NO_DATA for row in rows.values())
    assert rows["NEWS20", "HP"]["published"] == {"P": 0.93, "R": 0.39, "F1": 0.56, "seconds": None}
    assert rows["NEWS20", "KSP-linear"]["published"] == {"P": 0.87, "R": 0.83, "F1": 0.85, "seconds": 559}
    assert rows["NEWS20, shuffled", "KSP-Gaussian"]["published"]["F1"] == 0.83
    assert rows["WIPO", "KSP-polynomial"]["published"] == {"P": 0.91, "R": 0.72, "F1": 0.81, "seconds": None}
    assert rows["CCAT", "flat SVM"]["published"] is None


def test_rows_are_measured(toy_table):
    outcome = bench("news20", "ccat")
    rows = outcome.content["rows"]
    assert [row["status"] for row in rows] == [MEASURED] * 2 * len(METHODS)
    for row, line in zip(rows, outcome.rows, strict=True):
        assert outcome.header == showing.HEADER
        assert len(line) == len(showing.HEADER)
        assert row["measured"]["F1"] > 0.5
        low, high = row["interval"]["F1"]
        assert low <= row["measured"]["F1"] <= high
        assert ("—" in line[2]) == (row["data"] == "CCAT")
        assert set(row["seconds"]) == {"choosing", "fit", "predict"}
        best = max(entry["F1"] for entry in row["tried"])
        chosen = [entry["F1"] for entry in row["tried"] if entry.items() >= row["chosen"].items()]
        assert chosen == [best]
    again = bench("news20", methods=["hp"])
    assert again.content["rows"][0] == rows[0]


def test_it_says_where_it_is_worse_and_what_was_tried(toy_table):
    (row,) = bench("news20", methods=["ksp-linear"]).content["rows"]
    worse = row | {"interval": {"F1": [0.5, 0.6]}}
    assert showing.is_lower(worse)
    assert not showing.is_lower(worse | {"kind": STAND_IN})
    assert not showing.is_lower(worse | {"interval": {"F1": [0.8, 0.845]}})  # within the paper's rounding
    said = showing.remarks([worse])
    assert "NEWS20, KSP-linear: F1 lies below the published one. Tried on the held-out part: rounds=1" in said[1]


def test_names_that_are_not_there(results):
    with pytest.raises(ParameterError, match="there is no method 'lm-3'; there are hp, ksp-linear"):
        run.bench(methods=["lm-3"])
    with pytest.raises(ParameterError, match="there is no data set 'rcv1'; there are ccat"):
        run.bench(data=["rcv1"])


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
    rows = equal_f1.measure("news20")
    assert rows[0]["method"].startswith("flat SVM, C=")
    assert {row["method"] for row in rows[1:]} == {"HP", "KSP-linear"}
    part = equal_f1.part(rows)
    assert part.header == equal_f1.HEADER
    assert all(len(line) == len(part.header) for line in part.rows)
    assert equal_f1.measure("wipo") == []


def test_times_as_multiples_of_ksp(toy_table, monkeypatch):
    assert times.measure("news20") == []  # no row tells KSP's settings yet
    chosen = {"ksp-linear": {"rounds": 1}, "lm-1": {"C": 1.0}, "lm-2": {"C": 0.1}}
    rows = [
        {"data": "NEWS20", "method": METHODS[name].title, "status": "measured", "chosen": options}
        for name, options in chosen.items()
    ]
    monkeypatch.setattr(times, "stored", lambda name: {"rows": rows if name == "sp" else []})
    found = times.measure("news20")
    assert [row["method"] for row in found] == ["LM-1", "LM-2"]
    assert found[0]["published"] == pytest.approx(4406 / 559)
    assert all(row["measured"] == row["fit s"] / row["KSP's fit s"] > 0 for row in found)
    assert times.published("news20-shuffled", "lm-1") is None
    part = times.part(found)
    assert all(len(line) == len(part.header) for line in part.rows)
    assert times.measure("wipo") == []
