"""Columns and cells of tables: where the wanted columns are, the text of a cell, and errors that name one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from cladist.datasets.dataset import MOST_LABELS
from cladist.errors import DatasetError, quoted
from cladist.files import Source, display_name
from cladist.files.delimited import MOST_COLUMNS
from cladist.taxonomy.structure import as_text, is_missing

Row = tuple[int, Any]  # its line or number, and the values of the wanted columns

NAMES_SHOWN = 20
TOO_MANY_LABELS = f"more than {MOST_LABELS:,} labels, which is the most that a row may have."


def check_column(source: Source, line: int, column: str, there: Iterable[str]) -> None:
    """Raise a `DatasetError` unless a column is among those that a record has.

    Examples
    --------
    >>> check_column("t.csv", 1, "titel", ["title", "label"])
    Traceback (most recent call last):
    cladist.errors.DatasetError: t.csv, line 1: there is no column 'titel'; there are 'title', 'label'.
    """
    if column not in there:
        raise no_column(f"{display_name(source)}, line {line}", column, list(there))


def no_column(where: str, column: str, there: Sequence[str], hint: str = "") -> DatasetError:
    """Return the error about a column that is missing, which lists those that there are."""
    names = ", ".join(quoted(name) for name in there[:NAMES_SHOWN]) or "none"
    more = f" and {len(there) - NAMES_SHOWN:,} more" if len(there) > NAMES_SHOWN else ""
    return DatasetError(f"{where}: there is no column {quoted(column)}; there are {names}{more}{hint}.")


def find_columns(where: str, header: Sequence[str], columns: Sequence[str], hint: str = "") -> list[int]:
    """Return the position of each wanted column in a header; one that is missing or repeated is an error.

    Examples
    --------
    >>> find_columns("t.csv, line 1", ["id", "id", "text", "label"], ["label", "text"])
    [3, 2]
    """
    if len(header) > MOST_COLUMNS:
        raise DatasetError(f"{where}: {len(header):,} columns, which is more than the {MOST_COLUMNS:,} that are read.")
    count = Counter(header)
    for column in columns:
        if column not in count:
            raise no_column(where, column, header, hint)
        if count[column] > 1:
            raise DatasetError(f"{where}: the header names {quoted(column)} twice, so it is not clear which is meant.")
    position = {name: k for k, name in enumerate(header)}
    return [position[column] for column in columns]


def refuse_cell(source: Source, unit: str, number: int, column: str, problem: str) -> NoReturn:
    """Raise a `DatasetError` that names file, row and column; `number` counts a `unit`: lines or rows."""
    file, line = display_name(source), number if unit == "line" else None
    raise DatasetError(f"{file}, {unit} {number}, column {column!r}: {problem}", file=file, line=line, column=column)


def cell_text(value: Any) -> str | None:
    """Return the text of a cell, or None if it holds neither a text nor a number.

    A missing value is an empty text, and 11.0 is 11, as in `cladist.taxonomy`.

    Examples
    --------
    >>> cell_text("a"), cell_text(11.0), cell_text(None), cell_text(float("nan")), cell_text(True)
    ('a', '11', '', '', None)
    """
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}" if value % 1 else str(int(value))
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return as_text(value)


def label_text(value: Any) -> str | None:
    """Return the text of a cell with a label, or None; an infinity, which JSON can hold, is not a label."""
    is_infinite = isinstance(value, (float, np.floating)) and math.isinf(value)
    return None if is_infinite else cell_text(value)


def shorten(value: Any) -> str:
    """Return how messages show a value, cut where it is long."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
