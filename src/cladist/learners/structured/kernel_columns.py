"""Kernel columns of training rows: by products of rows through an inverted index, or by a function of two matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import batch_perceptron
from cladist.learners.kernel_functions import KernelFunction, NamedKernel
from cladist.solvers.structured import Columns
from cladist.solvers.structured.columns import blocks

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
GROUP = 64  # columns in memory at once while scores are summed up
LINEAR = NamedKernel("linear", 1.0, 1, 0.0)


def kernel_columns(X: Any, function: KernelFunction, windows: list[tuple[int, int]]) -> Columns:
    """Return the columns of a kernel over the rows of X, of which training uses these windows."""
    if isinstance(function, NamedKernel):
        return ProductColumns(X, function, windows)
    return FunctionColumns(X, function)


class FunctionColumns:
    """Columns by a function of two matrices of rows."""

    def __init__(self, X: Any, function: KernelFunction) -> None:
        self.X, self.function = X, function
        self.diagonal = np.asarray(function.diagonal(X), dtype=np.float64)

    def fill(self, i: int, first: int, last: int, out: Floats) -> None:
        """Write K(x_i, x_r) for rows r of first … last into `out`."""
        out[:] = self.function.between(self.X[i : i + 1], self.X[first:last])[0]

    def expand(self, rows: Ids, coefs: Any, first: int, last: int) -> Floats:
        """Return Σ_k coefs[:, k] K(x_rows[k], ·) for rows first … last."""
        return _sum_columns(self, rows, coefs, first, last)


class ProductColumns:
    """Columns of a kernel that is a function of x·z, ‖x‖² and ‖z‖².

    The entries of every block of rows are sorted by feature, so that a column costs only the entries in features of row
    i. Memory: as much as X again.
    """

    def __init__(self, X: Any, kernel: NamedKernel, windows: list[tuple[int, int]]) -> None:
        self.X, self.kernel = X, kernel
        self.diagonal = kernel.diagonal(X)
        self.norms = LINEAR.diagonal(X)
        self.is_sparse = bool(sparse.issparse(X))
        parts = [part for window in windows for part in blocks(*window)]
        self.by_feature = {part: self._transpose(*part) for part in parts}

    def _transpose(self, first: int, last: int) -> Any:
        part = self.X[first:last]
        if not self.is_sparse:
            return np.ascontiguousarray(part.T)
        by_feature = part.tocsc()
        return by_feature.indptr, by_feature.indices, by_feature.data

    def fill(self, i: int, first: int, last: int, out: Floats) -> None:
        """Write K(x_i, x_r) for rows r of first … last into `out`."""
        out[:] = 0.0
        block = self.by_feature[first, last]
        if self.is_sparse:
            entries = slice(self.X.indptr[i], self.X.indptr[i + 1])
            batch_perceptron.add_sparse_products(*block, self.X.indices[entries], self.X.data[entries], out)
        else:
            batch_perceptron.add_dense_products(block, np.ascontiguousarray(self.X[i]), out)
        if self.kernel.name == "poly":
            np.multiply(out, self.kernel.gamma, out=out)
            np.add(out, self.kernel.coef0, out=out)
            np.power(out, self.kernel.degree, out=out)
        elif self.kernel.name == "rbf":
            distances = self.norms[i] + self.norms[first:last] - 2.0 * out
            np.exp(-self.kernel.gamma * np.maximum(distances, 0.0), out=out)

    def expand(self, rows: Ids, coefs: Any, first: int, last: int) -> Floats:
        """Return Σ_k coefs[:, k] K(x_rows[k], ·) for rows first … last."""
        if self.kernel.name != "linear":
            return _sum_columns(self, rows, coefs, first, last)
        weights = coefs @ self.X[rows]
        scores = weights @ self.X[first:last].T
        return np.asarray(scores.toarray() if sparse.issparse(scores) else scores, dtype=np.float64)


def _sum_columns(columns: Any, rows: Ids, coefs: Any, first: int, last: int) -> Floats:
    """Sum up coefficients times columns, some columns at a time."""
    total = np.zeros((coefs.shape[0], last - first))
    by_row = coefs.tocsc()
    for start in range(0, len(rows), GROUP):
        group = rows[start : start + GROUP]
        values = np.empty((len(group), last - first))
        for value, i in zip(values, group.tolist(), strict=True):
            for a, b in blocks(first, last):
                columns.fill(i, a, b, value[a - first : b - first])
        total += by_row[:, start : start + len(group)] @ values
    return total
