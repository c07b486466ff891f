"""Consistent labellings from node scores: top-down, and the best one.

The best labelling of one example is a pass up and a pass down. Both are done for a tile of examples at once,
node by node, so that the inner loops run over neighbouring numbers and become vector code.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

TILE = 256  # examples a tile: 200 nodes × 256 × 8 bytes stay in the L2 cache


@kernel
def load_tile(scores, first, tile):
    """Copy examples first … of `scores` (examples × nodes, any layout) into `tile` (nodes × examples)."""
    size = tile.shape[1]
    block = 32  # square blocks, so that neither side of the transposition leaves the cache
    for v0 in range(0, tile.shape[0], block):
        v1 = min(v0 + block, tile.shape[0])
        for t0 in range(0, size, block):
            for v in range(v0, v1):
                for t in range(t0, min(t0 + block, size)):
                    tile[v, t] = scores[first + t, v]


@kernel
def load_tile_node_major(scores, first, tile):
    """Copy examples first … of `scores` (nodes × examples) into `tile` (nodes × examples)."""
    for v in range(tile.shape[0]):
        for t in range(tile.shape[1]):
            tile[v, t] = scores[v, first + t]


@kernel
def best_of_tile(tile, parent, on):
    """Mark the consistent set of highest total score of each example; ties leave nodes off.

    gain_v = a_v + Σ_children max(0, gain_c), computed in place of a_v; a node is on if its gain and those of
    all its ancestors are positive.
    """
    for v in range(parent.shape[0] - 1, -1, -1):
        if parent[v] >= 0:
            gain, above = tile[v], tile[parent[v]]
            for t in range(tile.shape[1]):
                above[t] += max(gain[t], 0.0)
    mark_positive_paths(tile, parent, on)


@kernel
def mark_positive_paths(tile, parent, on):
    """Mark a node if its value and all its ancestors' are positive: the smallest of them, passed down, is."""
    for v in range(parent.shape[0]):
        value, mark = tile[v], on[v]
        if parent[v] >= 0:
            above = tile[parent[v]]
            for t in range(tile.shape[1]):
                value[t] = value[t] if value[t] < above[t] else above[t]
        for t in range(tile.shape[1]):
            mark[t] = value[t] > 0


@kernel
def top_down_tile(tile, parent, thresholds, on):
    """Mark a node if its parent is marked and its own score exceeds its threshold."""
    for v in range(parent.shape[0]):
        score, threshold = tile[v], thresholds[v]
        for t in range(tile.shape[1]):
            score[t] -= threshold
    mark_positive_paths(tile, parent, on)


@kernel
def append_marked(on, indptr, indices, first, total):
    """Append each example's marked nodes to CSR arrays; returns the arrays' new end. `indices` has room."""
    n_nodes, size = on.shape
    block = 16
    row = np.empty((block, n_nodes), np.uint8)
    for t0 in range(0, size, block):
        t1 = min(t0 + block, size)
        for v in range(n_nodes):
            for t in range(t0, t1):
                row[t - t0, v] = on[v, t]
        for t in range(t0, t1):
            for v in range(n_nodes):
                # Without a branch: an unmarked node is overwritten by the next one.
                indices[total] = v
                total += row[t - t0, v]
            indptr[first + t + 1] = total
    return total


@kernel
def label_rows(scores, node_major, parent, thresholds, best):
    """Label every example; returns CSR (indptr, indices) of closed sets. Cost O(examples · nodes).

    best: the best labelling; otherwise top-down with `thresholds`. Memory beside the result: one tile.
    """
    n_nodes = parent.shape[0]
    n = scores.shape[1] if node_major else scores.shape[0]
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(min(n, TILE) * n_nodes + 1, np.int32)
    total = 0
    for first in range(0, n, TILE):
        size = min(TILE, n - first)
        if first == 0 or size < TILE:
            tile = np.empty((n_nodes, size), scores.dtype)
            on = np.empty((n_nodes, size), np.uint8)
        if node_major:
            load_tile_node_major(scores, first, tile)
        else:
            load_tile(scores, first, tile)
        if best:
            best_of_tile(tile, parent, on)
        else:
            top_down_tile(tile, parent, thresholds, on)
        room = total + size * n_nodes + 1
        if room > indices.shape[0]:
            # What the rest will need if it is like the beginning, so that few copies are made.
            larger = np.empty(room + int(1.1 * total / first * (n - first)), np.int32)
            larger[:total] = indices[:total]
            indices = larger
        total = append_marked(on, indptr, indices, first, total)
    return indptr, indices[:total]
