"""Arrays of the online learners: rows that are valid, of unit length, or supports, and weights by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import TooLargeError
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix


def is_valid(X: Any, n_features: int) -> bool:
    """Return whether rows need no conversion and validation would accept them."""
    is_csr = isinstance(X, (sparse.csr_array, sparse.csr_matrix))
    if not (is_csr or type(X) is np.ndarray) or X.dtype not in (np.float32, np.float64) or X.ndim != 2:
        return False
    if X.shape[1] != n_features or X.shape[0] == 0 or (is_csr and not X.has_canonical_format):
        return False
    values = X.data if is_csr else X
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all values are finite; if it overflows, validation looks at each value.
        return bool(np.isfinite(values.sum()))


def to_csr_arrays(X: Any) -> tuple[Any, Any, Any]:
    """Return (indptr, indices, data) of X; dense rows lose their zeros."""
    rows = X if sparse.issparse(X) else sparse.csr_array(X)
    return rows.indptr, rows.indices, rows.data


def append_rows(above: Any, below: Any) -> Any:
    """Return two matrices of rows as one, CSR if the first is; `above` may be None."""
    if above is None:
        return below
    return sparse.vstack([above, below], format="csr") if sparse.issparse(above) else np.vstack([above, below])


def normalize_rows(X: Any, dtype: Any = np.float64) -> Any:
    """Return the rows, dense or CSR, scaled to length 1, as `dtype`; rows of zeros stay.

    Examples
    --------
    >>> normalize_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    if not sparse.issparse(X):
        # Divided by the largest value first: the square of 1e200 overflows float64.
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


def allocate_weights(who: str, n_features: int, n_nodes: int, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """Return weights (features × nodes) of 0, whose memory is allocated when it is written."""
    try:
        return np.zeros((n_features, n_nodes), dtype)
    except MemoryError:
        size = n_features * n_nodes * np.dtype(dtype).itemsize / 2**30
        raise TooLargeError(
            f"{who}'s weights for {n_features} features × {n_nodes} nodes need {size:.1f} GiB, which this machine "
            "does not have; use fewer features (min_df, hashing), a smaller taxonomy, or float32 input."
        ) from None


def move_columns(who: str, columns: Any, new_id: npt.NDArray[np.int64], n_nodes: int) -> Any:
    """Return columns at their nodes' new ids, with zeros for new nodes."""
    moved = allocate_weights(who, columns.shape[0], n_nodes, columns.dtype)
    moved[:, new_id] = columns
    return moved


def pack_rows(name: str, rows: Any) -> Arrays:
    """Return the arrays of a matrix of rows in a model file; None has none."""
    return {} if rows is None else prefixed(name, pack_matrix(rows))


def unpack_rows(name: str, arrays: Arrays, n_columns: int) -> Any:
    """Restore the rows that `pack_rows` packed, or None."""
    packed = group(name, arrays)
    return unpack_matrix(packed, n_columns) if packed else None
