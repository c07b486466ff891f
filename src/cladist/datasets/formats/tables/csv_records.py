"""CSV and its kin: the delimiter is recognised from the header, and rows are held to limits before they take memory."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from threading import Lock
from typing import Any

from cladist.datasets.formats.tables.columns import MOST_COLUMNS, Row, positions
from cladist.errors import CladistError, DatasetError
from cladist.files import LONGEST_LINE, Source, refuse, shown_name

Lines = Iterator[tuple[int, str]]

DELIMITERS = (",", ";", "\t", "|")  # Excel writes ";" wherever "," is the decimal sign

# Characters of one CSV field: longer than any book, and short enough that a quote never closed is noticed before it
# swallows the memory. The csv module's own limit, 131,072, refuses long documents.
LONGEST_FIELD = 16 * 2**20

ORDINARY_ROW = 2**20  # characters; the fields of a longer row are counted before they are made
LONGEST_HEADER_TRIED = 10_000  # characters; trying every sign of a longer one takes too long
BATCH_ROWS, BATCH_CHARACTERS = 256, 2**20  # parsed at once

_EXCEL_HINT = re.compile(r'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)


def csv_rows(
    source: Source, lines: Lines, columns: Sequence[str], delimiters: tuple[str, ...]
) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns that rows have values of, and the rows below the header; no `columns`: all."""
    number, line = next(lines)
    hint = _EXCEL_HINT.fullmatch(line)
    if hint:
        delimiters = (hint[1],)
        number, line = next((ahead for ahead in lines if ahead[1].strip()), (number, ""))
        if not line:
            raise DatasetError(f"{shown_name(source)}: the table has neither a header nor rows.")
    _check_line(source, number, line)
    delimiter = _delimiter(line, columns, delimiters)
    rows = _Rows(source, chain([(number, line)], lines), delimiter, number - 1).rows()
    start, fields = next(rows)
    header = [name.strip() for name in fields]
    wanted = columns or [name for name in header if name]
    where = f"{shown_name(source)}, line {start}"
    chosen = positions(where, header, wanted, _other_delimiter(line, wanted, delimiter, delimiters))
    return wanted, _picked(source, rows, len(header), chosen, delimiter)


def _check_line(source: Source, number: int, line: str) -> None:
    """Refuse a first line that is none."""
    if "\0" in line:
        refuse(source, number, line.index("\0") + 1, "a NUL byte; if the file is UTF-16, save it as UTF-8.")
    if "\r" in line.rstrip("\r\n") and '"' not in line:
        problem = "lines end with a carriage return alone; save the file with line feeds."
        refuse(source, number, line.index("\r") + 1, problem)
    if max(line.count(delimiter) for delimiter in DELIMITERS) >= MOST_COLUMNS:
        problem = f"the header has more than the {MOST_COLUMNS:,} columns that are read."
        refuse(source, number, MOST_COLUMNS + 1, problem)


def _names(line: str, delimiter: str) -> list[str]:
    try:
        with _long_fields:
            return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # it is told of when the line is read in earnest
        return []


def _delimiter(line: str, columns: Sequence[str], delimiters: tuple[str, ...]) -> str:
    """Return the first delimiter that makes the wanted columns of a header, or else the most columns."""
    made = {delimiter: _names(line, delimiter) for delimiter in delimiters}
    fitting = (delimiter for delimiter, names in made.items() if columns and set(columns) <= set(names))
    return next(fitting, max(delimiters, key=lambda delimiter: len(made[delimiter])))


def _other_delimiter(line: str, columns: Sequence[str], delimiter: str, delimiters: tuple[str, ...]) -> str:
    """Return a hint at the delimiter that would have made the wanted columns; empty if none would, or this one does."""
    if len(line) > LONGEST_HEADER_TRIED or set(columns) <= set(_names(line, delimiter)):
        return ""
    signs = dict.fromkeys(sign for sign in line if not (sign.isalnum() or sign in '_"\r\n'))
    for other in (*DELIMITERS, *signs):
        if other not in delimiters and set(columns) <= set(_names(line, other)):
            return f"; its fields look separated by {_shown(other)}, not by {' or '.join(map(_shown, delimiters))}"
    return ""


def _shown(delimiter: str) -> str:
    return {"\t": "a tab", " ": "a space"}.get(delimiter, repr(delimiter))


def _picked(
    source: Source, rows: Iterator[tuple[int, list[str]]], width: int, chosen: list[int], delimiter: str
) -> Iterator[Row]:
    pick = itemgetter(*chosen) if len(chosen) > 1 else None
    for start, fields in rows:
        if len(fields) == width:
            yield start, pick(fields) if pick else [fields[place] for place in chosen]
        elif len(fields) > 1 or fields[0].strip():  # a line of blanks is as empty as an empty one
            count = "1 field" if len(fields) == 1 else f"{len(fields):,} fields"
            hint = f"a text with {_shown(delimiter)} or a line break in it needs quotes"
            refuse(source, start, min(len(fields), width) + 1, f"the row has {count}, the header {width:,}; {hint}.")


class _Rows:
    """The rows of a CSV file, each with the line it starts on; empty lines are passed over."""

    def __init__(self, source: Source, lines: Lines, delimiter: str, skipped: int) -> None:
        self.source, self.lines, self.delimiter, self.end = source, lines, delimiter, skipped
        # strict: an unclosed quote would otherwise swallow the rest of the file without a word
        self.reader = csv.reader(self._fed(), delimiter=delimiter, strict=True)
        self.skipped = skipped
        self.n_characters, self.n_quotes, self.n_fields = 0, 0, 0  # of the row being read

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        problem: Exception | None = None
        finished = False
        while not finished and problem is None:
            batch: list[tuple[int, list[str]]] = []
            try:
                with _long_fields:
                    finished = self._read_batch(batch)
            except (csv.Error, CladistError) as error:
                problem = error
            yield from batch
        if isinstance(problem, csv.Error):
            refuse(self.source, self.end + 1, 1, f"not a valid row: {_hint(str(problem))}.")
        if problem is not None:
            raise problem

    def _read_batch(self, batch: list[tuple[int, list[str]]]) -> bool:
        """Read rows into `batch`, so that those before a fault are there; return whether they were the last."""
        n_held = 0
        for fields in self.reader:
            start, self.end = self.end + 1, self.skipped + self.reader.line_num
            if fields:
                batch.append((start, fields))
            n_held += self.n_characters
            self.n_characters = self.n_quotes = self.n_fields = 0
            if len(batch) >= BATCH_ROWS or n_held > BATCH_CHARACTERS:
                return False
        return True

    def _fed(self) -> Iterator[str]:
        """Hand lines to the csv module, unless they make a row beyond all bounds."""
        for _, line in self.lines:
            self.n_characters += len(line)
            if self.n_characters > ORDINARY_ROW:
                self._check_row(line)
            self.n_quotes += line.count('"')
            yield line

    def _check_row(self, line: str) -> None:
        if self.n_characters > LONGEST_LINE:
            problem = f"the row is longer than {LONGEST_LINE:,} characters; a quote may never be closed."
            refuse(self.source, self.end + 1, 1, problem)
        self.n_fields += _n_fields(line, self.delimiter, inside=self.n_quotes % 2 == 1)
        if self.n_fields > MOST_COLUMNS:
            refuse(self.source, self.end + 1, MOST_COLUMNS + 1, f"the row has more than {MOST_COLUMNS:,} fields.")


def _n_fields(line: str, delimiter: str, *, inside: bool) -> int:
    """Count fields that end with a delimiter, up to one too many; `inside`: the line begins in a quoted one."""
    rest = r'[^"]*+(?:""[^"]*+)*+"?+'  # of a quoted field, its closing quote included
    end = (
        rf"[^{re.escape(delimiter)}]*+(?:({re.escape(delimiter)})|\Z)"  # it always matches, so no place is tried twice
    )
    first = re.match(rest + end if inside else "", line)
    fields = re.compile(f'(?:"{rest})?+{end}').finditer(line, first.end() if first else 0)
    ended = sum(1 for _ in islice((field for field in fields if field.lastindex), MOST_COLUMNS + 1))
    return ended + (1 if first and first.lastindex else 0)


class _LongFields:
    """Lets csv fields be long while inside; the limit is the whole process's, so the last to leave puts it back."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = Lock(), 0, 0

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.before = csv.field_size_limit()
                csv.field_size_limit(max(self.before, LONGEST_FIELD))
            self.inside += 1

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                csv.field_size_limit(self.before)


_long_fields = _LongFields()


def _hint(error: str) -> str:
    if "field limit" in error:
        return (
            f"a field is longer than {LONGEST_FIELD:,} characters; a quote may never be closed, and a text that really "
            "is longer can be read from JSON lines"
        )
    if "new-line" in error:
        return "lines must end with a line feed, not with a carriage return alone"
    return "a quote is opened and not closed, or stands inside a quoted field without being doubled"
