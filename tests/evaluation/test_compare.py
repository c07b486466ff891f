"""`compare`: the table, verdicts on trees that say something and nothing, folds, budgets, and foreign classifiers."""

import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import BernoulliNB

from cladist import Taxonomy, metrics
from cladist.datasets import make_topics
from cladist.errors import ParameterError
from cladist.evaluation import compare, contest, rank_methods, splits
from cladist.evaluation.contestants import shuffled
from cladist.evaluation.resamples import MEASURES, Resamples, resampled_scores, simultaneous_intervals
from cladist.labels import LabelMatrix, encode
from cladist.metrics.significance import friedman_test
from tests.strategies import node_sets

DATA = make_topics(n_samples=250, n_features=300, branching=(3, 3), noise=0.7, random_state=0)
PATIENT = 10_000.0  # seconds, which no test waits for: results do not depend on the time


@pytest.fixture(scope="module")
def result():
    methods = ["top-down", ("naive", BernoulliNB()), ("dummy", DummyClassifier())]
    return compare(DATA.X, DATA.y, DATA.taxonomy, methods=methods, cv=3, budget=PATIENT, n_resamples=200)


def test_every_row_is_held_out_once_and_the_scores_are_those_of_the_metrics(result):
    assert (result.n_held_out, result.n_folds, result.n_rows) == (250, 3, 250)
    assert {row.method for row in result.rows} == {"top-down", "svm", "naive", "dummy"}
    scores = [row.scores["macro_f1"] for row in result.rows]
    assert scores == sorted(scores, reverse=True)
    assert result.rows[-1].method == "dummy"
    by_name = {row.method: row for row in result.rows}
    assert by_name["top-down"].twin == "svm"
    assert by_name["top-down"].uses_tree
    assert not by_name["naive"].uses_tree
    assert by_name["svm"].C is not None
    assert by_name["naive"].C is None
    assert by_name["svm"].model_bytes > 0
    # The most frequent label predicted for every row
    most = np.unique(DATA.y, return_counts=True)[1].max()
    assert by_name["dummy"].scores["accuracy"] <= most / 250 + 1e-9


def test_differences_are_those_of_the_scores_and_are_compared_together(result):
    by_name = {row.method: row.scores["macro_f1"] for row in result.rows}
    pairs = {(c.method, c.other): c.difference for c in result.contrasts}
    assert set(pairs) == {("top-down", other) for other in ("svm", "naive", "dummy", "shuffled hierarchy")}
    for (method, other), found in pairs.items():
        assert found.low <= found.estimate <= found.high
        if other in by_name:
            assert found.estimate == pytest.approx(by_name[method] - by_name[other])
    assert pairs["top-down", "dummy"].low > 0
    row = next(row for row in result.rows if row.method == "top-down")
    assert row.difference == pairs["top-down", "svm"]


def test_what_is_written(result):
    content = json.loads(result.to_json())
    assert content["verdict"] == result.verdict_
    assert content["recommended"] in {row["method"] for row in content["methods"]}
    page = result.to_html(title="A <title>")
    assert "A &lt;title&gt;" in page
    assert result.verdict.replace("'", "&#x27;") in page
    assert "://" not in page
    assert result.verdict in str(result)
    assert [table.header[0] for table in result.breakdowns] == ["F1 by level", "macro F1 by rows of a label"]
    assert set(result.per_level) == {row.method for row in result.rows}


@pytest.mark.parametrize(
    ("gap", "control", "verdict"),
    [(0.2, 0.2, "helps"), (-0.2, 0.0, "hurts"), (0.0, 0.0, "no evidence"), (0.2, 0.0, "no evidence")],
)
def test_verdicts_follow_from_the_predictions(monkeypatch, gap, control, verdict):
    """The tree's method is better than the flat one by `gap`, and than itself with shuffled leaves by `control`."""
    random = np.random.default_rng(0)

    def fit(self, X, labels, **_):
        return SimpleNamespace(X=X)

    def predict(self, model, X, taxonomy):
        truth = TRUTH[np.asarray(X[:, 0]).astype(int)]
        rate = 0.5 if not self.uses_tree else 0.5 + gap - (control if self.taxonomy is not None else 0)
        wrong = random.random(len(truth)) >= rate
        return LabelMatrix.from_nodes(np.where(wrong, LEAVES[random.integers(len(LEAVES), size=len(truth))], truth), T)

    T, LEAVES = DATA.taxonomy, DATA.taxonomy.leaves
    TRUTH = LEAVES[random.integers(len(LEAVES), size=3000)]
    monkeypatch.setattr("cladist.evaluation.contest.Contestant.fit", fit)
    monkeypatch.setattr("cladist.evaluation.contest.Contestant.predict", predict)
    monkeypatch.setattr("cladist.evaluation.contestants.Contestant.searches", False)
    monkeypatch.setattr("cladist.evaluation.contest.scale_ratio", lambda _: 1.0)
    names = [T.names[v] for v in TRUTH]
    found = compare(np.arange(3000.0)[:, None], names, T, methods=["top-down"], budget=PATIENT, n_resamples=200)
    assert found.verdict_ == verdict
    assert found.recommended == ("svm" if gap <= 0 else "top-down")
    start = {"helps": "The hierarchy helps: macro F1 +", "hurts": "The hierarchy hurts: macro F1 −"}
    assert found.verdict.startswith(start.get(verdict, "There is no evidence that the hierarchy helps: macro F1 "))
    assert ("shuffled" in found.verdict) == (gap > control)


def test_without_a_hierarchy_there_is_nothing_to_say():
    found = compare(DATA.X, DATA.y, methods=["svm", "lr"], cv=2, budget=PATIENT, n_resamples=20)
    assert found.verdict_ == "no evidence"
    assert found.verdict == "There is no hierarchy, so there is nothing to say about it."
    assert found.contrasts == []


def test_sets_of_labels():
    y = [{a, b} for a, b in zip(DATA.y, np.roll(DATA.y, 1), strict=True)]
    found = compare(DATA.X, y, DATA.taxonomy, methods=["h-svm"], cv=2, budget=PATIENT, n_resamples=20, control=False)
    assert {row.method for row in found.rows} == {"h-svm", "svm"}
    assert "tree_induced_error" not in found.rows[0].scores


# ---------------------------------------------------------------- the budget


def test_with_little_time_part_of_the_rows_is_used_and_the_table_is_there(monkeypatch):
    """Time is counted in rows trained on: stages end where the next one would not fit in."""
    clock = [0.0]
    monkeypatch.setattr(contest, "LEAST_ROWS", 40)
    monkeypatch.setattr(contest, "ROWS_PER_LABEL", 1)
    monkeypatch.setattr(contest, "WARM_UP_ROWS", 5)
    monkeypatch.setattr(contest.time, "perf_counter", lambda: clock[0])
    fit = contest.Contestant.fit

    def slow(self, X, labels, **options):
        clock[0] += len(labels) / (1 if self.name == "lr" else 10)
        return fit(self, X, labels, **options)

    monkeypatch.setattr(contest.Contestant, "fit", slow)
    options = {"methods": ["top-down", "svm", "lr"], "cv": 4, "n_resamples": 20}
    some = compare(DATA.X, DATA.y, DATA.taxonomy, budget=400.0, **options)
    assert clock[0] <= 400
    assert some.n_train == 187
    assert {row.method for row in some.rows} == {"top-down", "svm"}
    assert some.failed == {"lr": "there was time for it with 40 rows only"}
    clock[0] = 0.0
    short = compare(DATA.X, DATA.y, DATA.taxonomy, budget=220.0, **options)
    assert clock[0] <= 220
    assert short.n_train < 187
    assert [stage["n_train"] for stage in short.stages] == sorted(stage["n_train"] for stage in short.stages)
    assert {row.method for row in short.rows} >= {"top-down", "svm"}
    assert "rows to train on" in short.verdict
    clock[0] = 0.0
    long = compare(DATA.X, DATA.y, DATA.taxonomy, budget=100_000.0, **options)
    assert (long.n_train, long.n_folds) == (187, 4)
    assert {row.method for row in long.rows} == {"top-down", "svm", "lr"}


def test_a_method_that_refuses_the_data_is_left_out_with_its_reason():
    y = np.where(np.arange(250) % 5 == 0, "no such", DATA.y)
    taxonomy = Taxonomy.from_parents({**{c: p for p, c in DATA.taxonomy.edges()}, "no such": None})
    found = compare(-DATA.X, y, taxonomy, methods=["svm", ("naive", RefusesAll())], cv=2, budget=PATIENT, n_resamples=9)
    assert found.failed == {"naive": "nothing suits me"}
    assert [row.method for row in found.rows] == ["svm"]


class RefusesAll(BernoulliNB):
    def fit(self, X, y):
        raise ValueError("nothing  suits\nme")


def test_what_is_refused():
    with pytest.raises(ParameterError, match="budget must be a positive number of seconds"):
        compare(DATA.X, DATA.y, DATA.taxonomy, budget=0)
    with pytest.raises(ParameterError, match="There is no method 'nothing'"):
        compare(DATA.X, DATA.y, DATA.taxonomy, methods=["nothing"])
    with pytest.raises(ParameterError, match="a method must be a name"):
        compare(DATA.X, DATA.y, DATA.taxonomy, methods=[3])
    with pytest.raises(ParameterError, match="two methods are called 'svm'"):
        compare(DATA.X, DATA.y, DATA.taxonomy, methods=["svm", ("svm", BernoulliNB())])
    with pytest.raises(ParameterError, match="no method could be trained"):
        compare(DATA.X, DATA.y, DATA.taxonomy, methods=[("none", RefusesAll())], budget=PATIENT)


# ---------------------------------------------------------------- parts


@given(node_sets(min_rows=2), st.data())
def test_scores_of_resamples_are_those_of_the_rows_drawn(case, data):
    taxonomy, rows = case
    other = [data.draw(st.sets(st.integers(0, taxonomy.n_nodes - 1), max_size=3)) for _ in rows]
    true, pred = (encode([{taxonomy.names[v] for v in row} for row in side], taxonomy).labels for side in (rows, other))
    draws = Resamples(len(rows), 3, 0)
    weights = np.concatenate(list(draws.blocks()))
    nodes = np.arange(taxonomy.n_nodes)
    functions = {
        "accuracy": metrics.accuracy,
        "hierarchical_f1": metrics.hierarchical_f1,
        "micro_f1": lambda t, p, T, **w: metrics.micro_f1(t, p, T, nodes="all", **w),
        "macro_f1": lambda t, p, T, **w: metrics.macro_f1(t, p, T, nodes="all", absent="skip", **w),
    }
    for measure, function in functions.items():
        found = resampled_scores(true, {"": pred}, measure, nodes, draws)[""]
        expected = [function(true, pred, taxonomy)]
        for weight in weights:
            drawn = np.repeat(np.arange(len(rows)), weight.astype(int))
            expected.append(function(true[drawn], pred[drawn], taxonomy))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_whole_groups_are_drawn():
    groups = np.array([0, 0, 1, 2, 2, 2])
    for weights in Resamples(6, 70, 1, groups).blocks():
        assert np.all(weights[:, 0] == weights[:, 1])
        assert np.all(weights[:, 3:] == weights[:, [3]])
        assert np.all(weights[:, [0, 2, 3]].sum(axis=1) == 3)


def test_intervals_hold_together():
    """Of many repetitions with ten independent differences that are 0, all ten intervals hold in about 95 %."""
    random = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        values = random.standard_normal((10, 1))
        resamples = values + random.standard_normal((10, 400))
        found = simultaneous_intervals(list(np.hstack([values, resamples])), 1000)
        held += all(interval.low <= 0 <= interval.high for interval in found)
    assert 0.9 <= held / 300 <= 0.99
    alone = simultaneous_intervals([np.append(0.0, random.standard_normal(2000))], 1000)[0]
    assert alone.high == pytest.approx(1.96, abs=0.15)


@given(st.integers(4, 40), st.integers(2, 4), st.integers(0, 99))
def test_splits(n_rows, cv, seed):
    labels = np.arange(n_rows) % 3
    for found in (splits(n_rows, cv=cv, random_state=seed), splits(n_rows, cv=cv, labels=labels)):
        assert len(found) == cv
        assert sorted(itertools.chain(*(out for _, out in found))) == list(range(n_rows))
        assert all(sorted([*train, *out]) == list(range(n_rows)) for train, out in found)
    groups = np.arange(n_rows) % (cv + 1)
    for train, out in splits(n_rows, cv=cv, groups=groups, random_state=seed):
        assert not set(groups[train]) & set(groups[out])
    times = np.random.default_rng(seed).permutation(n_rows)
    for train, out in splits(n_rows, cv=cv, times=times):
        assert times[train].max() < times[out].min()


def test_equal_times_stay_on_one_side():
    for train, out in splits(9, cv=3, times=[1, 1, 1, 1, 1, 2, 2, 2, 3]):
        assert not {t for t, _ in zip("111112223", range(9), strict=True) if _ in train} & {"111112223"[i] for i in out}
    with pytest.raises(ParameterError, match="same time"):
        splits(4, times=[1, 1, 1, 1])


def test_a_shuffled_taxonomy_has_the_same_shape_and_other_leaves():
    other = shuffled(DATA.taxonomy, np.random.default_rng(0))
    assert sorted(other.names) == sorted(DATA.taxonomy.names)
    assert [len(other.children(v)) for v in other.names] == [
        len(DATA.taxonomy.children(v)) for v in DATA.taxonomy.names
    ]
    assert other != DATA.taxonomy


# ---------------------------------------------------------------- several data sets


@given(st.integers(0, 999))
def test_friedman_is_scipys(seed):
    scores = np.random.default_rng(seed).integers(0, 5, size=(6, 4)).astype(float)
    found = friedman_test(scores)
    expected = stats.friedmanchisquare(*scores.T)
    if np.isfinite(expected.statistic):
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.p_value == pytest.approx(expected.pvalue)


def test_the_critical_difference_is_that_of_demsar():
    """Table 5 of Demšar 2006: q of Nemenyi's test for 4 methods is 2.569, and for 10 it is 3.164."""
    for k, q in ((4, 2.569), (10, 3.164)):
        scores = np.random.default_rng(0).random((14, k))
        assert friedman_test(scores).critical_difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), abs=2e-3)


def test_methods_are_ranked_over_data_sets(result):
    ranking = rank_methods({"one": result, "two": result.to_dict(), "three": result})
    assert list(ranking.mean_ranks) == [row.method for row in result.rows]
    assert ranking.table.header == ["method", "mean rank", "one", "two", "three"]
    assert ranking.sentence in str(ranking)
    with pytest.raises(ParameterError, match="at least two data sets"):
        rank_methods({"one": result})
    with pytest.raises(ParameterError, match="wanted results of compare"):
        rank_methods({"one": {}, "two": result})
    assert set(MEASURES) >= set(result.rows[0].scores)
