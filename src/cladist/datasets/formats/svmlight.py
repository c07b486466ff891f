"""svmlight files with one or several labels per row; what would not be read back is not written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    read_chunks,
    read_into,
)
from cladist.errors import DatasetError, one_of
from cladist.files import Source, display_name, open_for_writing, refuse
from cladist.kernels.svmlight import LONGEST_LABEL, MOST_LABELS
from cladist.taxonomy import as_taxonomy
from cladist.taxonomy.structure import as_text, is_missing

BLOCK_FEATURES = 1 << 17  # numbers held as texts at a time


def read_svmlight(
    path: Source,
    *,
    taxonomy: Any = None,
    multilabel: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: npt.DTypeLike = np.float32,
) -> Dataset:
    r"""Read an svmlight / libsvm file: ``label[,label…] index:value index:value … # comment`` per line.

    Parameters
    ----------
    path : path or binary stream
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked.
    taxonomy : Taxonomy, or what one can be built from, optional
        Every label must be in it.
    multilabel : bool or "auto"
        "auto": several labels per row if any row has a comma. Then, and with True, a row may also have none.
    n_features : int, optional
        The number of columns; None: as the highest index requires.
    zero_based : bool or "auto"
        Whether indices begin at 0; "auto": if any index is 0.
    dtype : float32 or float64
        The dtype of the features.

    Returns
    -------
    Dataset
        `X` in CSR with sorted indices; `y` the labels as they are written, as an array of str or, with
        several labels per row, a list of lists.

    Notes
    -----
    Indices rise within a row; a value is a finite number; ``qid:`` is refused, there is no ranking here.
    Values are parsed as Python's ``float`` parses them, then rounded to `dtype`.

    Examples
    --------
    >>> import io
    >>> data = read_svmlight(io.BytesIO(b"12 1:0.5 3:2\n40 2:1 # a comment\n"))
    >>> data, data.y
    (Dataset(2 rows, 3 features, the stream), array(['12', '40'], dtype=object))
    """
    one_of("read_svmlight", "multilabel", multilabel, (True, False, "auto"))
    one_of("read_svmlight", "zero_based", zero_based, (True, False, "auto"))
    check_n_features("read_svmlight", n_features)
    kind = check_float("read_svmlight", dtype)
    tree = None if taxonomy is None else as_taxonomy(taxonomy)
    form = RowFormat(*_index_range(zero_based, n_features), kind, several=multilabel is not False)
    labels, rows = LabelNames(tree), CsrRows()
    read_into(labels, rows, path, form)
    y = labels.as_y(multilabel)
    return Dataset(rows.matrix(path, zero_based, n_features), y, tree, source=display_name(path))


def read_svmlight_rows(path: Source, *, n_features: int, zero_based: bool) -> Iterator[sparse.csr_matrix]:
    """Yield the rows of an svmlight file some megabytes of text at a time, with any labels."""
    form = RowFormat(*_index_range(zero_based, n_features), np.dtype(np.float32))
    yield from read_matrices(path, form, zero_based, n_features)


def read_matrices(
    path: Source, form: RowFormat, zero_based: bool, n_features: int | None
) -> Iterator[sparse.csr_matrix]:
    """Yield the features of a file chunk by chunk; a file without rows is refused."""
    has_rows = False
    for chunk in read_chunks(path, form):
        rows = CsrRows()
        rows.add(chunk)
        if rows.n_rows:
            has_rows = True
            yield rows.matrix(path, zero_based, n_features)
    if not has_rows:
        refuse(path, None, None, "the file has no rows.", kind="no-rows")


def _index_range(zero_based: bool | str, n_features: int | None) -> tuple[int, int]:
    """Return the lowest and highest index a row may have, as long as "auto" is not decided."""
    lowest = 1 if zero_based is False else 0
    most = MOST_FEATURES if n_features is None else n_features
    return lowest, most - 1 if zero_based is True else most


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
    rows, labels = prepare_rows(X, y, where)
    if not rows.shape[1] and not all(labels):
        raise DatasetError(f"{where}: a row without labels and without columns cannot be written as svmlight.")
    write_rows(path, rows, labels, np.arange(rows.shape[1]) + (not zero_based))


def prepare_rows(X: Any, y: Any, where: str) -> tuple[sparse.csr_matrix, list[str]]:
    """Return X in CSR and the label field of each row, or refuse them."""
    rows, labels = as_rows(X, where), label_texts(y, where)
    if rows.shape[0] != len(labels) or not rows.shape[0]:
        raise DatasetError(
            f"{where}: X has {rows.shape[0]} rows and y {len(labels)}; both need the same number, at least 1."
        )
    return rows, labels


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


def label_texts(y: Any, where: str) -> list[str]:
    """Return the label field of each row; every distinct label is checked once."""
    text_of: dict[Any, str] = {}

    def text(label: Any) -> str:
        if label not in text_of:
            text_of[label] = check_label("" if is_missing(label) else as_text(label), where)
        return text_of[label]

    try:
        entries = y.tolist() if isinstance(y, np.ndarray) else list(y)
        if not any(isinstance(entry, (list, tuple, set, frozenset, np.ndarray)) for entry in entries):
            return [text(entry) for entry in entries]
        rows = [[text(label) for label in entry] for entry in entries]
    except TypeError:
        raise DatasetError(f"{where}: y must have a label, or a list or set of labels, for every row.") from None
    for row, labels in enumerate(rows):
        if len(labels) > MOST_LABELS:
            problem = f"row {row} has {len(labels):,} labels; at most {MOST_LABELS:,} are read again."
            raise DatasetError(f"{where}: {problem}")
    return [",".join(labels) for labels in rows]


def check_label(label: str, where: str) -> str:
    """Return a label that the file can hold, or refuse it."""
    if not label or re.search(r"[\x00-\x20,:#]|^\ufeff", label):
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


def write_rows(
    path: str | PathLike[str],
    rows: sparse.csr_matrix,
    labels: Sequence[str],
    numbers: npt.NDArray[Any],
    *,
    zero_last: bool = False,
) -> None:
    """Write rows; `numbers` are the columns' numbers in the file.

    A row with nothing in it gets a feature of value 0. `zero_last` puts a feature with the number 0 behind the others
    of its row.
    """
    with open_for_writing(path) as file:
        for start, end in _row_blocks(rows.indptr):
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
                lines.append((" ".join(features) or f"{numbers[0]}:0") + "\n")
            file.write("".join(lines).encode("utf-8"))


def _row_blocks(indptr: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield first and last row of blocks with few features, or one row."""
    start, n_rows = 0, len(indptr) - 1
    while start < n_rows:
        end = int(np.searchsorted(indptr, indptr[start] + BLOCK_FEATURES, side="right")) - 1
        end = min(max(end, start + 1), n_rows)
        yield start, end
        start = end


def number_texts(values: npt.NDArray[Any]) -> list[str]:
    """Return the shortest text of each number that a reader, which goes through float64, turns into it again."""
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
