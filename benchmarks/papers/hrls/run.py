"""Cesa-Bianchi, Gentile & Zaniboni 2006: the comparison of online and batch methods, published beside measured.

Five shuffles of all rows; the first rows are for training, in that order and once, the next for testing, with the final
model. Nothing is tuned. Run it as ``cladist bench hrls`` or ``python benchmarks/papers/hrls/run.py``; both go on where
an earlier run ended.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np

from benchmarks.harness import Outcome, print_outcome
from benchmarks.papers.hrls.data_sets import DATA, SHUFFLES, shuffled
from benchmarks.papers.hrls.methods import METHODS
from benchmarks.papers.hrls.ordering import LOSSES, ordering
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED, NO_DATA, Row, known_pairs, run_pairs
from cladist import progress
from cladist.metrics import h_loss, symmetric_difference_loss, zero_one_loss

NAME = "hrls"
MEASURES = f"mean (± standard deviation) of {SHUFFLES} shuffles"
OF_LOSS = dict(zip(LOSSES, (zero_one_loss, h_loss, symmetric_difference_loss), strict=True))


def measure(data_set: str, method: str) -> Row:
    """Return the losses of a method in every shuffle."""
    chosen = DATA[data_set]
    data = chosen.load()
    values: dict[str, list[float]] = {loss: [] for loss in LOSSES}
    seconds = []
    with progress.task(f"{chosen.title}, {METHODS[method].title}", SHUFFLES) as running:
        for seed in range(SHUFFLES):
            split = shuffled(data, chosen, seed)
            started = time.perf_counter()
            found = METHODS[method].decide(split, data.taxonomy)
            seconds.append(time.perf_counter() - started)
            for loss, function in OF_LOSS.items():
                values[loss].append(float(function(split.y_test, found, data.taxonomy)))
            running.advance()
    return {"status": MEASURED, "values": values, "seconds": float(np.mean(seconds))}


def planned(data_set: str, method: str, there: bool) -> Row:
    """Return a row before it is measured."""
    chosen = DATA[data_set]
    settings = {**METHODS[method].settings, "n_train": chosen.n_train, "n_test": chosen.n_test, "shuffles": SHUFFLES}
    row: Row = {
        "data": chosen.title,
        "method": METHODS[method].title,
        "published": _published(chosen.published, METHODS[method].title),
        "settings": settings,
    }
    return row if there else row | {"status": NO_DATA}


def _published(table: str | None, method: str) -> dict[str, Any] | None:
    if table is None:
        return None
    cells = read(NAME).tables[table].rows[(method,)]
    return {loss: {"value": cells[loss].value, "std": cells[loss].std} for loss in LOSSES}


def bench(*, data: list[str] | None = None, methods: list[str] | None = None, again: bool = False) -> Outcome:
    """Measure the rows of these data sets and methods (None: all); those measured already are kept unless `again`."""
    pairs = known_pairs(NAME, data, methods, (DATA, METHODS))
    there = {d: DATA[d].found() is not None for d in dict.fromkeys(d for d, _ in pairs)}
    rows, content = run_pairs(
        NAME,
        pairs,
        lambda d, m: planned(d, m, there[d]),
        measure,
        order=[(d.title, m.title) for d in DATA.values() for m in METHODS.values()],
        again=again,
        paper=read(NAME).paper,
        measures=MEASURES,
        protocol=" ".join(__doc__.split("\n\n")[1].split()),
    )
    remarks = [f"{MEASURES}.", *(DATA[d].remark for d in there if DATA[d].remark)]
    return Outcome(*table(rows), remarks, content | {"rows": rows}, (ordering(rows),))


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the table in the paper's form, published and measured side by side."""
    header = ["data", "algorithm", *(f"{loss}, {kind}" for loss in LOSSES for kind in ("published", "measured"))]
    lines = []
    for row in rows:
        cells = []
        for loss in LOSSES:
            printed = row["published"]
            cells.append("—" if printed is None else f"{printed[loss]['value']:.3f} (±{printed[loss]['std']:.3f})")
            values = row.get("values")
            shown = None if values is None else f"{np.mean(values[loss]):.3f} (±{np.std(values[loss], ddof=1):.3f})"
            cells.append(shown or row["status"])
        lines.append([row["data"], row["method"], *cells])
    return header, lines


def main() -> None:
    print_outcome(bench())


if __name__ == "__main__":
    main()
