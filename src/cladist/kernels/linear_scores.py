"""Scores of linear classifiers: from dense blocks of sixteen, or through an inverted index of nonzero weights.

`rows` are (indptr, indices, data) of CSR rows with sorted indices. An `index` is (features, indptr, classes, values):
feature features[l], sorted, adds x_j · values[p] to class classes[p] for p from indptr[l] to indptr[l + 1].

Rows with dense columns are `mixed`: (indptr, indices, data, dense), with a row of W for each column of the CSR part and
for each dense column. Without a CSR part, their scores are those of the same rows as CSR, bit for bit.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.dense_rows import TILE
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH, fused, load, spread, store


@kernel
def placed_dot(rows, i, position, W):
    """Return the sixteen products w·x_i; feature j has row position[j] of W, or none if that is negative."""
    indptr, indices, data = rows
    total = spread(0.0, W)
    for p in range(indptr[i], indptr[i + 1]):
        at = position[indices[p]]
        if at >= 0:
            total = fused(np.float32(data[p]), load(W, at), total)
    return total


@kernel
def score_block(rows, position, W, intercepts, classes, out):
    """Write the scores of a block into the columns of `out` that its classes have."""
    lanes = np.empty((1, WIDTH), np.float32)
    for i in range(out.shape[0]):
        store(lanes, 0, placed_dot(rows, i, position, W) + load(intercepts, 0))
        for k in range(classes.shape[0]):
            out[i, classes[k]] = lanes[0, k]


@kernel
def best_of_block(rows, position, W, intercepts, classes, best, best_class):
    """Keep the higher of the best score so far and those of a block; of equal ones, the class of lowest number."""
    lanes = np.empty((1, WIDTH), np.float32)
    for i in range(best.shape[0]):
        store(lanes, 0, placed_dot(rows, i, position, W) + load(intercepts, 0))
        for k in range(classes.shape[0]):
            if lanes[0, k] > best[i] or (lanes[0, k] == best[i] and classes[k] < best_class[i]):
                best[i] = lanes[0, k]
                best_class[i] = classes[k]


@kernel
def put_products(mixed, positions, first, W, products):
    """Write the products w·x of four rows, the first of them given; beyond the last row, that one is repeated."""
    indptr, indices, data, dense = mixed
    of_sparse, of_dense = positions
    last = dense.shape[0] - 1
    p, q, r, s = dense[first], dense[min(first + 1, last)], dense[min(first + 2, last)], dense[min(first + 3, last)]
    one, two, three, four = spread(0.0, W), spread(0.0, W), spread(0.0, W), spread(0.0, W)
    for j in range(p.shape[0]):
        at = of_dense[j]
        if at >= 0:
            w = load(W, at)
            one = fused(p[j], w, one)
            two = fused(q[j], w, two)
            three = fused(r[j], w, three)
            four = fused(s[j], w, four)
    store(products, 0, one)
    store(products, 1, two)
    store(products, 2, three)
    store(products, 3, four)
    for k in range(min(TILE, last + 1 - first)):
        total = load(products, k)
        for e in range(indptr[first + k], indptr[first + k + 1]):
            at = of_sparse[indices[e]]
            if at >= 0:
                total = fused(np.float32(data[e]), load(W, at), total)
        store(products, k, total)


@kernel
def score_mixed(mixed, positions, W, intercepts, classes, out):
    """Write the scores of a block as `score_block` does, for rows with dense columns."""
    products = np.empty((TILE, WIDTH), np.float32)
    for first in range(0, out.shape[0], TILE):
        put_products(mixed, positions, first, W, products)
        for r in range(min(TILE, out.shape[0] - first)):
            store(products, r, load(products, r) + load(intercepts, 0))
            for k in range(classes.shape[0]):
                out[first + r, classes[k]] = products[r, k]


@kernel
def best_of_mixed(mixed, positions, W, intercepts, classes, best, best_class):
    """Keep the best score and its class as `best_of_block` does, for rows with dense columns."""
    products = np.empty((TILE, WIDTH), np.float32)
    for first in range(0, best.shape[0], TILE):
        put_products(mixed, positions, first, W, products)
        for r in range(min(TILE, best.shape[0] - first)):
            store(products, r, load(products, r) + load(intercepts, 0))
            i = first + r
            for k in range(classes.shape[0]):
                score = products[r, k]
                if score > best[i] or (score == best[i] and classes[k] < best_class[i]):
                    best[i] = score
                    best_class[i] = classes[k]


@kernel
def find_feature(features, feature, start):
    """Return the first position from `start` on whose feature is not below the given one."""
    low, high = start, features.shape[0]
    while low < high:
        middle = (low + high) // 2
        if features[middle] < feature:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def score_by_index(rows, chosen, index, bias, parent, out):
    """Write the scores of the chosen rows, one row of `out` each.

    With parents, of which there are none if classes share nothing, classes are nodes: each has its own sum and that of
    its parent, which comes before it. Returns whether all classes of the index exist; weights of others are skipped.
    """
    indptr, indices, data = rows
    features, starts, classes, values = index
    n_classes, sound = np.uint64(out.shape[1]), True
    for r in range(chosen.shape[0]):
        i, at, scores = chosen[r], 0, out[r]
        scores[:] = bias
        for p in range(indptr[i], indptr[i + 1]):
            at = find_feature(features, indices[p], at)
            if at == features.shape[0]:
                break
            if features[at] == indices[p]:
                x = np.float32(data[p])
                for q in range(starts[at], starts[at + 1]):
                    if np.uint64(classes[q]) < n_classes:
                        scores[classes[q]] += x * values[q]
                    else:
                        sound = False
        for v in range(parent.shape[0]):
            if parent[v] >= 0:
                scores[v] += scores[parent[v]]
    return sound


@kernel
def count_kept(W, n_columns, prune, counts):
    """Add to `counts` the number of weights of each feature that are larger than `prune`, and not 0."""
    for j in range(counts.shape[0]):
        for k in range(n_columns):
            if abs(W[j, k]) > prune:
                counts[j] += 1


@kernel
def keep_weights(W, lanes, prune, order, cursor, classes, values):
    """Append to the list of each feature, in the given order, its weights larger than `prune`; `lanes` are classes."""
    for r in range(order.shape[0]):
        j = order[r]
        for k in range(lanes.shape[0]):
            if abs(W[j, k]) > prune:
                classes[cursor[r]] = lanes[k]
                values[cursor[r]] = W[j, k]
                cursor[r] += 1


@kernel
def count_lanes(W, prune, counts):
    """Add to `counts` the number of weights of each lane that are larger than `prune`."""
    for j in range(W.shape[0]):
        for k in range(counts.shape[0]):
            if abs(W[j, k]) > prune:
                counts[k] += 1


@kernel
def list_lanes(W, prune, cursor, positions, values):
    """List the weights larger than `prune` lane by lane, with the row of W that each is in."""
    for j in range(W.shape[0]):
        for k in range(cursor.shape[0]):
            if abs(W[j, k]) > prune:
                positions[cursor[k]] = j
                values[cursor[k]] = W[j, k]
                cursor[k] += 1
