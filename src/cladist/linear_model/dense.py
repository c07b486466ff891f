"""Dense weights: 4 bytes for every class and every feature in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.training_rows import TrainingRows, aligned_zeros
from cladist.linear_model.weights import BlockedWeights, Floats32, Ids, require_fit
from cladist.storage.array_groups import Arrays, unpack_ids


class DenseWeights(BlockedWeights):
    """All weights of all features in use, as blocks in the feature order of the training rows."""

    def __init__(
        self, blocks: Sequence[Floats32], intercepts: npt.NDArray[Any], feature_of: Ids, n_features: int
    ) -> None:
        self._blocks = list(blocks)
        self.n_classes = len(intercepts)
        self.intercepts = np.asarray(intercepts, np.float32)
        self.feature_of = feature_of
        self.n_features = n_features

    @classmethod
    def from_blocks(cls, blocks: Sequence[Floats32], n_classes: int, rows: TrainingRows) -> DenseWeights:
        """Return the blocks of a solver as weights; if rows have a constant feature, it is the last of each block."""
        intercepts, features = np.zeros(n_classes, np.float32), rows.feature_of
        if rows.has_constant:
            if blocks:
                intercepts = np.concatenate([block[-1] for block in blocks])[:n_classes]
            blocks, features = [block[:-1] for block in blocks], features[:-1]
        return cls(blocks, intercepts, features, rows.n_features)

    @classmethod
    def from_matrix(cls, W: npt.NDArray[Any], rows: TrainingRows) -> DenseWeights:
        """Return a matrix (classes × features in use), in the feature order of the rows, as weights."""
        return cls.from_blocks([to_block(W[k : k + WIDTH]) for k in range(0, len(W), WIDTH)], len(W), rows)

    def to_arrays(self) -> Arrays:
        """Return the blocks as one array, and their features."""
        none = np.zeros((0, len(self.feature_of), WIDTH), np.float32)
        return {"blocks": np.stack(self._blocks) if self._blocks else none, "feature_of": self.feature_of}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, tree: Any = None, root: str = "zero") -> DenseWeights:
        """Return the weights that `to_arrays` wrote."""
        intercepts, blocks, features = arrays["intercepts"], arrays["blocks"], unpack_ids(arrays["feature_of"])
        require_fit(len(blocks) == -(-len(intercepts) // WIDTH), "its blocks are not as many as its intercepts need")
        require_fit(len(np.unique(features)) == len(features), "a feature occurs twice")
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
