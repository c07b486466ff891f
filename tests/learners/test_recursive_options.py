"""RecursiveSVM and RecursiveLogistic: forms of weights, files, leaves without rows, less sharing, going on."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import cladist
from cladist import FlatLogistic, FlatSVM, RecursiveLogistic, RecursiveSVM, Relations, Taxonomy
from cladist.datasets import make_topics
from cladist.errors import ModelFormatError, ParameterError
from tests.learners.flat_rows import best_entry, single
from tests.learners.recursive_models import CLOSE, DEEP, both, every_learner, for_sweeps, objective_of


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "options",
    [{}, {"relations": Relations(root="free"), "tol": 0.1}, {"sharing": 0.5, "fit_intercept": False}],
    ids=str,
)
def test_a_loaded_model_of_shares_answers_the_same(loss, options, tmp_path):
    taxonomy = Taxonomy.from_paths([f"all/{a}/{a}{b}" for a in "abcde" for b in "pqrstuvw"])
    X, y = for_sweeps(single(150, labels=[n for n in taxonomy.names if len(n) == 2]))
    model = RecursiveSVM(taxonomy, loss=loss, weights="dual", **options).fit(X, y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(again.node_coef_.toarray(), model.node_coef_.toarray(), atol=1e-4)
    dense = RecursiveSVM(taxonomy, loss=loss, **options).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X), atol=1e-2)
    np.testing.assert_array_equal(model.predict(X), dense.predict(X))


def test_shares_of_all_rows_are_not_saved(tmp_path):
    X, y = single()
    model = RecursiveLogistic(DEEP, weights="dual").fit(X, y)
    np.testing.assert_allclose(model.coef_, RecursiveLogistic(DEEP).fit(X, y).coef_, atol=0.05)
    with pytest.raises(ModelFormatError, match="fit with weights='sparse' and a prune"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# ---------------------------------------------------------------- leaves without rows, less sharing, going on


@every_learner
def test_leaves_without_rows_may_learn_to_say_no(learner, loss):
    X, y = single(labels=("tennis", "chess", "film"))
    model = learner(DEEP, empty_leaf="negative", fit_intercept=False, **loss, **CLOSE).fit(X, y)
    assert set(model.classes_) == {DEEP.names[v] for v in DEEP.leaves}
    assert model.history_[-1]["objective"] == pytest.approx(objective_of(model, X, y), rel=2e-5)
    empty = [list(model.classes_).index(name) for name in ("music", "food")]
    assert np.mean(model.decision_function(X)[:, empty] < 0) > 0.95


@every_learner
def test_labels_that_share_nothing_are_flat(learner, loss):
    X, y = single(60)
    flat = FlatLogistic if learner is RecursiveLogistic else FlatSVM
    model = learner(DEEP, sharing=0, tol=1e-3, **loss).fit(X, y)
    np.testing.assert_array_equal(model.coef_, flat(DEEP, tol=1e-3, **loss).fit(X, y).coef_)
    some, more = (learner(DEEP, sharing=k, **CLOSE, **loss).fit(X, y) for k in (1e-4, 1))
    close = flat(DEEP, tol=1e-5, **loss).fit(X, y).coef_
    np.testing.assert_allclose(some.coef_, close, atol=0.02)
    assert not np.allclose(more.coef_, close, atol=0.02)


@both
@pytest.mark.parametrize("C", [1.0, "cv"])
def test_sharing_is_chosen(learner, C):
    X, y = single(60)
    model = learner(DEEP, C=C, sharing="cv").fit(X, y)
    assert {entry["sharing"] for entry in model.cv_results_} == {1.0, 0.1, 0.0}
    best = best_entry(model.cv_results_)
    assert (model.sharing_, model.C_) == (best["sharing"], best["C"])
    assert (len({entry["C"] for entry in model.cv_results_}) == 1) == (C == 1.0)
    np.testing.assert_array_equal(model.coef_, learner(DEEP, C=model.C_, sharing=model.sharing_).fit(X, y).coef_)
    with pytest.raises(ParameterError, match="C_path varies C alone; give sharing as a number"):
        next(model.C_path(X, y, [1.0]))


@every_learner
@pytest.mark.parametrize("rows", [single(60), for_sweeps(single(60))], ids=["dense", "sparse"])
def test_rows_of_next_to_no_weight(learner, loss, rows):
    X, y = rows
    weights = np.ones(60)
    weights[::3] = 5e-324
    model = learner(DEEP, C=1e-2, **loss).fit(X, y, sample_weight=weights)
    kept = learner(DEEP, C=1e-2, **loss).fit(X, y, sample_weight=np.where(weights < 1, 1e-15, 1))
    assert model.converged_
    assert model.history_[-1]["objective"] == pytest.approx(kept.history_[-1]["objective"], rel=2e-2)


@both
def test_costs_that_float32_cannot_hold_are_refused(learner):
    with pytest.raises(ParameterError, match=r"Cs must be positive numbers; got 1e\+300"):
        learner(DEEP).C_path(np.eye(2), ["tennis", "chess"], [1.0, 1e300])


@every_learner
@pytest.mark.parametrize("root", ["zero", "fixed"])
def test_a_warm_start_goes_on_where_the_last_fit_ended(learner, loss, root):
    X, y = for_sweeps(single(80))
    model = learner(DEEP, relations=Relations(root=root), tol=1e-4, max_iter=2000, warm_start=True, **loss).fit(X, y)
    first, objective = model.n_iter_, model.history_[-1]["objective"]
    model.set_params(tol=1e-3).fit(X, y)
    assert model.n_iter_ == 8 <= first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        anew = learner(DEEP, relations=Relations(root=root), tol=1e-3, max_iter=8, **loss).fit(X, y)
    duals = [m.history_[0]["dual"] for m in (model, anew)]
    assert duals[0] > duals[1] or (not loss and duals[0] == duals[1])  # where no α wants to move any more
    assert model.history_[-1]["objective"] == pytest.approx(objective, rel=1e-3)
    cold = learner(DEEP, relations=Relations(root=root), C=1.2, tol=1e-4, max_iter=2000, **loss)
    warm = model.set_params(C=1.2, tol=1e-4)
    for rows in (slice(None), slice(0, 60)):  # another number of rows starts anew
        told = [m.fit(X[rows], y[rows]).history_[-1]["objective"] for m in (warm, cold)]
        assert told[0] == pytest.approx(told[1], rel=3e-4)
    assert not hasattr(pickle.loads(pickle.dumps(warm)), "_last_fit")


@every_learner
def test_a_path_of_c_is_what_each_fit_gives(learner, loss):
    X, y = single(60)
    for model in learner(DEEP, **CLOSE, **loss).C_path(X, y, [0.1, 1, 10]):
        alone = learner(DEEP, C=model.C, **CLOSE, **loss).fit(X, y)
        assert model.history_[-1]["objective"] == pytest.approx(alone.history_[-1]["objective"], rel=2e-5)


def test_free_roots_need_few_sweeps():
    data = make_topics(n_samples=600, n_features=400, branching=(4, 5), noise=0.7, random_state=0)
    options = {"sharing": 1.0, "relations": Relations(root="free"), "solver": "coordinate", "max_iter": 1000}
    model = RecursiveLogistic(data.taxonomy, C=0.1, **options)
    last = model.fit(data.X, data.y).history_[-1]
    assert last["gap"] <= model.tol
    assert last["passes"] <= 100  # 1,292 if each root were pulled to where it was one sweep ago
