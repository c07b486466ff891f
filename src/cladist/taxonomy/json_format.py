"""Taxonomies written as JSON: ``{child: parent}``, nested objects and lists, or ``[[parent, child], …]``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy import building
from cladist.taxonomy.building import Draft

_BLANKS = re.compile(r"[ \t\n\r]*")
LARGEST_NESTED = 2**25  # characters


def parse_json(text: str, sep: str, on_cycle: str) -> Draft:
    """Read a taxonomy of any of the three forms."""
    try:
        draft = _flat(text, on_cycle) or _edges(text, on_cycle)
        if draft is not None:
            return draft
        if len(text) > LARGEST_NESTED:
            raise TaxonomyError(
                f"Nested JSON of more than {LARGEST_NESTED:,} characters is not read, since it is held as objects many "
                "times its size; write it flat, as {child: parent}."
            )
        content = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as problem:
        raise TaxonomyError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}.") from None
    except RecursionError:
        raise TaxonomyError("This JSON is nested too deeply; write it flat, as {child: parent}.") from None
    except ValueError as problem:
        if isinstance(problem, TaxonomyError):
            raise
        raise TaxonomyError(f"This JSON holds a number that is no name: {problem}.") from None
    return building.from_paths(_nested_paths(content), sep=sep, where=lambda k: f"entry {k + 1}")


def _flat(text: str, on_cycle: str) -> Draft | None:
    """Read {child: parent}; None if the text is another form."""
    links, is_key = building.Links(), bytearray()
    for start, child, parent in _items(text, "{"):
        if not (parent is None or _is_name(parent)):
            return None
        if not child:
            raise TaxonomyError(f"A node needs a name; {_line(text, start)} has an empty one.")
        v = links.node(child)
        is_key.extend(bytes(max(0, v + 1 - len(is_key))))
        if is_key[v]:
            raise TaxonomyError(f"{_line(text, start)}: the key {quoted(child)} stands twice in one JSON object.")
        is_key[v] = True
        if parent is not None and parent != "":
            links.link(str(parent), child, start)
    return links.draft(on_cycle, lambda place: _line(text, place)) if is_key else None


def _edges(text: str, on_cycle: str) -> Draft | None:
    """Read [[parent, child], …], where [name] is a node by itself; None if the text is another form."""
    links = building.Links()
    for start, _, edge in _items(text, "["):
        if not links.id_of and not isinstance(edge, list):
            return None
        if not isinstance(edge, list) or len(edge) not in (1, 2) or not all(map(_is_name, edge)) or "" in edge:
            wrong = quoted(json.dumps(edge, ensure_ascii=False))
            place = _line(text, start)
            raise TaxonomyError(f"{place}: a list of edges holds [parent, child] or [node]; this is {wrong}.")
        if len(edge) == 1:
            links.node(str(edge[0]))
        else:
            links.link(str(edge[0]), str(edge[1]), start)
    return links.draft(on_cycle, lambda place: _line(text, place)) if links.id_of else None


def _items(text: str, opening: str) -> Iterator[tuple[int, str, Any]]:
    """Yield (position, key, value) of the object or list at the top, one by one, so that it is never all in memory.

    The keys of a list are empty. Nothing comes where the text is not of that kind.
    """
    decoder = json.JSONDecoder()
    closing = {"{": "}", "[": "]"}[opening]
    place = _past_blanks(text, 0)
    if text[place : place + 1] != opening:
        return
    place = _past_blanks(text, place + 1)
    while text[place : place + 1] != closing:
        start, key = place, ""
        if opening == "{":
            if text[place : place + 1] != '"':
                raise json.JSONDecodeError("a key in double quotes is wanted", text, place)
            key, place = decoder.raw_decode(text, place)
            place = _expected(text, place, ":")
        value, place = decoder.raw_decode(text, place)
        yield start, key, value
        place = _past_blanks(text, place)
        if text[place : place + 1] != closing:
            place = _expected(text, place, ",")
            if text[place : place + 1] == closing:
                raise json.JSONDecodeError("another entry is wanted after a comma", text, place)
    end = _past_blanks(text, place + 1)
    if end < len(text):
        raise json.JSONDecodeError("something follows the end", text, end)


def _past_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place


def _expected(text: str, place: int, mark: str) -> int:
    """Return the place after a mark and the blanks around it."""
    place = _past_blanks(text, place)
    if text[place : place + 1] != mark:
        raise json.JSONDecodeError(f"{mark!r} is wanted", text, place)
    return _past_blanks(text, place + 1)


def _line(text: str, place: int) -> str:
    return f"line {text.count(chr(10), 0, place) + 1}"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise TaxonomyError(f"The key {quoted(twice)} stands twice in one JSON object.")
    return found


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _nested_paths(content: Any) -> Iterator[tuple[Any, ...]]:
    """Walk nested objects with a stack, parents before children."""
    stack: list[tuple[tuple[Any, ...], Any]] = [((), content)]
    while stack:
        path, below = stack.pop()
        if path:
            yield path
        if isinstance(below, dict):
            if "" in below:
                raise TaxonomyError(f"A node needs a name; below {_place(path)}, a key is empty.")
            stack.extend(((*path, name), inner) for name, inner in reversed(below.items()))
        elif isinstance(below, list):
            for entry in below:
                if not isinstance(entry, dict) and (entry == "" or not _is_name(entry)):
                    raise TaxonomyError(
                        f"Below {_place(path)}, a list holds names and objects; this one holds {quoted(str(entry))}."
                    )
            nodes = ((path, entry) if isinstance(entry, dict) else ((*path, entry), None) for entry in reversed(below))
            stack.extend(nodes)
        elif below is not None:
            raise TaxonomyError(f"Below {_place(path)}, an object, a list or null is wanted; got {quoted(str(below))}.")


def _place(path: tuple[Any, ...]) -> str:
    """Say where in nested objects something stands; only the end of a long path."""
    names = [str(name)[:100] for name in path[-8:]]
    return " → ".join(["…", *names] if len(path) > 8 else names) or "the top"
