"""The data a command is given, as rows a model takes: texts for a text pipeline, numbers for a bare learner."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from cladist.cli.lines import lines
from cladist.datasets import Dataset, read_svmlight, read_table
from cladist.datasets.records import check_ending, records
from cladist.datasets.table import _joined_text
from cladist.errors import DatasetError, ParameterError
from cladist.files import Source, data_suffix
from cladist.taxonomy import Taxonomy

BATCH_ROWS = 4096  # rows held at once while predicting
SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
INDEX_ZERO = re.compile(r"the index of '0:[^']*' is not in 1 ")


@dataclass(frozen=True)
class DataSource:
    """Where rows come from and how they are read; "-" is standard input.

    `labelled` says whether labels are wanted of it, and `columns_learnt` which columns a model learnt from that
    is to be given every line of it.
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
    def kind(self) -> str:
        """What the data is: "svmlight", "lines" or "table"."""
        if self.format in ("svmlight", "lines"):
            return self.format
        if self.path == "-" and self.format is None:
            return "table" if self.text or self.labelled else "lines"
        numbers = self.format is None and data_suffix(self.path) in SVMLIGHT_SUFFIXES
        return "svmlight" if numbers else "table"

    def check_ending(self) -> None:
        """Raise a `DatasetError` if the ending tells of a format that is not read."""
        if self.format is None and self.path != "-":
            check_ending(self.path)

    def check_columns(self) -> None:
        """Raise a `ParameterError` unless the columns that the kind of data has are named, and no others."""
        columns = {"--text": self.text, "--label": self.label} if self.labelled else {"--text": self.text}
        if self.kind == "table":
            missing = [f"{option} COLUMN" for option, value in columns.items() if not value]
            hint = "" if self.labelled else ", or --format lines if every line is a text"
            if missing:
                raise ParameterError(f"{self.name} is a table: name its columns with {' and '.join(missing)}{hint}.")
            return
        given = [option for option, value in columns.items() if value]
        if given:
            what = "an svmlight file" if self.kind == "svmlight" else "one text a line"
            raise ParameterError(f"{self.name} is {what}, which has no columns; leave out {' and '.join(given)}.")


def read_labelled(source: DataSource, *, taxonomy: Taxonomy | None, n_features: int | None = None) -> Dataset:
    """Read rows with their labels, all of which must be in the taxonomy."""
    if source.kind == "svmlight":
        return _read_numbers(source, taxonomy=taxonomy, n_features=n_features)
    return read_table(
        source.stream,
        text=source.text,
        label=source.label or "",
        label_sep=source.label_sep,
        path_sep=source.path_sep,
        taxonomy=taxonomy,
        format=source.format,
    )


def read_batches(source: DataSource, *, n_features: int | None) -> Iterator[Any]:
    """Yield the rows to predict for, some thousands at a time; texts are never all in memory."""
    if source.kind == "svmlight":
        yield from slices(_read_numbers(source, multilabel=True, n_features=n_features).X)
        return
    texts = lines(source.stream, source.columns_learnt) if source.kind == "lines" else _table_texts(source)
    while batch := list(islice(texts, BATCH_ROWS)):
        yield _objects(batch)


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
    return None if isinstance(model, Pipeline) else int(model.n_features_in_)


def check_fits(model: Any, source: DataSource, folder: Any) -> None:
    """Raise a `DatasetError` if the model learnt from texts and the data is numbers, or the other way round."""
    learnt_from_texts = isinstance(model, Pipeline)
    if learnt_from_texts == (source.kind != "svmlight"):
        return
    learnt, given = ("texts", "numbers (svmlight)") if learnt_from_texts else ("numbers (svmlight)", "texts")
    raise DatasetError(f"{folder} was trained on {learnt}, and {source.name} holds {given}.")


def _read_numbers(source: DataSource, **options: Any) -> Dataset:
    try:
        return read_svmlight(source.stream, zero_based=bool(source.zero_based), **options)
    except DatasetError as problem:
        if not INDEX_ZERO.search(str(problem)):
            raise
        hint = "if the file counts its features from 0, add --zero-based"
        raise DatasetError(f"{str(problem).removesuffix('.')}; {hint}.") from problem


def _table_texts(source: DataSource) -> Iterator[str]:
    stream = source.stream
    found = records(stream, format=source.format, columns=source.text)
    return (_joined_text(stream, *record, source.text) for record in found)


def _objects(values: list[str]) -> npt.NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
