"""The study of H-M³'s losses: its second solver, and the parts of its data."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.hm3 import loss_study_data as data
from benchmarks.papers.hm3.enumeration import list_losses, project_to_simplex, solve_by_listing
from cladist import MaxMarginMarkov
from cladist.losses import HLoss, SymmetricDifference, node_costs
from tests.solvers.structured_reference import labellings, random_forest, random_labels


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("hierarchical", [False, True])
def test_the_second_solver_agrees_with_the_learner(hierarchical, consistent):
    rng = np.random.default_rng(0)
    taxonomy = random_forest(rng, 4, 2)
    X, y = rng.normal(size=(8, 3)), random_labels(rng, taxonomy, 8)
    cost = node_costs("subtree", taxonomy)
    found = solve_by_listing(X, y, 0.3, cost=cost, hierarchical=hierarchical, consistent=consistent, gap=1e-8)
    assert found.dual <= found.objective
    loss, space = "hierarchical" if hierarchical else "hamming", "consistent" if consistent else "all"
    model = MaxMarginMarkov(taxonomy, C=0.3, loss=loss, node_weights=cost, train_space=space, tol=1e-8, max_iter=10_000)
    model.fit(X, y)
    np.testing.assert_allclose(model.objective_, found.objective, rtol=1e-6)
    others = rng.normal(size=(200, 3))
    predicted, lead = found.predict(others, taxonomy.parent)
    clear = lead > 1e-2  # the weights of the two are equal up to the root of the gap
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(model.predict(others).to_indicator().toarray()[clear], predicted[clear])


def test_losses_listed_are_the_losses():
    rng = np.random.default_rng(1)
    taxonomy = random_forest(rng, 5, 2)
    y, every = random_labels(rng, taxonomy, 6).to_indicator().toarray(), labellings(taxonomy.parent, consistent=False)
    for loss, name in ((SymmetricDifference(), "uniform"), (HLoss("sibling", simplified=True), "sibling")):
        cost = node_costs(name, taxonomy)
        found = list_losses(y, every, taxonomy.parent, cost, hierarchical=isinstance(loss, HLoss))
        for row, listed in zip(y, found, strict=True):
            np.testing.assert_allclose(listed, loss.per_example(np.tile(row, (len(every), 1)), every, taxonomy))


def test_points_of_a_simplex_are_nearest():
    rng = np.random.default_rng(2)
    V = rng.normal(size=(50, 6))
    found = project_to_simplex(V, 0.7)
    np.testing.assert_allclose(found.sum(axis=1), 0.7)
    assert found.min() >= 0
    others = 0.7 * rng.dirichlet(np.ones(6), size=(200, 50))
    assert np.all(((found - V) ** 2).sum(axis=1) <= ((others - V) ** 2).sum(axis=2) + 1e-12)


def test_generated_rows_have_the_labels_of_one_family():
    split, taxonomy = data.generate(0, n_words=300, n_topics=2, branching=(3, 2), n_train=200, n_test=100)
    assert taxonomy.n_nodes == 10
    assert split.X_train.shape == (200, 300)
    counts = np.diff(split.y_train.frontier[0])
    assert set(counts) == {0, 1, 2}  # some rows are of the other family alone
    np.testing.assert_allclose(np.sqrt(split.X_test.multiply(split.X_test).sum(axis=1)), 1, rtol=1e-5)
    frequency = np.bincount(split.X_train.indices, minlength=300)
    fewer = data.with_words(split, 50)
    assert np.bincount(fewer.X_train.indices, minlength=50).sum() == np.sort(frequency)[-50:].sum()
    assert data.with_sizes(split, 7).X_train.shape[0] == len(data.with_sizes(split, 7).y_train) == 7
