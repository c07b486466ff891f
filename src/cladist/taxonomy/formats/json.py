"""Taxonomies written as JSON.

The forms are ``{child: parent}``, nested objects and lists, ``[[parent, child], …]``, and with the texts of nodes
``[{"node": …, "parent": …, "name": …, "description": …, "synonyms": […]}, …]``.

The text is walked token by token and never decoded whole: Python's objects would take many times its memory.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from typing import Any

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.construction import Draft, Links, PathNodes
from cladist.taxonomy.formats.node_rows import NodeRow, draft_rows

DEEPEST = 1_000  # brackets within brackets; Python's own parser gives up at about this depth

CLOSING = {"{": "}", "[": "]"}
Token = tuple[int, str, Any]  # its place; "{", "}", "[", "]", "key" or "value"; the key or value

_DECODER = json.JSONDecoder()
_AFTER = {mark: re.compile(rf"[ \t\n\r]*{mark}[ \t\n\r]*") for mark in ("", ",", ":")}


def parse_json(text: str, sep: str, on_cycle: str) -> Draft:
    """Read a taxonomy of any of the four forms."""
    try:
        flat = _parse_parents(text, on_cycle) or _parse_edges(text, on_cycle)
        if flat is None and _has_records(text):
            flat = draft_rows(_read_records(text), on_cycle)
        return flat or _parse_nested(text, sep)
    except json.JSONDecodeError as problem:
        raise TaxonomyError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}.") from None


def _parse_parents(text: str, on_cycle: str) -> Draft | None:
    """Read {child: parent}; None if the text is another form."""
    tokens = iterate_tokens(text)
    if next(tokens)[1] != "{":
        return None
    links, is_key = Links(), bytearray()
    start, child = 0, ""
    for place, kind, value in tokens:
        if kind == "key":
            start, child = place, value
            continue
        if kind == "}":
            continue  # what follows is checked too
        if kind != "value" or not (value is None or _is_name(value)):
            return None
        if not child:
            raise TaxonomyError(f"A node needs a name; {line_of(text, start)} has an empty one.")
        v = links.node(child)
        is_key.extend(bytes(max(0, v + 1 - len(is_key))))
        if is_key[v]:
            raise _repeated_key(text, start, child)
        is_key[v] = True
        if value is not None and value != "":
            links.link(str(value), child, start)
    return links.draft(on_cycle, lambda place: line_of(text, place)) if is_key else None


def _parse_edges(text: str, on_cycle: str) -> Draft | None:
    """Read [[parent, child], …], where [name] is a node by itself; None if the text is another form."""
    tokens = iterate_tokens(text)
    if next(tokens)[1] != "[":
        return None
    links = Links()
    for start, kind, value in tokens:
        if kind == "]":
            continue  # what follows is checked too
        if kind != "[" and not links.id_of:
            return None
        edge, end = ([], 0) if kind == "value" else _read_edge(tokens)
        if kind != "[" or not edge:
            shown = text[start : min(end, start + 200)] or json.dumps(value, ensure_ascii=False)
            raise TaxonomyError(
                f"{line_of(text, start)}: a list of edges holds [parent, child] or [node]; this is {quoted(shown)}."
            )
        if len(edge) == 1:
            links.node(edge[0])
        else:
            links.link(edge[0], edge[1], start)
    return links.draft(on_cycle, lambda place: line_of(text, place)) if links.id_of else None


def _read_edge(tokens: Iterator[Token]) -> tuple[list[str], int]:
    """Return the names in the list or object that has just begun, none if it is not an edge, and where it ends."""
    edge: list[str] = []
    fits, n_open, place = True, 1, 0
    while n_open:
        place, kind, value = next(tokens)
        n_open += (kind in CLOSING) - (kind in "}]")
        if n_open and fits:
            fits = kind == "value" and _is_name(value) and value != "" and len(edge) < 2
            edge.append(str(value))
    return (edge if fits else []), place + 1


def _has_records(text: str) -> bool:
    """Tell whether a text is a list of objects of which the first has the name of a node under "node"."""
    tokens = iterate_tokens(text)
    if next(tokens)[1] != "[" or next(tokens)[1] != "{":
        return False
    n_open, key = 1, ""
    while n_open:
        _, kind, value = next(tokens)
        if n_open == 1 and key == "node" and kind == "value" and _is_name(value):
            return True
        key = value if kind == "key" and n_open == 1 else ""
        n_open += (kind in CLOSING) - (kind in "}]")
    return False


def _read_records(text: str) -> Iterator[NodeRow]:
    """Yield a row for each parent of each object in a list; an object without a parent is the row of a root."""
    tokens = iterate_tokens(text)
    next(tokens)
    for place, kind, value in tokens:
        if kind == "]":
            continue  # what follows is checked too
        line = text.count("\n", 0, place) + 1
        if kind != "{":
            shown = quoted(json.dumps(value, ensure_ascii=False)) if kind == "value" else "another list"
            raise TaxonomyError(f"line {line}: a list of nodes holds objects; this entry is {shown}.")
        yield from _rows_of(_read_record(tokens, text), line)


def _read_record(tokens: Iterator[Token], text: str) -> dict[str, Any]:
    """Return the object that has just begun: texts, numbers, null, and lists of them."""
    record: dict[str, Any] = {}
    key = ""
    for place, kind, value in tokens:
        if kind == "}":
            break
        if kind == "key":
            if value in record:
                raise _repeated_key(text, place, value)
            key = value
        elif kind == "value":
            record[key] = value
        else:
            record[key] = _read_list(tokens) if kind == "[" else _skip_object(tokens)
    return record


def _read_list(tokens: Iterator[Token]) -> list[Any]:
    """Return the entries of the list that has just begun; None stands for one that is no text and no number."""
    entries: list[Any] = []
    for _, kind, value in tokens:
        if kind == "]":
            break
        if kind == "value":
            entries.append(value)
        else:
            _skip_object(tokens)
            entries.append(None)
    return entries


def _skip_object(tokens: Iterator[Token]) -> dict[str, Any]:
    """Read over what has just begun; nodes have no use for objects within objects."""
    n_open = 1
    while n_open:
        kind = next(tokens)[1]
        n_open += (kind in CLOSING) - (kind in "}]")
    return {}


def _rows_of(record: dict[str, Any], line: int) -> Iterator[NodeRow]:
    node, parents = record.get("node"), record.get("parent")
    above = parents if isinstance(parents, list) else [] if parents in (None, "") else [parents]
    if not _is_name(node) or not all(_is_name(parent) and parent != "" for parent in above):
        shown = quoted(json.dumps({key: record.get(key) for key in ("node", "parent")}, ensure_ascii=False))
        raise TaxonomyError(f'line {line}: "node" is a name, "parent" a name, a list of names or null; got {shown}.')
    title, description = record.get("name", record.get("title")) or "", record.get("description") or ""
    synonyms = record.get("synonyms") or []
    synonyms = [synonyms] if isinstance(synonyms, str) else synonyms
    listed = isinstance(synonyms, list)
    if not listed or not all(isinstance(entry, str) for entry in (title, description, *synonyms)):
        raise TaxonomyError(
            f'line {line}: "name" and "description" are texts, "synonyms" is a list of texts; those of the node '
            f"{quoted(node)} are not."
        )
    for parent in above or [""]:
        yield NodeRow(line, str(node), str(parent), title, description, tuple(filter(None, synonyms)))


def _parse_nested(text: str, sep: str) -> Draft:
    """Read nested objects: keys and the names in lists are nodes, identified by their paths."""
    if not sep:
        raise TaxonomyError("Nodes of nested JSON are named by their paths, so sep, which joins them, is not empty.")
    nodes = PathNodes()
    key_in = array("q")  # for each node, the place of the object that had it as a key last
    around: list[tuple[str, int, int]] = [("", -1, 0)]  # of each open bracket: itself, the node above, its place
    v = -1
    for place, kind, value in iterate_tokens(text):
        bracket, above, start = around[-1]
        if kind == "key":
            if not value:
                below = _show_path(nodes, above)
                raise TaxonomyError(f"A node needs a name; {line_of(text, place)} has an empty one below {below}.")
            v = nodes.child(above, value)
            key_in.extend([-1] * (len(nodes.parent) - len(key_in)))
            # The keys of one object are different nodes; another object in the same list may repeat them.
            if key_in[v] == start:
                raise _repeated_key(text, place, value)
            key_in[v] = start
        elif kind in "}]":
            around.pop()
        elif bracket == "[":
            if kind == "{":
                around.append((kind, above, place))
            elif kind == "value" and value != "" and _is_name(value):
                nodes.child(above, str(value))
            else:
                entry = quoted(value) if kind == "value" else "another list"
                below = _show_path(nodes, above)
                raise TaxonomyError(
                    f"{line_of(text, place)}: below {below}, a list holds names and objects; this one holds {entry}."
                )
        elif kind in CLOSING:
            around.append((kind, v, place))
        elif value is not None:
            raise TaxonomyError(
                f"{line_of(text, place)}: below {_show_path(nodes, v)}, an object, a list or null is expected; got "
                f"{quoted(value)}."
            )
    return nodes.draft(sep)


def _show_path(nodes: PathNodes, v: int) -> str:
    """Return where a node stands, on one line; only the end of a long path."""
    parts = list(nodes.id_of_part)
    path: list[str] = []
    while v >= 0 and len(path) < 8:
        path.append(quoted(parts[nodes.part[v]])[1:-1])
        v = nodes.parent[v]
    return " → ".join(reversed([*path, "…"] if v >= 0 else path)) or "the top"


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _repeated_key(text: str, place: int, key: str) -> TaxonomyError:
    return TaxonomyError(f"{line_of(text, place)}: the key {quoted(key)} is in one JSON object twice.")


def iterate_tokens(text: str) -> Iterator[Token]:
    """Yield the brackets, keys and other values of a text.

    Text that is not JSON raises a ``JSONDecodeError`` where the walk meets it, also a text without a token.
    """
    closing: list[str] = []  # the brackets that close the open ones
    place = _skip(text, 0)
    while True:
        mark = text[place : place + 1]
        if mark in CLOSING:
            if len(closing) == DEEPEST:
                raise TaxonomyError("This JSON is nested too deeply; write it flat, as {child: parent}.")
            yield place, mark, None
            closing.append(CLOSING[mark])
            place = _skip(text, place + 1)
            after_value = text.startswith(closing[-1], place)  # an empty object or list
        else:
            start = place
            value, place = _decode(text, place)
            yield start, "value", value
            after_value = True
        if after_value:
            place = _skip(text, place)
            while closing and text.startswith(closing[-1], place):
                yield place, closing.pop(), None
                place = _skip(text, place + 1)
            if not closing:
                break
            place = _skip(text, place, ",")
            if text.startswith(closing[-1], place):
                raise json.JSONDecodeError("another entry is wanted after a comma", text, place)
        if closing[-1] == "}":
            if not text.startswith('"', place):
                raise json.JSONDecodeError("a key in double quotes is wanted", text, place)
            key, end = _decode(text, place)
            yield place, "key", key
            place = _skip(text, end, ":")
    if place < len(text):
        raise json.JSONDecodeError("something follows the end", text, place)


def _decode(text: str, place: int) -> tuple[Any, int]:
    """Return the text, number, boolean or null at a place, and where it ends."""
    try:
        return _DECODER.raw_decode(text, place)
    except json.JSONDecodeError:
        raise
    except ValueError as problem:  # thousands of digits
        raise TaxonomyError(f"{line_of(text, place)}: this JSON holds a number that is no name: {problem}.") from None


def _skip(text: str, place: int, mark: str = "") -> int:
    """Return the place after a mark and the blanks around it."""
    match = _AFTER[mark].match(text, place)
    if match is None:
        raise json.JSONDecodeError(f"{mark!r} is wanted", text, _skip(text, place))
    return match.end()


def line_of(text: str, place: int) -> str:
    """Return how messages call the line of a place."""
    return f"line {text.count(chr(10), 0, place) + 1}"
