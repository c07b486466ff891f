"""Predictions as CSV, TSV, JSON lines or one JSON list, written row by row."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from cladist.errors import DatasetError, quoted
from cladist.labels import LabelMatrix

if TYPE_CHECKING:
    from cladist.cli.predict import Prediction

PATH_SEPARATOR = " > "
SET_SEPARATOR = ";"  # if the separator of training is unknown or not usable
SCORE_LETTERS = "+-.0123456789aefin"
TABLES = {"csv": ",", "tsv": "\t"}
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
PROGRESS_ROWS = 512  # rows between two reports of progress
# Spreadsheets evaluate such a cell as a formula. Cells that already begin with apostrophes get one more, so that
# removing one apostrophe restores the text. Numbers may have a sign.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def format_of(out: Path | None) -> str:
    """Return the format given by a file extension; CSV for standard output."""
    kind = "csv" if out is None else SUFFIXES.get(out.suffix.lower())
    if kind is None:
        raise DatasetError(f"{out}: the file extension of --out must be .csv, .tsv or .jsonl.")
    return kind


def escape_formula(text: str) -> str:
    """Return a text as a cell of CSV or TSV, with an apostrophe in front if it looks like a formula.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula("'=1+1"), escape_formula("-5"), escape_formula("'tis")
    ("'=1+1", "''=1+1", '-5', "'tis")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def set_separator(label_sep: str | None) -> str:
    """Return the separator of the labels of a set in one cell: that of training, unless paths or scores contain it.

    Examples
    --------
    >>> set_separator("|"), set_separator(None), set_separator(" ")
    ('|', ';', ';')
    """
    if not label_sep or label_sep in PATH_SEPARATOR or set(label_sep) <= set(SCORE_LETTERS):
        return SET_SEPARATOR
    return label_sep


def check_separator(separator: str, learner: Any) -> None:
    """Raise a `DatasetError` if a label, or a name on its path, contains the separator or runs into it."""
    taxonomy = learner.taxonomy_
    on_paths = set(LabelMatrix.from_nodes(learner.class_nodes_, taxonomy).indices.tolist())
    for name in [*map(str, learner.classes_.tolist()), *(taxonomy.names[v] for v in sorted(on_paths))]:
        if (name + separator).index(separator) < len(name):
            raise DatasetError(
                f"CSV and TSV join the labels of a row by {separator!r}, which the model's label {quoted(name)} "
                "contains; write JSON lines with --out FILE.jsonl, or use --json."
            )


@dataclass(frozen=True)
class Layout:
    """The form of a row: one label, the `top_k` best labels, or a set, whose labels `separator` joins in a cell."""

    top_k: int | None = None
    separator: str | None = None

    def header(self) -> list[str]:
        """Return the column names of a table."""
        if self.separator is not None:
            return ["labels", "paths", "scores"]
        ranks = [""] if self.top_k is None else [f"_{k}" for k in range(1, self.top_k + 1)]
        return [f"{name}{rank}" for rank in ranks for name in ("label", "path", "score")]

    def cells(self, predictions: list[Prediction]) -> list[str]:
        """Return a row of a table."""
        labels = [
            (escape_formula(str(p.label)), escape_formula(PATH_SEPARATOR.join(p.path)), f"{p.score:.6g}")
            for p in predictions
        ]
        if self.separator is None:
            return [cell for cells in labels for cell in cells]
        return [self.separator.join(cells[k] for cells in labels) for k in range(3)]

    def to_dict(self, predictions: list[Prediction]) -> dict[str, Any]:
        """Return a row as a JSON object."""
        labels: list[dict[str, Any]] = [
            {"label": p.label, "path": p.path, "score": float(f"{p.score:.6g}")} for p in predictions
        ]
        if self.separator is not None:
            return {f"{name}s": [label[name] for label in labels] for name in ("label", "path", "score")}
        return labels[0] if self.top_k is None else {"top": labels}


def write_rows(
    file: TextIO,
    kind: str,
    layout: Layout,
    rows: Iterable[list[Prediction]],
    advance: Callable[[int], None] = lambda _: None,
) -> int:
    """Write all rows in a format and return their number; the first one is predicted before anything is written."""
    writer: _TableWriter | _JsonWriter
    writer = _TableWriter(file, layout, TABLES[kind]) if kind in TABLES else _JsonWriter(file, layout, kind == "json")
    n_rows = 0
    for predictions in rows:
        writer.write(predictions)
        n_rows += 1
        if n_rows % PROGRESS_ROWS == 0:
            advance(PROGRESS_ROWS)
    writer.finish()
    advance(n_rows % PROGRESS_ROWS)
    return n_rows


class _TableWriter:
    """Writes a header and one line per row."""

    def __init__(self, file: TextIO, layout: Layout, delimiter: str) -> None:
        self.plain = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self.quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self.layout, self.has_header = layout, False

    def write(self, predictions: list[Prediction]) -> None:
        self.finish()
        cells = self.layout.cells(predictions)
        has_return = any("\r" in cell for cell in cells)  # which csv does not quote before Python 3.13
        (self.quoted if has_return else self.plain).writerow(cells)

    def finish(self) -> None:
        if not self.has_header:
            self.plain.writerow(self.layout.header())
            self.has_header = True


class _JsonWriter:
    """Writes one JSON object per row, each on its own line or all in one list."""

    def __init__(self, file: TextIO, layout: Layout, is_list: bool) -> None:
        self.file, self.layout, self.is_list, self.n_rows = file, layout, is_list, 0

    def write(self, predictions: list[Prediction]) -> None:
        start = ("[\n" if self.n_rows == 0 else ",\n") if self.is_list else ""
        content = json.dumps(self.layout.to_dict(predictions), ensure_ascii=False)
        self.file.write(start + content + ("" if self.is_list else "\n"))
        self.n_rows += 1

    def finish(self) -> None:
        if self.is_list:
            self.file.write("\n]\n" if self.n_rows else "[]\n")
