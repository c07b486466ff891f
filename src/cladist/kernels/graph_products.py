"""Products with the matrix of a graph, whose nodes have one vector each; it pulls related nodes together.

A graph is (indptr, indices, weights), the edges of each node; `pull` the weight by which each is held.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.lanes import fused, load, spread, store

TILE = 512  # features at a time, few enough for the processor's cache


@kernel
def put_means(graph, pull, nodes, W, above):
    """Write the vectors that nodes are pulled to, Σ a w / pull over their neighbours, into the columns of `above`.

    W is nodes × features. Columns beyond the last node repeat it.
    """
    indptr, indices, weights = graph
    n_features, n_lanes = above.shape
    sums = np.empty((nodes.shape[0], TILE), W.dtype)
    for start in range(0, n_features, TILE):
        size = min(TILE, n_features - start)
        for k in range(nodes.shape[0]):
            v = nodes[k]
            total = sums[k]
            total[:] = 0
            for p in range(indptr[v], indptr[v + 1]):
                share = W.dtype.type(weights[p] / pull[v])
                vector = W[indices[p], start : start + size]
                for j in range(size):
                    total[j] += share * vector[j]
        for j in range(size):
            for k in range(n_lanes):
                above[start + j, k] = sums[min(k, nodes.shape[0] - 1), j]


@kernel
def differences(weights, above, before, shares, terms):
    """Set `shares` to weights − above; sum up shares · weights, ‖shares‖² and ‖before − above‖² in float64, by lane."""
    zero = spread(0.0, terms)
    products, squares, squares_before = zero, zero, zero
    for j in range(weights.shape[0]):
        w, p = load(weights, j), load(above, j)
        share = w - p
        store(shares, j, share)
        wide, old = zero + share, zero + (load(before, j) - p)
        products = fused(wide, zero + w, products)
        squares = fused(wide, wide, squares)
        squares_before = fused(old, old, squares_before)
    store(terms, 0, products)
    store(terms, 1, squares)
    store(terms, 2, squares_before)


@kernel
def put_columns(block, scales, nodes, W):
    """Copy the columns of a block of vectors, scaled, to the rows of W that the nodes have."""
    for start in range(0, block.shape[0], TILE):
        end = min(start + TILE, block.shape[0])
        for k in range(nodes.shape[0]):
            row = W[nodes[k]]
            for j in range(start, end):
                row[j] = scales[k] * block[j, k]


@kernel
def multiply(graph, pull, V, product):
    """Set `product` to MV: pull_n v_n − Σ a v_u over the neighbours u of each node."""
    indptr, indices, weights = graph
    for v in range(V.shape[0]):
        total, own = product[v], V[v]
        for j in range(V.shape[1]):
            total[j] = pull[v] * own[j]
        for p in range(indptr[v], indptr[v + 1]):
            weight, other = weights[p], V[indices[p]]
            for j in range(V.shape[1]):
                total[j] -= weight * other[j]
