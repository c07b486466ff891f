"""Labelled data as commands read it that train on it: rows, labels, their taxonomy, and other columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cladist.cli.input import DataSource, read_labelled, read_tree, with_sets
from cladist.datasets import Dataset
from cladist.datasets.formats.tables.records import cell_text, no_column, read_records
from cladist.errors import ParameterError


def read_training_data(source: DataSource, taxonomy: Path | None) -> Dataset:
    """Read labelled rows; options are checked before data is read."""
    source.check_extension()
    source.check_columns()
    return with_sets(read_labelled(source, taxonomy=None if taxonomy is None else read_tree(taxonomy, source)))


def read_column(source: DataSource, column: str, option: str) -> list[str]:
    """Return the values of another column of a table, one text per row."""
    if source.kind != "table":
        raise ParameterError(f"{option} names a column of a table, and {source.name} is read as {source.kind}.")
    values = []
    for line, record in read_records(source.stream, format=source.format, columns=[column], query=source.query):
        if column not in record:
            raise no_column(f"{source.name}, line {line}", column, list(record))
        values.append(cell_text(record[column]) or "")
    return values


def model_rows(data: Dataset) -> Any:
    """Return the rows as learners take them: texts as a list."""
    return list(data.X) if getattr(data.X, "ndim", 1) == 1 else data.X
