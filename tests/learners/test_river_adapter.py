"""The adapter for river, by river's own checks."""

from __future__ import annotations

import pytest

pytest.importorskip("river")

from river import checks, metrics

from cladist import FlatSVM, HierarchicalPerceptron, HierarchicalRLS, Hieron, RiverClassifier
from cladist.errors import ParameterError

MODELS = [
    RiverClassifier(n_features=256),
    RiverClassifier(Hieron(), n_features=256),
    RiverClassifier(HierarchicalRLS(sparse=True), n_features=32),
]
# It watches memory over thousands of single rows; the benchmark of streams does so over a million.
SLOW = {"check_bounded_memory_growth"}


def every_check():
    for model in MODELS:
        for check in checks.yield_checks(model):
            if check.__name__ not in SLOW:
                yield pytest.param(model, check, id=f"{type(model.learner).__name__}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(every_check()))
@pytest.mark.filterwarnings("ignore")
def test_river(model, check):
    check(model.clone())


def stream():
    words = {"chess": ["rook", "pawn"], "tennis": ["racket", "net"], "sport/golf": ["tee", "club"]}
    for k in range(60):
        label = list(words)[k % 3]
        yield dict.fromkeys([words[label][k % 2], f"w{k}"], 1.0), label


@pytest.mark.parametrize("learner", [Hieron, HierarchicalRLS, HierarchicalPerceptron])
def test_it_learns_and_grows(learner):
    given = learner({"tennis": "sport", "chess": "sport"})
    model = RiverClassifier(given)
    assert model.predict_one({"rook": 1.0}) is None
    accuracy = metrics.Accuracy()
    for x, y in stream():
        found = model.predict_one(x)
        if found is not None:
            accuracy.update(y.rpartition("/")[2], found)
        model.learn_one(x, y)
    assert accuracy.get() > 0.7
    assert model.learner.taxonomy_.path("golf") == ["sport", "golf"]
    assert not hasattr(given, "rows_seen_"), "the learner given stays as it is"


def test_labels_come_back_as_they_were_given():
    model = RiverClassifier(Hieron())
    for x, y in (({"a": 1}, 7), ({"b": 1}, True), ({"c": "red"}, "x")):
        model.learn_one(x, y)
    assert [model.predict_one(x) for x in ({"a": 2}, {"b": 1}, {"c": "red"})] == [7, True, "x"]


def test_who_cannot():
    with pytest.raises(ParameterError, match="row by row"):
        RiverClassifier(FlatSVM())
    with pytest.raises(NotImplementedError):
        RiverClassifier().predict_proba_one({})
