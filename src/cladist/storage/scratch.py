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
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cladist.errors import TooLargeError

_folder: ContextVar[str | None] = ContextVar("cladist_scratch", default=None)


@contextmanager
def scratch_in(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Put the temporary files of this block into a folder; None: into that of `tempfile`, which TMPDIR names."""
    token = _folder.set(None if folder is None else os.fspath(folder))
    try:
        yield
    finally:
        _folder.reset(token)


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
        folder = _folder.get() or tempfile.gettempdir()
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


class ScratchStream:
    """A temporary file to which pieces of an array are appended until it is complete.

    Examples
    --------
    >>> stream = ScratchStream(np.int64)
    >>> for piece in ([1, 2], [], [3]):
    ...     stream.append(np.array(piece))
    >>> stream.array().tolist()
    [1, 2, 3]
    >>> stream.close()
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype, self.length = np.dtype(dtype), 0
        self.file = tempfile.TemporaryFile(dir=_folder.get())  # noqa: SIM115 - `close` closes it

    def append(self, piece: NDArray[Any]) -> None:
        """Write a piece at the end."""
        self.file.write(np.ascontiguousarray(piece, self.dtype).reshape(-1).view(np.uint8).data)
        self.length += len(piece)

    def array(self) -> NDArray[Any]:
        """Return all pieces as one mapped array, which stays when the stream is closed."""
        self.file.flush()
        size = self.length * self.dtype.itemsize
        map_ = mmap.mmap(self.file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
        return np.frombuffer(map_, self.dtype)

    def close(self) -> None:
        """Close the file, which removes it."""
        self.file.close()
