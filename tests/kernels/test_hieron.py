"""Hieron's kernels against their Python twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import hieron
from cladist.taxonomy import Taxonomy

TREE = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e", "f/g"])


def run(function, seed, *, by_margin, average, dtype=np.float64):
    random = np.random.default_rng(seed)
    X = sparse.csr_array(random.normal(size=(15, 6)) * (random.random((15, 6)) < 0.5)).astype(dtype)
    labels = random.integers(0, TREE.n_nodes, 15)
    W = np.zeros((6, TREE.n_nodes), dtype)
    acc = np.zeros_like(W) if average else np.empty((0, 0), dtype)
    tally = np.zeros(hieron.TALLY)
    margin = np.sqrt(np.arange(9.0))
    allowed = random.random(TREE.n_nodes) < 0.8
    allowed[labels] = True
    lately = 0 if by_margin else 1
    since = np.where(allowed, random.integers(-1, 15, TREE.n_nodes) * lately, np.iinfo(np.int64).max)
    predictions = np.zeros(15, np.int64)
    function(
        (X.indptr, X.indices, X.data),
        labels,
        random.permutation(15),
        W,
        acc,
        (TREE.parent, TREE.depth),
        (margin, by_margin, since, 0.7),
        1,
        0,
        tally,
        predictions,
    )
    return W, acc, tally, predictions


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_rounds_equal_their_twin(seed, by_margin, average):
    compiled = run(hieron.run_rounds, seed, by_margin=by_margin, average=average)
    twin = run(hieron.run_rounds.py_func, seed, by_margin=by_margin, average=average)
    for found, expected in zip(compiled, twin, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_scores_and_predictions_equal_their_definition(seed):
    random = np.random.default_rng(seed)
    X = sparse.csr_array(random.normal(size=(8, 6)) * (random.random((8, 6)) < 0.5))
    W = random.normal(size=(6, TREE.n_nodes))
    allowed = random.random(TREE.n_nodes) < 0.7
    allowed[0] = True
    out = np.empty(8, np.int64)
    hieron.predict_rows((X.indptr, X.indices, X.data), W, TREE.parent, allowed, out)
    paths = np.array([[u in TREE.path_ids(v) for u in range(TREE.n_nodes)] for v in range(TREE.n_nodes)])
    S = X @ W @ paths.T
    np.testing.assert_array_equal(out, np.where(allowed, S, -np.inf).argmax(axis=1))
    twin = np.empty(8, np.int64)
    hieron.predict_rows.py_func((X.indptr, X.indices, X.data), W, TREE.parent, allowed, twin)
    np.testing.assert_array_equal(out, twin)


@pytest.mark.parametrize("y", range(TREE.n_nodes))
def test_paths_get_exactly_the_nodes_between(y):
    for r in range(TREE.n_nodes):
        W, acc = np.zeros((1, TREE.n_nodes)), np.zeros((1, TREE.n_nodes))
        for add in (hieron.add_to_path, hieron.add_to_path.py_func):
            W[:], acc[:] = 0, 0
            add(W, np.array([0]), np.array([1.0]), y, r, TREE.parent, 0.5, acc, 3)
            expected = set(TREE.path_ids(y)) - set(TREE.path_ids(r))
            assert set(np.flatnonzero(W[0] == 0.5)) == expected
            assert set(np.flatnonzero(acc[0] == 1.5)) == expected


def test_subtracting_writes_only_where_there_is_something():
    W, acc = np.array([[1.0, 2.0]]), np.array([[0.0, 4.0]])
    for subtract in (hieron.subtract_nonzero, hieron.subtract_nonzero.py_func):
        copy = W.copy()
        subtract(copy, acc, 2.0)
        np.testing.assert_array_equal(copy, [[1.0, 0.0]])


@given(st.integers(0, 2**32 - 1))
def test_updates_score_like_weights(seed):
    random = np.random.default_rng(seed)
    n = 5
    updates = (
        random.integers(0, 3, n),
        random.random(n),
        random.integers(0, TREE.n_nodes, n),
        random.integers(0, TREE.n_nodes, n),
    )
    column = random.normal(size=3)
    expected = np.zeros(TREE.n_nodes)
    for support, alpha, y, r in zip(*updates, strict=True):
        expected[TREE.path_ids(y)] += alpha * column[support]
        expected[TREE.path_ids(r)] -= alpha * column[support]
    for score in (hieron.score_updates, hieron.score_updates.py_func):
        s = np.empty(TREE.n_nodes)
        score(column, updates, n, TREE.parent, s)
        np.testing.assert_allclose(s, expected, atol=1e-12)
