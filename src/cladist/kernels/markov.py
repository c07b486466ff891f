"""Labellings of a tree as a Markov tree: the best one, and ascent over the edge marginals of one row.

Every node v has one edge, to its parent; a root's goes to a node that is always on. An edge has four states 2s + t, s
the parent's mark and t the node's own: 0 (−−), 1 (−+), 2 (+−), 3 (++).
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

NEGLIGIBLE = 1e-12  # times C: a marginal below this is rounding error, and no labelling in use has it


@kernel
def best_states(gains, parent, sums, choice, marks):
    """Write the labelling of highest Σ_v gains[v, state_v] into `marks`, ties leaving nodes off; return its value.

    Max-product message passing from the leaves up. −inf forbids a state; if no labelling is left the value is −inf.
    `sums` and `choice` (nodes × 2) are working arrays.
    """
    sums[:] = 0.0
    value = 0.0
    for v in range(parent.shape[0] - 1, -1, -1):
        p = parent[v]
        for s in range(2):
            off, on = gains[v, 2 * s] + sums[v, 0], gains[v, 2 * s + 1] + sums[v, 1]
            choice[v, s] = on > off
            best = on if on > off else off
            if p >= 0:
                sums[p, s] += best
            elif s == 1:
                value += best
    for v in range(parent.shape[0]):
        marks[v] = choice[v, 1] if parent[v] < 0 else choice[v, marks[parent[v]]]
    return value


@kernel
def fill_gains(scores, y, parent, loss, gains):
    """Write ℓ_v(y, u) + (score of state u) − (score of y's state) for all nodes v and states u.

    loss: (costs, whether a node is charged only if its parent is right, whether (−+) is forbidden, whether states have
    weights of their own, factors of nodes). Without weights of their own, states have ± factor · score.
    """
    cost, hierarchical, consistent, edges, factor = loss
    for v in range(parent.shape[0]):
        above = 1 if parent[v] < 0 else y[parent[v]]
        true = 2 * above + y[v]
        for u in range(4):
            s, t = u >> 1, u & 1
            charged = t != y[v] and (s == above or not hierarchical)
            gain = cost[v] if charged else 0.0
            if edges:
                gain += scores[4 * v + u] - scores[4 * v + true]
            elif t != y[v]:
                gain += (2.0 if t else -2.0) * factor[v] * scores[v]
            gains[v, u] = gain
        if consistent:
            gains[v, 1] = -np.inf


@kernel
def away_gains(gains, marginals, least, out):
    """Write −gains where marginals exceed `least`, −inf elsewhere: the best labelling of these is the worst in use."""
    for v in range(gains.shape[0]):
        for u in range(4):
            out[v, u] = -gains[v, u] if marginals[v, u] > least else -np.inf


@kernel
def current_value(gains, marginals):
    """Return Σ marginals · gains over states in use."""
    total = 0.0
    for v in range(gains.shape[0]):
        for u in range(4):
            if marginals[v, u] != 0.0:
                total += marginals[v, u] * gains[v, u]
    return total


@kernel
def edge_state(parent, marks, v):
    """Return the state of node v's edge in a labelling."""
    p = parent[v]
    return 2 * (1 if p < 0 else marks[p]) + marks[v]


@kernel
def split_parts(gains, marginals, parent, loss, square, towards, away, parts):
    """Write the connected part that each edge belongs to, and the slope, curvature and longest step of every part.

    A part is named by its topmost node, −1: none. An edge whose node does not differ, but whose parent does, ends its
    parent's part: it is written as −2 − part, so that another part can begin below it.
    """
    _, _, _, edges, factor = loss
    part, slope, curve, most = parts
    slope[:] = 0.0
    curve[:] = 0.0
    most[:] = np.inf
    for v in range(parent.shape[0]):
        p = parent[v]
        differs, above = towards[v] != away[v], p >= 0 and towards[p] != away[p]
        owner = part[p] if above else (v if differs else -1)
        part[v] = owner if differs else -2 - owner if owner >= 0 else -1
        if owner >= 0:
            new, old = edge_state(parent, towards, v), edge_state(parent, away, v)
            slope[owner] += gains[v, new] - gains[v, old]
            most[owner] = min(most[owner], marginals[v, old])
            if edges:
                curve[owner] += 2.0 * square
            elif differs:
                curve[owner] += 4.0 * factor[v] * factor[v] * square


@kernel
def swap(gains, marginals, parent, loss, square, towards, away, parts, scores, change):
    """Move mass from labelling `away` to labelling `towards`, on each connected part where they differ by its own step.

    Parts share no edge, so that their steps are independent, and replacing one part alone leaves a labelling. The step
    of a part is slope / curvature, gᵀΔ / ΔᵀK_iiΔ in the paper's letters, or the longest feasible one. Changes
    `marginals`, `scores` of this row, and `change`, by which coefficients of the row grow. Returns whether mass moved.
    """
    _, _, _, edges, factor = loss
    part, slope, curve, most = parts
    split_parts(gains, marginals, parent, loss, square, towards, away, parts)
    moved = False
    for v in range(parent.shape[0]):
        owner = part[v] if part[v] >= 0 else -2 - part[v]
        if owner < 0 or slope[owner] <= 0.0:
            continue
        step = most[owner]
        if curve[owner] > 0.0:
            step = min(step, slope[owner] / curve[owner])
        if not step > 0.0:
            continue
        moved = True
        new, old = edge_state(parent, towards, v), edge_state(parent, away, v)
        marginals[v, new] += step
        marginals[v, old] -= step
        if edges:
            change[4 * v + new] -= step
            change[4 * v + old] += step
            scores[4 * v + new] -= step * square
            scores[4 * v + old] += step * square
        elif towards[v] != away[v]:
            moving = -2.0 * step * factor[v] * (1.0 if towards[v] else -1.0)
            change[v] += moving
            scores[v] += moving * square
    return moved


@kernel
def ascend_row(scores, marginals, y, parent, loss, limits, square, room, change):
    """Raise the dual over the marginals of one row, given its scores; return its gap before (Algorithm 2).

    limits: (C, swaps at most, gap below which to stop). `scores` and `marginals` are changed; `change` is the growth of
    the row's coefficients. `room` holds the arrays of `working_room`.
    """
    C, n_swaps, enough = limits
    gains, sums, choice, towards, away, parts, others = room
    change[:] = 0.0
    first = 0.0
    for k in range(n_swaps):
        fill_gains(scores, y, parent, loss, gains)
        value = best_states(gains, parent, sums, choice, towards)
        gap = C * value - current_value(gains, marginals)
        if k == 0:
            first = gap
        if gap <= enough:
            break
        away_gains(gains, marginals, NEGLIGIBLE * C, others)
        if best_states(others, parent, sums, choice, away) == -np.inf:
            break
        if not swap(gains, marginals, parent, loss, square, towards, away, parts, scores, change):
            break
    return first


@kernel
def working_room(n_nodes):
    """Return the working arrays of `ascend_row`."""
    part = np.empty(n_nodes, np.int64)
    parts = (part, np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes))
    return (
        np.empty((n_nodes, 4)),
        np.empty((n_nodes, 2)),
        np.empty((n_nodes, 2), np.uint8),
        np.empty(n_nodes, np.uint8),
        np.empty(n_nodes, np.uint8),
        parts,
        np.empty((n_nodes, 4)),
    )


@kernel
def row_scores(indptr, indices, data, i, W, scores):
    """Write the scores of row i, Σ_f x_f W[f], into `scores`."""
    scores[:] = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        weights, x = W[indices[k]], data[k]
        for r in range(scores.shape[0]):
            scores[r] += x * weights[r]


@kernel
def add_row(indptr, indices, data, i, change, W):
    """Add x_f · change to W[f] for every feature f of row i."""
    for k in range(indptr[i], indptr[i + 1]):
        weights, x = W[indices[k]], data[k]
        for r in range(change.shape[0]):
            weights[r] += x * change[r]


@kernel
def sweep_rows(rows, W, order, marginals, marks, parent, loss, limits, squares, gaps):
    """Ascend over the rows of `order`, one after the other, with weights W (features × scores) kept up to date."""
    indptr, indices, data = rows
    room = working_room(parent.shape[0])
    scores, change = np.empty(W.shape[1]), np.empty(W.shape[1])
    for i in order:
        row_scores(indptr, indices, data, i, W, scores)
        gaps[i] = ascend_row(scores, marginals[i], marks[i], parent, loss, limits, squares[i], room, change)
        moved = False
        for r in range(change.shape[0]):
            moved |= change[r] != 0.0
        if moved:
            add_row(indptr, indices, data, i, change, W)


@kernel
def measure_row(scores, marginals, y, parent, loss, C, room):
    """Return a row's slack max_u Σ_v gains and its gap C slack − Σ marginals · gains."""
    gains, sums, choice, towards, _, _, _ = room
    fill_gains(scores, y, parent, loss, gains)
    value = best_states(gains, parent, sums, choice, towards)
    return value, C * value - current_value(gains, marginals)


@kernel
def measure_rows(rows, W, first, last, marginals, marks, parent, loss, C, slacks, gaps):
    """Write slacks and gaps of rows first … last under W."""
    indptr, indices, data = rows
    room = working_room(parent.shape[0])
    scores = np.empty(W.shape[1])
    for i in range(first, last):
        row_scores(indptr, indices, data, i, W, scores)
        slacks[i], gaps[i] = measure_row(scores, marginals[i], marks[i], parent, loss, C, room)


@kernel
def measure_scores(scores, first, last, marginals, marks, parent, loss, C, slacks, gaps):
    """Write slacks and gaps of rows first … last whose scores are given."""
    room = working_room(parent.shape[0])
    for i in range(first, last):
        slacks[i], gaps[i] = measure_row(scores[i], marginals[i], marks[i], parent, loss, C, room)


@kernel
def marginal_losses(marginals, marks, parent, cost, hierarchical):
    """Return Σ marginals · ℓ over all rows."""
    total = 0.0
    for i in range(marginals.shape[0]):
        for v in range(parent.shape[0]):
            above = 1 if parent[v] < 0 else marks[i, parent[v]]
            for u in range(4):
                if (u & 1) != marks[i, v] and ((u >> 1) == above or not hierarchical):
                    total += cost[v] * marginals[i, v, u]
    return total


@kernel
def add_column(scores, places, values, column):
    """Add column_i · values to scores[i, places] of every row i."""
    for i in range(scores.shape[0]):
        row, k = scores[i], column[i]
        if k != 0.0:
            for p in range(places.shape[0]):
                row[places[p]] += k * values[p]
