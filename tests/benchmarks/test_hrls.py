"""The runner of the online comparison: every published row, the paper's ordering, and losses on toys."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import cells, studies
from benchmarks.papers.hrls import data_sets, ordering, run
from benchmarks.papers.hrls.data_sets import DataSet
from cladist.datasets import Dataset, make_label_model


def toy() -> Dataset:
    return make_label_model(n_samples=120, n_features=5, random_state=0)


@pytest.fixture
def toys(results, monkeypatch, in_this_process):
    for name, chosen in {
        "rcv1": DataSet("RCV1", toy, 60, 40, "RCV1", "A stand-in.", "stand-in"),
        "enron": DataSet("Enron", toy, 60, 40),
        "icd": DataSet("ICD-10-CM chapters", toy, 60, 40),
    }.items():
        monkeypatch.setitem(data_sets.DATA, name, chosen)


def test_every_published_row_is_there(toys):
    assert studies.run([run.STUDY]) == (18, 0, [])
    part, order = run.parts()
    lines = {line[0]: line for line in part.rows}
    assert lines["RCV1, PERC"][1] == "0.702 ±0.045 / 1.196 ±0.127 / 1.695 ±0.182"
    assert lines["RCV1, PERC"][4] == "stand-in"
    assert lines["OHSUMED, PERC"][1:5] == ["0.899 ±0.024 / 1.938 ±0.219 / 2.639 ±0.226", "—", "—", "not to be had"]
    assert lines["Enron, SVM"][1] == "—"
    assert lines["Enron, SVM"][3].count("±") == 3
    assert "A stand-in." in part.remarks
    assert order.rows
    for cell in cells.measured("hrls").values():
        assert all(len(values) == 5 for values in cell["values"].values())
        zero_one, h, delta = (np.array(cell["values"][loss]) for loss in ordering.LOSSES)
        assert np.all(zero_one <= h)
        assert np.all(h <= delta)
    assert studies.run([run.STUDY]).measured == 0


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
