"""Write a Dataset of texts as a table, from which `read_table` returns an equal Dataset."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from os import PathLike
from typing import IO, Any

import numpy as np

from cladist.datasets.dataset import MOST_LABELS, Dataset
from cladist.datasets.formats.tables.arrow import import_pyarrow
from cladist.datasets.formats.tables.records import FORMATS, TOO_MANY_LABELS, format_of_ending, label_text
from cladist.errors import DatasetError, ParameterError, one_of, shorten
from cladist.files import LONGEST_LINE, open_for_writing
from cladist.files.delimited import LONGEST_FIELD

BATCH_ROWS, BATCH_CHARACTERS = 65_536, 2**24  # of Parquet and Arrow, written at once

Cells = tuple[str, Any]  # the text, and the label or the list of labels
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


def write_table(
    data: Dataset,
    path: str | PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    label_sep: str | None = None,
    format: str | None = None,  # noqa: A002
) -> None:
    r"""Write the texts and labels of a Dataset as a table.

    Parameters
    ----------
    data : Dataset
        The texts are `X`, or `texts` where `X` holds numbers. All rows are written, without taxonomy and split.
    path : path
        The file; an ending ``.gz``, ``.xz`` or ``.bz2`` compresses it.
    text, label : str
        The names of the two columns.
    label_sep : str, optional
        Joins several labels of a row into one text. CSV and TSV need it if rows have several; the other formats write
        lists without it.
    format : {"csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        None: by the ending of the path.

    Raises
    ------
    DatasetError
        If the format cannot hold a text or label so that it is read back unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> data = Dataset(["rain coat", "tea cup"], [["wear", "rain"], []])
    >>> with TemporaryDirectory() as folder:
    ...     write_table(data, Path(folder, "shop.csv"), label_sep=";")
    ...     Path(folder, "shop.csv").read_text()
    'text,label\nrain coat,wear;rain\ntea cup,\n'
    """
    one_of("write_table", "format", format, (None, *FORMATS))
    kind = format or format_of_ending(path)
    if kind is None:
        raise ParameterError(f"write_table: the ending of {str(path)!r} tells no format; give one of {FORMATS}.")
    _check_names(text, label, label_sep)
    several = _is_multi(data.y)
    if several and label_sep is None and kind in ("csv", "tsv"):
        raise ParameterError(
            f"write_table: rows have several labels, which {kind} joins by a label_sep; it is missing."
        )
    rows = _iterate_cells(data, kind, label_sep, several)
    with open_for_writing(path) as stream:
        if kind == "jsonl":
            _write_json(stream, rows, text, label)
        elif kind in ("csv", "tsv"):
            _write_csv(stream, rows, text, label, "," if kind == "csv" else "\t")
        else:
            _write_arrow(stream, rows, text, label, kind, several and label_sep is None)


def _check_names(text: str, label: str, label_sep: str | None) -> None:
    for parameter, name in (("text", text), ("label", label)):
        if not isinstance(name, str) or not name or name != name.strip() or name.startswith("\ufeff") or "\0" in name:
            raise ParameterError(f"write_table: {parameter} must be a name without spaces around it; got {name!r}.")
        _check_encodes(name, f"write_table: {parameter}")
    if text == label:
        raise ParameterError(f"write_table: text and label are two columns; both are called {text!r}.")
    if label_sep == "":
        raise ParameterError("write_table: label_sep must not be empty; leave it out if nothing is joined.")


def _is_multi(y: Any) -> bool:
    if getattr(y, "ndim", 1) != 1 or not len(y):
        raise DatasetError("write_table: wanted one label or one list of labels for each row, and at least one row.")
    return isinstance(y[0], _COLLECTIONS)


def _iterate_cells(data: Dataset, kind: str, label_sep: str | None, several: bool) -> Iterator[Cells]:
    """Yield text and labels of each row, checked to be read back unchanged."""
    texts = data.X if data.texts is None else data.texts
    if getattr(texts, "ndim", 1) != 1:
        raise DatasetError("write_table: the Dataset has numbers but no texts; write it with write_svmlight.")
    for number, (text, value) in enumerate(zip(texts, data.y, strict=True), 1):
        where = f"write_table, row {number}"
        if not isinstance(text, str):
            raise DatasetError(f"{where}: wanted a text, got {shorten(text)}.")
        _check_text(text, where, kind)
        if isinstance(value, _COLLECTIONS) != several:
            raise DatasetError(f"{where}: labels are lists in some rows and single in others.")
        names = [_check_label(name, where, kind) for name in (value if several else [value])]
        if len(names) > MOST_LABELS:
            raise DatasetError(f"{where}: {TOO_MANY_LABELS}")
        if label_sep is not None:
            joined = label_sep.join(names)
            if [part.strip() for part in joined.split(label_sep)] != (names or [""]):
                raise DatasetError(f"{where}: the labels {shorten(names)} cannot be told apart again by {label_sep!r}.")
            yield text, joined
        else:
            yield text, names if several else names[0]


def _check_label(value: Any, where: str, kind: str) -> str:
    name = label_text(value)
    if not name or name != name.strip():
        raise DatasetError(f"{where}: a label must be a name or number without spaces around it; got {shorten(value)}.")
    _check_text(name, where, kind)
    return name


def _check_text(text: str, where: str, kind: str) -> None:
    _check_encodes(text, where)
    if kind in ("csv", "tsv"):
        if "\0" in text:
            raise DatasetError(f"{where}: a NUL character, which {kind} cannot hold; write JSON lines or Parquet.")
        if len(text) > LONGEST_FIELD:
            raise DatasetError(f"{where}: more than {LONGEST_FIELD:,} characters; write Parquet.")


def _check_encodes(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        half = shorten(text[problem.start])
        raise DatasetError(f"{where}: {half} is half of a character, which no file can hold; remove it.") from problem


def _write_csv(stream: IO[bytes], rows: Iterator[Cells], text: str, label: str, delimiter: str) -> None:
    out = codecs.getwriter("utf-8")(stream)
    plain = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for cells in chain([(text, label)], rows):
        # Older versions of csv do not quote a lone carriage return.
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)


def _write_json(stream: IO[bytes], rows: Iterator[Cells], text: str, label: str) -> None:
    for number, cells in enumerate(rows, 1):
        line = json.dumps({text: cells[0], label: cells[1]}, ensure_ascii=False).encode()
        if len(line) >= LONGEST_LINE:
            raise DatasetError(f"write_table, row {number}: more than {LONGEST_LINE:,} bytes; write Parquet.")
        stream.write(line + b"\n")


def _write_arrow(stream: IO[bytes], rows: Iterator[Cells], text: str, label: str, kind: str, lists: bool) -> None:
    pa = import_pyarrow("write_table")
    schema = pa.schema([(text, pa.string()), (label, pa.list_(pa.string()) if lists else pa.string())])
    if kind == "parquet":
        writer = import_module("pyarrow.parquet").ParquetWriter(stream, schema)
    else:
        writer = import_module("pyarrow.ipc").new_file(stream, schema)
    with writer:
        for batch in _split_batches(rows):
            columns = [
                pa.array(column, field.type) for column, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _split_batches(rows: Iterator[Cells]) -> Iterator[list[Cells]]:
    batch: list[Cells] = []
    n_characters = 0
    for cells in rows:
        batch.append(cells)
        n_characters += len(cells[0])
        if len(batch) >= BATCH_ROWS or n_characters > BATCH_CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch
