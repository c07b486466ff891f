"""RecursiveSVM and RecursiveLogistic: against the definition, the flat learners and each other."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import cladist
from cladist import FlatLogistic, FlatSVM, LabelMatrix, RecursiveLogistic, RecursiveSVM, Relations, Taxonomy
from cladist.errors import ParameterError
from tests.learners.flat_rows import TAXONOMY, best_entry, rows_of, sets_of, single
from tests.learners.recursive_models import (
    CLOSE,
    DEEP,
    both,
    every_learner,
    every_root,
    for_sweeps,
    losses_of,
    objective_of,
)

# ---------------------------------------------------------------- the problem


@every_learner
@every_root
def test_the_objective_is_that_of_the_definition(learner, loss, root, solver):
    X, y = single(60, labels=("tennis", "chess", "music", "film", "food"))
    tol = 1e-3 if root == "free" else 1e-5  # the former's bound is slow to close
    options = {"relations": Relations(root=root), "solver": solver, "tol": tol, "max_iter": 2000}
    model = learner(DEEP, fit_intercept=False, **options, **loss).fit(X, y)
    told = model.history_[-1]
    assert model.converged_
    assert told["objective"] == pytest.approx(objective_of(model, X, y), rel=2e-5)
    assert told["gap"] == pytest.approx((told["objective"] - told["dual"]) / told["objective"])
    assert told["gap"] <= tol


@every_learner
@every_root
@pytest.mark.parametrize("taxonomy", [DEEP, TAXONOMY], ids=["tree", "forest"])
def test_inner_nodes_are_means_of_their_neighbours(learner, loss, root, solver, taxonomy):
    X, y = single(labels=("tennis", "chess", "music", "film", "food"))
    model = learner(taxonomy, relations=Relations(root=root), solver=solver, max_iter=5000, **loss).fit(X, y)
    W = model.node_coef_.toarray()
    assert W.shape == (taxonomy.n_nodes, X.shape[1])
    np.testing.assert_array_equal(W[model.class_nodes_], model.coef_)
    inner = [v for v in range(taxonomy.n_nodes) if taxonomy.names[v] not in model.classes_]
    assert len(inner) in (2, 3)
    for v in inner:
        children = np.flatnonzero(taxonomy.parent == v)
        is_root = taxonomy.parent[v] < 0
        if is_root and root == "fixed":
            assert not np.any(W[v])
            continue
        above = 0 if is_root else W[taxonomy.parent[v]]
        pulls = len(children) + (0 if is_root and root == "free" else 1)
        np.testing.assert_allclose(pulls * W[v], above + W[children].sum(axis=0), atol=1e-5)


@every_learner
@pytest.mark.parametrize("root", ["zero", "fixed"])
def test_all_solvers_find_the_same(learner, loss, root):
    X, y = single(labels=("tennis", "chess", "music", "sport"))
    options = {"relations": Relations(root=root), **loss, **CLOSE}
    one, *others = (
        learner(DEEP, solver=solver, **options).fit(X, y) for solver in ("coordinate", "newton", "alternating")
    )
    for other in others:
        assert one.history_[-1]["objective"] == pytest.approx(other.history_[-1]["objective"], rel=2e-5)
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=0.02)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("taxonomy", [None, TAXONOMY.flattened()], ids=["none", "flattened"])
def test_a_star_is_flat(taxonomy):
    X, y = single()
    new = rows_of(y, seed=9)
    for loss in ("hinge", "squared_hinge"):
        flat = FlatSVM(taxonomy, loss=loss, **CLOSE).fit(X, y)
        ours = RecursiveSVM(taxonomy, relations=Relations(root="fixed"), loss=loss, **CLOSE).fit(X, y)
        np.testing.assert_array_equal(ours.predict(new), flat.predict(new))
        np.testing.assert_allclose(ours.decision_function(new), flat.decision_function(new), atol=1e-3)
    flat = FlatLogistic(taxonomy, **CLOSE).fit(X, y)
    ours = RecursiveLogistic(taxonomy, relations=Relations(root="fixed"), **CLOSE).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), flat.predict_proba(new), atol=1e-3)


def test_siblings_borrow_from_each_other():
    """A leaf that has few rows is nearer to its sibling than the flat classifier is."""
    X, y = single(200, labels=("tennis", "chess", "music", "film"))
    kept = np.flatnonzero((y != "tennis") | (np.cumsum(y == "tennis") <= 2))
    ours, flat = (m.fit(X[kept], y[kept]) for m in (RecursiveSVM(DEEP), FlatSVM(DEEP, loss="hinge")))
    for model in (ours, flat):
        model.apart = np.linalg.norm(model.coef_[0] - model.coef_[1]) / np.linalg.norm(model.coef_[1])
    assert ours.classes_[:2].tolist() == ["tennis", "chess"]
    assert ours.apart < flat.apart


# ---------------------------------------------------------------- which labels, and sets of them


@every_learner
@pytest.mark.parametrize("taxonomy", [DEEP, TAXONOMY], ids=["tree", "forest"])
def test_a_label_with_others_below_it_is_a_leaf_of_its_own_there(learner, loss, taxonomy):
    X, y = single(labels=("tennis", "chess", "sport", "art", "film"))
    walked = taxonomy.with_stop_leaves(["sport", "art"])
    stop_of = {inner: stop for stop, inner in walked.stop_leaves.items()}
    model = learner(taxonomy, **loss, **CLOSE).fit(X, y)
    plain = Taxonomy.from_parents(
        {n: None if p < 0 else walked.names[p] for n, p in zip(walked.names, walked.parent, strict=True)}
    )
    other = learner(plain, **loss, **CLOSE).fit(X, [stop_of.get(label, label) for label in y])
    assert set(model.classes_) == set(y)
    names = sorted(set(y))
    scores = other.decision_function(X, nodes=[stop_of.get(name, name) for name in names])
    np.testing.assert_allclose(model.decision_function(X, nodes=names), scores, atol=5e-3)
    assert {"sport", "art"} <= set(model.predict(X))
    W = model.node_coef_.toarray()
    np.testing.assert_array_equal(W[model.class_nodes_], model.coef_)


@every_learner
def test_sets_of_labels(learner, loss):
    X, y, _ = sets_of(taxonomy=DEEP)
    model = learner(DEEP, C=5, **loss).fit(X, y)
    scores, found = model.decision_function(X), model.predict(X)
    for row, names in zip(scores, found, strict=True):
        positive = set(model.classes_[row > 0])
        assert LabelMatrix.from_sets([names], DEEP) == LabelMatrix.from_sets([positive], DEEP)
    assert {0, 1, 2} <= {len(names) for names in found}


@every_learner
def test_leaves_of_sets_are_problems_over_all_rows(learner, loss):
    random = np.random.default_rng(3)
    leaves = ["tennis", "chess", "music", "film", "food"]
    y = [set(random.choice(leaves, n, replace=False).tolist()) for n in random.integers(0, 4, 60)]
    X = np.array([[leaf in names for leaf in leaves] for names in y]) + 0.5 * random.normal(size=(60, 5))
    model = learner(DEEP, fit_intercept=False, **loss, **CLOSE).fit(X, y)
    assert model.history_[-1]["objective"] == pytest.approx(objective_of(model, X, y), rel=2e-5)


@both
def test_labels_without_rows_are_never_predicted_and_take_no_part(learner):
    X, y = single(labels=("tennis", "chess", "film"))
    narrow = Taxonomy.from_paths(["all/sport/tennis", "all/sport/chess", "all/art/film"])
    model = learner(DEEP).fit(X, y)
    assert model.classes_.tolist() == ["tennis", "chess", "film"]
    found = model.node_coef_.toarray()
    for absent, above in (("music", "art"), ("food", "all")):
        np.testing.assert_array_equal(found[DEEP.index(absent)], found[DEEP.index(above)])
    np.testing.assert_allclose(model.coef_, learner(narrow).fit(X, y).coef_, atol=1e-6)


@both
def test_one_class_and_two_classes(learner):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    assert learner(DEEP).fit(X, ["tennis"] * 3).predict(X).tolist() == ["tennis"] * 3
    two = learner(DEEP, C=100).fit(X[:2], ["tennis", "music"])
    assert two.predict(X[:2]).tolist() == ["tennis", "music"]
    assert learner(DEEP).fit(X, [set(), set(), set()]).predict(X) == [set(), set(), set()]


@every_learner
def test_rows_without_features_and_no_intercept(learner, loss):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    y = ["tennis", "chess", "music", "tennis"]
    model = learner(DEEP, fit_intercept=False, **loss, **CLOSE).fit(X, y)
    assert model.converged_
    assert model.history_[-1]["objective"] == pytest.approx(objective_of(model, X, y), rel=2e-5)


def test_probabilities():
    X, y = single()
    model = RecursiveLogistic(DEEP).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))


# ---------------------------------------------------------------- weights of rows and classes, C


@every_learner
def test_class_and_sample_weights_are_factors_of_c(learner, loss):
    X, y = single()
    weights, factor_of = np.random.default_rng(1).uniform(0.2, 3, len(y)), {"tennis": 5.0, "film": 0.3}
    model = learner(DEEP, C=0.5, class_weight=factor_of, fit_intercept=False, **loss, **CLOSE)
    model.fit(X, y, sample_weight=weights)
    found = objective_of(model, X, y, weights, factor_of)
    assert model.history_[-1]["objective"] == pytest.approx(found, rel=2e-5)
    assert objective_of(model, X, y) != pytest.approx(found, rel=0.01)


def test_balanced_classes():
    X, y = single()
    counts = {label: np.sum(y == label) for label in set(y)}
    factor_of = {label: len(y) / (len(counts) * n) for label, n in counts.items()}
    one, two = (RecursiveSVM(DEEP, class_weight=given).fit(X, y) for given in ("balanced", factor_of))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@both
def test_c_is_chosen(learner):
    X, y = single(60)
    model = learner(DEEP, C="cv").fit(X, y)
    assert best_entry(model.cv_results_)["C"] == model.C_
    np.testing.assert_array_equal(model.coef_, learner(DEEP, C=model.C_).fit(X, y).coef_)


# ---------------------------------------------------------------- threads, files


@both
def test_threads_change_nothing_and_rounds_little(learner):
    taxonomy = Taxonomy.from_paths([f"all/{a}/{a}{b}" for a in "abcde" for b in "pqrstuvw"])
    names = [n for n in taxonomy.names if len(n) == 2]
    X, y = for_sweeps(single(200, labels=names))
    models = [
        learner(taxonomy, sharing=1, relations=Relations(blocks_per_round=3), n_jobs=n).fit(X, y) for n in (1, 2, 3)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, other.coef_)
        np.testing.assert_array_equal(models[0].intercept_, other.intercept_)
    alone = learner(taxonomy, sharing=1).fit(X, y)
    assert not np.array_equal(alone.coef_, models[0].coef_)
    assert np.mean(alone.predict(X) == models[0].predict(X)) > 0.95


@both
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": "cv", "sharing": "cv"},
        {"relations": Relations(root="free")},
        {"solver": "alternating"},
        {"weights": "sparse"},
    ],
    ids=str,
)
def test_a_loaded_model_answers_the_same(learner, options, tmp_path):
    X, y = single(60, labels=("tennis", "chess", "sport", "film"))
    model = learner(DEEP, **options).fit(X, y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    assert type(again) is learner
    assert again.relations == model.relations
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.node_coef_.toarray(), model.node_coef_.toarray())
    assert again.history_ == model.history_
    assert getattr(again, "C_", None) == getattr(model, "C_", None)


# ---------------------------------------------------------------- refusals and warnings


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relations": Relations(root="none")}, "root must be one of 'zero', 'free', 'fixed'; got 'none'"),
        ({"sharing": -1}, "sharing must be 0 or between 1e-09 and 1e\\+09, or 'cv' to choose it; got -1"),
        ({"sharing": np.inf}, "sharing must be 0 or between .* got inf"),
        ({"sharing": np.array([1.0, 2.0])}, "sharing must be 0 or between .* got array"),
        ({"C": "cv", "random_state": "first"}, "random_state must be a whole number, a RandomState or None"),
        ({"empty_leaf": "drop"}, "empty_leaf must be one of 'skip', 'negative', 'text'; got 'drop'"),
        ({"weights": "thin"}, "weights must be one of"),
        ({"prune": 0.1}, "prune=0.1 needs weights='sparse'"),
        (
            {"solver": "alternating", "warm_start": True},
            "solver='alternating' has dense weights and starts anew",
        ),
        (
            {"solver": "alternating", "weights": "dual"},
            "solver='alternating' has dense weights and starts anew",
        ),
        ({"solver": "joint"}, "solver must be one of 'auto', 'coordinate', 'newton', 'alternating'; got 'joint'"),
        ({"relations": Relations(blocks_per_round=0)}, "blocks_per_round must be a whole number from 1 up; got 0"),
        ({"relations": Relations(blocks_per_round=1.5)}, "blocks_per_round must be a whole number from 1 up; got 1.5"),
        ({"C": -1}, "C must be"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"decode": "both"}, "decode must be"),
        ({"class_weight": "even"}, "class_weight must be"),
    ],
    ids=str,
)
def test_parameters_are_checked(learner, options, message):
    with pytest.raises(ParameterError, match=f"{learner.__name__}.*{message}"):
        learner(DEEP, **options).fit(np.eye(2), ["tennis", "chess"])


def test_an_unknown_loss_is_refused():
    with pytest.raises(ParameterError, match="loss must be one of 'hinge', 'squared_hinge'; got 'logistic'"):
        RecursiveSVM(DEEP, loss="logistic").fit(np.eye(2), ["tennis", "chess"])


@both
@pytest.mark.parametrize("solver", ["auto", "alternating"])
def test_a_gap_that_is_not_closed_is_told(learner, solver):
    X, y = single()
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 sweeps with a gap of .*, over tol=1e-09"):
        model = learner(DEEP, solver=solver, C=100, tol=1e-9, max_iter=1).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.history_[-1]["gap"] > 1e-9


@both
def test_a_free_root_above_one_label_has_an_objective_of_its_own(learner):
    """Rows are separable, so that the optimum is 0 or never reached, and the root's weights grow without an end."""
    random = np.random.default_rng(3)
    X = sparse.csr_array(random.normal(size=(10, 19)) * (random.random((10, 19)) < 0.25))
    y = [{"c"} if i % 2 else set() for i in range(10)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        free = Relations(root="free")
        model = learner({"a": None, "b": "a", "c": "b"}, relations=free, fit_intercept=False, tol=1e-5, max_iter=1000)
        model.fit(X, y)
    signs = np.where([bool(labels) for labels in y], 1, -1)
    real = np.sum(losses_of(model, signs * (X @ model.coef_[0].astype(np.float64))))  # the one leaf is at its parent
    for entry in model.history_:
        assert entry["objective"] >= 0
        assert entry["dual"] <= entry["objective"]
        assert entry["gap"] >= 0
    assert model.history_[-1]["objective"] >= real * (1 - 1e-6)
    assert model.history_[-1]["reach"] > 0
