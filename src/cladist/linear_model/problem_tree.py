"""The tree above the problems of a solver, and the vectors of the nodes that have no problem of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
ROOTS = ("zero", "free", "fixed")  # inner roots are pulled to 0, pulled nowhere, or held at 0
Flags = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """A tree or forest, and the leaf that each problem belongs to. Nodes that are above no such leaf play no part.

    Attributes
    ----------
    parent : array (nodes,), int64
        The parent of each node, −1 above roots; parents come before their children.
    leaves : array (problems,), int64
        The node of each problem: different ones, none above another.
    sharing : float
        How freely inner nodes move, κ: they are pulled to their parents by ‖w_n − w_parent(n)‖² / κ, leaves by
        ‖w_n − w_parent(n)‖². Gopal & Yang 2013 have 1; with 0 leaves share nothing.

    Examples
    --------
    >>> tree = Tree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
    >>> tree.depth.tolist(), tree.inner.tolist(), tree.n_children.tolist()
    ([0, 1, 1, 2, 2], [0, 1], [2, 2, 0, 0, 0])
    """

    parent: Ids
    leaves: Ids
    sharing: float = 1.0

    @cached_property
    def depth(self) -> Ids:
        """How many nodes lie above each node."""
        depth = np.zeros(len(self.parent), np.int64)
        for node, above in enumerate(self.parent.tolist()):
            if above >= 0:
                depth[node] = depth[above] + 1
        return depth

    @cached_property
    def in_use(self) -> Flags:
        """Which nodes are leaves of problems or above one."""
        found = np.zeros(len(self.parent), bool)
        found[self.leaves] = True
        for node in range(len(self.parent) - 1, -1, -1):
            if found[node] and self.parent[node] >= 0:
                found[self.parent[node]] = True
        return found

    @cached_property
    def inner(self) -> Ids:
        """The nodes above at least one leaf, parents before their children."""
        found = self.in_use.copy()
        found[self.leaves] = False
        return np.flatnonzero(found)

    @cached_property
    def n_children(self) -> Ids:
        """How many children in use each node has."""
        above = self.parent[self.in_use]
        return np.bincount(above[above >= 0], minlength=len(self.parent))

    def of_parity(self, nodes: Ids, parity: int) -> Ids:
        """Return where in `nodes` those of odd depth (1) or even depth (0) are.

        Examples
        --------
        >>> tree = Tree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
        >>> tree.of_parity(tree.leaves, 0).tolist(), tree.of_parity(tree.leaves, 1).tolist()
        ([0, 1], [2])
        """
        return np.flatnonzero(self.depth[nodes] % 2 == parity)


class Inner:
    """The vectors of the inner nodes, parents before their children."""

    def __init__(self, tree: Tree, root: str, n_features: int) -> None:
        self.nodes = tree.inner
        self.place = np.full(len(tree.parent) + 1, -1, np.int64)  # the last one is that of what lies above roots
        self.place[self.nodes] = np.arange(len(self.nodes))
        self.parents = self.place[tree.parent[self.nodes]]
        self.free = (self.parents < 0) & (root == "free")
        self.held = (self.parents < 0) & (root == "fixed")
        self.sharing = np.float32(tree.sharing)
        above = tree.parent[tree.leaves]
        n_leaves = np.bincount(above[above >= 0], minlength=len(tree.parent))[self.nodes]
        # What pulls at a node, in units of what its parent does: inner children as much, leaves κ times as much.
        self.pulls = tree.n_children[self.nodes] - n_leaves + tree.sharing * n_leaves + ~self.free
        self.vectors = np.zeros((len(self.nodes), n_features), np.float32)

    def by_node(self) -> dict[int, Floats32]:
        """Return the vector of each node."""
        return dict(zip(self.nodes.tolist(), self.vectors, strict=True))

    def vectors_of(self, nodes: Ids) -> Floats32:
        """Return the vectors of some nodes; −1 stands for what lies above roots, which is 0."""
        found = self.vectors[self.place[nodes]]
        found[self.place[nodes] < 0] = 0
        return found

    def average(self, chosen: Ids, sums: Floats32) -> None:
        """Set nodes to the mean of parent and children, `sums` being those of the leaves among the children."""
        sums *= self.sharing
        is_chosen = np.zeros(len(self.nodes) + 1, bool)
        is_chosen[chosen] = True
        for child in np.flatnonzero(is_chosen[self.parents]):
            sums[self.parents[child]] += self.vectors[child]
        self._descend(chosen, sums, self.pulls.astype(np.float64))

    def solve(self, sums: Floats32) -> None:
        """Set all nodes so that each is the mean of parent and children: one elimination up, one substitution down."""
        sums *= self.sharing
        weight = self.pulls.astype(np.float64)
        for u in range(len(self.nodes) - 1, -1, -1):
            if self.parents[u] >= 0:
                weight[self.parents[u]] -= 1 / weight[u]
                sums[self.parents[u]] += sums[u] * np.float32(1 / weight[u])
        self._descend(np.arange(len(self.nodes)), sums, weight)

    def _descend(self, chosen: Ids, sums: Floats32, weight: Floats64) -> None:
        for u in chosen[~self.held[chosen]].tolist():
            above = self.vectors[self.parents[u]] if self.parents[u] >= 0 else np.float32(0)
            self.vectors[u] = (sums[u] + above) * np.float32(1 / weight[u])

    def cost(self) -> float:
        """Return ½ Σ ‖w_n − w_parent(n)‖² / κ."""
        found = 0.0
        for u in np.flatnonzero(~self.free & ~self.held).tolist():
            above = self.vectors[self.parents[u]] if self.parents[u] >= 0 else np.float32(0)
            found += float(squared(self.vectors[u] - above)) / 2
        return found / float(self.sharing)

    def dual_cost(self, sums: Floats32, reach: float) -> float:
        """Return what inner nodes take from the dual, `sums` being Σ α y x of their children that are leaves."""
        found = 0.0
        for u in range(len(self.nodes) - 1, -1, -1):
            if self.parents[u] >= 0:
                sums[self.parents[u]] += sums[u]
            if self.free[u]:
                found += float(self.vectors[u].astype(np.float64) @ sums[u]) + reach * float(np.sqrt(squared(sums[u])))
            elif not self.held[u]:
                found += float(self.sharing) * float(squared(sums[u])) / 2
        return found


def squared(values: Floats32) -> Any:
    """Return the squared length of a vector or of each column, in float64."""
    return np.sum(np.square(values, dtype=np.float64), axis=0)
