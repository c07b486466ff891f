"""The study of coverage on the page about metrics, from its results: ``python benchmarks/coverage_table.py``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.coverage import DEFAULTS, METRICS, RESAMPLES, ROWS
from benchmarks.harness import RESULTS
from cladist.files import open_for_writing

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "losses-and-metrics.md"
BEGIN, END = "<!-- coverage: written by benchmarks/coverage_table.py -->", "<!-- end of coverage -->"
KINDS = {"one model": DEFAULTS[False], "difference": DEFAULTS[True]}
Rows = list[dict[str, Any]]


def chosen(rows: Rows, /, **wanted: Any) -> Rows:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def spread(rows: Rows) -> str:
    """Return the lowest and the highest coverage in percent."""
    found = sorted(100 * row["coverage"] for row in rows)
    return f"{found[0]:.1f}–{found[-1]:.1f}"


def by_metric(rows: Rows) -> list[str]:
    """Return the lines of the table of metrics: the lowest and highest coverage over kinds of labels and of models."""
    columns = [f"{method}, {n:,}" for method in ("percentile", "default") for n in ROWS]
    lines = [_line(["metric, rows:", *columns]), _line(["---"] + ["---:"] * len(columns))]
    for kind, default in KINDS.items():
        for metric in METRICS:
            some = chosen(rows, of=kind, metric=metric, resamples=max(RESAMPLES))
            cells = [spread(chosen(some, method=method, rows=n)) for method in ("percentile", default) for n in ROWS]
            lines.append(_line([f"{metric}{', difference' if kind == 'difference' else ''}", *cells]))
    return lines


def by_resamples(rows: Rows) -> list[str]:
    """Return the lines of the table of resamples: means over all settings but macro F1 of all leaves."""
    lines = [_line(["method", "resamples", "coverage", "width"]), _line(["---", "---:", "---:", "---:"])]
    for method, kind in [("percentile", kind) for kind in KINDS] + [(default, kind) for kind, default in KINDS.items()]:
        for n in RESAMPLES:
            some = [row for row in chosen(rows, method=method, of=kind, resamples=n) if "all" not in row["metric"]]
            base = chosen(rows, method="percentile", of=kind, resamples=max(RESAMPLES))
            base = [row for row in base if "all" not in row["metric"]]
            width = np.mean([a["mean width"] / b["mean width"] for a, b in zip(some, base, strict=True)])
            coverage = 100 * np.mean([row["coverage"] for row in some])
            lines.append(_line([f"{method}, {kind}", f"{n:,}", f"{coverage:.1f}", f"{width:.2f}"]))
    return lines


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def filled(text: str) -> str:
    """Return the page with the tables of the results in the repository."""
    content = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))
    rows, size = content["rows"], content["machine"]
    worst = max(row["standard error"] for row in rows if row["coverage"] > 0.9)
    source = (
        f"`{content['command']}`: {content['samples']:,} test sets for each setting ({content['data']}), so a figure "
        f"has a standard error of up to {100 * worst:.1f}; {size['cores']} cores, {size['memory_gib']} GiB."
    )
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    tables = ["\n".join(lines) for lines in (by_metric(rows), by_resamples(rows))]
    return f"{before}{BEGIN}\n\n{tables[0]}\n\n{tables[1]}\n\n{source}\n\n{END}{after}"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with open_for_writing(PAGE) as file:
        file.write(filled(text).encode())
    print(*by_metric(json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))["rows"]), sep="\n")


if __name__ == "__main__":
    main()
