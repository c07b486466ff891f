"""Liu et al.'s Table 3 as ratios: how many times KSP's time the max-margin methods take, published beside measured.

Each is fitted with the settings of its cell of ``sp``, both in one process; CPU seconds of the shortest of two turns.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks import cells
from benchmarks.cells import NO_DATA, NOT_YET, Cell
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS
from benchmarks.studies import Study
from cladist.datasets.dataset import length

NAME, TURNS = "sp-times", 2
KSP, RIVALS = "ksp-linear", ("lm-1", "lm-2")


def settings_of(data_set: str, method: str) -> dict[str, dict[str, Any]]:
    """Return the settings chosen for KSP and a rival on a data set, of those that are measured."""
    found = cells.measured("sp")
    return {name: found[data_set, name]["chosen"] for name in (KSP, method) if (data_set, name) in found}


def missing(data_set: str, method: str) -> str:
    """Return why a cell cannot be measured here."""
    if DATA[data_set].source() is None:
        return NO_DATA
    return "" if len(settings_of(data_set, method)) == 2 else NOT_YET


def measure(data_set: str, method: str) -> Cell:
    """Return the CPU seconds of a fit of both."""
    source, chosen = DATA[data_set].source(), settings_of(data_set, method)
    assert source is not None
    data = source.load()
    seconds = dict.fromkeys(chosen, float("inf"))
    for turn in range(TURNS + 1):
        for name, options in chosen.items():
            part = slice(50) if turn == 0 else slice(None)  # first compiled, and warm
            X, y = data.X_train[part], data.y_train[part]
            model = METHODS[name].make(data.taxonomy, options, length(y))
            started = time.process_time()
            model.fit(X, y)
            if turn:
                seconds[name] = min(seconds[name], time.process_time() - started)
    return {"fit s": seconds[method], "KSP's fit s": seconds[KSP]}


STUDY = Study(
    NAME,
    lambda: [(d, m) for d in DATA for m in RIVALS],
    lambda *_: {"turns": TURNS},
    missing,
    "benchmarks.papers.sp.times:measure",
    needs=("sp",),
)
