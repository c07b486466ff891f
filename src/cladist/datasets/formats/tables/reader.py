"""Read tables with text columns and a label column: CSV, TSV, JSON lines, Parquet and Arrow."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import MOST_LABELS, Dataset, as_lists, as_objects
from cladist.datasets.formats.tables.records import (
    TOO_MANY_LABELS,
    cell_text,
    check_column,
    label_text,
    open_table,
    refuse_cell,
)
from cladist.errors import DatasetError, LabelWarning, ParameterError, quoted, shorten
from cladist.files import Source, display_name
from cladist.labels import encode
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.construction import guess_separator
from cladist.taxonomy.structure import SEPARATORS, is_missing

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
    query: str | None = None,
) -> Dataset:
    r"""Read a labelled table of texts.

    Parameters
    ----------
    path : path or binary stream
        The file. Text is UTF-8; gzip, xz and bzip2 are unpacked. CSV and TSV have a header; the delimiter of CSV may
        be a comma, a semicolon, a tab or a bar. Parquet and Arrow need pyarrow (the extra ``tables``); of workbooks,
        .xlsx and .ods, the first sheet is read (the extra ``spreadsheets``). Or a database, as ``sqlite:///shop.db`` or
        ``duckdb:///shop.duckdb`` (the extra ``duckdb``), which is only read.
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
    format : {"csv", "tsv", "jsonl", "parquet", "arrow", "xlsx", "ods"}, optional
        None: recognised by the file's first bytes, its ending, then its first line.
    query : str, optional
        The query to a database, whose answer is the table.

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
    if taxonomy is not None and not isinstance(taxonomy, Taxonomy):  # its paths have the separator of the labels
        taxonomy = Taxonomy.read(taxonomy, sep=path_sep or "/")
        taxonomy = taxonomy if path_sep is None else taxonomy.with_separator(path_sep)
    columns, texts = _check_columns("read_table", text), []
    with open_table(path, text=columns, label=label, format=format, query=query) as rows:
        labels = LabelColumn(path, rows.unit, label, label_sep)
        for number, (*cells, value) in rows:
            texts.append(join_cells(path, rows.unit, number, columns, cells))
            labels.add(number, value)
    if not texts:
        raise DatasetError(f"{display_name(path)}: the table has a header but no rows.")
    labels.finish()
    names, tree = labels.resolve(path_sep, taxonomy)
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
        return as_objects([join_cells(path, rows.unit, number, columns, cells) for number, cells in rows])


def join_text(source: Source, line: int, record: Mapping[str, Any], columns: Columns) -> str:
    """Return the text of a row: the texts of its columns, joined by a space."""
    names = [columns] if isinstance(columns, str) else columns
    for name in names:
        check_column(source, line, name, record)
    return join_cells(source, "line", line, names, [record[name] for name in names])


def _check_columns(who: str, text: Columns) -> list[str]:
    columns = [text] if isinstance(text, str) or not isinstance(text, Iterable) else list(text)
    for column in columns:
        if not isinstance(column, str):
            raise ParameterError(f"{who}: text must be the name of a column, or several; got {shorten(column)}.")
    if not columns:
        raise ParameterError(f"{who}: text must name at least one column.")
    return columns


def join_cells(source: Source, unit: str, number: int, columns: Sequence[str], cells: Sequence[Any]) -> str:
    """Return the text of a row whose cells are in the order of `columns`, joined by spaces."""
    try:
        return " ".join(cells)  # nearly always all of them are texts
    except TypeError:
        texts = [cell_text(cell) for cell in cells]
    for column, cell, text in zip(columns, cells, texts, strict=True):
        if text is None:
            refuse_cell(source, unit, number, column, f"wanted a text or a number, got {shorten(cell)}.")
    return " ".join(text or "" for text in texts)


class LabelColumn:
    """Collects the labels of rows, each distinct one once with the first row that has it.

    Numbers of rows count `unit`s, lines or rows; `sep` is the separator of several labels in one text.
    """

    def __init__(self, source: Source, unit: str, column: str, sep: str | None) -> None:
        self.source, self.unit, self.column, self.sep = source, unit, column, sep
        self.ids: dict[str, int] = {}
        self.first_seen: list[int] = []
        self.rows = array("q")  # ids, row by row
        self.counts = array("q")  # labels per row, where a row may have several
        self.has_lists: bool | None = None  # None: not known before the first row with a label
        self.first_without: int | None = None

    @property
    def is_multi(self) -> bool:
        """Whether a row may have several labels."""
        return self.sep is not None or bool(self.has_lists)

    def add(self, number: int, value: Any) -> None:
        """Add the labels of the next row."""
        if self.has_lists is False and self.sep is None and type(value) is str:
            label_id = self.ids.get(value)
            if label_id is not None:  # nearly always: the same text occurred before
                self.rows.append(label_id)
                return
        ids = [self._id_of(number, part) for part in self._split(number, value)]
        self.rows.extend(ids)
        self.counts.append(len(ids))

    def finish(self) -> None:
        """Refuse rows without a label unless rows may have several labels."""
        if not self.is_multi and self.first_without is not None:
            self._refuse(self.first_without, "the label is empty.")

    def as_y(self, names: list[str]) -> Any:
        """Return y: an array of names, or a list of lists of names; `names` follow the ids."""
        if not self.is_multi:
            return as_objects(names)[np.frombuffer(self.rows, np.int64)]
        return as_lists(as_objects(names)[np.frombuffer(self.rows, np.int64)], np.frombuffer(self.counts, np.int64))

    def _split(self, number: int, value: Any) -> list[Any]:
        if isinstance(value, list):
            self._check_same_form(number, True)
            if len(value) > MOST_LABELS:
                self._refuse(number, TOO_MANY_LABELS)
            return value
        text = self._text(number, value)
        if self.sep is not None:
            if text.count(self.sep) >= MOST_LABELS:
                self._refuse(number, TOO_MANY_LABELS)
            return text.split(self.sep) if text.strip() else []
        if is_missing(value) and not isinstance(value, str) and self.has_lists is not False:
            self.first_without = self.first_without or number  # no label, if labels turn out to be lists
            return []
        self._check_same_form(number, False)
        return [text]

    def _check_same_form(self, number: int, is_list: bool) -> None:
        if self.sep is None and self.has_lists not in (None, is_list):
            self._refuse(number, "labels are lists in some rows and single in others.")
        self.has_lists = is_list
        self.finish()

    def _id_of(self, number: int, part: Any) -> int:
        name = self._text(number, part).strip()
        if not name:
            self._refuse(number, "the label is empty.")
        if name not in self.ids:
            self.first_seen.append(number)
        return self.ids.setdefault(name, len(self.ids))

    def _text(self, number: int, value: Any) -> str:
        text = label_text(value)
        if text is None:
            self._refuse(number, f"wanted a text or a number, got {shorten(value)}.")
        return text

    def _refuse(self, number: int, problem: str, kind: str | None = None) -> NoReturn:
        refuse_cell(self.source, self.unit, number, self.column, problem, kind)

    def resolve(self, path_sep: str | None, taxonomy: Taxonomy | None) -> tuple[list[str], Taxonomy | None]:
        """Return the distinct labels as they name their nodes in the taxonomy, and that taxonomy."""
        labels = list(self.ids)
        if taxonomy is None:
            warn_of_separators(labels, path_sep)
        if path_sep is None and taxonomy is None:
            return labels, None
        paths = [self._split_path(*entry, path_sep) for entry in zip(labels, self.first_seen, strict=True)]
        tree = taxonomy or Taxonomy.from_paths(paths, sep=path_sep or "/")
        nodes = []
        for name, path, number in zip(labels, paths, self.first_seen, strict=True):
            node = tree.find(name) if path_sep is None else tree.find_path(path)
            if node is None:
                problem = f"{shorten(name)} is not in the taxonomy{_hint(name, path, path_sep, tree)}"
                self._refuse(number, problem, "unknown-label")
            nodes.append(node)
        return (labels if path_sep is None else _spell(labels, nodes, paths, tree)), tree

    def _split_path(self, name: str, number: int, path_sep: str | None) -> list[str]:
        parts = [name] if path_sep is None else [part.strip() for part in name.split(path_sep)]
        if not all(parts):
            self._refuse(number, f"the path {shorten(name)} has an empty part.")
        return parts


def _spell(labels: list[str], nodes: list[int], paths: list[list[str]], tree: Taxonomy) -> list[str]:
    """Return labels as they stand, as joined paths, or as names: the first form that names the nodes of the taxonomy.

    Joined paths use the taxonomy's separator and start where all labels start, at the root or below it.
    """
    names = [tree.names[v] for v in nodes]
    if tree.kind == "dag" or tree.sep is None:
        return names
    below_root = all(len(path) <= tree.depth[v] for path, v in zip(paths, nodes, strict=True))
    joined = [tree.joined_path(v, below_root=below_root) for v in nodes]
    for texts in (labels, joined):
        if all(tree.find(text) == v for text, v in zip(texts, nodes, strict=True)):
            form = encode(texts, tree).form
            if texts is joined or [form.spell(v, tree) for v in nodes] == texts:
                return texts
    return names


def warn_of_separators(labels: Sequence[str], path_sep: str | None) -> None:
    """Warn of labels that look like paths and are not split, or split at another separator than most contain."""
    if path_sep is None:
        guess = guess_separator(labels)
        if guess is not None:
            sep, count = guess
            _warn(
                f"There is no hierarchy, and {count:,} of {len(labels):,} labels contain {sep!r}, as in "
                f"{_quote_first(labels, sep)}; if labels are paths, give path_sep={sep!r} (--path-sep {sep!r})."
            )
        return
    unsplit = [label for label in labels if path_sep not in label]
    near = next((label for label in unsplit if path_sep.strip() and path_sep.strip() in label.strip()), None)
    guess = guess_separator(unsplit, besides=path_sep) if 2 * len(unsplit) > len(labels) else None
    if guess is not None or near is not None or len(unsplit) == len(labels) > 1:
        others = "" if guess is None else f", and {guess[1]:,} of these contain {guess[0]!r}"
        example = quoted(near) if near is not None else _quote_first(unsplit, guess[0] if guess else "")
        _warn(
            f"{len(unsplit):,} of {len(labels):,} labels have no {path_sep!r}{others}, as {example}: each is one node; "
            "give path_sep (--path-sep) as the labels have it, and write it alike in all of them."
        )


def _quote_first(labels: Sequence[str], part: str) -> str:
    return quoted(next(label for label in labels if part in label))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, LabelWarning, stacklevel=5)


def _hint(label: str, path: list[str], path_sep: str | None, tree: Taxonomy) -> str:
    """Return the end of an error about a label that is not in the taxonomy."""
    if path_sep is None:
        return tree.suggestion(label)
    for sep in SEPARATORS:
        joined = sep.join(path)
        if len(path) > 1 and sep != tree.sep and joined in tree:
            return (
                f", in which {quoted(joined)} is one node: labels are split at {path_sep!r}, and the taxonomy is not "
                f"split at {sep!r}; write both with one separator."
            )
    return tree.suggestion(label if len(path) == 1 else path[-1])
