"""What usually joins the parts of a path, to tell paths that were not split, or not where they should have been."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SEPARATORS = (" > ", " / ", " | ", "->", "::", ">", "/", "|", "\u2192", "\u00bb", "\\")


def parts_at(text: str, sep: str) -> list[str]:
    """Return the parts of a text at a separator, without the blanks around them; one part if one would be empty.

    Examples
    --------
    >>> parts_at("home > pots", ">"), parts_at("> 90 %", ">")
    (['home', 'pots'], ['> 90 %'])
    """
    parts = [part.strip() for part in text.split(sep)]
    return parts if all(parts) else [text]


def likely_separator(texts: Sequence[str], *, besides: str | None = None) -> tuple[str, int] | None:
    """Return the separator that most of some texts have between two parts, and how many have it; or None.

    Examples
    --------
    >>> likely_separator(["home > pots", "home > pans", "garden"])
    (' > ', 2)
    >>> likely_separator(["home > pots", "and/or", "garden"]) is None
    True
    """
    for sep in SEPARATORS:
        count = 0 if sep == besides else sum(len(parts_at(text, sep)) > 1 for text in texts)
        if count > 1 and 2 * count > len(texts):
            return sep, count
    return None


def look_like_paths(rows: Iterable[Sequence[object]]) -> bool:
    """Tell whether rows of labels read as paths: each label always has the same place, below the same label.

    Examples
    --------
    >>> look_like_paths([["animal", "cat"], ["animal", "dog"], ["plant"]])
    True
    >>> look_like_paths([["red", "large"], ["large"], ["red"]])
    False
    """
    above: dict[object, tuple[object, ...]] = {}
    for row in rows:
        way: tuple[object, ...] = ()
        for label in row:
            if above.setdefault(label, way) != way:
                return False
            way = (*way, label)
        if len(row) == 0:  # a path has one part at least
            return False
    return sum(len(way) > 0 for way in above.values()) > 1
