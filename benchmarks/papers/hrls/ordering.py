"""Whether the paper's ordering of methods holds in our shuffles, and how sure that is."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.cells import Cell, Pair
from benchmarks.papers.hrls.data_sets import DATA
from benchmarks.papers.hrls.methods import METHODS
from benchmarks.papers.published import read
from benchmarks.tables import Part

LOSSES = ("zero-one loss", "uniform H-loss", "Δ-loss")
SURE = 0.95


def paper_orders(loss: str) -> list[tuple[str, str]]:
    """Return the pairs (better, worse) on which both of the paper's tables agree."""
    tables = [{key[0]: cells[loss].value for key, cells in t.rows.items()} for t in read("hrls").tables.values()]
    pairs = []
    for a, b in combinations(tables[0], 2):
        signs = {np.sign(float(table[a] or 0) - float(table[b] or 0)) for table in tables}
        if len(signs) == 1:
            pairs.append((a, b) if signs == {-1.0} else (b, a))
    return pairs


def compared(better: list[float], worse: list[float]) -> dict[str, Any]:
    """Return the mean difference worse − better over paired shuffles, its interval, and in how many it is positive.

    The shuffles share rows, so that Student's interval is somewhat too narrow.
    """
    differences = np.subtract(worse, better)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
    half = float(stats.t.ppf((1 + SURE) / 2, len(differences) - 1)) * spread
    return {"mean": mean, "half": half, "positive": int(np.sum(differences > 0)), "of": len(differences)}


def verdict(found: dict[str, Any]) -> str:
    """Return the comparison in words."""
    if found["mean"] == 0 and found["half"] == 0:
        return "equal"
    if found["mean"] - found["half"] > 0:
        return "holds"
    return "reversed" if found["mean"] + found["half"] < 0 else "open"


def ordering(found_cells: dict[Pair, Cell]) -> Part:
    """Return the table of pairs, one line for each data set, loss and pair."""
    values = {(DATA[d].title, METHODS[m].title): cell["values"] for (d, m), cell in found_cells.items()}
    lines, counts = [], {"holds": 0, "reversed": 0, "open": 0, "equal": 0}
    for data in (data_set.title for data_set in DATA.values()):
        for loss in LOSSES:
            for better, worse in paper_orders(loss):
                if (data, better) not in values or (data, worse) not in values:
                    continue
                found = compared(values[data, better][loss], values[data, worse][loss])
                counts[verdict(found)] += 1
                interval = f"{found['mean']:+.3f} ± {found['half']:.3f}"
                lines.append(
                    [
                        data,
                        loss,
                        f"{better} before {worse}",
                        interval,
                        f"{found['positive']} of {found['of']}",
                        verdict(found),
                    ]
                )
    remark = (
        f"Of {sum(counts.values())} pairs on which both of the paper's tables agree: "
        + ", ".join(f"{n} {word}" for word, n in counts.items())
        + f". The interval is Student's at {SURE:.0%} over paired shuffles; they share rows, so that it is too narrow."
    )
    header = ["data", "loss", "the paper has", "difference", "shuffles", "here it"]
    return Part("Does the paper's ordering hold?", header, lines, [remark] if lines else [])
