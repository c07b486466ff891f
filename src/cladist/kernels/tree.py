"""Passes over a taxonomy: closure of label sets, and, over trees and forests, distances and sums along paths.

Nodes are topological (a parent's id is below its children's), so a pass down is one forward loop and a
pass up one reverse loop. −1 stands for "no parent": the virtual root above a forest's roots.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel


@kernel
def subtree_sizes(parent):
    """Return the number of nodes at and below each node."""
    size = np.ones(parent.shape[0], np.int64)
    for v in range(parent.shape[0] - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    return size


@kernel
def meetings(parent, depth, u, v):
    """Return, for each pair, the deepest common ancestor (a node is its own) and the edges between the two.

    −1 is the virtual root. Cost O(depth) per pair.
    """
    meet, length = np.empty(u.shape[0], np.int64), np.empty(u.shape[0], np.int64)
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        while a != b:
            # Ids ascend with depth, so the larger id is never above the smaller one.
            if a > b:
                a = parent[a]
            else:
                b = parent[b]
        top = depth[a] if a >= 0 else -1
        meet[i], length[i] = a, depth[u[i]] + depth[v[i]] - 2 * top
    return meet, length


@kernel
def close_rows(indptr, indices, parents_indptr, parents_indices):
    """Add all ancestors to every row of a CSR set of nodes; rows come out sorted and without repeats.

    Nodes may have several parents. Cost O(entries returned · log of a row's length).
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
    """Turn node scores s_v, one row per example, into path scores S_v = Σ_{u ∈ path(v)} s_u, in place."""
    for i in range(scores.shape[0]):
        for v in range(parent.shape[0]):
            if parent[v] >= 0:
                scores[i, v] += scores[i, parent[v]]


@kernel
def path_margins(scores, parent, ends, out):
    """Set out[i, v] to the lowest score on v's path and, with `ends`, also minus the highest of its children's."""
    n_nodes = parent.shape[0]
    below = np.empty(n_nodes, scores.dtype)
    for i in range(scores.shape[0]):
        below[:] = -np.inf
        for v in range(n_nodes):
            p = parent[v]
            out[i, v] = scores[i, v]
            if p >= 0:
                out[i, v] = min(scores[i, v], out[i, p])
                below[p] = max(below[p], scores[i, v])
        if ends:
            for v in range(n_nodes):
                out[i, v] = min(out[i, v], -below[v])
