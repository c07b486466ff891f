"""Read taxonomy files of every format; errors name the file, the line and the text at fault.

| format | looks like |
|---|---|
| edges | ``parent child`` per line, or with a tab or ``->`` between them |
| paths | ``sport/tennis`` per line, or ``1 2 20`` |
| csv, tsv | columns ``node,parent[,name]``; several rows give a node several parents |
| json | ``{child: parent}``, nested objects and lists, or a list of ``[parent, child]`` |
| indented | a child stands below its parent, indented further |
| rcv1 | ``parent: CCAT child: C15 child-description: PERFORMANCE`` per line |
| mesh | ``Abdomen;A01.047`` per line: a MeSH descriptor and one of its places; read only |
"""

from __future__ import annotations

from typing import Literal

from cladist.errors import TaxonomyError
from cladist.files import Source, data_suffix, display_name, read_text
from cladist.taxonomy import construction
from cladist.taxonomy.formats import columns, json, lines, mesh
from cladist.taxonomy.formats.lines import iterate_lines
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
OTHER_FILES = {
    ".arff": " (cladist.datasets.read_arff_hmc reads their taxonomy with their rows)",
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xls", ".xlsx", ".ods", ".zip", ".npz"), ""),
}


def read_taxonomy(
    path: Source,
    *,
    format: str | None,  # noqa: A002
    sep: str,
    on_cycle: OnCycle = "error",
) -> Taxonomy:
    """Read a taxonomy from a file; `format` None recognises it by ending, then by content."""
    check_format(format, (*FORMATS, *READ_ONLY))
    check_ending(path, format)
    text = read_text(path, error=TaxonomyError)
    try:
        return parse(text, format or recognise(text, data_suffix(path), sep), sep=sep, on_cycle=on_cycle)
    except TaxonomyError as problem:
        name = display_name(path)
        raise TaxonomyError(f"{name}: {problem}", file=name, line=problem.line, column=problem.column) from None


def check_format(format: str | None, among: tuple[str, ...]) -> None:  # noqa: A002
    """Raise a `TaxonomyError` unless a format is None or one of some."""
    if format is not None and format not in among:
        raise TaxonomyError(f"format must be one of {', '.join(among)}; got {format!r}.")


def check_ending(path: Source, format: str | None) -> None:  # noqa: A002
    """Raise a `TaxonomyError` for a file of another kind, which would be read as edges."""
    ending = data_suffix(path)
    if format is None and ending in OTHER_FILES:
        raise TaxonomyError(
            f"{display_name(path)}: {ending} files are no taxonomy files{OTHER_FILES[ending]}; taxonomies are read "
            f"from {', '.join(FORMATS)} and MeSH's tree files."
        )


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
        "edges": lambda: lines.parse_edges(text, on_cycle),
        "paths": lambda: lines.parse_paths(text, sep),
        "indented": lambda: lines.parse_indented(text, sep),
        "json": lambda: json.parse_json(text, sep, on_cycle),
    }
    return Taxonomy(readers[format]())


def recognise(text: str, ending: str, sep: str) -> str:
    """Return the format of a file by its ending or, if that is not known, by its content.

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
    if lines.is_indented(text):
        return "indented"
    if lines.has_tabs(text):
        return "edges" if all(line.count("\t") <= 1 for _, line in iterate_lines(text)) else "paths"
    joined = sep in text and any(sep in line for _, line in iterate_lines(text))
    if lines.ARROW not in sep and lines.have_arrows(text, all if joined else any):
        return "edges"
    if joined or lines.are_spaced_paths(text):
        return "paths"
    lines.refuse_other_delimiters(text)
    return "edges"
