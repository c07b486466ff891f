"""`DecisionClassifier`: rules on top of calibrated models, rows without an answer, saving."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import cladist
from cladist import CalibratedClassifier, DecisionClassifier, FlatLogistic, Taxonomy, TopDown
from cladist.datasets import make_topics
from cladist.decisions import Confidence, Conformal, MinimumRisk, RiskControl
from cladist.errors import ModelFormatError, ParameterError
from cladist.features import text_features
from cladist.learners import decision_classifier
from cladist.losses import HLoss

DATA = make_topics(n_samples=600, n_features=120, branching=(3, 3), random_state=0)
X, Y, TREE = DATA.X, np.asarray(DATA.y), DATA.taxonomy
NEW = slice(400, None)
RULES = [
    None,
    Confidence(0.7),
    MinimumRisk("tree-distance"),
    RiskControl(at_most=0.3),
    Conformal(0.2),
    Conformal(0.2, kind="node"),
]


@pytest.fixture(scope="module")
def calibrated():
    return CalibratedClassifier(FlatLogistic(TREE), cv=3, random_state=0).fit(X[:300], Y[:300])


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_answers_are_the_rules(calibrated, rule, tmp_path):
    """Around a calibrated model, the answers are those of the rule on its probabilities; saving keeps them."""
    model = DecisionClassifier(calibrated, rule=rule, cv="prefit").fit(X[300:400], Y[300:400])
    names = [TREE.names[v] for v in calibrated.class_nodes_]
    alone = clone(Confidence() if rule is None else rule)
    alone.fit(calibrated.predict_proba(X[300:400]), Y[300:400], TREE, classes=names)
    expected = alone.decide(calibrated.predict_proba(X[NEW]))
    assert model.predict(X[NEW]).tolist() == expected.tolist()
    model.save(tmp_path / "model")
    restored = cladist.load(tmp_path / "model")
    assert restored.predict(X[NEW]).tolist() == expected.tolist()
    assert repr(restored.rule) == repr(model.rule_)
    assert 0 <= model.score(X[NEW], Y[NEW]) <= 1


def test_rows_are_held_out_only_where_a_rule_learns():
    without = DecisionClassifier(FlatLogistic(TREE), rule=MinimumRisk(), cv=3, random_state=0).fit(X[:300], Y[:300])
    plain = CalibratedClassifier(FlatLogistic(TREE), cv=3, random_state=0).fit(X[:300], Y[:300])
    np.testing.assert_array_equal(without.predict_proba(X[NEW]), plain.predict_proba(X[NEW]))
    learns = DecisionClassifier(FlatLogistic(TREE), rule=Conformal(), cv=3, random_state=0).fit(X[:300], Y[:300])
    assert not np.array_equal(learns.predict_proba(X[NEW]), plain.predict_proba(X[NEW]))


def test_conformal_answers_cover():
    model = DecisionClassifier(TopDown(TREE), rule=Conformal(0.2), cv=3, held_out=0.4, random_state=1)
    assert model.fit(X[:400], Y[:400]).score(X[NEW], Y[NEW]) >= 0.7


def test_sets_of_leaves_see_as_many_classes_as_they_need(monkeypatch, tmp_path):
    """Lists of one class cannot cover 98 % of the rows; lists grow until they can, also in a file."""
    whole = DecisionClassifier(FlatLogistic(TREE), rule=Conformal(0.02), cv=3, held_out=0.4, random_state=1)
    whole.fit(X[:400], Y[:400])
    monkeypatch.setattr(decision_classifier, "LISTED", 1)
    grown = clone(whole).fit(X[:400], Y[:400])
    assert grown.rule_.threshold_ == whole.rule_.threshold_ > 0
    assert grown.predict(X[NEW]).tolist() == whole.predict(X[NEW]).tolist()
    grown.save(tmp_path / "m")
    assert cladist.load(tmp_path / "m").predict(X[NEW]).tolist() == whole.predict(X[NEW]).tolist()


def test_where_and_why():
    model = DecisionClassifier(FlatLogistic(TREE), rule=Confidence(0.6), abstain=0.1, cv=3, random_state=0)
    model.fit(X[:400], Y[:400])
    rows = sparse.vstack([sparse.csr_array(X[NEW]), sparse.csr_array((1, X.shape[1]))], format="csr")
    decisions = model.predict_decisions(rows)
    places = dict.fromkeys(decisions.decided_at.tolist())
    assert set(places) <= {"leaf", "inner node", "abstained"}
    assert decisions.reason[-1] == "no known feature"
    assert decisions.labels[-1] is None
    for label, place, reason in zip(decisions.labels, decisions.decided_at, decisions.reason, strict=True):
        assert (label is None) == (place == "abstained") == (reason != "")
        assert label is None or (place == "leaf") == bool(TREE.is_leaf[TREE.index(label)])
    assert 0.02 <= np.mean(decisions.reason == "out of scope") <= 0.25  # near the tenth asked for
    assert model.predict_paths(rows)[-1] == []


def test_texts_without_a_known_word():
    texts = [f"ball racket {k % 7}" for k in range(30)] + [f"paint brush {k % 5}" for k in range(30)]
    labels, taxonomy = ["tennis"] * 30 + ["art"] * 30, Taxonomy.from_paths(["sport/tennis", "art"])
    model = DecisionClassifier(make_pipeline(text_features(), FlatLogistic(taxonomy)), cv=3, random_state=0)
    decisions = model.fit(texts, labels).predict_decisions(["", "racket ball", "qqq zzz"])
    assert decisions.reason.tolist() == ["no known feature", "", "no known feature"]


def test_sets_of_labels():
    sets = [{label, Y[(i + 1) % len(Y)]} if i % 3 == 0 else {label} for i, label in enumerate(Y)]
    for rule, least in ((MinimumRisk("h-loss"), 0.1), (MinimumRisk("hierarchical-f1"), 0.4), (Conformal(0.2), 0.4)):
        model = DecisionClassifier(FlatLogistic(TREE, targets="nodes"), rule=rule, cv=3, random_state=0)
        model.fit(X[:300], sets[:300])
        answers = model.predict(X[NEW])
        assert all(isinstance(answer, set) for answer in answers)
        assert model.score(X[NEW], sets[NEW]) > least  # rows without a label count as wrong


def test_a_classifier_of_scikit_learn():
    inner = CalibratedClassifier(LogisticRegression(), taxonomy=TREE, cv=3, random_state=0)
    model = DecisionClassifier(inner, rule=MinimumRisk()).fit(X[:300], Y[:300])
    assert set(model.predict(X[NEW])) <= set(TREE.names)


def test_what_is_refused(calibrated, tmp_path):
    with pytest.raises(ParameterError, match=r"rule must be a rule of cladist\.decisions, as Confidence.*; got 'sure'"):
        DecisionClassifier(FlatLogistic(TREE), rule="sure").fit(X, Y)
    with pytest.raises(ParameterError, match="abstain must be between 0 and 1; got 2"):
        DecisionClassifier(FlatLogistic(TREE), abstain=2).fit(X, Y)
    with pytest.raises(ParameterError, match="4 of 20 rows would be held out"):
        DecisionClassifier(FlatLogistic(TREE), rule=Conformal()).fit(X[:20], Y[:20])
    model = DecisionClassifier(calibrated, rule=MinimumRisk(HLoss("sibling")), cv="prefit").fit(X[:40], Y[:40])
    with pytest.raises(ModelFormatError, match="only losses with a name can"):
        model.save(tmp_path / "model")
