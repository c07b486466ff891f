"""CSV and TSV tables: the wanted columns of every row, and hints where the delimiter is not the one expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter

from cladist.datasets.formats.tables.columns import Row, find_columns
from cladist.errors import DatasetError
from cladist.files import Source, display_name, refuse
from cladist.files.delimited import DELIMITERS, DelimitedText, Lines, split_header

LONGEST_HEADER_TRIED = 10_000  # characters; trying every sign of a longer one takes too long


def read_csv_rows(
    source: Source, lines: Lines, columns: Sequence[str], delimiters: tuple[str, ...]
) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns of the rows, and the rows below the header; without `columns`, all."""

    def fits(names: list[str]) -> bool:
        return bool(columns) and set(columns) <= set(names)

    table = DelimitedText(lines, delimiters, fits, partial(refuse, source))
    if not table.header:
        raise DatasetError(f"{display_name(source)}: the table has neither a header nor rows.")
    wanted = columns or [name for name in table.header if name]
    places = find_columns(
        f"{display_name(source)}, line {table.line}", table.header, wanted, _hint_delimiter(table, wanted)
    )
    return wanted, _pick(source, table, places)


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
