"""Open files: for reading with decompression, progress, encodings and limits, for writing whole or not at all.

A fault becomes an error of the class that the caller names, in one sentence.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike, fsencode, fspath, fstat, replace
from pathlib import Path
from shutil import copymode
from typing import IO, Any, NoReturn

from cladist import progress
from cladist.errors import CladistError, DatasetError, TaxonomyError
from cladist.locks import make_temporary, sweep

Source = str | PathLike[str] | IO[bytes]
ErrorClass = type[CladistError]

LONGEST_LINE = 64 * 2**20  # bytes; a line is one row or one document, and the longest books have a few megabytes
LARGEST_TEXT = 2**28  # bytes, unpacked, of a file that is read whole, such as JSON or a taxonomy
CHUNK_BYTES = 1 << 22  # large enough that the calls cost nothing, small enough for memory
PACKED_ENDINGS = (".gz", ".xz", ".bz2")  # a file of such a name is written compressed; reading goes by content

_BLOCK = 1 << 18
_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
}
_PACKERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile("", "wb", fileobj=raw, mtime=0),  # no name and no time: equal content, equal file
    ".xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115 - the caller is the context manager
    ".bz2": lambda raw: bz2.BZ2File(raw, "wb"),
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16 and UTF-32


def display_name(source: Source) -> str:
    """Return the name of a path or stream for messages."""
    if isinstance(source, (str, PathLike)):
        return fspath(source)
    return str(getattr(source, "name", "the stream"))


def data_suffix(source: Source) -> str:
    """Return the ending of a file's name without the ending of a compression: ``.csv`` of ``train.CSV.gz``."""
    path = Path(display_name(source))
    if path.suffix.lower() in PACKED_ENDINGS:
        path = path.with_suffix("")
    return path.suffix.lower()


def refuse(
    source: Source, line: int | None, column: int | str | None, problem: str, *, kind: str | None = None
) -> NoReturn:
    """Raise a `DatasetError` that names file, line and column; a text column is named in quotes."""
    raise DatasetError.at(display_name(source), line, column, problem, kind=kind)


@contextmanager
def name_source(source: Source) -> Iterator[None]:
    """Put the name of a file in front of the `TaxonomyError`s of the block that do not name one."""
    try:
        yield
    except TaxonomyError as problem:
        name = display_name(source)
        if problem.file is not None or str(problem).startswith(name):
            raise
        place = {"line": problem.line, "column": problem.column, "kind": problem.kind}
        raise TaxonomyError(f"{name}: {problem}", file=name, **place) from None  # type: ignore[arg-type]


@contextmanager
def open_for_reading(source: Source, *, error: ErrorClass = DatasetError) -> Iterator[IO[bytes]]:
    """Open a path or binary stream for reading bytes; gzip, xz and bzip2 are recognised by their first bytes.

    The part of a file that has been read is reported as progress. Errors of the file system and of decompression, also
    inside the block, become an `error`.
    """
    name = display_name(source)
    try:
        if not isinstance(source, (str, PathLike)):
            _check_stream(source, error)
            yield _unpack(source if hasattr(source, "peek") else io.BufferedReader(_ReadOnlyStream(source)))
            return
        check_name(name, error)
        with open(name, "rb", buffering=0) as raw:
            size = fstat(raw.fileno()).st_size
            with progress.task(f"Reading {Path(name).name}", total=size or None, unit="bytes") as task:
                yield _unpack(io.BufferedReader(_ReportingFile(raw, task), _BLOCK))
    except FileNotFoundError as problem:
        raise error(f"{name}: there is no such file.") from problem
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as problem:
        raise error(f"{name}: the compressed file is damaged or cut short ({problem}).") from problem
    except OSError as problem:
        raise error(f"{name}: cannot be read ({problem}).") from problem


def check_name(name: str, error: ErrorClass) -> None:
    """Raise an `error` unless a file can have this name."""
    try:
        encoded = fsencode(name)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise error(f"{name!r}: no file can have this name; it has a null byte or half a character in it.")


def _check_stream(source: Any, error: ErrorClass) -> None:
    if not hasattr(source, "read"):
        raise error(f"Wanted a path or a stream of bytes to read from, got {type(source).__name__}.")
    if getattr(source, "closed", False):
        raise error(f"{display_name(source)}: cannot be read (the stream is closed).")


class _ReadOnlyStream(io.RawIOBase):
    """A stream that only has `read`, as a raw file for a buffer."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.stream.read(len(buffer))
        if not isinstance(block, bytes):
            raise OSError("a stream of bytes is wanted, as open(…, 'rb') gives it")
        buffer[: len(block)] = block
        return len(block)


class _ReportingFile(io.RawIOBase):
    """A raw file that reports to a task how much of it was read."""

    def __init__(self, raw: io.FileIO, task: progress.Task) -> None:
        self.raw, self.task = raw, task

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_bytes = self.raw.readinto(buffer) or 0
        self.task.advance(n_bytes)
        return n_bytes

    def seekable(self) -> bool:
        return self.raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self.raw.seek(offset, whence)

    def tell(self) -> int:
        return self.raw.tell()


def _unpack(stream: Any) -> IO[bytes]:
    head = stream.peek(8)
    unpack = next((unpack for mark, unpack in _OPENERS.items() if head.startswith(mark)), None)
    unpacked: IO[bytes] = unpack(stream) if unpack else stream
    return unpacked


def iterate_byte_lines(
    source: Source, stream: IO[bytes], *, error: ErrorClass = DatasetError
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a stream with their numbers from 1, without a byte order mark.

    Line ends are kept. A line longer than `LONGEST_LINE` is refused when that much of it has been read.
    """
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise error(_describe_long_line(source, number))
        yield number, (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line)


def iterate_text_lines(
    source: Source, stream: IO[bytes], *, error: ErrorClass = DatasetError
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 stream with their numbers from 1; line ends are kept."""
    for number, raw in iterate_byte_lines(source, stream, error=error):
        yield number, decode(source, raw, number, error=error)


def decode(source: Source, raw: bytes | bytearray, first_line: int = 1, *, error: ErrorClass = DatasetError) -> str:
    """Return bytes as text; bytes that are not UTF-8 are an `error` with their line, counted from `first_line`."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = first_line + raw.count(b"\n", 0, problem.start)
        column = problem.start - raw.rfind(b"\n", 0, problem.start)
        wide = " (it looks like UTF-16)" if line == 1 and raw.startswith(_WIDE_MARKS) else ""
        raise error(
            f"{display_name(source)}, line {line}, column {column}: byte 0x{raw[problem.start]:02x} is not UTF-8{wide};"
            " save the file as UTF-8."
        ) from None


def iterate_chunks(
    source: Source, stream: IO[bytes], *, first_line: int = 1, error: ErrorClass = DatasetError
) -> Iterator[bytes]:
    """Yield a stream in chunks of some megabytes that each end with a line feed, for compiled parsers.

    `first_line` is the number of the next line, for messages; a byte order mark is removed only from line 1.
    """
    rest: list[bytes] = []
    mark = _BYTE_ORDER_MARK if first_line == 1 else b""
    while block := stream.read(CHUNK_BYTES):
        block, mark = block.removeprefix(mark), b""
        cut = block.rfind(b"\n") + 1
        if cut:
            chunk = b"".join([*rest, memoryview(block)[:cut]])
            rest = [block[cut:]]
            del block  # while the caller works on the chunk
            yield chunk
            first_line += chunk.count(b"\n")
        else:
            rest.append(block)
        if sum(map(len, rest)) > LONGEST_LINE:
            raise error(_describe_long_line(source, first_line))
    if any(rest):
        yield b"".join([*rest, b"\n"])


def read_text(source: Source, *, error: ErrorClass = DatasetError) -> str:
    """Read a UTF-8 file whole, without its byte order mark; line ends are kept."""
    content = bytearray()
    with open_for_reading(source, error=error) as stream:
        while block := stream.read(_BLOCK):  # a large read would allocate its whole size, also for a small file
            content += block
            if len(content) - max(content.rfind(b"\n", -LONGEST_LINE), 0) > LONGEST_LINE:
                raise error(_describe_long_line(source, content.count(b"\n") + 1))
            if len(content) > LARGEST_TEXT:
                raise error(
                    f"{display_name(source)}: longer than {LARGEST_TEXT:,} bytes, the most that is read at once."
                )
    text = decode(source, content.removeprefix(_BYTE_ORDER_MARK), error=error)
    if "\0" in text:
        line = text.count("\n", 0, text.find("\0")) + 1
        raise error(f"{display_name(source)}, line {line}: a byte 0, which no text has; save the file as UTF-8 text.")
    return text


def _describe_long_line(source: Source, number: int) -> str:
    return (
        f"{display_name(source)}, line {number}: the line is longer than {LONGEST_LINE:,} bytes; "
        "if the file is text, check that its lines end with a line feed."
    )


@contextmanager
def open_for_writing(path: str | PathLike[str], *, error: ErrorClass = DatasetError) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes, which appears under its name only if the block ends without an error.

    An ending .gz, .xz or .bz2 compresses it.
    """
    check_name(str(path), error)
    try:
        with open_replacement(path) as raw:
            pack = _PACKERS.get(Path(path).suffix.lower())
            if pack is None:
                yield raw
            else:
                with pack(raw) as packed:
                    yield packed
    except OSError as problem:
        raise error(f"{fspath(path)}: cannot be written ({problem}).") from problem


@contextmanager
def open_replacement(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` only if the block ends without an error, with the same permissions.

    A link is kept, and its target is replaced. A device or a pipe is written to directly.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with io.BufferedWriter(NamedFile(target, "w", name=fspath(path))) as stream:
            yield stream
        return
    sweep(target.parent)
    with make_temporary(target.parent, "file") as temporary_path:  # a short name: the target's may be long
        with io.BufferedWriter(NamedFile(temporary_path, "w", name=fspath(path))) as stream:
            yield stream
        if target.exists():
            copymode(target, temporary_path)
        replace(temporary_path, target)


class NamedFile(io.FileIO):
    """A raw file whose errors in writing name the file that the user knows, not the temporary one."""

    def __init__(self, path: str | PathLike[str], mode: str, *, name: str) -> None:
        super().__init__(path, mode)
        self.shown = name

    def write(self, content: Any, /) -> int:
        """Write bytes, and return how many were written."""
        with name_errors(self.shown):
            return super().write(content)


@contextmanager
def name_errors(name: str | PathLike[str]) -> Iterator[None]:
    """Add a file's name to system errors that have none, such as that of a full disk."""
    try:
        yield
    except OSError as problem:
        if problem.filename is None and problem.errno is not None:
            problem.filename = fspath(name)
        raise
