"""Rousu, Saunders, Szedmak & Shawe-Taylor 2005, Tables 1–3: published beside measured.

All documents of RCV1, labelled by their topics at or below CCAT, possibly none; rows of unit length; nothing is tuned,
C = 1. Intervals are 95 % bootstrap intervals over test rows. WIPO-alpha cannot be had. Run it as ``cladist bench hm3``
or ``python benchmarks/papers/hm3/run.py``; both go on where an earlier run ended.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np
import numpy.typing as npt
from scipy import sparse

from benchmarks.harness import Outcome, print_outcome
from benchmarks.papers.hm3.methods import METHODS
from benchmarks.papers.hm3.showing import part_of, remarks, table
from benchmarks.papers.hr.data_sets import tfidf
from benchmarks.papers.hrls.data_sets import Split
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED, NO_DATA, Row, known_pairs, run_pairs
from benchmarks.rcv1_standin import load_rcv1_standin
from cladist.datasets import Dataset
from cladist.errors import DatasetError
from cladist.labels import LabelMatrix, encode
from cladist.learners.row_arrays import normalize_rows
from cladist.losses import HLoss, Loss, SymmetricDifference, ZeroOne
from cladist.taxonomy import Taxonomy

NAME, TOP = "hm3", "CCAT"
RESAMPLES, SEED = 1000, 0
DATA: dict[str, Callable[[], Dataset] | None] = {"Reuters": lambda: tfidf(load_rcv1_standin()), "WIPO-alpha": None}


def cut(data: Dataset) -> tuple[Split, Taxonomy]:
    """Return all rows, and of their labels those at or below the family's top."""
    assert data.taxonomy is not None
    below = data.taxonomy.subtree(TOP)
    marks = encode(data.y, data.taxonomy).labels.to_indicator()
    columns = [data.taxonomy.index(name) for name in below.names]
    kept = sparse.csr_array(sparse.csc_array(marks)[:, columns])
    labels: LabelMatrix = encode(kept, below).labels
    X = normalize_rows(sparse.csr_array(data.X))
    train, test = np.arange(len(data.y))[data.train_rows], np.arange(len(data.y))[data.test_rows]
    return Split(X[train], X[test], labels[train], labels[test]), below


OF_LOSS: dict[str, Loss] = {
    "ℓ_0/1": ZeroOne(),
    "ℓ_Δ": SymmetricDifference(),
    **{f"ℓ_H̃ {weights}": HLoss(weights, simplified=True) for weights in ("uniform", "sibling", "subtree")},
    "ℓ_H": HLoss("sibling"),
}


def by_row(true: Any, found: Any, taxonomy: Taxonomy) -> npt.NDArray[np.float64]:
    """Return the losses of every row, and how many nodes are right, found and true; found need not be consistent."""
    of_losses = [loss.per_example(true, found, taxonomy) for loss in OF_LOSS.values()]
    counts = [np.asarray(part.sum(axis=1)).ravel() for part in (true.multiply(found), found, true)]
    return np.column_stack([*of_losses, *counts])


def figures(sums: npt.NDArray[np.float64], n: int) -> dict[str, float]:
    """Return the columns of Tables 1 and 2 from sums over rows."""
    measured = {name: float(value) / n for name, value in zip(OF_LOSS, sums, strict=False)}
    measured["ℓ_0/1"] *= 100
    return measured | dict(zip(("P", "R", "F1"), retrieval(*sums[-3:]), strict=True))


def retrieval(right: float, found: float, true: float) -> tuple[float, float, float]:
    """Return precision, recall and F1 in %; 0 where nothing is found or true."""
    precision, recall = right / found if found else 0.0, right / true if true else 0.0
    f1 = 2 * right / (found + true) if found + true else 0.0
    return 100 * float(precision), 100 * float(recall), 100 * float(f1)


def by_level(true: Any, found: Any, taxonomy: Taxonomy) -> dict[str, float]:
    """Return the columns of Table 3."""
    counts = [np.asarray(part.sum(axis=0)).ravel() for part in (true.multiply(found), found, true)]
    columns = {}
    for k, level in enumerate(taxonomy.levels):
        precision, recall, _ = retrieval(*(float(part[level].sum()) for part in counts))
        columns |= {f"level {k} P": round(precision, 2), f"level {k} R": round(recall, 2)}
    return columns


def measure(data_set: str, method: str) -> Row:
    """Return what is measured of a method: losses with intervals, precision and recall by level, seconds."""
    load = DATA[data_set]
    assert load is not None
    split, taxonomy = cut(load())
    started = time.perf_counter()
    found = sparse.csr_array(METHODS[method].decide(split, taxonomy)).astype(np.int64)
    seconds = time.perf_counter() - started
    true = split.y_test.to_indicator().astype(np.int64)
    values, random, n = by_row(true, found, taxonomy), np.random.default_rng(SEED), true.shape[0]
    drawn = [figures(values[random.integers(n, size=n)].sum(axis=0), n) for _ in range(RESAMPLES)]
    measured = figures(values.sum(axis=0), n)
    return {
        "status": MEASURED,
        "rows": f"{split.X_train.shape[0]} + {n} rows, {taxonomy.n_nodes} nodes",
        "measured": {name: round(value, 4) for name, value in measured.items()},
        "interval": {
            name: np.percentile([each[name] for each in drawn], [2.5, 97.5]).round(4).tolist() for name in measured
        },
        "levels": by_level(true, found, taxonomy),
        "seconds": round(seconds, 3),
    }


def planned(data_set: str, method: str, there: bool) -> Row:
    """Return a row before it is measured."""
    chosen, tables = METHODS[method], read(NAME).tables
    printed: dict[str, Any] = {}
    for name in ("table 2", "table 3"):
        printed |= {c: cell.value for c, cell in tables[name].rows.get((data_set, chosen.title), {}).items()}
    if chosen.training_loss is not None:
        printed |= {c: cell.value for c, cell in tables["table 1"].rows[data_set, chosen.training_loss].items()}
    row: Row = {
        "data": data_set,
        "method": chosen.title,
        "published": printed or None,
        "settings": {**chosen.settings, "resamples": RESAMPLES},
    }
    return row if there else row | {"status": NO_DATA}


def found_data(name: str) -> bool:
    """Tell whether the rows of a data set can be had."""
    try:
        return DATA[name] is not None and DATA[name]() is not None  # type: ignore[misc]
    except DatasetError:
        return False


def bench(*, data: list[str] | None = None, methods: list[str] | None = None, again: bool = False) -> Outcome:
    """Measure the rows of these data sets and methods (None: all); those measured already are kept unless `again`."""
    pairs = known_pairs(NAME, data, methods, (DATA, METHODS))
    there = {d: found_data(d) for d in dict.fromkeys(d for d, _ in pairs)}
    rows, content = run_pairs(
        NAME,
        pairs,
        lambda d, m: planned(d, m, there[d]),
        measure,
        order=[(d, m.title) for d in DATA for m in METHODS.values()],
        again=again,
        paper=read(NAME).paper,
        protocol=" ".join(__doc__.split("\n\n")[1].split()),
    )
    further = (part_of("table 1", rows, METHODS), part_of("table 3", rows, METHODS))
    return Outcome(*table(rows, METHODS), remarks(), content | {"rows": rows}, further)


def main() -> None:
    print_outcome(bench())


if __name__ == "__main__":
    main()
