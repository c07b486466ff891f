"""Read tables with text columns and a label column: CSV, TSV, JSON lines, Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy.typing as npt

from cladist.datasets.dataset import Dataset, as_objects
from cladist.datasets.formats.tables.columns import cell_text, check_column, refuse_cell, shorten
from cladist.datasets.formats.tables.labels import LabelColumn
from cladist.datasets.formats.tables.records import open_table
from cladist.errors import DatasetError, ParameterError
from cladist.files import Source, display_name
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
        The file. Text is UTF-8; gzip, xz and bzip2 are unpacked. CSV and TSV have a header; the delimiter of CSV may
        be a comma, a semicolon, a tab or a bar. Parquet and Arrow need pyarrow (the extra ``tables``).
    text : str or sequence of str
        The column with the text; several are joined by a space.
    label : str
        The column with the label. In JSON lines, Parquet and Arrow it may be a list (an empty one: no label), which
        makes the table multi-label.
    label_sep : str, optional
        The separator of several labels in one field, which makes the table multi-label. An empty field: no label.
    path_sep : str, optional
        The separator of the parts of labels that are paths from a root, also in a taxonomy that is read from a file.
    taxonomy : Taxonomy or path, optional
        The taxonomy of the labels, which must all be in it. None: built from the labels if they are paths.
    format : {"csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        None: recognised by the file's first bytes, its ending, then its first line.

    Returns
    -------
    Dataset
        `X` is an array of texts; `y` is an array of labels as they stand in the file, or a list of lists of them. In a
        DAG, and with a `Taxonomy` that has no separator (see `Taxonomy.with_separator`), paths become names of nodes.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"title,class\nrain coat,wear/coats\ntea cup,home/cups\n")
    >>> data = read_table(file, text="title", label="class", path_sep="/")
    >>> data.y, data.taxonomy.names
    (array(['wear/coats', 'home/cups'], dtype=object), ('wear', 'home', 'coats', 'cups'))
    """
    _check_options(label, label_sep, path_sep)
    given = taxonomy if taxonomy is None or isinstance(taxonomy, Taxonomy) else _read_taxonomy(taxonomy, path_sep)
    columns, texts = _check_columns("read_table", text), []
    with open_table(path, text=columns, label=label, format=format) as rows:
        labels = LabelColumn(path, rows.unit, label, label_sep)
        for number, (*cells, value) in rows:
            texts.append(_join_cells(path, rows.unit, number, columns, cells))
            labels.add(number, value)
    if not texts:
        raise DatasetError(f"{display_name(path)}: the table has a header but no rows.")
    labels.finish()
    names, tree = labels.resolve(path_sep, given)
    return Dataset(as_objects(texts), labels.as_y(names), tree, source=display_name(path))


def _check_options(label: str, label_sep: str | None, path_sep: str | None) -> None:
    for name, sep in (("label_sep", label_sep), ("path_sep", path_sep)):
        if sep == "":
            raise ParameterError(f"read_table: {name} must not be empty; leave it out if nothing is separated.")
        if not isinstance(sep, str | None):
            raise ParameterError(f"read_table: {name} must be a text, or None; got {shorten(sep)}.")
    if not isinstance(label, str):
        raise ParameterError(f"read_table: label must be the name of one column; got {shorten(label)}.")


def read_texts(path: Source, *, text: Columns, format: str | None = None) -> npt.NDArray[Any]:  # noqa: A002
    r"""Read only the texts of a table, to predict their labels.

    Parameters
    ----------
    path, text, format
        The file, its text columns and its format, as in `read_table`.

    Returns
    -------
    array of str
        One text per row; an empty array for a table without rows.

    Examples
    --------
    >>> import io
    >>> read_texts(io.BytesIO(b"title\train\nhello\tno\n"), text=["title", "rain"])
    array(['hello no'], dtype=object)
    """
    columns = _check_columns("read_texts", text)
    with open_table(path, text=columns, format=format) as rows:
        return as_objects([_join_cells(path, rows.unit, number, columns, cells) for number, cells in rows])


def join_text(source: Source, line: int, record: Mapping[str, Any], columns: Columns) -> str:
    """Return the text of a row: the texts of its columns, joined by a space.

    Examples
    --------
    >>> join_text("t.csv", 2, {"title": "rain coat", "size": 40.0}, ["title", "size"])
    'rain coat 40'
    """
    names = [columns] if isinstance(columns, str) else columns
    for name in names:
        check_column(source, line, name, record)
    return _join_cells(source, "line", line, names, [record[name] for name in names])


def _read_taxonomy(path: str | PathLike[str], path_sep: str | None) -> Taxonomy:
    """Read a taxonomy whose paths have the separator of the labels."""
    return Taxonomy.read(path) if path_sep is None else Taxonomy.read(path, sep=path_sep).with_separator(path_sep)


def _check_columns(who: str, text: Columns) -> list[str]:
    columns = [text] if isinstance(text, str) or not isinstance(text, Iterable) else list(text)
    for column in columns:
        if not isinstance(column, str):
            raise ParameterError(f"{who}: text must be the name of a column, or several; got {shorten(column)}.")
    if not columns:
        raise ParameterError(f"{who}: text must name at least one column.")
    return columns


def _join_cells(source: Source, unit: str, number: int, columns: Sequence[str], cells: Sequence[Any]) -> str:
    try:
        return " ".join(cells)  # nearly always all of them are texts
    except TypeError:
        texts = [cell_text(cell) for cell in cells]
    for column, cell, text in zip(columns, cells, texts, strict=True):
        if text is None:
            refuse_cell(source, unit, number, column, f"wanted a text or a number, got {shorten(cell)}.")
    return " ".join(text or "" for text in texts)
