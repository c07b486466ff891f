"""Training: one fit in a process of its own, the model saved, and what that took written beside it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import circumstances
from benchmarks.speed.many_classes.shapes import learner, shape_of
from benchmarks.speed.peers.shared import timed
from benchmarks.speed.recursive_studies.measuring import Row, fitted, say, told_of_checks
from benchmarks.speed.recursive_studies.shapes import data_of
from cladist import progress

WORKERS = 2
SAID_EVERY = 60.0  # seconds


class Said:
    """A `cladist.progress.Reporter` that says how far it is, once a minute."""

    def start(self, description: str, total: int | None) -> Any:
        """Begin to count."""
        return _Task(description, total)

    def finish(self, task: Any) -> None:
        """Stop counting."""


class _Task:
    def __init__(self, description: str, total: int | None) -> None:
        self.description, self.total, self.done = description, total, 0
        self.started = self.said = time.perf_counter()

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        now = time.perf_counter()
        if now - self.said > SAID_EVERY:
            self.said = now
            say(f"{self.description}: {self.done:,} of {self.total or 0:,} in {now - self.started:,.0f} s")


def train(name: str, n_leaves: int, folder: Path) -> None:
    """Fit a learner and save it to a folder of its name, with what that took in a file beside it."""
    data = data_of(shape_of(n_leaves))
    model = learner(name, data.taxonomy, WORKERS)
    say(f"{name}: {data}, {data.X.nnz / data.X.shape[0]:.1f} nonzeros a row")
    with told_of_checks(lambda search: say(search.history[-1])), progress.report_to(Said()):
        row: Row = {"learner": name, "workers": WORKERS, "nice": os.nice(0), **fitted(model, data)}
    say(row)
    row["save CPU s"], row["save wall s"], _ = timed(lambda: model.save(folder / name))
    content = {**circumstances(), "row": row}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
