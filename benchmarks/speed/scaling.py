"""How the time to fit grows with rows, classes and features: FlatSVM and TopDown, each size doubled twice.

Writes docs/_static/scaling.svg. "At most linear": the slope of log seconds over log(rows × classes) is at most 1.15.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from benchmarks.harness import print_rows, write_results
from cladist import FlatSVM, TopDown
from cladist.datasets import Dataset, make_topics
from cladist.files import open_for_writing

FIGURE = Path(__file__).parents[2] / "docs" / "_static" / "scaling.svg"
LEARNERS = {"FlatSVM": FlatSVM, "TopDown": TopDown}
BASE = {"rows": 5_000, "classes": 250, "features": 12_500}
BRANCHING = {250: (5, 5, 10), 500: (5, 10, 10), 1_000: (10, 10, 10)}
FACTORS = (1, 2, 4)
TURNS = 3  # each size is fitted once a turn, so that a busy machine slows all of them; the shortest counts
STEEPEST = 1.15

Row = dict[str, Any]


def sizes() -> list[Row]:
    """Return the base, and each of its sizes doubled and doubled again."""
    grown = [{**BASE, axis: BASE[axis] * factor} for axis in BASE for factor in FACTORS[1:]]
    return [dict(BASE), *grown]


def topics(size: Row) -> Dataset:
    return make_topics(
        n_samples=size["rows"], n_features=size["features"], branching=BRANCHING[size["classes"]], random_state=0
    )


def measured() -> list[Row]:
    """Return the CPU seconds of every learner at every size."""
    data = [topics(size) for size in sizes()]
    rows = [{"learner": name, **size, "CPU s": np.inf} for name in LEARNERS for size in sizes()]
    for learner in LEARNERS.values():
        learner(data[0].taxonomy).fit(data[0].X[:100], data[0].y[:100])  # compiles, or loads what is compiled
    for _ in range(TURNS):
        for row, given in zip(rows, data * len(LEARNERS), strict=True):
            started = time.process_time()
            LEARNERS[row["learner"]](given.taxonomy).fit(given.X, given.y)
            row["CPU s"] = min(row["CPU s"], time.process_time() - started)
    return rows


def along(rows: list[Row], learner: str, axes: tuple[str, ...]) -> tuple[list[int], list[float]]:
    """Return sizes and seconds of a learner's rows that differ from the base in these axes alone."""
    fixed = [axis for axis in BASE if axis not in axes]
    chosen = [row for row in rows if row["learner"] == learner and all(row[axis] == BASE[axis] for axis in fixed)]
    return [int(np.prod([row[axis] for axis in axes])) for row in chosen], [row["CPU s"] for row in chosen]


def slope(rows: list[Row], learner: str, *axes: str) -> float:
    """Return the exponent of the power law through these points; 1 is linear."""
    return float(np.polyfit(*(np.log(values) for values in along(rows, learner, axes)), 1)[0])


def slopes(rows: list[Row]) -> list[Row]:
    found = []
    for learner in LEARNERS:
        both = slope(rows, learner, "rows", "classes")
        each = {axis: slope(rows, learner, axis) for axis in BASE}
        found.append({"slope of": learner, **each, "rows × classes": both, "at most linear": both <= STEEPEST})
    return found


# ---------------------------------------------------------------- the figure

PANEL, LEFT, TOP, BELOW, BETWEEN = 230, 62, 44, 62, 34
COLOURS = {"FlatSVM": "#1f6fb4", "TopDown": "#c2571a"}


def figure(rows: list[Row]) -> str:
    """Draw three panels, log seconds over log size; a dashed line beside each learner's points is linear growth."""
    seconds = [row["CPU s"] for row in rows]
    linear = max(FACTORS[-1] * along(rows, learner, ())[1][0] for learner in LEARNERS)
    low, high = min(seconds) / 1.5, max(linear, *seconds) * 1.5
    width, height = LEFT + 3 * PANEL + 3 * BETWEEN, TOP + PANEL + BELOW
    parts = [f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *legend()]
    for k, axis in enumerate(BASE):
        parts += panel(rows, axis, LEFT + k * (PANEL + BETWEEN), (low, high))
    parts.append(text(16, TOP + PANEL / 2, "CPU seconds", f'transform="rotate(-90 16 {TOP + PANEL / 2})"'))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" fill="#333333" role="img" aria-label="CPU seconds to fit over rows, classes and features">'
        + "".join(parts)
        + "</svg>\n"
    )


def legend() -> list[str]:
    parts, x = [], LEFT
    for learner, colour in COLOURS.items():
        parts += [f'<circle cx="{x + 5}" cy="20" r="4" fill="{colour}"/>', text(x + 16, 24, learner, anchor="start")]
        x += 100
    return [*parts, line((x, 20), (x + 26, 20), 'stroke-dasharray="4 3"'), text(x + 34, 24, "linear", anchor="start")]


def panel(rows: list[Row], axis: str, left: float, limits: tuple[float, float]) -> list[str]:
    ticks = [BASE[axis] * factor for factor in FACTORS]
    span = (ticks[0] / 1.25, ticks[-1] * 1.25)

    def place(size: float, seconds: float) -> tuple[float, float]:
        return left + PANEL * share(size, span), TOP + PANEL * (1 - share(seconds, limits))

    bottom = TOP + PANEL
    parts = [f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{PANEL}" fill="none" stroke="#999999"/>']
    for tick in ticks:
        parts.append(text(place(tick, limits[0])[0], bottom + 18, f"{tick:,}"))
    for tick in decades(limits):
        y = place(ticks[0], tick)[1]
        parts.append(line((left, y), (left + PANEL, y), 'stroke-opacity="0.3"'))
        if axis == next(iter(BASE)):
            parts.append(text(left - 8, y + 4, f"{tick:g}", anchor="end"))
    for learner, colour in COLOURS.items():
        points = [place(*pair) for pair in zip(*along(rows, learner, (axis,)), strict=True)]
        parts += curve(points, colour)
        rise = PANEL * np.log(FACTORS[-1]) / np.log(limits[1] / limits[0])
        end = (points[-1][0], points[0][1] - rise)
        parts.append(line(points[0], end, f'stroke-dasharray="4 3" style="stroke:{colour}"'))
    said = ", ".join(f"{slope(rows, learner, axis):.2f}" for learner in LEARNERS)
    return [*parts, text(left + PANEL / 2, bottom + 36, axis), text(left + PANEL / 2, bottom + 52, f"slopes {said}")]


def share(value: float, limits: tuple[float, float]) -> float:
    return float(np.log(value / limits[0]) / np.log(limits[1] / limits[0]))


def decades(limits: tuple[float, float]) -> list[float]:
    """Return 1, 2 and 5 times every power of ten between the limits."""
    powers = range(int(np.floor(np.log10(limits[0]))), int(np.ceil(np.log10(limits[1]))))
    ticks = [first * 10.0**power for power in powers for first in (1, 2, 5)]
    return [tick for tick in ticks if limits[0] < tick < limits[1]]


def curve(points: list[tuple[float, float]], colour: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]


def line(start: tuple[float, float], end: tuple[float, float], more: str = "") -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="#999999" {more}/>'


def text(x: float, y: float, content: str, more: str = "", *, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{content}</text>'


def main() -> None:
    rows = measured()
    print_rows(rows)
    print()
    found = slopes(rows)
    print_rows(found)
    with open_for_writing(FIGURE) as file:
        file.write(figure(rows).encode())
    write_results(
        "scaling",
        rows,
        data="make_topics, random_state=0; one thread, the shortest of several runs",
        slopes=found,
        steepest_allowed=STEEPEST,
        figure=f"docs/_static/{FIGURE.name}",
    )


if __name__ == "__main__":
    main()
