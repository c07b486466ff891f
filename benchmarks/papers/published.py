"""The papers' tables as they were printed: ``papers/<paper>/published.json``, one file a paper.

A cell is a number, null where nothing is printed, or an object with `value` and what else is known of it: `std`,
`mark` (as printed: bold, †, ††) and `uncertain`, the reason why value or place may be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Cell:
    """One printed number; None where the table has a gap."""

    value: float | None
    std: float | None = None
    mark: str = ""
    uncertain: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """One table: rows by the texts of their key columns, in the paper's order."""

    name: str
    title: str
    unit: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    remarks: tuple[str, ...]
    rows: dict[tuple[str, ...], dict[str, Cell]]

    def cell(self, *key: str, column: str) -> Cell:
        """Return one cell.

        Examples
        --------
        >>> read("hr").tables["table 3"].cell("CLEF", column="SVM micro-F1").value
        77.53
        """
        return self.rows[key][column]

    def cells(self) -> Iterator[tuple[tuple[str, ...], str, Cell]]:
        """Yield every cell with its row's key and its column, in the paper's order."""
        for key, row in self.rows.items():
            for column, cell in row.items():
                yield key, column, cell


@dataclass(frozen=True)
class Paper:
    """What a paper printed."""

    paper: str
    title: str
    methods: str
    data: tuple[str, ...]
    statements: tuple[str, ...]
    remarks: tuple[str, ...]
    tables: dict[str, PublishedTable]


def read(name: str) -> Paper:
    """Read the tables of the paper in this folder, such as "hr"; a row that lacks a cell is an error."""
    path = FOLDER / name / "published.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    tables = {table: _table(table, found) for table, found in content["tables"].items()}
    lists = {part: tuple(content[part]) for part in ("data", "statements", "remarks")}
    return Paper(content["paper"], content["title"], content["methods"], **lists, tables=tables)


def names() -> list[str]:
    """Return the folders of the papers whose tables there are.

    Examples
    --------
    >>> names()
    ['hieron', 'hm3', 'hmc', 'hr', 'hrls', 'sp']
    """
    return sorted(path.parent.name for path in FOLDER.glob("*/published.json"))


def _table(name: str, content: dict[str, Any]) -> PublishedTable:
    keys, columns = tuple(content["keys"]), tuple(content["columns"])
    rows: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in content["rows"]:
        if tuple(row) != keys + columns:
            raise ValueError(f"{name}: wanted the cells {keys + columns}, got {tuple(row)}.")
        key = tuple(row[k] for k in keys)
        if key in rows:
            raise ValueError(f"{name}: two rows are called {key}.")
        rows[key] = {column: _cell(row[column]) for column in columns}
    return PublishedTable(name, content["title"], content["unit"], keys, columns, tuple(content["remarks"]), rows)


def _cell(content: Any) -> Cell:
    return Cell(**content) if isinstance(content, dict) else Cell(content)
