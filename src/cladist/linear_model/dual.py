"""Dual weights: the coefficients β of the training rows in each class, and those rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.dense import to_block
from cladist.linear_model.weights import BlockedWeights, Floats32, Ids
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix


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
