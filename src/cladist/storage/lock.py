"""One writer per folder: the system locks a file in it for one process, whose id is the text of the file.

The lock ends with its process, even if that is killed. A folder that does not exist yet is locked in the nearest folder
above it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cladist.errors import ModelFormatError
from cladist.locks import PLAIN_ONLY, is_file_at, sweep, temporary_path, try_lock_if_supported

LOCK = ".cladist.lock"
TRIES, PAUSE = 5, 0.02  # a process that sweeps abandoned files holds their locks for a moment

_held: dict[Path, int] = {}  # the open files of all locks of this process
_turns: dict[Path, threading.RLock] = {}  # threads of one process take turns
_registry = threading.Lock()


@contextmanager
def lock_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing to a model's folder, or making it, while the block runs.

    A block inside another one of the same process and folder shares its lock.

    Raises
    ------
    ModelFormatError
        If another process has the lock; the message has its id.
    OSError
        If no file can be made there.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with lock_folder(folder):
    ...     int(Path(folder, LOCK).read_text()) == os.getpid()
    True
    >>> os.listdir(folder)
    []
    """
    target = Path(folder).resolve()
    path = _lock_path(target)
    with _turn(path):
        if path in _held:
            yield
            return
        sweep(target.parent, "lock")
        fd = _acquire(path, folder)
        if _lock_path(target) == path:
            with _hold(path, fd):
                yield
            return
        _release(path, fd)
    with lock_folder(folder):  # the folder was made meanwhile
        yield


@contextmanager
def _hold(path: Path, fd: int) -> Iterator[None]:
    owner = os.getpid()
    _held[path] = fd
    try:
        yield
    finally:
        if os.getpid() == owner:  # a child forked inside the block does not hold it
            del _held[path]
            _release(path, fd)


def _lock_path(target: Path) -> Path:
    """Return the path of the lock file: in the folder, or in the nearest existing one above it."""
    if target.is_dir():
        return target / LOCK
    above = next(parent for parent in target.parents if parent.exists())
    token = hashlib.blake2b(os.fsencode(target), digest_size=8).hexdigest()
    return temporary_path(above, "lock", token)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    with _registry:
        turn = _turns.setdefault(path, threading.RLock())
    with turn:
        yield


def _acquire(path: Path, folder: object) -> int:
    """Open and lock the file; its last owner may be about to remove it, so check that it is still there."""
    for _ in range(TRIES):
        fd = _open(path)
        if try_lock_if_supported(fd) and is_file_at(fd, path):
            with suppress(OSError):  # the lock works without the id, which is for messages
                os.ftruncate(fd, 0)
                os.lseek(fd, 0, os.SEEK_SET)
                os.write(fd, b"%d\n" % os.getpid())
            return fd
        owner = _describe_owner(fd)
        os.close(fd)
        time.sleep(PAUSE)
    raise ModelFormatError(
        f"{folder} is in use: another process{owner} writes to it; wait until that has ended, or choose another folder."
    )


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | PLAIN_ONLY, 0o666)
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


def _describe_owner(fd: int) -> str:
    """Return the id in a lock file, in words; "" if it is not written yet."""
    with suppress(OSError):
        os.lseek(fd, 0, os.SEEK_SET)
        text = os.read(fd, 20)
        if text.strip().isdigit():
            return f" (id {int(text)})"
    return ""


def _release(path: Path, fd: int) -> None:
    if os.name == "posix":
        if is_file_at(fd, path):  # while it is locked: later the file may be another's
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
