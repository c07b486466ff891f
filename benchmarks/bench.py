"""What ``cladist bench`` runs: the cells of one paper, or all cells and the page of results."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

from benchmarks import cells, studies
from benchmarks.papers import published
from benchmarks.studies import LIMIT, Study
from benchmarks.tables import Part

ALL = "all"


class Outcome(NamedTuple):
    """What ``cladist bench`` shows: tables in words, remarks on the run, and all as values."""

    parts: list[Part]
    remarks: list[str]
    content: dict[str, Any]


def studies_of(name: str) -> list[Study]:
    """Return the studies of a paper, or of all."""
    papers = published.names() if name == ALL else [name]
    return [study for paper in papers for study in runner(paper).STUDIES]


def runner(paper: str) -> Any:
    """Return the module ``run`` of a paper: `STUDIES` and `parts()`."""
    return import_module(f"benchmarks.papers.{paper}.run")


def bench(
    name: str = ALL,
    *,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    limit: float | None = None,
    **options: Any,
) -> Outcome:
    """Measure what is missing of a paper, or of all, and return tables; options as those of `studies.run`.

    With all, each cell has a limit, and the page of results is written as well.
    """
    chosen = studies_of(name)
    pairs = list(chain.from_iterable(study.pairs() for study in chosen))
    for what, given, there in zip(("data set", "method"), (data, methods), zip(*pairs, strict=True), strict=True):
        studies.require_known(name, what, given, list(dict.fromkeys(there)))
    limit = LIMIT if limit is None and name == ALL else limit
    done = studies.run(chosen, data=data, methods=methods, limit=limit, **options)
    remarks = [f"{done.measured} cells measured, {done.left} left by the budget.", *done.failures]
    content = {"cells": [cell for study in chosen for cell in cells.read(study.name).values()]}
    if name != ALL:
        return Outcome(runner(name).parts(), remarks, content)
    import_module("benchmarks.page").write()
    return Outcome([counted(chosen)], [*remarks, "docs/guides/results.md is written."], content)


def estimate(
    name: str = ALL,
    *,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    limit: float | None = None,
    budget: float | None = None,
    again: bool = False,
) -> tuple[int, float]:
    """Return how many cells `bench` would measure, and about how many minutes that takes."""
    limit = LIMIT if limit is None and name == ALL else limit
    plan = studies.missing_cells(studies_of(name), data=data, methods=methods, again=again, limit=limit)
    most = float("inf") if limit is None else 60 * limit
    minutes = sum(min(planned.seconds, most) for planned in plan) / 60
    return len(plan), minutes if budget is None else min(minutes, budget)


def counted(chosen: list[Study]) -> Part:
    """Return how many cells every study has, by their status."""
    rows = [[study.name, *map(str, _counts(study))] for study in chosen]
    return Part("Cells", ["study", "measured", "over the limit", "does not apply", "missing"], rows, [])


def _counts(study: Study) -> Iterator[int]:
    found, pairs = cells.read(study.name), list(study.pairs())
    there = [found[pair]["status"] for pair in pairs if pair in found]
    yield from (there.count(status) for status in (cells.MEASURED, cells.STOPPED, cells.REFUSED))
    yield len(pairs) - len(there)
