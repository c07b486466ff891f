"""Path sums: the weights of a leaf as the sum of vectors along its path, so that shared parts are kept once.

Stored nodes have a vector each; the nodes below them follow from the coefficients α y of the training rows. A leaf
takes 8 bytes for each row that supports it, where dense weights take 4 bytes for each feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels import joint as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.leaf_blocks import LeafBlocks, build_leaf_blocks
from cladist.linear_model.problem_tree import ROOTS, ProblemTree
from cladist.linear_model.training_rows import TrainingRows, aligned_zeros
from cladist.linear_model.weights import BlockedWeights, Floats32, Ids, require_fit
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_ids, unpack_matrix

SUMMED_BYTES = 2**28  # of sums of stored nodes in float64
EVERY_LANE = np.uint32(2**WIDTH - 1)
IDENTITY = np.eye(WIDTH, dtype=np.float32)
_NUMBERED_ROOTS = ("zero", "free", "fixed")  # the first versions saved an index into this tuple: never reorder it


class BlockAlphas(NamedTuple):
    """The rows of a block with an α that is not 0, and their sixteen α (or α y) each."""

    rows: npt.NDArray[np.int32]
    values: Floats32

    @classmethod
    def none(cls) -> BlockAlphas:
        """Return no rows."""
        return cls(np.zeros(0, np.int32), np.zeros((0, WIDTH), np.float32))


@dataclass(frozen=True)
class PathSums:
    """The parts of which the weights of leaves are sums.

    Attributes
    ----------
    layout : LeafBlocks
    V : array (stored nodes × features in use)
        The vectors of the stored nodes.
    rows : TrainingRows
    state : list of BlockAlphas
        α y of every block, from which the nodes within it follow.
    own : list of BlockAlphas, or None
        α y that leaves add to their parents' weights; None if they are those of `state`.
    """

    layout: LeafBlocks
    V: Floats32
    rows: TrainingRows
    state: list[BlockAlphas]
    own: list[BlockAlphas] | None

    def set_vectors(self, free: Ids, centres: Floats32) -> None:
        """Compute the vectors of the stored nodes from `state`, those of free roots with `centres`."""
        set_vectors(self.V, self.layout, self.rows, lambda b: self.state[b], free, centres)

    def write_block(self, b: int, W: Floats32) -> None:
        """Set W to the weights of a block's leaves."""
        block, rows = self.layout.blocks[b], self.rows.arrays
        positive = np.full(len(self.rows), EVERY_LANE)
        kernels.put_paths(self.V, block.paths, block.groups, W)
        if self.own is None:
            kernels.add_rows(rows, positive, *self.state[b], block.local, W)
        else:
            kernels.add_rows(rows, positive, *self.state[b], block.local_above, W)
            kernels.add_rows(rows, positive, *self.own[b], IDENTITY, W)

    def blocks(self) -> Iterator[Floats32]:
        """Yield the weights of each block, one after the other in the same array."""
        W = aligned_zeros(self.rows.n_used)
        for b in range(len(self.layout.blocks)):
            self.write_block(b, W)
            yield W

    def intercepts_of(self, b: int) -> Floats32:
        """Return the weights of a block's leaves for the last feature, which is 1 in every row."""
        block = self.layout.blocks[b]
        starts, nodes = block.paths
        sums = np.zeros(WIDTH)
        for g, lanes in enumerate(block.groups.tolist()):
            total = self.V[nodes[starts[g] : starts[g + 1]], -1].sum(dtype=np.float64)
            sums += total * np.array([lanes >> k & 1 for k in range(WIDTH)])
        local = block.local if self.own is None else block.local_above
        sums += self.state[b].values.sum(axis=0, dtype=np.float64) @ local
        if self.own is not None:
            sums += self.own[b].values.sum(axis=0, dtype=np.float64)
        return sums[: len(block.classes)].astype(np.float32)


class PathSumWeights(BlockedWeights):
    """The weights of leaves in the form of `PathSums`, computed sixteen at a time when scores are needed.

    `tree`, `root` and `centres`, the vectors that free roots were last shrunk towards, suffice to compute the stored
    nodes again.
    """

    def __init__(self, sums: PathSums, tree: ProblemTree, root: str, centres: Floats32) -> None:
        self.sums, self.tree, self.root, self.centres = sums, tree, root, centres
        self.n_classes = len(tree.leaves)
        rows = sums.rows
        self.n_features = rows.n_features
        self.feature_of = rows.feature_of[:-1] if rows.has_constant else rows.feature_of
        self.intercepts = np.zeros(self.n_classes, np.float32)
        if rows.has_constant:
            for b, block in enumerate(sums.layout.blocks):
                self.intercepts[block.classes] = sums.intercepts_of(b)

    def classes_of(self, b: int) -> Ids:
        """Return the classes in the lanes of a block."""
        return self.sums.layout.blocks[b].classes

    def blocks(self) -> Iterator[Floats32]:
        """Yield the blocks one after the other, all in the same array."""
        return (W[: len(self.feature_of)] for W in self.sums.blocks())

    def rebuilds_blocks(self, n_rows: int) -> bool:
        """Return True: scores always need all blocks."""
        return True

    def _rows(self, classes: Ids) -> Floats32:
        matrix = np.zeros((len(classes), self.n_features), np.float32)
        W = aligned_zeros(self.sums.rows.n_used)
        for b, block in enumerate(self.sums.layout.blocks):
            rows, lanes = np.nonzero(classes[:, None] == block.classes[None, :])
            if len(rows):
                self.sums.write_block(b, W)
                matrix[np.ix_(rows, self.feature_of)] = W[: len(self.feature_of), lanes].T
        return matrix

    # ---------------------------------------------------------------- saving and loading

    def to_arrays(self) -> Arrays:
        """Return the tree, the training rows, and their α y in the leaves."""
        sums, tree = self.sums, self.tree
        if sums.own is None:
            raise ModelFormatError(
                "Every row supports a logistic classifier, and all rows are too many to save; fit with "
                "weights='sparse' and a prune of 0.01 or so."
            )
        arrays = {
            "parent": tree.parent,
            "leaves": tree.leaves,
            "sharing": np.array([tree.sharing]),
            "root_name": np.frombuffer(self.root.encode(), np.uint8),
            "has_constant": np.array(sums.rows.has_constant),
            "centres": self.centres,
            **prefixed("vectors", pack_matrix(sums.rows.matrix(np.arange(len(sums.rows))))),
            **prefixed("state", pack_matrix(self._shares(sums.state))),
            **prefixed("own", pack_matrix(self._shares(sums.own))),
        }
        return prefixed("paths", arrays)

    def _shares(self, alphas: list[BlockAlphas]) -> sparse.csr_array:
        """Return α y of all blocks as a matrix (classes × rows)."""
        classes, rows, values = [], [], []
        for b, block in enumerate(alphas):
            entries, lanes = np.nonzero(block.values)
            classes.append(self.classes_of(b)[lanes])
            rows.append(block.rows[entries])
            values.append(block.values[entries, lanes])
        triples = np.concatenate(values), (np.concatenate(classes), np.concatenate(rows))
        return sparse.csr_array(triples, shape=(self.n_classes, len(self.sums.rows)), dtype=np.float32)

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: ProblemTree | None, root: str) -> PathSumWeights:
        """Return the weights that `to_arrays` wrote; another tree could ask for any amount of memory."""
        if tree is None:
            raise ModelFormatError("Its weights do not fit: sums along paths are no weights of such a learner.")
        arrays, n_classes = group("paths", arrays), len(arrays["intercepts"])
        leaves, centres = arrays["leaves"], arrays["centres"]
        same = np.array_equal(arrays["parent"], tree.parent) and np.array_equal(leaves, tree.leaves)
        require_fit(same and len(np.unique(leaves)) == n_classes, "its tree is not that of its taxonomy")
        require_fit(np.array_equal(arrays["sharing"], [tree.sharing]), "its sharing is another")
        require_fit(0 < tree.sharing < np.inf, "where nothing is shared, weights are no sums")
        saved_root, constant = _read_root(arrays)
        require_fit(root in ROOTS and saved_root == root, "its root is another")
        vectors = unpack_matrix(group("vectors", arrays), n_features)
        state, own = (unpack_matrix(group(name, arrays), vectors.shape[0]) for name in ("state", "own"))
        rows, layout = TrainingRows.from_matrix(vectors, constant=constant), build_leaf_blocks(tree, root)
        free = free_roots(layout, tree, root)
        require_fit(centres.shape == (len(free), rows.n_used), "centres of its roots do not fit")
        V = np.zeros((len(layout.stored_nodes), rows.n_used), np.float32)
        alphas = [[_alphas_of(shares, block.classes) for block in layout.blocks] for shares in (state, own)]
        sums = PathSums(layout, V, rows, *alphas)
        sums.set_vectors(free, centres)
        return cls(sums, tree, root, centres)


def _read_root(arrays: Arrays) -> tuple[str, bool]:
    """Return the name of the root and whether rows have a constant; the first versions saved numbers."""
    if "root" not in arrays:
        return bytes(arrays["root_name"]).decode("utf-8", "replace"), bool(arrays["has_constant"])
    number, constant = unpack_ids(arrays["root"]).tolist()
    require_fit(number < len(_NUMBERED_ROOTS) and constant in (0, 1), "its root has no such number")
    return _NUMBERED_ROOTS[number], bool(constant)


def _alphas_of(shares: sparse.csr_array, classes: Ids) -> BlockAlphas:
    block = sparse.csc_array(shares[classes])
    rows = np.flatnonzero(np.diff(block.indptr)).astype(np.int32)
    values = np.zeros((len(rows), WIDTH), np.float32)
    values[:, : len(classes)] = block[:, rows].toarray().T
    return BlockAlphas(rows, values)


# -------------------------------------------------------------------- stored nodes


def free_roots(layout: LeafBlocks, tree: ProblemTree, root: str) -> Ids:
    """Return the stored nodes that are roots without a penalty."""
    return np.flatnonzero(tree.parent[layout.stored_nodes] < 0) if root == "free" else np.zeros(0, np.int64)


def set_vectors(
    V: Floats32,
    layout: LeafBlocks,
    rows: TrainingRows,
    signed_alphas: Callable[[int], BlockAlphas],
    free: Ids,
    centres: Floats32,
) -> npt.NDArray[np.float64]:
    """Set the vectors of stored nodes to κ Σ α y x over the leaves below, plus `centres` for free roots.

    `signed_alphas` gives α y of a block. Sums are float64, since large α cancel; `SUMMED_BYTES` limits the number of
    nodes that are summed together. Returns Σ α y x of the free roots.
    """
    free_sums, free_number = np.zeros((len(free), rows.n_used)), {u: k for k, u in enumerate(free.tolist())}
    at_once = max(1, SUMMED_BYTES // (8 * max(1, rows.n_used)))
    for first in range(0, len(V), at_once):
        sums = np.zeros((min(at_once, len(V) - first), rows.n_used))
        for b, block in enumerate(layout.blocks):
            here = np.flatnonzero((block.stored >= first) & (block.stored < first + len(sums)))
            if not len(here):
                continue
            alphas = signed_alphas(b)
            lanes = (block.above[here, None] >> np.arange(WIDTH, dtype=np.uint32)) & np.uint32(1)
            for u, steps in zip(block.stored[here].tolist(), lanes.astype(np.float64) @ alphas.values.T, strict=True):
                kernels.add_change(rows.arrays, alphas.rows, steps, sums[u - first])
        for u, total in enumerate(sums, first):
            V[u] = layout.sharing * total
            if u in free_number:
                free_sums[free_number[u]] = total
                V[u] = layout.sharing * total + centres[free_number[u]]
    return free_sums
