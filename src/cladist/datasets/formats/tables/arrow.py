"""Parquet and Arrow tables, read by pyarrow one record batch at a time.

A file's announced sizes are checked before they cost memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import SEEK_SET, BufferedReader
from typing import IO, Any

from cladist.datasets.dataset import MOST_LABELS
from cladist.datasets.formats.tables.records import TOO_MANY_LABELS, Row, find_columns, refuse_cell
from cladist.errors import CladistError, DatasetError
from cladist.files import LARGEST_TEXT, Source, display_name
from cladist.files.delimited import MOST_COLUMNS

BATCH_ROWS, BATCH_BYTES = 4096, 2**22  # of Parquet, held at once
# An empty row takes no bytes in these formats, and a repeated text a few bits. A file that announces more rows per byte
# than this is damaged, or made to exhaust the memory.
MOST_ROWS_PER_BYTE = 10_000
_PIECE = 2**20
_NUMBERS = ("integer", "floating", "decimal", "null")
_TEXTS = ("string", "large_string", "string_view")
_BYTES = ("binary", "large_binary")  # texts too: some programs write them so in Parquet
_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


def read_arrow_rows(
    source: Source, stream: IO[bytes], kind: str, columns: Sequence[str], label: str | None
) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns of the rows, and the rows; without `columns`, all. Only the column `label` may hold lists."""
    file = (open_parquet if kind == "parquet" else open_arrow)(source, stream)
    with explain_errors(source):
        names = list(file.schema.names)
    column_names = columns or names
    for place in find_columns(display_name(source), names, column_names):
        _check_type(source, file.schema.field(place), names[place] == label)
    return column_names, _read_rows(source, file, column_names, label)


def _read_rows(source: Source, file: ArrowFile, columns: Sequence[str], label: str | None) -> Iterator[Row]:
    n_rows = 0
    batches = file.batches(list(columns))
    while True:
        with explain_errors(source):
            batch = next(batches, None)
        if batch is None:
            break
        check_size(source, n_rows + batch.num_rows, file.n_bytes())
        with explain_errors(source):
            arrays = [_validate(batch.column(batch.schema.names.index(column))) for column in columns]
        for start in range(0, batch.num_rows, BATCH_ROWS):
            pieces = [array.slice(start, BATCH_ROWS) for array in arrays]
            if label is not None:
                _check_lengths(source, label, pieces[-1], n_rows + start)
            with explain_errors(source):
                values = [_to_python(piece) for piece in pieces]
            yield from enumerate(zip(*values, strict=True), n_rows + start + 1)
        n_rows += batch.num_rows
    if file.n_rows not in (None, n_rows):
        raise DatasetError(f"{display_name(source)}: damaged (it promises {file.n_rows:,} rows and has {n_rows:,}).")


def _is_type(array_or_type: Any, names: Sequence[str]) -> bool:
    types = import_module("pyarrow.types")
    return any(getattr(types, f"is_{name}")(array_or_type) for name in names)


def _check_type(source: Source, field: Any, may_be_list: bool) -> None:
    """Refuse a column that holds neither texts nor numbers, nor lists of them where `may_be_list`."""
    kind = getattr(field.type, "storage_type", field.type)
    is_list = may_be_list and _is_type(kind, _LISTS)
    inner = kind.value_type if is_list or _is_type(kind, ("dictionary",)) else kind
    if is_list and _is_type(inner, ("dictionary",)):
        inner = inner.value_type
    if not _is_type(inner, (*_NUMBERS, *_TEXTS)) and not _is_type(kind, _BYTES):
        lists = ", or lists of them" if may_be_list else ""
        shown = str(field.type).splitlines()[0][:80]
        raise DatasetError(
            f"{display_name(source)}: column {field.name!r} holds {shown}; wanted texts or numbers{lists}."
        )


def _validate(array: Any) -> Any:
    """Return an array that is safe to read; pyarrow itself trusts the offsets that a file gives."""
    array = getattr(array, "storage", array)  # of an extension type
    array.validate(full=True)
    return array.cast("large_string") if _is_type(array.type, _BYTES) else array


def _check_lengths(source: Source, label: str, array: Any, n_before: int) -> None:
    if not _is_type(array.type, _LISTS):
        return
    compute = import_module("pyarrow.compute")
    with explain_errors(source):
        too_long = compute.greater(compute.list_value_length(array), MOST_LABELS)
        place = compute.index(too_long, True).as_py()
    if place >= 0:
        refuse_cell(source, "row", n_before + place + 1, label, TOO_MANY_LABELS)


def _to_python(array: Any) -> list[Any]:
    if not _is_type(array.type, ("dictionary",)) or len(array.dictionary) > 4 * len(array):
        values: list[Any] = array.to_pylist()
        return values
    words = array.dictionary.to_pylist()  # equal texts become one object, which is several times faster
    return [None if place is None else words[place] for place in array.indices.to_pylist()]


@dataclass
class ArrowFile:
    """An open file: its schema, and a function that returns the record batches of some of its columns."""

    schema: Any
    batches: Callable[[list[str]], Iterator[Any]]
    n_bytes: Callable[[], int]
    n_rows: int | None = None  # where the file announces it


def import_pyarrow(name: str) -> Any:
    """Return the package pyarrow, or raise a `DatasetError` that names who needs it and how to install it."""
    try:
        return import_module("pyarrow")
    except ImportError as problem:
        raise DatasetError(
            f"{name}: Parquet and Arrow files need pyarrow, which is not installed; pip install 'cladist[tables]' "
            "brings it."
        ) from problem


@contextmanager
def explain_errors(source: Source) -> Iterator[None]:
    """Turn every error of pyarrow inside the block into a `DatasetError`."""
    try:
        yield
    except CladistError:
        raise
    except Exception as problem:  # a damaged file can raise anything from a KeyError to a MemoryError
        lines = str(problem).strip().splitlines()
        reason = lines[0][:200].rstrip(".") if lines else type(problem).__name__
        raise DatasetError(f"{display_name(source)}: damaged, cut short or not of this format ({reason}).") from problem


def check_size(source: Source, n_rows: int, n_bytes: int) -> None:
    """Refuse more rows than this number of bytes can hold."""
    if n_rows > MOST_ROWS_PER_BYTE * n_bytes:
        raise DatasetError(
            f"{display_name(source)}: promises {n_rows:,} rows in {n_bytes:,} bytes; it is not to be trusted."
        )


def open_parquet(source: Source, stream: IO[bytes]) -> ArrowFile:
    """Open a Parquet file; the number of rows that it announces is compared with its size before any is read."""
    pa = import_pyarrow(display_name(source))
    with explain_errors(source):
        raw, n_bytes = _make_seekable(pa, source, stream)
        # No buffers: a page that announces two gigabytes would get a buffer of that size. Instead the compressed bytes
        # of one row group's columns are held.
        file = import_module("pyarrow.parquet").ParquetFile(
            raw, pre_buffer=False, buffer_size=0, thrift_container_size_limit=4 * MOST_COLUMNS
        )
        groups = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
        counts = [int(group.num_rows) for group in groups]
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
    if min(counts, default=0) < 0 or sum(counts) != n_rows:
        raise DatasetError(
            f"{display_name(source)}: damaged (its parts do not add up to the {n_rows:,} rows it promises)."
        )
    check_size(source, n_rows, n_bytes)

    def batches(columns: list[str]) -> Iterator[Any]:
        for g, group in enumerate(groups):
            bytes_per_row = max(group.total_byte_size, 0) // max(group.num_rows, 1)
            size = min(max(BATCH_BYTES // (bytes_per_row + 1), 1), BATCH_ROWS)
            yield from file.iter_batches(size, row_groups=[g], columns=columns, use_threads=False)

    return ArrowFile(schema, batches, lambda: n_bytes, n_rows)


def open_arrow(source: Source, stream: IO[bytes]) -> ArrowFile:
    """Open an Arrow file (Feather version 2) or an Arrow stream; the first bytes distinguish them."""
    pa = import_pyarrow(display_name(source))
    ipc = import_module("pyarrow.ipc")
    if stream.peek(6)[:6] == b"ARROW1":  # type: ignore[attr-defined]
        with explain_errors(source):
            raw, n_bytes = _make_seekable(pa, source, stream)
            schema = ipc.open_file(raw).schema

        def batches(columns: list[str]) -> Iterator[Any]:
            wanted = sorted({schema.names.index(column) for column in columns})
            file = ipc.open_file(raw, options=ipc.IpcReadOptions(included_fields=wanted, use_threads=False))
            return (file.get_batch(k) for k in range(file.num_record_batches))

        return ArrowFile(schema, batches, lambda: n_bytes)
    handle = _StreamHandle(stream)
    with explain_errors(source):
        reader = ipc.open_stream(pa.PythonFile(handle, mode="r"))
    return ArrowFile(reader.schema, lambda columns: iter(reader), lambda: handle.n_read)


class _StreamHandle:
    """A stream for pyarrow, which does not close it; an announced size takes no memory by itself."""

    closed = False

    def __init__(self, stream: IO[bytes], n_bytes: int | None = None) -> None:
        self.stream, self.n_bytes, self.n_read = stream, n_bytes, 0

    def read(self, n_bytes: int) -> bytes:
        if self.n_bytes is not None:
            return self.stream.read(min(n_bytes, self.n_bytes))
        pieces = []
        while n_bytes > 0 and (piece := self.stream.read(min(n_bytes, _PIECE))):
            n_bytes -= len(piece)
            self.n_read += len(piece)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell() if self.stream.seekable() else self.n_read

    def close(self) -> None:
        pass


def _make_seekable(pa: Any, source: Source, stream: IO[bytes]) -> tuple[Any, int]:
    """Return a file that can be read at any place, and its size; a compressed or piped one is held in memory."""
    if isinstance(stream, BufferedReader) and stream.seekable() and stream.tell() == 0:
        n_bytes = stream.seek(0, 2)
        stream.seek(0)
        return pa.PythonFile(_StreamHandle(stream, n_bytes), mode="r"), n_bytes
    content = bytearray()
    while piece := stream.read(_PIECE):
        content += piece
        if len(content) > LARGEST_TEXT:
            raise DatasetError(
                f"{display_name(source)}: more than {LARGEST_TEXT:,} bytes, packed or from a stream; Parquet and Arrow "
                "files are read from several places at once, so unpack it into a file of its own and name that."
            )
    return pa.BufferReader(pa.py_buffer(content)), len(content)
