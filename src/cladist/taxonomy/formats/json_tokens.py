"""A JSON text mark by mark, so that it is never decoded whole: Python's objects would take many times its memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cladist.errors import TaxonomyError

DEEPEST = 1_000  # brackets within brackets; other parsers of JSON, such as Python's, give up about there

CLOSING = {"{": "}", "[": "]"}
Mark = tuple[int, str, Any]  # where it stands; "{", "}", "[", "]", "key" or "value"; the key or value

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\n\r]*")
_WITH_BLANKS = {mark: re.compile(rf"[ \t\n\r]*{mark}[ \t\n\r]*") for mark in ",:"}


def marks_of(text: str) -> Iterator[Mark]:
    """Yield the brackets, keys and other values of a text one by one.

    What is no JSON raises a ``JSONDecodeError`` when the walk comes to it; a text without a single mark is none.

    Examples
    --------
    >>> [(kind, value) for _, kind, value in marks_of('{"a": [1]}')]
    [('{', None), ('key', 'a'), ('[', None), ('value', 1), (']', None), ('}', None)]
    """
    closing: list[str] = []  # the marks that close what is open
    place = _past_blanks(text, 0)
    while True:
        mark = text[place : place + 1]
        if mark in CLOSING:
            if len(closing) == DEEPEST:
                raise TaxonomyError("This JSON is nested too deeply; write it flat, as {child: parent}.")
            yield place, mark, None
            closing.append(CLOSING[mark])
            place = _past_blanks(text, place + 1)
            after_value = text.startswith(closing[-1], place)  # of an object or list with nothing in it
        else:
            start = place
            value, place = _decoded(text, place)
            yield start, "value", value
            after_value = True
        if after_value:
            place = _past_blanks(text, place)
            while closing and text.startswith(closing[-1], place):
                yield place, closing.pop(), None
                place = _past_blanks(text, place + 1)
            if not closing:
                break
            place = _expected(text, place, ",")
            if text.startswith(closing[-1], place):
                raise json.JSONDecodeError("another entry is wanted after a comma", text, place)
        if closing[-1] == "}":
            if not text.startswith('"', place):
                raise json.JSONDecodeError("a key in double quotes is wanted", text, place)
            key, end = _decoded(text, place)
            yield place, "key", key
            place = _expected(text, end, ":")
    if place < len(text):
        raise json.JSONDecodeError("something follows the end", text, place)


def _decoded(text: str, place: int) -> tuple[Any, int]:
    """Return the text, number, truth value or null that stands here, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, place)
    except json.JSONDecodeError:
        raise
    except ValueError as problem:  # thousands of digits
        raise TaxonomyError(f"{line_of(text, place)}: this JSON holds a number that is no name: {problem}.") from None
    return value, end


def _past_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place


def _expected(text: str, place: int, mark: str) -> int:
    """Return the place after a mark and the blanks around it."""
    found = _WITH_BLANKS[mark].match(text, place)
    if found is None:
        raise json.JSONDecodeError(f"{mark!r} is wanted", text, _past_blanks(text, place))
    return found.end()


def line_of(text: str, place: int) -> str:
    """Say on which line a place is."""
    return f"line {text.count(chr(10), 0, place) + 1}"
