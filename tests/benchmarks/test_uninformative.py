"""The study of trees that say nothing, on toys: what is shuffled, what is summed up, what is kept."""

import json

import numpy as np
import pytest

from benchmarks.papers.hr import data_sets, uninformative
from benchmarks.papers.hr.data_sets import OTHER, DataSet
from benchmarks.papers.hr.uninformative_showing import summary, table
from benchmarks.papers.rows import MEASURED, NO_DATA
from cladist.datasets import make_topics
from cladist.learners import select_c
from cladist.learners.select_c import SHARINGS
from tests.benchmarks import toys

SMALL = {"n_samples": 60, "n_features": 100, "branching": (2, 2), "n_test": 40}


def a_set():
    return make_topics(**SMALL, random_state=0)


@pytest.fixture
def small(results, monkeypatch):
    monkeypatch.setattr(uninformative, "SIZES", {"topics, 4 leaves": SMALL})
    monkeypatch.setattr(select_c, "GRID", (1.0, 10.0))
    monkeypatch.setattr(select_c, "FOLDS", 2)
    monkeypatch.setitem(data_sets.DATA, "clinc150", DataSet("clinc150", (toys.source(OTHER, a_set),)))
    for cached in (uninformative._clinc150, uninformative._flat):
        cached.cache_clear()
    yield results / "hr-uninformative.json"
    for cached in (uninformative._clinc150, uninformative._flat):
        cached.cache_clear()


def test_leaves_are_dealt_to_the_places_of_leaves():
    data = make_topics(n_samples=100, n_features=50, branching=(3, 4), n_test=10, random_state=0)
    one, other, same = (uninformative.shuffled(data, seed) for seed in (0, 1, 0))
    tree = data.taxonomy
    leaves = {tree.names[v] for v in tree.leaves}
    for found in (one, other):
        assert set(found.taxonomy.names) == set(tree.names)
        assert {found.taxonomy.names[v] for v in found.taxonomy.leaves} == leaves
        assert [len(found.taxonomy.children(str(k))) for k in range(3)] == [4, 4, 4]
        np.testing.assert_array_equal(found.y_train, data.y_train)
    assert one.taxonomy == same.taxonomy
    assert len({one.taxonomy, other.taxonomy, tree}) == 3


def test_every_seed_is_measured_and_summed_up(small):
    outcome = uninformative.bench(seeds=range(2))
    content = json.loads(small.read_text())
    assert content == outcome.content
    assert len(content["rows"]) == 2 * 2 * 2 * 2
    for row in content["rows"]:
        gained = row["accuracy"]["HR"] - row["accuracy"]["flat"]
        assert row["status"] == MEASURED
        assert row["difference"] == pytest.approx(gained, abs=1e-4)
    by_name = content["summary"]
    assert list(by_name) == [
        f"{data}, {methods}"
        for data in ("topics, 4 leaves", uninformative.SHUFFLED)
        for methods in (
            "HR-SVM − SVM",
            "HR-SVM, sharing chosen − SVM",
            "HR-LR − LR",
            "HR-LR, sharing chosen − LR",
        )
    ]
    for found in by_name.values():
        assert found["mean"] == pytest.approx(np.mean(found["differences"]), abs=1e-4)
    before = small.read_bytes()
    uninformative.bench(seeds=range(2))
    assert small.read_bytes() == before


def test_sharing_is_chosen_in_rows_of_its_own(small):
    rows = uninformative.bench(seeds=range(1)).content["rows"]
    chosen = [row for row in rows if "sharing chosen" in row["method"]]
    assert len(chosen) == 4
    assert {row["settings"]["parameters"]["sharing"] for row in chosen} == {"cv"}
    assert all(row["sharing"] in SHARINGS for row in chosen)
    assert {row["sharing"] for row in rows if row not in chosen} == {1.0}
    # The flat learner is one and the same beside both.
    flat = {(row["settings"]["data"], row["method"].split(" − ")[1]): row["accuracy"]["flat"] for row in rows}
    assert all(flat[row["settings"]["data"], row["method"].split(" − ")[1]] == row["accuracy"]["flat"] for row in rows)


def test_more_seeds_are_added_to_those_there(small, monkeypatch):
    uninformative.bench(seeds=range(1))
    calls = []
    measured = uninformative.measured
    monkeypatch.setattr(uninformative, "measured", lambda given: calls.append(given["seed"]) or measured(given))
    found = uninformative.bench(seeds=range(2)).content["summary"]
    assert calls == [1] * 8
    assert {len(entry["differences"]) for entry in found.values()} == {2}


def test_missing_data_are_said(small, monkeypatch):
    nowhere = DataSet("clinc150", ())
    monkeypatch.setitem(data_sets.DATA, "clinc150", nowhere)
    outcome = uninformative.bench(seeds=range(1))
    assert [row["status"] for row in outcome.content["rows"]] == [MEASURED] * 4 + [NO_DATA] * 4
    assert any(NO_DATA in remark for remark in outcome.remarks)
    assert len(outcome.rows) == 4


def a_row(seed, difference):
    row = uninformative.planned("topics, 20 leaves", "hr-svm", "", seed)
    return row | {"status": MEASURED, "difference": difference, "accuracy": {"HR": 0, "flat": 80.0}}


def test_the_table_says_whether_the_mean_is_within_a_point():
    (line,) = table([a_row(1, -2.0), a_row(0, 1.0)])[1]
    assert line == ["topics, 20 leaves, HR-SVM − SVM", "80.0", "+1.00 −2.00", "−0.50 ± 1.50", "yes"]
    assert table([a_row(0, -1.5)])[1][0][3:] == ["−1.50", "no"]
    assert summary([a_row(0, 1.0) | {"status": NO_DATA}]) == {}


def test_the_script_prints_the_table(small, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["uninformative.py", "--seeds", "1"])
    uninformative.main()
    assert "topics, 4 leaves, HR-SVM − SVM" in capsys.readouterr().out
