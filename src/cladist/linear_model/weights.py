"""Weights of many linear classifiers: the interface of all forms, and those that come in blocks of sixteen classes.

Dense weights take 4 bytes for every class and every feature in use. Dual weights are the coefficients β of the training
rows in each class, and those rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError, TooLargeError
from cladist.kernels import linear_scores
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.training_rows import CsrArrays, Floats32, Ids, TrainingRows, aligned_zeros
from cladist.storage import is_mapped
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_ids, unpack_matrix

COLUMN_BYTES = 2**21  # of float64, for passes over features: little enough to stay in the cache


class Weights(ABC):
    """Weights and intercepts of many linear classifiers, in one of several forms."""

    n_classes: int
    n_features: int
    intercepts: Floats32

    @abstractmethod
    def scores(self, X: Any) -> Floats32:
        """Return w_k·x_i + b_k for all rows and classes."""

    @abstractmethod
    def best(self, X: Any) -> Ids:
        """Return the class of highest score for each row, ties to the first."""

    @abstractmethod
    def matrix(self, classes: Ids | None = None) -> Any:
        """Return the weights of some classes, or of all, as a matrix (classes × features), dense or CSR."""

    @abstractmethod
    def to_arrays(self) -> Arrays:
        """Return the arrays that a model file holds, without the intercepts."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: ProblemTree | None, root: str) -> Weights:
        """Return the weights that `to_arrays` wrote; their types, shapes and ranges are checked already.

        `tree` and `root` are those of the learner, or None and "zero" if it has no tree.
        """

    def rebuilds_blocks(self, n_rows: int) -> bool:
        """Tell whether scoring `n_rows` rows computes all weights, so that many rows should be scored together."""
        return False

    def can_rank(self, n_rows: int) -> bool:
        """Tell whether `top_k` ranks the classes of `n_rows` rows without an array of all scores."""
        return False

    def top_k(self, X: Any, k: int, beam: int | None = None) -> tuple[Ids, Floats32]:
        """Return the k best classes of each row and their scores, best first, ties to the first."""
        raise TypeError(f"{type(self).__name__} does not rank classes.")


class BlockedWeights(Weights):
    """Weights that come as blocks (features in use × 16 classes)."""

    feature_of: Ids

    @abstractmethod
    def blocks(self) -> Iterator[Floats32]:
        """Yield the blocks in the order of the classes."""

    def classes_of(self, b: int) -> Ids:
        """Return the classes in the lanes of a block."""
        return np.arange(b * WIDTH, min((b + 1) * WIDTH, self.n_classes))

    def iter_blocks(self) -> Iterator[tuple[Ids, Floats32, Floats32]]:
        """Yield the classes of each block, its weights and its intercepts."""
        for b, block in enumerate(self.blocks()):
            classes = self.classes_of(b)
            intercepts = np.zeros((1, WIDTH), np.float32)
            intercepts[0, : len(classes)] = self.intercepts[classes]
            yield classes, block, intercepts

    def scores(self, X: Any) -> Floats32:
        """Return w_k·x_i + b_k for all rows and classes."""
        scores = np.empty((X.shape[0], self.n_classes), np.float32)
        rows, position = csr_arrays(X), self._feature_positions()
        for classes, block, intercepts in self.iter_blocks():
            linear_scores.score_block(rows, position, block, intercepts, classes, scores)
        return scores

    def best(self, X: Any) -> Ids:
        """Return the class of highest score for each row, ties to the first."""
        best_scores, best_classes = np.full(X.shape[0], -np.inf, np.float32), np.zeros(X.shape[0], np.int64)
        rows, position = csr_arrays(X), self._feature_positions()
        for classes, block, intercepts in self.iter_blocks():
            linear_scores.best_of_block(rows, position, block, intercepts, classes, best_scores, best_classes)
        return best_classes

    def _feature_positions(self) -> npt.NDArray[np.int32]:
        """Return the row of each feature in a block, −1 for features that are not in use."""
        position = np.full(self.n_features, -1, np.int32)
        position[self.feature_of] = np.arange(len(self.feature_of), dtype=np.int32)
        return position

    def matrix(self, classes: Ids | None = None) -> Any:
        """Return the weights of some classes, or of all, as a matrix (classes × features)."""
        if classes is not None:
            return self._rows(classes)
        try:
            matrix = np.zeros((self.n_classes, self.n_features), np.float32)
        except MemoryError:
            raise TooLargeError(
                f"A matrix of {self.n_classes:,} classes × {self.n_features:,} features needs "
                f"{4 * self.n_classes * self.n_features / 2**30:.1f} GiB, which this machine does not have; fit with "
                "weights='sparse' to have it as CSR."
            ) from None
        for lanes, block, _ in self.iter_blocks():
            matrix[np.ix_(lanes, self.feature_of)] = block[:, : len(lanes)].T
        return matrix

    @abstractmethod
    def _rows(self, classes: Ids) -> Any:
        """Return the weights of some classes."""

    def columns(self) -> Iterator[Floats32]:
        """Yield the weights of all classes (classes × features), some features in use at a time; intercepts last."""
        size = max(1, COLUMN_BYTES // (8 * max(1, self.n_classes)))
        for first in range(0, len(self.feature_of), size):
            yield self._columns(slice(first, min(first + size, len(self.feature_of))))
        yield self.intercepts[:, None]

    def _columns(self, part: slice) -> Floats32:
        columns = np.empty((self.n_classes, part.stop - part.start), np.float32)
        for b, block in enumerate(self.blocks()):
            classes = self.classes_of(b)
            columns[classes] = block[part, : len(classes)].T
        return columns


class DenseWeights(BlockedWeights):
    """All weights of all features in use, as blocks in the feature order of the training rows."""

    def __init__(
        self, blocks: Sequence[Floats32] | Floats32, intercepts: npt.NDArray[Any], feature_of: Ids, n_features: int
    ) -> None:
        self._blocks = blocks  # a list, or an array of them on disk
        self.n_classes = len(intercepts)
        self.intercepts = np.asarray(intercepts, np.float32)
        self.feature_of = feature_of
        self.n_features = n_features

    @classmethod
    def from_blocks(cls, blocks: Sequence[Floats32] | Floats32, n_classes: int, rows: TrainingRows) -> DenseWeights:
        """Return the blocks of a solver as weights; if rows have a constant feature, it is the last of each block."""
        intercepts, features = np.zeros(n_classes, np.float32), rows.feature_of
        if rows.has_constant:
            if len(blocks):
                intercepts = np.concatenate([block[-1] for block in blocks])[:n_classes]
            blocks = blocks[:, :-1] if isinstance(blocks, np.ndarray) else [block[:-1] for block in blocks]
            features = features[:-1]
        return cls(blocks, intercepts, features, rows.n_features)

    @classmethod
    def from_lanes(cls, blocks: Iterable[tuple[Ids, Floats32]], n_classes: int, rows: TrainingRows) -> DenseWeights:
        """Return the blocks of a solver that has classes in another order; the classes of its lanes come with each."""
        ordered = rows.new_blocks(-(-n_classes // WIDTH))
        for classes, block in blocks:  # neighbours stay together: copies of single lanes take twice as long
            apart = (np.diff(classes) != 1) | (classes[1:] % WIDTH == 0)
            for lanes in np.split(np.arange(len(classes)), np.flatnonzero(apart) + 1):
                first, lane, n = int(classes[lanes[0]]), int(lanes[0]), len(lanes)
                ordered[first // WIDTH][:, first % WIDTH : first % WIDTH + n] = block[:, lane : lane + n]
        return cls.from_blocks(ordered, n_classes, rows)

    @classmethod
    def from_matrix(cls, W: npt.NDArray[Any], rows: TrainingRows) -> DenseWeights:
        """Return a matrix (classes × features in use), in the feature order of the rows, as weights."""
        return cls.from_blocks([to_block(W[k : k + WIDTH]) for k in range(0, len(W), WIDTH)], len(W), rows)

    def to_arrays(self) -> Arrays:
        """Return the blocks as one array, and their features."""
        blocks = self._blocks
        if not len(blocks):
            blocks = np.zeros((0, len(self.feature_of), WIDTH), np.float32)
        stacked = blocks if isinstance(blocks, np.ndarray) else np.stack(blocks)
        return {"blocks": stacked, "feature_of": self.feature_of}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: Any = None, root: str = "zero") -> DenseWeights:
        """Return the weights that `to_arrays` wrote."""
        intercepts, blocks, features = arrays["intercepts"], arrays["blocks"], unpack_ids(arrays["feature_of"])
        require_fit(len(blocks) == -(-len(intercepts) // WIDTH), "its blocks are not as many as its intercepts need")
        require_fit(len(np.unique(features)) == len(features), "a feature occurs twice")
        if is_mapped(blocks) and blocks.dtype == np.float32 and blocks.shape[1:] == (len(features), WIDTH):
            return cls(blocks, intercepts, features, n_features)  # they stay in the file, which processes share
        return cls([to_block(block.T) for block in blocks], intercepts, features, n_features)

    def blocks(self) -> Iterator[Floats32]:
        """Yield the blocks in the order of the classes."""
        return iter(self._blocks)

    def _rows(self, classes: Ids) -> Floats32:
        matrix = np.zeros((len(classes), self.n_features), np.float32)
        for row, k in enumerate(classes.tolist()):
            matrix[row, self.feature_of] = self._blocks[k // WIDTH][:, k % WIDTH]
        return matrix


def to_block(W: npt.NDArray[Any]) -> Floats32:
    """Return the weights of up to sixteen classes (classes × features) as an aligned block (features × 16)."""
    block = aligned_zeros(W.shape[1])
    block[:, : len(W)] = W.T
    return block


class DualWeights(BlockedWeights):
    """w_k = Σ_i β_ki x_i, computed for sixteen classes at a time when scores are needed.

    Small if few rows support each class. The β, `shares`, are float32, or float64 where large ones cancel.
    """

    def __init__(self, shares: sparse.csr_array, vectors: sparse.csr_array, intercepts: npt.NDArray[Any]) -> None:
        self.shares, self.vectors = shares, vectors
        self.n_classes, self.n_features = shares.shape[0], vectors.shape[1]
        self.intercepts = np.asarray(intercepts, np.float32)
        self.feature_of = np.unique(vectors.indices).astype(np.int64)

    def to_arrays(self) -> Arrays:
        """Return the shares and the rows as CSR."""
        return {**prefixed("shares", pack_matrix(self.shares)), **prefixed("vectors", pack_matrix(self.vectors))}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: Any = None, root: str = "zero") -> DualWeights:
        """Return the weights that `to_arrays` wrote."""
        vectors = unpack_matrix(group("vectors", arrays), n_features)
        return cls(unpack_matrix(group("shares", arrays), vectors.shape[0]), vectors, arrays["intercepts"])

    def blocks(self) -> Iterator[Floats32]:
        """Yield the blocks in the order of the classes."""
        vectors = self.vectors[:, self.feature_of]
        for first in range(0, self.n_classes, WIDTH):
            shares = self.shares[first : first + WIDTH].astype(np.float64)  # large shares cancel
            yield to_block((shares @ vectors).toarray())

    def rebuilds_blocks(self, n_rows: int) -> bool:
        """Return True: scores always need all blocks."""
        return True

    def _rows(self, classes: Ids) -> Floats32:
        return (self.shares[classes].astype(np.float64) @ self.vectors).toarray().astype(np.float32)


def csr_arrays(X: Any) -> CsrArrays:
    """Return the arrays of X as CSR with sorted indices."""
    rows = X if sparse.issparse(X) and X.format == "csr" else sparse.csr_array(X)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    return rows.indptr, rows.indices, rows.data


def require_fit(fits: bool, problem: str) -> None:
    """Raise a `ModelFormatError` about a file's weights unless they fit."""
    if not fits:
        raise ModelFormatError(f"Its weights do not fit: {problem}.")
