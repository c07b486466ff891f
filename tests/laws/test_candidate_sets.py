"""Laws of training on candidate sets, for every learner that has `partial_labels`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import cladist
from cladist import Taxonomy, registry
from cladist.datasets import make_topics
from cladist.errors import LabelError, ParameterError
from cladist.learners import candidate_sets
from cladist.learners.candidate_sets import read_candidates

LEARNERS = [method.name for method in registry.METHODS if "partial_labels" in method.load()._get_param_names()]
DATA = make_topics(n_samples=240, n_features=60, branching=(3, 3), n_test=600, random_state=0)
X, LABELS = DATA.X_train, [str(label) for label in DATA.y_train]


def hidden(share: float = 0.5, seed: int = 0) -> list[set[str]]:
    """Return candidates: the label, and for some rows its siblings or a leaf of another branch."""
    random, leaves = np.random.default_rng(seed), [DATA.taxonomy.names[v] for v in DATA.taxonomy.leaves]
    others = [
        set(DATA.taxonomy.siblings(label)) if random.random() < 0.5 else {leaves[random.integers(len(leaves))]}
        for label in LABELS
    ]
    return [{label, *(more if random.random() < share else ())} for label, more in zip(LABELS, others, strict=True)]


def learner(name: str, **parameters: Any) -> Any:
    """Return an unfitted learner that does not search its parameters."""
    made = registry.find(name).load()(DATA.taxonomy, **parameters)
    return made.set_params(sharing=1.0) if "sharing" in made.get_params() else made


def scores(model: Any) -> Any:
    return model.decision_function(X)


def test_the_linear_learners_have_partial_labels() -> None:
    assert set(LEARNERS) == {"hr-svm", "hr-lr", "svm", "lr", "top-down"}


@pytest.mark.parametrize("name", LEARNERS)
def test_sets_of_one_give_the_plain_model_bit_for_bit(name: str) -> None:
    weights = np.linspace(0.5, 2, len(LABELS))
    plain = learner(name).fit(X, LABELS, weights)
    same = learner(name, partial_labels=True).fit(X, [{label} for label in LABELS], weights)
    assert np.array_equal(scores(plain), scores(same))
    assert plain.predict(X).tolist() == same.predict(X).tolist()
    assert plain.classes_.dtype == same.classes_.dtype


@pytest.mark.parametrize("name", LEARNERS)
def test_the_objective_falls_and_a_fit_is_repeatable(name: str) -> None:
    first, second = (learner(name, partial_labels=True).fit(X, hidden()) for _ in range(2))
    objectives = [entry["objective"] for entry in first.history_]
    assert len(objectives) > 1
    assert np.all(np.diff(objectives) < 0)
    assert np.array_equal(scores(first), scores(second))


@pytest.mark.parametrize("name", LEARNERS)
def test_sample_weights_are_numbers_of_copies(name: str) -> None:
    candidates, weights = hidden(), np.random.default_rng(1).integers(0, 3, len(LABELS))
    copies = np.repeat(np.arange(len(LABELS)), weights)
    options = {"partial_labels": True, "tol": 1e-7, "max_iter": 5000}
    weighted = learner(name, **options).fit(X, candidates, weights)
    copied = learner(name, **options).fit(X[copies], [candidates[k] for k in copies])
    assert weighted.history_[-1]["objective"] == pytest.approx(copied.history_[-1]["objective"], rel=1e-5)
    np.testing.assert_allclose(scores(weighted), scores(copied), atol=2e-2)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_probabilities_are_those_of_the_losses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first round they follow from the scores of the model that was trained with equal shares."""
    candidates = hidden()
    monkeypatch.setattr(candidate_sets, "MOST_ROUNDS", 1)
    equal = learner(name, partial_labels=True).fit(X, candidates)
    monkeypatch.setattr(candidate_sets, "MOST_ROUNDS", 2)
    model = learner(name, partial_labels=True).fit(X, candidates)
    found = model.candidate_probabilities_.toarray()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    wanted = np.zeros_like(found)
    for k, row in enumerate(candidates):
        losses = {label: brute_force_loss(equal, k, label) for label in row}
        least = min(losses.values())
        odds = {
            label: np.exp((least - loss) / candidate_sets.TEMPERATURES[equal.loss]) for label, loss in losses.items()
        }
        for label, value in odds.items():
            wanted[k, list(model.classes_).index(label)] = value / sum(odds.values())
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def brute_force_loss(model: Any, row: int, label: str) -> float:
    """Return the sum of the losses of a row in all problems if it has a label, problem by problem."""
    loss: Any = {
        "squared_hinge": lambda m: max(0.0, 1 - m) ** 2,
        "hinge": lambda m: max(0.0, 1 - m),
        "logistic": lambda m: np.log1p(np.exp(-m)),
    }[model.loss]
    x = X[[row]]
    if not hasattr(model, "decisions_"):
        return float(
            sum(loss(s if c == label else -s) for c, s in zip(model.classes_, scores_of(model, x), strict=True))
        )
    path, total = {DATA.taxonomy.index(v) for v in DATA.taxonomy.path(label)}, 0.0
    for parent, family in model.decisions_.items():
        if parent >= 0 and parent not in path:
            continue  # the row takes no part in this family
        margins = family.scores(sparse.csr_array(x), np.arange(1))[0]
        if family.weights.n_classes == 1:
            total += loss(2 * margins[[v in path for v in family.children.tolist()].index(True)])
        else:
            total += sum(loss(m if v in path else -m) for v, m in zip(family.children.tolist(), margins, strict=True))
    return float(total)


def scores_of(model: Any, x: Any) -> Any:
    return (x @ sparse.csr_array(model.coef_).T).toarray()[0] + model.intercept_


@pytest.mark.parametrize("name", LEARNERS)
def test_ambiguous_rows_teach_more_than_leaving_them_out(name: str) -> None:
    candidates = hidden(0.7)
    sure = np.flatnonzero([len(row) == 1 for row in candidates])
    dropped = learner(name).fit(X[sure], [LABELS[k] for k in sure])
    taught = learner(name, partial_labels=True).fit(X, candidates)
    assert taught.score(DATA.X_test, DATA.y_test) > dropped.score(DATA.X_test, DATA.y_test)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_is_saved_and_loaded(name: str, tmp_path: Any) -> None:
    model = learner(name, partial_labels=True).fit(X, hidden())
    model.save(tmp_path / "model")
    loaded = cladist.load(tmp_path / "model")
    assert np.array_equal(scores(model), scores(loaded))
    assert loaded.get_params()["partial_labels"] is True


TITLED = [name for name in LEARNERS if "label_text" in learner(name).get_params()]
TEXTS = sparse.csr_array(np.random.default_rng(2).random((DATA.taxonomy.n_nodes, X.shape[1])))


@pytest.mark.parametrize("name", TITLED)
def test_label_text_is_one_more_row_of_each_leaf(name: str) -> None:
    candidates, options = hidden(), {"partial_labels": True, "tol": 1e-7, "max_iter": 5000}
    text = {"label_text": "rows", "label_weight": 2.0, "label_features": TEXTS}
    model = learner(name, **options, **text).fit(X, candidates)
    leaves = [DATA.taxonomy.names[v] for v in DATA.taxonomy.leaves]
    rows = sparse.vstack([sparse.csr_array(X), TEXTS[DATA.taxonomy.leaves]], format="csr")
    weights = np.append(np.ones(len(candidates)), np.full(len(leaves), 2.0))
    plain = learner(name, **options).fit(rows, [*candidates, *({leaf} for leaf in leaves)], weights)
    assert model.history_[-1]["objective"] == pytest.approx(plain.history_[-1]["objective"], rel=1e-5)
    np.testing.assert_allclose(scores(model), scores(plain), atol=2e-2)
    assert model.candidate_probabilities_.shape == (len(candidates), len(leaves))
    assert model.label_weight_ == 2.0


@pytest.mark.parametrize("name", TITLED)
def test_the_weight_of_label_text_is_chosen_on_rows_with_one_candidate(name: str, tmp_path: Any) -> None:
    candidates = hidden()
    sure = np.flatnonzero([len(row) == 1 for row in candidates])
    text = {"label_text": "rows", "label_features": TEXTS, "random_state": 0}
    model = learner(name, partial_labels=True, **text).fit(X, candidates)
    assert model.label_weight_ == learner(name, **text).fit(X[sure], [LABELS[k] for k in sure]).label_weight_
    assert [entry["objective"] for entry in model.history_] == sorted(e["objective"] for e in model.history_)[::-1]
    model.save(tmp_path / "model")
    assert np.array_equal(scores(cladist.load(tmp_path / "model")), scores(model))


def test_label_text_needs_rows_with_one_candidate_to_choose_its_weight() -> None:
    model = cladist.TopDown({"b": "a", "c": "a"}, partial_labels=True, label_text="rows", label_features=np.eye(3))
    with pytest.raises(ParameterError, match="label_weight are chosen on rows with one candidate"):
        model.fit(np.eye(3), [{"b", "c"}] * 3)
    assert set(model.set_params(label_weight=1.0).fit(np.eye(3), [{"b", "c"}] * 3).classes_) == {"b", "c"}


def test_an_inner_node_stands_for_the_leaves_below_it() -> None:
    taxonomy = Taxonomy.from_paths(["a/b", "a/c", "d"])
    sets = read_candidates("who", [{"a"}, {"d"}, {"a", "d"}, {"c"}], taxonomy)
    named = np.split(np.array(taxonomy.names, object)[sets.nodes], sets.indptr[1:-1])
    assert [sorted(part.tolist()) for part in named] == [["b", "c"], ["d"], ["b", "c", "d"], ["c"]]


def test_labels_that_are_numbers_and_no_taxonomy() -> None:
    y = [{1, 2}, {1}, {2}, {3}, {3, 2}] * 8
    X = np.random.default_rng(0).normal(size=(len(y), 4))
    model = cladist.FlatSVM(partial_labels=True).fit(X, y)
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.predict(X).dtype.kind == "i"


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        ({}, [set(), {"b"}, {"c"}], "row 0 has no candidates"),
        ({}, [{"b"}, {"b", "x"}, {"c"}], "Row 1: the label 'x'"),
        ({"warm_start": True}, [{"b", "c"}, {"b"}, {"c"}], "warm_start"),
        ({"class_weight": "balanced"}, [{"b", "c"}, {"b"}, {"c"}], "class_weight"),
        ({"C": "cv"}, [{"b", "c"}] * 3, "give C as a number"),
        ({"decode": "multi"}, [{"b", "c"}, {"b"}, {"c"}], "one label per row"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters: dict[str, Any], y: Any, words: str) -> None:
    model = cladist.FlatSVM({"b": "a", "c": "a"}, partial_labels=True, **parameters)
    with pytest.raises((LabelError, ParameterError), match=words):
        model.fit(np.eye(3), y)


@pytest.mark.parametrize("parameters", [{"label_text": "prior"}, {"label_text": "rows", "empty_leaf": "text"}])
def test_of_label_text_only_rows_go_with_candidate_sets(parameters: dict[str, Any]) -> None:
    model = cladist.RecursiveSVM({"b": "a", "c": "a"}, partial_labels=True, label_features=np.eye(3), **parameters)
    with pytest.raises(ParameterError, match="label_text='rows' can be had"):
        model.fit(np.eye(3), [{"b", "c"}, {"b"}, {"c"}])


def test_top_down_needs_its_own_classifiers() -> None:
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ParameterError, match="estimator"):
        cladist.TopDown(partial_labels=True, estimator=LogisticRegression()).fit(np.eye(2), [{"a"}, {"b"}])
