"""`auto`: what is compared, what is chosen, and that the model returned is the one described."""

import numpy as np
import pytest
from scipy import sparse

import cladist
from cladist import FlatSVM, Taxonomy, Thresholded, auto
from cladist.datasets import make_topics
from cladist.errors import ParameterError
from cladist.learners.select_c import ENOUGH_ROWS, Search

DATA = make_topics(n_samples=700, n_features=300, branching=(3, 3), random_state=0).split(0.25, random_state=0)
TREE = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f"])


def methods(model):
    return {entry["method"] for entry in model.selection_.results}


def test_the_model_is_the_one_described(tmp_path):
    model = auto(DATA.X_train, DATA.y_train, DATA.taxonomy)
    chosen = model.selection_
    assert {"svm", "top-down", "hr-svm", "lr"} <= methods(model)
    assert chosen.results[0]["method"] == chosen.method
    assert model.C == chosen.C
    assert chosen.measure == "accuracy"
    assert f"{chosen.method}, with C={chosen.C:g}: its accuracy on" in str(chosen)
    again = auto(DATA.X_train, DATA.y_train, DATA.taxonomy)
    np.testing.assert_array_equal(again.predict(DATA.X_test), model.predict(DATA.X_test))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(cladist.load(tmp_path / "model").predict(DATA.X_test), model.predict(DATA.X_test))


def test_another_method_is_chosen_only_if_it_leads_beyond_chance():
    model = auto(DATA.X_train, DATA.y_train, DATA.taxonomy)
    first = next(entry for entry in model.selection_.results if entry["method"] == "svm")
    best = model.selection_.results[0]
    assert best["score"] >= first["score"]
    shuffled = np.random.default_rng(0).permutation(DATA.y_train)  # nothing to learn, so nothing leads
    assert auto(DATA.X_train, shuffled, DATA.taxonomy, random_state=1).selection_.results


def with_scores(monkeypatch, score_of):
    """Make searches read scores from a function of (method, C, fold); return the fits, the rows of each and the key."""
    fitted = []

    def measure(self, key, n_folds=1):
        name, known = type(self.model).__name__, self.scores.setdefault(key, [])
        for fold in range(len(known), n_folds):
            fitted.append((name, key[0], fold, len(self.labels)))
            known.append(
                [score_of(name, key[0], fold) + 0.01 * (-1) ** piece * (name == "FlatSVM") for piece in range(4)]
            )
        return np.concatenate(known[:n_folds])

    monkeypatch.setattr(Search, "measure", measure)
    return fitted


def test_a_narrow_lead_is_looked_at_in_further_folds(monkeypatch):
    """The standard error of a difference of pieces that alternate by 0.01 is 0.0058, with two folds 0.0038."""
    monkeypatch.setitem(ENOUGH_ROWS, "C", 100)

    def score(name, C, fold):
        return 0.5 + (0.007 if name == "TopDown" else -0.1 * (name != "FlatSVM")) - 0.1 * abs(np.log10(C))

    fitted = with_scores(monkeypatch, score)
    model = auto(DATA.X_train, DATA.y_train, DATA.taxonomy)
    assert [fit[::2] for fit in fitted if fit[2]] == [("FlatSVM", 1), ("TopDown", 1)]
    chosen, first, *others = model.selection_.results
    assert (chosen["method"], chosen["folds"], first["method"], first["folds"]) == ("top-down", 2, "svm", 2)
    assert {entry["folds"] for entry in others} == {1}
    assert model.selection_.n_held_out == 2 * len(DATA.y_train) // 5


def test_few_rows_held_out_are_made_more_by_further_folds_unless_a_method_is_hopeless(monkeypatch):
    """Each fold has 105 of 525 rows, so 250 rows are three folds; 0.1 are many standard errors."""
    monkeypatch.setitem(ENOUGH_ROWS, "C", 250)
    behind = {"FlatSVM": 0, "TopDown": 0, "RecursiveSVM": -0.001}
    with_scores(monkeypatch, lambda name, C, fold: 0.5 + behind.get(name, -0.1) - 0.1 * abs(np.log10(C)))
    results = auto(DATA.X_train, DATA.y_train, DATA.taxonomy).selection_.results
    assert {entry["method"] for entry in results if entry["folds"] == 3} == {"svm", "top-down", "hr-svm"}
    assert {entry["folds"] for entry in results if entry["method"] in ("lr", "hr-lr")} <= {1}


def test_the_better_flat_method_is_chosen_where_the_taxonomy_does_not_help(monkeypatch):
    with_scores(monkeypatch, lambda name, C, fold: 0.5 + 0.005 * (name == "FlatLogistic"))
    assert auto(DATA.X_train, DATA.y_train, DATA.taxonomy).selection_.method == "lr"


def test_a_lead_that_further_folds_do_not_confirm_is_none(monkeypatch):
    def score(name, C, fold):
        lead = 0.007 if fold == 0 else -0.007
        return 0.5 + (lead if name == "TopDown" else -0.1 * (name != "FlatSVM")) - 0.1 * abs(np.log10(C))

    with_scores(monkeypatch, score)
    assert auto(DATA.X_train, DATA.y_train, DATA.taxonomy).selection_.method == "svm"


def test_all_rows_decide_between_values_that_a_part_cannot_tell_apart(monkeypatch):
    """1 and 10 are as good on 200 rows; of all 525 rows, 10 is better; other values are not tried there."""
    monkeypatch.setattr("cladist.learners.auto.ENOUGH_VALUES", 200 * DATA.X_train.nnz / DATA.X_train.shape[0])
    monkeypatch.setattr("cladist.learners.auto.ROWS_PER_LABEL", 1)
    fitted = with_scores(monkeypatch, lambda name, C, fold: {1.0: 0.5, 10.0: 0.5}.get(C, 0.1))
    auto(DATA.X_train, DATA.y_train, DATA.taxonomy)
    n_rows = DATA.X_train.shape[0]
    assert {C for _, C, _, n in fitted if n == n_rows} == {1.0, 10.0}
    assert {n for *_, n in fitted} == {200, n_rows}


@pytest.mark.parametrize(("gain", "chosen"), [(0.0, "top-down"), (0.03, "hr-svm")])
def test_top_down_has_to_lead_on_all_rows_too(monkeypatch, gain, chosen):
    """TopDown leads by 0.03 on 200 rows; on all 525 rows RecursiveSVM is better by a gain."""
    monkeypatch.setattr("cladist.learners.auto.ENOUGH_VALUES", 200 * DATA.X_train.nnz / DATA.X_train.shape[0])
    monkeypatch.setattr("cladist.learners.auto.ROWS_PER_LABEL", 1)
    start = {"TopDown": 0.55, "RecursiveSVM": 0.52, "FlatSVM": 0.5}

    def measure(self, key, n_folds=1):
        name = type(self.model).__name__
        score = start.get(name, 0.4) + gain * (name == "RecursiveSVM" and len(self.labels) > 200)
        self.scores.setdefault(key, [[score - 0.1 * abs(np.log10(key[0])) + 0.01 * (-1) ** k for k in range(4)]])
        return np.concatenate(self.scores[key])

    monkeypatch.setattr(Search, "measure", measure)
    assert auto(DATA.X_train, DATA.y_train, DATA.taxonomy).selection_.method == chosen


def test_columns_of_different_scales_are_standardised():
    random = np.random.default_rng(0)
    y = random.permutation(np.array(["b", "c", "e", "f"] * 100))
    signal = (y[:, None] == np.array(["b", "c", "e", "f"])) + 0.3 * random.normal(size=(400, 4))
    X = np.column_stack([signal * 1e-3, 1e3 * random.normal(size=(400, 3))])
    model = auto(X, y, TREE)
    assert "scaler" in model.named_steps
    assert model.score(X, y) > 0.9
    X[::7, 0] = np.nan
    assert list(auto(X, y, TREE).named_steps) == ["imputer", "scaler", "model"]


def test_texts(tmp_path):
    words = {"b": "brick mortar", "c": "cement clay", "e": "egg flour", "f": "fig fruit"}
    random = np.random.default_rng(0)
    y = random.permutation(np.array(list(words) * 40))
    texts = [f"{words[label].split()[random.integers(2)]} number {random.integers(9)}" for label in y]
    model = auto(texts, y, TREE)
    assert model.predict(["mortar", "fig"]).tolist() == ["b", "f"]
    cladist.save(model, tmp_path / "model")
    assert cladist.load(tmp_path / "model").predict(["clay"]).tolist() == ["c"]


def test_sets_of_labels_have_thresholds(tmp_path):
    random = np.random.default_rng(0)
    has = random.random((300, 4)) < 0.4
    X = sparse.csr_array(np.hstack([has + 0.2 * random.normal(size=(300, 4)), random.normal(size=(300, 5))]))
    y = [{name for name, is_label in zip("bcef", row, strict=True) if is_label} for row in has]
    model = auto(X, y, TREE)
    assert isinstance(model, Thresholded)
    assert model.selection_.measure == "average precision"
    assert {"svm", "lr", "h-svm"} <= methods(model)
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "model")
    assert cladist.load(tmp_path / "model").predict(X[:5]) == model.predict(X[:5])


def test_labels_at_inner_nodes_can_be_predicted():
    random = np.random.default_rng(0)
    labels = np.array(["a", "b", "c", "d", "e", "f"])
    y = random.permutation(np.repeat(labels, 60))
    X = (y[:, None] == labels) + 0.2 * random.normal(size=(360, 6))
    model = auto(X, y, TREE)
    assert set(model.predict(X)) == set(labels)
    assert "top-down" in methods(model)


def test_a_dag_and_a_star_have_flat_methods_alone():
    dag = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("d", "c"), ("d", "e")])
    random = np.random.default_rng(0)
    y = random.permutation(np.array(["b", "c", "e"] * 50))
    X = (y[:, None] == np.array(["b", "c", "e"])) + 0.2 * random.normal(size=(150, 3))
    assert methods(auto(X, y, dag)) == methods(auto(X, y)) == {"svm", "lr"}


def test_few_rows_get_the_first_method():
    X, y = np.eye(4).repeat(3, axis=0), np.array(["b", "c", "e", "f"]).repeat(3)
    model = auto(X, y, TREE)
    assert isinstance(model, FlatSVM)
    assert "too few rows" in str(model.selection_)
    assert auto(X, [{label} for label in y], TREE).predict(X[:1]) == [{"b"}]


def test_a_budget_leaves_methods_out(monkeypatch):
    model = auto(DATA.X_train, DATA.y_train, DATA.taxonomy, budget=1e-6)
    assert methods(model) == {"svm"}
    assert set(model.selection_.skipped) == {"top-down", "hr-svm", "lr", "hr-lr"}
    assert "no time for top-down" in str(model.selection_)
    with pytest.raises(ParameterError, match="budget must be a positive number of seconds"):
        auto(DATA.X_train, DATA.y_train, DATA.taxonomy, budget=0)


def test_large_problems_are_compared_on_part_of_the_rows(monkeypatch):
    monkeypatch.setattr("cladist.learners.auto.ENOUGH_VALUES", 200 * DATA.X_train.nnz / DATA.X_train.shape[0])
    monkeypatch.setattr("cladist.learners.auto.ROWS_PER_LABEL", 1)
    assert auto(DATA.X_train, DATA.y_train, DATA.taxonomy).selection_.n_held_out == 40


def test_a_generator_gives_all_methods_the_same_rows():
    one, two = (
        auto(DATA.X_train, DATA.y_train, DATA.taxonomy, random_state=np.random.RandomState(3)) for _ in range(2)
    )
    assert [(e["method"], e["score"]) for e in one.selection_.results] == [
        (e["method"], e["score"]) for e in two.selection_.results
    ]


def test_the_measure_may_be_given():
    model = auto(DATA.X_train, DATA.y_train, DATA.taxonomy, scoring="macro_f1")
    assert model.selection_.measure == "macro f1"
    with pytest.raises(ParameterError, match="scoring must be one of"):
        auto(DATA.X_train, DATA.y_train, DATA.taxonomy, scoring="best")
