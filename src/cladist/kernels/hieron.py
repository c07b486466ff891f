r"""The rounds of Hieron (Dekel, Keshet & Singer 2004), with weights and with kernel values.

In the paper's letters: s_v = w_v·x, S_v = W^v·x = Σ_{u ∈ path(v)} s_u, y the label, r the competitor, γ the tree
distance of y and r. A round computes

    ŷ = argmax_v S_v                                                                       eq. (3)
    ℓ = [S_r − S_y + √γ]₊                                                                  eq. (5)
    α = min(C, ℓ / (γ ‖x‖²)), C = ∞ in the paper                                           eq. (8)
    w_v += α x for v ∈ path(y) \ path(r),  w_v −= α x for v ∈ path(r) \ path(y)            eq. (7)

`tree` is (parent, depth). `rule` is (margin, by_margin, since, C): the margin by tree distance, √γ in the paper;
whether r is the label of largest ℓ, or else ŷ; the row after which each label can be predicted, −1 for the start; the
cap on α. Weights are stored feature by feature, ``W[d, N]``: the N weights of one feature are contiguous.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

# Positions in the tally, the sums over all rounds of a run.
ROUNDS, ERRORS, DISTANCE, LOSS, SQUARED_LOSS, UPDATES = range(6)
TALLY = 6


@kernel
def node_scores(indices, data, W, out):
    """Set out[v] = Σ_j x_j W[j, v] for one sparse row x. Cost O(N · nnz(x))."""
    out[:] = 0
    for k in range(indices.shape[0]):
        x = data[k]
        weights = W[indices[k]]
        for v in range(out.shape[0]):
            out[v] += x * weights[v]


@kernel
def find_competitor(s, y, parent, depth, margin, by_margin, since, now, S, common):
    """Return (ŷ, r, γ(y, ŷ), γ(y, r)), and write the path scores S; ties go to the lowest id. Cost O(N).

    Label v can be predicted if since[v] < now, so a new label of the row itself cannot. If no label can be predicted
    yet, ŷ is the best of all nodes and r = y. common[v] is the depth of the deepest ancestor that v shares with y.
    """
    common[:] = -2
    u = y
    while u >= 0:
        common[u] = depth[u]
        u = parent[u]
    best = competitor = -1
    best_value = competitor_value = -np.inf
    for v in range(parent.shape[0]):
        p = parent[v]
        S[v] = s[v] if p < 0 else S[p] + s[v]
        if common[v] == -2:
            common[v] = -1 if p < 0 else common[p]
        if since[v] >= now:
            continue
        if S[v] > best_value:
            best, best_value = v, S[v]
        if by_margin:
            value = S[v] + margin[depth[y] + depth[v] - 2 * common[v]]
            if value > competitor_value:
                competitor, competitor_value = v, value
    if best < 0:
        best, competitor = np.argmax(S), y
    elif not by_margin:
        competitor = best
    to_best = depth[y] + depth[best] - 2 * common[best]
    return best, competitor, to_best, depth[y] + depth[competitor] - 2 * common[competitor]


@kernel
def count_round(y, best, r, to_best, loss, tally):
    """Add one round to the tally, and return ℓ, or 0 if y beats r by the margin."""
    tally[ROUNDS] += 1
    tally[ERRORS] += best != y
    tally[DISTANCE] += to_best
    if r == y or loss <= 0:
        return 0.0
    tally[LOSS] += loss
    tally[SQUARED_LOSS] += loss * loss
    return loss


@kernel
def step_size(loss, gamma, squared_norm, C, tally):
    """Return α, eq. (8); 0 if x is 0, for no step can meet the margin of an empty row."""
    if loss == 0 or squared_norm == 0:
        return 0.0
    tally[UPDATES] += 1
    return min(C, loss / (gamma * squared_norm))


@kernel
def add_to_path(W, indices, data, node, other, parent, step, acc, weight):
    r"""Add step · x to w_v for v ∈ path(node) \ path(other), and weight · step · x to acc unless it is empty."""
    a, b = node, other
    while a != b:
        # Ids ascend with depth, so the larger id is never an ancestor of the smaller.
        if a > b:
            for k in range(indices.shape[0]):
                W[indices[k], a] += step * data[k]
                if acc.shape[0]:
                    acc[indices[k], a] += weight * step * data[k]
            a = parent[a]
        else:
            b = parent[b]


@kernel
def run_rounds(rows, labels, order, W, acc, tree, rule, first_round, place, tally, predictions):
    """Make one round for each row in `order`, changing W and, unless it is empty, acc, the sum of round · Δw.

    rows = CSR (indptr, indices, data); first_round: the number of the first round, from 1; place: the position of the
    first row, which `since` of the rule refers to. The tally becomes infinite if a step exceeds the type of W.
    `predictions`, unless it is empty, receives ŷ of every round. Cost per round: O((N + γ) · nnz(x)).
    """
    indptr, indices, data = rows
    parent, depth = tree
    margin, by_margin, since, C = rule
    n_nodes = parent.shape[0]
    s, S, common = np.empty(n_nodes, W.dtype), np.empty(n_nodes, np.float64), np.empty(n_nodes, np.int64)
    for k in range(order.shape[0]):
        i = order[k]
        x_indices = indices[indptr[i] : indptr[i + 1]]
        x = data[indptr[i] : indptr[i + 1]]
        y = labels[i]
        node_scores(x_indices, x, W, s)
        best, r, to_best, gamma = find_competitor(s, y, parent, depth, margin, by_margin, since, place + k, S, common)
        if predictions.shape[0]:
            predictions[k] = best
        loss = count_round(y, best, r, to_best, S[r] - S[y] + margin[gamma], tally)  # eq. (5)
        if loss == 0:
            continue
        squared_norm, largest = 0.0, 0.0
        for value in x:
            squared_norm += np.float64(value) * np.float64(value)  # a float32 square overflows at 1e19
            largest = max(largest, abs(np.float64(value)))
        alpha = step_size(loss, gamma, squared_norm, C, tally)  # eq. (8)
        if alpha > 0:
            if not np.isfinite(W.dtype.type(2.0 * alpha * largest)):
                tally[LOSS] = np.inf
            now = first_round + k
            add_to_path(W, x_indices, x, y, r, parent, alpha, acc, now)  # eq. (7)
            add_to_path(W, x_indices, x, r, y, parent, -alpha, acc, now)


@kernel
def subtract_nonzero(W, acc, divisor):
    """Set W −= acc / divisor, writing only where acc is not zero, so that untouched pages stay unallocated."""
    for j in range(W.shape[0]):
        for v in range(W.shape[1]):
            if acc[j, v] != 0:
                W[j, v] -= acc[j, v] / divisor


@kernel
def score_updates(column, updates, n_updates, parent, s):
    """Set s_v = Σ_updates α K ([v ∈ path(y)] − [v ∈ path(r)]), eq. (12), given the kernel values `column` by support.

    Each update walks up to where its two paths meet. Adding α K at y and −α K at r and summing up the tree would leave
    rounding errors on the shared part, and break ties that weights keep. Cost O(updates · γ).
    """
    support, alpha, positive, negative = updates
    s[:] = 0
    for e in range(n_updates):
        weight = alpha[e] * column[support[e]]
        a, b = positive[e], negative[e]
        while a != b:
            if a > b:  # ids ascend with depth, so the larger is never an ancestor of the smaller
                s[a] += weight
                a = parent[a]
            else:
                s[b] -= weight
                b = parent[b]


@kernel
def run_kernel_rounds(
    columns, norms, column_of, labels, updates, n_updates, tree, rule, first_round, place, tally, predictions
):
    """Make one round for each row of `columns`, which holds its kernel values with all possible supports.

    `updates` = (support, α, y, r, round) has room for one more update per row; returns the number of updates. Row i
    itself is, or would become, support column_of[i]; norms[i] is K(x_i, x_i). The rest is as in `run_rounds`.
    """
    support, alpha, positive, negative, when = updates
    parent, depth = tree
    margin, by_margin, since, C = rule
    n_nodes = parent.shape[0]
    s, S, common = np.empty(n_nodes, np.float64), np.empty(n_nodes, np.float64), np.empty(n_nodes, np.int64)
    for i in range(columns.shape[0]):
        y = labels[i]
        score_updates(columns[i], (support, alpha, positive, negative), n_updates, parent, s)
        best, r, to_best, gamma = find_competitor(s, y, parent, depth, margin, by_margin, since, place + i, S, common)
        if predictions.shape[0]:
            predictions[i] = best
        loss = count_round(y, best, r, to_best, S[r] - S[y] + margin[gamma], tally)  # eq. (5)
        step = step_size(loss, gamma, norms[i], C, tally)  # eq. (8)
        if step > 0:
            support[n_updates] = column_of[i]
            alpha[n_updates] = step
            positive[n_updates] = y
            negative[n_updates] = r
            when[n_updates] = first_round + i
            n_updates += 1
    return n_updates


@kernel
def predict_rows(rows, W, parent, allowed, out):
    """Set out[i] to the allowed label with the highest path score for each row; ties to the lowest id."""
    indptr, indices, data = rows
    s = np.empty(parent.shape[0], W.dtype)
    S = np.empty(parent.shape[0], np.float64)
    for i in range(out.shape[0]):
        node_scores(indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]], W, s)
        best = -np.inf
        for v in range(parent.shape[0]):
            p = parent[v]
            S[v] = s[v] if p < 0 else S[p] + s[v]
            if allowed[v] and S[v] > best:
                best = S[v]
                out[i] = v
