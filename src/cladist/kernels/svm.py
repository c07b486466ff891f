"""Dual coordinate descent for one linear SVM with squared hinge loss.

Hsieh, Chang, Lin, Keerthi & Sundararajan, "A dual coordinate descent method for large-scale linear SVM",
ICML 2008, algorithm 3 (with shrinking).
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

NEGLIGIBLE = 0.05  # share of eps below which moving α costs more than it gains
STRETCH = 8  # rows visited one after the other; they lie side by side in memory


@kernel
def margin_of_row(rows, i, w, bias):
    """Return w·x_i + b, b being the last entry of w; `bias` is the value of its constant feature."""
    indptr, indices, data = rows
    total = w[w.shape[0] - 1] * bias
    for k in range(indptr[i], indptr[i + 1]):
        total += data[k] * w[indices[k]]
    return total


@kernel
def duality_gap(rows, signs, D, bias, w, alpha):
    """Return (primal, dual) of min_w ½‖w‖² + Σ_i max(0, 1 − y_i w·x_i)² / (2 D_i), D_i = 1 / (2 C_i)."""
    norm = 0.0
    for value in w:
        norm += value * value
    loss = gain = 0.0
    for i in range(signs.shape[0]):
        miss = 1 - signs[i] * margin_of_row(rows, i, w, bias)
        if miss > 0:
            loss += miss * miss / (2 * D[i])
        gain += alpha[i] - D[i] * alpha[i] * alpha[i] / 2
    return norm / 2 + loss, gain - norm / 2


@kernel
def shuffled(count, generator):
    """Return 0 … count − 1 in random order; `generator` holds the state of a xorshift generator.

    A generator of its own, so that problems solved side by side never share one.
    """
    order = np.arange(count)
    for k in range(count - 1, 0, -1):
        generator[0] ^= generator[0] << np.uint64(13)
        generator[0] ^= generator[0] >> np.uint64(7)
        generator[0] ^= generator[0] << np.uint64(17)
        j = np.int64(generator[0] % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    return order


@kernel
def visit_row(rows, i, signs, D, q, bias, negligible, highest_before, w, alpha):
    """Minimise the dual over α_i; returns its projected gradient, or NaN where it surely stays at 0 for now."""
    indptr, indices, data = rows
    gradient = signs[i] * margin_of_row(rows, i, w, bias) - 1 + D[i] * alpha[i]
    if alpha[i] == 0:
        if gradient > highest_before:
            return np.nan
        if gradient >= 0:
            return 0.0
    if abs(gradient) > negligible:
        before = alpha[i]
        alpha[i] = max(before - gradient / q[i], 0.0)
        step = (alpha[i] - before) * signs[i]
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += step * data[k]
        w[w.shape[0] - 1] += step * bias
    return gradient


@kernel
def solve_squared_hinge(rows, signs, D, bias, tol, max_iter, seed, w, alpha):
    """Minimise ½‖w‖² + Σ_i C_i max(0, 1 − y_i w·x_i)² through its dual, α ≥ 0; D_i = 1 / (2 C_i).

    Changes w (d + 1 entries, the last for the bias) and alpha in place, starting from what they hold. Stops when
    (primal − dual) / primal ≤ tol, or after max_iter passes. Returns (primal, dual, passes).

    Rows should come in random order. Every pass visits stretches of them in a new random order: always the same
    order takes many times the passes, and a wholly new one a cache miss a row.
    """
    indptr, _, data = rows
    n = signs.shape[0]
    q = np.empty(n)
    for i in range(n):
        q[i] = bias * bias + D[i]
        for k in range(indptr[i], indptr[i + 1]):
            q[i] += data[k] * data[k]
    active = np.arange(n)
    n_active = n
    generator = np.full(1, 88172645463325252, np.uint64)  # not 0, which would stay 0
    generator[0] ^= np.uint64(seed)
    eps = 0.1  # on the projected gradient; tightened until the gap is small enough
    highest_before = np.inf
    for done in range(1, max_iter + 1):
        highest, lowest = -np.inf, np.inf
        for first in shuffled((n_active + STRETCH - 1) // STRETCH, generator) * STRETCH:
            for s in range(first, min(first + STRETCH, n_active)):
                i = active[s]
                gradient = visit_row(rows, i, signs, D, q, bias, NEGLIGIBLE * eps, highest_before, w, alpha)
                if gradient != gradient:
                    active[s] = -1
                else:
                    highest, lowest = max(highest, gradient), min(lowest, gradient)
        kept = 0
        for s in range(n_active):
            if active[s] >= 0:
                active[kept] = active[s]
                kept += 1
        was_whole = n_active == n
        n_active = kept
        highest_before = highest if highest > 0 else np.inf
        if highest - lowest <= eps:
            if was_whole:
                primal, dual = duality_gap(rows, signs, D, bias, w, alpha)
                if primal - dual <= tol * primal:
                    return primal, dual, done
                eps /= 4
            active[:] = np.arange(n)
            n_active, highest_before = n, np.inf
    primal, dual = duality_gap(rows, signs, D, bias, w, alpha)
    return primal, dual, max_iter
