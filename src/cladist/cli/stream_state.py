"""The state of a stream between runs: the record of consumed rows, and the file of predictions that goes with it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cladist.errors import DatasetError, ModelFormatError, visible
from cladist.files import NamedFile
from cladist.locks import try_lock_if_supported
from cladist.taxonomy import Taxonomy

DIGEST = 16  # bytes per id: two of a billion ids collide with probability 1e-21


@dataclass
class Consumed:
    """The record of consumed rows, as saved in a model's notes.

    Rows with ids are recognised by them, in any order. Without ids the first `rows` lines of the input are the consumed
    ones, and `digest`, of all of them, tells whether they are the same.
    """

    rows: int = 0
    digest: bytes = b""
    out: str | None = None
    out_bytes: int = 0
    old_ids: npt.NDArray[np.bytes_] = field(default_factory=lambda: np.zeros(0, f"S{DIGEST}"))
    new_ids: set[bytes] = field(default_factory=set)

    @property
    def has_ids(self) -> bool:
        """Whether rows are recognised by their ids."""
        return bool(len(self.old_ids) or self.new_ids)

    def restart(self) -> None:
        """Forget the position in the input and the file of predictions; ids stay known."""
        self.rows, self.digest, self.out, self.out_bytes = 0, b"", None, 0

    def knows(self, row_id: Any) -> bool:
        """Return whether the row with this id has been consumed."""
        digest = id_digest(row_id)
        if digest in self.new_ids:
            return True
        position = int(np.searchsorted(self.old_ids, np.bytes_(digest)))
        return position < len(self.old_ids) and self.old_ids[position] == digest.rstrip(b"\0")

    def add(self, line: bytes, row_id: Any) -> None:
        """Record a row as consumed."""
        self.rows += 1
        if row_id is not None:
            self.new_ids.add(id_digest(row_id))
        else:
            self.digest = chain_digest(self.digest, line)

    def to_notes(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the record as a note and an array for a model's folder."""
        if self.new_ids:
            more = np.array(list(self.new_ids), f"S{DIGEST}")
            self.old_ids = np.sort(np.concatenate([self.old_ids, more]))
            self.new_ids = set()
        note = {"rows": self.rows, "digest": self.digest.hex(), "out": self.out, "out_bytes": self.out_bytes}
        ids = np.frombuffer(self.old_ids.tobytes(), np.uint8).reshape(-1, DIGEST)
        return note, {"stream_ids": ids}

    @classmethod
    def from_notes(cls, note: Any, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> Consumed:
        """Restore the result of `to_notes`; without a note the record is empty."""
        if note is None:
            return cls()
        ids = arrays.get("stream_ids", np.zeros((0, DIGEST), np.uint8))
        try:
            rows, digest = int(note["rows"]), bytes.fromhex(note["digest"])
            out, out_bytes = note["out"], int(note["out_bytes"])
            is_valid = rows >= 0 and out_bytes >= 0 and (out is None or isinstance(out, str))
        except (KeyError, TypeError, ValueError):
            is_valid = False
        if not is_valid or ids.dtype != np.uint8 or ids.ndim != 2 or ids.shape[1] != DIGEST:
            raise ModelFormatError(f"{folder}: this model's note about its stream cannot be read.")
        old = np.sort(np.frombuffer(np.ascontiguousarray(ids).tobytes(), f"S{DIGEST}"))
        return cls(rows, digest, out, out_bytes, old)


def chain_digest(digest: bytes, line: bytes) -> bytes:
    """Return the digest of lines with the given digest followed by one more line."""
    return hashlib.blake2b(digest + line.rstrip(b"\r"), digest_size=DIGEST).digest()


def id_digest(row_id: Any) -> bytes:
    """Return the digest of an id; 1, 1.0, true and "1" are four different ids.

    Examples
    --------
    >>> len({id_digest(row_id) for row_id in (1, 1.0, True, "1")})
    4
    """
    return hashlib.blake2b(repr(row_id).encode(), digest_size=DIGEST).digest()


def to_answer(label: Any, taxonomy: Taxonomy) -> dict[str, Any]:
    """Return a prediction, one label or several, as a JSON object."""
    if isinstance(label, (set, frozenset, list, tuple)):
        names = sorted(str(name) for name in label)
        return {"labels": names, "paths": [taxonomy.shortest_path_parts(taxonomy.index(n)) for n in names]}
    plain = label.item() if hasattr(label, "item") else label
    return {"label": plain, "path": taxonomy.shortest_path_parts(taxonomy.index(plain))}


class Answers:
    """The output for predictions, one line of JSON per row, to the file `out` or to standard output.

    `noted` and `noted_bytes` are the file and its length at the model's last save, to which it is cut back. `path` is
    the file to note in the next save, None for outputs that cannot be cut back: standard output, a device or a pipe.
    While `is_new`, the model has not noted the file, and no prediction may be written to it: after a crash, the next
    run would not know them as its own.
    """

    def __init__(self, out: Path | None, noted: str | None = None, noted_bytes: int = 0) -> None:
        self.path: str | None = None
        self.is_new = False
        self.is_terminal = out is None and sys.stdout.isatty()
        if out is None:
            self.file: BinaryIO = sys.stdout.buffer
        elif out.exists() and not out.is_file():
            self.file = io.BufferedWriter(NamedFile(out, "w", name=str(out)))
        else:
            self._open(out, noted, noted_bytes)

    def _open(self, out: Path, noted: str | None, noted_bytes: int) -> None:
        target = out.resolve()
        is_known = noted is not None and target.exists() and _is_same(target, Path(noted))
        if not is_known and target.exists() and target.stat().st_size:
            raise DatasetError(
                f"{out} is not empty, and not the file of predictions that the model has noted, so it is not "
                "overwritten; move it away, or name another file with --out."
            )
        raw = NamedFile(target, "r+" if target.exists() else "x+", name=str(out))
        self.file, self.path, self.is_new = io.BufferedWriter(raw), str(target), not is_known
        length = noted_bytes if is_known else 0
        try:
            if not try_lock_if_supported(raw.fileno()):
                raise DatasetError(f"{out} is in use: another process writes its predictions there; name another file.")
            if self.file.seek(0, os.SEEK_END) < length:
                raise DatasetError(f"{out} is shorter than when the model was saved; move it away, or write elsewhere.")
            self.file.truncate(length)
            self.file.seek(length)
        except BaseException:
            self.file.close()
            raise

    def encode(self, answer: dict[str, Any]) -> bytes:
        """Return the line of a prediction; for a terminal, control characters are escaped, which JSON allows."""
        line = json.dumps(answer, ensure_ascii=False)
        return (visible(line) if self.is_terminal else line).encode() + b"\n"

    def write(self, lines: list[bytes]) -> None:
        """Write lines to the buffer."""
        self.file.write(b"".join(lines))

    def flush(self) -> None:
        """Make the lines visible to other processes."""
        self.file.flush()

    def sync(self) -> tuple[str | None, int]:
        """Write everything to the disk, and return the file and its length for the model's note."""
        self.file.flush()
        if self.path is None:
            return None, 0
        os.fsync(self.file.fileno())
        return self.path, self.file.tell()

    def close(self) -> None:
        """Close a file; standard output stays open."""
        if self.file is not sys.stdout.buffer:
            with suppress(OSError):  # an earlier write failed, and the run has reported that
                self.file.close()


def _is_same(target: Path, noted: Path) -> bool:
    """Return whether two paths lead to one file."""
    return target == noted.resolve() or (noted.exists() and target.samefile(noted))
