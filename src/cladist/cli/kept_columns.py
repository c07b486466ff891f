"""``cladist predict --keep``: columns of the input beside the predictions, row by row."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cladist.cli.predict import escape_formula
from cladist.datasets.formats.tables.reader import join_text
from cladist.datasets.formats.tables.records import cell_text, no_column, read_records
from cladist.errors import ParameterError

if TYPE_CHECKING:
    from cladist.cli.input import DataSource

ALL = "all"


class KeptColumns:
    """The columns of input rows that are written beside their predictions; ``all`` keeps every column.

    `read` yields the texts to predict from, and remembers the kept values of each row until `take` returns them.
    """

    def __init__(self, source: DataSource, columns: Sequence[str]) -> None:
        if source.kind != "table":
            raise ParameterError(f"--keep names columns of a table, and {source.name} is read as {source.kind}.")
        self.source = source
        self.columns: list[str] | None = None if list(columns) == [ALL] else list(dict.fromkeys(columns))
        self.waiting: deque[list[Any]] = deque()

    def read(self) -> Iterator[str]:
        """Yield the text of every row."""
        source = self.source
        wanted = None if self.columns is None else list(dict.fromkeys([*source.text, *self.columns]))
        for line, record in read_records(source.stream, format=source.format, columns=wanted or (), query=source.query):
            if self.columns is None:
                self.columns = list(record)
            for column in self.columns:
                if column not in record:
                    raise no_column(f"{source.name}, line {line}", column, list(record))
            self.waiting.append([record[column] for column in self.columns])
            yield join_text(source.stream, line, record, source.text)

    def take(self, rows: Iterable[Any]) -> Iterator[tuple[list[Any], Any]]:
        """Yield rows of predictions, each with the kept values of its input row."""
        for row in rows:
            yield self.waiting.popleft(), row


class KeptLayout:
    """The layout of rows with kept columns in front of the columns of another layout.

    Where names occur in both, columns of predictions begin with ``predicted_``.
    """

    def __init__(self, kept: KeptColumns, layout: Any) -> None:
        self.kept, self.layout = kept, layout

    def _named(self, names: Iterable[str]) -> list[str]:
        names = list(names)
        taken = set(self.kept.columns or ()) & set(names)
        return [f"predicted_{name}" for name in names] if taken else names

    def header(self) -> list[str]:
        """Return the column names of a table; the first row has been read by then, unless there is none."""
        return [*map(escape_formula, self.kept.columns or ()), *self._named(self.layout.header())]

    def cells(self, row: tuple[list[Any], Any]) -> list[str]:
        """Return a row of a table."""
        return [*(escape_formula(_as_cell(value)) for value in row[0]), *self.layout.cells(row[1])]

    def to_dict(self, row: tuple[list[Any], Any]) -> dict[str, Any]:
        """Return a row as a JSON object."""
        answer = self.layout.to_dict(row[1])
        values = dict(zip(self.kept.columns or (), map(_as_json, row[0]), strict=True))
        return values | dict(zip(self._named(answer), answer.values(), strict=True))


def _as_cell(value: Any) -> str:
    text = cell_text(value)
    return json.dumps(value, ensure_ascii=False, default=str) if text is None else text


def _as_json(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | dict | None) else cell_text(value) or str(value)
