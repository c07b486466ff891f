"""The search for C, c and alpha by cross-validation: which values are tried, on which rows, and by which score."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import f1_score, make_scorer

from cladist import (
    FlatLogistic,
    FlatSVM,
    HierarchicalRLS,
    MaxMarginMarkov,
    NodewiseSVM,
    RecursiveLogistic,
    RecursiveSVM,
    RelationGraph,
    StructuralSVM,
    TopDown,
    load,
    losses,
    metrics,
    progress,
)
from cladist.errors import ParameterError
from cladist.labels import LabelMatrix
from cladist.learners import select_c
from cladist.learners.select_c import Search
from tests.learners.flat_rows import TAXONOMY, best_entry, sets_of, single

LINEAR = [FlatSVM, FlatLogistic, RecursiveSVM, RecursiveLogistic, TopDown, NodewiseSVM]


def scripted(monkeypatch, score_of, n_rows=500):
    """Make searches read scores from a function of (value, fold, piece, sharing), and return what they fitted."""
    fitted = []

    class Fitted:
        n_iter_ = 1

        def __init__(self, fold, key):
            fitted.append((*key, fold))
            self.fold, self.value, self.others, self.pieces = fold, key[0], dict(key[1]), iter(range(100))

    monkeypatch.setattr(Search, "_fit", lambda self, fold, key: Fitted(fold, key))

    def score(model, *_):
        return score_of(model.value, model.fold, next(model.pieces), **model.others)

    monkeypatch.setattr(select_c, "scorer_of", lambda _: score)
    X, y = single(n_rows)
    return fitted, (X / np.sqrt(X.multiply(X).sum() / n_rows), y)  # so that searches begin at 1


def values(fitted):
    return [value for value, *_ in fitted]


# ---------------------------------------------------------------- which values are tried


def test_scores_are_followed_up_until_they_fall(monkeypatch):
    scores = {1.0: 0.5, 10.0: 0.7, 100.0: 0.6}
    fitted, rows = scripted(monkeypatch, lambda value, fold, piece: scores[value])
    model = FlatSVM(C="cv").fit(*rows)
    assert (values(fitted), model.C_) == ([1.0, 10.0, 100.0], 10.0)
    assert [entry["score"] for entry in model.cv_results_] == [0.5, 0.7, 0.6]


def test_scores_are_followed_down_where_larger_values_lose(monkeypatch):
    scores = {1.0: 0.5, 10.0: 0.4, 0.1: 0.6, 0.01: 0.55}
    fitted, rows = scripted(monkeypatch, lambda value, fold, piece: scores[value])
    assert FlatSVM(C="cv").fit(*rows).C_ == 0.1
    assert values(fitted) == [1.0, 10.0, 0.1, 0.01]


def test_a_gain_within_its_error_ends_the_search(monkeypatch):
    def score(value, fold, piece):
        return {1.0: 0.5, 10.0: 0.7, 100.0: 0.701}[value] + (0.05 * (-1) ** piece if value == 100 else 0)

    fitted, rows = scripted(monkeypatch, score, n_rows=6000)
    FlatSVM(C="cv").fit(*rows)
    assert values(fitted) == [1.0, 10.0, 100.0]  # and 1,000 would cost more than all of them


def test_the_range_is_widened_to_its_limit_which_a_warning_tells(monkeypatch):
    fitted, rows = scripted(monkeypatch, lambda value, fold, piece: np.log10(value))
    with pytest.warns(UserWarning, match="FlatSVM: the best C=1e\\+06 is at the end of what was searched"):
        model = FlatSVM(C="cv").fit(*rows)
    assert values(fitted) == [10.0**k for k in range(7)]
    assert select_c.LIMITS[1] == model.C_


def test_of_equals_the_smallest_is_chosen_and_the_search_ends(monkeypatch):
    fitted, rows = scripted(monkeypatch, lambda *_: 0.5, n_rows=6000)
    assert FlatSVM(C="cv").fit(*rows).C_ == 0.01
    assert values(fitted) == [1.0, 10.0, 100.0, 0.1, 0.01]


def test_the_first_value_follows_the_length_of_rows(monkeypatch):
    fitted, (X, y) = scripted(monkeypatch, lambda *_: 0.5)
    for factor, first in ((1.0, 1.0), (0.1, 100.0), (30.0, 1e-3), (1e-9, 1e3)):
        fitted.clear()
        FlatSVM(C="cv").fit(factor * X, y)
        assert fitted[0][0] == first
    fitted.clear()
    FlatLogistic(C="cv").fit(X, y)  # whose losses are flatter
    assert fitted[0][0] == 10.0


def test_values_too_close_to_tell_apart_are_compared_on_further_folds(monkeypatch):
    """1 and 10 differ by less than their error; 100 is far behind and is not looked at again."""

    def score(value, fold, piece):
        return {1.0: 0.5, 10.0: 0.501 - 0.1 * fold, 100.0: 0.2, 0.1: 0.2}[value] + 0.03 * (-1) ** (piece + value)

    fitted, rows = scripted(monkeypatch, score)
    model = FlatSVM(C="cv").fit(*rows)
    assert fitted[3:] == [(1.0, (), 1), (10.0, (), 1)]
    assert model.C_ == 1.0
    assert [entry["folds"] for entry in model.cv_results_] == [2, 2, 1]


def test_many_rows_need_one_fold(monkeypatch):
    fitted, rows = scripted(monkeypatch, lambda *_: 0.5, n_rows=5000)
    FlatSVM(C="cv").fit(*rows)
    assert {fold for *_, fold in fitted} == {0}


def test_a_value_that_gains_nothing_and_takes_longer_ends_the_search(monkeypatch):
    fitted, rows = scripted(monkeypatch, lambda value, *_: 0.5 if value >= 1 else 0.4)
    fit = Search._fit

    def slower(self, fold, key):
        self.sweeps[key] = 8 if key[0] > 1 else 2
        return fit(self, fold, key)

    monkeypatch.setattr(Search, "_fit", slower)
    assert FlatSVM(C="cv").fit(*rows).C_ == 1.0
    assert values(fitted)[:3] == [1.0, 10.0, 0.1]


def test_c_and_sharing_are_chosen_in_one_search_on_the_same_folds(monkeypatch):
    fitted, rows = scripted(monkeypatch, lambda value, fold, piece, sharing: -abs(np.log10(value)), n_rows=10_000)
    model = RecursiveSVM(TAXONOMY, C="cv", sharing="cv").fit(*rows)
    assert [(C, dict(others)["sharing"]) for C, others, _ in fitted] == [
        *[(1.0, 0.0), (10.0, 0.0), (0.1, 0.0)],
        *[(1.0, 1.0), (0.1, 1.0), (10.0, 1.0)],
        (1.0, 0.1),
    ]
    assert (model.C_, model.sharing_) == (1.0, 1.0)


# ---------------------------------------------------------------- sharing="auto"


def leads(of_one, of_a_little, noise=0.01):
    """Scores with such leads over sharing=0, and noise that differs between pieces and values."""

    def score(value, fold, piece, sharing):
        return (
            0.5
            + {0.0: 0.0, 0.1: of_a_little, 1.0: of_one}[sharing]
            + noise * np.sin(7 * piece + 11 * sharing + 3 * fold)
        )

    return score


@pytest.mark.parametrize(
    ("score", "sharing", "tried"),
    [
        (leads(0.05, 0.0), 1.0, [0.0, 1.0]),  # so clear that a little is not tried
        (leads(0.0, 0.0), 0.0, [0.0, 1.0, 0.1]),
        (leads(0.001, 0.001), 0.0, [0.0, 1.0, 0.1]),  # within chance
        (leads(-0.05, 0.02), 0.1, [0.0, 1.0, 0.1]),
        (leads(-0.05, -0.01), 0.0, [0.0, 1.0, 0.1]),
    ],
)
def test_labels_share_where_that_is_better_beyond_chance(score, sharing, tried, monkeypatch):
    fitted, rows = scripted(monkeypatch, score, n_rows=10_000)
    model = RecursiveSVM(TAXONOMY).fit(*rows)
    assert sorted(dict(others)["sharing"] for _, others, _ in fitted) == sorted(tried)
    assert (model.sharing, model.sharing_, hasattr(model, "C_")) == ("auto", sharing, False)
    assert {entry["sharing"] for entry in model.cv_results_} == set(tried)
    same = RecursiveSVM(TAXONOMY, sharing=sharing).fit(*rows)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert not hasattr(same, "cv_results_")


def test_what_is_not_clear_is_looked_at_in_further_folds(monkeypatch):
    fitted, rows = scripted(monkeypatch, leads(0.001, -0.1), n_rows=1000)
    RecursiveSVM(TAXONOMY).fit(*rows)
    assert [(dict(others)["sharing"], fold) for _, others, fold in fitted[3:]] == [
        (sharing, fold) for fold in range(1, 5) for sharing in (0.0, 1.0)
    ]


def test_c_and_what_labels_share_are_chosen_together(monkeypatch):
    def score(value, fold, piece, sharing):
        return leads(0.05, 0.01)(value, fold, piece, sharing) - 0.1 * abs(np.log10(value) - (sharing == 1))

    _, rows = scripted(monkeypatch, score, n_rows=10_000)
    model = RecursiveSVM(TAXONOMY, C="cv").fit(*rows)
    assert (model.C_, model.sharing_) == (10.0, 1.0)


def test_without_a_comparison_the_problem_is_that_of_the_paper(monkeypatch):
    X, y = single(300)
    graph = RelationGraph.from_taxonomy(TAXONOMY)
    for model, rows in (
        (RecursiveSVM(TAXONOMY), (X[:190], y[:190])),  # too few rows
        (RecursiveSVM(), (X, y)),  # a star
        (RecursiveSVM(TAXONOMY, relations=graph), (X, y)),
    ):
        model.fit(*rows)
        assert (model.sharing_, hasattr(model, "cv_results_")) == (1.0, False)
    monkeypatch.setattr(select_c, "MOST_WORK", 0)
    assert RecursiveSVM(TAXONOMY, C="cv").fit(X, y).sharing_ == 1.0


def test_a_path_of_c_and_fits_that_go_on_choose_once(monkeypatch):
    X, y = single(300)
    models = list(RecursiveSVM(TAXONOMY).C_path(X, y, [0.1, 1, 10]))
    assert len({model.sharing_ for model in models}) == 1
    assert models[0].sharing_ == RecursiveSVM(TAXONOMY, C=1).fit(X, y).sharing_
    going_on = RecursiveSVM(TAXONOMY, warm_start=True, sharing="auto").fit(X, y)
    going_on.sharing_ = chosen = 0.5
    monkeypatch.setattr(Search, "choose_pair", None)
    assert going_on.fit(X, y).sharing_ == chosen


def test_a_saved_model_keeps_what_was_chosen(tmp_path):
    X, y = single(300)
    model = RecursiveLogistic(TAXONOMY).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.sharing, again.sharing_, again.cv_results_) == ("auto", model.sharing_, model.cv_results_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


# ---------------------------------------------------------------- rows and scores


@pytest.mark.parametrize(
    ("learner", "kind"),
    [
        (FlatSVM, "single"),
        (FlatSVM, "sets"),
        (TopDown, "single"),
        (RecursiveLogistic, "sets"),
        (RecursiveSVM, "single"),
    ],
)
def test_scores_are_those_of_models_fitted_to_the_other_rows(learner, kind, monkeypatch):
    monkeypatch.setattr(select_c, "LOOSE", 0.0)
    monkeypatch.setattr(select_c, "LEAST_SWEEPS", 10**4)
    X, y = single(noise=1.2) if kind == "single" else sets_of()[:2]
    options = {"tol": 1e-6, "max_iter": 10**4}
    model = learner(TAXONOMY, C="cv", **options).fit(X, y)
    labels = LabelMatrix.from_sets(y if kind == "sets" else [{label} for label in y], TAXONOMY)
    folds = select_c.folds_of(model, labels)
    for entry in model.cv_results_:
        scores = []
        for rows, out in folds[: entry["folds"]]:
            fitted = learner(TAXONOMY, C=entry["C"], **options).fit(X[rows], [y[i] for i in rows])
            true = [y[i] for i in out]
            if kind == "single":
                scores.append(np.mean(fitted.predict(X[out]) == np.array(true)))
            else:
                scores.append(metrics.scorers.average_precision(fitted, X[out], true))
        assert entry["score"] == pytest.approx(np.mean(scores), abs=0.02)
    assert best_entry(model.cv_results_)["C"] == model.C_
    same = learner(TAXONOMY, C=model.C_, **options).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert not hasattr(model.set_params(C=1.0).fit(X, y), "C_")


def test_every_label_keeps_a_row_to_train_on():
    y = np.array(["tennis"] * 2 + ["chess"] + ["film"] * 20 + ["food"] * 7)
    model = FlatSVM(TAXONOMY, C="cv").fit(np.random.default_rng(0).random((30, 3)), y)
    folds = select_c.folds_of(model, LabelMatrix.from_sets([{label} for label in y], TAXONOMY))
    for rows, held_out in folds:
        assert set(y[rows]) == set(y)
        assert not set(rows) & set(held_out)
    held_out = np.concatenate([out for _, out in folds])
    assert sorted(held_out.tolist()) == [i for i in range(30) if y[i] != "chess"]


def test_what_is_not_learnt_from_has_no_part_in_the_choice():
    from scipy import sparse

    X, y = single(noise=1.2)
    plain = FlatSVM(TAXONOMY, C="cv").fit(X, y)
    more = sparse.vstack([X, -10 * X], format="csr")
    weights = np.repeat([1.0, 0.0], len(y))
    other = FlatSVM(TAXONOMY, C="cv").fit(more, np.append(y, y[::-1]), sample_weight=weights)
    assert other.cv_results_ == plain.cv_results_
    assert other.C_ == plain.C_


def test_sets_are_ranked_and_single_labels_are_right_or_wrong():
    X, y, _ = sets_of()
    by_default = FlatSVM(TAXONOMY, C="cv").fit(X, y)
    assert by_default.cv_results_ == FlatSVM(TAXONOMY, C="cv", scoring="average_precision").fit(X, y).cv_results_
    assert by_default.cv_results_ != FlatSVM(TAXONOMY, C="cv", scoring="micro_f1").fit(X, y).cv_results_
    X, y = single(noise=1.2)
    by_default = FlatSVM(TAXONOMY, C="cv").fit(X, y)
    assert by_default.cv_results_ == FlatSVM(TAXONOMY, C="cv", scoring="accuracy").fit(X, y).cv_results_


@pytest.mark.parametrize("learner", LINEAR)
def test_names_metrics_scorers_and_losses_score(learner):
    X, y = single(noise=1.2)

    def results(scoring):
        return learner(TAXONOMY, C="cv", scoring=scoring).fit(X, y).cv_results_

    by_name = results("h_loss")
    assert by_name == results(metrics.h_loss) == results(metrics.scorers.h_loss) == results(losses.HLoss())
    assert all(entry["score"] <= 0 for entry in by_name)
    of_names = results(make_scorer(f1_score, average="micro"))  # which is accuracy, of names as y has them
    assert [entry["score"] for entry in of_names] == pytest.approx([entry["score"] for entry in results("accuracy")])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scoring": "f2"}, "FlatSVM: scoring must be one of 'accuracy', 'average_precision', .* got 'f2'"),
        ({"scoring": 3}, "FlatSVM: scoring must be a name, a scorer, a loss or None; got 3"),
        ({"budget": 0}, "FlatSVM: budget must be a positive number of seconds, or None; got 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ParameterError, match=said):
        FlatSVM(**options).fit(np.eye(2), ["a", "b"])


# ---------------------------------------------------------------- time, progress, files


def test_a_search_ends_with_its_budget_and_says_so(monkeypatch):
    clock = iter(range(10**6))
    fitted, rows = scripted(monkeypatch, lambda value, fold, piece: np.log10(value))
    monkeypatch.setattr(select_c.time, "perf_counter", lambda: float(next(clock)))
    with pytest.warns(UserWarning, match="ended after its budget of 3 s with C=100; values of C tried: 1, 10, 100"):
        model = FlatSVM(C="cv", budget=3).fit(*rows)
    assert (values(fitted), model.C_) == ([1.0, 10.0, 100.0], 100.0)


def test_progress_counts_fits_and_names_the_value(monkeypatch):
    said = []

    class Listener:
        def start(self, description, total):
            said.append((description, total))
            return self

        def describe(self, description):
            said.append(description)

        def advance(self, steps=1):
            said.append(steps)

        def finish(self, task):
            pass

    _, rows = scripted(monkeypatch, lambda *_: 0.5, n_rows=6000)
    with progress.report_to(Listener()):
        FlatSVM(TAXONOMY, C="cv").fit(*rows)
    assert said[:5] == [("choosing C", 7), "choosing: C=1", 1, "choosing: C=10", 1]


@pytest.mark.parametrize("scoring", ["h_loss", metrics.h_loss])
def test_a_saved_model_keeps_the_name_of_a_score_but_no_code(scoring, tmp_path):
    X, y = single()
    model = FlatSVM(TAXONOMY, C="cv", scoring=scoring).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.scoring == ("h_loss" if scoring == "h_loss" else None)
    assert (again.C_, again.cv_results_) == (model.C_, model.cv_results_)


@pytest.mark.parametrize("kind", ["single", "sets"])
@pytest.mark.parametrize(
    ("learner", "name"), [(StructuralSVM, "C"), (MaxMarginMarkov, "C"), (HierarchicalRLS, "alpha")]
)
def test_other_methods_choose_by_the_same_search(learner, name, kind, tmp_path):
    X, y = single() if kind == "single" else sets_of()[:2]
    model = learner(TAXONOMY, **{name: "cv"}, random_state=0).fit(X, y)
    chosen = getattr(model, f"{name}_")
    assert best_entry(model.cv_results_)[name] == chosen
    alone = learner(TAXONOMY, **{name: chosen}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(alone.decision_function(X), model.decision_function(X))
    assert not hasattr(alone, f"{name}_")
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (getattr(again, f"{name}_"), again.cv_results_) == (chosen, model.cv_results_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_stream_has_no_rows_to_hold_out():
    X, y = single()
    with pytest.raises(ParameterError, match="alpha='cv' needs all rows at once; call fit, or give a number"):
        HierarchicalRLS(TAXONOMY, alpha="cv").partial_fit(X, y)
    model = HierarchicalRLS(TAXONOMY, alpha="cv").fit(X, y)
    chosen = model.alpha_
    assert model.partial_fit(X, y).alpha_ == chosen


def test_models_of_folds_warn_of_nothing():
    X, y = single()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FlatSVM(TAXONOMY, C="cv").fit(X, y)
