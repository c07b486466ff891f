"""Does the tree help? HR minus flat on six data sets, C chosen for both, with paired intervals and a verdict each.

The test predictions of two cells of the comparison are compared; where none are kept, the model is fitted again with
the C chosen then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from benchmarks import cells, comparison, predictions
from benchmarks.cells import NO_DATA, NOT_YET, Cell
from benchmarks.comparison import FLAT, METHODS, kind, metrics_of, refitted
from benchmarks.data_sets import DATA, Source
from benchmarks.papers.published import read
from benchmarks.studies import Study
from benchmarks.tables import NOTHING, Part
from cladist.datasets import Dataset
from cladist.labels import LabelMatrix, encode
from cladist.metrics import macro_f1, micro_f1, tree_induced_error
from cladist.metrics.significance import Interval, bootstrap_difference

NAME = "hr-verdicts"
COMPARED = ("icd10cm", "naics2017", "lshtc-small", "clinc150", "news20", "clef")  # one leaf per row
LEVEL, RESAMPLES, SEED = 0.95, 1000, 0
# Measure → the metric, whether more is better, what it is printed in, and its digits.
COMPARISONS: dict[str, tuple[Callable[..., Any], bool, float, int]] = {
    "micro-F1": (micro_f1, True, 100.0, 2),
    "macro-F1": (macro_f1, True, 100.0, 2),
    "tree-induced error": (tree_induced_error, False, 1.0, 3),
}
HEADER = ["data set, methods", *COMPARISONS, "published micro / macro", "data"]
REMARK = (
    "HR minus flat, the C of each chosen on the training part: F1 in points, tree-induced error in edges (less is "
    "better). In brackets a 95 % bootstrap interval over test rows, both predictions resampled together. Helps, hurts: "
    "all of the interval is on one side of 0. They tell of other test rows, not of other training rows; of many "
    "intervals, one in twenty misses 0 by chance. † and †† are the paper's p < 5 % and p < 1 %."
)
Verdict = Literal["helps", "hurts", "no evidence"]


def settings(data_set: str, method: str) -> dict[str, Any]:
    """Return what decides a verdict: another measurement of one of the two cells asks for another one."""
    pair = _pair(data_set, method)
    measured_as = {name: _fingerprint(cell) for name, cell in pair.items()} or None
    return {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED, "measured as": measured_as}


def missing(data_set: str, method: str) -> str:
    """Return why a cell cannot be judged here."""
    if DATA[data_set].source() is None:
        return NO_DATA
    return "" if len(_pair(data_set, method)) == 2 else NOT_YET


def measure(data_set: str, method: str) -> Cell:
    """Compare the test predictions of a method that knows the tree and of the flat one."""
    source, pair = DATA[data_set].source(), _pair(data_set, method)
    assert source is not None
    predictions.make_folder()
    data = source.load()
    true = encode(data.y_test, data.taxonomy).labels
    found = {name: _predictions(data, source, name, cell, true) for name, cell in pair.items()}
    return {
        "kind": kind(source, data, DATA[data_set].title),
        "rows": repr(data),
        "C": {name: cell["C"] for name, cell in pair.items()},
        "fitted again": [name for name, (_, again) in found.items() if again],
        "differences": {name: compared(name, true, found[method][0], found[FLAT[method]][0]) for name in COMPARISONS},
    }


def compared(measure: str, true: LabelMatrix, hr: LabelMatrix, flat: LabelMatrix) -> Cell:
    """Return the difference with its interval, and the verdict."""
    metric, more_is_better, unit, _ = COMPARISONS[measure]
    # Percentiles, as in the results kept; with thousands of rows the other methods give the same.
    options: dict[str, Any] = {"level": LEVEL, "n_resamples": RESAMPLES, "method": "percentile", "random_state": SEED}
    found = bootstrap_difference(metric, true, hr, flat, true.taxonomy, **options)
    ends = {"difference": found.estimate, "low": found.low, "high": found.high}
    shown = {name: round(unit * value, 4) for name, value in ends.items()}
    return shown | {"verdict": verdict(found, more_is_better=more_is_better)}


def verdict(found: Interval, *, more_is_better: bool) -> Verdict:
    """Return what an interval says: all of it on one side of 0, or not.

    Examples
    --------
    >>> verdict(Interval(0.02, 0.01, 0.03), more_is_better=True)
    'helps'
    >>> verdict(Interval(0.02, 0.01, 0.03), more_is_better=False)
    'hurts'
    >>> verdict(Interval(0.02, -0.01, 0.05), more_is_better=True)
    'no evidence'
    """
    if found.low > 0:
        return "helps" if more_is_better else "hurts"
    if found.high < 0:
        return "hurts" if more_is_better else "helps"
    return "no evidence"


def published(data: str, method: str) -> str:
    """Return HR minus flat by the paper's Table 3, with its marks of significance."""
    printed = read("hr").tables["table 3"].rows.get((data,))
    found = []
    for measure in ("micro-F1", "macro-F1") if printed else ():
        hr, flat = (printed[f"{METHODS[name].title} {measure}"] for name in (method, FLAT[method]))
        if hr.value is None or flat.value is None:
            return NOTHING
        found.append(f"{signed(hr.value - flat.value, 2)}{hr.mark}")
    return " / ".join(found) or NOTHING


def _predictions(data: Dataset, source: Source, method: str, cell: Cell, true: LabelMatrix) -> tuple[LabelMatrix, bool]:
    """Return the predictions behind a cell, and whether they had to be made again."""
    path = predictions.place(cell["data"], method, cell["settings"], cell["C"])
    found = predictions.kept(path, true)
    if found is not None and _gives_figures(source, true, found, cell):
        return found, False
    found = refitted(data, source, method, cell["C"])
    if _gives_figures(source, true, found, cell):
        predictions.keep(path, true, found)
    return found, True


def _gives_figures(source: Source, true: LabelMatrix, predicted: LabelMatrix, cell: Cell) -> bool:
    """Tell whether predictions have the F1 of a cell."""
    metrics = {name: metric for name, metric in metrics_of(source).items() if name != "tree"}
    return all(
        round(unit * metric(true, predicted, true.taxonomy), digits) == cell["measured"][name]
        for name, (metric, unit, digits) in metrics.items()
    )


def _pair(data_set: str, method: str) -> dict[str, Cell]:
    """Return the cells of the two methods, measured with today's settings."""
    found = cells.measured(comparison.NAME)
    return {
        name: found[data_set, name]
        for name in (method, FLAT[method])
        if cells.is_current(found.get((data_set, name)), comparison.settings(data_set, name), comparison.STUDY.version)
    }


def _fingerprint(cell: Cell) -> str:
    figures = {name: cell["measured"][name] for name in ("micro", "macro")}
    return predictions.digest([cell["settings"], cell["C"], figures])


STUDY = Study(
    NAME,
    lambda: [(d, m) for d in COMPARED for m in FLAT],
    settings,
    missing,
    "benchmarks.papers.hr.verdicts:measure",
    needs=(comparison.NAME,),
)


# ------------------------------------------------------------------ the table


def part() -> Part:
    """Return the table of verdicts, how often which came out, and what was fitted again."""
    found = cells.measured(NAME)
    judged = {pair: found[pair] for pair in STUDY.pairs() if pair in found}
    rows = [
        [
            f"{DATA[d].title}, {METHODS[m].title} − {METHODS[FLAT[m]].title}",
            *(_shown(cell["differences"][name], digits) for name, (*_, digits) in COMPARISONS.items()),
            published(DATA[d].title, m),
            cell["kind"],
        ]
        for (d, m), cell in judged.items()
    ]
    said = [REMARK]
    if judged:
        verdicts = {name: [cell["differences"][name]["verdict"] for cell in judged.values()] for name in COMPARISONS}
        each = (f"{name}: {_counted(words)}" for name, words in verdicts.items())
        said.append(f"Of {len(judged)} comparisons, {'; '.join(each)}.")
    if again := [
        f"{DATA[d].title}, {METHODS[m].title}" for (d, _), cell in judged.items() for m in cell["fitted again"]
    ]:
        said.append(f"Fitted again, since no predictions were kept: {'; '.join(again)}.")
    return Part("Does the tree help?", list(HEADER), rows, said)


def _counted(verdicts: list[str]) -> str:
    return ", ".join(f"{word} {verdicts.count(word)}" for word in ("helps", "no evidence", "hurts"))


def _shown(found: Cell, digits: int) -> str:
    value, low, high = (signed(found[name], digits) for name in ("difference", "low", "high"))
    return f"{value} [{low}, {high}] {found['verdict']}"


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; what rounds to nothing has none.

    Examples
    --------
    >>> signed(0.256, 2), signed(-1.5, 2), signed(-0.001, 2)
    ('+0.26', '−1.50', '0.00')
    """
    shown = f"{abs(value):.{digits}f}"
    if not shown.strip("0."):
        return shown
    return ("+" if value > 0 else "−") + shown
