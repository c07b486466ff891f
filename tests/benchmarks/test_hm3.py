"""The runner of Rousu et al.'s tables: every published row, and figures on toys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from benchmarks import cells, studies
from benchmarks.papers.hm3 import run
from benchmarks.papers.hm3.methods import METHODS
from benchmarks.papers.published import read
from cladist import Taxonomy
from cladist.datasets import Dataset
from cladist.metrics import precision_recall_f1


def toy() -> Dataset:
    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(["CCAT/C1/C11", "CCAT/C2", "ECAT/E1"])
    y = [rng.choice(taxonomy.names, rng.integers(0, 3), replace=False).tolist() for _ in range(90)]
    X = sparse.csr_array(rng.random((90, 6)))
    return Dataset(X, y, taxonomy, source="toy", train_rows=slice(0, 60), test_rows=slice(60, 90))


@pytest.fixture
def toys(results, monkeypatch, in_this_process):
    monkeypatch.setattr(run, "load", toy)
    monkeypatch.setattr(run, "missing", lambda *_: "")
    monkeypatch.setattr(run, "RESAMPLES", 20)
    return replace(run.STUDY, missing=lambda *_: "")


def test_every_published_row_is_there(toys):
    assert studies.run([toys]) == (len(METHODS), 0, [])
    tables = read("hm3").tables
    *parts, figure = run.parts()
    for part, table in zip(parts, tables.values(), strict=True):
        assert [line[0].replace("trained for ", "") for line in part.rows] == [", ".join(key) for key in table.rows]
        assert {line[4] for line in part.rows} == {"stand-in", "not to be had"}
    assert parts[1].rows[0][1] == "32.9 / 0.610 / 0.099 / 94.6 / 58.4 / 72.2"
    assert parts[1].rows[0][2].count(" / ") == 5
    assert figure.rows == []  # no curve was measured in this folder
    for cell in cells.read("hm3").values():
        for name, (low, high) in cell["interval"].items():
            assert low <= cell["measured"][name] <= high
        assert cell["measured"]["ℓ_0/1"] / 100 <= cell["measured"]["ℓ_H̃ uniform"] + 1e-3
        assert cell["measured"]["ℓ_H̃ uniform"] <= cell["measured"]["ℓ_Δ"] + 1e-3


def test_the_figure_stands_beside_what_the_paper_says():
    rows = run.figure_1().rows
    assert len({row[0] for row in rows}) == len(rows) == 5
    assert all("% of the optimum" in row[2] for row in rows)


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
