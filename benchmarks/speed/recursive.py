"""Recursive regularisation on trees: its speed beside flat LinearSVC, its memory at scale, and what rounds cost.

    python benchmarks/speed/recursive.py --study thousand --turns 3
    python benchmarks/speed/recursive.py --study dmoz --loss hinge
    python benchmarks/speed/recursive.py --study rounds --tol 1e-2,1e-3
    python benchmarks/speed/recursive.py --study icd --tol 1e-2

thousand  20,000 rows, 50,000 features, 1,000 leaves in a tree of three levels below one root. RecursiveSVM to gaps of
          1e-2 and 1e-3, RecursiveLogistic to 1e-2, and LinearSVC one-vs-rest, all at C = 1 and without intercepts, each
          in a process of its own. "LinearSVC / ours" is the ratio of CPU seconds of the fit, "mark" whether it is as
          large as wanted. Writes recursive-thousand.json.
dmoz      The size of DMOZ-2010: 128,710 rows and 10,000 to test, 381,580 features, 12,294 leaves of 15,358 nodes, six
          levels, a random irregular tree. One fit to a gap of 1e-2 on 2 threads, with ``weights="dual"``; ``--loss``
          and ``--blocks-per-round`` say which. Peak memory is that of the process while it fits; beside its growth
          stands what the formula in ``recursive_studies/memory.py`` allows. Writes recursive-dmoz-<loss>.json.
rounds    Sweeps and CPU seconds to a gap, 1, 2, 8, 64 and 512 blocks being solved from one snapshot, on three trees:
          that of "thousand" (63 blocks), clinc150 (10 blocks; where CLADIST_DATA is set) and that of "dmoz" with fewer
          and shorter rows (769 blocks). Numbers beyond the first that takes all blocks at once are left out: they are
          the same. Writes recursive-rounds.json, with the loss in its name if it is not the hinge.

icd       ICD-10-CM at the level of categories: 98,225 rows, 38,219 features. RecursiveSVM(sharing=1) beside FlatSVM at
          C = 10 with the hinge loss, both to the tolerances given, on one thread. Writes recursive-icd.json.

``--scale 0.05`` takes that share of rows, features and nodes, for a trial; its results have a name of their own.
Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import print_rows, write_results
from benchmarks.speed.recursive_studies import dmoz, icd, rounds, thousand
from benchmarks.speed.recursive_studies.measuring import LOSSES, Row
from benchmarks.speed.recursive_studies.shapes import DMOZ_TREE, THOUSAND

SETTING = "C=1, fit_intercept=False"


def run_thousand(chosen: argparse.Namespace) -> None:
    rows = thousand.study(chosen.scale, chosen.turns)
    print_rows(rows)
    shape = THOUSAND.scaled(chosen.scale)
    write_results(named("thousand", chosen), rows, data=shape.described(), setting=SETTING, turns=chosen.turns)


def run_dmoz(chosen: argparse.Namespace) -> None:
    row, data = dmoz.study(chosen.scale, chosen.loss, chosen.blocks_per_round)
    print_rows([{"check": k + 1, **entry} for k, entry in enumerate(row["history"])])
    print()
    print_rows([{"": name, "measured": value} for name, value in row.items() if not isinstance(value, (dict, list))])
    print()
    print_rows(memory_rows(row))
    write_results(named(f"dmoz-{chosen.loss}", chosen), [row], data=data, setting=SETTING)


def memory_rows(row: Row) -> list[Row]:
    """Return the terms of the formula, their sum, and what was measured."""
    terms = {**row["predicted MB, terms"], "sum": row["predicted MB"], "measured growth": row["growth MB"]}
    return [{"memory": name, "MB": size} for name, size in terms.items()]


def run_rounds(chosen: argparse.Namespace) -> None:
    name = named("rounds" if chosen.loss == "hinge" else f"rounds-{chosen.loss}", chosen)
    data = {
        "thousand": THOUSAND.scaled(chosen.scale).described(),
        "clinc150": "load_clinc150, training rows",
        "dmoz tree": DMOZ_TREE.scaled(chosen.scale).described(),
    }
    rows: list[Row] = []
    for row in rounds.study(chosen.scale, chosen.loss, chosen.tol):
        rows.append(row)
        write_results(name, rows, quiet=True, data=data, setting=SETTING)  # each as it comes: the whole takes long
    print_rows(rows)
    write_results(name, rows, data=data, setting=SETTING)


def run_icd(chosen: argparse.Namespace) -> None:
    rows = list(icd.study(chosen.scale, chosen.tol))
    print_rows(rows)
    write_results(named("icd", chosen), rows, data="ICD-10-CM, categories", setting=f"C={icd.C:g}, hinge, one thread")


STUDIES = {"thousand": run_thousand, "dmoz": run_dmoz, "rounds": run_rounds, "icd": run_icd}


def named(study: str, chosen: argparse.Namespace) -> str:
    return f"recursive-{study}" + ("" if chosen.scale == 1 else f"-scale-{chosen.scale:g}")


def gaps(text: str) -> list[float]:
    """Return the numbers between commas."""
    return [float(part) for part in text.split(",")]


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", choices=STUDIES, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="a share of rows, features and nodes, for a trial")
    parser.add_argument("--turns", type=int, default=1, help="thousand: measure all so often, keep the shortest times")
    parser.add_argument("--loss", choices=LOSSES, default="hinge", help="dmoz and rounds")
    parser.add_argument("--blocks-per-round", type=int, default=8, help="dmoz")
    parser.add_argument("--tol", type=gaps, default=[1e-2], help="rounds and icd: a gap, or several: 1e-2,1e-3")
    chosen = parser.parse_args(given)
    if not 0 < chosen.scale <= 1:
        parser.error(f"--scale: more than 0 and at most 1; got {chosen.scale:g}")
    if chosen.turns < 1:
        parser.error(f"--turns: at least 1; got {chosen.turns}")
    return chosen


def main(given: list[str] | None = None) -> None:
    chosen = arguments(given)
    STUDIES[chosen.study](chosen)


if __name__ == "__main__":
    main()
