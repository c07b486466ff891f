"""Weights and explanations of TopDown and NodewiseSVM: their parts make the scores, on any rows and any forest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from cladist import LabelMatrix, NodewiseSVM, Taxonomy, TopDown
from cladist.errors import LabelError
from cladist.learners import base
from cladist.learners.explanation import INTERCEPT
from cladist.learners.local.families import Family
from tests.learners.flat_rows import TAXONOMY, rows_of, sets_of, single
from tests.strategies import forests

LABELS = ("tennis", "chess", "sport", "music", "film", "food")
CLOSE = {"rel": 1e-4, "abs": 1e-4}  # scores are sums in float32


def combined(why):
    """The score by the rule that the explanation names."""
    parts = [sum(features.values()) for features in why.contributions.values()]
    if why.rule == "lowest":
        return min(parts)
    return sum(part for part in parts if part < 0) if why.rule == "negative" else sum(parts)


def check_against_scores(model, X):
    """Every class of every row: the score of the explanation is the one of `decision_function`."""
    scores = model.decision_function(X, nodes=model.classes_)
    for column, label in enumerate(model.classes_):
        for i, why in enumerate(model.explain(X, nodes=[label] * X.shape[0])):
            assert why.label == label
            assert why.score == pytest.approx(scores[i, column], **CLOSE)
            assert why.score == combined(why)


def linear(row, weights, intercept):
    """What features add, by name, with what is 0 left out."""
    parts = {f"x{j}": row[j] * weights[j] for j in range(len(row))} | {INTERCEPT: intercept}
    return {name: float(value) for name, value in parts.items() if value != 0}


# ---------------------------------------------------------------- TopDown


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # labels above others, without stop
def test_leads_of_top_down_make_its_scores(stop, fit_intercept):
    X, y = single(labels=LABELS, noise=1.0)
    model = TopDown(TAXONOMY, stop=stop, fit_intercept=fit_intercept).fit(X, y)
    new = rows_of(y[:40], seed=5)
    check_against_scores(model, new)
    predicted = model.predict(new)
    for label, why in zip(predicted, model.explain(new), strict=True):
        assert (why.label, why.score, why.rule) == (label, 0.0, "negative")
        assert all(part >= 0 for part in why.parts.values())
        assert sum(why.parts.values()) > 0  # it says by how much the label wins


@settings(max_examples=30)
@given(forests(max_nodes=9), st.integers(0, 2**31), st.booleans())
@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # labels above others, without stop
def test_leads_of_top_down_on_any_forest(taxonomy, seed, stop):
    random = np.random.default_rng(seed)
    y = random.choice(taxonomy.names, 12)
    model = TopDown(taxonomy, stop=stop).fit(random.normal(size=(12, 3)), y)
    check_against_scores(model, random.normal(size=(9, 3)) * (random.random((9, 3)) < 0.7))


@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # labels above others, without stop
def test_a_lead_is_over_the_best_of_the_siblings():
    X, y = single(labels=LABELS)
    model = TopDown(TAXONOMY).fit(X, y)
    family = model.decisions_[-1]
    names = [TAXONOMY.names[v] for v in family.children]
    assert names == ["sport", "art", "food"]
    scores = family.scores(X, np.arange(X.shape[0]))
    weights, intercepts = family.weights.matrix().toarray(), family.weights.intercepts
    for i, why in enumerate(model.explain(X, nodes=["music"] * X.shape[0])):
        rival = max((k for k in range(3) if k != 1), key=lambda k: scores[i, k])
        expected = linear(X[[i]].toarray()[0], weights[1] - weights[rival], intercepts[1] - intercepts[rival])
        assert why.contributions["art"] == pytest.approx(expected, **CLOSE)
        sizes = [abs(value) for name, value in why.contributions["art"].items() if name != INTERCEPT]
        assert sizes == sorted(sizes, reverse=True)


def test_one_classifier_between_two_children_is_halved():
    X, y = single(labels=("tennis", "chess"))
    model = TopDown(TAXONOMY).fit(X, y)
    family = model.decisions_[TAXONOMY.index("sport")]
    assert family.weights.n_classes == 1
    own = family.weights.matrix().toarray()[0]
    assert own.any()
    at = [TAXONOMY.index(name) for name in ("tennis", "chess")]
    np.testing.assert_allclose(model.node_coef_[at].toarray(), [-own / 2, own / 2])
    np.testing.assert_allclose(model.coef_.toarray(), [-own / 2, own / 2])
    np.testing.assert_allclose(model.intercept_, family.weights.intercepts[0] * np.array([-0.5, 0.5]))
    scores = family.scores(X, np.arange(X.shape[0]))
    np.testing.assert_allclose(X @ model.coef_.T.toarray() + model.intercept_, scores, atol=1e-5)
    for i, why in enumerate(model.explain(X, nodes=["tennis"] * X.shape[0])):
        assert why.contributions["sport"] == {}  # the only root
        expected = linear(X[[i]].toarray()[0], -own, -family.weights.intercepts[0])
        assert why.contributions["tennis"] == pytest.approx(expected, **CLOSE)


@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # labels above others, without stop
def test_weights_of_top_down_follow_the_names():
    X, y = single(labels=LABELS)
    plain = TopDown(TAXONOMY).fit(X, y)
    stopping = TopDown(TAXONOMY, stop=True).fit(X, y)
    for model in (plain, stopping):
        assert sparse.issparse(model.node_coef_)
        assert model.node_coef_.shape == (TAXONOMY.n_nodes, X.shape[1])
        assert model.coef_.shape == (len(model.classes_), X.shape[1])
        assert model.intercept_.shape == (len(model.classes_),)
        roots = [TAXONOMY.index(name) for name in ("sport", "art", "food")]
        np.testing.assert_array_equal(
            model.node_coef_[roots].toarray(), model.decisions_[-1].weights.matrix().toarray()
        )
    np.testing.assert_array_equal(plain.coef_.toarray(), plain.node_coef_[plain.class_nodes_].toarray())
    # The class "sport" is "stop here", one of three below the node; the node has weights of its own.
    at, below = stopping.classes_.tolist().index("sport"), stopping.decisions_[stopping.walked_.index("sport")]
    stop_leaf = below.children.tolist().index(stopping.end_nodes_[at])
    np.testing.assert_array_equal(stopping.coef_[[at]].toarray(), below.weights.matrix()[[stop_leaf]].toarray())
    assert abs(stopping.coef_[[at]] - stopping.node_coef_[[TAXONOMY.index("sport")]]).max() > 0.01


def test_another_classifier_has_no_weights_of_ours():
    X, y = single()
    model = TopDown(TAXONOMY, estimator=LogisticRegression()).fit(X, y)
    for name in ("coef_", "intercept_", "node_coef_"):
        assert not hasattr(model, name)
        assert hasattr(TopDown(TAXONOMY).fit(X, y), name)
        with pytest.raises(AttributeError) as e:
            getattr(model, name)
        said = str(e.value) + str(e.value.__cause__)
        assert "a classifier given as `estimator` keeps its own in `decisions_`" in said


def test_scores_of_a_family_are_computed_once(monkeypatch):
    X, y = single()
    model = TopDown(TAXONOMY).fit(X, y)
    calls, scores = [], Family.scores
    monkeypatch.setattr(Family, "scores", lambda self, *given: calls.append(self) or scores(self, *given))
    model.decision_function(X)
    assert len(calls) == len({id(family) for family in calls}) == 3


# ---------------------------------------------------------------- NodewiseSVM


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_margins_of_nodewise_make_its_scores(fit_intercept):
    X, y, _ = sets_of(n_rows=120)
    model = NodewiseSVM(TAXONOMY, fit_intercept=fit_intercept).fit(X, y)
    new = sets_of(n_rows=30, seed=1)[0]
    check_against_scores(model, new)
    one = NodewiseSVM(TAXONOMY, fit_intercept=fit_intercept).fit(*single(labels=LABELS))
    check_against_scores(one, rows_of(np.random.default_rng(0).choice(LABELS, 40), seed=3))
    assert [why.label for why in one.explain(single()[0])] == one.predict(single()[0]).tolist()


@settings(max_examples=30)
@given(forests(max_nodes=8), st.integers(0, 2**31), st.booleans())
def test_margins_of_nodewise_on_any_forest(taxonomy, seed, sets):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 3, 10) if sets else np.ones(10, int)
    drawn = [set(random.choice(taxonomy.names, k).tolist()) for k in counts]
    y = drawn if sets else np.array([next(iter(labels)) for labels in drawn])
    model = NodewiseSVM(taxonomy).fit(random.normal(size=(10, 3)), y)
    new = random.normal(size=(9, 3)) * (random.random((9, 3)) < 0.7)
    if not len(model.classes_):
        with pytest.raises(LabelError, match="there is no label to explain"):
            model.explain(new)
        return
    check_against_scores(model, new)
    for why in model.explain(new):
        assert why.label in model.classes_


def test_by_default_sets_explain_where_the_walk_down_ends():
    X, y, _ = sets_of(n_rows=150, most=1)
    model = NodewiseSVM(TAXONOMY, C=10).fit(X, y)
    ends = LabelMatrix.from_sets(model.predict(X), TAXONOMY).frontier_names()
    seen = 0
    for labels, why in zip(ends, model.explain(X), strict=True):
        if len(labels) == 1:
            seen += len(TAXONOMY.path(labels[0])) > 1
            assert why.label == labels[0]
            assert why.score > 0
    assert seen > 10  # below the roots, whose scores are never lower


def test_what_speaks_for_going_on_speaks_against_ending():
    X, y = single(labels=("tennis", "chess", "sport", "food"))
    model = NodewiseSVM(TAXONOMY).fit(X, y)
    family = model.families_[TAXONOMY.index("sport")]
    scores = family.scores(X, np.arange(X.shape[0]))
    weights, intercepts = family.weights.matrix().toarray(), family.weights.intercepts
    for i, why in enumerate(model.explain(X, nodes=["sport"] * X.shape[0])):
        best = scores[i].argmax()
        assert list(why.contributions) == ["sport", TAXONOMY.names[family.children[best]]]
        expected = linear(X[[i]].toarray()[0], -weights[best], -intercepts[best])
        assert why.contributions[TAXONOMY.names[family.children[best]]] == pytest.approx(expected, **CLOSE)


def test_a_path_without_classifiers_is_certain():
    taxonomy = Taxonomy.from_paths(["all/every/x", "all/every/y"])
    model = NodewiseSVM(taxonomy).fit([[0.0], [1.0], [2.0]], [{"every"}, {"x"}, {"every"}])
    certain, asked = model.explain([[3.0]], nodes=["every"])[0], model.explain([[3.0]], nodes=["x"])[0]
    assert (certain.score, certain.contributions) == (1.0, {"every": {INTERCEPT: 1.0}})
    assert list(asked.contributions) == ["x"]
    assert model.node_coef_[[taxonomy.index("all")]].nnz == 0


def test_weights_of_nodewise_are_those_of_its_nodes():
    X, y, _ = sets_of()
    model = NodewiseSVM(TAXONOMY).fit(X, y)
    np.testing.assert_array_equal(model.coef_.toarray(), model.node_coef_[model.class_nodes_].toarray())
    roots = model.families_[-1]
    scores = X @ model.coef_.toarray().T + model.intercept_
    columns = [model.class_nodes_.tolist().index(v) for v in roots.children]
    np.testing.assert_allclose(scores[:, columns], roots.scores(X, np.arange(X.shape[0])), atol=1e-5)
    certain = NodewiseSVM(Taxonomy.from_paths(["a/b"])).fit([[1.0], [2.0]], [{"a"}, {"a", "b"}])
    assert not certain.coef_[[0]].toarray().any()
    assert certain.intercept_[0] == 0
    assert certain.coef_[[1]].toarray().any()


# ---------------------------------------------------------------- both


@pytest.mark.parametrize("learner", [TopDown, NodewiseSVM])
def test_pieces_of_rows_names_of_features_and_refusals(learner, monkeypatch):
    X, y = single()
    frame = pd.DataFrame(X.toarray(), columns=[f"word{j}" for j in range(X.shape[1])])
    model = learner(TAXONOMY).fit(frame, y)
    whole = model.explain(frame)
    assert {name for features in whole[0].contributions.values() for name in features} <= {*frame.columns, INTERCEPT}
    monkeypatch.setattr(base, "CHUNK_BYTES", 8 * TAXONOMY.n_nodes * 7)
    assert model.explain(frame) == whole
    with pytest.raises(LabelError, match="90 rows need as many labels in `nodes`; got 1"):
        model.explain(frame, nodes=["tennis"])
    with pytest.raises(LabelError, match="'food' is not among classes_"):
        model.explain(frame, nodes=["food"] * len(y))
    for name in ("coef_", "intercept_", "node_coef_"):
        with pytest.raises(NotFittedError):
            getattr(learner(), name)
    with pytest.raises(NotFittedError):
        learner().explain(frame)
