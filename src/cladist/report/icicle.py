"""The icicle: a taxonomy as nested blocks, levels from left to right, each node as high as it has test rows."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np
import numpy.typing as npt

from cladist.metrics import NodeScore, Report
from cladist.report.colours import colour, text_colour
from cladist.taxonomy import Taxonomy

WIDTH = 1120.0
LEAST_HEIGHT, MOST_HEIGHT = 120.0, 1500.0
HEIGHT_OF_A_LEAF = 26.0  # while there is room
LEAST_BLOCK = 0.3  # of a pixel; lower ones could not be seen
GAP = 1.0  # between blocks that are high enough for it
LINE, LETTER = 13.0, 6.1  # height and mean width of the label's letters, at 11 pixels

Floats = npt.NDArray[np.float64]


def icicle(report: Report) -> str:
    """Draw the taxonomy of a report, coloured by each node's F1, as an SVG element without any outside parts.

    A node's height is its number of test rows, at least 1; one without test rows has no F1 and stays pale.
    Hovering over a block tells the node, its F1 and its rows; a block shows its name where that fits.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import report
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> svg = icicle(report(["chess", "art"], ["tennis", "art"], taxonomy))
    >>> svg.startswith("<svg"), svg.count("<rect")
    (True, 4)
    """
    taxonomy = report.counts.taxonomy
    height = min(max(HEIGHT_OF_A_LEAF * len(taxonomy.leaves), LEAST_HEIGHT), MOST_HEIGHT)
    top, size = placed(taxonomy, report.counts.tp + report.counts.fn)
    blocks = "".join(_blocks(report, top * height, size * height))
    description = "Icicle of the taxonomy: every block is a node, its colour the F1, its height the number of rows."
    return (
        f'<svg class="icicle" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-label="{description}" font-size="11">{blocks}</svg>'
    )


def placed(taxonomy: Taxonomy, support: Floats) -> tuple[Floats, Floats]:
    """Return where each node's block begins and how high it is, as shares of the whole height.

    A node has room for its rows and for all its children; in a DAG it stands beside its deepest parent.
    """
    parent, n_nodes = taxonomy.deepest_parent, taxonomy.n_nodes
    size = np.maximum(support, taxonomy.is_leaf.astype(np.float64))
    below = np.zeros(n_nodes)
    for v in range(n_nodes - 1, -1, -1):  # children before parents
        size[v] = max(size[v], below[v])
        if parent[v] >= 0:
            below[parent[v]] += size[v]
    top = np.zeros(n_nodes)
    free = np.zeros(n_nodes + 1)  # where the next child goes; the last entry is the virtual root's
    for v in range(n_nodes):
        top[v] = free[parent[v]]
        free[parent[v]] += size[v]
        free[v] = top[v]
    whole = free[-1] or 1.0
    return top / whole, size / whole


def _blocks(report: Report, top: Floats, size: Floats) -> Iterator[str]:
    taxonomy = report.counts.taxonomy
    column = WIDTH / len(taxonomy.levels)
    for v, score in enumerate(report.per_node):
        if size[v] >= LEAST_BLOCK:
            title = taxonomy.titles.get(score.name, taxonomy.shortest_path_parts(v)[-1])
            x = column * int(taxonomy.depth[v])
            yield _block(score, title, x, top[v], column, size[v])


def _block(score: NodeScore, title: str, x: float, y: float, width: float, height: float) -> str:
    gap = GAP if height > 4 * GAP else 0.0
    fill = colour(score.f1) if score.support else None
    paint = f'fill="{fill}"' if fill else 'class="none"'
    rect = f'<rect x="{x:.1f}" y="{y:.2f}" width="{width - GAP:.1f}" height="{height - gap:.2f}" {paint}/>'
    label = _label(title, x, y + (height - gap) / 2, width, height - gap, fill)
    return f"<g><title>{escape(_hover(score, title))}</title>{rect}{label}</g>"


def _hover(score: NodeScore, title: str) -> str:
    name = title if title == score.name else f"{title} ({score.name})"
    if not score.support:
        return f"{name}\nno test rows"
    return f"{name}\nF1 {score.f1:.3f} (precision {score.precision:.3f}, recall {score.recall:.3f})\n" + (
        f"{score.support:,.6g} test row{'' if score.support == 1 else 's'}"
    )


def _label(title: str, x: float, middle: float, width: float, height: float, fill: str | None) -> str:
    """Return the node's title as SVG text, cut to the block's width; nothing where it would not be legible."""
    letters = int((width - 12) / LETTER)
    if height < LINE or letters < 4:
        return ""
    shown = title if len(title) <= letters else title[: letters - 1].rstrip() + "…"
    paint = f'fill="{text_colour(fill)}"' if fill else 'class="faint"'
    return f'<text x="{x + 6:.1f}" y="{middle + 4:.1f}" {paint}>{escape(shown)}</text>'
