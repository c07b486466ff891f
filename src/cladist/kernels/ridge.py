"""The rounds of recursive least squares on one set of examples (Cesa-Bianchi, Gentile & Zaniboni 2006, H-RLS).

The k nodes of a group share the examples S and have targets s ∈ {−1, +1} each. The margin of a row x at a node is

    m = xᵀ (αI + S Sᵀ + x xᵀ)⁻¹ S s,

with x itself in the inverse. The row is then stored if m² ≤ c ln t / Q, where Q is the number of stored examples and t
the number of the round (SH-RLS). c = ∞ stores every row (H-RLS), and while Q = 0 every row is stored. If `current` is
false, x xᵀ is left out of the inverse, which changes the size of m but not its sign. While nothing is stored, m is 0
and `empty` is written instead.

Two forms are equal in exact arithmetic. Primal: P = (αI + S Sᵀ)⁻¹ and w = P S s, with q = P x,
m = w·x / (1 + x·q). Dual: αI + SᵀS = L Lᵀ, U = L⁻¹ s; a row with kernel values k to the examples has l = L⁻¹ k,
p = α + K(x, x) − l·l, and m = α l·U / p; storing it appends the row (l, √p) to L and (s − l·U) / √p to U.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

EQUAL = 1 + 1e-9  # smaller differences of weights are rounding errors; two examples of unit length have equal weights


@kernel
def is_stored(margins, c, round_number, count):
    """Return whether a row is stored: a margin is small, m² ≤ c ln t / Q, or nothing is stored yet."""
    if count == 0:
        return True
    limit = c * np.log(round_number) / count
    return np.min(np.abs(margins)) ** 2 <= limit


@kernel
def primal_rounds(X, targets, learns, round_of, P, W, count, c, current, empty, margins):
    """Make one round for each row of X, changing P (d × d) and W (k × d); returns the number of examples.

    `targets` (rows × k) holds ±1; rows with `learns` false only receive margins. `margins` (rows × k) is written. Cost
    per row: O(nnz(x) d) for q, and O(d² + k d) if the row is stored.
    """
    d = P.shape[0]
    q = np.empty(d)
    for i in range(X.shape[0]):
        x = X[i]
        was_empty = count == 0
        q[:] = 0
        for j in range(d):
            if x[j] != 0:
                for a in range(d):
                    q[a] += x[j] * P[j, a]
        shrinkage = 1.0
        for j in range(d):
            shrinkage += x[j] * q[j]
        for v in range(W.shape[0]):
            score = 0.0
            for j in range(d):
                score += W[v, j] * x[j]
            margins[i, v] = score / shrinkage if current else score
        inverse = 1.0 / shrinkage
        if learns[i] and is_stored(margins[i], c, round_of[i], count):
            for v in range(W.shape[0]):
                score = margins[i, v] * shrinkage if current else margins[i, v]
                step = (targets[i, v] - score) / shrinkage
                for j in range(d):
                    W[v, j] += step * q[j]
            for a in range(d):
                for j in range(d):
                    P[a, j] -= q[a] * q[j] * inverse  # in this order P stays symmetric bit for bit
            count += 1
        if was_empty:
            margins[i] = empty
    return count


@kernel
def dual_rounds(C, numerators, targets, learns, round_of, count, alpha, c, current, empty, LT, U, stored, margins):
    """Make one round for each row of a block, given its products with the examples stored before.

    With z_r = L₀⁻¹ k_r over those examples: C[r, s] = K(x_r, x_s) − z_r·z_s, numerators[r] = z_r·U₀. Stored rows are
    appended to L (here transposed, block × block), to U (block × k) and, as numbers in the block, to `stored`, which
    all begin empty. Writes the margins; returns the number of stored rows. Cost O(block · stored (stored + k)).
    """
    n_new = 0
    n_nodes = numerators.shape[1]
    row = np.empty(C.shape[0])
    for r in range(C.shape[0]):
        was_empty = count == 0
        pivot = alpha + C[r, r]
        for j in range(n_new):
            row[j] = C[r, stored[j]]
        for j in range(n_new):
            row[j] /= LT[j, j]
            for i in range(j + 1, n_new):  # along a row of Lᵀ, so that the loop is vectorised
                row[i] -= row[j] * LT[j, i]
            pivot -= row[j] * row[j]
        for v in range(n_nodes):
            numerator = numerators[r, v]
            for j in range(n_new):
                numerator += row[j] * U[j, v]
            margins[r, v] = numerator * (alpha / pivot if current else 1.0)
        if learns[r] and is_stored(margins[r], c, round_of[r], count):
            root = np.sqrt(pivot)
            LT[:n_new, n_new] = row[:n_new]
            LT[n_new, n_new] = root
            for v in range(n_nodes):
                U[n_new, v] = (targets[r, v] - margins[r, v] * (pivot / alpha if current else 1.0)) / root
            stored[n_new] = r
            n_new += 1
            count += 1
        if was_empty:
            margins[r] = empty
    return n_new


@kernel
def least_weighted(L, U, count, weights):
    """Return the example of smallest dual weight, the norm of its row of L⁻ᵀ U, which is written to `weights`."""
    best = -1
    smallest = np.inf
    for i in range(count - 1, -1, -1):
        size = 0.0
        for v in range(U.shape[1]):
            value = U[i, v]
            for j in range(i + 1, count):
                value -= L[j, i] * weights[j, v]
            weights[i, v] = value / L[i, i]
            size += weights[i, v] * weights[i, v]
        if size <= smallest * EQUAL:  # the oldest of equal ones
            best, smallest = i, min(size, smallest)
    return best


@kernel
def drop_example(L, U, r, count):
    """Remove example r from L and U in place by Givens rotations. Cost O(count²)."""
    for k in range(r + 1, count):
        length = np.hypot(L[k, k], L[k, r])
        cosine, sine = L[k, k] / length, L[k, r] / length
        for i in range(k, count):
            rotated = cosine * L[i, k] + sine * L[i, r]
            L[i, r] = cosine * L[i, r] - sine * L[i, k]
            L[i, k] = rotated
        for v in range(U.shape[1]):
            rotated = cosine * U[k, v] + sine * U[r, v]
            U[r, v] = cosine * U[r, v] - sine * U[k, v]
            U[k, v] = rotated
    for i in range(r + 1, count):
        for k in range(r):
            L[i - 1, k] = L[i, k]
        for k in range(r + 1, i + 1):
            L[i - 1, k - 1] = L[i, k]
        for v in range(U.shape[1]):
            U[i - 1, v] = U[i, v]


@kernel
def budget_rounds(K, norms, targets, learns, round_of, place, count, alpha, c, current, empty, L, U, margins):
    """Make one round for each row of a block with at most B examples stored; `place` has room for B + 1.

    K[r, place[j]] is the kernel value of row r and example j; row r itself is column K.shape[1] − rows + r.
    L (B + 1 × B + 1), U (B + 1 × k) and `place` change in place. When B + 1 are stored, the one of smallest dual
    weight is removed. Writes the margins; returns the number of examples. Cost per row: O(B (B + k)).
    """
    n_rows = K.shape[0]
    budget = place.shape[0] - 1
    weights = np.empty((budget + 1, U.shape[1]))
    for r in range(n_rows):
        row = L[count]
        pivot = alpha + norms[r]
        for j in range(count):
            value = K[r, place[j]]
            for i in range(j):
                value -= row[i] * L[j, i]
            row[j] = value / L[j, j]
            pivot -= row[j] * row[j]
        for v in range(U.shape[1]):
            numerator = 0.0
            for j in range(count):
                numerator += row[j] * U[j, v]
            margins[r, v] = numerator * (alpha / pivot if current else 1.0)
        keep = learns[r] and is_stored(margins[r], c, round_of[r], count)
        if keep:
            row[count] = np.sqrt(pivot)
            for v in range(U.shape[1]):
                U[count, v] = (targets[r, v] - margins[r, v] * (pivot / alpha if current else 1.0)) / row[count]
        if count == 0:
            margins[r] = empty
        if not keep:
            continue
        place[count] = K.shape[1] - n_rows + r
        count += 1
        if count > budget:
            dropped = least_weighted(L, U, count, weights)
            drop_example(L, U, dropped, count)
            for j in range(dropped + 1, count):
                place[j - 1] = place[j]
            count -= 1
    return count
