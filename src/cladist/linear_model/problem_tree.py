"""The tree above the binary problems of a solver, and the weight vectors of its inner nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
ROOTS = ("zero", "free", "fixed")  # inner roots are shrunk towards 0, not shrunk, or fixed at 0
Flags = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ProblemTree:
    """A tree or forest, and the leaf of each problem; nodes above no such leaf are ignored.

    Attributes
    ----------
    parent : array (nodes,), int64
        The parent of each node, −1 above roots; parents come before their children.
    leaves : array (problems,), int64
        The node of each problem: different ones, none above another.
    sharing : float
        κ in the penalty ‖w_n − w_parent(n)‖² / κ of inner nodes; that of leaves is ‖w_n − w_parent(n)‖². Gopal & Yang
        2013 have κ = 1; with 0 leaves share nothing.

    Examples
    --------
    >>> tree = ProblemTree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
    >>> tree.depth.tolist(), tree.inner.tolist(), tree.n_children.tolist()
    ([0, 1, 1, 2, 2], [0, 1], [2, 2, 0, 0, 0])
    """

    parent: Ids
    leaves: Ids
    sharing: float = 1.0

    @cached_property
    def depth(self) -> Ids:
        """The number of nodes above each node."""
        depth = np.zeros(len(self.parent), np.int64)
        for node, above in enumerate(self.parent.tolist()):
            if above >= 0:
                depth[node] = depth[above] + 1
        return depth

    @cached_property
    def in_use(self) -> Flags:
        """Whether each node is the leaf of a problem or above one."""
        in_use = np.zeros(len(self.parent), bool)
        in_use[self.leaves] = True
        for node in range(len(self.parent) - 1, -1, -1):
            if in_use[node] and self.parent[node] >= 0:
                in_use[self.parent[node]] = True
        return in_use

    @cached_property
    def inner(self) -> Ids:
        """The nodes above at least one leaf, parents before their children."""
        is_inner = self.in_use.copy()
        is_inner[self.leaves] = False
        return np.flatnonzero(is_inner)

    @cached_property
    def n_children(self) -> Ids:
        """The number of children in use of each node."""
        above = self.parent[self.in_use]
        return np.bincount(above[above >= 0], minlength=len(self.parent))

    def select_parity(self, nodes: Ids, parity: int) -> Ids:
        """Return the positions in `nodes` of the nodes of odd depth (1) or even depth (0).

        Examples
        --------
        >>> tree = ProblemTree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
        >>> tree.select_parity(tree.leaves, 0).tolist(), tree.select_parity(tree.leaves, 1).tolist()
        ([0, 1], [2])
        """
        return np.flatnonzero(self.depth[nodes] % 2 == parity)


class InnerVectors:
    """The weight vectors of the inner nodes, parents before their children."""

    def __init__(self, tree: ProblemTree, root: str, n_features: int) -> None:
        self.nodes = tree.inner
        self.position = np.full(len(tree.parent) + 1, -1, np.int64)  # the last entry stands above the roots
        self.position[self.nodes] = np.arange(len(self.nodes))
        self.parents = self.position[tree.parent[self.nodes]]
        self.free = (self.parents < 0) & (root == "free")
        self.fixed = (self.parents < 0) & (root == "fixed")
        self.sharing = np.float32(tree.sharing)
        above = tree.parent[tree.leaves]
        n_leaves = np.bincount(above[above >= 0], minlength=len(tree.parent))[self.nodes]
        # The penalties on a node, in units of 1/κ: leaves count κ times as much as parents and inner children.
        self.penalties = tree.n_children[self.nodes] - n_leaves + tree.sharing * n_leaves + ~self.free
        self.vectors = np.zeros((len(self.nodes), n_features), np.float32)

    def by_node(self) -> dict[int, Floats32]:
        """Return the vectors by node."""
        return dict(zip(self.nodes.tolist(), self.vectors, strict=True))

    def vectors_of(self, nodes: Ids) -> Floats32:
        """Return the vectors of some nodes, 0 for −1, which stands above the roots."""
        vectors = self.vectors[self.position[nodes]]
        vectors[self.position[nodes] < 0] = 0
        return vectors

    def average(self, chosen: Ids, sums: Floats32) -> None:
        """Set nodes to the mean of parent and children; `sums` are the sums over children that are leaves."""
        sums *= self.sharing
        is_chosen = np.zeros(len(self.nodes) + 1, bool)
        is_chosen[chosen] = True
        for child in np.flatnonzero(is_chosen[self.parents]):
            sums[self.parents[child]] += self.vectors[child]
        self._descend(chosen, sums, self.penalties.astype(np.float64))

    def solve(self, sums: Floats32) -> None:
        """Set all nodes so that each is the mean of parent and children: one elimination up, one substitution down."""
        sums *= self.sharing
        weight = self.penalties.astype(np.float64)
        for u in range(len(self.nodes) - 1, -1, -1):
            if self.parents[u] >= 0:
                weight[self.parents[u]] -= 1 / weight[u]
                sums[self.parents[u]] += sums[u] * np.float32(1 / weight[u])
        self._descend(np.arange(len(self.nodes)), sums, weight)

    def _descend(self, chosen: Ids, sums: Floats32, weight: Floats64) -> None:
        for u in chosen[~self.fixed[chosen]].tolist():
            above = self.vectors[self.parents[u]] if self.parents[u] >= 0 else np.float32(0)
            self.vectors[u] = (sums[u] + above) * np.float32(1 / weight[u])

    def cost(self) -> float:
        """Return ½ Σ ‖w_n − w_parent(n)‖² / κ."""
        cost = 0.0
        for u in np.flatnonzero(~self.free & ~self.fixed).tolist():
            above = self.vectors[self.parents[u]] if self.parents[u] >= 0 else np.float32(0)
            cost += float(squared_norms(self.vectors[u] - above)) / 2
        return cost / float(self.sharing)

    def dual_cost(self, sums: Floats32, reach: float) -> float:
        """Return the inner nodes' part of the dual objective; `sums` are Σ α y x over children that are leaves."""
        cost = 0.0
        for u in range(len(self.nodes) - 1, -1, -1):
            if self.parents[u] >= 0:
                sums[self.parents[u]] += sums[u]
            if self.free[u]:
                along = float(self.vectors[u].astype(np.float64) @ sums[u])
                cost += along + reach * float(np.sqrt(squared_norms(sums[u])))
            elif not self.fixed[u]:
                cost += float(self.sharing) * float(squared_norms(sums[u])) / 2
        return cost


def squared_norms(values: Floats32) -> Any:
    """Return the squared norm of a vector, or of each column, in float64."""
    return np.sum(np.square(values, dtype=np.float64), axis=0)
