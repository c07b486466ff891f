"""Rousu, Saunders, Szedmak & Shawe-Taylor 2005, Tables 1–3: published beside measured.

All documents of RCV1, labelled by their topics at or below CCAT, possibly none; rows of unit length; nothing is tuned,
C = 1. Intervals are 95 % bootstrap intervals over test rows. WIPO-alpha cannot be had.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from benchmarks import cells, harness
from benchmarks.cells import NO_DATA, Cell
from benchmarks.data_sets import NOT_TO_BE_HAD, STAND_IN, tfidf
from benchmarks.papers.hm3.methods import METHODS
from benchmarks.papers.hrls.data_sets import Split
from benchmarks.papers.published import PublishedTable, read
from benchmarks.rcv1_standin import STANDIN, load_rcv1_standin
from benchmarks.studies import Study
from benchmarks.tables import HEADER, NOTHING, Part, doubts, line, printed_values
from cladist.datasets import Dataset
from cladist.errors import DatasetError
from cladist.labels import LabelMatrix, encode
from cladist.learners.row_arrays import normalize_rows
from cladist.losses import HLoss, Loss, SymmetricDifference, ZeroOne
from cladist.taxonomy import Taxonomy

NAME, TOP = "hm3", "CCAT"
RESAMPLES, SEED = 1000, 0
STATED = {  # Figure 1: the curve measured → what the paper's text says of WIPO-alpha
    "hamming": "95 % of the optimum and the least training error after about 6 h, test error near its least after 2 h",
    "hierarchical": "—",
}


def load() -> Dataset:
    """Return the rows that stand for the paper's Reuters documents."""
    return tfidf(load_rcv1_standin())


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


def measure(_: str, method: str) -> Cell:
    """Return what is measured of a method: losses with intervals, precision and recall by level, seconds."""
    split, taxonomy = cut(load())
    started = time.perf_counter()
    found = sparse.csr_array(METHODS[method].decide(split, taxonomy)).astype(np.int64)
    seconds = time.perf_counter() - started
    true = split.y_test.to_indicator().astype(np.int64)
    values, random, n = by_row(true, found, taxonomy), np.random.default_rng(SEED), true.shape[0]
    drawn = [figures(values[random.integers(n, size=n)].sum(axis=0), n) for _ in range(RESAMPLES)]
    measured = figures(values.sum(axis=0), n)
    return {
        "kind": STAND_IN,
        "rows": f"{split.X_train.shape[0]} + {n} rows, {taxonomy.n_nodes} nodes",
        "measured": {name: round(value, 4) for name, value in measured.items()},
        "interval": {
            name: np.percentile([each[name] for each in drawn], [2.5, 97.5]).round(4).tolist() for name in measured
        },
        "levels": by_level(true, found, taxonomy),
        "seconds": round(seconds, 3),
    }


def missing(*_: str) -> str:
    """Return why a cell cannot be measured here."""
    try:
        return "" if STANDIN.locate() else NO_DATA
    except DatasetError:
        return NO_DATA


STUDY = Study(
    NAME,
    lambda: [("reuters", m) for m in METHODS],
    lambda _, m: {**METHODS[m].settings, "resamples": RESAMPLES},
    missing,
    "benchmarks.papers.hm3.run:measure",
)
STUDIES = (STUDY,)


# ------------------------------------------------------------------ tables


def parts() -> list[Part]:
    """Return all tables, from the cells as they are."""
    tables = read(NAME).tables
    return [*(part_of(tables[f"table {k}"]) for k in (1, 2, 3)), figure_1()]


def part_of(table: PublishedTable) -> Part:
    """Return one of the paper's tables: its columns one after the other."""
    found, rows, said = cells.read(NAME), [], []
    formats = {name: ".1f" if name.startswith(("ℓ_0/1", "P", "R", "F1", "level")) else ".3f" for name in table.columns}
    key = {(m.training_loss if "training loss" in table.keys else m.title): name for name, m in METHODS.items()}
    for (data, title), printed in table.rows.items():
        cell = found.get(("reuters", key[title])) if data == "Reuters" else None
        kind = STAND_IN if data == "Reuters" else NOT_TO_BE_HAD
        name = f"{data}, {'trained for ' if 'training loss' in table.keys else ''}{title}"
        of_cell = {"values": lambda cell: {**cell["measured"], **cell["levels"]}}
        rows.append(line(name, printed_values(printed, formats), cell, formats, kind=kind, **of_cell))  # type: ignore[arg-type]
        said += doubts(name, printed)
    words = (
        f"Columns: {' / '.join(table.columns)}; ℓ_0/1, P, R and F1 in %. The rows measured are a stand-in for RCV1: "
        "6,000 of its stories over 944 words, not the paper's documents. WIPO-alpha's documents are licensed."
    )
    return Part(f"Rousu et al. 2005, {table.name.capitalize()}", list(HEADER), rows, [words, *table.remarks, *said])


def figure_1() -> Part:
    """Return what Figure 1 says of the time to train beside our curves, of benchmarks/speed/max_margin.py."""
    path = harness.RESULTS / "max-margin-speed.json"
    content = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = []
    for row in content:
        loss = row["run"].rpartition(", ")[2]
        if loss in STATED:
            last = row["points"][-1]
            errors = [f"{name} {100 * last[name]:.1f} %" for name in ("training error", "test error")]
            until = row["seconds to 95 % of the optimum"]
            found = f"95 % of the optimum after {until:.2f} s; {', '.join(errors)} at the end"
            name, stated, seconds = row["run"], STATED[loss], last["seconds"]
        elif row["run"] == "h-m3, wipo size":
            name, stated = f"{row['run']} (generated rows, {row['nodes']} nodes)", STATED["hamming"]
            found, seconds = f"{100 * row['share of the optimum']:.1f} % of the optimum", row["seconds"]
        else:
            continue
        rows.append([name, stated, found, NOTHING, STAND_IN, "C=1; nothing tuned", f"{seconds:.1f}", NOTHING])
    remark = "The curves themselves: ![objectives and errors of H-M³ over time](../_static/max-margin.svg)"
    return Part("Rousu et al. 2005, Figure 1: time to train", list(HEADER), rows, [remark] if rows else [])
