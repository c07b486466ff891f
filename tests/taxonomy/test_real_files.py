"""Taxonomy files as the field distributes them; skipped where the data sets are not at hand."""

from __future__ import annotations

import pytest

from cladist import Taxonomy

pytestmark = pytest.mark.data


def test_lshtc_paths(data_folder):
    taxonomy = Taxonomy.read(data_folder / "lshtc_dryrun" / "cat_hier.txt")
    assert (taxonomy.kind, taxonomy.n_nodes, len(taxonomy.leaves), len(taxonomy.roots)) == ("forest", 2387, 1139, 10)
    assert taxonomy.contracted().n_nodes == 1563
    assert len(taxonomy.levels) == 5


def test_rcv1_topics(data_folder):
    taxonomy = Taxonomy.read(data_folder / "rcv1" / "topics.edges.tsv")
    assert "MCAT" in taxonomy
    assert taxonomy.path("C151")[-3:] == ["CCAT", "C15", "C151"]


def test_news20_tree(data_folder):
    taxonomy = Taxonomy.read(data_folder / "news20_bydate" / "hierarchy.tsv")
    assert len(taxonomy.leaves) == 20
