"""Taxonomies written as rows of (node, parent, title): CSV, TSV, and the topic files of RCV1."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy import construction
from cladist.taxonomy.formats.line_based import at_line
from cladist.taxonomy.formats.line_iterator import iterate_lines, physical_lines
from cladist.taxonomy.taxonomy import Taxonomy

NODE_COLUMNS = ("node", "child", "id", "code")
NO_PARENT = "None"  # how RCV1 writes that a node is a root
_SAYS_DELIMITER = re.compile(r'"?sep=([^\w\s"\0]|\t)"?\s*', re.IGNORECASE)
_BLANKS = re.compile(" *")
_UP_TO_QUOTE = re.compile(r'[^"]*(?:""[^"]*)*')  # that closes a cell; two quotes are one inside of it
_RCV1_LINE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:(.*))?\s*")


class _Rows:
    """Collects rows of (node, parent or "", title or ""); a node's rows agree on its title and on being a root."""

    def __init__(self) -> None:
        self.links = construction.Links()
        self.root_at: dict[str, int] = {}
        self.titles: dict[str, str] = {}

    def add(self, node: str, parent: str, title: str, line: int) -> None:
        if not node:
            raise TaxonomyError(f"A node needs a name; line {line} has an empty one.")
        if parent:
            self.links.link(parent, node, line)
        else:
            self.links.node(node)
            if self.root_at.setdefault(node, line) != line:
                raise TaxonomyError(f"line {line}: the node {quoted(node)} has a row without a parent already.")
        if title and self.titles.setdefault(node, title) != title:
            before = quoted(self.titles[node])
            raise TaxonomyError(
                f"line {line}: the node {quoted(node)} is called {quoted(title)} here, {before} before."
            )

    def taxonomy(self, on_cycle: str) -> Taxonomy:
        """Return what was collected."""
        roots = {self.links.id_of[node]: line for node, line in self.root_at.items()}
        draft = self.links.draft(on_cycle, at_line)
        below = np.diff(draft.indptr) > 0
        for v, line in roots.items():
            if below[v]:
                name = quoted(draft.names[v])
                raise TaxonomyError(f"line {line}: the node {name} has no parent here, and one in another row.")
        return Taxonomy(draft, titles=self.titles)


def delimiter_of(text: str, among: str) -> str | None:
    r"""Return the delimiter that makes the wanted columns of the header, or None.

    A first line ``sep=;``, as Excel understands it, says the delimiter, and the header stands below.

    Examples
    --------
    >>> delimiter_of("node;parent\na;\n", ",;|\t")
    ';'
    >>> delimiter_of("sep=:\nnode:parent\na:\n", ",;|\t")
    ':'
    """
    said, head = _said_and_head(text)
    for delimiter in said or among:
        columns = {column.strip(' "\r\n') for column in head.split(delimiter)}
        if "parent" in columns and columns.intersection(NODE_COLUMNS):
            return delimiter
    return None


def _said_and_head(text: str) -> tuple[str, str]:
    """Return the delimiter that a first line ``sep=`` says, or "", and the header in small letters."""
    first = physical_lines(text)
    head = next(first, "")
    said = _SAYS_DELIMITER.fullmatch(head)
    return (said.group(1), next(first, "").lower()) if said else ("", head.lower())


def parse_columns(text: str, delimiters: str, on_cycle: str) -> Taxonomy:
    """Read ``node,parent[,name]`` rows; `name` becomes the node's title.

    They are parted by what a first line ``sep=`` says, or by one of some delimiters or tabs.
    """
    said, head = _said_and_head(text)
    likely = next((mark for mark in delimiters + "\t" if mark in head), delimiters[0])
    delimiter = said or delimiter_of(text, delimiters + "\t") or likely
    rows = csv.reader(_without_blanks(text, delimiter), delimiter=delimiter, strict=True, skipinitialspace=True)
    if said:
        _next_row(rows)
    header = [column.strip().lower() for column in _next_row(rows) or []]
    place = at_line(max(1, rows.line_num))
    node = next((header.index(c) for c in NODE_COLUMNS if c in header), None)
    if node is None or "parent" not in header:
        found = ", ".join(header[:10]) + (", …" if len(header) > 10 else "")
        raise TaxonomyError(f"{place}: the columns 'node' and 'parent' are wanted; the header has {quoted(found)}.")
    for column in ("parent", header[node], "name"):
        if header.count(column) > 1:
            raise TaxonomyError(f"{place}: the header names {quoted(column)} twice, so it is not clear which is meant.")
    parent = header.index("parent")
    name = header.index("name") if "name" in header else None
    collected = _Rows()
    for row in _checked_rows(rows, len(header)):
        collected.add(row[node], row[parent], row[name] if name is not None else "", rows.line_num)
    return collected.taxonomy(on_cycle)


def _without_blanks(text: str, delimiter: str) -> Iterator[str]:
    """Yield the lines of a table without the blanks behind its cells, which `csv` would keep; those in quotes stay.

    Blanks around cells are how people line up tables by hand; quotes keep those that belong to a name.
    """
    if not (text.endswith(" ") or any(" " + mark in text for mark in (delimiter, "\n", "\r"))):
        yield from physical_lines(text)
        return
    in_quotes = False  # a quoted cell may go on over several lines
    for line in physical_lines(text):
        if in_quotes or '"' in line:
            tidy, in_quotes = _without_outer_blanks(line, delimiter, in_quotes)
            yield tidy
        else:
            yield delimiter.join(map(_stripped, line.split(delimiter)))


def _without_outer_blanks(line: str, delimiter: str, in_quotes: bool) -> tuple[str, bool]:
    """Strip the cells of a line that has quotes, and tell whether it ends inside of some."""
    pieces: list[str] = []
    place = 0
    while True:
        start = place if in_quotes else _end_of(_BLANKS, line, place)
        if in_quotes or line.startswith('"', start):
            end = _end_of(_UP_TO_QUOTE, line, start if in_quotes else start + 1)
            if end == len(line):
                return "".join([*pieces, line[start:]]), True
            pieces.append(line[start : end + 1])
            place, in_quotes = end + 1, False
        end = line.find(delimiter, place)
        if end < 0:
            return "".join([*pieces, _stripped(line[place:])]), False
        pieces += (_stripped(line[place:end]), delimiter)
        place = end + 1


def _end_of(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _stripped(cell: str) -> str:
    """Return a cell, perhaps with the end of its line, without the blanks behind it."""
    content = cell.rstrip("\r\n")
    return content.rstrip(" ") + cell[len(content) :]


def _checked_rows(rows: Any, width: int) -> Iterator[list[str]]:
    while (row := _next_row(rows)) is not None:
        if row and len(row) != width:
            raise TaxonomyError(
                f"line {rows.line_num}: {width} columns are wanted; there are {len(row)}: {quoted(', '.join(row))}."
            )
        if row:
            yield row


def _next_row(rows: Any) -> list[str] | None:
    try:
        return next(rows, None)
    except csv.Error as problem:
        raise TaxonomyError(f"line {rows.line_num}: {problem}.") from None


def are_rcv1_lines(text: str) -> bool:
    """Tell whether every line is like ``parent: X child: Y``."""
    found = False
    for _, line in iterate_lines(text):
        if not (line.startswith("parent:") and " child:" in line.replace("\t", " ")):
            return False
        found = True
    return found


def parse_rcv1(text: str, on_cycle: str) -> Taxonomy:
    """Read the lines of RCV1's topic files; descriptions become titles."""
    rows = _Rows()
    for number, line in iterate_lines(text):
        found = _RCV1_LINE.fullmatch(line)
        if found is None:
            raise TaxonomyError(f"line {number}: 'parent: X child: Y' is wanted; got {quoted(line)}.")
        parent, child, title = found.groups()
        rows.add(child, "" if parent == NO_PARENT else parent, (title or "").strip(), number)
    return rows.taxonomy(on_cycle)
