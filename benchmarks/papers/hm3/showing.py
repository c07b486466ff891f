"""The paper's three tables as text: each figure published, and ours beside it."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Part
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED, Row

NOTHING = "—"
STAND_IN = "The rows measured are a stand-in for RCV1: 6,000 of its stories over 944 words, not the paper's documents."


def table(rows: list[Row], methods: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return Table 2 with header."""
    part = part_of("table 2", rows, methods)
    return part.header, part.rows


def remarks() -> list[str]:
    """Return what must be said of all three."""
    return [
        "A cell is published → measured; ℓ_0/1, P, R and F1 in %, P and R over all nodes; 95 % bootstrap intervals of "
        "ours in the file.",
        STAND_IN,
    ]


def part_of(name: str, rows: list[Row], methods: dict[str, Any]) -> Part:
    """Return one of the paper's tables."""
    printed = read("hm3").tables[name]
    key = printed.keys[1]
    title_of = {m.title: m.training_loss if key == "training loss" else m.title for m in methods.values()}
    lines = []
    for row in rows:
        title = title_of[row["method"]]
        if title is None or (row["data"], title) not in printed.rows:
            continue
        ours = {**row["measured"], **row["levels"]} if row["status"] == MEASURED else {}
        cells = [_cell(printed.rows[row["data"], title][column].value, ours.get(column)) for column in printed.columns]
        status = f"{row['seconds']:.1f}" if row["status"] == MEASURED else row["status"]
        lines.append([row["data"], title, *cells, status])
    return Part(printed.title, ["data", key, *printed.columns, "s"], lines, [])


def _cell(published: float | None, measured: float | None) -> str:
    return (
        f"{NOTHING if published is None else f'{published:g}'} → {NOTHING if measured is None else f'{measured:.3g}'}"
    )
