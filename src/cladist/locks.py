"""Locks that the system frees when their process ends, however it ends, and temporary files that hold one.

Whether a temporary file is in use or was left by a process that died is told by its lock. A process id in its name
could not tell: the number may belong to another process by now, or to one on another machine.
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
_FAR = 2**30  # the byte that is locked where single bytes are; nothing is written there, so all others can be read


def try_lock(fd: int) -> bool:
    """Lock an open file or folder without waiting; return False if another process has it locked.

    The lock ends when the file is closed in every process that has it from this one. A file system that knows no
    locks raises an `OSError`.
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


def lock_if_known(fd: int) -> bool:
    """Do as `try_lock`, and return True where the file system knows no locks: nobody is kept out there."""
    try:
        return try_lock(fd)
    except OSError:
        return True


def is_at(fd: int, path: Path) -> bool:
    """Tell whether the open file still is the one that a path names: it may have been removed before it was locked."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    return False


def temporary_path(folder: Path, kind: str, token: str | None = None) -> Path:
    """Return a name for a temporary file in a folder, by a token of 16 hexadecimal digits, or new each time."""
    return folder / f".cladist-{kind}-{token or secrets.token_hex(8)}.tmp"


@contextmanager
def temporary(folder: Path, kind: str) -> Iterator[Path]:
    """Make a file, or for the kind "model" a folder, that is locked while the block runs and removed after it.

    If the process is killed, it stays, and `left_over` finds it.

    Examples
    --------
    >>> with temporary(Path(), "file") as path:
    ...     path.exists(), list(left_over(Path(), "file"))
    (True, [])
    >>> path.exists()
    False
    """
    path, fd = _made(folder, kind)
    try:
        yield path
    finally:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        if fd is not None:
            os.close(fd)


def left_over(folder: Path, kind: str) -> Iterator[Path]:
    """Yield the temporary files of a kind that processes left which ended before they could remove them.

    Each is locked until the next is asked for. Where there are no locks, none are found.
    """
    if sys.platform == "win32":  # an open folder cannot be locked there, nor an open file replaced
        return
    with suppress(OSError):
        for name in os.listdir(folder):
            found = _NAME.fullmatch(name)
            if found and found[1] == kind:
                yield from _if_left(folder / name)


def sweep(folder: Path, kind: str = "file") -> None:
    """Remove the temporary files of a kind that processes left which ended early."""
    for path in left_over(folder, kind):
        with suppress(OSError):
            path.unlink()


def _if_left(path: Path) -> Iterator[Path]:
    try:
        fd = os.open(path, os.O_RDONLY | PLAIN_ONLY)
    except OSError:
        return
    try:
        with suppress(OSError):  # no locks here: who knows whether it is in use
            if try_lock(fd) and is_at(fd, path):
                yield path
    finally:
        os.close(fd)


def _made(folder: Path, kind: str) -> tuple[Path, int | None]:
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
        if lock_if_known(fd) and is_at(fd, path):
            return path, fd
        os.close(fd)  # somebody swept it in the moment before it was locked
