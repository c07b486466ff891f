"""Training on candidate sets after a revision: what it gains between dropping ambiguous rows and knowing their labels.

A planted revision changes a real taxonomy whose rows have labels. Read backwards, it tells what each leaf was called
before: leaves that were one (splits, among siblings or with a part that moved to another branch), two old leaves that
became one (merges), moves and renames. Rows coded before the revision have old labels; those of a leaf that was split
are known up to its parts, about half of all rows. Three models are trained: without these rows, with the candidate sets
of the crosswalk, and with the true labels; rows held out measure all three. With "top-down-titles", all three also read
the titles of the new leaves, which a revision comes with.

    python benchmarks/candidate_sets.py [--data naics2017] [--method top-down] [--revisions 20]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.data_sets import DATA
from benchmarks.harness import RESULTS, print_rows, write_results
from cladist import Crosswalk, FlatSVM, RecursiveSVM, Taxonomy, TopDown
from cladist.datasets import load_naics2017, load_onet_titles
from cladist.features import text_features
from cladist.metrics import accuracy

SPLIT = 0.8  # of the leaves were part of a larger one
ACROSS = 0.5  # of these splits, a part moved to another branch
AMBIGUOUS = 0.5  # of the rows
TITLES = "top-down-titles"
METHODS: dict[str, Any] = {
    "top-down": TopDown(),
    TITLES: TopDown(label_text="rows", random_state=0),
    "svm": FlatSVM(),
    "hr-svm": RecursiveSVM(loss="squared_hinge", sharing=1.0),
}
TEXTS = {"naics2017": load_naics2017, "onet-titles": load_onet_titles}
NAME = "candidate_sets"


def plant_revision(taxonomy: Taxonomy, leaves: list[str], rng: np.random.Generator) -> Crosswalk:
    """Return a crosswalk from old leaves to the leaves of a taxonomy: splits, merges, and renames."""
    order = [leaves[k] for k in rng.permutation(len(leaves))]
    n_split = round(SPLIT * len(leaves))
    entries: list[tuple[str, str]] = []
    for k, parts in enumerate(_groups(taxonomy, order[:n_split], rng)):
        entries += [(f"old {k}", part) for part in parts]
    for k, leaf in enumerate(order[n_split:]):
        before = [f"first {k}", f"second {k}"] if k % 3 == 0 else [f"renamed {k}"]
        entries += [(old, leaf) for old in before]
    return Crosswalk(entries, new=taxonomy)


def _groups(taxonomy: Taxonomy, leaves: list[str], rng: np.random.Generator) -> Iterator[list[str]]:
    """Yield the parts of each split: two to four leaves near each other, or two of different branches."""
    short = taxonomy.contracted()
    n_across = round(ACROSS * len(leaves))
    across, near = leaves[:n_across], leaves[n_across:]
    for k in range(0, n_across, 2):
        yield across[k : k + 2]
    by_parent: dict[Any, list[str]] = {}
    for leaf in near:
        by_parent.setdefault(int(short.parent[short.index(leaf)]), []).append(leaf)
    for _, siblings in sorted(by_parent.items()):
        while siblings:
            size = int(rng.integers(2, 5))
            yield siblings[:size]
            siblings = siblings[size:]


def hide_labels(crosswalk: Crosswalk, y: list[str], rng: np.random.Generator) -> list[set[str]]:
    """Return the candidates of every row: those of its old leaf, for rows coded before the revision."""
    old = [crosswalk.sources(label)[0] for label in y]
    candidates = [set(crosswalk.candidates(name)) for name in old]
    split = np.array([len(parts) > 1 for parts in candidates])
    before = split & (rng.random(len(y)) < AMBIGUOUS / np.mean(split))
    return [parts if hidden else {label} for parts, hidden, label in zip(candidates, before, y, strict=True)]


def title_features(name: str) -> Any:
    """Return the features of the words of all nodes, by the transformer that made the rows."""
    texts = TEXTS[name]().split(0.25, random_state=0)
    features = text_features(characters=False).fit(texts.X_train)
    return features.transform([texts.taxonomy.words_of(node) for node in texts.taxonomy.names])


def measure(data: Any, method: str, seed: int, titles: Any = None) -> dict[str, Any]:
    """Return the accuracies of the three models on one planted revision."""
    rng = np.random.default_rng(seed)
    y = [str(label) for label in data.y_train]
    crosswalk = plant_revision(data.taxonomy, sorted(set(y)), rng)
    candidates = hide_labels(crosswalk, y, rng)
    model = clone(METHODS[method]).set_params(taxonomy=data.taxonomy)
    if titles is not None:
        model.set_params(label_features=titles)
    sure = np.flatnonzero([len(parts) == 1 for parts in candidates])
    found, seconds = {}, {}
    for name, fit in {
        "dropped": lambda: clone(model).fit(data.X_train[sure], [y[k] for k in sure]),
        "candidates": lambda: clone(model).set_params(partial_labels=True).fit(data.X_train, candidates),
        "truth": lambda: clone(model).fit(data.X_train, y),
    }.items():
        started = time.process_time()
        fitted = fit()
        seconds[name] = time.process_time() - started
        found[name] = float(accuracy([str(v) for v in data.y_test], fitted.predict(data.X_test), data.taxonomy))
    gain = (found["candidates"] - found["dropped"]) / (found["truth"] - found["dropped"])
    times = {f"{name}_cpu_seconds": value for name, value in seconds.items()}
    return {**found, "gain": gain, "ambiguous": 1 - len(sure) / len(y), **times}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means over the revisions of each data set and method."""
    lines = []
    for data, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        cells = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        means = {name: float(np.mean([cell[name] for cell in cells])) for name in ("dropped", "candidates", "truth")}
        gain = (means["candidates"] - means["dropped"]) / (means["truth"] - means["dropped"])
        lines.append({"data": data, "method": method, "revisions": len(cells), **means, "gain": gain})
    return lines


def read_rows() -> list[dict[str, Any]]:
    """Return the cells that are measured."""
    path = RESULTS / f"{NAME}.json"
    return json.loads(path.read_text())["rows"] if path.exists() else []


def write_table(page: Path, rows: list[dict[str, Any]]) -> None:
    """Write the means over the revisions between the marks of a page."""
    lines = [
        "| data | method | revisions | dropped | candidate sets | truth | gained |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in summary(rows):
        found = " | ".join(f"{row[name]:.1%}" for name in ("dropped", "candidates", "truth"))
        lines.append(f"| {row['data']} | `{row['method']}` | {row['revisions']} | {found} | {row['gain']:.0%} |")
    fill_marks(page, NAME.replace("_", "-"), lines)


def fill_marks(page: Path, name: str, lines: list[str]) -> None:
    """Write lines between the marks of a name in a page."""
    begin, end = (f"<!-- {name}:{mark} -->" for mark in ("begin", "end"))
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}" + rest.split(end)[1])


def _is_cell(row: dict[str, Any], key: dict[str, Any]) -> bool:
    return all(row[name] == value for name, value in key.items())


def main() -> None:
    """Measure the cells that are missing, and write all after each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=["naics2017", "onet-titles"], choices=sorted(DATA))
    parser.add_argument("--method", nargs="+", default=["top-down"], choices=sorted(METHODS))
    parser.add_argument("--revisions", type=int, default=20, help="planted revisions of each data set")
    parser.add_argument("--markdown", type=Path, help="write the table into a page, instead of measuring")
    parser.add_argument("--again", action="store_true", help="measure cells that are there, too")
    chosen = parser.parse_args()
    if chosen.markdown is not None:
        write_table(chosen.markdown, read_rows())
        return
    rows = read_rows()
    for name in chosen.data:
        source = DATA[name].source()
        if source is None:
            print(f"{name}: its files are not here")
            continue
        data = source.load()
        for method in chosen.method:
            titles = title_features(name) if method == TITLES else None
            for seed in range(chosen.revisions):
                key = {"data": name, "method": method, "revision": seed}
                if not chosen.again and any(_is_cell(row, key) for row in read_rows()):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    cell = {**key, **measure(data, method, seed, titles)}
                rows = [row for row in read_rows() if not _is_cell(row, key)] + [cell]
                rows.sort(key=lambda row: (row["data"], row["method"], row["revision"]))
                write_results(NAME, rows, quiet=True, means=summary(rows))
    print_rows(summary(rows))


if __name__ == "__main__":
    main()
