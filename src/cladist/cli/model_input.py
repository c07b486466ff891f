"""The data a command is given, as rows a model takes: texts for a text pipeline, numbers for other models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from cladist import progress
from cladist.cli.lines import lines
from cladist.datasets import Dataset, read_table
from cladist.datasets.formats.tables.reader import join_text
from cladist.datasets.formats.tables.records import check_ending, format_of_ending, read_records
from cladist.errors import ParameterError
from cladist.files import Source, data_suffix
from cladist.taxonomy import Taxonomy

BATCH_ROWS = 4096  # rows held at once while predicting
KIND_OF_ENDING = {".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".arff": "arff"}
# Kinds of data that have no columns for options to name, and what messages call them.
WITHOUT_COLUMNS = {
    "svmlight": "an svmlight file, which has no columns",
    "lshtc": "an LSHTC file, which has no columns",
    "arff": "an ARFF file, which says itself where its labels are",
    "lines": "one text a line, which has no columns",
}

Remark = Callable[[str], None]


def unheard(_: str) -> None:
    """Take a remark that nobody listens to."""


@dataclass(frozen=True)
class DataSource:
    """Where rows come from and how they are read; "-" is standard input.

    `labelled` says whether labels are wanted of it, `columns_learnt` which columns a model learnt from that
    is to be given every line of it, and `features` what the columns of numbers were called that a model learnt from.
    """

    path: str
    format: str | None = None
    text: tuple[str, ...] = ()
    label: str | None = None
    label_sep: str | None = None
    path_sep: str | None = None
    zero_based: bool | None = None
    labelled: bool = False
    columns_learnt: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @property
    def stream(self) -> Source:
        """The path, or standard input as bytes."""
        standard_input: IO[bytes] = sys.stdin.buffer
        return standard_input if self.path == "-" else self.path

    @property
    def name(self) -> str:
        """What messages call the data."""
        return "standard input" if self.path == "-" else self.path

    @property
    def is_told(self) -> bool:
        """Whether an option or the file's ending tells the format."""
        if self.format is not None or self.path == "-":
            return self.format is not None
        return data_suffix(self.path) in KIND_OF_ENDING or format_of_ending(self.path) is not None

    @property
    def kind(self) -> str:
        """What the data is: "svmlight", "arff", "lshtc", "lines" or "table"."""
        if self.format is not None:
            return self.format if self.format in WITHOUT_COLUMNS else "table"
        if self.path == "-":
            return "table" if self.text or self.labelled else "lines"
        return KIND_OF_ENDING.get(data_suffix(self.path), "table")

    @property
    def is_numbers(self) -> bool:
        """Whether the rows are numbers, not texts."""
        return self.kind in ("svmlight", "arff", "lshtc")

    def check_ending(self) -> None:
        """Raise a `DatasetError` if the ending tells of a format that is not read."""
        if self.kind == "table" and self.format is None and self.path != "-":
            check_ending(self.path)

    def check_columns(self, *, text: bool = True) -> None:
        """Raise a `ParameterError` unless the columns that the kind of data has are named, and no others.

        `text` says whether texts are wanted of it.
        """
        columns: dict[str, Any] = {"--text": self.text} if text else {}
        if self.labelled:
            columns["--label"] = self.label
        if self.kind == "table":
            missing = [f"{option} COLUMN" for option, value in columns.items() if not value]
            hint = "" if self.labelled else ", or --format lines if every line is a text"
            if missing:
                raise ParameterError(f"{self.name} is a table: name its columns with {' and '.join(missing)}{hint}.")
            return
        given = [option for option, value in columns.items() if value]
        if given:
            raise ParameterError(f"{self.name} is {WITHOUT_COLUMNS[self.kind]}; leave out {' and '.join(given)}.")

    def read(self) -> AbstractContextManager[Any]:
        """Return what shows that standard input is being read; files tell that themselves."""
        return progress.task("Reading standard input") if self.path == "-" else nullcontext()


def read_labelled(
    source: DataSource, *, taxonomy: Taxonomy | None, model: Any = None, remark: Remark = unheard
) -> Dataset:
    """Read rows with their labels, all of which must be in the taxonomy; numbers must suit the model, if it is fitted.

    `remark` is told what is left out of the rows.
    """
    with source.read():
        if source.is_numbers:
            from cladist.cli.numeric_input import read_numbers

            return read_numbers(source, taxonomy=taxonomy, model=model, remark=remark)
        return read_table(
            source.stream,
            text=source.text,
            label=source.label or "",
            label_sep=source.label_sep,
            path_sep=source.path_sep,
            taxonomy=taxonomy,
            format=source.format,
        )


def read_batches(source: DataSource, *, model: Any = None, remark: Remark = unheard) -> Iterator[Any]:
    """Return the rows to predict for, some thousands at a time; they are read when asked for, never all in memory."""
    if source.is_numbers:
        from cladist.cli.numeric_input import read_rows

        return (part for X in read_rows(source, model=model, remark=remark) for part in slices(X))
    return _batches(lines(source.stream, source.columns_learnt) if source.kind == "lines" else _table_texts(source))


def _batches(texts: Iterator[str]) -> Iterator[npt.NDArray[Any]]:
    while batch := list(islice(texts, BATCH_ROWS)):
        array = np.empty(len(batch), dtype=object)
        array[:] = batch
        yield array


def slices(rows: Any) -> Iterator[Any]:
    """Yield rows, or labels, some thousands at a time."""
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    for start in range(0, n_rows, BATCH_ROWS):
        yield rows[start : start + BATCH_ROWS]


def learner_of(model: Any) -> Any:
    """Return the learner of a model: its last step, if it is a Pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def features_of(model: Any) -> int | None:
    """Return how many numbers a row has for a model that learnt from numbers; None for one that learnt from texts."""
    n_features = getattr(model, "n_features_in_", None)  # a Pipeline has that of its first step, a vectoriser none
    return None if n_features is None else int(n_features)


def _table_texts(source: DataSource) -> Iterator[str]:
    stream = source.stream
    found = read_records(stream, format=source.format, columns=source.text)
    return (join_text(stream, *record, source.text) for record in found)
