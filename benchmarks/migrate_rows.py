"""`cladist migrate` on many rows: rows a second, and memory, which is not to grow with them.

A planted revision changes naics2017 as in `benchmarks/candidate_sets.py`: splits (half of them with a part that moved
to another branch), merges and renames; a third of the leaves that are renamed move as well. Rows are the data set's
own, drawn again and again, each time without some of their words. A tenth of the rows whose label was split have a new
label given by people. The command runs in a process of its own, on 100,000 rows and on 1,000,000.

    python benchmarks/migrate_rows.py [--rows 100000 1000000]
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.candidate_sets import TEXTS, plant_revision
from benchmarks.harness import in_new_process, print_rows, write_results
from cladist import Crosswalk, Taxonomy

NAME = "migrate_rows"
KEPT_WORDS = 0.8
CHECKED = 0.1  # of the rows whose label was split


def old_version(new: Taxonomy, walk: Crosswalk, seed: int) -> Taxonomy:
    """Return the taxonomy before a planted revision: each old leaf where its first target is now, or elsewhere."""
    rng = random.Random(seed)
    inner = [new.names[v] for v in range(new.n_nodes) if not new.is_leaf[v]]
    parents: dict[str, Any] = {name: new.parents_of(name) for name in inner}
    above = sorted({parent for name in walk.new_names if name is not None for parent in new.parents_of(name)})
    for name in walk.old_names:
        moves = name.startswith("renamed") and rng.random() < 1 / 3
        parents[name] = [rng.choice(above)] if moves else new.parents_of(walk.targets(name)[0])
    return Taxonomy.from_parents(parents, titles={name: new.title_of(name) for name in inner})


def write_rows(path: Path, data: Any, walk: Crosswalk, n_rows: int, seed: int) -> list[str]:
    """Write rows with old labels; return the new labels of those whose old one was split and is not given, else ""."""
    rng = random.Random(seed)
    texts, labels = [str(text).split() for text in data.X], [str(label) for label in data.y]
    truth = []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "code", "recoded"])
        for _ in range(n_rows):
            k = rng.randrange(len(labels))
            words = [word for word in texts[k] if rng.random() < KEPT_WORDS] or texts[k]
            old = rng.choice(walk.sources(labels[k]))
            is_split = len(walk.targets(old)) > 1
            is_known = is_split and rng.random() < CHECKED
            writer.writerow([" ".join(words), old, labels[k] if is_known else ""])
            truth.append(labels[k] if is_split and not is_known else "")
    return truth


def judge(path: Path, truth: list[str]) -> dict[str, float]:
    """Return how many of the rows with a split label were decided, and how many of the decisions are right."""
    counts: Counter[str] = Counter()
    with path.open(newline="", encoding="utf-8") as file:
        for row, true in zip(csv.DictReader(file), truth, strict=True):
            if true:
                counts["split"] += 1
                counts["decided"] += row["status"] == "decided"
                counts["right"] += row["new_label"] == true
    decided = counts["decided"]
    return {"decided": round(decided / counts["split"], 4), "right": round(counts["right"] / max(1, decided), 4)}


def main() -> None:
    """Measure each number of rows."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    counts, seed = parser.parse_args().rows, 0
    data = TEXTS["naics2017"]()
    planted = plant_revision(data.taxonomy, sorted({str(label) for label in data.y}), np.random.default_rng(seed))
    old = old_version(data.taxonomy, planted, seed)
    walk = Crosswalk([(entry.old, entry.new) for entry in planted], old=old, new=data.taxonomy).completed()
    moved = sum(
        len(walk.targets(name)) == 1 and not set(old.parents_of(name)) & set(data.taxonomy.parents_of(target))
        for name in planted.old_names
        for target in walk.targets(name)
    )
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        walk.write(folder / "walk.csv")
        old.write(folder / "old.csv")
        data.taxonomy.write(folder / "new.csv")
        for n_rows in counts:
            truth = write_rows(folder / "rows.csv", data, walk, n_rows, seed)
            used = in_new_process("benchmarks.crosswalk:migrate", str(folder))
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            speed = {"rows_per_second": round(n_rows / used["seconds"]), **used}
            rows.append({"rows": n_rows, **speed, **report["statuses"], **judge(folder / "out.csv", truth)})
            rows[-1] |= {"groups": len(report["splits"])}
    print_rows(rows)
    changes = {**dict(walk.counts), "moved_leaves": moved}
    write_results(NAME, rows, data="naics2017, a planted revision", changes=changes)


if __name__ == "__main__":
    main()
