"""Weights of many linear classifiers, in the form that suits their number: dense, sparse or dual.

All forms answer the same questions: scores of rows, the best class of each, and plain matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import scoring
from cladist.kernels.lanes import WIDTH
from cladist.solvers.rows import Rows, aligned

Floats = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
INDEX_BELOW = 0.1  # share of weights that are kept, under which reading lists beats reading whole blocks
MANY_ROWS = 256  # below, making blocks costs more than they save
SCORES_AT_ONCE = 2**24


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
    def matrix(self) -> Any:
        """Return all weights as a matrix (classes × features), dense or CSR."""


def csr_arrays(X: Any) -> CsrArrays:
    """Return the arrays of X as CSR with sorted indices."""
    rows = X if sparse.issparse(X) and X.format == "csr" else sparse.csr_array(X)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    return rows.indptr, rows.indices, rows.data


class _InBlocks(Weights):
    """Weights that come as blocks (features in use × 16)."""

    feature_of: Ids

    @abstractmethod
    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the blocks, in the classes' order."""

    def _place(self) -> npt.NDArray[np.int32]:
        place = np.full(self.n_features, -1, np.int32)
        place[self.feature_of] = np.arange(len(self.feature_of), dtype=np.int32)
        return place

    def _numbered(self) -> Iterator[tuple[int, int, npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
        """Yield each block with its first class, its number of classes and its intercepts."""
        for b, block in enumerate(self.blocks()):
            first = b * WIDTH
            count = min(WIDTH, self.n_classes - first)
            intercepts = np.zeros((1, WIDTH), np.float32)
            intercepts[0, :count] = self.intercepts[first : first + count]
            yield first, count, block, intercepts

    def scores(self, X: Any) -> npt.NDArray[np.float32]:
        """Return w_k·x_i + b_k for all rows and classes."""
        out = np.empty((X.shape[0], self.n_classes), np.float32)
        rows, place = csr_arrays(X), self._place()
        for first, _, block, intercepts in self._numbered():
            scoring.score_block(rows, place, block, intercepts, out, first)
        return out

    def best(self, X: Any) -> Ids:
        """Return the class of highest score of every row, ties to the first."""
        best, chosen = np.full(X.shape[0], -np.inf, np.float32), np.zeros(X.shape[0], np.int64)
        rows, place = csr_arrays(X), self._place()
        for first, count, block, intercepts in self._numbered():
            scoring.best_of_block(rows, place, block, intercepts, count, first, best, chosen)
        return chosen

    def matrix(self) -> npt.NDArray[np.float32]:
        """Return all weights as a matrix (classes × features)."""
        matrix = np.zeros((self.n_classes, self.n_features), np.float32)
        for first, count, block, _ in self._numbered():
            matrix[first : first + count, self.feature_of] = block[:, :count].T
        return matrix


class DenseWeights(_InBlocks):
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


class DualWeights(_InBlocks):
    """The rows' shares in each class, and the rows: w_k = Σ_i β_ki x_i, made sixteen at a time when scores are wanted.

    Lossless, and small where few rows support a class.
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
            part = self.shares[first : first + WIDTH]
            block = aligned(len(self.feature_of))
            block[:, : part.shape[0]] = (part @ compact).toarray().T
            yield block


class SparseWeights(_InBlocks):
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
    def of(cls, dense: DenseWeights, prune: float = 0.0) -> SparseWeights:
        """Keep the weights whose size is more than `prune`."""
        counts = np.zeros(len(dense.feature_of), np.int64)
        parts = [(first, count, block) for first, count, block, _ in dense._numbered()]
        for _, count, block in parts:
            scoring.count_kept(block, count, prune, counts)
        order = np.argsort(dense.feature_of, kind="stable")
        order = order[counts[order] > 0]
        indptr = np.concatenate([[0], np.cumsum(counts[order])])
        classes, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
        cursor = indptr[:-1].copy()
        for first, count, block in parts:
            scoring.keep_weights(block, count, first, prune, order, cursor, classes, values)
        features = dense.feature_of[order].astype(np.int32)
        return cls(features, indptr, classes, values, dense.intercepts, dense.n_features)

    @property
    def density(self) -> float:
        """The share of weights that are kept."""
        return len(self.index[3]) / max(1, self.n_classes * self.n_features)

    def scores(self, X: Any) -> npt.NDArray[np.float32]:
        """Return w_k·x_i + b_k for all rows and classes."""
        if self.density > INDEX_BELOW and X.shape[0] > MANY_ROWS:
            return super().scores(X)
        return self.scores_of(csr_arrays(X), np.arange(X.shape[0]))

    def scores_of(self, rows: CsrArrays, listed: Ids) -> npt.NDArray[np.float32]:
        """Return the scores of the rows listed."""
        out = np.empty((len(listed), self.n_classes), np.float32)
        scoring.score_by_index(rows, listed, self.index, self.intercepts, out)
        return out

    def best(self, X: Any) -> Ids:
        """Return the class of highest score of every row, ties to the first."""
        if self.density > INDEX_BELOW and X.shape[0] > MANY_ROWS:
            return super().best(X)
        rows, size = csr_arrays(X), max(1, SCORES_AT_ONCE // max(1, self.n_classes))
        parts = [
            self.scores_of(rows, np.arange(start, min(start + size, X.shape[0]))).argmax(axis=1)
            for start in range(0, X.shape[0], size)
        ]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the blocks, in the classes' order."""
        matrix = self.matrix()[:, self.feature_of]
        for first in range(0, self.n_classes, WIDTH):
            part = matrix[first : first + WIDTH]
            block = aligned(len(self.feature_of))
            block[:, : part.shape[0]] = part.toarray().T
            yield block

    def matrix(self) -> sparse.csr_array:
        """Return all weights as a matrix (classes × features)."""
        features, indptr, classes, values = self.index
        columns = np.repeat(features, np.diff(indptr))
        return sparse.csr_array((values, (classes, columns)), shape=(self.n_classes, self.n_features))
