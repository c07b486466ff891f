"""JSON lines: one object per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from cladist.datasets.formats.tables.columns import Row, no_column, refuse_cell, shorten
from cladist.errors import DatasetError
from cladist.files import Source, display_name, refuse

MOST_VALUES = 1_000_000  # of one object, at all depths; they are counted before they are made

_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|(,)', re.DOTALL)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")  # of a surrogate pair, which only escapes can split


def read_json_rows(source: Source, lines: Iterator[tuple[int, str]], columns: Sequence[str]) -> Iterator[Row]:
    """Yield the line of every object and its values in the wanted columns."""
    for number, record in read_json_objects(source, lines, columns):
        try:
            yield number, [record[column] for column in columns]
        except KeyError as missing:
            raise no_column(f"{display_name(source)}, line {number}", missing.args[0], list(record)) from None


def read_json_objects(
    source: Source, lines: Iterator[tuple[int, str]], columns: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line and content of every object; the texts of the `columns` (without any, of all) are checked."""
    first = True
    for number, line in lines:
        if not line.strip():
            continue
        if first and line.lstrip().startswith("["):
            raise DatasetError(f"{display_name(source)}: a JSON array; write one JSON object per line instead (JSONL).")
        first = False
        record = _parse(source, number, line)
        if not isinstance(record, dict):
            refuse(source, number, 1, f"wanted a JSON object, got {type(record).__name__}.")
        if "\\u" in line and _HALF_CHARACTER.search(line):
            _check_whole(source, number, record, columns or record)
        yield number, record


def _parse(source: Source, number: int, line: str) -> Any:
    if line.count(",") > MOST_VALUES:
        commas = (match for match in _STRING_OR_COMMA.finditer(line) if match.lastindex)
        if sum(1 for _ in islice(commas, MOST_VALUES + 1)) > MOST_VALUES:
            refuse(source, number, 1, f"the object has more than {MOST_VALUES:,} values.")
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        hint = "each line must be one whole JSON object"
        if "\r" in line.rstrip("\r\n"):
            hint = "lines must end with a line feed, not with a carriage return alone"
        refuse(source, number, error.colno, f"not valid JSON ({error.msg}); {hint}.")
    except RecursionError:
        refuse(source, number, 1, "not a row of a table (its brackets are nested too deeply).")
    except ValueError as error:  # a number of thousands of digits
        refuse(source, number, 1, f"not a row of a table ({error}).")


def _check_whole(source: Source, number: int, record: dict[str, Any], columns: Iterable[str]) -> None:
    """Refuse texts with half of a surrogate pair, which no file and no model can hold."""
    for column in columns:
        value = record.get(column)
        for text in value if isinstance(value, list) else [value]:
            try:
                str(text if isinstance(text, str) else "").encode()
            except UnicodeEncodeError as error:
                half = shorten(error.object[error.start])
                refuse_cell(source, "line", number, column, f"the text has {half}, which is half of a character.")
