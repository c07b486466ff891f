"""The k best of very many classes: a heap of the best so far, and exact scores through an inverted index.

A heap holds ids and their scores, the worst at position 0; of equal scores the higher id is worse. NaN counts as −∞.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.linear_scores import find_feature

TILE = 2048  # nodes scored at once: their scores for a row, and their weights, fit the nearest caches


@kernel
def is_worse(score, number, other_score, other):
    """Tell whether an id ranks below another."""
    return score < other_score or (score == other_score and number > other)


@kernel
def sift_down(scores, ids, size, position):
    """Move an entry down the heap until nothing below it is worse."""
    while True:
        child = 2 * position + 1
        if child >= size:
            return
        if child + 1 < size and is_worse(scores[child + 1], ids[child + 1], scores[child], ids[child]):
            child += 1
        if not is_worse(scores[child], ids[child], scores[position], ids[position]):
            return
        scores[child], scores[position] = scores[position], scores[child]
        ids[child], ids[position] = ids[position], ids[child]
        position = child


@kernel
def keep_best(scores, ids, size, score, number):
    """Put an id into a heap if there is room, or replace the worst if that is worse; return the size of the heap."""
    if not score > -np.inf:
        score = np.float32(-np.inf)
    if size < scores.shape[0]:
        position = size
        while position > 0:
            above = (position - 1) // 2
            if not is_worse(score, number, scores[above], ids[above]):
                break
            scores[position], ids[position] = scores[above], ids[above]
            position = above
        scores[position], ids[position] = score, number
        return size + 1
    if size and is_worse(scores[0], ids[0], score, number):
        scores[0], ids[0] = score, number
        sift_down(scores, ids, size, 0)
    return size


@kernel
def sort_best(scores, ids, size):
    """Sort a heap in position, the best first."""
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        ids[0], ids[last] = ids[last], ids[0]
        sift_down(scores, ids, last, 0)


@kernel
def sort_rows(scores, ids, sizes):
    """Sort the heap of every row."""
    for r in range(sizes.shape[0]):
        sort_best(scores[r], ids[r], sizes[r])


@kernel
def add_tile(x, nodes, values, at, end, first, scores):
    """Add x times a list's weights to the scores of a tile of nodes that begins with `first`, from `at` on.

    Returns where the list continues in the next tile, and whether all its nodes exist.
    """
    sound, size = True, np.uint64(scores.shape[0])
    while at < end and nodes[at] < first + scores.shape[0]:
        if np.uint64(nodes[at] - first) < size:
            scores[nodes[at] - first] += x * values[at]
        else:
            sound = False
        at += 1
    return at, sound


@kernel
def find_lists(rows, first, index, lists, ends):
    """Write where the list of every nonzero's feature begins and ends, or −1 − its row of `dense`."""
    indptr, indices, _ = rows
    features, starts, _, _, whole = index
    for r in range(first, first + ends.shape[0]):
        at = 0
        for p in range(indptr[r], indptr[r + 1]):
            to = p - indptr[first]
            at = find_feature(features, indices[p], at)
            if at == features.shape[0] or features[at] != indices[p]:
                lists[to, 0], lists[to, 1] = 0, 0
            elif whole[at] >= 0:
                lists[to, 0], lists[to, 1] = -1 - whole[at], 0
            else:
                lists[to, 0], lists[to, 1] = starts[at], starts[at + 1]
        ends[r - first] = indptr[r + 1] - indptr[first]


@kernel
def top_by_index(rows, first, index, tree, dense, room, best_scores, best):
    """Write the best classes of the rows from `first` on, one row of `best` each; return whether the index is sound.

    An `index` is that of `cladist.kernels.linear_scores` and, for each feature, the row of `dense` that has its weights
    of all nodes, or −1. `tree` is (bias, parent, class_of) of all nodes: no parents if nodes share nothing, class −1
    for inner nodes. `room` are (scores of all rows and nodes, two numbers per nonzero, one per row). A tile is scored
    for all rows before the next, so that its weights stay in the cache.
    """
    bias, parent, class_of = tree
    scores, lists, ends = room
    nodes, values = index[2], index[3]
    find_lists(rows, first, index, lists, ends)
    sizes, sound = np.zeros(best.shape[0], np.int64), True
    for start in range(0, bias.shape[0], TILE):
        stop = min(bias.shape[0], start + TILE)
        for r in range(best.shape[0]):
            tile = scores[r, start:stop]
            tile[:] = bias[start:stop]
            for to in range(ends[r - 1] if r > 0 else 0, ends[r]):
                x = np.float32(rows[2][rows[0][first] + to])
                if lists[to, 0] < 0:
                    weights = dense[-1 - lists[to, 0], start:stop]
                    for v in range(tile.shape[0]):
                        tile[v] += x * weights[v]
                elif lists[to, 0] < lists[to, 1]:
                    lists[to, 0], is_within = add_tile(x, nodes, values, lists[to, 0], lists[to, 1], start, tile)
                    sound &= is_within
            if parent.shape[0]:
                add_parents(parent, start, scores[r], tile)
            sizes[r] = keep_best_of(tile, class_of[start:stop], best_scores[r], best[r], sizes[r])
    for to in range(ends[-1] if best.shape[0] else 0):
        sound &= lists[to, 0] < 0 or lists[to, 0] == lists[to, 1]  # else a list has nodes beyond the last
    sort_rows(best_scores, best, sizes)
    return sound


@kernel
def add_parents(parent, start, scores, tile):
    """Add to the scores of a tile of nodes, which begins at `start`, those of their parents."""
    for v in range(tile.shape[0]):
        if parent[start + v] >= 0:
            tile[v] += scores[parent[start + v]]


@kernel
def keep_best_of(scores, class_of, best_scores, ids, size):
    """Put those nodes that are classes into a heap; return its size."""
    for v in range(scores.shape[0]):
        # Few scores pass this comparison, which costs less than a call of keep_best.
        if class_of[v] >= 0 and not (size == best_scores.shape[0] and scores[v] < best_scores[0]):
            size = keep_best(best_scores, ids, size, scores[v], class_of[v])
    return size
