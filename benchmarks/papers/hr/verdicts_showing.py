"""Verdicts as a table shows them."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import NOTHING
from benchmarks.papers.hr.showing import name_of
from benchmarks.papers.rows import MEASURED, Row

MEASURES = {"micro-F1": 2, "macro-F1": 2, "tree-induced error": 3}  # and their digits
HEADER = ["data set, methods", *MEASURES, "published micro / macro", "data"]
REMARK = (
    "HR minus flat, the C of each chosen on the training part: F1 in points, tree-induced error in edges (less is "
    "better). In brackets a 95 % bootstrap interval over test rows, both predictions resampled together. Helps, hurts: "
    "all of the interval is on one side of 0. They tell of other test rows, not of other training rows; of many "
    "intervals, one in twenty misses 0 by chance. † and †† are the paper's p < 5 % and p < 1 %"
)


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells."""
    return list(HEADER), [_line(row) for row in rows]


def remarks(rows: list[Row]) -> list[str]:
    """Return what the figures are, how often which verdict came out, and what was fitted again."""
    said = [f"{REMARK}."]
    judged = [row for row in rows if row["status"] == MEASURED]
    counts = {measure: [row["differences"][measure]["verdict"] for row in judged] for measure in MEASURES}
    if judged:
        each = (f"{name}: {_counted(verdicts)}" for name, verdicts in counts.items())
        said.append(f"Of {len(judged)} comparisons, {'; '.join(each)}.")
    if again := [f"{row['data']}, {method}" for row in judged for method in row["fitted again"]]:
        said.append(f"Fitted again, since no predictions were kept: {'; '.join(again)}.")
    return said


def _counted(verdicts: list[str]) -> str:
    return ", ".join(f"{word} {verdicts.count(word)}" for word in ("helps", "no evidence", "hurts"))


def _line(row: Row) -> list[str]:
    published = NOTHING if row["published"] is None else " / ".join(map(_printed, row["published"].values()))
    if row["status"] != MEASURED:
        return [name_of(row), row["status"], NOTHING, NOTHING, published, NOTHING]
    cells = [_cell(row["differences"][measure], digits) for measure, digits in MEASURES.items()]
    return [name_of(row), *cells, published, row["kind"]]


def _cell(found: dict[str, Any], digits: int) -> str:
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


def _printed(found: dict[str, Any]) -> str:
    return f"{signed(found['difference'], 2)}{found['mark']}"
