"""`Counters`: numbers about a server, of all its processes together, as Prometheus reads them.

The series are known when the server starts, so that each is a place in an array: several processes map the same file,
each counts in a row of its own, and whoever is asked adds up the rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STATUSES = (200, 201, 304, 307, 400, 401, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 503)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024)
OTHER = "other"  # routes and statuses that are not listed


class Family(NamedTuple):
    """Series of one name: what they count, their kind, and for a histogram its limits."""

    name: str
    text: str
    kind: str
    labels: tuple[str, ...]
    limits: tuple[float, ...] = ()


REQUESTS = Family("cladist_requests_total", "Requests by route and status.", "counter", ("route", "status"))
LATENCY = Family("cladist_request_seconds", "Seconds until a request was answered.", "histogram", ("route",), SECONDS)
BATCHES = Family("cladist_batch_rows", "Rows that were answered together.", "histogram", ("model",), ROWS)
BUSY = Family("cladist_batch_seconds_total", "Seconds that models worked.", "counter", ("model",))
WAITING = Family("cladist_queue_rows", "Rows that wait for a model.", "gauge", ("model",))
FEEDBACK = Family("cladist_feedback_total", "Corrections that were kept.", "counter", ("model",))
RELOADS = Family("cladist_reloads_total", "Versions of a model that took the place of another.", "counter", ("model",))


class Counters:
    """Numbers about a server.

    Parameters
    ----------
    routes, models : sequences of str
        The values of the labels ``route`` and ``model``.
    path : path, optional
        A file that the processes of a server share; without one, the numbers are of this process.
    process, n_processes : int
        Which process this is, and how many there are.

    Examples
    --------
    >>> counters = Counters(["/predict"], ["topics"])
    >>> counters.add(REQUESTS, ("/predict", "200"))
    >>> counters.observe(BATCHES, ("topics",), 3)
    >>> print([line for line in counters.text().splitlines() if "status" in line][-1])
    cladist_requests_total{route="/predict",status="200"} 1
    """

    def __init__(
        self,
        routes: Sequence[str],
        models: Sequence[str],
        *,
        path: Path | None = None,
        process: int = 0,
        n_processes: int = 1,
    ) -> None:
        values = {
            "route": (*routes, OTHER),
            "status": (*map(str, STATUSES), OTHER),
            "model": tuple(models),
        }
        families = (REQUESTS, LATENCY, BATCHES, BUSY, WAITING, FEEDBACK, RELOADS)
        self._place: dict[tuple[str, tuple[str, ...]], int] = {}
        size = 0
        for family in families:
            for key in _products([values[label] for label in family.labels]):
                self._place[family.name, key] = size
                size += len(family.limits) + 2 if family.limits else 1  # a histogram has +Inf and a sum
        self.families = families
        shape = (n_processes, size)
        self._all: Any = np.zeros(shape) if path is None else np.memmap(path, np.float64, "r+", shape=shape)
        self._mine = self._all[process]

    def add(self, family: Family, labels: tuple[str, ...], value: float = 1.0) -> None:
        """Add to a counter."""
        self._mine[self._find(family, labels)] += value

    def set(self, family: Family, labels: tuple[str, ...], value: float) -> None:
        """Set the part of this process in a gauge."""
        self._mine[self._find(family, labels)] = value

    def observe(self, family: Family, labels: tuple[str, ...], value: float) -> None:
        """Count a value in a histogram."""
        place = self._find(family, labels)
        self._mine[place + bisect_left(family.limits, value)] += 1
        self._mine[place + len(family.limits) + 1] += value

    def _find(self, family: Family, labels: tuple[str, ...]) -> int:
        place = self._place.get((family.name, labels))
        if place is not None:
            return place
        known = {value for name, key in self._place if name == family.name for value in key}
        return self._place[family.name, tuple(label if label in known else OTHER for label in labels)]

    def text(self) -> str:
        """Return the numbers in the text format of Prometheus; counters that are 0 are left out."""
        totals = self._all.sum(axis=0)
        lines = []
        for family in self.families:
            lines += [f"# HELP {family.name} {family.text}", f"# TYPE {family.name} {family.kind}"]
            for (name, key), place in self._place.items():
                if name == family.name:
                    lines += _lines(family, key, totals[place : place + len(family.limits) + 2])
        return "\n".join(lines) + "\n"


class Share(NamedTuple):
    """Where several processes of one server count: a file, the number of this process, and how many there are."""

    path: Path | None = None
    process: int = 0
    n_processes: int = 1

    def counters(self, routes: Sequence[str], models: Sequence[str]) -> Counters:
        """Return the counters of this process; the file is made as large as they need."""
        if self.path is not None:
            size = int(Counters(routes, models)._all.nbytes) * self.n_processes
            with open(self.path, "ab") as file:
                if file.tell() < size:  # zeros up to a size do no harm when several processes write them
                    file.truncate(size)
        return Counters(routes, models, path=self.path, process=self.process, n_processes=self.n_processes)


def _products(values: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    if not values:
        yield ()
        return
    for first in values[0]:
        yield from ((first, *rest) for rest in _products(values[1:]))


def _lines(family: Family, key: tuple[str, ...], values: Any) -> Iterator[str]:
    labels = [f'{name}="{escaped(value)}"' for name, value in zip(family.labels, key, strict=True)]
    joined = ",".join(labels)
    if not family.limits:
        if values[0] or family.kind == "gauge":
            yield f"{family.name}{{{joined}}} {values[0]:.17g}"
        return
    counts = list(accumulate(values[: len(family.limits) + 1]))
    if not counts[-1]:
        return
    for limit, count in zip((*family.limits, "+Inf"), counts, strict=True):
        yield f'{family.name}_bucket{{{joined},le="{limit}"}} {count:.0f}'
    yield f"{family.name}_sum{{{joined}}} {values[-1]:.17g}"
    yield f"{family.name}_count{{{joined}}} {counts[-1]:.0f}"


def escaped(value: str) -> str:
    """Return the value of a label as the text format writes it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
