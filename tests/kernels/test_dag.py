"""Passes over DAGs and label graphs: each kernel against its own Python source and against networkx."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import dag
from tests.kernels.matrices import csr
from tests.twins import kernels_not_named_in, same_as_python


@st.composite
def parent_matrices(draw, *, topological=True):
    """A 0/1 matrix with a 1 where the column is a parent of the row; without cycles, unless not topological."""
    n_nodes = draw(st.integers(1, 9))
    matrix = draw(hnp.arrays(bool, (n_nodes, n_nodes)))
    return np.tril(matrix, -1) if topological else matrix


def graph_of(parents):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((int(p), int(v)) for v, p in np.argwhere(parents))
    return graph


@given(parent_matrices(topological=False))
def test_transposed(parents):
    indptr, indices = same_as_python(dag.transposed, *csr(parents))
    expected = csr(parents.T)
    np.testing.assert_array_equal(indptr, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@given(parent_matrices(), st.randoms(use_true_random=False))
def test_by_level_is_the_longest_path_and_keeps_an_order_it_made(parents, random):
    shuffle = list(range(len(parents)))
    random.shuffle(shuffle)
    parents = parents[np.ix_(shuffle, shuffle)]
    order, depth = same_as_python(dag.by_level, *csr(parents))
    assert sorted(order.tolist()) == list(range(len(parents)))
    graph = graph_of(parents)
    longest = {v: nx.dag_longest_path_length(graph.subgraph([*nx.ancestors(graph, v), v])) for v in range(len(parents))}
    assert depth.tolist() == [longest[v] for v in order.tolist()] == sorted(longest.values())
    again, _ = dag.by_level(*csr(parents[np.ix_(order, order)]))
    assert again.tolist() == list(range(len(parents)))


@given(parent_matrices(topological=False))
def test_by_level_leaves_out_what_hangs_on_a_cycle(parents):
    order, _ = same_as_python(dag.by_level, *csr(parents))
    graph = graph_of(parents)
    knots = {v for part in nx.strongly_connected_components(graph) if len(part) > 1 for v in part}
    knots |= {v for v in graph if graph.has_edge(v, v)}
    stuck = knots.union(*(nx.descendants(graph, v) for v in knots))
    assert set(order.tolist()) == set(graph) - stuck


@given(parent_matrices())
def test_below_above_and_sizes(parents):
    graph = graph_of(parents)
    for v in range(len(parents)):
        assert same_as_python(dag.below, *csr(parents), v).tolist() == sorted({v, *nx.descendants(graph, v)})
        assert same_as_python(dag.above, *csr(parents), v).tolist() == sorted({v, *nx.ancestors(graph, v)})
    sizes = same_as_python(dag.subtree_sizes, *csr(parents))
    assert sizes.tolist() == [1 + len(nx.descendants(graph, v)) for v in range(len(parents))]


def nearest(parents, u, v, depth):
    """Brute force: the common ancestor with the fewest edges in all, the virtual root if there is none."""
    up = nx.reverse(graph_of(parents))
    above_u = nx.single_source_shortest_path_length(up, u)
    above_v = nx.single_source_shortest_path_length(up, v)
    common = [(above_u[a] + above_v[a], -depth[a], a) for a in set(above_u) & set(above_v)]
    if common:
        length, _, meet = min(common)
        return meet, length
    to_root = (min(above[a] for a in above if not parents[a].any()) + 1 for above in (above_u, above_v))
    return -1, sum(to_root)


@given(parent_matrices())
def test_meetings(parents):
    order, depth = dag.by_level(*csr(parents))
    parents = parents[np.ix_(order, order)]
    u, v = (side.ravel() for side in np.indices(parents.shape))
    meet, length = same_as_python(dag.meetings, *csr(parents), depth, u, v)
    found = list(zip(meet.tolist(), length.tolist(), strict=True))
    assert found == [nearest(parents, a, b, depth) for a, b in zip(u.tolist(), v.tolist(), strict=True)]


@given(parent_matrices(topological=False))
def test_back_edges_are_few_enough_to_leave_a_dag_and_each_closes_a_cycle(parents):
    indptr, children = dag.transposed(*csr(parents))
    leads_back = same_as_python(dag.back_edges, indptr, children)
    above = np.repeat(np.arange(len(parents)), np.diff(indptr))
    edges = list(zip(above.tolist(), children.tolist(), strict=True))
    kept = nx.DiGraph()
    kept.add_nodes_from(range(len(parents)))
    kept.add_edges_from(edge for edge, back in zip(edges, leads_back, strict=True) if not back)
    assert nx.is_directed_acyclic_graph(kept)
    assert all(nx.has_path(kept, c, p) for (p, c), back in zip(edges, leads_back, strict=True) if back)


def test_back_edges_of_a_large_knot():
    """A ring of half a million nodes, against the order of their ids."""
    n = 500_000
    leads_back = dag.back_edges(np.arange(n + 1), np.roll(np.arange(n), 1))
    assert np.flatnonzero(leads_back).tolist() == [1]  # 0 → n − 1 → … → 1 → 0


@given(parent_matrices(topological=False))
def test_colours_differ_along_every_edge_and_are_few(parents):
    neighbours = (parents | parents.T) & ~np.eye(len(parents), dtype=bool)
    order = same_as_python(dag.smallest_last, *csr(neighbours))
    assert sorted(order.tolist()) == list(range(len(parents)))
    colour = same_as_python(dag.coloured, *csr(neighbours), order)
    assert all(colour[u] != colour[v] for u, v in np.argwhere(neighbours))
    degeneracy = max(nx.core_number(graph_of(neighbours).to_undirected()).values())
    assert colour.max() <= degeneracy
    assert set(colour.tolist()) == set(range(colour.max() + 1))
    even = same_as_python(dag.coloured, *csr(neighbours), order, int(colour.max()) + 1)
    assert all(even[u] != even[v] for u, v in np.argwhere(neighbours))
    assert set(even.tolist()) == set(range(even.max() + 1))


def test_every_kernel_has_its_test():
    # The private ones run inside the public ones, in both forms.
    private = ["_climb", "_to_virtual_root"]
    assert [name for name in kernels_not_named_in(__file__, dag) if name not in private] == []


@given(parent_matrices())
def test_implied_edges_are_those_that_a_transitive_reduction_lacks(parents):
    order, depth = dag.by_level(*csr(parents))
    parents = parents[np.ix_(order, order)]
    indptr, indices = csr(parents)
    implied = same_as_python(dag.implied_edges, indptr, indices, depth)
    children = np.repeat(np.arange(len(parents)), np.diff(indptr))
    reduced = nx.transitive_reduction(graph_of(parents))
    edges = zip(indices.tolist(), children.tolist(), strict=True)
    assert implied.tolist() == [not reduced.has_edge(p, c) for p, c in edges]
