"""Loaders of real data sets of numbers, and of the papers' own, on small folders in the official formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cladist.datasets.corpora.paper_sets import (
    load_dekel_dmoz,
    load_dmoz,
    load_ipc,
    load_lshtc_small,
    load_lwiki,
    load_ohsumed,
    load_phonemes,
    load_rcv1,
    load_swiki2011,
    load_wipo_alpha,
)
from cladist.datasets.loaders.free_sets import load_enron, load_genes_fun, load_genes_go, load_imclef07a
from cladist.errors import DatasetError, ParameterError, TaxonomyError
from tests.datasets.number_folders import MADE, arff


@pytest.fixture
def made(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The folder of the data set that the test names."""
    MADE[request.param](tmp_path)
    return tmp_path


def in_folder_of(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("made", [name], indirect=True)


@in_folder_of("imclef07a")
def test_imclef07a(made: Path) -> None:
    data = load_imclef07a(folder=made)
    assert data.X_train.tolist() == [[5, 6], [7, 8], [9, 10]]
    assert data.y_train.tolist() == ["1/0", "1/1/3", "2"]
    assert data.y_test.tolist() == ["1/1/3"]
    assert data.taxonomy.path("1/1/3") == ["1", "1/1", "1/1/3"]
    assert list(data.feature_names) == ["arg1", "arg2"]


@in_folder_of("imclef07a")
def test_the_test_file_must_have_the_same_attributes(made: Path) -> None:
    file = made / "ImCLEF07A_Test.arff"
    file.write_text(file.read_text().replace("arg2", "arg3"))
    with pytest.raises(DatasetError, match=r"ImCLEF07A_Test\.arff, line 3: its attributes are not those of .*Train"):
        load_imclef07a(folder=made)


@in_folder_of("imclef07a")
def test_the_test_file_must_have_the_same_labels(made: Path) -> None:
    (made / "ImCLEF07A_Test.arff").write_text(arff("1,1/0,7", "1,2,7"))
    with pytest.raises(DatasetError, match=r"ImCLEF07A_Test\.arff, line 4: its hierarchy is not that of .*Train"):
        load_imclef07a(folder=made)


@in_folder_of("enron")
def test_enron(made: Path) -> None:
    data = load_enron(folder=made)
    assert data.y == [["1/1", "2"], ["1/2"], ["2"]]
    assert len(data.y_test) == 1


@pytest.mark.parametrize("which", ["cellcycle", "derisi"])
def test_genes_fun(tmp_path: Path, which: str) -> None:
    MADE[f"genes_fun_{which}"](tmp_path)
    data = load_genes_fun(which=which, folder=tmp_path)  # type: ignore[arg-type]
    assert np.isnan(data.X_train).tolist() == [[False, True], [False, False]]
    assert np.isnan(data.X_validation).all()
    assert data.X_test.tolist() == [[np.float32(-1e-3), 0]]
    assert data.y_train == [["01/01", "02"], ["01"]]
    assert (data.y_validation, data.y_test) == ([["02"]], [["01/01"]])
    with pytest.raises(ParameterError, match="which must be one of 'cellcycle', 'derisi'; got 'church'"):
        load_genes_fun(which="church")  # type: ignore[arg-type]


@in_folder_of("genes_go_cellcycle")
def test_genes_go(made: Path) -> None:
    data = load_genes_go(folder=made)
    assert data.taxonomy.kind == "dag"
    assert sorted(data.taxonomy.ancestors("GO3")) == ["GO1", "GO2"]
    assert data.y == [["GO3"], ["GO1", "GO2"], ["GO2"], ["GO4"]]
    assert (data.y_validation, data.y_test) == ([["GO2"]], [["GO4"]])


@pytest.mark.parametrize("task", [1, 2])
def test_lshtc_small(tmp_path: Path, task: int) -> None:
    MADE[f"lshtc_small_task{task}"](tmp_path)
    data = load_lshtc_small(task=task, folder=tmp_path)  # type: ignore[arg-type]
    assert data.feature_names.tolist() == ["3", "5", "9", "11"]
    assert data.X_train.toarray().tolist() == [[2, 1, 0, 0], [0, 0, 1, 0]]
    assert data.X_validation.toarray().tolist() == [[0, 0, 0, 4]]
    assert data.y.tolist() == ["20", "3", "21", "20"]
    assert data.taxonomy.path("20") == ["1", "2", "20"]


@in_folder_of("dmoz2010")
def test_dmoz(made: Path) -> None:
    data = load_dmoz(year=2010, folder=made)
    assert (data.y_test.tolist(), data.y_validation.tolist()) == (["21"], ["20"])
    data = load_dmoz(year=2012, folder=made)
    assert data.validation_rows is None
    assert data.X.shape == (3, 3)
    assert load_dmoz(year=2011, folder=made).y == [["20"], ["3"], ["21"]]
    with pytest.raises(ParameterError, match="year must be one of 2010, 2011, 2012; got 2013"):
        load_dmoz(year=2013, folder=made)  # type: ignore[arg-type]


@pytest.mark.parametrize("year", [2010, 2011])
@in_folder_of("dmoz2010")
def test_test_labels_that_the_challenge_keeps(made: Path, year: int) -> None:
    (made / "test.txt").write_text("0 0:9 3:1\n")
    with pytest.raises(DatasetError, match=r"some rows have a 0 for a label.*put the true labels there"):
        load_dmoz(year=year, folder=made)  # type: ignore[arg-type]


@in_folder_of("lwiki")
def test_wikipedia(made: Path) -> None:
    data = load_lwiki(folder=made)
    assert data.taxonomy.kind == "dag"
    assert data.taxonomy.dropped_edges == (("20", "1"),)
    assert data.y == [["20", "3"], ["2"], ["2"]]
    with pytest.raises(TaxonomyError, match=r"cat_hier\.txt: Taxonomy has a cycle"):
        load_swiki2011(folder=made)


@in_folder_of("swiki2011")
def test_small_wikipedia(made: Path) -> None:
    data = load_swiki2011(folder=made)
    assert sorted(data.taxonomy.ancestors("20")) == ["1", "2", "3"]
    assert data.y_train == [["20", "3"], ["2"]]


@in_folder_of("rcv1")
def test_rcv1(made: Path) -> None:
    data = load_rcv1(folder=made)
    assert data.X_train.shape == (2, 47_236)
    assert [sorted(topics) for topics in data.y_train] == [["C15", "CCAT"], ["MCAT"]]
    assert len(data.y_test) == 4
    assert data.descriptions["C15"] == "THE C15"
    data = load_rcv1(family="CCAT", n_test=1, folder=made)
    assert data.taxonomy.names == ("CCAT", "C15")
    assert (len(data.y_train), len(data.y_test)) == (1, 1)


@in_folder_of("wipo_alpha")
def test_patents(made: Path) -> None:
    data = load_wipo_alpha(folder=made)
    assert data.y.tolist() == ["D01B 1/00", "D21H 17/00", "D01B 3/00"]
    assert data.texts_test.tolist() == ["Wool fibres"]
    assert [data.feature_names[k] for k in data.X_test.indices] == ["fibres"]
    assert len(load_wipo_alpha(section=None, folder=made).y_train) == 3
    assert load_ipc(folder=made).y.tolist() == ["A01B", "D01B", "D21H", "D01B"]


@in_folder_of("ohsumed")
def test_ohsumed(made: Path) -> None:
    data = load_ohsumed(folder=made)
    assert not data.is_split
    assert data.X.tolist() == ["Title 1. Text 1.", "Title 3. Text 3."]
    assert data.y == [["Medical Audit"], ["Quality of Health Care"]]


@in_folder_of("phonemes")
def test_phonemes(made: Path) -> None:
    data = load_phonemes(folder=made)
    assert data.X_train.tolist() == [[k, k + 1, k + 2, k + 3, k + 4] for k in range(4)]
    assert data.y_test.tolist() == ["iy", "iy", "s", "s"]


@in_folder_of("dekel_dmoz")
def test_dekel_dmoz(made: Path) -> None:
    data = load_dekel_dmoz(folder=made)
    assert data.y.tolist() == ["tennis", "sport", "chess"]
    assert data.taxonomy.path("chess") == ["sport", "chess"]
