"""One writer a folder: the system locks a file in it for one process, and the file's text is that process's id.

The lock ends with its process, so one that was killed keeps nobody out. A folder that is yet to be made is locked in
the nearest folder above it.
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
from cladist.locks import PLAIN_ONLY, is_at, lock_if_known, sweep, temporary_path

LOCK = ".cladist.lock"
TRIES, PAUSE = 5, 0.02  # who sweeps files of dead processes has their locks for a moment

_held: dict[Path, int] = {}  # the file of every lock that this process has
_turns: dict[Path, threading.RLock] = {}  # threads of one process take turns
_registry = threading.Lock()


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Let no other process write to a model's folder, or make it, while the block runs.

    A block inside another of the same process and folder has the lock already.

    Raises
    ------
    ModelFormatError
        If another process has it; the message has its id.
    OSError
        If no file can be made there.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with locked(folder):
    ...     int(Path(folder, LOCK).read_text()) == os.getpid()
    True
    >>> os.listdir(folder)
    []
    """
    target = Path(folder).resolve()
    place = _place(target)
    with _turn(place):
        if place in _held:
            yield
            return
        sweep(target.parent, "lock")
        fd = _taken(place, folder)
        if _place(target) == place:
            with _kept(place, fd):
                yield
            return
        _release(place, fd)
    with locked(folder):  # the folder was made meanwhile
        yield


@contextmanager
def _kept(place: Path, fd: int) -> Iterator[None]:
    owner = os.getpid()
    _held[place] = fd
    try:
        yield
    finally:
        if os.getpid() == owner:  # a child that was forked inside the block has lost it
            del _held[place]
            _release(place, fd)


def _place(target: Path) -> Path:
    """Return the file that is locked: in the folder, or, where there is none, in the nearest one above."""
    if target.is_dir():
        return target / LOCK
    above = next(parent for parent in target.parents if parent.exists())
    token = hashlib.blake2b(os.fsencode(target), digest_size=8).hexdigest()
    return temporary_path(above, "lock", token)


@contextmanager
def _turn(place: Path) -> Iterator[None]:
    with _registry:
        turn = _turns.setdefault(place, threading.RLock())
    with turn:
        yield


def _taken(place: Path, folder: object) -> int:
    """Open and lock the file; whoever had it last may be about to remove it, so look again whether it is there."""
    for _ in range(TRIES):
        fd = _opened(place)
        if lock_if_known(fd) and is_at(fd, place):
            with suppress(OSError):  # without the id messages say less, and the lock is as good
                os.ftruncate(fd, 0)
                os.lseek(fd, 0, os.SEEK_SET)
                os.write(fd, b"%d\n" % os.getpid())
            return fd
        writer = _writer(fd)
        os.close(fd)
        time.sleep(PAUSE)
    raise ModelFormatError(
        f"{folder} is in use: another process{writer} writes to it; wait until that has ended, or choose another "
        "folder."
    )


def _opened(place: Path) -> int:
    try:
        fd = os.open(place, os.O_RDWR | os.O_CREAT | PLAIN_ONLY, 0o666)
    except OSError as problem:
        if place.is_symlink():
            raise ModelFormatError(f"{place} is a link; remove it: it stands for nothing in a model.") from None
        if place.exists():
            raise OSError(problem.errno, f"cannot be opened ({problem.strerror}); remove it", str(place)) from problem
        said = f"no file can be made in this folder ({problem.strerror})"
        raise OSError(problem.errno, said, str(place.parent)) from problem
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # its text would be written over something else
        os.close(fd)
        raise ModelFormatError(f"{place} is a link or a special file; remove it: it stands for nothing in a model.")
    return fd


def _writer(fd: int) -> str:
    """Return the id in a lock file, in words; none if it is about to be written."""
    with suppress(OSError):
        os.lseek(fd, 0, os.SEEK_SET)
        text = os.read(fd, 20)
        if text.strip().isdigit():
            return f" (id {int(text)})"
    return ""


def _release(place: Path, fd: int) -> None:
    if os.name == "posix":
        if is_at(fd, place):  # while it is locked: later the file may be another's
            place.unlink(missing_ok=True)
        os.close(fd)
        return
    os.close(fd)  # Windows removes no open file, and so none that another process has opened since
    with suppress(OSError):
        place.unlink()


def _forget() -> None:
    """Give up in a forked child the locks of its parent, which would not end with the parent otherwise."""
    global _registry
    for fd in _held.values():
        os.close(fd)
    _held.clear()
    _turns.clear()
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
