"""Text tables: CSV, TSV and JSON lines with text columns and a label column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import Dataset
from cladist.datasets.records import check_column, records
from cladist.errors import DatasetError, ParameterError
from cladist.files import Source, refuse, shown_name
from cladist.taxonomy import Taxonomy

Columns = str | Sequence[str]


def read_table(
    path: Source,
    *,
    text: Columns,
    label: str,
    label_sep: str | None = None,
    path_sep: str | None = None,
    taxonomy: Taxonomy | str | PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Dataset:
    r"""Read a labelled table of texts.

    Parameters
    ----------
    path : path or binary stream
        UTF-8; ``.gz``, ``.xz`` and ``.bz2`` are unpacked. CSV and TSV have a header line.
    text : str or sequence of str
        The column with the text; several are joined by a space.
    label : str
        The column with the label. In JSON lines it may be a list (an empty one: no label), which makes the
        table multi-label.
    label_sep : str, optional
        What separates several labels in one field; makes the table multi-label. An empty field: no label.
    path_sep : str, optional
        Labels are paths from a root, whose parts this separates.
    taxonomy : Taxonomy or path, optional
        Every label must be in it. None: built from the labels if they are paths, otherwise none.
    format : {"csv", "tsv", "jsonl"}, optional
        None: recognised by the file's ending, then by its first line.

    Returns
    -------
    Dataset
        `X` an array of texts; `y` an array of node names, or a list of lists of them.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"title,class\nrain coat,wear/coats\ntea cup,home/cups\n")
    >>> data = read_table(file, text="title", label="class", path_sep="/")
    >>> data.y, data.taxonomy.names
    (array(['coats', 'cups'], dtype=object), ('wear', 'home', 'coats', 'cups'))
    """
    for name, sep in (("label_sep", label_sep), ("path_sep", path_sep)):
        if sep == "":
            raise ParameterError(f"read_table: {name} must not be empty; leave it out if nothing is separated.")
    given = taxonomy if taxonomy is None or isinstance(taxonomy, Taxonomy) else Taxonomy.read(taxonomy)
    labels = _Labels(path, label, label_sep)
    texts = []
    for line, record in records(path, format=format):
        texts.append(_joined_text(path, line, record, text))
        labels.add(line, record)
    if not texts:
        raise DatasetError(f"{shown_name(path)}: the table has a header but no rows.")
    names, tree = _resolved(labels, path_sep, given)
    y: Any = [[names[i] for i in row] for row in labels.rows]
    if not labels.multi:
        y = _objects([row[0] for row in y])
    return Dataset(_objects(texts), y, tree, source=shown_name(path))


def read_texts(path: Source, *, text: Columns, format: str | None = None) -> npt.NDArray[Any]:  # noqa: A002
    r"""Read only the texts of a table, to predict for.

    Parameters are those of `read_table`.

    Returns
    -------
    array of str
        One text a row; a table without rows gives an empty array.

    Examples
    --------
    >>> import io
    >>> read_texts(io.BytesIO(b"title\train\nhello\tno\n"), text=["title", "rain"])
    array(['hello no'], dtype=object)
    """
    columns = [text] if isinstance(text, str) else text
    found = records(path, format=format, columns=columns)
    rows: Iterator[str] = (_joined_text(path, *row, columns) for row in found)
    return _objects(list(rows))


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """Return an object array: one very long text must not make every entry as wide."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _value(path: Source, line: int, record: dict[str, Any], column: str) -> Any:
    check_column(path, line, column, record)
    return record[column]


def _as_text(path: Source, line: int, column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        refuse(path, line, column, f"wanted a text or a number, got {value!r}.")
    return str(value)


def _joined_text(path: Source, line: int, record: dict[str, Any], columns: Columns) -> str:
    names = [columns] if isinstance(columns, str) else columns
    return " ".join(_as_text(path, line, name, _value(path, line, record, name)) for name in names)


@dataclass
class _Labels:
    """Collects label texts; each different one is kept once, with the line it was first seen on."""

    path: Source
    column: str
    sep: str | None
    ids: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    listed: bool | None = None

    @property
    def multi(self) -> bool:
        """Whether a row may have several labels."""
        return self.sep is not None or bool(self.listed)

    def add(self, line: int, record: dict[str, Any]) -> None:
        value = _value(self.path, line, record, self.column)
        listed = isinstance(value, list)
        if self.sep is None and self.listed not in (None, listed):
            refuse(self.path, line, self.column, "labels are lists in some rows and single in others.")
        self.listed = listed
        parts = value if listed else [_as_text(self.path, line, self.column, value)]
        if self.sep is not None and not listed:
            parts = parts[0].split(self.sep) if parts[0].strip() else []
        self.rows.append([self._id(line, part) for part in parts])

    def _id(self, line: int, part: Any) -> int:
        name = _as_text(self.path, line, self.column, part).strip()
        if not name:
            refuse(self.path, line, self.column, "the label is empty.")
        if name not in self.ids:
            self.lines.append(line)
        return self.ids.setdefault(name, len(self.ids))


def _resolved(labels: _Labels, path_sep: str | None, taxonomy: Taxonomy | None) -> tuple[list[str], Taxonomy | None]:
    """Return the node name of every label seen, and the taxonomy it is in."""
    written = list(labels.ids)
    if path_sep is None and taxonomy is None:
        return written, None
    paths = [_split_path(labels, *seen, path_sep) for seen in zip(written, labels.lines, strict=True)]
    tree = taxonomy or Taxonomy.from_paths(paths, sep=path_sep or "/")
    names = []
    for name, path, line in zip(written, paths, labels.lines, strict=True):
        node = tree.find(name) if path_sep is None else tree.find_path(path)
        if node is None:
            hint = tree.suggestion(path[-1])
            refuse(labels.path, line, labels.column, f"{name!r} is not in the taxonomy{hint}")
        names.append(tree.names[node])
    return names, tree


def _split_path(labels: _Labels, name: str, line: int, path_sep: str | None) -> list[str]:
    parts = [name] if path_sep is None else [part.strip() for part in name.split(path_sep)]
    if not all(parts):
        refuse(labels.path, line, labels.column, f"the path {name!r} has an empty part.")
    return parts
