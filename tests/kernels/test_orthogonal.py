"""Kernels of orthogonal transfer: each against its own Python source and against dense linear algebra."""

import numpy as np
import pytest
from scipy import sparse

from cladist.kernels import orthogonal
from cladist.solvers.structured.orthogonal import RelatedNodes
from tests.twins import kernels_not_named_in, same_as_python

PARENT = np.array([-1, 0, 0, 1, 1, -1, 5])


def metric(seed=0):
    """A random metric: its arrays, its factors, and the whole matrix."""
    rng, related = np.random.default_rng(seed), RelatedNodes(PARENT)
    below, diagonal = np.zeros(related.above.shape), related.n_related + rng.uniform(0.1, 1, len(PARENT))
    below[related.nodes, related.places] = rng.uniform(-1, 1, len(related.nodes))
    M = np.diag(diagonal)
    M[related.nodes, related.ancestors] = M[related.ancestors, related.nodes] = below[related.nodes, related.places]
    factors = same_as_python(orthogonal.factorise, related.above, related.depth, below, diagonal)
    return rng, tuple(factors), M


@pytest.mark.parametrize("seed", range(5))
def test_solutions(seed):
    rng, factors, M = metric(seed)
    Y = rng.normal(size=(3, len(M)))
    *_, y = same_as_python(orthogonal.solve, *factors, Y[0])
    np.testing.assert_allclose(M @ y, Y[0], atol=1e-12)
    *_, solved = same_as_python(orthogonal.solve_rows, *factors, Y)
    np.testing.assert_allclose(solved @ M, Y, atol=1e-12)


def same_runs(kernels, run):
    found = [run(*(k if compiled else k.py_func for k in kernels)) for compiled in (True, False)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    return found[0]


def test_ascent_raises_the_dual_of_a_row():
    rng, factors, M = metric()
    own, rival = np.array([3, 1, 0]), np.array([4, 2, 5])
    scores, square = rng.normal(size=7), 0.7
    gains = np.empty(3)
    assert same_as_python(orthogonal.pair_gains, scores, own, rival, gains) >= 0
    highest = orthogonal.pair_gains(scores, own, rival, gains)
    np.testing.assert_allclose(gains, 1 - scores[own] + scores[rival])
    assert highest == max(0.0, gains.max())

    def ascended(kernel):
        after, masses, change = scores.copy(), np.array([0.2, 0.0, 0.3]), np.empty(7)
        gap = kernel(after, masses, own, rival, factors, (1.0, 50, 0.0), square, (np.empty(3), np.empty(7)), change)
        return gap, after, masses, change

    gap, after, masses, change = same_runs([orthogonal.ascend_pairs], ascended)
    assert gap > 0
    assert masses.min() >= 0
    assert masses.sum() <= 1 + 1e-12
    np.testing.assert_allclose(after, scores + square * np.linalg.solve(M, change), atol=1e-12)
    gains = 1 - after[own] + after[rival]
    assert max(0, gains.max()) - masses @ gains <= 1e-6, "the row's gap is closed"


def test_sweeps_and_measurements():
    rng, factors, M = metric()
    X = sparse.csr_array(rng.normal(size=(6, 4)))
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    begin, own, rival = np.array([0, 2, 3, 3]), np.array([3, 0, 2]), np.array([4, 5, 1])
    labels = np.array([0, 1, 2, 0, 1, 0])  # the third has no competitor
    start = np.concatenate([[0], np.cumsum(np.diff(begin)[labels])])
    competitors, squares = (begin[labels], own, rival), (X.toarray() ** 2).sum(axis=1)

    def swept(sweep, measure):
        A, masses, gaps = np.zeros((4, 7)), np.zeros(start[-1]), np.zeros(6)
        state = start, masses, competitors
        sweep(rows, A, np.array([3, 0, 2, 5]), *state, factors, (1.0, 3, 0.0), squares, gaps)
        slacks, measured = np.zeros(6), np.zeros(6)
        W = np.linalg.solve(M, A.T).T.copy()
        measure(rows, W, 0, 6, *state, 1.0, slacks, measured)
        return A, masses, gaps, W, slacks, measured

    A, masses, _, W, slacks, measured = same_runs([orthogonal.sweep_pairs, orthogonal.measure_pairs], swept)
    expected = np.zeros((4, 7))
    for i, label in enumerate(labels):
        gains = [0.0]
        for r in range(begin[label], begin[label + 1]):
            mass = masses[start[i] + r - begin[label]]
            expected[:, own[r]] += mass * X.toarray()[i]
            expected[:, rival[r]] -= mass * X.toarray()[i]
            gains.append(1 - X.toarray()[i] @ (W[:, own[r]] - W[:, rival[r]]))
        assert slacks[i] == pytest.approx(max(gains))
        assert measured[i] >= -1e-12
    np.testing.assert_allclose(A, expected, atol=1e-12)


def test_every_kernel_is_tested():
    assert not kernels_not_named_in(__file__, orthogonal)
