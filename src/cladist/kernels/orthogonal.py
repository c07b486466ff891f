"""Ascent over one row's masses of competing siblings, in a metric that couples nodes with their ancestors.

The metric M is a symmetric matrix over nodes, 0 between nodes of which none is above the other. It is held as `below`
(nodes × depth), the entries of each node with its ancestors, and its diagonal; `above[v, t]` is the ancestor of v at
depth t. Eliminated from the leaves up, M = Lᵀ diag(D) L has no other entries than M itself, so that a factorisation
costs O(nodes · depth²) and a solution O(nodes · depth).
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.markov import add_row, row_scores


@kernel
def factorise(above, depth, below, diagonal):
    """Replace `below` and `diagonal` of M by those of L, whose own diagonal is 1, and by D."""
    for v in range(depth.shape[0] - 1, -1, -1):
        for t in range(depth[v]):
            a, share = above[v, t], below[v, t] / diagonal[v]
            diagonal[a] -= share * below[v, t]
            for s in range(t):
                below[a, s] -= share * below[v, s]
        for t in range(depth[v]):
            below[v, t] /= diagonal[v]


@kernel
def solve(above, depth, below, diagonal, y):
    """Replace y by M⁻¹ y, given the factors of M."""
    for v in range(depth.shape[0] - 1, -1, -1):
        for t in range(depth[v]):
            y[above[v, t]] -= below[v, t] * y[v]
    for v in range(depth.shape[0]):
        y[v] /= diagonal[v]
        for t in range(depth[v]):
            y[v] -= below[v, t] * y[above[v, t]]


@kernel
def solve_rows(above, depth, below, diagonal, Y):
    """Replace every row y of Y by M⁻¹ y."""
    for k in range(Y.shape[0]):
        solve(above, depth, below, diagonal, Y[k])


@kernel
def pair_gains(scores, own, rival, gains):
    """Write 1 − (score of `own` − score of `rival`) for every competitor; return the highest, or 0 if that is more."""
    highest = 0.0
    for r in range(own.shape[0]):
        gains[r] = 1.0 - scores[own[r]] + scores[rival[r]]
        highest = max(highest, gains[r])
    return highest


@kernel
def ascend_pairs(scores, masses, own, rival, factors, limits, square, room, change):
    """Raise the dual over the masses of one row's competitors; return its gap before.

    limits: (C, moves at most, gap below which to stop). The rest of the mass C belongs to no competitor. Changes
    `scores` and `masses`; `change` is the growth of the row's coefficients.
    """
    C, n_moves, enough = limits
    gains, move = room
    change[:] = 0.0
    first = 0.0
    for k in range(n_moves):
        highest = pair_gains(scores, own, rival, gains)
        left = C - masses.sum()
        best, worst, mean = -1, -1, 0.0  # −1: no competitor
        least = 0.0 if left > 1e-12 * C else np.inf
        for r in range(masses.shape[0]):
            if gains[r] == highest and highest > 0.0:
                best = r
            if masses[r] > 0.0:
                mean += masses[r] * gains[r]
                if gains[r] < least:
                    worst, least = r, gains[r]
        gap = C * highest - mean
        if k == 0:
            first = gap
        if gap <= enough or best == worst or highest <= least:
            break
        move[:] = 0.0
        if best >= 0:
            move[own[best]] += 1.0
            move[rival[best]] -= 1.0
        if worst >= 0:
            move[own[worst]] -= 1.0
            move[rival[worst]] += 1.0
        step, before = left if worst < 0 else masses[worst], move.copy()
        solve(*factors, move)
        curve = square * (before * move).sum()
        if curve > 0.0:
            step = min(step, (highest - least) / curve)
        if best >= 0:
            masses[best] += step
        if worst >= 0:
            masses[worst] -= step
        for v in range(move.shape[0]):
            scores[v] += step * square * move[v]
            change[v] += step * before[v]
    return first


@kernel
def sweep_pairs(rows, A, order, start, masses, competitors, factors, limits, squares, gaps):
    """Ascend over the rows of `order`, with sums A (features × nodes) of coefficients times rows kept up to date.

    Masses of row i are start[i] … start[i + 1]; its competitors begin at competitors[0][i] in the other two lists.
    """
    indptr, indices, data = rows
    first, own, rival = competitors
    n_nodes = A.shape[1]
    scores, change, move = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    for i in order:
        a, b = start[i], start[i + 1]
        if a == b:
            gaps[i] = 0.0
            continue
        row_scores(indptr, indices, data, i, A, scores)
        solve(*factors, scores)
        pairs = own[first[i] : first[i] + b - a], rival[first[i] : first[i] + b - a]
        room = (np.empty(b - a), move)
        gaps[i] = ascend_pairs(scores, masses[a:b], *pairs, factors, limits, squares[i], room, change)
        if np.any(change != 0.0):
            add_row(indptr, indices, data, i, change, A)


@kernel
def measure_pairs(rows, W, begin, end, start, masses, competitors, C, slacks, gaps):
    """Write slack and gap of rows begin … end under weights W (features × nodes)."""
    indptr, indices, data = rows
    first, own, rival = competitors
    scores = np.empty(W.shape[1])
    for i in range(begin, end):
        a, b = start[i], start[i + 1]
        slacks[i] = gaps[i] = 0.0
        if a < b:
            row_scores(indptr, indices, data, i, W, scores)
            gains = np.empty(b - a)
            pairs = own[first[i] : first[i] + b - a], rival[first[i] : first[i] + b - a]
            slacks[i] = pair_gains(scores, *pairs, gains)
            gaps[i] = C * slacks[i] - (masses[a:b] * gains).sum()
