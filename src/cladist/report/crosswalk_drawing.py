"""A drawing of a crosswalk, old nodes on the left and new ones on the right, and a page with it and its table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cladist.report.page import Table, html_table, plain_page
from cladist.report.taxonomy_drawing import LINE, MARGIN, escape_xml, shorten, text_width
from cladist.taxonomy import Crosswalk, Entry, Taxonomy

MAX_LINES = 100  # a few screens
MAX_TABLE = 2_000  # rows of the table of a page
MAX_LETTERS = 44
DOUBTFUL = 0.9  # entries below it are dashed
GAP = 160.0  # between the two columns, for the curves
COLOURS = {
    "split": "#c2580a",
    "merge": "#1d7fb0",
    "move": "#6a5acd",
    "rename": "#4c8c2b",
    "retire": "#b3261e",
    "new": "#0b8a7a",
    "one-to-one": "#8a949e",
}
STYLE = "\n" + Path(__file__).with_name("taxonomy_drawing.css").read_text(encoding="utf-8")


def crosswalk_drawing(crosswalk: Crosswalk, *, title: str = "", max_lines: int = MAX_LINES) -> str:
    """Return the entries that change something as a self-contained SVG document without scripts.

    A curve leads from each old node to its new ones, in the colour of its kind, dashed where the entry is doubtful.
    Crosswalks with more than `max_lines` changes are cut, and the drawing says so.
    """
    changes = [entry for entry in crosswalk if entry.kind != "one-to-one"]
    shown = changes[:max_lines]
    olds = _places([entry.old for entry in shown])
    news = _places([entry.new for entry in shown])
    labels = {side: {name: _label(name, tree) for name in places} for side, places, tree in (
        ("old", olds, crosswalk.old), ("new", news, crosswalk.new)
    )}  # fmt: skip
    left = max((text_width(text) for text in labels["old"].values()), default=0.0)
    right = max((text_width(text) for text in labels["new"].values()), default=0.0)
    more = f", the first {len(shown):,} of them drawn" if len(shown) < len(changes) else ""
    heading = f"{len(changes):,} changes of {len(crosswalk):,} entries{more}"
    top = MARGIN + (48 if title else 24)
    height = top + 30 + LINE * max(len(olds), len(news), 1) + MARGIN
    width = max(2 * MARGIN + left + GAP + right, 2 * MARGIN + text_width(heading), 2 * MARGIN + 470)
    start, end = MARGIN + left + 8, MARGIN + left + GAP - 8
    head = f'<text class="title" x="{MARGIN:g}" y="{MARGIN + 10:g}">{escape_xml(title)}</text>' if title else ""
    head += f'<text class="soft" x="{MARGIN:g}" y="{top - 16:g}">{escape_xml(heading)}</text>'
    return (
        f'<svg class="taxonomy" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape_xml(heading)}"><style>{STYLE}</style>'
        f'<rect class="page" width="100%" height="100%"/>{head}{_legend(crosswalk, top)}'
        f'<g transform="translate(0 {top + 22:g})">{_curves(shown, olds, news, start, end)}'
        f"{_texts(labels['old'], olds, MARGIN + left, 'end')}{_texts(labels['new'], news, end + 8, 'start')}"
        "</g></svg>\n"
    )


def _places(names: Sequence[str | None]) -> dict[str, float]:
    """Return the height of each node, in the order in which they first occur."""
    order = dict.fromkeys(name for name in names if name is not None)
    return {name: LINE * (k + 1) for k, name in enumerate(order)}


def _label(name: str, taxonomy: Taxonomy | None) -> str:
    title = "" if taxonomy is None else taxonomy.title_of(name)
    return shorten(f"{name}  {title}" if title and title != name else name, MAX_LETTERS)


def _legend(crosswalk: Crosswalk, top: float) -> str:
    x, pieces = MARGIN, []
    for kind, count in crosswalk.counts.items():
        if kind != "one-to-one":
            text = f"{count:,} {kind}"
            pieces.append(
                f'<rect x="{x:g}" y="{top - 5:g}" width="12" height="12" rx="2" fill="{COLOURS[kind]}"/>'
                f'<text x="{x + 17:g}" y="{top + 5:g}">{text}</text>'
            )
            x += 34 + text_width(text)
    return "".join(pieces)


def _curves(entries: Sequence[Entry], olds: dict[str, float], news: dict[str, float], start: float, end: float) -> str:
    middle = (start + end) / 2
    pieces = []
    for entry in entries:
        about = f"{entry.old or 'nothing'} → {entry.new or 'nothing'}: {entry.kind}, {entry.confidence:.0%} sure"
        hover = f"<title>{escape_xml(about + (f'; {entry.evidence}' if entry.evidence else ''))}</title>"
        style = f'style="fill:none;stroke:{COLOURS[entry.kind]};stroke-width:1.6"'
        style += ' stroke-dasharray="5 3"' if entry.confidence < DOUBTFUL else ""
        y, z = (None if name is None else places[name] - 4 for name, places in ((entry.old, olds), (entry.new, news)))
        if y is None or z is None:
            x, height = (start, y) if z is None else (end, z)
            pieces.append(f'<g>{hover}<circle cx="{x:g}" cy="{height:g}" r="3.5" {style}/></g>')
        else:
            line = f"M{start:g} {y:g}C{middle:g} {y:g} {middle:g} {z:g} {end:g} {z:g}"
            pieces.append(f'<g>{hover}<path d="{line}" {style}/></g>')
    return "".join(pieces)


def _texts(labels: dict[str, str], places: dict[str, float], x: float, anchor: str) -> str:
    return "".join(
        f'<text x="{x:g}" y="{places[name]:g}" text-anchor="{anchor}">{escape_xml(text)}</text>'
        for name, text in labels.items()
    )


def crosswalk_page(crosswalk: Crosswalk, *, title: str) -> str:
    """Return a web page with the drawing, the faults and the changes of a crosswalk."""
    changes = [entry for entry in crosswalk if entry.kind != "one-to-one"]
    rows = [
        [
            entry.old or "",
            entry.new or "",
            entry.kind,
            f"{entry.confidence:.0%}",
            shorten(entry.evidence, 3 * MAX_LETTERS),
        ]
        for entry in sorted(changes, key=lambda entry: entry.confidence)[:MAX_TABLE]
    ]
    drawing = crosswalk_drawing(crosswalk)
    faults = "".join(f"<li>{escape_xml(fault.sentence)}</li>" for fault in crosswalk.check())
    sections = f"<section>{drawing}</section>\n"
    if faults:
        sections += f"<section><h2>To check</h2><ul>{faults}</ul></section>\n"
    table = html_table(Table(["old", "new", "kind", "sure", "evidence"], rows))
    cut = f"<p>The {MAX_TABLE:,} least certain of {len(changes):,}.</p>" if len(changes) > MAX_TABLE else ""
    sections += f"<section><h2>Changes, the least certain first</h2>{cut}{table}</section>\n"
    counts = ", ".join(f"{count:,} {kind}" for kind, count in crosswalk.counts.items())
    return plain_page(title, sections, counts)
