"""From what a solver has found to `TreeWeights`: block by block, so that no more than one is dense at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.kernels import joint as kernels
from cladist.kernels import linear_scores
from cladist.kernels.beam import CHILDREN
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.forms import InBlocks
from cladist.linear_model.leaf_blocks import BlockLayout
from cladist.linear_model.level_order import Families
from cladist.linear_model.node_differences import Chunks, TreeWeights
from cladist.linear_model.path_sums import EVERY_LANE, IDENTITY, PathWeights
from cladist.linear_model.problem_tree import Inner, Tree
from cladist.linear_model.rows import Rows, aligned
from cladist.storage.spool import Spool

Floats32 = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


class Vectors(NamedTuple):
    """Dense vectors of up to sixteen nodes: (features in use × 16), and the tree's number of each node."""

    nodes: Ids
    weights: Floats32
    bias: Floats32


class Shelf:
    """Sparse vectors of nodes as they come, in any order; `collected` puts siblings together."""

    def __init__(self, families: Families, feature_of: Ids, n_features: int, prune: float) -> None:
        self.families, self.n_features, self.prune = families, n_features, prune
        self.feature_of = feature_of.astype(np.int32)
        self.features, self.values = Spool(np.int32), Spool(np.float32)
        self.at = np.zeros((len(families.node_at), 2), np.int64)
        self.bias = np.zeros(len(families.node_at), np.float32)

    def put(self, vectors: Vectors) -> None:
        """Keep what is larger than `prune`."""
        places = self.families.place_of[vectors.nodes]
        self.bias[places] = vectors.bias[: len(places)]
        counts, prune = np.zeros(len(places), np.int64), np.float32(self.prune)
        linear_scores.count_lanes(vectors.weights, prune, counts)
        ends = np.cumsum(counts)
        kept, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32)
        linear_scores.list_lanes(vectors.weights, prune, ends - counts, kept, values)
        for place, first, last in zip(places.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
            self.keep(place, self.feature_of[kept[first:last]], values[first:last])

    def keep(self, place: int, features: Any, values: Any) -> None:
        """Keep a sparse vector as it is."""
        order = np.argsort(features)
        start = self.features.append(features[order])
        self.values.append(values[order])
        self.at[place] = start, self.features.length

    def collected(self) -> TreeWeights:
        """Return the weights, chunk after chunk."""
        families, listed = self.families, _Listed(self.at, self.features.array(), self.values.array())
        guides = _guides(families, listed, self.prune)
        spools = Spool(np.int32), Spool(np.uint32), Spool(np.uint8), Spool(np.float32)
        features_at, weights_at = (np.zeros(families.n_chunks + 1, np.int64) for _ in range(2))
        for c in range(families.n_chunks):
            children = np.arange(families.chunk_at[c], families.chunk_at[c + 1])
            for spool, part in zip(spools, _merged(children, listed, guides), strict=True):
                spool.append(part)
            features_at[c + 1], weights_at[c + 1] = spools[0].length, spools[3].length
        chunks = Chunks(features_at, weights_at, *(spool.array() for spool in spools))
        return TreeWeights(families, chunks, self.bias, self.n_features)


class _Listed(NamedTuple):
    """Sparse vectors: where each place's begins and ends, and all of them."""

    at: Ids
    features: Any
    values: Any

    def of(self, places: Ids) -> tuple[Any, Any, Any]:
        """Return features, which of `places` they belong to, and values of some places."""
        parts = [slice(*self.at[place].tolist()) for place in places.tolist()]
        whose = np.repeat(np.arange(len(places)), np.diff(self.at[places])[:, 0])
        return np.concatenate([self.features[p] for p in parts]), whose, np.concatenate([self.values[p] for p in parts])


Sparse = tuple[npt.NDArray[np.int32], Floats32]


def _guides(families: Families, listed: _Listed, prune: float) -> dict[int, Sparse]:
    """Return of every inner place what a path below it can gain by a feature at most, if that is more than `prune`.

    From below: the largest over children of their own difference and their guide, or 0.
    """
    guides: dict[int, Sparse] = {}
    for place in np.flatnonzero(families.class_of < 0)[::-1].tolist():
        parts = []
        for c in range(families.first_chunk[place + 1], families.first_chunk[place + 2]):
            children = np.arange(families.chunk_at[c], families.chunk_at[c + 1])
            parts.append(_most_of(*_with_guides(children, listed, guides)))
        features, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        features, _, values = _by_feature(features, np.zeros(len(features), np.int64), values, np.maximum)
        kept = values > prune
        guides[place] = features[kept].astype(np.int32), values[kept]
    return guides


def _with_guides(children: Ids, listed: _Listed, guides: dict[int, Sparse]) -> tuple[Any, Any, Any]:
    """Return features, children and values of children's differences, and of their guides."""
    own = listed.of(children)
    led = [(lane, *guides[place]) for lane, place in enumerate(children.tolist()) if place in guides]
    if not led:
        return own
    features = np.concatenate([own[0], *(found for _, found, _ in led)])
    lanes = np.concatenate([own[1], *(np.full(len(found), lane) for lane, found, _ in led)])
    return features, lanes, np.concatenate([own[2], *(values for _, _, values in led)])


def _most_of(features: Any, lanes: Any, values: Any) -> Sparse:
    """Return the largest sum of any child for each feature, if that is positive."""
    features, lanes, values = _by_feature(features, lanes, values, np.add)
    features, _, values = _by_feature(features, np.zeros(len(features), np.int64), values, np.maximum)
    return features[values > 0], values[values > 0]


def _by_feature(features: Any, lanes: Any, values: Any, reduced: np.ufunc) -> tuple[Any, Any, Any]:
    """Return entries sorted by feature and lane, equal ones reduced to one."""
    order = np.lexsort((lanes, features))
    features, lanes, values = features[order], lanes[order], values[order]
    first = np.flatnonzero(np.append(True, (np.diff(features) != 0) | (np.diff(lanes) != 0))[: len(features)])
    return features[first], lanes[first], reduced.reduceat(values, first) if len(first) else values


def _merged(children: Ids, listed: _Listed, guides: dict[int, Sparse]) -> tuple[Any, ...]:
    """Return siblings' vectors and guides as one chunk: features, where each one's weights end, lanes, weights."""
    features, lanes, values = listed.of(children)
    led = [(lane, *guides.pop(place)) for lane, place in enumerate(children.tolist()) if place in guides]
    if led:
        features = np.concatenate([features, *(found for _, found, _ in led)])
        lanes = np.concatenate([lanes, *(np.full(len(found), CHILDREN + lane) for lane, found, _ in led)])
        values = np.concatenate([values, *(found for _, _, found in led)])
    order = np.lexsort((lanes, features))
    features = features[order]
    ends = np.append(np.flatnonzero(np.diff(features)) + 1, len(features)) if len(features) else np.zeros(0, np.int64)
    return features[ends - 1], ends.astype(np.uint32), lanes[order].astype(np.uint8), values[order]


# ---------------------------------------------------------------- sums along paths


def differences_of_paths(paths: PathWeights, prune: float = 0.0) -> TreeWeights:
    """Return what the joint solver found; stored nodes have vectors, of the others rows say what they are."""
    shelf = Shelf(Families.of(paths.tree), paths.feature_of, paths.n_features, prune)
    rows = paths.sums.rows
    for vectors in _path_vectors(paths):
        bias = vectors.weights[-1].copy() if rows.has_constant else np.zeros(WIDTH, np.float32)
        shelf.put(vectors._replace(weights=vectors.weights[: len(paths.feature_of)], bias=bias))
    return shelf.collected()


def _path_vectors(paths: PathWeights) -> Iterator[Vectors]:
    sums, nothing = paths.sums, np.zeros(0, np.float32)
    rows, layout = sums.rows, sums.layout
    W = aligned(rows.n_used)
    for first in range(0, len(layout.stored_nodes), WIDTH):
        nodes = layout.stored_nodes[first : first + WIDTH]
        for lane in range(len(nodes)):
            W[:, lane] = sums.V[first + lane]
        yield Vectors(nodes, W, nothing)
    stored = np.zeros(len(paths.tree.parent), bool)
    stored[layout.stored_nodes] = True
    for b in range(len(layout.blocks)):
        for vectors, _, _ in block_vectors(paths, b, stored, W):
            yield vectors


def block_vectors(paths: PathWeights, b: int, stored: Any, W: Floats32) -> Iterator[tuple[Vectors, Floats32, float]]:
    """Yield the vectors of a block's leaves and of the nodes above them that are not stored, all of them in W.

    With them comes which leaves each is part of (16 × 16), and by how much each is pulled to its parent.
    """
    sums, nothing = paths.sums, np.zeros(0, np.float32)
    rows, layout, block = sums.rows, sums.layout, sums.layout.blocks[b]
    own = sums.state[b] if sums.own is None else sums.own[b]
    yield Vectors(paths.tree.leaves[block.classes], _made(rows, own, IDENTITY, W), nothing), IDENTITY, 1.0
    local, below = _local_nodes(paths.tree, block, stored, paths.root)
    for first in range(0, len(local), WIDTH):
        nodes = local[first : first + WIDTH]
        lanes = np.zeros((WIDTH, WIDTH), np.float32)
        lanes[:, : len(nodes)] = below[:, first : first + WIDTH]
        made = _made(rows, sums.state[b], np.float32(layout.sharing) * lanes, W)
        yield Vectors(nodes, made, nothing), np.ascontiguousarray(lanes.T), 1 / layout.sharing


def _made(rows: Rows, alphas: Any, lanes: Floats32, W: Floats32) -> Floats32:
    W[:] = 0
    kernels.add_rows(rows.arrays, np.full(len(rows), EVERY_LANE), *alphas, lanes, W)
    return W


def _local_nodes(tree: Tree, block: BlockLayout, stored: Any, root: str) -> tuple[Ids, Floats32]:
    """Return the nodes above a block's leaves that are not stored, and which lanes are below each."""
    found: dict[int, list[int]] = {}
    for lane, leaf in enumerate(tree.leaves[block.classes].tolist()):
        node = int(tree.parent[leaf])
        while node >= 0 and not stored[node]:
            if tree.parent[node] >= 0 or root != "fixed":
                found.setdefault(node, []).append(lane)
            node = int(tree.parent[node])
    below = np.zeros((WIDTH, len(found)), np.float32)
    for column, lanes in enumerate(found.values()):
        below[lanes, column] = 1
    return np.array(list(found), np.int64), below


# ---------------------------------------------------------------- leaves alone


def differences_of_leaves(leaves: InBlocks, tree: Tree, root: str, prune: float = 0.0) -> TreeWeights:
    """Return leaves' weights with the nodes above them that suit them best: 0 where nothing is shared.

    Inner nodes are dense on the way, for trees with few of them.
    """
    shelf = Shelf(Families.of(tree), leaves.feature_of, leaves.n_features, prune)
    shared = tree.sharing > 0 and len(tree.inner) > 0
    inner = _best_above(leaves, tree, root) if shared else None
    above = tree.parent[tree.leaves]
    for classes, block, intercepts in leaves.numbered():
        W = np.vstack([block, intercepts])
        if inner is not None:
            W[:, : len(classes)] -= inner.vectors_of(above[classes]).T
        shelf.put(Vectors(tree.leaves[classes], W[:-1], W[-1]))
    if inner is not None:
        for first in range(0, len(tree.inner), WIDTH):
            nodes = tree.inner[first : first + WIDTH]
            W = aligned(inner.vectors.shape[1])
            W[:, : len(nodes)] = (inner.vectors_of(nodes) - inner.vectors_of(tree.parent[nodes])).T
            shelf.put(Vectors(nodes, W[:-1], W[-1]))
    return shelf.collected()


def _best_above(leaves: InBlocks, tree: Tree, root: str) -> Inner:
    inner = Inner(tree, root, len(leaves.feature_of) + 1)
    sums = np.zeros((len(inner.nodes) + 1, len(leaves.feature_of) + 1), np.float32)
    for classes, block, intercepts in leaves.numbered():
        W = np.vstack([block, intercepts])[:, : len(classes)]
        np.add.at(sums, inner.place[tree.parent[tree.leaves[classes]]], W.T)
    inner.solve(sums[:-1])
    return inner
