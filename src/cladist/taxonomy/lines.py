"""The lines of a text, one at a time: a list of them all would take more memory than the taxonomy they make."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\r\n]+(?:\r\n|[\r\n]|\Z)|\r\n|[\r\n]")


def physical_lines(text: str) -> Iterator[str]:
    r"""Yield every line with its end, a line feed, a carriage return or both.

    Examples
    --------
    >>> list(physical_lines("a\r\n\nb\rc"))
    ['a\r\n', '\n', 'b\r', 'c']
    """
    return (found.group() for found in _LINE.finditer(text))


def raw_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the lines that say something, with their numbers and indentation; '#' begins a comment line.

    Examples
    --------
    >>> list(raw_lines("# a\nb\n\n  c \n"))
    [(2, 'b'), (4, '  c')]
    """
    for number, line in enumerate(physical_lines(text), start=1):
        content = line.strip()
        if content and not content.startswith("#"):
            yield number, line.rstrip()


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers, without the blanks around them; tabs stay."""
    for number, line in enumerate(physical_lines(text), start=1):
        content = line.strip(" \r\n")
        if content.strip() and not content.startswith("#"):
            yield number, content


def place_of(k: int, numbered: Iterator[tuple[int, str]]) -> str:
    """Say on which line the k-th of some numbered lines stands; found again, since keeping all numbers would cost."""
    return next(f"line {number}" for position, (number, _) in enumerate(numbered) if position == k)
