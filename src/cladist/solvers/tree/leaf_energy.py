"""The energy of a tree whose leaves are given: what they cost with the nodes above them that suit them best.

Problem   E = min over inner nodes of Σ_n ‖w_n − w_parent(n)‖² / κ_n, the leaves' w being fixed
Solution  from below, a node stands for its children as one child would: at their weighted mean m = Σ g_c w_c / G,
          G = Σ g_c, pulled by g = G / (1 + κ G); what they are apart, Σ g_c ‖w_c − m‖², is part of E. A leaf has g = 1.
          A root adds g ‖m‖², nothing if it is free, and G ‖m‖² if it is held at 0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.linear_model.problem_tree import ProblemTree

Ids = npt.NDArray[np.int64]
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
    levels, pulls, roots = _levels(tree, root)
    energy = 0.0
    for leaves in columns:
        values = np.zeros((len(tree.parent), leaves.shape[1]))
        values[tree.leaves] = leaves
        for level in levels:
            apart = values[level.children]
            means = level.averages @ apart
            apart -= means[level.family]
            energy += _weighted(pulls[level.children], apart)
            values[level.inner] = means
        energy += _weighted(roots, values)
    return energy


def _weighted(weights: Floats64, vectors: Floats64) -> float:
    return float(weights @ np.einsum("ij,ij->i", vectors, vectors))


class _Level(NamedTuple):
    """The nodes of one level below an inner node, their parents, and the matrix (parents × nodes) of averages."""

    children: Ids
    inner: Ids
    family: Ids
    averages: sparse.csr_array


def _levels(tree: ProblemTree, root: str) -> tuple[list[_Level], Floats64, Floats64]:
    """Return the levels from the deepest up, g of all nodes, and the factors of ‖m‖² that roots add."""
    n_nodes, is_leaf = len(tree.parent), np.zeros(len(tree.parent), bool)
    is_leaf[tree.leaves] = True
    pulls, totals = np.where(is_leaf, 1.0, 0.0), np.zeros(n_nodes)
    levels = []
    for depth in range(int(tree.depth[tree.leaves].max(initial=0)), 0, -1):
        children = np.flatnonzero(tree.in_use & (tree.depth == depth))
        above = tree.parent[children]
        totals += np.bincount(above, pulls[children], minlength=n_nodes)
        inner, family = np.unique(above, return_inverse=True)
        pulls[inner] = totals[inner] / (1 + tree.sharing * totals[inner])
        entries = pulls[children] / totals[above], (family, np.arange(len(children)))
        levels.append(_Level(children, inner, family, sparse.csr_array(entries, shape=(len(inner), len(children)))))
    is_root = tree.in_use & (tree.parent < 0)
    of_inner = {"zero": pulls, "free": np.zeros(n_nodes), "fixed": totals}[root]
    return levels, pulls, np.where(is_root, np.where(is_leaf, 1.0, of_inner), 0.0)
