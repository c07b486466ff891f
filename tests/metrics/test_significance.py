"""Paired tests and bootstrap intervals."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from benchmarks import coverage
from cladist import LabelMatrix, Taxonomy, metrics
from cladist.errors import LabelError, ParameterError
from cladist.losses import NodeRows
from cladist.metrics import bootstrap as intervals
from cladist.metrics.bootstrap import Sample
from cladist.metrics.significance import (
    bootstrap_difference,
    bootstrap_interval,
    mcnemar_test,
    sign_test,
    wilcoxon_test,
)

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})


def rows(n_rows, right, seed=0):
    """True leaves, and predictions that are right with the given probability."""
    rng = np.random.default_rng(seed)
    true = rng.integers(3, 7, n_rows)
    return true, np.where(rng.random(n_rows) < right, true, rng.integers(3, 7, n_rows))


# ---------------------------------------------------------------- tests


def test_the_sign_test_by_hand():
    a, b = [1, 1, 1, 1, 1, 1, 1, 0, 2], [0, 0, 0, 0, 0, 0, 0, 1, 2]
    statistic, p_value, n = sign_test(a, b)
    assert (statistic, n) == (7, 8)
    assert p_value == pytest.approx(2 * (math.comb(8, 7) + 1) / 2**8)
    assert sign_test(b, a).p_value == pytest.approx(p_value)


def test_the_wilcoxon_test_by_hand():
    # Differences 1, 2, 3, 4, −5: the negative ranks sum to 5; of the 32 sign patterns 10 have a sum ≤ 5.
    statistic, p_value, n = wilcoxon_test([1, 2, 3, 4, 0, 7], [0, 0, 0, 0, 5, 7])
    assert (statistic, n) == (5, 5)
    assert p_value == pytest.approx(20 / 32)


def test_the_wilcoxon_test_of_many_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 300), rng.integers(0, 5, 300)
    difference = (a - b)[a != b]
    assert wilcoxon_test(a, b)[:2] == pytest.approx(tuple(stats.wilcoxon(difference)))


def test_mcnemar_is_exact_for_few_discordant_examples():
    a = np.array([1] * 24 + [0] * 6)
    b = np.array([0] * 18 + [1] * 6 + [1] * 6)
    statistic, p_value, n = mcnemar_test(a, b)
    assert (statistic, n) == (6, 24)
    assert p_value == pytest.approx(stats.binomtest(6, 24).pvalue)
    assert p_value == pytest.approx(sign_test(a, b).p_value)


def test_mcnemar_is_chi_square_for_many():
    a = np.array([True] * 30 + [False] * 10)
    statistic, p_value, n = mcnemar_test(a, ~a)
    assert n == 40
    assert statistic == (30 - 10 - 1) ** 2 / 40
    assert p_value == pytest.approx(math.erfc(math.sqrt(statistic / 2)))
    assert mcnemar_test([1, 0] * 20, [0, 1] * 20)[:2] == (0, 1)


@pytest.mark.parametrize("test", [sign_test, wilcoxon_test, mcnemar_test])
def test_methods_that_never_differ_are_no_different(test):
    assert test([1, 0, 1], [1, 0, 1]) == (0, 1, 0)


@pytest.mark.parametrize("test", [sign_test, wilcoxon_test, mcnemar_test])
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 0], [1, 0, 0], "has 2 values and .* has 3"),
        ([[1, 0]], [[1, 0]], "1-D"),
        ([1, math.nan], [1, 0], "finite"),
        (["a"], ["b"], "number"),
    ],
)
def test_bad_values_are_refused(test, a, b, message):
    with pytest.raises(ParameterError, match=message):
        test(a, b)


def test_mcnemar_wants_right_or_wrong():
    with pytest.raises(ParameterError, match="correct_b must say right or wrong"):
        mcnemar_test([1, 0], [2, 0])


# ---------------------------------------------------------------- the bootstrap


def test_the_interval_of_an_accuracy_is_the_binomial_one():
    true, pred = rows(2000, 0.6)
    estimate, low, high = bootstrap_interval(metrics.accuracy, true, pred, TREE, random_state=0)
    assert estimate == metrics.accuracy(true, pred, TREE)
    half = 1.96 * math.sqrt(estimate * (1 - estimate) / 2000)
    assert (low, high) == pytest.approx((estimate - half, estimate + half), abs=0.15 * half)


def test_the_interval_covers_about_as_often_as_it_says():
    covered = 0
    for seed in range(100):
        true, pred = rows(200, 0.6, seed)
        _, low, high = bootstrap_interval(
            metrics.accuracy, true, pred, TREE, level=0.8, n_resamples=100, random_state=seed
        )
        covered += low <= 0.6 + 0.4 / 4 <= high
    assert 70 <= covered <= 90  # 80, and two and a half standard errors


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("labels", "quality", "n_rows"), [("even", "0.80", 50), ("skewed", "0.95", 50)])
def test_the_study_of_coverage_finds_what_was_asked_for(labels, quality, n_rows, paired):
    found = coverage.study(labels, quality, n_rows, paired=paired, n_samples=200, seed=1)
    method = coverage.DEFAULTS[paired]
    kept = [row for row in found if row["method"] == method and row["resamples"] == 1000 and "all" not in row["metric"]]
    assert len(kept) == len(coverage.METRICS) - 1
    for row in kept:  # 0.95 less three standard errors of 200 samples
        assert row["coverage"] > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200), row


def test_intervals_of_many_samples_are_those_of_each():
    rng = np.random.default_rng(0)
    estimates, values, skew = rng.random(4), rng.random((4, 50)), rng.random(4) / 10
    for k in range(4):
        one = intervals.accelerated_interval(estimates[k], values[k], skew[k], 30, 0.9)
        np.testing.assert_allclose(intervals.accelerated_interval(estimates, values, skew, 30, 0.9)[:, k], one)
        one = intervals.percentile_interval(estimates[k], values[k], 0.9)
        np.testing.assert_allclose(intervals.percentile_interval(estimates, values, 0.9)[:, k], one)
        moved = values[k] + estimates[k] - values[k].mean()
        np.testing.assert_allclose(one, np.quantile(moved, [0.05, 0.95]))
        one = intervals.t_interval(estimates[k], values[k], 30, 0.9)
        np.testing.assert_allclose(intervals.t_interval(estimates, values, 30, 0.9)[:, k], one)


def test_the_acceleration_is_that_of_scipy():
    values = np.random.default_rng(0).exponential(size=40)
    found = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", random_state=0)
    left_out = (values.sum() - values) / 39
    skew = ((values - values.mean()) ** 3).sum() / (6 * ((values - values.mean()) ** 2).sum() ** 1.5)
    assert intervals.estimate_acceleration(left_out) == pytest.approx(skew)
    resampled = np.sort(np.random.default_rng(1).choice(values, (20_000, 40)).mean(axis=1))
    ours = intervals.accelerated_interval(values.mean(), resampled, skew, 10**6, 0.95)
    # Of the two corrections of scipy's interval one moves it by the resamples' median, ours by their mean.
    assert ours == pytest.approx(tuple(found.confidence_interval), abs=0.05)


def test_a_group_left_out_tells_what_rows_left_out_tell():
    true, pred = rows(1000, 0.9)
    matrices = (
        NodeRows(m.indptr, m.indices) for m in (LabelMatrix.from_nodes(labels, TREE) for labels in (true, pred))
    )
    first, second = matrices
    sample = Sample.from_rows(first, [second], np.random.default_rng(0))
    wrong = np.concatenate([true != pred, np.zeros(len(sample.weights()) - 1000, bool)])
    by_group = [np.average(wrong, weights=weight) for weight in sample.leave_out(np.random.default_rng(0))]
    by_row = [(wrong.sum() - bad) / 999 for bad in wrong[:1000]]
    assert len(by_group) == 200
    assert intervals.estimate_acceleration(np.array(by_group)) == pytest.approx(
        intervals.estimate_acceleration(np.array(by_row)), rel=0.5
    )


@pytest.mark.parametrize(
    "metric",
    [
        metrics.micro_f1,
        metrics.macro_f1,
        metrics.hierarchical_f1,
        metrics.tree_induced_error,
        metrics.zero_one_loss,
        partial(metrics.h_loss, weights="subtree"),
        partial(metrics.macro_f1, absent="skip"),
    ],
)
def test_every_metric_of_one_number_has_an_interval(metric):
    true, pred = rows(100, 0.7)
    estimate, low, high = bootstrap_interval(metric, true, pred, TREE, n_resamples=200, random_state=0)
    assert estimate == metric(true, pred, TREE)
    assert 0 <= low < estimate < high
    narrow = bootstrap_interval(metric, true, pred, TREE, n_resamples=200, level=0.5, random_state=0)
    assert low < narrow.low < narrow.high < high


def test_a_macro_f1_of_rare_nodes_lies_inside_its_interval():
    wide = Taxonomy.from_parents(dict.fromkeys(range(300)))
    rng = np.random.default_rng(0)
    true = rng.integers(0, 300, 400)
    pred = np.where(rng.random(400) < 0.7, true, rng.integers(0, 300, 400))
    estimate, low, high = bootstrap_interval(metrics.macro_f1, true, pred, wide, n_resamples=200, random_state=0)
    assert low < estimate < high


def test_an_interval_stays_within_what_the_metric_can_be():
    true, pred = [3, 4, 5, 6, 3, 4, 5, 6, 3, 4], [3, 4, 5, 6, 3, 4, 5, 6, 3, 5]
    for metric in (metrics.accuracy, metrics.macro_f1):
        estimate, low, high = bootstrap_interval(metric, true, pred, TREE, random_state=0)
        assert 0 <= low < estimate < high <= 1


def test_rows_without_an_error_do_not_promise_that_there_is_none():
    true, _ = rows(50, 1.0)
    estimate, low, high = bootstrap_interval(metrics.accuracy, true, true, TREE, random_state=0)
    exact = stats.binomtest(50, 50).proportion_ci(0.95, method="exact").low
    assert (estimate, high) == (1, 1)
    assert low == pytest.approx(exact, abs=0.03)
    estimate, low, high = bootstrap_interval(metrics.tree_induced_error, true, true, TREE, random_state=0)
    assert (estimate, low) == (0, 0)
    assert 0.1 < high < 0.5
    assert bootstrap_interval(metrics.accuracy, true, true, TREE, method="percentile") == (1, 1, 1)
    narrow = [bootstrap_difference(metrics.accuracy, t, t, t, TREE, random_state=0) for t in (true, rows(500, 1.0)[0])]
    assert all(low < 0 == estimate < high for estimate, low, high in narrow)
    assert narrow[1].high < narrow[0].high / 5


def test_rows_that_all_have_one_label_are_taken_as_they_are():
    estimate, low, high = bootstrap_interval(metrics.accuracy, [3] * 9, [3] * 8 + [4], TREE, random_state=0)
    assert 0 < low < estimate < high <= 1
    assert bootstrap_difference(metrics.accuracy, [3] * 9, [3] * 9, [4] * 9, TREE, random_state=0).low > 0


def test_the_same_seed_gives_the_same_interval():
    true, pred = rows(50, 0.7)
    one, same, other = (
        bootstrap_interval(metrics.micro_f1, true, pred, TREE, n_resamples=50, random_state=seed)
        for seed in (1, np.random.default_rng(1), 2)
    )
    assert one == same
    assert one != other


def test_a_paired_difference_sees_the_same_rows():
    true, good = rows(300, 0.8)
    bad = np.where(np.arange(300) < 30, 3, good)
    estimate, low, high = bootstrap_difference(metrics.accuracy, true, good, bad, TREE, random_state=0)
    assert estimate == pytest.approx(metrics.accuracy(true, good, TREE) - metrics.accuracy(true, bad, TREE))
    assert 0 < low < estimate < high
    # Unpaired, the interval would be as wide as the root of the sum of both variances.
    _, low_one, high_one = bootstrap_interval(metrics.accuracy, true, good, TREE, random_state=0)
    assert high - low < high_one - low_one
    same = bootstrap_difference(metrics.micro_f1, true, good, good, TREE, random_state=0)
    assert same.low < 0 == same.estimate < same.high < high - low


def test_every_form_is_read_once_and_means_the_same():
    true, pred = rows(60, 0.7)
    as_matrix = LabelMatrix.from_nodes(true, TREE)
    expected = bootstrap_interval(metrics.micro_f1, true, pred, TREE, n_resamples=20, random_state=0)
    for form in (as_matrix, as_matrix.to_indicator(), as_matrix.to_indicator().toarray()):
        found = bootstrap_interval(metrics.micro_f1, form, pred, TREE, n_resamples=20, random_state=0)
        assert found == expected


def test_inconsistent_matrices_reach_the_losses_only():
    broken = np.array([[0, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0]])
    estimate, low, high = bootstrap_interval(metrics.zero_one_loss, broken, [1, 1], TREE, random_state=0)
    assert estimate == 0.5
    assert (low, high) == pytest.approx((0, 1), abs=0.05)
    with pytest.raises(LabelError, match="not its parent"):
        bootstrap_interval(metrics.micro_f1, broken, [1, 1], TREE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, "level must lie between 0 and 1; got 95"),
        ({"n_resamples": 0}, "n_resamples must be a positive whole number; got 0"),
        ({"n_resamples": 10.5}, "n_resamples must be"),
        ({"method": "bca"}, "method must be one of 'accelerated', 't', 'percentile'; got 'bca'"),
        ({"metric": metrics.precision_recall_f1}, "precision_recall_f1 returned PrecisionRecallF1"),
    ],
)
def test_bad_options_are_refused(options, message):
    options = {"metric": metrics.micro_f1, **options}
    with pytest.raises(ParameterError, match=message):
        bootstrap_interval(options.pop("metric"), [3], [3], TREE, **options)
