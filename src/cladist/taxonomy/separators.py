"""Common separators of paths, to recognise paths that were not split, or split at the wrong place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SEPARATORS = (" > ", " / ", " | ", "->", "::", ">", "/", "|", "\u2192", "\u00bb", "\\")


def split_at(text: str, sep: str) -> list[str]:
    """Return the parts of a text at a separator without the blanks around them; the whole text if one is empty.

    Examples
    --------
    >>> split_at("home > pots", ">"), split_at("> 90 %", ">")
    (['home', 'pots'], ['> 90 %'])
    """
    parts = [part.strip() for part in text.split(sep)]
    return parts if all(parts) else [text]


def guess_separator(texts: Sequence[str], *, besides: str | None = None) -> tuple[str, int] | None:
    """Return the separator that more than half of the texts contain, and how many do; or None.

    Examples
    --------
    >>> guess_separator(["home > pots", "home > pans", "garden"])
    (' > ', 2)
    >>> guess_separator(["home > pots", "and/or", "garden"]) is None
    True
    """
    for sep in SEPARATORS:
        count = 0 if sep == besides else sum(len(split_at(text, sep)) > 1 for text in texts)
        if count > 1 and 2 * count > len(texts):
            return sep, count
    return None


def look_like_paths(rows: Iterable[Sequence[object]]) -> bool:
    """Tell whether rows of labels look like paths: each label always stands at the same place below the same labels.

    Examples
    --------
    >>> look_like_paths([["animal", "cat"], ["animal", "dog"], ["plant"]])
    True
    >>> look_like_paths([["red", "large"], ["large"], ["red"]])
    False
    """
    above: dict[object, tuple[object, ...]] = {}
    for row in rows:
        path: tuple[object, ...] = ()
        for label in row:
            if above.setdefault(label, path) != path:
                return False
            path = (*path, label)
        if len(row) == 0:  # a path has at least one part
            return False
    return sum(len(path) > 0 for path in above.values()) > 1
