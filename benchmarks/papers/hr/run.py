"""Gopal & Yang 2013, Tables 3 and 4: published beside measured. README.md beside this file has the protocol.

Run it as ``cladist bench hr`` or ``python benchmarks/papers/hr/run.py``; both go on where an earlier run ended.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.harness import Outcome, in_new_process, print_outcome
from benchmarks.papers.hr.data_sets import DATA
from benchmarks.papers.hr.measuring import settings
from benchmarks.papers.hr.methods import METHODS
from benchmarks.papers.hr.showing import measures_told, remarks, table
from benchmarks.papers.hr.times import times
from benchmarks.papers.published import read
from benchmarks.papers.rows import NO_DATA, NO_METHOD, Row, known, known_pairs, run_pairs
from cladist.errors import ParameterError

NAME = "hr"
FILES = {"micro": NAME, "macro": "hr-by-macro"}  # the measure that C is chosen for → the file of results
Measure = Callable[[str, str, str], Row]


def measure_apart(data_set: str, method: str, by: str) -> Row:
    """Measure a row in a process of its own, so that its peak of memory is its own."""
    row: Row = in_new_process("benchmarks.papers.hr.measuring:measure", data_set, method, by)
    return row


def bench(
    *,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    again: bool = False,
    choose_by: str = "micro",
    measure: Measure | None = None,
) -> Outcome:
    """Measure the rows of these data sets and methods (None: all); those measured already are kept unless `again`.

    `choose_by` is the measure, "micro" or "macro", that C is chosen for; rows of the two are in files of their own.
    """
    known(NAME, "measure", [choose_by], FILES)
    pairs = known_pairs(NAME, data, methods, (DATA, METHODS))
    rows, content = run_pairs(
        FILES[choose_by],
        [(d, m) for d, m in pairs if DATA[d].has_graph or not METHODS[m].on_graph],
        lambda d, m: planned(d, m, choose_by),
        lambda d, m: (measure or measure_apart)(d, m, choose_by),
        order=[(d.title, m.title) for d in DATA.values() for m in METHODS.values()],
        again=again,
        paper=read(NAME).paper,
        measures=measures_told(choose_by),
        protocol="benchmarks/papers/hr/README.md",
    )
    slower = times(rows, content.get("rows", []))
    return Outcome(*table(rows), remarks(rows, choose_by), content | {"rows": rows}, (slower,) if slower.rows else ())


def planned(data_set: str, method: str, by: str = "micro") -> Row:
    """Return a row before it is measured: what the paper printed, our settings, and why it cannot be measured."""
    source = DATA[data_set].source()
    row: Row = {
        "data": DATA[data_set].title,
        "method": METHODS[method].title,
        "published": published(DATA[data_set].title, METHODS[method].title),
        "settings": settings(method, source, by),
    }
    if source is None:
        return row | {"status": NO_DATA}
    return row if METHODS[method].is_there(source) else row | {"status": NO_METHOD}


def published(data: str, method: str) -> dict[str, Any] | None:
    """Return the two figures of Table 3, or None where it has none."""
    cells = read(NAME).tables["table 3"].rows.get((data,), {})
    found = {name: cells.get(f"{method} {name}-F1") for name in ("micro", "macro")}
    if any(cell is None or cell.value is None for cell in found.values()):
        return None
    printed: dict[str, Any] = {name: cell.value for name, cell in found.items() if cell is not None}
    doubts = dict.fromkeys(cell.uncertain for cell in found.values() if cell is not None and cell.uncertain)
    return printed | {"uncertain": " ".join(doubts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help=f"of {','.join(DATA)}", type=lambda text: text.split(","))
    parser.add_argument("--methods", help=f"of {','.join(METHODS)}", type=lambda text: text.split(","))
    parser.add_argument("--again", action="store_true", help="measure rows anew that are there")
    parser.add_argument("--choose-by", choices=list(FILES), default="micro", help="the measure that C is chosen for")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON, and nothing else")
    given = parser.parse_args()
    try:
        outcome = bench(data=given.data, methods=given.methods, again=given.again, choose_by=given.choose_by)
    except ParameterError as problem:
        parser.error(str(problem))
    if given.json:
        print(json.dumps(outcome.content, indent=2, ensure_ascii=False))
        return
    print_outcome(outcome)


if __name__ == "__main__":
    main()
