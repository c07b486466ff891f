"""The leaves of a tree in blocks of sixteen, and the nodes above them that are stored in memory.

Leaves are in the order of a walk through the tree, so that siblings share a block. A node whose leaves are all in one
block needs no vector of its own: it follows from the block's α. The other nodes are `stored`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import ProblemTree

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LeafBlock:
    """Up to sixteen leaves and the nodes above them.

    Attributes
    ----------
    classes : array
        The problems in the lanes.
    stored : array
        The stored nodes above any of them.
    above : array of uint32
        The lanes below each node of `stored`, as bits.
    paths : (indptr, stored nodes)
        The stored nodes above each group of lanes that have the same ones.
    groups : array of uint32
        The lanes of each group, as bits.
    local : array (16 × 16)
        The number of nodes that two paths share and that are not stored; inner nodes count `sharing`, a leaf 1.
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
        """Return `local` with the stored nodes, where node u counts `counts[u]`."""
        overlap = self.local.copy()
        for node, lanes in zip(self.stored.tolist(), self.above.tolist(), strict=True):
            below = np.array([lanes >> k & 1 for k in range(WIDTH)], np.float32)
            overlap += counts[node] * np.outer(below, below)
        return overlap


@dataclass(frozen=True)
class LeafBlocks:
    """All blocks of a tree's leaves, and its stored nodes.

    Attributes
    ----------
    blocks : list of LeafBlock
    stored_nodes : array
        The stored nodes, parents before their children.
    sharing : float
        κ of the tree.
    """

    blocks: list[LeafBlock]
    stored_nodes: Ids
    sharing: float = 1.0


def build_leaf_blocks(tree: ProblemTree, root: str) -> LeafBlocks:
    """Return the leaf blocks of a tree whose roots are "zero", "fixed" or "free"; free roots are always stored.

    Examples
    --------
    >>> tree = ProblemTree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
    >>> layout = build_leaf_blocks(tree, "zero")
    >>> layout.blocks[0].classes.tolist(), layout.stored_nodes.tolist()
    ([0, 1, 2], [])
    >>> build_leaf_blocks(tree, "free").stored_nodes.tolist()
    [0]
    """
    is_root = tree.parent < 0
    has_vector = ~is_root if root == "fixed" else np.ones(len(is_root), bool)
    return group_leaves(tree.parent, tree.leaves, has_vector, is_root & (root == "free"), tree.sharing)


def group_leaves(
    parent: Ids, leaves: Ids, has_vector: Flags, always_stored: Flags | None = None, sharing: float = 1.0
) -> LeafBlocks:
    """Return the blocks of `leaves` in a tree given by parents, −1 above roots, each before its children.

    `has_vector` marks the nodes with a vector of their own; leaves always have one. Nodes marked in `always_stored`
    are stored even if one block has all their leaves.
    """
    order, first, last = _walk_order(parent, leaves)
    spans = (first < last) & (first // WIDTH != (last - 1) // WIDTH)
    is_leaf = np.zeros(len(parent), bool)
    is_leaf[leaves] = True
    is_stored = spans if always_stored is None else spans | (always_stored & (first < last))
    stored_nodes = np.flatnonzero(is_stored & has_vector & ~is_leaf)
    number = np.full(len(parent), -1, np.int64)
    number[stored_nodes] = np.arange(len(stored_nodes))
    blocks = [
        _build_block(order[start : start + WIDTH], leaves, parent, has_vector, number, sharing)
        for start in range(0, len(order), WIDTH)
    ]
    return LeafBlocks(blocks, stored_nodes, sharing)


def _walk_order(parent: Ids, leaves: Ids) -> tuple[Ids, Ids, Ids]:
    """Return the problems in the order of a walk, and where the leaves below each node begin and end in it."""
    below = np.zeros(len(parent), np.int64)
    below[leaves] = 1
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            below[parent[v]] += below[v]
    first, next_free = np.zeros(len(parent), np.int64), np.zeros(len(parent) + 1, np.int64)
    for v in range(len(parent)):  # next_free[-1] stands above the roots
        above = parent[v]
        first[v] = next_free[above]
        next_free[above] += below[v]
        next_free[v] = first[v]
    return np.argsort(first[leaves], kind="stable"), first, first + below


def _build_block(classes: Ids, leaves: Ids, parent: Ids, has_vector: Flags, number: Ids, sharing: float) -> LeafBlock:
    stored_paths, local_paths = [], []
    for leaf in leaves[classes].tolist():
        stored: list[int] = []
        local, v = [leaf], int(parent[leaf])
        while v >= 0:
            if has_vector[v] and number[v] >= 0:
                stored.append(int(number[v]))
            elif has_vector[v]:
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
    return LeafBlock(
        classes,
        np.array(nodes, np.int64),
        np.array(above, np.uint32),
        (indptr, np.array([u for group in groups for u in group], np.int64)),
        np.array(members, np.uint32),
        local_overlap,
    )


def schedule_rounds(n_blocks: int, size: int) -> list[list[int]]:
    """Return the blocks of each round: the next one of each of `size` stretches of the walk through the tree.

    Blocks of consecutive rounds share most of the tree, those of one round the least.

    Examples
    --------
    >>> schedule_rounds(7, 3)
    [[0, 2, 5], [1, 3, 6], [4]]
    """
    cuts = np.rint(np.linspace(0, n_blocks, min(size, n_blocks) + 1)).astype(int)
    longest = int(np.diff(cuts).max(initial=0))
    return [[a + r for a, b in pairwise(cuts.tolist()) if a + r < b] for r in range(longest)]
