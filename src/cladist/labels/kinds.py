"""Recognise the values of y: collections, frames, types of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError


def is_collection(value: Any) -> bool:
    """Tell whether a row of y holds several labels; lists read from Parquet are arrays."""
    return isinstance(value, (list, tuple, set, frozenset)) or (isinstance(value, np.ndarray) and value.ndim == 1)


def is_frame(y: Any) -> bool:
    """Tell whether y is a pandas DataFrame, without importing pandas."""
    return type(y).__name__ == "DataFrame" and type(y).__module__.startswith("pandas")


def is_series(y: Any) -> bool:
    """Tell whether y is a pandas Series, without importing pandas."""
    return type(y).__name__ == "Series" and type(y).__module__.startswith("pandas")


def sparse_kind(y: Any) -> str:
    """Return the name of a scipy matrix's class, such as "csr_matrix"."""
    return f"{y.format}_{'array' if isinstance(y, sparse.sparray) else 'matrix'}"


def scalar_of(labels: Iterable[Any]) -> str:
    """Return the Python type of labels; one number among texts makes all texts that are numbers numbers."""
    kinds = {type(label) for label in labels}
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return "bool"
    if any(issubclass(kind, (float, np.floating)) for kind in kinds):
        return "float"
    return "int" if any(issubclass(kind, (int, np.integer)) for kind in kinds) else "str"


def dtype_of(values: npt.NDArray[Any] | list[Any]) -> str:
    """Return the name of the numpy type of labels; text is "str", a list of several types "object"."""
    if isinstance(values, list):
        if len({type(label) for label in values}) > 1:
            return "object"
        values = np.asarray(values)
    if values.dtype.kind in "UT":
        return "str"
    if values.dtype.kind not in "biufO":
        raise LabelError(f"Labels are texts, integers or objects; y holds {values.dtype}.")
    return str(values.dtype)


def plain_key(key: Any) -> str | int:
    """Return the name of a Series or a column as a value that a file can hold."""
    return key if isinstance(key, (str, int)) else str(key)
