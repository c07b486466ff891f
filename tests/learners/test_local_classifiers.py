"""Classifiers of any kind at the nodes: the policies, the walk, probabilities, and rows that are not numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cladist
from cladist import FlatLogistic, LocalPerLevel, LocalPerNode, Taxonomy, TopDown
from cladist.errors import LabelWarning, ModelFormatError, ParameterError
from cladist.labels import encode
from cladist.learners.local.per_node import POLICIES, _Policy

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film/noir", "art/film/drama", "art/music", "news"])
LEAVES = np.array([TREE.names[v] for v in TREE.leaves])
Y = np.tile(LEAVES, 20)
X = np.random.default_rng(0).normal(size=(len(Y), 4)) + 2 * np.array([[k, k % 2, k % 3, k > 3] for k in range(6)] * 20)
LEARNERS = (TopDown, LocalPerNode, LocalPerLevel)


# ---------------------------------------------------------------- policies


def rows_by_definition(policy, v, labels, *, whole_path=False):
    """Return the positive and negative rows in the words of the docstring, one row at a time."""
    tree = TREE
    at = lambda u: {i for i, label in enumerate(labels) if label == tree.names[u]}  # noqa: E731
    below = {u: {u, *(tree.index(name) for name in tree.descendants(tree.names[u]))} for u in range(tree.n_nodes)}
    within = lambda u: {i for i, label in enumerate(labels) if tree.index(label) in below[u]}  # noqa: E731
    at = within if whole_path else at
    own = lambda u: at(u) or within(u)  # noqa: E731
    everything, parent = set(range(len(labels))), tree.parent[v]
    siblings = [u for u in range(tree.n_nodes) if tree.parent[u] == parent and u != v]
    above = [u for u in range(tree.n_nodes) if v in below[u] and u != v]
    positive = own(v) if "exclusive" in policy else within(v)
    negative = {
        "exclusive": everything,
        "less_exclusive": everything - within(v),
        "less_inclusive": everything - within(v),
        "inclusive": everything - within(v) - set().union(*(at(u) for u in above)),
        "siblings": set().union(*(within(u) for u in siblings)),
        "exclusive_siblings": set().union(*(own(u) for u in siblings)),
    }[policy]
    return sorted(positive), sorted(negative - positive)


@pytest.mark.parametrize("labels", [LEAVES, [*TREE.names, "art", "film", "noir"]], ids=["leaves", "all nodes"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("whole_path", [False, True])
def test_policies_choose_the_rows_of_their_definition(policy, labels, whole_path):
    rows_of = _Policy(policy, encode(list(labels), TREE).labels, whole_path=whole_path)
    for v in range(TREE.n_nodes):
        positive, negative = rows_of(v)
        wanted = rows_by_definition(policy, v, list(labels), whole_path=whole_path)
        assert (positive.tolist(), negative.tolist()) == wanted, TREE.names[v]


def test_the_classifier_of_a_node_gets_its_rows():
    seen = {}

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen[len(seen)] = X[:, 0].tolist(), y.tolist()
            return super().fit(X, y, sample_weight)

    rows = np.arange(len(Y))[:, None].astype(float)
    model = LocalPerNode(TREE, estimator=Spy(), policy="siblings").fit(rows, Y)
    chess = list(model.estimators_).index(TREE.index("chess"))
    assert seen[chess][0] == [*np.flatnonzero(Y == "chess"), *np.flatnonzero(Y == "tennis")]
    assert seen[chess][1] == [1] * 20 + [0] * 20


# ---------------------------------------------------------------- the walk


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("estimator", [None, GaussianNB(), LinearSVC(), RandomForestClassifier(5, random_state=0)])
def test_any_classifier_learns_and_scores_agree_with_predictions(learner, estimator):
    model = learner(TREE, estimator=estimator).fit(X, Y)
    assert model.score(X, Y) > 0.6
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.predict_top_k(X, 1)[0][:, 0], model.predict(X))


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_learns(policy):
    assert LocalPerNode(TREE, policy=policy, estimator=GaussianNB()).fit(X, Y).score(X, Y) > 0.6


@pytest.mark.parametrize("learner", LEARNERS)
def test_stop_lets_rows_end_above_others(learner):
    y = np.where(Y == "noir", "film", Y)
    with pytest.warns(LabelWarning, match=f"{learner.__name__} can never predict 1 of the 6 labels"):
        learner(TREE, estimator=GaussianNB()).fit(X, y)
    model = learner(TREE, estimator=GaussianNB(), stop=True).fit(X, y)
    assert "film" in model.classes_
    assert "film" in model.predict(X)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    everything = model.predict_proba(X, nodes="all")
    np.testing.assert_allclose(everything[:, TREE.roots].sum(axis=1), 1)


def test_a_node_per_classifier_predicts_sets():
    y = [{"tennis", "music"} if k % 2 else {"news"} for k in range(len(Y))]
    rows = X + 10 * (np.arange(len(Y)) % 2)[:, None]
    model = LocalPerNode(TREE, estimator=DecisionTreeClassifier(random_state=0)).fit(rows, y)
    assert model.predict(rows) == y
    assert model.score(rows, y) == 1.0
    probabilities = model.predict_proba(rows, nodes="all")
    assert np.all(probabilities[:, TREE.index("tennis")] <= probabilities[:, TREE.index("sport")])
    assert np.all((model.decision_function(rows) >= 0) == (model.predict_proba(rows) >= 0.5))


# ---------------------------------------------------------------- different classifiers


@pytest.mark.parametrize("learner", [TopDown, LocalPerNode])
def test_classifiers_by_level_by_node_and_for_all_others(learner):
    estimator = {0: LogisticRegression(), "art": GaussianNB(), None: DecisionTreeClassifier()}
    model = learner(TREE, estimator=estimator).fit(X, Y)
    if learner is TopDown:
        found = {v: type(decision.estimator) for v, decision in model.decisions_.items()}
        wanted = {-1: LogisticRegression, TREE.index("art"): GaussianNB, TREE.index("film"): DecisionTreeClassifier}
        assert wanted.items() <= found.items()
    else:
        found = {TREE.names[v]: type(estimator) for v, estimator in model.estimators_.items()}
        assert found["sport"] is LogisticRegression
        assert found["art"] is GaussianNB  # a name counts before a level
        assert found["noir"] is DecisionTreeClassifier


def test_classifiers_by_level():
    model = LocalPerLevel(TREE, estimator={0: GaussianNB(), 2: DecisionTreeClassifier()}).fit(X, Y)
    assert [type(m) for m in model.estimators_.values()] == [GaussianNB, FlatLogistic, DecisionTreeClassifier]
    with pytest.raises(ParameterError, match="'art', where no classifier stands"):
        LocalPerLevel(TREE, estimator={"art": GaussianNB()}).fit(X, Y)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearRegression(), "estimator must be a classifier"),
        ({0: LinearRegression()}, "estimator must be a classifier"),
        (GaussianNB, "estimator must be a classifier"),
        ({7: GaussianNB(), None: GaussianNB()}, "the key 7, where no classifier stands"),
        ({"golf": GaussianNB(), None: GaussianNB()}, "the key 'golf', where no classifier stands"),
        ({0.5: GaussianNB()}, "keys of estimator must be levels"),
    ],
)
def test_other_estimators_are_refused(learner, estimator, message):
    with pytest.raises(ParameterError, match=message):
        learner(TREE, estimator=estimator).fit(X, Y)


def test_top_down_needs_a_classifier_everywhere():
    with pytest.raises(ParameterError, match="no classifier for some nodes"):
        TopDown(TREE, estimator={0: GaussianNB()}).fit(X, Y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_weights_reach_the_classifiers(learner):
    weights = np.where(Y == "news", 0.0, 1.0)
    model = learner(TREE, estimator=GaussianNB()).fit(X, Y, sample_weight=weights)
    assert "news" not in model.classes_
    with pytest.raises(ParameterError, match="takes no sample_weight"):
        learner(TREE, estimator=cladist.Hieron()).fit(X, Y, sample_weight=weights)


# ---------------------------------------------------------------- probabilities


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("combine", ["multiply", "geometric", "arithmetic", None])
def test_probabilities_are_combined_along_paths(learner, combine):
    model = learner(TREE, estimator=GaussianNB(), combine=combine).fit(X, Y)
    given = np.ones((len(X), TREE.n_nodes))  # the probability of each node given its parent
    for siblings in [[v for v in range(TREE.n_nodes) if TREE.parent[v] == p] for p in (-1, *range(TREE.n_nodes))]:
        if learner is TopDown:
            scores = {}
            for decision in model.decisions_.values():
                scores |= dict(zip(decision.children.tolist(), decision.probabilities(X).T, strict=True))
            part = np.array([scores[v] for v in siblings]).T
        else:
            part = model._node_scores(X)[:, siblings]
        if siblings:
            given[:, siblings] = part / part.sum(axis=1, keepdims=True)
    wanted = []
    for v in TREE.leaves:
        path = given[:, TREE.path_ids(int(v))]
        by = {"multiply": np.prod, "geometric": lambda p, axis: np.exp(np.log(np.maximum(p, 1e-308)).mean(axis=axis))}
        by |= {"arithmetic": np.mean, None: lambda p, axis: p[:, -1]}
        wanted.append(by[combine](path, axis=1))
    wanted = np.array(wanted).T
    np.testing.assert_allclose(model.predict_proba(X), wanted / wanted.sum(axis=1, keepdims=True), atol=1e-9)
    levels = model.predict_proba(X, nodes="levels")
    assert [part.shape[1] for part in levels] == [int((TREE.depth == k).sum()) for k in range(3)]
    for part in levels:
        np.testing.assert_allclose(part.sum(axis=1), 1)


@pytest.mark.parametrize("learner", LEARNERS)
def test_probabilities_need_those_of_the_classifiers(learner):
    assert hasattr(learner(TREE, estimator=GaussianNB()), "predict_proba")
    assert not hasattr(learner(TREE, estimator=Perceptron()), "predict_proba")
    assert not hasattr(TopDown(TREE), "predict_proba")


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize("learner", LEARNERS)
def test_texts_go_to_classifiers_that_take_them(learner):
    texts = [f"a text about {label} and more" for label in Y]
    model = learner(TREE, estimator=make_pipeline(TfidfVectorizer(), LogisticRegression(C=100))).fit(texts, Y)
    assert model.score(texts, Y) == 1.0
    assert model.predict(np.array(texts)).tolist() == Y.tolist()
    assert model.predict(pd.Series(texts)).tolist() == Y.tolist()
    with pytest.raises(ValueError, match="text_features"):
        learner(TREE).fit(texts, Y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_missing_values_go_to_classifiers_that_take_them(learner):
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    trees = learner(TREE, estimator=DecisionTreeClassifier(random_state=0)).fit(holes, Y)
    assert trees.score(holes, Y) > 0.9
    for estimator in (None, LogisticRegression()):
        with pytest.raises(ValueError, match="NaN"):
            learner(TREE, estimator=estimator).fit(holes, Y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_frames_with_categories_stay_frames(learner):
    frame = pd.DataFrame({"size": X[:, 0], "kind": pd.Categorical([f"k{label}" for label in Y])})
    boosting = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2, categorical_features="from_dtype")
    assert learner(TREE, estimator=boosting).fit(frame, Y).score(frame, Y) > 0.8
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = learner(TREE, estimator=make_pipeline(columns, GaussianNB())) if learner is not None else None
    columns.sparse_threshold = 0
    weights = np.where(Y == "news", 0.0, 1.0)
    assert model.fit(frame, Y).score(frame, Y) == 1.0
    assert model.feature_names_in_.tolist() == ["size", "kind"]
    boosted = learner(TREE, estimator=boosting).fit(frame, Y, sample_weight=weights)
    assert boosted.predict(frame[:0]).tolist() == []


@pytest.mark.parametrize("learner", LEARNERS)
def test_sparse_rows_stay_sparse(learner):
    kinds = []

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            kinds.append(sparse.issparse(X))
            return super().fit(X, y, sample_weight)

    learner(TREE, estimator=Spy()).fit(sparse.csr_matrix(X), Y)
    assert kinds
    assert all(kinds)


# ---------------------------------------------------------------- saving


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("options", [{}, {"stop": True}, {"estimator": FlatLogistic()}])
def test_models_of_cladists_classifiers_are_saved(learner, options, tmp_path):
    model = learner(TREE, **options).fit(X, Y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.fit(X, Y).score(X, Y) == model.score(X, Y)


def test_a_mapping_is_saved_by_node(tmp_path):
    estimator = {0: FlatLogistic(C=2.0), None: cladist.FlatLogistic(C=5.0)}
    LocalPerNode(TREE, estimator=estimator).fit(X, Y).save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    assert {name: model.C for name, model in again.estimator.items()}["sport"] == 2.0
    assert again.fit(X, Y).estimators_[TREE.index("tennis")].C == 5.0
    with pytest.raises(ModelFormatError, match="A TopDown with several classifiers cannot be saved"):
        TopDown(TREE, estimator=estimator).fit(X, Y).save(tmp_path / "other")


def test_constant_classifiers_make_no_difference():
    """A node whose rows all go one way has no classifier, and its probability is 1."""
    chain = [["a", "b", "c"]] * 5 + [["a", "b", "d"]] * 5
    rows = np.r_[np.zeros(5), np.ones(5)][:, None]
    for learner in (LocalPerNode, LocalPerLevel):
        model = learner(estimator=DummyClassifier(strategy="prior")).fit(rows, chain)
        levels = model.predict_proba(rows, nodes="levels")
        assert np.all(levels[0] == 1)
        assert np.all(levels[1] == 1)
        np.testing.assert_allclose(levels[2], 0.5)
