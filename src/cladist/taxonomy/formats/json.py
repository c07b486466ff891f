"""Taxonomies written as JSON: ``{child: parent}``, nested objects and lists, or ``[[parent, child], …]``."""

from __future__ import annotations

import json
from typing import Any

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.construction import Draft, Links, PathNodes, from_parents, name_entry

Entry = tuple[int, str | None, Any]  # the node above, the key (None: an entry of a list), the value


def parse_json(text: str, sep: str, on_cycle: str) -> Draft:
    """Read a taxonomy of any of the three forms."""
    try:
        content = json.loads(text, object_pairs_hook=_as_object)
    except json.JSONDecodeError as problem:
        raise TaxonomyError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}.") from None
    except TaxonomyError:  # of `_as_object`
        raise
    except RecursionError:
        raise TaxonomyError("This JSON is nested too deeply; write it flat, as {child: parent}.") from None
    except ValueError as problem:  # thousands of digits
        raise TaxonomyError(f"This JSON holds a number that is no name: {problem}.") from None
    if isinstance(content, dict) and content and all(value is None or _is_name(value) for value in content.values()):
        return from_parents(content, on_cycle=on_cycle)
    if isinstance(content, list) and content and isinstance(content[0], list):
        return _read_edges(content, on_cycle)
    return _read_nested(content, sep)


def _as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise TaxonomyError(f"The key {quoted(key)} is in one JSON object twice.")
        content[key] = value
    return content


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _read_edges(content: list[Any], on_cycle: str) -> Draft:
    """Read [[parent, child], …], where [name] is a node by itself."""
    links = Links()
    for position, edge in enumerate(content):
        is_edge = isinstance(edge, list) and len(edge) in (1, 2)
        if not is_edge or not all(_is_name(end) and end != "" for end in edge):
            shown = quoted(json.dumps(edge, ensure_ascii=False)[:200])
            raise TaxonomyError(f"entry {position}: a list of edges holds [parent, child] or [node]; this is {shown}.")
        if len(edge) == 1:
            links.node(str(edge[0]))
        else:
            links.link(str(edge[0]), str(edge[1]), position)
    return links.draft(on_cycle, name_entry)


def _read_nested(content: Any, sep: str) -> Draft:
    """Read nested objects: keys and the names in lists are nodes, identified by their paths."""
    if not sep:
        raise TaxonomyError("Nodes of nested JSON are named by their paths, so sep, which joins them, is not empty.")
    nodes = PathNodes()
    waiting = _entries(nodes, -1, content)
    while waiting:
        above, key, value = waiting.pop()
        if key == "":
            raise TaxonomyError(f"A node needs a name; there is an empty one below {_show_path(nodes, above)}.")
        if key is not None:
            waiting += _entries(nodes, nodes.child(above, key), value)
        elif isinstance(value, dict):
            waiting += _entries(nodes, above, value)
        elif _is_name(value) and value != "":
            nodes.child(above, str(value))
        else:
            shown = "another list" if isinstance(value, list) else quoted(value)
            raise TaxonomyError(
                f"Below {_show_path(nodes, above)}, a list holds names and objects; this one holds {shown}."
            )
    return nodes.draft(sep)


def _entries(nodes: PathNodes, v: int, value: Any) -> list[Entry]:
    """Return the contents of a node, the last first, so that they are taken from a stack in their order."""
    if isinstance(value, dict):
        return [(v, key, below) for key, below in reversed(value.items())]
    if isinstance(value, list):
        return [(v, None, entry) for entry in reversed(value)]
    if value is not None or v < 0:
        raise TaxonomyError(
            f"Below {_show_path(nodes, v)}, an object, a list or null is expected; got {quoted(value)}."
        )
    return []


def _show_path(nodes: PathNodes, v: int) -> str:
    """Return where a node stands, on one line; only the end of a long path."""
    parts = list(nodes.id_of_part)
    path: list[str] = []
    while v >= 0 and len(path) < 8:
        path.append(quoted(parts[nodes.part[v]])[1:-1])
        v = nodes.parent[v]
    return " → ".join(reversed([*path, "…"] if v >= 0 else path)) or "the top"
