"""Labelled data as commands read it that train on it: rows, labels, their taxonomy, and other columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cladist.cli.input import DataSource, read_labelled, read_taxonomy
from cladist.datasets import Dataset
from cladist.datasets.formats.tables.records import cell_text, no_column, read_records
from cladist.errors import ParameterError
from cladist.taxonomy import Taxonomy


def read_training_data(source: DataSource, taxonomy: Path | None) -> Dataset:
    """Read labelled rows; options are checked before data is read."""
    source.check_extension()
    source.check_columns()
    return with_sets(read_labelled(source, taxonomy=None if taxonomy is None else read_tree(taxonomy, source)))


def read_tree(path: Path, source: DataSource) -> Taxonomy:
    """Read the taxonomy of labelled data, whose paths have the separator of the labels."""
    # The paths in an LSHTC hierarchy consist of node numbers: the same number is the same node.
    kind = "lshtc" if source.kind == "lshtc" else None
    advice = "write the file without {} by `cladist taxonomy FILE --drop-cycles --convert OUT`"
    tree = read_taxonomy(path, format=kind, sep=source.path_sep or "/", advice=advice)
    return tree if source.path_sep is None else tree.with_separator(source.path_sep)


def with_sets(data: Dataset) -> Dataset:
    """Return the data with sets for lists of labels, which would leave open whether they are paths."""
    if isinstance(data.y, list) and isinstance(data.y[0], list):
        return replace(data, y=[set(row) for row in data.y])
    return data


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
