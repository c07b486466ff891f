"""The runner of the online comparison: every published row, the paper's ordering, and losses on toys."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.papers.hrls import data_sets, ordering, run
from benchmarks.papers.hrls.data_sets import DataSet
from cladist.datasets import Dataset, make_label_model
from cladist.errors import ParameterError


def toy() -> Dataset:
    return make_label_model(n_samples=120, n_features=5, random_state=0)


@pytest.fixture
def toys(results, monkeypatch):
    for name, chosen in {
        "rcv1": DataSet("RCV1", toy, 60, 40, "RCV1", "A stand-in."),
        "enron": DataSet("Enron", toy, 60, 40),
        "icd": DataSet("ICD-10-CM chapters", toy, 60, 40),
    }.items():
        monkeypatch.setitem(data_sets.DATA, name, chosen)
    return results / "hrls.json"


def test_every_published_row_is_there(toys):
    outcome = run.bench()
    assert [row[:2] for row in outcome.rows[:2]] == [["RCV1", "PERC"], ["RCV1", "H-PERC"]]
    assert outcome.rows[0][2] == "0.702 (±0.045)"
    assert outcome.rows[6][2:4] == ["0.899 (±0.024)", "data not found"]
    assert outcome.rows[12][2] == "—"
    assert "A stand-in." in outcome.remarks
    rows = json.loads(toys.read_text())["rows"]
    assert len(rows) == 4 * 6
    for row in rows:
        if row["status"] == "measured":
            assert all(len(values) == 5 for values in row["values"].values())
            zero_one, h, delta = (np.array(row["values"][loss]) for loss in ordering.LOSSES)
            assert np.all(zero_one <= h)
            assert np.all(h <= delta)
    again = run.bench(data=["rcv1"], methods=["perc"])
    assert again.rows[0] == outcome.rows[0]


def test_the_ordering_of_the_paper():
    assert ("SH-RLS", "S-RLS") in ordering.paper_orders("zero-one loss")
    assert ("H-SVM", "SH-RLS") in ordering.paper_orders("uniform H-loss")
    pairs = ordering.paper_orders("uniform H-loss")
    assert ("PERC", "H-PERC") not in pairs, "the two tables disagree"
    assert ("H-PERC", "PERC") not in pairs
    assert ordering.verdict(ordering.compared([1, 1.1, 1, 1, 1], [2, 2.2, 2, 2, 2])) == "holds"
    assert ordering.verdict(ordering.compared([2, 2, 2, 2, 2.1], [1, 1, 1, 1, 1])) == "reversed"
    assert ordering.verdict(ordering.compared([1, 2, 1, 2, 1], [2, 1, 1, 1, 2])) == "open"
    assert ordering.verdict(ordering.compared([1.0] * 5, [1.0] * 5)) == "equal"


def test_unknown_names():
    with pytest.raises(ParameterError, match="there is no data set 'rcv2'"):
        run.bench(data=["rcv2"])
