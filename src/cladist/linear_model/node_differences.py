"""Weights of a tree's nodes as sparse differences from their parents', and the best leaves of rows found with them.

Every weight is kept once, beside those of its siblings: a chunk has the weights of a node's children, listed by
feature. That is what a walk down the tree reads; scores of all leaves come from an index of all chunks, made when it is
first wanted, or from the chunks themselves where that would be too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import beam as walking
from cladist.kernels import top_k
from cladist.linear_model.forms import CsrArrays, Ids, Weights, csr_arrays
from cladist.linear_model.inverted_index import Index, best_by_index, is_within, require_sound
from cladist.linear_model.level_order import Families

Floats32 = npt.NDArray[np.float32]
MOST_INDEX_BYTES = 2 * 2**30  # of an index; larger models are read chunk by chunk instead
BYTES_AN_ENTRY = 8
SCORES_AT_ONCE = 2**24  # of all nodes and a few rows
PAIRS_AT_ONCE = 2**22  # of rows and nodes that a step of a walk may score


class Chunks(NamedTuple):
    """The weights of all chunks: where each one's features and weights begin, and these.

    `features` rise within a chunk; `ends` say where each one's weights end, counted from the chunk's first; `lanes`
    say which child of the chunk each weight belongs to.
    """

    features_at: Ids
    weights_at: Ids
    features: npt.NDArray[np.int32]
    ends: npt.NDArray[np.uint32]
    lanes: npt.NDArray[np.uint8]
    values: Floats32

    @property
    def weights(self) -> tuple[Any, ...]:
        """What kernels take."""
        return self.features, self.ends, self.lanes, self.values


class TreeWeights(Weights):
    """A vector for every node in use, as its difference from its parent's; a leaf's weights are the sum along its path.

    About 5 bytes a weight and 8 for each feature of a chunk. Arrays may be those of a mapped file: no kernel trusts
    them.

    Parameters
    ----------
    families : Families
    chunks : Chunks
    bias : array (places,)
        By how much each node's intercept differs from its parent's.
    n_features : int
    """

    def __init__(self, families: Families, chunks: Chunks, bias: Any, n_features: int) -> None:
        self.families, self.chunks, self.n_features = families, chunks, n_features
        self.bias = np.asarray(bias, np.float32)
        self.n_classes = int(np.count_nonzero(families.class_of >= 0))
        totals = self.bias.copy()
        for first, last in self._levels(1):
            totals[first:last] += totals[families.parent[first:last]]
        self.intercepts = totals[families.leaf_at]

    def _levels(self, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield where levels begin and end."""
        cuts = self.families.level_at[start:].tolist()
        return pairwise(cuts)

    @property
    def n_weights(self) -> int:
        """How many weights are kept."""
        return len(self.chunks.values)

    # ---------------------------------------------------------------- all leaves

    @property
    def has_index(self) -> bool:
        """Whether scores of all leaves come from an index."""
        return self.n_weights * BYTES_AN_ENTRY <= MOST_INDEX_BYTES

    @cached_property
    def index(self) -> Index:
        """All weights by feature, as `cladist.kernels.linear_scores` has it; its classes are places."""
        chunks, counts = self.chunks, np.zeros(self.n_features, np.int64)
        listed = chunks.features_at, chunks.weights_at
        sound = walking.count_by_feature(listed, chunks.weights, counts)
        limits = np.cumsum(counts)
        nodes, values = (np.zeros(counts.sum(), kind) for kind in (np.int32, np.float32))
        cursor = limits - counts
        sound &= walking.list_by_feature(listed, chunks.weights, self.families.chunk_at, cursor, limits, nodes, values)
        require_sound(sound)
        features = np.flatnonzero(counts)
        lists = features.astype(np.int32), np.append(0, limits[features]), nodes, values
        return Index.of(lists, len(self.bias))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "index"}

    @property
    def _tree(self) -> tuple[Any, ...]:
        return self.bias, self.families.parent, self.families.class_of

    def scores(self, X: Any) -> Floats32:
        """Return w_k·x_i + b_k for all rows and classes."""
        rows, n_rows, leaves = csr_arrays(X), X.shape[0], self.families.leaf_at
        out = np.empty((n_rows, self.n_classes), np.float32)
        size = max(1, SCORES_AT_ONCE // max(1, len(self.bias)))
        for first in range(0, n_rows, size):
            last = min(n_rows, first + size)
            out[first:last] = self._scored(rows, first, last)[:, leaves]
        return out

    def _scored(self, rows: CsrArrays, first: int, last: int) -> Floats32:
        """Return the scores of all places, of a few rows."""
        found = np.empty((last - first, len(self.bias)), np.float32)
        if self.has_index:
            bias, parent, _ = self._tree
            require_sound(top_k.score_rows(rows, first, self.index[:4], bias, parent, found))
            return found
        families, table = self.families, np.zeros(self.n_features, np.int32)
        n_rows, above, of_above = last - first, np.full(1, -1), np.zeros((last - first, 1), np.float32)
        for start, stop in self._levels():
            to = families.first_child[above + 1] - start + (stop - start) * np.arange(n_rows)[:, None]
            row, node = np.repeat(np.arange(first, last), len(above)), np.tile(above, n_rows)
            pairs = (row, node, of_above.ravel(), of_above.ravel(), to.ravel())
            order = np.arange(len(row)).reshape(n_rows, -1).T.ravel()  # by node
            scores = self._expand(rows, pairs, order, table, n_rows * (stop - start), led=False)[1]
            found[:, start:stop] = scores.reshape(n_rows, -1)
            above = start + np.flatnonzero(families.class_of[start:stop] < 0)
            of_above = found[:, above]
        return found

    def best(self, X: Any) -> Ids:
        """Return the class of highest score of every row, ties to the first."""
        return self.top_k(X, 1)[0][:, 0]

    def ranks(self, n_rows: int) -> bool:
        """Tell whether `top_k` finds the best classes without an array of all scores: always."""
        return True

    def top_k(self, X: Any, k: int, beam: int | None = None) -> tuple[Ids, Floats32]:
        """Return the k best classes of every row and their scores, best first, ties to the first.

        With `beam`, only the children of so many nodes a level are looked at. A row whose walk comes to fewer than k
        leaves is answered exactly.
        """
        rows, n_rows = csr_arrays(X), X.shape[0]
        if beam is None and self.has_index:
            return best_by_index(rows, n_rows, k, self.index, self._tree)
        best, scores = np.empty((n_rows, k), np.int64), np.empty((n_rows, k), np.float32)
        few = self._walked(rows, n_rows, beam or max(1, len(self.bias)), best, scores)
        if len(few):
            best[few], scores[few] = self.top_k(X[few], k)
        return best, scores

    # ---------------------------------------------------------------- a walk

    def _walked(self, rows: CsrArrays, n_rows: int, beam: int, best: Ids, scores: Floats32) -> Ids:
        """Write what a walk finds; return the rows of which it found too few leaves."""
        families, few = self.families, []
        widest = int(np.diff(families.first_child).max(initial=1))
        at_once = min(beam, int(np.diff(families.level_at).max(initial=1))) * widest
        size = max(1, PAIRS_AT_ONCE // at_once)
        table = np.zeros(self.n_features, np.int32)
        for first in range(0, n_rows, size):
            some = slice(first, min(n_rows, first + size))
            found = self._walked_rows((rows[0][first:], *rows[1:]), beam, table, best[some], scores[some])
            few.append(first + np.flatnonzero(found < best.shape[1]))
        return np.concatenate([np.zeros(0, np.int64), *few])

    def _walked_rows(self, rows: CsrArrays, beam: int, table: Any, best: Ids, scores: Floats32) -> Ids:
        families, n_rows = self.families, len(best)
        sizes, nothing = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.float32)
        pairs = np.arange(n_rows), np.full(n_rows, -1), nothing, nothing
        starts = np.arange(n_rows)
        beam = min(beam, max(1, len(self.bias)))
        room = np.empty(beam, np.float32), np.empty(beam, np.int64)
        while len(pairs[0]):
            until = np.cumsum(families.n_children(pairs[1]))
            goes_to = until - families.n_children(pairs[1])
            stops = np.append(starts[1:], len(until))
            starts, ends = np.append(goes_to, until[-1])[starts], np.append(0, until)[stops]
            order = np.argsort(pairs[1], kind="stable")
            found = self._expand(rows, (*pairs, goes_to), order, table, int(until[-1]), led=True)
            most = min(int(until[-1]), n_rows * beam)
            following = tuple(np.empty(most, kind) for kind in (np.int64, np.int64, np.float32, np.float32))
            count = walking.choose(starts, ends, families.class_of, found, room, following, scores, best, sizes)
            pairs = tuple(part[:count] for part in following)  # type: ignore[assignment]
        top_k.sort_rows(scores, best, sizes)
        return sizes

    def _expand(
        self, rows: CsrArrays, pairs: Any, order: Ids, table: Any, n_found: int, *, led: bool
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return what is found of all pairs' children: their places, scores, gains and promises."""
        families, chunks = self.families, self.chunks
        listed = families.first_chunk, families.chunk_at, chunks.features_at, chunks.weights_at, self.bias
        n_led = n_found if led else 0
        gains, promises = np.empty(n_led, np.float32), np.empty(n_led, np.float32)
        found = np.empty(n_found, np.int64), np.empty(n_found, np.float32), gains, promises
        require_sound(walking.expand(rows, pairs, order, listed, chunks.weights, table, led, found))
        return found

    # ---------------------------------------------------------------- plain matrices

    def vectors(self) -> sparse.csr_array:
        """Return all nodes' differences (places × features)."""
        parts = [self._chunk(c) for c in range(self.families.n_chunks)]
        return self._matrix(parts, np.arange(len(self.bias)))

    def _chunk(self, c: int) -> tuple[npt.NDArray[Any], ...]:
        """Return the places, features and values of a chunk's weights, guides left out."""
        chunks, n_weights = self.chunks, int(self.chunks.weights_at[c + 1] - self.chunks.weights_at[c])
        begin, end = chunks.features_at[c : c + 2]
        first = chunks.weights_at[c]
        ends = np.minimum(chunks.ends[begin:end].astype(np.int64), n_weights)
        lengths = np.maximum(np.diff(ends, prepend=0), 0)
        require_sound(int(lengths.sum()) <= n_weights)
        lanes = chunks.lanes[first : first + lengths.sum()].astype(np.int64)
        kept = lanes < walking.CHILDREN
        columns, values = np.repeat(chunks.features[begin:end], lengths), chunks.values[first : first + len(lanes)]
        width = int(self.families.chunk_at[c + 1] - self.families.chunk_at[c])
        require_sound(len(columns) == len(lanes) and is_within(columns, self.n_features))
        require_sound(is_within(lanes % walking.CHILDREN, width))
        return self.families.chunk_at[c] + lanes[kept], columns[kept], values[kept]

    def _matrix(self, parts: list[tuple[npt.NDArray[Any], ...]], places: Ids) -> sparse.csr_array:
        """Return the rows of some places, which rise, of chunks."""
        none = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        here, columns, values = (np.concatenate(part) for part in zip(none, *parts, strict=True))
        rows = np.searchsorted(places, here)
        rows[rows == len(places)] = 0
        kept = places[rows] == here if len(places) else np.zeros(0, bool)
        entries = values[kept], (rows[kept], columns[kept])
        return sparse.csr_array(entries, shape=(len(places), self.n_features)).sorted_indices()

    def matrix(self, classes: Ids | None = None) -> sparse.csr_array:
        """Return the weights of some classes, or of all, as CSR (classes × features)."""
        leaves = self.families.leaf_at
        return self.sums(leaves if classes is None else leaves[classes])

    def sums(self, places: Ids) -> sparse.csr_array:
        """Return the weights of some places: the sums along their paths."""
        whose, on_path = self.families.paths(places)
        wanted, columns = np.unique(on_path, return_inverse=True)
        paths = sparse.csr_array((np.ones(len(whose)), (whose, columns)), shape=(len(places), len(wanted)))
        return sparse.csr_array(paths @ self._of(wanted)).astype(np.float32).sorted_indices()

    def _of(self, places: Ids) -> sparse.csr_array:
        """Return the differences of some places, which rise; only their chunks are read."""
        of_chunk = np.unique(np.searchsorted(self.families.chunk_at, places, side="right") - 1)
        return self._matrix([self._chunk(c) for c in of_chunk.tolist()], places)
