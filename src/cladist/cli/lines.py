"""Texts that come one a line, as on standard input."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator

from cladist.errors import DatasetError
from cladist.files import Source, iterate_text_lines, open_for_reading


def lines(stream: Source, columns: Collection[str] = ()) -> Iterator[str]:
    r"""Yield every line as it is, empty ones too, so that answers stand beside their questions.

    Parameters
    ----------
    stream : path or binary stream
    columns : collection of str
        The columns of the table that a model learnt from. A first line that names them all is refused: it
        begins a table, and its header would be taken for a text without a word.

    Examples
    --------
    >>> import io
    >>> list(lines(io.BytesIO(b"dome tent\n\nskillet\n"), ["title"]))
    ['dome tent', '', 'skillet']
    >>> list(lines(io.BytesIO(b"title,body\ndome tent,green\n"), ["title"]))
    Traceback (most recent call last):
    cladist.errors.DatasetError: The input begins like a table with the column 'title' ...
    """
    with open_for_reading(stream) as raw:
        for number, line in iterate_text_lines(stream, raw):
            text = line.rstrip("\r\n")
            if number == 1 and columns:
                _check_no_table(text, columns)
            yield text


def _check_no_table(first_line: str, columns: Collection[str]) -> None:
    kind = next((kind for kind, named in _columns_in(first_line) if named.issuperset(columns)), None)
    if kind is not None:
        names = f"column{'s'[: len(columns) - 1]} {', '.join(map(repr, columns))}"
        raise DatasetError(
            f"The input begins like a table with the {names} that the model was trained on; add --format {kind} if it "
            "is one, --format lines if every line is a text."
        )


def _columns_in(line: str) -> Iterator[tuple[str, set[str]]]:
    """Yield for each format of tables the columns that a line names if it begins one."""
    bare = line.removeprefix("\ufeff")
    for kind, delimiter in (("csv", ","), ("tsv", "\t")):
        try:
            fields = next(csv.reader([bare], delimiter=delimiter), [])
        except csv.Error:  # a text longer than any header
            continue
        yield kind, {name.strip() for name in fields}
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict):
        yield "jsonl", set(found)
