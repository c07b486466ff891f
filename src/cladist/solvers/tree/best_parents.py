"""How much the best inner nodes lower the objective, the leaves being as a check of the gap has found them.

A leaf n is its parent plus Σ_i β_in y_in x_i, where β solves it alone; the inner nodes belong to the α of the joint
dual. The slope in an inner node is −Σ (β − α) y x over the leaves that are its children, so the step to the best inner
nodes is a sum of few rows. The elimination that finds them goes up the tree on the coefficients of rows alone.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from cladist.kernels import joint as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import BlockAlphas, ProblemTree
from cladist.linear_model.training_rows import Floats64
from cladist.solvers.tree.duality_gap import tree_levels
from cladist.solvers.tree.joint_dual import Ids32, JointDual


class RowSum(NamedTuple):
    """A sum of training rows: their numbers, each once, and their coefficients."""

    rows: Ids32
    values: Floats64


def energy_above(joint: JointDual, tree: ProblemTree, root: str, own: list[BlockAlphas]) -> float:
    """Return by how much Σ ‖w_n − w_parent‖² / κ falls if inner nodes become the best for the leaves.

    `own` are the β of each block. O(depth · nonzeros of rows with β ≠ α + inner nodes · features); roots are not free.
    """
    levels, pulls, _ = tree_levels(tree, root)
    pulling: dict[int, RowSum] = {}  # the sums by which nodes pull their parents
    sums = joint.executor.map(partial(_leaf_sums, joint, own), range(len(own)))
    for block, of_lanes in zip(joint.layout.blocks, sums, strict=True):
        pulling.update(zip(tree.leaves[block.classes].tolist(), of_lanes, strict=False))
    saved = 0.0
    for level in levels:
        starts = np.searchsorted(np.sort(level.family), np.arange(len(level.inner) + 1))
        children = level.children[np.argsort(level.family, kind="stable")].tolist()
        moved = [n for n, node in enumerate(level.inner.tolist()) if root != "fixed" or tree.parent[node] >= 0]
        families = [[pulling.pop(child) for child in children[starts[n] : starts[n + 1]]] for n in moved]
        found = joint.executor.map(partial(_join, joint), families)
        for node, (total, square) in zip(level.inner[moved].tolist(), found, strict=True):
            left = 1 - tree.sharing * float(pulls[node])  # 1 / (1 + κ Σ g_c), see `leaf_energy`
            saved += tree.sharing * left * square
            pulling[node] = RowSum(total.rows, total.values * left)
    return saved


def _leaf_sums(joint: JointDual, own: list[BlockAlphas], b: int) -> list[RowSum]:
    """Return Σ (β − α) y x of each lane of a block."""
    before, after = joint.states[b].alphas, own[b]
    rows = np.union1d(before.rows, after.rows)
    values = np.zeros((len(rows), WIDTH))
    values[np.searchsorted(rows, after.rows)] = after.values
    values[np.searchsorted(rows, before.rows)] -= before.values
    positive = joint.lanes(b).mask[rows, None] >> np.arange(WIDTH, dtype=np.uint32) & np.uint32(1)
    values *= np.where(positive, 1.0, -1.0)
    entries = (np.flatnonzero(lane) for lane in values.T)
    return [RowSum(rows[listed], values[listed, k]) for k, listed in enumerate(entries)]


def _join(joint: JointDual, parts: list[RowSum]) -> tuple[RowSum, float]:
    """Return the sum of some sums, and its squared norm."""
    rows, places = np.unique(np.concatenate([part.rows for part in parts]), return_inverse=True)
    entries = np.concatenate([part.values for part in parts])
    values = np.bincount(places, entries, minlength=len(rows)).astype(np.float64)
    vector = np.zeros(joint.rows.n_used)
    kernels.add_change(joint.rows.arrays, rows, values, vector)
    return RowSum(rows, values), float(np.einsum("i,i", vector, vector))
