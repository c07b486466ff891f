"""The lines of a text, one at a time: a list of them all would take more memory than the taxonomy they make."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLOCK = 1 << 18  # characters that are split at once, which is faster than line by line
_LINE = re.compile(r"[^\r\n]+(?:\r\n|[\r\n]|\Z)|\r\n|[\r\n]")


def physical_lines(text: str) -> Iterator[str]:
    r"""Yield every line with its end, a line feed, a carriage return or both.

    Examples
    --------
    >>> list(physical_lines("a\r\n\nb\rc"))
    ['a\r\n', '\n', 'b\r', 'c']
    """
    return (found.group() for found in _LINE.finditer(text))


def _bare_lines(text: str) -> Iterator[str]:
    """Yield every line; it may have its end."""
    if "\r" in text:
        yield from physical_lines(text)
        return
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK)
        end = len(text) if end < 0 else end
        yield from text[start:end].split("\n")
        start = end + 1


def raw_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the lines that say something, with their numbers and indentation; '#' begins a comment line.

    Examples
    --------
    >>> list(raw_lines("# a\nb\n\n  c \n"))
    [(2, 'b'), (4, '  c')]
    """
    for number, line in enumerate(_bare_lines(text), start=1):
        content = line.strip()
        if content and content[0] != "#":
            yield number, line.rstrip()


def iterate_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers, without the blanks around them; tabs stay."""
    for number, line in enumerate(_bare_lines(text), start=1):
        content = line.strip(" \r\n")
        if content and content[0] != "#" and not content.isspace():
            yield number, content


def place_of(k: int, numbered: Iterator[tuple[int, str]]) -> str:
    """Say on which line the k-th of some numbered lines stands; found again, since keeping all numbers would cost."""
    return next(f"line {number}" for position, (number, _) in enumerate(numbered) if position == k)
