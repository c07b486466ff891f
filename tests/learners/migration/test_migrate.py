"""Models that are carried over to a revised taxonomy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import cladist
from cladist import (
    BayesianLogistic,
    Crosswalk,
    FlatLogistic,
    FlatSVM,
    HierarchicalPerceptron,
    HierarchicalRLS,
    Hieron,
    RecursiveLogistic,
    RecursiveSVM,
    Taxonomy,
    TextClassifier,
    TopDown,
    migrate,
)
from cladist.datasets import make_topics
from cladist.errors import ParameterError, TaxonomyError
from cladist.features import text_features

DATA = make_topics(n_samples=300, n_features=150, branching=(3, 4), random_state=0)
OLD, X, LABELS = DATA.taxonomy, DATA.X, [str(label) for label in DATA.y]
# 0.0 is split, 0.1 moves to another branch, 1.0 and 1.1 are merged, 2.3 is retired, 2.4 is new
PARENTS = {name: (OLD.parents_of(name) or [None])[0] for name in OLD.names}
NEW = Taxonomy.from_parents(
    {
        **{name: parent for name, parent in PARENTS.items() if name not in ("0.0", "1.0", "1.1", "2.3")},
        **{"0.0a": "0", "0.0b": "0", "0.1": "2", "merged": "1", "2.4": "2"},
    }
)
CROSSWALK = Crosswalk(
    [("0.0", "0.0a"), ("0.0", "0.0b"), ("1.0", "merged"), ("1.1", "merged"), ("2.3", None), (None, "2.4")],
    old=OLD,
    new=NEW,
)
SAME = [name for name in OLD.names if name in NEW and OLD.is_leaf[OLD.index(name)]]
AFTER = [
    {"0.0": "0.0b" if k % 2 else "0.0a", "1.0": "merged", "1.1": "merged", "2.3": "2.4"}.get(label, label)
    for k, label in enumerate(LABELS)
]
LINEAR: dict[str, Any] = {
    "svm": FlatSVM(OLD),
    "lr": FlatLogistic(OLD),
    "sparse": FlatSVM(OLD, weights="sparse"),
    "dual": FlatSVM(OLD, weights="dual"),
    "hr-svm": RecursiveSVM(OLD, sharing=1.0, loss="squared_hinge"),
    "hr-lr": RecursiveLogistic(OLD, sharing=1.0),
    "differences": RecursiveSVM(OLD, sharing=1.0, weights="differences"),
    "nodes": FlatSVM(OLD, targets="nodes"),
}
MODELS: dict[str, Any] = {
    **LINEAR,
    "top-down": TopDown(OLD),
    "hieron": Hieron(OLD, random_state=0),
    "h-perc": HierarchicalPerceptron(OLD, random_state=0),
    "h-rls": HierarchicalRLS(OLD, random_state=0),
    "h-rls dual": HierarchicalRLS(OLD, solver="dual", random_state=0),
    "sh-rls": HierarchicalRLS(OLD, sparse=True, random_state=0),
    "s-rls": HierarchicalRLS(OLD, gated=False, random_state=0),
    "h-perc average": HierarchicalPerceptron(OLD, average=True, random_state=0),
}
FITTED = {name: model.fit(X, LABELS) for name, model in MODELS.items()}


def rows_of(model: Any, labels: list[str]) -> Any:
    return sparse.csr_array(model.coef_)[[list(model.classes_).index(label) for label in labels]].toarray()


@pytest.mark.parametrize("name", sorted(set(LINEAR) - {"nodes"}))
def test_unchanged_labels_keep_their_weights_bit_for_bit(name: str) -> None:
    model, moved = FITTED[name], migrate(FITTED[name], CROSSWALK)
    assert moved.taxonomy_ == NEW
    assert set(moved.classes_) == {*SAME, "0.0a", "0.0b", "merged", "2.4"}
    assert np.array_equal(rows_of(model, SAME), rows_of(moved, SAME))
    before = [list(model.classes_).index(label) for label in SAME]
    assert np.array_equal(model.intercept_[before], moved.intercept_[[list(moved.classes_).index(s) for s in SAME]])


@pytest.mark.parametrize("name", ["svm", "hr-svm", "lr"])
def test_parts_begin_as_the_whole_and_merged_labels_as_the_sum(name: str) -> None:
    model, moved = FITTED[name], migrate(FITTED[name], CROSSWALK)
    assert np.array_equal(rows_of(moved, ["0.0a", "0.0b"]), rows_of(model, ["0.0", "0.0"]))
    np.testing.assert_allclose(rows_of(moved, ["merged"])[0], rows_of(model, ["1.0", "1.1"]).sum(axis=0), atol=1e-6)
    intercepts = dict(zip(model.classes_, model.intercept_, strict=True))
    wanted = (intercepts["1.0"] + intercepts["1.1"]) / 2
    assert moved.intercept_[list(moved.classes_).index("merged")] == pytest.approx(wanted, abs=1e-6)
    siblings = rows_of(moved, ["0.1", "2.0", "2.1", "2.2"])
    np.testing.assert_allclose(rows_of(moved, ["2.4"])[0], siblings.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_unchanged_labels_are_still_predicted(name: str) -> None:
    model, moved = FITTED[name], migrate(FITTED[name], CROSSWALK)
    right = np.array([label in SAME and label != "0.1" for label in LABELS]) & (model.predict(X) == np.array(LABELS))
    assert np.mean(moved.predict(X)[right] == np.array(LABELS)[right]) > 0.8
    merged = np.flatnonzero([label == "merged" for label in AFTER])
    assert np.mean(moved.predict(X[merged]) == "merged") > 0.3  # of 12 labels


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_migrates_alike_and_a_migrated_one_is_saved(name: str, tmp_path: Any) -> None:
    model = FITTED[name]
    model.save(tmp_path / "model")
    moved, other = migrate(model, CROSSWALK), migrate(cladist.load(tmp_path / "model"), CROSSWALK)
    assert np.array_equal(moved.decision_function(X), other.decision_function(X))
    moved.save(tmp_path / "moved")
    loaded = cladist.load(tmp_path / "moved")
    assert np.array_equal(moved.decision_function(X), loaded.decision_function(X))
    assert loaded.predict_paths(X[:3]) == moved.predict_paths(X[:3])


def test_the_model_that_is_migrated_does_not_change() -> None:
    before = FITTED["svm"].decision_function(X).copy(), FITTED["hieron"].node_coef_.copy()
    migrate(FITTED["hieron"], CROSSWALK).partial_fit(X, AFTER)
    moved = migrate(FITTED["svm"], CROSSWALK).fit(X, AFTER)
    assert moved.taxonomy_ == NEW
    assert np.array_equal(before[0], FITTED["svm"].decision_function(X))
    assert np.array_equal(before[1], FITTED["hieron"].node_coef_)


def test_families_with_the_same_children_are_unchanged() -> None:
    names = {name: name for name in OLD.names if name not in ("0.0",)}
    new = Taxonomy.from_parents({**{v: p for v, p in PARENTS.items() if v != "0.0"}, "0.0a": "0", "0.0b": "0"})
    model = FITTED["top-down"]
    moved = migrate(model, Crosswalk([("0.0", "0.0a"), ("0.0", "0.0b")], old=OLD, new=new))
    for parent in ("1", "2", None):
        before = model.decisions_[-1 if parent is None else OLD.index(parent)]
        after = moved.decisions_[-1 if parent is None else new.index(parent)]
        assert np.array_equal(before.weights.matrix().toarray(), after.weights.matrix().toarray())
        assert np.array_equal(before.weights.intercepts, after.weights.intercepts)
    unchanged = np.array([names.get(label) is not None for label in LABELS]) & (model.predict(X) != "0.0")
    assert np.array_equal(moved.predict(X)[unchanged], model.predict(X)[unchanged])


def test_prototypes_of_unchanged_labels_are_the_same() -> None:
    model, moved = FITTED["hieron"], migrate(FITTED["hieron"], CROSSWALK)
    np.testing.assert_allclose(rows_of(moved, SAME), rows_of(model, SAME), atol=1e-6)
    for name in ("1.2", "1.3", "2.0", "2", "0"):  # all above them is unchanged, too
        assert np.array_equal(moved.node_coef_[NEW.index(name)], model.node_coef_[OLD.index(name)])
    np.testing.assert_allclose(rows_of(moved, ["0.0a"]), rows_of(model, ["0.0"]), atol=1e-6)


@pytest.mark.parametrize("name", ["hieron", "h-perc", "h-perc average", "h-rls", "h-rls dual", "sh-rls", "s-rls"])
def test_online_models_go_on_learning(name: str) -> None:
    moved = migrate(FITTED[name], CROSSWALK)
    before = moved.score(X, AFTER)
    seen = moved.rows_seen_
    for _ in range(5):
        moved.partial_fit(X, AFTER)
    assert moved.score(X, AFTER) > before
    assert moved.rows_seen_ == seen + 5 * len(AFTER)


def test_merged_least_squares_are_those_of_merged_labels() -> None:
    """Both are solutions for the same examples, with targets that are 1 for rows of either label."""
    new = Taxonomy.from_parents({**{v: p for v, p in PARENTS.items() if v not in ("1.0", "1.1")}, "merged": "1"})
    crosswalk = Crosswalk([("1.0", "merged"), ("1.1", "merged")], old=OLD, new=new)
    options = {"solver": "dual", "shuffle": False}
    moved = migrate(HierarchicalRLS(OLD, **options).fit(X[:120], LABELS[:120]), crosswalk)
    labels = ["merged" if label in ("1.0", "1.1") else label for label in LABELS[:120]]
    trained = HierarchicalRLS(new, **options).fit(X[:120], labels)
    np.testing.assert_allclose(moved.node_margins(X[120:]), trained.node_margins(X[120:]), atol=1e-8)


@pytest.mark.parametrize("name", ["svm", "lr", "hr-svm", "hr-lr"])
def test_a_fit_from_migrated_weights_ends_at_the_same_optimum(name: str) -> None:
    model, tol = MODELS[name], 1e-4 if name.startswith("hr") else 1e-6
    parameters = {"tol": tol, "max_iter": 2000}
    warm = type(model)(**{**model.get_params(), **parameters, "warm_start": True}).fit(X, LABELS)
    moved = migrate(warm, CROSSWALK).fit(X, AFTER)
    cold = type(model)(**{**model.get_params(), **parameters, "taxonomy": NEW}).fit(X, AFTER)
    assert moved.history_[-1]["objective"] == pytest.approx(cold.history_[-1]["objective"], rel=2 * tol)
    np.testing.assert_allclose(moved.decision_function(X), cold.decision_function(X), atol=3e-2)


def test_a_fit_from_migrated_weights_takes_fewer_sweeps() -> None:
    """On the rows trained on, in whatever order, the start is nearly the solution."""
    new = Taxonomy.from_parents({**PARENTS, "3": None})
    crosswalk = Crosswalk([(None, "3")], old=OLD, new=new)
    options = {"solver": "coordinate", "C": 10.0, "warm_start": True}
    moved = migrate(FlatSVM(OLD, **options).fit(X, LABELS), crosswalk)
    order = np.random.default_rng(0).permutation(len(LABELS))
    labels = [LABELS[k] for k in order]
    moved.fit(X[order], labels)
    cold = FlatSVM(new, **options).fit(X[order], labels)
    assert moved.n_iter_ < cold.n_iter_


def test_a_text_tells_what_a_new_label_is_about() -> None:
    old = Taxonomy.from_paths(["sport/tennis", "sport/chess", "film"])
    texts = ["racket and net", "tennis racket", "king and queen", "chess board queen", "actors in a movie", "a movie"]
    model = make_pipeline(text_features(), FlatSVM(old))
    model.fit(texts, ["tennis", "tennis", "chess", "chess", "film", "film"])
    new = Taxonomy.from_parents({"sport": None, "tennis": "sport", "chess": "sport", "film": None, "go": "sport"})
    crosswalk = Crosswalk([(None, "go")], old=old, new=new)
    plain, told = migrate(model, crosswalk), migrate(model, crosswalk, texts={"go": "board of black and white"})
    assert plain.predict(["board of black and white"]).tolist() != ["go"]
    assert told.predict(["board of black and white", "chess board queen"]).tolist() == ["go", "chess"]
    titled = Crosswalk([(None, "go")], old=old, new=new.with_texts(descriptions={"go": "board of black and white"}))
    assert migrate(model, titled).predict(["board of black and white"]).tolist() == ["go"]


def test_a_text_classifier_stays_one(tmp_path: Any) -> None:
    old = Taxonomy.from_paths(["sport/tennis", "sport/chess", "film"])
    new = Taxonomy.from_paths(["sport/tennis", "games/chess", "movie"])
    texts = ["tennis racket", "a net", "king and queen", "chess board", "actors", "a movie"]
    model = TextClassifier("svm", taxonomy=old).fit(texts, ["tennis", "tennis", "chess", "chess", "film", "film"])
    moved = migrate(model, Crosswalk({"film": "movie"}, old=old, new=new))
    assert isinstance(moved, TextClassifier)
    assert moved.predict_paths(["chess board", "actors"]) == [["games", "chess"], ["movie"]]
    assert model.predict(["actors"]).tolist() == ["film"]
    moved.save(tmp_path / "moved")
    assert cladist.load(tmp_path / "moved").predict(["actors"]).tolist() == ["movie"]


def test_labels_that_are_numbers_stay_numbers() -> None:
    old = Taxonomy.from_parents({"1": None, "11": "1", "12": "1"})
    new = Taxonomy.from_parents({"1": None, "11": "1", "13": "1", "14": "1"})
    model = FlatSVM(old).fit([[1.0, 0.0], [0.0, 1.0]], [11, 12])
    moved = migrate(model, Crosswalk([("12", "13"), ("12", "14")], old=old, new=new))
    assert moved.classes_.tolist() == [11, 13, 14]
    assert moved.predict([[2.0, 0.0]]).tolist() == [11]


@pytest.mark.parametrize(
    ("model", "crosswalk", "words"),
    [
        (BayesianLogistic(OLD), CROSSWALK, "train it again"),
        (TopDown(OLD, estimator=LogisticRegression()), CROSSWALK, "classifiers of its own"),
        (Hieron(OLD, kernel="rbf"), CROSSWALK, "is split in the crosswalk"),
        (HierarchicalPerceptron(OLD, kernel="rbf"), Crosswalk({"0.0": None}, old=OLD, new=OLD), "no counterpart"),
        (FlatSVM(OLD), Crosswalk({"a": "b"}, new=NEW), "names no node"),
        (FlatSVM(OLD), Crosswalk({"0.0": "0.0a"}), "needs the new taxonomy"),
        (FlatSVM(OLD), {"0.0": "0.0a"}, "must be a Crosswalk"),
    ],
)
def test_what_cannot_be_migrated_is_refused(model: Any, crosswalk: Any, words: str) -> None:
    fitted = model.fit(X[:60], LABELS[:60])
    with pytest.raises((ParameterError, TaxonomyError), match=words):
        migrate(fitted, crosswalk)


def test_a_kernel_keeps_its_rows_under_their_new_names() -> None:
    new = Taxonomy.from_parents({("renamed" if v == "0.0" else v): p for v, p in PARENTS.items()})
    model = Hieron(OLD, kernel="rbf").fit(X[:80].toarray(), LABELS[:80])
    moved = migrate(model, Crosswalk({"0.0": "renamed"}, old=OLD, new=new))
    before, after = model.predict(X.toarray()), moved.predict(X.toarray())
    assert [("renamed" if label == "0.0" else label) for label in before] == after.tolist()
