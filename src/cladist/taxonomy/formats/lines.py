"""Taxonomies with one edge, path or indented node per line.

Texts are iterated line by line: a list of all lines would take more memory than the taxonomy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from cladist.errors import TaxonomyError, quoted
from cladist.files.delimited import split_plain
from cladist.taxonomy import construction
from cladist.taxonomy.construction import Draft
from cladist.taxonomy.paths import from_paths

ARROW = "->"
_ARROW = re.compile(r"(?<=\s)->(?=\s)")
_BLOCK = 1 << 18  # characters, split at once, which is faster than line by line
_LINE = re.compile(r"[^\r\n]+(?:\r\n|[\r\n]|\Z)|\r\n|[\r\n]")


def iterate_physical_lines(text: str) -> Iterator[str]:
    r"""Yield every line with its end, a line feed, a carriage return or both.

    Examples
    --------
    >>> list(iterate_physical_lines("a\r\n\nb\rc"))
    ['a\r\n', '\n', 'b\r', 'c']
    """
    return (match.group() for match in _LINE.finditer(text))


def _split_lines(text: str) -> Iterator[str]:
    """Yield every line, with or without its end."""
    if "\r" in text:
        yield from iterate_physical_lines(text)
        return
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK)
        end = len(text) if end < 0 else end
        yield from text[start:end].split("\n")
        start = end + 1


def iterate_indented_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield number and line of all lines but empty ones and comments ('#'), with their indentation.

    Examples
    --------
    >>> list(iterate_indented_lines("# a\nb\n\n  c \n"))
    [(2, 'b'), (4, '  c')]
    """
    for number, line in enumerate(_split_lines(text), start=1):
        content = line.strip()
        if content and content[0] != "#":
            yield number, line.rstrip()


def iterate_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and line of all lines but empty ones and comments, without the blanks around them; tabs stay."""
    for number, line in enumerate(_split_lines(text), start=1):
        content = line.strip(" \r\n")
        if content and content[0] != "#" and not content.isspace():
            yield number, content


def name_line(number: int) -> str:
    """Return how messages call a line."""
    return f"line {number}"


def find_line(k: int, lines: Iterable[tuple[int, *tuple[object, ...]]]) -> str:
    """Return how messages call the k-th of some numbered lines; storing all numbers would cost memory."""
    return name_line(next(islice(lines, k, None))[0])


def all_lines(text: str, test: Callable[[str], bool]) -> bool:
    """Tell whether a text has lines and all of them pass a test."""
    return any(True for _ in iterate_lines(text)) and all(test(line) for _, line in iterate_lines(text))


def has_tabs(text: str) -> bool:
    """Tell whether any line of a text that is not a comment has a tab."""
    return "\t" in text and any("\t" in line for _, line in iterate_lines(text))


# ---------------------------------------------------------------- edges


def parse_edges(text: str, on_cycle: str) -> Draft:
    """Read ``parent child`` lines, with tabs or arrows between them if any line has one; one name alone is a node."""
    tabbed = has_tabs(text)
    arrowed = not tabbed and have_arrows(text, any)
    links = construction.Links()
    for number, line, fields in split_plain(iterate_lines(text), tabbed=tabbed):
        if arrowed and len(fields) > 1:
            fields = _split_at_arrow(number, line)
        if len(fields) > 2:
            raise TaxonomyError(
                f"line {number}: an edge is 'parent child', but there are {len(fields)} fields: {quoted(line)}. "
                "Names with spaces want a tab between parent and child."
            )
        if not all(fields):
            raise TaxonomyError(f"A node needs a name; line {number} has an empty one.")
        if len(fields) == 1:
            links.node(fields[0])
        else:
            links.link(fields[0], fields[1], number)
    return links.draft(on_cycle, name_line)


def _split_at_arrow(number: int, line: str) -> list[str]:
    ends = [end.strip() for end in _ARROW.split(line)]
    if len(ends) != 2:
        paths = f" If these are paths, name {ARROW!r} as their separator." if len(ends) > 2 else ""
        raise TaxonomyError(
            f"line {number}: an edge of this file is 'parent {ARROW} child', but here is {quoted(line)}.{paths}"
        )
    return ends


def have_arrows(text: str, how_many: Callable[[Iterable[bool]], bool]) -> bool:
    """Tell whether any or all lines have an arrow with blanks around it.

    Examples
    --------
    >>> have_arrows("hand tools -> forks", all), have_arrows("-> a->b", any)
    (True, False)
    """
    return ARROW in text and how_many(_ARROW.search(line) is not None for _, line in iterate_lines(text))


def refuse_other_delimiters(text: str) -> None:
    """Refuse ``a,b`` on every line, where each line would be read as one root."""
    if next(iterate_lines(text), None) is None:
        return
    for mark in (",", ";", "|", ARROW):
        if mark in text and all(mark in line and len(line.split()) == 1 for _, line in iterate_lines(text)):
            advice = f"put blanks around it: parent {ARROW} child"
            if mark != ARROW:
                advice = f"say so in a first line parent{mark}child"
            raise TaxonomyError(
                f"Every line has {mark!r} and no blank or tab; if that stands between parent and child, {advice}."
            )


# ---------------------------------------------------------------- paths


def parse_paths(text: str, sep: str) -> Draft:
    """Read one path per line, its parts joined by `sep`, or if no line has one by tabs, or else by blanks."""
    joint = next(
        (mark for mark in (sep, "\t") if mark in text and any(mark in line for _, line in iterate_lines(text))), None
    )
    if joint is None and all(len(line.split()) == 1 for _, line in iterate_lines(text)):
        joint = sep
    return from_paths(_split_paths(text, joint, sep), sep=sep, where=lambda k: find_line(k, iterate_lines(text)))


def _split_paths(text: str, joint: str | None, sep: str) -> Iterator[list[str]]:
    for number, line in iterate_lines(text):
        parts = line.split() if joint is None else [part.strip() for part in line.split(joint)]
        if not all(parts):
            raise TaxonomyError(f"A path has no empty part; line {number} is {quoted(line)}.")
        if joint != sep and ARROW in parts:
            raise TaxonomyError(
                f"line {number}: an arrow is no part of a path: {quoted(line)}. If it joins the parts, name {ARROW!r} "
                f"as the separator; if it joins parent and child, read edges, 'parent {ARROW} child' with blanks."
            )
        yield parts


def are_spaced_paths(text: str) -> bool:
    """Tell paths of words from edges with too many fields: on paths, a node always has the same place."""
    place: dict[str, int] = {}
    longest = 0
    for _, line in iterate_lines(text):
        words = line.split()
        longest = max(longest, len(words))
        if any(place.setdefault(word, k) != k for k, word in enumerate(words)):
            return False
    return longest > 2


# ---------------------------------------------------------------- indented text


def is_indented(text: str) -> bool:
    """Tell whether a text is indented: its first line is not, another one is, and none has columns."""
    if text.find("\n ") < 0 and text.find("\n\t") < 0 and text.isascii() and "\r" not in text:
        return False  # the usual case, known at once
    any_inside, first = False, True
    for _, line in iterate_indented_lines(text):
        inside = line[0].isspace()
        if (first and inside) or "\t" in line.lstrip():
            return False
        any_inside, first = any_inside or inside, False
    return any_inside


def parse_indented(text: str, sep: str) -> Draft:
    """Read one node per line; its parent is the nearest line above it that is less indented."""
    paths = _read_indented_paths(iterate_indented_lines(text))
    return from_paths(paths, sep=sep, where=lambda k: find_line(k, iterate_indented_lines(text)))


def _read_indented_paths(numbered: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    path: list[str] = []
    margins: list[str] = []  # the indentation of the nodes on the path
    children_at: list[str] = [""]  # the indentation of the children of the node at each depth
    for number, line in numbered:
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
                f"line {number}: {quoted(name)} does not stand below its siblings; give the children of one node the "
                "same indentation, all in spaces or all in tabs."
            )
        path.append(name)
        margins.append(margin)
        yield list(path)
