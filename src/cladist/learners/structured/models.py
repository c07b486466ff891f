"""The two forms of a structured model: weights, or support rows and their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError, TooLargeError
from cladist.learners.kernel_functions import KernelFunction
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class WeightModel:
    """Node scores a = W x, W held as (features × nodes)."""

    def __init__(self, W: Floats) -> None:
        self.W = W

    @classmethod
    def from_rows(cls, X: Any, rows: Ids, coefs: sparse.csr_array) -> WeightModel:
        """Return W = Σ_k coefs[:, k] x_rows[k]ᵀ."""
        shape = X.shape[1], coefs.shape[0]
        try:
            W = np.zeros(shape)
        except MemoryError:
            raise TooLargeError(
                f"Weights for {shape[0]} features × {shape[1]} nodes need {8 * shape[0] * shape[1] / 2**30:.1f} GiB, "
                "which this machine does not have; KernelStochasticPerceptron keeps rows instead."
            ) from None
        W += (X[rows].T @ coefs.T) if not sparse.issparse(X) else (coefs @ X[rows]).toarray().T
        return cls(W)

    @property
    def n_bytes(self) -> int:
        """The size in bytes."""
        return int(self.W.nbytes)

    def n_held(self, n_nodes: int) -> int:
        """Return the number of values in memory while one row is scored."""
        return n_nodes

    def scores(self, X: Any) -> Floats:
        """Return a_v for every row and node."""
        return np.asarray(X @ self.W, dtype=np.float64)

    def pack(self) -> Arrays:
        """Return the arrays of the model file."""
        return prefixed("weights", pack_matrix(self.W))

    @classmethod
    def unpack(cls, n_nodes: int, n_features: int, arrays: Arrays) -> WeightModel:
        """Restore the arrays of `pack`."""
        W = unpack_matrix(group("weights", arrays), n_nodes)
        if W.shape[0] != n_features:
            raise ModelFormatError(f"Its weights are for {W.shape[0]} features; {n_features} are expected.")
        return cls(np.asarray(W, dtype=np.float64))


class SupportModel:
    """Node scores a = Σ_k coefs[:, k] K(x_k, x) over support rows x_k."""

    def __init__(self, kernel: KernelFunction, support: Ids, vectors: Any, coefs: sparse.csr_array) -> None:
        self.kernel, self.support, self.vectors, self.coefs = kernel, support, vectors, coefs

    @property
    def n_bytes(self) -> int:
        """The size in bytes of support rows and coefficients."""
        return sum(int(array.nbytes) for array in self.pack().values())

    def n_held(self, n_nodes: int) -> int:
        """Return the number of values in memory while one row is scored."""
        return max(n_nodes, len(self.support))

    def scores(self, X: Any) -> Floats:
        """Return a_v for every row and node."""
        if not len(self.support):
            return np.zeros((X.shape[0], self.coefs.shape[0]))
        return np.ascontiguousarray((self.coefs @ self.kernel.between(self.vectors, X)).T)

    def pack(self) -> Arrays:
        """Return the arrays of the model file."""
        parts = {"vectors": pack_matrix(self.vectors), "coefs": pack_matrix(self.coefs)}
        return {
            "support": self.support,
            **{k: v for name, part in parts.items() for k, v in prefixed(name, part).items()},
        }

    @classmethod
    def unpack(cls, n_nodes: int, n_columns: int, kernel: KernelFunction, arrays: Arrays) -> SupportModel:
        """Restore the arrays of `pack`, if rows and coefficients fit."""
        support = arrays["support"].astype(np.int64)
        vectors = unpack_matrix(group("vectors", arrays), n_columns)
        coefs = sparse.csr_array(unpack_matrix(group("coefs", arrays), len(support)))
        if support.ndim != 1 or vectors.shape[0] != len(support) or coefs.shape[0] != n_nodes:
            raise ModelFormatError("Its support rows do not fit its coefficients and its taxonomy.")
        return cls(kernel, support, vectors, coefs)
