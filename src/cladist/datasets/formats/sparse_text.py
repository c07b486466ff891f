"""Rows of svmlight, LSHTC and RCV1 files: text cut into chunks of whole lines, parsed by one kernel, or refused.

`LabelNames` and `CsrRows` collect the labels and the features of all chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import LARGEST_NUMBER, as_lists, as_objects
from cladist.errors import ParameterError, is_count
from cladist.execution import stream_in_threads
from cladist.files import Source, iterate_chunks, open_for_reading, refuse
from cladist.kernels import svmlight as kernels
from cladist.taxonomy import Taxonomy

Positions = npt.NDArray[np.int32]  # a chunk is far below 2 GB: a line is limited
LabelTokens = tuple[Positions, Positions, npt.NDArray[np.uint64]]  # start, end and last eight bytes of each

MOST_FEATURES = 2**31 - 1  # indices are int32
KEY_BYTES = 8  # a label of at most this length is its key; others are distinguished by their bytes
NO_LABEL, UNKNOWN = -1, -2  # ids of labels

_HEADER = re.compile(rb'\s*"?Data"?[ \t\r]*\n')  # of the LSHTC files on Kaggle
_UP_TO_BLANK = re.compile(rb"[^\s#]*")
_FIRST_ROW = re.compile(rb"^[ \t\r\f\v]*([^\s#][^\n#]*)", re.MULTILINE)

# Kind and words of each error of the kernel.
_PROBLEMS = {
    kernels.BAD_TOKEN: ("bad-feature", "wanted index:value, got {token!r}."),
    kernels.NEGATIVE: ("negative-index", "{token!r} has a negative index."),
    kernels.OUT_OF_RANGE: ("index-range", "the index of {token!r} is not in {lowest} … {highest}."),
    kernels.UNSORTED: ("index-order", "the index of {token!r} does not rise; indices of a row are sorted and unique."),
    kernels.NO_LABEL: ("no-label", "the row has no label; it starts with {token!r}."),
    kernels.SEVERAL_LABELS: ("several-labels", "the row has several labels; read the file with multilabel=True."),
    kernels.BAD_LABEL: ("bad-label", "a label is empty or has a control character; single commas join labels."),
    kernels.LONG_LABEL: ("bad-label", f"a label has more than {kernels.LONGEST_LABEL:,} bytes: {{token!r}}."),
    kernels.NO_ID: (
        "no-document-id",
        "wanted the document's number as 0:number, as in the first row, got {token!r}; if 0 is a feature like others, "
        "read with document_id=False.",
    ),
}


class RowFormat(NamedTuple):
    """The form of the rows of a file."""

    lowest: int  # of the indices
    highest: int
    dtype: np.dtype[Any]  # of the values
    several: bool = True  # whether a row may have any number of labels instead of one
    loose: bool = False  # LSHTC: indices in any order, spaces behind commas between labels, a first line ``Data``
    document_id: bool | Literal["auto"] = False  # whether each row begins with ``0:`` and the number of the document


@dataclass
class TextBlock:
    """Some lines of a file as bytes."""

    source: Source
    text: npt.NDArray[np.uint8]
    lines_before: int
    sizes: tuple[int, int, int, int]  # as `measure` returns them

    def place(self, position: int) -> tuple[int, int]:
        """Return line and column (in bytes) of a position, both from 1."""
        feeds = np.flatnonzero(self.text[:position] == kernels.LINE_FEED)
        line_start = int(feeds[-1]) + 1 if len(feeds) else 0
        return self.lines_before + len(feeds) + 1, position - line_start + 1

    def refuse(self, position: int, problem: str, kind: str) -> NoReturn:
        """Raise a `DatasetError` about this position."""
        refuse(self.source, *self.place(position), problem, kind=kind)

    def token(self, position: int) -> str:
        """Return the text from this position to the next blank, cut where it is long."""
        words = self.text[position : position + 41].tobytes().split(maxsplit=1)
        shown = words[0].decode("utf-8", "backslashreplace") if words else ""
        return shown if len(shown) <= 40 else shown[:40] + "…"

    def number(self, position: int) -> float:
        """Return the number at this position as Python parses it, NaN if it is none."""
        try:
            return float(_UP_TO_BLANK.match(self.text.data, position).group())  # type: ignore[union-attr]
        except ValueError:
            return float("nan")


class RowChunk(NamedTuple):
    """The rows of one block; `row_ends` and `label_ends` count features and labels from the start of the block."""

    block: TextBlock
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    row_ends: Positions
    labels: LabelTokens
    label_ends: Positions
    row_starts: Positions


def text_blocks(source: Source) -> Iterator[TextBlock]:
    """Yield the text of a file in blocks of whole lines."""
    lines_before = 0
    with open_for_reading(source) as stream:
        for content in iterate_chunks(source, stream):
            text = np.frombuffer(content, np.uint8)
            sizes = kernels.measure(text)
            yield TextBlock(source, text, lines_before, sizes)
            lines_before += sizes[0]


def read_chunks(source: Source, form: RowFormat, *, workers: int = 1) -> Iterator[RowChunk]:
    """Yield the rows of a file, some megabytes of text at a time, which several threads parse."""
    return stream_in_threads(lambda block: _parse_block(block[0], form, block[1]), _blocks(source, form), workers)


def _blocks(source: Source, form: RowFormat) -> Iterator[tuple[TextBlock, bool]]:
    """Yield the text of a file in blocks, and whether rows begin with the number of the document."""
    with_id: bool | None = None if form.document_id == "auto" else form.document_id
    for block in text_blocks(source):
        if form.loose and not block.lines_before and (header := _HEADER.match(block.text.data)):
            content = b"\n" * header.group().count(b"\n") + block.text[header.end() :].tobytes()
            block.text = np.frombuffer(content, np.uint8)
        if with_id is None:
            with_id = _has_id(block.text.tobytes())
        yield block, bool(with_id)


def _has_id(content: bytes) -> bool | None:
    """Tell whether the first row's first feature is 0; None: there is no row."""
    row = _FIRST_ROW.search(content)
    if row is None:
        return None
    colon = content.find(b":", row.start(1), row.end(1))
    index = content[max(row.start(1), colon - 20) : max(colon, 0)].split()  # 20 bytes hold any index
    return bool(index) and not index[-1].strip(b"0")


def _parse_block(block: TextBlock, form: RowFormat, with_id: bool) -> RowChunk:
    n_lines, n_features, n_labels, crowded = block.sizes
    if crowded >= 0:
        most = f"{kernels.MOST_LABELS:,}"
        problem = f"the row has more than {most} labels; check that commas stand between labels only."
        block.refuse(crowded, problem, "label-count")
    largest = LARGEST_NUMBER[form.dtype.name]
    starts, ends = np.empty(n_labels, np.int32), np.empty(n_labels, np.int32)
    keys = np.empty(n_labels, np.uint64)
    row_ends, label_ends, row_starts = (np.empty(n_lines, np.int32) for _ in range(3))
    indices, values = np.empty(n_features, np.int32), np.empty(n_features, form.dtype)
    unsure = np.empty((n_features, 2), np.int32)
    n_rows, n_unsure, error, position = kernels.parse_rows(
        block.text,
        (form.several, form.loose, with_id),
        (form.lowest, form.highest, largest),
        (starts, ends, keys, label_ends, row_starts),
        (indices, values, unsure, row_ends),
    )
    if error != kernels.FINE:
        _refuse_row(block, error, position, form)
    n_features, n_labels = (int(e[n_rows - 1]) if n_rows else 0 for e in (row_ends, label_ends))
    chunk = RowChunk(
        block,
        indices[:n_features].copy(),
        values[:n_features].copy(),
        row_ends[:n_rows],
        (starts[:n_labels], ends[:n_labels], keys[:n_labels]),
        label_ends[:n_rows],
        row_starts[:n_rows],
    )
    for feature, start in unsure[:n_unsure].tolist():  # numbers whose last bit the kernel could not prove
        value = block.number(start)
        if not abs(value) <= largest:
            _refuse_number(block, start, largest)
        chunk.values[feature] = value
    if form.loose:
        _sort(chunk)
    return chunk


def _sort(chunk: RowChunk) -> None:
    row, index = kernels.sort_rows(chunk.row_ends, chunk.indices, chunk.values)
    if row >= 0:
        start = int(chunk.row_starts[row])
        matches = re.finditer(rb"(?<![^\s])0*%d:" % index, chunk.block.text[start:].tobytes())
        second = [match.start() for match in islice(matches, 2)][-1]
        chunk.block.refuse(start + second, f"the index {index} is in the row twice.", "repeated-index")


def _refuse_row(block: TextBlock, error: int, position: int, form: RowFormat) -> NoReturn:
    """Put an error of the kernel into words."""
    token = block.token(position)
    if error == kernels.BAD_VALUE:
        _refuse_number(block, position, LARGEST_NUMBER[form.dtype.name])
    if error == kernels.BAD_TOKEN and token.startswith("qid:"):
        problem = f"{token!r} is a query id of a ranking; remove them all, they have no meaning here."
        block.refuse(position, problem, "query-id")
    kind, problem = _PROBLEMS[error]
    if error == kernels.OUT_OF_RANGE and token.startswith("0:"):
        kind = "index-zero"
    block.refuse(position, problem.format(token=token, lowest=form.lowest, highest=form.highest), kind)


def _refuse_number(block: TextBlock, position: int, largest: float) -> NoReturn:
    token = block.token(position)
    if largest < abs(block.number(position)) < np.inf:
        problem = f"{token!r} does not fit into this dtype; read the file with dtype=np.float64."
        block.refuse(position, problem, "number-range")
    block.refuse(position, f"wanted a finite number, got {token!r}.", "bad-number")


class CsrRows:
    """The features read so far, to become a CSR matrix."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.indices: list[npt.NDArray[np.int32]] = []
        self.values: list[npt.NDArray[Any]] = []
        self.counts: list[npt.NDArray[np.int32]] = []

    def add(self, chunk: RowChunk, is_kept: npt.NDArray[np.bool_] | None = None) -> None:
        """Add the rows of a chunk, or those of them where `is_kept`."""
        counts = np.diff(chunk.row_ends, prepend=np.int32(0))
        indices, values = chunk.indices, chunk.values
        if is_kept is not None and not is_kept.all():
            of_kept = np.repeat(is_kept, counts)
            counts, indices, values = counts[is_kept], indices[of_kept], values[of_kept]
        self.n_rows += len(counts)
        self.indices.append(indices)
        self.values.append(values)
        self.counts.append(counts)

    def matrix(self, path: Source, zero_based: bool | str, n_features: int | None) -> sparse.csr_matrix:
        """Return all rows as one CSR matrix; the chunks are released, so that most numbers are held once."""
        indices = np.concatenate(self.indices)
        self.indices.clear()
        values = np.concatenate(self.values)
        self.values.clear()
        indptr = np.zeros(self.n_rows + 1, np.int32 if len(indices) < MOST_FEATURES else np.int64)
        np.cumsum(np.concatenate(self.counts), out=indptr[1:])
        from_one = zero_based is False or (zero_based == "auto" and len(indices) > 0 and indices.min() > 0)
        if from_one:
            indices -= 1
        n_needed = int(indices.max()) + 1 if len(indices) else 0
        if n_features is not None and n_needed > n_features:
            problem = f"indices run from 0 to {n_needed - 1}, which makes {n_needed} columns"
            refuse(path, None, None, f"{problem}; n_features is {n_features}.", kind="column-count")
        X = sparse.csr_matrix((values, indices, indptr), shape=(self.n_rows, n_features or n_needed))
        X.has_sorted_indices = True
        return X


def check_n_features(who: str, n_features: int | None) -> None:
    """Raise a `ParameterError` unless this is a number of columns, or None."""
    if n_features is not None and not (is_count(n_features) and n_features <= MOST_FEATURES):
        raise ParameterError(f"{who}: n_features must be in 1 … {MOST_FEATURES}; got {n_features!r}.")


class LabelNames:
    """Gives each distinct label token an id, and checks it against the taxonomy when it is new.

    Python sees every distinct label once per chunk, not every label: files have millions of rows and far fewer
    distinct labels. A label spelled `nothing` that the taxonomy does not know stands for no label.
    """

    def __init__(self, taxonomy: Taxonomy | None, *, nothing: str | None = None) -> None:
        self.taxonomy = taxonomy
        self.names: list[str] = []
        self.id_of: dict[bytes, int] = {}
        self.ids: list[npt.NDArray[np.int32]] = []
        self.counts: list[npt.NDArray[np.int32]] = []
        self.first_unlabelled: tuple[Source, int, int] | None = None
        if nothing is not None and (taxonomy is None or nothing not in taxonomy):
            self.id_of[nothing.encode()] = NO_LABEL

    def add(self, chunk: RowChunk) -> None:
        """Add the labels of a chunk."""
        ids, ends = self.identify(chunk.block, chunk.labels), chunk.label_ends
        is_label = ids != NO_LABEL
        if not is_label.all():
            ids = ids[is_label]
            ends = np.concatenate([[0], np.cumsum(is_label)])[ends].astype(np.int32)
        counts = np.diff(ends, prepend=np.int32(0))
        self.ids.append(ids)
        self.counts.append(counts)
        empty = np.flatnonzero(counts == 0)
        if len(empty) and self.first_unlabelled is None:
            self.first_unlabelled = chunk.block.source, *chunk.block.place(int(chunk.row_starts[empty[0]]))

    def identify(self, block: TextBlock, labels: LabelTokens) -> npt.NDArray[np.int32]:
        """Return the id of each label of a block; the first one that is not in the taxonomy is refused."""
        starts, ends, keys = labels
        ids = np.full(len(starts), UNKNOWN, np.int32)
        is_short = ends - starts <= KEY_BYTES
        short, long = np.flatnonzero(is_short), np.flatnonzero(~is_short)
        different, which = np.unique(keys[short], return_inverse=True)
        ids_of_keys = [self._id(int(key).to_bytes(KEY_BYTES, "big").lstrip(b"\0")) for key in different]
        ids[short] = np.array(ids_of_keys, np.int32)[which]
        for i in long.tolist():
            ids[i] = self._id(block.text[starts[i] : ends[i]].tobytes())
            if ids[i] == UNKNOWN:
                break
        if (ids == UNKNOWN).any():
            first = int(np.argmax(ids == UNKNOWN))
            start, token = int(starts[first]), block.text[starts[first] : ends[first]].tobytes()
            try:
                name = token.decode("utf-8")
            except UnicodeDecodeError:
                block.refuse(start, f"the label {token!r} is not UTF-8.", "not-utf8")
            hint = "." if self.taxonomy is None else self.taxonomy.suggestion(name)
            block.refuse(start, f"{name!r} is not in the taxonomy{hint}", "unknown-label")
        return ids

    def _id(self, token: bytes) -> int:
        """Return the id of a label, new or not, or `UNKNOWN` if it cannot be one."""
        if token not in self.id_of:
            try:
                name = token.decode("utf-8")
            except UnicodeDecodeError:
                return UNKNOWN
            if self.taxonomy is not None and name not in self.taxonomy:
                return UNKNOWN
            self.id_of[token] = len(self.names)
            self.names.append(name)
        return self.id_of[token]

    def check_all_labelled(self) -> None:
        """Refuse rows without a label."""
        if self.first_unlabelled is not None:
            problem = "the row has no label; if that is meant, read with multilabel=True."
            refuse(*self.first_unlabelled, problem, kind="no-label")

    def as_y(self, multilabel: bool | str) -> Any:
        """Return y: an array of names, or a list of lists of them; "auto" is decided by what was read."""
        counts = np.concatenate(self.counts)
        several = bool((counts > 1).any()) if multilabel == "auto" else multilabel
        if not several:
            self.check_all_labelled()
        ids = np.concatenate(self.ids)
        self.ids.clear()  # each id is held once
        labels = as_objects(self.names)[ids]
        return as_lists(labels, counts) if several else labels


def read_into(labels: LabelNames, rows: CsrRows, source: Source, form: RowFormat) -> None:
    """Add the labels and features of all rows of a file, which has some."""
    n_before = rows.n_rows
    for chunk in read_chunks(source, form):
        labels.add(chunk)
        rows.add(chunk)
    if rows.n_rows == n_before:
        refuse(source, None, None, "the file has no rows.", kind="no-rows")
