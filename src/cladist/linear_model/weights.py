"""The interface of linear weights, and of those forms that come in blocks of sixteen classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError, TooLargeError
from cladist.kernels import linear_scores
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import ProblemTree
from cladist.storage.array_groups import Arrays

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
COLUMN_BYTES = 2**20  # of float64, for passes over features: little enough to stay in the cache


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
        matrix = self._zeros(self.n_classes)
        for lanes, block, _ in self.iter_blocks():
            matrix[np.ix_(lanes, self.feature_of)] = block[:, : len(lanes)].T
        return matrix

    def _rows(self, classes: Ids) -> Any:
        """Return the weights of some classes, from all blocks; most forms have a faster way."""
        matrix = self._zeros(len(classes))
        for lanes, block, _ in self.iter_blocks():
            rows, positions = np.nonzero(classes[:, None] == lanes[None, :])
            matrix[np.ix_(rows, self.feature_of)] = block[:, positions].T
        return matrix

    def _zeros(self, n_rows: int) -> Floats32:
        try:
            return np.zeros((n_rows, self.n_features), np.float32)
        except MemoryError:
            raise TooLargeError(
                f"A matrix of {n_rows:,} classes × {self.n_features:,} features needs "
                f"{4 * n_rows * self.n_features / 2**30:.1f} GiB, which this machine does not have; fit with "
                "weights='sparse' to have it as CSR."
            ) from None

    def columns(self) -> Iterator[Floats32]:
        """Yield the weights of all classes (classes × features), some features in use at a time; intercepts last."""
        size = max(1, COLUMN_BYTES // (8 * max(1, self.n_classes)))
        for first in range(0, len(self.feature_of), size):
            yield self._columns(slice(first, min(first + size, len(self.feature_of))))
        yield self.intercepts[:, None]

    def _columns(self, chosen: slice) -> Floats32:
        columns = np.empty((self.n_classes, chosen.stop - chosen.start), np.float32)
        for classes, block, _ in self.iter_blocks():
            columns[classes] = block[chosen, : len(classes)].T
        return columns


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
