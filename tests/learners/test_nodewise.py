"""NodewiseSVM: against a loop by hand with a LinearSVC a node, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from cladist import LabelMatrix, NodewiseSVM, Taxonomy, load
from cladist.errors import LabelError, ParameterError, TaxonomyError
from cladist.execution import Threads
from cladist.metrics import micro_f1
from tests.learners.flat_rows import TAXONOMY, best_entry, rows_of, sets_of, single
from tests.strategies import forests

EXACT = {"tol": 1e-7, "max_iter": 20_000}


def node_classifier(loss, fit_intercept=True):
    options = {"fit_intercept": fit_intercept, "tol": 1e-9}
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", max_iter=1000, **options)
    return LinearSVC(loss=loss, dual=True, max_iter=200_000, random_state=0, **options)


def by_hand(taxonomy, X, has, new, make):
    """The definition: the score of every node, ±∞ at nodes with nothing to tell apart."""
    scores = np.full((new.shape[0], taxonomy.n_nodes), -np.inf)
    for v in range(taxonomy.n_nodes):
        p = taxonomy.parent[v]
        rows = np.arange(X.shape[0]) if p < 0 else np.flatnonzero(has[:, p])
        target = has[rows, v]
        if len(rows) and target.all():
            scores[:, v] = np.inf
        elif target.any():
            scores[:, v] = make().fit(X[rows], target).decision_function(new)
    return scores


def walked_down(taxonomy, scores):
    on = scores > 0
    for v in range(taxonomy.n_nodes):
        if taxonomy.parent[v] >= 0:
            on[:, v] &= on[:, taxonomy.parent[v]]
    return on


def indicator(sets, taxonomy):
    return LabelMatrix.from_sets(sets, taxonomy).to_indicator().toarray().astype(bool)


# ---------------------------------------------------------------- the definition


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_it_is_one_classifier_a_node_on_the_rows_of_its_parent(loss, fit_intercept):
    X, y, has = sets_of(n_rows=120)
    new = sets_of(n_rows=60, seed=1)[0]
    scores = by_hand(TAXONOMY, X, has, new, lambda: node_classifier(loss, fit_intercept))
    exact = {**EXACT, "tol": 1e-6} if loss == "hinge" else EXACT  # as near as float32 weights are certified
    model = NodewiseSVM(TAXONOMY, loss=loss, fit_intercept=fit_intercept, **exact).fit(X, y)
    on = walked_down(TAXONOMY, scores)
    np.testing.assert_array_equal(indicator(model.predict(new), TAXONOMY), on)
    lowest = np.column_stack([scores[:, TAXONOMY.path_ids(v)].min(axis=1) for v in range(TAXONOMY.n_nodes)])
    np.testing.assert_allclose(model.decision_function(new), lowest[:, model.class_nodes_], atol=5e-3)
    assert model.classes_.tolist() == list(TAXONOMY.names)
    assert 0 < on.mean() < 1
    assert sorted(model.families_) == [-1, *(TAXONOMY.index(name) for name in ("sport", "art"))]


@settings(max_examples=40)
@given(forests(max_nodes=8), st.integers(0, 2**31))
def test_on_any_forest_constant_nodes_included(taxonomy, seed):
    random = np.random.default_rng(seed)
    y = [set(random.choice(taxonomy.names, random.integers(0, min(3, len(taxonomy)) + 1)).tolist()) for _ in range(10)]
    X, new = random.normal(size=(10, 3)), random.normal(size=(15, 3))
    has = indicator(y, taxonomy)
    model = NodewiseSVM(taxonomy, **EXACT).fit(X, y)
    scores = by_hand(taxonomy, X, has, new, lambda: node_classifier("squared_hinge"))
    settled = np.abs(scores).min(axis=1) > 0.01  # elsewhere the sign is a matter of the tolerance
    np.testing.assert_array_equal(
        indicator(model.predict(new), taxonomy)[settled], walked_down(taxonomy, scores)[settled]
    )


@settings(max_examples=40)
@given(forests(max_nodes=8), st.integers(0, 2**31))
def test_a_score_is_positive_where_its_label_is_predicted(taxonomy, seed):
    random = np.random.default_rng(seed)
    y = random.choice(taxonomy.names, 12)
    X, new = random.normal(size=(12, 3)), random.normal(size=(15, 3))
    sets = NodewiseSVM(taxonomy, C=10).fit(X, [{label} for label in y])
    on = indicator(sets.predict(new), taxonomy)
    np.testing.assert_array_equal(sets.decision_function(new) > 0, on[:, sets.class_nodes_])
    one = NodewiseSVM(taxonomy, C=10).fit(X, y)
    scores = one.decision_function(new, nodes=one.classes_)
    assert np.all(np.isfinite(scores))
    np.testing.assert_array_equal(one.predict(new), one.classes_[scores.argmax(axis=1)])
    for i in range(len(new)):
        ends = {name for name in one.classes_ if on[i, taxonomy.index(name)]}
        ends = {name for name in ends if not on[i, [taxonomy.index(c) for c in taxonomy.children(name)]].any()}
        assert {name for name, score in zip(one.classes_, scores[i], strict=True) if score > 0} == ends
        assert not ends or one.predict(new[i : i + 1])[0] in ends


# ---------------------------------------------------------------- constant nodes, single labels, inner labels


def test_a_node_that_all_rows_of_its_parent_have_is_on_wherever_that_is():
    taxonomy = Taxonomy.from_paths(["a/only/x", "b"])
    X = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    model = NodewiseSVM(taxonomy, C=100).fit(np.tile(X, (4, 1)), [{"x"}, {"b"}, {"x", "b"}] * 4)
    assert model.predict(X) == [{"x"}, {"b"}, {"x", "b"}]
    assert sorted(model.families_) == [-1]
    always = NodewiseSVM(taxonomy).fit(X, [{"a"}, {"x"}, {"x", "b"}])
    assert all(labels & {"a", "x"} for labels in always.predict(-X))
    np.testing.assert_array_equal(always.decision_function(-X, nodes=["a"])[:, 0], 1.0)


def test_constant_nodes_do_not_lower_the_score_of_what_is_below_or_above_them():
    """Where two labels end a walk, the one of larger margin is predicted; a chain or an empty child changes nothing."""
    X = np.vstack([np.repeat([[2.0, 0.0], [0.0, 2.0]], 5, axis=0), np.zeros((20, 2))])
    for paths, label in ((["a", "b", "c"], "a"), (["a/only", "b", "c"], "only"), (["a/empty", "b", "c"], "a")):
        y = [label] * 5 + ["b"] * 5 + ["c"] * 20
        model = NodewiseSVM(Taxonomy.from_paths(paths), C=100).fit(X, y)
        scores = model.decision_function([[10.0, 8.0]], nodes=[label, "b"])
        assert scores.min() > 1
        assert model.predict([[10.0, 8.0]]).tolist() == [label]


def test_single_labels():
    X, y = single()
    model = NodewiseSVM(TAXONOMY).fit(X, y)
    assert model.score(X, y) > 0.9
    assert set(model.predict(rows_of(y, seed=5))) <= set(y)  # one label per row, whether any score is positive or not
    one = NodewiseSVM(TAXONOMY, decode="single").fit(X, [{label} for label in y])
    assert one.predict(X) == [{label} for label in model.predict(X)]


def test_labels_at_inner_nodes():
    X, y = single(labels=("sport", "tennis", "chess", "food"), noise=0.2)
    model = NodewiseSVM(TAXONOMY, C=10).fit(X, y)
    assert model.classes_.tolist() == ["sport", "food", "tennis", "chess"]
    assert model.score(X, y) > 0.9
    assert "sport" in model.predict(X)


def test_one_class_only_and_none():
    model = NodewiseSVM(TAXONOMY).fit(np.eye(2), ["tennis", "tennis"])
    assert model.predict(np.eye(2)).tolist() == ["tennis", "tennis"]
    assert model.decision_function(np.eye(2)).tolist() == [[1.0], [1.0]]
    assert NodewiseSVM(TAXONOMY).fit(np.eye(2), [set(), set()]).predict(np.eye(2)) == [set(), set()]
    assert model.history_[0]["objective"] == 0


# ---------------------------------------------------------------- weights, files, C


def test_node_coefficients_make_the_scores():
    X, y, _ = sets_of()
    model = NodewiseSVM(TAXONOMY, fit_intercept=False).fit(X, y)
    assert model.node_coef_.shape == (TAXONOMY.n_nodes, X.shape[1])
    scores = (X @ model.node_coef_.T).toarray()
    lowest = np.column_stack([scores[:, TAXONOMY.path_ids(v)].min(axis=1) for v in range(TAXONOMY.n_nodes)])
    np.testing.assert_allclose(model.decision_function(X), lowest, atol=1e-4)
    with pytest.raises(NotFittedError):
        NodewiseSVM().node_coef_  # noqa: B018


def test_pruning_drops_small_weights():
    X, y, _ = sets_of()
    whole, pruned = NodewiseSVM(TAXONOMY).fit(X, y), NodewiseSVM(TAXONOMY, prune=0.05).fit(X, y)
    expected = np.where(np.abs(whole.node_coef_.toarray()) > 0.05, whole.node_coef_.toarray(), 0)
    np.testing.assert_array_equal(pruned.node_coef_.toarray(), expected)
    assert 0 < np.count_nonzero(expected) < whole.node_coef_.nnz


def test_sample_weights_are_factors_of_c():
    X, y, _ = sets_of()
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    plain = NodewiseSVM(TAXONOMY, **EXACT).fit(X[repeated], [y[i] for i in repeated])
    weighted = NodewiseSVM(TAXONOMY, **EXACT).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), atol=3e-3)
    with pytest.raises(ValueError, match=r"[Ss]ample weights"):
        NodewiseSVM().fit([[0.0], [1.0]], ["a", "b"], sample_weight=[0, 0])


@pytest.mark.parametrize("kind", ["single", "sets"])
def test_a_saved_model_answers_the_same(kind, tmp_path):
    X, y = single() if kind == "single" else sets_of()[:2]
    model = NodewiseSVM(TAXONOMY, C="cv").fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert list(again.predict(X)) == list(model.predict(X))
    assert (again.C_, again.cv_results_, again.history_) == (model.C_, model.cv_results_, model.history_)


def test_c_is_chosen_by_cross_validation():
    X, y, _ = sets_of()
    model = NodewiseSVM(TAXONOMY, C="cv").fit(X, y)
    best = best_entry(model.cv_results_)
    assert best["C"] == model.C_
    same = NodewiseSVM(TAXONOMY, C=model.C_).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert micro_f1(y, model.predict(X), TAXONOMY, nodes="all") > best["score"] - 0.1
    assert not hasattr(model.set_params(C=1.0).fit(X, y), "C_")


def test_the_model_does_not_depend_on_where_it_is_fitted():
    X, y, _ = sets_of()
    serial = NodewiseSVM(TAXONOMY).fit(X, y)
    for options in ({"n_jobs": 2}, {"executor": Threads(3)}):
        other = NodewiseSVM(TAXONOMY, **options).fit(X, y)
        np.testing.assert_array_equal(other.decision_function(X), serial.decision_function(X))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"C": -1}, "NodewiseSVM: C must be positive, or 'cv' to choose it; got -1."),
        ({"C": np.inf}, "NodewiseSVM: C must be positive, or 'cv' to choose it; got inf."),
        ({"tol": 0}, "NodewiseSVM: tol must be positive; got 0."),
        ({"max_iter": 0}, "NodewiseSVM: max_iter must be a whole number from 1 up; got 0."),
        ({"prune": -1}, "NodewiseSVM: prune must be 0 or positive; got -1."),
        ({"loss": "log"}, "NodewiseSVM: loss must be one of 'squared_hinge', 'hinge', 'logistic'; got 'log'."),
        ({"fit_intercept": 2}, "NodewiseSVM: fit_intercept must be one of False, True; got 2."),
        ({"decode": "sets"}, "NodewiseSVM: decode must be one of 'auto', 'single', 'multi'; got 'sets'."),
        (
            {"decode": "multi"},
            "NodewiseSVM: decode='multi' answers sets of labels, and y holds one label per row; write each row as a "
            "set, {'label'}.",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ParameterError) as e:
        NodewiseSVM(**options).fit(np.eye(2), ["a", "b"])
    assert str(e.value) == said


def test_a_dag_is_refused_with_what_can_learn_on_it():
    dag = Taxonomy.from_edges([("a", "c"), ("b", "c")])
    with pytest.raises(TaxonomyError, match=r"NodewiseSVM needs a tree or forest.*FlatSVM and FlatLogistic can learn"):
        NodewiseSVM(dag).fit(np.eye(3), [{"a"}, {"b"}, {"c"}])
    with pytest.raises(LabelError, match="NodewiseSVM needs exactly one label per row; row 0 has 2 labels"):
        NodewiseSVM(TAXONOMY, decode="single").fit([[1.0]], [{"film", "food"}])


def test_a_gap_that_is_not_closed_is_told():
    X, y, _ = sets_of()
    with pytest.warns(ConvergenceWarning, match=r"NodewiseSVM stopped after 1 sweeps with a gap of"):
        model = NodewiseSVM(TAXONOMY, C=100, max_iter=1, tol=1e-6).fit(X, y)
    assert not model.converged_
    assert NodewiseSVM(TAXONOMY).fit(X, y).converged_
