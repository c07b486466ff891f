"""Texts in SVG: how long they are, cut where they are long, and free of what XML cannot hold."""

from __future__ import annotations

import re
import unicodedata
from html import escape

MOST_LETTERS = 34
NARROW, WIDE = set("iljtfI.,:;'|!()[]{}/- "), set("mwMW@%—…")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def shortened(text: str, most: int = MOST_LETTERS) -> str:
    """Return a text on one line, cut to so many letters.

    Examples
    --------
    >>> shortened("a rather long name", 10)
    'a rather…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def length(text: str) -> float:
    """Return about how long a text is, 12 pixels high in a wide one of the common typefaces.

    Examples
    --------
    >>> length("iiii") < length("oooo") < length("MMMM")
    True
    """
    return sum(4.2 if c in NARROW else 11.0 if c in WIDE else _letter(c) for c in text)


def _letter(c: str) -> float:
    if unicodedata.east_asian_width(c) in "WF":
        return 12.4
    return 8.8 if c.isupper() else 7.4


def clean(text: str) -> str:
    r"""Return a text for XML, with a mark in place of the letters that it cannot hold.

    Examples
    --------
    >>> clean("a < b\x00")
    'a &lt; b�'
    """
    return escape(_NOT_IN_XML.sub("\ufffd", text))
