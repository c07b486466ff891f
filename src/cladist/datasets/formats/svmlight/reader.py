"""svmlight files with one or several labels per row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset, check_float
from cladist.datasets.formats.label_names import LabelNames
from cladist.datasets.formats.sparse_text import MOST_FEATURES, CsrRows, RowFormat, check_n_features, read_chunks
from cladist.errors import one_of
from cladist.files import Source, display_name, refuse
from cladist.taxonomy import as_taxonomy


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
    for chunk in read_chunks(path, form):
        labels.add(chunk)
        rows.add(chunk)
    if not rows.n_rows:
        refuse(path, None, None, "the file has no rows.", kind="no-rows")
    y = labels.as_y(multilabel)
    return Dataset(rows.matrix(path, zero_based, n_features), y, tree, source=display_name(path))


def read_svmlight_rows(path: Source, *, n_features: int, zero_based: bool) -> Iterator[sparse.csr_matrix]:
    r"""Yield the rows of an svmlight file some megabytes of text at a time, with any labels.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"12 1:0.5 3:2\n40 2:1\n")
    >>> [rows.shape for rows in read_svmlight_rows(file, n_features=3, zero_based=False)]
    [(2, 3)]
    """
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
