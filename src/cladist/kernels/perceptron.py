"""The rounds of a perceptron at every node (PERC and H-PERC of Cesa-Bianchi, Gentile & Zaniboni 2006).

A row is shown to the nodes whose true parent is on, roots always (or, without gates, to all). A node that is shown a
row and says the wrong thing, (s ≥ 0) ≠ z, adds ±x to its vector w. Its average over the n + 1 states before and after
the n rows it was shown is w − (1 / (n + 1)) Σ_t t Δw_t, so that beside w only acc = Σ_t t Δw_t is kept.

Weights lie feature by feature, ``W[d, N]``, where siblings stand side by side.
"""

from __future__ import annotations

from cladist.kernels.hieron import node_scores
from cladist.kernels.jit import kernel


@kernel
def shown_nodes(nodes, child_start, n_roots, gated, shown):
    """List the nodes that a row with these labels (closed, ascending) is shown to; returns how many."""
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
    """Return the uniform H-loss: how many nodes are wrong while all above them are on and right.

    `spoilt` is scratch: whether a node or one above it is wrong.
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
def judge(shown, n_shown, on, s, margin, seen, empty, wrong, step):
    """Set wrong[v] for what each shown node predicts, and step[v] to +1, −1 or 0 for what it adds; counts the row.

    A node predicts by its margin, which is that of its average where there is one, and learns by its score s. A node
    that has seen nothing predicts `empty`, and learns as if it had said 0.
    """
    for k in range(n_shown):
        v = shown[k]
        wrong[v] = ((empty if seen[v] == 0 else margin[v]) >= 0) != on[v]
        step[v] = 0.0
        if (s[v] >= 0) != on[v]:
            step[v] = 1.0 if on[v] else -1.0
        seen[v] += 1


@kernel
def some_scores(indices, data, W, shown, n_shown, s):
    """Set s[v] = Σ_j x_j W[j, v] for the nodes listed."""
    for k in range(n_shown):
        s[shown[k]] = 0.0
    for j in range(indices.shape[0]):
        x = data[j]
        weights = W[indices[j]]
        for k in range(n_shown):
            s[shown[k]] += x * weights[shown[k]]


@kernel
def run_rounds(rows, labels, tree, gated, W, acc, seen, empty, scratch, margins, charged):
    """Make one round for each row, changing W, seen and, unless it is empty, acc.

    rows = CSR (indptr, indices, data); labels = CSR (indptr, indices), closed and ascending; tree = (child_start,
    number of roots); seen: rows shown so far, by node; scratch = (s, a, step) floats, (shown) ids, (on, wrong, spoilt)
    truths, one entry a node. Unless it is empty, `margins` (rows × nodes) gets the margins of all nodes before the
    round, those of their averages if there is acc. charged[i] is the uniform H-loss of the labels that these margins
    predict top-down. Rows of zeros teach nothing. Returns how many vectors were changed. Cost a round
    O(nnz(x) · nodes shown).
    """
    indptr, indices, data = rows
    child_start, n_roots = tree
    (s, a, step), shown, (on, wrong, spoilt) = scratch
    n_nodes, n_changes = seen.shape[0], 0
    for i in range(charged.shape[0]):
        x_indices = indices[indptr[i] : indptr[i + 1]]
        x = data[indptr[i] : indptr[i + 1]]
        nodes = labels[1][labels[0][i] : labels[0][i + 1]]
        for v in nodes:
            on[v] = True
        n_shown = shown_nodes(nodes, child_start, n_roots, gated, shown)
        if margins.shape[0] or not gated:
            node_scores(x_indices, x, W, s)
            if acc.shape[0]:
                node_scores(x_indices, x, acc, a)
        else:
            some_scores(x_indices, x, W, shown, n_shown, s)
            if acc.shape[0]:
                some_scores(x_indices, x, acc, shown, n_shown, a)
        for v in range(n_nodes if margins.shape[0] else 0):
            margins[i, v] = empty if seen[v] == 0 else s[v] - (a[v] / (seen[v] + 1) if acc.shape[0] else 0.0)
        for k in range(n_shown):
            v = shown[k]
            a[v] = s[v] - (a[v] / (seen[v] + 1) if acc.shape[0] else 0.0)
        judge(shown, n_shown, on, s, a, seen, empty, wrong, step)
        charged[i] = first_mistakes(nodes, child_start, n_roots, wrong, spoilt)
        has_values = False
        for value in x:
            has_values = has_values or value != 0
        for k in range(n_shown):
            v = shown[k]
            if not has_values:
                seen[v] -= 1
            elif step[v] != 0:
                n_changes += 1
                for j in range(x_indices.shape[0]):
                    W[x_indices[j], v] += step[v] * x[j]
                    if acc.shape[0]:
                        acc[x_indices[j], v] += seen[v] * step[v] * x[j]
        for v in nodes:
            on[v] = False
    return n_changes


@kernel
def run_kernel_rounds(
    base, base_acc, among, has_length, labels, tree, gated, seen, empty, scratch, steps, when, margins, charged
):
    """Make one round for each row of a block, given its kernel values among its rows.

    base[i, v] = Σ ± K over the updates before the block, base_acc the same times when they happened, empty
    where there is no average. steps[i, v] gets what row i adds to node v, 0 or ±1, and when[i, v] how many rows the
    node had been shown then. Rows whose K(x, x) is 0, `has_length` false, teach nothing. The rest as in
    `run_rounds`. Cost a round O(rows of the block · nodes shown).
    """
    child_start, n_roots = tree
    (s, a, step), shown, (on, wrong, spoilt) = scratch
    n_nodes = seen.shape[0]
    for i in range(charged.shape[0]):
        nodes = labels[1][labels[0][i] : labels[0][i + 1]]
        for v in nodes:
            on[v] = True
        s[:] = base[i]
        a[:] = 0
        if base_acc.shape[0]:
            a[:] = base_acc[i]
        for r in range(i):
            if among[i, r] != 0:
                for v in range(n_nodes):
                    s[v] += among[i, r] * steps[r, v]
                    if base_acc.shape[0]:
                        a[v] += among[i, r] * steps[r, v] * when[r, v]
        if margins.shape[0]:
            for v in range(n_nodes):
                margins[i, v] = empty if seen[v] == 0 else s[v] - a[v] / (seen[v] + 1)
        n_shown = shown_nodes(nodes, child_start, n_roots, gated, shown)
        for k in range(n_shown):
            v = shown[k]
            a[v] = s[v] - a[v] / (seen[v] + 1)
        judge(shown, n_shown, on, s, a, seen, empty, wrong, step)
        charged[i] = first_mistakes(nodes, child_start, n_roots, wrong, spoilt)
        for k in range(n_shown):
            v = shown[k]
            if not has_length[i]:
                seen[v] -= 1
            elif step[v] != 0:
                steps[i, v] = step[v]
                when[i, v] = seen[v]
        for v in nodes:
            on[v] = False
