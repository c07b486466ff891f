"""The nodes of a tree in level order: level by level, the children of one node adjacent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.beam import CHILDREN
from cladist.linear_model.problem_tree import ProblemTree

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LevelOrder:
    """The positions of a tree's nodes in use; the roots are the children of position −1.

    Attributes
    ----------
    node_at : array (positions,)
        The tree's node at each position.
    position_of : array (nodes of the tree,)
        The position of each node, −1 if it is not in use.
    parent : array (positions,)
        The position of each parent, −1 for roots.
    class_of : array (positions,)
        The problem of each leaf, −1 for inner nodes.
    first_child : array (positions + 2,)
        The children of p are those from first_child[p + 1] to first_child[p + 2].
    first_chunk, chunk_start : arrays
        Siblings are divided into chunks of at most 128: those of p's children, indexed like `first_child`, and the
        position where each chunk begins.
    level_start : array (levels + 1,)
        The position where each level begins.

    Examples
    --------
    >>> order = LevelOrder.from_tree(ProblemTree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2])))
    >>> order.node_at.tolist(), order.parent.tolist(), order.class_of.tolist()
    ([0, 1, 2, 3, 4], [-1, 0, 0, 1, 1], [-1, -1, 2, 0, 1])
    >>> order.first_child.tolist(), order.chunk_start.tolist()
    ([0, 1, 3, 5, 5, 5, 5], [0, 1, 3, 5])
    """

    node_at: Ids
    position_of: Ids
    parent: Ids
    class_of: Ids
    first_child: Ids
    first_chunk: Ids
    chunk_start: Ids
    level_start: Ids

    @classmethod
    def from_tree(cls, tree: ProblemTree) -> LevelOrder:
        """Return the level order of the nodes in use. O(nodes log nodes)."""
        position_of = np.full(len(tree.parent) + 1, -1, np.int64)  # the last entry stands above the roots
        levels, level_start, n_positions = [], [0], 0
        in_use = np.flatnonzero(tree.in_use)
        depth = tree.depth[in_use]
        for level in range(int(depth.max(initial=-1)) + 1):
            nodes = in_use[depth == level]
            nodes = nodes[np.argsort(position_of[tree.parent[nodes]], kind="stable")]
            position_of[nodes] = n_positions + np.arange(len(nodes))
            n_positions += len(nodes)
            levels.append(nodes)
            level_start.append(n_positions)
        node_at = np.concatenate([np.zeros(0, np.int64), *levels])
        parent, position_of = position_of[tree.parent[node_at]], position_of[:-1]
        class_of = np.full(n_positions, -1, np.int64)
        class_of[position_of[tree.leaves]] = np.arange(len(tree.leaves))
        counts = np.bincount(parent + 1, minlength=n_positions + 1)
        first_child = np.concatenate([[0], np.cumsum(counts)])
        first_chunk = np.concatenate([[0], np.cumsum(-(-counts // CHILDREN))])
        within = np.arange(first_chunk[-1]) - np.repeat(first_chunk[:-1], np.diff(first_chunk))
        chunk_start = np.append(np.repeat(first_child[:-1], np.diff(first_chunk)) + within * CHILDREN, n_positions)
        return cls(node_at, position_of, parent, class_of, first_child, first_chunk, chunk_start, np.array(level_start))

    @property
    def n_chunks(self) -> int:
        """The number of chunks."""
        return len(self.chunk_start) - 1

    @property
    def leaf_positions(self) -> Ids:
        """The position of each problem's leaf."""
        leaves = np.flatnonzero(self.class_of >= 0)
        return leaves[np.argsort(self.class_of[leaves])]

    def chunk(self, c: int) -> Ids:
        """Return the positions of a chunk."""
        return np.arange(self.chunk_start[c], self.chunk_start[c + 1])

    def n_children(self, positions: Any) -> Ids:
        """Return the number of children of each position; −1 is the parent of the roots."""
        return self.first_child[positions + 2] - self.first_child[positions + 1]

    def list_paths(self, positions: Ids) -> tuple[Ids, Ids]:
        """Return all (index into `positions`, position on its path) pairs, each position being on its own path."""
        indices, ancestors, here = [], [], np.arange(len(positions))
        while len(positions):
            indices.append(here)
            ancestors.append(positions)
            above = self.parent[positions]
            here, positions = here[above >= 0], above[above >= 0]
        none = [np.zeros(0, np.int64)]
        return np.concatenate(none + indices), np.concatenate(none + ancestors)
