"""The vectors of a tree's nodes, computed from path sums: each is the difference of a node from its parent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cladist.kernels import joint as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.leaf_blocks import LeafBlock
from cladist.linear_model.path_sums import EVERY_LANE, IDENTITY, BlockAlphas, PathSumWeights
from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.training_rows import TrainingRows, aligned_zeros
from cladist.linear_model.weights import Floats32, Ids


class NodeVectors(NamedTuple):
    """The vectors of up to sixteen nodes (features in use × 16), and the biases of these nodes."""

    nodes: Ids
    weights: Floats32
    bias: Floats32


def node_vectors(paths: PathSumWeights) -> Iterator[NodeVectors]:
    """Yield the vectors of all nodes: the stored ones, and those that follow from the rows; all in one array."""
    sums, nothing = paths.sums, np.zeros(0, np.float32)
    stored_nodes, W = sums.layout.stored_nodes, aligned_zeros(sums.rows.n_used)
    for first in range(0, len(stored_nodes), WIDTH):
        nodes = stored_nodes[first : first + WIDTH]
        for lane in range(len(nodes)):
            W[:, lane] = sums.V[first + lane]
        yield NodeVectors(nodes, W, nothing)
    is_stored = np.zeros(len(paths.tree.parent), bool)
    is_stored[stored_nodes] = True
    for b in range(len(sums.layout.blocks)):
        for vectors, _, _ in block_vectors(paths, b, is_stored, W):
            yield vectors


def block_vectors(
    paths: PathSumWeights, b: int, is_stored: Any, W: Floats32
) -> Iterator[tuple[NodeVectors, Floats32, float]]:
    """Yield the vectors of a block's leaves and of the nodes above them that are not stored, all of them in W.

    With them come the leaves below each node (16 × 16), and the weight of its penalty.
    """
    sums, nothing = paths.sums, np.zeros(0, np.float32)
    rows, layout, block = sums.rows, sums.layout, sums.layout.blocks[b]
    own = sums.state[b] if sums.own is None else sums.own[b]
    yield NodeVectors(paths.tree.leaves[block.classes], _sum_rows(rows, own, IDENTITY, W), nothing), IDENTITY, 1.0
    local_nodes, below = _local_nodes(paths.tree, block, is_stored, paths.root)
    for first in range(0, len(local_nodes), WIDTH):
        nodes = local_nodes[first : first + WIDTH]
        lanes = np.zeros((WIDTH, WIDTH), np.float32)
        lanes[:, : len(nodes)] = below[:, first : first + WIDTH]
        weights = _sum_rows(rows, sums.state[b], np.float32(layout.sharing) * lanes, W)
        yield NodeVectors(nodes, weights, nothing), np.ascontiguousarray(lanes.T), 1 / layout.sharing


def _sum_rows(rows: TrainingRows, alphas: BlockAlphas, lanes: Floats32, W: Floats32) -> Floats32:
    W[:] = 0
    kernels.add_rows(rows.arrays, np.full(len(rows), EVERY_LANE), *alphas, lanes, W)
    return W


def _local_nodes(tree: ProblemTree, block: LeafBlock, is_stored: Any, root: str) -> tuple[Ids, Floats32]:
    """Return the nodes above a block's leaves that are not stored, and the lanes below each."""
    lanes_below: dict[int, list[int]] = {}
    for lane, leaf in enumerate(tree.leaves[block.classes].tolist()):
        node = int(tree.parent[leaf])
        while node >= 0 and not is_stored[node]:
            if tree.parent[node] >= 0 or root != "fixed":
                lanes_below.setdefault(node, []).append(lane)
            node = int(tree.parent[node])
    below = np.zeros((WIDTH, len(lanes_below)), np.float32)
    for column, lanes in enumerate(lanes_below.values()):
        below[lanes, column] = 1
    return np.array(list(lanes_below), np.int64), below
