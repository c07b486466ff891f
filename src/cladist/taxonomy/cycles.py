"""Cycles in a list of edges: which edges close them, and through which nodes."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from cladist.kernels import dag

Ids = npt.NDArray[np.int64]


def closing_edges(parent: Ids, child: Ids, n_nodes: int) -> Ids:
    """Return the positions of the edges that close a cycle with the edges before them that do not.

    Without them the graph has no cycle, and each of them closes one. Cost O(nodes + edges) where there is none; where
    there are, only their strongly connected components are looked at again.

    Examples
    --------
    >>> closing_edges(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), 3).tolist()
    [1, 3]
    """
    graph = sparse.csr_array((np.ones(len(parent), np.int8), (parent, child)), shape=(n_nodes, n_nodes))
    _, component = csgraph.connected_components(graph, connection="strong")
    inside = np.flatnonzero(component[parent] == component[child])
    if len(inside) == 0:
        return inside
    nodes, ends = np.unique(np.concatenate([parent[inside], child[inside]]), return_inverse=True)
    above, below = np.split(ends.astype(np.int64), 2)
    return inside[dag.closing_edges(above, below, len(nodes))]


def cycle_closed_by(edge: int, parent: Ids, child: Ids, n_nodes: int) -> list[int]:
    """Return a shortest cycle that an edge closes with those before it: from its parent, round, to its parent.

    Examples
    --------
    >>> cycle_closed_by(2, np.array([0, 1, 2]), np.array([1, 2, 0]), 3)
    [2, 0, 1, 2]
    """
    start, goal = int(child[edge]), int(parent[edge])
    children: dict[int, list[int]] = {}
    for p, c in zip(parent[:edge].tolist(), child[:edge].tolist(), strict=True):
        children.setdefault(p, []).append(c)
    came_from = {start: -1}
    queue = deque([start])
    while queue and goal not in came_from:
        v = queue.popleft()
        for c in children.get(v, ()):
            if c not in came_from:
                came_from[c] = v
                queue.append(c)
    round_trip = [goal]
    while round_trip[-1] != start:
        round_trip.append(came_from[round_trip[-1]])
    return [goal, *reversed(round_trip)] if start != goal else [goal, goal]
