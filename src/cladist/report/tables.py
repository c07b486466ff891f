"""Tables of texts, as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from cladist.metrics import Report


class Table(NamedTuple):
    """A header and rows of cells; `best` holds the (row, column) positions to highlight."""

    header: list[str]
    rows: list[list[str]]
    best: frozenset[tuple[int, int]] = frozenset()


def report_tables(report: Report) -> list[Table]:
    """Return the tables of a report: its measures, precision and recall over nodes, and the same over levels.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import report
    >>> measures, nodes, levels = report_tables(report(["a"], ["a"], Taxonomy.from_paths(["a", "b"])))
    >>> levels.header, levels.rows
    (['level', 'nodes', 'precision', 'recall', 'F1'], [['0', '2', '1.0000', '1.0000', '1.0000']])
    """
    return [Table(header, rows) for header, rows in report.tables()]


def table_of_measures(
    heading: str,
    columns: Mapping[str, tuple[str, str, Callable[..., Any]]],
    rows: Sequence[tuple[str, Mapping[str, float]]],
) -> Table:
    """Return a table with one row per name, whose best values are highlighted.

    Parameters
    ----------
    heading : str
        The heading of the names.
    columns : mapping
        For each measure its heading, its format, and `max` or `min`, whichever finds the best value.
    rows : sequence of (name, measures)
        The content.

    Examples
    --------
    >>> table_of_measures("method", {"f1": ("F1", "{:.1f}", max)}, [("a", {"f1": 0.5}), ("b", {"f1": 0.6})])
    Table(header=['method', 'F1'], rows=[['a', '0.5'], ['b', '0.6']], best=frozenset({(1, 1)}))
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
    """Return a table as Markdown, with the best cells in bold.

    Examples
    --------
    >>> print(markdown_table(Table(["method", "F1"], [["a", "0.5"], ["b", "0.6"]], frozenset({(1, 1)}))))
    | method | F1 |
    |---|---:|
    | a | 0.5 |
    | b | **0.6** |
    """
    rule = "|".join(["---", *["---:"] * (len(table.header) - 1)])
    lines = [f"| {' | '.join(row)} |" for row in (table.header, *_highlight(table, "**{}**", str))]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _highlight(table: Table, bold: str, encode: Callable[[str], str]) -> list[list[str]]:
    return [
        [bold.format(encode(cell)) if (k, column) in table.best else encode(cell) for column, cell in enumerate(row)]
        for k, row in enumerate(table.rows)
    ]
