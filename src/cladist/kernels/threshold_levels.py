"""Where to cut scores into labels: the best interval for a threshold.

A group is a column of scores (a label) or a row (an example). Its levels are the distinct scores of its positives,
ascending: of all places for a threshold, only those right below a level, and the one above everything, can be best,
since lowering it further only adds negatives. So a group is never sorted as a whole: its scores are counted between
its levels.

Levels stand one group after the other, group g's at start[g] : start[g + 1]. It has one gap more than levels; the gap
below its level k is number k + g, the one above its highest level start[g + 1] + g.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel


@kernel
def count_between(scores, start, levels, by_row):
    """Return how many scores lie in each gap, its lower level included, and the highest of them (−inf: none).

    Groups are the rows of `scores`, or its columns. Cost O(scores · log levels of a group).
    """
    n_gaps = levels.shape[0] + start.shape[0] - 1
    count = np.zeros(n_gaps, np.int64)
    top = np.full(n_gaps, -np.inf, scores.dtype)
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            g = i if by_row else j
            score = scores[i, j]
            low, high = start[g], start[g + 1]
            while low < high:
                middle = (low + high) // 2
                if levels[middle] <= score:
                    low = middle + 1
                else:
                    high = middle
            count[low + g] += 1
            top[low + g] = max(top[low + g], score)
    return count, top


@kernel
def best_f1(start, levels, at_level, positives, between, top):
    """Return each group's interval [lower, upper) of thresholds with the highest F1, and that F1.

    at_level: how many positives have each level as their score; positives: how many a group has in all; between, top:
    what `count_between` gave. Of equal F1 the highest interval wins; where every F1 is 0, the interval is [inf, inf).
    """
    n_groups = start.shape[0] - 1
    lower = np.full(n_groups, np.inf)
    upper = np.full(n_groups, np.inf)
    best = np.zeros(n_groups)
    for g in range(n_groups):
        n_hits = n_above = 0  # positives, and all scores, from level k up
        for k in range(start[g + 1] - 1, start[g] - 1, -1):
            n_hits += at_level[k]
            n_above += between[k + g + 1]
            f1 = 2 * n_hits / (n_above + positives[g])
            if f1 > best[g]:
                best[g] = f1
                lower[g], upper[g] = top[k + g], levels[k]
    return lower, upper, best


@kernel
def fewest_errors(start, levels, at_level, positives, between, top):
    """Return each group's interval [lower, upper) of thresholds t with the fewest errors, and their number.

    Errors are positives ≤ t and negatives > t. Of equally good intervals the lowest wins, which misses fewest positives
    and so has the highest F1; −inf and inf are open ends.
    """
    n_groups = start.shape[0] - 1
    lower = np.empty(n_groups)
    upper = np.full(n_groups, np.inf)
    fewest = positives.copy()
    for g in range(n_groups):
        lower[g] = top[start[g + 1] + g]
        errors = positives[g]
        for k in range(start[g + 1] - 1, start[g] - 1, -1):
            errors += between[k + g + 1] - 2 * at_level[k]
            if errors <= fewest[g]:
                fewest[g] = errors
                lower[g], upper[g] = top[k + g], levels[k]
    return lower, upper, fewest
