"""Consistent labellings from node scores: top-down, the best one, the greedy path.

A tile of examples is labelled at once, node by node, so that the inner loops run over neighbouring numbers and become
vector code. These loops are functions of their own: inside a loop over nodes the compiler leaves them scalar, three
times as slow. Marks of eight nodes are packed into a byte, whose set bits are looked up in a table.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

TILE = 256  # examples a tile: 200 nodes × 256 × 8 bytes stay in the L2 cache

_IS_SET = np.arange(256)[:, None] >> np.arange(8) & 1
SET_COUNT = _IS_SET.sum(axis=1)  # how many bits of a byte are set
SET_BITS = np.argsort(1 - _IS_SET, axis=1, kind="stable").astype(np.int32)  # which: set ones first, ascending


@kernel
def load_tile(scores, first, tile):
    """Copy examples first … of `scores` (examples × nodes) into `tile` (nodes × examples).

    Four by four, spelt out: the compiler then transposes each block in registers, three times as fast as a loop.
    """
    n_nodes, size = tile.shape
    whole_v, whole_t = n_nodes - n_nodes % 4, size - size % 4
    for t in range(0, whole_t, 4):
        a, b, c, d = scores[first + t], scores[first + t + 1], scores[first + t + 2], scores[first + t + 3]
        for v in range(0, whole_v, 4):
            a0, a1, a2, a3 = a[v], a[v + 1], a[v + 2], a[v + 3]
            b0, b1, b2, b3 = b[v], b[v + 1], b[v + 2], b[v + 3]
            c0, c1, c2, c3 = c[v], c[v + 1], c[v + 2], c[v + 3]
            d0, d1, d2, d3 = d[v], d[v + 1], d[v + 2], d[v + 3]
            p, q, r, s = tile[v], tile[v + 1], tile[v + 2], tile[v + 3]
            p[t], p[t + 1], p[t + 2], p[t + 3] = a0, b0, c0, d0
            q[t], q[t + 1], q[t + 2], q[t + 3] = a1, b1, c1, d1
            r[t], r[t + 1], r[t + 2], r[t + 3] = a2, b2, c2, d2
            s[t], s[t + 1], s[t + 2], s[t + 3] = a3, b3, c3, d3
    for t in range(size):
        for v in range(whole_v if t < whole_t else 0, n_nodes):
            tile[v, t] = scores[first + t, v]


@kernel
def load_tile_node_major(scores, first, tile):
    """Copy examples first … of `scores` (nodes × examples) into `tile` (nodes × examples)."""
    for v in range(tile.shape[0]):
        tile[v] = scores[v, first : first + tile.shape[1]]


@kernel
def add_positive(above, gain, zero):
    """Add the positive or NaN values of `gain` to `above`, in place."""
    for t in range(above.shape[0]):
        above[t] += zero if gain[t] <= zero else gain[t]


@kernel
def mark_over(value, threshold, mark):
    """Mark with 1 where a value exceeds its threshold, elsewhere with 0."""
    for t in range(mark.shape[0]):
        mark[t] = value[t] > threshold


@kernel
def mark_both(mark, above):
    """Leave marks only where the other row has them, too."""
    for t in range(mark.shape[0]):
        mark[t] &= above[t]


@kernel
def add_gains(tile, parent):
    """Turn scores a_v into gains a_v + Σ_children max(0, gain_c), in place; NaN rises to the root."""
    zero = tile.dtype.type(0)
    for v in range(parent.shape[0] - 1, -1, -1):
        if parent[v] >= 0:
            add_positive(tile[parent[v]], tile[v], zero)


@kernel
def mark_tile(tile, parent, thresholds, on):
    """Mark a node, with 1 in `on`, if its value exceeds its threshold and its parent is marked."""
    for v in range(parent.shape[0]):
        mark_over(tile[v], thresholds[v], on[v])
        if parent[v] >= 0:
            mark_both(on[v], on[parent[v]])


@kernel
def first_nan(tile):
    """Return the first example (column) of a tile that has a NaN, or −1."""
    first = tile.shape[1]
    for v in range(tile.shape[0]):
        row = tile[v]
        some = False
        for t in range(tile.shape[1]):
            some |= row[t] != row[t]
        if some:
            for t in range(first):
                if row[t] != row[t]:
                    first = t
                    break
    return first if first < tile.shape[1] else -1


@kernel
def pack_marks(on, packed):
    """Pack marks (nodes × examples) into bytes (nodes / 8 × examples), node 8 g + k into bit k of byte g."""
    whole = on.shape[0] // 8
    for g in range(whole):
        byte, a, b, c, d = packed[g], on[8 * g], on[8 * g + 1], on[8 * g + 2], on[8 * g + 3]
        e, f, h, i = on[8 * g + 4], on[8 * g + 5], on[8 * g + 6], on[8 * g + 7]
        for t in range(on.shape[1]):
            low = a[t] | b[t] << 1 | c[t] << 2 | d[t] << 3
            byte[t] = low | e[t] << 4 | f[t] << 5 | h[t] << 6 | i[t] << 7
    packed[whole:] = 0
    for v in range(8 * whole, on.shape[0]):
        byte, mark = packed[whole], on[v]
        for t in range(on.shape[1]):
            byte[t] |= mark[t] << (v - 8 * whole)


@kernel
def append_marked(packed, indptr, indices, first, total):
    """Append each example's marked nodes to CSR arrays; returns the arrays' new end.

    All eight positions are written, and those that are not set overwritten by the next byte's: a loop over the set
    ones alone would be mispredicted at almost every byte. `indices` has room for eight more than are marked.
    """
    for t in range(packed.shape[1]):
        for g in range(packed.shape[0]):
            byte = packed[g, t]
            end = indices[total : total + 8]
            for k in range(8):
                end[k] = 8 * g + SET_BITS[byte, k]
            total += SET_COUNT[byte]
        indptr[first + t + 1] = total
    return total


@kernel
def with_room(indices, total, needed, first, n):
    """Return `indices`, of which `total` are used, with room for `needed` more; first of n examples are done."""
    room = total + needed
    if room <= indices.shape[0]:
        return indices
    # Room for the rest, if it is like the beginning, so that few copies are made.
    larger = np.empty(room + int(1.1 * total / first * (n - first)), np.int32)
    larger[:total] = indices[:total]
    return larger


@kernel
def label_rows(scores, node_major, parent, thresholds, best):
    """Label every example: sets closed under ancestors as CSR (indptr, indices). Cost O(examples · nodes).

    best: the consistent set of highest total score, ties leaving nodes off (its `thresholds` are 0); otherwise
    top-down. Third comes the first example with a NaN, or −1. Memory beside the result: one tile.
    """
    n_nodes = parent.shape[0]
    n = scores.shape[1] if node_major else scores.shape[0]
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(min(n, TILE) * n_nodes + 8, np.int32)
    total = 0
    for first in range(0, n, TILE):
        size = min(TILE, n - first)
        if first == 0 or size < TILE:
            tile = np.empty((n_nodes, size), scores.dtype)
            on = np.empty((n_nodes, size), np.uint8)
            packed = np.empty(((n_nodes + 7) // 8, size), np.uint8)
        if node_major:
            load_tile_node_major(scores, first, tile)
        else:
            load_tile(scores, first, tile)
        if best:
            add_gains(tile, parent)
        wrong = first_nan(tile[parent < 0] if best else tile)
        if wrong >= 0:
            return indptr, indices[:0], first + wrong
        mark_tile(tile, parent, thresholds, on)
        indices = with_room(indices, total, size * n_nodes + 8, first, n)
        pack_marks(on, packed)
        total = append_marked(packed, indptr, indices, first, total)
    return indptr, indices[:total], -1


@kernel
def greedy_leaves(scores, child_start, n_roots):
    """Walk every example down from the roots to the child with the highest score; returns the leaves.

    The children of v are child_start[v] : child_start[v + 1]; ties go to the first. −1: a score met is NaN.
    """
    leaves = np.empty(scores.shape[0], np.int64)
    for i in range(scores.shape[0]):
        row = scores[i]
        begin, end = 0, n_roots
        best = -1
        while begin < end:
            best = begin
            for v in range(begin, end):
                if row[v] > row[best]:
                    best = v
                elif row[v] != row[v]:
                    best, end = -1, begin
                    break
            if best >= 0:
                begin, end = child_start[best], child_start[best + 1]
        leaves[i] = best
    return leaves
