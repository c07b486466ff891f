"""Thresholded: out-of-fold scores, every strategy over them, sets of labels in the form of y."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from cladist import Hieron, LabelMatrix, Taxonomy, TopDown, load
from cladist.decoders.thresholds import STRATEGIES, InstanceBased, PCut, RCut, SCut, Zero
from cladist.errors import LabelError, ModelFormatError, ParameterError, TooLargeError
from cladist.labels import to_indicator
from cladist.learners import out_of_fold
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.out_of_fold import out_of_fold_scores
from cladist.learners.threshold_choice import CANDIDATES, ScoredRows, choose_strategy, jackknife_errors
from cladist.learners.thresholded import SCORINGS, Thresholded
from cladist.metrics import micro_f1, scorers

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music", "art/film", "food"])
LEAVES = [TAXONOMY.names[v] for v in TAXONOMY.leaves]


class LinearScorer(HierarchicalClassifier):
    """One ridge regression a leaf, on several labels a row; with `unseen`, leaves without rows are classes too."""

    takes_dags = True

    def __init__(self, taxonomy=None, *, alpha=0.1, unseen=False):
        self.taxonomy = taxonomy
        self.alpha = alpha
        self.unseen = unseen

    def fit(self, X, y):
        X, labels = self.validate_fit(X, y)
        has = labels.to_indicator().toarray()
        self.set_classes(np.flatnonzero(self.taxonomy_.is_leaf & (self.unseen | has.any(axis=0))))
        self.ridge_ = Ridge(self.alpha).fit(X, 2.0 * has[:, self.class_nodes_] - 1)
        return self

    def class_scores(self, X):
        return self.ridge_.predict(X).reshape(X.shape[0], -1)


def make_rows(n, seed):
    """Rows that are sums of their labels' directions and noise; none to three labels."""
    random = np.random.default_rng(seed)
    names = [set(random.choice(LEAVES, size=k, replace=False).tolist()) for k in random.integers(0, 4, n)]
    has = np.array([[leaf in row for leaf in LEAVES] for row in names], dtype=float)
    return has @ np.eye(5, 8) + 0.25 * random.normal(size=(n, 8)), names


X, Y = make_rows(120, 0)
X_TEST, Y_TEST = make_rows(60, 1)


@pytest.fixture
def scorer():
    return LinearScorer(TAXONOMY)


# ---------------------------------------------------------------- the definition


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_strategy_learns_from_scores_of_rows_not_seen(scorer, strategy):
    model = Thresholded(scorer, strategy=strategy, cv=4, random_state=3).fit(X, Y)
    scores = np.empty((120, 5))
    for rows, held_out in KFold(4, shuffle=True, random_state=3).split(X):
        fold = clone(scorer).fit(X[rows], [Y[i] for i in rows])
        scores[held_out] = fold.decision_function(X[held_out])
    Z = to_indicator(Y, TAXONOMY)[:, TAXONOMY.leaves]
    by_hand = STRATEGIES[strategy]().fit(scores, Z).to_dict()["fitted"]
    for name, value in model.strategy_.to_dict()["fitted"].items():
        np.testing.assert_allclose(value, by_hand[name])
    whole = clone(scorer).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X_TEST), whole.decision_function(X_TEST))
    chosen = model.strategy_.predict(whole.decision_function(X_TEST)).toarray()
    expected = [{model.classes_[n] for n in np.flatnonzero(row)} for row in chosen]
    assert model.predict(X_TEST) == expected


def test_thresholds_help(scorer):
    def f1(strategy):
        model = Thresholded(scorer, strategy=strategy, random_state=0).fit(X, Y)
        return micro_f1(Y_TEST, model.predict(X_TEST), TAXONOMY)

    assert f1("rcut") < f1("scut")
    assert f1("scut") > 0.85
    assert f1("instance") > 0.75
    assert f1(SCut(0.3)) > 0.85
    assert f1("pcut") > 0.8
    assert f1("zero") > 0.7


@pytest.mark.parametrize("unseen", [False, True])
def test_a_class_that_no_row_outside_the_fold_has_gets_minus_infinity(unseen):
    labels = LabelMatrix.from_sets([["tennis"], ["music"]] * 5 + [["food"]], TAXONOMY)
    rows = np.random.default_rng(0).normal(size=(11, 3))
    nodes = np.array([TAXONOMY.index(name) for name in ("food", "tennis", "music")])
    scorer = LinearScorer(TAXONOMY, unseen=unseen)
    folds = list(KFold(3, shuffle=True, random_state=0).split(rows))
    found = out_of_fold_scores(scorer, rows, labels, nodes, folds=folds)
    fold = next(held_out for _, held_out in folds if 10 in held_out)
    assert np.flatnonzero(found[:, 0] == -np.inf).tolist() == fold.tolist()
    assert np.isfinite(found[:, 1:]).all()
    rare = Thresholded(scorer, strategy=SCut(None), cv=3, random_state=0).fit(rows, labels)
    column = rare.classes_.tolist().index("food")
    assert rare.strategy_.thresholds_[column] == np.inf


def test_a_class_of_a_fold_alone_is_left_out():
    # In the fold without "x", TopDown ends at "a"; in the whole it never does.
    taxonomy = Taxonomy.from_paths(["a/x", "b"])
    labels = LabelMatrix.from_sets([["x"], ["b"], ["b"], ["b"], ["a"]], taxonomy)
    rows = np.random.default_rng(0).normal(size=(5, 2))
    nodes = np.array([taxonomy.index("b"), taxonomy.index("x")])
    folds = list(KFold(5, shuffle=True, random_state=0).split(rows))
    found = out_of_fold_scores(TopDown(), rows, labels, nodes, folds=folds)
    assert np.isfinite(found[:, 0]).all()
    assert (found[:, 1] == -np.inf).tolist() == [True, False, False, False, False]


def test_the_result_depends_on_the_seed_alone(scorer):
    def thresholds(**options):
        return Thresholded(scorer, strategy="scut", **options).fit(X, Y).strategy_.thresholds_

    expected = thresholds(random_state=0)
    np.testing.assert_array_equal(thresholds(random_state=0, n_jobs=2), expected)
    np.testing.assert_array_equal(thresholds(random_state=np.random.RandomState(0), n_jobs=-1), expected)
    assert not np.array_equal(thresholds(random_state=1), expected)


# ---------------------------------------------------------------- the choice of a strategy


def scored_rows(scores, has):
    """Scores and labels of a star of the columns, ten folds, and the fold after fold order of rows."""
    names = [f"label {n}" for n in range(has.shape[1])]
    star = Taxonomy.from_paths(names)
    sets = [[names[n] for n in np.flatnonzero(row)] for row in has]
    nodes = np.array([star.index(name) for name in names])
    folds = list(KFold(10, shuffle=True, random_state=0).split(scores))
    return ScoredRows(scores, LabelMatrix.from_sets(sets, star), nodes), folds


def noisy(has, seed, noise=1.0):
    return 2.0 * has - 1 + noise * np.random.default_rng(seed).normal(size=has.shape)


@pytest.mark.parametrize("scoring", ["micro_f1", "macro_f1", "accuracy"])
def test_the_strategy_is_that_of_the_scores_it_suits(scoring):
    scorer = getattr(scorers, scoring)
    has = np.random.default_rng(0).random((400, 6)) < 0.4
    scores = noisy(has, 1, 0.5)
    shifts = np.array([3.0, -3.0, 2.0, -2.0, 1.0, -1.0])

    def chosen(scores):
        return choose_strategy(*scored_rows(scores, has), scorer)[0]

    assert chosen(scores).name == "zero"
    assert chosen(scores + 2).name == "global"
    assert chosen(scores + 2).t_ == pytest.approx(2, abs=0.3)
    assert chosen(scores + shifts).name in ("fixed-pcut", "scut")
    np.testing.assert_allclose(chosen(scores + shifts).thresholds_, shifts, atol=0.7)


@pytest.mark.parametrize("seed", range(5))
def test_rare_labels_that_scores_tell_nothing_of_do_no_harm(seed):
    def draw(n, seed):
        has = np.random.default_rng(seed).random((n, 40)) < np.r_[[0.3] * 5, [0.02] * 35]
        return has, np.where(np.arange(40) < 5, noisy(has, seed + 1, 0.5), noisy(np.zeros_like(has), seed + 1, 0.3))

    (has, scores), (new, new_scores) = draw(150, seed), draw(3000, seed + 100)
    rows, folds = scored_rows(scores, has)
    strategy, _ = choose_strategy(rows, folds, scorers.micro_f1)
    without = f1_of(new_scores > 0, new)
    assert f1_of(strategy.predict(new_scores).toarray(), new) > without - 0.005
    overfitted = SCut(None).fit(scores, has).predict(new_scores).toarray()
    assert f1_of(overfitted, new) < without - 0.2


def f1_of(predicted, true):
    return 2 * np.sum(predicted & true) / (predicted.sum() + true.sum())


def test_scores_are_of_rows_outside_those_that_thresholds_were_fitted_to():
    has = np.random.default_rng(0).random((60, 3)) < 0.3
    rows, folds = scored_rows(noisy(has, 1), has)
    records = {record["strategy"]: record for record in choose_strategy(rows, folds, scorers.micro_f1)[1]}
    assert list(records) == [repr(candidate) for candidate in CANDIDATES]
    predicted = np.empty_like(has)
    for others, own in folds:
        cut = SCut(0.3).fit(rows.scores[others], has[others])
        predicted[own] = cut.predict(rows.scores[own]).toarray()
    assert records["SCut(fbr=0.3)"]["score"] == pytest.approx(f1_of(predicted, has))
    assert records["Zero()"]["score"] == pytest.approx(f1_of(rows.scores > 0, has))
    best = max(records.values(), key=lambda record: record["score"])
    assert best["standard_error"] == 0


def test_the_jackknife_of_means_is_their_standard_error():
    values = np.random.default_rng(0).normal(size=(2, 20))
    without = (values.sum(axis=1, keepdims=True) - values) / 19
    np.testing.assert_allclose(jackknife_errors(without), values.std(axis=1, ddof=1) / np.sqrt(20))


@pytest.mark.parametrize("scoring", [*SCORINGS, scorers.make_scorer(micro_f1, greater_is_better=True, nodes="all")])
def test_by_default_the_measure_asked_for_is_no_worse_than_without_thresholds(scorer, scoring):
    measure = getattr(scorers, scoring) if isinstance(scoring, str) else scoring
    model = Thresholded(scorer, scoring=scoring, random_state=0).fit(X, Y)
    plain = Thresholded(scorer, strategy="zero", random_state=0).fit(X, Y)
    assert measure(model, X_TEST, Y_TEST) >= measure(plain, X_TEST, Y_TEST) - 0.02
    by_score = [record["score"] for record in model.cv_results_]
    assert by_score[0] == pytest.approx(measure(plain, X, Y), abs=0.1), "out of fold, near to the same on all rows"


def test_the_measure_decides():
    """Of scores that are log odds, 0 is best for exact sets, and too high for the F1 of rare labels."""
    has = np.random.default_rng(0).random((1000, 5)) < 0.1
    rows, folds = scored_rows(2.0 * noisy(has, 1) + np.log(0.1 / 0.9), has)
    assert choose_strategy(rows, folds, scorers.accuracy)[0].name == "zero"
    by_f1 = choose_strategy(rows, folds, scorers.macro_f1)[0]
    assert by_f1.predict(rows.scores).sum() > 1.2 * np.sum(rows.scores > 0)


def test_a_refit_without_auto_forgets_the_comparison(scorer):
    model = Thresholded(scorer, random_state=0).fit(X, Y)
    assert {"strategy", "score", "standard_error"} == model.cv_results_[0].keys()
    assert not hasattr(model.set_params(strategy="scut").fit(X, Y), "cv_results_")


def test_rows_without_labels_or_with_all(scorer):
    assert Thresholded(LinearScorer(TAXONOMY, unseen=True), cv=2).fit(X[:4], [set()] * 4).predict(X[:2]) == [set()] * 2
    everything = Thresholded(scorer, cv=2, random_state=0).fit(X[:9], [set(LEAVES)] * 9)
    assert everything.predict(X[:2]) == [set(LEAVES)] * 2


# ---------------------------------------------------------------- forms


def series(rows):
    return pd.Series(list(rows), index=[f"row {k}" for k in range(len(rows))], name="topics")


FORMS = {
    "sets": Y,
    "lists": [sorted(row) for row in Y],
    "frozensets in a tuple": tuple(frozenset(row) for row in Y),
    "series": series(Y),
    "object array": series(Y).to_numpy(),
    "dense": to_indicator(Y, TAXONOMY).toarray(),
    "boolean": to_indicator(Y, TAXONOMY).toarray().astype(bool),
    "csr": to_indicator(Y, TAXONOMY),
    "coo": sparse.coo_matrix(to_indicator(Y, TAXONOMY)),
    "frame": pd.DataFrame(to_indicator(Y, TAXONOMY).toarray(), columns=TAXONOMY.names),
    "label matrix": LabelMatrix.from_sets(Y, TAXONOMY),
}


@pytest.mark.parametrize("form", FORMS)
def test_predictions_come_back_in_the_form_of_y(scorer, form):
    y = FORMS[form]
    model = Thresholded(scorer, random_state=0).fit(X, y)
    predicted = model.predict(X_TEST)
    expected = Thresholded(scorer, random_state=0).fit(X, Y).predict(X_TEST)
    assert type(predicted) is (list if isinstance(y, tuple) else type(y))
    if hasattr(y, "dtype"):
        assert predicted.dtype == y.dtype
    found, wanted = to_indicator(predicted, TAXONOMY), to_indicator(expected, TAXONOMY)
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    assert model.score(X, y) == pytest.approx(Thresholded(scorer, random_state=0).fit(X, Y).score(X, Y))


def test_frames_give_their_index_and_names(scorer):
    frame = pd.DataFrame(X, index=series(Y).index, columns=list("abcdefgh"))
    model = Thresholded(scorer, random_state=0).fit(frame, series(Y))
    predicted = model.predict(frame)
    assert predicted.index.equals(frame.index)
    assert predicted.name == "topics"
    assert model.feature_names_in_.tolist() == list("abcdefgh")
    model.fit(X, Y)
    assert model.n_features_in_ == 8
    assert not hasattr(model, "feature_names_in_")


def test_any_form_of_rows(scorer):
    expected = Thresholded(scorer, random_state=0).fit(X, Y).predict(X_TEST)
    for convert in (np.asfortranarray, np.ndarray.tolist):
        assert Thresholded(scorer, random_state=0).fit(convert(X), Y).predict(convert(X_TEST)) == expected
    for convert in (sparse.csr_array, sparse.coo_matrix):  # ridge regression centres sparse rows by another way
        model = Thresholded(scorer, random_state=0).fit(convert(X), Y)
        np.testing.assert_allclose(model.decision_function(convert(X_TEST)), scores_of(scorer), atol=1e-2)


def scores_of(scorer):
    return clone(scorer).fit(X, Y).decision_function(X_TEST)


@pytest.mark.parametrize("y", [["food", "film"] * 60, np.array([["art", "film"], ["food", ""]] * 60)])
def test_a_form_of_one_label_a_row_is_refused(scorer, y):
    with pytest.raises(LabelError, match="Thresholded predicts sets of labels, and this form of y holds one"):
        Thresholded(scorer).fit(X, y)


def test_chosen_leaves_bring_their_ancestors(scorer):
    matrix = Thresholded(scorer, random_state=0).fit(X, FORMS["csr"]).predict(X_TEST)
    LabelMatrix.from_indicator(matrix, TAXONOMY)  # which refuses a node without its parent
    paths = Thresholded(scorer, random_state=0).fit(X, Y).predict_paths(X_TEST)
    sets = Thresholded(scorer, random_state=0).fit(X, Y).predict(X_TEST)
    assert [{path[-1] for path in row} for row in paths] == sets
    assert all(path == TAXONOMY.path(path[-1]) for row in paths for path in row)


def test_in_a_dag_all_ancestors_come_along():
    dag = Taxonomy.from_edges([("a", "x"), ("b", "x"), ("b", "y")])
    rows = np.random.default_rng(0).normal(size=(30, 2))
    y = [({"x"} if row[0] > 0 else set()) | ({"y"} if row[1] > 0 else set()) for row in rows]
    matrix = Thresholded(LinearScorer(dag), random_state=0).fit(rows, to_indicator(y, dag)).predict(rows)
    names = [{dag.names[v] for v in row.nonzero()[0]} for row in matrix.toarray()]
    assert {"a", "b", "x"} in names
    assert all(({"a", "b"} <= row) if "x" in row else ("a" not in row) for row in names)
    paths = Thresholded(LinearScorer(dag), random_state=0).fit(rows, y).predict_paths(rows)
    of_set = {
        frozenset("abxy"): [["a", "x"], ["b", "y"]],
        frozenset("abx"): [["a", "x"]],
        frozenset("by"): [["b", "y"]],
    }
    assert paths == [of_set.get(frozenset(row), []) for row in names]


# ---------------------------------------------------------------- over cladist's own learners


def test_over_hieron_a_row_gets_as_many_guesses_as_asked_for():
    y = [{LEAVES[k % 5]} for k in range(120)]
    rows = np.eye(5, 8)[np.arange(120) % 5] + 0.2 * np.random.default_rng(0).normal(size=(120, 8))
    hieron = Hieron(TAXONOMY, allowed_labels="leaves", max_iter=3, random_state=0)
    model = Thresholded(hieron, strategy=RCut(2), random_state=0).fit(rows, y)
    predicted = model.predict(rows)
    assert {len(row) for row in predicted} == {2}
    top = clone(hieron).fit(rows, y).predict_top_k(rows, 2)[0]
    assert predicted == [set(row) for row in top.tolist()]
    np.testing.assert_array_equal(model.predict_top_k(rows, 2)[0], top)
    instance = Thresholded(hieron, strategy="instance", random_state=0).fit(rows, y)
    assert instance.score(rows, y) > 0.8


def test_over_top_down_the_first_guess_is_its_prediction():
    y = [{LEAVES[k % 5]} for k in range(60)]
    rows = np.eye(5, 8)[np.arange(60) % 5] + 0.2 * np.random.default_rng(0).normal(size=(60, 8))
    model = Thresholded(TopDown(TAXONOMY), strategy="rcut", random_state=0).fit(rows, y)
    assert model.strategy_.t_ == 1
    assert model.predict(rows) == TopDown(TAXONOMY).fit(rows, y).predict(rows)
    assert Thresholded(TopDown(TAXONOMY), strategy="zero").fit(rows, y).predict(rows) == [set()] * 60


def test_several_labels_a_row_are_for_learners_that_take_them():
    with pytest.raises(LabelError, match="Hieron needs exactly one label per row"):
        Thresholded(Hieron(TAXONOMY)).fit(X, Y)


def test_over_a_precomputed_kernel():
    y = [{LEAVES[k % 5]} for k in range(40)]
    rows = np.eye(5, 8)[np.arange(40) % 5] + 0.2 * np.random.default_rng(0).normal(size=(40, 8))
    options = {"max_iter": 3, "random_state": 0, "allowed_labels": "leaves"}
    given = Thresholded(Hieron(TAXONOMY, kernel="precomputed", **options), random_state=0).fit(rows @ rows.T, y)
    linear = Thresholded(Hieron(TAXONOMY, **options), random_state=0).fit(rows, y)
    assert linear.strategy_.name == "global"
    np.testing.assert_allclose(given.strategy_.t_, linear.strategy_.t_)
    assert given.predict(rows @ rows.T) == linear.predict(rows)


def test_two_classes_have_a_score_each():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    y = [({"x"} if row[0] > 0 else set()) | ({"y"} if row[1] > 0 else set()) for row in rows]
    model = Thresholded(LinearScorer(), random_state=0).fit(rows, y)
    assert model.strategy_.n_labels_ == 2
    assert model.decision_function(rows).shape == (40,)
    assert model.decision_function(rows, nodes=["y", "x"]).shape == (40, 2)
    assert model.score(rows, y) > 0.9


def test_one_class_only():
    rows = np.linspace(-1, 1, 20)[:, None]
    y = [{"x"} if row[0] > 0 else set() for row in rows]
    model = Thresholded(LinearScorer(), random_state=0).fit(rows, y)
    assert model.predict(rows) == y


def test_texts_go_through_a_pipeline_inside_or_outside():
    texts = ["a serve and a net", "a king and a rook", "a net and a rook", "bread"] * 10
    y = [{"tennis"}, {"chess"}, {"tennis", "chess"}, {"food"}] * 10
    inside = Thresholded(make_pipeline(TfidfVectorizer(), LinearScorer(TAXONOMY)), random_state=0).fit(texts, y)
    assert inside.score(texts, y) == 1
    assert inside.classes_.tolist() == ["food", "tennis", "chess"]
    assert inside.decision_function(texts).shape == (40, 3)
    assert inside.predict_top_k(texts[3:4], 1)[0].tolist() == [["food"]]
    outside = make_pipeline(TfidfVectorizer(), Thresholded(LinearScorer(TAXONOMY), random_state=0)).fit(texts, y)
    assert outside.predict(["rook and net"]) == inside.predict(["rook and net"]) == [{"tennis", "chess"}]
    assert scorers.accuracy(outside, texts, y) == 1


# ---------------------------------------------------------------- scikit-learn's ways


def test_clone_search_and_nested_parameters(scorer):
    strategy = SCut(0.2)
    model = Thresholded(scorer, strategy=strategy, random_state=0)
    assert is_classifier(model)
    assert model.get_params()["strategy__fbr"] == 0.2
    assert model.get_params()["estimator__alpha"] == 0.1
    copied = clone(model)
    assert copied.strategy is not strategy
    assert copied.estimator.taxonomy is TAXONOMY
    model.fit(X, Y)
    assert not hasattr(strategy, "thresholds_")
    assert not hasattr(scorer, "ridge_")
    search = GridSearchCV(model, {"strategy__fbr": [None, 0.3], "estimator__alpha": [0.1, 1e4]}, cv=KFold(3))
    search.fit(X, Y)
    assert search.best_params_["estimator__alpha"] == 0.1
    assert search.best_score_ > 0.4


def test_scorers_and_pickles(scorer):
    model = Thresholded(make_pipeline(StandardScaler(), scorer), random_state=0)
    scored = cross_val_score(model, X, Y, cv=KFold(3), scoring=scorers.micro_f1)
    assert scored.min() > 0.7
    again = pickle.loads(pickle.dumps(model.fit(X, Y)))
    assert again.predict(X_TEST) == model.predict(X_TEST)


def test_score_is_exact_match(scorer):
    model = Thresholded(scorer, random_state=0).fit(X, Y)
    right = np.array([a == b for a, b in zip(model.predict(X_TEST), Y_TEST, strict=True)])
    weights = np.arange(60)
    assert model.score(X_TEST, Y_TEST) == pytest.approx(right.mean())
    assert model.score(X_TEST, Y_TEST, weights) == pytest.approx(np.average(right, weights=weights))
    with pytest.raises(LabelError, match="'golf' is not in the taxonomy"):
        model.score(X_TEST, [{"golf"}, *Y_TEST[1:]])
    star = Thresholded(LinearScorer(), random_state=0).fit(X, Y)
    right = np.array([a == b for a, b in zip(star.predict(X_TEST), Y_TEST, strict=True)])
    assert star.score(X_TEST, Y_TEST, weights) == pytest.approx(np.average(right, weights=weights))
    sure = int(np.flatnonzero(right)[0])
    other = [row if k != sure else {"golf"} for k, row in enumerate(Y_TEST)]
    assert star.score(X_TEST, other) == pytest.approx(right.mean() - 1 / 60)


def test_pieces_change_nothing_but_for_pcut_there_are_none(scorer, monkeypatch):
    models = [Thresholded(scorer, strategy=name, random_state=0).fit(X, Y) for name in STRATEGIES]
    whole = [model.predict(X_TEST) for model in models]
    monkeypatch.setattr(out_of_fold, "CHUNK_BYTES", 8 * 5 * 7)
    assert [model.predict(X_TEST) for model in models] == whole
    assert models[0].predict(X_TEST.tolist()) == whole[0]
    counts = Thresholded(scorer, strategy=PCut(), random_state=0).fit(X, FORMS["csr"]).predict(X)
    np.testing.assert_array_equal(counts.sum(axis=0)[TAXONOMY.leaves], FORMS["csr"].sum(axis=0)[TAXONOMY.leaves])


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "scutt"}, "strategy must be one of .*'scut'.*; got 'scutt'"),
        ({"strategy": 3}, "strategy must be a name or a Strategy; got 3"),
        ({"strategy": SCut}, "strategy must be a name or a Strategy"),
        ({"strategy": SCut(2.0)}, "fbr must be above 0"),
        ({"strategy": RCut(9)}, "at most the number of labels, 5"),
        ({"scoring": "f1"}, "scoring must be one of 'micro_f1'"),
        ({"scoring": micro_f1}, "scoring must be a name or a Scorer"),
        ({"cv": 1}, "cv must be a whole number from 2 up; got 1"),
        ({"cv": KFold(3)}, "cv must be a whole number from 2 up"),
        ({"cv": 121}, "cv=121 folds need as many rows; there are 120"),
        ({"random_state": "x"}, "random_state must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"estimator": LinearSVC()}, "must be one of cladist's learners"),
        ({"estimator": make_pipeline(StandardScaler(), LogisticRegression())}, "must be one of cladist's learners"),
    ],
)
def test_parameters_outside_what_is_defined(scorer, options, message):
    with pytest.raises(ParameterError, match=message):
        Thresholded(**{"estimator": scorer, **options}).fit(X, Y)


def test_rows_and_labels_must_be_as_many(scorer):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Thresholded(scorer).fit(X, Y[:-1])


def test_scores_past_the_memory_limit_are_refused(scorer, monkeypatch):
    monkeypatch.setattr(out_of_fold, "MOST_SCORE_BYTES", 100)
    with pytest.raises(TooLargeError, match="Out-of-fold scores of 120 rows × 5 classes"):
        Thresholded(scorer).fit(X, Y)


# ---------------------------------------------------------------- being saved


@pytest.mark.parametrize("strategy", ["scut", Zero(), RCut(2), PCut(0.5), InstanceBased(top_k=2)], ids=repr)
def test_its_state_is_plain_values_and_arrays(strategy):
    y = [{LEAVES[k % 5]} for k in range(60)]
    rows = np.eye(5, 8)[np.arange(60) % 5] + 0.2 * np.random.default_rng(0).normal(size=(60, 8))
    hieron = Hieron(TAXONOMY, allowed_labels="leaves", random_state=0)
    model = Thresholded(hieron, strategy=strategy, random_state=0).fit(rows, y)
    state, arrays = model.pack_state()
    again = Thresholded(Hieron())
    again.unpack_state(state, arrays)
    assert again.predict(rows) == model.predict(rows)
    assert again.estimator.taxonomy == TAXONOMY
    assert repr(again.strategy) == repr(strategy)
    with pytest.raises(ModelFormatError, match="thresholds by 'other', which this version"):
        again.unpack_state({**state, "strategy": {**state["strategy"], "name": "other"}}, arrays)
    fewer = {**state["strategy"], "fitted": {**state["strategy"]["fitted"], "n_labels_": 3}}
    with pytest.raises(ModelFormatError):
        again.unpack_state({**state, "strategy": fewer}, arrays)


@pytest.mark.parametrize("strategy", ["auto", *sorted(STRATEGIES)])
def test_a_saved_model_predicts_as_before(tmp_path, strategy):
    X, y = make_rows(40, 3)
    single = [sorted(row)[:1] or ["food"] for row in y]
    model = Thresholded(Hieron(TAXONOMY, max_iter=2), strategy=strategy, cv=2, random_state=0).fit(X, single)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict(X) == model.predict(X)
    assert (again.strategy, again.scoring) == (strategy, "micro_f1")
    assert getattr(again, "cv_results_", None) == getattr(model, "cv_results_", None)
    assert hasattr(again, "cv_results_") == (strategy == "auto")
