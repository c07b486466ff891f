"""The second-best consistent labelling, the best one that is not y, and by how much y beats it.

Two passes over a tile of examples compute both. Upwards, `labelling.add_gains`: g_v, the gain of switching node v on
with the best choice below it, if its parent is on. Downwards, the margin of every node::

    D_v = (best labelling with v on) − (best labelling with v off) = min(D_p, g_v)      where g_v > 0
                                                                     g_v + min(D_p, 0)  elsewhere, p the parent

The second-best labelling switches the node of least |D_v|, and follows the best choice below it. Of several such nodes
the first is taken, which is the one nearest to a root, and whose parent is on.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.labelling import (
    TILE,
    add_gains,
    append_marked,
    first_nan,
    load_tile,
    load_tile_node_major,
    mark_tile,
    pack_marks,
    with_room,
)


@kernel
def margins_below(above, gain, margin, zero):
    """Write D_v, given g_v and D of the parent."""
    for t in range(margin.shape[0]):
        on = above[t] if above[t] < gain[t] else gain[t]
        off = gain[t] + (above[t] if above[t] < zero else zero)
        margin[t] = on if gain[t] > zero else off


@kernel
def margins_from_gains(gains, parent, margins):
    """Write D_v of every node and example into `margins`, given the gains of a tile."""
    zero = gains.dtype.type(0)
    for v in range(parent.shape[0]):
        if parent[v] < 0:
            margins[v] = gains[v]
        else:
            margins_below(margins[parent[v]], gains[v], margins[v], zero)


@kernel
def keep_least(row, least):
    """Write |row| into `least` where it is smaller."""
    for t in range(least.shape[0]):
        size = abs(row[t])
        least[t] = size if size < least[t] else least[t]


@kernel
def keep_first_least(row, v, least, switch):
    """Write |row| into `least` and v into `switch` where it is smaller."""
    for t in range(least.shape[0]):
        size = abs(row[t])
        closer = size < least[t]
        switch[t] = v if closer else switch[t]
        least[t] = size if closer else least[t]


@kernel
def add_shortfall(gain, sign, short, zero):
    """Add [−side g]₊ to the shortfall of y."""
    for t in range(short.shape[0]):
        missed = -gain[t] * sign[t]
        short[t] += missed if missed > zero else zero


@kernel
def least_margins(margins, least):
    """Write min_v |D_v| of every example: the best labelling's lead over the second best."""
    least[:] = np.inf
    for v in range(margins.shape[0]):
        keep_least(margins[v], least)


@kernel
def first_least(margins, least, switch):
    """Write min_v |D_v| of every example and the first node that has it; `switch` has integers as wide as margins."""
    least[:] = np.inf
    switch[:] = 0
    for v in range(margins.shape[0]):
        keep_first_least(margins[v], v, least, switch)


@kernel
def switch_gains(gains, switch):
    """Turn the sign of one gain of every example, so that marking switches that node; −1: of none."""
    for t in range(gains.shape[1]):
        if switch[t] >= 0:
            gains[switch[t], t] = -1 if gains[switch[t], t] > 0 else 1


@kernel
def keep_equal(on, y, switch):
    """Set `switch` to −1 where a labelling (marks `on`) is not y: there the best labelling is the runner-up itself."""
    for t in range(on.shape[1]):
        same = True
        for v in range(on.shape[0]):
            same &= on[v, t] == y[v, t]
        if not same:
            switch[t] = -1


@kernel
def load_marks(indptr, indices, first, y):
    """Write the rows first … of CSR labels as marks (nodes × examples)."""
    y[:] = 0
    for t in range(y.shape[1]):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            y[indices[p], t] = 1


@kernel
def second_rows(scores, node_major, parent, switch_like, indptr_y, indices_y):
    """Label every example second best, or, if labels y are given, best among the labellings that are not y.

    Returns CSR (indptr, indices), the lead of the best labelling over the second best, and the first example with a NaN
    or −1. `switch_like` is an empty array of integers as wide as the scores. No y: `indptr_y` is empty.
    """
    n_nodes = parent.shape[0]
    n = scores.shape[1] if node_major else scores.shape[0]
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(min(n, TILE) * n_nodes + 8, np.int32)
    leads = np.zeros(n, scores.dtype)
    zeros = np.zeros(n_nodes, scores.dtype)
    total = 0
    for first in range(0, n, TILE):
        size = min(TILE, n - first)
        if first == 0 or size < TILE:
            tile = np.empty((n_nodes, size), scores.dtype)
            margins = np.empty((n_nodes, size), scores.dtype)
            on = np.empty((n_nodes, size), np.uint8)
            packed = np.empty(((n_nodes + 7) // 8, size), np.uint8)
            switch = np.empty(size, switch_like.dtype)
        if node_major:
            load_tile_node_major(scores, first, tile)
        else:
            load_tile(scores, first, tile)
        add_gains(tile, parent)
        wrong = first_nan(tile[parent < 0])
        if wrong >= 0:
            return indptr, indices[:0], leads, first + wrong
        margins_from_gains(tile, parent, margins)
        least = leads[first : first + size]
        first_least(margins, least, switch)
        if indptr_y.shape[0]:
            y = np.empty((n_nodes, size), np.uint8)
            load_marks(indptr_y, indices_y, first, y)
            mark_tile(tile, parent, zeros, on)
            keep_equal(on, y, switch)
        switch_gains(tile, switch)
        mark_tile(tile, parent, zeros, on)
        indices = with_room(indices, total, size * n_nodes + 8, first, n)
        pack_marks(on, packed)
        total = append_marked(packed, indptr, indices, first, total)
    return indptr, indices[:total], leads, -1


@kernel
def margin_rows(scores, parent, side, first, last, margins):
    """Write by how much y beats the best other labelling, Σ_v a_v (y_v − z_v) with signs ±1, of examples first … last.

    `scores` is (nodes × examples). `side` has, for every node and example, 1 where y has the node, −1 where y has its
    parent only (or it is a root), 0 elsewhere. y falls short of the best labelling by Σ_v [−side_v g_v]₊; where that is
    0, y is best, and leads by min_v |D_v|. Memory: two tiles.
    """
    zero = scores.dtype.type(0)
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        if start == first or size < TILE:
            tile = np.empty((parent.shape[0], size), scores.dtype)
            nodes = np.empty((parent.shape[0], size), scores.dtype)
            least = np.empty(size, scores.dtype)
            short = np.empty(size, scores.dtype)
        load_tile_node_major(scores, start, tile)
        add_gains(tile, parent)
        margins_from_gains(tile, parent, nodes)
        least_margins(nodes, least)
        short[:] = zero
        for v in range(parent.shape[0]):
            add_shortfall(tile[v], side[v, start : start + size], short, zero)
        for t in range(size):
            margins[start + t] = 2 * (-short[t] if short[t] > zero else least[t])


@kernel
def runner_up_of(scores, parent, y, difference):
    """Write y − z for one example, z the best labelling that is not y, both with signs ±1; returns Σ_v a_v (y_v − z_v).

    `scores` and `y` (0 or 1) have one entry per node.
    """
    n_nodes = parent.shape[0]
    tile = np.empty((n_nodes, 1), scores.dtype)
    tile[:, 0] = scores
    marks = np.empty((n_nodes, 1), np.uint8)
    marks[:, 0] = y
    margins = np.empty((n_nodes, 1), scores.dtype)
    on = np.empty((n_nodes, 1), np.uint8)
    least = np.empty(1, scores.dtype)
    switch = np.empty(1, np.int64)
    zeros = np.zeros(n_nodes, scores.dtype)
    add_gains(tile, parent)
    mark_tile(tile, parent, zeros, on)
    margins_from_gains(tile, parent, margins)
    first_least(margins, least, switch)
    keep_equal(on, marks, switch)
    switch_gains(tile, switch)
    mark_tile(tile, parent, zeros, on)
    margin = scores.dtype.type(0)
    for v in range(n_nodes):
        difference[v] = 2 * (np.int64(y[v]) - np.int64(on[v, 0]))
        margin += scores[v] * difference[v]
    return margin
