"""svmlight files with one or several labels a row, parsed in chunks by a compiled kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.svmlight.chunks import Chunk, Layout, chunks
from cladist.datasets.formats.svmlight.labels import LabelNames
from cladist.errors import DatasetError, ParameterError, is_count, one_of
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
    check_n_features("read_svmlight", n_features)
    kind = float_kind("read_svmlight", dtype)
    tree = None if taxonomy is None else as_taxonomy(taxonomy)
    layout = Layout(*_index_range(zero_based, n_features), kind, several=multilabel is not False)
    labels, rows = LabelNames(tree), Rows()
    with opened(path) as stream:
        for chunk in chunks(path, stream, layout):
            labels.add(chunk)
            rows.add(chunk)
    if not rows.n_rows:
        raise DatasetError(f"{shown_name(path)}: the file has no rows.")
    y = labels.as_y(multilabel)
    return Dataset(rows.matrix(path, zero_based, n_features), y, tree, source=shown_name(path))


def read_svmlight_rows(path: Source, *, n_features: int, zero_based: bool) -> Iterator[sparse.csr_matrix]:
    r"""Yield the rows of an svmlight file some megabytes of text at a time, whatever labels they have.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"12 1:0.5 3:2\n40 2:1\n")
    >>> [rows.shape for rows in read_svmlight_rows(file, n_features=3, zero_based=False)]
    [(2, 3)]
    """
    layout = Layout(*_index_range(zero_based, n_features), np.dtype(np.float32), several=True)
    any_rows = False
    with opened(path) as stream:
        for chunk in chunks(path, stream, layout):
            rows = Rows()
            rows.add(chunk)
            if rows.n_rows:
                any_rows = True
                yield rows.matrix(path, zero_based, n_features)
    if not any_rows:
        raise DatasetError(f"{shown_name(path)}: the file has no rows.")


def _index_range(zero_based: bool | str, n_features: int | None) -> tuple[int, int]:
    """Return the lowest and highest index a row may have, as long as "auto" is not decided."""
    lowest = 1 if zero_based is False else 0
    most = MOST_FEATURES if n_features is None else n_features
    return lowest, most - 1 if zero_based is True else most


def check_n_features(who: str, n_features: int | None) -> None:
    """Raise a `ParameterError` unless this is a number of columns, or None."""
    if n_features is not None and not (is_count(n_features) and n_features <= MOST_FEATURES):
        raise ParameterError(f"{who}: n_features must be in 1 … {MOST_FEATURES}; got {n_features!r}.")


def float_kind(who: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return a dtype that features can have, or raise a `ParameterError`."""
    kinds: dict[str, np.dtype[Any]] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}
    try:
        return kinds[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise ParameterError(f"{who}: dtype must be float32 or float64; got {dtype!r}.") from None


class Rows:
    """The features read so far."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.indices: list[npt.NDArray[np.int32]] = []
        self.values: list[npt.NDArray[Any]] = []
        self.counts: list[npt.NDArray[np.int32]] = []

    def add(self, chunk: Chunk, kept: npt.NDArray[np.bool_] | None = None) -> None:
        """Take over the rows of a chunk, or those of them that are `kept`."""
        counts = np.diff(chunk.row_ends, prepend=np.int32(0))
        indices, values = chunk.indices, chunk.values
        if kept is not None and not kept.all():
            of_kept = np.repeat(kept, counts)
            counts, indices, values = counts[kept], indices[of_kept], values[of_kept]
        self.n_rows += len(counts)
        self.indices.append(indices)
        self.values.append(values)
        self.counts.append(counts)

    def matrix(self, path: Source, zero_based: bool | str, n_features: int | None) -> sparse.csr_matrix:
        """Return all rows as one CSR matrix; what was read is let go, so that most of it is held once."""
        indices = np.concatenate(self.indices)
        self.indices.clear()
        values = np.concatenate(self.values)
        self.values.clear()
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
