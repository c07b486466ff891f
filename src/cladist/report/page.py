"""A report as one self-contained HTML page without scripts, for light and dark screens."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from cladist._version import __version__
from cladist.metrics import Report
from cladist.report.icicle import STOPS, icicle
from cladist.report.tables import Table, html_table, report_tables

HOW_TO_READ = (
    "Levels go from left to right. The height of a block is the node's number of test rows, its colour the node's F1; "
    "hover over it for the numbers."
)
STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4; --band: #f5f7f9; --none: #e6eaee;
}
@media (prefers-color-scheme: dark) {
  :root { --page: #12161b; --text: #e3e8ee; --soft: #98a3af; --line: #2d343c; --band: #1a2027; --none: #2a313a; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px; }
header p, section > p, footer, dd b { color: var(--soft); }
h1 { font-size: 28px; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
header p { margin: 8px 0 0; }
h2 { font-size: 19px; margin: 44px 0 8px; }
section { overflow-x: auto; }
section > p { margin: 0 0 14px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 16px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); border-bottom-width: 2px; }
th:first-child, td:first-child { text-align: left; padding-left: 8px; }
tbody tr:hover { background: var(--band); }
.side { display: flex; flex-wrap: wrap; gap: 32px 56px; align-items: flex-start; }
.legend { display: flex; align-items: center; gap: 8px; font-size: 13px; color: var(--soft); margin-bottom: 10px; }
.legend i { width: 180px; height: 12px; border-radius: 2px; }
.legend i.none { width: 24px; margin-left: 20px; background: var(--none); }
.icicle { display: block; width: 100%; height: auto; font-family: system-ui, "Segoe UI", sans-serif; }
.icicle text { pointer-events: none; }
.icicle .none { fill: var(--none); }
.icicle .faint { fill: var(--soft); }
.icicle g:hover rect { stroke: var(--text); stroke-width: 1.5; }
dl { margin: 0; }
dt { font-weight: 600; margin-top: 14px; }
dd { margin: 2px 0 0; }
dd b { font-weight: 400; padding: 0 2px; }
code { font: 13px ui-monospace, "Cascadia Mono", monospace; }
code { background: var(--band); padding: 1px 6px; border-radius: 4px; }
footer { margin-top: 56px; font-size: 13px; }
@media print { main { max-width: none; } }
"""


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
