"""Nodes of a tree numbered level by level, the children of one node following each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.beam import CHILDREN
from cladist.linear_model.problem_tree import Tree

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Families:
    """The nodes in use of a tree, in families: the children of one node, or all roots.

    Attributes
    ----------
    node_at : array (places,)
        The tree's number of each.
    place_of : array (nodes of the tree,)
        The other way round; −1 of nodes that are not in use.
    parent : array (places,)
        −1 of roots.
    class_of : array (places,)
        The problem of each leaf, −1 of inner nodes.
    first_child : array (places + 2,)
        Children of place p are those from first_child[p + 1] to first_child[p + 2]; roots are the children of −1.
    first_chunk, chunk_at : arrays
        Families in chunks of 128 places at most: those of p's children, in the same way, and where each begins.
    level_at : array (levels + 1,)
        Where each level begins.

    Examples
    --------
    >>> families = Families.of(Tree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2])))
    >>> families.node_at.tolist(), families.parent.tolist(), families.class_of.tolist()
    ([0, 1, 2, 3, 4], [-1, 0, 0, 1, 1], [-1, -1, 2, 0, 1])
    >>> families.first_child.tolist(), families.chunk_at.tolist()
    ([0, 1, 3, 5, 5, 5, 5], [0, 1, 3, 5])
    """

    node_at: Ids
    place_of: Ids
    parent: Ids
    class_of: Ids
    first_child: Ids
    first_chunk: Ids
    chunk_at: Ids
    level_at: Ids

    @classmethod
    def of(cls, tree: Tree) -> Families:
        """Take the nodes in use. O(nodes log nodes)."""
        place_of = np.full(len(tree.parent) + 1, -1, np.int64)  # the last one is that of what lies above roots
        listed, levels, n_places = [], [0], 0
        in_use = np.flatnonzero(tree.in_use)
        depth = tree.depth[in_use]
        for level in range(int(depth.max(initial=-1)) + 1):
            nodes = in_use[depth == level]
            nodes = nodes[np.argsort(place_of[tree.parent[nodes]], kind="stable")]
            place_of[nodes] = n_places + np.arange(len(nodes))
            n_places += len(nodes)
            listed.append(nodes)
            levels.append(n_places)
        node_at = np.concatenate([np.zeros(0, np.int64), *listed])
        parent, place_of = place_of[tree.parent[node_at]], place_of[:-1]
        class_of = np.full(n_places, -1, np.int64)
        class_of[place_of[tree.leaves]] = np.arange(len(tree.leaves))
        counts = np.bincount(parent + 1, minlength=n_places + 1)
        first_child = np.concatenate([[0], np.cumsum(counts)])
        first_chunk = np.concatenate([[0], np.cumsum(-(-counts // CHILDREN))])
        within = np.arange(first_chunk[-1]) - np.repeat(first_chunk[:-1], np.diff(first_chunk))
        chunk_at = np.append(np.repeat(first_child[:-1], np.diff(first_chunk)) + within * CHILDREN, n_places)
        return cls(node_at, place_of, parent, class_of, first_child, first_chunk, chunk_at, np.array(levels))

    @property
    def n_chunks(self) -> int:
        """How many chunks there are."""
        return len(self.chunk_at) - 1

    @property
    def leaf_at(self) -> Ids:
        """The place of each problem's leaf."""
        leaves = np.flatnonzero(self.class_of >= 0)
        return leaves[np.argsort(self.class_of[leaves])]

    def n_children(self, places: Any) -> Ids:
        """Return how many children each place has; −1 stands for what lies above roots."""
        return self.first_child[places + 2] - self.first_child[places + 1]

    def paths(self, places: Ids) -> tuple[Ids, Ids]:
        """Return the places above some, themselves included: two lists of whose path and of what is on it."""
        whose, found, here = [], [], np.arange(len(places))
        while len(places):
            whose.append(here)
            found.append(places)
            above = self.parent[places]
            here, places = here[above >= 0], above[above >= 0]
        none = [np.zeros(0, np.int64)]
        return np.concatenate(none + whose), np.concatenate(none + found)
