"""Arrays in temporary files without a name: room for what does not fit into memory, until it is dropped.

They are written by calls of the system, so that a full disk is an error at once, and read through a memory map, so that
the system decides which parts are in memory.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cladist.errors import TooLargeError
from cladist.files import name_errors

IN_MEMORY = 2**26  # bytes; larger arrays go to a file without a name, which ends with its last reader

_folder: ContextVar[str | None] = ContextVar("cladist_scratch", default=None)


@contextmanager
def scratch_in(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Put the temporary files of this block into a folder; None: into that of `tempfile`, which TMPDIR names."""
    token = _folder.set(None if folder is None else os.fspath(folder))
    try:
        yield
    finally:
        _folder.reset(token)


def scratch_folder() -> str:
    """Return the folder of temporary files."""
    return _folder.get() or tempfile.gettempdir()


class ScratchArray:
    """An array in a temporary file, which is written in pieces of its first axis and disappears when nobody uses it.

    Examples
    --------
    >>> numbers = ScratchArray((3,), np.float32)
    >>> numbers.write(1, np.ones(2))
    >>> numbers.array.tolist()
    [0.0, 1.0, 1.0]
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self.shape, self.dtype, self.lock = shape, np.dtype(dtype), Lock()
        size = prod(shape) * self.dtype.itemsize
        folder = scratch_folder()
        # Unbuffered, so that a piece is on its way to the disk when `write` returns.
        self.file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - it lives as long as the array
        try:
            if hasattr(os, "posix_fallocate") and size:
                os.posix_fallocate(self.file.fileno(), 0, size)
            else:
                self.file.truncate(size)
        except OSError as problem:
            self.file.close()
            raise TooLargeError(
                f"{size / 2**30:.1f} GiB for a temporary file do not fit into {folder} ({problem.strerror}); name a "
                "folder on a larger disk with the environment variable TMPDIR."
            ) from problem
        map_ = mmap.mmap(self.file.fileno(), size) if size else bytearray()
        self.array: NDArray[Any] = np.frombuffer(map_, self.dtype).reshape(shape)

    def __del__(self) -> None:
        self.file.close()  # the map stays while it is used

    def write(self, start: int, piece: NDArray[Any]) -> None:
        """Write a piece of the array that begins at `start` on the first axis."""
        raw = np.ascontiguousarray(piece, self.dtype).reshape(-1).view(np.uint8).data
        with self.lock:
            self.file.seek(start * prod(self.shape[1:]) * self.dtype.itemsize)
            while len(raw):  # the system writes up to two gigabytes at once
                raw = raw[self.file.write(raw) :]


class Spool:
    """An array that grows piece by piece, in memory while it is small and in a temporary file beyond that."""

    def __init__(self, dtype: DTypeLike, *, in_memory: int = IN_MEMORY) -> None:
        self.dtype, self.in_memory = np.dtype(dtype), in_memory
        self.folder, self.length = scratch_folder(), 0
        self._pieces: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None

    def append(self, piece: NDArray[Any]) -> int:
        """Append a piece; return where it begins."""
        piece = np.ascontiguousarray(piece, self.dtype)
        start, self.length = self.length, self.length + len(piece)
        self._pieces.append(piece)
        if self._file is None and self.length * self.dtype.itemsize > self.in_memory:
            self._file = tempfile.TemporaryFile(prefix="cladist-", dir=self.folder)  # noqa: SIM115 - it lives as long as its array
        if self._file is not None:
            with name_errors(self.folder):
                self._file.writelines(part.data for part in self._pieces)
            self._pieces = []
        return start

    def array(self) -> NDArray[Any]:
        """Return all pieces as one array, mapped if it is in a file; nothing can be appended later."""
        if self._file is None:
            return np.concatenate([np.zeros(0, self.dtype), *self._pieces])
        with name_errors(self.folder), self._file as file:  # mapped, it stays until the array goes
            file.flush()
            return np.memmap(file, self.dtype, "r", shape=(self.length,))

    def close(self) -> None:
        """Drop all pieces if they are no array yet."""
        if self._file is not None:
            self._file.close()
