"""The perceptrons' kernels against their Python twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import perceptron
from cladist.labels import LabelMatrix
from tests.strategies import multilabel_problems
from tests.twins import kernels_not_named_in


def scratch(n_nodes):
    return tuple(np.zeros((3, n_nodes))), np.zeros(n_nodes, np.int64), tuple(np.zeros((3, n_nodes), bool))


def run(function, problem, gated, average, wants_margins):
    taxonomy, X, on = problem
    labels, rows = LabelMatrix.from_indicator(sparse.csr_array(on), taxonomy), sparse.csr_array(X)
    n, d, N = len(X), X.shape[1], taxonomy.n_nodes
    W, acc, seen = np.zeros((d, N)), np.zeros((d if average else 0, N)), np.zeros(N, np.int64)
    margins, h_losses = np.zeros((n if wants_margins else 0, N)), np.zeros(n, np.int64)
    csr, tree = (rows.indptr, rows.indices, rows.data), (taxonomy.child_start, len(taxonomy.roots))
    given_labels = (labels.indptr, labels.indices)
    function(csr, given_labels, tree, gated, W, acc, seen, -1.0, scratch(N), margins, h_losses)
    return W, acc, seen, margins, h_losses


def run_by_kernel(function, problem, gated, wants_margins):
    taxonomy, X, on = problem
    labels = LabelMatrix.from_indicator(sparse.csr_array(on), taxonomy)
    n, N = len(X), taxonomy.n_nodes
    seen, steps, when = np.zeros(N, np.int64), np.zeros((n, N)), np.zeros((n, N), np.int64)
    margins, h_losses = np.zeros((n if wants_margins else 0, N)), np.zeros(n, np.int64)
    function(
        np.zeros((n, N)),
        np.zeros((n, N)),
        X @ X.T,
        X.any(axis=1),
        (labels.indptr, labels.indices),
        (taxonomy.child_start, len(taxonomy.roots)),
        gated,
        seen,
        -1.0,
        scratch(N),
        steps,
        when,
        margins,
        h_losses,
    )
    return seen, steps, when, margins, h_losses


@settings(max_examples=20)
@given(multilabel_problems(), st.booleans(), st.booleans(), st.booleans())
def test_rounds_equal_their_twin_and_the_kernel_form(problem, gated, average, wants_margins):
    compiled = run(perceptron.run_rounds, problem, gated, average, wants_margins)
    twin = run(perceptron.run_rounds.py_func, problem, gated, average, wants_margins)
    for found, expected in zip(compiled, twin, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    by_kernel = run_by_kernel(perceptron.run_kernel_rounds, problem, gated, wants_margins)
    for found, expected in zip(
        by_kernel, run_by_kernel(perceptron.run_kernel_rounds.py_func, problem, gated, wants_margins), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    seen, steps, when, _, h_losses = by_kernel
    np.testing.assert_array_equal(seen, compiled[2])
    np.testing.assert_allclose(problem[1].T @ steps, compiled[0], atol=1e-10)
    if average:
        np.testing.assert_array_equal(h_losses, compiled[4])
        np.testing.assert_allclose(problem[1].T @ (steps * when), compiled[1], atol=1e-9)


@given(multilabel_problems(), st.booleans())
def test_shown_nodes_and_h_loss(problem, gated):
    taxonomy, _, on = problem
    N = taxonomy.n_nodes
    wrong = np.random.default_rng(0).random(N) < 0.5
    for row in on:
        nodes = np.flatnonzero(row)
        shown = {v for v, p in enumerate(taxonomy.parent) if not gated or p < 0 or row[p]}
        expected = sum(
            bool(wrong[v]) and not any(wrong[u] for u in taxonomy.path_ids(v)[:-1])
            for v, p in enumerate(taxonomy.parent)
            if p < 0 or row[p]
        )
        for show, charge in (
            (perceptron.shown_nodes, perceptron.first_mistakes),
            (perceptron.shown_nodes.py_func, perceptron.first_mistakes.py_func),
        ):
            out = np.zeros(N, np.int64)
            n = show(nodes, taxonomy.child_start, len(taxonomy.roots), gated, out)
            assert set(out[:n]) == shown
            assert charge(nodes, taxonomy.child_start, len(taxonomy.roots), wrong, np.zeros(N, bool)) == expected


def test_scores_and_steps_of_some_nodes():
    W = np.arange(6.0).reshape(2, 3) - 2
    for score, mark in (
        (perceptron.some_scores, perceptron.mark_mistakes),
        (perceptron.some_scores.py_func, perceptron.mark_mistakes.py_func),
    ):
        s, seen = np.full(3, 9.0), np.array([1, 0, 0])
        score(np.array([0, 1]), np.array([1.0, 2.0]), W, np.array([0, 2]), 2, s)
        assert s.tolist() == [0.0, 9.0, 6.0]
        wrong, step = np.zeros(3, bool), np.full(3, 7.0)
        mark(np.array([0, 2]), 2, np.array([False, True, True]), s, np.zeros(3), seen, -1.0, True, wrong, step)
        assert seen.tolist() == [2, 0, 1]
        assert wrong.tolist() == [True, False, True]  # the third has seen no row and predicts −1 …
        assert step.tolist() == [-1.0, 7.0, 0.0]  # … but changes by its score


@given(multilabel_problems(), st.booleans())
def test_a_row_is_decided_like_its_twin(problem, has_length):
    taxonomy, X, on = problem
    N, tree = taxonomy.n_nodes, (taxonomy.child_start, len(taxonomy.roots))
    results = []
    for decide in (perceptron.decide_round, perceptron.decide_round.py_func):
        space, seen, margins = scratch(N), np.arange(N) % 2, np.zeros((1, N))
        space[0][0][:] = np.resize(X[0], N)
        nodes = np.flatnonzero(on[0])
        n_shown = perceptron.shown_nodes(nodes, *tree, True, space[1])
        loss = decide(nodes, tree, n_shown, has_length, seen, -1.0, space, margins)
        assert not space[2][0].any()
        assert has_length or (not space[0][2].any() and seen.tolist() == (np.arange(N) % 2).tolist())
        results.append((loss, seen.tolist(), margins.tolist(), space[0][2].tolist()))
    assert results[0] == results[1]


def test_every_kernel_is_here():
    assert not kernels_not_named_in(__file__, perceptron)
