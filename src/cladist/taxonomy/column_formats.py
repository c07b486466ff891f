"""Taxonomies written as rows of (node, parent, title): CSV, TSV, and the topic files of RCV1."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy import building
from cladist.taxonomy.line_formats import at_line
from cladist.taxonomy.lines import lines, physical_lines
from cladist.taxonomy.taxonomy import Taxonomy

NODE_COLUMNS = ("node", "child", "id", "code")
NO_PARENT = "None"  # how RCV1 writes that a node is a root
_RCV1_LINE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:(.*))?\s*")


class _Rows:
    """Collects rows of (node, parent or "", title or ""); a node's rows agree on its title and on being a root."""

    def __init__(self) -> None:
        self.links = building.Links()
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
    r"""Return the delimiter that makes the wanted columns of the first line, or None.

    Examples
    --------
    >>> delimiter_of("node;parent\na;\n", ",;|\t")
    ';'
    """
    head = next(physical_lines(text), "").lower()
    for delimiter in among:
        columns = {column.strip(' "\r\n') for column in head.split(delimiter)}
        if "parent" in columns and columns.intersection(NODE_COLUMNS):
            return delimiter
    return None


def parse_columns(text: str, delimiters: str, on_cycle: str) -> Taxonomy:
    """Read ``node,parent[,name]`` rows, parted by one of some delimiters; `name` becomes the node's title."""
    delimiter = delimiter_of(text, delimiters) or delimiters[0]
    # Blanks after a delimiter are how people write tables by hand; quotes keep those that belong to a name.
    rows = csv.reader(physical_lines(text), delimiter=delimiter, strict=True, skipinitialspace=True)
    header = [column.strip().lower() for column in _next_row(rows) or []]
    node = next((header.index(c) for c in NODE_COLUMNS if c in header), None)
    if node is None or "parent" not in header:
        found = ", ".join(header[:10]) + (", …" if len(header) > 10 else "")
        raise TaxonomyError(f"line 1: the columns 'node' and 'parent' are wanted; the header has {quoted(found)}.")
    for column in ("parent", header[node], "name"):
        if header.count(column) > 1:
            raise TaxonomyError(f"line 1: the header names {quoted(column)} twice, so it is not clear which is meant.")
    parent = header.index("parent")
    name = header.index("name") if "name" in header else None
    collected = _Rows()
    for row in _checked_rows(rows, len(header)):
        collected.add(row[node], row[parent], row[name] if name is not None else "", rows.line_num)
    return collected.taxonomy(on_cycle)


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
    for _, line in lines(text):
        if not (line.startswith("parent:") and " child:" in line.replace("\t", " ")):
            return False
        found = True
    return found


def parse_rcv1(text: str, on_cycle: str) -> Taxonomy:
    """Read the lines of RCV1's topic files; descriptions become titles."""
    rows = _Rows()
    for number, line in lines(text):
        found = _RCV1_LINE.fullmatch(line)
        if found is None:
            raise TaxonomyError(f"line {number}: 'parent: X child: Y' is wanted; got {quoted(line)}.")
        parent, child, title = found.groups()
        rows.add(child, "" if parent == NO_PARENT else parent, (title or "").strip(), number)
    return rows.taxonomy(on_cycle)
