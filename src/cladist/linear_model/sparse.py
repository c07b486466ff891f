"""Sparse weights: those that are not 0, or larger than a threshold, listed by feature; 8 bytes each.

Classes are ranked exactly through an inverted index. Features with weights in a large part of all nodes have their
weights in full beside the lists: adding a whole row is one pass through memory, while a list jumps through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels import linear_scores, top_k
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.training_rows import CsrArrays, Floats32, Ids
from cladist.linear_model.weights import BlockedWeights, csr_arrays, require_fit, to_block
from cladist.storage import is_unread
from cladist.storage.array_groups import Arrays, group, prefixed, unpack_ids

INDEX_BELOW = 0.1  # density below which scores come from the lists, and not from whole blocks
MANY_ROWS = 256  # for fewer rows, building blocks costs more than it saves
FULL_ABOVE = 0.125  # fraction of nodes with a weight, above which a whole row costs less than a list
MOST_FULL_BYTES = 2**28
ENTRIES_AT_ONCE = 2**18  # of rows with dense columns, which become CSR
SCORES_AT_ONCE = 2**22  # 16 MB: scores of all nodes for some rows
NO_PARENTS = np.zeros(0, np.int64)

NodeArrays = tuple[Any, Any, Any]  # bias, parent and class of every node


class WeightLists(NamedTuple):
    """Weights by feature: those of features[j] are classes and values from indptr[j] to indptr[j + 1]."""

    features: npt.NDArray[np.int32]
    indptr: Ids
    classes: npt.NDArray[np.int32]
    values: Floats32


class SparseWeights(BlockedWeights):
    """Lists of weights by feature.

    Scores come from these lists if few weights are kept, and from blocks built for the occasion otherwise.
    """

    def __init__(self, index: WeightLists, intercepts: npt.NDArray[Any], n_features: int) -> None:
        self.index = index
        self.intercepts = np.asarray(intercepts, np.float32)
        self.n_classes = len(self.intercepts)
        self.n_features = n_features
        self.feature_of = index.features.astype(np.int64)

    @classmethod
    def from_matrix(cls, matrix: Any, intercepts: npt.NDArray[Any]) -> SparseWeights:
        """Return a sparse matrix (classes × features) as weights."""
        if matrix.shape[0] != len(intercepts):
            raise ValueError(f"{matrix.shape[0]} rows of weights and {len(intercepts)} intercepts")
        columns = sparse.csc_array(matrix)
        features = np.flatnonzero(np.diff(columns.indptr))
        indptr = np.append(columns.indptr[features], columns.indptr[-1]).astype(np.int64)
        classes, values = columns.indices.astype(np.int32), columns.data.astype(np.float32)
        return cls(WeightLists(features.astype(np.int32), indptr, classes, values), intercepts, matrix.shape[1])

    @classmethod
    def from_weights(cls, weights: BlockedWeights, prune: float = 0.0) -> SparseWeights:
        """Return the weights whose size is more than `prune`; the blocks are computed twice, one at a time."""
        counts = np.zeros(len(weights.feature_of), np.int64)
        for lanes, block, _ in weights.iter_blocks():
            linear_scores.count_kept(block, len(lanes), prune, counts)
        order = np.argsort(weights.feature_of, kind="stable")
        order = order[counts[order] > 0]
        indptr = np.concatenate([[0], np.cumsum(counts[order])])
        classes, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
        cursor = indptr[:-1].copy()
        for lanes, block, _ in weights.iter_blocks():
            linear_scores.keep_weights(block, lanes, prune, order, cursor, classes, values)
        index = WeightLists(weights.feature_of[order].astype(np.int32), indptr, classes, values)
        return cls(index, weights.intercepts, weights.n_features)

    @classmethod
    def from_lists(cls, arrays: Arrays, intercepts: npt.NDArray[Any], n_features: int) -> SparseWeights:
        """Return the lists of a file, by name, as weights, after checking that they fit together.

        Weights that were left in their file are not read here: kernels check the class of each before they use it.
        """
        features, indptr = unpack_ids(arrays["features"]), unpack_ids(arrays["indptr"])
        classes, values = arrays["classes"], arrays["values"]
        fits = len(indptr) == len(features) + 1 and len(classes) == len(values)
        fits = fits and are_within(indptr, len(values) + 1)  # before differences, which could wrap
        fits = fits and indptr[0] == 0 and indptr[-1] == len(values) and not np.any(np.diff(indptr) < 0)
        require_fit(fits, "its lists of weights do not fit together")
        require_fit(is_unread(values) or are_within(classes, len(intercepts)), "a weight has a class that is not there")
        require_fit(are_within(features, n_features) and not np.any(np.diff(features) <= 0), "its features do not rise")
        classes = classes.astype(np.int32, copy=False)
        return cls(WeightLists(features.astype(np.int32), indptr, classes, values), intercepts, n_features)

    def to_arrays(self) -> Arrays:
        """Return the lists."""
        return prefixed("sparse", self.index._asdict())

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: Any = None, root: str = "zero") -> SparseWeights:
        """Return the weights that `to_arrays` wrote."""
        return cls.from_lists(group("sparse", arrays), arrays["intercepts"], n_features)

    @property
    def density(self) -> float:
        """The fraction of all weights that are kept."""
        return len(self.index.values) / max(1, self.n_classes * self.n_features)

    def rebuilds_blocks(self, n_rows: int) -> bool:
        """Tell whether scoring `n_rows` rows builds blocks, as it does for many rows and dense lists."""
        return self.density > INDEX_BELOW and n_rows > MANY_ROWS

    def can_rank(self, n_rows: int) -> bool:
        """Tell whether `top_k` ranks the classes of `n_rows` rows without an array of all scores."""
        return not self.rebuilds_blocks(n_rows)

    def scores(self, X: Any) -> Floats32:
        """Return w_k·x_i + b_k for all rows and classes."""
        if self.rebuilds_blocks(X.shape[0]):
            return super().scores(X)
        return self.scores_of_rows(X, np.arange(X.shape[0]))

    def scores_of_rows(self, X: Any, row_ids: Ids) -> Floats32:
        """Return the scores of the chosen rows of X, which becomes CSR some rows at a time if it is not."""
        if sparse.issparse(X):
            return self.scores_of(csr_arrays(X), row_ids)
        scores, step = np.empty((len(row_ids), self.n_classes), np.float32), max(1, ENTRIES_AT_ONCE // X.shape[1])
        for first in range(0, len(row_ids), step):
            part = row_ids[first : first + step]
            scores[first : first + step] = self.scores_of(csr_arrays(X[part]), np.arange(len(part)))
        return scores

    def scores_of(self, rows: CsrArrays, row_ids: Ids) -> Floats32:
        """Return the scores of the chosen rows."""
        scores = np.empty((len(row_ids), self.n_classes), np.float32)
        index, bias = tuple(self.index), self.intercepts
        require_sound(linear_scores.score_by_index(rows, row_ids, index, bias, NO_PARENTS, scores))
        return scores

    def best(self, X: Any) -> Ids:
        """Return the class of highest score for each row, ties to the first."""
        return super().best(X) if self.rebuilds_blocks(X.shape[0]) else self.top_k(X, 1)[0][:, 0]

    def top_k(self, X: Any, k: int, beam: int | None = None) -> tuple[Ids, Floats32]:
        """Return the k best classes of each row and their scores, best first, ties to the first."""
        no_tree = self.intercepts, NO_PARENTS, np.arange(self.n_classes)
        return rank_by_index(csr_arrays(X), X.shape[0], k, self._inverted_index, no_tree)

    @cached_property
    def _inverted_index(self) -> InvertedIndex:
        return InvertedIndex.from_lists(self.index, self.n_classes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_inverted_index"}

    def blocks(self) -> Iterator[Floats32]:
        """Yield the blocks in the order of the classes."""
        matrix = self.matrix()[:, self.feature_of]
        for first in range(0, self.n_classes, WIDTH):
            yield to_block(matrix[first : first + WIDTH].toarray())

    def matrix(self, classes: Ids | None = None) -> sparse.csr_array:
        """Return the weights of some classes, or of all, as CSR (classes × features) with sorted indices."""
        if classes is not None:
            return self._rows(classes)
        features, indptr, of_class, values = self.index
        require_sound(are_within(of_class, self.n_classes))
        columns = np.repeat(features, np.diff(indptr))
        return sparse.csr_array((values, (of_class, columns)), shape=(self.n_classes, self.n_features))

    def _rows(self, classes: Ids) -> sparse.csr_array:
        features, indptr, of_class, values = self.index
        require_sound(are_within(of_class, self.n_classes))
        rows_of, positions = np.unique(classes, return_inverse=True)
        is_chosen = np.zeros(self.n_classes, bool)
        is_chosen[rows_of] = True
        entries = np.flatnonzero(is_chosen[of_class])
        columns = features[np.searchsorted(indptr, entries, side="right") - 1]
        rows = np.searchsorted(rows_of, of_class[entries])
        return sparse.csr_array((values[entries], (rows, columns)), shape=(len(rows_of), self.n_features))[positions]

    def _columns(self, part: slice) -> Floats32:
        _, indptr, classes, values = self.index
        entries = slice(indptr[part.start], indptr[part.stop])
        columns = np.zeros((self.n_classes, part.stop - part.start), np.float32)
        features = np.repeat(np.arange(columns.shape[1]), np.diff(indptr[part.start : part.stop + 1]))
        columns[classes[entries], features] = values[entries]
        return columns


class InvertedIndex(NamedTuple):
    """Weights by feature: lists as in `cladist.kernels.linear_scores`, and the weights of some features in full."""

    features: npt.NDArray[np.int32]
    starts: Ids
    nodes: npt.NDArray[np.int32]
    values: Floats32
    whole: Ids
    dense: Floats32

    @classmethod
    def from_lists(cls, lists: tuple[Any, ...], n_nodes: int) -> InvertedIndex:
        """Return lists with the weights in full of those features that are worth it. O(weights)."""
        features, starts, nodes, values = lists
        lengths = np.diff(starts)
        longest = np.argsort(-lengths, kind="stable")[: max(0, MOST_FULL_BYTES // (4 * max(1, n_nodes)))]
        longest = np.sort(longest[lengths[longest] > FULL_ABOVE * n_nodes])
        whole = np.full(len(features), -1, np.int64)
        whole[longest] = np.arange(len(longest))
        dense = np.zeros((len(longest), n_nodes), np.float32)
        for row, feature in enumerate(longest.tolist()):
            entries = slice(starts[feature], starts[feature + 1])
            require_sound(are_within(nodes[entries], n_nodes))
            dense[row, nodes[entries]] = values[entries]
        return cls(features, starts, nodes, values, whole, dense)


def rank_by_index(rows: CsrArrays, n_rows: int, k: int, index: InvertedIndex, tree: NodeArrays) -> tuple[Ids, Floats32]:
    """Return the k best classes of each row and their scores, best first, ties to the first."""
    best, scores = np.empty((n_rows, k), np.int64), np.empty((n_rows, k), np.float32)
    size = max(1, min(n_rows, SCORES_AT_ONCE // max(1, len(tree[0]))))
    room = np.empty((size, len(tree[0])), np.float32)
    for first in range(0, n_rows, size):
        part = slice(first, min(n_rows, first + size))
        nonzeros = int(rows[0][part.stop] - rows[0][first])
        work = room, np.empty((nonzeros, 2), np.int64), np.empty(part.stop - first, np.int64)
        require_sound(top_k.top_by_index(rows, first, index[:5], tree, index.dense, work, scores[part], best[part]))
    return best, scores


def are_within(ids: npt.NDArray[Any], limit: int) -> bool:
    """Tell whether all ids are at least 0 and below a limit."""
    return not ids.size or bool(ids.min() >= 0 and ids.max() < limit)


def require_sound(sound: bool) -> None:
    """Raise a `ModelFormatError` unless every weight belongs to a class, node and feature of the model."""
    if not sound:
        raise ModelFormatError(
            "A weight of this model belongs to a class, node or feature that it does not have; its file was altered or "
            "damaged."
        )
