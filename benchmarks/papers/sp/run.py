"""Liu, Tu, Qian & Zhang 2013, Tables 2–4: published beside measured. README.md beside this file has the protocol.

Run it as ``cladist bench sp`` or ``python benchmarks/papers/sp/run.py``; both go on where an earlier run ended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.harness import Outcome, in_new_process, print_outcome
from benchmarks.papers.published import read
from benchmarks.papers.rows import NO_DATA, Row, known_pairs, run_pairs, stored
from benchmarks.papers.sp import equal_f1, times
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.measuring import settings
from benchmarks.papers.sp.methods import METHODS
from benchmarks.papers.sp.showing import MEASURES, remarks, table
from cladist.errors import ParameterError

NAME = "sp"
KERNELS = {"KSP-linear": "Linear", "KSP-polynomial": "Polynomial", "KSP-Gaussian": "Gaussian"}


def measure_apart(data_set: str, method: str) -> Row:
    """Measure a row in a process of its own, so that its peak of memory is its own."""
    row: Row = in_new_process("benchmarks.papers.sp.measuring:measure", data_set, method)
    return row


def bench(
    *,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    again: bool = False,
    measure: Callable[[str, str], Row] | None = None,
) -> Outcome:
    """Measure the rows of these data sets and methods (None: all); those measured already are kept unless `again`."""
    rows, content = run_pairs(
        NAME,
        known_pairs(NAME, data, methods, (DATA, METHODS)),
        planned,
        measure or measure_apart,
        order=[(d.title, m.title) for d in DATA.values() for m in METHODS.values()],
        again=again,
        paper=read(NAME).paper,
        measures=MEASURES,
        protocol="benchmarks/papers/sp/README.md",
    )
    beside = [study.part(stored(study.NAME).get("rows", [])) for study in (times, equal_f1)]
    return Outcome(*table(rows), remarks(rows), content | {"rows": rows}, tuple(part for part in beside if part.rows))


def planned(data_set: str, method: str) -> Row:
    """Return a row before it is measured: what the paper printed, our settings, and why it cannot be measured."""
    title = METHODS[method].title
    row: Row = {
        "data": DATA[data_set].title,
        "method": title,
        "published": published(DATA[data_set].title.partition(",")[0], title),
        "settings": settings(data_set, method),
    }
    return row if DATA[data_set].source() is not None else row | {"status": NO_DATA}


def published(data: str, method: str) -> dict[str, Any] | None:
    """Return P, R and F1 of Tables 2 and 4, and the seconds of Table 3; None where they have none."""
    tables = read(NAME).tables
    if method in KERNELS:
        cells = tables["table 4"].rows[data, KERNELS[method]]
        found = {name: cells[name].value for name in ("P", "R", "F1")}
    elif f"{method} F1" in tables["table 2"].columns:
        found = {name: tables["table 2"].rows[data,][f"{method} {name}"].value for name in ("P", "R", "F1")}
    else:
        return None
    seconds = tables["table 3"].rows[data,].get(method)
    return found | {"seconds": None if seconds is None else seconds.value}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help=f"of {','.join(DATA)}", type=lambda text: text.split(","))
    parser.add_argument("--methods", help=f"of {','.join(METHODS)}", type=lambda text: text.split(","))
    parser.add_argument("--again", action="store_true", help="measure rows anew that are there")
    given = parser.parse_args()
    try:
        print_outcome(bench(data=given.data, methods=given.methods, again=given.again))
    except ParameterError as problem:
        parser.error(str(problem))


if __name__ == "__main__":
    main()
