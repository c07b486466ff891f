"""Ascent over the distribution of one row over single labels, each scored by its path, or over listed competitors.

The feature of label r has `size[r] · factor[u]` at the nodes u of its path. Label r violates the margin of row i by
D + κ (S_r − S_y), with κ = 1 (margin rescaling) or κ = D (slack rescaling).

The small problems of a cutting plane are over listed competitors of each row instead: competitor r has a difference of
features, D_r ⊗ x_i, and a loss. The rest of the mass C belongs to the true output, whose difference and loss are 0.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.markov import add_row, row_scores


@kernel
def label_gains(scores, true, losses, tree, slack, sums, gains):
    """Write D_r + κ_r (S_r − S_y) for every label r; `sums` is a working array for sums along paths."""
    parent, nodes, size, factor = tree
    for v in range(parent.shape[0]):
        above = 0.0 if parent[v] < 0 else sums[parent[v]]
        sums[v] = above + factor[v] * scores[v]
    own = size[true] * sums[nodes[true]]
    for r in range(nodes.shape[0]):
        weight = losses[r] if slack else 1.0
        gains[r] = losses[r] + weight * (size[r] * sums[nodes[r]] - own)
    gains[true] = 0.0


@kernel
def add_path(tree, r, weight, difference):
    """Add `weight` times the feature of label r."""
    parent, nodes, size, factor = tree
    v = nodes[r]
    while v >= 0:
        difference[v] += weight * size[r] * factor[v]
        v = parent[v]


@kernel
def ascend_labels(scores, masses, true, losses, tree, slack, limits, square, room, change):
    """Raise the dual over one row's masses of labels by moves from the worst label in use to the best of all.

    limits: (C, moves at most, gap below which to stop). Changes `scores` and `masses`; `change` is the growth of
    the row's coefficients. Returns the gap before.
    """
    C, n_moves, enough = limits
    sums, gains, difference = room
    change[:] = 0.0
    first = 0.0
    for k in range(n_moves):
        label_gains(scores, true, losses, tree, slack, sums, gains)
        best, worst, mean = true, -1, 0.0
        for r in range(gains.shape[0]):
            if gains[r] > gains[best]:
                best = r
            if masses[r] > 0.0:
                mean += masses[r] * gains[r]
                if worst < 0 or gains[r] < gains[worst]:
                    worst = r
        gap = C * gains[best] - mean
        if k == 0:
            first = gap
        if gap <= enough or gains[best] <= gains[worst]:
            break
        to, since = (losses[best], losses[worst]) if slack else (1.0, 1.0)
        difference[:] = 0.0
        add_path(tree, true, to - since, difference)
        add_path(tree, best, -to, difference)
        add_path(tree, worst, since, difference)
        curve = square * (difference * difference).sum()
        step = masses[worst]
        if curve > 0.0:
            step = min(step, (gains[best] - gains[worst]) / curve)
        masses[best] += step
        masses[worst] -= step
        for v in range(difference.shape[0]):
            change[v] += step * difference[v]
            scores[v] += step * square * difference[v]
    return first


@kernel
def sweep_labels(rows, W, order, masses, true, losses, tree, slack, limits, squares, gaps):
    """Ascend over the rows of `order`, one after the other, with weights W (features × nodes) kept up to date."""
    indptr, indices, data = rows
    n_nodes = W.shape[1]
    scores, change = np.empty(n_nodes), np.empty(n_nodes)
    room = (np.empty(n_nodes), np.empty(masses.shape[1]), np.empty(n_nodes))
    for i in order:
        row_scores(indptr, indices, data, i, W, scores)
        args = (scores, masses[i], true[i], losses[true[i]], tree, slack)
        gaps[i] = ascend_labels(*args, limits, squares[i], room, change)
        if np.any(change != 0.0):
            add_row(indptr, indices, data, i, change, W)


@kernel
def measure_labels(rows, W, first, last, masses, true, losses, tree, slack, C, slacks, gaps, linear):
    """Write slack, gap and Σ masses · D of rows first … last under W."""
    indptr, indices, data = rows
    scores, sums, gains = np.empty(W.shape[1]), np.empty(W.shape[1]), np.empty(masses.shape[1])
    for i in range(first, last):
        row_scores(indptr, indices, data, i, W, scores)
        label_gains(scores, true[i], losses[true[i]], tree, slack, sums, gains)
        slacks[i] = gains.max()
        gaps[i] = C * slacks[i] - (masses[i] * gains).sum()
        linear[i] = (masses[i] * losses[true[i]]).sum()


@kernel
def vertex_gains(scores, differences, losses, gains):
    """Write loss − D · scores for every competitor; return the highest, or 0 if that is more."""
    highest = 0.0
    for r in range(losses.shape[0]):
        gains[r] = losses[r] - (differences[r] * scores).sum()
        highest = max(highest, gains[r])
    return highest


@kernel
def ascend_vertices(scores, masses, differences, losses, limits, square, change):
    """Raise the dual over the masses of one row's competitors; return its gap before.

    limits: (C, moves at most, gap below which to stop). Changes `masses`; `change` is the growth of the row's
    coefficients.
    """
    C, n_moves, enough = limits
    n = losses.shape[0]
    change[:] = 0.0
    gains, move = np.empty(n), np.empty(scores.shape[0])
    vertex_gains(scores, differences, losses, gains)
    first = 0.0
    for k in range(n_moves):
        left = C - masses.sum()
        best, worst, mean = -1, -1, 0.0  # −1 is the true output
        least = 0.0 if left > 1e-12 * C else np.inf
        for r in range(n):
            if gains[r] > (0.0 if best < 0 else gains[best]):
                best = r
            if masses[r] > 0.0:
                mean += masses[r] * gains[r]
                if gains[r] < least:
                    worst, least = r, gains[r]
        highest = 0.0 if best < 0 else gains[best]
        gap = C * highest - mean
        if k == 0:
            first = gap
        if gap <= enough or best == worst or least == np.inf or highest <= least:
            break
        move[:] = 0.0
        if best >= 0:
            move += differences[best]
        if worst >= 0:
            move -= differences[worst]
        curve = square * (move * move).sum()
        step = left if worst < 0 else masses[worst]
        if curve > 0.0:
            step = min(step, (highest - least) / curve)
        if best >= 0:
            masses[best] += step
        if worst >= 0:
            masses[worst] -= step
        for r in range(n):
            gains[r] -= step * square * (differences[r] * move).sum()
        change += step * move
    return first


@kernel
def sweep_vertices(rows, W, order, start, masses, differences, losses, limits, squares, gaps):
    """Ascend over the rows of `order`; competitors of row i are start[i] … start[i + 1]."""
    indptr, indices, data = rows
    scores, change = np.empty(W.shape[1]), np.empty(W.shape[1])
    for i in order:
        a, b = start[i], start[i + 1]
        if a == b:
            gaps[i] = 0.0
            continue
        row_scores(indptr, indices, data, i, W, scores)
        own = (masses[a:b], differences[a:b], losses[a:b])
        gaps[i] = ascend_vertices(scores, *own, limits, squares[i], change)
        if np.any(change != 0.0):
            add_row(indptr, indices, data, i, change, W)


@kernel
def measure_vertices(rows, W, first, last, start, masses, differences, losses, C, slacks, gaps):
    """Write slack and gap of rows first … last over their competitors."""
    indptr, indices, data = rows
    scores, gains = np.empty(W.shape[1]), np.empty(losses.shape[0])
    for i in range(first, last):
        a, b = start[i], start[i + 1]
        slacks[i] = gaps[i] = 0.0
        if a < b:
            row_scores(indptr, indices, data, i, W, scores)
            slacks[i] = vertex_gains(scores, differences[a:b], losses[a:b], gains[: b - a])
            gaps[i] = C * slacks[i] - (masses[a:b] * gains[: b - a]).sum()
