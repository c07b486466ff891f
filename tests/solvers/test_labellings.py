"""Large-margin problems over labellings: both objectives, the gap, and the optimum by listing all labellings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from cladist import Taxonomy
from cladist.execution import Serial, Threads
from cladist.kernels import markov
from cladist.labels import encode
from cladist.losses import HLoss, SymmetricDifference, node_costs
from cladist.solvers.structured.ascent import KernelLabellings, LabellingLoss, LinearLabellings, Sweeps, ascend
from tests.solvers.structured_reference import (
    edge_features,
    edge_states,
    labellings,
    optimum,
    random_forest,
    random_labels,
    simple_loss,
)

LOSSES = [("hamming", "uniform"), *(("hierarchical", w) for w in ("uniform", "sibling", "subtree"))]
seeds = st.integers(0, 2**32 - 1)


class Columns:
    """A linear kernel, by its matrix."""

    def __init__(self, X):
        self.gram = X @ X.T
        self.diagonal = np.diag(self.gram).copy()

    def fill(self, i, first, last, out):
        out[:] = self.gram[i, first:last]


def problem(seed=0, *, n_rows=6, n_nodes=5, n_features=3, n_roots=1):
    rng = np.random.default_rng(seed)
    taxonomy = random_forest(rng, n_nodes, n_roots)
    return rng.normal(size=(n_rows, n_features)), random_labels(rng, taxonomy, n_rows)


def loss_of(labels, loss=("hamming", "uniform"), *, consistent=False, edges=True, factor=None):
    cost = node_costs(loss[1], labels.taxonomy)
    factor = np.ones(len(cost)) if factor is None else factor
    return LabellingLoss(cost, loss[0] == "hierarchical", consistent, edges, factor)


def all_competitors(labels, loss):
    """Feature differences and losses of all labellings, a row each."""
    parent = labels.taxonomy.parent
    every = labellings(parent, consistent=loss.consistent)
    differences, losses = [], []
    for y in labels.to_indicator().toarray():
        if loss.edges:
            differences.append(edge_features(y, parent) - edge_features(every, parent))
        else:
            differences.append(2.0 * loss.factor * (y - every))
        losses.append(np.array([simple_loss(y, u, parent, loss.cost, hierarchical=loss.hierarchical) for u in every]))
    return differences, losses


@given(seeds, st.sampled_from(LOSSES), st.integers(1, 3))
@settings(max_examples=30)
def test_edge_losses_sum_to_the_loss(seed, name, n_roots):
    _, labels = problem(seed, n_roots=n_roots)
    loss, parent = loss_of(labels, name), labels.taxonomy.parent
    gains, every = np.empty((len(parent), 4)), labellings(parent, consistent=False)
    form = HLoss(name[1], simplified=True) if name[0] == "hierarchical" else SymmetricDifference()
    for y in labels.to_indicator().toarray():
        markov.fill_gains(np.zeros(4 * len(parent)), y.astype(np.uint8), parent, tuple(loss), gains)
        summed = np.take_along_axis(gains[None], edge_states(every, parent)[:, :, None], axis=2).sum(axis=(1, 2))
        expected = form.per_example(np.tile(y, (len(every), 1)), every, labels.taxonomy)
        np.testing.assert_allclose(summed, expected, atol=1e-12)


@given(seeds, st.booleans(), st.integers(1, 3))
@settings(max_examples=40)
def test_message_passing_finds_the_best_labelling_and_the_optimum_of_the_linear_program(seed, consistent, n_roots):
    rng = np.random.default_rng(seed)
    parent = random_forest(rng, int(rng.integers(n_roots, 7)), n_roots).parent
    gains = rng.normal(size=(len(parent), 4))
    if consistent:
        gains[:, 1] = -np.inf
    gains, sums, choice, marks, *_ = _room(len(parent), gains)
    value = markov.best_states(gains, parent, sums, choice, marks)
    every = labellings(parent, consistent=consistent)
    values = np.take_along_axis(gains[None], edge_states(every, parent)[:, :, None], axis=2).sum(axis=(1, 2))
    np.testing.assert_allclose(value, values.max(), atol=1e-12)
    np.testing.assert_array_equal(marks, every[values.argmax()])
    np.testing.assert_allclose(value, _linear_program(gains, parent), atol=1e-9)


def _room(n_nodes, gains):
    return gains, np.empty((n_nodes, 2)), np.empty((n_nodes, 2), np.uint8), np.empty(n_nodes, np.uint8)


def _linear_program(gains, parent):
    """The best value over marginals ≥ 0 of mass 1 whose edges agree on the nodes they share."""
    n = len(parent)
    equations, right = [], []
    for v, p in enumerate(parent):
        row = np.zeros((n, 4))
        row[v] = 1
        equations.append(row.ravel()), right.append(1.0)
        row = np.zeros((n, 4))
        row[v, 2:] = 1  # the parent is on, as its own edge has it; above a root all is on
        if p >= 0:
            row[p, [1, 3]] = -1
        equations.append(row.ravel()), right.append(0.0 if p >= 0 else 1.0)
    bounds = [(0, 0 if np.isinf(g) else None) for g in gains.ravel()]
    cost = -np.where(np.isinf(gains), 0.0, gains).ravel()
    return -optimize.linprog(cost, A_eq=np.array(equations), b_eq=right, bounds=bounds).fun


@pytest.mark.parametrize("name", LOSSES, ids=" ".join)
@pytest.mark.parametrize("consistent", [False, True], ids=["all", "consistent"])
@pytest.mark.parametrize("edges", [False, True], ids=["nodes", "edges"])
def test_the_optimum_is_the_structural_svms(name, consistent, edges):
    X, labels = problem(1, n_rows=5, n_nodes=4)
    factor = None if edges else np.array([1.0, 0.5, 2.0, 1.5])
    loss = loss_of(labels, name, consistent=consistent, edges=edges, factor=factor)
    expected, W = optimum(X, *all_competitors(labels, loss), 0.4)
    dual = LinearLabellings(X, labels, loss, 0.4)
    found = ascend(dual, Sweeps(tol=1e-9, n_sweeps=5000), np.random.RandomState(0))
    assert found.converged
    np.testing.assert_allclose(found.history[-1]["objective"], expected, rtol=1e-7)
    np.testing.assert_allclose(dual.W.T, W, atol=1e-3)


@given(seeds, st.sampled_from(LOSSES), st.booleans(), st.booleans(), st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=30, deadline=None)
def test_duality_at_every_measurement(seed, name, consistent, edges, C):
    X, labels = problem(seed, n_roots=1 + seed % 2)
    loss = loss_of(labels, name, consistent=consistent, edges=edges)
    dual = LinearLabellings(X, labels, loss, C)
    competitors = all_competitors(labels, loss)
    history = ascend(dual, Sweeps(tol=1e-6, n_sweeps=40, measure_every=1), np.random.RandomState(seed)).history
    duals = [entry["dual"] for entry in history]
    assert all(entry["dual"] <= entry["objective"] + 1e-9 for entry in history)
    assert np.all(np.diff(duals) >= -1e-9 * max(1, abs(duals[-1])))
    assert history[-1]["gap"] < 0.1 * history[0]["gap"]
    # The gaps of rows are primal − dual, and slacks are what listing all labellings gives.
    measured = dual.measure(Serial())
    np.testing.assert_allclose(dual.gaps.sum(), measured.primal - measured.dual, atol=1e-8 * max(1, measured.primal))
    slacks = [(ell - (d @ dual.W.T) @ x).max() for x, d, ell in zip(X, *competitors, strict=True)]
    np.testing.assert_allclose(dual.slacks, slacks, atol=1e-9 * max(1, max(slacks)))
    # Marginals are those of a distribution of mass C, and W is made of them.
    assert dual.marginals.min() >= -1e-12 * C
    np.testing.assert_allclose(dual.marginals.sum(axis=2), C, rtol=1e-9)
    parent, on = labels.taxonomy.parent, dual.marginals[:, :, [1, 3]].sum(axis=2)
    above = np.where(parent < 0, C, on[:, parent])
    np.testing.assert_allclose(dual.marginals[:, :, 2:].sum(axis=2), above, atol=1e-9 * C)
    np.testing.assert_allclose(dual.W.T, dual.coefficients() @ X, atol=1e-9 * C * len(X))


@pytest.mark.parametrize("sampling", ["permutation", "working_set", "gap"])
def test_every_sampling_closes_the_gap(sampling):
    X, labels = problem(2, n_rows=20, n_nodes=7)
    dual = LinearLabellings(X, labels, loss_of(labels), 1.0)
    assert ascend(dual, Sweeps(tol=1e-6, n_sweeps=5000, sampling=sampling), np.random.RandomState(0)).converged


@pytest.mark.parametrize("edges", [False, True])
def test_kernel_is_linear(edges):
    X, labels = problem(3, n_rows=12)
    loss, sweeps = loss_of(labels, edges=edges), Sweeps(tol=1e-8, n_sweeps=2000)
    linear, kernel = LinearLabellings(X, labels, loss, 0.5), KernelLabellings(Columns(X), labels, loss, 0.5)
    one, other = (ascend(dual, sweeps, np.random.RandomState(0)).history[-1] for dual in (linear, kernel))
    np.testing.assert_allclose(one["objective"], other["objective"], rtol=1e-6)
    np.testing.assert_allclose(kernel.scores, X @ linear.W, atol=1e-3)
    np.testing.assert_allclose(kernel.scores, X @ (kernel.coefficients() @ X).T, atol=1e-9)


def test_one_row_by_hand():
    # One node, x = (2), y on: the only competitor is "off", of loss 1. States ++ and +- differ by ‖Δφ‖² = 2·4, so that
    # mass α gives α − ½·8 α²: 1/8, or C if that is less. With W = α (−, +) x the slack is 1 − 8 α.
    labels = encode([{"a"}], Taxonomy.from_paths(["a"])).labels
    for C, alpha in ((0.05, 0.05), (1.0, 0.125)):
        dual = LinearLabellings(np.array([[2.0]]), labels, loss_of(labels), C)
        last = ascend(dual, Sweeps(tol=1e-12), np.random.RandomState(0)).history[-1]
        np.testing.assert_allclose(last["dual"], alpha - 4 * alpha**2)
        np.testing.assert_allclose(last["objective"], 4 * alpha**2 + C * (1 - 8 * alpha))


def test_rows_of_zeros_cost_their_largest_loss():
    _, labels = problem(4, n_rows=3)
    dual = LinearLabellings(np.zeros((3, 2)), labels, loss_of(labels), 1.0)
    found = ascend(dual, Sweeps(tol=1e-12), np.random.RandomState(0))
    assert found.converged
    assert found.history[-1]["objective"] == 3 * labels.taxonomy.n_nodes


def test_threads_measure_the_same():
    X, labels = problem(5, n_rows=9000, n_nodes=3, n_features=2)
    dual = LinearLabellings(X, labels, loss_of(labels), 1.0)
    dual.sweep(np.arange(9000), 2, 0.0)
    assert dual.measure(Serial()) == dual.measure(Threads(2))
