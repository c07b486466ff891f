"""Cycles in a list of edges: which edges close them, and through which nodes."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from cladist.kernels import dag

Ids = npt.NDArray[np.int64]


def closing_edges(parent: Ids, child: Ids, n_nodes: int) -> Ids:
    """Return the positions of edges without which there is no cycle, each of which closes one with the others.

    They are those that lead back on a walk down from the roots, through the edges in their order; found in
    O(nodes + edges).

    Examples
    --------
    >>> closing_edges(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), 3).tolist()
    [1, 3]
    """
    by_parent = np.argsort(parent, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=n_nodes))])
    return np.sort(by_parent[dag.back_edges(indptr, child[by_parent])])


def cycle_closed_by(edge: int, parent: Ids, child: Ids, others: Ids) -> list[int]:
    """Return a shortest cycle that an edge closes with `others`: from its parent, round, to its parent.

    Examples
    --------
    >>> cycle_closed_by(2, np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([0, 1]))
    [2, 0, 1, 2]
    """
    start, goal = int(child[edge]), int(parent[edge])
    children: dict[int, list[int]] = {}
    for p, c in zip(parent[others].tolist(), child[others].tolist(), strict=True):
        children.setdefault(p, []).append(c)
    came_from = {start: -1}
    queue = deque([start])
    while goal not in came_from:
        v = queue.popleft()
        for c in children.get(v, ()):
            if c not in came_from:
                came_from[c] = v
                queue.append(c)
    way_back = [goal]
    while way_back[-1] != start:
        way_back.append(came_from[way_back[-1]])
    return [goal, *reversed(way_back)]
