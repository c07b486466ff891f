"""Arrays of learners: lengths of rows and their limits, rows of supports, and weights by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from cladist.errors import DatasetError, ModelFormatError, TooLargeError
from cladist.linear_model.dense_columns import canonical_csr
from cladist.mixed_rows import MixedRows
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix

# ‖x‖². float32 ends at 3e38 and float64 at 1e308; learners sum products of squared lengths.
LONGEST = {np.dtype(np.float32): 1e24, np.dtype(np.float64): 1e150}
# For a learner that divides by ‖x‖²: short rows are as bad as long ones.
LONGEST_DIVISOR = {np.dtype(np.float32): 1e60, np.dtype(np.float64): 1e300}


def check_mixed(model: Any, X: MixedRows, *, reset: bool) -> MixedRows:
    """Return `MixedRows` after scikit-learn's checks of each block, and of the number of columns."""
    validate_data(model, X, reset=reset, skip_check_array=True)
    for k, block in enumerate(X.blocks):
        check_array(
            block, accept_sparse="csr", dtype=None, ensure_min_features=0, input_name=f"block {k} of X", estimator=model
        )
    return X


def squared_lengths(X: Any) -> npt.NDArray[np.float64]:
    """Return ‖x‖² for every row x of X, dense or CSR; infinity where it overflows float64."""
    with np.errstate(over="ignore"):
        if isinstance(X, MixedRows):
            return np.sum([squared_lengths(block) for block in X.blocks], axis=0)
        if not sparse.issparse(X):
            return np.einsum("ij,ij->i", X, X, dtype=np.float64)
        squares = np.square(X.data, dtype=np.float64)
        return np.asarray(sparse.csr_array((squares, X.indices, X.indptr), shape=X.shape).sum(axis=1)).ravel()


def check_lengths(who: str, X: Any, *, divides: bool = False) -> None:
    """Raise a `DatasetError` if a row is too long to train on or, where a learner `divides` by ‖x‖², too short."""
    squares, longest = squared_lengths(X), (LONGEST_DIVISOR if divides else LONGEST)[X.dtype]
    wrong = ~(squares <= longest)
    wanted = f"at most {longest:.0e}"
    if divides:
        wrong |= (squares < 1 / longest) & (squares > 0)
        wanted = f"0 or from {1 / longest:.0e} to {longest:.0e}"
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DatasetError(
            f"{who}: row {row} has a squared length of {squares[row]:.0e}, and {wanted} can be computed with; scale "
            "the features, with StandardScaler for instance, or the rows, with Normalizer."
        )


def to_csr_arrays(X: Any) -> tuple[Any, Any, Any]:
    """Return (indptr, indices, data) of X; dense rows lose their zeros, or are read in place if they have none."""
    rows = X if sparse.issparse(X) else canonical_csr(X)
    return rows.indptr, rows.indices, rows.data


def append_rows(above: Any, below: Any) -> Any:
    """Return two matrices of rows as one, CSR if the first is; `above` may be None."""
    if above is None:
        return below
    return sparse.vstack([above, below], format="csr") if sparse.issparse(above) else np.vstack([above, below])


def normalize_rows(X: Any, dtype: Any = np.float64) -> Any:
    """Return the rows, dense or CSR, scaled to length 1, as `dtype`; rows of zeros stay."""
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


def unpack_weights(name: str, arrays: Arrays, n_features: int, n_nodes: int) -> Any:
    """Restore packed weights (features × nodes) as an array; raise if they have another shape."""
    W = unpack_matrix(group(name, arrays), n_nodes)
    if W.shape[0] != n_features:
        raise ModelFormatError(f"Its weights are for {W.shape[0]} features; {n_features} are expected.")
    return W.toarray() if sparse.issparse(W) else W


def pack_rows(name: str, rows: Any) -> Arrays:
    """Return the arrays of a matrix of rows in a model file; None has none."""
    return {} if rows is None else prefixed(name, pack_matrix(rows))


def unpack_rows(name: str, arrays: Arrays, n_columns: int) -> Any:
    """Restore the rows that `pack_rows` packed, or None."""
    packed = group(name, arrays)
    return unpack_matrix(packed, n_columns) if packed else None
