"""Studies: tables of cells, and the cells that are missing measured, the cheapest first, each in a process of its own.

Every cell is on disk before the next one begins, so that a run that was stopped goes on where it was. A cell is
measured again if its settings or the version of its protocol have changed, not if the package has.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import cells, harness
from benchmarks.cells import MEASURED, REFUSED, STOPPED, Cell, Pair
from benchmarks.processes import TimeLimitError, in_new_process
from cladist import progress
from cladist.errors import CladistError, DatasetError, LabelWarning, ParameterError

LIMIT = 1.5  # CPU minutes of a cell, unless another limit is asked for
UNKNOWN_SECONDS = 60.0  # of a cell about whose data set and method nothing is known


@dataclass(frozen=True)
class Study:
    """A table of cells.

    Attributes
    ----------
    name : str
        The folder of its cells.
    pairs : callable
        () → every data set and method that it wants, in the order of its tables.
    settings : callable
        (data, method) → everything that decides the figures; None for what is not known here.
    missing : callable
        (data, method) → why the cell cannot be measured here, as `cells.NO_DATA`; "" if it can.
    measure : str
        ``module:function`` of (data, method) that returns the figures; an error of cladist says that the method does
        not apply.
    version : int
        Of the protocol: another one asks for other figures.
    """

    name: str
    pairs: Callable[[], Iterable[Pair]]
    settings: Callable[[str, str], dict[str, Any]]
    missing: Callable[[str, str], str]
    measure: str
    version: int = 1
    needs: tuple[str, ...] = field(default=())  # studies whose cells its settings depend on, measured before it


class Planned(NamedTuple):
    """A cell to measure, with the seconds it may take."""

    study: Study
    data: str
    method: str
    seconds: float


class Done(NamedTuple):
    """What a run did: how many cells it measured, how many the budget left, and what failed."""

    measured: int
    left: int
    failures: list[str]


def run(studies: Iterable[Study], *, budget: float | None = None, limit: float | None = None, **choice: Any) -> Done:
    """Measure the cells that are missing, the cheapest first.

    Parameters
    ----------
    studies : iterable of Study
    budget, limit : float, optional
        Minutes of the run, by the clock, and CPU minutes of a cell; None: as many as it takes.
    **choice
        See `missing_cells`.
    """
    started, n_measured, left, failures = time.monotonic(), 0, 0, []
    for wave in _waves(list(studies)):
        plan = missing_cells(wave, limit=limit, **choice)
        with progress.task("Cells", total=len(plan)) as running:
            for planned in plan:
                expected = min(planned.seconds, np.inf if limit is None else 60 * limit)
                if budget is not None and time.monotonic() - started + expected > 60 * budget:
                    left += 1
                    continue
                with progress.task(f"{planned.study.name}: {planned.data}, {planned.method}"):
                    failure = _measure(planned, limit)
                failures += [failure] if failure else []
                n_measured += not failure
                running.advance()
    return Done(n_measured, left, failures)


def _waves(studies: list[Study]) -> list[list[Study]]:
    """Return the studies that need no other, then those that need these."""
    first = [study for study in studies if not study.needs]
    return [first, [study for study in studies if study.needs]]


def missing_cells(
    studies: list[Study],
    *,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    again: bool = False,
    limit: float | None = None,
) -> list[Planned]:
    """Return what can be measured here and is not, or all of these data sets and methods `again`; cheapest first."""
    known = {study.name: cells.read(study.name) for study in studies}
    estimate = _estimator([cell for found in known.values() for cell in found.values()])
    seconds_limit = None if limit is None else 60 * limit
    plan = []
    for study in studies:
        for d, m in study.pairs():
            if (data is not None and d not in data) or (methods is not None and m not in methods):
                continue
            cell = known[study.name].get((d, m))
            there = not again and cells.is_current(cell, study.settings(d, m), study.version, seconds_limit)
            if not there and not study.missing(d, m):
                plan.append(Planned(study, d, m, estimate(d, m)))
    return sorted(plan, key=lambda planned: planned.seconds)


def _estimator(known: list[Cell]) -> Callable[[str, str], float]:
    """Return seconds by data set and method: the geometric means of theirs over the mean of all."""
    logs = [(cell["data"], cell["method"], np.log(max(all_seconds(cell), 0.1))) for cell in known if "seconds" in cell]
    overall = float(np.mean([value for *_, value in logs])) if logs else np.log(UNKNOWN_SECONDS)

    def estimate(data: str, method: str) -> float:
        of_data = [value for d, _, value in logs if d == data]
        of_method = [value for _, m, value in logs if m == method]
        parts = [float(np.mean(values)) - overall if values else 0.0 for values in (of_data, of_method)]
        return float(np.exp(overall + sum(parts)))

    return estimate


def all_seconds(cell: Cell) -> float:
    """Return the seconds of a cell: choosing parameters, fitting, predicting; or those until it was stopped."""
    found = cell["seconds"]
    return float(sum(found.values()) if isinstance(found, dict) else found)


# ------------------------------------------------------------------ one cell


def _measure(planned: Planned, limit: float | None) -> str:
    """Measure a cell and write it; return what went wrong, if it is not the method that does not apply."""
    study, d, m, _ = planned
    cell: Cell = {"data": d, "method": m, "protocol": study.version, "settings": study.settings(d, m)}
    seconds = None if limit is None else round(60 * limit)
    try:
        found = in_new_process("benchmarks.studies:measured", study.measure, d, m, limit=seconds)
    except TimeLimitError:
        found = {"status": STOPPED, "limit_s": seconds, "seconds": seconds}
    except RuntimeError as problem:
        return f"{study.name}: {d}, {m}: {str(problem).strip().splitlines()[-1]}"
    if "failure" in found:
        return f"{study.name}: {d}, {m}: {found['failure']}"
    old = cells.read(study.name).get((d, m))
    if found["status"] == STOPPED and old is not None and old["status"] == MEASURED:
        return f"{study.name}: {d}, {m}: {STOPPED} ({seconds} s); the cell measured with other settings stays"
    cells.write(study.name, {**cell, **found, "sources": cells.sources(), **harness.circumstances()})
    return ""


def measured(function: str, data: str, method: str) -> Cell:
    """Call ``module:function`` and return the figures with the process's memory; what is refused is the status."""
    module, _, name = function.partition(":")
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            # Cells say whether the model converged; labels that a learner cannot predict show in its figures.
            for kind in (ConvergenceWarning, LabelWarning):
                warnings.simplefilter("ignore", kind)
            found = getattr(import_module(module), name)(data, method)
    except DatasetError as problem:
        return {"failure": str(problem)}
    except CladistError as problem:
        return {"status": REFUSED, "reason": str(problem), "seconds": round(time.process_time() - started, 3)}
    peak = round(harness.peak_memory() / 2**20)
    return {"status": MEASURED, **found, "peak_memory_mib": peak, "cpu_s": round(time.process_time() - started, 2)}


def require_known(paper: str, what: str, names: list[str] | None, there: Iterable[str]) -> None:
    """Refuse names that are not there."""
    for name in names or []:
        if name not in there:
            raise ParameterError(f"bench {paper}: there is no {what} {name!r}; there are {', '.join(there)}.")
