"""Taxonomy files: edges, one path a line, CSV/TSV and JSON.

A reader turns text into a `Draft` and names line and offender when it cannot; a writer gives text that its
reader turns back into an equal taxonomy, or refuses names the format cannot hold.
"""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cladist.errors import TaxonomyError
from cladist.taxonomy import building
from cladist.taxonomy.building import Draft
from cladist.taxonomy.taxonomy import Taxonomy

NODE_COLUMNS = ("node", "child", "id", "code")
FORMATS = ("edges", "paths", "csv", "tsv", "json")
_ENDINGS = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".paths": "paths", ".edges": "edges"}


def read_taxonomy(path: str | os.PathLike[str], *, format: str | None, sep: str) -> Taxonomy:  # noqa: A002
    """Read a taxonomy from a file; `format` None recognises it by ending, then by content."""
    source = Path(path)
    _check_format(format)
    text = _read_text(source)
    try:
        return parse(text, format or recognise(text, source.suffix.lower(), sep), sep=sep)
    except TaxonomyError as problem:
        raise TaxonomyError(f"{source}: {problem}") from None


def _read_text(source: Path) -> str:
    """Return a file's text as it stands: a line break inside a quoted name is part of the name."""
    try:
        content = source.read_bytes()
    except (OSError, ValueError) as problem:  # a ValueError is a path that no file can have
        raise TaxonomyError(f"Cannot read the taxonomy file {source}: {problem}.") from problem
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise TaxonomyError(
            f"{source}: line {line}: this is not UTF-8 (byte 0x{content[problem.start]:02x}); save the file as UTF-8."
        ) from None


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
    readers: dict[str, Callable[[str, str], Draft]] = {
        "edges": _parse_edges,
        "paths": _parse_paths,
        "json": _parse_json,
    }
    return Taxonomy(readers[format](text, sep))


def recognise(text: str, ending: str, sep: str) -> str:
    """Tell a file's format from its ending and, failing that, from what it holds.

    Examples
    --------
    >>> recognise("a/b/c", ".txt", "/"), recognise("a b", ".txt", "/"), recognise("1 2 3", "", "/")
    ('paths', 'edges', 'paths')
    """
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if text.lstrip()[:1] in ("{", "["):
        return "json"
    head = text.partition("\n")[0].partition("\r")[0].lower()
    for delimiter, name in ((",", "csv"), ("\t", "tsv")):
        columns = {column.strip(' "') for column in head.split(delimiter)}
        if "parent" in columns and columns.intersection(NODE_COLUMNS):
            return name
    lines = list(_lines(text))
    if any("\t" in line for _, line in lines) and all(len(line.split("\t")) <= 2 for _, line in lines):
        return "edges"
    if any(sep in line for _, line in lines) or any(len(line.split()) > 2 for _, line in lines):
        return "paths"
    return "edges"


def _check_format(format: str | None) -> None:  # noqa: A002
    if format is not None and format not in FORMATS:
        raise TaxonomyError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")


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
        content = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as problem:
        raise TaxonomyError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}.") from None
    except RecursionError:
        raise TaxonomyError("This JSON is nested too deeply; write it flat, as {child: parent}.") from None
    except ValueError as problem:
        if isinstance(problem, TaxonomyError):
            raise
        raise TaxonomyError(f"This JSON holds a number that is no name: {problem}.") from None
    if isinstance(content, dict) and all(p is None or _is_json_name(p) for p in content.values()):
        return building.from_parents(content, where=lambda k: f"entry {k + 1}")
    return building.from_paths(_nested_paths(content), sep=sep, where=lambda k: f"entry {k + 1}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise TaxonomyError(f"The key {twice!r} stands twice in one JSON object.")
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


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | os.PathLike[str],
    *,
    format: str | None,  # noqa: A002
    sep: str,
) -> None:
    """Write a taxonomy; the file appears whole or not at all."""
    _check_format(format)
    target = Path(path)
    chosen = format or _ENDINGS.get(target.suffix.lower(), "edges")
    text = as_format(taxonomy, chosen, sep=sep)
    if format is None and recognise(text, target.suffix.lower(), sep) != chosen:
        raise TaxonomyError(
            f"{target}: with these names the file would not be recognised as edges; end its name in .edges, or "
            "write .json or .csv."
        )
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        line = text[text.rfind("\n", 0, problem.start) + 1 :].partition("\n")[0]
        raise TaxonomyError(f"{target}: {line!r} cannot be written as UTF-8: {problem.reason}.") from None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    except BaseException as problem:
        temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise TaxonomyError(f"Cannot write the taxonomy file {target}: {problem}.") from problem
        raise


def as_format(taxonomy: Taxonomy, format: str, *, sep: str = "/") -> str:  # noqa: A002
    """Return the text of a taxonomy file.

    Examples
    --------
    >>> print(as_format(Taxonomy.from_paths(["sport/tennis", "sport/chess"]), "paths"))
    sport/tennis
    sport/chess
    <BLANKLINE>
    """
    writers: dict[str, Callable[[Taxonomy], Iterator[str]]] = {
        "edges": _edge_lines,
        "paths": lambda t: _path_lines(t, sep),
        "csv": lambda t: _column_lines(t, ","),
        "tsv": lambda t: _column_lines(t, "\t"),
        "json": _json_lines,
    }
    return "".join(line + "\n" for line in writers[format](taxonomy))


def _refuse(name: str, format: str, why: str) -> None:  # noqa: A002
    raise TaxonomyError(f"The format {format!r} cannot hold the name {name!r} ({why}); write JSON or CSV instead.")


def _plain(name: str, format: str) -> str:  # noqa: A002
    if name != name.strip() or any(c in name for c in "\t\n\r") or name.startswith(("#", "\ufeff")):
        _refuse(name, format, "it has a tab, a line break, spaces at an end or begins with '#'")
    return name


def _edge_lines(taxonomy: Taxonomy) -> Iterator[str]:
    names = [_plain(name, "edges") for name in taxonomy.names]
    roots = len(taxonomy.roots)
    alone = len(taxonomy) == roots
    for v, name in enumerate(names):
        children = range(taxonomy.child_start[v], taxonomy.child_start[v + 1])
        if v < roots and not children:
            if alone and any(c.isspace() or c == "/" for c in name):
                _refuse(name, "edges", "without a single edge, a name with spaces or '/' reads as a path")
            yield name
        for c in children:
            yield f"{name}\t{names[c]}"


def _path_lines(taxonomy: Taxonomy, sep: str) -> Iterator[str]:
    """Yield the path of every leaf, depth first, so that reading meets siblings in their order."""
    _check_path_names(taxonomy, sep)
    stack = [int(v) for v in reversed(taxonomy.roots)]
    while stack:
        v = stack.pop()
        children = range(taxonomy.child_start[v], taxonomy.child_start[v + 1])
        stack.extend(reversed(children))
        if not children:
            parts = taxonomy.path_parts(v)
            for part in parts:
                if not building.splits_back(_plain(part, "paths"), sep):
                    _refuse(part, "paths", f"it contains {sep!r}, or ends as that begins")
            if len(parts) == 1 == len(taxonomy.levels) and any(c.isspace() for c in parts[0]):
                _refuse(parts[0], "paths", "a path of one part with spaces reads as several parts")
            yield sep.join(parts)


def _check_path_names(taxonomy: Taxonomy, sep: str) -> None:
    """Refuse names that a reader, which has only the paths, would not give the nodes again."""
    parts = taxonomy._parts or taxonomy.names
    read = building.names_of_paths(parts, taxonomy.parent.tolist(), sep)
    for name, again in zip(taxonomy.names, read, strict=True):
        if name != again:
            _refuse(name, "paths", f"its path reads back as {again!r}")


def _column_lines(taxonomy: Taxonomy, delimiter: str) -> Iterator[str]:
    out = io.StringIO()
    titles = taxonomy.titles
    # Blanks in front would be skipped, and older versions of csv leave a lone carriage return without quotes.
    quoted = any(text.startswith(" ") or "\r" in text for text in (*taxonomy.names, *titles.values()))
    style: dict[str, Any] = {"quoting": csv.QUOTE_ALL} if quoted else {}
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", **style)
    writer.writerow(["node", "parent", "name"] if titles else ["node", "parent"])
    for v, name in enumerate(taxonomy.names):
        p = taxonomy.parent[v]
        row = [name, taxonomy.names[p] if p >= 0 else ""]
        writer.writerow([*row, titles.get(name, "")] if titles else row)
    yield out.getvalue().removesuffix("\n")


def _json_lines(taxonomy: Taxonomy) -> Iterator[str]:
    names = taxonomy.names
    parents = {name: names[p] if p >= 0 else None for name, p in zip(names, taxonomy.parent, strict=True)}
    yield json.dumps(parents, ensure_ascii=False, indent=0)
