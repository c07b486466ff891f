"""Two CSR matrices of nodes, row against row: what they share, where they first differ, sums over all rows.

Rows hold ascending node ids without repeats. Ids are topological, so the merge of two rows meets every
ancestor before its descendants, and what is asked about ancestors is known when a node is reached.
Cost O(entries), times depth where ancestors are walked; memory O(rows + nodes).
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel


@kernel
def count_differences(a_indptr, a_indices, b_indptr, b_indices):
    """Return the number of nodes that are in one of the two rows only, for each row."""
    n_rows = a_indptr.shape[0] - 1
    out = np.empty(n_rows, np.int64)
    for i in range(n_rows):
        k, a_end = a_indptr[i], a_indptr[i + 1]
        m, b_end = b_indptr[i], b_indptr[i + 1]
        only = (a_end - k) + (b_end - m)
        while k < a_end and m < b_end:
            u, v = a_indices[k], b_indices[m]
            if u == v:
                only -= 2
            k += u <= v
            m += v <= u
        out[i] = only
    return out


@kernel
def _any_parent_differs(v, differs, i, parents_indptr, parents_indices):
    for k in range(parents_indptr[v], parents_indptr[v + 1]):  # noqa: SIM110 - numba has no any()
        if differs[parents_indices[k]] == i:
            return True
    return False


@kernel
def _any_ancestor_differs(v, differs, i, parents_indptr, parents_indices, last_walk, walk, queue):
    """Walk all ancestors breadth first; `walk` is a number no earlier walk has left in `last_walk`."""
    queue[0] = v
    count = 1
    head = 0
    while head < count:
        u = queue[head]
        head += 1
        for k in range(parents_indptr[u], parents_indptr[u + 1]):
            p = parents_indices[k]
            if differs[p] == i:
                return True
            if last_walk[p] != walk:
                last_walk[p] = walk
                queue[count] = p
                count += 1
    return False


@kernel
def first_mistake_costs(a_indptr, a_indices, b_indptr, b_indices, parents_indptr, parents_indices, cost, only_parents):
    """Return, for each row, the summed cost of the nodes that differ while nothing above them does.

    "Above" is every ancestor, or with `only_parents` the parents alone. Rows need not be closed.
    """
    n_rows = a_indptr.shape[0] - 1
    n_nodes = cost.shape[0]
    differs = np.full(n_nodes, -1, np.int64)
    last_walk = np.full(n_nodes, -1, np.int64)
    queue = np.empty(n_nodes, np.int64)
    walk = 0
    out = np.zeros(n_rows, np.float64)
    for i in range(n_rows):
        k, a_end = a_indptr[i], a_indptr[i + 1]
        m, b_end = b_indptr[i], b_indptr[i + 1]
        while k < a_end or m < b_end:
            u = a_indices[k] if k < a_end else n_nodes
            v = b_indices[m] if m < b_end else n_nodes
            k += u <= v
            m += v <= u
            if u == v:
                continue
            node = min(u, v)
            if only_parents:
                covered = _any_parent_differs(node, differs, i, parents_indptr, parents_indices)
            else:
                walk += 1
                covered = _any_ancestor_differs(
                    node, differs, i, parents_indptr, parents_indices, last_walk, walk, queue
                )
            differs[node] = i
            if not covered:
                out[i] += cost[node]
    return out


@kernel
def tally(t_indptr, t_indices, p_indptr, p_indices, parents_indptr, parents_indices, weight, costs, first_counted):
    """Sum what every metric is made of over pairs (true, predicted) of closed rows, in one pass.

    `costs` (nodes × kinds) are the H-losses' costs; in closed rows the simplified H-loss is the H-loss, so
    only parents are looked at. Nodes from `first_counted` on enter the precision and recall of each row.

    Returns
    -------
    tp, fp, fn : weight of the rows that have each node in both, only predicted, only true
    losses : zero-one, symmetric difference, then one H-loss for each kind of cost
    samples : Σ precision, weight of rows where it is 0/0, Σ recall, weight of rows where it is 0/0
    """
    n_rows = t_indptr.shape[0] - 1
    n_nodes, n_kinds = costs.shape
    differs = np.full(n_nodes, -1, np.int64)
    tp, fp, fn = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    losses = np.zeros(2 + n_kinds)
    samples = np.zeros(4)
    for i in range(n_rows):
        w = weight[i]
        if w == 0.0:
            continue
        k, t_end = t_indptr[i], t_indptr[i + 1]
        m, p_end = p_indptr[i], p_indptr[i + 1]
        n_both = n_true = n_predicted = n_different = 0
        while k < t_end or m < p_end:
            u = t_indices[k] if k < t_end else n_nodes
            v = p_indices[m] if m < p_end else n_nodes
            k += u <= v
            m += v <= u
            node = min(u, v)
            counted = node >= first_counted
            n_true += counted and u <= v
            n_predicted += counted and v <= u
            if u == v:
                tp[node] += w
                n_both += counted
                continue
            n_different += 1
            if u < v:
                fn[node] += w
            else:
                fp[node] += w
            differs[node] = i
            if not _any_parent_differs(node, differs, i, parents_indptr, parents_indices):
                for kind in range(n_kinds):
                    losses[2 + kind] += w * costs[node, kind]
        if n_different:
            losses[0] += w
            losses[1] += w * n_different
        if n_predicted:
            samples[0] += w * n_both / n_predicted
        else:
            samples[1] += w
        if n_true:
            samples[2] += w * n_both / n_true
        else:
            samples[3] += w
    return tp, fp, fn, losses, samples
