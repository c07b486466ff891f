"""Passes over a taxonomy: order, closure, distances, sums along paths.

Nodes are topological (a parent's id is below its children's), so a pass down is one forward loop and a
pass up one reverse loop. −1 stands for "no parent": the virtual root above a forest's roots.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel


@kernel
def breadth_first(parent):
    """Order nodes breadth first, siblings side by side in their given order.

    Returns the old ids in their new order; shorter than `parent` when a cycle keeps nodes from every root.
    Cost O(nodes).
    """
    n = parent.shape[0]
    start = np.zeros(n + 2, np.int64)  # children of v lie at start[v + 1] : start[v + 2]; roots at 0 : start[1]
    for v in range(n):
        start[parent[v] + 2] += 1
    for v in range(n + 1):
        start[v + 1] += start[v]
    child = np.empty(n, np.int64)
    fill = start[:-1].copy()
    for v in range(n):
        child[fill[parent[v] + 1]] = v
        fill[parent[v] + 1] += 1
    order = np.empty(n, np.int64)
    found = start[1]
    order[:found] = child[:found]
    head = 0
    while head < found:
        v = order[head]
        head += 1
        for k in range(start[v + 1], start[v + 2]):
            order[found] = child[k]
            found += 1
    return order[:found]


@kernel
def depths(parent):
    """Return the number of edges from each node to its root; parents come before children."""
    depth = np.zeros(parent.shape[0], np.int32)
    for v in range(parent.shape[0]):
        if parent[v] >= 0:
            depth[v] = depth[parent[v]] + 1
    return depth


@kernel
def subtree_sizes(parent):
    """Return the number of nodes at and below each node."""
    size = np.ones(parent.shape[0], np.int64)
    for v in range(parent.shape[0] - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    return size


@kernel
def below(parent, node):
    """Return the ids of `node` and all nodes below it, ascending."""
    inside = np.zeros(parent.shape[0], np.bool_)
    inside[node] = True
    for v in range(node + 1, parent.shape[0]):
        if parent[v] >= 0:
            inside[v] = inside[parent[v]]
    return np.flatnonzero(inside)


@kernel
def common_ancestors(parent, depth, u, v):
    """Return the deepest common ancestor of each pair (a node is its own); −1 is the virtual root."""
    out = np.empty(u.shape[0], np.int64)
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        while a != b:
            # Ids ascend with depth, so the larger id is never above the smaller one.
            if a > b:
                a = parent[a]
            else:
                b = parent[b]
        out[i] = a
    return out


@kernel
def distances(parent, depth, u, v):
    """Return the number of edges between each pair of nodes, through the virtual root if need be."""
    meet = common_ancestors(parent, depth, u, v)
    out = np.empty(u.shape[0], np.int64)
    for i in range(u.shape[0]):
        top = depth[meet[i]] if meet[i] >= 0 else -1
        out[i] = depth[u[i]] + depth[v[i]] - 2 * top
    return out


@kernel
def close_rows(indptr, indices, parents_indptr, parents_indices):
    """Add all ancestors to every row of a CSR set of nodes; rows come out sorted and without repeats.

    Works for several parents a node. Cost O(entries returned · log of a row's length).
    """
    n_rows = indptr.shape[0] - 1
    n_nodes = parents_indptr.shape[0] - 1
    seen = np.full(n_nodes, -1, np.int64)
    row = np.empty(n_nodes, np.int32)
    out_indptr = np.zeros(n_rows + 1, np.int64)
    out = np.empty(max(16, 4 * indices.shape[0]), np.int32)
    total = 0
    for i in range(n_rows):
        count = 0
        for k in range(indptr[i], indptr[i + 1]):
            if seen[indices[k]] != i:
                seen[indices[k]] = i
                row[count] = indices[k]
                count += 1
        head = 0
        while head < count:
            v = row[head]
            head += 1
            for k in range(parents_indptr[v], parents_indptr[v + 1]):
                if seen[parents_indices[k]] != i:
                    seen[parents_indices[k]] = i
                    row[count] = parents_indices[k]
                    count += 1
        if total + count > out.shape[0]:
            larger = np.empty(2 * (total + count), np.int32)
            larger[:total] = out[:total]
            out = larger
        out[total : total + count] = np.sort(row[:count])
        total += count
        out_indptr[i + 1] = total
    return out_indptr, out[:total].copy()


@kernel
def frontier_rows(indptr, indices, parents_indptr, parents_indices):
    """Keep, in every closed row, the nodes none of whose children are in the row."""
    n_nodes = parents_indptr.shape[0] - 1
    covered = np.full(n_nodes, -1, np.int64)
    out_indptr = np.zeros_like(indptr)
    out = np.empty_like(indices)
    total = 0
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            v = indices[k]
            for p in range(parents_indptr[v], parents_indptr[v + 1]):
                covered[parents_indices[p]] = i
        for k in range(indptr[i], indptr[i + 1]):
            if covered[indices[k]] != i:
                out[total] = indices[k]
                total += 1
        out_indptr[i + 1] = total
    return out_indptr, out[:total].copy()


@kernel
def first_orphan(indptr, indices, parents_indptr, parents_indices):
    """Return the first (row, node, parent) whose parent is missing from the row, or (−1, −1, −1)."""
    n_nodes = parents_indptr.shape[0] - 1
    seen = np.full(n_nodes, -1, np.int64)
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            seen[indices[k]] = i
        for k in range(indptr[i], indptr[i + 1]):
            v = indices[k]
            for p in range(parents_indptr[v], parents_indptr[v + 1]):
                if seen[parents_indices[p]] != i:
                    return i, v, parents_indices[p]
    return -1, -1, -1


@kernel
def add_along_paths(scores, parent):
    """Turn node scores s_v, one row an example, into path scores S_v = Σ_{u ∈ path(v)} s_u, in place."""
    for i in range(scores.shape[0]):
        for v in range(parent.shape[0]):
            if parent[v] >= 0:
                scores[i, v] += scores[i, parent[v]]
