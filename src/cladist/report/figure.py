"""`Figure`: a drawing as SVG text; `Plot`: axes, lines and bars from which the plots of this package are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cladist.errors import visible

# Blue, orange, green, violet, red, grey: apart for all eyes, and on light and dark pages.
COLOURS = ("#3b82c4", "#d9762b", "#4a9a68", "#a068b4", "#c2505a", "#868d96")
TEXT = 'font-size="12" font-family="system-ui, sans-serif"'
LETTER = 6.3  # mean width of letters at 12 pixels


class Figure(str):
    """A drawing as an SVG element, shown as such in notebooks; it loads nothing and follows the page's text colour.

    Examples
    --------
    >>> figure = Figure('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
    >>> figure.startswith("<svg")
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to an SVG file."""
        Path(path).write_text(self, encoding="utf-8")


def shown(text: object) -> str:
    """Return a text for HTML: escaped, with control characters and marks of direction written as escapes."""
    return escape(visible(str(text)))


def shorten_to(text: str, width: float) -> str:
    """Return a text cut to a width in pixels."""
    most = max(1, int(width / LETTER))
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most `most` + 1 round numbers from `low` to `high`."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(base * k for k in (1, 2, 5, 10) if base * k >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Plot:
    """Axes with lines, bars and points, in the units of the data; `log_x` and `log_y` for logarithmic scales."""

    def __init__(
        self,
        title: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        size: tuple[float, float] = (560, 300),
        left: float = 62,
        bottom: float = 48,
        top: float = 14,
        log_x: bool = False,
        log_y: bool = False,
    ) -> None:
        self.title, self.width, self.height = title, *size
        self.left, self.right, self.top, self.bottom = left, self.width - 16, top, self.height - bottom
        self.x_range, self.y_range, self.log_x, self.log_y = x, y, log_x, log_y
        self.parts: list[str] = []

    def x(self, value: Any) -> Any:
        """Return the place of a number on the horizontal axis."""
        return self.left + self._share(value, self.x_range, self.log_x) * (self.right - self.left)

    def y(self, value: Any) -> Any:
        """Return the place of a number on the vertical axis."""
        return self.bottom - self._share(value, self.y_range, self.log_y) * (self.bottom - self.top)

    @staticmethod
    def _share(value: Any, ends: tuple[float, float], is_log: bool) -> Any:
        low, high = ends
        if is_log:
            value, low, high = np.log(value), math.log(low), math.log(high)
        return (np.asarray(value, np.float64) - low) / ((high - low) or 1.0)

    def axes(
        self,
        x_title: str,
        y_title: str,
        *,
        x_ticks: Any = None,
        y_ticks: Any = None,
        y_form: str = "{:g}",
        y_scale: float = 1,
    ) -> None:
        """Draw grid lines with their numbers and the titles; `x_ticks` are numbers, or pairs of number and text.

        Numbers of the vertical axis are written times `y_scale`.
        """
        for value in round_ticks(*self.y_range) if y_ticks is None else y_ticks:
            y = float(self.y(value))
            self.parts.append(
                f'<line x1="{self.left:g}" x2="{self.right:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
                f'stroke-opacity="{0.5 if value == self.y_range[0] else 0.14:g}"/>'
            )
            self.text(self.left - 8, y + 4, y_form.format(y_scale * value), anchor="end", faint=True)
        for tick in round_ticks(*self.x_range) if x_ticks is None else x_ticks:
            value, words = tick if isinstance(tick, tuple) else (tick, f"{tick:g}")
            self.text(float(self.x(value)), self.bottom + 18, words, anchor="middle", faint=True)
        self.text((self.left + self.right) / 2, self.height - 8, x_title, anchor="middle")
        self.parts.append(
            f'<text transform="translate(12 {(self.top + self.bottom) / 2:.1f}) rotate(-90)" text-anchor="middle" '
            f'fill="currentColor">{shown(y_title)}</text>'
        )

    def text(self, x: float, y: float, words: object, *, anchor: str = "start", faint: bool = False) -> None:
        """Write a text at a place in pixels."""
        fade = ' fill-opacity="0.7"' if faint else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor"{fade}>{shown(words)}</text>'
        )

    def bar(self, x: float, low: float, high: float, width: float, colour: str, words: str) -> None:
        """Draw a vertical bar `width` units wide around x, from low to high, with a text on hovering."""
        a, b = float(self.x(x - width / 2)), float(self.x(x + width / 2))
        top, bottom = float(self.y(high)), float(self.y(low))
        self.parts.append(
            f'<rect x="{a:.1f}" y="{top:.1f}" width="{b - a:.1f}" height="{max(bottom - top, 0):.1f}" fill="{colour}">'
            f"<title>{shown(words)}</title></rect>"
        )

    def line(self, x: Any, y: Any, colour: str, *, dashed: bool = False, words: str = "") -> None:
        """Draw a line through points."""
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self.x(x), self.y(y), strict=True))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        title = f"<title>{shown(words)}</title>" if words else ""
        self.parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"{dash} '
            f'points="{points}">{title}</polyline>'
        )

    def band(self, x: Any, low: Any, high: Any, colour: str) -> None:
        """Fill the area between two lines."""
        x = np.asarray(x)
        points = [*zip(self.x(x), self.y(high), strict=True), *zip(self.x(x)[::-1], self.y(low)[::-1], strict=True)]
        shape = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        self.parts.append(f'<polygon fill="{colour}" fill-opacity="0.18" points="{shape}"/>')

    def point(self, x: float, y: float, colour: str, words: str, *, radius: float = 4, hollow: bool = False) -> None:
        """Draw a point with a text on hovering."""
        paint = f'fill="none" stroke="{colour}" stroke-width="2"' if hollow else f'fill="{colour}"'
        self.parts.append(
            f'<circle cx="{float(self.x(x)):.1f}" cy="{float(self.y(y)):.1f}" r="{radius:g}" {paint}>'
            f"<title>{shown(words)}</title></circle>"
        )

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Write names with their colours above the plot, in as many lines as needed."""
        x, y = self.left, 12.0
        for colour, words in entries:
            width = 26 + len(words) * LETTER
            if x + width > self.right and x > self.left:
                x, y = self.left, y + 18
            self.parts.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="11" height="11" rx="2" fill="{colour}"/>')
            self.text(x + 16, y + 1, words)
            x += width

    def figure(self) -> Figure:
        """Return the drawing."""
        return Figure(
            f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="img" aria-label="{shown(self.title)}" {TEXT}>'
            f"{''.join(self.parts)}</svg>"
        )


def legend_height(names: Sequence[str], width: float) -> float:
    """Return the height that `Plot.legend` takes, 0 without names."""
    if not names:
        return 14.0
    x, lines = 0.0, 1
    for name in names:
        step = 26 + len(name) * LETTER
        if x + step > width and x > 0:
            x, lines = 0.0, lines + 1
        x += step
    return 18.0 * lines + 12
