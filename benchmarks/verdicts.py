"""Does `cladist.evaluation.compare` answer rightly whether the hierarchy helps? Twenty cases, one process each.

    python benchmarks/verdicts.py [--budget 300] [--cases naics2017,topics-1] [--again]

Real data come with their own tree and with its leaves shuffled; generated data with a tree that the rows follow and
with one that says nothing about them. Right is "helps" for ICD-10-CM and NAICS, where recursive regularisation is
better than flat methods in both pairs of the verdicts page. With other trees that say something anything but "hurts" is
right, as whether they help depends on the rows per label; with shuffled trees and trees that say nothing anything but
"helps". Writes verdicts.json after every case; cases measured with the same budget are kept, so that a run that was
stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks import harness
from benchmarks.harness import in_new_process, print_rows, write_results
from benchmarks.tables import Part
from cladist import datasets
from cladist.datasets import make_topics
from cladist.evaluation import compare
from cladist.evaluation.contestants import shuffled
from cladist.features import text_features

NAME = "verdicts"
HELPS, NOT_HURTS, NOT_HELPS = ("helps",), ("helps", "no evidence"), ("hurts", "no evidence")
REAL: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "naics2017": (datasets.load_naics2017, HELPS),
    "icd10cm": (datasets.load_icd10cm, HELPS),
    "clinc150": (datasets.load_clinc150, NOT_HURTS),
    "news20": (datasets.load_news20, NOT_HURTS),
    "imclef07a": (datasets.load_imclef07a, NOT_HURTS),
}
SIZES: tuple[dict[str, Any], ...] = (
    {"n_samples": 2000, "n_features": 2000, "branching": (5, 8)},
    {"n_samples": 3000, "n_features": 3000, "branching": (6, 5, 4)},
    {"n_samples": 4000, "n_features": 4000, "branching": (10, 10)},
    {"n_samples": 3000, "n_features": 2000, "branching": (4, 4, 4)},
    {"n_samples": 5000, "n_features": 5000, "branching": (8, 25)},
)
NOISE = 0.9


def cases() -> dict[str, tuple[str, ...]]:
    """Return the names of all cases with the verdicts that are right."""
    found = {name: right for name, (_, right) in REAL.items()}
    found |= {f"{name}-shuffled": NOT_HELPS for name in REAL}
    found |= {f"topics-{k}": NOT_HURTS for k in range(len(SIZES))}
    return found | {f"noise-{k}": NOT_HELPS for k in range(len(SIZES))}


def load(case: str) -> tuple[Any, Any, Any]:
    """Return rows, labels and taxonomy of a case."""
    name, _, number = case.partition("-")
    if name in ("topics", "noise"):
        options = {"informative": 0} if name == "noise" else {}
        data = make_topics(**SIZES[int(number)], noise=NOISE, random_state=int(number), **options)
        return data.X, data.y, data.taxonomy
    data = REAL[name][0]()
    taxonomy = data.taxonomy
    if number == "shuffled":
        taxonomy = shuffled(taxonomy, np.random.default_rng(0))
        labels = [str(label) for label in data.y]
    else:
        labels = data.y
    texts = data.texts if data.texts is not None else data.X
    return (list(texts) if getattr(texts, "ndim", 1) == 1 else texts), labels, taxonomy


def measure(case: str, budget: float) -> dict[str, Any]:
    """Return the verdict of a case, with what it rests on."""
    X, y, taxonomy = load(case)
    cpu, wall = time.process_time(), time.perf_counter()
    features = text_features(characters=False) if isinstance(X, list) else None
    found = compare(X, y, taxonomy, budget=budget, features=features)
    return {
        "case": case,
        "verdict": found.verdict_,
        "sentence": found.verdict,
        "recommended": found.recommended,
        "trained on": found.n_train,
        "held out": found.n_held_out,
        "methods": len(found.rows),
        "cpu_s": round(time.process_time() - cpu, 1),
        "wall_s": round(time.perf_counter() - wall, 1),
        "budget_s": budget,
    }


def main() -> None:
    """Measure the cases that are missing, and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of each case")
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--again", action="store_true", help="measure cases again that have a result")
    options = parser.parse_args()
    chosen = options.cases.split(",") if options.cases else list(cases())
    rows = {row["case"]: row for row in read()}
    for case in chosen:
        if not options.again and rows.get(case, {}).get("budget_s") == options.budget:
            continue
        rows[case] = in_new_process("benchmarks.verdicts:measure", case, options.budget)
        write_results(NAME, judged(rows), quiet=True, data="the twenty cases of benchmarks/verdicts.py")
        print_rows([{k: v for k, v in rows[case].items() if k != "sentence"}])
        print(rows[case]["sentence"], flush=True)
    write_results(NAME, judged(rows), quiet=True, data="the twenty cases of benchmarks/verdicts.py")
    print(f"right: {sum(row['right'] for row in judged(rows))} of {len(rows)}")


def read() -> list[dict[str, Any]]:
    """Return the cases measured so far."""
    place = harness.RESULTS / f"{NAME}.json"
    return list(json.loads(place.read_text(encoding="utf-8"))["rows"]) if place.exists() else []


def part() -> Part:
    """Return the table of the results page."""
    rows = read()
    lines = [
        [row["case"], row["verdict"], row["expected"], f"{row['trained on']:,}", f"{row['held out']:,}",
         f"{row['wall_s']:,.0f}", row["sentence"]]
        for row in rows
    ]  # fmt: skip
    header = ["case", "verdict", "right would be", "trained on", "held out", "seconds", "in words"]
    budgets = ", ".join(f"{budget:g}" for budget in sorted({row["budget_s"] for row in rows}))
    remark = (
        f"{sum(row['right'] for row in rows)} of {len(rows)} verdicts are right. Budget of a case: {budgets} seconds "
        "by the clock. Shuffled: the leaves of the tree are shuffled; topics: generated rows that follow their tree; "
        "noise: generated rows that do not."
    )
    return Part("Verdicts of cladist compare", header, lines, [remark] if rows else [])


def judged(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases in their order, with the verdicts that are right."""
    return [
        {**rows[name], "right": rows[name]["verdict"] in right, "expected": " or ".join(right)}
        for name, right in cases().items()
        if name in rows
    ]


if __name__ == "__main__":
    main()
