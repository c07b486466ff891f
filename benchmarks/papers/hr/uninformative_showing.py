"""What a tree that says nothing costs, as a table shows it: a line a data set and loss, over seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.hr.verdicts_showing import signed
from benchmarks.papers.rows import MEASURED, Row

POINT = 1.0  # what a tree that says nothing may cost
HEADER = [
    "data set, methods",
    "flat accuracy",
    "HR minus flat, seed by seed",
    "mean ± standard error",
    "within a point",
]
REMARK = (
    "Accuracy in %, differences in points; C chosen by each learner itself (C='cv') on the training part, with "
    "'sharing chosen' the `sharing` of HR, too (sharing='cv'; the paper's problem has 1). Within a point: the mean's "
    "size is at most 1"
)


def table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells; rows that are not measured are left out."""
    return list(HEADER), [_line(name, found) for name, found in summary(rows).items()]


def remarks(rows: list[Row]) -> list[str]:
    """Return what the figures are, and what could not be measured."""
    missing = [f"{row['data']}, {row['method']}: {row['status']}" for row in rows if row["status"] != MEASURED]
    return [f"{REMARK}.", *missing]


def summary(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """Return the differences of each data set and loss over its seeds, their mean and its standard error."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == MEASURED:
            by_name.setdefault(f"{row['settings']['data']}, {row['method']}", []).append(row)
    return {name: _summed(sorted(found, key=lambda row: row["settings"]["seed"])) for name, found in by_name.items()}


def _summed(rows: list[Row]) -> dict[str, Any]:
    gained = [row["difference"] for row in rows]
    error = float(np.std(gained, ddof=1) / np.sqrt(len(gained))) if len(gained) > 1 else None
    return {
        "flat accuracy": round(float(np.mean([row["accuracy"]["flat"] for row in rows])), 2),
        "differences": gained,
        "mean": round(float(np.mean(gained)), 4),
        "standard error": None if error is None else round(error, 4),
    }


def _line(name: str, found: dict[str, Any]) -> list[str]:
    error = found["standard error"]
    return [
        name,
        f"{found['flat accuracy']:.1f}",
        " ".join(signed(gained, 2) for gained in found["differences"]),
        signed(found["mean"], 2) + ("" if error is None else f" ± {error:.2f}"),
        "yes" if abs(found["mean"]) <= POINT else "no",
    ]
