"""Node differences: the weights of a tree's nodes as sparse differences from their parents, and ranking with them.

Every weight is kept once, beside those of its siblings: a chunk has the weights of a node's children, by feature. Beam
search reads the chunks. Scores of all leaves come from an inverted index of all chunks, built when it is first
needed, or from the chunks themselves if the index would be too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels import beam as kernels
from cladist.kernels import linear_scores, top_k
from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.sparse import InvertedIndex, are_within, rank_by_index, require_sound
from cladist.linear_model.training_rows import CsrArrays, Floats32, Ids
from cladist.linear_model.weights import Weights, csr_arrays, require_fit
from cladist.storage import is_unread
from cladist.storage.array_groups import Arrays, group, prefixed

MOST_INDEX_BYTES = 2 * 2**30  # of an index; larger models are read chunk by chunk instead
ENTRY_BYTES = 8
SCORES_AT_ONCE = 2**24  # of all nodes and a few rows
PAIRS_AT_ONCE = 2**22  # of rows and nodes that one step of beam search may score


@dataclass(frozen=True)
class LevelOrder:
    """The positions of a tree's nodes in use, level by level, the children of one node adjacent.

    The roots are the children of position −1. Siblings are divided into chunks of at most 128.
    """

    node_at: Ids  # (positions,) the tree's node at each position
    position_of: Ids  # (nodes of the tree,) the position of each node, −1 if it is not in use
    parent: Ids  # (positions,) the position of each parent, −1 for roots
    class_of: Ids  # (positions,) the problem of each leaf, −1 for inner nodes
    first_child: Ids  # (positions + 2,) the children of p are those from first_child[p + 1] to first_child[p + 2]
    first_chunk: Ids  # the chunks of p's children, indexed like `first_child`
    chunk_start: Ids  # the position where each chunk begins
    level_start: Ids  # (levels + 1,) the position where each level begins

    @classmethod
    def from_tree(cls, tree: ProblemTree) -> LevelOrder:
        """Return the level order of the nodes in use. O(nodes log nodes)."""
        position_of = np.full(len(tree.parent) + 1, -1, np.int64)  # the last entry stands above the roots
        levels, level_start, n_positions = [], [0], 0
        in_use = np.flatnonzero(tree.in_use)
        depth = tree.depth[in_use]
        for level in range(int(depth.max(initial=-1)) + 1):
            nodes = in_use[depth == level]
            nodes = nodes[np.argsort(position_of[tree.parent[nodes]], kind="stable")]
            position_of[nodes] = n_positions + np.arange(len(nodes))
            n_positions += len(nodes)
            levels.append(nodes)
            level_start.append(n_positions)
        node_at = np.concatenate([np.zeros(0, np.int64), *levels])
        parent, position_of = position_of[tree.parent[node_at]], position_of[:-1]
        class_of = np.full(n_positions, -1, np.int64)
        class_of[position_of[tree.leaves]] = np.arange(len(tree.leaves))
        counts = np.bincount(parent + 1, minlength=n_positions + 1)
        first_child = np.concatenate([[0], np.cumsum(counts)])
        first_chunk = np.concatenate([[0], np.cumsum(-(-counts // kernels.CHILDREN))])
        within = np.arange(first_chunk[-1]) - np.repeat(first_chunk[:-1], np.diff(first_chunk))
        chunk_start = np.append(
            np.repeat(first_child[:-1], np.diff(first_chunk)) + within * kernels.CHILDREN, n_positions
        )
        return cls(node_at, position_of, parent, class_of, first_child, first_chunk, chunk_start, np.array(level_start))

    @property
    def n_chunks(self) -> int:
        """The number of chunks."""
        return len(self.chunk_start) - 1

    @property
    def leaf_positions(self) -> Ids:
        """The position of each problem's leaf."""
        leaves = np.flatnonzero(self.class_of >= 0)
        return leaves[np.argsort(self.class_of[leaves])]

    def chunk(self, c: int) -> Ids:
        """Return the positions of a chunk."""
        return np.arange(self.chunk_start[c], self.chunk_start[c + 1])

    def n_children(self, positions: Any) -> Ids:
        """Return the number of children of each position; −1 is the parent of the roots."""
        return self.first_child[positions + 2] - self.first_child[positions + 1]

    def list_paths(self, positions: Ids) -> tuple[Ids, Ids]:
        """Return all (index into `positions`, position on its path) pairs, each position being on its own path."""
        indices, ancestors, here = [], [], np.arange(len(positions))
        while len(positions):
            indices.append(here)
            ancestors.append(positions)
            above = self.parent[positions]
            here, positions = here[above >= 0], above[above >= 0]
        none = [np.zeros(0, np.int64)]
        return np.concatenate(none + indices), np.concatenate(none + ancestors)


class Chunks(NamedTuple):
    """The weights of all chunks: where the features and weights of each chunk begin, and these.

    `features` rise within a chunk; `ends` are where the weights of each feature end, counted from the chunk's first;
    `lanes` are the children that weights belong to, those from 128 on being upper bounds (`cladist.kernels.beam`).
    """

    features_at: Ids
    weights_at: Ids
    features: npt.NDArray[np.int32]
    ends: npt.NDArray[np.uint32]
    lanes: npt.NDArray[np.uint8]
    values: Floats32


class DifferenceWeights(Weights):
    """The difference of every node in use from its parent; a leaf's weights are the sum along its path.

    `bias` has the differences of intercepts. About 5 bytes for each weight and 8 for each feature of a chunk. Arrays
    may be those of a mapped file, which kernels do not trust.
    """

    def __init__(self, order: LevelOrder, chunks: Chunks, bias: Any, n_features: int) -> None:
        self.order, self.chunks, self.n_features = order, chunks, n_features
        self.bias = np.asarray(bias, np.float32)
        self.n_classes = int(np.count_nonzero(order.class_of >= 0))
        totals = self.bias.copy()
        for first, last in self._levels(1):
            totals[first:last] += totals[order.parent[first:last]]
        self.intercepts = totals[order.leaf_positions]

    def _levels(self, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield where levels begin and end."""
        return pairwise(self.order.level_start[start:].tolist())

    @property
    def n_weights(self) -> int:
        """The number of weights that are kept."""
        return len(self.chunks.values)

    def to_arrays(self) -> Arrays:
        """Return the chunks and the biases."""
        return prefixed("differences", {**self.chunks._asdict(), "bias": self.bias})

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: ProblemTree | None, root: str) -> DifferenceWeights:
        """Return the weights that `to_arrays` wrote; the division into chunks follows from the tree, not from the file.

        Weights that are left in their file unverified are not read here. Kernels check every number before they use it
        as a position (`cladist.kernels.beam`): a damaged file gives wrong answers or a `ModelFormatError`, no more.
        """
        if tree is None:
            raise ModelFormatError("Its weights do not fit: differences in a tree are no weights of such a learner.")
        order, n_classes, arrays = LevelOrder.from_tree(tree), len(arrays["intercepts"]), group("differences", arrays)
        require_fit(len(tree.leaves) == n_classes, "its intercepts are not as many as its leaves")
        bias = np.array(arrays.pop("bias"))
        require_fit(bias.shape == order.node_at.shape, "its intercepts are not those of its tree")
        # Copies: a mapped file might change after the check.
        starts = {name: np.array(arrays[name]) for name in ("features_at", "weights_at")}
        chunks = Chunks(**{**{name: _to_native(array) for name, array in arrays.items()}, **starts})
        for at, length in ((chunks.features_at, len(chunks.features)), (chunks.weights_at, len(chunks.values))):
            fits = at.shape == (order.n_chunks + 1,) and at[0] == 0 and at[-1] == length
            require_fit(fits and bool(np.all(at[1:] >= at[:-1])), "its chunks do not fit its weights")
        if not is_unread(chunks.values):
            _check_chunks(chunks, order)
        return cls(order, chunks, bias, n_features)

    @property
    def has_index(self) -> bool:
        """Whether scores of all leaves come from an index."""
        return self.n_weights * ENTRY_BYTES <= MOST_INDEX_BYTES

    @cached_property
    def index(self) -> InvertedIndex:
        """All weights by feature, as in `cladist.kernels.linear_scores`, with positions as classes."""
        chunks, counts = self.chunks, np.zeros(self.n_features, np.int64)
        starts, weights = chunks[:2], chunks[2:]
        sound = kernels.count_by_feature(starts, weights, counts)
        limits = np.cumsum(counts)
        nodes, values = (np.zeros(counts.sum(), kind) for kind in (np.int32, np.float32))
        cursor, chunk_start = limits - counts, self.order.chunk_start
        sound &= kernels.list_by_feature(starts, weights, chunk_start, cursor, limits, nodes, values)
        require_sound(sound)
        features = np.flatnonzero(counts)
        lists = features.astype(np.int32), np.append(0, limits[features]), nodes, values
        return InvertedIndex.from_lists(lists, len(self.bias))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "index"}

    def scores(self, X: Any) -> Floats32:
        """Return w_k·x_i + b_k for all rows and classes."""
        rows, n_rows, leaves = csr_arrays(X), X.shape[0], self.order.leaf_positions
        scores = np.empty((n_rows, self.n_classes), np.float32)
        size = max(1, SCORES_AT_ONCE // max(1, len(self.bias)))
        for first in range(0, n_rows, size):
            last = min(n_rows, first + size)
            scores[first:last] = self._node_scores(rows, first, last)[:, leaves]
        return scores

    def _node_scores(self, rows: CsrArrays, first: int, last: int) -> Floats32:
        """Return the scores of all positions for a few rows."""
        scores = np.empty((last - first, len(self.bias)), np.float32)
        if self.has_index:
            row_ids, parent = np.arange(first, last), self.order.parent
            require_sound(linear_scores.score_by_index(rows, row_ids, self.index[:4], self.bias, parent, scores))
            return scores
        order, table = self.order, np.zeros(self.n_features, np.int32)
        n_rows, parents, parent_scores = last - first, np.full(1, -1), np.zeros((last - first, 1), np.float32)
        for start, stop in self._levels():
            to = order.first_child[parents + 1] - start + (stop - start) * np.arange(n_rows)[:, None]
            row, node = np.repeat(np.arange(first, last), len(parents)), np.tile(parents, n_rows)
            pairs = (row, node, parent_scores.ravel(), parent_scores.ravel(), to.ravel())
            by_node = np.arange(len(row)).reshape(n_rows, -1).T.ravel()
            children = self._expand(rows, pairs, by_node, table, n_rows * (stop - start), with_bounds=False)
            scores[:, start:stop] = children[1].reshape(n_rows, -1)
            parents = start + np.flatnonzero(order.class_of[start:stop] < 0)
            parent_scores = scores[:, parents]
        return scores

    def best(self, X: Any) -> Ids:
        """Return the class of highest score for each row, ties to the first."""
        return self.top_k(X, 1)[0][:, 0]

    def can_rank(self, n_rows: int) -> bool:
        """Return True: `top_k` never needs an array of all scores."""
        return True

    def top_k(self, X: Any, k: int, beam: int | None = None) -> tuple[Ids, Floats32]:
        """Return the k best classes of each row and their scores, best first, ties to the first.

        With `beam`, only the children of `beam` nodes of each level are scored. A row for which beam search reaches
        fewer than k leaves is ranked exactly.
        """
        rows, n_rows = csr_arrays(X), X.shape[0]
        if beam is None and self.has_index:
            return rank_by_index(rows, n_rows, k, self.index, (self.bias, self.order.parent, self.order.class_of))
        best, scores = np.empty((n_rows, k), np.int64), np.empty((n_rows, k), np.float32)
        incomplete = self._search(rows, n_rows, beam or max(1, len(self.bias)), best, scores)
        if len(incomplete):
            best[incomplete], scores[incomplete] = self.top_k(X[incomplete], k)
        return best, scores

    def _search(self, rows: CsrArrays, n_rows: int, beam: int, best: Ids, scores: Floats32) -> Ids:
        """Write the leaves that beam search reaches; return the rows for which they are too few."""
        order, incomplete = self.order, []
        widest = int(np.diff(order.first_child).max(initial=1))
        at_once = min(beam, int(np.diff(order.level_start).max(initial=1))) * widest
        size = max(1, PAIRS_AT_ONCE // at_once)
        table = np.zeros(self.n_features, np.int32)
        for first in range(0, n_rows, size):
            some = slice(first, min(n_rows, first + size))
            counts = self._search_rows((rows[0][first:], *rows[1:]), beam, table, best[some], scores[some])
            incomplete.append(first + np.flatnonzero(counts < best.shape[1]))
        return np.concatenate([np.zeros(0, np.int64), *incomplete])

    def _search_rows(self, rows: CsrArrays, beam: int, table: Any, best: Ids, scores: Floats32) -> Ids:
        """Write the leaves that beam search reaches for a few rows; return how many they are for each."""
        order, n_rows = self.order, len(best)
        counts, nothing = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.float32)
        pairs: tuple[Any, ...] = np.arange(n_rows), np.full(n_rows, -1), nothing, nothing
        starts = np.arange(n_rows)
        beam = min(beam, max(1, len(self.bias)))
        room = np.empty(beam, np.float32), np.empty(beam, np.int64)
        while len(pairs[0]):
            child_ends = np.cumsum(order.n_children(pairs[1]))
            child_starts = child_ends - order.n_children(pairs[1])
            stops = np.append(starts[1:], len(child_ends))
            starts, ends = np.append(child_starts, child_ends[-1])[starts], np.append(0, child_ends)[stops]
            by_node = np.argsort(pairs[1], kind="stable")
            n_children = int(child_ends[-1])
            children = self._expand(rows, (*pairs, child_starts), by_node, table, n_children, with_bounds=True)
            most = min(n_children, n_rows * beam)
            following = tuple(np.empty(most, kind) for kind in (np.int64, np.int64, np.float32, np.float32))
            count = kernels.choose(starts, ends, order.class_of, children, room, following, scores, best, counts)
            pairs = tuple(part[:count] for part in following)
        top_k.sort_rows(scores, best, counts)
        return counts

    def _expand(
        self, rows: CsrArrays, pairs: Any, by_node: Ids, table: Any, n_children: int, *, with_bounds: bool
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return the positions, scores, gains and upper bounds of the children of all (row, node) pairs."""
        order, chunks = self.order, self.chunks
        layout = order.first_chunk, order.chunk_start, *chunks[:2], self.bias
        gains, bounds = (np.empty(n_children if with_bounds else 0, np.float32) for _ in range(2))
        children = np.empty(n_children, np.int64), np.empty(n_children, np.float32), gains, bounds
        require_sound(kernels.expand(rows, pairs, by_node, layout, chunks[2:], table, with_bounds, children))
        return children

    def vectors(self) -> sparse.csr_array:
        """Return the differences of all nodes (positions × features)."""
        return self._differences(np.arange(len(self.bias)))

    def matrix(self, classes: Ids | None = None) -> sparse.csr_array:
        """Return the weights of some classes, or of all, as CSR (classes × features)."""
        leaves = self.order.leaf_positions
        return self.sums(leaves if classes is None else leaves[classes])

    def sums(self, positions: Ids) -> sparse.csr_array:
        """Return the weights of some positions: the sums along their paths."""
        whose, on_path = self.order.list_paths(positions)
        ancestors, columns = np.unique(on_path, return_inverse=True)
        paths = sparse.csr_array((np.ones(len(whose)), (whose, columns)), shape=(len(positions), len(ancestors)))
        return sparse.csr_array(paths @ self._differences(ancestors)).astype(np.float32).sorted_indices()

    def _differences(self, positions: Ids) -> sparse.csr_array:
        """Return the differences of some positions, which rise; only their chunks are read."""
        chunks = np.unique(np.searchsorted(self.order.chunk_start, positions, side="right") - 1)
        none = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        parts = [none, *(self._chunk_entries(c) for c in chunks.tolist())]
        of_position, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        rows = np.searchsorted(positions, of_position)
        rows[rows == len(positions)] = 0
        is_wanted = positions[rows] == of_position if len(positions) else np.zeros(0, bool)
        entries = values[is_wanted], (rows[is_wanted], columns[is_wanted])
        return sparse.csr_array(entries, shape=(len(positions), self.n_features)).sorted_indices()

    def _chunk_entries(self, c: int) -> tuple[npt.NDArray[Any], ...]:
        """Return the positions, features and values of a chunk's weights, without upper bounds."""
        chunks, positions = self.chunks, self.order.chunk(c)
        begin, end = chunks.features_at[c : c + 2]
        first, n_weights = chunks.weights_at[c], int(chunks.weights_at[c + 1] - chunks.weights_at[c])
        ends = np.minimum(chunks.ends[begin:end].astype(np.int64), n_weights)
        lengths = np.maximum(np.diff(ends, prepend=0), 0)
        require_sound(int(lengths.sum()) <= n_weights)
        lanes = chunks.lanes[first : first + lengths.sum()].astype(np.int64)
        is_weight = lanes < kernels.CHILDREN
        columns, values = np.repeat(chunks.features[begin:end], lengths), chunks.values[first : first + len(lanes)]
        require_sound(len(columns) == len(lanes) and are_within(columns, self.n_features))
        require_sound(are_within(lanes % kernels.CHILDREN, len(positions)))
        return positions[0] + lanes[is_weight], columns[is_weight], values[is_weight]


def _to_native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the machine's byte order, without a copy if it has that order."""
    native = array.dtype.newbyteorder("=")
    return array.view(native) if array.dtype.isnative else array.astype(native)


def _check_chunks(chunks: Chunks, order: LevelOrder) -> None:
    """Refuse chunks whose features do not rise, whose lists do not fill them, or whose lanes are not children."""
    features, ends = chunks.features, chunks.ends
    first = np.zeros(len(features) + 1, bool)
    first[chunks.features_at] = True
    rising = first[1:-1] | ((features[1:] > features[:-1]) & (ends[1:] > ends[:-1]))
    require_fit(bool(np.all(rising)), "its features are not in order")
    filled = np.diff(chunks.features_at) > 0
    lengths = np.diff(chunks.weights_at)
    last = chunks.features_at[1:][filled] - 1
    require_fit(np.array_equal(ends[last], lengths[filled]) and not np.any(lengths[~filled]), "its lists do not fit")
    width = np.repeat(np.diff(order.chunk_start), lengths)
    require_fit(not np.any(chunks.lanes % kernels.CHILDREN >= width), "a weight belongs to a node that is not there")
