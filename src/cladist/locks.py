"""Locks that the system frees when their process ends, however it ends: of temporary files, and of models' folders.

The lock of a temporary file tells whether it is in use or abandoned by a process that died. A process id in its name
could not: by now the number may belong to another process, or to one on another machine.

One process writes to a model's folder at a time: it locks a file in it, whose text is the id of the process. A folder
that does not exist yet is locked in the nearest folder above it.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cladist.errors import ModelFormatError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".cladist.lock"
TRIES, PAUSE = 5, 0.02  # a process that sweeps abandoned files holds their locks for a moment
_NAME = re.compile(r"\.cladist-([a-z]+)-[0-9a-f]{16}\.tmp", re.ASCII)
_NOT_INHERITED = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A link would lead elsewhere, and a pipe would wait for a writer.
_PLAIN_ONLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _NOT_INHERITED
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


def _is_file_at(fd: int, path: Path) -> bool:
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
        if try_lock_if_supported(fd) and _is_file_at(fd, path):
            return path, fd
        os.close(fd)  # another process swept it just before it was locked


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


def _if_abandoned(path: Path) -> Iterator[Path]:
    try:
        fd = os.open(path, os.O_RDONLY | _PLAIN_ONLY)
    except OSError:
        return
    try:
        with suppress(OSError):  # without locks, it may be in use
            if try_lock(fd) and _is_file_at(fd, path):
                yield path
    finally:
        os.close(fd)


def sweep(folder: Path, kind: str = "file") -> None:
    """Remove the abandoned temporary files of a kind."""
    for path in find_abandoned(folder, kind):
        with suppress(OSError):
            path.unlink()


_held: dict[Path, int] = {}  # the open files of all locks of this process
_turns: dict[Path, threading.RLock] = {}  # threads of one process take turns
_registry = threading.Lock()


@contextmanager
def lock_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing to a model's folder, or making it, while the block runs.

    A block inside another one of the same process and folder shares its lock. If another process has it, a
    `ModelFormatError` names that process; if no file can be made there, an `OSError` says so.
    """
    target = Path(folder).resolve()
    path = _lock_path(target)
    with _registry:
        turn = _turns.setdefault(path, threading.RLock())
    with turn:
        if path in _held:
            yield
            return
        sweep(target.parent, "lock")
        fd, owner = _acquire(path, folder), os.getpid()
        try:
            if _lock_path(target) == path:
                _held[path] = fd
                yield
                return
        finally:
            if os.getpid() == owner:  # a child forked inside the block does not hold it
                _held.pop(path, None)
                _release(path, fd)
    with lock_folder(folder):  # the folder was made meanwhile
        yield


def _lock_path(target: Path) -> Path:
    """Return the path of the lock file: in the folder, or in the nearest existing one above it."""
    if target.is_dir():
        return target / LOCK
    above = next(parent for parent in target.parents if parent.exists())
    return temporary_path(above, "lock", hashlib.blake2b(os.fsencode(target), digest_size=8).hexdigest())


def _acquire(path: Path, folder: object) -> int:
    """Open and lock the file; its last owner may be about to remove it, so check that it is still there."""
    for _ in range(TRIES):
        fd = _open(path)
        if try_lock_if_supported(fd) and _is_file_at(fd, path):
            with suppress(OSError):  # the lock works without the id, which is for messages
                os.ftruncate(fd, 0)
                os.lseek(fd, 0, os.SEEK_SET)
                os.write(fd, b"%d\n" % os.getpid())
            return fd
        owner = ""
        with suppress(OSError):
            os.lseek(fd, 0, os.SEEK_SET)
            if (text := os.read(fd, 20)).strip().isdigit():  # otherwise it is not written yet
                owner = f" (id {int(text)})"
        os.close(fd)
        time.sleep(PAUSE)
    raise ModelFormatError(
        f"{folder} is in use: another process{owner} writes to it; wait until that has ended, or choose another folder."
    )


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _PLAIN_ONLY, 0o666)
    except OSError as problem:
        if path.is_symlink():
            raise ModelFormatError(f"{path} is a link; remove it: it is no part of a model.") from None
        if path.exists():
            raise OSError(problem.errno, f"cannot be opened ({problem.strerror}); remove it", str(path)) from problem
        message = f"no file can be made in this folder ({problem.strerror})"
        raise OSError(problem.errno, message, str(path.parent)) from problem
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # the id would be written over something else
        os.close(fd)
        raise ModelFormatError(f"{path} is a link or a special file; remove it: it is no part of a model.")
    return fd


def _release(path: Path, fd: int) -> None:
    if os.name == "posix":
        if _is_file_at(fd, path):  # while it is locked: later the file may be another's
            path.unlink(missing_ok=True)
        os.close(fd)
        return
    os.close(fd)  # Windows removes no open file, and so none that another process has opened since
    with suppress(OSError):
        path.unlink()


def _forget() -> None:
    """Close the parent's locks in a forked child; they would not end with the parent otherwise."""
    global _registry
    for fd in _held.values():
        os.close(fd)
    _held.clear()
    _turns.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
