"""A taxonomy as a picture: levels from left to right, cut where it is large, legible in light and dark."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cladist.report.svg_text import clean, length, shortened
from cladist.report.taxonomy_layout import MOST_LEVELS, MOST_LINES, Entry, laid_out
from cladist.taxonomy import Taxonomy

MARGIN, LINE, TURN = 32.0, 22.0, 34.0  # around the picture, from line to line, where links leave for the next level
LABEL_AT, LABEL_GAP = 10.0, 7.0  # from the dot to its label, and from there to the links
MOST_NAMES = 6  # in what hovering tells

Rows = npt.NDArray[np.integer]

STYLE = """
.taxonomy { color-scheme: light dark; font: 12px system-ui, "Segoe UI", sans-serif;
  --page: #ffffff; --text: #1b1f24; --soft: #59636e; --line: #b9c4ce; --node: #1d7fb0; --other: #c2580a;
  --none: #aab4be; }
@media (prefers-color-scheme: dark) { .taxonomy { --page: #12161b; --text: #e3e8ee; --soft: #98a3af;
  --line: #4a5561; --node: #4fb3d9; --other: #f2994a; --none: #5b6670; } }
.taxonomy .page { fill: var(--page); }
.taxonomy text { fill: var(--text); }
.taxonomy .title { font-size: 18px; font-weight: 600; }
.taxonomy .soft, .taxonomy .empty text, .taxonomy .code { fill: var(--soft); }
.taxonomy .head { fill: var(--soft); font-size: 11px; }
.taxonomy .links { fill: none; stroke: var(--line); stroke-width: 1.2; }
.taxonomy .others { fill: none; stroke: var(--other); stroke-width: 1; stroke-dasharray: 4 3; opacity: 0.55; }
.taxonomy .label { paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round; }
.taxonomy circle { fill: var(--node); stroke: var(--node); stroke-width: 1.6; }
.taxonomy .leaf circle { fill: var(--page); }
.taxonomy .several circle { stroke: var(--other); }
.taxonomy .several:not(.leaf) circle { fill: var(--other); }
.taxonomy .empty circle { stroke: var(--none); }
.taxonomy .empty:not(.leaf) circle { fill: var(--none); }
.taxonomy g:hover > .label { text-decoration: underline; }
"""


def taxonomy_drawing(
    taxonomy: Taxonomy,
    *,
    title: str = "",
    rows: Rows | None = None,
    most_lines: int = MOST_LINES,
    most_levels: int = MOST_LEVELS,
) -> str:
    """Draw a taxonomy as an SVG document without scripts or outside parts.

    Levels go from left to right. In a DAG a node stands below its deepest parent, and dashed lines come from the
    others. Hovering over a node tells its full name, its parents and what is below it.

    Parameters
    ----------
    taxonomy : Taxonomy
    title : str
        A heading.
    rows : array of int, optional
        How many rows of data have a label at or below each node; nodes without any are drawn pale.
    most_lines, most_levels : int
        What is larger is cut, and the picture says so.

    Examples
    --------
    >>> svg = taxonomy_drawing(Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"]), title="games")
    >>> svg.startswith("<svg"), svg.count("<title>"), "4 nodes" in svg
    (True, 4, True)
    """
    entries = laid_out(taxonomy, most_lines=most_lines, most_levels=most_levels)
    picture = _Picture(taxonomy, entries, rows)
    heading = [("title", title)] if title else []
    heading.append(("soft", _facts(taxonomy, entries)))
    signs, signs_width = legend(taxonomy, cut=any(entry.hidden for entry in entries), has_rows=rows is not None)
    legend_at = MARGIN + 14 + 21.0 * len(heading)
    top = legend_at + 34
    height = top + 28 + LINE * max(entry.line for entry in entries) + LINE / 2 + MARGIN
    longest = max(length(text) * (1.55 if kind == "title" else 1) for kind, text in heading)
    width = max(picture.width, max(longest, signs_width) + 2 * MARGIN)
    texts = "".join(
        f'<text class="{kind}" x="{MARGIN:g}" y="{MARGIN + 14 + 21 * k:g}">{clean(text)}</text>'
        for k, (kind, text) in enumerate(heading)
    )
    return (
        f'<svg class="taxonomy" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{clean(heading[-1][1])}">'
        f'<style>{STYLE}</style><rect class="page" width="100%" height="100%"/>{texts}'
        f'<g transform="translate({MARGIN:g} {legend_at:g})">{signs}</g>'
        f'<g transform="translate(0 {top:g})">{"".join(picture.parts())}</g></svg>\n'
    )


def legend(taxonomy: Taxonomy, *, cut: bool, has_rows: bool) -> tuple[str, float]:
    """Return what the signs in a picture mean, those it may have, and how wide that is."""
    is_dag = taxonomy.kind == "dag"
    meanings = [
        (True, "dot", "", "inner node"),
        (True, "dot leaf", "", "leaf"),
        (is_dag, "dot several", "", "several parents"),
        (is_dag, "", '<path class="others" d="M0 0H22"/>', "from another parent"),
        (is_dag, "", '<text class="soft" y="4">↗2</text>', "children that stand elsewhere"),
        (has_rows, "dot empty", "", "no rows"),
        (cut, "", '<text class="soft" y="4">+9</text>', "nodes below that are not drawn"),
    ]
    x, parts = 0.0, []
    for is_there, kinds, sign, meaning in meanings:
        if is_there:
            mark = sign or f'<g class="{kinds}"><circle cx="4" cy="0" r="3.6"/></g>'
            room = 28 if sign else 14
            text = f'<text class="soft" x="{room}" y="4">{meaning}</text>'
            parts.append(f'<g transform="translate({x:.1f} 0)">{mark}{text}</g>')
            x += room + length(meaning) + 20
    return "".join(parts), x - 20


def _facts(taxonomy: Taxonomy, entries: list[Entry]) -> str:
    kind = "DAG" if taxonomy.kind == "dag" else taxonomy.kind
    facts = [(taxonomy.n_nodes, "node", "nodes"), (len(taxonomy.leaves), "leaf", "leaves")]
    facts += [(taxonomy.n_edges, "edge", "edges")] if kind == "DAG" else []
    facts += [(len(taxonomy.roots), "root", "roots")] if len(taxonomy.roots) > 1 else []
    counted = ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in facts)
    drawn = sum(entry.node is not None for entry in entries)
    cut = f" Only {drawn:,} of the nodes are drawn." if drawn < taxonomy.n_nodes else ""
    return f"A {kind} of {counted}, depth {len(taxonomy.levels) - 1}.{cut}"


class _Picture:
    """Entries with a place on the page."""

    def __init__(self, taxonomy: Taxonomy, entries: list[Entry], rows: Rows | None) -> None:
        self.taxonomy, self.entries, self.rows = taxonomy, entries, rows
        self.labels = [_label(taxonomy, entry) for entry in entries]
        self.lengths = [length("".join(label)) for label in self.labels]
        n_levels = 1 + max(entry.level for entry in entries)
        widest = [90.0] * n_levels  # room for the head
        for entry, needed in zip(entries, self.lengths, strict=True):
            widest[entry.level] = max(widest[entry.level], needed)
        self.x = np.concatenate([[MARGIN + 4], widest]).astype(float)
        self.x[1:] += LABEL_AT + LABEL_GAP + TURN
        self.x = np.cumsum(self.x)
        self.width = float(self.x[-1]) - TURN + MARGIN
        self.x = self.x[:-1]
        self.place = {entry.node: k for k, entry in enumerate(entries) if entry.node is not None}

    def parts(self) -> Iterator[str]:
        """Yield the elements, what lies below others first."""
        for level, x in enumerate(self.x):
            n = len(self.taxonomy.levels[level])
            head = f"level {level} · {n:,} node{'' if n == 1 else 's'}"
            yield f'<text class="head" x="{x - 4:.1f}" y="0">{head}</text>'
        yield f'<path class="links" d="{"".join(self._links())}"/>'
        others = "".join(self._other_links())
        if others:
            yield f'<path class="others" d="{others}"/>'
        for k, entry in enumerate(self.entries):
            yield self._node(k, entry) if entry.node is not None else self._more(k, entry)

    def _y(self, k: int) -> float:
        return 28 + LINE * self.entries[k].line

    def _end(self, k: int) -> float:
        """Return where the label of an entry ends."""
        return float(self.x[self.entries[k].level]) + LABEL_AT + self.lengths[k] + LABEL_GAP

    def _links(self) -> Iterator[str]:
        for k, entry in enumerate(self.entries):
            if entry.parent >= 0:
                x, y, above = float(self.x[entry.level]) - 5, self._y(k), self._y(entry.parent)
                bend, middle = x - TURN + 8, x - TURN / 2 + 4
                curve = f"C{middle:.1f} {above:.1f} {middle:.1f} {y:.1f} {x:.1f} {y:.1f}" if y != above else f"H{x:.1f}"
                yield f"M{self._end(entry.parent):.1f} {above:.1f}H{bend:.1f}{curve}"

    def _other_links(self) -> Iterator[str]:
        """Draw the links from parents that are drawn, but below which the node does not stand."""
        for k, entry in enumerate(self.entries):
            others = [] if entry.node is None else self.taxonomy.parent_ids(entry.node)[:-1].tolist()
            for at in (self.place[p] for p in others if p in self.place):
                x, y, start, above = float(self.x[entry.level]) - 5, self._y(k), self._end(at), self._y(at)
                reach = max((x - start) / 2, TURN)
                # Over several levels it bends upwards, so that it does not run along a line of labels.
                bow = 0.9 * LINE if entry.level - self.entries[at].level > 1 else 0.0
                bends = f"{start + reach:.1f} {above - bow:.1f} {x - reach:.1f} {y - bow:.1f}"
                yield f"M{start:.1f} {above:.1f}C{bends} {x:.1f} {y:.1f}"

    def _node(self, k: int, entry: Entry) -> str:
        v = entry.node or 0
        kinds = ["leaf"] if self.taxonomy.is_leaf[v] else []
        kinds += ["several"] if self.taxonomy.n_parents[v] > 1 else []
        kinds += ["empty"] if self.rows is not None and self.rows[v] == 0 else []
        group = f'<g class="{" ".join(kinds)}">' if kinds else "<g>"
        x, y = float(self.x[entry.level]), self._y(k)
        code, name, tag = map(clean, self.labels[k])
        spans = f'<tspan class="code">{code}</tspan>' if code else ""
        after = f'<tspan class="soft">{tag}</tspan>' if tag else ""
        return (
            f"{group}<title>{clean(self._hover(v))}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
            f'<text class="label" x="{x + LABEL_AT:.1f}" y="{y + 4:.1f}">{spans}{name}{after}</text></g>'
        )

    def _more(self, k: int, entry: Entry) -> str:
        x, y = float(self.x[entry.level]), self._y(k)
        return f'<text class="label soft" x="{x:.1f}" y="{y + 4:.1f}">{clean(self.labels[k][1])}</text>'

    def _hover(self, v: int) -> str:
        taxonomy, name = self.taxonomy, self.taxonomy.names[v]
        title = taxonomy.title_of(name)
        lines = [f"{title} ({name})" if title else name]
        above = taxonomy.parent_ids(v)
        if len(above):
            shown = ", ".join(taxonomy.names[p] for p in above[:MOST_NAMES])
            lines.append(f"below {shown}{f' and {len(above) - MOST_NAMES} more' if len(above) > MOST_NAMES else ''}")
        if not taxonomy.is_leaf[v]:
            n_children = int(taxonomy.n_children[v])
            lines.append(f"{n_children:,} {'child' if n_children == 1 else 'children'}")
        if self.rows is not None:
            n_rows = int(self.rows[v])
            lines.append(f"{n_rows:,} row{'' if n_rows == 1 else 's'}")
        return "\n".join(lines)


def _label(taxonomy: Taxonomy, entry: Entry) -> tuple[str, str, str]:
    """Return the code in front of a title, the name, and what is not drawn below it."""
    if entry.node is None:
        below = entry.hidden - entry.siblings
        return "", f"… {entry.siblings:,} more{f', with {below:,} below' if below else ''}", ""
    name = taxonomy.names[entry.node]
    own = shortened(taxonomy.parts[entry.node] if taxonomy.parts else name)
    title = taxonomy.title_of(name)
    elsewhere = int(taxonomy.n_children[entry.node]) - entry.children
    tag = (f"  +{entry.hidden:,}" if entry.hidden else "") + (f"  ↗{elsewhere:,}" if elsewhere else "")
    if not title or title == name:
        return "", own, tag
    return f"{own}  ", shortened(title), tag
