"""Taxonomies written as rows of (node, parent, title): CSV, TSV, and the topic files of RCV1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.files.delimited import DelimitedText, find_delimiter
from cladist.taxonomy import construction
from cladist.taxonomy.formats.lines import all_lines, iterate_lines, iterate_physical_lines, name_line
from cladist.taxonomy.taxonomy import Taxonomy

NODE_COLUMNS = ("node", "child", "id", "code")
NO_PARENT = "None"  # how RCV1 writes that a node is a root
_RCV1_LINE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:(.*))?\s*")


class _NodeRows:
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

    def build_taxonomy(self, on_cycle: str) -> Taxonomy:
        """Build the taxonomy of all rows."""
        roots = {self.links.id_of[node]: line for node, line in self.root_at.items()}
        draft = self.links.draft(on_cycle, name_line)
        below = np.diff(draft.indptr) > 0
        for v, line in roots.items():
            if below[v]:
                name = quoted(draft.names[v])
                raise TaxonomyError(f"line {line}: the node {name} has no parent here, and one in another row.")
        draft.titles = self.titles
        return Taxonomy(draft)


def find_column_delimiter(text: str) -> str | None:
    r"""Return the delimiter of a text whose header has the columns of nodes and parents, or None.

    Examples
    --------
    >>> find_column_delimiter("node;parent\na;\n"), find_column_delimiter("a b\n")
    (';', None)
    """
    return find_delimiter(_number_lines(text), ",\t;|", _has_columns)


def _number_lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(iterate_physical_lines(text), 1)


def _has_columns(names: list[str]) -> bool:
    columns = {name.lower() for name in names}
    return "parent" in columns and not columns.isdisjoint(NODE_COLUMNS)


def _refuse_row(line: int, column: int | None, problem: str) -> NoReturn:
    raise TaxonomyError(f"line {line}: {problem}", line=line, column=column)


def parse_columns(text: str, delimiters: str, on_cycle: str) -> Taxonomy:
    """Read ``node,parent[,name]`` rows; `name` becomes the node's title.

    The delimiter is the one that a first line ``sep=`` states, one of `delimiters`, or a tab.
    """
    table = DelimitedText(_number_lines(text), delimiters + "\t", _has_columns, _refuse_row, strip=True)
    header = [name.lower() for name in table.header]
    if not _has_columns(header):
        shown = ", ".join(header[:10]) + (", …" if len(header) > 10 else "")
        _refuse_row(table.line, None, f"the columns 'node' and 'parent' are wanted; the header has {quoted(shown)}.")
    node = next(header.index(column) for column in NODE_COLUMNS if column in header)
    for column in ("parent", header[node], "name"):
        if header.count(column) > 1:
            problem = f"the header names {quoted(column)} twice, so it is not clear which is meant."
            _refuse_row(table.line, None, problem)
    parent = header.index("parent")
    name = header.index("name") if "name" in header else None
    nodes = _NodeRows()
    for line, row in table:
        if len(row) != len(header):
            shown = quoted(", ".join(row))
            _refuse_row(line, None, f"{len(header)} columns are wanted; there are {len(row)}: {shown}.")
        nodes.add(row[node], row[parent], row[name] if name is not None else "", line)
    return nodes.build_taxonomy(on_cycle)


def are_rcv1_lines(text: str) -> bool:
    """Tell whether every line is like ``parent: X child: Y``."""
    return all_lines(text, lambda line: line.startswith("parent:") and " child:" in line.replace("\t", " "))


def parse_rcv1(text: str, on_cycle: str) -> Taxonomy:
    """Read the lines of RCV1's topic files; descriptions become titles."""
    rows = _NodeRows()
    for number, line in iterate_lines(text):
        match = _RCV1_LINE.fullmatch(line)
        if match is None:
            raise TaxonomyError(f"line {number}: 'parent: X child: Y' is wanted; got {quoted(line)}.")
        parent, child, title = match.groups()
        rows.add(child, "" if parent == NO_PARENT else parent, (title or "").strip(), number)
    return rows.build_taxonomy(on_cycle)
