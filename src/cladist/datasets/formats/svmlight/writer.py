"""Rows as svmlight text, written in blocks; what a reader would not give back is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.errors import DatasetError
from cladist.files import open_for_writing
from cladist.kernels.svmlight import LONGEST_LABEL, MOST_LABELS
from cladist.taxonomy.structure import as_text, is_missing

BLOCK_FEATURES = 1 << 17  # numbers held as texts at a time

_NOT_IN_A_LABEL = re.compile(r"[\x00-\x20,:#]")
_BYTE_ORDER_MARK = "\ufeff"


def write_svmlight(data: Dataset | tuple[Any, Any], path: str | PathLike[str], *, zero_based: bool = False) -> None:
    r"""Write rows and labels as an svmlight file, which `read_svmlight` gives back to the last bit.

    Parameters
    ----------
    data : Dataset or (X, y)
        `X` dense or sparse, of finite numbers; `y` one label per row, or a list or set of labels per
        row. All rows are written, without their split.
    path : path
        An ending ``.gz``, ``.xz`` or ``.bz2`` packs the file.
    zero_based : bool
        Whether the first column is 0 in the file; the usual is 1.

    Notes
    -----
    A number is written with as many digits as its dtype needs; a file of float64 is to be read with that dtype. The
    file lacks what the reader has as parameters: empty columns at the end (``n_features``), that rows with one label
    each are meant as sets (``multilabel=True``), and ``zero_based=True``. A row with neither labels nor features,
    which would be a blank line, gets a feature of value 0.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> write_svmlight((np.array([[0.5, 0.0, 2.0], [0.0, 0.1, 0.0]]), [["a", "b"], ["a"]]), path)
    >>> print(path.read_text())
    a,b 1:0.5 3:2
    a 2:0.1
    <BLANKLINE>
    """
    X, y = (data.X, data.y) if isinstance(data, Dataset) else data
    where = fspath(path)
    rows, labels = as_rows(X, where), label_texts(y, where)
    check_lengths(rows, labels, where)
    if not rows.shape[1] and not all(labels):
        raise DatasetError(f"{where}: a row without labels and without columns cannot be written as svmlight.")
    numbers = np.arange(rows.shape[1]) + (not zero_based)
    with open_for_writing(path) as file:
        for block in text_rows(rows, labels, numbers):
            file.write(block)


def as_rows(X: Any, where: str) -> sparse.csr_matrix:
    """Return X in CSR with sorted indices and finite numbers, or refuse it."""
    try:
        dense = X if sparse.issparse(X) else np.asarray(X)
        rows = sparse.csr_matrix(dense.astype(np.float32) if dense.dtype == np.float16 else dense)
    except (TypeError, ValueError) as problem:
        raise DatasetError(f"{where}: X must be a matrix of numbers to be written ({problem}).") from None
    if rows.dtype.kind not in "fiub":
        raise DatasetError(f"{where}: X must hold numbers to be written; it holds {rows.dtype}.")
    if not rows.has_canonical_format:
        rows = rows.copy()  # its arrays may be those of X
        rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        k = int(np.flatnonzero(~np.isfinite(rows.data))[0])
        row = int(np.searchsorted(rows.indptr, k, side="right")) - 1
        raise DatasetError(f"{where}: row {row} of X holds {rows.data[k]}; only finite numbers can be written.")
    return rows


def check_lengths(rows: sparse.csr_matrix, labels: Sequence[str], where: str) -> None:
    """Raise a `DatasetError` unless there are rows, and as many as labels."""
    if rows.shape[0] != len(labels) or not rows.shape[0]:
        raise DatasetError(f"{where}: X has {rows.shape[0]} rows and y {len(labels)}; both want the same, at least 1.")


def label_texts(y: Any, where: str) -> list[str]:
    """Return the label field of each row; every distinct label is checked once."""
    known: dict[Any, str] = {}

    def text(label: Any) -> str:
        if label not in known:
            known[label] = check_label("" if is_missing(label) else as_text(label), where)
        return known[label]

    try:
        entries = y.tolist() if isinstance(y, np.ndarray) else list(y)
        several = any(_is_set(entry) for entry in entries)
        if not several:
            return [text(entry) for entry in entries]
        return [_join_labels([text(label) for label in entry], row, where) for row, entry in enumerate(entries)]
    except TypeError:
        raise DatasetError(f"{where}: y must have a label, or a list or set of labels, for every row.") from None


def _is_set(entry: Any) -> bool:
    return isinstance(entry, (list, tuple, set, frozenset, np.ndarray))


def _join_labels(labels: list[str], row: int, where: str) -> str:
    if len(labels) > MOST_LABELS:
        raise DatasetError(f"{where}: row {row} has {len(labels):,} labels; at most {MOST_LABELS:,} are read again.")
    return ",".join(labels)


def check_label(label: str, where: str) -> str:
    """Return a label that the file can hold, or refuse it."""
    bad = _NOT_IN_A_LABEL.search(label)
    if bad or not label or label.startswith(_BYTE_ORDER_MARK):
        raise DatasetError(
            f"{where}: the label {label!r} cannot be written: a label in an svmlight file is not empty and has no "
            "spaces, control characters, ',', ':' or '#'; rename it."
        )
    try:
        size = len(label.encode("utf-8"))
    except UnicodeEncodeError as problem:
        raise DatasetError(f"{where}: the label {label!r} cannot be written as UTF-8: {problem.reason}.") from None
    if size > LONGEST_LABEL:
        raise DatasetError(f"{where}: a label has {size:,} bytes, more than {LONGEST_LABEL:,}: {label[:40]!r}…")
    return label


def text_rows(
    rows: sparse.csr_matrix, labels: Sequence[str], numbers: npt.NDArray[Any], *, zero_last: bool = False
) -> Iterator[bytes]:
    """Yield the lines of a file in blocks; `numbers` are the columns' numbers there.

    A row with nothing in it gets a feature of value 0. `zero_last` puts a feature with the number 0 behind the others
    of its row.
    """
    start, n_rows = 0, rows.shape[0]
    while start < n_rows:
        end = int(np.searchsorted(rows.indptr, rows.indptr[start] + BLOCK_FEATURES, side="right")) - 1
        end = min(max(end, start + 1), n_rows)
        first, last = rows.indptr[start], rows.indptr[end]
        columns = numbers[rows.indices[first:last]].tolist()
        pairs = [f"{n}:{text}" for n, text in zip(columns, number_texts(rows.data[first:last]), strict=True)]
        ends = (rows.indptr[start : end + 1] - first).tolist()
        lines = []
        for label, a, b in zip(labels[start:end], ends[:-1], ends[1:], strict=True):
            features = pairs[a:b]
            if zero_last and features and columns[a] == 0:
                features.append(features.pop(0))
            if label:
                features.insert(0, label)
            lines.append(" ".join(features) or f"{numbers[0]}:0")
        lines.append("")
        yield "\n".join(lines).encode("utf-8")
        start = end


def number_texts(values: npt.NDArray[Any]) -> list[str]:
    """Return the shortest text of each number that a reader, which goes through float64, turns into it again.

    Examples
    --------
    >>> number_texts(np.array([0.1, 2, 1e20], np.float32)), number_texts(np.array([True, False]))
    (['0.1', '2', '1e+20'], ['1', '0'])
    """
    if values.dtype.kind in "iub":
        return [str(int(value)) for value in values.tolist()]
    values = values.astype(np.float32 if values.dtype.itemsize <= 4 else np.float64)
    texts = values.astype(str)
    # A text read as float64 and then rounded may end beside the number; the number's own float64 does not.
    with np.errstate(over="ignore"):
        wrong = texts.astype(np.float64).astype(values.dtype) != values
    shortest = [text.removesuffix(".0") for text in texts.tolist()]
    for k in np.flatnonzero(wrong).tolist():
        shortest[k] = repr(float(values[k]))
    return shortest
