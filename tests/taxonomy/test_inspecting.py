"""What is found in a taxonomy, against networkx and against counting by hand."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy, progress
from cladist.taxonomy import inspection
from cladist.taxonomy.inspection import (
    count_coverage,
    find_redundant_edges,
    find_unknown_labels,
    find_way_down,
    inspect,
    normalise,
    restore_cycle,
)
from tests.strategies import awkward_names, dags, edge_lists, forests

ROUNDABOUT = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d"), ("x", "d")])


# ---------------------------------------------------------------- shape


@given(dags())
def test_levels_add_up(taxonomy):
    found = inspect(taxonomy)
    assert (found.kind, found.depth) == (taxonomy.kind, taxonomy.depth.max())
    assert found.nodes == sum(level.nodes for level in found.levels) == len(taxonomy)
    assert found.leaves == sum(level.leaves for level in found.levels)
    assert found.edges == len(list(taxonomy.edges()))
    assert found.roots == found.levels[0].nodes
    for level, ids in zip(found.levels, taxonomy.levels, strict=True):
        children = [n for n in (len(taxonomy.child_ids(v)) for v in ids) if n]
        assert (level.nodes, level.inner) == (len(ids), len(children))
        shown = (level.fewest_children, level.median_children, level.most_children)
        assert shown == ((min(children), np.median(children), max(children)) if children else (None, None, None))
        assert level.several_parents == sum(len(taxonomy.parent_ids(v)) > 1 for v in ids)


# ---------------------------------------------------------------- chains


@given(dags())
def test_a_chain_runs_through_single_children(taxonomy):
    chains = inspect(taxonomy).chains
    single = [name for name in taxonomy if len(taxonomy.children(name)) == 1]
    assert chains.nodes == len(single)
    assert chains.contracted_nodes == len(taxonomy.contracted())
    starts = [name for name in single if not set(taxonomy.parents_of(name)) & set(single)]
    assert chains.chains == len(starts)
    if not single:
        assert (chains.longest, chains.example) == (0, ())
        return
    *inner, end = chains.example
    assert len(inner) == chains.longest == max(map(len, _runs(taxonomy, starts)))
    assert all(taxonomy.children(a) == [b] for a, b in itertools.pairwise(chains.example))
    assert end not in single


def _runs(taxonomy, starts):
    for name in starts:
        run = [name]
        while len(below := taxonomy.children(run[-1])) == 1 and len(taxonomy.children(below[0])) == 1:
            run += below
        yield run


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Accessories", "accessories "),
        ("Café", "cafe"),
        ("Cafe\u0301", "Café"),
        ("STRASSE", "Straße"),
        ("a  b", "a\u00a0b"),
        ("\ufb01sh", "fish"),
    ],
)
def test_names_that_people_take_for_one_another(one, other):
    assert normalise(one) == normalise(other)
    (group,) = inspect(Taxonomy.from_parents({one: "top", other: "top"})).alike_names
    assert set(group.nodes) == {one, other}


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("a-b", "ab"), ("a b", "ab"), ("1", "1.0")])
def test_names_that_are_not_alike(one, other):
    assert inspect(Taxonomy.from_parents({one: "top", other: "top"})).alike_names == ()


@given(forests(names=awkward_names))
def test_every_name_is_in_one_group_at_most(taxonomy):
    groups = inspect(taxonomy).alike_names
    names = [name for group in groups for name in group.nodes]
    assert len(names) == len(set(names))
    assert all(normalise(name) == group.text for group in groups for name in group.nodes)


def test_last_parts_below_several_parents():
    taxonomy = Taxonomy.from_paths(["phones/Cases", "laptops/Cases", "bags/cases", "bags/straps"])
    found = inspect(taxonomy)
    assert [(group.text, group.nodes) for group in found.shared_parts] == [("Cases", ("phones/Cases", "laptops/Cases"))]
    assert [group.nodes for group in found.alike_names] == [("phones/Cases", "laptops/Cases", "cases")]


def test_the_same_part_twice_is_not_two_spellings():
    assert inspect(Taxonomy.from_paths(["a/x", "b/x"])).alike_names == ()


def test_titles_that_several_nodes_share():
    titles = {"J": "Lungs", "J45": "Asthma", "R05": "asthma ", "R06": ""}
    taxonomy = Taxonomy.from_parents({"J": None, "J45": "J", "R05": None, "R06": None, "R07": None}, titles=titles)
    assert [(group.text, set(group.nodes)) for group in inspect(taxonomy).shared_titles] == [("asthma", {"J45", "R05"})]


# ---------------------------------------------------------------- edges


@given(dags())
def test_redundant_edges_are_those_a_transitive_reduction_leaves_out(taxonomy):
    graph = taxonomy.to_networkx()
    redundant = set(find_redundant_edges(taxonomy))
    assert redundant == set(graph.edges) - set(nx.transitive_reduction(graph).edges)
    for parent, child in redundant:
        way = find_way_down(taxonomy, parent, child, direct=False)
        assert way[0] == parent
        assert way[-1] == child
        assert len(way) > 2
        assert all(edge in graph.edges for edge in itertools.pairwise(way))


@given(edge_lists(acyclic=False))
def test_every_dropped_edge_closed_a_cycle(given_edges):
    _, edges = given_edges
    if not edges:
        return
    taxonomy = Taxonomy.from_edges(edges, on_cycle="drop")
    assert inspect(taxonomy).dropped_edges == taxonomy.dropped_edges
    for parent, child in taxonomy.dropped_edges:
        cycle = restore_cycle(taxonomy, (parent, child))
        assert cycle[0] == cycle[-1] == child
        assert cycle[-2] == parent
        assert all(edge in edges for edge in itertools.pairwise(cycle))


def test_implied_edges_of_a_large_dag():
    edges = [(f"n{k // 3}", f"n{k}") for k in range(1, 30_000)] + [(f"n{k // 9}", f"n{k}") for k in range(9, 30_000)]
    found = inspect(Taxonomy.from_edges(edges))
    assert (found.nodes, found.kind) == (30_000, "dag")
    assert len(found.redundant_edges) == 30_000 - 9


# ---------------------------------------------------------------- rows


@st.composite
def labelled_rows(draw):
    taxonomy = draw(dags())
    row = st.lists(st.integers(-1, taxonomy.n_nodes - 1), max_size=4)
    return taxonomy, draw(st.lists(row, min_size=1, max_size=8))


@given(labelled_rows(), st.integers(1, 3))
def test_rows_are_counted_as_sets_would_be(given_rows, at_once):
    taxonomy, rows = given_rows
    closed = [{a for v in row if v >= 0 for a in (*taxonomy.ids_above(v).tolist(), v)} for row in rows]
    last = [{v for v in row if not row & set(taxonomy.child_ids(v).tolist())} for row in closed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspection, "ROWS_AT_ONCE", at_once)
        indptr = np.cumsum([0, *map(len, rows)])
        found = count_coverage(taxonomy, indptr, np.array([v for row in rows for v in row], np.int64))
    assert found.rows == len(rows)
    assert found.rows_without_label == sum(not row for row in closed)
    assert found.implied_labels == sum(v >= 0 for row in rows for v in row) - sum(map(len, last))
    assert found.rows_below.tolist() == [sum(v in row for row in closed) for v in range(len(taxonomy))]
    for level in found.levels:
        nodes = set(taxonomy.levels[level.level].tolist())
        assert level.rows == sum(bool(row & nodes) for row in closed)
        assert level.ending == sum(bool(row & nodes) for row in last)
    ends = {taxonomy.names[v]: sum(v in row for row in last) for v in range(len(taxonomy)) if not taxonomy.is_leaf[v]}
    assert {node.node: node.rows for node in found.inner_labels} == {name: n for name, n in ends.items() if n}


@given(labelled_rows())
def test_what_is_empty(given_rows):
    taxonomy, rows = given_rows
    found = count_coverage(
        taxonomy, np.cumsum([0, *map(len, rows)]), np.array([v for row in rows for v in row], np.int64)
    )
    empty = [name for name, n in zip(taxonomy.names, found.rows_below, strict=True) if n == 0]
    inner = [name for name in empty if taxonomy.children(name)]
    assert found.empty_leaves == tuple(name for name in empty if name not in inner)
    assert found.empty_inner_nodes == len(inner)
    assert found.empty_subtrees == tuple(name for name in inner if not set(taxonomy.ancestors(name)) & set(inner))


TREE = Taxonomy.from_paths(["Home/Kitchen/Cups", "Home/Kitchen/Pans", "Outdoors/Tents"])


@pytest.mark.parametrize(
    ("label", "near"),
    [
        ("cups ", ("Cups",)),
        ("Cupz", ("Cups",)),
        ("Home/Kitchen/cups", ("Cups",)),
        ("Wear/Coats", ()),
        ("Home > Pan", ()),
    ],
)
def test_near_names(label, near):
    (found,) = find_unknown_labels(TREE, [label], [3])
    assert (found.label, found.count, found.near) == (label, 3, near)


def test_the_separator_of_labels_is_their_own():
    assert find_unknown_labels(TREE, ["Home > Pan"], [1], sep=" > ")[0].near == ("Pans",)


def test_the_most_frequent_unknown_labels_come_first():
    found = find_unknown_labels(TREE, [f"x{k}" for k in range(30)], list(range(30)))
    assert [label.count for label in found] == list(range(29, -1, -1))
    assert find_unknown_labels(TREE, [], []) == ()


def test_progress_is_told():
    told = []

    class Listener:
        def start(self, description, total):
            told.append([description, total, 0])
            return self

        def advance(self, steps=1):
            told[-1][2] += steps

        def finish(self, task):
            pass

    with progress.report_to(Listener()):
        inspect(TREE)
        count_coverage(TREE, np.arange(4), np.array([0, 1, -1]))
    assert [done for _, total, done in told if total == done] == [4, 3]
