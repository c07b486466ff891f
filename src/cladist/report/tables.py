"""Tables as rows of texts, and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from cladist.metrics import Report


class Table(NamedTuple):
    """A header and rows of cells; `best` holds the (row, column) places that are to stand out."""

    header: list[str]
    rows: list[list[str]]
    best: frozenset[tuple[int, int]] = frozenset()


def report_tables(report: Report) -> list[Table]:
    """Return the tables of a report: its measures, its precision and recall over nodes, and over levels.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import report
    >>> measures, nodes, levels = report_tables(report(["a"], ["a"], Taxonomy.from_paths(["a", "b"])))
    >>> levels.header, levels.rows
    (['level', 'nodes', 'precision', 'recall', 'F1'], [['0', '2', '1.0000', '1.0000', '1.0000']])
    """
    return [_read(lines.split("\n")) for lines in report.to_markdown().split("\n\n")]


def _read(lines: Sequence[str]) -> Table:
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return Table(header, rows)


def html_table(table: Table) -> str:
    """Return a table as HTML, its first column aligned left and the others, numbers, aligned right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    body = "".join(_html_row(table, k, row) for k, row in enumerate(table.rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_row(table: Table, k: int, row: list[str]) -> str:
    cells = (
        f"<td><strong>{escape(cell)}</strong></td>" if (k, column) in table.best else f"<td>{escape(cell)}</td>"
        for column, cell in enumerate(row)
    )
    return f"<tr>{''.join(cells)}</tr>"


def markdown_table(table: Table) -> str:
    """Return a table as Markdown, the best cells in bold.

    Examples
    --------
    >>> print(markdown_table(Table(["method", "F1"], [["a", "0.5"], ["b", "0.6"]], frozenset({(1, 1)}))))
    | method | F1 |
    |---|---:|
    | a | 0.5 |
    | b | **0.6** |
    """
    rows = [
        [f"**{cell}**" if (k, c) in table.best else cell for c, cell in enumerate(row)]
        for k, row in enumerate(table.rows)
    ]
    rule = "|".join(["---", *["---:"] * (len(table.header) - 1)])
    return "\n".join([_line(table.header), f"|{rule}|", *map(_line, rows)])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
