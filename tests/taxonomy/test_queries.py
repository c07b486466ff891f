"""Questions to a taxonomy, against a dictionary and against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from cladist import Taxonomy
from cladist.errors import TaxonomyError
from tests.strategies import parent_maps
from tests.taxonomy.model import Model

TREE = Taxonomy.from_paths(["sport/ball/tennis", "sport/ball/golf", "sport/chess", "art/film"])


@given(parent_maps())
def test_questions_about_one_node(parents):
    taxonomy, model = Taxonomy.from_parents(parents), Model.from_parents(parents)
    assert list(taxonomy) == list(taxonomy.names)
    for v, name in enumerate(taxonomy.names):
        assert name in taxonomy
        assert taxonomy.index(name) == taxonomy.find(name) == v
        assert taxonomy.path(name) == model.path(name)
        assert taxonomy.ancestors(name) == model.path(name)[:-1]
        assert taxonomy.children(name) == model.children(name)
        assert taxonomy.descendants(name) == model.descendants(name)
        assert taxonomy.siblings(name) == model.siblings(name)
        assert taxonomy.joined_path(v) == "/".join(model.path(name))


@given(parent_maps())
def test_questions_about_two_nodes(parents):
    taxonomy, model = Taxonomy.from_parents(parents), Model.from_parents(parents)
    joined = taxonomy.to_networkx().to_undirected()
    joined.add_edges_from((("virtual root",), taxonomy.names[r]) for r in taxonomy.roots)
    if taxonomy.kind == "tree":
        joined.remove_node(("virtual root",))
    hops = dict(nx.all_pairs_shortest_path_length(joined))
    for u in taxonomy:
        for v in taxonomy:
            assert taxonomy.distance(u, v) == model.distance(u, v) == hops[u][v]
            assert taxonomy.common_ancestor(u, v) == model.common_ancestor(u, v)


@given(parent_maps())
def test_distances_of_many_pairs_and_the_metric_axioms(parents):
    taxonomy = Taxonomy.from_parents(parents)
    u, v = (side.ravel() for side in np.indices((len(taxonomy),) * 2))
    table = taxonomy.distances(u, v).reshape(len(taxonomy), -1)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(table == 0, np.eye(len(taxonomy), dtype=bool))
    assert np.all(table[:, None, :] <= table[:, :, None] + table[None, :, :])
    closed = np.zeros((len(taxonomy),) * 2, int)
    for v in range(len(taxonomy)):
        closed[v, taxonomy.path_ids(v)] = 1
    np.testing.assert_array_equal(table, np.abs(closed[:, None] - closed[None]).sum(axis=2))


def test_two_trees_meet_in_the_virtual_root():
    assert TREE.distance("golf", "film") == 5
    assert TREE.distance("sport", "art") == 2
    assert TREE.common_ancestor("golf", "film") is None
    assert "⊤" not in TREE
    assert TREE.n_nodes == 7


def test_a_single_node():
    one = Taxonomy.from_parents({"only": None})
    assert one.kind == "tree"
    assert (one.path("only"), one.children("only"), one.siblings("only"), one.descendants("only")) == (
        ["only"], [], [], []
    )  # fmt: skip
    assert one.distance("only", "only") == 0
    assert one.common_ancestor("only", "only") == "only"
    assert one.leaves.tolist() == one.roots.tolist() == [0]
    assert one.parents.shape == (1, 1)
    assert one.parents.nnz == 0
    assert repr(one) == "Taxonomy(tree, 1 node, 1 leaf, depth 0)"


QUESTIONS = ["path", "ancestors", "children", "descendants", "siblings", "subtree", "index"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_unknown_name_is_named_with_a_near_one(question):
    with pytest.raises(TaxonomyError, match=r"'tenis' is not in the taxonomy; did you mean 'tennis'\?"):
        getattr(TREE, question)("tenis")
    with pytest.raises(TaxonomyError, match=r"'\?\?\?' is not in the taxonomy\."):
        getattr(TREE, question)("???")


@pytest.mark.parametrize("question", ["distance", "common_ancestor"])
@pytest.mark.parametrize("pair", [("golf", "glof"), ("glof", "golf")])
def test_an_unknown_name_of_two(question, pair):
    with pytest.raises(TaxonomyError, match="'glof' is not in the taxonomy; did you mean 'golf'"):
        getattr(TREE, question)(*pair)


@pytest.mark.parametrize("ids", [[-1], [7], [0, 99], [-5]])
def test_ids_outside_are_refused_before_they_reach_compiled_code(ids):
    with pytest.raises(TaxonomyError, match="Node ids run from 0 to 6"):
        TREE.distances(np.array(ids), np.zeros(len(ids), int))
    with pytest.raises(TaxonomyError, match="Node ids run from 0 to 6"):
        TREE.distances(np.zeros(len(ids), int), np.array(ids))
    assert TREE.distances(np.zeros(0, int), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize("name", [None, [], {}, ("sport",), b"sport", 3.5, object()])
def test_what_cannot_be_a_name_is_not_found(name):
    assert TREE.find(name) is None
    with pytest.raises(TaxonomyError, match="is not in the taxonomy"):
        TREE.index(name)
