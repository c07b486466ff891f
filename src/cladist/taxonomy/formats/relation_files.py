"""Label graphs on disk: ``u v [weight]`` lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from os import PathLike

from cladist.errors import TaxonomyError
from cladist.files import read_text, written
from cladist.taxonomy.formats.line_iterator import iterate_lines
from cladist.taxonomy.relations import RelationGraph


def read_relations(path: str | PathLike[str]) -> RelationGraph:
    """Read a label graph; fields are parted by tabs if any line has one, else by blanks, '#' begins a comment."""
    text = read_text(path, error=TaxonomyError)
    tabbed = any("\t" in line for _, line in iterate_lines(text))
    try:
        nodes = (fields[0] for _, fields in _rows(text, tabbed) if len(fields) == 1)
        edges = (fields for _, fields in _rows(text, tabbed) if len(fields) > 1)
        return RelationGraph.from_edges(edges, nodes=nodes, where=lambda k: _place_of_edge(k, text, tabbed))
    except TaxonomyError as problem:
        raise TaxonomyError(f"{os.fspath(path)}: {problem}") from None


def _rows(text: str, tabbed: bool) -> Iterator[tuple[int, list[str]]]:
    for number, line in iterate_lines(text):
        fields = [field.strip() for field in line.split("\t")] if tabbed else line.split()
        if len(fields) > 3:
            raise TaxonomyError(
                f"line {number}: 'u v' or 'u v weight' is wanted, with tabs between them if names have spaces; there "
                f"are {len(fields)} fields."
            )
        yield number, fields


def _place_of_edge(k: int, text: str, tabbed: bool) -> str:
    edges = (number for number, fields in _rows(text, tabbed) if len(fields) > 1)
    return f"line {next(islice(edges, k, None))}"


def write_relations(graph: RelationGraph, path: str | PathLike[str]) -> None:
    """Write every node on a line of its own, so that their order comes back, then the edges."""
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
    with written(path, error=TaxonomyError) as stream:
        stream.write(content)
