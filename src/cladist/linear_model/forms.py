"""Weights of many linear classifiers, in the form that suits their number: dense, sparse or dual.

All forms answer the same questions: scores of rows, the best class of each, and plain matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import TooLargeError
from cladist.kernels import linear_scores
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.inverted_index import Index, best_by_index, is_within, require_sound
from cladist.linear_model.rows import Rows, aligned

Floats = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
COLUMN_BYTES = 2**23  # of float64, for passes over features
INDEX_BELOW = 0.1  # share of weights that are kept, under which reading lists beats reading whole blocks
MANY_ROWS = 256  # below, making blocks costs more than they save


class Weights(ABC):
    """What every form can do."""

    n_classes: int
    n_features: int
    intercepts: npt.NDArray[np.float32]

    @abstractmethod
    def scores(self, X: Any) -> npt.NDArray[np.float32]:
        """Return w_k·x_i + b_k for all rows and classes."""

    @abstractmethod
    def best(self, X: Any) -> Ids:
        """Return the class of highest score of every row, ties to the first."""

    @abstractmethod
    def matrix(self, classes: Ids | None = None) -> Any:
        """Return the weights of some classes, or of all, as a matrix (classes × features), dense or CSR."""

    def makes_blocks(self, n_rows: int) -> bool:
        """Tell whether scoring so many rows makes all weights anew, so that they had better come all at once."""
        return False

    def ranks(self, n_rows: int) -> bool:
        """Tell whether `top_k` finds the best classes of so many rows without an array of all scores."""
        return False

    def top_k(self, X: Any, k: int, beam: int | None = None) -> tuple[Ids, npt.NDArray[np.float32]]:
        """Return the k best classes of every row and their scores, best first, ties to the first."""
        raise TypeError(f"{type(self).__name__} does not rank classes.")


def csr_arrays(X: Any) -> CsrArrays:
    """Return the arrays of X as CSR with sorted indices."""
    rows = X if sparse.issparse(X) and X.format == "csr" else sparse.csr_array(X)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    return rows.indptr, rows.indices, rows.data


class InBlocks(Weights):
    """Weights that come as blocks (features in use × 16)."""

    feature_of: Ids

    @abstractmethod
    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the blocks, in the classes' order."""

    def _place(self) -> npt.NDArray[np.int32]:
        place = np.full(self.n_features, -1, np.int32)
        place[self.feature_of] = np.arange(len(self.feature_of), dtype=np.int32)
        return place

    def classes_of(self, b: int) -> Ids:
        """Return the classes in the lanes of a block."""
        return np.arange(b * WIDTH, min((b + 1) * WIDTH, self.n_classes))

    def numbered(self) -> Iterator[tuple[Ids, npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
        """Yield the classes of each block, its weights and its intercepts."""
        for b, block in enumerate(self.blocks()):
            classes = self.classes_of(b)
            intercepts = np.zeros((1, WIDTH), np.float32)
            intercepts[0, : len(classes)] = self.intercepts[classes]
            yield classes, block, intercepts

    def scores(self, X: Any) -> npt.NDArray[np.float32]:
        """Return w_k·x_i + b_k for all rows and classes."""
        out = np.empty((X.shape[0], self.n_classes), np.float32)
        rows, place = csr_arrays(X), self._place()
        for classes, block, intercepts in self.numbered():
            linear_scores.score_block(rows, place, block, intercepts, classes, out)
        return out

    def best(self, X: Any) -> Ids:
        """Return the class of highest score of every row, ties to the first."""
        best, chosen = np.full(X.shape[0], -np.inf, np.float32), np.zeros(X.shape[0], np.int64)
        rows, place = csr_arrays(X), self._place()
        for classes, block, intercepts in self.numbered():
            linear_scores.best_of_block(rows, place, block, intercepts, classes, best, chosen)
        return chosen

    def matrix(self, classes: Ids | None = None) -> Any:
        """Return the weights of some classes, or of all, as a matrix (classes × features)."""
        if classes is not None:
            return self._rows(classes)
        matrix = self._zeros(self.n_classes)
        for lanes, block, _ in self.numbered():
            matrix[np.ix_(lanes, self.feature_of)] = block[:, : len(lanes)].T
        return matrix

    def columns(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the weights of all classes (classes × features), some features in use at a time; intercepts last."""
        size = max(1, COLUMN_BYTES // (8 * max(1, self.n_classes)))
        for first in range(0, len(self.feature_of), size):
            yield self._columns(slice(first, min(first + size, len(self.feature_of))))
        yield self.intercepts[:, None]

    def _columns(self, chosen: slice) -> npt.NDArray[np.float32]:
        found = np.empty((self.n_classes, chosen.stop - chosen.start), np.float32)
        for classes, block, _ in self.numbered():
            found[classes] = block[chosen, : len(classes)].T
        return found

    def _zeros(self, n_rows: int) -> npt.NDArray[np.float32]:
        try:
            return np.zeros((n_rows, self.n_features), np.float32)
        except MemoryError:
            raise TooLargeError(
                f"A matrix of {n_rows:,} classes × {self.n_features:,} features needs "
                f"{4 * n_rows * self.n_features / 2**30:.1f} GiB, which this machine does not have; fit with "
                "weights='sparse' to have it as CSR."
            ) from None

    def _rows(self, classes: Ids) -> Any:
        """Return the weights of some classes; blocks without any are made and passed by, unless a form knows better."""
        matrix = self._zeros(len(classes))
        for lanes, block, _ in self.numbered():
            rows, places = np.nonzero(classes[:, None] == lanes[None, :])
            matrix[np.ix_(rows, self.feature_of)] = block[:, places].T
        return matrix


class DenseWeights(InBlocks):
    """All weights of all features in use: 4 bytes each, in the numbering of the rows they were learnt from."""

    def __init__(
        self, blocks: Sequence[npt.NDArray[np.float32]], intercepts: Floats, feature_of: Ids, n_features: int
    ) -> None:
        self._blocks = list(blocks)
        self.n_classes = len(intercepts)
        self.intercepts = np.asarray(intercepts, np.float32)
        self.feature_of = feature_of
        self.n_features = n_features

    @classmethod
    def of(cls, blocks: Sequence[npt.NDArray[np.float32]], n_classes: int, rows: Rows) -> DenseWeights:
        """Take the blocks a solver has left, the intercepts being the last row of each if there are any."""
        intercepts, features = np.zeros(n_classes, np.float32), rows.feature_of
        if rows.has_constant:
            if blocks:
                intercepts = np.concatenate([block[-1] for block in blocks])[:n_classes]
            blocks, features = [block[:-1] for block in blocks], features[:-1]
        return cls(blocks, intercepts, features, rows.n_features)

    @classmethod
    def of_matrix(cls, W: Floats, rows: Rows) -> DenseWeights:
        """Take a plain matrix (classes × features in use) in the rows' numbering."""
        blocks = []
        for first in range(0, len(W), WIDTH):
            part = W[first : first + WIDTH]
            block = aligned(W.shape[1])
            block[:, : len(part)] = part.T
            blocks.append(block)
        return cls.of(blocks, len(W), rows)

    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the blocks, in the classes' order."""
        return iter(self._blocks)

    def _rows(self, classes: Ids) -> npt.NDArray[np.float32]:
        matrix = np.zeros((len(classes), self.n_features), np.float32)
        for row, k in enumerate(classes.tolist()):
            matrix[row, self.feature_of] = self._blocks[k // WIDTH][:, k % WIDTH]
        return matrix


class DualWeights(InBlocks):
    """The rows' shares in each class, and the rows: w_k = Σ_i β_ki x_i, made sixteen at a time when scores are wanted.

    Small where few rows support a class. Shares are float32, or float64 where large ones cancel.
    """

    def __init__(self, shares: sparse.csr_array, vectors: sparse.csr_array, intercepts: Floats) -> None:
        self.shares, self.vectors = shares, vectors
        self.n_classes, self.n_features = shares.shape[0], vectors.shape[1]
        self.intercepts = np.asarray(intercepts, np.float32)
        self.feature_of = np.unique(vectors.indices).astype(np.int64)

    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the blocks, in the classes' order."""
        compact = self.vectors[:, self.feature_of]
        for first in range(0, self.n_classes, WIDTH):
            part = self.shares[first : first + WIDTH].astype(
                np.float64
            )  # large shares cancel: float32 would lose digits
            block = aligned(len(self.feature_of))
            block[:, : part.shape[0]] = (part @ compact).toarray().T
            yield block

    def makes_blocks(self, n_rows: int) -> bool:
        """Tell whether scoring so many rows makes all weights anew: always."""
        return True

    def _rows(self, classes: Ids) -> npt.NDArray[np.float32]:
        return (self.shares[classes].astype(np.float64) @ self.vectors).toarray().astype(np.float32)


class SparseWeights(InBlocks):
    """The weights that are not 0, or larger than what was pruned, listed by feature: 8 bytes each.

    Scores come through these lists where few weights are kept, and from blocks made for the occasion otherwise.
    """

    def __init__(
        self,
        features: npt.NDArray[np.int32],
        indptr: Ids,
        classes: npt.NDArray[np.int32],
        values: npt.NDArray[np.float32],
        intercepts: Floats,
        n_features: int,
    ) -> None:
        self.index = (features, indptr, classes, values)
        self.intercepts = np.asarray(intercepts, np.float32)
        self.n_classes = len(self.intercepts)
        self.n_features = n_features
        self.feature_of = features.astype(np.int64)

    @classmethod
    def from_matrix(cls, matrix: Any, intercepts: Floats) -> SparseWeights:
        """Take a sparse matrix (classes × features)."""
        if matrix.shape[0] != len(intercepts):
            raise ValueError(f"{matrix.shape[0]} rows of weights and {len(intercepts)} intercepts")
        columns = sparse.csc_array(matrix)
        features = np.flatnonzero(np.diff(columns.indptr))
        indptr = np.append(columns.indptr[features], columns.indptr[-1]).astype(np.int64)
        values = columns.data.astype(np.float32)
        return cls(
            features.astype(np.int32), indptr, columns.indices.astype(np.int32), values, intercepts, matrix.shape[1]
        )

    @classmethod
    def of(cls, whole: InBlocks, prune: float = 0.0) -> SparseWeights:
        """Keep the weights whose size is more than `prune`; blocks are asked for twice, one at a time."""
        counts = np.zeros(len(whole.feature_of), np.int64)
        for lanes, block, _ in whole.numbered():
            linear_scores.count_kept(block, len(lanes), prune, counts)
        order = np.argsort(whole.feature_of, kind="stable")
        order = order[counts[order] > 0]
        indptr = np.concatenate([[0], np.cumsum(counts[order])])
        classes, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
        cursor = indptr[:-1].copy()
        for lanes, block, _ in whole.numbered():
            linear_scores.keep_weights(block, lanes, prune, order, cursor, classes, values)
        features = whole.feature_of[order].astype(np.int32)
        return cls(features, indptr, classes, values, whole.intercepts, whole.n_features)

    def _columns(self, chosen: slice) -> npt.NDArray[np.float32]:
        _, indptr, classes, values = self.index
        ends = slice(indptr[chosen.start], indptr[chosen.stop])
        found = np.zeros((self.n_classes, chosen.stop - chosen.start), np.float32)
        features = np.repeat(np.arange(found.shape[1]), np.diff(indptr[chosen.start : chosen.stop + 1]))
        found[classes[ends], features] = values[ends]
        return found

    @property
    def density(self) -> float:
        """The share of weights that are kept."""
        return len(self.index[3]) / max(1, self.n_classes * self.n_features)

    def makes_blocks(self, n_rows: int) -> bool:
        """Tell whether scoring so many rows makes all weights anew."""
        return self.density > INDEX_BELOW and n_rows > MANY_ROWS

    def scores(self, X: Any) -> npt.NDArray[np.float32]:
        """Return w_k·x_i + b_k for all rows and classes."""
        if self.makes_blocks(X.shape[0]):
            return super().scores(X)
        return self.scores_of(csr_arrays(X), np.arange(X.shape[0]))

    def scores_of(self, rows: CsrArrays, listed: Ids) -> npt.NDArray[np.float32]:
        """Return the scores of the rows listed."""
        out = np.empty((len(listed), self.n_classes), np.float32)
        require_sound(linear_scores.score_by_index(rows, listed, self.index, self.intercepts, out))
        return out

    def best(self, X: Any) -> Ids:
        """Return the class of highest score of every row, ties to the first."""
        if self.makes_blocks(X.shape[0]):
            return super().best(X)
        return self.top_k(X, 1)[0][:, 0]

    def ranks(self, n_rows: int) -> bool:
        """Tell whether `top_k` finds the best classes of so many rows without an array of all scores."""
        return not self.makes_blocks(n_rows)

    def top_k(self, X: Any, k: int, beam: int | None = None) -> tuple[Ids, npt.NDArray[np.float32]]:
        """Return the k best classes of every row and their scores, best first, ties to the first."""
        no_tree = self.intercepts, np.zeros(0, np.int64), np.arange(self.n_classes)
        return best_by_index(csr_arrays(X), X.shape[0], k, self._ranking, no_tree)

    @cached_property
    def _ranking(self) -> Index:
        return Index.of(self.index, self.n_classes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_ranking"}

    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the blocks, in the classes' order."""
        matrix = self.matrix()[:, self.feature_of]
        for first in range(0, self.n_classes, WIDTH):
            part = matrix[first : first + WIDTH]
            block = aligned(len(self.feature_of))
            block[:, : part.shape[0]] = part.toarray().T
            yield block

    def matrix(self, classes: Ids | None = None) -> sparse.csr_array:
        """Return the weights of some classes, or of all, as a matrix (classes × features), indices sorted."""
        if classes is not None:
            return self._rows(classes)
        features, indptr, of_class, values = self.index
        require_sound(is_within(of_class, self.n_classes))
        columns = np.repeat(features, np.diff(indptr))
        return sparse.csr_array((values, (of_class, columns)), shape=(self.n_classes, self.n_features))

    def _rows(self, classes: Ids) -> sparse.csr_array:
        features, indptr, of_class, values = self.index
        require_sound(is_within(of_class, self.n_classes))
        wanted, places = np.unique(classes, return_inverse=True)
        asked = np.zeros(self.n_classes, bool)
        asked[wanted] = True
        kept = np.flatnonzero(asked[of_class])
        columns = features[np.searchsorted(indptr, kept, side="right") - 1]
        rows = np.searchsorted(wanted, of_class[kept])
        return sparse.csr_array((values[kept], (rows, columns)), shape=(len(wanted), self.n_features))[places]
