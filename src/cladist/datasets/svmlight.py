"""svmlight files with one or several labels a row, parsed in chunks by a compiled kernel."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.datasets.svmlight_chunks import Chunk, chunks
from cladist.datasets.svmlight_labels import LabelNames
from cladist.errors import DatasetError, ParameterError, one_of
from cladist.files import Source, opened, shown_name
from cladist.taxonomy import as_taxonomy

MOST_FEATURES = 2**31 - 1  # indices are int32


def read_svmlight(
    path: Source,
    *,
    taxonomy: Any = None,
    multilabel: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: npt.DTypeLike = np.float32,
) -> Dataset:
    r"""Read an svmlight / libsvm file: ``label[,label…] index:value index:value … # comment`` a line.

    Parameters
    ----------
    path : path or binary stream
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked.
    taxonomy : Taxonomy, or what one can be built from, optional
        Every label must be in it.
    multilabel : bool or "auto"
        "auto": several labels a row if any row has a comma. Then, and with True, a row may also have none.
    n_features : int, optional
        The number of columns; None: as many as the highest index needs.
    zero_based : bool or "auto"
        Whether indices begin at 0; "auto": if any index is 0.
    dtype : float32 or float64
        Of the features.

    Returns
    -------
    Dataset
        `X` in CSR with sorted indices; `y` the labels as they are written, as an array of str or, with
        several labels a row, a list of lists.

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
    if n_features is not None and not 1 <= n_features <= MOST_FEATURES:
        raise ParameterError(f"read_svmlight: n_features must be in 1 … {MOST_FEATURES}; got {n_features!r}.")
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"read_svmlight: dtype must be float32 or float64; got {kind}.")
    tree = None if taxonomy is None else as_taxonomy(taxonomy)
    lowest, highest = _index_range(zero_based, n_features)
    labels, rows = LabelNames(tree), _Rows()
    with opened(path) as stream:
        for chunk in chunks(path, stream, multilabel is not False, lowest, highest, kind):
            labels.add(chunk)
            rows.add(chunk)
    if not rows.n_rows:
        raise DatasetError(f"{shown_name(path)}: the file has no rows.")
    y = labels.as_y(multilabel)
    return Dataset(rows.matrix(path, zero_based, n_features), y, tree, source=shown_name(path))


def _index_range(zero_based: bool | str, n_features: int | None) -> tuple[int, int]:
    """Return the lowest and highest index a row may have, as long as "auto" is not decided."""
    lowest = 1 if zero_based is False else 0
    most = MOST_FEATURES if n_features is None else n_features
    return lowest, most - 1 if zero_based is True else most


class _Rows:
    """The features read so far."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.indices: list[npt.NDArray[np.int32]] = []
        self.values: list[npt.NDArray[Any]] = []
        self.counts: list[npt.NDArray[np.int64]] = []

    def add(self, chunk: Chunk) -> None:
        self.n_rows += chunk.n_rows
        self.indices.append(chunk.indices)
        self.values.append(chunk.values)
        self.counts.append(np.diff(chunk.row_ends, prepend=0))

    def matrix(self, path: Source, zero_based: bool | str, n_features: int | None) -> sparse.csr_matrix:
        """Return all rows as one CSR matrix."""
        indices, values = np.concatenate(self.indices), np.concatenate(self.values)
        indptr = np.zeros(self.n_rows + 1, np.int32 if len(indices) < MOST_FEATURES else np.int64)
        np.cumsum(np.concatenate(self.counts), out=indptr[1:])
        from_one = zero_based is False or (zero_based == "auto" and len(indices) > 0 and indices.min() > 0)
        if from_one:
            indices -= 1
        n_needed = int(indices.max()) + 1 if len(indices) else 0
        if n_features is not None and n_needed > n_features:
            raise DatasetError(
                f"{shown_name(path)}: indices run from 0 to {n_needed - 1}, which makes {n_needed} columns; "
                f"n_features is {n_features}."
            )
        X = sparse.csr_matrix((values, indices, indptr), shape=(self.n_rows, n_features or n_needed))
        X.has_sorted_indices = True
        return X
