"""How the leaves of a tree fall into blocks of sixteen, and which nodes above them are held in memory.

Leaves are taken in the order of a walk through the tree, so that siblings share a block. A node whose leaves all lie in
one block needs no vector of its own: the block's α say what it is. The others are `stored`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import Tree

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BlockLayout:
    """Sixteen leaves, or fewer, and what lies above them.

    Attributes
    ----------
    classes : array
        The problems in the lanes.
    stored : array
        The stored nodes above any of them.
    above : array of uint32
        The lanes below each of `stored`, as bits.
    paths : (indptr, stored nodes)
        Of each group of lanes with the same stored nodes above.
    groups : array of uint32
        The lanes of each group, as bits.
    local : array (16 × 16)
        How many nodes two paths share that are not stored, inner nodes counting `sharing` each and the leaf itself 1.
    """

    classes: Ids
    stored: Ids
    above: npt.NDArray[np.uint32]
    paths: tuple[Ids, Ids]
    groups: npt.NDArray[np.uint32]
    local: npt.NDArray[np.float32]

    @property
    def local_above(self) -> npt.NDArray[np.float32]:
        """`local` without the leaves themselves."""
        return self.local - np.diag((np.arange(WIDTH) < len(self.classes)).astype(np.float32))

    def overlap(self, counts: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return `local` with stored nodes, u counting `counts[u]`."""
        found = self.local.copy()
        for node, lanes in zip(self.stored.tolist(), self.above.tolist(), strict=True):
            below = np.array([lanes >> k & 1 for k in range(WIDTH)], np.float32)
            found += counts[node] * np.outer(below, below)
        return found


@dataclass(frozen=True)
class Layout:
    """All blocks, and the tree's nodes that are stored.

    Attributes
    ----------
    blocks : list of BlockLayout
    stored_nodes : array
        The tree's number of each stored node; parents come before their children.
    sharing : float
        Of the tree.
    """

    blocks: list[BlockLayout]
    stored_nodes: Ids
    sharing: float = 1.0


def layout_for(tree: Tree, root: str) -> Layout:
    """Lay out the problems of a tree whose roots are pulled to "zero", are "fixed" there, or "free"; those are stored.

    Examples
    --------
    >>> tree = Tree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
    >>> layout = layout_for(tree, "zero")
    >>> layout.blocks[0].classes.tolist(), layout.stored_nodes.tolist()
    ([0, 1, 2], [])
    >>> layout_for(tree, "free").stored_nodes.tolist()
    [0]
    """
    is_root = tree.parent < 0
    counted = ~is_root if root == "fixed" else np.ones(len(is_root), bool)
    return lay_out(tree.parent, tree.leaves, counted, is_root & (root == "free"), tree.sharing)


def lay_out(
    parent: Ids,
    leaves: Ids,
    counted: npt.NDArray[np.bool_],
    always: npt.NDArray[np.bool_] | None = None,
    sharing: float = 1.0,
) -> Layout:
    """Lay out the problems of leaves `leaves[k]` in a tree given by parents, −1 above roots, each before its children.

    `counted` says which nodes have a vector of their own; the leaves always do. `always` says which are stored even if
    one block has all their leaves.
    """
    order, first, last = _walk_order(parent, leaves)
    spans = (first < last) & (first // WIDTH != (last - 1) // WIDTH)
    is_leaf = np.zeros(len(parent), bool)
    is_leaf[leaves] = True
    wanted = spans if always is None else spans | (always & (first < last))
    stored_nodes = np.flatnonzero(wanted & counted & ~is_leaf)
    number = np.full(len(parent), -1, np.int64)
    number[stored_nodes] = np.arange(len(stored_nodes))
    blocks = [
        _block(order[start : start + WIDTH], leaves, parent, counted, number, sharing)
        for start in range(0, len(order), WIDTH)
    ]
    return Layout(blocks, stored_nodes, sharing)


def _walk_order(parent: Ids, leaves: Ids) -> tuple[Ids, Ids, Ids]:
    """Return the problems in the order of a walk, and which stretch of it lies below each node."""
    below = np.zeros(len(parent), np.int64)
    below[leaves] = 1
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            below[parent[v]] += below[v]
    first, next_free = np.zeros(len(parent), np.int64), np.zeros(len(parent) + 1, np.int64)
    for v in range(len(parent)):  # next_free[-1] is that of what lies above the roots
        above = parent[v]
        first[v] = next_free[above]
        next_free[above] += below[v]
        next_free[v] = first[v]
    return np.argsort(first[leaves], kind="stable"), first, first + below


def _block(
    classes: Ids, leaves: Ids, parent: Ids, counted: npt.NDArray[np.bool_], number: Ids, sharing: float
) -> BlockLayout:
    stored_paths, local_paths = [], []
    for leaf in leaves[classes].tolist():
        stored: list[int] = []
        local, v = [leaf], int(parent[leaf])
        while v >= 0:
            if counted[v] and number[v] >= 0:
                stored.append(int(number[v]))
            elif counted[v]:
                local.append(v)
            v = int(parent[v])
        stored_paths.append(tuple(sorted(stored)))
        local_paths.append(set(local))
    nodes = sorted({u for path in stored_paths for u in path})
    above = [sum(1 << k for k, path in enumerate(stored_paths) if u in path) for u in nodes]
    groups = sorted(set(stored_paths))
    members = [sum(1 << k for k, path in enumerate(stored_paths) if path == group) for group in groups]
    local_overlap = np.zeros((WIDTH, WIDTH), np.float32)
    for a, one in enumerate(local_paths):
        for b, other in enumerate(local_paths):
            local_overlap[a, b] = sharing * (len(one & other) - (a == b)) + (a == b)
    indptr = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    return BlockLayout(
        classes,
        np.array(nodes, np.int64),
        np.array(above, np.uint32),
        (indptr, np.array([u for group in groups for u in group], np.int64)),
        np.array(members, np.uint32),
        local_overlap,
    )


def rounds_of(n_blocks: int, size: int) -> list[list[int]]:
    """Return which blocks are solved together: the next of each of `size` stretches of the walk through the tree.

    Blocks that are visited one after the other so share most of the tree, and those visited together the least.

    Examples
    --------
    >>> rounds_of(7, 3)
    [[0, 2, 5], [1, 3, 6], [4]]
    """
    cuts = np.rint(np.linspace(0, n_blocks, min(size, n_blocks) + 1)).astype(int)
    longest = int(np.diff(cuts).max(initial=0))
    return [[a + r for a, b in pairwise(cuts.tolist()) if a + r < b] for r in range(longest)]
