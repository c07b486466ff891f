"""A report as one self-contained HTML page without scripts, for light and dark screens."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from cladist._version import __version__
from cladist.metrics import Report
from cladist.report.icicle import STOPS, icicle
from cladist.report.tables import Table, html_table, report_tables

HOW_TO_READ = (
    "Levels go from left to right. The height of a block is the node's number of test rows, its colour the node's F1; "
    "hover over it for the numbers."
)
STYLE = "\n" + Path(__file__).with_name("page.css").read_text(encoding="utf-8")


class Sample(NamedTuple):
    """A text, the label predicted for it, and the titles of the nodes on its path."""

    text: str
    label: str
    titles: list[str]


def html_report(
    report: Report,
    *,
    title: str,
    subtitle: str = "",
    comparison: Table | None = None,
    verdict: str = "",
    samples: Sequence[Sample] = (),
) -> str:
    """Return a web page with the tables of a report and the icicle plot of its taxonomy.

    Parameters
    ----------
    report : Report
        The report to show.
    title, subtitle : str
        The headings; the subtitle defaults to the sizes of the report.
    comparison : Table, optional
        A comparison of several methods, shown first and instead of the report's own measures.
    verdict : str
        A sentence below the comparison.
    samples : sequence of Sample
        Texts with their predicted paths, shown last.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import report
    >>> page = html_report(report(["a"], ["a"], Taxonomy.from_paths(["a", "b"])), title="A & B")
    >>> page.startswith("<!doctype html>"), "<h1>A &amp; B</h1>" in page
    (True, True)
    """
    measures, nodes, levels = report_tables(report)
    if comparison is not None:
        sections = [_section("Comparison", html_table(comparison), verdict)]
    else:
        sections = [_section("Measures", f'<div class="side">{html_table(measures)}{html_table(nodes)}</div>')]
    sections.append(_section("Level by level", html_table(levels), "Level 0 holds the roots."))
    sections.append(_section("Node by node", _legend() + icicle(report), HOW_TO_READ))
    if samples:
        sections.append(_section("Predictions for new texts", f"<dl>{''.join(map(_sample, samples))}</dl>"))
    taxonomy = report.counts.taxonomy
    facts = subtitle or f"{report.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><main><header><h1>{escape(title)}</h1><p>{escape(facts)}</p></header>\n"
        f"{''.join(sections)}<footer>cladist {__version__}</footer></main></body></html>\n"
    )


def _section(heading: str, content: str, note: str = "") -> str:
    paragraph = f"<p>{escape(note)}</p>" if note else ""
    return f"<section><h2>{escape(heading)}</h2>{paragraph}{content}</section>\n"


def _legend() -> str:
    stops = ", ".join(f"#{stop}" for stop in STOPS)
    return (
        f'<div class="legend"><span>F1 0</span><i style="background: linear-gradient(to right, {stops})"></i>'
        '<span>1</span><i class="none"></i><span>no test rows</span></div>'
    )


def _sample(sample: Sample) -> str:
    *above, last = map(escape, sample.titles)
    path = "".join(f"{part} <b>›</b> " for part in above)
    label = "" if sample.titles[-1] == sample.label else f" <code>{escape(sample.label)}</code>"
    return f"<dt>{escape(sample.text)}</dt><dd>{path}<strong>{last}</strong>{label}</dd>"
