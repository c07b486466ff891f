"""HierarchicalPerceptron against its definition, Novikoff's bound, and its options."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cladist
from cladist import HierarchicalPerceptron, LabelMatrix, Taxonomy
from cladist.datasets import make_label_model, make_topics
from cladist.errors import ParameterError
from cladist.metrics import h_loss
from tests.learners.rls_reference import top_down, unit
from tests.strategies import multilabel_problems

few = settings(max_examples=30)


class Reference:
    """One vector a node, changed by its own mistakes on the rows it is shown."""

    def __init__(self, taxonomy, d, *, gated=True):
        self.parent, self.gated = taxonomy.parent, gated
        self.states = [[np.zeros(d)] for _ in self.parent]
        self.mistakes = np.zeros(len(self.parent), int)

    def run(self, X, on, *, average=False):
        """Return the scores before each update, of the last vectors or of their averages."""
        scores = []
        for x, z in zip(unit(X), on, strict=True):
            scores.append([(np.mean(states, axis=0) if average else states[-1]) @ x for states in self.states])
            for v, p in enumerate(self.parent):
                if x.any() and (not self.gated or p < 0 or z[p]):
                    w = self.states[v][-1]
                    if (w @ x >= 0) != z[v]:
                        w = w + (2.0 * z[v] - 1) * x
                        self.mistakes[v] += 1
                    self.states[v].append(w)
        return np.array(scores)


def indicator(on, taxonomy):
    return LabelMatrix.from_indicator(sparse.csr_array(on), taxonomy)


@few
@given(multilabel_problems(), st.booleans(), st.booleans())
def test_equals_its_definition(problem, gated, average):
    taxonomy, X, on = problem
    labels = indicator(on, taxonomy)
    model = HierarchicalPerceptron(taxonomy, gated=gated, average=average, shuffle=False).fit(X, labels)
    reference = Reference(taxonomy, X.shape[1], gated=gated)
    scores = reference.run(X, on, average=average)
    expected = [np.mean(states, axis=0) if average else states[-1] for states in reference.states]
    np.testing.assert_allclose(model.node_coef_, expected, atol=1e-12)
    told = indicator(top_down(scores, taxonomy).astype(int), taxonomy)
    if np.all((np.abs(scores) > 1e-12) | (scores == 0)):
        assert model.history_[-1]["objective"] == pytest.approx(h_loss(labels, told, taxonomy))


@few
@given(multilabel_problems(), st.booleans(), st.booleans())
def test_the_kernel_form_is_the_same_with_a_linear_kernel(problem, gated, average):
    taxonomy, X, on = problem
    X, labels = unit(X), indicator(on, taxonomy)
    options = {"gated": gated, "average": average}
    plain = HierarchicalPerceptron(taxonomy, **options)
    kernel = HierarchicalPerceptron(taxonomy, kernel=lambda A, B: np.round(A @ B.T, 12), **options)
    half = len(X) // 2 or 1
    for model in (plain, kernel):
        model.partial_fit(X[:half], labels[:half])
        if half < len(X):
            model.partial_fit(X[half:], labels[half:])
    scores = Reference(taxonomy, X.shape[1], gated=gated).run(X, on)
    if np.all(np.abs(scores[scores != 0]) > 1e-9):  # where rounding does not decide
        np.testing.assert_allclose(kernel.node_margins(X), plain.node_margins(X), atol=1e-8)


@few
@given(multilabel_problems(), st.sampled_from([{}, {"average": True}, {"gated": False}, {"unseen": "negative"}]))
def test_predicting_then_learning_is_both_in_turn(problem, options):
    taxonomy, X, on = problem
    labels = indicator(on, taxonomy)
    at_once = HierarchicalPerceptron(taxonomy, **options)
    found = at_once.predict_then_learn(X, labels)
    in_turn = HierarchicalPerceptron(taxonomy, **options).partial_fit(X[:1], labels[:1])
    for i in range(1, len(X)):
        assert in_turn.predict(X[i : i + 1]) == found[[i]]
        in_turn.partial_fit(X[i : i + 1], labels[i : i + 1])
    np.testing.assert_array_equal(in_turn.node_coef_, at_once.node_coef_)


def test_novikoffs_bound():
    """On rows that u separates with margin δ, a node makes at most (R‖u‖ / δ)² mistakes."""
    random = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(["a/b/d", "a/c", "e"])
    u = random.normal(size=(taxonomy.n_nodes, 6))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    X = unit(random.normal(size=(20_000, 6)))
    X = X[np.abs(X @ u.T).min(axis=1) > 0.05]
    on = top_down(X @ u.T, taxonomy)
    assert len(X) > 3000
    for gated in (True, False):
        reference = Reference(taxonomy, 6, gated=gated)
        targets = on if gated else top_down(X @ u.T, Taxonomy.from_parents(dict.fromkeys(taxonomy.names)))
        if gated:
            reference.run(X, on)
            model = HierarchicalPerceptron(taxonomy, shuffle=False).fit(X, indicator(on.astype(int), taxonomy))
        else:  # every node is separable on its own only where labels need not be consistent: a star
            star = Taxonomy.from_parents(dict.fromkeys(taxonomy.names))
            reference = Reference(star, 6, gated=False)
            reference.run(X, targets)
            model = HierarchicalPerceptron(star, gated=False, shuffle=False).fit(
                X, indicator(targets.astype(int), star)
            )
        np.testing.assert_allclose(model.node_coef_, [states[-1] for states in reference.states], atol=1e-9)
        assert np.all(reference.mistakes > 0)
        assert np.all(reference.mistakes <= 1 / 0.05**2)
        # ‖w‖² ≤ R² · mistakes and w·u ≥ δ · mistakes are the two halves of its proof.
        assert np.all(np.sum(model.node_coef_**2, axis=1) <= reference.mistakes + 1e-9)
        assert np.all(np.sum(model.node_coef_ * u, axis=1) >= 0.05 * reference.mistakes - 1e-9)


@few
@given(multilabel_problems(), st.booleans(), st.sampled_from(["top_down", "bottom_up", "best"]))
def test_predictions_are_consistent(problem, gated, repair):
    taxonomy, X, on = problem
    model = HierarchicalPerceptron(taxonomy, gated=gated, repair=repair).fit(X, indicator(on, taxonomy))
    found = model.predict(X).to_indicator().toarray()
    for v, p in enumerate(taxonomy.parent):
        if p >= 0:
            assert np.all(found[:, v] <= found[:, p])


def test_several_passes_on_separable_rows_end_without_a_mistake():
    data = make_topics(n_samples=300, n_test=10, n_features=200, branching=(3, 2), random_state=0)
    model = HierarchicalPerceptron(data.taxonomy, max_iter=30, random_state=0).fit(data.X_train, data.y_train)
    assert len(model.history_) == model.n_iter_ == 30
    assert model.history_[-1]["objective"] == 0
    assert model.converged_


@pytest.mark.parametrize(
    "options", [{}, {"average": True}, {"kernel": "rbf"}, {"kernel": "poly", "average": True}], ids=str
)
def test_a_saved_model_goes_on_learning_as_if_never_saved(options, tmp_path):
    data = make_label_model(n_samples=150, random_state=0)
    model = HierarchicalPerceptron(data.taxonomy, **options).partial_fit(data.X[:100], data.y[:100])
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    for learner in (model, again):
        learner.partial_fit(data.X[100:], data.y[100:])
    np.testing.assert_array_equal(again.decision_function(data.X), model.decision_function(data.X))


def test_averaging_helps_where_labels_are_noisy():
    data = make_label_model(n_samples=2000, random_state=0)
    losses = []
    for average in (False, True):
        model = HierarchicalPerceptron(data.taxonomy, average=average, random_state=0).fit(data.X[:1500], data.y[:1500])
        losses.append(h_loss(data.y[1500:], model.predict(data.X[1500:]), data.taxonomy))
    assert losses[1] < losses[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"average": 1}, "average"), ({"max_iter": 0}, "max_iter"), ({"kernel": "precomputed"}, "precomputed")],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        HierarchicalPerceptron(**options).fit(np.eye(2), ["a", "b"])


def test_weights_of_a_kernel():
    with pytest.raises(AttributeError, match="kernel"):
        HierarchicalPerceptron(kernel="rbf").fit(np.eye(2), ["a", "b"]).node_coef_  # noqa: B018
