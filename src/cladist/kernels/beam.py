"""A walk down a tree that follows only the most promising nodes of every row.

Nodes are numbered so that the children of one follow each other. Up to 128 children make a chunk; its weights are
listed by feature, `features` and where each one's list `ends`, and each weight has the `lane` of its child. Lanes from
128 on are those of the children's guides: what a path below a child can gain by a feature at most. A node promises what
the nodes above it and it have given, losses left out, and what its guide adds.

Files may hold anything: lanes are single bytes and sums have room for as many, ends are cut to the chunk, and a feature
is only used as a place after a look at its size.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.linear_scores import find_feature
from cladist.kernels.top_k import keep_best

CHILDREN = 128  # of a chunk at most
LANES = 2 * CHILDREN  # as many as a byte can name: children, and their guides
STEPS_A_SEARCH = 6  # a search in a chunk's features costs about as much as noting so many of them in a table


@kernel
def weights_of(q, ends, n_weights):
    """Return where the weights of a chunk's q-th feature begin and end, within the chunk whatever `ends` say."""
    first = min(np.int64(ends[q - 1]), n_weights) if q > 0 else 0
    return first, min(np.int64(ends[q]), n_weights)


@kernel
def add_weights(x, q, ends, lanes, values, led, sums, gains):
    """Add what a feature of value x gives to the lanes, and to `gains` what of it is no loss; q is its place."""
    first, last = weights_of(q, ends, lanes.shape[0])
    for e in range(first, last):
        product = x * values[e]
        sums[lanes[e]] += product
        if led and product > 0:
            gains[lanes[e]] += product


@kernel
def sum_by_search(rows, i, features, chunk, led, sums, gains):
    """Add up a row's products with all lanes, each of its features being searched for."""
    indptr, indices, data = rows
    ends, lanes, values = chunk
    at = 0
    for p in range(indptr[i], indptr[i + 1]):
        at = find_feature(features, indices[p], at)
        if at == features.shape[0]:
            break
        if features[at] == indices[p]:
            add_weights(np.float32(data[p]), at, ends, lanes, values, led, sums, gains)


@kernel
def sum_by_table(rows, i, table, chunk, led, sums, gains):
    """Add up a row's products with all lanes, `table` having 1 + the place of each feature, 0 of others."""
    indptr, indices, data = rows
    ends, lanes, values = chunk
    for p in range(indptr[i], indptr[i + 1]):
        q = table[indices[p]]
        if q > 0:
            add_weights(np.float32(data[p]), q - 1, ends, lanes, values, led, sums, gains)


@kernel
def note_features(features, table):
    """Note the places of a chunk's features; return whether all of them are features."""
    sound, n_features = True, np.uint64(table.shape[0])
    for q in range(features.shape[0]):
        if np.uint64(features[q]) < n_features:
            table[features[q]] = q + 1
        else:
            sound = False
    return sound


@kernel
def forget_features(features, table):
    """Clear what `note_features` noted."""
    n_features = np.uint64(table.shape[0])
    for q in range(features.shape[0]):
        if np.uint64(features[q]) < n_features:
            table[features[q]] = 0


@kernel
def expand(rows, pairs, order, chunks, weights, table, led, found):
    """Score the children of every pair of a row and a node; return whether the weights are sound.

    `pairs` are (rows, nodes, scores, gains, where what is found of its children goes), `order` has them by node, so
    that a chunk is read once. `chunks` are (first chunk below each node and below none, first node of each chunk, where
    its features and its weights begin, bias of each node). `found` are (children, scores, gains, promises); the last
    two only if they are to be `led`.
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
            wanted = 0
            for s in range(start, stop):
                wanted += rows[0][of_row[order[s]] + 1] - rows[0][of_row[order[s]]]
            noted = wanted * STEPS_A_SEARCH > some.shape[0]
            if noted:
                sound &= note_features(some, table)
            for s in range(start, stop):
                sums[:] = 0
                gains[:] = 0
                sums[: nodes.shape[0]] = bias[first_node[c] : first_node[c + 1]]
                if noted:
                    sum_by_table(rows, of_row[order[s]], table, chunk, led, sums, gains)
                else:
                    sum_by_search(rows, of_row[order[s]], some, chunk, led, sums, gains)
                write_children(pairs, order[s], shift, nodes, sums, gains, led, found)
            if noted:
                forget_features(some, table)
            shift += nodes.shape[0]
        start = stop
    return sound


@kernel
def write_children(pairs, pair, shift, nodes, sums, gains, led, found):
    """Write what was found of the children of a pair that lie in one chunk."""
    _, _, of_score, of_gain, goes_to = pairs
    children, scores, gained, promises = found
    for lane in range(nodes.shape[0]):
        to = goes_to[pair] + shift + lane
        children[to] = nodes[lane]
        scores[to] = sums[lane] + of_score[pair]
        if led:
            gained[to] = gains[lane] + of_gain[pair]
            promises[to] = gained[to] + sums[CHILDREN + lane]


@kernel
def choose(starts, ends, class_of, found, room, following, best_scores, best, sizes):
    """Keep the best leaves of every row, and go on with the most promising of its other nodes; return how many.

    What was found of row r's children lies from starts[r] to ends[r]; of the next step's pairs, starts then says where
    those of each row begin. `room` is that for a heap of promises and places; `following` are the next pairs' (rows,
    nodes, scores, gains).
    """
    children, scores, gained, promises = found
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
                size = keep_best(heap_scores, heap, size, promises[at], at)
        starts[r], sizes[r] = count, n_best
        for s in range(size):
            at = heap[s]
            next_row[count], next_node[count] = r, children[at]
            next_score[count], next_gain[count] = scores[at], gained[at]
            count += 1
    return count


@kernel
def count_by_feature(chunks, weights, counts):
    """Count the children's weights of every feature over all chunks; return whether all are features."""
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

    No list goes beyond its limit, nor to a node that is not there, even if the chunks have changed since they were
    counted; returns whether they have not.
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
