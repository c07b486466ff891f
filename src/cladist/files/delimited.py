"""Delimited text (CSV, TSV and relatives): the one reader, for tables, taxonomies and label graphs.

Rows are held to limits before their fields take memory, and every fault is reported with its line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from threading import Lock
from typing import Any, NoReturn

from cladist.errors import CladistError
from cladist.files import LONGEST_LINE

Lines = Iterator[tuple[int, str]]  # line numbers from 1, and lines with their ends
Row = tuple[int, list[str]]  # the line on which a row starts, and its fields
Fits = Callable[[list[str]], bool]  # whether a header has the columns that the caller needs
Refuse = Callable[[int, int, str], NoReturn]  # raises the caller's error: line, column, problem

DELIMITERS = (",", ";", "\t", "|")  # Excel writes ";" wherever "," is the decimal sign
MOST_COLUMNS = 100_000  # a header that names more is an attack, or not a header
# Longer than any book, and short enough that a quote never closed is noticed before it takes all memory. The limit of
# the csv module, 131,072, would refuse long documents.
LONGEST_FIELD = 16 * 2**20
ORDINARY_ROW = 2**20  # characters; the fields of a longer row are counted before they are made
BATCH_ROWS, BATCH_CHARACTERS = 256, 2**20  # parsed at once

_STATED_DELIMITER = re.compile(r'"?sep=([^\w"\r\n\0])"?\s*', re.IGNORECASE)
_BLANKS = re.compile(" *")
_UP_TO_QUOTE = re.compile(r'[^"]*(?:""[^"]*)*')  # the quote that closes a field; two quotes inside it are one


class DelimitedText:
    """The header and the rows of a delimited text; iterating yields the rows, empty lines left out.

    The delimiter is the first of `delimiters` that makes a header that `fits`, or else the one with most columns. A
    first line ``sep=;``, as Excel writes it, states it, and the header is below it. `strip` leaves out the blanks
    around fields, except inside quotes. `header` has the column names, none where there is no header, `line` is the
    line on which it starts, and `head` its first line as it stands.
    """

    def __init__(
        self, lines: Lines, delimiters: Iterable[str], fits: Fits, refuse: Refuse, *, strip: bool = False
    ) -> None:
        self.line, self.head, stated = read_head(lines)
        self.delimiters = (stated,) if stated else tuple(delimiters)
        _check_head(self.line, self.head, refuse)
        headers = {delimiter: split_header(self.head, delimiter, strip=strip) for delimiter in self.delimiters}
        widest = max(self.delimiters, key=lambda delimiter: len(headers[delimiter]))
        self.delimiter = next((delimiter for delimiter, names in headers.items() if fits(names)), widest)
        texts: Iterator[str] = chain([self.head], (line for _, line in lines))
        texts = _strip_lines(texts, self.delimiter) if strip else texts
        self._rows = _RowReader(texts, self.delimiter, self.line - 1, refuse).rows()
        self.header = [name.strip() for name in next(self._rows, (0, []))[1]]

    def __iter__(self) -> Iterator[Row]:
        return self._rows


def find_delimiter(lines: Lines, delimiters: Iterable[str], fits: Fits) -> str | None:
    """Return the delimiter that a text states or that makes a fitting header, blanks around names left out; or None."""
    _, head, stated = read_head(lines)
    return next(
        (mark for mark in ((stated,) if stated else delimiters) if fits(split_header(head, mark, strip=True))), None
    )


def read_head(lines: Lines) -> tuple[int, str, str | None]:
    """Return number and text of the first line of a header, and the delimiter that a line above it states."""
    number, line = next((entry for entry in lines if entry[1].strip()), (1, ""))
    stated = _STATED_DELIMITER.fullmatch(line)
    if stated is None:
        return number, line, None
    return *next((entry for entry in lines if entry[1].strip()), (number, "")), stated[1]


def _check_head(number: int, line: str, refuse: Refuse) -> None:
    """Refuse a first line that is not the line of a text table."""
    if "\0" in line:
        refuse(number, line.index("\0") + 1, "a NUL byte; if the file is UTF-16, save it as UTF-8.")
    if "\r" in line.rstrip("\r\n") and '"' not in line:
        refuse(number, line.index("\r") + 1, "lines end with a carriage return alone; save the file with line feeds.")
    if max(line.count(delimiter) for delimiter in DELIMITERS) >= MOST_COLUMNS:
        refuse(number, MOST_COLUMNS + 1, f"the header has more than the {MOST_COLUMNS:,} columns that are read.")


def split_header(line: str, delimiter: str, *, strip: bool = False) -> list[str]:
    """Return the column names of a header at a delimiter; none where it cannot be split."""
    if line.count(delimiter) >= MOST_COLUMNS:
        return []
    lines = [_strip_fields(line, delimiter, in_quotes=False)[0]] if strip else [line]
    try:
        with _long_fields:
            return [name.strip() for name in next(csv.reader(lines, delimiter=delimiter), [])]
    except csv.Error:  # reported when the line is read as a row
        return []


def split_plain(lines: Iterable[tuple[int, str]], *, tabbed: bool) -> Iterator[tuple[int, str, list[str]]]:
    """Yield number, line and fields of lines without quotes: fields stand between tabs, or else between blanks."""
    for number, line in lines:
        yield number, line, [field.strip() for field in line.split("\t")] if tabbed else line.split()


class _RowReader:
    """A csv reader that knows on which line a row starts, and checks rows before their fields are made."""

    def __init__(self, lines: Iterator[str], delimiter: str, n_skipped: int, refuse: Refuse) -> None:
        self.delimiter, self.refuse = delimiter, refuse
        self.n_skipped = self.end = n_skipped  # lines above the header; the line on which the last row ended
        self.n_characters = self.n_quotes = self.n_fields = 0  # of the row being read
        # strict: an unclosed quote would otherwise take the rest of the file without an error
        self.reader = csv.reader(self._check_lines(lines), delimiter=delimiter, strict=True)

    def rows(self) -> Iterator[Row]:
        """Yield rows; they are read in batches, since the csv module's limit is not ours while the caller works."""
        problem: Exception | None = None
        finished = False
        while not finished and problem is None:
            batch: list[Row] = []
            try:
                with _long_fields:
                    finished = self._read_batch(batch)
            except (csv.Error, CladistError) as error:
                problem = error
            yield from batch  # the rows before a fault come first
        if isinstance(problem, csv.Error):
            self.refuse(self.end + 1, 1, f"not a valid row: {_explain(str(problem))}.")
        if problem is not None:
            raise problem

    def _read_batch(self, batch: list[Row]) -> bool:
        """Append rows to `batch`, so that those before a fault are there; return whether they were the last."""
        n_characters = 0
        for fields in self.reader:
            start, self.end = self.end + 1, self.n_skipped + self.reader.line_num
            if fields:
                batch.append((start, fields))
            n_characters += self.n_characters
            self.n_characters = self.n_quotes = self.n_fields = 0
            if len(batch) >= BATCH_ROWS or n_characters > BATCH_CHARACTERS:
                return False
        return True

    def _check_lines(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self.n_characters += len(line)
            if self.n_characters > ORDINARY_ROW:
                self._check_row(line)
            self.n_quotes += line.count('"')
            yield line

    def _check_row(self, line: str) -> None:
        if self.n_characters > LONGEST_LINE:
            problem = f"the row is longer than {LONGEST_LINE:,} characters; a quote may never be closed."
            self.refuse(self.end + 1, 1, problem)
        self.n_fields += count_fields(line, self.delimiter, in_quotes=self.n_quotes % 2 == 1)
        if self.n_fields > MOST_COLUMNS:
            self.refuse(self.end + 1, MOST_COLUMNS + 1, f"the row has more than {MOST_COLUMNS:,} fields.")


def count_fields(line: str, delimiter: str, *, in_quotes: bool) -> int:
    """Count the fields that end with a delimiter, up to one above `MOST_COLUMNS`.

    `in_quotes` tells that the line begins inside a quoted field.
    """
    rest = r'[^"]*+(?:""[^"]*+)*+"?+'  # of a quoted field, with its closing quote
    mark = re.escape(delimiter)
    end = rf"[^{mark}]*+(?:({mark})|\Z)"  # it always matches, so no place is tried twice
    first = re.match(rest + end if in_quotes else "", line)
    fields = re.compile(f'(?:"{rest})?+{end}').finditer(line, first.end() if first else 0)
    ended = sum(1 for _ in islice((field for field in fields if field.lastindex), MOST_COLUMNS + 1))
    return ended + (1 if first and first.lastindex else 0)


def _strip_lines(lines: Iterator[str], delimiter: str) -> Iterator[str]:
    """Yield lines without the blanks around their fields, which `csv` would keep; those inside quotes stay.

    People line up tables with blanks; quotes keep the blanks that belong to a name.
    """
    in_quotes = False  # a quoted field may go on over several lines
    for line in lines:
        if in_quotes or '"' in line:
            stripped, in_quotes = _strip_fields(line, delimiter, in_quotes)
            yield stripped
        else:
            yield (
                delimiter.join(_strip_end(field.lstrip(" ")) for field in line.split(delimiter))
                if " " in line
                else line
            )


def _strip_fields(line: str, delimiter: str, in_quotes: bool) -> tuple[str, bool]:
    """Return a line with stripped fields, and whether it ends inside quotes."""
    pieces: list[str] = []
    place = 0
    while True:
        start = place if in_quotes else _match_end(_BLANKS, line, place)
        if in_quotes or line.startswith('"', start):
            end = _match_end(_UP_TO_QUOTE, line, start if in_quotes else start + 1)
            if end == len(line):
                return "".join([*pieces, line[start:]]), True
            pieces.append(line[start : end + 1])
            place, in_quotes = end + 1, False
        else:
            place = start
        end = line.find(delimiter, place)
        if end < 0:
            return "".join([*pieces, _strip_end(line[place:])]), False
        pieces += (_strip_end(line[place:end]), delimiter)
        place = end + 1


def _match_end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


def _strip_end(field: str) -> str:
    """Return a field, perhaps with the end of its line, without the blanks behind it."""
    content = field.rstrip("\r\n")
    return content.rstrip(" ") + field[len(content) :]


class _LongFields:
    """Lets fields be long inside the block; the limit is the process's, so the last block to end restores it."""

    def __init__(self) -> None:
        self.lock, self.n_inside, self.before = Lock(), 0, 0

    def __enter__(self) -> None:
        with self.lock:
            if self.n_inside == 0:
                self.before = csv.field_size_limit()
                csv.field_size_limit(max(self.before, LONGEST_FIELD))
            self.n_inside += 1

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.n_inside -= 1
            if self.n_inside == 0:
                csv.field_size_limit(self.before)


_long_fields = _LongFields()


def _explain(error: str) -> str:
    if "field limit" in error:
        return (
            f"a field is longer than {LONGEST_FIELD:,} characters; a quote may never be closed, and a text that really "
            "is longer can be read from JSON lines"
        )
    if "new-line" in error:
        return "lines must end with a line feed, not with a carriage return alone"
    return "a quote is opened and not closed, or stands inside a quoted field without being doubled"
