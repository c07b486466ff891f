"""The runner of Rousu et al.'s tables: every published row, and figures on toys."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from benchmarks.papers.hm3 import run
from benchmarks.papers.hm3.methods import METHODS
from benchmarks.papers.published import read
from cladist import Taxonomy
from cladist.datasets import Dataset
from cladist.errors import DatasetError, ParameterError
from cladist.metrics import precision_recall_f1


def toy() -> Dataset:
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(["CCAT/C1/C11", "CCAT/C2", "ECAT/E1"])
    y = [rng.choice(taxonomy.names, rng.integers(0, 3), replace=False).tolist() for _ in range(90)]
    X = sparse.csr_array(rng.random((90, 6)))
    return Dataset(X, y, taxonomy, source="toy", train_rows=slice(0, 60), test_rows=slice(60, 90))


def gone() -> Dataset:
    raise DatasetError("not there")


@pytest.fixture
def toys(results, monkeypatch):
    monkeypatch.setitem(run.DATA, "Reuters", toy)
    monkeypatch.setattr(run, "RESAMPLES", 20)
    return results / "hm3.json"


def test_every_published_row_is_there(toys):
    outcome = run.bench()
    tables = read("hm3").tables
    assert [(row[0], row[1]) for row in outcome.rows] == list(tables["table 2"].rows)
    assert [[(row[0], row[1]) for row in part.rows] for part in outcome.further] == [
        list(tables["table 1"].rows),
        list(tables["table 3"].rows),
    ]
    assert outcome.rows[0][2].startswith("32.9 → ")
    assert outcome.rows[-1][-1] == "data not found"
    rows = json.loads(toys.read_text())["rows"]
    assert len(rows) == 2 * len(METHODS)
    for row in (row for row in rows if row["status"] == "measured"):
        for name, (low, high) in row["interval"].items():
            assert low <= row["measured"][name] <= high
        assert row["measured"]["ℓ_0/1"] / 100 <= row["measured"]["ℓ_H̃ uniform"] + 1e-3
        assert row["measured"]["ℓ_H̃ uniform"] <= row["measured"]["ℓ_Δ"] + 1e-3


def test_labels_are_cut_to_the_family(toys):
    split, taxonomy = run.cut(toy())
    assert set(taxonomy.names) == {"CCAT", "C1", "C11", "C2"}
    assert split.X_train.shape[0] == 60
    names = split.y_train.frontier_names()
    assert [] in names  # rows of other families have none
    true = [set(labels) & set(taxonomy.names) for labels in toy().y[:60]]
    assert [set(n) >= t or bool(set(n)) == bool(t) for n, t in zip(names, true, strict=True)] == [True] * 60


def test_figures_are_the_metrics():
    taxonomy = Taxonomy.from_paths(["a/b", "c"])
    true, found = (sparse.csr_array(np.array(z)) for z in ([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [1, 1, 0]]))
    values = run.figures(run.by_row(true, found, taxonomy).sum(axis=0), 2)
    expected = precision_recall_f1(true, found, taxonomy, nodes="all")
    np.testing.assert_allclose([values["P"], values["R"], values["F1"]], 100 * np.array(expected[:3]))
    assert values["ℓ_0/1"] == 100
    assert values["ℓ_Δ"] == 1
    assert run.retrieval(0, 0, 0) == (0, 0, 0)
    assert run.by_level(true, found, taxonomy)["level 1 R"] == 0


def test_what_cannot_be_measured(toys, monkeypatch):
    monkeypatch.setitem(run.DATA, "Reuters", gone)
    assert run.bench(methods=["svm"]).rows[0][-1] == "data not found"
    with pytest.raises(ParameterError, match="bench hm3: there is no method 'best'"):
        run.bench(methods=["best"])
