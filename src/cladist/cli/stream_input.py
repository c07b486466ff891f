"""The input of a stream: lines as they arrive, the signals that may come between them, and the rows in them."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

import numpy as np
from scipy import sparse

from cladist.datasets.formats.tables.reader import join_text
from cladist.datasets.formats.tables.records import cell_text, read_json_objects
from cladist.errors import DatasetError, ParameterError
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.construction import is_missing

READ_BYTES = 2**16  # read at once; the lines in it are processed together, so that none waits for more input
MAX_LINE_BYTES = 2**26
FEATURES = "x"  # the key of a row's numbers


class Signals:
    """Records the signals to stop (SIGINT, SIGTERM) or to save (SIGHUP, SIGUSR1) without interrupting the work."""

    STOP = ("SIGINT", "SIGTERM")
    SAVE = ("SIGHUP", "SIGUSR1")

    def __init__(self) -> None:
        self.stop = self.save = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._receiver, self._sender = socket.socketpair()  # the process writes a byte to it on every signal
        self._sender.setblocking(False)
        self._wakeup_fd = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        for names, handler in ((self.STOP, self._on_stop), (self.SAVE, self._on_save)):
            for name in names:
                number = getattr(signal, name, None)  # Windows lacks some
                if number is not None:
                    self._handlers[number] = signal.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_fd)
        self._receiver.close()
        self._sender.close()

    def _on_stop(self, *_: Any) -> None:
        self.stop = True

    def _on_save(self, *_: Any) -> None:
        self.save = True

    def wait(self, fd: int) -> bool:
        """Wait for input or a signal, and return whether there is input."""
        with suppress(OSError, ValueError):  # some systems cannot wait for files; reading will wait
            ready, _, _ = select.select([fd, self._receiver.fileno()], [], [])
            if self._receiver.fileno() in ready:
                self._receiver.recv(4096)
            return fd in ready
        return True


def line_batches(fd: int, signals: Signals) -> Iterator[list[bytes]]:
    """Yield the lines of a file or pipe, all that are available at once, and an empty list after a signal."""
    rest = b""
    while not signals.stop:
        if not signals.wait(fd):
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

    def record(self, line: bytes, number: int) -> dict[str, Any]:
        """Return the JSON object in a line."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise DatasetError(f"{self.name}, line {number}: this is not UTF-8 text.") from None
        columns = (*self.text, self.label, self.id)  # the values that an answer repeats or a model stores
        records = [record for _, record in read_json_objects(self.name, iter([(number, text)]), columns)]
        return records[0] if records else {}

    def row_id(self, record: Mapping[str, Any], number: int) -> Any:
        """Return the row's id, or None."""
        value = record.get(self.id)
        if isinstance(value, (list, dict)) or (isinstance(value, float) and not isfinite(value)):
            got = value if isinstance(value, float) else type(value).__name__
            raise DatasetError(f"{self.name}, line {number}: an id is a text or a number; got {got}.")
        return value

    def value(self, record: Mapping[str, Any], number: int) -> Any:
        """Return the row's text, or its numbers by column."""
        if self.n_features is None:
            return join_text(self.name, number, record, self.text)
        numbers = record.get(FEATURES)
        if not isinstance(numbers, (list, dict)):
            raise DatasetError(
                f"{self.name}, line {number}: the numbers of a row are a list or an object in {FEATURES!r}."
            )
        try:
            pairs = enumerate(numbers) if isinstance(numbers, list) else numbers.items()
            values = {int(k): float(v) for k, v in pairs}
        except (TypeError, ValueError, OverflowError):
            values = {0: float("nan")}
        if not all(map(isfinite, values.values())):
            raise DatasetError(f"{self.name}, line {number}: {FEATURES!r} holds a value that is not a number.")
        is_outside = any(not 0 <= k < self.n_features for k in values)
        if is_outside or (isinstance(numbers, list) and len(numbers) != self.n_features):
            raise DatasetError(f"{self.name}, line {number}: the model has {self.n_features} features, from 0 on.")
        return values

    def labels(self, record: Mapping[str, Any], number: int) -> list[list[str]] | None:
        """Return the row's labels, each as the parts of a path (one part: a name), or None if it has none."""
        value = record.get(self.label)
        if value is None or (is_missing(value) and not isinstance(value, str)):
            return None
        values = value if isinstance(value, list) else [value]
        if isinstance(value, str) and self.label_sep:
            values = value.split(self.label_sep) if value.strip() else []
        texts = [cell_text(part) for part in values]
        if any(text is None or (not text.strip() and not isinstance(value, list)) for text in texts):
            if value == "" and not self.label_sep:
                return None
            raise DatasetError(f"{self.name}, line {number}: {self.label!r} holds no label: {str(value)[:100]!r}.")
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
    """Return the nodes of paths that a taxonomy lacks, each with its parent, parents first.

    Examples
    --------
    >>> missing_nodes(Taxonomy.from_paths(["sport/tennis"]), [["sport", "ball", "golf"], ["art"]])
    [('ball', 'sport'), ('golf', 'ball'), ('art', None)]
    """
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
