"""LSHTC: the files of the large scale hierarchical text classification challenges, from DMOZ and Wikipedia."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import pairwise
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset, check_float
from cladist.datasets.formats.sparse_text import (
    MOST_FEATURES,
    CsrRows,
    LabelNames,
    RowFormat,
    check_n_features,
    read_into,
)
from cladist.datasets.formats.svmlight import check_label, prepare_rows, write_rows
from cladist.errors import DatasetError, ParameterError, TaxonomyError, one_of
from cladist.files import Source, display_name, iterate_text_lines, name_source, open_for_reading
from cladist.taxonomy import Taxonomy, as_taxonomy, construction

Path = str | PathLike[str]

NO_LABEL = "0"  # stands in place of a label in the test files
MOST_LEVELS = 1_000  # of a path; the deepest hierarchies have some dozens
_BLANKS = re.compile("[ \t\r\n\f\v]+")  # separate labels in the rows too; other spaces are part of a name
_SMALL_TABLE = 1 << 20
_AT_ONCE = 1 << 20  # positions are 8 bytes each, twice an index


def read_lshtc(
    path: Source,
    hierarchy: Any,
    *,
    test: Source | None = None,
    validation: Source | None = None,
    n_features: int | None = None,
    compact: bool = False,
    multilabel: bool | Literal["auto"] = "auto",
    document_id: bool | Literal["auto"] = "auto",
    on_cycle: Literal["error", "drop"] = "error",
    dtype: npt.DTypeLike = np.float32,
) -> Dataset[Taxonomy]:
    r"""Read LSHTC files: ``label[, label…] number:value number:value …`` per line, the numbers in any order.

    Parameters
    ----------
    path : path or binary stream
        The rows, or those to train on. ``.gz``, ``.xz`` and ``.bz2`` are unpacked; a first line ``Data`` is
        skipped.
    hierarchy : path, binary stream, Taxonomy, or what one can be built from
        A file has an edge ``parent child`` or a path from a root to a leaf on each line; a node is its number, and
        one below several parents makes a DAG. Every label must be in it.
    test, validation : path or binary stream, optional
        More rows, over the same columns; the Dataset is then split.
    n_features : int, optional
        The number of columns; None: as the highest number in any of the files requires.
    compact : bool
        Leave out the columns that no row uses; ``feature_names`` are the numbers of those that stay. Otherwise a
        feature's number is its column.
    multilabel : bool or "auto"
        "auto": if any row has several labels, or any has none, every row has a list of them.
    document_id : bool or "auto"
        Whether each row's first feature is ``0:`` and the number of the document, to be left out; "auto": if that is
        so in the first row of a file, all rows of that file must have it.
    on_cycle : {"error", "drop"}
        Whether cycles in a hierarchy file are refused or broken; dropped edges are in ``taxonomy.dropped_edges``.
    dtype : float32 or float64
        The dtype of the features.

    Returns
    -------
    Dataset
        `X` in CSR with sorted indices; `y` an array of str, or a list of lists. A row whose label is ``0``, as in the
        challenges' test files, has none, unless the hierarchy has a node 0.

    Examples
    --------
    >>> import io
    >>> hierarchy = io.BytesIO(b"1 2\n1 3\n3 4\n")
    >>> data = read_lshtc(io.BytesIO(b"2, 4 0:17 7:2 3:1\n4 0:18 5:1\n"), hierarchy, compact=True)
    >>> data, data.y
    (Dataset(2 rows, 3 features, 4 nodes, the stream), [['2', '4'], ['4']])
    >>> data.feature_names, data.X.toarray().tolist()
    (array(['3', '5', '7'], dtype='<U10'), [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    """
    one_of("read_lshtc", "multilabel", multilabel, (True, False, "auto"))
    one_of("read_lshtc", "document_id", document_id, (True, False, "auto"))
    one_of("read_lshtc", "on_cycle", on_cycle, ("error", "drop"))
    check_n_features("read_lshtc", n_features)
    if compact and n_features is not None:
        raise ParameterError("read_lshtc: compact=True makes its own columns; leave out n_features.")
    if validation is not None and test is None:
        raise ParameterError("read_lshtc: validation is a third part; give test as well.")
    kind = check_float("read_lshtc", dtype)
    form = RowFormat(0, (n_features or MOST_FEATURES) - 1, kind, multilabel is not False, True, document_id)
    is_file = isinstance(hierarchy, (str, PathLike)) or (
        hasattr(hierarchy, "read") and not isinstance(hierarchy, Taxonomy)  # which has a method of that name
    )
    taxonomy = read_hierarchy(hierarchy, on_cycle) if is_file else as_taxonomy(hierarchy)
    labels, rows = LabelNames(taxonomy, nothing=NO_LABEL), CsrRows()
    sources = [source for source in (path, test, validation) if source is not None]
    ends = [0]
    for source in sources:
        read_into(labels, rows, source, form)
        ends.append(rows.n_rows)
    has_unlabelled = labels.first_unlabelled is not None
    y = labels.as_y(True if multilabel == "auto" and has_unlabelled else multilabel)
    X = rows.matrix(path, True, n_features)
    X, names = _compact(X) if compact else (X, None)
    parts = [slice(start, end) for start, end in pairwise(ends)] if test is not None else []
    split: dict[str, Any] = dict(zip(("train_rows", "test_rows", "validation_rows"), parts, strict=False))
    return Dataset(X, y, taxonomy, feature_names=names, source=", ".join(map(display_name, sources)), **split)


def _compact(X: sparse.csr_matrix) -> tuple[sparse.csr_matrix, npt.NDArray[np.str_]]:
    """Return X without its unused columns, its arrays changed in place, and the numbers of the others."""
    indices = X.indices
    if X.shape[1] <= max(len(indices), _SMALL_TABLE):
        is_used = np.zeros(X.shape[1], bool)
        is_used[indices] = True
        used = np.flatnonzero(is_used)
        np.take(np.cumsum(is_used, dtype=np.int32) - 1, indices, out=indices, mode="clip")
    else:  # a table would take more memory than the result
        used = np.unique(indices)
        for start in range(0, len(indices), _AT_ONCE):
            part = indices[start : start + _AT_ONCE]
            part[:] = np.searchsorted(used, part)
    compact = sparse.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], len(used)))
    compact.has_sorted_indices = True
    return compact, used.astype("U10")


def read_hierarchy(source: Source, on_cycle: str) -> Taxonomy:
    """Read a hierarchy; a line of two numbers is an edge, a longer one a path, each pair of neighbours an edge."""
    links = construction.Links()
    line_of = array("q")
    with name_source(source), open_for_reading(source, error=TaxonomyError) as stream:
        edges = _edges(iterate_text_lines(source, stream, error=TaxonomyError), links, line_of)
        draft = construction.from_edges(edges, on_cycle=on_cycle, links=links, where=lambda k: f"line {line_of[k]}")
        return Taxonomy(draft)


def _edges(
    lines: Iterator[tuple[int, str]], links: construction.Links, line_of: array[int]
) -> Iterator[tuple[str, str]]:
    for number, line in lines:
        if line.startswith("#"):
            continue
        nodes = _BLANKS.split(line.strip(" \t\r\n\f\v"), MOST_LEVELS)
        if len(nodes) > MOST_LEVELS:
            problem = f"line {number}: a path has at most {MOST_LEVELS:,} nodes; there are more here."
            raise TaxonomyError(problem, line=number, kind="too-deep")
        if len(nodes) == 1 and nodes[0]:
            links.node(nodes[0])
        for edge in pairwise(nodes):
            line_of.append(number)
            yield edge


def write_lshtc(
    data: Dataset, path: Path, hierarchy: Path, *, test: Path | None = None, validation: Path | None = None
) -> None:
    r"""Write a Dataset as LSHTC files, which `read_lshtc` gives back to the last bit.

    Parameters
    ----------
    data : Dataset
        With a taxonomy. A column is written under its number, or under its feature name where all names are numbers,
        as those of ``read_lshtc(compact=True)`` are.
    path : path
        Gets all rows, or those to train on where `test` is given. An ending ``.gz``, ``.xz`` or ``.bz2`` packs it.
    hierarchy : path
        Gets the taxonomy, one edge ``parent child`` per line.
    test, validation : path, optional
        Get the other parts of a split Dataset.

    Notes
    -----
    A row without labels has the label 0. The files lack the same information as those of `write_svmlight`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cladist.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_edges([("1", "2"), ("1", "3")])
    >>> data = Dataset(np.array([[0, 0.5, 2], [0, 0, 1]]), [["2", "3"], []], taxonomy)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_lshtc(data, folder / "train.txt", folder / "hierarchy.txt")
    >>> print((folder / "train.txt").read_text())
    2,3 1:0.5 2:2
    0 2:1
    <BLANKLINE>
    """
    if data.taxonomy is None:
        raise DatasetError(f"{fspath(hierarchy)}: the Dataset has no taxonomy to write.")
    for name in data.taxonomy.names:
        check_label(name, fspath(hierarchy))
    parts = [("", path)] if test is None else [("train", path), ("test", test)]
    if validation is not None:
        parts.append(("validation", validation))
    prepared = []  # all is checked before anything is written
    for part, target in parts:
        X, y = (getattr(data, f"{name}_{part}" if part else name) for name in ("X", "y"))
        prepared.append((target, *_prepare(X, y, data, fspath(target))))
    data.taxonomy.write(hierarchy, format="edges")
    for target, rows, labels, numbers in prepared:
        write_rows(target, rows, labels, numbers, zero_last=True)


def _prepare(X: Any, y: Any, data: Dataset, where: str) -> tuple[sparse.csr_matrix, list[str], npt.NDArray[Any]]:
    """Return rows, label fields and the columns' numbers of a part, or refuse it."""
    rows, labels = prepare_rows(X, y, where)
    if not all(labels):
        if data.taxonomy is not None and NO_LABEL in data.taxonomy:
            raise DatasetError(f"{where}: a row without labels is written as 0, which is a node of this taxonomy.")
        labels = [label or NO_LABEL for label in labels]
    numbers = _numbers(data, rows)
    first = numbers[rows.indices[: rows.indptr[1]]].tolist()
    if first == [0]:
        raise DatasetError(
            f"{where}: the first row has feature 0 alone, which would be read as the number of a document; "
            "put another row first."
        )
    return rows, labels, numbers


def _numbers(data: Dataset, rows: sparse.csr_matrix) -> npt.NDArray[Any]:
    """Return the number of each column in the file."""
    names = [] if data.feature_names is None else [str(name) for name in data.feature_names]
    if names and all(name.isascii() and name.isdigit() and len(name) <= 10 for name in names):
        numbers = np.array([int(name) for name in names])
        if len(np.unique(numbers)) == len(numbers):
            return numbers
    return np.arange(rows.shape[1])
