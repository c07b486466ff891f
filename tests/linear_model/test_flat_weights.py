"""FlatSVM and FlatLogistic: forms of weights, files, the choice of C, parameters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from cladist import FlatLogistic, FlatSVM, Hieron, NodewiseSVM, RecursiveSVM, Taxonomy, TopDown, load
from cladist.errors import LabelError, ParameterError, TaxonomyError, TooLargeError
from cladist.execution import Threads
from cladist.learners import base as learner_base
from tests.learners.flat_rows import TAXONOMY, sets_of, single

both = pytest.mark.parametrize("learner", [FlatSVM, FlatLogistic])
forms = pytest.mark.parametrize("form", ["dense", "sparse", "dual"])


# ---------------------------------------------------------------- weights


@forms
@pytest.mark.parametrize(("n_features", "density"), [(900, 0.03), (6, 1.0)], ids=["sparse", "dense"])
def test_weights_are_the_same_in_every_form(form, n_features, density):
    X, y = single(n_rows=300, labels=[f"c{k}" for k in range(20)], n_features=n_features, density=density)
    dense = FlatSVM(weights="dense", tol=1e-10 if density == 1 else 1e-3).fit(X, y)
    other = FlatSVM(weights=form, tol=dense.tol).fit(X, y)
    assert sparse.issparse(other.coef_) == (form == "sparse")
    coef = other.coef_.toarray() if form == "sparse" else other.coef_
    np.testing.assert_allclose(coef, dense.coef_, atol=2e-5)
    np.testing.assert_allclose(other.decision_function(X), dense.decision_function(X), atol=1e-4)
    for new in (X, X[:3]):  # many rows are scored in another way than a few
        np.testing.assert_array_equal(other.predict(new), dense.predict(new))
        np.testing.assert_array_equal(other.predict_top_k(new, 3)[0], dense.predict_top_k(new, 3)[0])


def test_pruning_drops_small_weights_and_nothing_else():
    X, y = single(n_features=120)
    dense = FlatSVM(weights="dense").fit(X, y)
    pruned = FlatSVM(weights="sparse", prune=0.05).fit(X, y)
    expected = np.where(np.abs(dense.coef_) > 0.05, dense.coef_, 0)
    np.testing.assert_array_equal(pruned.coef_.toarray(), expected)
    assert 0 < pruned.coef_.nnz < np.count_nonzero(dense.coef_)
    np.testing.assert_array_equal(pruned.intercept_, dense.intercept_)
    np.testing.assert_allclose(pruned.decision_function(X), X @ expected.T + dense.intercept_, atol=1e-4)
    told, of_dense = ({**model.history_[0], "seconds": 0} for model in (pruned, dense))
    assert told == of_dense


def test_what_is_too_large_for_dense_weights_is_kept_otherwise_or_refused(monkeypatch):
    X, y = single()
    for limit in ("MOST_DENSE_BYTES", "MOST_BYTES_BESIDE_DUAL"):
        monkeypatch.setattr(f"cladist.solvers.problem.{limit}", 100)
    assert type(FlatSVM().fit(X, y).weights_).__name__ == "DualWeights"
    assert type(FlatSVM(weights="dense").fit(X, y).weights_).__name__ == "DenseWeights"
    with pytest.raises(TooLargeError, match=r"4 classes × \d+ features are 0.0 GiB of weights; use weights='sparse'"):
        FlatLogistic().fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("learner", [FlatSVM, RecursiveSVM])
def test_weights_that_are_dual_to_save_memory_predict_as_dense_ones(learner, loss, monkeypatch):
    X, y = single()
    dense = learner(TAXONOMY, loss=loss, tol=1e-4).fit(X, y)
    monkeypatch.setattr("cladist.solvers.problem.MOST_BYTES_BESIDE_DUAL", 100)
    dual = learner(TAXONOMY, loss=loss, tol=1e-4).fit(X, y)
    assert type(dense.weights_).__name__ == "DenseWeights"
    assert type(dual.weights_).__name__ != "DenseWeights"
    np.testing.assert_array_equal(dual.predict(X), dense.predict(X))
    np.testing.assert_allclose(dual.decision_function(X), dense.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"weights": "sparse"}, {"targets": "nodes"}], ids=str)
@pytest.mark.parametrize("labels", [("tennis", "film"), ("tennis", "film", "sport", "food")], ids=["two", "four"])
def test_scores_are_what_coefficients_make_them(options, labels):
    X, y = single(labels=labels)
    model = FlatSVM(TAXONOMY, **options).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    scores = np.asarray(scores.todense() if sparse.issparse(scores) else scores)
    np.testing.assert_allclose(model.decision_function(X, nodes=model.classes_), scores, atol=1e-5)
    for i, why in enumerate(model.explain(X)):
        best = scores[i].argmax()
        assert why.label == model.classes_[best]
        assert why.score == pytest.approx(scores[i, best], abs=1e-4)
        assert sum(why.contributions[why.label].values()) == pytest.approx(why.score, abs=1e-6)
    named = model.explain(X, nodes=["tennis"] * len(y))
    column = model.classes_.tolist().index("tennis")
    np.testing.assert_allclose([why.score for why in named], scores[:, column], atol=1e-4)


@forms
@pytest.mark.parametrize("targets", ["leaves", "nodes"])
def test_an_explanation_makes_the_weights_of_its_labels_only(form, targets, monkeypatch):
    labels = [f"c{k}" for k in range(40)]
    taxonomy = Taxonomy.from_paths([f"p{k % 4}/c{k}" for k in range(40)])
    X, y = single(n_rows=200, labels=labels, n_features=120)
    model = FlatSVM(taxonomy, weights=form, targets=targets).fit(X, y)
    expected = model.decision_function(X)
    asked, matrix = [], type(model.weights_).matrix
    monkeypatch.setattr(type(model.weights_), "matrix", lambda self, k=None: asked.append(k) or matrix(self, k))
    found = model.explain(X, nodes=y)
    of_row = [model.classes_.tolist().index(label) for label in y]
    np.testing.assert_allclose([why.score for why in found], expected[np.arange(len(y)), of_row], atol=1e-4)
    asked.clear()
    model.explain(X[:5], nodes=["c3", "c7", "c3", "c7", "c3"])
    problems = {"c3", "c7"} if targets == "leaves" else {"p3", "c3", "c7"}
    assert [{taxonomy.names[v] for v in model.target_nodes_[k]} for k in asked] == [problems]
    asked.clear()
    model.explain(X[: len(model.classes_)], nodes=model.classes_)
    assert len(model.classes_) > 32
    assert len(asked) == 3
    assert max(len(k) for k in asked) <= 16 + 4  # never all at once


@forms
def test_weights_of_some_classes_are_rows_of_the_matrix(form):
    X, y = single(n_rows=200, labels=[f"c{k}" for k in range(40)], n_features=120)
    weights = FlatSVM(weights=form).fit(X, y).weights_
    whole = weights.matrix()
    for classes in (np.array([33, 2, 2, 17]), np.arange(weights.n_classes), np.zeros(0, np.int64)):
        expected = whole[classes].toarray() if sparse.issparse(whole) else whole[classes]
        found = weights.matrix(classes)
        np.testing.assert_allclose(found.toarray() if sparse.issparse(found) else found, expected, atol=1e-6)


@forms
@pytest.mark.parametrize("sets", [False, True])
def test_weights_made_for_scores_are_made_once(form, sets, monkeypatch):
    X, y = single(n_rows=400, labels=[f"c{k}" for k in range(20)], n_features=120)
    model = FlatSVM(weights=form).fit(X, [{label} for label in y] if sets else y)
    answers = model.predict_top_k(X, 3), model.decision_function(X), model.predict(X)
    monkeypatch.setattr(learner_base, "CHUNK_BYTES", 8 * model.taxonomy_.n_nodes * 7)  # seven rows at a time
    calls, blocks = [], type(model.weights_).blocks
    monkeypatch.setattr(type(model.weights_), "blocks", lambda self: calls.append(1) or blocks(self))
    for ours, before in zip(model.predict_top_k(X, 3), answers[0], strict=True):
        np.testing.assert_array_equal(ours, before)
    assert len(calls) == (58 if form == "dense" else 1)  # dense ones need not be made
    np.testing.assert_array_equal(model.decision_function(X), answers[1])
    assert list(model.predict(X)) == list(answers[2])
    assert len(calls) == (58 * 2 + (58 if sets else 1) if form == "dense" else 3)
    monkeypatch.setattr("cladist.learners.linear_classifier.PIECE_BYTES", 4 * 20 * 100)  # a hundred rows at a time
    calls.clear()
    np.testing.assert_array_equal(model.predict_top_k(X, 3)[0], answers[0][0])
    assert len(calls) == {"dense": 58, "dual": 4, "sparse": 0}[form]  # a hundred are few: through the lists


def test_node_coefficients_are_those_of_the_problems():
    X, y, _ = sets_of()
    model = FlatSVM(TAXONOMY, targets="nodes").fit(X, y)
    np.testing.assert_array_equal(model.node_coef_.toarray(), model.coef_)
    leaves = FlatSVM(TAXONOMY).fit(*single(labels=("tennis", "film", "food")))
    np.testing.assert_array_equal(leaves.node_coef_[leaves.class_nodes_].toarray(), leaves.coef_)
    assert leaves.node_coef_[[TAXONOMY.index("sport")]].nnz == 0
    with pytest.raises(LabelError, match="80 rows need as many labels in `nodes`; got 1"):
        model.explain(X, nodes=["tennis"])
    for name in ("coef_", "intercept_", "node_coef_"):
        with pytest.raises(NotFittedError):
            getattr(FlatSVM(), name)


@forms
@pytest.mark.parametrize("y_kind", ["single", "two classes", "sets"])
def test_a_saved_model_answers_the_same(form, y_kind, tmp_path):
    X, y = single(labels=("tennis", "film")) if y_kind == "two classes" else single()
    if y_kind == "sets":
        X, y, _ = sets_of()
    model = FlatSVM(TAXONOMY, C="cv", weights=form).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert list(again.predict(X)) == list(model.predict(X))
    assert type(again.weights_) is type(model.weights_)
    assert (again.C_, again.cv_results_, again.history_) == (model.C_, model.cv_results_, model.history_)
    assert (again.n_iter_, again.converged_) == (model.n_iter_, model.converged_)


# ---------------------------------------------------------------- C


@both
def test_a_path_of_c_is_a_fit_for_each(learner):
    X, y = single()
    Cs = [0.01, 0.3, 10]
    models = list(learner(TAXONOMY, tol=1e-5).C_path(X, y, Cs))
    assert [model.C for model in models] == Cs
    for C, model in zip(Cs, models, strict=True):
        alone = learner(TAXONOMY, C=C, tol=1e-5).fit(X, y)
        assert model.converged_
        assert model.history_[0]["objective"] == pytest.approx(alone.history_[0]["objective"], rel=1e-5)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=0.03)
        assert model.classes_.tolist() == alone.classes_.tolist()


@forms
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_path_of_c_in_every_form_with_weighted_sets(form, loss):
    X, y, _ = sets_of()
    weights = np.random.default_rng(2).random(len(y))
    path = FlatSVM(TAXONOMY, loss=loss, weights=form, tol=1e-5).C_path(X, y, [10, 0.1], sample_weight=weights)
    for C, model in zip([10, 0.1], path, strict=True):  # downwards will do, too
        alone = FlatSVM(TAXONOMY, loss=loss, C=C, tol=1e-5).fit(X, y, sample_weight=weights)
        assert model.history_[0]["objective"] == pytest.approx(alone.history_[0]["objective"], rel=1e-5)


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"C": 0}, "FlatSVM: C must be positive, or 'cv' to choose it; got 0."),
        ({"C": np.inf}, "FlatSVM: C must be positive, or 'cv' to choose it; got inf."),
        ({"C": "auto"}, "FlatSVM: C must be positive, or 'cv' to choose it; got 'auto'."),
        ({"tol": 0}, "FlatSVM: tol must be positive; got 0."),
        ({"max_iter": 0.5}, "FlatSVM: max_iter must be a whole number from 1 up; got 0.5."),
        ({"prune": -1}, "FlatSVM: prune must be 0 or positive; got -1."),
        ({"prune": 0.1}, "FlatSVM: prune=0.1 needs weights='sparse', which keeps what is larger."),
        ({"loss": "log"}, "FlatSVM: loss must be one of 'squared_hinge', 'hinge'; got 'log'."),
        ({"targets": "all"}, "FlatSVM: targets must be one of 'leaves', 'nodes'; got 'all'."),
        ({"repair": "none"}, "FlatSVM: repair must be one of 'top_down', 'bottom_up', 'best'; got 'none'."),
        ({"weights": "csr"}, "FlatSVM: weights must be one of 'auto', 'dense', 'sparse', 'dual'; got 'csr'."),
        ({"fit_intercept": "no"}, "FlatSVM: fit_intercept must be one of False, True; got 'no'."),
        ({"decode": "sets"}, "FlatSVM: decode must be one of 'auto', 'single', 'multi'; got 'sets'."),
        ({"class_weight": "even"}, "FlatSVM: class_weight must be None, 'balanced' or a mapping; got 'even'."),
        ({"class_weight": {"a": 0}}, "FlatSVM: the weights in class_weight must be positive; got {'a': 0}."),
        (
            {"class_weight": [1, 2]},
            "FlatSVM: class_weight must map labels to positive numbers, or be None or 'balanced'; got [1, 2].",
        ),
        ({"random_state": "x"}, "FlatSVM: random_state must be a whole number, a RandomState or None; got 'x'."),
        ({"n_jobs": 0}, "n_jobs must not be 0; use 1 for one worker or -1 for all cores."),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ParameterError) as e:
        FlatSVM(**options).fit(np.eye(2), ["a", "b"])
    assert str(e.value) == said


def test_more_that_is_refused():
    with pytest.raises(ParameterError, match="FlatLogistic: every row supports a logistic classifier; use weights="):
        FlatLogistic(weights="dual").fit(np.eye(2), ["a", "b"])
    with pytest.raises(TaxonomyError, match="'c' is not in the taxonomy"):
        FlatSVM(class_weight={"c": 2.0}).fit(np.eye(2), ["a", "b"])
    with pytest.raises(ParameterError, match="FlatSVM: choosing by 'cv' needs two rows at least; there is 1"):
        FlatSVM(C="cv").fit([[1.0]], ["a"])
    with pytest.raises(ParameterError, match=r"FlatSVM: Cs must be a sequence of positive numbers; got 3\.0\."):
        FlatSVM().C_path(np.eye(2), ["a", "b"], 3.0)
    for Cs in ([1, 0], [np.inf], ["cv"]):
        with pytest.raises(ParameterError, match="FlatSVM: Cs must be positive numbers; got"):
            FlatSVM().C_path(np.eye(2), ["a", "b"], Cs)  # before the first is asked for


@pytest.mark.parametrize("learner", [FlatSVM, FlatLogistic, RecursiveSVM, NodewiseSVM, TopDown, Hieron])
@pytest.mark.parametrize("nodes", [5, np.array(5), 2.5, object])
def test_nodes_that_are_no_sequence_are_refused(learner, nodes):
    model = learner(TAXONOMY).fit(*single())
    with pytest.raises(LabelError) as e:
        model.decision_function(single()[0], nodes=nodes)
    assert str(e.value) == f"{learner.__name__}: nodes must be a sequence of labels; got {nodes!r}."
    assert model.decision_function(single()[0], nodes="tennis").shape == (90, 1)


@both
def test_a_gap_that_is_not_closed_is_told(learner):
    X, y = single()
    with pytest.warns(ConvergenceWarning, match=rf"{learner.__name__} stopped after 1 sweeps with a gap of"):
        model = learner(C=100, max_iter=1, tol=1e-6).fit(X, y)
    assert not model.converged_
    assert model.history_[0]["worst_gap"] > 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learner(C=100).fit(X, y).converged_


@both
def test_the_model_does_not_depend_on_where_it_is_fitted(learner):
    X, y = single(n_rows=200, labels=[f"c{k}" for k in range(50)])
    serial = learner().fit(X, y)
    for options in ({"n_jobs": 2}, {"executor": Threads(3)}):
        np.testing.assert_array_equal(learner(**options).fit(X, y).coef_, serial.coef_)
