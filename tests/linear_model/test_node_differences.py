"""Weights as differences: scores, best classes and matrices are those of the plain matrix, whatever way is taken."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.linear_model import node_differences
from cladist.linear_model import sparse as sparse_form
from cladist.linear_model.node_differences import LevelOrder
from cladist.linear_model.path_sums import DifferenceBuilder
from cladist.linear_model.problem_tree import ProblemTree
from cladist.storage import is_mapped
from cladist.storage.scratch import Spool


@st.composite
def trees(draw):
    """A forest with some leaves that have no problem, and so play no part."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_nodes = draw(st.integers(1, 40))
    parent = np.array([-1 if v == 0 or random.random() < 0.1 else random.integers(0, v) for v in range(n_nodes)])
    has_child = np.isin(np.arange(n_nodes), parent)
    leaves = np.flatnonzero(~has_child)
    kept = leaves[random.random(len(leaves)) < 0.8] if len(leaves) > 1 else leaves
    return ProblemTree(parent, random.permutation(kept if len(kept) else leaves[:1]))


def halves(random, *shape):
    return (random.integers(-6, 7, shape) / 2 * (random.random(shape) < 0.5)).astype(np.float32)


def made(tree, random, n_features=7, prune=0.0):
    """Return the weights, and differences and intercepts of all nodes as plain arrays."""
    order = LevelOrder.from_tree(tree)
    V, bias = halves(random, len(tree.parent), n_features), halves(random, len(tree.parent))
    V[~tree.in_use], bias[~tree.in_use] = 0, 0
    feature_of = random.permutation(n_features).astype(np.int64)
    builder = DifferenceBuilder(order, feature_of, n_features, prune)
    nodes = random.permutation(order.node_at)
    for first in range(0, len(nodes), 16):
        some = nodes[first : first + 16]
        block, constants = np.zeros((n_features, 16), np.float32), np.zeros(16, np.float32)
        block[:, : len(some)], constants[: len(some)] = V[some][:, feature_of].T, bias[some]
        builder.add(some, block, constants)
    return builder.build(), np.where(np.abs(V) > prune, V, 0), bias


def path_sums(tree, values):
    sums = np.zeros_like(values)
    for node, above in enumerate(tree.parent):
        sums[node] = values[node] + (sums[above] if above >= 0 else 0)
    return sums


cases = st.tuples(trees(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.6]))


@pytest.fixture(autouse=True)
def small_rooms(monkeypatch):
    monkeypatch.setattr(node_differences, "PAIRS_AT_ONCE", 50)
    monkeypatch.setattr(node_differences, "SCORES_AT_ONCE", 50)
    monkeypatch.setattr(sparse_form, "SCORES_AT_ONCE", 50)


@pytest.mark.parametrize("indexed", [True, False])
@settings(deadline=None)
@given(case=cases)
def test_scores_and_best_are_those_of_the_matrix(case, indexed):
    tree, seed, prune = case
    random = np.random.default_rng(seed)
    weights, V, bias = made(tree, random, prune=prune)
    W, b = path_sums(tree, V)[tree.leaves], path_sums(tree, bias)[tree.leaves]
    X = np.abs(halves(random, 9, V.shape[1]))
    expected = X @ W.T + b
    np.testing.assert_array_equal(weights.intercepts, b)
    np.testing.assert_array_equal(weights.matrix().toarray(), W)
    some = random.integers(0, len(tree.leaves), 3)
    np.testing.assert_array_equal(weights.matrix(some).toarray(), W[some])
    k = min(3, len(tree.leaves))
    order = np.argsort(-expected, axis=1, kind="stable")[:, :k]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_differences, "MOST_INDEX_BYTES", 2**30 if indexed else -1)
        patch.setattr(sparse_form, "FULL_ABOVE", random.choice([0.0, 0.3, 1.0]))
        assert weights.has_index == indexed
        np.testing.assert_array_equal(weights.scores(X), expected)
        np.testing.assert_array_equal(weights.best(X), expected.argmax(axis=1))
        for beam in (None, len(weights.bias), 1, 2):
            best, scores = weights.top_k(sparse.csr_array(X), k, beam)
            np.testing.assert_array_equal(scores, np.take_along_axis(expected, best, axis=1))
            assert np.all(np.diff(scores, axis=1) <= 0)
            if beam is None or beam > 2:  # it covers every level
                np.testing.assert_array_equal(best, order)


@settings(deadline=None, max_examples=30)
@given(cases)
def test_a_node_promises_no_less_than_any_leaf_below_it_gains(case):
    tree, seed, _ = case
    random = np.random.default_rng(seed)
    weights, V, _ = made(tree, random)
    order, chunks = weights.order, weights.chunks
    guides = np.zeros((len(order.node_at), V.shape[1]))
    for c in range(order.n_chunks):
        ends = chunks.ends[chunks.features_at[c] : chunks.features_at[c + 1]]
        columns = np.repeat(
            chunks.features[chunks.features_at[c] : chunks.features_at[c + 1]], np.diff(ends, prepend=0)
        )
        lanes = chunks.lanes[chunks.weights_at[c] : chunks.weights_at[c + 1]]
        led = lanes >= 128
        places = order.chunk_start[c] + lanes[led] - 128
        guides[places, columns[led]] = chunks.values[chunks.weights_at[c] : chunks.weights_at[c + 1]][led]
    sums = path_sums(tree, V)[order.node_at]
    for leaf in order.leaf_positions.tolist():
        above = order.parent[leaf]
        while above >= 0:
            assert np.all(sums[leaf] - sums[above] <= guides[above] + 1e-6)
            above = order.parent[above]


def test_a_row_whose_beam_reaches_too_few_leaves_is_answered_exactly():
    tree = ProblemTree(np.array([-1, -1, 0, 1, 1]), np.array([2, 3, 4]))
    weights, V, _ = made(tree, np.random.default_rng(0))
    X = np.abs(halves(np.random.default_rng(1), 5, V.shape[1]))
    for ours, exact in zip(weights.top_k(X, 3, 1), weights.top_k(X, 3), strict=True):
        np.testing.assert_array_equal(ours, exact)


def test_a_family_of_many_has_several_chunks():
    tree = ProblemTree(np.append(-1, np.zeros(300, np.int64)), np.arange(1, 301))
    weights, V, bias = made(tree, np.random.default_rng(3), n_features=20)
    assert np.diff(weights.order.chunk_start).tolist() == [1, 128, 128, 44]
    X = halves(np.random.default_rng(4), 6, 20)
    expected = X @ path_sums(tree, V)[1:].T + path_sums(tree, bias)[1:]
    np.testing.assert_array_equal(weights.scores(X), expected)
    np.testing.assert_array_equal(weights.top_k(X, 4, 1)[0], np.argsort(-expected, axis=1, kind="stable")[:, :4])


def test_pickled_without_its_index():
    weights, V, _ = made(ProblemTree(np.array([-1, 0, 0]), np.array([1, 2])), np.random.default_rng(0))
    X = np.abs(halves(np.random.default_rng(1), 3, V.shape[1]))
    weights.best(X)
    again = pickle.loads(pickle.dumps(weights))
    assert "index" in weights.__dict__
    assert "index" not in again.__dict__
    np.testing.assert_array_equal(again.scores(X), weights.scores(X))


@pytest.mark.parametrize("part", ["features", "ends", "lanes", "values"])
@pytest.mark.parametrize("indexed", [True, False])
def test_arrays_of_any_content_are_answered_or_refused_and_nothing_else(part, indexed, monkeypatch):
    """Numbers a damaged file may hold lead to no place outside: answers may be wrong, or are refused."""
    monkeypatch.setattr(node_differences, "MOST_INDEX_BYTES", 2**30 if indexed else -1)
    tree = ProblemTree(np.append(np.array([-1, 0, 0]), np.repeat([1, 2], 4)), np.arange(3, 11))
    X = np.abs(halves(np.random.default_rng(1), 50, 7))
    refused = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        weights, _, _ = made(tree, random)
        array = getattr(weights.chunks, part)
        raw = random.integers(0, 256, array.nbytes, dtype=np.uint8).view(array.dtype)
        weights.chunks = weights.chunks._replace(**{part: raw})
        with np.errstate(all="ignore"):
            for beam in (None, 2):
                try:
                    best, _ = weights.top_k(X, 3, beam)
                except ModelFormatError:
                    refused += 1
                else:
                    assert best.min() >= 0
                    assert best.max() < 8
    assert refused or part in ("ends", "lanes", "values")


@given(st.lists(st.integers(0, 5), max_size=6), st.sampled_from([0, 12, 2**20]))
def test_pieces_become_one_array_in_memory_or_in_a_file(lengths, in_memory):
    spool, pieces = Spool(np.float32, in_memory=in_memory), []
    for k, length in enumerate(lengths):
        pieces.append(np.full(length, k))
        assert spool.append(pieces[-1]) == sum(lengths[:k])
    whole = spool.array()
    np.testing.assert_array_equal(whole, np.concatenate([np.zeros(0), *pieces]))
    assert whole.dtype == np.float32
    assert is_mapped(whole) == (4 * sum(lengths) > in_memory)
