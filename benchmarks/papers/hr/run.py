"""Gopal & Yang 2013, Tables 2–4: published beside measured. README.md beside this file has the protocol.

The cells are those of `benchmarks.comparison`; verdicts and the study of trees that say nothing are beside them.
"""

from __future__ import annotations

from benchmarks import cells
from benchmarks.cells import MEASURED, NO_METHOD, Cell, Pair
from benchmarks.comparison import BY_MACRO, FLAT, MACRO_STUDY, METHODS, NAME, OF_SETS, STUDY, columns, name_of_column
from benchmarks.data_sets import DATA, NOT_TO_BE_HAD
from benchmarks.papers.hr import uninformative, verdicts
from benchmarks.papers.published import Cell as Printed
from benchmarks.papers.published import read
from benchmarks.tables import HEADER, NOTHING, Part, doubts, fit_seconds, is_worse, line, printed_values, told_time

STUDIES = (STUDY, MACRO_STUDY, verdicts.STUDY, uninformative.STUDY)
F1 = {"micro": ".2f", "macro": ".2f"}
KEYS = {data_set.title: key for key, data_set in DATA.items()}
TITLE = "Gopal & Yang 2013, Table"
MEASURES = (
    "Micro-F1 / macro-F1 in %, over leaves (RCV1: over all topics). Intervals: bootstrap over test rows. C: a power of "
    "ten from 0.001 to 1000, by micro-F1 in 3-fold cross-validation on the training part. Seconds: of the fit with "
    "that C, on one core. MiB: peak of the whole process, data and choice of C included."
)
TIMES = (
    "Minutes are the paper's, on 32 cores or a cluster of 64 × 8; seconds ours, of the fit alone, on one core. So only "
    "ratios can be compared: HR over the flat method with the same loss, each with the C chosen for it."
)


def parts() -> list[Part]:
    """Return all tables, from the cells as they are."""
    found = cells.read(NAME)
    return [
        table_2(found),
        table_3(found, "3", MEASURES),
        table_3(
            cells.read(BY_MACRO), "3, C chosen for macro-F1 instead", MEASURES.replace("by micro-F1", "by macro-F1")
        ),
        table_4(found),
        verdicts.part(),
        uninformative.part(),
    ]


def pair_of(title: str, column: str) -> Pair:
    """Return the cell's data set and method of a row and a column of the paper."""
    data, method = KEYS[title], name_of_column(column)
    is_multi = DATA[data].sources[0].multilabel
    return data, OF_SETS.get(method, method) if is_multi else method


def _kind(title: str) -> str:
    return NOT_TO_BE_HAD if DATA[KEYS[title]].is_licensed else ""


def _line(title: str, column: str, published: str, cell: Cell | None, **options: object) -> list[str]:
    shown = line(f"{title}, {column}", published, cell, F1, kind=_kind(title), **options)  # type: ignore[arg-type]
    if cell is None and not METHODS[name_of_column(column)].learner and not _kind(title):
        shown[2] = NO_METHOD
    return shown


def table_2(found: dict[Pair, Cell]) -> Part:
    """Return Table 2: the results of the LSHTC challenges beside HR's."""
    rows = []
    for (title,), printed in read("hr").tables["table 2"].rows.items():
        for column in dict.fromkeys(name.rpartition(" ")[0] for name in printed):
            shown = printed_values(_f1(printed, column), F1)
            if column.startswith("HR"):
                rows.append(_line(title, column, shown, found.get(pair_of(title, column))))
            else:
                rows.append(line(f"{title}, best of LSHTC", shown, None, F1, kind=NOT_TO_BE_HAD))
    remark = "Micro-F1 / macro-F1 in %; the files are those of the LSHTC challenges."
    return Part(f"{TITLE} 2", list(HEADER), rows, [remark])


def _f1(printed: dict[str, Printed], column: str) -> dict[str, Printed]:
    return {name: printed[f"{column} {name}-F1"] for name in F1 if f"{column} {name}-F1" in printed}


def table_3(found: dict[Pair, Cell], name: str, measures: str) -> Part:
    """Return Table 3; with cells of one data set alone, its rows."""
    rows, worse, said = [], [], []
    only = {data for data, _ in found} if name != "3" else set(DATA)
    for (title,), printed in read("hr").tables["table 3"].rows.items():
        for column in columns():
            figures, cell = _f1(printed, column), found.get(pair_of(title, column))
            if KEYS[title] not in only or (cell is None and (name != "3" or figures["micro"].value is None)):
                continue
            rows.append(_line(title, column, printed_values(figures, F1), cell))
            kind = "" if cell is None else cell.get("kind", "")
            worse += [f"{title}, {column} ({m}, {kind} data)" for m in F1 if is_worse(figures[m].value, cell, m)]
            said += doubts(f"{title}, {column}", figures)
    if worse:
        said.insert(0, f"The published figure lies above our interval: {'; '.join(worse)}.")
    return Part(f"{TITLE} {name}", list(HEADER), rows, [measures, *said])


def table_4(found: dict[Pair, Cell]) -> Part:
    """Return Table 4: times, and those of HR as multiples of the flat ones."""
    rows, said = [], []
    for (title,), printed in read("hr").tables["table 4"].rows.items():
        for column in columns():
            cell = found.get(pair_of(title, column))
            if cell is None and printed[column].value is None:
                continue
            flat = FLAT.get(name_of_column(column), "")
            flat_title = METHODS[flat].title if flat else ""
            minutes = told_time(printed[column].value, printed[flat_title].value if flat else None, "min", flat_title)
            shown = _line(
                title, column, minutes + (" (!)" if printed[column].uncertain else ""), cell, spread=lambda _: NOTHING
            )
            if cell is not None and cell["status"] == MEASURED:
                beside = found.get((KEYS[title], flat))
                alike = beside is not None and beside["status"] == MEASURED and beside["machine"] == cell["machine"]
                shown[2] = told_time(
                    fit_seconds(cell), fit_seconds(beside) if beside and alike else None, "s", flat_title
                )
            rows.append(shown)
            said += doubts(f"{title}, {column}", {column: printed[column]})
    return Part(f"{TITLE} 4", list(HEADER), rows, [TIMES, *said])
