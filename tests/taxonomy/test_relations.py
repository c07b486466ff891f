"""Label graphs."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import RelationGraph, Taxonomy
from cladist.errors import TaxonomyError
from tests.strategies import awkward_names, dags, plain_names

weights = st.floats(2**-20, 2**20)


@st.composite
def graphs(draw, *, names=plain_names):
    order = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    graph = nx.Graph()
    graph.add_nodes_from(order)
    for u, v in draw(st.lists(st.tuples(st.sampled_from(order), st.sampled_from(order)), max_size=12)):
        if u != v:
            graph.add_edge(u, v, weight=draw(weights))
    return graph


@given(graphs())
def test_it_says_what_networkx_says(graph):
    relations = RelationGraph.from_networkx(graph)
    assert relations.names == tuple(graph.nodes)
    assert relations.n_edges == graph.number_of_edges()
    np.testing.assert_array_equal(relations.adjacency.toarray(), nx.to_numpy_array(graph))
    for v, name in enumerate(relations):
        assert relations.neighbours(name) == {u: data["weight"] for u, data in graph.adj[name].items()}
        assert relations.degree[v] == pytest.approx(graph.degree(name, weight="weight"))
    parts = {frozenset(np.flatnonzero(relations.components == k).tolist()) for k in set(relations.components.tolist())}
    assert parts == {frozenset(map(relations.index, part)) for part in nx.connected_components(graph)}
    colour = relations.colouring()
    assert all(colour[relations.index(u)] != colour[relations.index(v)] for u, v in graph.edges)
    again = relations.to_networkx()
    assert nx.utils.graphs_equal(again, graph)


@given(graphs(names=plain_names | awkward_names))
def test_values_and_files(tmp_path_factory, graph):
    relations = RelationGraph.from_networkx(graph)
    assert copy.copy(relations) is copy.deepcopy(relations) is relations
    again = pickle.loads(pickle.dumps(relations))
    assert again == relations
    assert hash(again) == hash(relations)
    assert not relations.adjacency.data.flags.writeable
    path = tmp_path_factory.mktemp("graph") / "relations.tsv"
    try:
        relations.write(path)
    except TaxonomyError:
        assert not path.exists()
        return
    assert RelationGraph.read(path) == relations


@given(dags())
def test_a_taxonomy_is_a_graph_of_its_edges(taxonomy):
    relations = RelationGraph.from_taxonomy(taxonomy)
    assert relations.names == taxonomy.names
    assert {frozenset(edge[:2]) for edge in relations.edges()} == {frozenset(edge) for edge in taxonomy.edges()}
    assert set(relations.adjacency.data.tolist()) <= {1.0}


def test_edges_of_every_kind():
    expected = RelationGraph.from_edges([("1", "2"), ("2", "3", 2.0)])
    assert RelationGraph.from_edges([(1, 2), (2, 1), (3, 2, 2)], nodes=[1, 2, 3]) == expected
    assert RelationGraph.from_edges(np.array([[1, 2, 1], [2, 3, 2]])) == expected
    frame = pd.DataFrame({"u": [1, 2], "v": [2, 3], "w": [1.0, 2.0]})
    assert RelationGraph.from_edges(frame) == expected
    assert expected != RelationGraph.from_edges([("1", "2"), ("2", "3", 3.0)])
    assert expected != RelationGraph.from_edges([("1", "2"), ("2", "3", 2.0)], nodes=["3"])
    assert expected != Taxonomy.from_edges([("1", "2")])
    with pytest.raises(AttributeError, match="frozen"):
        expected.names = ()
    with pytest.raises(AttributeError, match="frozen"):
        del expected.names


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RelationGraph.from_edges([]), "at least one node"),
        (lambda: RelationGraph.from_edges("ab"), "got str"),
        (lambda: RelationGraph.from_edges([("a",)]), r"entry 0 is \('a',\)"),
        (lambda: RelationGraph.from_edges([("a", "b"), ("c", "c")]), "entry 1 joins 'c' to itself"),
        (lambda: RelationGraph.from_edges([("a", None)]), "entry 0 has an empty one"),
        (lambda: RelationGraph.from_edges([("a", "b", 0)]), "finite number above 0; entry 0 has 0"),
        (lambda: RelationGraph.from_edges([("a", "b", float("nan"))]), "above 0"),
        (lambda: RelationGraph.from_edges([("a", "b", "x")]), "entry 0 has 'x'"),
        (lambda: RelationGraph.from_edges([("a", "b", 1), ("b", "a", 2)]), "entry 1 says 2 and entry 0 1"),
        (lambda: RelationGraph.from_networkx(nx.DiGraph([("a", "b")])), "to_undirected"),
        (lambda: RelationGraph.from_networkx(3), "got int"),
        (lambda: RelationGraph.from_edges([("a", "b")]).index("c"), "'c' is not in the label graph"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(TaxonomyError, match=message):
        call()


def test_files_name_their_lines(tmp_path):
    path = tmp_path / "relations.txt"
    for content, message in [
        ("a b\n\n# no\na b c d\n", "line 4: 'u v' or 'u v weight' is wanted"),
        ("a b\nb b\n", "line 2 joins 'b' to itself"),
        ("a b 1\nb c -1\n", "line 2 has '-1'"),
        ("", "at least one node"),
    ]:
        path.write_text(content)
        with pytest.raises(TaxonomyError, match=message) as caught:
            RelationGraph.read(path)
        assert str(path) in str(caught.value)
    with pytest.raises(TaxonomyError, match="no such file"):
        RelationGraph.read(tmp_path / "none")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "relations"
    path.write_bytes(content)
    try:
        relations = RelationGraph.read(path)
    except TaxonomyError:
        return
    assert len(relations) >= 1
