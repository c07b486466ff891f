"""A drawing of a taxonomy: levels from left to right, cut if it is large, for light and dark screens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import Ids

MAX_LINES = 100  # a few screens
MAX_LEVELS = 12
SIBLING_SHARE = 0.6  # of the lines of a family that is cut; the other lines show nodes below the siblings
MIN_LINES = 3  # to show the children of a node: two of them and "… more"
TREE_SPACE, FAMILY_SPACE = 0.6, 0.2  # between trees and between families, in lines
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

    `rows` is the number of rows of data with a label at or below each node; nodes without rows are drawn pale.
    Taxonomies larger than `max_lines` and `max_levels` are cut, and the drawing says so.
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


# -------------------------------------------------------------------- the layout: which nodes, on which lines


@dataclass
class Entry:
    """A node of the drawing; `node` is None for the entry that stands for omitted siblings.

    `hidden` is the number of nodes that are not drawn: those below the node, or the omitted siblings and their
    descendants.
    """

    node: int | None
    parent: int  # a position in the list of entries; −1 at roots
    level: int
    hidden: int = 0
    siblings: int = 0  # omitted
    children: int = 0  # placed below it, drawn or not; in a DAG others may be placed below another parent
    line: float = 0.0


def lay_out(taxonomy: Taxonomy, *, max_lines: int = MAX_LINES, max_levels: int = MAX_LEVELS) -> list[Entry]:
    """Return the entries to draw, parents before children, from top to bottom.

    In a DAG a node is placed below its deepest parent. If there is no room for all nodes, every branch gets its share
    of the lines: small branches are shown completely, large ones down to the level where their lines end.
    """
    parent = taxonomy.deepest_parent
    lines, sizes = _subtree_sizes(taxonomy, parent, max_levels)
    order = np.argsort(parent, kind="stable")  # roots first, then the children of each node
    start = np.searchsorted(parent[order], np.arange(-1, taxonomy.n_nodes + 1))
    entries: list[Entry] = []

    def add_children(node: int, n_lines: int, position: int, level: int) -> None:
        """Add the children of a node, which is the entry at `position`, and what is drawn below them."""
        children = order[start[node + 1] : start[node + 2]]
        shares = share_lines([int(lines[c]) for c in children[: n_lines + 1]], len(children), n_lines)
        for child, share in zip(children.tolist(), shares, strict=False):
            entry = Entry(child, position, level, children=int(start[child + 2] - start[child + 1]))
            entries.append(entry)
            if entry.children and level + 1 < max_levels and share >= min(lines[child], MIN_LINES):
                add_children(child, share, len(entries) - 1, level + 1)
            else:
                entry.hidden = int(sizes[child]) - 1
        omitted = children[len(shares) :]
        if len(omitted):
            entries.append(Entry(None, position, level, int(sizes[omitted].sum()), len(omitted)))

    add_children(-1, max_lines, -1, 0)
    _set_lines(entries)
    return entries


def _subtree_sizes(taxonomy: Taxonomy, parent: Ids, max_levels: int) -> tuple[Ids, Ids]:
    """Return the number of lines and of nodes of each node's complete subtree."""
    lines, sizes = np.zeros(taxonomy.n_nodes, np.int64), np.ones(taxonomy.n_nodes, np.int64)
    for level in reversed(range(len(taxonomy.levels))):
        ids = taxonomy.levels[level]
        lines[ids] = np.maximum(lines[ids], 1)
        if level > 0:
            np.add.at(sizes, parent[ids], sizes[ids])
            if level < max_levels:
                np.add.at(lines, parent[ids], lines[ids])
    return lines, sizes


def share_lines(needs: Sequence[int], n_siblings: int, n_lines: int) -> list[int]:
    """Share `n_lines` among siblings; those omitted, at the end, get none and take one line together.

    `needs` are the lines of each sibling's complete subtree, of which only the first `n_lines` + 1 matter.
    """
    if n_siblings <= n_lines and sum(needs) <= n_lines:
        return list(needs)
    n_shown = n_siblings
    if n_siblings > n_lines * SIBLING_SHARE:
        are_leaves = all(need == 1 for need in needs[: n_lines - 1])
        most = n_lines - 1 if are_leaves else min(n_lines - 1, max(2, int(n_lines * SIBLING_SHARE)))
        n_shown = min(n_siblings, max(1, most))
    if n_shown == n_siblings - 1 and n_siblings <= n_lines:
        n_shown = n_siblings  # "… 1 more" would take as much space as the one
    shares = [1] * n_shown
    left = n_lines - n_shown - (n_shown < n_siblings)
    larger = [i for i in sorted(range(n_shown), key=lambda i: needs[i]) if needs[i] > 1]
    for k, i in enumerate(larger):
        left -= _add_lines(shares, needs, i, left // (len(larger) - k))
    for i in range(n_shown):
        left -= _add_lines(shares, needs, i, left)
    return shares


def _add_lines(shares: list[int], needs: Sequence[int], i: int, n_lines: int) -> int:
    """Give a sibling up to this many more lines, if they suffice to show children, and return how many."""
    n_added = min(needs[i] - shares[i], n_lines)
    if n_added <= 0 or shares[i] + n_added < min(needs[i], MIN_LINES):
        return 0
    shares[i] += n_added
    return n_added


def _set_lines(entries: list[Entry]) -> None:
    """Put entries without children on their own lines, and the others halfway between their first and last child."""
    line = -1.0
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    parents = {entry.parent for entry in entries}
    for k, entry in enumerate(entries):
        if entry.parent < 0 and k and (k in parents or entries[k - 1].parent >= 0):
            line += TREE_SPACE
        elif k and entry.level < entries[k - 1].level:
            line += FAMILY_SPACE
        if k not in parents:
            line += 1
            entry.line = line
    for k in range(len(entries) - 1, -1, -1):
        entry = entries[k]
        if k in parents:
            entry.line = (first[k] + last[k]) / 2
        last.setdefault(entry.parent, entry.line)
        first[entry.parent] = entry.line


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
            if entry.node is None:
                x, y = self._xy(k)
                yield f'<text class="label soft" x="{x:.1f}" y="{y + 4:.1f}">{escape_xml(self.labels[k][1])}</text>'
            else:
                yield self._node(k, entry.node)

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

    def _node(self, k: int, v: int) -> str:
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
    """Return a text on one line, cut to a number of letters."""
    text = " ".join(text.split())
    return text if len(text) <= max_letters else text[: max_letters - 1].rstrip() + "…"


def text_width(text: str) -> float:
    """Return the approximate width of a text in pixels, 12 pixels high in a wide common typeface."""
    return sum(4.2 if c in NARROW else 11.0 if c in WIDE else _letter_width(c) for c in text)


def _letter_width(c: str) -> float:
    if unicodedata.east_asian_width(c) in "WF":
        return 12.4
    return 8.8 if c.isupper() else 7.4


def escape_xml(text: str) -> str:
    """Return a text for XML, with a replacement character for those that it cannot contain."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))
