"""Kernels of Markov trees: each against its own Python source and its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import markov
from tests.solvers.structured_reference import edge_states, labellings, random_forest
from tests.twins import kernels_not_named_in, same_as_python

seeds = st.integers(0, 2**32 - 1)


def state(seed, *, edges=True, consistent=False, n=5):
    """A row's scores, marginals of a random distribution of mass 1, y, the tree and a loss."""
    rng = np.random.default_rng(seed)
    parent = random_forest(rng, n, 2).parent
    every = labellings(parent, consistent=consistent)
    shares = rng.dirichlet(np.ones(4))
    marginals = np.zeros((n, 4))
    for share, z in zip(shares, every[rng.integers(len(every), size=4)], strict=True):
        marginals[np.arange(n), edge_states(z, parent)] += share
    y = labellings(parent, consistent=True)[rng.integers(3)].astype(np.uint8)
    loss = (rng.uniform(0.5, 2, n), bool(seed % 2), consistent, edges, rng.uniform(0.5, 2, n))
    return rng.normal(size=4 * n if edges else n), marginals, y, parent, loss


def filled(scores, y, parent, loss):
    gains = np.empty((len(parent), 4))
    markov.fill_gains(scores, y, parent, loss, gains)
    return gains


@given(seeds, st.booleans(), st.booleans())
@settings(max_examples=20)
def test_gains_and_labellings(seed, edges, consistent):
    scores, marginals, y, parent, loss = state(seed, edges=edges, consistent=consistent)
    n = len(parent)
    *_, gains = same_as_python(markov.fill_gains, scores, y, parent, loss, np.empty((n, 4)))
    own = gains[np.arange(n), edge_states(y.astype(int), parent)]
    np.testing.assert_array_equal(own, 0)
    room = np.empty((n, 2)), np.empty((n, 2), np.uint8), np.empty(n, np.uint8)
    same_as_python(markov.best_states, gains, parent, *room)
    *_, others = same_as_python(markov.away_gains, gains, marginals, 1e-12, np.empty((n, 4)))
    assert np.isfinite(markov.best_states(others, parent, *room))
    used = marginals[np.arange(n), edge_states(room[2].astype(int), parent)]
    assert used.min() > 0  # the worst labelling in use is in use
    mean = same_as_python(markov.current_value, gains, marginals)
    assert np.isclose(mean, (marginals * np.where(marginals > 0, gains, 0)).sum())


@given(seeds, st.booleans(), st.booleans())
@settings(max_examples=20)
def test_swap_and_ascend_row(seed, edges, consistent):
    scores, marginals, y, parent, loss = state(seed, edges=edges, consistent=consistent)
    n = len(parent)
    room, change = markov.working_room(n), np.empty_like(scores)
    runs = []
    for kernel in (markov.ascend_row, markov.ascend_row.py_func):
        own = scores.copy(), marginals.copy()
        gap = kernel(*own, y, parent, loss, (1.0, 6, 0.0), 0.7, room, change)
        runs.append((gap, *own, change.copy()))
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    gap, after, moved, change = runs[0]
    assert gap >= -1e-12
    np.testing.assert_allclose(after, scores + 0.7 * change, atol=1e-12)
    np.testing.assert_allclose(moved.sum(axis=1), 1, atol=1e-12)
    gains, later = filled(scores, y, parent, loss), filled(after, y, parent, loss)
    room = markov.working_room(n)
    assert markov.measure_row(after, moved, y, parent, loss, 1.0, room)[1] <= gap + 1e-9
    rise = _rise(gains, later, marginals, moved)
    assert rise >= -1e-12  # the dual never falls
    towards, away = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    arrays = gains, marginals.copy(), parent, loss, 0.7, towards, away, room[5], scores.copy(), change
    assert not markov.swap(*arrays)  # equal labellings: nothing to move
    assert not markov.swap.py_func(*arrays)


def test_parts_are_connected_and_share_no_edge():
    """Nodes 0 and 5 are roots; labellings differ at 1, at 3 below it, and at 5, so that two parts change."""
    parent = np.array([-1, 0, 0, 1, 1, -1])
    towards, away = np.array([1, 1, 1, 1, 0, 0], np.uint8), np.array([1, 0, 1, 0, 0, 1], np.uint8)
    assert [markov.edge_state(parent, towards, v) for v in range(6)] == [3, 3, 3, 3, 2, 2]
    assert [markov.edge_state.py_func(parent, away, v) for v in range(6)] == [3, 2, 3, 0, 0, 3]
    gains = np.arange(24.0).reshape(6, 4)
    loss = np.ones(6), False, True, True, np.ones(6)
    for kernel in (markov.split_parts, markov.split_parts.py_func):
        parts = markov.working_room(6)[5]
        kernel(gains, np.ones((6, 4)), parent, loss, 0.5, towards, away, parts)
        part, slope, curve, most = parts
        assert part.tolist() == [-1, 1, -1, 1, -3, 5]  # the edge of 4 ends the part of 1
        assert slope.tolist() == [0, (7 - 6) + (15 - 12) + (18 - 16), 0, 0, 0, 22 - 23]
        assert curve.tolist() == [0, 3 * 2 * 0.5, 0, 0, 0, 2 * 0.5]
        assert most[[1, 5]].tolist() == [1, 1]


def _rise(gains, later, before, after):
    """The change of a concave quadratic between two points: the mean of its slopes at both ends, times the way."""
    finite = np.isfinite(gains)
    return (0.5 * (gains + later)[finite] * (after - before)[finite]).sum()


def test_rows():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((6, 4)) < 0.6) * rng.normal(size=(6, 4)))
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    W = rng.normal(size=(4, 3))
    *_, scores = same_as_python(markov.row_scores, *rows, 2, W, np.empty(3))
    np.testing.assert_allclose(scores, X.toarray()[2] @ W)
    *_, grown = same_as_python(markov.add_row, *rows, 2, np.array([1.0, 2.0, 3.0]), W)
    np.testing.assert_allclose(grown - W, np.outer(X.toarray()[2], [1.0, 2.0, 3.0]), atol=1e-12)
    column = np.array([1.0, 0.0, 2.0])
    found, *_ = same_as_python(markov.add_column, np.zeros((3, 4)), np.array([0, 3]), np.array([1.0, -1.0]), column)
    np.testing.assert_array_equal(found, np.outer(column, [1, 0, 0, -1]))


@pytest.mark.parametrize("edges", [False, True])
def test_sweeps_and_measures(edges):
    rng = np.random.default_rng(0)
    _, _, _, parent, loss = state(3, edges=edges)
    n, width = len(parent), 4 * len(parent) if edges else len(parent)
    X = sparse.csr_array(rng.normal(size=(6, 4)))
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    every = labellings(parent, consistent=True)
    marks = every[rng.integers(len(every), size=6)].astype(np.uint8)
    marginals = np.zeros((6, n, 4))
    for i, z in enumerate(marks.astype(int)):
        marginals[i, np.arange(n), edge_states(z, parent)] = 1.0
    squares = (X.toarray() ** 2).sum(axis=1)
    runs = []
    for sweep, measure in (
        (markov.sweep_rows, markov.measure_rows),
        (markov.sweep_rows.py_func, markov.measure_rows.py_func),
    ):
        W, own, gaps, slacks, later = np.zeros((4, width)), marginals.copy(), np.zeros(6), np.zeros(6), np.zeros(6)
        sweep(rows, W, np.array([3, 0, 5, 1]), own, marks, parent, loss, (1.0, 3, 0.0), squares, gaps)
        measure(rows, W, 1, 6, own, marks, parent, loss, 1.0, slacks, later)
        runs.append((W, own, gaps, slacks, later))
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    W, own, _, slacks, later = runs[0]
    for measure in (markov.measure_scores, markov.measure_scores.py_func):
        found = np.zeros(6), np.zeros(6)
        measure(X.toarray() @ W, 1, 6, own, marks, parent, loss, 1.0, *found)
        np.testing.assert_allclose(found, (slacks, later), atol=1e-12)
    total = same_as_python(markov.marginal_losses, own, marks, parent, loss[0], loss[1])
    expected = 0.0
    for i in range(6):
        gains = filled(np.zeros(width), marks[i], parent, loss)
        expected += (own[i] * gains).sum()
    assert np.isclose(total, expected)


def test_every_kernel_is_tested():
    assert kernels_not_named_in(__file__, markov) == []
