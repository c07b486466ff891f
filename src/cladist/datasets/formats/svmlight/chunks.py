"""An svmlight file cut into chunks of whole lines, each parsed into arrays or refused at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.datasets.formats.text_blocks import Block
from cladist.files import Source, whole_lines
from cladist.kernels import svmlight as kernels

Positions = npt.NDArray[np.int32]  # a chunk is far below 2 GB: a line is limited
Labels = tuple[Positions, Positions, npt.NDArray[np.uint64]]  # start, end and last eight bytes of each

# The largest double that becomes a finite number of this kind: float32 rounds what is up to half a step beyond its own
# largest, and the shortest text of that one, 3.4028235e+38, is.
LARGEST = {"float32": float(np.nextafter(2.0**128 - 2.0**103, 0)), "float64": float(np.finfo(np.float64).max)}

_HEADER = re.compile(rb'\s*"?Data"?[ \t\r]*\n')  # of the LSHTC files on Kaggle
_UP_TO_BLANK = re.compile(rb"[^\s#]*")
_FIRST_ROW = re.compile(rb"^[ \t\r\f\v]*([^\s#][^\n#]*)", re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """What the rows of a file may look like; `loose` is how LSHTC writes them."""

    lowest: int
    highest: int
    dtype: np.dtype[Any]
    several: bool = True
    loose: bool = False
    document_id: bool | Literal["auto"] = False

    @property
    def rules(self) -> tuple[int, int, float]:
        """The lowest and highest index and the largest magnitude of a value, as a double."""
        return self.lowest, self.highest, LARGEST[self.dtype.name]


@dataclass
class Chunk(Block):
    """The rows of one block; `row_ends` and `label_ends` count features and labels from the block's start."""

    n_rows: int
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    row_ends: Positions
    labels: Labels
    label_ends: Positions
    row_starts: Positions


def chunks(source: Source, stream: IO[bytes], layout: Layout) -> Iterator[Chunk]:
    """Yield the parsed chunks of a file."""
    with_id: bool | None = None if layout.document_id == "auto" else layout.document_id
    lines_before = 0
    for content in whole_lines(source, stream):
        if layout.loose and not lines_before and (header := _HEADER.match(content)):
            content = b"\n" * header.group().count(b"\n") + content[header.end() :]
        if with_id is None:
            with_id = _has_id(content)
        block = Block(source, np.frombuffer(content, np.uint8), lines_before)
        n_lines, n_features, n_labels, crowded = kernels.measure(block.text)
        if crowded >= 0:
            most = f"{kernels.MOST_LABELS:,}"
            block.refuse(crowded, f"the row has more than {most} labels; check that commas stand between labels only.")
        yield _parsed(block, layout, bool(with_id), (n_lines, n_features, n_labels))
        lines_before += n_lines


def _has_id(content: bytes) -> bool | None:
    """Tell whether the first row's first feature is 0; None: there is no row."""
    row = _FIRST_ROW.search(content)
    if row is None:
        return None
    colon = content.find(b":", row.start(1), row.end(1))
    index = content[max(row.start(1), colon - 20) : max(colon, 0)].split()  # 20 bytes hold any index
    return bool(index) and not index[-1].strip(b"0")


def _parsed(block: Block, layout: Layout, with_id: bool, sizes: tuple[int, int, int]) -> Chunk:
    """Parse one block; `sizes` bound its lines, features and labels."""
    n_lines, n_features, n_labels = sizes
    starts, ends = np.empty(n_labels, np.int32), np.empty(n_labels, np.int32)
    keys = np.empty(n_labels, np.uint64)
    row_ends, label_ends, row_starts = (np.empty(n_lines, np.int32) for _ in range(3))
    indices, values = np.empty(n_features, np.int32), np.empty(n_features, layout.dtype)
    unsure = np.empty((n_features, 2), np.int32)
    n_rows, n_unsure, error, position = kernels.parse_rows(
        block.text,
        (layout.several, layout.loose, with_id),
        layout.rules,
        (starts, ends, keys, label_ends, row_starts),
        (indices, values, unsure, row_ends),
    )
    n_stored, n_labels = (int(e[n_rows - 1]) if n_rows else 0 for e in (row_ends, label_ends))
    chunk = Chunk(
        block.source,
        block.text,
        block.lines_before,
        n_rows,
        indices[:n_stored].copy(),
        values[:n_stored].copy(),
        row_ends[:n_rows],
        (starts[:n_labels], ends[:n_labels], keys[:n_labels]),
        label_ends[:n_rows],
        row_starts[:n_rows],
    )
    if error != kernels.FINE:
        chunk.refuse(position, _problem(chunk, error, position, layout.rules))
    _parse_unsure(chunk, unsure[:n_unsure], layout.rules[2])
    if layout.loose:
        _sort(chunk)
    return chunk


def _parse_unsure(chunk: Chunk, unsure: Positions, largest: float) -> None:
    """Let Python parse the numbers whose last bit the kernel could not prove."""
    data = chunk.text.tobytes() if len(unsure) else b""
    for feature, start in unsure.tolist():
        value = float(_UP_TO_BLANK.match(data, start).group())  # type: ignore[union-attr]
        if not abs(value) <= largest:
            chunk.refuse(start, _bad_value(chunk.token(start), value, largest))
        chunk.values[feature] = value


def _sort(chunk: Chunk) -> None:
    row, index = kernels.sort_rows(chunk.row_ends, chunk.indices, chunk.values)
    if row >= 0:
        start = int(chunk.row_starts[row])
        found = re.finditer(rb"(?<![^\s])0*%d:" % index, chunk.text[start:].tobytes())
        second = [match.start() for match in islice(found, 2)][-1]
        chunk.refuse(start + second, f"the index {index} stands twice in the row.")


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
        kernels.LONG_LABEL: f"a label has more than {kernels.LONGEST_LABEL:,} bytes: {token!r}.",
        kernels.NO_ID: (
            f"wanted the document's number as 0:number, as in the first row, got {token!r}; "
            "if 0 is a feature like others, read with document_id=False."
        ),
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
