"""Read and write crosswalks as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from cladist.errors import TaxonomyError, quoted
from cladist.files import Source, data_suffix, display_name, name_source, open_for_writing, read_text
from cladist.files.delimited import DelimitedText
from cladist.taxonomy.formats.reader import iterate_physical_lines
from cladist.taxonomy.revisions.entries import KINDS, Entry, as_entry

COLUMNS = ("old", "new", "kind", "confidence", "evidence")


def read_crosswalk(path: Source) -> list[Entry]:
    """Read the entries of a table with the columns old and new."""
    text = read_text(path, error=TaxonomyError)
    with name_source(path):
        return list(parse_crosswalk(text, tabbed=data_suffix(path) == ".tsv"))


def parse_crosswalk(text: str, *, tabbed: bool = False) -> Iterator[Entry]:
    """Yield the entries of the text of a table."""
    lines = enumerate(iterate_physical_lines(text), start=1)
    delimiters = "\t" if tabbed else ",;\t|"
    table = DelimitedText(
        lines, delimiters, lambda header: {"old", "new"} <= {*map(str.lower, header)}, _refuse, strip=True
    )
    header = [name.lower() for name in table.header]
    if not {"old", "new"} <= set(header):
        _refuse(
            table.line,
            None,
            f"the columns 'old' and 'new' must be in the header, which is {quoted(table.head.strip())}.",
        )
    place = {name: header.index(name) for name in COLUMNS if name in header}
    for line, row in table:
        if len(row) != len(header):
            _refuse(line, None, f"{len(header)} columns are needed; there are {len(row)}: {quoted(', '.join(row))}.")
        fields = {name: row[k] for name, k in place.items()}
        yield _entry(fields, line)


def _entry(fields: dict[str, str], line: int) -> Entry:
    kind, sure = fields.get("kind") or "one-to-one", fields.get("confidence") or "1"
    if kind not in KINDS:
        _refuse(line, "kind", f"wanted one of {', '.join(KINDS)}, got {quoted(kind)}.")
    try:
        confidence = float(sure)
    except ValueError:
        confidence = -1.0
    if not 0 <= confidence <= 1:
        _refuse(line, "confidence", f"wanted a number from 0 to 1, got {quoted(sure)}.")
    if not fields["old"] and not fields["new"]:
        _refuse(line, None, "the row names no node; give an old one, a new one or both.")
    return as_entry((fields["old"] or None, fields["new"] or None, kind, confidence, fields.get("evidence", "")), line)


def _refuse(line: int, column: int | str | None, problem: str) -> NoReturn:
    place = f"line {line}" + ("" if column is None else f", column {column!r}")
    raise TaxonomyError(f"{place}: {problem}", line=line, column=column)


def write_crosswalk(entries: Iterable[Entry], path: str | PathLike[str]) -> None:
    """Write entries as a table; the file appears whole or not at all."""
    delimiter = "\t" if data_suffix(path) == ".tsv" else ","
    try:
        content = format_crosswalk(entries, delimiter).encode("utf-8")
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
