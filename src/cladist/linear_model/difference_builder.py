"""The result of a solver → `DifferenceWeights`, block by block, so that at most one block is dense at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.kernels import linear_scores
from cladist.kernels.beam import CHILDREN
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.node_differences import Chunks, DifferenceWeights, LevelOrder
from cladist.linear_model.path_sums import NodeVectors, PathSumWeights, node_vectors
from cladist.linear_model.problem_tree import InnerVectors, ProblemTree
from cladist.linear_model.training_rows import Floats32, Ids, aligned_zeros
from cladist.linear_model.weights import BlockedWeights
from cladist.storage.spool import Spool

SparseVector = tuple[npt.NDArray[np.int32], Floats32]  # features and values


def differences_of_paths(paths: PathSumWeights, prune: float = 0.0) -> DifferenceWeights:
    """Return the differences of path sums that are larger than `prune`."""
    builder = DifferenceBuilder(LevelOrder.from_tree(paths.tree), paths.feature_of, paths.n_features, prune)
    for vectors in node_vectors(paths):
        has_constant = paths.sums.rows.has_constant
        bias = vectors.weights[-1].copy() if has_constant else np.zeros(WIDTH, np.float32)
        builder.add(vectors._replace(weights=vectors.weights[: len(paths.feature_of)], bias=bias))
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
        builder.add(NodeVectors(tree.leaves[classes], W[:-1], W[-1]))
    if inner is not None:
        for first in range(0, len(tree.inner), WIDTH):
            nodes = tree.inner[first : first + WIDTH]
            W = aligned_zeros(inner.vectors.shape[1])
            W[:, : len(nodes)] = (inner.vectors_of(nodes) - inner.vectors_of(tree.parent[nodes])).T
            builder.add(NodeVectors(nodes, W[:-1], W[-1]))
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

    def add(self, vectors: NodeVectors) -> None:
        """Add the weights of some nodes that are larger than `prune`."""
        positions = self.order.position_of[vectors.nodes]
        self.bias[positions] = vectors.bias[: len(positions)]
        counts, prune = np.zeros(len(positions), np.int64), np.float32(self.prune)
        linear_scores.count_lanes(vectors.weights, prune, counts)
        ends = np.cumsum(counts)
        features, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32)
        linear_scores.list_lanes(vectors.weights, prune, ends - counts, features, values)
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
