"""Rows as the table shows them: published beside measured, stand-ins in a column of their own."""

from __future__ import annotations

from benchmarks.harness import NOTHING
from benchmarks.papers.hr.data_sets import EXACT, NEAR, STAND_IN
from benchmarks.papers.hr.measuring import CS, FOLDS, SEED
from benchmarks.papers.rows import MEASURED, Row, sources

UNCERTAIN = " (!)"
HEADER = ["data set, method", "published", "measured", "95 % interval", "data", "settings", "seconds", "MiB"]


def measures_told(by: str = "micro") -> str:
    """Return what the figures are, C being chosen by micro-F1 or macro-F1."""
    return (
        "micro / macro F1 in %, over leaves (RCV1: over all topics). Intervals: bootstrap over test rows. "
        f"C: a power of ten from {min(CS):g} to {max(CS):g} (up to 10 on ICD-10-CM, 100 on genes_go), by "
        f"{by}-F1 in {FOLDS}-fold cross-validation on the training part, seed {SEED}. Seconds: of the fit with that "
        "C, n_jobs=None. MiB: peak of the whole process, data and choice of C included"
    )


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells; the column for stand-ins is there only if one was measured."""
    has_stand_in = any(_is_stand_in(row) for row in rows)
    header = list(HEADER)
    lines = [_line(row) for row in rows]
    if has_stand_in:
        header.insert(3, STAND_IN)
        for row, line in zip(rows, lines, strict=True):
            line[2:3] = [NOTHING, line[2]] if _is_stand_in(row) else [line[2], NOTHING]
    return header, lines


def remarks(rows: list[Row], by: str = "micro") -> list[str]:
    """Return what must be said of a table: what its figures are, where ours are worse, what is doubtful or old."""
    old = [name_of(row) for row in rows if row["status"] == MEASURED and row["sources"] != sources()]
    said = [f"Measured with other sources of cladist (--again measures anew): {'; '.join(old)}."] if old else []
    return [*lasting_remarks(rows, by), *said]


def lasting_remarks(rows: list[Row], by: str = "micro") -> list[str]:
    """Return what rows say of themselves, whatever the package has become since."""
    said = [f"{measures_told(by)}."]
    if worse := [place for row in rows for place in _worse(row)]:
        said.append(f"The published figure lies above our interval: {'; '.join(worse)}.")
    for row in rows:
        if row["published"] and row["published"]["uncertain"]:
            said.append(f"(!) {name_of(row)}: {row['published']['uncertain']}")
    if loose := [name_of(row) for row in rows if row["status"] == MEASURED and not row["converged"]]:
        said.append(f"Not converged: {'; '.join(loose)}.")
    return said


def _line(row: Row) -> list[str]:
    published = row["published"]
    printed = NOTHING if published is None else f"{published['micro']:.2f} / {published['macro']:.2f}"
    doubt = UNCERTAIN if published and published["uncertain"] else ""
    if row["status"] != MEASURED:
        return [name_of(row), printed + doubt, row["status"], *[NOTHING] * 5]
    micro, macro = (row["interval"][name] for name in ("micro", "macro"))
    return [
        name_of(row),
        printed + doubt,
        f"{row['measured']['micro']:.2f} / {row['measured']['macro']:.2f}",
        f"{micro[0]:.1f}–{micro[1]:.1f} / {macro[0]:.1f}–{macro[1]:.1f}",
        row["kind"],
        _settings(row),
        f"{row['seconds']['fit']:.1f}",
        f"{row['peak_memory_mib']:,}",
    ]


def _settings(row: Row) -> str:
    settings = row["settings"]
    given = "".join(f", {name}={value}" for name, value in settings["parameters"].items())
    return f"{settings['learner']}{given}, C={row['C']:g} (CV)"


def _worse(row: Row) -> list[str]:
    """Return the measures by which data that can be compared did worse than published."""
    if row["status"] != MEASURED or row["published"] is None or row["kind"] not in (EXACT, NEAR):
        return []
    return [
        f"{name_of(row)} ({name}, {row['kind']} data)"
        for name in ("micro", "macro")
        if row["published"][name] > row["interval"][name][1]
    ]


def _is_stand_in(row: Row) -> bool:
    return bool(row["status"] == MEASURED and row["kind"] == STAND_IN)


def name_of(row: Row) -> str:
    """Return the data set and the method of a row."""
    return f"{row['data']}, {row['method']}"
