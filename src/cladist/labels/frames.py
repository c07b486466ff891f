"""Data frames of polars and Arrow, read and written by narwhals, which scikit-learn brings; pandas needs none of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cladist.errors import DatasetError


def read_frame(data: Any, library: str) -> Any:
    """Return a Series or frame of polars, or an array or table of Arrow, as one of narwhals."""
    narwhals = _import_narwhals()
    if library == "pyarrow":
        import pyarrow

        if isinstance(data, pyarrow.Array):
            data = pyarrow.chunked_array([data])
        elif isinstance(data, pyarrow.RecordBatch):
            data = pyarrow.Table.from_batches([data])
    return narwhals.from_native(data, eager_only=True, allow_series=True)


def make_series(library: str, name: Any, values: list[Any], dtype: str, categories: Any = None) -> Any:
    """Return a Series of polars or a chunked array of Arrow, of the type of a narwhals name if it holds the values."""
    narwhals = _import_narwhals()
    series = narwhals.new_series("" if name is None else str(name), values, backend=library)
    try:
        wanted = narwhals.Enum(categories) if dtype == "Enum" else getattr(narwhals, dtype)
        return series.cast(wanted).to_native() if series.dtype != wanted else series.to_native()
    except Exception:  # each library has errors of its own for values that a type cannot hold, or a type it lacks
        return series.to_native()


def make_frame(library: str, columns: dict[str, Any]) -> Any:
    """Return a frame of polars or a table of Arrow of native columns."""
    module = import_module(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def _import_narwhals() -> Any:
    try:
        import narwhals
    except ImportError:
        raise DatasetError(
            "Labels in frames of polars or Arrow need narwhals; pip install narwhals, or give a list or an array."
        ) from None
    return narwhals
