"""Kernels of second-best labellings and margins: each against its own Python source and its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import labelling, runner_up
from tests.kernels.test_labelling import tiles
from tests.strategies import consistent_sets, parent_arrays
from tests.twins import kernels_not_named_in, same_as_python


@st.composite
def small_tiles(draw):
    """Parents, scores (nodes × examples) in halves, and a consistent labelling of every example, as marks."""
    parent = draw(parent_arrays(max_nodes=7))
    size = draw(st.integers(1, 5))
    elements = st.integers(-4, 4).map(lambda k: k / 2)
    scores = draw(hnp.arrays(draw(st.sampled_from([np.float32, np.float64])), (len(parent), size), elements=elements))
    every = consistent_sets(parent)
    chosen = draw(st.lists(st.integers(0, len(every) - 1), min_size=size, max_size=size))
    return parent, scores, np.ascontiguousarray(every[chosen].T).astype(np.uint8)


def integers_like(scores, size):
    return np.full(size, -7, np.int32 if scores.dtype == np.float32 else np.int64)


def margins_of(parent, scores):
    gains = scores.copy()
    labelling.add_gains(gains, parent)
    margins = np.zeros_like(gains)
    runner_up.margins_from_gains(gains, parent, margins)
    return gains, margins


def side_of(parent, y):
    above = np.where((parent < 0)[:, None], 1, y[parent])
    return np.where(y == 1, 1, -above.astype(np.int8)).astype(np.int8)


@given(tiles())
def test_margins_and_the_first_of_the_least(case):
    parent, scores = case
    gains = scores.copy()
    labelling.add_gains(gains, parent)
    *_, margins = same_as_python(runner_up.margins_from_gains, gains, parent, np.full_like(gains, 9))
    _, least = same_as_python(runner_up.least_margins, margins, np.zeros(scores.shape[1], scores.dtype))
    np.testing.assert_array_equal(least, np.abs(margins).min(axis=0))
    switch = integers_like(scores, scores.shape[1])
    _, again, switch = same_as_python(runner_up.first_least, margins, np.zeros_like(least), switch)
    np.testing.assert_array_equal(again, least)
    np.testing.assert_array_equal(switch, np.abs(margins).argmin(axis=0))


@given(tiles())
def test_rows_of_a_tile(case):
    _, scores = case
    a, b, zero = scores[0], scores[-1][::-1].copy(), scores.dtype.type(0)
    *_, margin, _ = same_as_python(runner_up.margins_below, a, b, np.full_like(a, 9), zero)
    np.testing.assert_array_equal(margin, np.where(b > 0, np.minimum(a, b), b + np.minimum(a, 0)))
    least = np.abs(a)
    _, kept = same_as_python(runner_up.keep_least, b, least)
    np.testing.assert_array_equal(kept, np.minimum(least, np.abs(b)))
    _, _, kept, switch = same_as_python(runner_up.keep_first_least, b, 5, least, integers_like(scores, len(a)))
    np.testing.assert_array_equal(kept, np.minimum(least, np.abs(b)))
    np.testing.assert_array_equal(switch, np.where(np.abs(b) < least, 5, -7))
    sign = np.resize(np.array([1, -1, 0], np.int8), len(a))
    _, _, short, _ = same_as_python(runner_up.add_shortfall, b, sign, least, zero)
    np.testing.assert_array_equal(short, least + np.maximum(-b * sign, 0))


@given(small_tiles())
def test_switching_and_keeping(case):
    parent, scores, y = case
    gains, margins = margins_of(parent, scores)
    on = np.zeros(scores.shape, np.uint8)
    labelling.mark_tile(gains, parent, np.zeros(len(parent)), on)
    *_, kept = same_as_python(runner_up.keep_equal, on, y, np.abs(margins).argmin(axis=0))
    np.testing.assert_array_equal(kept, np.where((on == y).all(axis=0), np.abs(margins).argmin(axis=0), -1))
    switched, _ = same_as_python(runner_up.switch_gains, gains, kept)
    differs = (switched > 0) != (gains > 0)
    np.testing.assert_array_equal(differs, np.arange(len(parent))[:, None] == kept)


@given(small_tiles(), st.booleans(), st.booleans())
def test_second_rows(case, node_major, with_y):
    parent, scores, y = case
    given_scores = scores if node_major else np.ascontiguousarray(scores.T)
    n = scores.shape[1]
    indptr, indices = np.zeros(0, np.int64), np.zeros(0, np.int32)
    if with_y:
        indptr, indices = np.append(0, np.cumsum(y.sum(axis=0), dtype=np.int64)), np.nonzero(y.T)[1].astype(np.int32)
        *_, marks = same_as_python(runner_up.load_marks, indptr, indices, 0, np.full(y.shape, 5, np.uint8))
        np.testing.assert_array_equal(marks, y)
    like = integers_like(scores, 0)
    ends, nodes, leads, wrong = same_as_python(
        runner_up.second_rows, given_scores, node_major, parent, like, indptr, indices
    )
    assert wrong == -1
    every = consistent_sets(parent)
    for t in range(n):
        found = np.isin(np.arange(len(parent)), nodes[ends[t] : ends[t + 1]])
        totals = np.sort(every @ scores[:, t].astype(float))
        assert leads[t] == totals[-1] - totals[-2]
        others = every[(every != y[:, t]).any(axis=1)]
        expected = (others @ scores[:, t]).max() if with_y else totals[-2]
        assert found @ scores[:, t] == expected
        assert not with_y or (found != y[:, t]).any()


def test_second_rows_tells_of_nan():
    scores = np.zeros((600, 2))
    scores[300, 1] = np.nan
    like = np.zeros(0, np.int64)
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int32)
    for case in (scores, scores[:4]):
        *_, wrong = same_as_python(runner_up.second_rows, case, False, np.array([-1, 0]), like, *nothing)
        assert wrong == (300 if len(case) > 300 else -1)


@given(small_tiles())
def test_margins_against_the_runner_up(case):
    parent, scores, y = case
    n, every = scores.shape[1], consistent_sets(parent)
    side = side_of(parent, y)
    out = np.full(n, 77.0)
    *_, margins = same_as_python(runner_up.margin_rows, scores, parent, side, 0, n, out)
    for t in range(n):
        others = every[(every != y[:, t]).any(axis=1)]
        assert margins[t] == 2 * min((y[:, t].astype(float) - others) @ scores[:, t])
        difference = np.full(len(parent), 9.0)
        for kernel in (runner_up.runner_up_of, runner_up.runner_up_of.py_func):
            assert kernel(scores[:, t].copy(), parent, y[:, t].copy(), difference) == margins[t]
            z = y[:, t] - difference / 2
            assert np.any(difference)
            assert any(np.array_equal(z, other) for other in every)


def test_margins_over_several_tiles_and_parts():
    rng = np.random.default_rng(0)
    n = 2 * labelling.TILE + 5
    parent = np.array([-1, 0, 0, 1, -1])
    scores = rng.normal(size=(5, n))
    side = side_of(parent, np.ones((5, n), np.uint8))
    *_, whole = same_as_python(runner_up.margin_rows, scores, parent, side, 0, n, np.zeros(n))
    parts = np.zeros(n)
    for first in range(0, n, 100):
        runner_up.margin_rows(scores, parent, side, first, min(first + 100, n), parts)
    np.testing.assert_array_equal(parts, whole)


def test_every_kernel_has_its_test():
    assert kernels_not_named_in(__file__, runner_up) == []
