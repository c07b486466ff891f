"""Parts of models as named arrays: matrices that may be mostly zeros, and groups of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError

Arrays = dict[str, npt.NDArray[Any]]

SPARSE_BELOW = 0.4  # share of nonzeros under which (index, value) pairs take less room than all values


def pack_matrix(matrix: Any) -> Arrays:
    """Return a dense or CSR matrix as arrays; a dense one with few nonzeros is written as CSR."""
    if not sparse.issparse(matrix):
        if np.count_nonzero(matrix) >= SPARSE_BELOW * matrix.size:
            return {"dense": matrix}
        return {**pack_matrix(sparse.csr_array(matrix)), "was_dense": np.array(True)}
    rows = sparse.csr_array(matrix)
    shape = np.array(rows.shape, np.int64)
    return {"shape": shape, "indptr": rows.indptr, "indices": rows.indices, "data": rows.data}


def unpack_matrix(arrays: Arrays, n_columns: int) -> Any:
    """Restore what `pack_matrix` gave, and check that it has so many columns."""
    matrix: Any
    if "dense" in arrays:
        matrix = arrays["dense"]
    else:
        shape = tuple(int(k) for k in arrays["shape"])
        indptr, n_entries = arrays["indptr"], len(arrays["data"])
        outside = np.any((indptr < 0) | (indptr > n_entries))  # before differences, which could wrap
        if len(indptr) != shape[0] + 1 or outside or indptr[-1] != n_entries or np.any(np.diff(indptr) < 0):
            raise ModelFormatError("A matrix in this model has rows that do not fit its entries.")
        matrix = sparse.csr_array((arrays["data"], arrays["indices"], indptr), shape=shape)
        matrix.check_format(full_check=True)
    if matrix.ndim != 2 or matrix.shape[1] != n_columns:
        raise ModelFormatError(f"A matrix in this model has shape {matrix.shape}; {n_columns} columns are wanted.")
    return matrix.toarray() if "was_dense" in arrays else matrix


def prefixed(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Put a group of arrays under a common prefix."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def group(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays under a prefix, without it."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def check_nodes(nodes: npt.NDArray[Any], n_nodes: int, count: int | None = None) -> None:
    """Refuse ids that are not those of different nodes, or not as many as wanted."""
    fits = nodes.ndim == 1 and not np.any((nodes < 0) | (nodes >= n_nodes)) and len(np.unique(nodes)) == len(nodes)
    if not fits or count not in (None, len(nodes)):
        raise ModelFormatError("Some of its nodes are not nodes of its taxonomy.")


def unpack_ids(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return a list of whole numbers as int64; too large ones become negative, which later checks refuse."""
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ModelFormatError("A list of whole numbers in this model is something else.")
    return ids.astype(np.int64)
