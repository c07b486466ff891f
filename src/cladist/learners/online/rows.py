"""Rows as the online learners take them: of unit length, as CSR arrays, one set below another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import TooLargeError


def csr_rows(X: Any) -> tuple[Any, Any, Any]:
    """Return X as CSR arrays; dense rows lose their zeros."""
    rows = X if sparse.issparse(X) else sparse.csr_array(X)
    return rows.indptr, rows.indices, rows.data


def stacked(above: Any, below: Any) -> Any:
    """Return two matrices of rows as one, CSR where the first is."""
    return sparse.vstack([above, below], format="csr") if sparse.issparse(above) else np.vstack([above, below])


def unit_rows(X: Any, dtype: Any = np.float64) -> Any:
    """Return the rows, dense or CSR, scaled to length 1, in a type of number; rows of zeros stay.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    if not sparse.issparse(X):
        # Divided by the largest value first: the square of 1e200 is no float64.
        largest = np.abs(X).max(axis=1, initial=0.0)
        scaled = X / np.where(largest > 0, largest, 1.0)[:, None].astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        return (scaled / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(dtype, copy=False)
    data, counts = X.data.astype(np.float64), np.diff(X.indptr)
    filled = np.flatnonzero(counts)
    if len(filled):
        starts, counts = X.indptr[filled], counts[filled]
        largest = np.maximum.reduceat(np.abs(data), starts)
        data /= np.repeat(np.where(largest > 0, largest, 1.0), counts)
        lengths = np.sqrt(np.add.reduceat(data * data, starts))
        data /= np.repeat(np.where(lengths > 0, lengths, 1.0), counts)
    return sparse.csr_array((data.astype(dtype, copy=False), X.indices, X.indptr), shape=X.shape)


def zeros(who: str, n_features: int, n_nodes: int, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """Return weights (features × nodes) of 0 that claim memory only where they are written."""
    try:
        return np.zeros((n_features, n_nodes), dtype)
    except MemoryError:
        size = n_features * n_nodes * np.dtype(dtype).itemsize / 2**30
        raise TooLargeError(
            f"{who}'s weights for {n_features} features × {n_nodes} nodes need {size:.1f} GiB, which this machine "
            "does not have; use fewer features (min_df, hashing), a smaller taxonomy, or float32 input."
        ) from None
