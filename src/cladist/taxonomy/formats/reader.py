"""Read taxonomy files of every format; errors name the file, the line and the text at fault.

| format | looks like |
|---|---|
| edges | ``parent child`` per line, or with a tab or ``->`` between them |
| paths | ``sport/tennis`` per line, or ``1 2 20`` |
| csv, tsv | columns ``node,parent[,name,description,synonyms]``; several rows give a node several parents |
| json | ``{child: parent}``, nested objects and lists, a list of ``[parent, child]``, or objects with texts |
| indented | a child is below its parent, indented further |
| rcv1 | ``parent: CCAT child: C15 child-description: PERFORMANCE`` per line |
| mesh | ``Abdomen;A01.047`` per line: a MeSH descriptor and one of its places; read only |
| obo, owl | an ontology: terms below those that they are a kind of; read only |
| turtle, rdfxml, jsonld | a SKOS vocabulary, as RDF |
| xlsx, ods | a workbook, its first sheet as in csv, or a path per row, a part per cell; read only |
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NoReturn

from cladist.errors import TaxonomyError, quoted
from cladist.files import Source, data_suffix, display_name, name_source, open_for_reading, read_text, workbook
from cladist.files.delimited import DelimitedText, find_delimiter, split_plain
from cladist.taxonomy.construction import Draft, Links, OnCycle, check_on_cycle, from_paths
from cladist.taxonomy.formats.json import parse_json
from cladist.taxonomy.formats.node_rows import NodeRow, draft_rows, split_synonyms
from cladist.taxonomy.taxonomy import Taxonomy

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
READ_ONLY = ("mesh", "obo", "owl", "xlsx", "ods")
RDF = ("turtle", "rdfxml", "jsonld")
READ_ENDINGS = {**ENDINGS, ".obo": "obo", ".owl": "owl", **workbook.FORMATS}
OTHER_FILES = {
    ".arff": " (cladist.datasets.read_arff_hmc reads their taxonomy with their rows)",
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xls", ".zip", ".npz"), ""),
}


def read_taxonomy(
    path: Source,
    *,
    format: str | None,  # noqa: A002
    sep: str,
    on_cycle: OnCycle = "error",
    scheme: str | None = None,
    lang: str | None = None,
) -> Taxonomy:
    """Read a taxonomy from a file; `format` None recognises it by ending, then by content."""
    check_format(format, (*FORMATS, *READ_ONLY, *RDF))
    check_ending(path, format)
    kind = format or READ_ENDINGS.get(data_suffix(path))
    if kind in workbook.FORMATS.values():
        with open_for_reading(path, error=TaxonomyError) as stream:
            text = workbook.sheet_text(path, stream, TaxonomyError)
        with name_source(path):
            return _parse_sheet(text, on_cycle)
    text = read_text(path, error=TaxonomyError)
    with name_source(path):
        kind = format or recognise(text, data_suffix(path), sep)
        if kind in RDF:
            from cladist.taxonomy.formats.skos import skos_taxonomy

            return skos_taxonomy(text, kind, on_cycle=on_cycle, scheme=scheme, lang=lang)
        if scheme is not None or lang is not None:
            raise TaxonomyError(f"scheme and lang are of SKOS vocabularies; this file is read as {kind}.")
        return parse(text, kind, sep=sep, on_cycle=on_cycle)


def _parse_sheet(text: str, on_cycle: OnCycle) -> Taxonomy:
    """Build a taxonomy from a sheet: columns node and parent, or without these a path per row, a part per cell."""
    rows = list(csv.reader(io.StringIO(text)))
    if rows and _has_columns(rows[0]):
        return parse(text, "csv", on_cycle=on_cycle)
    paths = [[part for cell in row if (part := cell.strip())] for row in rows]
    return Taxonomy(from_paths((path for path in paths if path), sep="/", where=lambda k: f"row {k + 1}"))


def check_format(format: str | None, among: tuple[str, ...]) -> None:  # noqa: A002
    """Raise a `TaxonomyError` unless a format is None or one of some."""
    if format is not None and format not in among:
        raise TaxonomyError(f"format must be one of {', '.join(among)}; got {format!r}.")


def check_ending(path: Source, format: str | None) -> None:  # noqa: A002
    """Raise a `TaxonomyError` for a file of another kind, which would be read as edges."""
    ending = data_suffix(path)
    if format is None and ending in OTHER_FILES:
        raise TaxonomyError(
            f"{display_name(path)}: {ending} files are not taxonomy files{OTHER_FILES[ending]}; taxonomies are read "
            f"from {', '.join(FORMATS)} and MeSH's tree files."
        )


def parse(text: str, format: str, *, sep: str = "/", on_cycle: OnCycle = "error") -> Taxonomy:  # noqa: A002
    """Build a taxonomy from a file's text."""
    from cladist.taxonomy.formats import mesh, ontology  # which read lines by means of this module

    check_on_cycle(on_cycle)
    if format in ("obo", "owl"):
        return ontology.ontology_taxonomy(text, format, on_cycle=on_cycle)
    if format == "mesh":
        return mesh.mesh_taxonomy(text, on_cycle=on_cycle)
    readers: dict[str, Callable[[], Draft]] = {
        "csv": lambda: parse_columns(text, ",;|", on_cycle),
        "tsv": lambda: parse_columns(text, "\t", on_cycle),
        "rcv1": lambda: parse_rcv1(text, on_cycle),
        "edges": lambda: parse_edges(text, on_cycle),
        "paths": lambda: parse_paths(text, sep),
        "indented": lambda: parse_indented(text, sep),
        "json": lambda: parse_json(text, sep, on_cycle),
    }
    return Taxonomy(readers[format]())


def recognise(text: str, ending: str, sep: str) -> str:
    """Return the format of a file by its ending or, if that is not known, by its content."""
    from cladist.taxonomy.formats import mesh, rdf

    if (kind := rdf.recognise_rdf(text, ending)) is not None:
        return kind
    if ending in READ_ENDINGS:
        return READ_ENDINGS[ending]
    if text.startswith("format-version:"):
        return "obo"
    if "<rdf:RDF" in text[:10_000]:
        return "owl"
    if text.lstrip()[:1] in ("{", "["):
        return "json"
    delimiter = find_delimiter(_number_lines(text), ",\t;|", _has_columns)
    if delimiter is not None:
        return "tsv" if delimiter == "\t" else "csv"
    if all_lines(text, lambda line: line.startswith("parent:") and " child:" in line.replace("\t", " ")):
        return "rcv1"
    if mesh.are_mesh_lines(text):
        return "mesh"
    if is_indented(text):
        return "indented"
    if has_tabs(text):
        return "edges" if all(line.count("\t") <= 1 for _, line in iterate_lines(text)) else "paths"
    joined = sep in text and any(sep in line for _, line in iterate_lines(text))
    if ARROW not in sep and have_arrows(text, all if joined else any):
        return "edges"
    if joined or are_spaced_paths(text):
        return "paths"
    refuse_other_delimiters(text)
    return "edges"


# Texts are iterated line by line: a list of all lines would take more memory than the taxonomy.

ARROW = "->"
_ARROW = re.compile(r"(?<=\s)->(?=\s)")
_BLOCK = 1 << 18  # characters, split at once, which is faster than line by line
_LINE = re.compile(r"[^\r\n]+(?:\r\n|[\r\n]|\Z)|\r\n|[\r\n]")


def iterate_physical_lines(text: str) -> Iterator[str]:
    """Yield every line with its end, a line feed, a carriage return or both."""
    return (match.group() for match in _LINE.finditer(text))


def _split_lines(text: str) -> Iterator[str]:
    """Yield every line, with or without its end."""
    if "\r" in text:
        yield from iterate_physical_lines(text)
        return
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK)
        end = len(text) if end < 0 else end
        yield from text[start:end].split("\n")
        start = end + 1


def iterate_indented_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and line of all lines but empty ones and comments ('#'), with their indentation."""
    for number, line in enumerate(_split_lines(text), start=1):
        content = line.strip()
        if content and content[0] != "#":
            yield number, line.rstrip()


def iterate_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and line of all lines but empty ones and comments, without the blanks around them; tabs stay."""
    for number, line in enumerate(_split_lines(text), start=1):
        content = line.strip(" \r\n")
        if content and content[0] != "#" and not content.isspace():
            yield number, content


def name_line(number: int) -> str:
    """Return how messages call a line."""
    return f"line {number}"


def find_line(k: int, lines: Iterable[tuple[int, *tuple[object, ...]]]) -> str:
    """Return how messages call the k-th of some numbered lines; storing all numbers would cost memory."""
    return name_line(next(islice(lines, k, None))[0])


def all_lines(text: str, test: Callable[[str], bool]) -> bool:
    """Tell whether a text has lines and all of them pass a test."""
    return any(True for _ in iterate_lines(text)) and all(test(line) for _, line in iterate_lines(text))


def has_tabs(text: str) -> bool:
    """Tell whether any line of a text that is not a comment has a tab."""
    return "\t" in text and any("\t" in line for _, line in iterate_lines(text))


def parse_edges(text: str, on_cycle: str) -> Draft:
    """Read ``parent child`` lines, with tabs or arrows between them if any line has one; one name alone is a node."""
    tabbed = has_tabs(text)
    arrowed = not tabbed and have_arrows(text, any)
    links = Links()
    for number, line, fields in split_plain(iterate_lines(text), tabbed=tabbed):
        if arrowed and len(fields) > 1:
            fields = _split_at_arrow(number, line)
        if len(fields) > 2:
            raise TaxonomyError(
                f"line {number}: an edge is 'parent child', but there are {len(fields)} fields: {quoted(line)}. "
                "Names with spaces need a tab between parent and child."
            )
        if not all(fields):
            raise TaxonomyError(f"A node needs a name; line {number} has an empty one.")
        if len(fields) == 1:
            links.node(fields[0])
        else:
            links.link(fields[0], fields[1], number)
    return links.draft(on_cycle, name_line)


def _split_at_arrow(number: int, line: str) -> list[str]:
    ends = [end.strip() for end in _ARROW.split(line)]
    if len(ends) != 2:
        paths = f" If these are paths, name {ARROW!r} as their separator." if len(ends) > 2 else ""
        raise TaxonomyError(
            f"line {number}: an edge of this file is 'parent {ARROW} child', but here is {quoted(line)}.{paths}"
        )
    return ends


def have_arrows(text: str, how_many: Callable[[Iterable[bool]], bool]) -> bool:
    """Tell whether any or all lines have an arrow with blanks around it."""
    return ARROW in text and how_many(_ARROW.search(line) is not None for _, line in iterate_lines(text))


def refuse_other_delimiters(text: str) -> None:
    """Refuse ``a,b`` on every line, where each line would be read as one root."""
    if next(iterate_lines(text), None) is None:
        return
    for mark in (",", ";", "|", ARROW):
        if mark in text and all(mark in line and len(line.split()) == 1 for _, line in iterate_lines(text)):
            advice = f"put blanks around it: parent {ARROW} child"
            if mark != ARROW:
                advice = f"say so in a first line parent{mark}child"
            raise TaxonomyError(
                f"Every line has {mark!r} and no blank or tab; if that stands between parent and child, {advice}."
            )


def parse_paths(text: str, sep: str) -> Draft:
    """Read one path per line, its parts joined by `sep`, or if no line has one by tabs, or else by blanks."""
    joint = next(
        (mark for mark in (sep, "\t") if mark in text and any(mark in line for _, line in iterate_lines(text))), None
    )
    if joint is None and all(len(line.split()) == 1 for _, line in iterate_lines(text)):
        joint = sep
    return from_paths(_split_paths(text, joint, sep), sep=sep, where=lambda k: find_line(k, iterate_lines(text)))


def _split_paths(text: str, joint: str | None, sep: str) -> Iterator[list[str]]:
    for number, line in iterate_lines(text):
        parts = line.split() if joint is None else [part.strip() for part in line.split(joint)]
        if not all(parts):
            raise TaxonomyError(f"A path has no empty part; line {number} is {quoted(line)}.")
        if joint != sep and ARROW in parts:
            raise TaxonomyError(
                f"line {number}: an arrow is no part of a path: {quoted(line)}. If it joins the parts, name {ARROW!r} "
                f"as the separator; if it joins parent and child, read edges, 'parent {ARROW} child' with blanks."
            )
        yield parts


def are_spaced_paths(text: str) -> bool:
    """Tell paths of words from edges with too many fields: on paths, a node always has the same place."""
    place: dict[str, int] = {}
    longest = 0
    for _, line in iterate_lines(text):
        words = line.split()
        longest = max(longest, len(words))
        if any(place.setdefault(word, k) != k for k, word in enumerate(words)):
            return False
    return longest > 2


def is_indented(text: str) -> bool:
    """Tell whether a text is indented: its first line is not, another one is, and none has columns."""
    if text.find("\n ") < 0 and text.find("\n\t") < 0 and text.isascii() and "\r" not in text:
        return False  # the usual case, known at once
    any_inside, first = False, True
    for _, line in iterate_indented_lines(text):
        inside = line[0].isspace()
        if (first and inside) or "\t" in line.lstrip():
            return False
        any_inside, first = any_inside or inside, False
    return any_inside


def parse_indented(text: str, sep: str) -> Draft:
    """Read one node per line; its parent is the nearest line above it that is less indented."""
    paths = _read_indented_paths(iterate_indented_lines(text))
    return from_paths(paths, sep=sep, where=lambda k: find_line(k, iterate_indented_lines(text)))


def _read_indented_paths(numbered: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    path: list[str] = []
    margins: list[str] = []  # the indentation of the nodes on the path
    children_at: list[str] = [""]  # the indentation of the children of the node at each depth
    for number, line in numbered:
        name = line.lstrip()
        margin = line[: len(line) - len(name)]
        while margins and not (margin != margins[-1] and margin.startswith(margins[-1])):
            path.pop()
            margins.pop()
        depth = len(path)
        del children_at[depth + 1 :]
        if len(children_at) == depth:
            children_at.append(margin)
        if children_at[depth] != margin:
            raise TaxonomyError(
                f"line {number}: {quoted(name)} is not aligned with its siblings; give the children of one node the "
                "same indentation, all in spaces or all in tabs."
            )
        path.append(name)
        margins.append(margin)
        yield list(path)


NODE_COLUMNS = ("node", "child", "id", "code")
TITLE_COLUMNS = ("name", "title")
TEXT_COLUMNS = (*TITLE_COLUMNS, "description", "synonyms")
NO_PARENT = "None"  # how RCV1 writes that a node is a root
_RCV1_LINE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:(.*))?\s*")


def _number_lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(iterate_physical_lines(text), 1)


def _has_columns(names: list[str]) -> bool:
    columns = {name.lower() for name in names}
    return "parent" in columns and not columns.isdisjoint(NODE_COLUMNS)


def _refuse_row(line: int, column: int | None, problem: str) -> NoReturn:
    raise TaxonomyError(f"line {line}: {problem}", line=line, column=column)


def parse_columns(text: str, delimiters: str, on_cycle: str) -> Draft:
    """Read ``node,parent[,name][,description][,synonyms]`` rows; `name`, or else `title`, is the node's title.

    The delimiter is the one that a first line ``sep=`` states, one of `delimiters`, or a tab.
    """
    table = DelimitedText(_number_lines(text), delimiters + "\t", _has_columns, _refuse_row, strip=True)
    header = [name.lower() for name in table.header]
    if not _has_columns(header):
        shown = ", ".join(header[:10]) + (", …" if len(header) > 10 else "")
        _refuse_row(
            table.line, None, f"the columns 'node' and 'parent' must be in the header, which has {quoted(shown)}."
        )
    node = next(header.index(column) for column in NODE_COLUMNS if column in header)
    for column in ("parent", header[node], *TEXT_COLUMNS):
        if header.count(column) > 1:
            problem = f"the header names {quoted(column)} twice, so it is not clear which is meant."
            _refuse_row(table.line, None, problem)
    parent = header.index("parent")
    texts = [
        next((header.index(column) for column in columns if column in header), None)
        for columns in (TITLE_COLUMNS, ("description",), ("synonyms",))
    ]

    def rows() -> Iterator[NodeRow]:
        for line, row in table:
            if len(row) != len(header):
                shown = quoted(", ".join(row))
                _refuse_row(line, None, f"{len(header)} columns are needed; there are {len(row)}: {shown}.")
            called, described, others = ("" if column is None else row[column] for column in texts)
            yield NodeRow(line, row[node], row[parent], called, described, split_synonyms(others))

    return draft_rows(rows(), on_cycle)


def parse_rcv1(text: str, on_cycle: str) -> Draft:
    """Read the lines of RCV1's topic files; descriptions become titles."""

    def rows() -> Iterator[NodeRow]:
        for number, line in iterate_lines(text):
            match = _RCV1_LINE.fullmatch(line)
            if match is None:
                raise TaxonomyError(f"line {number}: 'parent: X child: Y' is wanted; got {quoted(line)}.")
            parent, child, title = match.groups()
            yield NodeRow(number, child, "" if parent == NO_PARENT else parent, (title or "").strip())

    return draft_rows(rows(), on_cycle)
