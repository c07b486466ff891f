"""Taxonomies written as JSON: ``{child: parent}``, nested objects and lists, or ``[[parent, child], …]``.

Nodes are collected while the text is walked; of what it holds nothing else is kept.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy import construction
from cladist.taxonomy.construction import Draft
from cladist.taxonomy.formats.json_tokens import CLOSING, Mark, line_of, marks_of


def parse_json(text: str, sep: str, on_cycle: str) -> Draft:
    """Read a taxonomy of any of the three forms."""
    try:
        return _flat(text, on_cycle) or _edges(text, on_cycle) or _nested(text, sep)
    except json.JSONDecodeError as problem:
        raise TaxonomyError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}.") from None


def _flat(text: str, on_cycle: str) -> Draft | None:
    """Read {child: parent}; None if the text is another form."""
    marks = marks_of(text)
    if next(marks)[1] != "{":
        return None
    links, is_key = construction.Links(), bytearray()
    start, child = 0, ""
    for place, kind, value in marks:
        if kind == "key":
            start, child = place, value
            continue
        if kind == "}":
            continue  # the walk goes on to what follows
        if kind != "value" or not (value is None or _is_name(value)):
            return None
        if not child:
            raise TaxonomyError(f"A node needs a name; {line_of(text, start)} has an empty one.")
        v = links.node(child)
        is_key.extend(bytes(max(0, v + 1 - len(is_key))))
        if is_key[v]:
            raise _twice(text, start, child)
        is_key[v] = True
        if value is not None and value != "":
            links.link(str(value), child, start)
    return links.draft(on_cycle, lambda place: line_of(text, place)) if is_key else None


def _edges(text: str, on_cycle: str) -> Draft | None:
    """Read [[parent, child], …], where [name] is a node by itself; None if the text is another form."""
    marks = marks_of(text)
    if next(marks)[1] != "[":
        return None
    links = construction.Links()
    for start, kind, value in marks:
        if kind == "]":
            continue  # the walk goes on to what follows
        if kind != "[" and not links.id_of:
            return None
        edge, end = ([], 0) if kind == "value" else _edge(marks)
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


def _edge(marks: Iterator[Mark]) -> tuple[list[str], int]:
    """Return the names up to the end of what has just begun, none if it is no edge, and where it ends."""
    edge: list[str] = []
    fits, n_open, place = True, 1, 0
    while n_open:
        place, kind, value = next(marks)
        n_open += (kind in CLOSING) - (kind in "}]")
        if n_open and fits:
            fits = kind == "value" and _is_name(value) and value != "" and len(edge) < 2
            edge.append(str(value))
    return (edge if fits else []), place + 1


def _nested(text: str, sep: str) -> Draft:
    """Read objects in objects: keys and the names in lists are nodes, known by their paths."""
    if not sep:
        raise TaxonomyError("Nodes of nested JSON are named by their paths, so sep, which joins them, is not empty.")
    nodes = _Nodes()
    around: list[tuple[str, int, int]] = [("", -1, 0)]  # of each open bracket: itself, the node above, its place
    v = -1
    for place, kind, value in marks_of(text):
        bracket, above, start = around[-1]
        if kind == "key":
            if not value:
                below = nodes.shown_path(above)
                raise TaxonomyError(f"A node needs a name; {line_of(text, place)} has an empty one below {below}.")
            v = nodes.child(above, value)
            # The keys of one object are different nodes; those of its neighbour in a list may be the same ones.
            if nodes.key_in[v] == start:
                raise _twice(text, place, value)
            nodes.key_in[v] = start
        elif kind in "}]":
            around.pop()
        elif bracket == "[":
            if kind == "{":
                around.append((kind, above, place))
            elif kind == "value" and value != "" and _is_name(value):
                nodes.child(above, str(value))
            else:
                found = quoted(value) if kind == "value" else "another list"
                below = nodes.shown_path(above)
                raise TaxonomyError(
                    f"{line_of(text, place)}: below {below}, a list holds names and objects; this one holds {found}."
                )
        elif kind in CLOSING:
            around.append((kind, v, place))
        elif value is not None:
            raise TaxonomyError(
                f"{line_of(text, place)}: below {nodes.shown_path(v)}, an object, a list or null is wanted; got "
                f"{quoted(value)}."
            )
    return nodes.draft(sep)


class _Nodes:
    """Nodes known by their parent and their last part.

    One that is the first with its part, as most are, is found by that; only the others need a table of their own.
    """

    def __init__(self) -> None:
        self.id_of_part: dict[str, int] = {}
        self.first_with = array("q")  # for each part
        self.other_of: dict[int, int] = {}  # by parent and part, packed into one number
        self.part, self.parent = array("q"), array("q")
        self.key_in = array("q")  # where the object begins that had the node as a key last

    def child(self, parent: int, name: str) -> int:
        """Return a node below another, or below none (−1), making it if it is new.

        `building.from_paths` would walk down to it from the root, which takes long where many lie deep.
        """
        new = len(self.parent)
        part = self.id_of_part.setdefault(name, len(self.id_of_part))
        if part == len(self.first_with):
            self.first_with.append(new)
        v = self.first_with[part]
        if v != new and self.parent[v] != parent:
            v = self.other_of.setdefault((parent + 1 << 32) | part, new)
        if v == new:
            self.part.append(part)
            self.parent.append(parent)
            self.key_in.append(-1)
        return v

    def shown_path(self, v: int) -> str:
        """Say where a node stands, on one line; only the end of a long path."""
        parts = list(self.id_of_part)
        path: list[str] = []
        while v >= 0 and len(path) < 8:
            path.append(quoted(parts[self.part[v]])[1:-1])
            v = self.parent[v]
        return " → ".join(reversed([*path, "…"] if v >= 0 else path)) or "the top"

    def draft(self, sep: str) -> Draft:
        """Return the nodes with their names; the tables are gone then."""
        texts = list(self.id_of_part)
        self.id_of_part.clear()
        self.other_of.clear()
        parts, parent = [texts[k] for k in self.part], np.frombuffer(self.parent, np.int64)
        return Draft.of_forest(construction.names_of_paths(parts, parent, sep), parent, parts, sep)


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _twice(text: str, place: int, key: str) -> TaxonomyError:
    return TaxonomyError(f"{line_of(text, place)}: the key {quoted(key)} stands twice in one JSON object.")
