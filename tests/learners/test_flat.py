"""FlatSVM and FlatLogistic: against scikit-learn, the definitions and brute force, at every edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from cladist import FlatLogistic, FlatSVM, LabelMatrix, Taxonomy, Thresholded
from cladist.errors import LabelError, ParameterError, TaxonomyError
from cladist.metrics import micro_f1
from tests.learners.flat_rows import TAXONOMY, rows_of, sets_of, single
from tests.strategies import consistent_sets, dags, forests

DIAMOND = Taxonomy.from_edges([("top", "left"), ("top", "right"), ("left", "end"), ("right", "end"), ("top", "far")])
EXACT = {"tol": 1e-7, "max_iter": 20_000}
EXACT_HINGE = {**EXACT, "tol": 1e-6}  # as near as float32 weights are certified where rows on the margin feel rounding
both = pytest.mark.parametrize("learner", [FlatSVM, FlatLogistic])


def svc(**options):
    return LinearSVC(**{"tol": 1e-9, "max_iter": 200_000, "dual": True, "random_state": 0, **options})


def binary_scores(X, members, new, **options):
    """Scores of one LinearSVC a column of `members`; a constant column has the sign that all its rows have."""
    columns = [
        svc(**options).fit(X, column).decision_function(new) if 0 < column.sum() < len(column)
        else np.full(new.shape[0], 1.0 if column.all() else -1.0)
        for column in members.T
    ]  # fmt: skip
    return np.column_stack(columns)


# ---------------------------------------------------------------- the same as scikit-learn


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c", "d", "e")], ids=["two classes", "five"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("shape", [{"n_features": 120}, {"n_features": 6, "density": 1.0}], ids=["sparse", "dense"])
def test_flat_svm_is_linear_svc(labels, fit_intercept, loss, shape):
    X, y = single(labels=labels, **shape)
    new = rows_of(y, seed=9, **shape)
    theirs = svc(loss=loss, fit_intercept=fit_intercept, C=0.5).fit(X, y)
    exact = EXACT_HINGE if loss == "hinge" else EXACT
    ours = FlatSVM(loss=loss, fit_intercept=fit_intercept, C=0.5, **exact).fit(X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=3e-3)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c", "d")], ids=["two classes", "four"])
def test_probabilities_are_those_of_one_vs_rest_logistic_regression(labels):
    X, y = single(labels=labels)
    theirs = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=2, tol=1e-10, max_iter=1000)).fit(X, y)
    ours = FlatLogistic(C=2, **EXACT).fit(X, y)
    found = ours.predict_proba(X)
    np.testing.assert_allclose(found, theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(ours.classes_[found.argmax(axis=1)], ours.predict(X))


def test_probabilities_of_sets_are_each_class_by_itself():
    X, y, _ = sets_of()
    model = FlatLogistic(TAXONOMY, targets="nodes").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-model.decision_function(X))), rtol=1e-5)


def test_probabilities_of_rows_far_from_all_classes_still_sum_to_one():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    model = FlatLogistic(C=100).fit(np.tile(X, (5, 1)), ["a", "b", "c"] * 5)
    found = model.predict_proba(X * 1e4)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X * 1e4))


def test_sums_over_paths_are_no_probabilities():
    X, y = single()
    with pytest.raises(LabelError, match="predict_proba needs targets='leaves', or sets of labels"):
        FlatLogistic(TAXONOMY, targets="nodes").fit(X, y).predict_proba(X)


@pytest.mark.parametrize("labels", [("tennis", "art"), ("tennis", "sport", "film")], ids=["two classes", "three"])
@pytest.mark.parametrize("class_weight", ["balanced", {"tennis": 5.0}], ids=str)
def test_class_weights_are_linear_svcs(labels, class_weight):
    X, y = single(labels=labels)
    kept = np.flatnonzero((y != "tennis") | (np.arange(len(y)) % 4 == 0))  # a rare class, and an inner node above it
    theirs = svc(class_weight=class_weight).fit(X[kept], y[kept])
    expected = theirs.decision_function(X)
    if len(labels) == 2:
        expected = np.column_stack([-expected / 2, expected / 2])
    ours = FlatSVM(TAXONOMY, class_weight=class_weight, **EXACT).fit(X[kept], y[kept])
    np.testing.assert_allclose(ours.decision_function(X, nodes=theirs.classes_), expected, atol=3e-3)


@pytest.mark.parametrize("class_weight", ["balanced", {"tennis": 5.0, "film": 0.2}], ids=str)
def test_class_weights_multiply_the_rows_of_a_class_in_its_own_problem(class_weight):
    X, y = single(labels=("tennis", "sport", "film"))
    weight_of = {label: len(y) / (3 * np.sum(y == label)) for label in set(y)}
    if class_weight != "balanced":
        weight_of.update(class_weight, sport=1.0)
    model = FlatLogistic(TAXONOMY, class_weight=class_weight, **EXACT).fit(X, y)
    for label, weight in weight_of.items():
        one = LogisticRegression(solver="liblinear", class_weight={True: weight, False: 1}, tol=1e-10, max_iter=1000)
        expected = one.fit(X, y == label).decision_function(X)
        np.testing.assert_allclose(model.decision_function(X, nodes=[label])[:, 0], expected, atol=3e-3)


@both
def test_sample_weights_are_factors_of_c(learner):
    X, y = single()
    random = np.random.default_rng(1)
    weights = random.integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    plain = learner(**EXACT).fit(X[repeated], y[repeated])
    weighted = learner(**EXACT).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), atol=2e-3)
    assert weighted.history_[0]["objective"] == pytest.approx(plain.history_[0]["objective"], rel=1e-5)


def test_rows_of_weight_zero_do_not_make_classes():
    model = FlatSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"], sample_weight=[1, 1, 0])
    assert model.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"[Ss]ample weights"):
        FlatSVM().fit([[0.0], [1.0]], ["a", "b"], sample_weight=[0, 0])


@both
def test_the_gap_is_a_certificate(learner):
    """No weights do better than the objective less the gap; by the definition, in float64."""
    X, y = single()
    rough, best = learner(tol=0.05).fit(X, y), learner(**EXACT).fit(X, y)
    told = rough.history_[0]
    assert told["worst_gap"] <= 0.05
    assert told["passes"] == rough.n_iter_ > 0
    margins = np.where(y[:, None] == rough.classes_, 1, -1) * (X @ rough.coef_.T.astype(float) + rough.intercept_)
    losses = np.logaddexp(0, -margins) if learner is FlatLogistic else np.maximum(0, 1 - margins) ** 2
    objective = 0.5 * ((rough.coef_**2).sum() + (rough.intercept_**2).sum()) + losses.sum()
    assert told["objective"] == pytest.approx(objective, rel=1e-5)
    least = best.history_[0]["objective"]
    assert least * (1 - 1e-5) <= told["objective"]
    assert told["objective"] * (1 - told["gap"]) <= least


# ---------------------------------------------------------------- which labels, and sets of them


def test_leaves_of_sets_are_binary_problems_and_what_is_positive_is_chosen():
    X, y, _ = sets_of()
    labels = LabelMatrix.from_sets(y, TAXONOMY)
    indptr, indices = labels.frontier
    deepest = np.zeros((len(y), TAXONOMY.n_nodes), bool)
    deepest[np.repeat(np.arange(len(y)), np.diff(indptr)), indices] = True
    model = FlatSVM(TAXONOMY, **EXACT).fit(X, y)
    assert model.classes_.tolist() == [TAXONOMY.names[v] for v in np.flatnonzero(deepest.any(axis=0))]
    expected = binary_scores(X, deepest, X)
    np.testing.assert_allclose(model.decision_function(X), expected[:, model.class_nodes_], atol=3e-3)
    found = model.predict(X)
    for i, names in enumerate(found):
        positive = [TAXONOMY.names[v] for v in np.flatnonzero(expected[i] > 0)]
        assert LabelMatrix.from_sets([names], TAXONOMY) == LabelMatrix.from_sets([positive], TAXONOMY)
    assert any(len(names) > 1 for names in found)
    assert any(not names for names in found)


def test_nodes_of_sets_are_binary_problems_over_all_rows():
    X, y, has = sets_of()
    model = FlatSVM(TAXONOMY, targets="nodes", **EXACT).fit(X, y)
    assert model.classes_.tolist() == list(TAXONOMY.names)
    np.testing.assert_allclose(model.decision_function(X), binary_scores(X, has, X), atol=3e-3)


def test_nodes_of_single_labels_add_up_along_paths():
    X, y = single(labels=("tennis", "chess", "sport", "music"))
    has = LabelMatrix.from_sets([[label] for label in y], TAXONOMY).to_indicator().toarray()
    scores = binary_scores(X, has, X)
    model = FlatSVM(TAXONOMY, targets="nodes", **EXACT).fit(X, y)
    assert sorted(model.classes_) == ["chess", "music", "sport", "tennis"]
    sums = np.column_stack([scores[:, TAXONOMY.path_ids(v)].sum(axis=1) for v in model.class_nodes_])
    np.testing.assert_allclose(model.decision_function(X), sums, atol=5e-3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[sums.argmax(axis=1)])


def scores_of_nodes(model, X):
    """The score of every node, −∞ where no row of training had it."""
    scores = np.full((X.shape[0], model.taxonomy_.n_nodes), -np.inf)
    scores[:, model.class_nodes_] = model.decision_function(X)
    return scores


def fitted_to(taxonomy, seed, repair):
    random = np.random.default_rng(seed)
    y = [set(random.choice(taxonomy.names, random.integers(0, min(3, len(taxonomy)) + 1)).tolist()) for _ in range(12)]
    model = FlatSVM(taxonomy, targets="nodes", repair=repair, C=10).fit(random.normal(size=(12, 3)), y)
    new = random.normal(size=(20, 3))
    return model, model.taxonomy_.names, scores_of_nodes(model, new), model.predict(new)


def closed(names, taxonomy):
    return set(names).union(*(taxonomy.ancestors(name) for name in names))


@settings(max_examples=30)
@given(dags(max_nodes=8), st.integers(0, 2**31))
def test_top_down_keeps_a_node_below_nodes_that_are_kept(taxonomy, seed):
    _, names, scores, found = fitted_to(taxonomy, seed, "top_down")
    for row, answer in zip(scores, found, strict=True):
        positive = {name for name, score in zip(names, row, strict=True) if score > 0}
        assert closed(answer, taxonomy) == {name for name in positive if set(taxonomy.ancestors(name)) <= positive}


@settings(max_examples=30)
@given(dags(max_nodes=8), st.integers(0, 2**31))
def test_bottom_up_adds_the_nodes_above(taxonomy, seed):
    _, names, scores, found = fitted_to(taxonomy, seed, "bottom_up")
    for row, answer in zip(scores, found, strict=True):
        positive = {name for name, score in zip(names, row, strict=True) if score > 0}
        assert closed(answer, taxonomy) == closed(positive, taxonomy)


@settings(max_examples=30)
@given(forests(max_nodes=8), st.integers(0, 2**31))
def test_best_is_the_consistent_set_of_highest_sum(taxonomy, seed):
    _, names, scores, found = fitted_to(taxonomy, seed, "best")
    every = consistent_sets(taxonomy.parent)
    for row, answer in zip(scores, found, strict=True):
        chosen = [names.index(name) for name in closed(answer, taxonomy)]
        sums = np.where(every, row, 0.0).sum(axis=1)
        assert row[chosen].sum() == pytest.approx(sums.max(), abs=1e-5)


def test_labels_at_inner_nodes_are_classes_of_their_own():
    X, y = single(labels=("sport", "tennis", "art", "food"))
    names = sorted(set(y))
    flat = FlatSVM(**EXACT).fit(X, y)
    model = FlatSVM(TAXONOMY, **EXACT).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), flat.predict(X))
    np.testing.assert_allclose(
        model.decision_function(X, nodes=names), flat.decision_function(X, nodes=names), atol=1e-3
    )


def test_labels_without_rows_are_never_predicted():
    X, y = single(labels=("tennis", "chess", "film"))
    model = FlatSVM(TAXONOMY).fit(X, y)
    assert model.classes_.tolist() == ["tennis", "chess", "film"]
    assert set(model.predict(rows_of(y, seed=3))) <= set(model.classes_)
    with pytest.raises(LabelError, match="'music' is not among classes_"):
        model.decision_function(X, nodes=["music"])
    X, y, _ = sets_of()
    without = [labels - {"film"} for labels in y]
    for targets in ("leaves", "nodes"):
        found = FlatSVM(TAXONOMY, targets=targets).fit(X, without).predict(X)
        assert not any("film" in labels for labels in found)


@pytest.mark.parametrize("targets", ["leaves", "nodes"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@both
def test_one_class_only_is_predicted(learner, form, targets):
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    model = learner(TAXONOMY, targets=targets, weights=form).fit(X, ["tennis", "tennis"])
    assert model.predict(X).tolist() == ["tennis", "tennis"]
    scores = model.decision_function(X)
    assert np.all(scores == 0) == (targets == "leaves")
    np.testing.assert_allclose([why.score for why in model.explain(X)], scores[:, 0], rtol=1e-5)
    assert model.coef_.shape == (1, 2)
    assert model.intercept_.shape == (1,)
    assert model.converged_
    if learner is FlatLogistic and targets == "leaves":
        assert model.predict_proba(X).tolist() == [[1.0], [1.0]]


@both
def test_rows_without_any_label(learner):
    model = learner(TAXONOMY).fit(np.eye(3), [set(), set(), set()])
    assert model.classes_.tolist() == []
    assert model.predict(np.eye(3)) == [set(), set(), set()]
    assert model.decision_function(np.eye(3)).shape == (3, 0)
    alone = learner(TAXONOMY).fit(np.eye(3), [{"tennis"}, {"tennis"}, {"tennis"}])
    assert alone.predict(np.eye(3)) == [{"tennis"}] * 3


# ---------------------------------------------------------------- DAGs


@both
def test_a_dag_will_do(learner):
    X, y, _ = sets_of(taxonomy=DIAMOND)
    for options in ({}, {"targets": "nodes"}, {"targets": "nodes", "repair": "bottom_up"}):
        labels = LabelMatrix.from_sets(learner(DIAMOND, **options).fit(X, y).predict(X), DIAMOND)
        assert micro_f1(y, labels, DIAMOND, nodes="all") > 0.7
    names = np.array(["end", "far", "left", "right"] * 10)
    X = rows_of(names, noise=0.1)
    for targets in ("leaves", "nodes"):
        assert learner(DIAMOND, targets=targets).fit(X, names).score(X, names) > 0.9


@both
@pytest.mark.parametrize("form", [str, lambda name: {name}], ids=["single", "sets"])
def test_paths_in_a_dag_are_the_shortest(learner, form):
    dag = Taxonomy.from_edges([*DIAMOND.edges(), ("right", "low"), ("low", "end"), ("low", "tip"), ("far", "tip")])
    names = ["end", "tip", "low"]
    rows = 3 * np.eye(3)
    found = learner(dag, C=10).fit(rows, [form(name) for name in names]).predict_paths(rows)
    paths = [["top", "left", "end"], ["top", "far", "tip"], ["top", "right", "low"]]
    assert found == (paths if form is str else [[path] for path in paths])


@pytest.mark.parametrize("y", [[{"end"}, {"far"}], ["end", "far"]], ids=["sets", "single"])
def test_the_best_set_needs_a_tree(y):
    with pytest.raises(TaxonomyError, match=r"FlatSVM with repair='best' needs a tree.*'end' has the parents"):
        FlatSVM(DIAMOND, targets="nodes", repair="best").fit(np.eye(2), y)
    FlatSVM(DIAMOND, repair="best").fit(np.eye(2), y)  # leaves need no repair


# ---------------------------------------------------------------- decode


def test_decode():
    X, y = single()
    new = rows_of(y, seed=9)
    sets = [{label} for label in y]
    as_sets, one = FlatSVM(TAXONOMY).fit(X, sets), FlatSVM(TAXONOMY, decode="single").fit(X, sets)
    names = FlatSVM(TAXONOMY, decode="auto").fit(X, y).predict(new)
    assert one.predict(new) == [{name} for name in names]
    assert as_sets.predict(new) == FlatSVM(TAXONOMY, decode="multi").fit(X, sets).predict(new)
    assert {0, 1, 2} <= {len(labels) for labels in as_sets.predict(new)}
    assert one.predict_paths(new[:1]) == [[TAXONOMY.path(names[0])]]
    with pytest.raises(ParameterError, match="decode='multi' answers sets of labels, and y holds one label per row"):
        FlatSVM(TAXONOMY, decode="multi").fit(X, y)
    with pytest.raises(LabelError, match="FlatSVM needs exactly one label per row; row 0 has 2 labels"):
        FlatSVM(TAXONOMY, decode="single").fit(X[:1], [{"film", "food"}])


def test_a_threshold_of_zero_changes_nothing():
    X, y, _ = sets_of()
    alone = FlatSVM(TAXONOMY).fit(X, y).predict(X)
    assert Thresholded(FlatSVM(TAXONOMY), strategy="zero", random_state=0).fit(X, y).predict(X) == alone
