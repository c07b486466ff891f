"""Levels: the distinct scores of positives, between which thresholds lie, and how many scores lie between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import threshold_levels

Counts = npt.NDArray[np.int64]


class Levels(NamedTuple):
    """The arguments of the kernels `best_f1` and `fewest_errors`."""

    start: Counts
    levels: npt.NDArray[Any]
    at_level: Counts
    positives: Counts
    between: Counts
    top: npt.NDArray[Any]


def count_levels(scores: npt.NDArray[Any], labels: sparse.csr_array, *, by_row: bool) -> Levels:
    """Return the distinct scores of the positives of each row or column, and the counts of all its scores between them.

    Cost O(scores · log P) for P positives per group; memory O(positives + groups) beside the scores.
    """
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(labels.indptr))
    group, values = (rows if by_row else labels.indices), scores[rows, labels.indices]
    n_groups = scores.shape[0 if by_row else 1]
    positives = np.bincount(group, minlength=n_groups)
    # A score of −inf exceeds no threshold: such a positive is missed by every threshold.
    group, values = group[values > -np.inf], values[values > -np.inf]
    order = np.lexsort((values, group))
    group, values = group[order], values[order]
    is_new = np.ones(len(group), bool)
    is_new[1:] = (np.diff(group) != 0) | (values[1:] != values[:-1])
    first = np.flatnonzero(is_new)
    start = np.concatenate([[0], np.cumsum(np.bincount(group[first], minlength=n_groups))])
    at_level = np.diff(first, append=len(group))
    return Levels(
        start, values[first], at_level, positives, *threshold_levels.count_between(scores, start, values[first], by_row)
    )


def middle(lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the middle of each [lower, upper); the highest number in it where it is open below.

    Where no number lies strictly between, or none is in the middle (upper is inf), it is `lower`, which is inside.
    """
    with np.errstate(invalid="ignore"):
        halves = lower / 2 + upper / 2  # their sum might overflow
    halves = np.where(lower == -np.inf, np.nextafter(upper, -np.inf), halves)
    return np.where((lower <= halves) & (halves < upper), halves, lower)
