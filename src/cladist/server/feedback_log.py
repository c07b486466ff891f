"""`FeedbackLog`: corrections, one per line, that outlive the process that wrote them.

The file is only appended to. Each line is the checksum of all lines up to it and a JSON object, so that a line that was
altered, removed or moved is noticed. A line is on the disk before `append` returns. What a process that died left of
its last line was acknowledged to nobody; the next process that appends removes it. Several processes may append: each
takes a lock and reads first what the others have written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cladist.errors import CladistError, DatasetError
from cladist.locks import try_lock_if_supported
from cladist.storage.folder import sync_folder

FORMAT, VERSION = "cladist-feedback", 1
DIGEST = 16  # bytes of a checksum: two of a billion lines collide with probability 1e-21
READ_BYTES = 1 << 20
MAX_LINE = 1 << 24  # bytes; a longer line is none of ours
_HEADER = re.compile(rb"[0-9a-f]{1,32}|[0-9a-f]{32} [ -~]{,200}\n?")  # the first line, or what there is of it
PAUSE = 0.002  # seconds between two tries to lock the file
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class ConflictError(CladistError):
    """A correction has the id of another one."""


class Record(NamedTuple):
    """A correction in the log: its number, from 1, and its content."""

    sequence: int
    content: dict[str, Any]


class Receipt(NamedTuple):
    """What `append` did with a correction: its number, and whether it was in the log before."""

    sequence: int
    is_duplicate: bool


@dataclass
class Position:
    """A place between two lines: the bytes and records before it, and the checksum of all lines up to it."""

    offset: int = 0
    sequence: int = 0
    digest: bytes = b""


class FeedbackLog:
    """A file of corrections, which several processes may read and append to.

    Parameters
    ----------
    path : path
        The file; `append` makes it.

    Examples
    --------
    >>> import tempfile
    >>> log = FeedbackLog(Path(tempfile.mkdtemp()) / "model.feedback")
    >>> log.append([{"id": "a", "text": "hot water", "labels": ["tea"]}])
    [Receipt(sequence=1, is_duplicate=False)]
    >>> log.append([{"id": "a", "text": "hot water", "labels": ["tea"]}])
    [Receipt(sequence=1, is_duplicate=True)]
    >>> [record.content["text"] for record in log.read()]
    ['hot water']
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id: str | None = None  # of the log, in its first line
        self._end = Position()  # up to where this process knows the records
        self._known: dict[bytes, tuple[int, bytes]] = {}  # by the digest of an id: number, digest of the content
        self._turn = threading.Lock()
        self._is_in_folder = False  # on the disk

    def append(self, contents: Sequence[dict[str, Any]]) -> list[Receipt]:
        """Write corrections to the disk, and return the number of each; one whose id is in the log is not repeated.

        Another correction under the id of one in the log is a `ConflictError`, and nothing is written.
        """
        with self._turn, self._locked() as fd:
            end = self._catch_up(fd)
            if os.fstat(fd).st_size > end.offset:  # the rest of a line that nobody was told of
                if not end.offset and not _HEADER.fullmatch(_read_at(fd, 0)):
                    raise DatasetError(f"{self.path} holds something else than a log of corrections; move it away.")
                os.ftruncate(fd, end.offset)
            receipts, lines = self._plan(contents, end)
            if lines:
                _write(fd, b"".join(lines), end.offset)
                os.fsync(fd)
                self._catch_up(fd)
            return receipts

    def _plan(self, contents: Sequence[dict[str, Any]], end: Position) -> tuple[list[Receipt], list[bytes]]:
        """Return the receipts of corrections, and the lines of those that are new."""
        receipts, lines, new = list[Receipt](), list[bytes](), dict[bytes, tuple[int, bytes]]()
        digest = end.digest
        if end.offset == 0:
            header = {"format": FORMAT, "version": VERSION, "log": secrets.token_hex(8)}
            line, digest = _sealed(header, digest)
            lines.append(line)
        sequence = end.sequence
        for content in contents:
            key, value = _digest(content["id"].encode("utf-8", "surrogatepass")), _digest(_json(_essence(content)))
            known = self._known.get(key) or new.get(key)
            if known is None:
                sequence += 1
                known = new[key] = sequence, value
                line, digest = _sealed({"sequence": sequence, **content}, digest)
                lines.append(line)
                receipts.append(Receipt(sequence, False))
            elif known[1] != value:
                raise ConflictError(f"The id {content['id'][:80]!r} is that of another correction, number {known[0]}.")
            else:
                receipts.append(Receipt(known[0], True))
        return receipts, lines if new else []

    def read(self, after: Position | None = None) -> Iterator[Record]:
        """Yield the records after a position, which is moved along; without one, from the first."""
        position = Position() if after is None else after
        if not self.path.exists():
            return
        fd = os.open(self.path, _FLAGS & ~os.O_RDWR | os.O_RDONLY)
        try:
            for is_last_try in (False, True):
                try:
                    for body in self._lines(fd, position):
                        if "format" not in body:
                            yield Record(position.sequence, body)
                    return
                except DatasetError:  # another process may just have replaced a line that was not whole
                    if is_last_try:
                        raise
        finally:
            os.close(fd)

    @property
    def size(self) -> int:
        """The bytes of the file, 0 if there is none."""
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def position(self, note: Any) -> Position:
        """Return the place behind the records that a model has learnt, by its note; the start without one.

        Parameters
        ----------
        note : dict or None
            For each log by its id: offset, sequence and digest, as `note` returns them.
        """
        start = Position()
        next(self.read(start), None)  # reads the id of the log
        known = note.get(self.id) if isinstance(note, dict) else None
        if known is None:
            return Position()
        try:
            position = Position(int(known["offset"]), int(known["sequence"]), bytes.fromhex(known["digest"]))
        except (KeyError, TypeError, ValueError):
            raise DatasetError(f"The model's note about the log of corrections {self.path} cannot be read.") from None
        if position.offset > self.size:
            raise DatasetError(
                f"{self.path} is shorter than the log whose first {position.sequence:,} corrections the model has "
                "learnt; restore it."
            )
        return position

    def note(self, note: Any, position: Position) -> dict[str, Any]:
        """Return the note of a model that has learnt the records up to a position, by its note before."""
        entry = {"offset": position.offset, "sequence": position.sequence, "digest": position.digest.hex()}
        return {**(note if isinstance(note, dict) else {}), **({} if self.id is None else {self.id: entry})}

    def _catch_up(self, fd: int) -> Position:
        """Read the records that others have written, and return the end of the log."""
        for body in self._lines(fd, self._end):
            if "format" not in body:
                key = _digest(body["id"].encode("utf-8", "surrogatepass"))
                self._known[key] = self._end.sequence, _digest(_json(_essence(body)))
        return self._end

    def _lines(self, fd: int, position: Position) -> Iterator[dict[str, Any]]:
        """Yield the objects after a position, which is moved behind each; a last line that is not whole is left out."""
        rest, start = b"", position.offset
        while chunk := _read_at(fd, start):
            start += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for k, line in enumerate(lines):
                body = self._unsealed(line, position)
                if body is None:
                    if k + 1 < len(lines) or rest or os.fstat(fd).st_size > start:
                        raise self._damaged(position)
                    return
                position.offset += len(line) + 1
                yield body
            if len(rest) > MAX_LINE:
                raise self._damaged(position)

    def _unsealed(self, line: bytes, position: Position) -> dict[str, Any] | None:
        """Return the object in a line, and count it in the position; None if the line is not whole."""
        checksum, space, raw = line.partition(b" ")
        digest = _chained(position.digest, raw)
        if not space or checksum != digest.hex().encode():
            return None
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        if position.offset == 0:
            if not isinstance(body, dict) or body.get("format") != FORMAT or body.get("version") != VERSION:
                raise DatasetError(f"{self.path} is no log of corrections that this version of cladist reads.")
            self.id = str(body.get("log"))
        elif not isinstance(body, dict) or body.get("sequence") != position.sequence + 1 or not _is_correction(body):
            raise self._damaged(position)
        else:
            position.sequence += 1
        position.digest = digest
        return body

    def _damaged(self, position: Position) -> DatasetError:
        return DatasetError(
            f"{self.path}: the line after record {position.sequence:,} (byte {position.offset:,}) does not match its "
            "checksum, and others follow; the file was altered or damaged. Restore it, or cut it off at that byte."
        )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file, and keep other processes from appending to it."""
        try:
            fd = os.open(self.path, _FLAGS | os.O_CREAT, 0o600)
        except OSError as error:
            raise OSError(
                error.errno, f"the log of corrections cannot be written ({error.strerror})", str(self.path)
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise DatasetError(f"{self.path} is no plain file, and the log of corrections is one.")
            while not try_lock_if_supported(fd):
                time.sleep(PAUSE)
            yield fd
            if not self._is_in_folder:
                sync_folder(self.path.parent)
                self._is_in_folder = True
        finally:
            os.close(fd)


def _is_correction(body: dict[str, Any]) -> bool:
    """Tell whether an object is a correction: an id, labels, and a text or a row."""
    labels, text, row = body.get("labels"), body.get("text"), body.get("row")
    are_labels = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    is_about = isinstance(text, str) if row is None else text is None and isinstance(row, dict)
    return isinstance(body.get("id"), str) and are_labels and is_about


def _sealed(body: dict[str, Any], before: bytes) -> tuple[bytes, bytes]:
    """Return the line of an object, and the checksum of all lines up to it."""
    raw = _json(body)
    digest = _chained(before, raw)
    return digest.hex().encode() + b" " + raw + b"\n", digest


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _essence(content: dict[str, Any]) -> dict[str, Any]:
    """Return what makes two corrections the same: what they are about, not when they came."""
    return {name: content.get(name) for name in ("text", "row", "labels")}


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=DIGEST).digest()


def _chained(before: bytes, raw: bytes) -> bytes:
    return _digest(before + raw)


def _read_at(fd: int, offset: int) -> bytes:
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, READ_BYTES)


def _write(fd: int, raw: bytes, offset: int) -> None:
    """Write all bytes at a place; what is left of a failed write is removed."""
    try:
        os.lseek(fd, offset, os.SEEK_SET)
        while raw:
            raw = raw[os.write(fd, raw) :]
    except OSError:
        os.ftruncate(fd, offset)
        raise
