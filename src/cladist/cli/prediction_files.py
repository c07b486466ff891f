"""Predictions as CSV, TSV, JSON lines or one JSON list, written row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from cladist.errors import DatasetError

if TYPE_CHECKING:
    from cladist.cli.predict import Prediction
    from cladist.progress import Task

PATH_JOINT = " > "
STEPS = 512  # rows between two reports of progress


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


class _Table:
    """Columns label, path and score; with `top_k`, label_1, path_1, score_1, label_2 and so on."""

    def __init__(self, file: TextIO, top_k: int | None, delimiter: str) -> None:
        self.out = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        ranks = [""] if top_k is None else [f"_{k}" for k in range(1, top_k + 1)]
        self.header: list[str] | None = [f"{name}{rank}" for rank in ranks for name in ("label", "path", "score")]

    def _begin(self) -> None:
        if self.header is not None:
            self.out.writerow(self.header)
            self.header = None

    def row(self, predictions: list[Prediction]) -> None:
        self._begin()
        self.out.writerow([cell for p in predictions for cell in (p.label, PATH_JOINT.join(p.path), f"{p.score:.6g}")])

    def end(self) -> None:
        self._begin()


class _Objects:
    """An object a row with label, path and score; with `top_k`, all of them in a list under "top"."""

    def __init__(self, file: TextIO, top_k: int | None, *, listed: bool) -> None:
        self.file, self.top_k, self.listed = file, top_k, listed
        self.n_rows = 0

    def row(self, predictions: list[Prediction]) -> None:
        objects: list[dict[str, Any]] = [
            {"label": p.label, "path": p.path, "score": float(f"{p.score:.6g}")} for p in predictions
        ]
        content = objects[0] if self.top_k is None else {"top": objects}
        before = ("[\n" if self.n_rows == 0 else ",\n") if self.listed else ""
        self.file.write(before + json.dumps(content, ensure_ascii=False) + ("" if self.listed else "\n"))
        self.n_rows += 1

    def end(self) -> None:
        if self.listed:
            self.file.write("\n]\n" if self.n_rows else "[]\n")


FORMATS: dict[str, Callable[[TextIO, int | None], Writer]] = {
    "csv": lambda file, top_k: _Table(file, top_k, ","),
    "tsv": lambda file, top_k: _Table(file, top_k, "\t"),
    "jsonl": lambda file, top_k: _Objects(file, top_k, listed=False),
    "json": lambda file, top_k: _Objects(file, top_k, listed=True),
}
