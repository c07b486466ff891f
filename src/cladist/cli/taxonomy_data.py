"""The labels of a data file, compared with a taxonomy that need not contain them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.cli.input import DataSource
from cladist.cli.numeric_input import LSHTC_ROWS
from cladist.datasets import read_arff_hmc
from cladist.datasets.formats.lshtc import NO_LABEL
from cladist.datasets.formats.sparse_text import MOST_FEATURES, LabelNames, RowFormat, read_chunks
from cladist.datasets.formats.tables.reader import LabelColumn
from cladist.datasets.formats.tables.records import open_table
from cladist.errors import DatasetError
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.coverage import Coverage, UnknownLabel, count_coverage, find_unknown_labels

SVMLIGHT_ROWS = RowFormat(0, MOST_FEATURES, np.dtype(np.float32))

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelRows:
    """The distinct labels of a file; those of row i have the ids ``ids[indptr[i] : indptr[i + 1]]``."""

    labels: list[str]
    ids: Ids
    indptr: Ids


def read_labels(source: DataSource, taxonomy: Taxonomy) -> LabelRows:
    """Read the labels of a data file, without its texts or numbers."""
    with source.progress():
        if source.kind == "table":
            rows = _read_table(source)
        elif source.kind == "arff":
            rows = _index_labels(read_arff_hmc(source.stream, multilabel=True, on_cycle="drop").y)
        else:
            rows = _index_labels(_read_numbers(source, taxonomy))
    if len(rows.indptr) == 1:
        raise DatasetError(f"{source.name}: the file has no rows.")
    return rows


def _read_table(source: DataSource) -> LabelRows:
    stream, column = source.stream, source.label or ""
    with open_table(stream, text=(), label=column, format=source.format) as rows:
        labels = LabelColumn(stream, rows.unit, column, source.label_sep)
        for number, (value,) in rows:
            labels.add(number, value)
    labels.finish()
    ids = np.array(labels.rows, np.int64)
    ends = np.cumsum(np.array(labels.counts, np.int64)) if labels.is_multi else np.arange(1, len(ids) + 1)
    return LabelRows(list(labels.ids), ids, np.concatenate([[0], ends]))


def _read_numbers(source: DataSource, taxonomy: Taxonomy) -> list[list[str]]:
    """Read the labels of svmlight or LSHTC rows; in the latter, 0 stands for no label."""
    is_lshtc = source.kind == "lshtc"
    labels = LabelNames(None, nothing=NO_LABEL if is_lshtc and NO_LABEL not in taxonomy else None)
    for chunk in read_chunks(source.stream, LSHTC_ROWS if is_lshtc else SVMLIGHT_ROWS):
        labels.add(chunk)
    return labels.as_y(True) if labels.counts else []


def _index_labels(rows: Any) -> LabelRows:
    id_of: dict[str, int] = {}
    ids = [id_of.setdefault(label, len(id_of)) for row in rows for label in row]
    ends = np.cumsum([0, *map(len, rows)])
    return LabelRows(list(id_of), np.array(ids, np.int64), ends.astype(np.int64))


def compare(taxonomy: Taxonomy, source: DataSource) -> tuple[Coverage, tuple[UnknownLabel, ...]]:
    """Return how the rows of a data file cover the nodes, and which of its labels are not in the taxonomy."""
    rows = read_labels(source, taxonomy)
    nodes = np.array([_find_node(taxonomy, label, source.path_sep) for label in rows.labels], np.int64)
    counts = np.bincount(rows.ids, minlength=len(rows.labels))
    unknown = np.flatnonzero(nodes < 0).tolist()
    names, n_rows = [rows.labels[k] for k in unknown], [int(counts[k]) for k in unknown]
    labels = find_unknown_labels(taxonomy, names, n_rows, sep=source.path_sep or "/")
    return count_coverage(taxonomy, rows.indptr, nodes[rows.ids]), labels


def _find_node(taxonomy: Taxonomy, label: str, path_sep: str | None) -> int:
    """Return the node of a label, by its path if labels are paths; −1 if there is none."""
    parts = [part.strip() for part in label.split(path_sep)] if path_sep else []
    node = taxonomy.find_path(parts) if path_sep else taxonomy.find(label)
    return -1 if node is None else node
