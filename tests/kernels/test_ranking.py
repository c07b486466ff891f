"""The best few of many: the kernels against their Python source and against sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels import linear_scores, top_k
from cladist.linear_model import sparse as sparse_form
from cladist.linear_model.sparse import SparseWeights
from tests.kernels.sources import compared
from tests.twins import kernels_not_named_in, same_as_python

numbers = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, -np.inf, np.nan]), max_size=12)


@given(numbers, st.integers(1, 5))
def test_a_heap_keeps_the_best(scores, k):
    kept, ids, size = np.empty(k, np.float32), np.empty(k, np.int64), 0
    for number, score in enumerate(np.float32(scores)):
        same_as_python(top_k.is_worse, np.nan_to_num(score), number, np.float32(0), 2)
        size = compared(top_k.keep_best, top_k)(kept, ids, size, score, number)
    same_as_python(top_k.sift_down, kept[:size].copy(), ids[:size].copy(), size, 0)
    compared(top_k.sort_best, top_k)(kept, ids, size)
    assert size == min(k, len(scores))
    finite = np.where(np.isnan(scores), -np.inf, scores)
    assert ids[:size].tolist() == np.argsort(-finite, kind="stable")[:k].tolist()


@st.composite
def problems(draw):
    """A sparse matrix of weights, some of whose features weigh on nearly all classes, and rows."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, n_features = draw(st.integers(1, 30)), draw(st.integers(1, 8))
    W = random.integers(-4, 5, (n_classes, n_features)) / 2 * (random.random((n_classes, n_features)) < 0.5)
    X = random.integers(-3, 4, (5, n_features)) * (random.random((5, n_features)) < 0.6)
    return W, random.integers(-2, 3, n_classes) / 2, X


@settings(deadline=None, max_examples=30)
@given(problems(), st.sampled_from([0.0, 0.4, 1.0]), st.integers(1, 4))
def test_the_best_by_index_are_those_of_the_product(problem, full_above, k):
    W, intercepts, X = problem
    weights, k = SparseWeights.from_matrix(sparse.csr_array(W), intercepts), min(k, len(W))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_form, "FULL_ABOVE", full_above)
        patch.setattr(sparse_form.top_k, "top_by_index", compared(top_k.top_by_index, top_k, linear_scores))
        best, scores = weights.top_k(X, k)
    expected = X @ W.T + intercepts
    np.testing.assert_array_equal(best, np.argsort(-expected, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(scores, np.take_along_axis(expected, best, axis=1))


def test_more_nodes_than_fit_a_tile():
    random = np.random.default_rng(0)
    n_classes = 2 * top_k.TILE + 7
    W = sparse.random_array((n_classes, 40), density=0.2, rng=random, format="csr")
    W.data[:] = random.integers(-4, 5, W.nnz) / 2
    X = random.integers(0, 3, (20, 40))
    weights = SparseWeights.from_matrix(W, np.zeros(n_classes))
    expected = X @ W.toarray().T
    for share in (0.0, 0.2, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sparse_form, "FULL_ABOVE", share)
            weights.__dict__.pop("_ranking", None)
            best, _ = weights.top_k(X, 5)
        np.testing.assert_array_equal(best, np.argsort(-expected, axis=1, kind="stable")[:, :5])


@settings(deadline=None)
@given(st.sampled_from([-1, 7, 2**31 - 1, -(2**31)]), st.booleans())
def test_a_node_that_is_not_there_is_passed_by_and_told(node, in_full):
    """In whatever place of a list it stands; `top_k.add_tile`, `top_k.find_lists`, `top_k.sort_rows`,
    `top_k.add_parents` and `top_k.keep_best_of` are those of `top_by_index`.
    """
    nodes = np.array([0, node, 3], np.int32)
    lists = np.array([0], np.int32), np.array([0, 3]), nodes, np.ones(3, np.float32)
    rows = np.array([0, 1]), np.array([0]), np.ones(1, np.float32)
    tree = np.zeros(7, np.float32), np.zeros(0, np.int64), np.arange(7)
    room = np.zeros((1, 7), np.float32), np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    best = np.zeros((1, 2), np.float32), np.zeros((1, 2), np.int64)
    index = (*lists, np.full(1, -1))
    top = compared(top_k.top_by_index, top_k, linear_scores)
    assert not top(rows, 0, index, tree, np.zeros((0, 7), np.float32), room, *best)
    assert set(best[1][0]) <= set(range(7))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_form, "FULL_ABOVE", 0.0 if in_full else 1.0)
        with pytest.raises(ModelFormatError, match="altered or damaged"):
            sparse_form.rank_by_index(rows, 1, 2, sparse_form.InvertedIndex.from_lists(lists, 7), tree)


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, top_k) == []
