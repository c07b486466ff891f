"""Columns of record batches as Python values: texts, numbers, and lists of them where labels are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import IO, Any

from cladist.datasets.formats.tables.arrow_files import (
    BATCH_ROWS,
    ArrowFile,
    check_promise,
    explained,
    open_arrow,
    open_parquet,
)
from cladist.datasets.formats.tables.columns import Row, positions, refuse_cell, too_many_labels
from cladist.datasets.rows import MOST_LABELS
from cladist.errors import DatasetError
from cladist.files import Source, shown_name

_NUMBERS = ("integer", "floating", "decimal", "null")
_TEXTS = ("string", "large_string", "string_view")
_BYTES = ("binary", "large_binary")  # texts too: some programs write them so in Parquet
_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


def arrow_rows(
    source: Source, stream: IO[bytes], kind: str, columns: Sequence[str], label: str | None
) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns that rows have values of, and the rows; no `columns`: all. Only `label` may hold lists."""
    file = (open_parquet if kind == "parquet" else open_arrow)(source, stream)
    with explained(source):
        names = list(file.schema.names)
    wanted = columns or names
    for place in positions(shown_name(source), names, wanted):
        _check_type(source, file.schema.field(place), names[place] == label)
    return wanted, _rows(source, file, wanted, label)


def _rows(source: Source, file: ArrowFile, columns: Sequence[str], label: str | None) -> Iterator[Row]:
    n_rows = 0
    batches = file.batches(list(columns))
    while True:
        with explained(source):
            batch = next(batches, None)
        if batch is None:
            break
        check_promise(source, n_rows + batch.num_rows, file.n_bytes())
        with explained(source):
            arrays = [_checked(batch.column(batch.schema.names.index(column))) for column in columns]
        for start in range(0, batch.num_rows, BATCH_ROWS):
            pieces = [array.slice(start, BATCH_ROWS) for array in arrays]
            if label is not None:
                _check_lengths(source, label, pieces[-1], n_rows + start)
            with explained(source):
                values = [_values(piece) for piece in pieces]
            yield from enumerate(zip(*values, strict=True), n_rows + start + 1)
        n_rows += batch.num_rows
    if file.n_rows not in (None, n_rows):
        raise DatasetError(f"{shown_name(source)}: damaged (it promises {file.n_rows:,} rows and has {n_rows:,}).")


def _is(array_or_type: Any, names: Sequence[str]) -> bool:
    types = import_module("pyarrow.types")
    return any(getattr(types, f"is_{name}")(array_or_type) for name in names)


def _check_type(source: Source, field: Any, may_be_list: bool) -> None:
    """Refuse a column of anything but texts, numbers, or where labels are lists of them."""
    kind = getattr(field.type, "storage_type", field.type)
    listed = may_be_list and _is(kind, _LISTS)
    inner = kind.value_type if listed or _is(kind, ("dictionary",)) else kind
    if listed and _is(inner, ("dictionary",)):
        inner = inner.value_type
    if not _is(inner, (*_NUMBERS, *_TEXTS)) and not _is(kind, _BYTES):
        lists = ", or lists of them" if may_be_list else ""
        shown = str(field.type).splitlines()[0][:80]
        raise DatasetError(
            f"{shown_name(source)}: column {field.name!r} holds {shown}; wanted texts or numbers{lists}."
        )


def _checked(array: Any) -> Any:
    """Return an array that is safe to look into; pyarrow itself trusts the positions that a file gives."""
    array = getattr(array, "storage", array)  # of an extension type
    array.validate(full=True)
    return array.cast("large_string") if _is(array.type, _BYTES) else array


def _check_lengths(source: Source, label: str, array: Any, n_before: int) -> None:
    if not _is(array.type, _LISTS):
        return
    compute = import_module("pyarrow.compute")
    with explained(source):
        too_long = compute.greater(compute.list_value_length(array), MOST_LABELS)
        place = compute.index(too_long, True).as_py()
    if place >= 0:
        refuse_cell(source, "row", n_before + place + 1, label, too_many_labels())


def _values(array: Any) -> list[Any]:
    if not _is(array.type, ("dictionary",)) or len(array.dictionary) > 4 * len(array):
        values: list[Any] = array.to_pylist()
        return values
    words = array.dictionary.to_pylist()  # texts that are equal are one object, and several times faster to get
    return [None if place is None else words[place] for place in array.indices.to_pylist()]
