"""How results look in notebooks: HTML tables and trees in the colours of the notebook, and pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 20  # of a table
MOST_NODES = 300  # of a tree
OPEN_LEVELS = 2  # of a tree, at first
PLAIN = "color: inherit; background: transparent; border-collapse: collapse; margin: 0 0 1em"
CELL = "padding: 0.15em 0.8em; border-bottom: 1px solid rgba(128, 128, 128, 0.3)"


def html_rows(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], n_rows: int | None = None) -> str:
    """Return a title and a table of the first rows; `n_rows` is the number of all, if it is not that of `rows`."""
    total, shown = len(rows) if n_rows is None else n_rows, rows[:MOST_ROWS]
    lines = [_row("th", header), *(_row("td", row) for row in shown)]
    more = f"<p>… {total - len(shown):,} more rows</p>" if total > len(shown) else ""
    head = f"<p><strong>{escape(title)}</strong></p>" if title else ""
    return f"<div class='cladist'>{head}<table style='{PLAIN}'>{''.join(lines)}</table>{more}</div>"


def _row(tag: str, cells: Iterable[object]) -> str:
    def align(k: int, cell: object) -> str:
        return "right" if k and tag == "td" and isinstance(cell, int | float) else "left"

    parts = (
        f"<{tag} style='{CELL}; text-align: {align(k, cell)}'>{escape(_text(cell))}</{tag}>"
        for k, cell in enumerate(cells)
    )
    return f"<tr>{''.join(parts)}</tr>"


def _text(cell: object) -> str:
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= 100 else f"{text[:100]}…"


def html_tree(title: str, roots: Sequence[int], children: Callable[[int], Sequence[int]], name_of: Any) -> str:
    """Return a title and a tree whose branches can be opened and closed."""
    left = [MOST_NODES]

    def branch(nodes: Sequence[int], level: int) -> str:
        parts = []
        for k, node in enumerate(nodes):
            if left[0] <= 0:
                parts.append(f"<li>… {len(nodes) - k:,} more</li>")
                break
            left[0] -= 1
            below, name = children(node), escape(_text(name_of(node)))
            inner = branch(below, level + 1) if len(below) else ""
            opened = " open" if level + 1 < OPEN_LEVELS else ""
            parts.append(
                f"<li><details{opened}><summary>{name}</summary>{inner}</details></li>" if inner else f"<li>{name}</li>"
            )
        return f"<ul style='margin: 0; padding-left: 1.4em'>{''.join(parts)}</ul>"

    return f"<div class='cladist'><p><strong>{escape(title)}</strong></p>{branch(roots, 0)}</div>"


def frame(columns: dict[str, Any]) -> Any:
    """Return a pandas DataFrame."""
    import pandas as pd

    return pd.DataFrame(columns)
