"""The real data sets, counted: rows, features, nodes, levels, labels a row; skipped where they are not at hand."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from benchmarks.rcv1_standin import load_rcv1_standin
from cladist.datasets.corpora.paper_sets import load_lshtc_small
from cladist.datasets.dataset import Dataset
from cladist.datasets.loaders import official_codes
from cladist.datasets.loaders.catalogue import available
from cladist.datasets.loaders.free_sets import (
    load_clinc150,
    load_enron,
    load_genes_fun,
    load_genes_go,
    load_imclef07a,
    load_news20,
)
from cladist.datasets.loaders.official_codes import load_naics2017, load_onet_titles
from cladist.labels import to_indicator

Loaded = Callable[[str], Dataset]
COUNTED_EDITION = "1.5."  # of the package with ICD-10-CM


class Counts(NamedTuple):
    """What a row of the table says; rows are those to train on, to test on and to validate, or all."""

    rows: tuple[int, ...]
    features: int | None  # None: texts
    kind: str
    nodes: int
    leaves: int
    levels: int
    roots: int


LOADERS: dict[str, Callable[[], Dataset]] = {
    "imclef07a": load_imclef07a,
    "news20": load_news20,
    "lshtc_small": load_lshtc_small,
    "rcv1_standin": load_rcv1_standin,
    "enron": load_enron,
    "genes_fun_cellcycle": lambda: load_genes_fun(which="cellcycle"),
    "genes_fun_derisi": lambda: load_genes_fun(which="derisi"),
    "genes_go_cellcycle": load_genes_go,
    "onet_titles": load_onet_titles,
    "naics2017": load_naics2017,
    "clinc150": load_clinc150,
}
COUNTS = {
    "imclef07a": Counts((10_000, 1_006), 80, "forest", 96, 63, levels=3, roots=8),
    "news20": Counts((11_314, 7_532), 130_152, "forest", 7 + 20, 20, levels=2, roots=7),
    "lshtc_small": Counts((4_463, 1_858, 1_860), 26_969, "forest", 2_387, 1_139, levels=5, roots=10),
    "rcv1_standin": Counts((3_000, 3_000), 944, "forest", 103, 82, levels=4, roots=4),
    "enron": Counts((988, 660), 1_001, "forest", 56, 52, levels=3, roots=3),
    "genes_fun_cellcycle": Counts((1_628, 1_281, 848), 77, "forest", 499, 324, levels=6, roots=18),
    "genes_fun_derisi": Counts((1_608, 1_275, 842), 63, "forest", 499, 324, levels=6, roots=18),
    "genes_go_cellcycle": Counts((1_625, 1_278, 848), 77, "dag", 4_125, 2_041, levels=14, roots=3),
    "onet_titles": Counts((52_754,), None, "forest", 2_464, 1_016, levels=5, roots=23),
    "naics2017": Counts((20_057,), None, "forest", 2_192, 1_055, levels=5, roots=20),
    "clinc150": Counts((15_000, 4_500, 3_000), 41_606, "forest", 10 + 150, 150, levels=2, roots=10),
}
LABELS_A_ROW = {"rcv1_standin": 3.2, "enron": 5.1, "genes_fun_cellcycle": 8.7, "genes_go_cellcycle": 34.7}
MISSING_VALUES = {"genes_fun_cellcycle": 16_122, "genes_fun_derisi": 0, "genes_go_cellcycle": 16_136}
ALWAYS_A_LEAF = ["imclef07a", "news20", "lshtc_small", "onet_titles", "naics2017", "clinc150"]


def counted(data: Dataset) -> Counts:
    taxonomy = data.taxonomy
    parts = [data.y] if not data.is_split else [data.y_train, data.y_test]
    if data.validation_rows is not None:
        parts.append(data.y_validation)
    features = data.X.shape[1] if len(data.X.shape) == 2 else None
    shape = (taxonomy.kind, taxonomy.n_nodes, len(taxonomy.leaves), len(taxonomy.levels), len(taxonomy.roots))
    return Counts(tuple(map(len, parts)), features, *shape)


@pytest.fixture(scope="module")
def loaded(data_folder: Path) -> Loaded:
    """Load each data set once."""
    found: dict[str, Dataset] = {}

    def load(name: str) -> Dataset:
        if name not in found:
            found[name] = LOADERS[name]()
        return found[name]

    return load


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_rows_features_and_nodes(loaded: Loaded, name: str) -> None:
    assert counted(loaded(name)) == COUNTS[name]


@pytest.mark.data
@pytest.mark.parametrize("name", LABELS_A_ROW)
def test_labels_a_training_row_with_their_ancestors(loaded: Loaded, name: str) -> None:
    data = loaded(name)
    closed = to_indicator(data.y_train, data.taxonomy)
    assert closed.sum() / closed.shape[0] == pytest.approx(LABELS_A_ROW[name], abs=0.05)


@pytest.mark.data
@pytest.mark.parametrize("name", ALWAYS_A_LEAF)
def test_the_label_is_one_leaf(loaded: Loaded, name: str) -> None:
    data = loaded(name)
    leaves = {data.taxonomy.names[v] for v in data.taxonomy.leaves}
    assert data.y.ndim == 1
    assert set(data.y) <= leaves


@pytest.mark.data
@pytest.mark.parametrize("name", MISSING_VALUES)
def test_missing_values(loaded: Loaded, name: str) -> None:
    assert np.isnan(loaded(name).X).sum() == MISSING_VALUES[name]


@pytest.mark.data
def test_features_are_what_the_table_says(loaded: Loaded) -> None:
    images, mails = loaded("imclef07a").X, loaded("enron").X
    assert (images == np.round(images)).all()
    assert set(np.unique(mails)) == {0, 1}
    assert set(np.unique(loaded("rcv1_standin").X.data)) == {1}
    assert (loaded("lshtc_small").X_train.getnnz(axis=0) > 0).sum() == 10_794
    assert round(np.mean([len(text.split()) for text in loaded("naics2017").X])) == 5


@pytest.mark.data
def test_shapes_of_single_sets(loaded: Loaded, data_folder: Path) -> None:
    assert loaded("lshtc_small").taxonomy.contracted().n_nodes == 1_563
    genes = loaded("genes_fun_cellcycle")
    inner = {name for name, leaf in zip(genes.taxonomy.names, genes.taxonomy.is_leaf, strict=True) if not leaf}
    assert np.mean([bool(inner.intersection(labels)) for labels in genes.y]) == pytest.approx(2 / 3, abs=0.005)
    parents = np.diff(loaded("genes_go_cellcycle").taxonomy.parents.indptr)
    assert np.mean(parents > 1) == pytest.approx(1 / 3, abs=0.03)
    relations = loaded("onet_titles").relations
    assert (relations.n_nodes, relations.n_edges) == (923, 13_255)
    index = (data_folder / "naics2017" / "2017_NAICS_Index_File.csv").read_text("utf-8").splitlines()
    assert sum(line.startswith("******") for line in index) == 25
    assert {"31-33", "44-45", "48-49"} <= set(loaded("naics2017").taxonomy.names)


@pytest.mark.data
def test_topics_of_rcv1(loaded: Loaded, data_folder: Path) -> None:
    data = loaded("rcv1_standin")
    assert len({topic for topics in data.y for topic in topics}) == 101
    judgements = (data_folder / "rcv1" / "rcv1-v2.topics.train.qrels").read_text().split("\n")
    assert len({line.split()[1] for line in judgements if line}) == 23_149


@pytest.mark.data
def test_queries_out_of_scope(data_folder: Path) -> None:
    data = load_clinc150(out_of_scope=True)
    assert counted(data).rows == (15_100, 5_500, 3_100)
    assert data.y_test.tolist().count("oos") == 1_000


@pytest.mark.data
def test_available(data_folder: Path) -> None:
    expected = {"lshtc_small_task2", *LOADERS} - {"lshtc_small", "rcv1_standin"}
    assert expected <= set(available())


@pytest.mark.data
def test_icd10cm(data_folder: Path) -> None:
    """Not under CLADIST_DATA, but in the same table: the package's list, and the tree made of it."""
    if not version("simple-icd-10-cm").startswith(COUNTED_EDITION):
        pytest.skip("another edition of ICD-10-CM has other counts")
    entries = official_codes._icd_entries()
    import simple_icd_10_cm as icd  # after the loader, which knows what it warns of when first imported

    codes = icd.get_all_codes()
    assert (len(codes), sum(map(icd.is_leaf, codes))) == (98_505, 74_736)
    assert sum(len(entry.inclusion_terms) for entry in entries) == 12_589
    assert len(official_codes._icd_taxonomy(entries, official_codes.CODE_DEPTH).levels) == 7
