"""A report as one self-contained HTML page for light and dark screens, and tables of texts.

Nothing is loaded from anywhere, which a content security policy enforces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from cladist._version import __version__
from cladist.metrics import Report
from cladist.report import error_sections
from cladist.report.automation import SCRIPT as AUTOMATION_SCRIPT
from cladist.report.error_words import key_sentences
from cladist.report.errors import Errors
from cladist.report.figure import shown
from cladist.report.measures import measures_section
from cladist.report.node_map import map_end, map_section
from cladist.report.static_files import content_policy, joined_script, read_static

HOW_TO_READ = "Levels go from left to right. The height of a block is the node's number of test rows."
MODULES = ("tree.js", "icicle.js", "widgets.js", "report.js")
# Pages of other packages have style attributes and no scripts.
PLAIN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page_style() -> str:
    """Return the style of all pages."""
    return "\n" + "".join(map(read_static, ("page.css", "icicle.css", "widgets.css")))


def page_script() -> str:
    """Return the script of a page with a map of nodes."""
    return joined_script(*map(read_static, MODULES))


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
    errors: Errors | None = None,
    texts: Callable[[int], str] | None = None,
    words: Mapping[int, Mapping[str, float]] | None = None,
) -> str:
    """Return a web page that shows where a model fails: one file that loads nothing.

    It opens with what matters in words, and has a map of all nodes that zooms, the confusions by cost, the worst nodes,
    errors by depth and by frequency of the class, and every measure with its meaning.

    Parameters
    ----------
    report : Report
        What `cladist.metrics.report` returns.
    title, subtitle : str
        The heading, and the line below it, which defaults to the sizes of the report.
    comparison : Table, optional
        A comparison of several methods, which is shown first.
    verdict : str
        The sentence below the comparison.
    samples : sequence of Sample
        Texts with their predictions, which are shown last.
    automation : str
        The section that `automation_section` returns.
    errors : Errors, optional
        What `find_errors` returns for the same rows; without it the page has no confusions and no costs.
    texts : function of a row, optional
        The text of a row, from 0, to show errors with.
    words : mapping of rows to mappings of words to numbers, optional
        What the words of some rows add to the lead of the prediction over the truth; see `sample_rows`.
    """
    taxonomy = report.counts.taxonomy
    sections = []
    if comparison is not None:
        sections.append(_section("Comparison", html_table(comparison), verdict))
    if errors is not None:
        items = "".join(f"<li>{shown(sentence)}</li>" for sentence in key_sentences(report, errors))
        sections.append(_section("What matters", f'<ul class="key-points">{items}</ul>'))
    what = "error cost: the edges between truth and prediction, per row" if errors is not None else "F1"
    sections.append(_section("Map of errors" if errors is not None else "Node by node", map_section(report, errors),
                             f"{HOW_TO_READ} Its colour is its {what}."))  # fmt: skip
    if errors is not None and errors.n_errors:
        sections += _error_sections(report, errors, texts, words or {})
    if automation:
        note = "Each row is filed at the deepest node whose probability reaches the level of confidence."
        sections.append(_section("How much can be automated?", automation, note))
    if errors is None or not errors.n_errors:
        sections.append(_section("Level by level", html_table(Table(*report.tables()[2])), "Level 0 holds the roots."))
    sections.append(_section("Measures", measures_section(report)))
    if samples:
        sections.append(_section("Predictions for new texts", f"<dl>{''.join(map(_sample, samples))}</dl>"))
    facts = subtitle or f"{report.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
    script = page_script()
    # The script follows the map, so that the picture is drawn before the rest of a long page is read.
    k = next(k for k, section in enumerate(sections) if 'id="tree-data"' in section)
    sections[k] += f"<script>{script}</script>"
    scripts = [script, AUTOMATION_SCRIPT] if automation else [script]
    return _document(title, "".join(sections), facts, content_policy(scripts, page_style()), map_end(report, errors))


def _error_sections(
    report: Report,
    errors: Errors,
    texts: Callable[[int], str] | None,
    words: Mapping[int, Mapping[str, float]],
) -> list[str]:
    note = "Sorted by cost: rows times edges. Open one to see its labels"
    note += " and rows." if texts is not None else "."
    if words:
        note += " Blue words speak for the prediction, orange ones for the truth."
    by_node = error_sections.worst_nodes(report, errors)
    return [
        _section("Confusions", error_sections.confusion_sections(errors, texts, words), note),
        _section("Where paths go wrong", error_sections.wrong_turns(errors),
                 "The node below which truth and prediction part."),
        _section("Labels whose errors cost most", by_node),
        _section("Errors by depth", error_sections.depth_section(report, errors)),
        _section("Errors by frequency of the class", error_sections.frequency_section(errors),
                 "Rows are counted in the data of this report, not in those of training."),
    ]  # fmt: skip


def plain_page(title: str, content: str, facts: str = "") -> str:
    """Return a web page without scripts, for light and dark screens: a title, a line of facts, and HTML."""
    return _document(title, content, facts, PLAIN_POLICY)


def _document(title: str, content: str, facts: str, policy: str, end: str = "") -> str:
    line = f"<p>{shown(facts)}</p>" if facts else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{shown(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{page_style()}</style></head>\n'
        f"<body><main><header><h1>{shown(title)}</h1>{line}</header>\n{content}"
        f"<footer>cladist {__version__}</footer></main>{end}</body></html>\n"
    )


def _section(heading: str, content: str, note: str = "") -> str:
    paragraph = f'<p class="note">{shown(note)}</p>' if note else ""
    return f"<section><h2>{shown(heading)}</h2>{paragraph}{content}</section>\n"


def _sample(sample: Sample) -> str:
    *above, last = map(shown, sample.titles)
    path = "".join(f"{part} <b>›</b> " for part in above)
    label = "" if sample.titles[-1] == sample.label else f" <code>{shown(sample.label)}</code>"
    last = f"<strong>{last}</strong>" if sample.is_sure else last
    remark = f" <i>{sample.remark}</i>" if sample.remark else ""
    return f"<dt>{shown(sample.text)}</dt><dd>{path}{last}{label}{remark}</dd>"


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
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


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
