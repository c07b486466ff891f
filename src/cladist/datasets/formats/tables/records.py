"""Tables of every format as a stream of rows: recognised, opened, and read a few rows at a time."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from numbers import Real
from operator import itemgetter
from typing import IO, Any, NoReturn

import numpy as np

from cladist.datasets.dataset import MOST_LABELS
from cladist.errors import DatasetError, one_of, quoted, shorten
from cladist.files import Source, data_suffix, display_name, iterate_text_lines, open_for_reading, refuse, workbook
from cladist.files.delimited import DELIMITERS, MOST_COLUMNS, DelimitedText, Lines, split_header
from cladist.taxonomy.structure import as_text, is_missing

Row = tuple[int, Any]  # its line or number, and the values of the wanted columns

NAMES_SHOWN = 20
TOO_MANY_LABELS = f"more than {MOST_LABELS:,} labels, which is the most that a row may have."
LONGEST_HEADER_TRIED = 10_000  # characters; trying every sign of a longer one takes too long
MOST_VALUES = 1_000_000  # of one JSON object, at all depths; they are counted before they are made

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
READ_FORMATS = (*FORMATS, *workbook.FORMATS.values())
_ENDINGS = {
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow"),
    ".csv": "csv",
    **workbook.FORMATS,
}
_NOT_READ = (".xls",)
_NOT_TABLES = {
    b"PK\x03\x04": "a zip archive; unpack it, or if it is a workbook, name its format, xlsx or ods",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save its sheet as CSV",
    b"FEA1\0": "Feather version 1, which is no longer read; write the table as version 2",
}
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|(,)', re.DOTALL)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")  # of a surrogate pair, which only escapes can split


@dataclass
class TableRows:
    """The rows of an open table; iterating yields (number, values in the order of `columns`)."""

    unit: str  # numbers count "line"s or "row"s
    columns: Sequence[str]
    rows: Iterator[Row]

    def __iter__(self) -> Iterator[Row]:
        return self.rows


@contextmanager
def open_table(
    source: Source,
    *,
    text: Sequence[str],
    label: str | None = None,
    format: str | None = None,  # noqa: A002
    query: str | None = None,
) -> Iterator[TableRows]:
    """Open a table and find the wanted columns: those with texts, then the one with labels, which may hold lists.

    The format is recognised by the first bytes (Parquet, Arrow), then by the ending, then by the first line. A missing
    column of CSV and TSV is an error before the first row is read, of JSON lines at the row that lacks it.
    """
    one_of("read_table", "format", format, (None, *READ_FORMATS))
    if query is not None or isinstance(source, str):
        from cladist.datasets.formats.tables.query import check_query, read_query

        check_query(source, query)
        if query is not None:
            wanted = [*text] if label is None else [*text, label]
            yield TableRows("row", *read_query(str(source), query, wanted))
            return
    if format is None:
        check_ending(source)
    columns = [*text] if label is None else [*text, label]
    with open_for_reading(source) as stream:
        kind = format or _recognise_bytes(source, stream) or format_of_ending(source)
        if kind in workbook.FORMATS.values():
            yield TableRows("row", *_read_sheet(source, stream, columns))
            return
        if kind in ("parquet", "arrow"):
            from cladist.datasets.formats.tables.arrow import read_arrow_rows

            yield TableRows("row", *read_arrow_rows(source, stream, kind, columns, label))
            return
        lines = iterate_text_lines(source, stream)
        first = next((line for line in lines if line[1].strip()), None)
        if first is None:
            raise DatasetError(f"{display_name(source)}: the file is empty; a table has at least one row.")
        lines = chain([first], lines)
        if (kind or ("jsonl" if first[1].lstrip().startswith(("{", "[")) else "csv")) == "jsonl":
            read = read_json_rows if columns else read_json_objects
            yield TableRows("line", columns, read(source, lines, columns))
        else:
            yield TableRows("line", *read_csv_rows(source, lines, columns, ("\t",) if kind == "tsv" else DELIMITERS))


def _read_sheet(source: Source, stream: IO[bytes], columns: Sequence[str]) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns of the rows of a sheet, and the rows below its first one, the header."""
    rows = workbook.sheet_rows(source, stream, DatasetError)
    number, first = next(rows, (0, []))
    if not number:
        raise DatasetError(f"{display_name(source)}: the first sheet is empty; a table has a header and rows.")
    header = [(cell_text(cell) or "").strip() for cell in first]
    names = list(columns) or [name for name in header if name]
    places = find_columns(f"{display_name(source)}, row {number}", header, names)
    return names, ((number, [cells[k] if k < len(cells) else None for k in places]) for number, cells in rows)


def read_records(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002
    columns: Iterable[str] = (),
    query: str | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line on which each row starts (in Parquet and Arrow, its number) and the row as {column: value}.

    Only the `columns` are read; without any, all. In CSV and TSV a field in double quotes may span lines, and empty
    lines are skipped.
    """
    with open_table(source, text=list(columns), format=format, query=query) as rows:
        for number, values in rows:
            yield number, values if isinstance(values, dict) else dict(zip(rows.columns, values, strict=True))


def check_ending(source: Source) -> None:
    """Raise a `DatasetError` if a file has the ending of a well-known format that cannot be read."""
    ending = data_suffix(source)
    if ending == ".arff":
        raise DatasetError(f"{display_name(source)}: an ARFF file is no table of texts; read_arff_hmc reads it.")
    if ending in _NOT_READ:
        raise DatasetError(
            f"{display_name(source)}: {ending} files are not read yet; convert texts to CSV, TSV or JSON lines, "
            "numbers to svmlight."
        )


def format_of_ending(source: Source) -> str | None:
    """Return the format of a table by the ending of its file, or None."""
    return _ENDINGS.get(data_suffix(source))


def _recognise_bytes(source: Source, stream: IO[bytes]) -> str | None:
    """Return the binary format that the first bytes show, or None."""
    if format_of_ending(source) in workbook.FORMATS.values():
        return None
    head: bytes = stream.peek(8)[:8]  # type: ignore[attr-defined]
    for mark, what in _NOT_TABLES.items():
        if head.startswith(mark):
            raise DatasetError(f"{display_name(source)}: {what}.")
    # A text may begin with the letters of a mark, but not with the bytes that follow in the binary formats.
    if head.startswith(b"PAR1") and head[4:5] < b" " and head[4:5] not in (b"", b"\t", b"\n", b"\r"):
        return "parquet"
    return "arrow" if head.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")) else None


def read_csv_rows(
    source: Source, lines: Lines, columns: Sequence[str], delimiters: tuple[str, ...]
) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns of the rows, and the rows below the header; without `columns`, all."""

    def fits(names: list[str]) -> bool:
        return bool(columns) and set(columns) <= set(names)

    table = DelimitedText(lines, delimiters, fits, partial(refuse, source))
    if not table.header:
        raise DatasetError(f"{display_name(source)}: the table has neither a header nor rows.")
    column_names = columns or [name for name in table.header if name]
    places = find_columns(
        f"{display_name(source)}, line {table.line}", table.header, column_names, _hint_delimiter(table, column_names)
    )
    return column_names, _pick(source, table, places)


def _hint_delimiter(table: DelimitedText, columns: Sequence[str]) -> str:
    """Return a hint at the delimiter that would make the wanted columns; empty if none would, or this one does."""
    if len(table.head) > LONGEST_HEADER_TRIED or set(columns) <= set(table.header):
        return ""
    signs = dict.fromkeys(sign for sign in table.head if not (sign.isalnum() or sign in '_"\r\n'))
    for other in (*DELIMITERS, *signs):
        if other not in table.delimiters and set(columns) <= set(split_header(table.head, other)):
            expected = " or ".join(map(_name_delimiter, table.delimiters))
            return f"; its fields look separated by {_name_delimiter(other)}, not by {expected}"
    return ""


def _name_delimiter(delimiter: str) -> str:
    return {"\t": "a tab", " ": "a space"}.get(delimiter, repr(delimiter))


def _pick(source: Source, table: DelimitedText, places: list[int]) -> Iterator[Row]:
    """Yield line and wanted fields of every row that has as many fields as the header."""
    width = len(table.header)
    pick = itemgetter(*places) if len(places) > 1 else None
    for start, fields in table:
        if len(fields) == width:
            yield start, pick(fields) if pick else [fields[place] for place in places]
        elif len(fields) > 1 or fields[0].strip():  # a line of blanks counts as empty
            count = "1 field" if len(fields) == 1 else f"{len(fields):,} fields"
            hint = f"a text with {_name_delimiter(table.delimiter)} or a line break in it needs quotes"
            refuse(source, start, min(len(fields), width) + 1, f"the row has {count}, the header {width:,}; {hint}.")


def read_json_rows(source: Source, lines: Iterator[tuple[int, str]], columns: Sequence[str]) -> Iterator[Row]:
    """Yield the line of every object and its values in the wanted columns."""
    for number, record in read_json_objects(source, lines, columns):
        try:
            yield number, [record[column] for column in columns]
        except KeyError as missing:
            raise no_column(f"{display_name(source)}, line {number}", missing.args[0], list(record)) from None


def read_json_objects(
    source: Source, lines: Iterator[tuple[int, str]], columns: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line and content of every object; the texts of the `columns` (without any, of all) are checked."""
    first = True
    for number, line in lines:
        if not line.strip():
            continue
        if first and line.lstrip().startswith("["):
            raise DatasetError(f"{display_name(source)}: a JSON array; write one JSON object per line instead (JSONL).")
        first = False
        record = _parse(source, number, line)
        if not isinstance(record, dict):
            refuse(source, number, 1, f"wanted a JSON object, got {type(record).__name__}.")
        if "\\u" in line and _HALF_CHARACTER.search(line):
            _check_whole(source, number, record, columns or record)
        yield number, record


def _parse(source: Source, number: int, line: str) -> Any:
    if line.count(",") > MOST_VALUES:
        commas = (match for match in _STRING_OR_COMMA.finditer(line) if match.lastindex)
        if sum(1 for _ in islice(commas, MOST_VALUES + 1)) > MOST_VALUES:
            refuse(source, number, 1, f"the object has more than {MOST_VALUES:,} values.")
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        hint = "each line must be one whole JSON object"
        if "\r" in line.rstrip("\r\n"):
            hint = "lines must end with a line feed, not with a carriage return alone"
        refuse(source, number, error.colno, f"not valid JSON ({error.msg}); {hint}.")
    except RecursionError:
        refuse(source, number, 1, "not a row of a table (its brackets are nested too deeply).")
    except ValueError as error:  # a number of thousands of digits
        refuse(source, number, 1, f"not a row of a table ({error}).")


def _check_whole(source: Source, number: int, record: dict[str, Any], columns: Iterable[str]) -> None:
    """Refuse texts with half of a surrogate pair, which no file and no model can hold."""
    for column in columns:
        value = record.get(column)
        for text in value if isinstance(value, list) else [value]:
            try:
                str(text if isinstance(text, str) else "").encode()
            except UnicodeEncodeError as error:
                half = shorten(error.object[error.start])
                refuse_cell(source, "line", number, column, f"the text has {half}, which is half of a character.")


def check_column(source: Source, line: int, column: str, there: Iterable[str]) -> None:
    """Raise a `DatasetError` unless a column is among those that a record has."""
    if column not in there:
        raise no_column(f"{display_name(source)}, line {line}", column, list(there))


def no_column(where: str, column: str, there: Sequence[str], hint: str = "") -> DatasetError:
    """Return the error about a column that is missing, which lists those that there are."""
    names = ", ".join(quoted(name) for name in there[:NAMES_SHOWN]) or "none"
    more = f" and {len(there) - NAMES_SHOWN:,} more" if len(there) > NAMES_SHOWN else ""
    if "," in column and all(part.strip() in there for part in column.split(",")):
        hint = "; give several columns one by one, each with the option's name"
    return DatasetError(f"{where}: there is no column {quoted(column)}; there are {names}{more}{hint}.")


def find_columns(where: str, header: Sequence[str], columns: Sequence[str], hint: str = "") -> list[int]:
    """Return the position of each wanted column in a header; one that is missing or repeated is an error."""
    if len(header) > MOST_COLUMNS:
        raise DatasetError(f"{where}: {len(header):,} columns, which is more than the {MOST_COLUMNS:,} that are read.")
    count = Counter(header)
    for column in columns:
        if column not in count:
            raise no_column(where, column, header, hint)
        if count[column] > 1:
            raise DatasetError(f"{where}: the header names {quoted(column)} twice, so it is not clear which is meant.")
    position = {name: k for k, name in enumerate(header)}
    return [position[column] for column in columns]


def refuse_cell(source: Source, unit: str, number: int, column: str, problem: str, kind: str | None = None) -> NoReturn:
    """Raise a `DatasetError` that names file, row and column; `number` counts a `unit`: lines or rows."""
    file, line = display_name(source), number if unit == "line" else None
    sentence = f"{file}, {unit} {number}, column {column!r}: {problem}"
    raise DatasetError(sentence, file=file, line=line, column=column, kind=kind)


def cell_text(value: Any) -> str | None:
    """Return the text of a cell, or None if it holds neither a text nor a number.

    A missing value is an empty text, and 11.0 is 11, as in `cladist.taxonomy`.
    """
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}" if value % 1 else str(int(value))
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return as_text(value)


def label_text(value: Any) -> str | None:
    """Return the text of a cell with a label, or None; an infinity, which JSON can hold, is not a label."""
    is_infinite = isinstance(value, (float, np.floating)) and math.isinf(value)
    return None if is_infinite else cell_text(value)
