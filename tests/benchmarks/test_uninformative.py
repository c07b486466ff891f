"""The study of trees that say nothing, on toys: what is shuffled, what is summed up, what is kept."""

import numpy as np
import pytest

from benchmarks import cells, data_sets, studies
from benchmarks.cells import NO_DATA
from benchmarks.data_sets import OTHER, DataSet
from benchmarks.papers.hr import uninformative
from cladist.datasets import make_topics
from cladist.learners import select_c
from cladist.learners.select_c import SHARINGS
from tests.benchmarks import toys

SMALL = {"n_samples": 60, "n_features": 100, "branching": (2, 2), "n_test": 40}


@pytest.fixture
def small(results, monkeypatch, in_this_process):
    monkeypatch.setattr(uninformative, "SIZES", {"topics-20": SMALL, "topics-60": SMALL})
    monkeypatch.setattr(uninformative, "SEEDS", 2)
    monkeypatch.setattr(select_c, "GRID", (1.0, 10.0))
    monkeypatch.setattr(select_c, "FOLDS", 2)
    source = toys.source(OTHER, lambda: make_topics(**SMALL, random_state=0))
    monkeypatch.setitem(data_sets.DATA, "clinc150", DataSet("clinc150", (source,)))


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
    assert studies.run([uninformative.STUDY]) == (3 * 2 * 2 * 2, 0, [])
    found = cells.read(uninformative.NAME)
    for (_, method), cell in found.items():
        assert cell["difference"] == pytest.approx(cell["accuracy"]["HR"] - cell["accuracy"]["flat"], abs=1e-4)
        is_chosen = method.endswith(uninformative.CHOSEN)
        assert cell["sharing"] in SHARINGS if is_chosen else cell["sharing"] == 1.0
    rows = uninformative.part().rows
    assert [row[0] for row in rows[:4]] == [
        f"topics, 20 leaves, {methods}"
        for methods in ("HR-SVM − SVM", "HR-SVM, sharing chosen − SVM", "HR-LR − LR", "HR-LR, sharing chosen − LR")
    ]
    assert len(rows) == 12
    assert studies.run([uninformative.STUDY]).measured == 0


def test_missing_data_are_said(small, monkeypatch):
    monkeypatch.setitem(data_sets.DATA, "clinc150", DataSet("clinc150", ()))
    assert uninformative.missing("clinc150-shuffled-seed-0", "hr-lr") == NO_DATA
    assert uninformative.missing("topics-20-seed-0", "hr-lr") == ""


def test_the_table_says_whether_the_mean_is_within_a_point():
    def cell(difference):
        return {"difference": difference, "accuracy": {"HR": 0, "flat": 80.0}}

    line = uninformative._line("topics", [cell(1.0), cell(-2.0)])
    assert line == ["topics", "80.0", "+1.00 −2.00", "−0.50 ± 1.50", "yes"]
    assert uninformative._line("topics", [cell(-1.5)])[3:] == ["−1.50", "no"]
