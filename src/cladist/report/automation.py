"""How many rows a model can file by itself: a curve, and a slider that moves the level of confidence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from cladist.decisions import AutomationCurve, sum_to_nodes
from cladist.labels import TopK, encode
from cladist.report.static_files import read_static, script_json
from cladist.taxonomy import Taxonomy

WIDTH, HEIGHT, MARGIN = 640.0, 220.0, 44.0
# Blue, light blue and grey for answers at leaves, above them and none, and orange for errors: apart for all eyes.
COLOURS = {"at_leaf": "#225ea8", "above": "#7fb8da", "unanswered": "#b8bfc6", "error": "#d95f02"}
TITLES = {"at_leaf": "filed at a leaf", "above": "stopped higher", "unanswered": "for a person", "error": "errors"}
N_SAMPLES = 200  # rows among which the page shows examples
MOST_LETTERS = 160  # of their texts
SCRIPT = read_static("automation.js")


class PathSample(NamedTuple):
    """A row: its text, its true label, and the most probable path with the probability of each node.

    `is_true` tells of each node whether it is the label or above it.
    """

    text: str
    label: str
    nodes: list[str]
    probabilities: list[float]
    is_true: list[bool]


def sample_paths(texts: Sequence[Any], P: TopK, y: Any, taxonomy: Taxonomy, classes: Sequence[str]) -> list[PathSample]:
    """Return some rows with the path on which each node is the most probable child of the one before."""
    chosen = np.unique(np.linspace(0, len(P) - 1, min(N_SAMPLES, len(P))).astype(np.int64))
    masses = sum_to_nodes(TopK(P.columns[chosen], P.probabilities[chosen]), taxonomy, classes=classes)
    labels = encode(y, taxonomy).labels[chosen]
    samples, above = [], labels.to_indicator().toarray()
    for i, (mass, name) in enumerate(zip(masses, labels.frontier_names(), strict=True)):
        path, children = [], taxonomy.roots
        while len(children) and mass[children].max() > 0:
            path.append(int(children[mass[children].argmax()]))
            children = taxonomy.child_ids(path[-1])
        text = str(texts[int(chosen[i])])
        text = text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} …"
        titles = [taxonomy.titles.get(taxonomy.names[v], taxonomy.names[v]) for v in path]
        is_true = [bool(above[i, v]) for v in path]
        samples.append(PathSample(text, " ".join(name), titles, [round(float(mass[v]), 4) for v in path], is_true))
    return samples


def draw_automation(curve: AutomationCurve) -> str:
    """Return a curve as an SVG element: shares of rows by level of confidence, stacked, and the share of errors.

    Parameters
    ----------
    curve : AutomationCurve
        See `cladist.decisions.automation_curve`.
    """
    left, bottom = MARGIN, HEIGHT - MARGIN
    x = left + curve.level * (WIDTH - 2 * MARGIN)
    base, parts = np.zeros(len(x)), []
    for name in ("at_leaf", "above", "unanswered"):
        top = base + getattr(curve, name)
        points = [*zip(x, top, strict=True), *zip(x[::-1], base[::-1], strict=True)]
        parts.append(f'<polygon fill="{COLOURS[name]}" points="{_points(points, bottom)}"/>')
        base = top
    line = _points(list(zip(x, curve.error, strict=True)), bottom)
    parts.append(f'<polyline fill="none" stroke="{COLOURS["error"]}" stroke-width="2.5" points="{line}"/>')
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * (HEIGHT - 2 * MARGIN)
        parts.append(f'<text x="{left - 6:g}" y="{y + 4:g}" text-anchor="end" fill="currentColor">{share:.0%}</text>')
        parts.append(
            f'<text x="{left + share * (WIDTH - 2 * MARGIN):g}" y="{bottom + 18:g}" text-anchor="middle" '
            f'fill="currentColor">{share:g}</text>'
        )
    title = "Shares of rows by level of confidence: filed at a leaf, stopped higher, left to a person; and errors."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{title}" '
        f'font-size="12" font-family="system-ui, sans-serif" class="figure" width="{WIDTH:g}">{"".join(parts)}</svg>'
    )


def _points(points: Sequence[tuple[Any, Any]], bottom: float) -> str:
    height = HEIGHT - 2 * MARGIN
    return " ".join(f"{x:.1f},{bottom - y * height:.1f}" for x, y in points)


def automation_section(curve: AutomationCurve, samples: Sequence[PathSample] = ()) -> str:
    """Return a section of a web page: the curve, a slider for the level of confidence, its shares, and examples."""
    legend = "".join(
        f'<span><svg class="dot" viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="2" '
        f'fill="{COLOURS[name]}"/></svg> {escape(title)}</span>'
        for name, title in TITLES.items()
    )
    columns = {name: np.round(values, 4).tolist() for name, values in curve._asdict().items()}
    data = script_json({"curve": columns, "samples": [sample._asdict() for sample in samples]})
    start = int(np.searchsorted(curve.level, 0.9))
    return (
        f'<div class="automation"><div class="legend">{legend}</div>{draw_automation(curve)}'
        f'<p><label>Level of confidence <input type="range" min="0" max="{len(curve.level) - 1}" value="{start}"> '
        '<output></output></label></p><p class="shares"></p><div class="examples"></div>'
        f'<script type="application/json">{data}</script>'
        f"<script>{SCRIPT}</script></div>"
    )
