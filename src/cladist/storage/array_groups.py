"""Parts of models ↔ named arrays, and specifications that arrays from a file must meet before they are used.

Parts are groups of names, matrices that may be mostly zeros, strings, and ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.storage.tensor_file import is_unread

Arrays = dict[str, npt.NDArray[Any]]

SPARSE_BELOW = 0.4  # fraction of nonzeros below which (index, value) pairs take less room than all values


def prefixed(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return arrays with a common prefix before their names."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def group(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays under a prefix, without it."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


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
    """Return the matrix that `pack_matrix` packed, which must have `n_columns` columns."""
    matrix: Any
    if "dense" in arrays:
        matrix = arrays["dense"]
    else:
        shape = tuple(int(k) for k in arrays["shape"])
        if not are_row_ends(arrays["indptr"], shape[0], len(arrays["data"])):
            raise ModelFormatError("A matrix in this model has rows that do not fit its entries.")
        matrix = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    if matrix.ndim != 2 or matrix.shape[1] != n_columns:
        raise ModelFormatError(f"A matrix in this model has shape {matrix.shape}; {n_columns} columns are wanted.")
    return matrix.toarray() if "was_dense" in arrays else matrix


def are_row_ends(indptr: npt.NDArray[Any], n_rows: int, n_entries: int) -> bool:
    """Tell whether the `indptr` of a CSR matrix divides its entries into rows."""
    fits = len(indptr) == n_rows + 1 and indptr[0] == 0 and indptr[-1] == n_entries
    return bool(fits and np.all(indptr[1:] >= indptr[:-1]))


def pack_strings(strings: Sequence[str]) -> Arrays:
    """Return the arrays ``utf8`` (uint8) and ``offsets`` (int64, one more than there are strings)."""
    encoded = []
    for row, string in enumerate(strings):
        try:
            encoded.append(string.encode("utf-8"))
        except (AttributeError, UnicodeEncodeError):
            raise ModelFormatError(
                f"String {row} cannot be saved: {string!r} is not text that UTF-8 can hold."
            ) from None
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), dtype=np.int64, count=len(encoded) + 1)
    return {"utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8), "offsets": offsets}


def unpack_strings(utf8: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> list[str]:
    """Return the strings that `pack_strings` packed; arrays that it cannot have made are refused."""
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or offsets.dtype != np.int64 or offsets.ndim != 1:
        raise ModelFormatError(
            "Packed strings must be a 1-D uint8 and a 1-D int64 array, not"
            f" {utf8.ndim}-D {utf8.dtype} and {offsets.ndim}-D {offsets.dtype}."
        )
    if not offsets.size or offsets[0] != 0 or offsets[-1] != utf8.size or (offsets[1:] < offsets[:-1]).any():
        raise ModelFormatError(f"The offsets of packed strings must rise from 0 to the number of bytes, {utf8.size}.")
    raw = utf8.tobytes()
    try:
        return [raw[start:end].decode("utf-8") for start, end in pairwise(offsets.tolist())]
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"A packed string is not valid UTF-8: {error.object!r}.") from error


def unpack_ids(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return a list of whole numbers as int64; too large ones become negative, which later checks refuse."""
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ModelFormatError("A list of whole numbers in this model is something else.")
    return ids.astype(np.int64)


def check_nodes(nodes: npt.NDArray[Any], n_nodes: int, count: int | None = None) -> None:
    """Raise a `ModelFormatError` unless ids are those of different nodes, and `count` of them."""
    fits = nodes.ndim == 1 and not np.any((nodes < 0) | (nodes >= n_nodes)) and len(np.unique(nodes)) == len(nodes)
    if not fits or count not in (None, len(nodes)):
        raise ModelFormatError("Some of its nodes are not nodes of its taxonomy.")


WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = ("float32", "float64")


class ArraySpec(NamedTuple):
    """The types, shape and range of an array."""

    types: tuple[str, ...]  # names of the types that are allowed
    shape: tuple[str | int, ...]  # numbers, names of sizes, or sums such as "n_nodes + 1"
    low: float | None = None  # the smallest value that is allowed
    below: str | float | None = None  # a number, or the name of a size, that all values must be less than
    finite: bool = True  # whether infinite values are refused
    missing: bool = False  # whether NaN is allowed, for unknown values


def check_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], table: Mapping[str, ArraySpec], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Raise a `ModelFormatError` unless all arrays are as specified; return all sizes.

    The first array with an unknown size defines it, and all others must agree. The content of arrays that were left in
    their file unverified is not checked.
    """
    all_sizes = dict(sizes)
    for name, array in arrays.items():
        if name not in table:
            raise ModelFormatError(f"Its array {name!r} is none that a model of its kind has.")
        spec = table[name]
        if array.dtype.name not in spec.types:
            raise ModelFormatError(f"Its array {name!r} must be of {' or '.join(spec.types)}, not {array.dtype}.")
        _check_shape(name, array, spec, all_sizes)
    for name, array in arrays.items():  # once all sizes are known
        if not is_unread(array):
            _check_content(name, array, table[name], all_sizes)
    return all_sizes


def _check_shape(name: str, array: npt.NDArray[Any], spec: ArraySpec, all_sizes: dict[str, int]) -> None:
    fits = array.ndim == len(spec.shape)
    for size_name, length in zip(spec.shape, array.shape, strict=False):
        if isinstance(size_name, int):
            fits = fits and length == size_name
            continue
        size, _, more = size_name.partition(" + ")
        n = length - int(more or 0)
        fits = fits and n >= 0 and all_sizes.setdefault(size, n) == n
    if not fits:
        shape = ", ".join(str(part) for part in spec.shape)
        sizes = ", ".join(f"{size} = {n:,}" for size, n in all_sizes.items() if size in shape)
        where = f", where {sizes}" if sizes else ""
        raise ModelFormatError(f"Its array {name!r} must have the shape ({shape}){where}; it has {array.shape}.")


def _check_content(name: str, array: npt.NDArray[Any], spec: ArraySpec, all_sizes: Mapping[str, int]) -> None:
    if spec.missing and array.dtype.kind == "f":
        array = array[~np.isnan(array)]
    if not array.size:
        return
    least, most = array.min(), array.max()
    # If any value is NaN, so are the minimum and the maximum.
    if np.isnan(least) or (spec.finite and not (np.isfinite(least) and np.isfinite(most))):
        raise ModelFormatError(f"Its array {name!r} must hold finite numbers; some are infinite, or none at all.")
    below = all_sizes[spec.below] if isinstance(spec.below, str) else spec.below
    too_small = spec.low is not None and least.item() < spec.low
    if too_small or (below is not None and most.item() >= below):
        bounds = [f"from {spec.low} up"] * (spec.low is not None) + [f"below {below}"] * (below is not None)
        raise ModelFormatError(f"Its array {name!r} must hold numbers {' and '.join(bounds)}; it does not.")
