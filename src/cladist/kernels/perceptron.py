"""The rounds of a perceptron at every node (PERC and H-PERC of Cesa-Bianchi, Gentile & Zaniboni 2006).

A row with labels z is shown to the nodes whose true parent is on and to the roots or, without gates, to all nodes. A
node that is shown a row and has the wrong sign, (w·x ≥ 0) ≠ z, changes: w += x if z, w −= x if not. Its average over
the n + 1 states before and after the n rows it was shown is w − acc / (n + 1) with acc = Σ_t t Δw_t.

`tree` is (child_start, number of roots); labels are CSR (indptr, indices), closed under ancestors and ascending; `seen`
counts the rows shown to each node. `scratch` is (s, a, step) floats, ids `shown`, and (on, wrong, spoilt) booleans, one
entry per node: s = w·x, a = acc·x, which is 0 without an average. Weights are stored feature by feature, ``W[d, N]``.
"""

from __future__ import annotations

from cladist.kernels.hieron import node_scores
from cladist.kernels.jit import kernel


@kernel
def shown_nodes(nodes, child_start, n_roots, gated, shown):
    """Write the nodes that a row with these labels is shown to, and return their number."""
    n = 0
    for v in range(n_roots if gated else child_start.shape[0] - 1):
        shown[n] = v
        n += 1
    if gated:
        for p in nodes:
            for v in range(child_start[p], child_start[p + 1]):
                shown[n] = v
                n += 1
    return n


@kernel
def first_mistakes(nodes, child_start, n_roots, wrong, spoilt):
    """Return the uniform H-loss: the number of wrong nodes whose ancestors are all on and right.

    `spoilt` is scratch: whether a node or an ancestor is wrong.
    """
    loss = 0
    for v in range(n_roots):
        loss += wrong[v]
        spoilt[v] = wrong[v]
    for p in nodes:
        for v in range(child_start[p], child_start[p + 1]):
            loss += wrong[v] and not spoilt[p]
            spoilt[v] = wrong[v] or spoilt[p]
    return loss


@kernel
def mark_mistakes(shown, n_shown, on, s, a, seen, empty, has_length, wrong, step):
    """Set wrong[v] and step[v] ∈ {−1, 0, +1} of each shown node, and count the row unless it is empty.

    A node predicts by its average and changes by the sign of s. Before its first row it predicts `empty`, and changes
    as if its score were 0. Rows without length change nothing.
    """
    for k in range(n_shown):
        v = shown[k]
        margin = empty if seen[v] == 0 else s[v] - a[v] / (seen[v] + 1)
        wrong[v] = (margin >= 0) != on[v]
        step[v] = 0.0
        if has_length:
            seen[v] += 1
            if (s[v] >= 0) != on[v]:
                step[v] = 1.0 if on[v] else -1.0


@kernel
def decide_round(nodes, tree, n_shown, has_length, seen, empty, scratch, margins):
    """Return the uniform H-loss of one row, given s and a; sets `step` and, unless it is empty, writes `margins`."""
    child_start, n_roots = tree
    (s, a, step), shown, (on, wrong, spoilt) = scratch
    for v in range(seen.shape[0] if margins.shape[0] else 0):
        margins[0, v] = empty if seen[v] == 0 else s[v] - a[v] / (seen[v] + 1)
    for v in nodes:
        on[v] = True
    mark_mistakes(shown, n_shown, on, s, a, seen, empty, has_length, wrong, step)
    for v in nodes:
        on[v] = False
    return first_mistakes(nodes, child_start, n_roots, wrong, spoilt)


@kernel
def some_scores(indices, data, W, shown, n_shown, s):
    """Set s[v] = Σ_j x_j W[j, v] for the nodes in `shown`."""
    for k in range(n_shown):
        s[shown[k]] = 0.0
    for j in range(indices.shape[0]):
        x = data[j]
        weights = W[indices[j]]
        for k in range(n_shown):
            s[shown[k]] += x * weights[shown[k]]


@kernel
def run_rounds(rows, labels, tree, gated, W, acc, seen, empty, scratch, margins, h_losses):
    """Make one round for each row, changing W, seen and, unless it is empty, acc; returns the number of updates.

    rows = CSR (indptr, indices, data). `margins` (rows × nodes), unless it is empty, receives the margins of all nodes
    before the round, those of the averages if there is acc. h_losses[i] is the uniform H-loss of the labels that these
    margins predict top-down. Rows of zeros change nothing. Cost per round: O(nnz(x) · nodes shown).
    """
    indptr, indices, data = rows
    (s, a, step), shown, _ = scratch
    n_updates = 0
    for i in range(h_losses.shape[0]):
        x_indices = indices[indptr[i] : indptr[i + 1]]
        x = data[indptr[i] : indptr[i + 1]]
        nodes = labels[1][labels[0][i] : labels[0][i + 1]]
        n_shown = shown_nodes(nodes, tree[0], tree[1], gated, shown)
        if margins.shape[0] or not gated:
            node_scores(x_indices, x, W, s)
            if acc.shape[0]:
                node_scores(x_indices, x, acc, a)
        else:
            some_scores(x_indices, x, W, shown, n_shown, s)
            if acc.shape[0]:
                some_scores(x_indices, x, acc, shown, n_shown, a)
        has_length = False
        for value in x:
            has_length = has_length or value != 0
        h_losses[i] = decide_round(nodes, tree, n_shown, has_length, seen, empty, scratch, margins[i : i + 1])
        for k in range(n_shown):
            v = shown[k]
            if step[v] != 0:
                n_updates += 1
                for j in range(x_indices.shape[0]):
                    W[x_indices[j], v] += step[v] * x[j]
                    if acc.shape[0]:
                        acc[x_indices[j], v] += seen[v] * step[v] * x[j]
    return n_updates


@kernel
def run_kernel_rounds(
    base, base_acc, among, has_length, labels, tree, gated, seen, empty, scratch, steps, when, margins, h_losses
):
    """Make one round for each row of a block, given the kernel values `among` its rows.

    base[i, v] = Σ ± K over the updates before the block; base_acc is the same times `when`, or empty without an
    average. steps[i, v] receives what row i adds to node v, 0 or ±1, and when[i, v] the number of rows that the node
    had been shown then. The rest is as in `run_rounds`. Cost per round: O(rows of the block · N).
    """
    (s, a, step), shown, _ = scratch
    for i in range(h_losses.shape[0]):
        nodes = labels[1][labels[0][i] : labels[0][i + 1]]
        s[:] = base[i]
        if base_acc.shape[0]:
            a[:] = base_acc[i]
        for r in range(i):
            if among[i, r] != 0:
                for v in range(seen.shape[0]):
                    s[v] += among[i, r] * steps[r, v]
                    if base_acc.shape[0]:
                        a[v] += among[i, r] * steps[r, v] * when[r, v]
        n_shown = shown_nodes(nodes, tree[0], tree[1], gated, shown)
        h_losses[i] = decide_round(nodes, tree, n_shown, has_length[i], seen, empty, scratch, margins[i : i + 1])
        for k in range(n_shown):
            v = shown[k]
            if step[v] != 0:
                steps[i, v] = step[v]
                when[i, v] = seen[v]
