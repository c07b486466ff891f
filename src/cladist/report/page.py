"""A report as one self-contained HTML page for light and dark screens, and tables of texts.

It has a script only where `automation_section` adds one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from cladist._version import __version__
from cladist.metrics import Report
from cladist.report.icicle import STOPS, icicle

HOW_TO_READ = (
    "Levels go from left to right. The height of a block is the node's number of test rows, its colour the node's F1; "
    "hover over it for the numbers."
)
STYLE = "\n" + Path(__file__).with_name("page.css").read_text(encoding="utf-8")


class Sample(NamedTuple):
    """A text, the label predicted for it, and the titles of the nodes on its path.

    `confidence` is the probability of the label, None if it is not known; a label that `is_sure` is not is a guess that
    a person should look at.
    """

    text: str
    label: str
    titles: list[str]
    confidence: float | None = None
    is_sure: bool = True

    @property
    def remark(self) -> str:
        """How sure the label is, in words; "" if that is not known."""
        if self.confidence is None:
            return ""
        return f"{self.confidence:.0%}" if self.is_sure else f"unsure, for a person; a guess of {self.confidence:.0%}"


def html_report(
    report: Report,
    *,
    title: str,
    subtitle: str = "",
    comparison: Table | None = None,
    verdict: str = "",
    samples: Sequence[Sample] = (),
    automation: str = "",
) -> str:
    """Return a web page with the tables of a report and the icicle plot of its taxonomy.

    The subtitle defaults to the sizes of the report. A comparison of several methods is shown first, with the sentence
    `verdict` below it and instead of the report's own measures; `samples` are shown last. `automation` is the section
    that `automation_section` returns.
    """
    measures, nodes, levels = (Table(*content) for content in report.tables())
    if comparison is not None:
        sections = [_section("Comparison", html_table(comparison), verdict)]
    else:
        sections = [_section("Measures", f'<div class="side">{html_table(measures)}{html_table(nodes)}</div>')]
    if automation:
        note = "Each row is filed at the deepest node whose probability reaches the level of confidence."
        sections.append(_section("How much can be automated?", automation, note))
    sections.append(_section("Level by level", html_table(levels), "Level 0 holds the roots."))
    stops = ", ".join(f"#{stop}" for stop in STOPS)
    legend = (
        f'<div class="legend"><span>F1 0</span><i style="background: linear-gradient(to right, {stops})"></i>'
        '<span>1</span><i class="none"></i><span>no test rows</span></div>'
    )
    sections.append(_section("Node by node", legend + icicle(report), HOW_TO_READ))
    if samples:
        sections.append(_section("Predictions for new texts", f"<dl>{''.join(map(_sample, samples))}</dl>"))
    taxonomy = report.counts.taxonomy
    facts = subtitle or f"{report.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
    return plain_page(title, "".join(sections), facts)


def plain_page(title: str, content: str, facts: str = "") -> str:
    """Return a web page for light and dark screens: a title, a line of facts, and HTML."""
    line = f"<p>{escape(facts)}</p>" if facts else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><main><header><h1>{escape(title)}</h1>{line}</header>\n{content}"
        f"<footer>cladist {__version__}</footer></main></body></html>\n"
    )


def _section(heading: str, content: str, note: str = "") -> str:
    paragraph = f"<p>{escape(note)}</p>" if note else ""
    return f"<section><h2>{escape(heading)}</h2>{paragraph}{content}</section>\n"


def _sample(sample: Sample) -> str:
    *above, last = map(escape, sample.titles)
    path = "".join(f"{part} <b>›</b> " for part in above)
    label = "" if sample.titles[-1] == sample.label else f" <code>{escape(sample.label)}</code>"
    last = f"<strong>{last}</strong>" if sample.is_sure else last
    remark = f" <i>{sample.remark}</i>" if sample.remark else ""
    return f"<dt>{escape(sample.text)}</dt><dd>{path}{last}{label}{remark}</dd>"


class Table(NamedTuple):
    """A header and rows of cells; `best` holds the (row, column) positions to highlight."""

    header: list[str]
    rows: list[list[str]]
    best: frozenset[tuple[int, int]] = frozenset()


def table_of_measures(
    heading: str,
    columns: Mapping[str, tuple[str, str, Callable[..., Any]]],
    rows: Sequence[tuple[str, Mapping[str, float]]],
) -> Table:
    """Return a table with one row per name, headed by `heading`, whose best values are highlighted.

    `columns` has for each measure its heading, its format, and `max` or `min`, whichever finds the best value.
    """
    cells = [[name, *(form.format(row[key]) for key, (_, form, _) in columns.items())] for name, row in rows]
    best = {
        (k, column)
        for column, (key, (_, _, choose)) in enumerate(columns.items(), start=1)
        for k, (_, row) in enumerate(rows)
        if row[key] == choose(other[key] for _, other in rows)
    }
    return Table([heading, *(title for title, _, _ in columns.values())], cells, frozenset(best))


def html_table(table: Table) -> str:
    """Return a table as HTML, with the best cells in bold."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = _highlight(table, "<strong>{}</strong>", escape)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def markdown_table(table: Table) -> str:
    """Return a table as Markdown, with the best cells in bold."""
    rule = "|".join(["---", *["---:"] * (len(table.header) - 1)])
    lines = [f"| {' | '.join(row)} |" for row in (table.header, *_highlight(table, "**{}**", str))]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _highlight(table: Table, bold: str, encode: Callable[[str], str]) -> list[list[str]]:
    return [
        [bold.format(encode(cell)) if (k, column) in table.best else encode(cell) for column, cell in enumerate(row)]
        for k, row in enumerate(table.rows)
    ]
