"""Rows as the table shows them: published beside measured, stand-ins in a column of their own."""

from __future__ import annotations

from benchmarks.papers.hr.data_sets import STAND_IN
from benchmarks.papers.hr.showing import NOTHING, name_of
from benchmarks.papers.rows import MEASURED, Row, sources

HEADER = [
    "data set, method",
    "published",
    "measured",
    STAND_IN,
    "95 % of F1",
    "chosen",
    "rounds",
    "support rows",
    "published s",
    "fit s",
    "MiB",
]
MEASURES = (
    "Precision / recall / F1 of all nodes, tops included, counts added up. Intervals: bootstrap over test rows. "
    "Settings: chosen one after the other by F1 on a quarter of the training part held out. Seconds: CPU in Matlab, as "
    "published; our fit with these settings, one core. MiB: peak of the whole process"
)
LEAST_DIFFERENCE = 0.01  # the paper's F1 are rounded, and some differ from 2PR/(P + R) by more than that


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells."""
    return list(HEADER), [_line(row) for row in rows]


def remarks(rows: list[Row]) -> list[str]:
    """Return what must be said of a table: what its figures are, where ours are worse, what was tried, what is old."""
    said = [f"{MEASURES}."]
    for row in (row for row in rows if is_lower(row)):
        tried = "; ".join(_tried(entry) for entry in row["tried"])
        said.append(f"{name_of(row)}: F1 lies below the published one. Tried on the held-out part: {tried}.")
    if old := [name_of(row) for row in rows if row["status"] == MEASURED and row["sources"] != sources()]:
        said.append(f"Measured with other sources of cladist (--again measures anew): {'; '.join(old)}.")
    return said


def is_lower(row: Row) -> bool:
    """Tell whether our interval lies below the published F1, on data that can be compared."""
    if row["status"] != MEASURED or row["published"] is None or row["kind"] == STAND_IN:
        return False
    return bool(row["interval"]["F1"][1] < row["published"]["F1"] - LEAST_DIFFERENCE)


def _line(row: Row) -> list[str]:
    published = row["published"]
    printed = NOTHING if published is None else " / ".join(f"{published[name]:.2f}" for name in ("P", "R", "F1"))
    seconds = NOTHING if published is None or published["seconds"] is None else f"{published['seconds']:g}"
    if row["status"] != MEASURED:
        return [name_of(row), printed, row["status"], *[NOTHING] * 5, seconds, *[NOTHING] * 2]
    figures = " / ".join(f"{row['measured'][name]:.3f}" for name in ("P", "R", "F1"))
    low, high = row["interval"]["F1"]
    return [
        name_of(row),
        printed,
        *([NOTHING, figures] if row["kind"] == STAND_IN else [figures, NOTHING]),
        f"{low:.3f}–{high:.3f}",
        ", ".join(f"{name}={value}" for name, value in row["chosen"].items()),
        f"{row['iterations']:,}",
        NOTHING if row["support rows"] is None else f"{row['support rows']:,}",
        seconds,
        f"{row['seconds']['fit']:.1f}",
        f"{row['peak_memory_mib']:,}",
    ]


def _tried(entry: Row) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in entry.items() if name != "F1")
    return f"{settings} → {entry['F1']:.3f}"
