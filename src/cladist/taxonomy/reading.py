"""The text of a taxonomy file → a taxonomy, for every format; line and offender are named where it cannot be.

| format | looks like |
|---|---|
| edges | ``parent child`` a line, or with a tab between them |
| paths | ``sport/tennis`` a line, or ``1 2 20`` |
| csv, tsv | columns ``node,parent[,name]`` |
| json | ``{child: parent}``, or nested objects and lists |
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


def parse(text: str, format: str, *, sep: str = "/") -> Taxonomy:  # noqa: A002
    r"""Build a taxonomy from a file's text.

    Examples
    --------
    >>> parse("sport tennis\nsport chess", "edges").names
    ('sport', 'tennis', 'chess')
    >>> parse('{"sport": {"tennis": {}, "chess": {}}}', "json").names
    ('sport', 'tennis', 'chess')
    """
    if format in ("csv", "tsv"):
        return _parse_columns(text, "," if format == "csv" else "\t")
    if format == "rcv1":
        return _parse_rcv1(text)
    readers: dict[str, Callable[[str, str], Draft]] = {
        "edges": _parse_edges,
        "paths": _parse_paths,
        "json": _parse_json,
        "indented": _parse_indented,
    }
    return Taxonomy(readers[format](text, sep))


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


def _parse_edges(text: str, sep: str) -> Draft:
    """Read ``parent child`` lines; a line with one name is a root of its own."""
    tabbed = any("\t" in line for _, line in _lines(text))
    numbers: list[int] = []

    def edges() -> Iterator[list[str]]:
        for number, line in _lines(text):
            fields = [f.strip() for f in line.split("\t")] if tabbed else line.split()
            if len(fields) == 1:
                links.node(building.as_name(fields[0], f"line {number}"))
                continue
            if len(fields) != 2:
                raise TaxonomyError(
                    f"line {number}: an edge is 'parent child', but there are {len(fields)} fields: {line!r}. "
                    "Names with spaces want a tab between parent and child."
                )
            numbers.append(number)
            yield fields

    links = building.Links()
    return building.from_edges(edges(), links=links, where=lambda k: f"line {numbers[k]}")


def _parse_paths(text: str, sep: str) -> Draft:
    """Read one path a line: its parts are joined by `sep`, or by white space where no line has a `sep`."""
    lines = list(_lines(text))
    joined = any(sep in line for _, line in lines) or all(len(line.split()) == 1 for _, line in lines)
    paths = (line if joined else line.split() for _, line in lines)
    return building.from_paths(paths, sep=sep, where=lambda k: f"line {lines[k][0]}")


def _parse_columns(text: str, delimiter: str) -> Taxonomy:
    """Read ``node,parent[,name]`` rows; `name` becomes the node's title."""
    # Blanks after a delimiter are how people write tables by hand; quotes keep those that belong to a name.
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    header = [column.strip().lower() for column in _next_row(rows) or []]
    node = next((header.index(c) for c in NODE_COLUMNS if c in header), None)
    if node is None or "parent" not in header:
        raise TaxonomyError(f"line 1: the columns 'node' and 'parent' are wanted; the header has {header}.")
    parent = header.index("parent")
    name = header.index("name") if "name" in header else None
    parents: dict[str, str] = {}
    titles: dict[str, str] = {}
    numbers: list[int] = []
    for row in _checked_rows(rows, len(header)):
        if row[node] in parents:
            raise TaxonomyError(f"line {rows.line_num}: the node {row[node]!r} has a row already.")
        parents[row[node]] = row[parent]
        numbers.append(rows.line_num)
        if name is not None and row[name]:
            titles[row[node]] = row[name]
    return Taxonomy(building.from_parents(parents, where=lambda k: f"line {numbers[k]}"), titles=titles)


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


def _parse_json(text: str, sep: str) -> Draft:
    """Read {child: parent} or nested {name: {name: …}}; a list stands for leaves."""
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
        return building.from_parents(content, where=lambda k: _place_of_key(text, list(content)[k]))
    return building.from_paths(_nested_paths(content), sep=sep, where=lambda k: f"entry {k + 1}")


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


def _parse_rcv1(text: str) -> Taxonomy:
    """Read the lines of RCV1's topic files; descriptions become titles."""
    parents: dict[str, str | None] = {}
    titles: dict[str, str] = {}
    numbers: list[int] = []
    for number, line in _lines(text):
        found = _RCV1_LINE.fullmatch(line)
        if found is None:
            raise TaxonomyError(f"line {number}: 'parent: X child: Y' is wanted; got {line!r}.")
        parent, child, title = found.groups()
        if child in parents:
            raise TaxonomyError(f"line {number}: the node {child!r} has a line already.")
        parents[child] = None if parent == NO_PARENT else parent
        numbers.append(number)
        if title:
            titles[child] = title
    return Taxonomy(building.from_parents(parents, where=lambda k: f"line {numbers[k]}"), titles=titles)
