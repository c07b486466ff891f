"""Kernels over single labels and over listed competitors: each against its own Python source."""

import numpy as np
import pytest
from scipy import sparse

from cladist.kernels import path_margin
from tests.twins import kernels_not_named_in, same_as_python

PARENT = np.array([-1, 0, 0, 1, -1])
NODES = np.array([2, 3, 4])


def setting(seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.normal(size=(6, 4)))
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    losses = rng.uniform(0.5, 2, (3, 3))
    np.fill_diagonal(losses, 0)
    tree = PARENT, NODES, rng.uniform(0.5, 2, 3), rng.uniform(0.5, 2, 5)
    return rng, X, rows, losses, tree


def same_runs(kernels, run):
    """Run something with a kernel and with its Python source; what it returns must be equal."""
    found = [run(*(k if compiled else k.py_func for k in kernels)) for compiled in (True, False)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    return found[0]


@pytest.mark.parametrize("slack", [False, True])
def test_labels(slack):
    rng, X, rows, losses, tree = setting()
    features = np.zeros((3, 5))
    for r in range(3):
        for kernel in (path_margin.add_path, path_margin.add_path.py_func):
            kernel(tree, r, 0.5, features[r])
    scores = rng.normal(size=5)
    *_, gains = same_as_python(path_margin.label_gains, scores, 1, losses[1], tree, slack, np.empty(5), np.empty(3))
    kappa = losses[1] if slack else np.ones(3)
    expected = losses[1] + kappa * ((features - features[1]) @ scores)
    expected[1] = 0
    np.testing.assert_allclose(gains, expected)
    true, squares = rng.integers(0, 3, 6), (X.toarray() ** 2).sum(axis=1)

    def ascended(kernel):
        own, masses, change = scores.copy(), np.array([0.2, 0.5, 0.3]), np.empty(5)
        room = np.empty(5), np.empty(3), np.empty(5)
        gap = kernel(own, masses, 1, losses[1], tree, slack, (1.0, 5, 0.0), 0.7, room, change)
        return gap, own, masses, change

    _, own, masses, change = same_runs([path_margin.ascend_labels], ascended)
    np.testing.assert_allclose(own, scores + 0.7 * change)
    assert np.isclose(masses.sum(), 1)

    def swept(sweep, measure):
        W, masses, gaps = np.zeros((4, 5)), np.eye(3)[true], np.zeros(6)
        sweep(rows, W, np.array([3, 0, 5]), masses, true, losses, tree, slack, (1.0, 3, 0.0), squares, gaps)
        found = np.zeros(6), np.zeros(6), np.zeros(6)
        measure(rows, W, 1, 6, masses, true, losses, tree, slack, 1.0, *found)
        return W, masses, gaps, *found

    same_runs([path_margin.sweep_labels, path_margin.measure_labels], swept)


def test_listed_competitors():
    rng, X, rows, _, _ = setting(1)
    start, losses, differences = np.array([0, 2, 2, 5, 6, 6, 8]), rng.uniform(0, 2, 8), rng.normal(size=(8, 5))
    squares, scores = (X.toarray() ** 2).sum(axis=1), rng.normal(size=5)
    highest = same_as_python(path_margin.vertex_gains, scores, differences, losses, np.empty(8))
    assert np.isclose(highest, max(0, (losses - differences @ scores).max()))

    def ascended(kernel):
        masses, change = np.array([0.2, 0.0, 0.5]), np.empty(5)
        gap = kernel(scores, masses, differences[:3], losses[:3], (1.0, 8, 0.0), 0.7, change)
        return gap, masses, change

    gap, masses, change = same_runs([path_margin.ascend_vertices], ascended)
    np.testing.assert_allclose(change, (masses - [0.2, 0, 0.5]) @ differences[:3])
    assert gap >= 0
    assert masses.min() >= 0
    assert masses.sum() <= 1 + 1e-12

    def swept(sweep, measure):
        W, masses, gaps = np.zeros((4, 5)), np.zeros(8), np.full(6, np.inf)
        sweep(rows, W, np.arange(6), start, masses, differences, losses, (1.0, 3, 0.0), squares, gaps)
        found = np.zeros(6), np.zeros(6)
        measure(rows, W, 0, 6, start, masses, differences, losses, 1.0, *found)
        return W, masses, gaps, *found

    same_runs([path_margin.sweep_vertices, path_margin.measure_vertices], swept)


def test_every_kernel_is_tested():
    assert kernels_not_named_in(__file__, path_margin) == []
