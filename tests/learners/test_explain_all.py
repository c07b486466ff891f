"""Explanations of every method that has one: parts make the scores, on trees, with sets, and with kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from cladist import (
    BayesianLogistic,
    BlendedClassifier,
    DecisionClassifier,
    FlatLogistic,
    HardPerceptron,
    KernelStochasticPerceptron,
    LocalPerLevel,
    LocalPerNode,
    MaxMarginMarkov,
    OrthogonalTransfer,
    StochasticPerceptron,
    StructuralSVM,
    TopDown,
)
from cladist.decoders import best_labelling, node_margins
from cladist.errors import ParameterError
from cladist.learners.structured.labelling_classifier import changed_nodes
from cladist.learners.text_explanation import explainable
from tests.strategies import forests

TREE = {"a": None, "b": "a", "c": "a", "d": None, "e": "d", "f": "d", "g": "d"}
LEAVES = ("b", "c", "e", "f", "g")
# Labels above others, where a method ends only at leaves, and few passes.
pytestmark = pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning", "ignore::UserWarning")


def rows(n=60, labels=LEAVES, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, np.array(labels)[(X @ np.random.default_rng(7).normal(size=(4, len(labels)))).argmax(axis=1)]


def sets(y):
    return [{label, "b"} if k % 3 else {label} for k, label in enumerate(y)]


def check_scores(model, X):
    """The explanation of every class has the score of `decision_function`, and its parts make it."""
    scores = model.decision_function(X, nodes=model.classes_)
    for column, label in enumerate(model.classes_):
        for why, row in zip(model.explain(X, nodes=[label] * len(X)), scores, strict=True):
            assert why.label == label
            assert why.score == pytest.approx(row[column], rel=1e-6, abs=1e-6)
            assert why.score == pytest.approx(sum(sum(part.values()) for part in why.terms().values()))


def name_of(model):
    return type(model).__name__


STRUCTURED = [
    HardPerceptron(TREE, max_iter=30),
    StochasticPerceptron(TREE, max_iter=60),
    KernelStochasticPerceptron(TREE, kernel="rbf", max_iter=60),
    MaxMarginMarkov(TREE, tol=0.05),
    MaxMarginMarkov(TREE, kernel="poly", tol=0.05),
    StructuralSVM(TREE, tol=0.05),
    StructuralSVM(TREE, attributes=[1.0, 2.0, 0.5, 1.5, 1.0, 0.3, 4.0], tol=0.05),
]


@pytest.mark.parametrize("model", STRUCTURED, ids=name_of)
@pytest.mark.parametrize("form", ["single", "sets"])
def test_structured_methods(model, form):
    X, y = rows()
    check_scores(model.fit(X, sets(y) if form == "sets" else y), rows(6, seed=1)[0])


SINGLE = [
    StructuralSVM(TREE, attributes="unit", tol=0.05),
    BayesianLogistic(TREE),
    BayesianLogistic(TREE, covariance="none", fit_intercept=False),
    OrthogonalTransfer(TREE, tol=0.05),
    OrthogonalTransfer(TREE, fit_intercept=False, tol=0.05),
    TopDown(TREE, estimator=LogisticRegression()),
    TopDown(TREE, estimator={None: RidgeClassifier(), "d": FlatLogistic()}),
]


@pytest.mark.parametrize("model", SINGLE, ids=name_of)
@pytest.mark.parametrize("labels", [LEAVES, ("a", "b", "d", "e", "f")], ids=["leaves", "inner"])
def test_methods_of_single_labels(model, labels):
    X, y = rows(labels=labels)
    check_scores(model.fit(X, y), rows(6, seed=1)[0])


def test_blends():
    X, y = rows(n=120)
    model = BlendedClassifier([TopDown(TREE), FlatLogistic(TREE), StructuralSVM(TREE)], random_state=0).fit(X, y)
    new, names = rows(6, seed=1)
    scores = model.raw_scores(new)
    whys = model.explain(new, nodes=names)
    for i, why in enumerate(whys):
        assert why.score == pytest.approx(scores[i, list(model.classes_).index(names[i])], rel=1e-6, abs=1e-6)
    assert [why.label for why in model.explain(new)] == model.predict(new).tolist()
    with pytest.raises(ParameterError, match="no sums over features"):
        BlendedClassifier([LocalPerNode(TREE)], random_state=0).fit(X, y).explain(X[:2], nodes=["e", "b"])
    decided = DecisionClassifier(FlatLogistic(TREE), cv=2, random_state=0).fit(X, y)
    assert explainable(decided).explain(X[:1])[0].label in LEAVES


@given(forests(max_nodes=8), st.integers(0, 2**31))
@settings(max_examples=60)
def test_the_nodes_by_which_two_sets_differ(taxonomy, seed):
    """The best labelling with a node minus the best without it, against all labellings."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(3, taxonomy.n_nodes))
    nodes = random.integers(taxonomy.n_nodes, size=3)
    margins = node_margins(scores, taxonomy)
    best = best_labelling(scores, taxonomy).to_indicator().toarray()
    for i, change in enumerate(changed_nodes(scores, nodes, taxonomy).toarray()):
        assert change[nodes[i]] == 1
        assert change @ scores[i] == pytest.approx(margins[i, nodes[i]])
        is_on = best[i, nodes[i]]
        other = best[i] - change if is_on else best[i] + change  # one of the two labellings is the best of all
        assert set(np.unique(other)) <= {0, 1}
        assert all(other[v] <= other[p] for v, p in enumerate(taxonomy.parent) if p >= 0)
        assert other[nodes[i]] != is_on


LOCAL = [
    LocalPerNode(TREE),
    LocalPerNode(TREE, estimator=LogisticRegression(), policy="exclusive"),
    LocalPerNode({**TREE, "h": "b"}, estimator=SGDClassifier(random_state=0)),
    LocalPerLevel(TREE),
    LocalPerLevel(TREE, estimator=LogisticRegression()),
    LocalPerLevel(TREE, estimator=LogisticRegression(), stop=True),
]


@pytest.mark.parametrize("model", LOCAL, ids=name_of)
def test_leads_of_local_classifiers(model):
    """The label predicted leads at every node; another falls behind by the classifiers' own scores."""
    X, y = rows()
    model.fit(X, y)
    new = rows(8, seed=1)[0]
    for label, why in zip(model.predict(new), model.explain(new), strict=True):
        assert (why.label, why.score) == (label, 0.0)
        assert all(part >= 0 for part in why.parts.values())
    for label in model.classes_:
        others = model.explain(new, nodes=[label] * len(new))
        assert [why.score < 0 for why in others] == (model.predict(new) != label).tolist()


def test_a_part_is_the_difference_of_log_odds():
    X, y = rows()
    model = LocalPerNode(TREE, estimator=LogisticRegression()).fit(X, y)
    a, d = (model.walked_.index(name) for name in "ad")
    of_a, of_d = (model.estimators_[v].decision_function(X[:5]) for v in (a, d))
    parts = [why.parts["a"] for why in model.explain(X[:5], nodes=["b"] * 5)]
    np.testing.assert_allclose(parts, of_a - of_d)


def test_sets_of_local_classifiers_have_log_odds():
    X, y = rows()
    model = LocalPerNode(TREE).fit(X, sets(y))
    predicted = model.predict(X[:10])
    for label in ("a", "b", "e"):
        for found, why in zip(predicted, model.explain(X[:10], nodes=[label] * 10), strict=True):
            assert (why.score >= 0) == (label in found or label in {"a"} & {TREE[name] for name in found})


@pytest.mark.parametrize("learner", [TopDown, LocalPerNode, LocalPerLevel])
def test_others_are_refused(learner):
    X, y = rows()
    with pytest.raises(ParameterError, match="explain: RandomForestClassifier has no weights"):
        learner(TREE, estimator=RandomForestClassifier(5)).fit(X, y).explain(X[:2])
    with pytest.raises(ParameterError, match="GaussianNB"):
        learner(TREE, estimator=GaussianNB()).fit(X, y).explain(X[:2])
