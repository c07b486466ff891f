"""Locks that the system frees when their process ends, however it ends, and temporary files that hold one.

The lock of a temporary file tells whether it is in use or abandoned by a process that died. A process id in its name
could not: by now the number may belong to another process, or to one on another machine.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NAME = re.compile(r"\.cladist-([a-z]+)-[0-9a-f]{16}\.tmp", re.ASCII)
_NOT_INHERITED = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A link would lead elsewhere, and a pipe would wait for a writer.
PLAIN_ONLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _NOT_INHERITED
_FAR = 2**30  # the byte that Windows locks: nothing is written there, so that the file itself can be read


def try_lock(fd: int) -> bool:
    """Lock an open file or folder without waiting; return False if another process has it locked.

    The lock ends when the file is closed in every process that inherited it. A file system without locks raises an
    `OSError`.
    """
    try:
        if sys.platform == "win32":
            os.lseek(fd, _FAR, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def try_lock_if_supported(fd: int) -> bool:
    """Do as `try_lock`, and return True if the file system has no locks."""
    try:
        return try_lock(fd)
    except OSError:
        return True


def is_file_at(fd: int, path: Path) -> bool:
    """Tell whether an open file is still the one at a path: it may have been removed before it was locked."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    return False


def temporary_path(folder: Path, kind: str, token: str | None = None) -> Path:
    """Return a path for a temporary file in a folder, by a token of 16 hexadecimal digits, or new each time."""
    return folder / f".cladist-{kind}-{token or secrets.token_hex(8)}.tmp"


@contextmanager
def make_temporary(folder: Path, kind: str) -> Iterator[Path]:
    """Make a file, or for the kind "model" a folder, that is locked while the block runs and removed after it.

    If the process is killed, it stays, and `find_abandoned` finds it.

    Examples
    --------
    >>> with make_temporary(Path(), "file") as path:
    ...     path.exists(), list(find_abandoned(Path(), "file"))
    (True, [])
    >>> path.exists()
    False
    """
    path, fd = _create(folder, kind)
    try:
        yield path
    finally:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        if fd is not None:
            os.close(fd)


def find_abandoned(folder: Path, kind: str) -> Iterator[Path]:
    """Yield the temporary files of a kind whose processes ended before they removed them.

    Each is locked until the next is asked for. Without locks, none are found.
    """
    if sys.platform == "win32":  # an open folder cannot be locked there, nor an open file replaced
        return
    with suppress(OSError):
        for name in os.listdir(folder):
            match = _NAME.fullmatch(name)
            if match and match[1] == kind:
                yield from _if_abandoned(folder / name)


def sweep(folder: Path, kind: str = "file") -> None:
    """Remove the abandoned temporary files of a kind."""
    for path in find_abandoned(folder, kind):
        with suppress(OSError):
            path.unlink()


def _if_abandoned(path: Path) -> Iterator[Path]:
    try:
        fd = os.open(path, os.O_RDONLY | PLAIN_ONLY)
    except OSError:
        return
    try:
        with suppress(OSError):  # without locks, it may be in use
            if try_lock(fd) and is_file_at(fd, path):
                yield path
    finally:
        os.close(fd)


def _create(folder: Path, kind: str) -> tuple[Path, int | None]:
    while True:
        path = temporary_path(folder, kind)
        if kind == "model":
            path.mkdir()
            if sys.platform == "win32":
                return path, None
            fd = os.open(path, os.O_RDONLY | _NOT_INHERITED)
        else:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOT_INHERITED, 0o666)
            if sys.platform == "win32":
                os.close(fd)
                return path, None
        if try_lock_if_supported(fd) and is_file_at(fd, path):
            return path, fd
        os.close(fd)  # another process swept it just before it was locked
