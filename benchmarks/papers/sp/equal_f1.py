"""How long perceptrons need for the test F1 of a flat SVM whose scores are decoded to the best labelling.

There are 1, 4 and 16 times as many rounds as by default, until the F1 on the test part is the SVM's or more. They are
thus chosen on the test part: this says what equal F1 costs, not what to expect of new data. The SVM's C is that of its
cell of ``sp``.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks import cells
from benchmarks.cells import NO_DATA, NOT_YET, Cell
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS
from benchmarks.studies import Study
from benchmarks.tables import Part
from cladist.learners.structured.parameters import number_of_rounds
from cladist.metrics import micro_f1

NAME, SVM = "sp-equal-f1", "svm"
TITLE = "Time to the F1 of a flat SVM (all nodes, scores decoded to the best labelling)"
FACTORS = (1, 4, 16)  # times the default number of rounds
HEADER = ["data set, method", "rounds", "F1", "fit s", "times the SVM's"]


def missing(data_set: str, _: str) -> str:
    """Return why a cell cannot be measured here."""
    if DATA[data_set].source() is None:
        return NO_DATA
    return "" if (data_set, SVM) in cells.measured("sp") else NOT_YET


def measure(data_set: str, method: str) -> Cell:
    """Return a point for each number of rounds, up to the SVM's F1; the SVM is fitted beside them."""
    source = DATA[data_set].source()
    assert source is not None
    data, chosen = source.load(), METHODS[method]
    C = cells.measured("sp")[data_set, SVM]["chosen"]["C"]
    METHODS[SVM].make(data.taxonomy, {"C": C}, 0).fit(data.X_train[:50], data.y_train[:50])  # compiled, and warm
    svm = _fitted(METHODS[SVM].make(data.taxonomy, {"C": C}, 0), data)
    if method == SVM:
        return {"C": C, "points": [svm | {HEADER[-1]: 1.0}]}
    n_rows, points = data.X_train.shape[0], []
    default = number_of_rounds(None, chosen.learner().eps, n_rows)
    chosen.make(data.taxonomy, {"max_iter": 2}, n_rows).fit(data.X_train[:50], data.y_train[:50])
    for factor in FACTORS:
        points.append(_fitted(chosen.make(data.taxonomy, {"rounds": factor}, n_rows), data))
        if points[-1]["F1"] >= svm["F1"] or points[-1]["rounds"] < factor * default:
            break
    return {"points": [point | {HEADER[-1]: point["fit s"] / svm["fit s"]} for point in points]}


def _fitted(model: Any, data: Any) -> dict[str, Any]:
    started = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - started
    f1 = micro_f1(data.y_test, model.predict(data.X_test), data.taxonomy, nodes="all")
    return {"rounds": int(model.n_iter_), "F1": float(f1), "fit s": seconds}


def part() -> Part:
    """Return the table of points."""
    rows, found = [], cells.measured(NAME)
    for d, m in STUDY.pairs():
        for point in found.get((d, m), {"points": []})["points"]:
            values = f"{point['rounds']:,}", f"{point['F1']:.4f}", f"{point['fit s']:.2f}", f"{point[HEADER[-1]]:.2f}"
            rows.append([f"{DATA[d].title}, {METHODS[m].title}", *values])
    return Part(TITLE, HEADER, rows, ["One core each; the number of rounds is chosen on the test part."])


STUDY = Study(
    NAME,
    lambda: [(d, m) for d in ("news20", "ccat") for m in (SVM, "hp", "ksp-linear")],
    lambda *_: {"factors": FACTORS},
    missing,
    "benchmarks.papers.sp.equal_f1:measure",
    needs=("sp",),
)
