"""Scores: the kernels against their Python source and against the product of matrices.

All numbers are small integers and their halves, so that sums are exact in any order, and ties frequent.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import lanes, linear_scores
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH
from tests.kernels.blocks import mixed_rows
from tests.kernels.sources import close_to_python
from tests.twins import kernels_not_named_in, same_as_python

NO_PARENTS = np.zeros(0, np.int64)


@kernel
def stored_dot(rows, i, place, W, out):
    lanes.store(out, 0, linear_scores.placed_dot(rows, i, place, W))


def exactly(function, *arguments):
    return close_to_python(linear_scores, function, *arguments, rtol=0, atol=0)


def halves(random, *shape):
    return random.integers(-6, 7, shape) / 2


@st.composite
def problems(draw):
    """CSR rows, some of whose features have weights, these weights (used × 16) and intercepts."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features, n_used = draw(st.integers(1, 5)), draw(st.integers(1, 8)), draw(st.integers(0, 8))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    present = random.random((n_rows, n_features)) < 0.7
    X = sparse.csr_array((halves(random, n_rows, n_features) * present).astype(dtype))
    used = random.permutation(n_features)[:n_used]
    W = halves(random, len(used), WIDTH) * (random.random((len(used), WIDTH)) < 0.7)
    return X, used, W.astype(np.float32), halves(random, 1, WIDTH).astype(np.float32)


def arrays(X):
    return X.indptr, X.indices, X.data


def places(X, used):
    place = np.full(X.shape[1], -1, np.int32)
    place[used] = np.arange(len(used))
    return place


def products(X, used, W):
    return X.toarray()[:, used] @ W


@given(problems())
def test_placed_dot(problem):
    X, used, W, _ = problem
    for i in range(X.shape[0]):
        out = np.zeros((1, WIDTH), np.float32)
        _, (*_, out) = exactly(stored_dot, arrays(X), i, places(X, used), W, out)
        np.testing.assert_array_equal(out[0], products(X, used, W)[i])


@given(problems(), st.permutations(range(40)), st.integers(1, WIDTH))
def test_score_block(problem, order, n_lanes):
    X, used, W, intercepts = problem
    classes = np.array(order[:n_lanes])
    out = np.full((X.shape[0], 40), -99, np.float32)
    _, (*_, out) = exactly(linear_scores.score_block, arrays(X), places(X, used), W, intercepts, classes, out)
    expected = np.full(out.shape, -99.0)
    expected[:, classes] = (products(X, used, W) + intercepts)[:, :n_lanes]
    np.testing.assert_array_equal(out, expected)


@given(problems(), st.permutations(range(40)), st.integers(1, WIDTH), st.sampled_from([-np.inf, 0.0, 3.0]))
def test_best_of_block(problem, order, n_lanes, so_far):
    X, used, W, intercepts = problem
    classes = np.array([c for c in order if c != 5][:n_lanes])
    best, chosen = np.full(X.shape[0], so_far, np.float32), np.full(X.shape[0], 5)
    block = arrays(X), places(X, used), W, intercepts
    _, (*_, best, chosen) = exactly(linear_scores.best_of_block, *block, classes, best, chosen)
    scores = np.full((X.shape[0], 40), -np.inf)
    scores[:, classes] = (products(X, used, W) + intercepts)[:, :n_lanes]
    scores[:, 5] = so_far
    np.testing.assert_array_equal(best, scores.max(axis=1))
    np.testing.assert_array_equal(chosen, scores.argmax(axis=1))  # of equal ones the first


@given(st.sets(st.integers(0, 20)), st.integers(-1, 21), st.data())
def test_find_feature(features, wanted, data):
    features = np.array(sorted(features), np.int32)
    start = data.draw(st.integers(0, np.searchsorted(features, wanted)))
    assert same_as_python(linear_scores.find_feature, features, wanted, start) == np.searchsorted(features, wanted)


def index_of(W, used, prune):
    """The index of a block, by the kernels."""
    counts = np.zeros(len(used), np.int64)
    *_, counts = same_as_python(linear_scores.count_kept, W, WIDTH, prune, counts)
    order = np.argsort(used)
    order = order[counts[order] > 0]
    starts = np.append(0, np.cumsum(counts[order]))
    cursor, classes = starts[:-1].copy(), np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.float32)
    *_, cursor, classes, values = same_as_python(
        linear_scores.keep_weights, W, np.arange(WIDTH), prune, order, cursor, classes, values
    )
    np.testing.assert_array_equal(cursor, starts[1:])
    return used[order].astype(np.int32), starts, classes, values


@given(problems(), st.sampled_from([0.0, 0.5, 0.75, 9.0]), st.data())
def test_score_by_index(problem, prune, data):
    X, used, W, intercepts = problem
    index = index_of(W, used, prune)
    listed = np.array(data.draw(st.lists(st.integers(0, X.shape[0] - 1), max_size=6)), np.int64)
    out = np.empty((len(listed), WIDTH), np.float32)
    sound, (*_, out) = exactly(linear_scores.score_by_index, arrays(X), listed, index, intercepts[0], NO_PARENTS, out)
    kept = np.where(np.abs(W) > prune, W, 0)
    expected = products(X, used, kept)[listed] + intercepts
    np.testing.assert_array_equal(out, expected)
    assert sound
    parent = np.array([-1, *(data.draw(st.integers(-1, v - 1)) for v in range(1, WIDTH))])
    sound, (*_, out) = exactly(linear_scores.score_by_index, arrays(X), listed, index, intercepts[0], parent, out)
    for v in np.flatnonzero(parent >= 0):
        expected[:, v] += expected[:, parent[v]]
    np.testing.assert_array_equal(out, expected)
    assert sound


@pytest.mark.parametrize("class_", [-1, WIDTH, 2**31 - 1])
def test_a_class_that_is_not_there_is_passed_by_and_told(class_):
    index = np.array([0], np.int32), np.array([0, 2]), np.array([0, class_], np.int32), np.ones(2, np.float32)
    rows = np.array([0, 1]), np.array([0]), np.ones(1, np.float32)
    out = np.zeros((1, WIDTH), np.float32)
    sound, (*_, out) = exactly(
        linear_scores.score_by_index, rows, np.array([0]), index, np.zeros(WIDTH, np.float32), NO_PARENTS, out
    )
    assert not sound
    np.testing.assert_array_equal(out, np.eye(1, WIDTH))


@given(problems(), st.integers(1, WIDTH), st.sampled_from([0.0, 0.5, 0.75, 9.0]))
def test_lists_of_lanes(problem, n_lanes, prune):
    _, _, W, _ = problem
    *_, counts = same_as_python(linear_scores.count_lanes, W, prune, np.zeros(n_lanes, np.int64))
    large = np.abs(W[:, :n_lanes]) > prune
    np.testing.assert_array_equal(counts, large.sum(axis=0))
    cursor = np.cumsum(counts) - counts
    places, values = np.zeros(counts.sum(), np.int32), np.zeros(counts.sum(), np.float32)
    *_, places, values = same_as_python(linear_scores.list_lanes, W, prune, cursor, places, values)
    lanes, rows = np.nonzero(large.T)
    np.testing.assert_array_equal(places, rows)
    np.testing.assert_array_equal(values, W[rows, lanes])


@given(problems(), st.integers(1, 16), st.integers(0, 40))
def test_weights_kept_are_of_the_columns_wanted(problem, n_columns, first):
    _, used, W, _ = problem
    counts = np.ones(len(used), np.int64)
    *_, counts = same_as_python(linear_scores.count_kept, W, n_columns, 0.5, counts)
    large = np.abs(W[:, :n_columns]) > 0.5
    np.testing.assert_array_equal(counts, 1 + large.sum(axis=1))
    cursor = np.append(0, np.cumsum(counts - 1))[:-1]
    classes, values = np.zeros(large.sum(), np.int32), np.zeros(large.sum(), np.float32)
    order = np.arange(len(used))
    lanes = first + np.arange(n_columns)[::-1]
    *_, classes, values = same_as_python(linear_scores.keep_weights, W, lanes, 0.5, order, cursor, classes, values)
    features, columns = np.nonzero(large)
    np.testing.assert_array_equal(classes, lanes[columns])
    np.testing.assert_array_equal(values, W[features, columns])


def test_scores_are_those_of_csr():
    random = np.random.default_rng(7)
    X = random.normal(size=(10, 6)).astype(np.float32)
    W, bias = random.normal(size=(5, WIDTH)).astype(np.float32), random.normal(size=(1, WIDTH)).astype(np.float32)
    position, classes = np.array([4, -1, 0, 3, 1, 2], np.int32), np.arange(2, 15)
    arguments = position, W, bias, classes
    expected, best = np.zeros((10, 20), np.float32), [np.full(10, -np.inf, np.float32), np.zeros(10, np.int64)]
    linear_scores.score_block(mixed_rows(X, 0)[:3], *arguments, expected)
    linear_scores.best_of_block(mixed_rows(X, 0)[:3], *arguments, *best)
    for n_dense, same in ((6, np.testing.assert_array_equal), (4, np.testing.assert_allclose)):
        positions = position[: 6 - n_dense], position[6 - n_dense :]
        rows, scores = mixed_rows(X, n_dense), np.zeros((10, 20), np.float32)
        close = {"rtol": 1e-5, "atol": 1e-6}
        close_to_python(
            linear_scores, linear_scores.put_products, rows, positions, 7, W, np.zeros((4, WIDTH), np.float32), **close
        )
        close_to_python(linear_scores, linear_scores.score_mixed, rows, positions, *arguments[1:], scores, **close)
        linear_scores.score_mixed(rows, positions, *arguments[1:], scores)
        same(scores, expected, **({} if n_dense == 6 else close))
        found = [np.full(10, -np.inf, np.float32), np.zeros(10, np.int64)]
        close_to_python(linear_scores, linear_scores.best_of_mixed, rows, positions, *arguments[1:], *found, **close)
        linear_scores.best_of_mixed(rows, positions, *arguments[1:], *found)
        same(found[0], best[0], **({} if n_dense == 6 else close))
        np.testing.assert_array_equal(found[1], best[1])


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, linear_scores) == []
