"""Taxonomies written a line at a time: edges, paths, indented text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy import construction
from cladist.taxonomy.construction import Draft
from cladist.taxonomy.formats.line_iterator import iterate_lines, place_of, raw_lines

ARROW = "->"
_ARROW = re.compile(r"(?<=\s)->(?=\s)")


def at_line(number: int) -> str:
    """Say where a line stands."""
    return f"line {number}"


# ---------------------------------------------------------------- edges


def parse_edges(text: str, on_cycle: str) -> Draft:
    """Read ``parent child`` lines, with tabs or arrows between them if any line has one; a lone name is a node."""
    tabbed = "\t" in text and any("\t" in line for _, line in iterate_lines(text))
    arrowed = not tabbed and have_arrows(text, any)
    links = construction.Links()
    for number, line in iterate_lines(text):
        fields = [field.strip() for field in line.split("\t")] if tabbed else line.split()
        if arrowed and len(fields) > 1:
            fields = _ends_of_arrow(number, line)
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
    return links.draft(on_cycle, at_line)


def _ends_of_arrow(number: int, line: str) -> list[str]:
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
    """Refuse ``a,b`` on every line, which would be read as so many roots with strange names."""
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
    """Read one path a line: its parts are joined by `sep`, where no line has one by tabs, or else by blanks."""
    joint = next(
        (mark for mark in (sep, "\t") if mark in text and any(mark in line for _, line in iterate_lines(text))), None
    )
    if joint is None and all(len(line.split()) == 1 for _, line in iterate_lines(text)):
        joint = sep
    return construction.from_paths(
        _split_lines(text, joint, sep), sep=sep, where=lambda k: place_of(k, iterate_lines(text))
    )


def _split_lines(text: str, joint: str | None, sep: str) -> Iterator[list[str]]:
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
    """Tell paths of words from edges with a line too long: on paths, a node always has the same place."""
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
    """Tell whether lines stand below others by indentation: the first does not, some other does, none has columns."""
    if text.find("\n ") < 0 and text.find("\n\t") < 0 and text.isascii() and "\r" not in text:
        return False  # the usual case, told at once
    found, first = False, True
    for _, line in raw_lines(text):
        inside = line[0].isspace()
        if (first and inside) or "\t" in line.lstrip():
            return False
        found, first = found or inside, False
    return found


def parse_indented(text: str, sep: str) -> Draft:
    """Read one node a line; it hangs below the nearest line above it that stands further to the left."""
    paths = _indented_paths(raw_lines(text))
    return construction.from_paths(paths, sep=sep, where=lambda k: place_of(k, raw_lines(text)))


def _indented_paths(numbered: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    path: list[str] = []
    margins: list[str] = []  # of the nodes on the path
    children_at: list[str] = [""]  # the margin that children of the node at each depth have
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
