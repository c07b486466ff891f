"""Tables of every format as a stream of rows: recognised, opened, and read a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

from cladist.datasets.formats.tables.arrow import read_arrow_rows
from cladist.datasets.formats.tables.columns import Row, check_column
from cladist.datasets.formats.tables.csv_records import read_csv_rows
from cladist.datasets.formats.tables.json_records import read_json_objects, read_json_rows
from cladist.errors import DatasetError, one_of
from cladist.files import Source, data_suffix, display_name, iterate_text_lines, open_for_reading
from cladist.files.delimited import DELIMITERS

__all__ = ["FORMATS", "TableRows", "check_column", "check_ending", "format_of_ending", "open_table", "read_records"]

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_NOT_READ = (".xls", ".xlsx", ".ods")
_NOT_TABLES = {
    b"PK\x03\x04": "a zip archive, perhaps an Excel workbook; unpack it, or save its sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save its sheet as CSV",
    b"FEA1\0": "Feather version 1, which is no longer read; write the table as version 2",
}


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
) -> Iterator[TableRows]:
    """Open a table and find the wanted columns: those with texts, then the one with labels, which may hold lists.

    The format is recognised by the first bytes (Parquet, Arrow), then by the ending, then by the first line. A missing
    column of CSV and TSV is an error before the first row is read, of JSON lines at the row that lacks it.
    """
    one_of("read_table", "format", format, (None, *FORMATS))
    if format is None:
        check_ending(source)
    columns = [*text] if label is None else [*text, label]
    with open_for_reading(source) as stream:
        kind = format or _recognise_bytes(source, stream) or format_of_ending(source)
        if kind in ("parquet", "arrow"):
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


def read_records(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002
    columns: Iterable[str] = (),
) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the line on which each row starts (in Parquet and Arrow, its number) and the row as {column: value}.

    Only the `columns` are read; without any, all. In CSV and TSV a field in double quotes may span lines, and empty
    lines are skipped.

    Examples
    --------
    >>> import io
    >>> list(read_records(io.BytesIO(b"id;text\n1;rain\n\n2;tea\n"), columns=["text"]))
    [(2, {'text': 'rain'}), (4, {'text': 'tea'})]
    """
    wanted = list(columns)
    with open_table(source, text=wanted, format=format) as rows:
        for number, values in rows:
            yield number, values if isinstance(values, dict) else dict(zip(rows.columns, values, strict=True))


def check_ending(source: Source) -> None:
    """Raise a `DatasetError` if a file has the ending of a well-known format that cannot be read.

    Examples
    --------
    >>> check_ending("train.xlsx")
    Traceback (most recent call last):
    cladist.errors.DatasetError: train.xlsx: .xlsx files are not read yet; convert ...
    """
    ending = data_suffix(source)
    if ending == ".arff":
        raise DatasetError(f"{display_name(source)}: an ARFF file is no table of texts; read_arff_hmc reads it.")
    if ending in _NOT_READ:
        raise DatasetError(
            f"{display_name(source)}: {ending} files are not read yet; convert texts to CSV, TSV or JSON lines, "
            "numbers to svmlight."
        )


def format_of_ending(source: Source) -> str | None:
    """Return the format of a table by the ending of its file, or None.

    Examples
    --------
    >>> format_of_ending("a.CSV.gz"), format_of_ending("a.pq"), format_of_ending("a.txt")
    ('csv', 'parquet', None)
    """
    return _ENDINGS.get(data_suffix(source))


def _recognise_bytes(source: Source, stream: IO[bytes]) -> str | None:
    """Return the binary format that the first bytes show, or None."""
    head: bytes = stream.peek(8)[:8]  # type: ignore[attr-defined]
    for mark, what in _NOT_TABLES.items():
        if head.startswith(mark):
            raise DatasetError(f"{display_name(source)}: {what}.")
    # A text may begin with the letters of a mark, but not with the bytes that follow in the binary formats.
    if head.startswith(b"PAR1") and head[4:5] < b" " and head[4:5] not in (b"", b"\t", b"\n", b"\r"):
        return "parquet"
    return "arrow" if head.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")) else None
