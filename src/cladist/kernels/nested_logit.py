"""The nested logit model on a forest: a choice among the children of every node, by the values of what is below them.

A class at node v has a score s. With the scale a_v and the offsets b,

    x_u = a_v I_u + b_u   for a child u of v, and for a class at v above others, x = a_v s + b_{n+v} ("stop here"),
    L_v = log Σ exp x     over these,
    I_v = L_v / a_v       the value of v; with ``by_maximum`` the highest value below; s where v is only a class,
    P(u | v) = exp(x_u − L_v).

Scales have one entry more than there are nodes, for the virtual root above the roots, which is node −1. Rows list some
classes, each with a score and the log of how many classes it stands for; −inf is a class that cannot be chosen. `nodes`
are the nodes of these classes and all above them, ascending, as CSR: one list per row, or one for all rows.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

STOP = -2  # the best of the values below a node is that of its own class
TIE = 1e-10  # by which capped options stay below the best one, so that rounding does not decide between them
KEPT = 1e-3  # of the probability before: a step function alone may say 0 or 1, and the log loss of 0 is infinite


@kernel
def sweep_up(model, columns, scores, log_counts, nodes, work):
    """Set x, L, I and the best child of the listed nodes for one row; entry n of `work` is the virtual root."""
    parent, class_node, is_end, a, b, by_maximum = model
    x, stop_x, L, highest, value, best, entry = work
    n_nodes = parent.shape[0]
    for v in nodes:
        L[v], highest[v], value[v], entry[v] = 0.0, -np.inf, -np.inf, -1
    L[n_nodes], highest[n_nodes], value[n_nodes] = 0.0, -np.inf, -np.inf
    for k in range(columns.shape[0]):
        entry[class_node[columns[k]]] = k
    for position in range(nodes.shape[0] - 1, -1, -1):
        v = nodes[position]
        k, offset = entry[v], b[v]
        if k >= 0 and is_end[v]:
            value[v] = scores[k]
            offset += log_counts[k]
        elif k >= 0 and scores[k] > -np.inf:
            stop_x[v] = a[v] * scores[k] + b[n_nodes + v] + log_counts[k]
            _add(L, highest, v, stop_x[v])
            if scores[k] >= value[v]:
                value[v], best[v] = scores[k], STOP
        if highest[v] > -np.inf:
            L[v] = highest[v] + np.log(L[v])
            if not by_maximum:
                value[v] = L[v] / a[v]
        if value[v] == -np.inf:
            x[v] = -np.inf
            continue
        p = parent[v] if parent[v] >= 0 else n_nodes
        x[v] = a[p] * value[v] + offset
        _add(L, highest, p, x[v])
        if by_maximum and value[v] >= value[p]:
            value[p], best[p] = value[v], v
    L[n_nodes] = highest[n_nodes] + np.log(L[n_nodes])


@kernel
def _add(sums, highest, v, x):
    """Add exp(x) to a sum that is kept relative to its highest term."""
    if x > highest[v]:
        sums[v] = sums[v] * np.exp(highest[v] - x) + 1.0 if sums[v] > 0 else 1.0
        highest[v] = x
    else:
        sums[v] += np.exp(x - highest[v])


@kernel
def make_work(n_nodes):
    """Return scratch arrays with an entry per node and one for the virtual root."""
    size = n_nodes + 1
    return (
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )


@kernel
def mark_path(parent, v, x, L, on_path):
    """Mark a node and all above it; return the sum of log P along this path."""
    total = 0.0
    while v >= 0:
        p = parent[v] if parent[v] >= 0 else parent.shape[0]
        total += x[v] - L[p]
        on_path[v] = 1.0
        v = parent[v]
    return total


@kernel
def add_log_likelihood(model, rows, targets, nodes_indptr, nodes_indices, grad_a, grad_b, grad_scores):
    """Return the sum of the rows' log-likelihoods, and add its gradient with respect to log a, to b and to scores.

    A row whose target cannot be chosen counts for the deepest node above it that can. Scores have a gradient where
    `grad_scores` has rows.
    """
    parent, _, is_end, a, _, by_maximum = model
    columns, scores, log_counts = rows
    n_nodes, total = parent.shape[0], 0.0
    work = make_work(n_nodes)
    x, stop_x, L, _, value, best, entry = work
    on_path, g_value = np.zeros(n_nodes + 1), np.zeros(n_nodes + 1)
    for i in range(columns.shape[0]):
        r = i if nodes_indptr.shape[0] > 2 else 0
        nodes = nodes_indices[nodes_indptr[r] : nodes_indptr[r + 1]]
        t, stops = targets[i], False
        v = t
        while v >= 0:  # not all of the path need be listed
            x[v], entry[v] = -np.inf, -1
            v = parent[v]
        sweep_up(model, columns[i], scores[i], log_counts[i], nodes, work)
        if not is_end[t] and entry[t] >= 0 and scores[i, entry[t]] > -np.inf:
            stops = True
            total += stop_x[t] - L[t]
        while t >= 0 and x[t] == -np.inf:
            t = parent[t]
        on_path[nodes] = 0.0
        total += mark_path(parent, t, x, L, on_path)
        # Down again: the derivative by each value, from those above it.
        g_value[nodes] = 0.0
        g_value[n_nodes] = 0.0
        for v in nodes:
            if x[v] == -np.inf:
                continue
            p = parent[v] if parent[v] >= 0 else n_nodes
            g_L = -on_path[p] if p < n_nodes else (-1.0 if t >= 0 else 0.0)
            if p == t and not stops:
                g_L = 0.0  # the path ends above its children
            if not by_maximum and p < n_nodes:
                g_L += g_value[p] / a[p]
            g_x = on_path[v] + g_L * np.exp(x[v] - L[p])
            grad_a[p] += g_x * value[v] * a[p]
            grad_b[v] += g_x
            g_value[v] += a[p] * g_x
            if by_maximum and p < n_nodes and best[p] == v:
                g_value[v] += g_value[p]
            if is_end[v]:
                if grad_scores.shape[0]:
                    grad_scores[i, entry[v]] = g_value[v]
                continue
            if not by_maximum:
                grad_a[v] -= g_value[v] * value[v]  # L / a, by log a
            k = entry[v]
            if k < 0 or scores[i, k] == -np.inf:
                continue
            g_L = -1.0 if on_path[v] > 0 and (v != t or stops) else 0.0
            if not by_maximum:
                g_L += g_value[v] / a[v]
            g_x = (1.0 if v == t and stops else 0.0) + g_L * np.exp(stop_x[v] - L[v])
            grad_a[v] += g_x * scores[i, k] * a[v]
            grad_b[n_nodes + v] += g_x
            if grad_scores.shape[0]:
                grad_scores[i, k] = a[v] * g_x + (g_value[v] if by_maximum and best[v] == STOP else 0.0)
    return total


# -------------------------------------------------------------------- the path of the best choices


@kernel
def find_best(model, scores, nodes, work, best, best_x, next_x):
    """Set the best option of every listed node, a child or STOP, its x, and that of the second best."""
    parent, _, is_end = model[:3]
    n_nodes = parent.shape[0]
    x, stop_x, _, _, _, _, entry = work
    best_x[nodes], next_x[nodes] = -np.inf, -np.inf
    best_x[n_nodes], next_x[n_nodes] = -np.inf, -np.inf
    for v in nodes:  # parents first
        if not is_end[v] and entry[v] >= 0 and scores[entry[v]] > -np.inf:
            best[v], best_x[v] = STOP, stop_x[v]
        p = parent[v] if parent[v] >= 0 else n_nodes
        if x[v] > best_x[p]:
            best[p], best_x[p], next_x[p] = v, x[v], best_x[p]
        elif x[v] > next_x[p]:
            next_x[p] = x[v]


@kernel
def trace_paths(model, rows, targets, nodes_indptr, nodes_indices, log_mass, hits, ends):
    """Follow the best choice at every node from the root down, for every row.

    Set the log-probability of each step's node and whether the target is at or below it, and where the path ends. Steps
    are columns; NaN where there is no choice, or no further step.
    """
    parent, _, is_end = model[:3]
    columns, scores, log_counts = rows
    n_nodes = parent.shape[0]
    work = make_work(n_nodes)
    L = work[2]
    best, best_x, next_x = np.empty(n_nodes + 1, np.int64), np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    above = np.zeros(n_nodes, np.bool_)
    log_mass[:] = np.nan
    for i in range(columns.shape[0]):
        r = i if nodes_indptr.shape[0] > 2 else 0
        nodes = nodes_indices[nodes_indptr[r] : nodes_indptr[r + 1]]
        sweep_up(model, columns[i], scores[i], log_counts[i], nodes, work)
        find_best(model, scores[i], nodes, work, best, best_x, next_x)
        t = targets[i]
        while t >= 0:
            above[t] = True
            t = parent[t]
        v, k, total = n_nodes, 0, 0.0
        while v == n_nodes or not is_end[v]:
            total += best_x[v] - L[v]
            if next_x[v] > -np.inf:
                log_mass[i, k] = total
            hits[i, k] = targets[i] == v if best[v] == STOP else above[best[v]]
            if best[v] == STOP:
                break
            v, k = best[v], k + 1
        ends[i] = v
        t = targets[i]
        while t >= 0:
            above[t] = False
            t = parent[t]


@kernel
def bent(curves, k, log_mass):
    """Return the probability of a step whose log-probability by the model is given."""
    slopes, intercepts, starts, knots, values = curves
    z = log_mass - np.log(max(-np.expm1(log_mass), 1e-13))  # the log odds
    if slopes.shape[0]:
        slope, value = slopes[k], slopes[k] * z + intercepts[k]
        if starts.shape[0]:
            for e in range(starts[k], starts[k + 1]):
                if z > knots[e]:
                    value += (values[e] - slope) * (z - knots[e])
                    slope = values[e]
        return 1.0 / (1.0 + np.exp(-value))
    first, last = starts[k], starts[k + 1] - 1
    if z <= knots[first]:
        return values[first]
    if z >= knots[last]:
        return values[last]
    e = first + np.searchsorted(knots[first : last + 1], z)
    return values[e - 1] + (values[e] - values[e - 1]) * (z - knots[e - 1]) / (knots[e] - knots[e - 1])


@kernel
def sum_others(model, scores, nodes, work, best, next_x, others):
    """Set the sum over the options of every listed node but the best, as a multiple of the second best one.

    One minus the probability of the best option would be rounded where that is near 1.
    """
    parent, _, is_end = model[:3]
    n_nodes = parent.shape[0]
    x, stop_x, entry = work[0], work[1], work[6]
    others[nodes] = 0.0
    others[n_nodes] = 0.0
    for v in nodes:
        p = parent[v] if parent[v] >= 0 else n_nodes
        if best[p] != v and x[v] > -np.inf:
            others[p] += np.exp(x[v] - next_x[p])
        if not is_end[v] and best[v] != STOP and entry[v] >= 0 and scores[entry[v]] > -np.inf:
            others[v] += np.exp(stop_x[v] - next_x[v])


@kernel
def cap(log_p, n_others, share):
    """Return a share and the cap and factor, as logs, with which no other option gets more than the best one.

    The best option gets the share, which is raised if the others cannot take the rest; options at or above the cap get
    as much, and those below it their probability times the factor.
    """
    share = max(share, 1.0 / (n_others + 1))
    log_cap, log_factor, n_capped = np.inf, 0.0, -1
    while True:  # capped options leave more to the rest, which may then reach the cap
        rest, count = 0.0, 0
        for k in range(n_others):
            if log_p[k] >= log_cap:
                count += 1
            else:
                rest += np.exp(log_p[k])
        if count == n_capped:
            return share, log_cap, log_factor
        left, n_capped = 1.0 - (1 + count) * share, count
        if left <= 0.0 or rest == 0.0:
            return share, -np.inf, 0.0
        log_factor = np.log(left) - np.log(rest)
        log_cap = min(log_cap, np.log(share) - log_factor)


@kernel
def cap_options(model, scores, v, share, before, work, best, nodes, log_q, shift, stop_shift):
    """Give the best option of node v a share, and set the shifts of the others so that none has more; return the share.

    `before` is the shift of v itself; `log_q` is scratch.
    """
    parent, _, is_end = model[:3]
    n_nodes = parent.shape[0]
    x, stop_x, L, entry = work[0], work[1], work[2], work[6]
    above, count = v if v < n_nodes else -1, 0
    for u in nodes:
        if parent[u] == above and x[u] > -np.inf and best[v] != u:
            log_q[count] = x[u] - L[v]
            count += 1
    if v < n_nodes and best[v] != STOP and entry[v] >= 0 and scores[entry[v]] > -np.inf:
        log_q[count] = stop_x[v] - L[v]
        count += 1
    share, log_cap, log_factor = cap(log_q, count, share)
    log_share = np.log(share)
    for u in nodes:
        if parent[u] == above and best[v] != u:
            given = x[u] - L[v]
            shift[u] = before + (log_share - TIE - given if given >= log_cap else log_factor)
    if v < n_nodes and not is_end[v]:
        given = stop_x[v] - L[v]
        stop_shift[v] = before + (log_share - TIE - given if given >= log_cap else log_factor)
    return share


@kernel
def bend_path(model, scores, curves, work, best, best_x, next_x, others, log_q, shift, stop_shift, nodes):
    """Set what is added to the log-probability of each node and of the class at it; return where the best path stops.

    Each step gets the probability that its curve says, within what its node has. The other options at each node share
    the rest as before, but none gets more than the best.
    """
    parent, _, is_end = model[:3]
    n_nodes, L = parent.shape[0], work[2]
    for v in nodes:
        shift[v] = stop_shift[v] = np.nan
    v, k, mass, log_mass = n_nodes, 0, 1.0, 0.0
    while v == n_nodes or not is_end[v]:
        given, before = best_x[v] - L[v], np.log(mass) - log_mass
        q, log_below = np.exp(given), log_mass + given
        share, rest = q, before
        if next_x[v] > -np.inf and q < 1.0:
            share = (1.0 - KEPT) * min(bent(curves, k, log_below) / mass, 1.0) + KEPT * q
            if share < (1.0 - share) / others[v]:  # the second best would have more
                share = cap_options(model, scores, v, share, before, work, best, nodes, log_q, shift, stop_shift)
            else:
                rest += np.log1p(-share) - (next_x[v] + np.log(others[v]) - L[v])
        shift[v] = rest  # of the options that are not the best
        mass, log_mass = mass * share, log_below
        if best[v] == STOP:
            stop_shift[v] = np.log(mass) - log_mass
            break
        v, k = best[v], k + 1
        shift[v] = np.log(mass) - log_mass
    for u in nodes:
        if np.isnan(shift[u]):
            shift[u] = shift[parent[u] if parent[u] >= 0 else n_nodes]
        if np.isnan(stop_shift[u]):
            stop_shift[u] = shift[u]
    return v


@kernel
def log_probabilities(model, curves, keeps_best, scores, nodes, out):
    """Set out[i, c] to the log-probability of class c in row i; all classes are listed, in order.

    With `keeps_best`, no class is more probable than that where the best path ends.
    """
    parent, class_node, is_end = model[:3]
    n_nodes, n_classes = parent.shape[0], class_node.shape[0]
    work = make_work(n_nodes)
    x, stop_x, L = work[:3]
    columns, log_counts = np.arange(n_classes), np.zeros(n_classes)
    log_p, is_bent = np.zeros(n_nodes + 1), curves[0].shape[0] + curves[2].shape[0] > 0
    shift, stop_shift = np.zeros(n_nodes + 1), np.zeros(n_nodes + 1)
    best, best_x, next_x = np.empty(n_nodes + 1, np.int64), np.empty(n_nodes + 1), np.empty(n_nodes + 1)
    others, log_q, end = np.empty(n_nodes + 1), np.empty(n_nodes + 1), -1
    for i in range(scores.shape[0]):
        sweep_up(model, columns, scores[i], log_counts, nodes, work)
        for v in nodes:
            p = parent[v] if parent[v] >= 0 else n_nodes
            log_p[v] = log_p[p] + x[v] - L[p] if x[v] > -np.inf else -np.inf
        if is_bent:
            find_best(model, scores[i], nodes, work, best, best_x, next_x)
            sum_others(model, scores[i], nodes, work, best, next_x, others)
            end = bend_path(
                model, scores[i], curves, work, best, best_x, next_x, others, log_q, shift, stop_shift, nodes
            )
        for c in range(n_classes):
            v = class_node[c]
            if scores[i, c] == -np.inf:
                out[i, c] = -np.inf
            elif is_end[v]:
                out[i, c] = log_p[v] + shift[v]
            else:
                out[i, c] = log_p[v] + stop_x[v] - L[v] + stop_shift[v]
        if is_bent and keeps_best:
            keep_best(out[i], work[6][end], log_q)


@kernel
def keep_best(log_p, best, others):
    """Let no class be more probable than the best one, which stays as it is; `others` is scratch."""
    if log_p.max() <= log_p[best]:
        return
    count = 0
    for c in range(log_p.shape[0]):
        if c != best and log_p[c] > -np.inf:
            others[count] = log_p[c]
            count += 1
    share, log_cap, log_factor = cap(others, count, np.exp(log_p[best]))
    for c in range(log_p.shape[0]):
        if c == best:
            log_p[c] = np.log(share)
        else:
            log_p[c] = np.log(share) - TIE if log_p[c] >= log_cap else log_p[c] + log_factor
