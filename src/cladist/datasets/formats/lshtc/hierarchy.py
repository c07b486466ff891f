"""The hierarchy files of LSHTC: one edge or path per line; a node is its number."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import pairwise

from cladist.errors import TaxonomyError
from cladist.files import Source, display_name, iterate_text_lines, open_for_reading
from cladist.taxonomy import Taxonomy, construction

MOST_LEVELS = 1_000  # of a path; the deepest hierarchies have some dozens

_BLANKS = re.compile("[ \t\r\n\f\v]+")  # separate labels in the rows too; other spaces are part of a name


def read_hierarchy(source: Source, on_cycle: str) -> Taxonomy:
    r"""Read a hierarchy; a line of two numbers is an edge, a longer one a path, each pair of neighbours an edge.

    Examples
    --------
    >>> import io
    >>> read_hierarchy(io.BytesIO(b"1 2 3\n1 2 4\n"), "error").path("4")
    ['1', '2', '4']
    """
    links = construction.Links()
    line_of = array("q")
    try:
        with open_for_reading(source, error=TaxonomyError) as stream:
            lines = iterate_text_lines(source, stream, error=TaxonomyError)
            edges = _edges(lines, links, line_of)
            draft = construction.from_edges(edges, on_cycle=on_cycle, links=links, where=lambda k: f"line {line_of[k]}")
            return Taxonomy(draft)
    except TaxonomyError as problem:
        name = display_name(source)
        if problem.file is not None or str(problem).startswith(name):
            raise
        raise TaxonomyError(f"{name}: {problem}", file=name, line=problem.line, kind=problem.kind) from None


def _edges(
    lines: Iterator[tuple[int, str]], links: construction.Links, line_of: array[int]
) -> Iterator[tuple[str, str]]:
    for number, line in lines:
        if line.startswith("#"):
            continue
        nodes = _BLANKS.split(line.strip(" \t\r\n\f\v"), MOST_LEVELS)
        if len(nodes) > MOST_LEVELS:
            problem = f"line {number}: a path has at most {MOST_LEVELS:,} nodes; there are more here."
            raise TaxonomyError(problem, line=number, kind="too-deep")
        if len(nodes) == 1 and nodes[0]:
            links.node(nodes[0])
        for edge in pairwise(nodes):
            line_of.append(number)
            yield edge
