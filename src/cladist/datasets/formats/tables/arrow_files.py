"""Parquet and Arrow files, opened by pyarrow and read one record batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import SEEK_SET, BufferedReader
from typing import IO, Any

from cladist.errors import CladistError, DatasetError
from cladist.files import LARGEST_TEXT, Source, shown_name
from cladist.files.delimited import MOST_COLUMNS

BATCH_ROWS, BATCH_BYTES = 4096, 2**22  # of Parquet, held at once
# A row of nothing takes no bytes in these formats, and one of a text seen before a few bits: more rows a byte than this
# are a promise that only costs the one who believes it.
ROWS_A_BYTE = 10_000
_PIECE = 2**20


@dataclass
class ArrowFile:
    """An open file: its schema, and the record batches of some of its columns."""

    schema: Any
    batches: Callable[[list[str]], Iterator[Any]]
    n_bytes: Callable[[], int]
    n_rows: int | None = None  # where the file says it in advance


def pyarrow(name: str) -> Any:
    """Return pyarrow, or say how it is installed; `name` is what it is wanted for."""
    try:
        return import_module("pyarrow")
    except ImportError as problem:
        raise DatasetError(
            f"{name}: Parquet and Arrow files need pyarrow, which is not installed; pip install 'cladist[tables]' "
            "brings it."
        ) from problem


@contextmanager
def explained(source: Source) -> Iterator[None]:
    """Turn whatever pyarrow complains about inside the block into a `DatasetError`."""
    try:
        yield
    except CladistError:
        raise
    except Exception as problem:  # a damaged file can raise anything from a KeyError to a MemoryError
        lines = str(problem).strip().splitlines()
        reason = lines[0][:200].rstrip(".") if lines else type(problem).__name__
        raise DatasetError(f"{shown_name(source)}: damaged, cut short or not of this format ({reason}).") from problem


def check_promise(source: Source, n_rows: int, n_bytes: int) -> None:
    """Refuse more rows than so few bytes can honestly hold."""
    if n_rows > ROWS_A_BYTE * n_bytes:
        raise DatasetError(
            f"{shown_name(source)}: promises {n_rows:,} rows in {n_bytes:,} bytes; it is not to be trusted."
        )


def open_parquet(source: Source, stream: IO[bytes]) -> ArrowFile:
    """Open a Parquet file; the rows it promises are compared with its size before any is read."""
    pa = pyarrow(shown_name(source))
    with explained(source):
        raw, n_bytes = _whole(pa, source, stream)
        # No buffers: a page that promises two gigabytes would get one of that size. What is held instead are the
        # bytes of one row group's columns, packed as they are in the file.
        file = import_module("pyarrow.parquet").ParquetFile(
            raw, pre_buffer=False, buffer_size=0, thrift_container_size_limit=4 * MOST_COLUMNS
        )
        groups = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
        counts = [int(group.num_rows) for group in groups]
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
    if min(counts, default=0) < 0 or sum(counts) != n_rows:
        raise DatasetError(
            f"{shown_name(source)}: damaged (its parts do not add up to the {n_rows:,} rows it promises)."
        )
    check_promise(source, n_rows, n_bytes)

    def batches(columns: list[str]) -> Iterator[Any]:
        for g, group in enumerate(groups):
            bytes_a_row = max(group.total_byte_size, 0) // max(group.num_rows, 1)
            size = min(max(BATCH_BYTES // (bytes_a_row + 1), 1), BATCH_ROWS)
            yield from file.iter_batches(size, row_groups=[g], columns=columns, use_threads=False)

    return ArrowFile(schema, batches, lambda: n_bytes, n_rows)


def open_arrow(source: Source, stream: IO[bytes]) -> ArrowFile:
    """Open an Arrow file (Feather version 2) or an Arrow stream, which its first bytes tell apart."""
    pa = pyarrow(shown_name(source))
    ipc = import_module("pyarrow.ipc")
    if stream.peek(6)[:6] == b"ARROW1":  # type: ignore[attr-defined]
        with explained(source):
            raw, n_bytes = _whole(pa, source, stream)
            schema = ipc.open_file(raw).schema

        def batches(columns: list[str]) -> Iterator[Any]:
            wanted = sorted({schema.names.index(column) for column in columns})
            file = ipc.open_file(raw, options=ipc.IpcReadOptions(included_fields=wanted, use_threads=False))
            return (file.get_batch(k) for k in range(file.num_record_batches))

        return ArrowFile(schema, batches, lambda: n_bytes)
    handle = _Handle(stream)
    with explained(source):
        reader = ipc.open_stream(pa.PythonFile(handle, mode="r"))
    return ArrowFile(reader.schema, lambda columns: iter(reader), lambda: handle.n_read)


class _Handle:
    """A stream as pyarrow wants it. It is not pyarrow's to close, and a promised size takes no memory by itself."""

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


def _whole(pa: Any, source: Source, stream: IO[bytes]) -> tuple[Any, int]:
    """Return a file that can be read from anywhere, and its size; what is packed or piped is held in memory."""
    if isinstance(stream, BufferedReader) and stream.seekable() and stream.tell() == 0:
        n_bytes = stream.seek(0, 2)
        stream.seek(0)
        return pa.PythonFile(_Handle(stream, n_bytes), mode="r"), n_bytes
    content = bytearray()
    while piece := stream.read(_PIECE):
        content += piece
        if len(content) > LARGEST_TEXT:
            raise DatasetError(
                f"{shown_name(source)}: more than {LARGEST_TEXT:,} bytes, packed or from a stream; Parquet and Arrow "
                "files are read from several places at once, so unpack it into a file of its own and name that."
            )
    return pa.BufferReader(pa.py_buffer(content)), len(content)
