"""The energy of a tree whose leaves are given: what they cost with the nodes above them that suit them best.

Problem   E = min over inner nodes of Σ_n ‖w_n − w_parent(n)‖² / κ_n, the leaves' w being fixed
Solution  from below, a node stands for its children as one child would: at their weighted mean m = Σ g_c w_c / G,
          G = Σ g_c, pulled by g = G / (1 + κ G); what they are apart, Σ g_c ‖w_c − m‖², is part of E. A leaf has g = 1.
          A root adds g ‖m‖², nothing if it is free, and G ‖m‖² if it is held at 0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.linear_model.problem_tree import ProblemTree

Floats64 = npt.NDArray[np.float64]


def leaf_energy(columns: Iterable[npt.NDArray[Any]], tree: ProblemTree, root: str) -> float:
    """Return E in float64.

    Parameters
    ----------
    columns : iterable of arrays (leaves × features)
        The leaves' weights in the order of `tree.leaves`, some features at a time.
    tree : ProblemTree
    root : {"zero", "free", "fixed"}

    Notes
    -----
    O(nodes · features) in time, O(nodes · features at a time) in memory.

    Examples
    --------
    >>> tree = ProblemTree(np.array([-1, 0, 0]), np.array([1, 2]))
    >>> W = np.array([[1.0], [3.0]])  # the best root is at 4/3, or at 2 where nothing pulls it
    >>> [round(leaf_energy([W], tree, root), 9) for root in ("zero", "free", "fixed")]
    [4.666666667, 2.0, 10.0]
    """
    levels, shares, pulls, roots = _levels(tree, root)
    energy = 0.0
    for leaves in columns:
        values = np.zeros((len(tree.parent), leaves.shape[1]))
        values[tree.leaves] = leaves
        for nodes, share in zip(levels, shares, strict=True):
            above = tree.parent[nodes]
            means = share @ values[nodes]
            energy += _weighted(pulls[nodes], values[nodes] - means[above])
            inner = np.unique(above)
            values[inner] = means[inner]
        energy += _weighted(roots, values)
    return energy


def _weighted(weights: Floats64, vectors: Floats64) -> float:
    return float(weights @ np.einsum("ij,ij->i", vectors, vectors))


def _levels(tree: ProblemTree, root: str) -> tuple[list[Any], list[sparse.csr_array], Floats64, Floats64]:
    """Return children from the deepest level up, the matrices that average them, g of all nodes, and what roots add."""
    n_nodes, is_leaf = len(tree.parent), np.zeros(len(tree.parent), bool)
    is_leaf[tree.leaves] = True
    pulls, totals = np.where(is_leaf, 1.0, 0.0), np.zeros(n_nodes)
    levels, shares = [], []
    for depth in range(int(tree.depth[tree.leaves].max(initial=0)), 0, -1):
        nodes = np.flatnonzero(tree.in_use & (tree.depth == depth))
        above = tree.parent[nodes]
        totals += np.bincount(above, pulls[nodes], minlength=n_nodes)
        inner = np.unique(above)
        pulls[inner] = totals[inner] / (1 + tree.sharing * totals[inner])
        places = above, np.arange(len(nodes))
        levels.append(nodes)
        shares.append(sparse.csr_array((pulls[nodes] / totals[above], places), shape=(n_nodes, len(nodes))))
    is_root = tree.in_use & (tree.parent < 0)
    of_inner = {"zero": pulls, "free": np.zeros(n_nodes), "fixed": totals}[root]
    return levels, shares, pulls, np.where(is_root, np.where(is_leaf, 1.0, of_inner), 0.0)
