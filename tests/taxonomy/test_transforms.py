"""Other taxonomies made from one, against a dictionary."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import TaxonomyError
from tests.strategies import forests, path_lists
from tests.taxonomy.model import Model

short_paths = path_lists(parts=st.text("ab*", min_size=1, max_size=1))


def links(taxonomy):
    """{name: parent's name or None}."""
    return {name: (taxonomy.path(name)[:-1] or [None])[-1] for name in taxonomy}


@given(forests())
def test_subtree(taxonomy):
    for name in taxonomy:
        below = taxonomy.subtree(name)
        inside = [name, *taxonomy.descendants(name)]
        assert list(below.names) == inside
        assert below.kind == "tree"
        assert links(below) == {n: None if n == name else links(taxonomy)[n] for n in inside}


@given(forests())
def test_contracted(taxonomy):
    small = taxonomy.contracted()
    single = {name for name in taxonomy if len(taxonomy.children(name)) == 1}
    assert set(small.names) == set(taxonomy.names) - single
    for name in small:
        assert small.path(name) == [n for n in taxonomy.path(name) if n not in single]
        assert len(small.children(name)) != 1
    assert [taxonomy.names[v] for v in taxonomy.leaves if taxonomy.names[v] in small] == [
        taxonomy.names[v] for v in taxonomy.leaves
    ]
    assert small.contracted() == small


@given(forests())
def test_flattened(taxonomy):
    star = taxonomy.flattened()
    assert star.names == taxonomy.names
    assert star == taxonomy.flattened(keep="nodes")
    expected = [-1] + [0 if taxonomy.kind == "tree" else -1] * (len(taxonomy) - 1)
    assert star.parent.tolist() == expected
    leaves = taxonomy.flattened(keep="leaves")
    assert list(leaves.names) == [taxonomy.names[v] for v in taxonomy.leaves]
    assert np.all(leaves.parent == -1)


def test_flattened_refuses_other_words():
    with pytest.raises(TaxonomyError, match="keep must be 'nodes' or 'leaves'; got 'roots'"):
        Taxonomy.from_paths(["a/b"]).flattened(keep="roots")


@given(forests(), st.data())
def test_with_stop_leaves(taxonomy, data):
    chosen = data.draw(st.lists(st.sampled_from(taxonomy.names)))
    for nodes in (None, chosen):
        grown = taxonomy.with_stop_leaves(nodes)
        inner = [n for n in taxonomy if taxonomy.children(n) and (nodes is None or n in nodes)]
        assert set(grown.stop_leaves.values()) == set(inner)
        assert len(grown) == len(taxonomy) + len(inner)
        for stop, name in grown.stop_leaves.items():
            assert grown.path(stop) == [*taxonomy.path(name), stop]
            assert grown.children(name) == [*taxonomy.children(name), stop]
            assert grown.is_leaf[grown.index(stop)]
        assert {n: p for n, p in links(grown).items() if n in taxonomy} == links(taxonomy)
    assert taxonomy.stop_leaves == {}


@given(short_paths)
def test_stop_leaves_never_take_a_name_or_a_path_that_is_there(paths):
    taxonomy = Taxonomy.from_paths(paths)
    grown = taxonomy.with_stop_leaves()
    again = grown.with_stop_leaves()
    assert len(again) == len(grown) + len(grown.stop_leaves)
    assert again.stop_leaves.items() >= grown.stop_leaves.items()
    for bigger in (grown, again):
        assert len(set(bigger.names)) == len(bigger)
        for v in range(len(bigger)):
            assert bigger.find_path(bigger.path_parts(v)) == v


def check_stops(made, grown):
    """Kept are those that still hang below their nodes, and no others."""
    links_of = set(made.edges())
    assert made.stop_leaves == {s: inner for s, inner in grown.stop_leaves.items() if (inner, s) in links_of}
    assert all(made.is_leaf[made.index(stop)] for stop in made.stop_leaves)


@given(forests(), st.data())
def test_stop_leaves_are_remembered(taxonomy, data):
    grown = taxonomy.with_stop_leaves(data.draw(st.lists(st.sampled_from(taxonomy.names))))
    for name in grown:
        part = grown.subtree(name)
        check_stops(part, grown)
        inside = set(part.names)
        assert part.stop_leaves == {s: v for s, v in grown.stop_leaves.items() if {s, v} <= inside}
    assert grown.contracted().stop_leaves == grown.stop_leaves
    assert grown.spanning_forest().stop_leaves == grown.stop_leaves
    for star in (grown.flattened(), grown.flattened(keep="leaves")):
        check_stops(star, grown)


def test_stop_leaves_of_a_dag_are_remembered():
    dag = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "e")])
    grown = dag.with_stop_leaves(["a", "c"])
    assert grown.contracted().stop_leaves == {"a/*": "a", "c/*": "c"}
    assert grown.subtree("c").stop_leaves == {"c/*": "c"}
    assert grown.subtree("c/*").stop_leaves == {}


def test_stop_leaves_of_unknown_nodes():
    with pytest.raises(TaxonomyError, match="'x' is not in the taxonomy"):
        Taxonomy.from_paths(["a/b"]).with_stop_leaves(["x"])


@given(short_paths, st.data())
def test_every_shape_made_from_paths_still_tells_its_paths_apart(paths, data):
    """Nodes that become siblings may end in the same part, as phones/cases and laptops/cases in a star."""
    taxonomy = Taxonomy.from_paths(paths)
    name = data.draw(st.sampled_from(taxonomy.names))
    shapes = [taxonomy.flattened(), taxonomy.flattened(keep="leaves"), taxonomy.contracted(), taxonomy.subtree(name)]
    for shape in shapes:
        for v, node in enumerate(shape.names):
            assert shape.index(node) == v
            assert shape.find_path(shape.path_parts(v)) == v


def test_a_star_of_equal_last_parts():
    star = Taxonomy.from_paths(["all/phones/cases", "all/laptops/cases"]).flattened()
    assert star.names == ("all", "phones", "laptops", "all/phones/cases", "all/laptops/cases")
    assert star.find("all/cases") is None
    assert star.path("all/phones/cases") == ["all", "all/phones/cases"]


def test_titles_follow_their_nodes():
    taxonomy = Taxonomy.from_parents(
        {"J": None, "J4": "J", "J45": "J4", 2: None}, titles={"J": "Lungs", 2: "Two", 9: "?"}
    )
    assert taxonomy.titles == {"J": "Lungs", "2": "Two"}
    assert taxonomy.subtree("J").titles == {"J": "Lungs"}
    assert taxonomy.contracted().titles == {"2": "Two"}
    assert taxonomy.flattened().titles == taxonomy.with_stop_leaves().titles == taxonomy.titles
    renamed = taxonomy.with_stop_leaves(["J"]).with_titles({"J45": "Asthma"})
    assert renamed.titles == {"J45": "Asthma"}
    assert renamed.stop_leaves == {"J/*": "J"}
    taxonomy.titles["J"] = "changed"
    assert taxonomy.titles["J"] == "Lungs"


@given(short_paths)
def test_shapes_agree_with_paths_as_nodes(paths):
    taxonomy, model = Taxonomy.from_paths(paths), Model.from_paths(paths)
    path_of = dict(zip(taxonomy.names, model.breadth_first(), strict=True))
    small = taxonomy.contracted()
    single = {path for path in model.parent if len(model.children(path)) == 1}
    assume(single)
    for name in small:
        assert [path_of[n] for n in small.path(name)] == [p for p in model.path(path_of[name]) if p not in single]
