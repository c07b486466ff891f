"""Beam search down a tree: each step expands the nodes of highest upper bound of every row.

Nodes are numbered so that the children of one node are adjacent. Up to 128 children make a chunk; its weights are
listed by feature, `features` and where the list of each `ends`, and each weight has the `lane` of its child. Lanes from
128 on hold the children's bounds: the most that a path below a child can gain by a feature. The upper bound of a node
is the sum of all positive contributions to it and to the nodes above it, and of its bound.

Files may hold anything: lanes are single bytes and sums have room for as many, ends are cut to the chunk, and a feature
is only used as a position after its range is checked.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.linear_scores import find_feature
from cladist.kernels.top_k import keep_best

CHILDREN = 128  # the most that a chunk has
LANES = 2 * CHILDREN  # as many as a byte can number: children, and their bounds
SEARCH_COST = 6  # features that could be put into a table in the time of one search in a chunk


@kernel
def weights_of(q, ends, n_weights):
    """Return where the weights of a chunk's q-th feature begin and end, within the chunk even if `ends` are not."""
    first = min(np.int64(ends[q - 1]), n_weights) if q > 0 else 0
    return first, min(np.int64(ends[q]), n_weights)


@kernel
def add_weights(x, q, ends, lanes, values, with_bounds, sums, gains):
    """Add the products of x, the value of the q-th feature, to all lanes, and the positive ones to `gains`."""
    first, last = weights_of(q, ends, lanes.shape[0])
    for e in range(first, last):
        product = x * values[e]
        sums[lanes[e]] += product
        if with_bounds and product > 0:
            gains[lanes[e]] += product


@kernel
def sum_by_search(rows, i, features, chunk, with_bounds, sums, gains):
    """Add the products of a row to all lanes, with a search for each of its features."""
    indptr, indices, data = rows
    ends, lanes, values = chunk
    at = 0
    for p in range(indptr[i], indptr[i + 1]):
        at = find_feature(features, indices[p], at)
        if at == features.shape[0]:
            break
        if features[at] == indices[p]:
            add_weights(np.float32(data[p]), at, ends, lanes, values, with_bounds, sums, gains)


@kernel
def sum_by_table(rows, i, table, chunk, with_bounds, sums, gains):
    """Add the products of a row to all lanes; `table` has 1 + the position of each feature, or 0."""
    indptr, indices, data = rows
    ends, lanes, values = chunk
    for p in range(indptr[i], indptr[i + 1]):
        q = table[indices[p]]
        if q > 0:
            add_weights(np.float32(data[p]), q - 1, ends, lanes, values, with_bounds, sums, gains)


@kernel
def note_features(features, table):
    """Write the positions of a chunk's features into a table; return whether all features exist."""
    sound, n_features = True, np.uint64(table.shape[0])
    for q in range(features.shape[0]):
        if np.uint64(features[q]) < n_features:
            table[features[q]] = q + 1
        else:
            sound = False
    return sound


@kernel
def forget_features(features, table):
    """Clear the entries of `note_features`."""
    n_features = np.uint64(table.shape[0])
    for q in range(features.shape[0]):
        if np.uint64(features[q]) < n_features:
            table[features[q]] = 0


@kernel
def expand(rows, pairs, order, chunks, weights, table, with_bounds, results):
    """Score the children of every pair of a row and a node; return whether the weights are sound.

    `pairs` are (rows, nodes, scores, gains, where the results of the children go); `order` sorts them by node, so that
    a chunk is read once. `chunks` are (first chunk below each node, preceded by that of the roots, first node of each
    chunk, where its features and its weights begin, bias of each node). `results` are (children, scores, gains, upper
    bounds); the last two are written only `with_bounds`.
    """
    of_row, of_node = pairs[0], pairs[1]
    first_chunk, first_node, features_at, weights_at, bias = chunks
    features, ends, lanes, values = weights
    sums, gains = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
    sound, start = True, 0
    while start < order.shape[0]:
        node, stop = of_node[order[start]], start + 1
        while stop < order.shape[0] and of_node[order[stop]] == node:
            stop += 1
        shift = 0
        for c in range(first_chunk[node + 1], first_chunk[node + 2]):
            some = features[features_at[c] : features_at[c + 1]]
            chunk = (
                ends[features_at[c] : features_at[c + 1]],
                lanes[weights_at[c] : weights_at[c + 1]],
                values[weights_at[c] : weights_at[c + 1]],
            )
            nodes = np.arange(first_node[c], first_node[c + 1])
            n_nonzeros = 0
            for s in range(start, stop):
                n_nonzeros += rows[0][of_row[order[s]] + 1] - rows[0][of_row[order[s]]]
            has_table = n_nonzeros * SEARCH_COST > some.shape[0]
            if has_table:
                sound &= note_features(some, table)
            for s in range(start, stop):
                sums[:] = 0
                gains[:] = 0
                sums[: nodes.shape[0]] = bias[first_node[c] : first_node[c + 1]]
                if has_table:
                    sum_by_table(rows, of_row[order[s]], table, chunk, with_bounds, sums, gains)
                else:
                    sum_by_search(rows, of_row[order[s]], some, chunk, with_bounds, sums, gains)
                write_children(pairs, order[s], shift, nodes, sums, gains, with_bounds, results)
            if has_table:
                forget_features(some, table)
            shift += nodes.shape[0]
        start = stop
    return sound


@kernel
def write_children(pairs, pair, shift, nodes, sums, gains, with_bounds, results):
    """Write the results of those children of a pair that are in one chunk."""
    _, _, of_score, of_gain, first_result = pairs
    children, scores, child_gains, bounds = results
    for lane in range(nodes.shape[0]):
        to = first_result[pair] + shift + lane
        children[to] = nodes[lane]
        scores[to] = sums[lane] + of_score[pair]
        if with_bounds:
            child_gains[to] = gains[lane] + of_gain[pair]
            bounds[to] = child_gains[to] + sums[CHILDREN + lane]


@kernel
def choose(starts, ends, class_of, results, room, following, best_scores, best, sizes):
    """Keep the best leaves of every row, and its inner nodes of highest bound as the next pairs; return their number.

    The results of row r's children are from starts[r] to ends[r]; on return, starts has where the next pairs of each
    row begin. `room` is for a heap of bounds and positions; `following` are the next (rows, nodes, scores, gains).
    """
    children, scores, child_gains, bounds = results
    next_row, next_node, next_score, next_gain = following
    heap_scores, heap = room
    count = 0
    for r in range(starts.shape[0]):
        size, row_scores, row_best, n_best = 0, best_scores[r], best[r], sizes[r]
        for at in range(starts[r], ends[r]):
            number = class_of[children[at]]
            if number >= 0:
                n_best = keep_best(row_scores, row_best, n_best, scores[at], number)
            else:
                size = keep_best(heap_scores, heap, size, bounds[at], at)
        starts[r], sizes[r] = count, n_best
        for s in range(size):
            at = heap[s]
            next_row[count], next_node[count] = r, children[at]
            next_score[count], next_gain[count] = scores[at], child_gains[at]
            count += 1
    return count


@kernel
def count_by_feature(chunks, weights, counts):
    """Count the children's weights of every feature over all chunks; return whether all features exist."""
    features_at, weights_at = chunks
    features, ends, lanes, _ = weights
    sound, n_features = True, np.uint64(counts.shape[0])
    for c in range(features_at.shape[0] - 1):
        begin = weights_at[c]
        for p in range(features_at[c], features_at[c + 1]):
            first, last = weights_of(p - features_at[c], ends[features_at[c] :], weights_at[c + 1] - begin)
            if np.uint64(features[p]) < n_features:
                for e in range(begin + first, begin + last):
                    counts[features[p]] += lanes[e] < CHILDREN
            else:
                sound = False
    return sound


@kernel
def list_by_feature(chunks, weights, first_node, cursor, limits, nodes, values):
    """List the children's weights of all chunks by feature, those of one in the order of nodes, from `cursor` on.

    No list exceeds its limit or has a node that does not exist, even if the chunks have changed since they were
    counted; returns whether they are sound.
    """
    features_at, weights_at = chunks
    features, ends, lanes, weight = weights
    sound, n_features = True, np.uint64(cursor.shape[0])
    for c in range(features_at.shape[0] - 1):
        begin, width = weights_at[c], first_node[c + 1] - first_node[c]
        for p in range(features_at[c], features_at[c + 1]):
            first, last = weights_of(p - features_at[c], ends[features_at[c] :], weights_at[c + 1] - begin)
            j = np.uint64(features[p])
            for e in range(begin + first, begin + last):
                if lanes[e] >= CHILDREN:
                    continue
                if j < n_features and lanes[e] < width and cursor[j] < limits[j]:
                    nodes[cursor[j]] = first_node[c] + lanes[e]
                    values[cursor[j]] = weight[e]
                    cursor[j] += 1
                else:
                    sound = False
    return sound
