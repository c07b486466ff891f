"""Read and write crosswalks as tables: CSV, TSV and workbooks, in our own layout or in those of offices."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from cladist.errors import TaxonomyError, quoted
from cladist.files import (
    Source,
    data_suffix,
    display_name,
    name_source,
    open_for_reading,
    open_for_writing,
    read_text,
    workbook,
)
from cladist.files.delimited import DelimitedText, split_header
from cladist.taxonomy.formats.rdf import FORMATS
from cladist.taxonomy.formats.reader import iterate_physical_lines
from cladist.taxonomy.revisions.entries import KINDS, Entry, as_entry, without_contradictions
from cladist.taxonomy.revisions.layouts import LINES_ABOVE_HEADER, Layout, find_layout, split_codes

COLUMNS = ("old", "new", "kind", "confidence", "evidence")
DELIMITERS = ",;\t|"
FROM_TABLE = "correspondence table"
LONGEST_NOTE = 300  # characters of the notes of a pair that a table lists several times

Lines = list[tuple[int, str]]


def read_crosswalk(path: Source, *, columns: tuple[str, str] | None = None) -> list[Entry]:
    """Read the entries of a table; `columns` names those of old and new where the header does not tell."""
    if data_suffix(path) in workbook.FORMATS:
        with open_for_reading(path, error=TaxonomyError) as stream:
            text = workbook.sheet_text(path, stream, TaxonomyError)
    else:
        text = read_text(path, error=TaxonomyError)
    with name_source(path):
        return parse_crosswalk(text, tabbed=data_suffix(path) == ".tsv", columns=columns)


def parse_crosswalk(text: str, *, tabbed: bool = False, columns: tuple[str, str] | None = None) -> list[Entry]:
    """Return the entries of the text of a table."""
    lines = enumerate(iterate_physical_lines(text), start=1)
    above: Lines = []
    for number, line in lines:
        above.append((number, line))
        delimiter = _delimiter_of(line, "\t" if tabbed else DELIMITERS, columns)
        if delimiter is not None:
            table = DelimitedText(chain(above[-1:], lines), delimiter, lambda _: True, _refuse, strip=True)
            layout = find_layout(table.header, columns)
            if layout is not None:
                return list(_own_entries(table, layout) if layout.own else _official_entries(table, layout))
        if len(above) > LINES_ABOVE_HEADER:
            break
    return _refuse_header(above, columns)


def _delimiter_of(line: str, delimiters: str, columns: tuple[str, str] | None) -> str | None:
    fits = (mark for mark in delimiters if mark in line)
    return next((mark for mark in fits if find_layout(split_header(line, mark, strip=True), columns)), None)


def _refuse_header(above: Lines, columns: tuple[str, str] | None) -> NoReturn:
    wanted = "'old' and 'new', or two columns of codes" if columns is None else " and ".join(map(repr, columns))
    line = next((line.strip() for _, line in above if line.strip()), "")
    advice = "" if columns else "; name the columns of the old and of the new codes"
    _refuse(1, None, f"the columns {wanted} must be in the header, which is {quoted(line)}{advice}.")


def _own_entries(table: DelimitedText, layout: Layout) -> Iterator[Entry]:
    """Yield the entries of our own layout."""
    for line, row in table:
        if len(row) != len(table.header):
            shown = quoted(", ".join(row))
            _refuse(line, None, f"{len(table.header)} columns are needed; there are {len(row)}: {shown}.")
        kind = (row[layout.kind] if layout.kind is not None else "") or "one-to-one"
        sure = (row[layout.confidence] if layout.confidence is not None else "") or "1"
        if kind not in KINDS:
            _refuse(line, "kind", f"wanted one of {', '.join(KINDS)}, got {quoted(kind)}.")
        try:
            confidence = float(sure)
        except ValueError:
            confidence = -1.0
        if not 0 <= confidence <= 1:
            _refuse(line, "confidence", f"wanted a number from 0 to 1, got {quoted(sure)}.")
        old, new = row[layout.old] or None, row[layout.new] or None
        if old is None and new is None:
            _refuse(line, None, "the row names no node; give an old one, a new one or both.")
        evidence = row[layout.note] if layout.note is not None else ""
        yield as_entry((old, new, kind, confidence, evidence), line)


def _official_entries(table: DelimitedText, layout: Layout) -> Iterable[Entry]:
    """Return the entries of an official table, each pair once; rows without any code are notes."""
    entries: dict[tuple[str | None, str | None], Entry] = {}
    for line, row in table:
        cells = [*row, *[""] * (len(table.header) - len(row))]
        olds, news = (split_codes(cells[k], lists=k in layout.lists) for k in (layout.old, layout.new))
        note = " ".join(cells[layout.note].split()) if layout.note is not None else ""
        for pair in ((old, new) for old in olds for new in news):
            if pair == (None, None):
                continue
            if pair not in entries:
                entries[pair] = as_entry((*pair, "one-to-one", 1.0, note[:LONGEST_NOTE] or FROM_TABLE), line)
            elif note and len(entries[pair].evidence) + len(note) <= LONGEST_NOTE:
                entries[pair] = replace(entries[pair], evidence=f"{entries[pair].evidence}; {note}")
    return without_contradictions(list(entries.values()))


def _refuse(line: int, column: int | str | None, problem: str) -> NoReturn:
    place = f"line {line}" + ("" if column is None else f", column {column!r}")
    raise TaxonomyError(f"{place}: {problem}", line=line, column=column)


def write_crosswalk(entries: Iterable[Entry], path: str | PathLike[str]) -> None:
    """Write entries as a table; the file appears whole or not at all."""
    ending = data_suffix(path)
    if ending in FORMATS:
        from cladist.taxonomy.revisions.mappings import format_mappings

        text = format_mappings(entries, FORMATS[ending])
    else:
        text = format_crosswalk(entries, "\t" if ending == ".tsv" else ",")
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise TaxonomyError(f"{display_name(path)}: a name cannot be written as UTF-8: {problem.reason}.") from None
    if b"\0" in content:
        raise TaxonomyError(f"{display_name(path)}: a name has a character 0, which no text file can hold.")
    with open_for_writing(Path(path), error=TaxonomyError) as stream:
        stream.write(content)


def format_crosswalk(entries: Iterable[Entry], delimiter: str = ",") -> str:
    """Return the text of a table."""
    out = io.StringIO()
    rows = [[e.old or "", e.new or "", e.kind, f"{e.confidence:.6g}", e.evidence] for e in entries]
    # The reader strips blanks outside quotes, and older versions of csv do not quote a lone carriage return.
    every = any(text != text.strip(" ") or "\r" in text for row in rows for text in row)
    style: dict[str, Any] = {"quoting": csv.QUOTE_ALL} if every else {}
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", **style)
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return out.getvalue()
