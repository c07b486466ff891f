"""The section of a page with the map of all nodes, and its data: typed arrays first, names last."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladist.metrics import Report
from cladist.report.errors import Errors
from cladist.report.icicle import node_title, place_blocks
from cladist.report.static_files import packed, script_json
from cladist.taxonomy import Taxonomy

MOST_PAIRS = 100_000  # confusions in a page, costliest first
EARLY_SHARE = 1 / 45  # of the height, from which on the first picture shows the name of a node
EARLY_LEVELS = 8
QUANTILE = 0.95  # of the rows, whose error cost has the darkest colour


def map_section(report: Report, errors: Errors | None) -> str:
    """Return the map without its names, which `map_end` returns for the end of the page."""
    data = script_json(map_data(report, errors))
    hint = (
        "Choose a node to see its numbers and confusions. Click to zoom in, click the branch that fills the map to "
        "zoom out, drag to move, and scroll with Ctrl to zoom. On the keyboard: arrows, Enter, Backspace, Space to "
        "fold, / to search."
    )
    return (
        '<div class="error-map"><div class="tools"></div><div class="keyline">'
        '<nav class="trail" aria-label="Zoomed to"></nav><div class="key"></div></div>'
        '<div class="frame"><div class="map" id="map"></div>'
        f'<aside class="panel" aria-live="polite" aria-label="The chosen node"><p class="soft">{hint}</p></aside></div>'
        f'<script type="application/json" id="tree-data">{data}</script></div>'
    )


def map_data(report: Report, errors: Errors | None) -> dict[str, Any]:
    """Return the numbers of the map as values for JSON."""
    counts, taxonomy = report.counts, report.counts.taxonomy
    support = counts.tp + counts.fn
    data: dict[str, Any] = {"parent": packed(taxonomy.deepest_parent, "i4"), "early": early_names(taxonomy, support)}
    data["support"] = packed(support, "f4")
    if errors is None:
        data.update(_counts(report))
    else:
        cost = errors.node_costs()
        mean = cost[support > 0] / support[support > 0]
        leaves = taxonomy.is_leaf[support > 0]
        high = weighted_quantile(mean[leaves], support[support > 0][leaves], QUANTILE)
        data.update(cost=packed(cost, "f4"), high=max(1.0, round(high)))
    return data


def _counts(report: Report) -> dict[str, Any]:
    return {key: packed(getattr(report.counts, key), "f4") for key in ("tp", "fp")}


def later_data(report: Report, errors: Errors | None) -> dict[str, Any]:
    """Return the numbers that the first picture does not need."""
    if errors is None:
        return {}
    kept = slice(MOST_PAIRS)
    pairs = {key: packed(values[kept], "i4") for key, values in (("true", errors.true), ("pred", errors.pred))}
    pairs["count"] = packed(errors.count[kept], "f4")
    return {**_counts(report), "turns": packed(errors.turn_costs(), "f4"), "pairs": pairs}


def map_end(report: Report, errors: Errors | None) -> str:
    """Return what the map reads last: other numbers, and the names and titles of all nodes."""
    taxonomy = report.counts.taxonomy
    content = script_json({"names": list(taxonomy.names), "titles": node_titles(taxonomy)})
    more = script_json(later_data(report, errors))
    return (
        f'<script type="application/json" id="tree-more">{more}</script>'
        f'<script type="application/json" id="tree-texts">{content}</script>'
    )


def node_titles(taxonomy: Taxonomy) -> list[str]:
    """Return the title of each node: its own one, or the last part of a path; none if all are the names."""
    own, parts = taxonomy.titles, taxonomy.parts
    if not own and not parts:
        return []
    rest = parts or taxonomy.names
    return [own.get(name, part) for name, part in zip(taxonomy.names, rest, strict=True)]


def early_names(taxonomy: Taxonomy, support: Any) -> dict[str, Any]:
    """Return the names of the nodes whose blocks are high enough for a name in the first picture."""
    size = place_blocks(taxonomy, support)[1]
    nodes = np.flatnonzero((size >= EARLY_SHARE) & (np.asarray(taxonomy.depth) < EARLY_LEVELS)).tolist()
    titles = [node_title(taxonomy, v) for v in nodes]
    return {"nodes": nodes, "names": [taxonomy.names[v] for v in nodes], "titles": titles}


def weighted_quantile(values: Any, weights: Any, share: float) -> float:
    """Return the smallest value at or below which at least this share of the weights lies; 0 for none."""
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(total, share * total[-1])), len(values) - 1)]])
