"""Read and write files of label graphs: ``u v [weight]`` per line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from os import PathLike

from cladist.errors import TaxonomyError
from cladist.files import open_for_writing, read_text
from cladist.files.delimited import split_plain
from cladist.taxonomy.formats.lines import find_line, has_tabs, iterate_lines
from cladist.taxonomy.relations import RelationGraph


def read_relations(path: str | PathLike[str]) -> RelationGraph:
    """Read a label graph; fields stand between tabs if any line has one, else between blanks; '#' begins a comment."""
    text = read_text(path, error=TaxonomyError)
    tabbed = has_tabs(text)
    try:
        nodes = (fields[0] for _, fields in _iterate_rows(text, tabbed) if len(fields) == 1)
        edges = (fields for _, fields in _iterate_rows(text, tabbed) if len(fields) > 1)

        def where(k: int) -> str:
            return find_line(k, (row for row in _iterate_rows(text, tabbed) if len(row[1]) > 1))

        return RelationGraph.from_edges(edges, nodes=nodes, where=where)
    except TaxonomyError as problem:
        raise TaxonomyError(f"{os.fspath(path)}: {problem}") from None


def _iterate_rows(text: str, tabbed: bool) -> Iterator[tuple[int, list[str]]]:
    for number, _, fields in split_plain(iterate_lines(text), tabbed=tabbed):
        if len(fields) > 3:
            raise TaxonomyError(
                f"line {number}: 'u v' or 'u v weight' is wanted, with tabs between them if names have spaces; there "
                f"are {len(fields)} fields."
            )
        yield number, fields


def write_relations(graph: RelationGraph, path: str | PathLike[str]) -> None:
    """Write every node on a line of its own, so that their order is restored, then the edges."""
    for name in graph.names:
        if name != name.strip() or any(c in name for c in "\t\n\r\0") or name.startswith(("#", "\ufeff")):
            raise TaxonomyError(
                f"A file of relations cannot hold the name {name!r}: it has a tab, a line break, spaces at an end or "
                "begins with '#'."
            )
    rows = [*graph.names, *(f"{u}\t{v}\t{weight!r}" for u, v, weight in graph.edges())]
    if graph.n_edges == 0 and any(c.isspace() for name in graph.names for c in name):
        raise TaxonomyError("A file of relations without an edge cannot hold names with spaces; there is no tab in it.")
    try:
        content = "".join(row + "\n" for row in rows).encode("utf-8")
    except UnicodeEncodeError as problem:
        raise TaxonomyError(f"{os.fspath(path)}: a name cannot be written as UTF-8: {problem.reason}.") from None
    with open_for_writing(path, error=TaxonomyError) as stream:
        stream.write(content)
