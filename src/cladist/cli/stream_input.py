"""The rows of a stream: lines as they come, and which of them a model has learnt before."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cladist.errors import DatasetError, ModelFormatError

READ_BYTES = 2**16  # what is read at once; the lines in it are answered together, so that none waits for more
LONGEST_LINE = 2**26  # bytes
DIGEST = 16  # bytes that stand for an id: two of a billion ids fall together with probability 1e-21


class Signals:
    """Notes that the process was asked to stop (SIGINT, SIGTERM) or to save (SIGHUP, SIGUSR1), without interrupting.

    While it waits for input, `ready` also returns when a signal comes.
    """

    STOP = ("SIGINT", "SIGTERM")
    SAVE = ("SIGHUP", "SIGUSR1")

    def __init__(self) -> None:
        self.stop = self.save = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        self._theirs, self._fd_before = theirs, signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        for names, handler in ((self.STOP, self._on_stop), (self.SAVE, self._on_save)):
            for name in names:
                number = getattr(signal, name, None)  # Windows lacks some
                if number is not None:
                    self._before[number] = signal.signal(number, handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        self._ours.close()
        self._theirs.close()

    def _on_stop(self, *_: Any) -> None:
        self.stop = True

    def _on_save(self, *_: Any) -> None:
        self.save = True

    def ready(self, fd: int) -> bool:
        """Wait until there is something to read, or a signal came; tell whether the former."""
        with suppress(OSError, ValueError):  # where files cannot be waited for, reading waits
            found, _, _ = select.select([fd, self._ours.fileno()], [], [])
            if self._ours.fileno() in found:
                self._ours.recv(4096)
            return fd in found
        return True


def line_batches(fd: int, signals: Signals) -> Iterator[list[bytes]]:
    """Yield the lines of a file or pipe, all that are there at once; nothing while there is only a signal."""
    rest = b""
    while not signals.stop:
        if not signals.ready(fd):
            yield []
            continue
        found = os.read(fd, READ_BYTES)
        if not found:
            if rest:
                yield [rest]
            return
        *lines, rest = (rest + found).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise DatasetError(
                f"The input has a line of more than {LONGEST_LINE:,} bytes; one JSON object a line is wanted."
            )
        if lines:
            yield lines


@dataclass
class Consumed:
    """How far a stream has been learnt: rows, and what tells them again.

    Rows that carry ids are known by them, in any order; otherwise the first so many lines of the input are, and
    `digest`, of all of them, tells whether they are the same.
    """

    rows: int = 0
    digest: bytes = b""
    out: str | None = None
    out_bytes: int = 0
    old_ids: npt.NDArray[np.bytes_] = field(default_factory=lambda: np.zeros(0, f"S{DIGEST}"))
    new_ids: set[bytes] = field(default_factory=set)

    @property
    def by_id(self) -> bool:
        """Whether rows are known by their ids."""
        return bool(len(self.old_ids) or self.new_ids)

    def knows(self, row_id: Any) -> bool:
        """Tell whether the row with this id has been consumed."""
        wanted = id_digest(row_id)
        if wanted in self.new_ids:
            return True
        at = int(np.searchsorted(self.old_ids, np.bytes_(wanted)))
        return at < len(self.old_ids) and self.old_ids[at] == wanted.rstrip(b"\0")

    def add(self, line: bytes, row_id: Any) -> None:
        """Count a row as consumed."""
        self.rows += 1
        if row_id is not None:
            self.new_ids.add(id_digest(row_id))
        else:
            self.digest = chained(self.digest, line)

    def noted(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what a model's notes hold of it."""
        if self.new_ids:
            more = np.array(list(self.new_ids), f"S{DIGEST}")
            self.old_ids = np.sort(np.concatenate([self.old_ids, more]))
            self.new_ids = set()
        notes = {"rows": self.rows, "digest": self.digest.hex(), "out": self.out, "out_bytes": self.out_bytes}
        ids = np.frombuffer(self.old_ids.tobytes(), np.uint8).reshape(-1, DIGEST)
        return notes, {"stream_ids": ids}

    @classmethod
    def of_notes(cls, notes: Any, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> Consumed:
        """Restore what `noted` gave; a model that no stream has fed has none."""
        if notes is None:
            return cls()
        ids = arrays.get("stream_ids", np.zeros((0, DIGEST), np.uint8))
        try:
            rows, digest = int(notes["rows"]), bytes.fromhex(notes["digest"])
            out, out_bytes = notes["out"], int(notes["out_bytes"])
            fits = rows >= 0 and out_bytes >= 0 and (out is None or isinstance(out, str))
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits or ids.dtype != np.uint8 or ids.ndim != 2 or ids.shape[1] != DIGEST:
            raise ModelFormatError(f"{folder}: what this model notes of its stream cannot be read.")
        old = np.sort(np.frombuffer(np.ascontiguousarray(ids).tobytes(), f"S{DIGEST}"))
        return cls(rows, digest, out, out_bytes, old)


def chained(digest: bytes, line: bytes) -> bytes:
    """Return the digest of some lines and one more."""
    return hashlib.blake2b(digest + line.rstrip(b"\r"), digest_size=DIGEST).digest()


def id_digest(row_id: Any) -> bytes:
    """Return what stands for an id, in a run and in a model's notes: 1, 1.0, true and "1" are four ids.

    Examples
    --------
    >>> len({id_digest(row_id) for row_id in (1, 1.0, True, "1")})
    4
    """
    return hashlib.blake2b(repr(row_id).encode(), digest_size=DIGEST).digest()
