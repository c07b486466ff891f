"""Taxonomies in model files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import ModelFormatError
from cladist.storage import pack_strings
from cladist.taxonomy.arrays import pack_taxonomy, unpack_taxonomy
from tests.strategies import awkward_names, forests, path_lists, plain_names


def check(taxonomy):
    again = unpack_taxonomy(*pack_taxonomy(taxonomy))
    assert again == taxonomy
    assert again.titles == taxonomy.titles
    assert again.stop_leaves == taxonomy.stop_leaves
    assert again.dropped_edges == taxonomy.dropped_edges
    for v in range(len(taxonomy)):
        assert again.joined_path(v) == taxonomy.joined_path(v)
        assert again.find(taxonomy.joined_path(v)) == taxonomy.find(taxonomy.joined_path(v))
    assert not again.parent.flags.writeable


@given(forests(names=plain_names | awkward_names.filter(lambda name: "\ud800" not in name)), st.data())
def test_what_is_packed_comes_back(taxonomy, data):
    check(taxonomy)
    check(taxonomy.with_titles(data.draw(st.dictionaries(st.sampled_from(taxonomy.names), plain_names))))
    check(taxonomy.with_stop_leaves())


@given(st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=1, max_size=9))
def test_dropped_edges_come_back(edges):
    taxonomy = Taxonomy.from_edges(edges, on_cycle="drop")
    content, arrays = pack_taxonomy(taxonomy)
    again = unpack_taxonomy(content, arrays)
    assert again == taxonomy
    assert again.dropped_edges == taxonomy.dropped_edges
    before = {key: array for key, array in arrays.items() if not key.startswith("dropped_edges")}
    assert unpack_taxonomy(content, before).dropped_edges == ()


def test_half_a_dropped_edge_is_refused():
    content, arrays = pack_taxonomy(Taxonomy.from_edges([("a", "b"), ("b", "a")], on_cycle="drop"))
    half = {f"dropped_edges/{key}": array for key, array in pack_strings(["b"]).items()}
    with pytest.raises(ModelFormatError, match="damaged"):
        unpack_taxonomy(content, arrays | half)


@given(path_lists(parts=st.text("ab", min_size=1, max_size=1)))
def test_paths_come_back(paths):
    taxonomy = Taxonomy.from_paths(paths, sep="|")
    check(taxonomy)
    check(taxonomy.contracted())


@given(forests(max_nodes=6), st.data())
def test_damage_is_noticed_or_harmless(taxonomy, data):
    """A parent array is taken only if it describes these very names in their order."""
    content, arrays = pack_taxonomy(taxonomy)
    n_nodes = len(taxonomy)
    parent = np.array(data.draw(st.lists(st.integers(-3, n_nodes + 1), min_size=n_nodes, max_size=n_nodes)))
    topological = np.all((parent < np.arange(n_nodes)) & (parent >= -1))
    # Breadth first, too: parents never go back.
    if topological and np.all(np.diff(parent) >= 0):
        again = unpack_taxonomy(content, {**arrays, "parent": parent})
        assert again.names == taxonomy.names
        np.testing.assert_array_equal(again.parent, parent)
    else:
        with pytest.raises(ModelFormatError, match="damaged"):
            unpack_taxonomy(content, {**arrays, "parent": parent})


def test_names_that_do_not_fit_are_refused():
    content, arrays = pack_taxonomy(Taxonomy.from_paths(["a/b", "a/c"]))
    shorter = pack_taxonomy(Taxonomy.from_paths(["a/b"]))[1]
    for damaged in (
        {**arrays, "parent": arrays["parent"][:2]},
        {**arrays, **{k: v for k, v in shorter.items() if k.startswith("names")}},
        {k: v for k, v in arrays.items() if not k.startswith("names")},
    ):
        with pytest.raises(ModelFormatError, match="damaged"):
            unpack_taxonomy(content, damaged)
