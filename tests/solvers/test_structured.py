"""Joint features summed up, scores kept, columns kept: the parts of structured solvers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import LabelMatrix, Taxonomy
from cladist.decoders import best_labelling, second_best_labelling
from cladist.solvers.structured.columns import BLOCK, ColumnStore, blocks
from cladist.solvers.structured.perceptron import Expansion, RowWeights, ScoreCache

FOREST = Taxonomy.from_paths(["a/b/c", "a/d", "e", "f/g"])


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_an_expansion_is_the_matrix_it_stands_for(seed, with_start):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 4))
    made, W, states, weights = Expansion(5), np.zeros((5, 4)), [], []
    if with_start:
        rows, coefs = np.array([1, 3]), rng.normal(size=(2, 5))
        W = coefs.T @ X[rows]
        made.begin_with(rows, coefs, float((W * W).sum()))
    for _ in range(8):
        weights.append(rng.random())
        states.append(W)
        made.count(weights[-1])
        i, c = int(rng.integers(6)), rng.integers(-1, 2, 5) * 2.0
        nodes = np.flatnonzero(c)
        made.add(i, nodes, c[nodes], margin=float(c @ W @ X[i]), square=float(X[i] @ X[i]))
        W = W + np.outer(c, X[i])
        assert made.squared_norm == pytest.approx((W * W).sum(), abs=1e-9)
    rows, last = made.last()
    assert np.all(np.diff(rows) > 0)
    np.testing.assert_allclose(last @ X[rows], W, atol=1e-12)
    rows, mean = made.average()
    expected = sum(w * state for w, state in zip(weights, states, strict=True)) / 8
    np.testing.assert_allclose(mean @ X[rows], expected, atol=1e-12)
    rows, counted = made.counted()
    np.testing.assert_allclose((made.running * W - counted @ X[rows]) / 8, expected, atol=1e-12)


def test_an_empty_expansion():
    rows, coefs = Expansion(3).last()
    assert len(rows) == 0
    assert coefs.shape == (3, 0)


def test_a_score_cache_has_margins_and_runners_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    labels = LabelMatrix.from_indicator(best_labelling(rng.normal(size=(40, 7)), FOREST).to_indicator(), FOREST)
    cache = ScoreCache(labels, np.zeros((7, 40)), np.zeros((7, 40)))
    W, counted = np.zeros((7, 4)), np.zeros((7, 4))
    for k in range(10):
        for a, b in ((0, 15), (15, 40)):
            cache.advance(a, b)
        i = int(rng.integers(40))
        nodes, values, margin = cache.runner_up(i)
        assert margin == pytest.approx(cache.margins[i])
        assert set(np.abs(values)) == {2.0}
        for a, b in ((0, 15), (15, 40)):
            cache.advance(a, b, nodes, values, X @ X[i], k / 10)
        c = np.zeros(7)
        c[nodes] = values
        W += np.outer(c, X[i])
        counted += k / 10 * np.outer(c, X[i])
    np.testing.assert_allclose(cache.scores, W @ X.T, atol=1e-12)
    np.testing.assert_allclose(cache.counted, counted @ X.T, atol=1e-12)
    cache.advance(0, 40)
    scores, marks = X @ W.T, labels.to_indicator().toarray()
    best = best_labelling(scores, FOREST).to_indicator().toarray()
    short = ((best - marks) * scores).sum(axis=1)
    right = (best == marks).all(axis=1)
    expected = 2 * np.where(right, second_best_labelling(scores, FOREST).leads, -short)
    np.testing.assert_allclose(cache.margins, expected, atol=1e-12)
    np.testing.assert_allclose(cache.margins_of(np.ascontiguousarray(scores.T)), expected, atol=1e-12)


def test_columns_used_longest_ago_go_first():
    store = ColumnStore(4, 8 * 4 * 2)
    assert store.capacity == 2
    for i in (5, 6):
        column, known = store.look(i)
        assert not known
        column[:] = i
    assert store.look(5) == (store.columns[5], True)
    column, known = store.look(7)  # 6 goes
    assert not known
    assert list(store.columns) == [5, 7]
    assert store.look(5)[0].tolist() == [5.0] * 4
    assert ColumnStore(10**6, 1.0).capacity == 1


def test_blocks_cover_all_rows_once():
    for first, last in ((0, 0), (0, 1), (3, 3 + BLOCK), (5, 5 * BLOCK)):
        rows = [r for a, b in blocks(first, last) for r in range(a, b)]
        assert rows == list(range(first, last))


@given(st.integers(0, 2**32 - 1))
def test_rows_are_drawn_by_their_weights(seed):
    rng = np.random.default_rng(seed)
    weights, margins = RowWeights(20), rng.normal(size=20)
    assert weights.draw(0.0) == 0
    assert weights.draw(0.999999) == 19
    weights.update(margins, 0.1)
    v = 0.1 * margins
    np.testing.assert_allclose(weights.u, 1 - v + v * v)
    assert weights.total == pytest.approx(weights.u.sum())
    uniform = rng.random()
    assert weights.draw(uniform) == np.searchsorted(np.cumsum(weights.u), uniform * weights.total, side="right")
    weights.u *= 1e200  # far out of range: scaled back, and drawn by the same shares
    weights.total *= 1e200
    expected = int(np.searchsorted(np.cumsum(weights.u / weights.u.max()), 0.5 * (weights.u / weights.u.max()).sum()))
    assert weights.draw(0.5) == expected
    assert weights.u.max() == 1
