"""Path sums: the weights of a leaf as the sum of vectors along its path, so that shared parts are kept once.

Stored nodes have a vector each; the nodes below them follow from the coefficients α y of the training rows. A leaf
takes 8 bytes for each row that supports it, where dense weights take 4 bytes for each feature.

Below, the vectors of all nodes become `DifferenceWeights`, block by block, so that at most one is dense at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels import linear_scores
from cladist.kernels.beam import CHILDREN
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.node_differences import Chunks, DifferenceWeights, LevelOrder
from cladist.linear_model.problem_tree import (
    ROOTS,
    BlockAlphas,
    InnerVectors,
    LeafBlocks,
    ProblemTree,
    build_leaf_blocks,
)
from cladist.linear_model.training_rows import Floats32, Ids, TrainingRows, aligned_zeros
from cladist.linear_model.weights import BlockedWeights, require_fit
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_ids, unpack_matrix
from cladist.storage.scratch import Spool

SparseVector = tuple[npt.NDArray[np.int32], Floats32]  # features and values
EVERY_LANE = np.uint32(2**WIDTH - 1)
IDENTITY = np.eye(WIDTH, dtype=np.float32)
_NUMBERED_ROOTS = ("zero", "free", "fixed")  # the first versions saved an index into this tuple: never reorder it


@dataclass(frozen=True)
class PathSums:
    """The parts of which the weights of leaves are sums."""

    layout: LeafBlocks
    V: Floats32  # (stored nodes × features in use)
    rows: TrainingRows
    state: list[BlockAlphas]  # α y of every block, from which the nodes within it follow
    own: list[BlockAlphas] | None  # α y that leaves add to their parents' weights; None if they are those of `state`
    is_sparse: bool = True  # whether few rows have an α

    def write_block(self, b: int, W: Floats32) -> None:
        """Set W to the weights of a block's leaves."""
        block, state = self.layout.blocks[b], self.state[b]
        parts = [(state, block.local)]
        if self.own is not None:
            parts = [(state, block.local_above), (self.own[b], IDENTITY)]
        block.put_weights(W, self.V, self.rows, np.full(len(self.rows), EVERY_LANE), *parts)

    def blocks(self) -> Iterator[Floats32]:
        """Yield the weights of each block, one after the other in the same array."""
        W = aligned_zeros(self.rows.n_used)
        for b in range(len(self.layout.blocks)):
            self.write_block(b, W)
            yield W

    def intercepts_of(self, b: int) -> Floats32:
        """Return the weights of a block's leaves for the last feature, which is 1 in every row."""
        block = self.layout.blocks[b]
        lanes = (block.above[:, None] >> np.arange(WIDTH, dtype=np.uint32)) & np.uint32(1)
        sums = self.V[block.stored, -1].astype(np.float64) @ lanes
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

    def to_arrays(self) -> Arrays:
        """Return the tree, the training rows, and their α y in the leaves."""
        sums, tree = self.sums, self.tree
        if sums.own is None or not sums.is_sparse:
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
        require_fit(centres.shape == (len(layout.free), rows.n_used), "centres of its roots do not fit")
        V = np.zeros((len(layout.stored_nodes), rows.n_used), np.float32)
        inner, leaf = ([_alphas_of(shares, block.classes) for block in layout.blocks] for shares in (state, own))
        layout.set_vectors(V, rows, lambda b, here: layout.blocks[b].sums_of_lanes(inner[b], here), centres)
        return cls(PathSums(layout, V, rows, inner, leaf), tree, root, centres)


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


# ---------------------------------------------------------------- the vectors of nodes: differences from their parents


def block_vectors(paths: PathSumWeights, b: int, W: Floats32) -> Iterator[tuple[Ids, Floats32, float]]:
    """Put the vectors of a block's leaves, and then of the nodes above them that are not stored, into W.

    Yields the nodes whose vectors are there, the leaves below each (16 × 16), and the weight of their penalty.
    """
    sums, layout = paths.sums, paths.sums.layout
    block, mask = layout.blocks[b], np.full(len(sums.rows), EVERY_LANE)
    own = sums.state[b] if sums.own is None else sums.own[b]
    block.put_weights(W, None, sums.rows, mask, (own, IDENTITY))
    yield paths.tree.leaves[block.classes], IDENTITY, 1.0
    local_nodes, below = _local_nodes(paths, b)
    for first in range(0, len(local_nodes), WIDTH):
        nodes = local_nodes[first : first + WIDTH]
        lanes = np.zeros((WIDTH, WIDTH), np.float32)
        lanes[:, : len(nodes)] = below[:, first : first + WIDTH]
        block.put_weights(W, None, sums.rows, mask, (sums.state[b], np.float32(layout.sharing) * lanes))
        yield nodes, np.ascontiguousarray(lanes.T), 1 / layout.sharing


def _local_nodes(paths: PathSumWeights, b: int) -> tuple[Ids, Floats32]:
    """Return the nodes above a block's leaves that are not stored, and the lanes below each."""
    tree, layout = paths.tree, paths.sums.layout
    is_stored = np.zeros(len(tree.parent), bool)
    is_stored[layout.stored_nodes] = True
    lanes_below: dict[int, list[int]] = {}
    for lane, leaf in enumerate(tree.leaves[layout.blocks[b].classes].tolist()):
        node = int(tree.parent[leaf])
        while node >= 0 and not is_stored[node]:
            if tree.parent[node] >= 0 or paths.root != "fixed":
                lanes_below.setdefault(node, []).append(lane)
            node = int(tree.parent[node])
    below = np.zeros((WIDTH, len(lanes_below)), np.float32)
    for column, lanes in enumerate(lanes_below.values()):
        below[lanes, column] = 1
    return np.array(list(lanes_below), np.int64), below


def differences_of_paths(paths: PathSumWeights, prune: float = 0.0) -> DifferenceWeights:
    """Return the differences of path sums that are larger than `prune`."""
    builder = DifferenceBuilder(LevelOrder.from_tree(paths.tree), paths.feature_of, paths.n_features, prune)
    sums, stored_nodes = paths.sums, paths.sums.layout.stored_nodes
    W = aligned_zeros(sums.rows.n_used)

    def add(nodes: Ids) -> None:
        bias = W[-1] if sums.rows.has_constant else np.zeros(WIDTH, np.float32)
        builder.add(nodes, W[: len(paths.feature_of)], bias)

    for first in range(0, len(stored_nodes), WIDTH):
        nodes = stored_nodes[first : first + WIDTH]
        W[:, : len(nodes)] = sums.V[first : first + WIDTH].T
        add(nodes)
    for b in range(len(sums.layout.blocks)):
        for nodes, _, _ in block_vectors(paths, b, W):
            add(nodes)
    return builder.build()


def differences_of_leaves(
    leaves: BlockedWeights, tree: ProblemTree, root: str, prune: float = 0.0
) -> DifferenceWeights:
    """Return the differences of leaves from the optimal inner nodes above them, which are 0 if nothing is shared.

    Inner nodes are dense here, for trees that have few of them.
    """
    builder = DifferenceBuilder(LevelOrder.from_tree(tree), leaves.feature_of, leaves.n_features, prune)
    inner = _solve_inner(leaves, tree, root) if tree.sharing > 0 and len(tree.inner) > 0 else None
    above = tree.parent[tree.leaves]
    for classes, block, intercepts in leaves.iter_blocks():
        W = np.vstack([block, intercepts])
        if inner is not None:
            W[:, : len(classes)] -= inner.vectors_of(above[classes]).T
        builder.add(tree.leaves[classes], W[:-1], W[-1])
    if inner is not None:
        for first in range(0, len(tree.inner), WIDTH):
            nodes = tree.inner[first : first + WIDTH]
            W = aligned_zeros(inner.vectors.shape[1])
            W[:, : len(nodes)] = (inner.vectors_of(nodes) - inner.vectors_of(tree.parent[nodes])).T
            builder.add(nodes, W[:-1], W[-1])
    return builder.build()


def _solve_inner(leaves: BlockedWeights, tree: ProblemTree, root: str) -> InnerVectors:
    inner = InnerVectors(tree, root, len(leaves.feature_of) + 1)
    sums = np.zeros((len(inner.nodes) + 1, len(leaves.feature_of) + 1), np.float32)
    for classes, block, intercepts in leaves.iter_blocks():
        W = np.vstack([block, intercepts])[:, : len(classes)]
        np.add.at(sums, inner.position[tree.parent[tree.leaves[classes]]], W.T)
    inner.solve(sums[:-1])
    return inner


class DifferenceBuilder:
    """Collects sparse vectors of nodes in any order; `build` puts siblings together."""

    def __init__(self, order: LevelOrder, feature_of: Ids, n_features: int, prune: float) -> None:
        self.order, self.n_features, self.prune = order, n_features, prune
        self.feature_of = feature_of.astype(np.int32)
        self.features, self.values = Spool(np.int32), Spool(np.float32)
        self.ranges = np.zeros((len(order.node_at), 2), np.int64)
        self.bias = np.zeros(len(order.node_at), np.float32)

    def add(self, nodes: Ids, weights: Floats32, bias: Floats32) -> None:
        """Add the weights (features in use × 16) of up to sixteen nodes that are larger than `prune`, and biases."""
        positions = self.order.position_of[nodes]
        self.bias[positions] = bias[: len(positions)]
        counts, prune = np.zeros(len(positions), np.int64), np.float32(self.prune)
        linear_scores.count_lanes(weights, prune, counts)
        ends = np.cumsum(counts)
        features, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32)
        linear_scores.list_lanes(weights, prune, ends - counts, features, values)
        for position, first, last in zip(positions.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
            self.add_sparse(position, self.feature_of[features[first:last]], values[first:last])

    def add_sparse(self, position: int, features: Any, values: Any) -> None:
        """Add the sparse vector of one position, whole."""
        order = np.argsort(features)
        start = self.features.append(features[order])
        self.values.append(values[order])
        self.ranges[position] = start, self.features.length

    def build(self) -> DifferenceWeights:
        """Return the weights, chunk after chunk."""
        order, vectors = self.order, _SparseVectors(self.ranges, self.features.array(), self.values.array())
        bounds = _upper_bounds(order, vectors, self.prune)
        spools = Spool(np.int32), Spool(np.uint32), Spool(np.uint8), Spool(np.float32)
        features_at, weights_at = (np.zeros(order.n_chunks + 1, np.int64) for _ in range(2))
        for c in range(order.n_chunks):
            for spool, part in zip(spools, _build_chunk(order.chunk(c), vectors, bounds), strict=True):
                spool.append(part)
            features_at[c + 1], weights_at[c + 1] = spools[0].length, spools[3].length
        chunks = Chunks(features_at, weights_at, *(spool.array() for spool in spools))
        return DifferenceWeights(order, chunks, self.bias, self.n_features)


class _SparseVectors(NamedTuple):
    """Sparse vectors of all positions: where each begins and ends, and their features and values."""

    ranges: Ids
    features: Any
    values: Any

    def entries(self, positions: Ids) -> tuple[Any, Any, Any]:
        """Return the features, indices into `positions`, and values of some positions."""
        parts = [slice(*self.ranges[position].tolist()) for position in positions.tolist()]
        lanes = np.repeat(np.arange(len(positions)), np.diff(self.ranges[positions])[:, 0])
        return np.concatenate([self.features[p] for p in parts]), lanes, np.concatenate([self.values[p] for p in parts])


def _upper_bounds(order: LevelOrder, vectors: _SparseVectors, prune: float) -> dict[int, SparseVector]:
    """Return for each inner position the most that a path below it gains by each feature, if more than `prune`.

    From the bottom up: the maximum over children of their own difference plus their bound, or 0.
    """
    bounds: dict[int, SparseVector] = {}
    for position in np.flatnonzero(order.class_of < 0)[::-1].tolist():
        parts = []
        for c in range(order.first_chunk[position + 1], order.first_chunk[position + 2]):
            entries = _join_bounds(order.chunk(c), vectors, bounds, first_lane=0)
            features, _, values = _reduce_entries(*entries, np.add)
            features, values = _maxima(features, values)
            parts.append((features[values > 0], values[values > 0]))
        features, values = _maxima(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        bounds[position] = features[values > prune].astype(np.int32), values[values > prune]
    return bounds


def _join_bounds(
    children: Ids, vectors: _SparseVectors, bounds: dict[int, SparseVector], first_lane: int
) -> tuple[Any, Any, Any]:
    """Return the features, lanes and values of siblings, and then those of their bounds, in lanes from `first_lane`."""
    parts = [vectors.entries(children)]
    for lane, position in enumerate(children.tolist(), first_lane):
        if position in bounds:
            features, values = bounds[position]
            parts.append((features, np.full(len(features), lane), values))
    features, lanes, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return features, lanes, values


def _maxima(features: Any, values: Any) -> tuple[Any, Any]:
    """Return the features in order, and the largest value of each."""
    features, _, values = _reduce_entries(features, np.zeros(len(features), np.int64), values, np.maximum)
    return features, values


def _reduce_entries(features: Any, lanes: Any, values: Any, reduce: np.ufunc) -> tuple[Any, Any, Any]:
    """Return entries sorted by feature and lane, those of equal feature and lane reduced to one."""
    order = np.lexsort((lanes, features))
    features, lanes, values = features[order], lanes[order], values[order]
    first = np.flatnonzero(np.append(True, (np.diff(features) != 0) | (np.diff(lanes) != 0))[: len(features)])
    return features[first], lanes[first], reduce.reduceat(values, first) if len(first) else values


def _build_chunk(children: Ids, vectors: _SparseVectors, bounds: dict[int, SparseVector]) -> tuple[Any, ...]:
    """Return siblings and their bounds as one chunk: features, ends, lanes and weights; their bounds are dropped."""
    features, lanes, values = _join_bounds(children, vectors, bounds, first_lane=CHILDREN)
    for position in children.tolist():
        bounds.pop(position, None)
    order = np.lexsort((lanes, features))
    features = features[order]
    ends = np.append(np.flatnonzero(np.diff(features)) + 1, len(features)) if len(features) else np.zeros(0, np.int64)
    return features[ends - 1], ends.astype(np.uint32), lanes[order].astype(np.uint8), values[order]
