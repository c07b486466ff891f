"""Passes over a taxonomy whose nodes may have several parents, and over label graphs.

The parents of node v are ``parents[indptr[v] : indptr[v + 1]]``. Except where said otherwise, nodes are topological: a
parent's id is below its children's.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel


@kernel
def transposed(indptr, indices):
    """Turn parents into children, or back: (indptr, indices), the entries of each node ascending.

    Cost O(nodes + edges).
    """
    n = indptr.shape[0] - 1
    start = np.zeros(n + 1, np.int64)
    for k in range(indices.shape[0]):
        start[indices[k] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    fill = start[:-1].copy()
    out = np.empty(indices.shape[0], np.int64)
    for v in range(n):
        for k in range(indptr[v], indptr[v + 1]):
            out[fill[indices[k]]] = v
            fill[indices[k]] += 1
    return start, out


@kernel
def by_level(indptr, indices):
    """Order nodes by the longest path from a root; ids need not be topological.

    A node follows the last of its parents, so siblings of a tree stand side by side in their given order and the
    order is breadth first. Ordering what is in order already changes nothing. Returns the old ids in their new order,
    fewer than the nodes where a cycle keeps some from every root, and the level of each.
    """
    n = indptr.shape[0] - 1
    start, child = transposed(indptr, indices)
    waiting = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    depth = np.empty(n, np.int32)
    n_ordered = 0
    for v in range(n):
        waiting[v] = indptr[v + 1] - indptr[v]
        if waiting[v] == 0:
            order[n_ordered] = v
            depth[n_ordered] = 0
            n_ordered += 1
    head = 0
    while head < n_ordered:
        v = order[head]
        for k in range(start[v], start[v + 1]):
            c = child[k]
            waiting[c] -= 1
            if waiting[c] == 0:
                order[n_ordered] = c
                depth[n_ordered] = depth[head] + 1
                n_ordered += 1
        head += 1
    return order[:n_ordered], depth[:n_ordered]


@kernel
def below(indptr, indices, node):
    """Return the ids of `node` and all nodes below it, ascending."""
    n = indptr.shape[0] - 1
    inside = np.zeros(n, np.bool_)
    inside[node] = True
    for v in range(node + 1, n):
        for k in range(indptr[v], indptr[v + 1]):
            if inside[indices[k]]:
                inside[v] = True
                break
    return np.flatnonzero(inside)


@kernel
def above(indptr, indices, node):
    """Return the ids of `node` and all nodes above it, ascending."""
    inside = np.zeros(node + 1, np.bool_)
    inside[node] = True
    for v in range(node, -1, -1):
        if inside[v]:
            for k in range(indptr[v], indptr[v + 1]):
                inside[indices[k]] = True
    return np.flatnonzero(inside)


@kernel
def _climb(indptr, indices, node, stamp, seen, steps, queue):
    """Walk up breadth first: `queue` gets the nodes met, `steps` the edges to each, `seen` the stamp; say how many."""
    queue[0], count, head = node, 1, 0
    seen[node], steps[node] = stamp, 0
    while head < count:
        u = queue[head]
        head += 1
        for k in range(indptr[u], indptr[u + 1]):
            p = indices[k]
            if seen[p] != stamp:
                seen[p], steps[p] = stamp, steps[u] + 1
                queue[count] = p
                count += 1
    return count


@kernel
def subtree_sizes(indptr, indices):
    """Return the number of different nodes at and below each node; cost O(pairs of node and ancestor)."""
    n = indptr.shape[0] - 1
    size = np.zeros(n, np.int64)
    seen, steps, queue = np.full(n, -1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        for k in range(_climb(indptr, indices, v, v, seen, steps, queue)):
            size[queue[k]] += 1
    return size


@kernel
def _to_virtual_root(indptr, steps, queue, count):
    """Return the edges from a node that has climbed to the virtual root above its nearest root."""
    nearest = indptr.shape[0]
    for k in range(count):
        v = queue[k]
        if indptr[v] == indptr[v + 1] and steps[v] < nearest:
            nearest = steps[v]
    return nearest + 1


@kernel
def meetings(indptr, indices, depth, u, v):
    """Return, for each pair, the nearest common ancestor and the edges between the two through it.

    Nearest has the fewest edges in all; of several the deepest, then the one with the lowest id. Without any, the
    pair meets in the virtual root, −1. Cost O(edges above the pair).
    """
    n = indptr.shape[0] - 1
    seen_u, seen_v = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    steps_u, steps_v = np.empty(n, np.int64), np.empty(n, np.int64)
    queue_u, queue_v = np.empty(n, np.int64), np.empty(n, np.int64)
    meet, length = np.empty(u.shape[0], np.int64), np.empty(u.shape[0], np.int64)
    for i in range(u.shape[0]):
        count_u = _climb(indptr, indices, u[i], i, seen_u, steps_u, queue_u)
        count_v = _climb(indptr, indices, v[i], i, seen_v, steps_v, queue_v)
        best, shortest = -1, np.int64(0)
        for k in range(count_v):
            a = queue_v[k]
            if seen_u[a] != i:
                continue
            total = steps_u[a] + steps_v[a]
            nearer = best < 0 or total < shortest
            if not nearer and total == shortest:
                nearer = depth[a] > depth[best] or (depth[a] == depth[best] and a < best)
            if nearer:
                best, shortest = a, total
        if best < 0:
            to_root_u = _to_virtual_root(indptr, steps_u, queue_u, count_u)
            shortest = to_root_u + _to_virtual_root(indptr, steps_v, queue_v, count_v)
        meet[i], length[i] = best, shortest
    return meet, length


@kernel
def implied_edges(indptr, indices, depth):
    """Tell for each entry of `indices` whether another parent of its child lies below it: the edge then adds nothing.

    From the parents of a node all that is above is walked, but only as far down the levels as its highest parent.
    """
    n = indptr.shape[0] - 1
    implied = np.zeros(indices.shape[0], np.bool_)
    seen = np.full(n, -1, np.int64)
    queue = np.empty(2 * n, np.int64)  # the parents, and each node at most once more
    for v in range(n):
        if indptr[v + 1] - indptr[v] < 2:
            continue
        top = depth[indices[indptr[v]]]  # ids ascend with depth
        count = 0
        for k in range(indptr[v], indptr[v + 1]):
            queue[count] = indices[k]
            count += 1
        head = 0
        while head < count:
            u = queue[head]
            head += 1
            if depth[u] <= top:
                continue
            for k in range(indptr[u], indptr[u + 1]):
                p = indices[k]
                if seen[p] != v and depth[p] >= top:
                    seen[p] = v
                    queue[count] = p
                    count += 1
        for k in range(indptr[v], indptr[v + 1]):
            implied[k] = seen[indices[k]] == v
    return implied


@kernel
def back_edges(indptr, children):
    """Tell for each edge whether it leads back, on a walk down from the roots, to a node it came through.

    Without those edges there is no cycle, and each of them closes one. The children of v, in the order in which they
    are walked to, are ``children[indptr[v] : indptr[v + 1]]``; nodes that no root leads to are walked from in the order
    of their ids. Cost O(nodes + edges).
    """
    n = indptr.shape[0] - 1
    leads_back = np.zeros(children.shape[0], np.bool_)
    has_parent = np.zeros(n, np.bool_)
    for k in range(children.shape[0]):
        has_parent[children[k]] = True
    stack = np.empty(n, np.int64)
    following = indptr[:-1].copy()  # the edge to take next
    on_the_way, done = 1, 2
    state = np.zeros(n, np.int8)
    for start in range(2 * n):
        root = start % n
        if state[root] != 0 or (start < n and has_parent[root]):
            continue
        stack[0], depth = root, 1
        state[root] = on_the_way
        while depth > 0:
            v = stack[depth - 1]
            if following[v] == indptr[v + 1]:
                state[v] = done
                depth -= 1
                continue
            k = following[v]
            following[v] += 1
            c = children[k]
            if state[c] == on_the_way:
                leads_back[k] = True
            elif state[c] == 0:
                state[c] = on_the_way
                stack[depth] = c
                depth += 1
    return leads_back


@kernel
def coloured(indptr, indices, order, n_colours=0):
    """Give each node, in this order, the lowest colour that none of its neighbours has; cost O(nodes + edges).

    With `n_colours`, there are as many to begin with, and of those that no neighbour has each node gets the one that
    fewest nodes have; where none is left for a node, there is one more. Cost O(nodes · colours + edges).
    """
    n = indptr.shape[0] - 1
    evenly = n_colours > 0
    colour = np.full(n, -1, np.int64)
    taken = np.full(n + n_colours + 1, -1, np.int64)
    counts = np.zeros(n + n_colours + 1, np.int64)
    for i in range(n):
        v = order[i]
        for k in range(indptr[v], indptr[v + 1]):
            c = colour[indices[k]]
            if c >= 0:
                taken[c] = i
        best = n_colours
        for c in range(n_colours):
            if taken[c] != i and (best == n_colours or counts[c] < counts[best]):
                best = c
                if not evenly:
                    break
        if best == n_colours:
            n_colours += 1
        colour[v] = best
        counts[best] += 1
    return colour


@kernel
def smallest_last(indptr, indices):
    """Order nodes so that greedy colouring needs few colours: the one with the fewest neighbours left goes last.

    Matula & Beck 1983; at most one colour more than the graph's degeneracy, so two for a tree. Cost O(nodes + edges).
    """
    n = indptr.shape[0] - 1
    degree = np.empty(n, np.int64)
    most = 0
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        most = max(most, degree[v])
    first = np.full(most + 1, -1, np.int64)  # doubly linked lists, one per degree
    after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for v in range(n - 1, -1, -1):
        after[v] = first[degree[v]]
        if after[v] >= 0:
            before[after[v]] = v
        first[degree[v]] = v
    order = np.empty(n, np.int64)
    gone = np.zeros(n, np.bool_)
    least = 0
    for place in range(n - 1, -1, -1):
        least = max(0, least - 1)
        while first[least] < 0:
            least += 1
        v = first[least]
        first[least] = after[v]
        if after[v] >= 0:
            before[after[v]] = -1
        order[place], gone[v] = v, True
        for k in range(indptr[v], indptr[v + 1]):
            u = indices[k]
            if gone[u]:
                continue
            if before[u] >= 0:
                after[before[u]] = after[u]
            else:
                first[degree[u]] = after[u]
            if after[u] >= 0:
                before[after[u]] = before[u]
            degree[u] -= 1
            before[u], after[u] = -1, first[degree[u]]
            if after[u] >= 0:
                before[after[u]] = u
            first[degree[u]] = u
    return order
