"""The text of a taxonomy file → a taxonomy, for every format; line and offender are named where it cannot be.

| format | looks like |
|---|---|
| edges | ``parent child`` a line, or with a tab between them |
| paths | ``sport/tennis`` a line, or ``1 2 20`` |
| csv, tsv | columns ``node,parent[,name]``; several rows give a node several parents |
| json | ``{child: parent}``, nested objects and lists, or a list of ``[parent, child]`` |
| indented | a child stands below its parent, further to the right |
| rcv1 | ``parent: CCAT child: C15 child-description: PERFORMANCE`` a line |
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cladist.errors import TaxonomyError
from cladist.taxonomy import building
from cladist.taxonomy.building import Draft
from cladist.taxonomy.taxonomy import Taxonomy

NODE_COLUMNS = ("node", "child", "id", "code")
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
NO_PARENT = "None"  # how RCV1 writes that a node is a root
_JSON_KEY = re.compile(r'("(?:[^"\\]|\\.)*")\s*:')
_RCV1_LINE = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)(?:\s+child-description:\s*(.*?))?\s*")


def parse(text: str, format: str, *, sep: str = "/", on_cycle: str = "error") -> Taxonomy:  # noqa: A002
    r"""Build a taxonomy from a file's text.

    Examples
    --------
    >>> parse("sport tennis\nsport chess", "edges").names
    ('sport', 'tennis', 'chess')
    >>> parse('{"sport": {"tennis": {}, "chess": {}}}', "json").names
    ('sport', 'tennis', 'chess')
    """
    if format in ("csv", "tsv"):
        return _parse_columns(text, "," if format == "csv" else "\t", on_cycle)
    if format == "rcv1":
        return _parse_rcv1(text, on_cycle)
    readers: dict[str, Callable[[], Draft]] = {
        "edges": lambda: _parse_edges(text, on_cycle),
        "paths": lambda: _parse_paths(text, sep),
        "json": lambda: _parse_json(text, sep, on_cycle),
        "indented": lambda: _parse_indented(text, sep),
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
    head = text.partition("\n")[0].partition("\r")[0].lower()
    for delimiter, name in ((",", "csv"), ("\t", "tsv")):
        columns = {column.strip(' "') for column in head.split(delimiter)}
        if "parent" in columns and columns.intersection(NODE_COLUMNS):
            return name
    lines = list(_lines(text))
    if lines and all(line.startswith("parent:") and " child:" in line.replace("\t", " ") for _, line in lines):
        return "rcv1"
    if _is_indented(text):
        return "indented"
    if any("\t" in line for _, line in lines) and all(len(line.split("\t")) <= 2 for _, line in lines):
        return "edges"
    if any(sep in line for _, line in lines) or _are_spaced_paths(lines):
        return "paths"
    return "edges"


def _are_spaced_paths(lines: list[tuple[int, str]]) -> bool:
    """Tell paths of words from edges with a line too long: on paths, a node always has the same place."""
    place: dict[str, int] = {}
    longest = 0
    for _, line in lines:
        words = line.split()
        longest = max(longest, len(words))
        if any(place.setdefault(word, k) != k for k, word in enumerate(words)):
            return False
    return longest > 2


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers; '#' begins a comment line."""
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        content = line.strip(" ")
        if content.strip() and not content.startswith("#"):
            yield number, content


def _parse_edges(text: str, on_cycle: str) -> Draft:
    """Read ``parent child`` lines; a line with one name is a node by itself."""
    tabbed = "\t" in text and any("\t" in line for _, line in _lines(text))
    links = building.Links()
    for number, line in _lines(text):
        fields = [f.strip() for f in line.split("\t")] if tabbed else line.split()
        if len(fields) > 2:
            raise TaxonomyError(
                f"line {number}: an edge is 'parent child', but there are {len(fields)} fields: {line!r}. "
                "Names with spaces want a tab between parent and child."
            )
        if not all(fields):
            raise TaxonomyError(f"A node needs a name; line {number} has an empty one.")
        if len(fields) == 1:
            links.node(fields[0])
        else:
            links.link(fields[0], fields[1], number)
    return links.draft(on_cycle, _line)


def _line(number: int) -> str:
    return f"line {number}"


def _parse_paths(text: str, sep: str) -> Draft:
    """Read one path a line: its parts are joined by `sep`, or by white space where no line has a `sep`."""
    lines = list(_lines(text))
    joined = any(sep in line for _, line in lines) or all(len(line.split()) == 1 for _, line in lines)
    paths = (line if joined else line.split() for _, line in lines)
    return building.from_paths(paths, sep=sep, where=lambda k: f"line {lines[k][0]}")


def _parse_columns(text: str, delimiter: str, on_cycle: str) -> Taxonomy:
    """Read ``node,parent[,name]`` rows; `name` becomes the node's title."""
    # Blanks after a delimiter are how people write tables by hand; quotes keep those that belong to a name.
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    header = [column.strip().lower() for column in _next_row(rows) or []]
    node = next((header.index(c) for c in NODE_COLUMNS if c in header), None)
    if node is None or "parent" not in header:
        raise TaxonomyError(f"line 1: the columns 'node' and 'parent' are wanted; the header has {header}.")
    parent = header.index("parent")
    name = header.index("name") if "name" in header else None
    rooted = _Rows()
    for row in _checked_rows(rows, len(header)):
        rooted.add(row[node], row[parent], row[name] if name is not None else "", rows.line_num)
    return rooted.taxonomy(on_cycle)


class _Rows:
    """Collects rows of (node, parent or "", title or ""); a node's rows agree on its title and on being a root."""

    def __init__(self) -> None:
        self.links = building.Links()
        self.root_at: dict[str, int] = {}
        self.title_at: dict[str, tuple[str, int]] = {}

    def add(self, node: str, parent: str, title: str, line: int) -> None:
        building.as_name(node, f"line {line}")
        if parent:
            self.links.link(parent, node, line)
        else:
            self.links.node(node)
            if self.root_at.setdefault(node, line) != line:
                raise TaxonomyError(f"line {line}: the node {node!r} has a row without a parent already.")
        known, at = self.title_at.setdefault(node, (title, line))
        if known != title:
            raise TaxonomyError(f"line {line}: the node {node!r} is called {title!r} here and {known!r} in line {at}.")

    def taxonomy(self, on_cycle: str) -> Taxonomy:
        """Return what was collected."""
        draft = self.links.draft(on_cycle, _line)
        below = set(np.flatnonzero(np.diff(draft.indptr)).tolist())
        for node, line in self.root_at.items():
            if self.links.id_of[node] in below:
                raise TaxonomyError(f"line {line}: the node {node!r} has no parent here, and one in another row.")
        return Taxonomy(draft, titles={node: title for node, (title, _) in self.title_at.items() if title})


def _checked_rows(rows: Any, width: int) -> Iterator[list[str]]:
    while (row := _next_row(rows)) is not None:
        if row and len(row) != width:
            raise TaxonomyError(f"line {rows.line_num}: {width} columns are wanted; there are {len(row)}: {row}.")
        if row:
            yield row


def _next_row(rows: Any) -> list[str] | None:
    try:
        return next(rows, None)
    except csv.Error as problem:
        raise TaxonomyError(f"line {rows.line_num}: {problem}.") from None


def _parse_json(text: str, sep: str, on_cycle: str) -> Draft:
    """Read {child: parent}, nested {name: {name: …}} where a list stands for leaves, or [[parent, child], …]."""
    try:
        content = json.loads(text, object_pairs_hook=lambda pairs: _unique_keys(pairs, text))
    except json.JSONDecodeError as problem:
        raise TaxonomyError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}.") from None
    except RecursionError:
        raise TaxonomyError("This JSON is nested too deeply; write it flat, as {child: parent}.") from None
    except ValueError as problem:
        if isinstance(problem, TaxonomyError):
            raise
        raise TaxonomyError(f"This JSON holds a number that is no name: {problem}.") from None
    if isinstance(content, dict) and all(p is None or _is_json_name(p) for p in content.values()):
        return building.from_parents(content, on_cycle=on_cycle, where=lambda k: _place_of_key(text, list(content)[k]))
    if isinstance(content, list) and content and isinstance(content[0], list):
        return _json_edges(content, on_cycle)
    return building.from_paths(_nested_paths(content), sep=sep, where=lambda k: f"entry {k + 1}")


def _json_edges(content: list[Any], on_cycle: str) -> Draft:
    """Read [[parent, child], …]; [name] is a node by itself."""
    links = building.Links()
    for k, edge in enumerate(content):
        if not isinstance(edge, list) or len(edge) not in (1, 2) or not all(map(_is_json_name, edge)) or "" in edge:
            raise TaxonomyError(f"Entry {k + 1} of this list of edges must be [parent, child] or [node]; got {edge!r}.")
        if len(edge) == 1:
            links.node(str(edge[0]))
        else:
            links.link(str(edge[0]), str(edge[1]), k)
    return links.draft(on_cycle, lambda k: f"entry {k + 1}")


def _place_of_key(text: str, key: str, *, again: bool = False) -> str:
    """Say on which line of a JSON text a key stands first, or stands `again`."""
    found = [match for match in _JSON_KEY.finditer(text) if json.loads(match.group(1)) == key]
    match = found[1 if again and len(found) > 1 else 0]
    line = text.count("\n", 0, match.start()) + 1
    return f"line {line}"


def _unique_keys(pairs: list[tuple[str, Any]], text: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        place = _place_of_key(text, twice, again=True)
        raise TaxonomyError(f"{place}: the key {twice!r} stands twice in one JSON object.")
    return found


def _is_json_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _nested_paths(content: Any) -> Iterator[tuple[Any, ...]]:
    """Walk nested objects with a stack, parents before children."""
    stack: list[tuple[tuple[Any, ...], Any]] = [((), content)]
    while stack:
        path, below = stack.pop()
        place = " → ".join(map(str, path)) or "the top"
        if path:
            yield path
        if isinstance(below, dict):
            if "" in below:
                raise TaxonomyError(f"A node needs a name; below {place}, a key is empty.")
            stack.extend(((*path, name), inner) for name, inner in reversed(below.items()))
        elif isinstance(below, list):
            for entry in below:
                if not isinstance(entry, dict) and (entry == "" or not _is_json_name(entry)):
                    raise TaxonomyError(f"Below {place}, a list holds names and objects; this one holds {entry!r}.")
            nodes = ((path, entry) if isinstance(entry, dict) else ((*path, entry), None) for entry in reversed(below))
            stack.extend(nodes)
        elif below is not None:
            raise TaxonomyError(f"Below {place}, an object, a list or null is wanted; got {below!r}.")


def _raw_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something with their numbers and their indentation."""
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.rstrip()


def _is_indented(text: str) -> bool:
    """Tell whether lines stand below others by indentation: the first does not, some other does, none has columns."""
    lines = [line for _, line in _raw_lines(text)]
    starts = [line[0].isspace() for line in lines]
    return bool(starts) and not starts[0] and any(starts) and not any("\t" in line.lstrip() for line in lines)


def _parse_indented(text: str, sep: str) -> Draft:
    """Read one node a line; it hangs below the nearest line above it that stands further to the left."""
    lines = list(_raw_lines(text))
    return building.from_paths(_indented_paths(lines), sep=sep, where=lambda k: f"line {lines[k][0]}")


def _indented_paths(lines: list[tuple[int, str]]) -> Iterator[list[str]]:
    path: list[str] = []
    margins: list[str] = []  # of the nodes on the path
    children_at: list[str] = [""]  # the margin that children of the node at each depth have
    for number, line in lines:
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
                f"line {number}: {name!r} does not stand below its siblings; give the children of one node the same "
                "indentation, all in spaces or all in tabs."
            )
        path.append(name)
        margins.append(margin)
        yield list(path)


def _parse_rcv1(text: str, on_cycle: str) -> Taxonomy:
    """Read the lines of RCV1's topic files; descriptions become titles."""
    rows = _Rows()
    for number, line in _lines(text):
        found = _RCV1_LINE.fullmatch(line)
        if found is None:
            raise TaxonomyError(f"line {number}: 'parent: X child: Y' is wanted; got {line!r}.")
        parent, child, title = found.groups()
        rows.add(child, "" if parent == NO_PARENT else parent, title or "", number)
    return rows.taxonomy(on_cycle)
