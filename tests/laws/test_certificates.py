"""What a learner tells of its solution holds for the weights it returns, recomputed in float64 by the definition.

`objective` is theirs, `dual` bounds the optimum from below, `gap` follows from the two, and `converged_` says whether
it is within `tol`. Nodes above labels are those that the weights hold, or else the best given the labels.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cladist import MaxMarginMarkov, StructuralSVM
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.path_sums import PathSumWeights, differences_of_paths
from tests.laws.certificate_problems import (
    COSTS,
    LABELS,
    TOLERANCES,
    TREE,
    linear_learners,
    local_learners,
    loss_at,
    losses_of,
    objective,
    optimum,
    rows_of,
)
from tests.solvers import structured_reference as structured

ROUNDING = 1e-6  # costs are float32, and optima are known to so many digits


def fitted(case, C, tol, **more):
    X, y = rows_of(case.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return case.build(C, tol, **more).fit(sparse.csr_array(X), LABELS[y])


def returned_objective(case, C, model):
    """Of the labels returned, and of the nodes above them: the best there are, or those that go with the labels.

    The latter are those of differences, and below free roots those of the search.
    """
    held = model.weights_
    if isinstance(held, PathSumWeights) and case.regularizer == "free":
        held = differences_of_paths(held)
    if not isinstance(held, DifferenceWeights):
        return objective(case.regularizer, case.loss, C, case.shape, weights_of(model))
    steps = held.vectors().toarray().astype(np.float64)
    is_pulled = np.ones(len(steps), bool) if case.regularizer == "zero" else held.order.parent >= 0
    return 0.5 * np.sum(steps[is_pulled] ** 2) + loss_at(case.loss, C, case.shape, weights_of(model))


def weights_of(model):
    W = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    return W.astype(np.float64)[[model.classes_.tolist().index(name) for name in LABELS]]


@pytest.mark.parametrize("case", list(linear_learners()), ids=str)
def test_linear_learners(case):
    for C in COSTS:
        best = optimum(case.regularizer, case.loss, C, case.shape)
        for tol in TOLERANCES:
            model = fitted(case, C, tol, max_iter=case.max_iter)
            entry = model.history_[-1]
            told, gap = entry["objective"], entry["gap"]
            real = returned_objective(case, C, model)
            where = f"C={C:g} tol={tol:g} told={told!r} real={real!r} best={best!r} {entry}"
            assert model.n_iter_ <= case.max_iter, where
            assert model.converged_ == (entry.get("worst_gap", gap) <= tol), where
            assert told == pytest.approx(real, rel=ROUNDING), where
            if "dual" in entry:
                assert entry["dual"] <= told, where
                assert gap == pytest.approx((told - entry["dual"]) / told), where
            if case.regularizer != "free":  # where the bound holds near the root alone
                assert told * (1 - gap) <= best * (1 + ROUNDING), where
                assert not model.converged_ or real - best <= (tol + ROUNDING) * real, where


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("learner", ["FlatSVM", "RecursiveSVM"])
def test_a_large_cost_does_not_keep_dense_weights_from_the_optimum(learner, C):
    """Every rounding of a margin counts C times under the hinge."""
    cases = [case for case in linear_learners() if case.learner.__name__ == learner and case.shape == "wide"]
    case = next(case for case in cases if case.loss == "hinge" and case.options.get("weights") == "dense")
    model = fitted(case, C, 5e-6 if C < 1e6 else 5e-5, max_iter=200)
    assert model.converged_, model.history_[-1]


@pytest.mark.parametrize("case", list(local_learners()), ids=str)
def test_learners_with_a_classifier_at_every_node(case):
    X, y = rows_of(case.shape)
    on_path = np.array([[TREE.names[v] in TREE.path(name) for v in range(len(TREE))] for name in LABELS])[y]
    for C in COSTS:
        for tol in TOLERANCES:
            model = fitted(case, C, tol, max_iter=1000)
            W = model.node_coef_
            W = (W.toarray() if sparse.issparse(W) else W).astype(np.float64)
            real = 0.0
            for v in np.flatnonzero(TREE.parent >= 0):
                shown = on_path[:, TREE.parent[v]]
                margins = np.where(on_path[shown, v], 1, -1) * (X[shown] @ W[v])
                real += 0.5 * W[v] @ W[v] + C * losses_of(case.loss, margins).sum()
            entry = model.history_[-1]
            assert entry["objective"] == pytest.approx(real, rel=ROUNDING), (C, tol)
            assert 0 <= entry["gap"] <= tol or not model.converged_, (C, tol)


def markov_objective(model, rows, marks, taxonomy, C):
    """½‖W‖² + C Σ slacks over all consistent labellings."""
    every = structured.labellings(taxonomy.parent, consistent=True)
    slacks, weights = 0.0, model.edge_coef_.reshape(-1, rows.shape[1])
    for x, y in zip(rows, marks, strict=True):
        scores = structured.edge_features(every, taxonomy.parent) @ (weights @ x)
        own = structured.edge_features(y, taxonomy.parent) @ (weights @ x)
        ones = np.ones(len(taxonomy))
        costs = [structured.simple_loss(y, u, taxonomy.parent, ones, hierarchical=False) for u in every]
        slacks += max(np.array(costs) + scores - own)
    return 0.5 * (weights**2).sum() + C * slacks


@pytest.mark.parametrize("learner", [MaxMarginMarkov, StructuralSVM])
@pytest.mark.parametrize("C", COSTS)
def test_learners_with_a_margin_over_labellings(learner, C):
    random = np.random.default_rng(1)
    taxonomy = structured.random_forest(random, 4, 2)
    rows, labels = random.normal(size=(8, 3)), structured.random_labels(random, taxonomy, 8)
    options = {"train_space": "consistent", "loss": "hamming"} if learner is MaxMarginMarkov else {}
    for tol in TOLERANCES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = learner(taxonomy, C=C, tol=tol, max_iter=200, **options).fit(rows, labels)
        entry = model.history_[-1]
        assert model.converged_ == (entry["gap"] <= tol)
        assert entry["dual"] <= entry["objective"] * (1 + 1e-12)
        assert entry["gap"] == pytest.approx((entry["objective"] - entry["dual"]) / entry["dual"], abs=1e-12)
        assert entry["dual"] > 0, "weights of 0 are no solution, however small C is"
        if learner is MaxMarginMarkov:
            real = markov_objective(model, rows, labels.to_indicator().toarray(), taxonomy, C)
            assert entry["objective"] == pytest.approx(real, rel=1e-9)
