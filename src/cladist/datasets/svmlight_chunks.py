"""An svmlight file cut into chunks of whole lines, each parsed into arrays or refused at a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from cladist.files import Source, refuse, whole_lines
from cladist.kernels import svmlight as kernels

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


@dataclass
class Chunk:
    """The rows of one chunk; `row_ends` and `label_ends` count features and labels from the chunk's start."""

    source: Source
    text: Bytes
    lines_before: int
    n_rows: int
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    row_ends: Positions
    labels: tuple[Positions, Positions, npt.NDArray[np.uint64]]  # start, end, key of each
    label_ends: Positions
    row_starts: Positions

    def place(self, position: int) -> tuple[int, int]:
        """Return line and column (in bytes) of a position, both from 1."""
        feeds = np.flatnonzero(self.text[:position] == kernels.LINE_FEED)
        line_start = int(feeds[-1]) + 1 if len(feeds) else 0
        return self.lines_before + len(feeds) + 1, position - line_start + 1

    def refuse(self, position: int, problem: str) -> NoReturn:
        """Raise a `DatasetError` about what stands at this position."""
        refuse(self.source, *self.place(position), problem)

    def token(self, position: int) -> str:
        """Return what stands at this position up to the next blank, cut where it is long."""
        words = self.text[position : position + 41].tobytes().split(maxsplit=1)
        shown = words[0].decode("utf-8", "backslashreplace") if words else ""
        return shown if len(shown) <= 40 else shown[:40] + "…"


def chunks(
    source: Source,
    stream: IO[bytes],
    several: bool,
    lowest: int,
    highest: int,
    dtype: np.dtype[Any],
) -> Iterator[Chunk]:
    """Yield the parsed chunks of a file; `several` allows any number of labels a row instead of one."""
    rules = (lowest, highest, float(np.finfo(dtype).max))
    lines_before = 0
    for block in whole_lines(source, stream):
        text = np.frombuffer(block, np.uint8)
        n_lines = int(np.count_nonzero(text == kernels.LINE_FEED))
        yield _parsed(source, text, lines_before, n_lines, several, rules, dtype)
        lines_before += n_lines


def _parsed(
    source: Source,
    text: Bytes,
    lines_before: int,
    n_lines: int,
    several: bool,
    rules: tuple[int, int, float],
    dtype: np.dtype[Any],
) -> Chunk:
    """Parse one chunk; its lines, commas and colons bound what it can hold."""
    n_features = int(np.count_nonzero(text == kernels.COLON))
    n_labels = n_lines + int(np.count_nonzero(text == kernels.COMMA))
    starts, ends, keys = (
        np.empty(n_labels, np.int64),
        np.empty(n_labels, np.int64),
        np.empty(n_labels, np.uint64),
    )
    row_ends, label_ends, row_starts = (np.empty(n_lines, np.int64) for _ in range(3))
    indices, values = np.empty(n_features, np.int32), np.empty(n_features, dtype)
    unsure = np.empty((n_features, 3), np.int64)
    n_rows, n_unsure, error, position = kernels.parse_rows(
        text,
        several,
        rules,
        (starts, ends, keys, label_ends, row_starts),
        (indices, values, unsure, row_ends),
    )
    n_stored, n_labels = (int(e[n_rows - 1]) if n_rows else 0 for e in (row_ends, label_ends))
    chunk = Chunk(
        source,
        text,
        lines_before,
        n_rows,
        indices[:n_stored].copy(),
        values[:n_stored].copy(),
        row_ends[:n_rows],
        (starts[:n_labels], ends[:n_labels], keys[:n_labels]),
        label_ends[:n_rows],
        row_starts[:n_rows],
    )
    if error != kernels.FINE:
        chunk.refuse(position, _problem(chunk, error, position, rules))
    _parse_unsure(chunk, unsure[:n_unsure], rules[2])
    return chunk


def _parse_unsure(chunk: Chunk, unsure: Positions, largest: float) -> None:
    """Let Python parse the numbers whose last bit the kernel could not prove."""
    data = chunk.text.tobytes() if len(unsure) else b""
    for feature, start, end in unsure.tolist():
        value = float(data[start:end])
        if not abs(value) <= largest:
            chunk.refuse(start, _bad_value(chunk.token(start), value, largest))
        chunk.values[feature] = value


def _problem(chunk: Chunk, error: int, position: int, rules: tuple[int, int, float]) -> str:
    """Put an error of the kernel into words."""
    lowest, highest, largest = rules
    token = chunk.token(position)
    if error == kernels.BAD_VALUE:
        return _bad_value(token, _as_number(token), largest)
    if error == kernels.BAD_TOKEN and token.startswith("qid:"):
        return f"{token!r} is a query id of a ranking; remove them all, they have no meaning here."
    return {
        kernels.BAD_TOKEN: f"wanted index:value, got {token!r}.",
        kernels.NEGATIVE: f"{token!r} has a negative index.",
        kernels.OUT_OF_RANGE: f"the index of {token!r} is not in {lowest} … {highest}.",
        kernels.UNSORTED: f"the index of {token!r} does not rise; indices of a row are sorted and unique.",
        kernels.NO_LABEL: f"the row has no label; it starts with {token!r}.",
        kernels.SEVERAL_LABELS: "the row has several labels; read the file with multilabel=True.",
        kernels.BAD_LABEL: "a label is empty or has a control character; single commas join labels.",
    }[error]


def _bad_value(token: str, value: float, largest: float) -> str:
    if np.isfinite(value) and abs(value) > largest:
        return f"{token!r} does not fit into this dtype; read the file with dtype=np.float64."
    return f"wanted a finite number, got {token!r}."


def _as_number(token: str) -> float:
    try:
        return float(token)
    except ValueError:
        return np.nan
