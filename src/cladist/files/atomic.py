"""Write files that appear whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath, replace
from pathlib import Path
from shutil import copymode
from typing import IO, Any

from cladist.errors import DatasetError
from cladist.files.open import ErrorClass, check_name
from cladist.locks import make_temporary, sweep

_PACKERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile("", "wb", fileobj=raw, mtime=0),  # no name and no time: equal content, equal file
    ".xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115 - the caller is the context manager
    ".bz2": lambda raw: bz2.BZ2File(raw, "wb"),
}


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
