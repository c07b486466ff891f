"""Liu, Tu, Qian & Zhang 2013, Tables 2–4: published beside measured. README.md beside this file has the protocol."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from benchmarks import cells
from benchmarks.cells import NO_DATA, Cell, Pair
from benchmarks.choosing import HELD_OUT, choose_in_stages
from benchmarks.comparison import RESAMPLES, SEED, Metrics, fit_and_judge
from benchmarks.data_sets import NOT_TO_BE_HAD
from benchmarks.papers.published import Cell as Printed
from benchmarks.papers.published import read
from benchmarks.papers.sp import equal_f1, times
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS
from benchmarks.studies import Study
from benchmarks.tables import HEADER, NOTHING, Part, fit_seconds, is_worse, line, printed_values, told_time
from cladist.datasets.dataset import length
from cladist.metrics import micro_f1, precision_recall_f1

NAME = "sp"
KERNELS = {"ksp-linear": "Linear", "ksp-poly": "Polynomial", "ksp-rbf": "Gaussian"}
FIGURES = {"P": ".3f", "R": ".3f", "F1": ".3f"}
PRINTED = dict.fromkeys(FIGURES, ".2f")
LEAST_DIFFERENCE = 0.01  # the paper's F1 are rounded, and some differ from 2PR/(P + R) by more than that
MEASURES = (
    "Precision / recall / F1 of all nodes, tops included, counts added up. Intervals: bootstrap over test rows. "
    "Settings: chosen one after the other by F1 on a quarter of the training part held out. Seconds: our fit with "
    "these settings, one core; the paper's are CPU seconds in Matlab. MiB: peak of the whole process."
)
Measure = Literal["precision", "recall", "f1"]


def settings(data_set: str, method: str) -> dict[str, Any]:
    """Return everything that decides a cell's figures."""
    source = DATA[data_set].source()
    return {
        "learner": METHODS[method].learner.__name__,
        "parameters": METHODS[method].parameters,
        "stages": METHODS[method].stages,
        "chosen by": f"micro-F1 over all nodes on {HELD_OUT:.0%} of the training part held out, seed {SEED}",
        "resamples": RESAMPLES,
        "features": None if source is None else source.features,
        "source": None if source is None else source.kind,
    }


def measure(data_set: str, method: str) -> Cell:
    """Return the figures of one cell."""
    source, chosen = DATA[data_set].source(), METHODS[method]
    assert source is not None
    data = source.load()

    def choose() -> tuple[dict[str, Any], Cell]:
        make, rows = partial(chosen.make, data.taxonomy), (data.X_train, data.y_train)
        found, tried = choose_in_stages(make, chosen.stages, *rows, score=partial(_f1, data.taxonomy), seed=SEED)
        return found, {"chosen": found, "tried": tried}

    n_rows = length(data.y_train)
    found, model, _ = fit_and_judge(data, lambda options: chosen.make(data.taxonomy, options, n_rows), choose, METRICS)
    return {
        "kind": source.kind,
        "rows": repr(data),
        **found,
        "iterations": int(model.n_iter_),
        "support rows": getattr(model, "n_support_", None),
        "model_bytes": getattr(model, "model_size_", None),
    }


def _f1(taxonomy: Any, y_true: Any, y_pred: Any) -> float:
    return float(micro_f1(y_true, y_pred, taxonomy, nodes="all"))


def _one(which: Measure, y_true: Any, y_pred: Any, taxonomy: Any, **weights: Any) -> float:
    return float(getattr(precision_recall_f1(y_true, y_pred, taxonomy, nodes="all", **weights), which))


METRICS: Metrics = {
    "P": (partial(_one, "precision"), 1.0, 4),
    "R": (partial(_one, "recall"), 1.0, 4),
    "F1": (partial(_one, "f1"), 1.0, 4),
}
STUDY = Study(
    NAME,
    lambda: [(d, m) for d in DATA for m in METHODS],
    settings,
    lambda d, _: "" if DATA[d].source() is not None else NO_DATA,
    "benchmarks.papers.sp.run:measure",
)
STUDIES = (STUDY, times.STUDY, equal_f1.STUDY)


# ------------------------------------------------------------------ tables


def published(data_set: str, method: str) -> dict[str, Printed]:
    """Return P, R and F1 of Tables 2 and 4; nothing where they have none."""
    tables, title = read(NAME).tables, DATA[data_set].title.partition(",")[0]
    if method in KERNELS:
        return dict(tables["table 4"].rows[title, KERNELS[method]])
    cells_ = tables["table 2"].rows[title,]
    return {
        name: cells_[f"{METHODS[method].title} {name}"] for name in FIGURES if f"{METHODS[method].title} F1" in cells_
    }


def parts() -> list[Part]:
    """Return all tables, from the cells as they are."""
    found = cells.read(NAME)
    in_2 = ("hp", "ksp-linear", "lm-1", "lm-2", "svm")
    return [
        _figures("Liu et al. 2013, Table 2", found, in_2),
        _times(found),
        _figures("Liu et al. 2013, Table 4: kernels of KSP", found, tuple(KERNELS)),
        equal_f1.part(),
    ]


def _name(data_set: str, method: str) -> str:
    title = DATA[data_set].title
    return f"{'NEWS20, by date' if title == 'NEWS20' else title}, {METHODS[method].title}"


def _kind(data_set: str) -> str:
    return "" if DATA[data_set].sources else NOT_TO_BE_HAD


def _figures(title: str, found: dict[Pair, Cell], methods: tuple[str, ...]) -> Part:
    rows, remarks = [], [MEASURES]
    for d in DATA:
        for m in methods:
            cell, printed = found.get((d, m)), published(d, m)
            rows.append(line(_name(d, m), printed_values(printed, PRINTED), cell, FIGURES, kind=_kind(d)))
            if printed and is_worse(printed["F1"].value, cell, "F1", tolerance=LEAST_DIFFERENCE):
                remarks.append(_worse(_name(d, m), cell or {}))
    return Part(title, list(HEADER), rows, remarks)


def _worse(name: str, cell: Cell) -> str:
    tried = [entry["F1"] for entry in cell["tried"]]
    return (
        f"{name}: F1 lies below the published one; {len(tried)} settings were tried on the held-out part, with F1 from "
        f"{min(tried):.3f} to {max(tried):.3f}."
    )


def _times(found: dict[Pair, Cell]) -> Part:
    """Return Table 3: seconds as published and as measured, those of the max-margin methods as multiples of KSP's."""
    rows, ratios, ksp = [], cells.measured(times.NAME), METHODS[times.KSP].title
    for d in DATA:
        printed = read(NAME).tables["table 3"].rows[DATA[d].title.partition(",")[0],]
        for m in (times.KSP, *times.RIVALS):
            other = None if m == times.KSP else printed[ksp].value
            seconds = told_time(printed[METHODS[m].title].value, other, "s", ksp)
            shown = line(_name(d, m), seconds, found.get((d, m)), {}, kind=_kind(d), spread=lambda _: NOTHING)
            if (d, m) in ratios:
                shown[2] = told_time(ratios[d, m]["fit s"], ratios[d, m]["KSP's fit s"], "s", ksp)
            elif (d, m) in found:
                shown[2] = told_time(fit_seconds(found[d, m]), None, "s", "")
            rows.append(shown)
    remark = (
        "Published: CPU seconds in Matlab. Ours as multiples: CPU seconds of both with these settings, in one process."
    )
    return Part("Liu et al. 2013, Table 3", list(HEADER), rows, [remark])
