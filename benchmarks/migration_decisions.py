"""Rows that `cladist migrate` decides by itself: how many these are, and how many of them are right.

Planted revisions as in `benchmarks/candidate_sets.py`: half of all rows have an old label that was split, and others of
the same splits have been given their new label by people. The migration sees texts, old labels, these new labels, and
the words of the new nodes. At `sure` = 0.95, decisions are to be right 95 % of the time with 90 % certainty. The labels
of the rows that it decides were hidden from it, and say how many decisions are right.

    python benchmarks/migration_decisions.py [--data naics2017] [--revisions 20] [--sure 0.95]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.candidate_sets import TEXTS, fill_marks, hide_labels, plant_revision
from benchmarks.harness import RESULTS, print_rows, write_results
from cladist.evaluation.migration import DECIDED, OPEN, Migration, Row

NAME = "migration_decisions"


def measure(data: Any, seed: int, sure: float) -> dict[str, Any]:
    """Return what became of the rows of one planted revision whose label is not known."""
    rng = np.random.default_rng(seed)
    y = [str(label) for label in data.y]
    crosswalk = plant_revision(data.taxonomy, sorted(set(y)), rng)
    candidates = hide_labels(crosswalk, y, rng)
    old = {label: crosswalk.sources(label)[0] for label in set(y)}
    split = {name for name in crosswalk.old_names if len(crosswalk.targets(name)) > 1}
    rows = [
        Row(str(text), old[label], label if len(parts) == 1 and old[label] in split else None)
        for text, label, parts in zip(data.X, y, candidates, strict=True)
    ]
    started = time.process_time()
    migration = Migration(crosswalk, sure=sure, random_state=seed).fit(lambda: rows)
    found = list(migration.relabel(rows))
    seconds = time.process_time() - started
    right = [one.label == label for one, label in zip(found, y, strict=True) if one.status == DECIDED]
    n_open = sum(one.status == OPEN for one in found)
    threshold = migration.threshold
    return {
        "rows": len(rows),
        "ambiguous": len(right) + n_open,
        "decided": len(right),
        "right": int(sum(right)),
        "threshold": None if threshold is None else threshold.at_least,
        "right_on_checked": None if threshold is None else threshold.share_right,
        "cpu_seconds": seconds,
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the shares over the revisions of each data set.

    The standard error is that between revisions in which rows were decided; `without` counts the others.
    """
    lines = []
    for data, sure in dict.fromkeys((row["data"], row["sure"]) for row in rows):
        cells = [row for row in rows if (row["data"], row["sure"]) == (data, sure)]
        decided, right, ambiguous = (np.array([cell[k] for cell in cells]) for k in ("decided", "right", "ambiguous"))
        share = (right / np.maximum(1, decided))[decided > 0]
        lines.append(
            {
                "data": data,
                "sure": sure,
                "revisions": len(cells),
                "without": int(np.sum(decided == 0)),
                "ambiguous": int(ambiguous.sum()),
                "decided": float(decided.sum() / ambiguous.sum()),
                "right": float(right.sum() / max(1, decided.sum())),
                "standard_error": float(np.std(share, ddof=1) / np.sqrt(len(share))) if len(share) > 1 else None,
                "least_right": float(share.min(initial=1.0)),
            }
        )
    return lines


def as_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the summary as the lines of a table."""
    lines = ["| data | revisions | ambiguous rows | decided | of these right | in the worst revision |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for row in summary(rows):
        right = f"{row['right']:.1%} ± {row['standard_error']:.1%}"
        counts = f"{row['revisions']} | {row['ambiguous']:,} | {row['decided']:.1%}"
        lines.append(f"| {row['data']} | {counts} | {right} | {row['least_right']:.1%} |")
    return lines


def read_rows() -> list[dict[str, Any]]:
    """Return the cells that are measured."""
    path = RESULTS / f"{NAME}.json"
    return json.loads(path.read_text())["rows"] if path.exists() else []


def main() -> None:
    """Measure the cells that are missing, and write all after each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=sorted(TEXTS), choices=sorted(TEXTS))
    parser.add_argument("--revisions", type=int, default=20, help="planted revisions of each data set")
    parser.add_argument("--first", type=int, default=0, help="the number of the first revision")
    parser.add_argument("--sure", type=float, default=0.95)
    parser.add_argument("--markdown", type=Path, help="write the table into a page, instead of measuring")
    parser.add_argument("--show", action="store_true", help="print the cells, and write nothing")
    chosen = parser.parse_args()
    if chosen.markdown is not None:
        fill_marks(chosen.markdown, NAME.replace("_", "-"), as_table(read_rows()))
        return
    cells: list[dict[str, Any]] = []
    for name in chosen.data:
        data = TEXTS[name]()
        for seed in range(chosen.first, chosen.first + chosen.revisions):
            key = {"data": name, "sure": chosen.sure, "revision": seed}
            if not chosen.show and any(all(row[k] == v for k, v in key.items()) for row in read_rows()):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells.append({**key, **measure(data, seed, chosen.sure)})
            if chosen.show:
                print(cells[-1], flush=True)
                continue
            rows = sorted([*read_rows(), cells[-1]], key=lambda row: (row["data"], row["sure"], row["revision"]))
            write_results(NAME, rows, quiet=True, means=summary(rows))
    if not chosen.show:
        write_results(NAME, read_rows(), quiet=True, means=summary(read_rows()))
    print_rows(summary(cells if chosen.show else read_rows()))


if __name__ == "__main__":
    main()
