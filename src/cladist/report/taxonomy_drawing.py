"""A drawing of a taxonomy: levels from left to right, cut if it is large, for light and dark screens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cladist.report.taxonomy_layout import MAX_LEVELS, MAX_LINES, Entry, lay_out
from cladist.taxonomy import Taxonomy

MARGIN, LINE, TURN = 32.0, 22.0, 34.0  # around the drawing, between lines, and for links between levels
LABEL_AT, LABEL_GAP = 10.0, 7.0  # from the dot to its label, and from there to the links
MAX_PARENTS = 6  # in the text shown on hovering
MAX_LETTERS = 34
NARROW, WIDE = set("iljtfI.,:;'|!()[]{}/- "), set("mwMW@%—…")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

RowCounts = npt.NDArray[np.integer]

STYLE = "\n" + Path(__file__).with_name("taxonomy_drawing.css").read_text(encoding="utf-8")


def taxonomy_drawing(
    taxonomy: Taxonomy,
    *,
    title: str = "",
    rows: RowCounts | None = None,
    max_lines: int = MAX_LINES,
    max_levels: int = MAX_LEVELS,
) -> str:
    """Return a drawing of a taxonomy as a self-contained SVG document without scripts.

    Levels go from left to right. In a DAG a node is placed below its deepest parent, with dashed lines from the others.
    Hovering over a node shows its full name, its parents and its number of children.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy to draw.
    title : str
        A heading.
    rows : array of int, optional
        The number of rows of data with a label at or below each node; nodes without rows are drawn pale.
    max_lines, max_levels : int
        The largest drawing; larger taxonomies are cut, and the drawing says so.

    Examples
    --------
    >>> svg = taxonomy_drawing(Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"]), title="games")
    >>> svg.startswith("<svg"), svg.count("<title>"), "4 nodes" in svg
    (True, 4, True)
    """
    entries = lay_out(taxonomy, max_lines=max_lines, max_levels=max_levels)
    picture = _Picture(taxonomy, entries, rows)
    heading = [("title", title)] if title else []
    heading.append(("soft", _describe(taxonomy, entries)))
    legend, legend_width = _legend(taxonomy, is_cut=any(entry.hidden for entry in entries), has_rows=rows is not None)
    legend_y = MARGIN + 14 + 21.0 * len(heading)
    top = legend_y + 34
    height = top + 28 + LINE * max(entry.line for entry in entries) + LINE / 2 + MARGIN
    longest = max(text_width(text) * (1.55 if kind == "title" else 1) for kind, text in heading)
    width = max(picture.width, max(longest, legend_width) + 2 * MARGIN)
    texts = "".join(
        f'<text class="{kind}" x="{MARGIN:g}" y="{MARGIN + 14 + 21 * k:g}">{escape_xml(text)}</text>'
        for k, (kind, text) in enumerate(heading)
    )
    return (
        f'<svg class="taxonomy" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape_xml(heading[-1][1])}">'
        f'<style>{STYLE}</style><rect class="page" width="100%" height="100%"/>{texts}'
        f'<g transform="translate({MARGIN:g} {legend_y:g})">{legend}</g>'
        f'<g transform="translate(0 {top:g})">{"".join(picture.elements())}</g></svg>\n'
    )


def _legend(taxonomy: Taxonomy, *, is_cut: bool, has_rows: bool) -> tuple[str, float]:
    """Return the legend of the signs that the drawing may contain, and its width."""
    is_dag = taxonomy.kind == "dag"
    meanings = [
        (True, "dot", "", "inner node"),
        (True, "dot leaf", "", "leaf"),
        (is_dag, "dot several", "", "several parents"),
        (is_dag, "", '<path class="others" d="M0 0H22"/>', "from another parent"),
        (is_dag, "", '<text class="soft" y="4">↗2</text>', "children placed elsewhere"),
        (has_rows, "dot empty", "", "no rows"),
        (is_cut, "", '<text class="soft" y="4">+9</text>', "nodes below that are not drawn"),
    ]
    x, parts = 0.0, []
    for is_used, kinds, sign, meaning in meanings:
        if is_used:
            mark = sign or f'<g class="{kinds}"><circle cx="4" cy="0" r="3.6"/></g>'
            offset = 28 if sign else 14
            text = f'<text class="soft" x="{offset}" y="4">{meaning}</text>'
            parts.append(f'<g transform="translate({x:.1f} 0)">{mark}{text}</g>')
            x += offset + text_width(meaning) + 20
    return "".join(parts), x - 20


def _describe(taxonomy: Taxonomy, entries: list[Entry]) -> str:
    kind = "DAG" if taxonomy.kind == "dag" else taxonomy.kind
    sizes = [(taxonomy.n_nodes, "node", "nodes"), (len(taxonomy.leaves), "leaf", "leaves")]
    sizes += [(taxonomy.n_edges, "edge", "edges")] if kind == "DAG" else []
    sizes += [(len(taxonomy.roots), "root", "roots")] if len(taxonomy.roots) > 1 else []
    text = ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in sizes)
    n_drawn = sum(entry.node is not None for entry in entries)
    cut = f" Only {n_drawn:,} of the nodes are drawn." if n_drawn < taxonomy.n_nodes else ""
    return f"A {kind} of {text}, depth {len(taxonomy.levels) - 1}.{cut}"


class _Picture:
    """The entries of a layout with their labels and positions."""

    def __init__(self, taxonomy: Taxonomy, entries: list[Entry], rows: RowCounts | None) -> None:
        self.taxonomy, self.entries, self.rows = taxonomy, entries, rows
        self.labels = [self._label(entry) for entry in entries]
        self.widths = [text_width("".join(label)) for label in self.labels]
        column = [90.0] * (1 + max(entry.level for entry in entries))  # at least as wide as the heading of the level
        for entry, width in zip(entries, self.widths, strict=True):
            column[entry.level] = max(column[entry.level], width)
        ends = MARGIN + 4 + np.cumsum(np.array(column) + (LABEL_AT + LABEL_GAP + TURN))
        self.x = np.concatenate([[MARGIN + 4], ends[:-1]])
        self.width = float(ends[-1]) - TURN + MARGIN
        self.position = {entry.node: k for k, entry in enumerate(entries) if entry.node is not None}

    def elements(self) -> Iterator[str]:
        """Yield the SVG elements, from back to front."""
        for level, x in enumerate(self.x):
            n = len(self.taxonomy.levels[level])
            yield f'<text class="head" x="{x - 4:.1f}" y="0">level {level} · {n:,} node{"" if n == 1 else "s"}</text>'
        yield f'<path class="links" d="{"".join(self._links())}"/>'
        others = "".join(self._other_links())
        if others:
            yield f'<path class="others" d="{others}"/>'
        for k, entry in enumerate(self.entries):
            yield self._rest(k, entry) if entry.node is None else self._node(k, entry, entry.node)

    def _xy(self, k: int) -> tuple[float, float]:
        return float(self.x[self.entries[k].level]), 28 + LINE * self.entries[k].line

    def _label_end(self, k: int) -> float:
        return self._xy(k)[0] + LABEL_AT + self.widths[k] + LABEL_GAP

    def _links(self) -> Iterator[str]:
        for k, entry in enumerate(self.entries):
            if entry.parent >= 0:
                (x, y), (_, above) = self._xy(k), self._xy(entry.parent)
                x -= 5
                bend, middle = x - TURN + 8, x - TURN / 2 + 4
                curve = f"C{middle:.1f} {above:.1f} {middle:.1f} {y:.1f} {x:.1f} {y:.1f}" if y != above else f"H{x:.1f}"
                yield f"M{self._label_end(entry.parent):.1f} {above:.1f}H{bend:.1f}{curve}"

    def _other_links(self) -> Iterator[str]:
        """Yield the links from the other parents of a node, if they are drawn."""
        for k, entry in enumerate(self.entries):
            others = [] if entry.node is None else self.taxonomy.parent_ids(entry.node)[:-1].tolist()
            for parent in (self.position[p] for p in others if p in self.position):
                (x, y), (_, above), start = self._xy(k), self._xy(parent), self._label_end(parent)
                x -= 5
                reach = max((x - start) / 2, TURN)
                # A link over several levels bends upwards, to avoid a line of labels.
                bow = 0.9 * LINE if entry.level - self.entries[parent].level > 1 else 0.0
                bends = f"{start + reach:.1f} {above - bow:.1f} {x - reach:.1f} {y - bow:.1f}"
                yield f"M{start:.1f} {above:.1f}C{bends} {x:.1f} {y:.1f}"

    def _node(self, k: int, entry: Entry, v: int) -> str:
        kinds = ["leaf"] if self.taxonomy.is_leaf[v] else []
        kinds += ["several"] if self.taxonomy.n_parents[v] > 1 else []
        kinds += ["empty"] if self.rows is not None and self.rows[v] == 0 else []
        group = f'<g class="{" ".join(kinds)}">' if kinds else "<g>"
        x, y = self._xy(k)
        code, name, tag = map(escape_xml, self.labels[k])
        before = f'<tspan class="code">{code}</tspan>' if code else ""
        after = f'<tspan class="soft">{tag}</tspan>' if tag else ""
        return (
            f"{group}<title>{escape_xml(self._hover_text(v))}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
            f'<text class="label" x="{x + LABEL_AT:.1f}" y="{y + 4:.1f}">{before}{name}{after}</text></g>'
        )

    def _rest(self, k: int, entry: Entry) -> str:
        x, y = self._xy(k)
        return f'<text class="label soft" x="{x:.1f}" y="{y + 4:.1f}">{escape_xml(self.labels[k][1])}</text>'

    def _hover_text(self, v: int) -> str:
        taxonomy, name = self.taxonomy, self.taxonomy.names[v]
        title = taxonomy.title_of(name)
        lines = [f"{title} ({name})" if title else name]
        parents = taxonomy.parent_ids(v)
        if len(parents):
            names = ", ".join(taxonomy.names[p] for p in parents[:MAX_PARENTS])
            more = f" and {len(parents) - MAX_PARENTS} more" if len(parents) > MAX_PARENTS else ""
            lines.append(f"below {names}{more}")
        if not taxonomy.is_leaf[v]:
            n_children = int(taxonomy.n_children[v])
            lines.append(f"{n_children:,} {'child' if n_children == 1 else 'children'}")
        if self.rows is not None:
            n_rows = int(self.rows[v])
            lines.append(f"{n_rows:,} row{'' if n_rows == 1 else 's'}")
        return "\n".join(lines)

    def _label(self, entry: Entry) -> tuple[str, str, str]:
        """Return the code in front of a title, the name, and the numbers of nodes that are not drawn below it."""
        if entry.node is None:
            below = entry.hidden - entry.siblings
            return "", f"… {entry.siblings:,} more{f', with {below:,} below' if below else ''}", ""
        name = self.taxonomy.names[entry.node]
        part = shorten(self.taxonomy.shortest_path_parts(entry.node)[-1])
        title = self.taxonomy.title_of(name)
        elsewhere = int(self.taxonomy.n_children[entry.node]) - entry.children
        tag = (f"  +{entry.hidden:,}" if entry.hidden else "") + (f"  ↗{elsewhere:,}" if elsewhere else "")
        return ("", part, tag) if not title or title == name else (f"{part}  ", shorten(title), tag)


def shorten(text: str, max_letters: int = MAX_LETTERS) -> str:
    """Return a text on one line, cut to a number of letters.

    Examples
    --------
    >>> shorten("a rather long name", 10)
    'a rather…'
    """
    text = " ".join(text.split())
    return text if len(text) <= max_letters else text[: max_letters - 1].rstrip() + "…"


def text_width(text: str) -> float:
    """Return the approximate width of a text in pixels, 12 pixels high in a wide common typeface.

    Examples
    --------
    >>> text_width("iiii") < text_width("oooo") < text_width("MMMM")
    True
    """
    return sum(4.2 if c in NARROW else 11.0 if c in WIDE else _letter_width(c) for c in text)


def _letter_width(c: str) -> float:
    if unicodedata.east_asian_width(c) in "WF":
        return 12.4
    return 8.8 if c.isupper() else 7.4


def escape_xml(text: str) -> str:
    r"""Return a text for XML, with a replacement character for those that it cannot contain.

    Examples
    --------
    >>> escape_xml("a < b\x00")
    'a &lt; b�'
    """
    return escape(_NOT_IN_XML.sub("\ufffd", text))
