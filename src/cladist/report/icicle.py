"""The icicle plot as a figure: a taxonomy as nested blocks, levels from left to right, heights by weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError
from cladist.metrics import NodeScore, Report
from cladist.report.figure import Figure, shown
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


def icicle(
    report: Report | Taxonomy,
    values: Any = None,
    *,
    weight: Any = None,
    value_range: tuple[float, float] | None = None,
    words: str = "value",
) -> Figure:
    r"""Return a self-contained SVG element that shows a taxonomy with its nodes coloured by a number.

    Hovering over a block shows the node and its numbers; a block shows its name if there is room.

    Parameters
    ----------
    report : Report or Taxonomy
        A report, whose nodes are coloured by F1 and as high as their number of test rows, or a taxonomy.
    values : array (nodes,) or mapping of names to numbers, optional
        The number of each node; NaN, or a name that is missing, is grey. None: the F1 of the report.
    weight : array (nodes,), optional
        What heights are in proportion to, at least 1 for a leaf; None: the report's test rows, or all leaves alike.
    value_range : (float, float), optional
        The numbers with the lightest and the darkest colour; None: the least and the largest.
    words : str
        What the number is.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> figure = icicle(taxonomy, {"tennis": 10, "chess": 250}, words="articles")
    >>> figure.count("<rect"), "chess\narticles 250" in figure
    (4, True)
    """
    taxonomy = report.counts.taxonomy if isinstance(report, Report) else report
    if not isinstance(report, Report) and values is None:
        raise ParameterError("icicle: a taxonomy needs values, one number per node.")
    height = min(max(LEAF_HEIGHT * len(taxonomy.leaves), MIN_HEIGHT), MAX_HEIGHT)
    support = report.counts.tp + report.counts.fn if isinstance(report, Report) else np.zeros(taxonomy.n_nodes)
    top, size = place_blocks(taxonomy, support if weight is None else _numbers(weight, taxonomy, "weight"))
    if values is None:
        assert isinstance(report, Report)
        shades = [score.f1 if score.support else np.nan for score in report.per_node]
        hovered = [_score_text(score) for score in report.per_node]
        words = "F1"
    else:
        numbers = _numbers(values, taxonomy, "values")
        hovered = ["no value" if np.isnan(value) else f"{words} {value:,.6g}" for value in numbers]
        shades = _scaled(numbers, value_range).tolist()
    heights = (
        "as high as its number of rows" if weight is None and isinstance(report, Report) else "as high as its weight"
    )
    blocks = "".join(_blocks(taxonomy, shades, hovered, top * height, size * height))
    description = f"Icicle plot of the taxonomy: one block per node, coloured by {words}, {heights}."
    return Figure(
        f'<svg class="icicle" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'width="{WIDTH:g}" height="{height:g}" role="img" '
        f'aria-label="{shown(description)}" font-size="11" font-family="system-ui, sans-serif">{blocks}</svg>'
    )


def node_title(taxonomy: Taxonomy, v: int) -> str:
    """Return what a node is called for people: its title, or the last part of its path."""
    return taxonomy.title_of(taxonomy.names[v]) or taxonomy.shortest_path_parts(v)[-1]


def _numbers(values: Any, taxonomy: Taxonomy, what: str) -> Floats:
    """Return one number per node from an array or a mapping of names."""
    if isinstance(values, Mapping):
        numbers = np.full(taxonomy.n_nodes, np.nan)
        for name, value in values.items():
            numbers[taxonomy.index(name)] = value
        return numbers
    numbers = np.asarray(values, np.float64)
    if numbers.shape != (taxonomy.n_nodes,):
        raise ParameterError(f"icicle: {what} must have {taxonomy.n_nodes} numbers, one per node; got {numbers.shape}.")
    return numbers


def _scaled(numbers: Floats, value_range: tuple[float, float] | None) -> Floats:
    known = numbers[np.isfinite(numbers)]
    low, high = value_range or ((float(known.min()), float(known.max())) if len(known) else (0.0, 1.0))
    return (numbers - low) / ((high - low) or 1.0)


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


def _blocks(
    taxonomy: Taxonomy, shades: Sequence[float], hovered: Sequence[str], top: Floats, size: Floats
) -> Iterator[str]:
    width = WIDTH / len(taxonomy.levels)
    for v, (name, shade) in enumerate(zip(taxonomy.names, shades, strict=True)):
        if size[v] < MIN_BLOCK:
            continue
        title = node_title(taxonomy, v)
        x, y = width * int(taxonomy.depth[v]), top[v]
        height = size[v] - (GAP if size[v] > 4 * GAP else 0.0)
        fill = None if np.isnan(shade) else colour(shade)
        paint = f'fill="{fill}"' if fill else 'class="none" fill="#888888" fill-opacity="0.25"'
        rect = f'<rect x="{x:.1f}" y="{y:.2f}" width="{width - GAP:.1f}" height="{height:.2f}" {paint}/>'
        label = _label(title, x, y + height / 2, width, height, fill)
        full = title if title == name else f"{title} ({name})"
        yield f"<g><title>{shown(full)}\n{shown(hovered[v])}</title>{rect}{label}</g>"


def _score_text(score: NodeScore) -> str:
    if not score.support:
        return "no test rows"
    return (
        f"F1 {score.f1:.3f} (precision {score.precision:.3f}, recall {score.recall:.3f})\n"
        f"{score.support:,.6g} test row{'' if score.support == 1 else 's'}"
    )


def _label(title: str, x: float, middle: float, width: float, height: float, fill: str | None) -> str:
    """Return the node's title as SVG text, cut to the block's width, or nothing if the block is too small."""
    n_letters = int((width - 12) / LETTER)
    if height < LINE or n_letters < 4:
        return ""
    text = title if len(title) <= n_letters else title[: n_letters - 1].rstrip() + "…"
    paint = f'fill="{text_colour(fill)}"' if fill else 'class="faint" fill="currentColor"'
    return f'<text x="{x + 6:.1f}" y="{middle + 4:.1f}" {paint}>{shown(text)}</text>'


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
