"""The places for thresholds: each kernel against its own Python source and against trying every place."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import threshold_levels
from tests.twins import kernels_not_named_in, same_as_python

few_values = st.sampled_from([-np.inf, -1.5, 0.0, 1.0, 2.0, np.inf])


@st.composite
def groups(draw):
    """Scores and 0/1 labels of the same shape, and which side the groups are."""
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 5)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    scores = draw(hnp.arrays(np.float64, shape, elements=few_values)).astype(dtype)
    return scores, draw(hnp.arrays(bool, shape)), draw(st.booleans())


def levels_of(scores, labels, by_row):
    """The kernels' arrays, by the definition."""
    pairs = zip(scores, labels, strict=True) if by_row else zip(scores.T, labels.T, strict=True)
    levels, at_level, start = [], [], [0]
    for group, chosen in pairs:
        values, counts = np.unique(group[chosen & (group > -np.inf)], return_counts=True)
        levels += values.tolist()
        at_level += counts.tolist()
        start.append(len(levels))
    return np.array(start), np.array(levels, dtype=scores.dtype), np.array(at_level, dtype=np.int64)


def places(group):
    """Every interval [lower, upper) of thresholds that choose the same of a group's scores, from the top down."""
    ends = [-np.inf, *np.unique(group[np.isfinite(group)]).tolist()]
    ends += [np.inf] if group.max() == np.inf else []
    intervals = [*pairwise(ends)]
    return [(group.max(), np.inf), *reversed(intervals)]


@given(groups())
def test_count_between(problem):
    scores, labels, by_row = problem
    start, levels, _ = levels_of(scores, labels, by_row)
    count, top = same_as_python(threshold_levels.count_between, scores, start, levels, by_row)
    assert top.dtype == scores.dtype
    for g, group in enumerate(scores if by_row else scores.T):
        ends = [-np.inf, *levels[start[g] : start[g + 1]].tolist(), None]
        for k, (low, high) in enumerate(pairwise(ends)):
            inside = group[(group >= low) & (True if high is None else group < high)]
            assert count[start[g] + g + k] == len(inside)
            assert top[start[g] + g + k] == (inside.max() if len(inside) else -np.inf)


@given(groups())
def test_best_f1(problem):
    scores, labels, by_row = problem
    start, levels, at_level = levels_of(scores, labels, by_row)
    positives = labels.sum(axis=1 if by_row else 0)
    counted = threshold_levels.count_between(scores, start, levels, by_row)
    lower, upper, best = same_as_python(threshold_levels.best_f1, start, levels, at_level, positives, *counted)
    for g, (group, chosen) in enumerate(zip(*((scores, labels) if by_row else (scores.T, labels.T)), strict=True)):
        tried = {}
        for low, high in places(group):
            on = group > low
            if (on & chosen).any():
                tried[low, high] = 2 * (on & chosen).sum() / (on.sum() + chosen.sum())
        assert best[g] == max(tried.values(), default=0)
        highest = next((place for place, f1 in tried.items() if f1 == best[g]), (np.inf, np.inf))
        assert (lower[g], upper[g]) == highest


@given(groups())
def test_fewest_errors(problem):
    scores, labels, by_row = problem
    start, levels, at_level = levels_of(scores, labels, by_row)
    positives = labels.sum(axis=1 if by_row else 0)
    counted = threshold_levels.count_between(scores, start, levels, by_row)
    lower, upper, fewest = same_as_python(threshold_levels.fewest_errors, start, levels, at_level, positives, *counted)
    for g, (group, chosen) in enumerate(zip(*((scores, labels) if by_row else (scores.T, labels.T)), strict=True)):
        tried = {place: np.count_nonzero((group > place[0]) != chosen) for place in places(group)}
        assert fewest[g] == min(tried.values())
        *_, lowest = (place for place, errors in tried.items() if errors == fewest[g])
        assert (lower[g], upper[g]) == lowest


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, threshold_levels) == []
