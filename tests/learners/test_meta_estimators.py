"""scikit-learn's meta-estimators around our learners, each with a taxonomy given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cladist import (
    EncodedClassifier,
    FlatSVM,
    LocalPerNode,
    RecursiveLogistic,
    RecursiveSVM,
    Taxonomy,
    TopDown,
)
from cladist.errors import LabelError
from cladist.labels import to_indicator
from cladist.metrics import scorers

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music", "art/film"])
Y = np.array(["tennis", "chess", "music", "film"] * 20)
X = np.random.default_rng(0).normal(size=(80, 5)) + 3 * np.eye(4, 5)[np.arange(80) % 4]
LEARNERS = {
    "RecursiveSVM": RecursiveSVM(TREE),
    "RecursiveLogistic": RecursiveLogistic(TREE),
    "TopDown": TopDown(TREE),
    "LocalPerNode": LocalPerNode(TREE),
    "Pipeline": make_pipeline(StandardScaler(), FlatSVM(TREE)),
}
GOOD = 0.8


@pytest.fixture(params=LEARNERS)
def learner(request):
    return clone(LEARNERS[request.param])


@pytest.fixture
def encoded(learner):
    return EncodedClassifier(learner, labels=Y)


# ---------------------------------------------------------------- those that encode y


@pytest.mark.parametrize("stack_method", ["auto", "predict"])
@pytest.mark.parametrize("passthrough", [False, True])
def test_stacking(encoded, stack_method, passthrough):
    stack = StackingClassifier(
        [("tree", encoded), ("flat", LogisticRegression())], stack_method=stack_method, passthrough=passthrough, cv=3
    )
    assert stack.fit(X, Y).score(X, Y) > GOOD
    assert set(stack.predict(X)) <= set(Y)


@pytest.mark.parametrize("name", ["RecursiveLogistic", "LocalPerNode"])
def test_soft_voting_adds_the_probabilities_of_the_same_classes(name):
    tree, flat = EncodedClassifier(LEARNERS[name], labels=Y), LogisticRegression()
    vote = VotingClassifier([("tree", tree), ("flat", flat)], voting="soft").fit(X, Y)
    own = clone(LEARNERS[name]).fit(X, Y)
    order = [own.classes_.tolist().index(label) for label in np.unique(Y)]
    wanted = (own.predict_proba(X)[:, order] + flat.fit(X, Y).predict_proba(X)) / 2
    np.testing.assert_allclose(vote.predict_proba(X), wanted, atol=1e-6)
    assert vote.score(X, Y) > GOOD


def test_hard_voting(encoded):
    vote = VotingClassifier([("tree", encoded), ("flat", LogisticRegression()), ("flat 2", LogisticRegression(C=9))])
    assert vote.fit(X, Y).score(X, Y) > GOOD


def test_bagging(encoded):
    model = BaggingClassifier(encoded, n_estimators=3, max_samples=0.7, random_state=0).fit(X, Y)
    assert model.score(X, Y) > GOOD
    assert model.predict_proba(X).shape == (80, 4)


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_cross_val_predict(encoded, method):
    if not hasattr(encoded, method):
        pytest.skip(f"{type(encoded.estimator).__name__} has no {method}")
    found = cross_val_predict(encoded, X, Y, cv=4, method=method)
    labels = found if method == "predict" else np.unique(Y)[found.argmax(axis=1)]
    assert np.mean(labels == Y) > GOOD


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_classifier_cv(encoded, ensemble, method):
    model = CalibratedClassifierCV(encoded, ensemble=ensemble, method=method, cv=3).fit(X, Y)
    assert np.mean(model.predict(X) == Y) > GOOD
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(
    "meta",
    [
        lambda learner: StackingClassifier([("a", learner)]),
        lambda learner: VotingClassifier([("a", learner)]),
        lambda learner: BaggingClassifier(learner, n_estimators=1),
        lambda learner: CalibratedClassifierCV(learner, ensemble=False),
    ],
)
def test_without_the_wrapper_the_error_names_it(meta):
    with pytest.raises(ValueError, match=r"y holds numbers from 0 to 3.*EncodedClassifier\(learner, labels=y\)"):
        meta(RecursiveSVM(TREE)).fit(X, Y)
    with pytest.raises(ValueError, match=r"EncodedClassifier\(learner, labels=y\)"):
        cross_val_predict(RecursiveSVM(TREE), X, Y, method="decision_function")


# ---------------------------------------------------------------- the wrapper itself


def test_numbers_and_labels_give_the_same_model(encoded):
    names, codes = np.unique(Y, return_inverse=True)
    by_name, by_code = clone(encoded).fit(X, Y), clone(encoded).fit(X, codes)
    np.testing.assert_array_equal(by_name.classes_, names)
    np.testing.assert_array_equal(by_code.classes_, np.arange(4))
    np.testing.assert_array_equal(names[by_code.predict(X)], by_name.predict(X))
    np.testing.assert_array_equal(by_code.decision_function(X), by_name.decision_function(X))
    np.testing.assert_array_equal(by_code.decision_function(X).argmax(axis=1), by_code.predict(X))


def test_labels_that_are_numbers_are_no_codes():
    codes = Taxonomy.from_parents({1: None, 2: None, 11: 1, 12: 1, 21: 2, 22: 2})
    y = np.array([11, 12, 21, 22] * 20)
    model = EncodedClassifier(RecursiveSVM(codes), labels=y)
    assert VotingClassifier([("a", model)]).fit(X, y).score(X, y) > GOOD
    assert model.fit(X, y).classes_.tolist() == [11, 12, 21, 22]


def test_a_class_without_rows_has_no_column():
    some = Y != "film"
    model = EncodedClassifier(RecursiveLogistic(TREE), labels=Y)
    codes = np.unique(Y, return_inverse=True)[1]
    assert model.fit(X[some], codes[some]).classes_.tolist() == [0, 2, 3]
    assert model.predict_proba(X).shape == (80, 3)


def test_nodes_that_no_row_has_are_not_predicted():
    class Uncertain(RecursiveSVM):
        def predict(self, X):
            return np.array(["sport"] * len(X))

    model = EncodedClassifier(Uncertain(TREE), labels=Y).fit(X, Y)
    assert np.mean(model.predict(X) == Y) > GOOD


@pytest.mark.parametrize(
    ("labels", "y", "message"),
    [
        (None, Y, "labels must hold all labels"),
        (Y, np.arange(80) % 5, "numbers in y go from 0 to 3"),
        (Y, np.arange(80) % 2, "a learner without a taxonomy"),
    ],
)
def test_what_cannot_be_numbers_of_labels_is_refused(labels, y, message):
    with pytest.raises(LabelError, match=message):
        EncodedClassifier(RecursiveSVM(TREE), labels=labels).fit(X, y)


# ---------------------------------------------------------------- those that do not


@pytest.mark.parametrize("meta", [OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier, AdaBoostClassifier])
def test_schemes_of_two_classes_take_learners_without_a_taxonomy(meta):
    if meta is AdaBoostClassifier:
        assert meta(TopDown(TREE), n_estimators=2).fit(X, Y).score(X, Y) > GOOD
        return
    assert meta(RecursiveSVM()).fit(X, Y).score(X, Y) > GOOD
    if meta is OutputCodeClassifier:  # −1 and 1
        return
    with pytest.raises(ValueError, match=r"y holds 0 and 1.*for OneVsRestClassifier, leave the taxonomy out"):
        meta(RecursiveSVM(TREE)).fit(X, Y)


@pytest.mark.parametrize("meta", [MultiOutputClassifier, ClassifierChain, OneVsRestClassifier])
def test_multi_output_schemes_take_learners_without_a_taxonomy(meta):
    Z = to_indicator(Y, TREE).toarray()
    found = meta(FlatSVM()).fit(X, Z).predict(X)
    assert np.mean((np.asarray(found) == Z).all(axis=1)) > GOOD


def test_calibration_of_a_frozen_model(learner):
    fitted = learner.fit(X, Y)
    model = CalibratedClassifierCV(FrozenEstimator(fitted), cv=3).fit(X, Y)
    assert np.mean(model.predict(X) == Y) > GOOD
    assert model.predict_proba(X).shape == (80, 4)


def test_calibration_of_an_ensemble(learner):
    assert np.mean(CalibratedClassifierCV(learner, cv=3).fit(X, Y).predict(X) == Y) > GOOD


def test_scores_and_curves(learner):
    assert cross_val_score(learner, X, Y, cv=3).mean() > GOOD
    assert cross_validate(learner, X, Y, cv=3, scoring=scorers.hierarchical_f1)["test_score"].mean() > GOOD
    _, _, test = learning_curve(learner, X, Y, cv=3, train_sizes=[0.5, 1.0])
    assert test.shape == (2, 3)
    assert test[-1].mean() > GOOD
    score, _, p_value = permutation_test_score(learner, X, Y, cv=3, n_permutations=5, random_state=0)
    assert score > GOOD
    assert p_value < 0.5


def test_searches():
    grid = {"C": [0.01, 1.0]}
    for search in (
        GridSearchCV(RecursiveSVM(TREE), grid, cv=3),
        RandomizedSearchCV(RecursiveSVM(TREE), grid, n_iter=2, cv=3, random_state=0),
        HalvingGridSearchCV(RecursiveSVM(TREE), grid, cv=3, min_resources=24, random_state=0),
    ):
        assert search.fit(X, Y).score(X, Y) > GOOD
        assert search.predict(X[:2]).tolist() == Y[:2].tolist()
    _, test = validation_curve(RecursiveSVM(TREE), X, Y, param_name="C", param_range=[0.01, 1.0], cv=3)
    assert test.shape == (2, 3)


def test_permutation_importance(learner):
    fitted = learner.fit(X, Y)
    importance = permutation_importance(fitted, X, Y, n_repeats=3, random_state=0).importances_mean
    assert importance[4] < importance[:4].min()  # the last column is noise


def test_selection_of_features_by_weights():
    chosen = SelectFromModel(FlatSVM(TREE)).fit(X, Y)
    assert not chosen.get_support()[4]
    assert make_pipeline(SelectFromModel(FlatSVM(TREE)), TopDown(TREE)).fit(X, Y).score(X, Y) > GOOD


def test_two_classes_and_a_threshold():
    two = np.isin(Y, ["tennis", "chess"])
    model = FixedThresholdClassifier(EncodedClassifier(RecursiveLogistic(TREE), labels=Y[two]), threshold=0.5)
    assert model.fit(X[two], Y[two]).score(X[two], Y[two]) > GOOD


# ---------------------------------------------------------------- routing and output


def test_sample_weights_are_routed():
    weights = np.where(Y == "film", 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = RecursiveSVM(TREE).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), learner)
        pipeline.fit(X, Y, sample_weight=weights)
        assert "film" not in pipeline[-1].classes_
        result = cross_validate(pipeline, X, Y, cv=3, params={"sample_weight": weights}, return_estimator=True)
        assert all("film" not in model[-1].classes_ for model in result["estimator"])
        search = GridSearchCV(learner, {"C": [0.1, 1.0]}, cv=3).fit(X, Y, sample_weight=weights)
        assert "film" not in search.best_estimator_.classes_
        wrapped = EncodedClassifier(RecursiveSVM(TREE), labels=Y).set_fit_request(sample_weight=True)
        vote = VotingClassifier([("a", wrapped)]).fit(X, Y, sample_weight=weights)
        assert "film" not in vote.predict(X)


def test_set_output_hands_frames_to_the_learner():
    frame = pd.DataFrame(X, columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), RecursiveSVM(TREE)).set_output(transform="pandas").fit(frame, Y)
    assert pipeline[-1].feature_names_in_.tolist() == list("abcde")
    assert pipeline[:-1].transform(frame).columns.tolist() == list("abcde")
    assert pipeline.score(frame, Y) > GOOD
