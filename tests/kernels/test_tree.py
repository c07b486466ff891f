"""Passes over a taxonomy: each kernel against its own Python source and against brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import tree
from tests.kernels.matrices import ancestors, csr
from tests.strategies import breadth_first, parent_arrays
from tests.twins import kernels_not_named_in, same_as_python


@st.composite
def dags(draw, *, closed=False):
    """A DAG as CSR of parents (parents before children), rows of node ids as CSR, and both as dense matrices."""
    n_nodes = draw(st.integers(1, 9))
    parents = np.tril(draw(hnp.arrays(bool, (n_nodes, n_nodes))), -1)
    rows = draw(hnp.arrays(bool, (draw(st.integers(0, 5)), n_nodes)))
    if closed:
        rows = rows | (rows @ ancestors(parents))
    return parents, rows


def dense(indptr, indices, n_nodes):
    matrix = np.zeros((len(indptr) - 1, n_nodes), bool)
    for i in range(len(indptr) - 1):
        row = indices[indptr[i] : indptr[i + 1]].tolist()
        assert row == sorted(set(row))
        matrix[i, row] = True
    return matrix


def path(parent, v):
    found = []
    while v >= 0:
        found.append(v)
        v = parent[v]
    return found[::-1]


@given(parent_arrays())
def test_subtree_sizes(parent):
    sizes = same_as_python(tree.subtree_sizes, parent)
    assert sizes.tolist() == [sum(v in path(parent, u) for u in range(len(parent))) for v in range(len(parent))]


@given(parent_arrays())
def test_meetings(parent):
    parent = breadth_first(parent)
    depth = np.array([len(path(parent, v)) - 1 for v in range(len(parent))], np.int32)
    u, v = (side.ravel() for side in np.indices((len(parent),) * 2))
    meet, hops = same_as_python(tree.meetings, parent, depth, u, v)
    for a, b, top, d in zip(u.tolist(), v.tolist(), meet.tolist(), hops.tolist(), strict=True):
        shared = [x for x, y in zip(path(parent, a), path(parent, b), strict=False) if x == y]
        assert top == (shared[-1] if shared else -1)
        assert d == len(set(path(parent, a)) ^ set(path(parent, b)))


@given(dags(), st.randoms(use_true_random=False))
def test_close_rows(case, random):
    parents, rows = case
    indptr, indices = csr(rows)
    shuffled, ends = [], [0]
    for i in range(len(rows)):
        row = 2 * indices[indptr[i] : indptr[i + 1]].tolist()  # any order, any repeats
        random.shuffle(row)
        shuffled += row
        ends.append(len(shuffled))
    arguments = np.array(ends, np.int64), np.array(shuffled, np.int32), *csr(parents)
    closed = same_as_python(tree.close_rows, *arguments)
    np.testing.assert_array_equal(dense(*closed, len(parents)), rows | (rows @ ancestors(parents)))
    assert closed[0].dtype == np.int64
    assert closed[1].dtype == np.int32


def test_close_rows_makes_room_as_it_goes():
    chain = np.arange(-1, 999)
    parents = csr(np.eye(1000, k=-1, dtype=bool))
    _, indices = tree.close_rows(np.arange(51), np.full(50, 999, np.int32), *parents)
    assert len(indices) == 50 * 1000
    assert np.array_equal(indices.reshape(50, 1000)[-1], chain + 1)


@given(dags(closed=True))
def test_frontier_rows(case):
    parents, rows = case
    found = same_as_python(tree.frontier_rows, *csr(rows), *csr(parents))
    np.testing.assert_array_equal(dense(*found, len(parents)), rows & ~(rows @ parents))


@given(dags())
def test_first_orphan(case):
    parents, rows = case
    found = same_as_python(tree.first_orphan, *csr(rows), *csr(parents))
    orphans = [
        (i, v, p)
        for i, row in enumerate(rows)
        for v in np.flatnonzero(row)
        for p in np.flatnonzero(parents[v])
        if not row[p]
    ]
    assert found == (orphans[0] if orphans else (-1, -1, -1))


@given(parent_arrays(), st.sampled_from([np.float32, np.float64]), st.data())
def test_add_along_paths(parent, dtype, data):
    elements = st.integers(-8, 8).map(lambda k: k / 2)
    scores = data.draw(hnp.arrays(dtype, (data.draw(st.integers(0, 4)), len(parent)), elements=elements))
    summed, _ = same_as_python(tree.add_along_paths, scores, parent)
    expected = [[row[path(parent, v)].sum() for v in range(len(parent))] for row in scores]
    np.testing.assert_array_equal(summed, np.reshape(expected, scores.shape))


@given(parent_arrays(), st.booleans(), st.data())
def test_path_margins(parent, ends, data):
    elements = st.integers(-8, 8).map(lambda k: k / 2)
    scores = data.draw(hnp.arrays(np.float64, (data.draw(st.integers(0, 4)), len(parent)), elements=elements))
    found = same_as_python(tree.path_margins, scores, parent, ends, np.zeros_like(scores))[-1]
    for row, margins in zip(scores, found, strict=True):
        for v in range(len(parent)):
            parts = [*row[path(parent, v)], *(-row[parent == v] if ends else ())]
            assert margins[v] == min(parts)


def test_every_kernel_has_its_test():
    assert kernels_not_named_in(__file__, tree) == []
