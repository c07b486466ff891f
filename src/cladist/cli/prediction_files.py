"""Predictions as CSV, TSV, JSON lines or one JSON list, written row by row."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from cladist.errors import DatasetError, quoted
from cladist.labels import LabelMatrix

if TYPE_CHECKING:
    from cladist.cli.predict import Prediction
    from cladist.progress import Task

PATH_JOINT = " > "
SET_JOINT = ";"  # where training noted no separator of labels, or one of no use here
SCORE_LETTERS = "+-.0123456789aefin"
TABLES = ("csv", "tsv")
STEPS = 512  # rows between two reports of progress
# A spreadsheet takes such a cell for a formula. Those that begin like a marked one are marked too, so that taking one
# apostrophe away gives back what was there. Numbers may have a sign.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Writer(Protocol):
    """Writes rows of predictions."""

    def row(self, predictions: list[Prediction]) -> None:
        """Write one row."""

    def end(self) -> None:
        """Write what comes after the last row."""


def format_of(out: Path | None) -> str:
    """Return the format that a file's ending asks for; standard output gets CSV.

    Examples
    --------
    >>> format_of(Path("answers.jsonl")), format_of(None)
    ('jsonl', 'csv')
    """
    if out is None:
        return "csv"
    ending = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(out.suffix.lower())
    if ending is None:
        raise DatasetError(f"{out}: the ending of --out says what to write, and must be .csv, .tsv or .jsonl.")
    return ending


def write_rows(writer: Writer, rows: Iterable[list[Prediction]], running: Task) -> int:
    """Write all rows and return how many there were; the first is computed before anything is written."""
    n_rows = 0
    for predictions in rows:
        writer.row(predictions)
        n_rows += 1
        if n_rows % STEPS == 0:
            running.advance(STEPS)
    writer.end()
    running.advance(n_rows % STEPS)
    return n_rows


def as_cell(text: str) -> str:
    """Return a text of others for a cell of CSV or TSV; one that looks like a formula gets an apostrophe in front.

    Examples
    --------
    >>> as_cell("=1+1"), as_cell("'=1+1"), as_cell("-5"), as_cell("'tis")
    ("'=1+1", "''=1+1", '-5', "'tis")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def joint_of(label_sep: str | None) -> str:
    """Return what joins the labels of a set in one cell: their separator in training, if it suits paths and scores.

    Examples
    --------
    >>> joint_of("|"), joint_of(None), joint_of(" ")
    ('|', ';', ';')
    """
    if not label_sep or label_sep in PATH_JOINT or set(label_sep) <= set(SCORE_LETTERS):
        return SET_JOINT
    return label_sep


def check_joint(joint: str, learner: Any) -> None:
    """Raise a `DatasetError` if a label, or a name on its path, could not be told from the next one in a cell."""
    taxonomy = learner.taxonomy_
    on_paths = set(LabelMatrix.from_nodes(learner.class_nodes_, taxonomy).indices.tolist())
    for name in [*map(str, learner.classes_.tolist()), *(taxonomy.names[v] for v in sorted(on_paths))]:
        if (name + joint).index(joint) < len(name):
            raise DatasetError(
                f"CSV and TSV join the labels of a row by {joint!r}, which the model's label {quoted(name)} contains; "
                "write JSON lines with --out FILE.jsonl, or use --json."
            )


@dataclass(frozen=True)
class Layout:
    """What a row looks like: one label, with `top_k` so many, or with `joint` a set, which in cells that text joins."""

    top_k: int | None = None
    joint: str | None = None

    def header(self) -> list[str]:
        """Return the columns of a table."""
        if self.joint is not None:
            return ["labels", "paths", "scores"]
        ranks = [""] if self.top_k is None else [f"_{k}" for k in range(1, self.top_k + 1)]
        return [f"{name}{rank}" for rank in ranks for name in ("label", "path", "score")]

    def cells(self, predictions: list[Prediction]) -> list[str]:
        """Return a row of a table."""
        of_each = [(as_cell(str(p.label)), as_cell(PATH_JOINT.join(p.path)), f"{p.score:.6g}") for p in predictions]
        if self.joint is None:
            return [cell for cells in of_each for cell in cells]
        return [self.joint.join(cells[k] for cells in of_each) for k in range(3)]

    def content(self, predictions: list[Prediction]) -> dict[str, Any]:
        """Return a row as an object of JSON."""
        objects: list[dict[str, Any]] = [
            {"label": p.label, "path": p.path, "score": float(f"{p.score:.6g}")} for p in predictions
        ]
        if self.joint is not None:
            return {f"{name}s": [each[name] for each in objects] for name in ("label", "path", "score")}
        return objects[0] if self.top_k is None else {"top": objects}


class _Table:
    """A header, then a line a row."""

    def __init__(self, file: TextIO, layout: Layout, delimiter: str) -> None:
        self.out = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self.quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self.layout, self.begun = layout, False

    def _begin(self) -> None:
        if not self.begun:
            self.out.writerow(self.layout.header())
            self.begun = True

    def row(self, predictions: list[Prediction]) -> None:
        self._begin()
        cells = self.layout.cells(predictions)
        has_return = any("\r" in cell for cell in cells)  # which csv leaves without quotes before Python 3.13
        (self.quoted if has_return else self.out).writerow(cells)

    def end(self) -> None:
        self._begin()


class _Objects:
    """An object a row, each in a line of its own or all in one list."""

    def __init__(self, file: TextIO, layout: Layout, *, listed: bool) -> None:
        self.file, self.layout, self.listed = file, layout, listed
        self.n_rows = 0

    def row(self, predictions: list[Prediction]) -> None:
        content = self.layout.content(predictions)
        before = ("[\n" if self.n_rows == 0 else ",\n") if self.listed else ""
        self.file.write(before + json.dumps(content, ensure_ascii=False) + ("" if self.listed else "\n"))
        self.n_rows += 1

    def end(self) -> None:
        if self.listed:
            self.file.write("\n]\n" if self.n_rows else "[]\n")


FORMATS: dict[str, Callable[[TextIO, Layout], Writer]] = {
    "csv": lambda file, layout: _Table(file, layout, ","),
    "tsv": lambda file, layout: _Table(file, layout, "\t"),
    "jsonl": lambda file, layout: _Objects(file, layout, listed=False),
    "json": lambda file, layout: _Objects(file, layout, listed=True),
}
