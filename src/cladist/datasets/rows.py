"""Rows of whatever a `Dataset` holds (arrays, lists, CSR matrices): counted, chosen and stacked alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Rows = slice | npt.NDArray[np.intp]

MOST_LABELS = 100_000  # of a row, in every format; the richest real ones have some hundreds


def length(rows: Any) -> int:
    """Return the number of rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def taken(rows: Any, chosen: Rows) -> Any:
    """Return the chosen rows; a run of CSR rows shares memory with the whole."""
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


def stacked(parts: list[Any]) -> Any:
    """Return the parts one below the other, all of one kind."""
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
