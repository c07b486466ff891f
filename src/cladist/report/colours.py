"""Colours for numbers from 0 to 1, told apart by every kind of colour vision and in grey."""

from __future__ import annotations

# From pale yellow over green to deep blue, after ColorBrewer's YlGnBu: lightness falls all the way, so the order can
# be seen without colour too. The ends stop short of white and black, and so stand out from a light and a dark page.
STOPS = ("f3f0a3", "c7e9b4", "7fcdbb", "41b6c4", "1d91c0", "225ea8", "2b3a96")
_RGB = tuple(tuple(int(stop[i : i + 2], 16) for i in (0, 2, 4)) for stop in STOPS)
DARK_TEXT, LIGHT_TEXT = "#101418", "#ffffff"
LIGHT_ENOUGH = 0.24  # the relative luminance above which dark text is the easier to read


def colour(value: float) -> str:
    """Return the colour of a number from 0 to 1; numbers outside get the nearer end.

    Examples
    --------
    >>> colour(0.0), colour(0.5), colour(2.0)
    ('#f3f0a3', '#41b6c4', '#2b3a96')
    """
    place = min(max(value, 0.0), 1.0) * (len(STOPS) - 1)
    k = min(int(place), len(STOPS) - 2)
    mixed = (round(a + (b - a) * (place - k)) for a, b in zip(_RGB[k], _RGB[k + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def text_colour(background: str) -> str:
    """Return dark or light, whichever can be read on this colour.

    Examples
    --------
    >>> text_colour("#2b3a96"), text_colour("#f3f0a3")
    ('#ffffff', '#101418')
    """
    parts = (int(background[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return DARK_TEXT if luminance > LIGHT_ENOUGH else LIGHT_TEXT
