"""Scorers in scikit-learn's hands."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cladist import Taxonomy, metrics
from cladist.errors import ParameterError
from cladist.metrics import scorers

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
X = np.arange(12.0).reshape(-1, 1)
Y = np.array([3, 4, 5, 6] * 3)


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts one label for every row."""

    def __init__(self, label=3):
        self.label = label

    def fit(self, X, y):
        self.taxonomy_ = TREE
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


EVERY = {
    "accuracy": (metrics.accuracy, 1),
    "tree_induced_error": (metrics.tree_induced_error, -1),
    "h_loss": (metrics.h_loss, -1),
    "micro_f1": (metrics.micro_f1, 1),
    "macro_f1": (metrics.macro_f1, 1),
    "hierarchical_f1": (metrics.hierarchical_f1, 1),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_scorer_is_its_metric_with_a_sign(name):
    metric, sign = EVERY[name]
    model = Constant().fit(X, Y)
    score = getattr(scorers, name)(model, X, Y)
    assert isinstance(score, float)
    assert score == sign * metric(Y, model.predict(X), TREE)


@pytest.mark.parametrize("name", EVERY)
def test_a_scorer_survives_pickling(name):
    scorer = getattr(scorers, name)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_options_and_weights_reach_the_metric():
    model, weight = Constant().fit(X, Y), np.arange(12)
    scorer = scorers.make_scorer(metrics.h_loss, greater_is_better=False, weights="sibling")
    expected = metrics.h_loss(Y, model.predict(X), TREE, weights="sibling", sample_weight=weight)
    assert scorer(model, X, Y, sample_weight=weight) == -expected
    assert repr(scorer) == "make_scorer(h_loss, greater_is_better=False, weights='sibling')"


def test_the_taxonomy_is_found_inside_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), Constant())
    search = GridSearchCV(pipeline, {"constant__label": [0, 3]}, scoring=scorers.tree_induced_error, cv=3)
    search.fit(X, Y)
    assert search.best_params_ == {"constant__label": 0}  # 2 edges from every leaf; leaf 3 is 2.5 away
    assert search.best_score_ == -2
    assert scorers.tree_induced_error(search, X, Y) == -2
    assert scorers.tree_induced_error(make_pipeline(search), X, Y) == -2


def test_cross_validation_takes_a_scorer():
    scores = cross_val_score(Constant(), X, Y, scoring=scorers.micro_f1, cv=3)
    assert scores.tolist() == [0.25] * 3


def test_several_scorers_at_once():
    scoring = {"f1": scorers.hierarchical_f1, "loss": scorers.h_loss}
    result = cross_validate(Constant(), X, Y, scoring=scoring, cv=3)
    assert np.all(result["test_f1"] > 0)
    assert np.all(result["test_loss"] < 0)


def test_an_estimator_without_a_taxonomy_is_refused():
    with pytest.raises(ParameterError, match="LogisticRegression has none"):
        scorers.micro_f1(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y), X, Y)


def test_a_metric_is_a_function():
    with pytest.raises(ParameterError, match="got 'micro_f1'"):
        scorers.make_scorer("micro_f1", greater_is_better=True)
