"""The best few of very many classes: a heap of those found so far, and exact scores through an inverted index.

A heap keeps ids and their scores, the worst at place 0; of equal scores the higher id is the worse. NaN counts as −∞.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.scoring import find_feature


@kernel
def is_worse(score, number, other_score, other):
    """Tell whether an id ranks below another."""
    return score < other_score or (score == other_score and number > other)


@kernel
def sift_down(scores, ids, size, place):
    """Move what is at a place down the heap until nothing below it is worse."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and is_worse(scores[child + 1], ids[child + 1], scores[child], ids[child]):
            child += 1
        if not is_worse(scores[child], ids[child], scores[place], ids[place]):
            return
        scores[child], scores[place] = scores[place], scores[child]
        ids[child], ids[place] = ids[place], ids[child]
        place = child


@kernel
def keep_best(scores, ids, size, score, number):
    """Put an id into a heap if there is room, or in place of the worst if that is worse; return the heap's size."""
    if not score > -np.inf:
        score = np.float32(-np.inf)
    if size < scores.shape[0]:
        place = size
        while place > 0:
            above = (place - 1) // 2
            if not is_worse(score, number, scores[above], ids[above]):
                break
            scores[place], ids[place] = scores[above], ids[above]
            place = above
        scores[place], ids[place] = score, number
        return size + 1
    if size and is_worse(scores[0], ids[0], score, number):
        scores[0], ids[0] = score, number
        sift_down(scores, ids, size, 0)
    return size


@kernel
def sort_best(scores, ids, size):
    """Sort a heap in place, the best first."""
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        ids[0], ids[last] = ids[last], ids[0]
        sift_down(scores, ids, last, 0)


@kernel
def score_nodes(rows, i, index, bias, parent, scores):
    """Write the scores of all nodes for a row, each its own sum and that of its parent, which comes before it.

    Returns whether the index kept within the nodes there are; what points elsewhere is passed by.
    """
    indptr, indices, data = rows
    features, starts, nodes, values = index
    n_nodes, at, sound = np.uint64(scores.shape[0]), 0, True
    scores[:] = bias
    for p in range(indptr[i], indptr[i + 1]):
        at = find_feature(features, indices[p], at)
        if at == features.shape[0]:
            break
        if features[at] == indices[p]:
            x = np.float32(data[p])
            for q in range(starts[at], starts[at + 1]):
                node = nodes[q]
                if np.uint64(node) < n_nodes:
                    scores[node] += x * values[q]
                else:
                    sound = False
    for v in range(parent.shape[0]):
        if parent[v] >= 0:
            scores[v] += scores[parent[v]]
    return sound


@kernel
def score_rows(rows, first, index, bias, parent, scores):
    """Write the scores of all nodes for the rows from `first` on; return whether the index is sound."""
    sound = True
    for r in range(scores.shape[0]):
        sound &= score_nodes(rows, first + r, index, bias, parent, scores[r])
    return sound


@kernel
def sort_rows(scores, ids, sizes):
    """Sort the heap of every row."""
    for r in range(sizes.shape[0]):
        sort_best(scores[r], ids[r], sizes[r])


@kernel
def top_by_index(rows, first, index, tree, scores, best_scores, best):
    """Write the best classes of the rows from `first` on, one row of `best` each; return whether the index is sound.

    `tree` is (bias, parent, class_of) of all nodes: no parents where nodes share nothing, class −1 of inner nodes.
    """
    bias, parent, class_of = tree
    sound = True
    for r in range(best.shape[0]):
        sound &= score_nodes(rows, first + r, index, bias, parent, scores)
        kept, ids = best_scores[r], best[r]
        size, k, lowest = 0, kept.shape[0], np.float32(-np.inf)
        for v in range(scores.shape[0]):
            # Few scores get past this look: it costs less than a heap that says no.
            if class_of[v] >= 0 and not (size == k and scores[v] < lowest):
                size = keep_best(kept, ids, size, scores[v], class_of[v])
                lowest = kept[0]
        sort_best(kept, ids, size)
    return sound
