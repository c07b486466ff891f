"""RCV1's documents: the chosen ones of each part, as vectors or as tokens.

A file of tokens has ``.I number``, ``.W``, lines of words and a blank line for each document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import as_objects
from cladist.datasets.formats.rcv1.judgements import Judgements, Numbers
from cladist.datasets.formats.sparse_text import MOST_FEATURES, CsrRows, RowChunk, RowFormat, read_chunks
from cladist.errors import DatasetError
from cladist.files import LONGEST_LINE, Source, decode, iterate_byte_lines, open_for_reading, refuse
from cladist.kernels.svmlight import HIGHEST_DOCUMENT

Features = Literal["vectors", "tokens"]
_DOCUMENT = re.compile(rb"\.I[ \t]+([0-9]{1,10})")
MOST_DIGITS = 18  # of a document's number with leading zeros; as many fit into int64
_LINE_COST = 64  # bytes of memory that a line takes beside its content
_AT_ONCE = 4096  # documents that are chosen together

Choose = Callable[[Numbers], npt.NDArray[Any]]


class DocumentChoice:
    """Chooses the documents of one part: those with a topic in the family, if there is one, and the first `most`.

    The first are those with the lowest numbers. While reading, a document is dropped as soon as `most` with lower
    numbers are known, so that little more is held than is kept.
    """

    def __init__(self, family: Judgements | None, most: int | None) -> None:
        self.family = family
        self.most = most
        self.documents: list[Numbers] = []
        self.n_chosen = 0
        self.highest = HIGHEST_DOCUMENT

    def choose(self, documents: Numbers) -> npt.NDArray[np.bool_]:
        """Tell which of the next documents are wanted, and remember those."""
        kept = documents <= self.highest
        if self.family is not None:
            kept &= self.family.has(documents)
        self.documents.append(documents[kept])
        self.n_chosen += int(kept.sum())
        if self.most is not None and self.n_chosen >= self.most and kept.any():
            known = np.concatenate(self.documents)
            self.highest = int(np.partition(known, self.most - 1)[self.most - 1])
        return kept

    def order(self, where: str) -> tuple[npt.NDArray[np.intp], Numbers]:
        """Return the positions of the documents to keep among those chosen, by number, and their numbers."""
        documents = np.concatenate([np.empty(0, np.int32), *self.documents])
        order = np.argsort(documents, kind="stable")
        documents = documents[order]
        twice = np.flatnonzero(documents[1:] == documents[:-1])
        if len(twice):
            raise DatasetError(f"{where}: the document {documents[twice[0]]} is there twice.")
        return order[: self.most], documents[: self.most]


class Documents:
    """The documents read so far, part by part."""

    def __init__(self, where: str, features: Features, n_features: int | None, dtype: np.dtype[Any]) -> None:
        self.where, self.features, self.n_features = where, features, n_features
        self.form = RowFormat(1, n_features or MOST_FEATURES, dtype, several=False)
        self.rows = CsrRows()
        self.texts: list[str] = []
        self.orders: list[npt.NDArray[np.intp]] = []
        self.numbers: list[Numbers] = []

    def add(self, part: str, sources: Iterable[Source], wanted: DocumentChoice) -> None:
        """Read the wanted documents of a part."""
        n_before = self.n_read
        for source in sources:
            if self.features == "vectors":
                self._add_vectors(source, wanted)
            else:
                read_tokens(source, wanted.choose, self.texts)
        order, numbers = wanted.order(self.where)
        if len(numbers) < (wanted.most or 1):
            chosen = "" if wanted.family is None else " with a topic of the family"
            raise DatasetError(
                f"{self.where}: at least {wanted.most or 1:,} documents of the {part} part are wanted{chosen}; "
                f"there are {len(numbers):,}."
            )
        self.orders.append(order + n_before)
        self.numbers.append(numbers)

    @property
    def n_read(self) -> int:
        """How many documents are held; some may not be kept."""
        return self.rows.n_rows + len(self.texts)

    def _add_vectors(self, source: Source, wanted: DocumentChoice) -> None:
        for chunk in read_chunks(source, self.form):
            self.rows.add(chunk, wanted.choose(_document_numbers(chunk)))

    def X(self) -> Any:  # noqa: N802
        """Return the chosen documents: a CSR matrix, or an array of texts."""
        order = np.concatenate(self.orders)
        as_read = len(order) == self.n_read and bool((np.diff(order) > 0).all())
        if self.features == "vectors":
            rows = self.rows.matrix(self.where, False, self.n_features)
            return rows if as_read else rows[order]
        return as_objects(self.texts if as_read else [self.texts[i] for i in order])


def _document_numbers(chunk: RowChunk) -> Numbers:
    """Return the documents' numbers, which stand where svmlight has its labels."""
    starts, ends, _ = chunk.labels
    widths, numbers = ends - starts, np.zeros(chunk.n_rows, np.int64)
    is_number = widths <= MOST_DIGITS
    for k in range(min(int(widths.max(initial=0)), MOST_DIGITS)):
        is_inside = k < widths
        digits = chunk.text[np.where(is_inside, starts + k, 0)].astype(np.int64) - ord("0")
        is_number &= ~is_inside | ((digits >= 0) & (digits <= 9))
        numbers = np.where(is_inside, 10 * numbers + digits, numbers)
    is_number &= numbers <= HIGHEST_DOCUMENT
    if not is_number.all():
        start = int(starts[np.argmin(is_number)])
        problem = f"wanted the number of a document, at most {HIGHEST_DOCUMENT:,}, got {chunk.token(start)!r}."
        chunk.refuse(start, problem, "document-number")
    return numbers.astype(np.int32)


def read_tokens(source: Source, choose: Choose, texts: list[str]) -> None:
    """Add those texts of a file whose numbers are chosen."""
    numbered = documents(source)
    while batch := list(islice(numbered, _AT_ONCE)):
        kept = choose(np.array([number for number, _ in batch], np.int32))
        texts.extend(text for (_, text), is_kept in zip(batch, kept, strict=True) if is_kept)


def documents(source: Source) -> Iterator[tuple[int, str]]:
    r"""Yield number and text of each document; the lines of a text are joined by a blank.

    Examples
    --------
    >>> import io
    >>> list(documents(io.BytesIO(b".I 7\n.W\ncat dog\nfish\n\n.I 8\n.W\n")))
    [(7, 'cat dog fish'), (8, '')]
    """
    number: int | None = None
    words: list[bytes] | None = None  # None until '.W'
    line = started = n_bytes = 0
    with open_for_reading(source) as stream:
        for line, raw in iterate_byte_lines(source, stream):
            content = raw.strip()
            if content.startswith(b".I"):
                if number is not None:
                    yield number, _text(source, line, words, started)
                number, words, started, n_bytes = _number(source, line, content), None, line, 0
            elif content == b".W" and number is not None and words is None:
                words = []
            elif content and words is None:
                wanted = "'.I' and the number of a document" if number is None else "'.W'"
                refuse(source, line, 1, f"wanted {wanted}, got {_show(content)!r}.", kind="bad-token-file")
            elif content and words is not None:
                words.append(content)
                n_bytes += len(content) + _LINE_COST
                if n_bytes > LONGEST_LINE:
                    problem = f"document {number} takes more than {LONGEST_LINE:,} bytes."
                    refuse(source, line, 1, problem, kind="too-large")
        if number is not None:
            yield number, _text(source, line + 1, words, started)


def _number(source: Source, line: int, content: bytes) -> int:
    match = _DOCUMENT.fullmatch(content)
    number = int(match[1]) if match else HIGHEST_DOCUMENT + 1
    if number > HIGHEST_DOCUMENT:
        wanted = f"'.I' and the number of a document, at most {HIGHEST_DOCUMENT:,}"
        refuse(source, line, 1, f"wanted {wanted}, got {_show(content)!r}.", kind="bad-token-file")
    return number


def _text(source: Source, line: int, words: list[bytes] | None, started: int) -> str:
    if words is None:
        refuse(source, line, 1, f"the document that begins on line {started} has no '.W'.", kind="bad-token-file")
    return decode(source, b"\n".join(words), started + 2).replace("\n", " ")  # so that it names the line


def _show(content: bytes) -> str:
    return content[:40].decode("utf-8", "backslashreplace")
