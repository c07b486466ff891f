"""`CalibratedClassifier` and `BlendedClassifier`: what they promise for every learner inside them."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cladist
from cladist import (
    BlendedClassifier,
    CalibratedClassifier,
    FlatLogistic,
    FlatSVM,
    Hieron,
    NodewiseSVM,
    RecursiveSVM,
    Taxonomy,
    TopDown,
)
from cladist.calibration import calibrate
from cladist.errors import CladistError, ParameterError
from cladist.features import text_features
from cladist.learners import out_of_fold
from cladist.learners.out_of_fold import out_of_fold_scores, random_folds
from cladist.metrics import log_loss

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music", "art/film", "food"])
LEAVES = np.array([TAXONOMY.names[v] for v in TAXONOMY.leaves])
DAG = Taxonomy.from_edges([("s", "a"), ("t", "a"), ("s", "b"), ("t", "c")])


def make_rows(n, seed, names=LEAVES, noise=2.0):
    """Rows whose label is the most likely of a few Gaussian classes, most of the time."""
    random = np.random.default_rng(seed)
    which = random.integers(0, len(names), n)
    X = 2 * np.eye(len(names))[which] + noise * random.normal(size=(n, len(names))) / 2
    return X, names[which]


X, Y = make_rows(160, 0)
X_TEST, Y_TEST = make_rows(400, 1)
LEARNERS = {
    "top-down": TopDown(TAXONOMY),
    "hr-svm": RecursiveSVM(TAXONOMY, sharing=1),
    "lr": FlatLogistic(TAXONOMY),
    "hieron": Hieron(TAXONOMY, random_state=0, allowed_labels="leaves"),
    "pipeline": make_pipeline(StandardScaler(), FlatSVM(TAXONOMY)),
}
FOREIGN = {"logistic": LogisticRegression(), "bayes": GaussianNB()}


@pytest.mark.parametrize("name", [*LEARNERS, *FOREIGN])
def test_any_classifier_gets_coherent_probabilities_that_beat_no_information(name):
    taxonomy = {"taxonomy": TAXONOMY} if name in FOREIGN else {}
    model = CalibratedClassifier({**LEARNERS, **FOREIGN}[name], cv=4, random_state=0, **taxonomy).fit(X, Y)
    P, N = model.predict_proba(X_TEST), model.predict_proba(X_TEST, nodes="all")
    assert (P.shape, N.shape) == ((400, len(model.classes_)), (400, TAXONOMY.n_nodes))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(N[:, model.class_nodes_], P)
    for v in range(TAXONOMY.n_nodes):
        if not TAXONOMY.is_leaf[v]:
            np.testing.assert_allclose(N[:, v], N[:, TAXONOMY.child_ids(v)].sum(axis=1))
    np.testing.assert_array_equal(model.predict(X_TEST), model.classes_[P.argmax(axis=1)])
    np.testing.assert_allclose(model.decision_function(X_TEST), np.log(P), rtol=1e-6)
    assert model.score(X_TEST, Y_TEST) == pytest.approx(np.mean(model.predict(X_TEST) == Y_TEST))
    assert model.predict_paths(X_TEST[:3]) == [TAXONOMY.path(label) for label in model.predict(X_TEST[:3])]
    assert log_loss(Y_TEST, P, TAXONOMY, classes=model.classes_) < 0.85 * np.log(len(LEAVES))


def test_the_calibration_is_that_of_out_of_fold_scores():
    learner = FlatLogistic(TAXONOMY)
    model = CalibratedClassifier(learner, cv=4, random_state=3).fit(X, Y)
    folds = random_folds("", len(X), 4, 3)
    labels = cladist.labels.encode([{label} for label in Y], TAXONOMY).labels
    scores = out_of_fold_scores(learner, X, labels, model.class_nodes_, folds=folds)
    expected = calibrate(scores, Y, TAXONOMY, classes=model.classes_)
    np.testing.assert_allclose(model.calibrator_.model.scales, expected.model.scales, rtol=1e-4)


def test_the_most_probable_classes_are_found_in_chunks(monkeypatch):
    model = CalibratedClassifier(TopDown(TAXONOMY), random_state=0).fit(X, Y)
    P = model.predict_proba(X_TEST)
    monkeypatch.setattr(out_of_fold, "CHUNK_BYTES", 8 * 7 * TAXONOMY.n_nodes)
    top = model.predict_proba(X_TEST, top_k=2)
    np.testing.assert_allclose(top.probabilities, -np.sort(-P, axis=1)[:, :2])
    np.testing.assert_allclose(np.take_along_axis(P, top.columns, axis=1), top.probabilities)
    names, probabilities = model.predict_top_k(X_TEST, 2)
    np.testing.assert_array_equal(names, model.classes_[top.columns])
    np.testing.assert_array_equal(probabilities, top.probabilities)
    np.testing.assert_allclose(model.predict_proba(X_TEST), P)
    assert model.predict_proba(X_TEST[:2], top_k=99).columns.shape == (2, len(LEAVES))


def test_a_fitted_estimator_is_calibrated_on_the_rows_given():
    learner = TopDown(TAXONOMY).fit(X, Y)
    model = CalibratedClassifier(learner, cv="prefit").fit(X_TEST, Y_TEST)
    assert model.estimator_ is learner
    expected = calibrate(learner.decision_function(X_TEST), Y_TEST, TAXONOMY, classes=learner.classes_)
    np.testing.assert_allclose(model.predict_proba(X_TEST), expected.predict(learner.decision_function(X_TEST)))


@pytest.mark.parametrize("make", [CalibratedClassifier, lambda model, **options: BlendedClassifier([model], **options)])
def test_the_result_depends_on_the_seed_alone(make):
    P = [make(TopDown(TAXONOMY), random_state=0, n_jobs=jobs).fit(X, Y).predict_proba(X_TEST) for jobs in (1, 3)]
    np.testing.assert_array_equal(*P)
    other = make(TopDown(TAXONOMY), random_state=1).fit(X, Y)
    assert not np.array_equal(other.predict_proba(X_TEST), P[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(other)).predict(X_TEST), other.predict(X_TEST))
    assert clone(other).get_params().keys() == other.get_params().keys()


def test_labels_may_end_at_inner_nodes():
    names = np.array(["sport", "tennis", "chess", "food"])
    rows, y = make_rows(200, 2, names)
    model = CalibratedClassifier(TopDown(TAXONOMY, stop=True), random_state=0).fit(rows, y)
    P, N = model.predict_proba(rows), model.predict_proba(rows, nodes="all")
    sport, below = TAXONOMY.index("sport"), [TAXONOMY.index("tennis"), TAXONOMY.index("chess")]
    own = P[:, model.classes_.tolist().index("sport")]
    np.testing.assert_allclose(N[:, sport], own + N[:, below].sum(axis=1))
    assert own.mean() == pytest.approx(np.mean(y == "sport"), abs=0.06)


def test_two_classes_one_class_and_classes_of_one_row():
    two = np.isin(Y, ["food", "film"])
    model = CalibratedClassifier(FlatLogistic(), random_state=0).fit(X[two], Y[two])
    P = model.predict_proba(X_TEST)
    np.testing.assert_allclose(model.decision_function(X_TEST), np.log(P[:, 1] / P[:, 0]), rtol=1e-6, atol=1e-9)
    one = CalibratedClassifier(TopDown(TAXONOMY), cv=2).fit(X[:10], ["food"] * 10)
    np.testing.assert_array_equal(one.predict_proba(X[:3]), np.ones((3, 1)))
    rare = np.where(np.arange(len(Y)) == 7, "film", np.where(Y == "film", "music", Y))
    model = CalibratedClassifier(FlatLogistic(TAXONOMY), random_state=0).fit(X, rare)
    assert model.predict_proba(X)[:, model.classes_.tolist().index("film")].min() > 0


@pytest.mark.parametrize("learner", [FlatSVM(TAXONOMY), NodewiseSVM(TAXONOMY), RecursiveSVM(DAG, sharing=1)], ids=str)
@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic", "vector"])
def test_sets_of_labels(learner, method):
    taxonomy = learner.taxonomy
    random = np.random.default_rng(0)
    names = [taxonomy.names[v] for v in taxonomy.leaves]
    has = random.random((200, len(names))) < 0.4
    rows, y = 2.0 * has + random.normal(size=has.shape), [{names[k] for k in np.flatnonzero(row)} for row in has]
    model = CalibratedClassifier(learner, method=method, random_state=0).fit(rows, y)
    N = model.predict_proba(rows, nodes="all")
    for v in range(taxonomy.n_nodes):
        for p in taxonomy.parent_ids(v):
            assert np.all(N[:, v] <= N[:, p])
    predicted = model.predict(rows)
    chosen = cladist.labels.to_indicator(predicted, taxonomy).toarray().astype(bool)
    np.testing.assert_array_equal(chosen, N >= 0.5)
    np.testing.assert_allclose(model.predict_proba(rows), N[:, model.class_nodes_])
    exact = np.mean([a == b for a, b in zip(predicted, y, strict=True)])
    assert model.score(rows, y) == pytest.approx(exact)
    if method != "temperature":
        held = cladist.labels.to_indicator(y, taxonomy).toarray()
        np.testing.assert_allclose(N.mean(axis=0), held.mean(axis=0), atol=0.12)


# -------------------------------------------------------------------- blends


def test_a_blend_weighs_what_knows_more():
    random = np.random.default_rng(0)
    rows = np.hstack([X, random.normal(size=X.shape)])
    first = make_pipeline(StandardScaler(), FlatLogistic(TAXONOMY))
    blind = make_pipeline(StandardScaler(with_mean=False), TopDown(TAXONOMY, C=1e-6))
    model = BlendedClassifier([first, blind], random_state=0).fit(rows, Y)
    assert model.shares_.sum() == pytest.approx(1)
    assert np.all(model.weights_ >= 0)
    alone = CalibratedClassifier(first, random_state=0).fit(rows, Y)
    only = BlendedClassifier([first], random_state=0).fit(rows, Y)
    assert only.shares_.tolist() == [1.0]
    np.testing.assert_allclose(only.predict_proba(rows), alone.predict_proba(rows), atol=1e-3)
    P = model.predict_proba(rows, nodes="all")
    np.testing.assert_allclose(P[:, TAXONOMY.roots].sum(axis=1), 1)


def test_learners_of_different_classes_are_blended():
    names = np.array(["sport", "tennis", "chess", "food"])
    rows, y = make_rows(120, 3, names)
    with pytest.warns(cladist.errors.LabelWarning):  # TopDown without stop has no "sport"
        model = BlendedClassifier([FlatLogistic(TAXONOMY), TopDown(TAXONOMY)], random_state=0).fit(rows, y)
    assert "sport" in model.classes_
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)


def test_sets_of_labels_are_blended(tmp_path):
    """A model that sees the features and one that sees noise; the blend follows the first, and survives a file."""
    random = np.random.default_rng(0)
    rows = np.hstack([X[:300], 5 * random.normal(size=X[:300].shape)])
    y = [{label} | ({"chess"} if k % 3 == 0 else set()) for k, label in enumerate(Y[:300])]
    first = make_pipeline(ColumnTransformer([("own", "passthrough", list(range(X.shape[1])))]), FlatLogistic(TAXONOMY))
    blind = make_pipeline(ColumnTransformer([("others", "passthrough", list(range(X.shape[1], 2 * X.shape[1])))]),
                          FlatLogistic(TAXONOMY))  # fmt: skip
    model = BlendedClassifier([first, blind], cv=3, random_state=0).fit(rows, y)
    assert model.shares_[0] > 0.8
    N = model.predict_proba(rows, nodes="all")
    edges = TAXONOMY.parents.tocoo()
    assert np.all(N[:, edges.row] <= N[:, edges.col] + 1e-12)
    assert all(isinstance(labels, set) for labels in model.predict(rows[:5]))
    held = cladist.labels.to_indicator(y, TAXONOMY).toarray()
    np.testing.assert_allclose(N.mean(axis=0), held.mean(axis=0), atol=0.12)
    model = BlendedClassifier([FlatLogistic(TAXONOMY), FlatSVM(TAXONOMY)], cv=3, random_state=0).fit(X[:300], y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(X_TEST, nodes="all"), model.predict_proba(X_TEST, nodes="all"))


# -------------------------------------------------------------------- saving, parameters


@pytest.mark.parametrize(
    "model",
    [
        CalibratedClassifier(TopDown(TAXONOMY), random_state=0),
        CalibratedClassifier(FlatLogistic(TAXONOMY), method="isotonic", level="leaves", random_state=0),
        CalibratedClassifier(make_pipeline(StandardScaler(), FlatSVM(TAXONOMY)), method="vector", random_state=0),
        BlendedClassifier([TopDown(TAXONOMY), FlatLogistic(TAXONOMY)], method="platt", random_state=0),
    ],
    ids=["top-down", "isotonic", "pipeline", "blend"],
)
def test_a_saved_model_predicts_as_before(model, tmp_path):
    model = clone(model).fit(X, Y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X_TEST, nodes="all"), model.predict_proba(X_TEST, nodes="all"))
    assert again.n_features_in_ == model.n_features_in_
    np.testing.assert_array_equal(clone(again).fit(X, Y).predict(X_TEST), model.predict(X_TEST))


def test_texts_go_through_a_pipeline_inside_or_outside(tmp_path):
    texts = [f"{label} {k % 3}" for k, label in enumerate(Y)]
    inside = CalibratedClassifier(make_pipeline(text_features(), TopDown(TAXONOMY)), random_state=0).fit(texts, Y)
    inside.save(tmp_path / "inside")
    again = cladist.load(tmp_path / "inside")
    np.testing.assert_array_equal(again.predict_proba(texts), inside.predict_proba(texts))
    assert not hasattr(again, "n_features_in_")
    outside = make_pipeline(text_features(), CalibratedClassifier(TopDown(TAXONOMY), random_state=0)).fit(texts, Y)
    cladist.save(outside, tmp_path / "outside")
    np.testing.assert_array_equal(cladist.load(tmp_path / "outside").predict_proba(texts), outside.predict_proba(texts))
    assert outside.score(texts, Y) == 1.0


def test_sets_are_saved(tmp_path):
    y = [{label} for label in Y]
    model = CalibratedClassifier(FlatSVM(TAXONOMY), method="platt", random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    assert cladist.load(tmp_path / "model").predict(X_TEST) == model.predict(X_TEST)


def test_another_librarys_classifier_is_not_written_without_skops(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    model = CalibratedClassifier(LogisticRegression(), taxonomy=TAXONOMY).fit(X, Y)
    with pytest.raises(CladistError, match="cannot be saved"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CalibratedClassifier(TopDown(TAXONOMY), method="none"), "method must be one of"),
        (CalibratedClassifier(TopDown(TAXONOMY), cv=1), "cv must be a whole number from 2 up"),
        (CalibratedClassifier(TopDown(TAXONOMY), taxonomy=TAXONOMY), "taxonomy is for classifiers without one"),
        (CalibratedClassifier(StandardScaler()), "decision_function or predict_proba"),
        (BlendedClassifier([]), "must be a list of classifiers"),
        (BlendedClassifier([TopDown(TAXONOMY)], cv="prefit"), "cv must be a number of folds"),
    ],
)
def test_parameters_outside_what_is_defined(model, message):
    with pytest.raises(ParameterError, match=message):
        model.fit(X, Y)
