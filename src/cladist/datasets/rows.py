"""Rows of everything a `Dataset` can hold (arrays, lists, CSR matrices), and the rules that all readers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError

Rows = slice | npt.NDArray[np.intp]

MOST_LABELS = 100_000  # of a row, in every format; the richest real ones have some hundreds

# The largest double that becomes a finite number of this kind: float32 rounds numbers up to half a step beyond its own
# largest, and the shortest text of that one, 3.4028235e+38, is such a number.
LARGEST_NUMBER = {"float32": float(np.nextafter(2.0**128 - 2.0**103, 0)), "float64": float(np.finfo(np.float64).max)}


def check_float(who: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return a dtype that features can have, or raise a `ParameterError`."""
    kinds: dict[str, np.dtype[Any]] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}
    try:
        return kinds[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise ParameterError(f"{who}: dtype must be float32 or float64; got {dtype!r}.") from None


def length(rows: Any) -> int:
    """Return the number of rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def take_rows(rows: Any, chosen: Rows) -> Any:
    """Return the chosen rows; a slice of CSR rows shares memory with the whole."""
    if isinstance(rows, list):
        return rows[chosen] if isinstance(chosen, slice) else [rows[i] for i in chosen]
    if isinstance(chosen, slice) and sparse.issparse(rows) and rows.format == "csr":
        first, last, _ = chosen.indices(rows.shape[0])
        start, end = rows.indptr[first], rows.indptr[last]
        arrays = rows.data[start:end], rows.indices[start:end], rows.indptr[first : last + 1] - start
        part = type(rows)(arrays, shape=(last - first, rows.shape[1]))
        part.has_sorted_indices = rows.has_sorted_indices
        return part
    return rows[chosen]


def stack_rows(parts: list[Any]) -> Any:
    """Return the parts, all of one kind, one below the other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    return np.concatenate(parts)


def as_objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return an object array: one very long text must not make every entry as wide."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_lists(flat: npt.NDArray[Any], counts: npt.NDArray[np.integer[Any]]) -> list[list[Any]]:
    """Cut an array into lists of these lengths.

    Examples
    --------
    >>> as_lists(np.array(["a", "b", "c"], dtype=object), np.array([2, 0, 1]))
    [['a', 'b'], [], ['c']]
    """
    labels, start = flat.tolist(), 0
    lists = []
    for end in np.cumsum(counts).tolist():  # slicing a list is several times faster than slicing an array
        lists.append(labels[start:end])
        start = end
    return lists
