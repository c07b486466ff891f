"""The text of a taxonomy file → a taxonomy, for every format; line and offender are named where it cannot be.

| format | looks like |
|---|---|
| edges | ``parent child`` a line, or with a tab or ``->`` between them |
| paths | ``sport/tennis`` a line, or ``1 2 20`` |
| csv, tsv | columns ``node,parent[,name]``; several rows give a node several parents |
| json | ``{child: parent}``, nested objects and lists, or a list of ``[parent, child]`` |
| indented | a child stands below its parent, further to the right |
| rcv1 | ``parent: CCAT child: C15 child-description: PERFORMANCE`` a line |
| mesh | ``Abdomen;A01.047`` a line: a MeSH descriptor and one of its places; read only |
"""

from __future__ import annotations

from typing import Literal

from cladist.taxonomy import construction
from cladist.taxonomy.formats import columns, json, line_based, mesh
from cladist.taxonomy.formats.line_iterator import iterate_lines
from cladist.taxonomy.taxonomy import Taxonomy

OnCycle = Literal["error", "drop"]

ENDINGS = {
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".paths": "paths",
    ".edges": "edges",
    ".indented": "indented",
    ".rcv1": "rcv1",
}
FORMATS = tuple(ENDINGS.values())
READ_ONLY = ("mesh",)


def parse(text: str, format: str, *, sep: str = "/", on_cycle: OnCycle = "error") -> Taxonomy:  # noqa: A002
    r"""Build a taxonomy from a file's text.

    Examples
    --------
    >>> parse("sport tennis\nsport chess", "edges").names
    ('sport', 'tennis', 'chess')
    >>> parse('{"sport": {"tennis": {}, "chess": {}}}', "json").names
    ('sport', 'tennis', 'chess')
    """
    construction.check_on_cycle(on_cycle)
    if format in ("csv", "tsv"):
        return columns.parse_columns(text, ",;|" if format == "csv" else "\t", on_cycle)
    if format == "rcv1":
        return columns.parse_rcv1(text, on_cycle)
    if format == "mesh":
        return mesh.mesh_taxonomy(text, on_cycle=on_cycle)
    readers = {
        "edges": lambda: line_based.parse_edges(text, on_cycle),
        "paths": lambda: line_based.parse_paths(text, sep),
        "indented": lambda: line_based.parse_indented(text, sep),
        "json": lambda: json.parse_json(text, sep, on_cycle),
    }
    return Taxonomy(readers[format]())


def recognise(text: str, ending: str, sep: str) -> str:
    """Tell a file's format from its ending and, failing that, from what it holds.

    Examples
    --------
    >>> recognise("a/b/c", ".txt", "/"), recognise("a b", ".txt", "/"), recognise("1 2 3", "", "/")
    ('paths', 'edges', 'paths')
    """
    if ending in ENDINGS:
        return ENDINGS[ending]
    if text.lstrip()[:1] in ("{", "["):
        return "json"
    delimiter = columns.find_column_delimiter(text)
    if delimiter is not None:
        return "tsv" if delimiter == "\t" else "csv"
    if columns.are_rcv1_lines(text):
        return "rcv1"
    if mesh.are_mesh_lines(text):
        return "mesh"
    if line_based.is_indented(text):
        return "indented"
    if "\t" in text and any("\t" in line for _, line in iterate_lines(text)):
        return "edges" if all(line.count("\t") <= 1 for _, line in iterate_lines(text)) else "paths"
    joined = sep in text and any(sep in line for _, line in iterate_lines(text))
    if line_based.ARROW not in sep and line_based.have_arrows(text, all if joined else any):
        return "edges"
    if joined or line_based.are_spaced_paths(text):
        return "paths"
    line_based.refuse_other_delimiters(text)
    return "edges"
