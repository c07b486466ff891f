"""The files of a stream: its input, line by line; its predictions; and the record of consumed rows in the model."""

from __future__ import annotations

import hashlib
import io
import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.formats.tables.reader import join_text
from cladist.datasets.formats.tables.records import cell_text, read_json_objects
from cladist.errors import DatasetError, ModelFormatError, ParameterError, visible
from cladist.files import NamedFile
from cladist.locks import try_lock_if_supported
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import is_missing

READ_BYTES = 2**16  # read at once; the lines in it are processed together, so that none waits for more input
MAX_LINE_BYTES = 2**26
MAX_WAIT = 0.1  # seconds without input after which signals are looked at
FEATURES = "x"  # the key of a row's numbers
DIGEST = 16  # bytes per id: two of a billion ids collide with probability 1e-21


@dataclass
class Signals:
    """The signals that have arrived: to stop (SIGINT, SIGTERM), or to save (SIGHUP, SIGUSR1)."""

    stop: bool = False
    save: bool = False


@contextmanager
def record_signals() -> Iterator[Signals]:
    """Record signals inside the block, without interrupting the work."""
    signals, handlers = Signals(), {}
    for name, flag in {"SIGINT": "stop", "SIGTERM": "stop", "SIGHUP": "save", "SIGUSR1": "save"}.items():
        number = getattr(signal, name, None)  # Windows lacks some
        if number is not None:
            handlers[number] = signal.signal(number, lambda *_, flag=flag: setattr(signals, flag, True))
    try:
        yield signals
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def line_batches(fd: int, signals: Signals) -> Iterator[list[bytes]]:
    """Yield the lines of a file or pipe, all that are available at once, and an empty list while there are none."""
    rest = b""
    while not signals.stop:
        is_ready: Any = True
        with suppress(OSError, ValueError):  # some systems cannot wait for files; reading will wait
            is_ready, _, _ = select.select([fd], [], [], MAX_WAIT)
        if not is_ready:
            yield []
            continue
        content = os.read(fd, READ_BYTES)
        if not content:
            if rest:
                yield [rest]
            return
        *lines, rest = (rest + content).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise DatasetError(
                f"The input has a line of more than {MAX_LINE_BYTES:,} bytes; one JSON object per line is wanted."
            )
        if lines:
            yield lines


@dataclass(frozen=True)
class Reader:
    """How rows are read, by the model's notes; `n_features` is the number of features if it was trained on numbers."""

    name: str
    text: tuple[str, ...]
    label: str
    label_sep: str | None
    path_sep: str | None
    id: str
    n_features: int | None

    def error(self, number: int, problem: str) -> DatasetError:
        """Return an error about a line."""
        return DatasetError(f"{self.name}, line {number}: {problem}")

    def record(self, line: bytes, number: int) -> dict[str, Any]:
        """Return the JSON object in a line."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(number, "this is not UTF-8 text.") from None
        columns = (*self.text, self.label, self.id)  # the values that an answer repeats or a model stores
        records = [record for _, record in read_json_objects(self.name, iter([(number, text)]), columns)]
        return records[0] if records else {}

    def row_id(self, record: Mapping[str, Any], number: int) -> Any:
        """Return the row's id, or None."""
        value = record.get(self.id)
        if isinstance(value, (list, dict)) or (isinstance(value, float) and not isfinite(value)):
            got = value if isinstance(value, float) else type(value).__name__
            raise self.error(number, f"an id is a text or a number; got {got}.")
        return value

    def value(self, record: Mapping[str, Any], number: int) -> Any:
        """Return the row's text, or its numbers by column."""
        if self.n_features is None:
            return join_text(self.name, number, record, self.text)
        numbers = record.get(FEATURES)
        if not isinstance(numbers, (list, dict)):
            raise self.error(number, f"the numbers of a row are a list or an object in {FEATURES!r}.")
        try:
            pairs = enumerate(numbers) if isinstance(numbers, list) else numbers.items()
            values = {int(k): float(v) for k, v in pairs}
        except (TypeError, ValueError, OverflowError):
            values = {0: float("nan")}
        if not all(map(isfinite, values.values())):
            raise self.error(number, f"{FEATURES!r} holds a value that is not a number.")
        is_outside = any(not 0 <= k < self.n_features for k in values)
        if is_outside or (isinstance(numbers, list) and len(numbers) != self.n_features):
            raise self.error(number, f"the model has {self.n_features} features, from 0 on.")
        return values

    def labels(self, record: Mapping[str, Any], number: int) -> list[list[str]] | None:
        """Return the row's labels, each as the parts of a path (one part: a name), or None if it has none."""
        value = record.get(self.label)
        if is_missing(value) and not (value == "" and self.label_sep):
            return None
        values = value if isinstance(value, list) else [value]
        if isinstance(value, str) and self.label_sep:
            values = value.split(self.label_sep) if value.strip() else []
        texts = [cell_text(part) for part in values]
        if any(text is None or (not text.strip() and not isinstance(value, list)) for text in texts):
            raise self.error(number, f"{self.label!r} holds no label: {str(value)[:100]!r}.")
        return [
            [part.strip() for part in ((text or "").split(self.path_sep) if self.path_sep else [text or ""])]
            for text in texts
        ]


def to_matrix(values: Sequence[Any], n_features: int | None) -> Any:
    """Return rows as a model's first step takes them: an array of texts, or a CSR matrix."""
    if n_features is None:
        texts = np.empty(len(values), dtype=object)
        texts[:] = values
        return texts
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in values])]).astype(np.int64)
    indices = np.array([k for row in values for k in sorted(row)], np.int64)
    data = np.array([row[k] for row in values for k in sorted(row)], np.float64)
    return sparse.csr_array((data, indices, indptr), shape=(len(values), n_features))


def find_node(taxonomy: Taxonomy, parts: Sequence[str]) -> int | None:
    """Return the node of a label, or None."""
    return taxonomy.find(parts[0]) if len(parts) == 1 else taxonomy.find_path(parts)


def missing_nodes(taxonomy: Taxonomy, labels: Sequence[Sequence[str]]) -> list[tuple[str, str | None]]:
    """Return the nodes of paths that a taxonomy lacks, each with its parent, parents first."""
    nodes: list[tuple[str, str | None]] = []
    for parts in labels:
        if find_node(taxonomy, parts) is not None:
            continue
        for k in range(1, len(parts) + 1):
            exists = taxonomy.find_path(parts[:k]) is not None
            if exists or (k == 1 and find_node(taxonomy, parts[:1]) is not None):
                continue
            parent = taxonomy.find_path(parts[: k - 1]) if k > 1 else None
            if k > 1 and parent is None:
                raise ParameterError(f"{'/'.join(parts)!r}: {parts[k - 2]!r} stands elsewhere in the taxonomy.")
            nodes.append((parts[k - 1], None if parent is None else taxonomy.names[parent]))
            taxonomy = taxonomy.with_node(*nodes[-1])
    return nodes


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
    """Return the digest of an id; 1, 1.0, true and "1" are four different ids."""
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
        is_known = noted is not None and target.exists() and Path(noted).exists() and target.samefile(noted)
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
