"""The rounds of Hieron (Dekel, Keshet & Singer 2004), with weights and with kernel columns.

In the paper's letters: s_v = w_v·x, S_v = Σ_{u ∈ path(v)} s_u, γ the tree distance, y the label, r the competitor.
A round finds r, its loss ℓ(r) = [S_r − S_y + margin(γ)]₊ and the step α = min(C, ℓ(r) / (γ ‖x‖²)).

Weights lie feature by feature, ``W[d, N]``: the N weights of one feature are read as one stretch of memory.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

# What a run has added up, by position.
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
def best_and_competitor(s, y, tree, margin, since, now, S, common):
    """Return (ŷ, r, γ(y, ŷ), γ(y, r)): the best label and the one that violates its margin most.

    `margin` is indexed by distance; r = ŷ when it is empty. Label v can be predicted if since[v] < now: a row's own
    label, if it is new, cannot. Where no label can be predicted yet, ŷ is the best of all nodes and r = y: there is
    nothing to compete with. Ties go to the lowest id. S and `common` (the depth of the deepest ancestor shared with y)
    are scratch of length N. Cost O(N).
    """
    parent, depth = tree
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
        if margin.shape[0]:
            value = S[v] + margin[depth[y] + depth[v] - 2 * common[v]]
            if value > competitor_value:
                competitor, competitor_value = v, value
    if best < 0:
        best, competitor = np.argmax(S), y
    elif not margin.shape[0]:
        competitor = best
    to_best = depth[y] + depth[best] - 2 * common[best]
    return best, competitor, to_best, depth[y] + depth[competitor] - 2 * common[competitor]


@kernel
def step_size(S, y, r, distance, margin, squared_norm, C, tally):
    """Return α for the pair (y, r) and note the loss; 0 where there is nothing to do."""
    if r == y:
        return 0.0
    loss = S[r] - S[y] + margin[distance]
    if loss <= 0:
        return 0.0
    tally[LOSS] += loss
    tally[SQUARED_LOSS] += loss * loss
    if squared_norm == 0:  # no step can meet the margin of an empty row
        return 0.0
    tally[UPDATES] += 1
    return min(C, loss / (distance * squared_norm))


@kernel
def add_to_path(W, indices, data, node, other, parent, step, acc, weight):
    r"""Add step · x to w_v for v ∈ path(node) \ path(other), and weight times as much to acc if there is one."""
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
def run_rounds(rows, labels, order, W, acc, tree, margin, by_margin, since, C, first_round, place, tally, answers):
    """Make one round for each row in `order`, changing W (and acc, the sum of round · Δw, unless it is empty).

    Parameters: rows = CSR (indptr, indices, data); tree = (parent, depth); margin by distance; by_margin: r is
    the most violating label (max-loss rule), else the prediction; since: the place of the row after which each label
    can be predicted, −1 from the start; first_round: the number of the first round, from 1; place: that of the first
    row; tally: sums over rounds, see the positions above, infinite where a step cannot be held in W; answers: unless it
    is empty, gets the prediction before each round. Cost a round O((N + γ) · nnz(x)).
    """
    indptr, indices, data = rows
    parent = tree[0]
    n_nodes = parent.shape[0]
    s = np.empty(n_nodes, W.dtype)
    S = np.empty(n_nodes, np.float64)
    common = np.empty(n_nodes, np.int64)
    search_margin = margin if by_margin else margin[:0]
    for k in range(order.shape[0]):
        i = order[k]
        x_indices = indices[indptr[i] : indptr[i + 1]]
        x = data[indptr[i] : indptr[i + 1]]
        y = labels[i]
        node_scores(x_indices, x, W, s)
        best, r, to_best, distance = best_and_competitor(s, y, tree, search_margin, since, place + k, S, common)
        if answers.shape[0]:
            answers[k] = best
        tally[ROUNDS] += 1
        tally[ERRORS] += best != y
        tally[DISTANCE] += to_best
        squared_norm, largest = 0.0, 0.0
        for value in x:
            squared_norm += np.float64(value) * np.float64(value)  # a float32 square overflows at 1e19
            largest = max(largest, abs(np.float64(value)))
        alpha = step_size(S, y, r, distance, margin, squared_norm, C, tally)
        if alpha > 0:
            if not np.isfinite(W.dtype.type(2.0 * alpha * largest)):
                tally[LOSS] = np.inf  # the step cannot be held in W
            now = first_round + k
            add_to_path(W, x_indices, x, y, r, parent, alpha, acc, now)
            add_to_path(W, x_indices, x, r, y, parent, -alpha, acc, now)


@kernel
def subtract_nonzero(W, acc, divisor):
    """W −= acc / divisor, writing only where acc is not zero: memory never touched stays unclaimed."""
    for j in range(W.shape[0]):
        for v in range(W.shape[1]):
            if acc[j, v] != 0:
                W[j, v] -= acc[j, v] / divisor


@kernel
def score_updates(column, updates, n_updates, parent, s):
    """Set s_v = Σ_updates α K [v ∈ path(y)] − [v ∈ path(r)], given the kernel values `column` by support.

    Each update walks up to where its paths meet: adding α K at y and taking it away at r, to let one pass up do the
    rest, would leave a rest of rounding where they cancel, and break ties that weights keep. Cost O(updates · γ).
    """
    support, alpha, positive, negative = updates
    s[:] = 0
    for e in range(n_updates):
        weight = alpha[e] * column[support[e]]
        a, b = positive[e], negative[e]
        while a != b:
            if a > b:  # ids ascend with depth, so the larger is never above the smaller
                s[a] += weight
                a = parent[a]
            else:
                s[b] -= weight
                b = parent[b]


@kernel
def run_kernel_rounds(
    columns,
    norms,
    column_of,
    labels,
    updates,
    n_updates,
    tree,
    margin,
    by_margin,
    since,
    C,
    first_round,
    place,
    tally,
    answers,
):
    """Make one round for each row of `columns`, its kernel values against all supports it may use.

    `updates` = (support, α, y, r, round) has room for one more a row; returns how many are used. column_of[i] is
    where row i itself stands, or would stand, among the supports; norms[i] is K(x_i, x_i).
    """
    support, alpha, positive, negative, when = updates
    parent = tree[0]
    s = np.empty(parent.shape[0], np.float64)
    S = np.empty(parent.shape[0], np.float64)
    common = np.empty(parent.shape[0], np.int64)
    search_margin = margin if by_margin else margin[:0]
    for i in range(columns.shape[0]):
        y = labels[i]
        score_updates(columns[i], (support, alpha, positive, negative), n_updates, parent, s)
        best, r, to_best, distance = best_and_competitor(s, y, tree, search_margin, since, place + i, S, common)
        if answers.shape[0]:
            answers[i] = best
        tally[ROUNDS] += 1
        tally[ERRORS] += best != y
        tally[DISTANCE] += to_best
        step = step_size(S, y, r, distance, margin, norms[i], C, tally)
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
