"""Large-margin problems over single labels, and cutting planes for both: optimum, gap, agreement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.execution import Serial
from cladist.losses import HLoss, SymmetricDifference
from cladist.solvers.structured.ascent import LabellingLoss, LinearLabellings, PathDual, PathLoss, Sweeps, ascend
from cladist.solvers.structured.cutting_plane import LabellingOracle, PathOracle, cutting_plane
from tests.solvers.structured_reference import labellings, optimum, random_forest, random_labels

seeds = st.integers(0, 2**32 - 1)


def path_problem(seed, *, n_rows=7, slack=False, plain=False):
    rng = np.random.default_rng(seed)
    taxonomy = random_forest(rng, 6, 1 + seed % 2)
    nodes = np.sort(rng.choice(6, 4, replace=False))
    losses = rng.uniform(0.2, 3, (4, 4))
    np.fill_diagonal(losses, 0)
    size, factor = (np.ones(4), np.ones(6)) if plain else (rng.uniform(0.5, 2, 4), rng.uniform(0.5, 2, 6))
    loss = PathLoss(losses, taxonomy.parent, nodes, size, factor, slack)
    return rng.normal(size=(n_rows, 3)), rng.integers(0, 4, n_rows), loss


def all_labels(true, loss):
    features = loss.features()
    kappa = loss.losses[true] if loss.slack else np.ones((len(true), 4))
    differences = [k[:, None] * (features[y] - features) for y, k in zip(true, kappa, strict=True)]
    return differences, [loss.losses[y] for y in true]


def test_features_are_paths():
    _, _, loss = path_problem(0)
    for r, v in enumerate(loss.nodes):
        path = []
        while v >= 0:
            path.append(v)
            v = loss.parent[v]
        expected = np.zeros(6)
        expected[path] = loss.size[r] * loss.factor[path]
        np.testing.assert_array_equal(loss.features()[r], expected)


@pytest.mark.parametrize("slack", [False, True], ids=["margin", "slack"])
@pytest.mark.parametrize("seed", [0, 1])
def test_both_solvers_find_the_optimum_over_labels(slack, seed):
    X, true, loss = path_problem(seed, slack=slack)
    expected, W = optimum(X, *all_labels(true, loss), 0.7)
    dual = PathDual(X, true, loss, 0.7)
    found = ascend(dual, Sweeps(tol=1e-9, n_sweeps=5000), np.random.RandomState(0))
    assert found.converged
    np.testing.assert_allclose(found.history[-1]["objective"], expected, rtol=1e-7)
    np.testing.assert_allclose(dual.W.T, W, atol=1e-3)
    cut, history, n_listed = cutting_plane(
        X, PathOracle(true, loss), 0.7, Sweeps(tol=1e-8), np.random.RandomState(0), Serial()
    )
    assert history.converged
    assert 0 < n_listed <= 4 * len(X)
    np.testing.assert_allclose(history.history[-1]["objective"], expected, rtol=1e-6)
    np.testing.assert_allclose(cut.T, W, atol=1e-3)


@given(seeds, st.booleans(), st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=30, deadline=None)
def test_duality_over_labels(seed, slack, C):
    X, true, loss = path_problem(seed, slack=slack)
    dual = PathDual(X, true, loss, C)
    history = ascend(dual, Sweeps(tol=1e-6, n_sweeps=40, measure_every=1), np.random.RandomState(0)).history
    duals = [entry["dual"] for entry in history]
    assert all(entry["dual"] <= entry["objective"] + 1e-9 for entry in history)
    assert np.all(np.diff(duals) >= -1e-9 * max(1, abs(duals[-1])))
    measured = dual.measure(Serial())
    np.testing.assert_allclose(dual.gaps.sum(), measured.primal - measured.dual, atol=1e-8 * max(1, measured.primal))
    competitors = zip(X, *all_labels(true, loss), strict=True)
    np.testing.assert_allclose(dual.slacks, [(ell - (d @ dual.W.T) @ x).max() for x, d, ell in competitors], atol=1e-9)
    assert dual.masses.min() >= 0
    np.testing.assert_allclose(dual.masses.sum(axis=1), C, rtol=1e-9)


@pytest.mark.parametrize("hierarchical", [False, True])
def test_cutting_planes_over_labellings_agree_with_the_other_solver(hierarchical):
    rng = np.random.default_rng(0)
    taxonomy = random_forest(rng, 6, 2)
    X, labels = rng.normal(size=(12, 3)), random_labels(rng, taxonomy, 12)
    factor, cost = rng.uniform(0.5, 2, 6), rng.uniform(0.5, 2, 6) if hierarchical else np.ones(6)
    dual = LinearLabellings(X, labels, LabellingLoss(cost, hierarchical, True, False, factor), 0.5)
    one = ascend(dual, Sweeps(tol=1e-8, n_sweeps=5000), np.random.RandomState(0)).history[-1]
    oracle = LabellingOracle(labels, HLoss(cost) if hierarchical else SymmetricDifference(), factor)
    W, found, _ = cutting_plane(X, oracle, 0.5, Sweeps(tol=1e-8), np.random.RandomState(0), Serial())
    assert found.converged
    np.testing.assert_allclose(found.history[-1]["objective"], one["objective"], rtol=1e-6)
    np.testing.assert_allclose(W, dual.W, atol=1e-3)
    rounds = [entry["dual"] for entry in found.history]
    assert np.all(np.diff(rounds) >= -1e-9)


def test_the_oracle_over_labellings_is_the_most_violated_one():
    rng = np.random.default_rng(1)
    taxonomy = random_forest(rng, 6, 2)
    labels, scores, factor = random_labels(rng, taxonomy, 9), rng.normal(size=(9, 6)), rng.uniform(0.5, 2, 6)
    loss = HLoss("sibling")
    found = LabellingOracle(labels, loss, factor).worst(slice(0, 9), scores)
    every = labellings(taxonomy.parent, consistent=True)
    for i, y in enumerate(labels.to_indicator().toarray()):
        losses = loss.per_example(np.tile(y, (len(every), 1)), every, taxonomy)
        values = losses - 2 * ((y - every) * factor) @ scores[i]
        np.testing.assert_allclose(found.values[i], values.max(), atol=1e-12)
        np.testing.assert_allclose(found.losses[i], losses[values.argmax()], atol=1e-12)
