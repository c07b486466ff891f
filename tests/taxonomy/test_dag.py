"""Taxonomies whose nodes have several parents, against networkx and against brute force."""

import copy
import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Hieron, Taxonomy, TopDown
from cladist.decoders import best_labelling, greedy_path, path_scores, top_down
from cladist.errors import ModelFormatError, TaxonomyError
from cladist.losses import HLoss, SymmetricDifference, TreeDistance, ZeroOne, node_costs
from cladist.metrics import report
from cladist.metrics.counts import Counts
from cladist.registry import METHODS
from cladist.taxonomy.arrays import pack_taxonomy, unpack_taxonomy
from tests.strategies import awkward_names, dags, edge_lists, forests, plain_names

DIAMOND = Taxonomy.from_edges([("top", "left"), ("top", "right"), ("left", "end"), ("right", "end"), ("end", "tip")])


# ---------------------------------------------------------------- shape


@given(dags())
def test_ids_are_topological_and_levels_are_slices(taxonomy):
    graph = taxonomy.to_networkx()
    for parent, child in taxonomy.edges():
        assert taxonomy.index(parent) < taxonomy.index(child)
    for v, name in enumerate(taxonomy.names):
        above = graph.subgraph([*nx.ancestors(graph, name), name])
        assert taxonomy.depth[v] == nx.dag_longest_path_length(above)
    assert np.concatenate(taxonomy.levels).tolist() == list(range(len(taxonomy)))
    assert [set(taxonomy.depth[level].tolist()) for level in taxonomy.levels] == [
        {k} for k in range(len(taxonomy.levels))
    ]
    several = any(graph.in_degree(name) > 1 for name in graph)
    assert taxonomy.kind == ("dag" if several else "tree" if len(taxonomy.roots) == 1 else "forest")


@given(dags())
def test_questions_about_one_node(taxonomy):
    graph = taxonomy.to_networkx()
    in_order = {name: v for v, name in enumerate(taxonomy.names)}.__getitem__
    roots = [name for name in graph if graph.in_degree(name) == 0]
    for name in taxonomy:
        assert taxonomy.parents_of(name) == sorted(graph.predecessors(name), key=in_order)
        assert taxonomy.children(name) == sorted(graph.successors(name), key=in_order)
        assert taxonomy.ancestors(name) == sorted(nx.ancestors(graph, name), key=in_order)
        assert taxonomy.descendants(name) == sorted(nx.descendants(graph, name), key=in_order)
        beside = {c for p in graph.predecessors(name) for c in graph.successors(p)} or set(roots)
        assert taxonomy.siblings(name) == sorted(beside - {name}, key=in_order)
    closure = taxonomy.closure.toarray()
    assert all(closure[v].nonzero()[0].tolist() == [*taxonomy.ids_above(v).tolist(), v] for v in range(len(taxonomy)))


@given(dags())
def test_distance_is_the_shortest_way_over_a_common_ancestor(taxonomy):
    up = taxonomy.to_networkx().reverse()
    up.add_edges_from((taxonomy.names[r], ("virtual root",)) for r in taxonomy.roots)
    ways = dict(nx.all_pairs_shortest_path_length(up))
    for u in taxonomy:
        for v in taxonomy:
            common = set(ways[u]) & set(ways[v]) - {("virtual root",)} or {("virtual root",)}
            assert taxonomy.distance(u, v) == taxonomy.distance(v, u) == min(ways[u][a] + ways[v][a] for a in common)
            meet = taxonomy.common_ancestor(u, v)
            assert (meet or ("virtual root",)) in common
            assert meet is None or ways[u][meet] + ways[v][meet] == taxonomy.distance(u, v)


def test_a_path_is_given_only_where_there_is_one():
    taxonomy = Taxonomy.from_edges([*DIAMOND.edges(), ("top", "other")])
    assert taxonomy.path("other") == ["top", "other"]
    assert taxonomy.ancestors("tip") == ["top", "left", "right", "end"]
    with pytest.raises(TaxonomyError, match="more than one path leads to 'tip', since 'end' has the parents 'left'"):
        taxonomy.path("tip")
    with pytest.raises(TaxonomyError, match="is a DAG, where a node may have several parents"):
        _ = taxonomy.parent


@given(dags())
def test_the_shortest_path_is_the_first_of_them_from_the_root_down(taxonomy):
    graph, id_of = taxonomy.to_networkx(), taxonomy.index
    graph.add_edges_from((("virtual root",), taxonomy.names[r]) for r in taxonomy.roots)
    for name in taxonomy:
        paths = [path[1:] for path in nx.all_shortest_paths(graph, ("virtual root",), name)]
        assert taxonomy.shortest_path(name) == min(paths, key=lambda path: [id_of(node) for node in path])


# ---------------------------------------------------------------- building


@given(edge_lists(acyclic=False))
def test_dropped_edges_close_cycles_and_no_others_do(case):
    _, edges = case
    if not edges:
        return
    taxonomy = Taxonomy.from_edges(edges, on_cycle="drop")
    kept = nx.DiGraph(taxonomy.edges())
    kept.add_nodes_from(taxonomy.names)
    assert set(taxonomy.edges()).isdisjoint(taxonomy.dropped_edges)
    assert set(taxonomy.edges()) | set(taxonomy.dropped_edges) == set(edges)
    assert all(nx.has_path(kept, c, p) for p, c in taxonomy.dropped_edges)
    if taxonomy.dropped_edges:
        with pytest.raises(TaxonomyError, match="Taxonomy has a cycle") as caught:
            Taxonomy.from_edges(edges)
        shown = str(caught.value).removeprefix("Taxonomy has a cycle: ").partition(" (closed")[0].split(" → ")
        assert shown[0] == shown[-1]
        assert tuple(shown[:2]) == taxonomy.dropped_edges[0]
        assert set(itertools.pairwise(shown)) <= set(edges)


@given(dags(), st.data())
def test_equality_copies_and_packing(taxonomy, data):
    again = Taxonomy.from_networkx(taxonomy.to_networkx())
    assert again == taxonomy
    assert hash(again) == hash(taxonomy)
    assert pickle.loads(pickle.dumps(taxonomy)) == taxonomy
    assert copy.deepcopy(taxonomy) is taxonomy
    assert unpack_taxonomy(*pack_taxonomy(taxonomy)) == taxonomy
    edges = list(taxonomy.edges())
    if edges:
        without = data.draw(st.sampled_from(edges))
        fewer = [edge for edge in edges if edge != without]
        rest = Taxonomy.from_parents({n: [p for p, c in fewer if c == n] for n in taxonomy.names})
        assert rest != taxonomy


@given(dags(names=plain_names | awkward_names), st.sampled_from(["edges", "csv", "tsv", "json", "rcv1"]))
def test_files_give_an_equal_dag_back_or_refuse(taxonomy, format):  # noqa: A002
    from cladist.taxonomy.formats.reader import parse
    from cladist.taxonomy.formats.writer import format_taxonomy

    try:
        text = format_taxonomy(taxonomy, format)
    except TaxonomyError:
        assert format in ("edges", "rcv1")
        return
    assert parse(text, format) == taxonomy


@given(dags())
def test_a_dag_is_recognised_in_a_file_without_an_ending(tmp_path_factory, taxonomy):
    path = tmp_path_factory.mktemp("dag") / "tree"
    taxonomy.write(path)
    assert Taxonomy.read(path) == taxonomy


def test_paths_cannot_hold_a_dag(tmp_path):
    for ending in ("paths", "indented"):
        with pytest.raises(TaxonomyError, match="write a DAG as edges, CSV or JSON"):
            DIAMOND.write(tmp_path / f"x.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_damaged_dags_are_refused():
    content, arrays = pack_taxonomy(DIAMOND)
    for key, wrong in [
        ("parents/indptr", [0, 0, 1, 2, 4]),
        ("parents/indptr", [0, 0, 2, 1, 4, 5]),
        ("parents/indptr", [1, 1, 1, 2, 4, 5]),
        ("parents/indices", [0, 0, 1, 2, 4]),
        ("parents/indices", [0, 0, 1, -1, 3]),
        ("parents/indices", [0, 0, 1, 2, 9]),
    ]:
        with pytest.raises(ModelFormatError, match="damaged"):
            unpack_taxonomy(content, {**arrays, key: np.array(wrong)})


# ---------------------------------------------------------------- other shapes


@given(dags())
def test_the_spanning_forest_keeps_levels(taxonomy):
    tree = taxonomy.spanning_forest()
    assert tree.kind != "dag"
    assert set(tree.edges()) <= set(taxonomy.edges())
    assert {n: tree.depth[tree.index(n)] for n in tree} == dict(zip(taxonomy.names, taxonomy.depth, strict=True))


@given(dags())
def test_subtrees_keep_their_edges(taxonomy):
    graph = taxonomy.to_networkx()
    for name in taxonomy:
        inside = {name, *nx.descendants(graph, name)}
        assert set(taxonomy.subtree(name).edges()) == set(graph.subgraph(inside).edges)
        assert set(taxonomy.subtree(name).names) == inside


@given(dags())
def test_contraction_leaves_no_single_child_and_keeps_who_is_above_whom(taxonomy):
    small = taxonomy.contracted()
    assert not (small.n_children == 1).any()
    assert {taxonomy.names[v] for v in taxonomy.leaves} == {small.names[v] for v in small.leaves}
    for name in small:
        assert set(small.ancestors(name)) == set(taxonomy.ancestors(name)) & set(small.names)


@given(dags())
def test_stars_and_stop_leaves(taxonomy):
    assert taxonomy.flattened().kind in ("tree", "forest")
    assert set(taxonomy.flattened().names) == set(taxonomy.names)
    grown = taxonomy.with_stop_leaves()
    assert len(grown) == len(taxonomy) + int((~taxonomy.is_leaf).sum())
    assert set(taxonomy.edges()) == {e for e in grown.edges() if e[1] not in grown.stop_leaves}
    assert all(grown.parents_of(leaf) == [inner] for leaf, inner in grown.stop_leaves.items())


def test_a_drawing_shows_a_node_once():
    assert str(DIAMOND).splitlines() == [
        "top",
        "├── left",
        "│   └── end ↗",
        "└── right",
        "    └── end",
        "        └── tip",
        "↗ marks a node with several parents; its children are drawn below the deepest one",
    ]
    assert repr(DIAMOND) == "Taxonomy(dag, 5 nodes, 1 leaf, 5 edges, depth 3)"


# ---------------------------------------------------------------- losses and metrics


@st.composite
def label_pairs(draw):
    taxonomy = draw(dags())
    row = st.lists(st.sampled_from(taxonomy.names), max_size=3)
    n_rows = draw(st.integers(1, 5))
    return taxonomy, *(draw(st.lists(row, min_size=n_rows, max_size=n_rows)) for _ in range(2))


def closed(names, taxonomy):
    return {a for name in names for a in (name, *taxonomy.ancestors(name))}


@given(label_pairs())
def test_losses_equal_their_definitions(case):
    taxonomy, true, pred = case
    n_rows = len(true)
    costs = {
        w: dict(zip(taxonomy.names, node_costs(w, taxonomy), strict=True)) for w in ("uniform", "sibling", "subtree")
    }
    wrong = [closed(t, taxonomy) ^ closed(p, taxonomy) for t, p in zip(true, pred, strict=True)]
    first = [{v for v in nodes if not nodes & set(taxonomy.ancestors(v))} for nodes in wrong]
    assert ZeroOne().per_example(true, pred, taxonomy).tolist() == [float(bool(nodes)) for nodes in wrong]
    assert SymmetricDifference().per_example(true, pred, taxonomy).tolist() == [len(nodes) for nodes in wrong]
    for weights, cost in costs.items():
        expected = [sum(cost[v] for v in nodes) for nodes in first]
        for simplified in (False, True):
            found = HLoss(weights, simplified=simplified).per_example(true, pred, taxonomy)
            np.testing.assert_allclose(found, expected, atol=1e-12)
    whole = report(true, pred, taxonomy)
    assert whole.counts.n_rows == n_rows
    np.testing.assert_allclose(whole.counts.h_sibling, HLoss("sibling")(true, pred, taxonomy) * n_rows)


@given(dags())
def test_costs_in_a_dag(taxonomy):
    sibling, subtree = node_costs("sibling", taxonomy), node_costs("subtree", taxonomy)
    graph = taxonomy.to_networkx()
    for v, name in enumerate(taxonomy.names):
        assert subtree[v] == (1 + len(nx.descendants(graph, name))) / len(taxonomy)
        shares = [sibling[taxonomy.index(p)] / graph.out_degree(p) for p in graph.predecessors(name)]
        assert sibling[v] == pytest.approx(np.mean(shares) if shares else 1.0)


def test_tree_induced_error_takes_the_shorter_way():
    taxonomy = Taxonomy.from_edges([("r", "a"), ("a", "b"), ("b", "c"), ("r", "c"), ("r", "d")])
    assert TreeDistance().per_example(["c", "c"], ["d", "b"], taxonomy).tolist() == [2.0, 1.0]


@given(label_pairs())
def test_counts_of_parts_add_up(case):
    taxonomy, true, pred = case
    from cladist import LabelMatrix

    true, pred = LabelMatrix.from_sets(true, taxonomy), LabelMatrix.from_sets(pred, taxonomy)
    parts = Counts.from_labels(true[:1], pred[:1])
    whole = Counts.from_labels(true, pred)
    if len(true) > 1:
        parts = parts + Counts.from_labels(true[1:], pred[1:])
    np.testing.assert_allclose([parts.h_sibling, parts.h_subtree], [whole.h_sibling, whole.h_subtree])
    np.testing.assert_array_equal(parts.tp, whole.tp)


# ---------------------------------------------------------------- what needs a tree


@pytest.mark.parametrize("decoder", [best_labelling, greedy_path, path_scores])
def test_decoders_that_need_a_tree_say_so(decoder):
    with pytest.raises(TaxonomyError, match=f"{decoder.__name__} needs a tree or forest, and this taxonomy is a DAG"):
        decoder(np.zeros((1, 5)), DIAMOND)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_learners_that_need_a_tree_say_so_and_name_those_that_do_not(method):
    X, y = np.eye(5), list(DIAMOND.names)
    model = method.load()(DIAMOND)
    assert model.takes_dags == method.takes_dags
    if method.takes_dags:
        assert model.fit(X, y).predict(X).tolist() == y
        return
    with pytest.raises(TaxonomyError, match=r"needs a tree or forest.*'end' has the parents 'left' and 'right'") as e:
        model.fit(X, y)
    assert str(e.value).startswith(method.class_name)
    *others, last = (other.class_name for other in METHODS if other.takes_dags)
    able = f"{', '.join(others)} and {last}"
    assert f"'right'. {able} can learn on it; taxonomy.flattened() keeps" in str(e.value)


def test_ways_to_a_tree():
    X, y = np.eye(5), list(DIAMOND.names)
    with pytest.raises(TaxonomyError, match="Hieron needs a tree or forest"):
        Hieron(DIAMOND).partial_fit(X, y)
    assert set(Hieron(DIAMOND.flattened()).fit(X, y).predict(X)) <= set(y)
    assert set(TopDown(DIAMOND.spanning_forest(), stop=True).fit(X, y).predict(X)) <= set(y)


@given(dags(), st.data())
def test_top_down_switches_a_node_on_below_all_its_parents(taxonomy, data):
    scores = np.array(
        data.draw(st.lists(st.lists(st.integers(-1, 1), min_size=len(taxonomy), max_size=len(taxonomy)), min_size=1))
    )
    found = top_down(scores, taxonomy).to_indicator().toarray()
    for row, on in zip(scores, found, strict=True):
        for v in range(len(taxonomy)):
            assert on[v] == (row[v] > 0 and all(on[p] for p in taxonomy.parent_ids(v)))
    if taxonomy.kind != "dag":
        return
    with pytest.raises(ValueError, match="Example 0 has a score that is not a number"):
        top_down(np.full((1, len(taxonomy)), np.nan), taxonomy)


@given(forests())
def test_trees_are_the_same_with_or_without_lists_of_parents(taxonomy):
    listed = {name: taxonomy.parents_of(name) for name in taxonomy}
    assert Taxonomy.from_parents(listed) == taxonomy
