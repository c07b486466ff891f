"""CSV, TSV and JSON-lines files as a stream of records: (physical line, {column: value})."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from threading import Lock
from typing import Any

from cladist.errors import DatasetError, one_of
from cladist.files import Source, data_suffix, opened, refuse, shown_name, text_lines

FORMATS = ("csv", "tsv", "jsonl")
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_NOT_READ = (".parquet", ".feather", ".arff", ".xls", ".xlsx")

# Characters of one CSV field: longer than any book, and short enough that a quote never closed is noticed before it
# swallows the memory. The csv module's own limit, 131,072, refuses long documents.
LONGEST_FIELD = 16 * 2**20

Record = tuple[int, dict[str, Any]]


def records(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002
    columns: Iterable[str] = (),
) -> Iterator[Record]:
    """Yield each record of a table with the line it starts on; blank lines are passed over.

    The format is taken from the file's ending, then from its first line. In TSV, as in CSV, a field that
    starts with a double quote is a quoted one and may span lines. A header without rows must name the `columns`;
    what a row holds is for the caller to check.
    """
    one_of("read_table", "format", format, (None, *FORMATS))
    if format is None:
        check_ending(source)
    with opened(source) as stream:
        lines = text_lines(source, stream)
        first = next((line for line in lines if line[1].strip()), None)
        if first is None:
            raise DatasetError(f"{shown_name(source)}: the file is empty; a table has at least one row.")
        kind = format or _SUFFIXES.get(data_suffix(source)) or _guessed(source, first[1])
        numbered = chain([first], lines)
        if kind == "jsonl":
            yield from _json_records(source, numbered)
        else:
            delimiter = "\t" if kind == "tsv" else ","
            yield from _csv_records(source, (line for _, line in numbered), delimiter, first[0] - 1, columns)


def check_ending(source: Source) -> None:
    """Raise a `DatasetError` if a file's ending is that of a well-known format which is not read.

    Examples
    --------
    >>> check_ending("train.parquet")
    Traceback (most recent call last):
    cladist.errors.DatasetError: train.parquet: .parquet files are not read yet; convert ...
    """
    ending = data_suffix(source)
    if ending in _NOT_READ:
        raise DatasetError(
            f"{shown_name(source)}: {ending} files are not read yet; convert texts to CSV, TSV or JSON lines, numbers "
            "to svmlight."
        )


def _guessed(source: Source, first_line: str) -> str:
    if first_line.lstrip().startswith("{"):
        return "jsonl"
    if first_line.lstrip().startswith("["):
        raise DatasetError(f"{shown_name(source)}: a JSON array; write one JSON object a line instead (JSONL).")
    return "tsv" if first_line.count("\t") > first_line.count(",") else "csv"


def _json_records(source: Source, lines: Iterable[tuple[int, str]]) -> Iterator[Record]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            refuse(source, number, error.colno, f"not valid JSON ({error.msg}).")
        except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets without end
            refuse(source, number, 1, f"not a row of a table ({error}).")
        if not isinstance(record, dict):
            refuse(source, number, 1, f"wanted a JSON object, got {type(record).__name__}.")
        yield number, record


def _csv_records(
    source: Source, lines: Iterable[str], delimiter: str, skipped: int, columns: Iterable[str]
) -> Iterator[Record]:
    """Yield the rows below the header; `skipped` lines of the file came before `lines`."""
    header: list[str] | None = None
    start, n_rows = 0, 0
    for start, fields in _csv_rows(source, lines, delimiter, skipped):
        if header is None:
            header = [name.strip() for name in fields]
            _check_header(source, start, header)
        elif len(fields) != len(header):
            column = min(len(fields), len(header)) + 1
            refuse(source, start, column, f"the row has {len(fields)} fields, the header {len(header)}.")
        else:
            n_rows += 1
            yield start, dict(zip(header, fields, strict=True))
    if header is not None and n_rows == 0:
        for name in columns:
            check_column(source, start, name, header)


def _csv_rows(source: Source, lines: Iterable[str], delimiter: str, skipped: int) -> Iterator[tuple[int, list[str]]]:
    # strict: an unclosed quote would otherwise swallow the rest of the file without a word
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = skipped + reader.line_num + 1
        try:
            with _long_fields:
                fields = next(reader, None)
        except csv.Error as error:
            refuse(source, start, 1, f"not a valid row ({error}): {_hint(str(error))}.")
        if fields is None:
            return
        if fields:
            yield start, fields


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

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                csv.field_size_limit(self.before)


_long_fields = _LongFields()


def _hint(error: str) -> str:
    if "field limit" in error:
        return "a quote may never be closed; a text that really is longer can be read from JSON lines"
    if "new-line" in error:
        return "end lines with a line feed, not with a carriage return alone"
    return "a quote may be opened and not closed, or stand inside a quoted field without being doubled"


def check_column(source: Source, line: int, column: str, there: Iterable[str]) -> None:
    """Raise a `DatasetError` if a column is not among those there are.

    Examples
    --------
    >>> check_column("t.csv", 2, "titel", ["title", "label"])
    Traceback (most recent call last):
    cladist.errors.DatasetError: t.csv, line 2: there is no column 'titel'; there are 'title', 'label'.
    """
    if column not in there:
        names = ", ".join(repr(name) for name in there)
        raise DatasetError(f"{shown_name(source)}, line {line}: there is no column {column!r}; there are {names}.")


def _check_header(source: Source, line: int, header: list[str]) -> None:
    for position, name in enumerate(header):
        if name and name in header[:position]:
            refuse(source, line, position + 1, f"the header names {name!r} twice.")
