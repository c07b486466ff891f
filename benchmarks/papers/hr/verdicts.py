"""Does the tree help? HR minus flat on six data sets, C chosen for both, with paired intervals and a verdict each.

Rows are those of ``cladist bench hr``. The test predictions it kept are compared; where none are kept, the model is
fitted again with the C chosen then. Run it as ``cladist bench hr --verdicts`` or
``python benchmarks/papers/hr/verdicts.py``; both go on where an earlier run ended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.harness import Outcome, in_new_process, print_outcome
from benchmarks.papers.hr import predictions
from benchmarks.papers.hr.data_sets import DATA, Source
from benchmarks.papers.hr.measuring import kind, measures, percent, refitted
from benchmarks.papers.hr.methods import FLAT, METHODS
from benchmarks.papers.hr.run import planned
from benchmarks.papers.hr.verdicts_showing import remarks, table
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED, NO_DATA, Row, is_still_good, known_pairs, run_rows, stored
from cladist.datasets import Dataset
from cladist.errors import CladistError, ParameterError
from cladist.labels import LabelMatrix, encode
from cladist.metrics import macro_f1, micro_f1, tree_induced_error
from cladist.metrics.significance import Interval, bootstrap_difference

NAME = "hr-verdicts"
COMPARED = ("icd10cm", "naics2017", "lshtc-small", "clinc150", "news20", "clef")  # one leaf per row
LEVEL, RESAMPLES, SEED = 0.95, 1000, 0
# Measure → the metric, whether more is better, and what it is printed in.
COMPARISONS: dict[str, tuple[Callable[..., Any], bool, float]] = {
    "micro-F1": (micro_f1, True, 100.0),
    "macro-F1": (macro_f1, True, 100.0),
    "tree-induced error": (tree_induced_error, False, 1.0),
}
Verdict = Literal["helps", "hurts", "no evidence"]
Judge = Callable[[str, str, dict[str, Row]], Row]


def bench(
    *,
    data: list[str] | None = None,
    methods: list[str] | None = None,
    again: bool = False,
    judge: Judge | None = None,
) -> Outcome:
    """Judge HR methods (None: both) on these data sets (None: all six); what was judged already is kept."""
    chosen = known_pairs("hr", data, methods, (COMPARED, FLAT))
    measured = {(row["data"], row["method"]): row for row in stored("hr").get("rows", [])}
    plan, found = [], {}
    for names in chosen:
        pair = _pair(*names, measured)
        row = to_judge(*names, pair)
        plan.append(row)
        found[row["data"], row["method"]] = (*names, pair)
    rows, content = run_rows(
        NAME,
        plan,
        lambda row: (judge or judge_apart)(*found[row["data"], row["method"]]),
        order=[(DATA[d].title, _title(m)) for d in COMPARED for m in FLAT],
        again=again,
        paper=read("hr").paper,
        measures="HR minus flat: micro-F1 and macro-F1 over leaves in points, tree-induced error in edges",
        protocol="benchmarks/papers/hr/README.md",
    )
    return Outcome(*table(rows), remarks(rows), content | {"rows": rows})


def to_judge(data_set: str, method: str, pair: dict[str, Row]) -> Row:
    """Return a row before it is judged: what the paper printed, what decides the verdict, why there is none."""
    row: Row = {
        "data": DATA[data_set].title,
        "method": _title(method),
        "published": published(DATA[data_set].title, method),
        "settings": {
            "level": LEVEL,
            "resamples": RESAMPLES,
            "seed": SEED,
            # Another measurement of one of them asks for another verdict.
            "measured as": {name: _fingerprint(found) for name, found in pair.items()} or None,
        },
    }
    if DATA[data_set].source() is None:
        return row | {"status": NO_DATA}
    if missing := [name for name in (method, FLAT[method]) if name not in pair]:
        wanted = f"cladist bench hr --data {data_set} --methods {','.join(missing)}"
        return row | {"status": f"not measured yet: {wanted}"}
    return row


def judge_apart(data_set: str, method: str, pair: dict[str, Row]) -> Row:
    """Judge in a process of its own, which ends with this one."""
    row: Row = in_new_process("benchmarks.papers.hr.verdicts:judge_pair", data_set, method, pair)
    return row


def judge_pair(data_set: str, method: str, pair: dict[str, Row]) -> Row:
    """Compare the test predictions of two measured rows, by their methods' names; what is refused is the status."""
    source = DATA[data_set].source()
    assert source is not None
    try:
        predictions.make_folder()
        data = source.load()
        true = encode(data.y_test, data.taxonomy).labels
        found = {name: _predictions(data, source, data_set, name, row, true) for name, row in pair.items()}
    except CladistError as problem:
        return {"status": f"not run: {problem}"}
    return {
        "status": MEASURED,
        "kind": kind(source, data, DATA[data_set].title),
        "rows": repr(data),
        "C": {METHODS[name].title: row["C"] for name, row in pair.items()},
        "fitted again": [METHODS[name].title for name, (_, again) in found.items() if again],
        "differences": {name: compared(name, true, found[method][0], found[FLAT[method]][0]) for name in COMPARISONS},
    }


def compared(measure: str, true: LabelMatrix, hr: LabelMatrix, flat: LabelMatrix) -> Row:
    """Return both figures, their difference with its interval, and the verdict."""
    metric, more_is_better, unit = COMPARISONS[measure]
    # Percentiles, as in the results kept; with thousands of rows the other methods give the same.
    settings: dict[str, Any] = {"level": LEVEL, "n_resamples": RESAMPLES, "method": "percentile", "random_state": SEED}
    found = bootstrap_difference(metric, true, hr, flat, true.taxonomy, **settings)
    both = {side: metric(true, labels, true.taxonomy) for side, labels in (("HR", hr), ("flat", flat))}
    shown = {side: round(unit * value, 4) for side, value in both.items()}
    interval = {"difference": found.estimate, "low": found.low, "high": found.high}
    ends = {name: round(unit * value, 4) for name, value in interval.items()}
    return shown | ends | {"verdict": verdict(found, more_is_better=more_is_better)}


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


def published(data: str, method: str) -> dict[str, Any] | None:
    """Return HR minus flat by the paper's Table 3, with its marks of significance; None where it has none."""
    cells = read("hr").tables["table 3"].rows.get((data,))
    if cells is None:
        return None
    found: dict[str, Any] = {}
    for measure in ("micro-F1", "macro-F1"):
        hr, flat = (cells[f"{METHODS[name].title} {measure}"] for name in (method, FLAT[method]))
        if hr.value is None or flat.value is None:
            return None
        found[measure] = {"difference": round(hr.value - flat.value, 2), "mark": hr.mark}
    return found


def _predictions(
    data: Dataset, source: Source, data_set: str, method: str, row: Row, true: LabelMatrix
) -> tuple[LabelMatrix, bool]:
    """Return the predictions behind a measured row, and whether they had to be made again."""
    path = predictions.place(data_set, method, row["settings"], row["C"])
    found = predictions.kept(path, true)
    if found is not None and _figures(source, true, found) == row["measured"]:
        return found, False
    found = refitted(data, source, method, row["C"])
    if _figures(source, true, found) == row["measured"]:
        predictions.keep(path, true, found)
    return found, True


def _figures(source: Source, true: LabelMatrix, predicted: LabelMatrix) -> dict[str, float]:
    return {name: percent(metric(true, predicted, true.taxonomy)) for name, metric in measures(source).items()}


def _pair(data_set: str, method: str, measured: dict[tuple[str, str], Row]) -> dict[str, Row]:
    """Return what the table's file has of the two methods, measured with today's settings."""
    found = {name: measured.get((DATA[data_set].title, METHODS[name].title)) for name in (method, FLAT[method])}
    return {name: row for name, row in found.items() if row is not None and is_still_good(row, planned(data_set, name))}


def _fingerprint(row: Row) -> str:
    return predictions.digest([row[part] for part in ("settings", "C", "measured", "sources")])


def _title(method: str) -> str:
    return f"{METHODS[method].title} − {METHODS[FLAT[method]].title}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help=f"of {','.join(COMPARED)}", type=lambda text: text.split(","))
    parser.add_argument("--methods", help=f"of {','.join(FLAT)}", type=lambda text: text.split(","))
    parser.add_argument("--again", action="store_true", help="judge anew what was judged")
    given = parser.parse_args()
    try:
        outcome = bench(data=given.data, methods=given.methods, again=given.again)
    except ParameterError as problem:
        parser.error(str(problem))
    print_outcome(outcome)


if __name__ == "__main__":
    main()
