"""The model of all codes as a terminal shows it, as JSON and as a page."""

from __future__ import annotations

from typing import Any

from rich.console import Group

from cladist.cli.demo_icd_codes import BEST, CodeLevel
from cladist.cli.demo_output import circumstances_of, drawn_sample, facts_of
from cladist.cli.terminal import table
from cladist.report import Table, html_report

COLUMNS = {
    "accuracy": ("accuracy", "{:.4f}", max),
    "among_best": (f"right among {BEST}", "{:.4f}", max),
    "tree_induced_error": ("tree-induced error", "{:.4f}", min),
    "same_first": ("same first as all", "{:.4f}", max),
    "rows_a_second": ("rows a second", "{:,.0f}", max),
}


def ways_table(found: CodeLevel) -> Table:
    """Return the table of the ways to ask; the best number of each column is marked."""
    rows = [
        [way.name, *(form.format(way.measures[name]) for name, (_, form, _) in COLUMNS.items())] for way in found.ways
    ]
    best = {
        (k, column)
        for column, (name, (_, _, better)) in enumerate(COLUMNS.items(), start=1)
        for k, way in enumerate(found.ways)
        if way.measures[name] == better(other.measures[name] for other in found.ways)
    }
    return Table(["way", *(heading for heading, _, _ in COLUMNS.values())], rows, frozenset(best))


def told(found: CodeLevel) -> str:
    """Say what the model took."""
    memory = "" if found.peak_bytes is None else f", {found.peak_bytes / 2**30:.1f} GiB of memory at most"
    return (
        f"RecursiveSVM learnt in {found.fit_seconds:,.0f} s to a gap of {found.gap:.1e}{memory}; its model is "
        f"{found.model_bytes / 2**20:,.0f} MiB on disk, and opened mapped in {found.load_seconds:.2f} s."
    )


def drawn(found: CodeLevel, *, quiet: bool = False) -> Group:
    """Return what the terminal shows."""
    if quiet:
        return Group(table(ways_table(found)))
    heading = "\nThe model files these texts, which nobody has labelled:\n"
    return Group(
        f"{facts_of(found.data)}.", told(found), table(ways_table(found)), heading, *map(drawn_sample, found.samples)
    )


def as_json(found: CodeLevel) -> dict[str, Any]:
    """Return everything as plain values."""
    return {
        **circumstances_of(found.data),
        "model": str(found.model),
        "fit_seconds": found.fit_seconds,
        "gap": found.gap,
        "model_bytes": found.model_bytes,
        "load_seconds": found.load_seconds,
        "peak_bytes": found.peak_bytes,
        "ways": [{"name": way.name, "beam": way.beam, **way.measures} for way in found.ways],
        "samples": [sample._asdict() for sample in found.samples],
    }


def page(found: CodeLevel) -> str:
    """Return the web page."""
    return html_report(
        found.ways[0].report,
        title=f"RecursiveSVM on {found.data.source}",
        subtitle=facts_of(found.data) + ".",
        comparison=ways_table(found),
        verdict=told(found),
        samples=found.samples,
    )
