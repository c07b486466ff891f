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


def unit_rows(X: Any) -> Any:
    """Return the rows, dense or CSR, scaled to length 1 as float64; rows of zeros stay.

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
        return scaled / np.where(lengths > 0, lengths, 1.0)[:, None]
    data = X.data.astype(np.float64)
    row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    largest = np.zeros(X.shape[0])
    np.maximum.at(largest, row_of, np.abs(data))
    data /= np.where(largest > 0, largest, 1.0)[row_of]
    lengths = np.sqrt(np.bincount(row_of, weights=data * data, minlength=X.shape[0]))
    data /= np.where(lengths > 0, lengths, 1.0)[row_of]
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


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
