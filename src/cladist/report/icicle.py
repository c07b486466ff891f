"""The icicle plot: a taxonomy as nested blocks, levels from left to right, block heights by number of test rows."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np
import numpy.typing as npt

from cladist.metrics import NodeScore, Report
from cladist.taxonomy import Taxonomy

WIDTH = 1120.0
MIN_HEIGHT, MAX_HEIGHT = 120.0, 1500.0
LEAF_HEIGHT = 26.0  # up to the maximal height of the plot
MIN_BLOCK = 0.3  # pixels; smaller blocks are invisible
GAP = 1.0  # between blocks that are high enough for it
LINE, LETTER = 13.0, 6.1  # height and mean width of letters at 11 pixels

# From pale yellow over green to deep blue, after ColorBrewer's YlGnBu: lightness falls monotonically, so that the order
# is visible without colour. The ends are neither white nor black, to contrast with light and dark pages.
STOPS = ("f3f0a3", "c7e9b4", "7fcdbb", "41b6c4", "1d91c0", "225ea8", "2b3a96")
_RGB = tuple(tuple(int(stop[i : i + 2], 16) for i in (0, 2, 4)) for stop in STOPS)
DARK_TEXT, LIGHT_TEXT = "#101418", "#ffffff"
MIN_LUMINANCE = 0.24  # relative luminance above which dark text has more contrast

Floats = npt.NDArray[np.float64]


def icicle(report: Report) -> str:
    """Return a self-contained SVG element that shows the taxonomy of a report, coloured by the F1 of each node.

    A node's height is its number of test rows, at least 1; a node without test rows has no F1 and is grey. Hovering
    over a block shows the node, its F1 and its rows; a block shows its name if there is room.
    """
    taxonomy = report.counts.taxonomy
    height = min(max(LEAF_HEIGHT * len(taxonomy.leaves), MIN_HEIGHT), MAX_HEIGHT)
    top, size = place_blocks(taxonomy, report.counts.tp + report.counts.fn)
    blocks = "".join(_blocks(report, top * height, size * height))
    description = "Icicle plot of the taxonomy: one block per node, coloured by F1, as high as its number of rows."
    return (
        f'<svg class="icicle" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-label="{description}" font-size="11">{blocks}</svg>'
    )


def place_blocks(taxonomy: Taxonomy, support: Floats) -> tuple[Floats, Floats]:
    """Return the top and the height of each node's block, as shares of the total height.

    A block is as high as the node's rows and as all its children; in a DAG a node is placed at its deepest parent.
    """
    parent, n_nodes = taxonomy.deepest_parent, taxonomy.n_nodes
    size = np.maximum(support, taxonomy.is_leaf.astype(np.float64))
    below = np.zeros(n_nodes)
    for v in range(n_nodes - 1, -1, -1):  # children before parents
        size[v] = max(size[v], below[v])
        if parent[v] >= 0:
            below[parent[v]] += size[v]
    top = np.zeros(n_nodes)
    free = np.zeros(n_nodes + 1)  # the top of the next child; the last entry is that of the virtual root
    for v in range(n_nodes):
        top[v] = free[parent[v]]
        free[parent[v]] += size[v]
        free[v] = top[v]
    total = free[-1] or 1.0
    return top / total, size / total


def _blocks(report: Report, top: Floats, size: Floats) -> Iterator[str]:
    taxonomy = report.counts.taxonomy
    width = WIDTH / len(taxonomy.levels)
    for v, score in enumerate(report.per_node):
        if size[v] < MIN_BLOCK:
            continue
        title = taxonomy.titles.get(score.name, taxonomy.shortest_path_parts(v)[-1])
        x, y = width * int(taxonomy.depth[v]), top[v]
        height = size[v] - (GAP if size[v] > 4 * GAP else 0.0)
        fill = colour(score.f1) if score.support else None
        paint = f'fill="{fill}"' if fill else 'class="none"'
        rect = f'<rect x="{x:.1f}" y="{y:.2f}" width="{width - GAP:.1f}" height="{height:.2f}" {paint}/>'
        label = _label(title, x, y + height / 2, width, height, fill)
        yield f"<g><title>{escape(_hover_text(score, title))}</title>{rect}{label}</g>"


def _hover_text(score: NodeScore, title: str) -> str:
    name = title if title == score.name else f"{title} ({score.name})"
    if not score.support:
        return f"{name}\nno test rows"
    return (
        f"{name}\nF1 {score.f1:.3f} (precision {score.precision:.3f}, recall {score.recall:.3f})\n"
        f"{score.support:,.6g} test row{'' if score.support == 1 else 's'}"
    )


def _label(title: str, x: float, middle: float, width: float, height: float, fill: str | None) -> str:
    """Return the node's title as SVG text, cut to the block's width, or nothing if the block is too small."""
    n_letters = int((width - 12) / LETTER)
    if height < LINE or n_letters < 4:
        return ""
    text = title if len(title) <= n_letters else title[: n_letters - 1].rstrip() + "…"
    paint = f'fill="{text_colour(fill)}"' if fill else 'class="faint"'
    return f'<text x="{x + 6:.1f}" y="{middle + 4:.1f}" {paint}>{escape(text)}</text>'


def colour(value: float) -> str:
    """Return the colour of a number from 0 to 1; other numbers get the nearer end."""
    position = value * (len(STOPS) - 1)
    mix = (round(np.interp(position, range(len(STOPS)), channel)) for channel in zip(*_RGB, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mix)


def text_colour(background: str) -> str:
    """Return the dark or the light text colour, whichever has more contrast."""
    parts = (int(background[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return DARK_TEXT if luminance > MIN_LUMINANCE else LIGHT_TEXT
