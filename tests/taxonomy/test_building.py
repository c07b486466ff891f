"""Every builder against a dictionary; what makes two nodes one."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import TaxonomyError
from tests.strategies import awkward_names, forests, parent_maps, path_lists, plain_names
from tests.taxonomy.model import Model

any_names = st.one_of(plain_names, awkward_names)


def check(taxonomy, model):
    """Compare names, links and every invariant of the ids with the model."""
    order = model.breadth_first()
    id_of = {node: v for v, node in enumerate(order)}
    parent = [id_of.get(model.parent[node], -1) for node in order]
    depth = [len(model.path(node)) - 1 for node in order]
    n_nodes = len(order)
    assert taxonomy.n_nodes == len(taxonomy) == len(taxonomy.names) == n_nodes
    assert taxonomy.parent.tolist() == parent
    assert np.all(taxonomy.parent < np.arange(n_nodes))
    assert taxonomy.depth.tolist() == depth == sorted(depth)
    np.testing.assert_array_equal(np.concatenate(taxonomy.levels), np.arange(n_nodes))
    assert [set(taxonomy.depth[level]) for level in taxonomy.levels] == [{k} for k in range(max(depth) + 1)]
    assert taxonomy.roots.tolist() == [v for v in range(n_nodes) if parent[v] < 0]
    assert taxonomy.leaves.tolist() == [v for v in range(n_nodes) if v not in parent]
    assert taxonomy.is_leaf.tolist() == [v not in parent for v in range(n_nodes)]
    assert taxonomy.kind == ("tree" if parent.count(-1) == 1 else "forest")
    dense = np.zeros((n_nodes, n_nodes), int)
    dense[[v for v in range(n_nodes) if parent[v] >= 0], [p for p in parent if p >= 0]] = 1
    assert taxonomy.parents.format == "csr"
    np.testing.assert_array_equal(taxonomy.parents.toarray(), dense)
    for v in range(n_nodes):
        siblings = range(taxonomy.child_start[v], taxonomy.child_start[v + 1])
        assert list(siblings) == [c for c in range(n_nodes) if parent[c] == v]


def check_names(taxonomy, model):
    assert list(taxonomy.names) == model.breadth_first()
    check(taxonomy, model)


@given(parent_maps(names=any_names))
def test_from_parents(parents):
    check_names(Taxonomy.from_parents(parents), Model.from_parents(parents))


@given(parent_maps(names=any_names))
def test_a_root_may_stand_only_as_a_parent(parents):
    parents = {child: above for child, above in parents.items() if above is not None}
    assume(parents)
    check_names(Taxonomy.from_parents(parents), Model.from_parents(parents))


@given(parent_maps(names=any_names), st.data())
def test_from_edges(parents, data):
    edges = [(above, child) for child, above in parents.items() if above is not None]
    assume(edges)
    repeated = edges + data.draw(st.lists(st.sampled_from(edges)))
    as_lists = [list(edge) for edge in edges]
    model = Model.from_parents({child: above for above, child in edges})
    for given_edges in (edges, repeated, as_lists, iter(edges), dict.fromkeys(edges)):
        taxonomy = Taxonomy.from_edges(given_edges)
        check_names(taxonomy, model)
        assert taxonomy.dropped_edges == ()


@given(parent_maps())
def test_from_networkx_and_back(parents):
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((above, child) for child, above in parents.items() if above is not None)
    taxonomy = Taxonomy.from_networkx(graph)
    assert set(taxonomy.names) == set(graph)
    assert set(taxonomy.to_networkx().edges) == set(graph.edges)
    assert Taxonomy.from_networkx(taxonomy.to_networkx()) == taxonomy
    for name in taxonomy:
        assert set(taxonomy.descendants(name)) == nx.descendants(graph, name)
        assert set(taxonomy.ancestors(name)) == nx.ancestors(graph, name)


# ---------------------------------------------------------------- paths


def names_of_paths(model, sep):
    """The last part where it is unique, the joined path elsewhere."""
    last = [path[-1] for path in model.parent]
    return [path[-1] if last.count(path[-1]) == 1 else sep.join(path) for path in model.breadth_first()]


@given(path_lists(parts=st.text("abc", min_size=1, max_size=1)), st.sampled_from(["/", ".", "::", " > "]))
def test_from_paths(paths, sep):
    model = Model.from_paths(paths)
    joined = [sep.join(path) for path in paths]
    padded = [(*path, *filler) for path, filler in zip(paths, [("",), (None, None), (float("nan"),)] * 3, strict=False)]
    for given_paths in (joined, paths, padded, [np.array(path) for path in paths], iter(joined)):
        taxonomy = Taxonomy.from_paths(given_paths, sep=sep)
        check(taxonomy, model)
        assert list(taxonomy.names) == names_of_paths(model, sep)
    for v, path in enumerate(model.breadth_first()):
        assert taxonomy.index(sep.join(path)) == taxonomy.index(taxonomy.names[v]) == v
        assert taxonomy.joined_path(v) == sep.join(path)
        assert taxonomy.find_path(path) == v


@given(path_lists(parts=st.text("a:/", min_size=1, max_size=3)))
@example([("a", "b"), ("a/b",)])
@example([("a", "b"), ("c", "a/b")])
@example([("a/b", "c"), ("a", "b/c")])
@example([("a/b", "c")])
def test_parts_of_tuples_that_hold_the_separator_are_joined_by_another(paths):
    model, taxonomy = Model.from_paths(paths), Taxonomy.from_paths(paths)
    assert taxonomy.sep == "/" or any("/" in part for path in paths for part in path)
    assert list(taxonomy.names) == names_of_paths(model, taxonomy.sep)
    for v, path in enumerate(model.breadth_first()):
        assert taxonomy.index(taxonomy.names[v]) == taxonomy.index(taxonomy.sep.join(path)) == v
        assert taxonomy.path_parts(v) == list(path)


@given(path_lists(parts=st.text("a:|", min_size=1, max_size=3)), st.sampled_from(["|", "::"]))
@example([("a", "b"), ("a|b",)], "|")
@example([("a:", "b"), ("a", ":b")], "::")
@example([("a|b", "c")], "|")
def test_parts_of_tuples_may_hold_the_separator(paths, sep):
    """Either every spelling leads to its own node, or the taxonomy is refused."""
    model = Model.from_paths(paths)
    names, order = names_of_paths(model, sep), model.breadth_first()
    spellings = [{name, sep.join(path)} for name, path in zip(names, order, strict=True)]
    if sum(map(len, spellings)) > len(set().union(*spellings)):
        with pytest.raises(TaxonomyError, match="Two different paths are both written"):
            Taxonomy.from_paths(paths, sep=sep)
        return
    taxonomy = Taxonomy.from_paths(paths, sep=sep)
    check(taxonomy, model)
    for v, path in enumerate(model.breadth_first()):
        assert taxonomy.index(taxonomy.names[v]) == v
        assert taxonomy.index(sep.join(path)) == v


def test_the_same_last_part_below_two_parents_makes_two_nodes():
    shop = Taxonomy.from_paths(["a/Accessories", "b/Accessories", "b/Cables"])
    assert shop.names == ("a", "b", "a/Accessories", "b/Accessories", "Cables")
    assert shop.path("b/Accessories") == ["b", "b/Accessories"]
    assert shop.index("b/Cables") == shop.index("Cables") == 4
    assert "Accessories" not in shop


def test_a_part_that_repeats_on_its_own_path():
    taxonomy = Taxonomy.from_paths(["a/a/a"])
    assert taxonomy.names == ("a", "a/a", "a/a/a")
    assert taxonomy.parent.tolist() == [-1, 0, 1]


def test_paths_below_the_only_root_are_found():
    taxonomy = Taxonomy.from_paths(["all/sport/chess", "all/all/x"])
    assert taxonomy.find_path(["sport", "chess"]) == taxonomy.index("chess")
    assert taxonomy.find_path(["all"]) == 0
    assert taxonomy.find_path(["all", "x"]) == taxonomy.index("x")  # the root has no x: the walk starts below it
    assert taxonomy.find_path(["chess"]) is None
    assert Taxonomy.from_paths(["a/b", "c"]).find_path(["b"]) is None


# ---------------------------------------------------------------- numbers as names


def test_numbers_are_names():
    taxonomy = Taxonomy.from_edges([(1, 11), (np.int32(1), np.int64(12)), ("1", 13.0)])
    assert taxonomy.names == ("1", "11", "12", "13")
    assert taxonomy.index(11) == taxonomy.index("11") == taxonomy.index(11.0) == taxonomy.index(np.float32(11)) == 1
    assert taxonomy.find(11.5) is None
    assert Taxonomy.from_paths([(1, 0.5), (1.0, 2)]).names == ("1", "0.5", "2")


def test_parents_from_a_column_with_holes():
    """A table turns integers into floats where a root's parent is missing."""
    taxonomy = Taxonomy.from_parents({1: float("nan"), 11: 1.0, 12: np.float32(1), 2: np.float32("nan")})
    assert taxonomy.names == ("1", "2", "11", "12")
    assert taxonomy.parent.tolist() == [-1, -1, 0, 0]


@pytest.mark.parametrize("missing", [None, "", float("nan"), np.float64("nan")])
def test_every_kind_of_missing_parent_makes_a_root(missing):
    assert Taxonomy.from_parents({"a": missing, "b": "a"}).roots.tolist() == [0]


# ---------------------------------------------------------------- cycles


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8), st.randoms(use_true_random=False))
@example([0], None)
@example([1, 0, 3, 2], None)
def test_each_cycle_loses_one_edge(above, random):
    """Each node has one link, so each component has one cycle; all of them lose one edge, whatever comes first."""
    above = [p % len(above) for p in above]
    edges = [(f"n{p}", f"n{c}") for c, p in enumerate(above)]
    if random is not None:
        random.shuffle(edges)
    graph = nx.DiGraph(edges)
    cycles = [set(cycle) for cycle in nx.simple_cycles(graph)]
    taxonomy = Taxonomy.from_edges(edges, on_cycle="drop")
    lost = taxonomy.dropped_edges
    assert len(lost) == len(cycles)
    assert all(any(set(edge) <= cycle for edge in lost) for cycle in cycles)
    kept = [edge for edge in edges if edge not in lost]
    assert set(taxonomy.to_networkx().edges) == set(kept)
    assert set(taxonomy.names) == set(graph)
    again = Taxonomy.from_edges(edges, on_cycle="drop")
    assert again == taxonomy
    assert again.dropped_edges == taxonomy.dropped_edges
    if cycles:
        with pytest.raises(TaxonomyError, match="Taxonomy has a cycle"):
            Taxonomy.from_edges(edges)


def test_a_cycle_is_shown_with_the_edge_that_closes_it():
    edges = [("x", "sport"), ("sport", "tennis"), ("tennis", "racket"), ("y", "z"), ("racket", "sport")]
    with pytest.raises(TaxonomyError) as caught:
        Taxonomy.from_edges(edges)
    assert "racket → sport → tennis → racket (closed by entry 4)" in str(caught.value)


@given(forests(), st.data())
def test_the_order_of_unrelated_siblings_is_all_that_order_changes(taxonomy, data):
    links = [(taxonomy.names[v], taxonomy.names[p] if p >= 0 else None) for v, p in enumerate(taxonomy.parent)]
    shuffled = Taxonomy.from_parents(dict(data.draw(st.permutations(links))))
    assert set(shuffled.names) == set(taxonomy.names)
    for name in taxonomy:
        assert shuffled.path(name) == taxonomy.path(name)


def test_data_frames_arrays_and_series_will_do():
    edges = [(1, 2), (1, 3), (3, 4)]
    expected = Taxonomy.from_edges([(str(p), str(c)) for p, c in edges])
    assert Taxonomy.from_edges(np.array(edges)) == expected
    assert Taxonomy.from_edges(pd.DataFrame(edges, columns=["parent", "child"])) == expected
    assert Taxonomy.from_parents(pd.Series({1: None, 2: 1, 3: 1, 4: 3}, dtype=object)) == expected
    assert Taxonomy.from_parents(pd.Series([1, 3], index=[2, 2])).parents_of("2") == ["1", "3"]


def test_a_title_is_no_name():
    taxonomy = Taxonomy.from_edges([("GO:1", "GO:2")]).with_titles({"GO:2": "growth"})
    with pytest.raises(TaxonomyError, match="it is the title of 'GO:2', and labels are names of nodes"):
        taxonomy.index("growth")
