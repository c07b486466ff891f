"""Cesa-Bianchi, Gentile & Zaniboni 2006: the comparison of online and batch methods, published beside measured.

Five shuffles of all rows; the first rows are for training, in that order and once, the next for testing, with the final
model. Nothing is tuned.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks import cells
from benchmarks.cells import NO_DATA, Cell
from benchmarks.papers.hrls.data_sets import DATA, SHUFFLES, shuffled
from benchmarks.papers.hrls.methods import METHODS
from benchmarks.papers.hrls.ordering import LOSSES, ordering
from benchmarks.papers.published import read
from benchmarks.studies import Study
from benchmarks.tables import HEADER, NOTHING, Part, line
from cladist import progress
from cladist.metrics import h_loss, symmetric_difference_loss, zero_one_loss

NAME = "hrls"
MEASURES = f"{' / '.join(LOSSES)}, mean and, as the interval, standard deviation of {SHUFFLES} shuffles."
FORMATS = dict.fromkeys(LOSSES, ".3f")
OF_LOSS = dict(zip(LOSSES, (zero_one_loss, h_loss, symmetric_difference_loss), strict=True))


def measure(data_set: str, method: str) -> Cell:
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
    return {"values": values, "seconds": float(np.mean(seconds))}


def settings(data_set: str, method: str) -> dict[str, Any]:
    """Return everything that decides a cell's figures."""
    chosen = DATA[data_set]
    return {**METHODS[method].settings, "n_train": chosen.n_train, "n_test": chosen.n_test, "shuffles": SHUFFLES}


STUDY = Study(
    NAME,
    lambda: [(d, m) for d in DATA for m in METHODS],
    settings,
    lambda d, _: "" if DATA[d].found() is not None else NO_DATA,
    "benchmarks.papers.hrls.run:measure",
)
STUDIES = (STUDY,)


def parts() -> list[Part]:
    """Return all tables, from the cells as they are."""
    found, rows = cells.read(NAME), []
    for d, data_set in DATA.items():
        for m, method in METHODS.items():
            printed = NOTHING
            if data_set.published is not None:
                cell = read(NAME).tables[data_set.published].rows[(method.title,)]
                printed = " / ".join(f"{cell[loss].value:.3f} ±{cell[loss].std:.3f}" for loss in LOSSES)
            rows.append(
                line(f"{data_set.title}, {method.title}", printed, found.get((d, m)), FORMATS,
                     kind=data_set.kind, values=_means, spread=_deviations)
            )  # fmt: skip
    remarks = [MEASURES, *(data_set.remark for data_set in DATA.values() if data_set.remark)]
    return [
        Part("Cesa-Bianchi et al. 2006, the comparison", list(HEADER), rows, remarks),
        ordering(cells.measured(NAME)),
    ]


def _means(cell: Cell) -> dict[str, float]:
    return {loss: float(np.mean(values)) for loss, values in cell["values"].items()}


def _deviations(cell: Cell) -> str:
    return " / ".join(f"±{np.std(cell['values'][loss], ddof=1):.3f}" for loss in LOSSES)
