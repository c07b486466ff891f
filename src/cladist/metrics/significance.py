"""Paired significance tests of two methods, and bootstrap intervals.

The tests compare one number per row of each method, such as ``tree_induced_error(..., reduction="none")``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from cladist.errors import ParameterError
from cladist.metrics.bootstrap import Interval, bootstrap_difference, bootstrap_interval

__all__ = [
    "FriedmanTest",
    "Interval",
    "PairedTest",
    "bootstrap_difference",
    "bootstrap_interval",
    "friedman_test",
    "mcnemar_test",
    "sign_test",
    "wilcoxon_test",
]

# With fewer discordant pairs the χ² distribution approximates the binomial one poorly; the usual limit.
FEWEST_FOR_CHI_SQUARE = 25


class PairedTest(NamedTuple):
    """A two-sided test: the statistic, the p-value, and the number of rows on which the methods differ."""

    statistic: float
    p_value: float
    n: int


class FriedmanTest(NamedTuple):
    """A test of several methods on several data sets.

    Attributes
    ----------
    statistic, p_value : float
        Friedman's χ² of the ranks, and how likely one as large is if all methods are alike.
    mean_ranks : tuple of float
        The mean rank of each method over the data sets; the best has rank 1.
    critical_difference : float
        Nemenyi: two methods whose mean ranks differ by more differ significantly, all pairs together.
    """

    statistic: float
    p_value: float
    mean_ranks: tuple[float, ...]
    critical_difference: float


def friedman_test(scores: Any, *, level: float = 0.95) -> FriedmanTest:
    """Test whether methods differ over several data sets, with the critical difference of Nemenyi (Demšar 2006).

    Parameters
    ----------
    scores : array (data sets × methods)
        One score per data set of each method; more is better.
    level : float
        The probability with which no pair of equal methods differs by more than the critical difference.

    Examples
    --------
    >>> test = friedman_test([[0.9, 0.7, 0.8], [0.8, 0.6, 0.7], [0.7, 0.6, 0.5], [0.9, 0.5, 0.6]])
    >>> test.mean_ranks, round(test.p_value, 3), round(test.critical_difference, 2)
    ((1.0, 2.75, 2.25), 0.039, 1.66)
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2 or not np.isfinite(values).all():
        raise ParameterError("scores must be finite numbers of at least 2 data sets × 2 methods.")
    if not 0 < level < 1:
        raise ParameterError(f"level must lie between 0 and 1; got {level!r}.")
    n, k = values.shape
    ranks = stats.rankdata(-values, axis=1)
    means = ranks.mean(axis=0)
    spread = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1))  # k(k + 1)/12 without ties
    statistic = float(n * ((means - (k + 1) / 2) ** 2).sum() / spread) if spread else 0.0
    quantile = float(stats.studentized_range.ppf(level, k, np.inf)) / np.sqrt(2)
    critical = quantile * np.sqrt(k * (k + 1) / (6 * n))
    return FriedmanTest(statistic, float(stats.chi2.sf(statistic, k - 1)), tuple(means.tolist()), float(critical))


def sign_test(a: Any, b: Any) -> PairedTest:
    """Test whether a and b are equally often the larger one; ties are left out.

    The statistic is how often a is larger; p is exact (binomial), and 1 if no row differs.

    Parameters
    ----------
    a, b : arrays of shape (n_rows,)
        One number per row of each method.

    Examples
    --------
    >>> sign_test([2, 4, 1, 3, 2, 2], [0, 2, 0, 1, 2, 1])
    PairedTest(statistic=5.0, p_value=0.0625, n=5)
    """
    difference = _nonzero_differences(a, b)
    return _test_binomial(int((difference > 0).sum()), len(difference))


def wilcoxon_test(a: Any, b: Any) -> PairedTest:
    """Test whether a − b is distributed symmetrically about zero (signed ranks); zeros are left out.

    The statistic is the smaller sum of signed ranks. p is exact or from the normal approximation, as
    `scipy.stats.wilcoxon` chooses; 1 if no row differs.

    Parameters
    ----------
    a, b
        As in `sign_test`.

    Examples
    --------
    >>> wilcoxon_test([2, 4, 1, 3, 2, 2], [0, 1, 0, -1, 2, 1.5])
    PairedTest(statistic=0.0, p_value=0.0625, n=5)
    """
    difference = _nonzero_differences(a, b)
    if not len(difference):
        return PairedTest(0.0, 1.0, 0)
    result = stats.wilcoxon(difference)
    return PairedTest(float(result.statistic), float(result.pvalue), len(difference))


def mcnemar_test(correct_a: Any, correct_b: Any) -> PairedTest:
    """Test whether two methods are correct equally often, on the same rows.

    Only discordant rows count, on which exactly one method is correct. With fewer than 25 of them p is exact (binomial)
    and the statistic is the smaller of the two discordant counts, b and c; with more the statistic is
    ``(|b − c| − 1)² / (b + c)``, χ² with one degree of freedom and continuity correction.

    Parameters
    ----------
    correct_a, correct_b : arrays of shape (n_rows,)
        Whether each method is correct, as booleans or 0/1.

    Examples
    --------
    >>> mcnemar_test([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0])
    PairedTest(statistic=0.0, p_value=0.0625, n=5)
    """
    right_a, right_b = _check_pair(correct_a, correct_b, "correct_a", "correct_b")
    for name, values in (("correct_a", right_a), ("correct_b", right_b)):
        if not np.all((values == 0) | (values == 1)):
            raise ParameterError(f"{name} must say right or wrong, as booleans or 0/1; got other values.")
    only_a, only_b = int((right_a > right_b).sum()), int((right_b > right_a).sum())
    n = only_a + only_b
    if n < FEWEST_FOR_CHI_SQUARE:
        return _test_binomial(min(only_a, only_b), n)
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / n
    return PairedTest(statistic, float(stats.chi2.sf(statistic, 1)), n)


def _test_binomial(k: int, n: int) -> PairedTest:
    p_value = float(stats.binomtest(k, n, 0.5).pvalue) if n else 1.0
    return PairedTest(float(k), p_value, n)


def _nonzero_differences(a: Any, b: Any) -> npt.NDArray[np.float64]:
    """Return a − b where they differ."""
    first, second = _check_pair(a, b, "a", "b")
    difference = first - second
    return difference[difference != 0]


def _check_pair(a: Any, b: Any, name_a: str, name_b: str) -> list[npt.NDArray[np.float64]]:
    arrays = [np.asarray(a), np.asarray(b)]
    for name, array in zip((name_a, name_b), arrays, strict=True):
        if array.dtype.kind not in "biuf" or array.ndim != 1 or not np.isfinite(array).all():
            raise ParameterError(f"{name} must be one finite number per row, in a 1-D array.")
    if len(arrays[0]) != len(arrays[1]):
        raise ParameterError(
            f"{name_a} has {len(arrays[0])} values and {name_b} has {len(arrays[1])}; "
            "a paired test needs both for every row."
        )
    return [array.astype(np.float64) for array in arrays]
