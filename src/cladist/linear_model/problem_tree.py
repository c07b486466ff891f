"""The tree above the binary problems of a solver: its inner nodes' vectors, and its leaves in blocks of sixteen.

Leaves are in the order of a walk through the tree, so that siblings share a block. A node whose leaves are all in one
block needs no vector of its own: it follows from the block's α. The other nodes are `stored`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import joint as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, TrainingRows
from cladist.storage.array_pool import storable

LaneSums = tuple[npt.NDArray[np.int32], Floats64]  # rows, and their factors for each of some nodes
ROOTS = ("zero", "free", "fixed")  # inner roots are shrunk towards 0, not shrunk, or fixed at 0
SUMMED_BYTES = 2**28  # of sums of stored nodes in float64


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
    def in_use(self) -> npt.NDArray[np.bool_]:
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
        """Return the positions in `nodes` of the nodes of odd depth (1) or even depth (0)."""
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

    def average(self, positions: Ids, sums: Floats32) -> None:
        """Set nodes to the mean of parent and children; `sums` are the sums over children that are leaves."""
        sums *= self.sharing
        is_chosen = np.zeros(len(self.nodes) + 1, bool)
        is_chosen[positions] = True
        for child in np.flatnonzero(is_chosen[self.parents]):
            sums[self.parents[child]] += self.vectors[child]
        self._descend(positions, sums, self.penalties.astype(np.float64))

    def solve(self, sums: Floats32) -> None:
        """Set all nodes so that each is the mean of parent and children: one elimination up, one substitution down."""
        sums *= self.sharing
        weight = self.penalties.astype(np.float64)
        for u in range(len(self.nodes) - 1, -1, -1):
            if self.parents[u] >= 0:
                weight[self.parents[u]] -= 1 / weight[u]
                sums[self.parents[u]] += sums[u] * np.float32(1 / weight[u])
        self._descend(np.arange(len(self.nodes)), sums, weight)

    def _descend(self, positions: Ids, sums: Floats32, weight: Floats64) -> None:
        for u in positions[~self.fixed[positions]].tolist():
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


@storable
class BlockAlphas(NamedTuple):
    """The rows of a block with an α that is not 0, and their sixteen α (or α y) each."""

    rows: npt.NDArray[np.int32]
    values: Floats32

    @classmethod
    def none(cls) -> BlockAlphas:
        """Return no rows."""
        return cls(np.zeros(0, np.int32), np.zeros((0, WIDTH), np.float32))


class LanePrior(NamedTuple):
    """Vectors u of a block's leaves, known before training: what a leaf is pulled to is its parent plus u."""

    features: Ids
    lanes: Ids
    values: Floats32

    def add(self, W: Any, times: float = 1.0) -> None:
        """Add the vectors to the weights of the lanes."""
        W[self.features, self.lanes] += np.float32(times) * self.values


@dataclass(frozen=True)
class LeafBlock:
    """Up to sixteen leaves and the nodes above them."""

    classes: Ids  # the problems in the lanes
    stored: Ids  # the stored nodes above any of them
    above: npt.NDArray[np.uint32]  # the lanes below each node of `stored`, as bits
    local: Floats32  # (16 × 16) the nodes that two paths share and that are not stored; inner ones count `sharing`
    prior: LanePrior | None = None

    @property
    def local_above(self) -> Floats32:
        """`local` without the leaves themselves."""
        return self.local - np.diag((np.arange(WIDTH) < len(self.classes)).astype(np.float32))

    def overlap(self, counts: npt.NDArray[Any]) -> Floats32:
        """Return `local` with the stored nodes, where node u counts `counts[u]`."""
        overlap = self.local.copy()
        for node, lanes in zip(self.stored.tolist(), self.above.tolist(), strict=True):
            below = np.array([lanes >> k & 1 for k in range(WIDTH)], np.float32)
            overlap += counts[node] * np.outer(below, below)
        return overlap

    def sums_of_lanes(self, signed: BlockAlphas, here: Ids) -> LaneSums:
        """Return the rows with α, and Σ α y over the lanes below each of some stored nodes, by their places."""
        lanes = (self.above[here, None] >> np.arange(WIDTH, dtype=np.uint32)) & np.uint32(1)
        return signed.rows, lanes.astype(np.float64) @ signed.values.T

    def put_weights(self, W: Any, V: Any, rows: TrainingRows, mask: Any, *parts: tuple[BlockAlphas, Floats32]) -> None:
        """Set W to the sums of stored vectors along the lanes' paths (none if V is None), plus Σ α y x of each part.

        A part is the α of some rows and the factors (16 × 16) by which those of one lane count in another. With V, the
        vectors known before training are added too.
        """
        if V is None:
            W[:] = 0
        else:
            kernels.put_paths(V, self.stored, self.above, W)
            if self.prior is not None:
                self.prior.add(W)
        for alphas, factors in parts:
            kernels.add_rows(rows.arrays, mask, *alphas, factors, W)


@dataclass(frozen=True)
class LeafBlocks:
    """All blocks of a tree's leaves, and its stored nodes."""

    blocks: list[LeafBlock]
    stored_nodes: Ids  # parents before their children
    free: Ids  # the numbers among `stored_nodes` of roots without a penalty
    sharing: float  # κ of the tree

    @property
    def has_prior(self) -> bool:
        """Whether leaves are pulled to more than their parents."""
        return any(block.prior is not None for block in self.blocks)

    def with_prior(self, prior: sparse.csr_array, feature_of: Ids) -> LeafBlocks:
        """Return the blocks with the vectors u of the problems (problems × columns of the original matrix)."""
        place = np.full(max(prior.shape[1], int(feature_of.max(initial=-1)) + 1), -1, np.int64)
        place[feature_of] = np.arange(len(feature_of))
        blocks = []
        for block in self.blocks:
            part = sparse.coo_array(prior[block.classes])
            features, used = place[part.coords[1]], place[part.coords[1]] >= 0
            vectors = LanePrior(
                features[used], part.coords[0][used].astype(np.int64), part.data[used].astype(np.float32)
            )
            blocks.append(replace(block, prior=vectors))
        return replace(self, blocks=blocks)

    def set_vectors(
        self,
        V: Floats32,
        rows: TrainingRows,
        sums_of_lanes: Callable[[int, Ids], LaneSums],
        centres: Floats32,
        chosen: Ids | None = None,
    ) -> Floats64:
        """Set the vectors V of stored nodes, all or some, to κ Σ α y x over the leaves below, plus free roots' centres.

        `sums_of_lanes` gives, for some stored nodes above a block, the factors of its rows. Sums are float64, since
        large α cancel; `SUMMED_BYTES` limits the number of nodes that are summed together. Returns Σ α y x of the free
        roots.
        """
        chosen = np.arange(len(V)) if chosen is None else chosen
        free_sums, free_number = (
            np.zeros((len(self.free), rows.n_used)),
            {u: k for k, u in enumerate(self.free.tolist())},
        )
        at_once = max(1, SUMMED_BYTES // (8 * max(1, rows.n_used)))
        for first in range(0, len(chosen), at_once):
            nodes = chosen[first : first + at_once]
            sums, place = np.zeros((len(nodes), rows.n_used)), np.full(len(V), -1, np.int64)
            place[nodes] = np.arange(len(nodes))
            for b, block in enumerate(self.blocks):
                here = np.flatnonzero(place[block.stored] >= 0)
                if not len(here):
                    continue
                listed, steps = sums_of_lanes(b, here)
                for u, step in zip(block.stored[here].tolist(), steps, strict=True):
                    kernels.add_change(rows.arrays, listed, step, sums[place[u]])
            for u, total in zip(nodes.tolist(), sums, strict=True):
                V[u] = self.sharing * total
                if u in free_number:
                    free_sums[free_number[u]] = total
                    V[u] = self.sharing * total + centres[free_number[u]]
        return free_sums


def build_leaf_blocks(tree: ProblemTree, root: str) -> LeafBlocks:
    """Return the leaf blocks of a tree whose roots are "zero", "fixed" or "free"; free roots are always stored."""
    is_root, is_leaf = tree.parent < 0, np.zeros(len(tree.parent), bool)
    is_leaf[tree.leaves] = True
    has_vector = ~is_root if root == "fixed" else np.ones(len(is_root), bool)  # leaves always have one
    order, first, last = _walk_order(tree)
    is_stored = (first < last) & ((first // WIDTH != (last - 1) // WIDTH) | (is_root & (root == "free")))
    stored_nodes = np.flatnonzero(is_stored & has_vector & ~is_leaf)
    number = np.full(len(tree.parent), -1, np.int64)
    number[stored_nodes] = np.arange(len(stored_nodes))
    starts = range(0, len(order), WIDTH)
    blocks = [_build_block(order[start : start + WIDTH], tree, has_vector, number) for start in starts]
    free = np.flatnonzero(is_root[stored_nodes] & (root == "free"))
    return LeafBlocks(blocks, stored_nodes, free, tree.sharing)


def _walk_order(tree: ProblemTree) -> tuple[Ids, Ids, Ids]:
    """Return the problems in the order of a walk, and where the leaves below each node begin and end in it."""
    parent, below = tree.parent, np.zeros(len(tree.parent), np.int64)
    below[tree.leaves] = 1
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            below[parent[v]] += below[v]
    first, next_free = np.zeros(len(parent), np.int64), np.zeros(len(parent) + 1, np.int64)
    for v in range(len(parent)):  # next_free[-1] stands above the roots
        above = parent[v]
        first[v] = next_free[above]
        next_free[above] += below[v]
        next_free[v] = first[v]
    return np.argsort(first[tree.leaves], kind="stable"), first, first + below


def _build_block(classes: Ids, tree: ProblemTree, has_vector: npt.NDArray[np.bool_], number: Ids) -> LeafBlock:
    stored_paths, local_paths = [], []
    for leaf in tree.leaves[classes].tolist():
        stored: list[int] = []
        local, v = {leaf}, int(tree.parent[leaf])
        while v >= 0:
            if has_vector[v] and number[v] >= 0:
                stored.append(int(number[v]))
            elif has_vector[v]:
                local.add(v)
            v = int(tree.parent[v])
        stored_paths.append(stored)
        local_paths.append(local)
    nodes = sorted({u for path in stored_paths for u in path})
    above = [sum(1 << k for k, path in enumerate(stored_paths) if u in path) for u in nodes]
    overlap = np.zeros((WIDTH, WIDTH), np.float32)
    for a, one in enumerate(local_paths):
        for b, other in enumerate(local_paths):
            overlap[a, b] = tree.sharing * (len(one & other) - (a == b)) + (a == b)
    return LeafBlock(classes, np.array(nodes, np.int64), np.array(above, np.uint32), overlap)


def schedule_rounds(n_blocks: int, size: int) -> list[list[int]]:
    """Return the blocks of each round: the next one of each of `size` stretches of the walk through the tree.

    Blocks of consecutive rounds share most of the tree, those of one round the least: 7 blocks in rounds of 3 are
    [[0, 2, 5], [1, 3, 6], [4]].
    """
    cuts = np.rint(np.linspace(0, n_blocks, min(size, n_blocks) + 1)).astype(int)
    longest = int(np.diff(cuts).max(initial=0))
    return [[a + r for a, b in pairwise(cuts.tolist()) if a + r < b] for r in range(longest)]
