"""Versions of taxonomies: digests, names and dates, what has changed, and that models keep them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist import Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy import describe_changes

TREE = Taxonomy.from_parents({"a": None, "b": "a", "c": "a", "d": ["b", "c"]})


def test_the_digest_is_that_of_nodes_and_parents() -> None:
    turned = Taxonomy.from_parents({"d": ["c", "b"], "c": "a", "b": "a", "a": None})
    assert turned.version == TREE.version
    titled = TREE.with_texts({"a": "A"}).with_version("tree", "2026")
    assert titled.version.digest == TREE.version.digest
    others = [{"a": None, "b": "a", "c": "a", "d": "b"}, {"a": None, "b": "a", "c": "a"}, {"ab": None, "c": "ab"}]
    digests = {Taxonomy.from_parents(parents).version.digest for parents in others}
    assert len(digests | {TREE.version.digest}) == 4


def test_name_and_date() -> None:
    taxonomy = TREE.with_version("NACE Rev. 2.1", "2025-01-01")
    assert str(taxonomy.version).startswith("NACE Rev. 2.1 of 2025-01-01 (")
    assert taxonomy.with_texts({"a": "A"}).version == taxonomy.version
    assert pickle.loads(pickle.dumps(taxonomy)).version == copy.copy(taxonomy).version == taxonomy.version
    assert taxonomy == TREE, "a version is no part of equality"
    with pytest.raises(TaxonomyError, match="The name of a version is a text"):
        TREE.with_version("")


def test_changes_in_a_sentence() -> None:
    new = Taxonomy.from_parents({"a": None, "b": "a", "d": "b", "e": "a", "f": "a"})
    assert describe_changes(TREE, new) == (
        "2 nodes are new ('e', 'f') and 1 is gone ('c') and 1 has another parent ('d')"
    )
    assert describe_changes(TREE, TREE.with_version("x")) == ""


def test_a_model_keeps_the_version_it_was_trained_on(tmp_path: Path) -> None:
    tree = Taxonomy.from_parents({"a": None, "b": "a", "c": "a"}).with_version("shop", "2026-04-01")
    model = cladist.Hieron(tree).fit(np.eye(4), ["b", "c", "b", "c"])
    cladist.save(model, tmp_path / "m")
    assert cladist.load(tmp_path / "m").taxonomy_.version == tree.version
    assert tree.version.digest in (tmp_path / "m" / "manifest.json").read_text(encoding="utf-8")
