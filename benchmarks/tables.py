"""Tables in words: what a paper printed beside what was measured, the same columns for all papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.cells import MEASURED, NOT_YET, REFUSED, STOPPED, Cell
from benchmarks.data_sets import EXACT, NEAR, NOT_TO_BE_HAD
from benchmarks.papers.published import Cell as Printed
from cladist.report import Table, markdown_table

NOTHING, UNCERTAIN = "—", " (!)"
HEADER = [
    "data set, method",
    "published",
    "measured",
    "95 % interval",
    "data",
    "settings, how chosen",
    "seconds",
    "MiB",
]
NOT_SETTINGS = ("resamples", "n_train", "n_test", "shuffles", "sets")  # of the protocol, the same for all cells
Formats = Mapping[str, str]  # measure → how it is shown


class Part(NamedTuple):
    """A table in words with its title and the remarks on it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    remarks: list[str]


def joined(values: Mapping[str, Any] | None, formats: Formats) -> str:
    """Return values in the order of their formats; a dash for what is missing.

    Examples
    --------
    >>> joined({"micro": 77.531, "macro": None}, {"micro": ".2f", "macro": ".2f"})
    '77.53 / —'
    """
    found = [None if values is None else values.get(name) for name in formats]
    if all(value is None for value in found):
        return NOTHING
    return " / ".join(
        NOTHING if value is None else format(value, how) for value, how in zip(found, formats.values(), strict=True)
    )


def printed_values(cells: Mapping[str, Printed], formats: Formats) -> str:
    """Return what a paper printed; marked if a cell is doubtful."""
    doubt = any(cells[name].uncertain for name in formats if name in cells)
    return joined({name: cell.value for name, cell in cells.items()}, formats) + (UNCERTAIN if doubt else "")


def intervals(cell: Cell, formats: Formats) -> str:
    """Return the intervals of a cell."""
    found = cell.get("interval", {})
    ends = {
        name: f"{low:{formats[name]}}–{high:{formats[name]}}" for name, (low, high) in found.items() if name in formats
    }
    return joined(ends, dict.fromkeys(formats, ""))


def line(
    name: str,
    published: str,
    cell: Cell | None,
    formats: Formats,
    *,
    kind: str = "",
    values: Callable[[Cell], Mapping[str, Any]] | None = None,
    spread: Callable[[Cell], str] | None = None,
) -> list[str]:
    """Return a line with the columns of `HEADER`.

    Parameters
    ----------
    name, published : str
        The first two columns.
    cell : Cell or None
        What was measured; None: nothing yet.
    formats : mapping
        The measures to show.
    kind : str
        How near the data are to the paper's, if the cell does not say it.
    values, spread : callable, optional
        What to show of a cell instead of its measures and its intervals.
    """
    if cell is None or cell["status"] != MEASURED:
        return [name, published, state(cell, kind), NOTHING, kind or NOTHING, *[NOTHING] * 3]
    return [
        name,
        published,
        joined(values(cell) if values else cell["measured"], formats),
        spread(cell) if spread else intervals(cell, formats),
        cell.get("kind", kind),
        told_settings(cell),
        NOTHING if fit_seconds(cell) is None else f"{fit_seconds(cell):.1f}",
        f"{cell['peak_memory_mib']:,}" if "peak_memory_mib" in cell else NOTHING,
    ]


def state(cell: Cell | None, kind: str = "") -> str:
    """Return why there are no figures."""
    if cell is None:
        return NOTHING if kind == NOT_TO_BE_HAD else NOT_YET
    if cell["status"] == STOPPED:
        return f"more than {cell['limit_s']:g} CPU s"
    return (
        f"{REFUSED}: {cell['reason'].splitlines()[0].replace('|', ' ')}"
        if cell["status"] == REFUSED
        else cell["status"]
    )


def told_settings(cell: Cell) -> str:
    """Return the learner, its parameters and how they were chosen."""
    settings = cell["settings"]
    plain = {} if "learner" in settings else {k: v for k, v in settings.items() if k not in NOT_SETTINGS}
    chosen = {"C": cell["C"]} if "C" in cell else cell.get("chosen", {})
    given = {**plain, **settings.get("parameters", {}), **chosen}
    words = [settings["learner"]] if "learner" in settings else []
    words += [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in given.items()]
    return f"{', '.join(words)}; {_how(settings.get('chosen by', ''))}"


def _how(chosen_by: str) -> str:
    if "cross-validation" in chosen_by:
        return "5-fold CV" if "5-fold" in chosen_by else "3-fold CV"
    return "a quarter held out" if "held out" in chosen_by else "nothing tuned"


def fit_seconds(cell: Cell) -> float | None:
    """Return the seconds of the last fit."""
    found = cell.get("seconds")
    return found["fit"] if isinstance(found, dict) else found


def told_time(value: float | None, other: float | None, unit: str, title: str) -> str:
    """Return a time, and how many times another method's it is.

    Examples
    --------
    >>> told_time(0.42, 0.15, "min", "SVM"), told_time(3.0, None, "s", "")
    ('0.42 min = 2.80 × SVM', '3 s')
    """
    if value is None:
        return NOTHING
    shown = f"{round(value, 2) if unit == 's' else value:.7g} {unit}"
    return f"{shown} = {value / other:.2f} × {title}" if other else shown


def is_worse(printed: float | None, cell: Cell | None, measure: str, kind: str = "", tolerance: float = 0.0) -> bool:
    """Tell whether a published score lies above our interval, on data that can be compared."""
    if printed is None or cell is None or cell["status"] != MEASURED or cell.get("kind", kind) not in (EXACT, NEAR):
        return False
    return bool(printed - tolerance > cell["interval"][measure][1])


def doubts(name: str, cells: Mapping[str, Printed]) -> list[str]:
    """Return what is doubtful about printed cells."""
    return [f"(!) {name}: {text}" for text in dict.fromkeys(c.uncertain for c in cells.values() if c.uncertain)]


def in_markdown(part: Part) -> str:
    """Return a table with its title and remarks as Markdown."""
    table = [markdown_table(Table(part.header, part.rows))] if part.rows else [f"{NOT_YET.capitalize()}."]
    return "\n\n".join([f"### {part.title}", *table, *part.remarks])
