"""Thresholding strategies: against brute force, their laws, the edges, being written as plain values."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from cladist.decoders.thresholds import (
    STRATEGIES,
    FixedPCut,
    GlobalCut,
    InstanceBased,
    PCut,
    RCut,
    SCut,
    Strategy,
    Zero,
    cuts,
    instance_targets,
)
from cladist.errors import LabelError, ModelFormatError, ParameterError

FAR = 5e-324  # the least number there is, so that some neighbours have nothing between them
tied = st.sampled_from([-2.0, -1.0, 0.0, FAR, 2 * FAR, 1.0, 2.5])
spread = st.floats(-100, 100)
mixed = st.one_of(tied, spread)
distinct = st.integers(-999, 999).map(lambda k: k / 8)  # so that they stay distinct in float32
infinite = st.one_of(tied, st.sampled_from([-np.inf, np.inf]))

EVERY = [Zero(), RCut(), RCut(1), PCut(), PCut(0.4), SCut(), SCut(None), SCut(0.9, "never"), InstanceBased()]
EVERY += [InstanceBased(0.01, top_k=1), GlobalCut(), GlobalCut(0.5), FixedPCut()]
every_strategy = pytest.mark.parametrize("cut", EVERY, ids=repr)


@st.composite
def problems(draw, elements=mixed, min_labels=1, unique=False):
    """Scores and a 0/1 matrix of the same shape; rows and columns may be empty or full."""
    shape = (draw(st.integers(1, 8)), draw(st.integers(min_labels, 5)))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    scores = draw(hnp.arrays(np.float64, shape, elements=elements, unique=unique)).astype(dtype)
    return scores, draw(hnp.arrays(np.int8, shape, elements=st.integers(0, 1)))


def f1(chosen, true):
    return 2 * np.sum(chosen & (true == 1)) / max(1, chosen.sum() + true.sum())


# ---------------------------------------------------------------- SCut


@given(problems(infinite))
def test_scut_is_the_best_of_all_candidates(problem):
    scores, Z = problem
    cut = SCut(None).fit(scores, Z)
    for n, t in enumerate(cut.thresholds_):
        column = np.unique(scores[:, n].astype(np.float64))
        with np.errstate(invalid="ignore"):
            between = (column[:-1] + column[1:]) / 2
        candidates = [-np.inf, np.inf, *column, *between[~np.isnan(between)]]
        tried = {c: f1(scores[:, n] > c, Z[:, n]) for c in candidates}
        assert cut.f1_[n] == max(tried.values()) == f1(scores[:, n] > t, Z[:, n])
        best = [np.sum(scores[:, n] > c) for c, value in tried.items() if value == cut.f1_[n]]
        assert np.sum(scores[:, n] > t) == min(best), "of equal F1, the fewest examples"


@given(problems(), st.floats(allow_nan=False))
def test_no_fixed_threshold_beats_scut_in_fit(problem, threshold):
    scores, Z = problem
    predicted = SCut(None).fit(scores, Z).predict(scores).toarray() == 1
    fixed = scores > np.float64(threshold)
    for n in range(scores.shape[1]):
        assert f1(predicted[:, n], Z[:, n]) >= f1(fixed[:, n], Z[:, n])


def test_scut_lies_in_the_middle():
    cut = SCut().fit([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]], [[0, 1], [0, 1], [1, 1]])
    assert cut.thresholds_.tolist() == [3.0, np.nextafter(5.0, 0.0)]
    neighbours = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert SCut().fit(neighbours, [[0], [1]]).predict(neighbours).toarray().tolist() == [[0], [1]]


def test_of_equal_f1_the_highest_threshold_wins():
    cut = SCut().fit([[4.0], [3.0], [2.0], [1.0], [0.0]], [[1], [0], [0], [1], [0]])  # 2/3 for one or for four
    assert cut.thresholds_.tolist() == [3.5]
    assert cut.f1_.tolist() == [2 / 3]


def test_labels_without_positives_are_never_chosen():
    for cut in (SCut(None), SCut(0.5), SCut(0.5, "never"), FixedPCut()):
        assert cut.fit([[1.0], [2.0]], [[0], [0]]).thresholds_.tolist() == [np.inf]


def test_fallback_where_f1_is_poor():
    scores, Z = [[3.0, 4.0], [2.0, 1.0], [1.0, 2.0], [0.5, 3.0]], [[0, 1], [0, 0], [0, 0], [1, 0]]
    below_all = np.nextafter(0.5, 0.0)
    assert SCut(None).fit(scores, Z).thresholds_.tolist() == [below_all, 3.5]
    assert SCut(0.5).fit(scores, Z).thresholds_.tolist() == [3.0, 3.5]
    assert SCut(0.5, "never").fit(scores, Z).thresholds_.tolist() == [np.inf, 3.5]
    assert SCut(0.4).fit(scores, Z).thresholds_.tolist() == [below_all, 3.5], "F1 0.4 is not below 0.4"
    assert SCut(0.5).fit(scores, Z).predict([[3.0, 9.0], [3.1, 0.0]]).toarray().tolist() == [[0, 1], [1, 0]]


@given(problems(infinite))
def test_no_threshold_is_minus_infinity(problem):
    for cut in (SCut(None), SCut(), FixedPCut()):
        assert np.all(cut.fit(*problem).thresholds_ > -np.inf)
    assert GlobalCut().fit(*problem).t_ > -np.inf


def test_a_positive_at_minus_infinity_is_missed_and_pulls_no_threshold_down():
    scores, Z = [[-np.inf], [-1.0], [-2.0]], [[1], [0], [0]]
    assert SCut(None).fit(scores, Z).thresholds_.tolist() == [np.inf]
    assert SCut(0.2).fit(scores, Z).thresholds_.tolist() == [-1.0]
    assert SCut(0.2).fit([[-np.inf], [-np.inf]], [[1], [0]]).thresholds_.tolist() == [np.inf]
    assert SCut().fit([[-np.inf], [3.0], [1.0]], [[1], [1], [0]]).f1_.tolist() == [2 / 3]


# ---------------------------------------------------------------- RCut, PCut, zero


@given(problems(infinite), st.data())
def test_rcut_returns_exactly_t_labels(problem, data):
    scores, Z = problem
    t = data.draw(st.integers(1, scores.shape[1]))
    predicted = RCut(t).fit(scores, Z).predict(scores).toarray()
    order = np.argsort(-scores, axis=1, kind="stable")[:, :t]
    expected = np.zeros_like(predicted)
    np.put_along_axis(expected, order, 1, axis=1)
    np.testing.assert_array_equal(predicted, expected)


@pytest.mark.parametrize(("Z", "t"), [([[0, 0, 0]], 1), ([[1, 1, 1]], 3), ([[1, 1, 0], [1, 0, 0]], 2)])
def test_rcut_takes_the_mean_number_of_labels(Z, t):
    cut = RCut().fit(np.zeros((len(Z), 3)), Z)
    assert cut.t_ == t
    assert RCut().fit(np.zeros((3, 3)), [[1, 1, 0], [1, 0, 0], [1, 0, 0]]).t_ == 1


@given(problems(infinite), st.floats(0.01, 3), st.integers(0, 9))
def test_pcut_counts(problem, x, n_test):
    scores, Z = problem
    test = np.resize(scores, (n_test, scores.shape[1]))
    predicted = PCut(x).fit(scores, Z).predict(test).toarray()
    wanted = np.minimum(n_test, np.floor(x * (Z.sum(axis=0) * n_test) / len(Z) + 0.5))
    for n, k in enumerate(wanted.astype(int)):
        expected = np.zeros(n_test, int)
        expected[np.argsort(-test[:, n], kind="stable")[:k]] = 1
        np.testing.assert_array_equal(predicted[:, n], expected)


@given(problems())
def test_pcut_of_as_many_examples_keeps_the_counts(problem):
    scores, Z = problem
    cut = PCut().fit(scores, Z)
    np.testing.assert_array_equal(cut.predict(scores[::-1]).sum(axis=0), Z.sum(axis=0))


@pytest.mark.parametrize(("n_test", "k"), [(1, 0), (2, 1), (5, 1), (6, 2), (10, 3)])
def test_pcut_rounds_halves_up(n_test, k):
    cut = PCut().fit(np.zeros((4, 1)), [[1], [0], [0], [0]])
    assert cut.predict(np.zeros((n_test, 1))).toarray().ravel().tolist() == [1] * k + [0] * (n_test - k)
    assert PCut(10).fit(np.zeros((4, 1)), [[1], [0], [0], [0]]).predict(np.zeros((n_test, 1))).nnz == n_test


def test_many_columns_are_cut_in_blocks():
    random = np.random.default_rng(0)
    scores, Z = random.normal(size=(40, 200)), random.integers(0, 2, (40, 200))
    whole = PCut().fit(scores, Z).predict(scores).toarray()
    for n in range(200):
        alone = PCut().fit(scores[:, [n]], Z[:, [n]]).predict(scores[:, [n]])
        np.testing.assert_array_equal(alone.toarray(), whole[:, [n]])


@given(problems(infinite))
def test_zero(problem):
    scores, Z = problem
    np.testing.assert_array_equal(Zero().fit(scores, Z).predict(scores).toarray(), scores > 0)


@given(problems(infinite))
def test_global_cut_is_the_best_of_all_candidates(problem):
    scores, Z = problem
    cut = GlobalCut().fit(scores, Z)
    candidates = [-np.inf, *np.unique(scores.astype(np.float64))]
    best = max(f1(scores > c, Z) for c in candidates)
    assert f1(cut.predict(scores).toarray() == 1, Z) == best
    if not best:
        assert cut.t_ == np.inf


def test_a_global_cut_is_given_or_lies_in_the_middle():
    scores, Z = [[3.0, 1.0], [0.0, 2.0]], [[1, 0], [0, 1]]
    assert GlobalCut().fit(scores, Z).t_ == 1.5
    assert GlobalCut(-1).fit(scores, Z).t_ == -1.0
    rounded = np.array([[0.1, 0.2]], np.float32)
    assert GlobalCut(0.1).fit(rounded, [[1, 0]]).predict(rounded).toarray().tolist() == [[1, 1]], "float32(0.1) > 0.1"


@given(problems(distinct, unique=True))
def test_fixed_pcut_keeps_the_counts_of_fit(problem):
    scores, Z = problem
    cut = FixedPCut().fit(scores, Z)
    np.testing.assert_array_equal(cut.predict(scores).toarray(), PCut().fit(scores, Z).predict(scores).toarray())


def test_fixed_pcut_lies_in_the_middle_and_leaves_ties_out():
    inf = np.inf
    scores = [[4.0, 1.0, 1.0, -inf], [1.0, 1.0, 2.0, -inf], [0.0, 1.0, 3.0, 2.0]]
    cut = FixedPCut().fit(scores, [[1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0]])
    assert cut.thresholds_.tolist() == [2.5, 1.0, np.nextafter(1.0, 0.0), np.nextafter(2.0, 0.0)]


# ---------------------------------------------------------------- instance-based


def best_by_hand(scores, Z):
    """Every row's best interval between neighbours, trying all; of several the lowest."""
    found = []
    for row, true in zip(scores.astype(np.float64), Z, strict=True):
        ends = [-np.inf, *np.unique(row), np.inf]
        errors = [np.sum((row > low) != (true == 1)) for low in ends[:-1]]
        k = int(np.argmin(errors))
        found.append((ends[k], ends[k + 1]))
    return np.array(found)


@given(problems())
def test_the_target_is_the_middle_of_the_best_interval(problem):
    scores, Z = problem
    targets, intervals = instance_targets(scores, Z), best_by_hand(scores, Z)
    lower, upper = intervals.T
    both = np.isfinite(intervals).all(axis=1)
    half = (upper - lower)[both].mean() / 2 if both.any() else 1.0
    expected = np.where(both, (lower + upper) / 2, np.where(np.isfinite(lower), lower + half, upper - half))
    np.testing.assert_allclose(targets, expected, rtol=1e-12, atol=1e-12)
    assert np.all(targets[both] >= lower[both])
    assert np.all(targets[both] < upper[both])


def test_the_target_of_a_tie_misses_fewest_labels():
    # Above 2 and between 0 and 1 there is one error each; below 1 the label is found.
    assert instance_targets([[2.0, 1.0, 0.0]], [[0, 1, 0]]).tolist() == [0.5]


def test_targets_where_scores_are_infinite():
    inf = np.inf
    scores = [[-inf, 1.0], [inf, 1.0], [-inf, -inf], [3.0, 1.0], [inf, -inf]]
    targets = instance_targets(scores, [[0, 1], [1, 0], [1, 0], [1, 0], [1, 0]])
    np.testing.assert_array_equal(targets, [0.0, 2.0, np.nan, 2.0, np.nan])
    cut = InstanceBased().fit(scores, [[0, 1], [1, 0], [1, 0], [1, 0], [1, 0]])
    assert np.isfinite(cut.thresholds(scores)).all()
    assert cut.predict(scores).toarray()[4].tolist() == [1, 0]
    nothing = InstanceBased().fit([[-inf, -inf]], [[1, 0]])
    assert (nothing.coef_.tolist(), nothing.intercept_) == ([0.0, 0.0], 0.0)


@given(problems(spread), st.floats(0.01, 100))
def test_the_thresholds_are_those_of_ridge_regression(problem, alpha):
    scores, Z = problem
    cut = InstanceBased(alpha).fit(scores, Z)
    ridge = Ridge(alpha, solver="svd").fit(scores.astype(np.float64), instance_targets(scores, Z))
    np.testing.assert_allclose(cut.thresholds(scores), ridge.predict(scores.astype(np.float64)), rtol=1e-6, atol=1e-6)


@given(problems(spread, min_labels=2), st.data())
def test_top_k_regresses_on_sorted_scores(problem, data):
    scores, Z = problem
    k = data.draw(st.integers(1, scores.shape[1]))
    best = -np.sort(-scores.astype(np.float64), axis=1)[:, :k]
    cut = InstanceBased(top_k=k).fit(scores, Z)
    assert cut.coef_.shape == (k,)
    np.testing.assert_allclose(cut.thresholds(scores), best @ cut.coef_ + cut.intercept_, rtol=1e-12, atol=1e-12)
    ridge = Ridge(1.0, solver="svd").fit(best, instance_targets(scores, Z))
    np.testing.assert_allclose(cut.thresholds(scores), ridge.predict(best), rtol=1e-6, atol=1e-6)


@given(hnp.arrays(np.float64, st.integers(2, 8), elements=spread), st.data())
def test_with_one_label_the_threshold_is_affine_in_its_score(scores, data):
    true = data.draw(hnp.arrays(np.int8, len(scores), elements=st.integers(0, 1)))
    cut = InstanceBased().fit(scores[:, None], true[:, None])
    targets = np.where(true == 1, scores - 1, scores + 1)
    np.testing.assert_array_equal(instance_targets(scores[:, None], true[:, None]), targets)
    centred = scores - scores.mean()
    slope = centred @ (targets - targets.mean()) / (centred @ centred + 1.0)
    expected = targets.mean() + slope * (scores - scores.mean())
    np.testing.assert_allclose(cut.thresholds(scores[:, None]), expected, rtol=1e-9, atol=1e-9)


@given(problems(infinite))
def test_instance_based_chooses_what_exceeds_the_threshold_or_the_best(problem):
    scores, Z = problem
    cut = InstanceBased().fit(scores, Z)
    predicted = cut.predict(scores).toarray()
    for row, chosen, threshold in zip(scores, predicted, cut.thresholds(scores), strict=True):
        above = row > threshold
        if not above.any():
            above[row.argmax()] = True
        np.testing.assert_array_equal(chosen, above)


def test_regression_at_its_limits():
    twins = np.repeat(np.array([[1e9], [2e9], [5e9]]), 3, axis=1)
    cut = InstanceBased(1e-12).fit(twins, [[1, 0, 0], [0, 0, 0], [1, 1, 1]])  # alpha is lost in rounding
    assert np.isfinite(cut.thresholds(twins)).all()
    with pytest.raises(LabelError, match="too large to regress on"):
        InstanceBased().fit([[1e300, -1e300], [-1e300, 1e300]], [[1, 0], [0, 1]])


# ---------------------------------------------------------------- laws of all


@every_strategy
@settings(max_examples=30)
@given(problem=problems(distinct, unique=True), data=st.data())
def test_permuting_labels_permutes_the_answer(cut, problem, data):
    scores, Z = problem
    order = data.draw(st.permutations(range(scores.shape[1])))
    plain = clone(cut).fit(scores, Z)
    other = clone(cut).fit(scores[:, order], Z[:, order])
    if isinstance(cut, InstanceBased):
        np.testing.assert_allclose(other.thresholds(scores[:, order]), plain.thresholds(scores), rtol=1e-6, atol=1e-6)
        # What lies this near its threshold may fall on either side.
        assume(np.abs(scores - plain.thresholds(scores)[:, None]).min() > 1e-3)
    np.testing.assert_array_equal(other.predict(scores[:, order]).toarray(), plain.predict(scores).toarray()[:, order])


@every_strategy
@settings(max_examples=30)
@given(problem=problems(infinite))
def test_labels_may_be_dense_or_sparse_and_nothing_given_is_changed(cut, problem):
    scores, Z = problem
    before = scores.copy(), Z.copy()
    expected = clone(cut).fit(scores, Z).predict(scores)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.ndarray.tolist):
        np.testing.assert_array_equal(clone(cut).fit(scores, form(Z)).predict(scores).toarray(), expected.toarray())
    np.testing.assert_array_equal(scores, before[0])
    np.testing.assert_array_equal(Z, before[1])
    fortran = np.asfortranarray(scores)
    np.testing.assert_array_equal(clone(cut).fit(fortran, Z).predict(fortran).toarray(), expected.toarray())


@every_strategy
@settings(max_examples=30)
@given(problem=problems(infinite))
def test_a_written_strategy_answers_the_same(cut, problem):
    scores, Z = problem
    fitted = clone(cut).fit(scores, Z)
    assert STRATEGIES[cut.name] is type(cut)
    for again in (type(cut).from_dict(fitted.to_dict()), pickle.loads(pickle.dumps(fitted))):
        assert again.get_params() == cut.get_params()
        np.testing.assert_array_equal(again.predict(scores).toarray(), fitted.predict(scores).toarray())


@every_strategy
def test_rows_in_pieces_are_rows_at_once(cut, monkeypatch):
    random = np.random.default_rng(0)
    scores, Z = random.normal(size=(50, 7)), random.integers(0, 2, (50, 7))
    fitted = clone(cut).fit(scores, Z)
    whole = fitted.predict(scores).toarray()
    monkeypatch.setattr(cuts, "CHUNK_SCORES", 21)
    np.testing.assert_array_equal(clone(cut).fit(scores, Z).predict(scores).toarray(), whole)
    if cut.by_row:
        np.testing.assert_array_equal(fitted.predict(scores[11:12]).toarray(), whole[11:12])


@every_strategy
def test_the_answer_is_a_well_formed_matrix(cut):
    fitted = clone(cut).fit([[1, 2, 3], [3, 2, 1]], [[1, 0, 0], [0, 1, 1]])
    for rows in ([[0.5, 2.5, 1.0]], np.zeros((0, 3))):
        found = fitted.predict(rows)
        assert isinstance(found, sparse.csr_array)
        assert found.shape == (len(rows), 3)
        assert found.dtype == np.int8
        assert found.has_canonical_format


# ---------------------------------------------------------------- what is refused


@every_strategy
def test_what_is_no_score_is_refused(cut):
    fitted = clone(cut).fit([[1.0, 2.0], [2.0, 1.0]], [[1, 0], [0, 1]])
    with pytest.raises(LabelError, match="Example 1 has a score that is not a number"):
        fitted.predict([[1.0, 2.0], [np.inf, np.nan], [np.nan, np.nan]])
    with pytest.raises(LabelError, match="Example 0 has a score that is not a number"):
        clone(cut).fit([[np.nan, 2.0]], [[1, 0]])
    with pytest.raises(LabelError, match="was fitted to 2 labels; these scores have 3"):
        fitted.predict([[1.0, 2.0, 3.0]])
    for bad in ([1.0, 2.0], np.zeros((2, 0)), np.zeros((1, 2, 1)), 3.0):
        with pytest.raises(LabelError, match="Scores are an array \\(examples × labels\\)"):
            fitted.predict(bad)
    for bad in ([["a", "b"]], sparse.csr_array((1, 2)), np.zeros((1, 2), complex)):
        with pytest.raises(LabelError, match="Scores are a dense array of numbers"):
            fitted.predict(bad)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        clone(cut).predict([[1.0, 2.0]])
    with pytest.raises(NotFittedError, match="nothing to write"):
        clone(cut).to_dict()


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([[1, 0, 1], [0, 1, 0]], r"needs the shape of the scores, \(2, 2\)"),
        ([1, 0], "needs the shape of the scores"),
        ([[1, 0], [0, 2]], "only 0 and 1; row 1 has 2"),
        ([[1, -1], [0, 1]], "only 0 and 1; row 0 has -1"),
        ([[1, 0.5], [0, 1]], "only 0 and 1; row 0 has 0.5"),
        ([[1, np.nan], [0, 1]], "only 0 and 1; row 0 has nan"),
        ([["a", "b"], ["c", "d"]], "a matrix of 0 and 1; got list"),
        (sparse.csr_array(([1, 1, 1], ([0, 0, 1], [0, 0, 1])), shape=(2, 2)), "only 0 and 1; row 0 has 2"),
    ],
)
def test_what_is_no_matrix_of_labels_is_refused(Z, message):
    with pytest.raises(LabelError, match=message):
        SCut().fit([[1.0, 2.0], [2.0, 1.0]], Z)


def test_no_examples():
    for cut in EVERY:
        with pytest.raises(LabelError, match="at least one example; the scores have 0 rows"):
            clone(cut).fit(np.zeros((0, 2)), np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (RCut(0), "RCut: t must be a whole number from 1 up"),
        (RCut(1.5), "RCut: t must be a whole number from 1 up"),
        (RCut(3), "RCut: t must be at most the number of labels, 2; got 3"),
        (PCut(0), "PCut: x must be a positive number"),
        (PCut(np.inf), "PCut: x must be a positive number"),
        (PCut("1"), "PCut: x must be a positive number"),
        (GlobalCut("0"), "GlobalCut: t must be a number, or None; got '0'"),
        (GlobalCut(True), "GlobalCut: t must be a number"),
        (GlobalCut(np.nan), "GlobalCut: t must be a number"),
        (SCut(0), "SCut: fbr must be above 0 and at most 1"),
        (SCut(1.1), "SCut: fbr must be above 0 and at most 1"),
        (SCut(0.1, "sometimes"), "SCut: fallback must be one of 'highest', 'never'"),
        (InstanceBased(0), "InstanceBased: alpha must be a positive number"),
        (InstanceBased(top_k=0), "InstanceBased: top_k must be a whole number"),
        (InstanceBased(top_k=3), "InstanceBased: top_k must be at most the number of labels, 2"),
    ],
    ids=repr,
)
def test_parameters_outside_what_is_defined(cut, message):
    with pytest.raises(ParameterError, match=message):
        cut.fit([[1.0, 2.0]], [[1, 0]])


DAMAGES = {
    "another strategy's name": {"name": "zero"},
    "an unknown parameter": {"parameters": {"gamma": 1}},
    "no parameters": {"parameters": None},
    "something missing": {"fitted": {"n_labels_": 2}},
    "no number of labels": {"fitted": {"n_labels_": 0, "thresholds_": np.zeros(0), "f1_": np.zeros(0)}},
    "other lengths": {"fitted": {"n_labels_": 2, "thresholds_": np.zeros(3), "f1_": np.zeros(2)}},
    "not a number": {"fitted": {"n_labels_": 1, "thresholds_": np.array([np.nan]), "f1_": np.zeros(1)}},
    "text": {"fitted": {"n_labels_": 1, "thresholds_": np.array(["a"]), "f1_": np.zeros(1)}},
    "a list": {"fitted": {"n_labels_": 1, "thresholds_": [0.0], "f1_": np.zeros(1)}},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_values_are_refused(damage):
    good = SCut().fit([[1.0, 2.0]], [[1, 0]]).to_dict()
    with pytest.raises(ModelFormatError):
        SCut.from_dict({**good, **DAMAGES[damage]})


@pytest.mark.parametrize(
    ("cut", "fitted"),
    [
        (RCut(), {"n_labels_": 2, "t_": 3}),
        (RCut(), {"n_labels_": 2, "t_": "1"}),
        (PCut(), {"n_labels_": 2, "positives_": np.array([1, 5]), "n_examples_": 4}),
        (PCut(), {"n_labels_": 2, "positives_": np.array([1, -1]), "n_examples_": 4}),
        (PCut(), {"n_labels_": 2, "positives_": np.array([1, 1]), "n_examples_": 0}),
        (GlobalCut(), {"n_labels_": 2, "t_": np.nan}),
        (GlobalCut(), {"n_labels_": 2, "t_": "1"}),
        (FixedPCut(), {"n_labels_": 2, "thresholds_": np.zeros(3)}),
        (InstanceBased(), {"n_labels_": 2, "coef_": np.zeros(1), "intercept_": 0.0}),
        (InstanceBased(top_k=3), {"n_labels_": 2, "coef_": np.zeros(3), "intercept_": 0.0}),
        (InstanceBased(), {"n_labels_": 2, "coef_": np.array([0.0, np.inf]), "intercept_": 0.0}),
        (InstanceBased(), {"n_labels_": 2, "coef_": np.zeros(2), "intercept_": np.nan}),
    ],
)
def test_state_that_does_not_fit_is_refused(cut, fitted):
    content = {"name": cut.name, "parameters": cut.get_params(), "fitted": fitted}
    with pytest.raises(ModelFormatError, match="do not fit its number"):
        type(cut).from_dict(content)


def test_a_strategy_reads_as_it_is_written():
    assert repr(SCut(fbr=0.3)) == "SCut(fbr=0.3)"
    assert repr(InstanceBased(top_k=5)) == "InstanceBased(top_k=5)"
    assert SCut(0.1).set_params(fbr=0.3).fbr == 0.3
    assert sorted(STRATEGIES) == ["fixed-pcut", "global", "instance", "pcut", "rcut", "scut", "zero"]
    with pytest.raises(TypeError, match="has no _choose"):
        Strategy().fit([[1.0]], [[1]]).predict([[1.0]])
