"""Ascent over the masses of listed competitors of each row: the small problems of a cutting plane.

A competitor r of row i has a difference of features, D_r ⊗ x_i, and a loss. The rest of the mass C belongs to the true
output, whose difference and loss are 0.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.markov import add_row, row_scores


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
