"""Rows whose columns come in blocks, some dense and some sparse, which learners read as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError

Block = Any  # an array (rows × columns) or CSR


class MixedRows:
    """Blocks of dense columns beside blocks of sparse ones: the rows that ``scipy.sparse.hstack`` would make CSR.

    As X of a learner they give the model that CSR gives, to its tolerance, in less time and memory: an entry of a dense
    block takes 4 bytes or less instead of 8 or more. `FlatSVM`, `FlatLogistic`, `RecursiveSVM`, `RecursiveLogistic`,
    `TopDown` and `NodewiseSVM` train on the blocks as they are; other learners make them CSR first.

    Parameters
    ----------
    blocks : list of arrays and sparse matrices
        Each of as many rows; columns follow each other in their order. Dense blocks may be float16, float32, float64 or
        integers, memory-mapped, or arrays of other libraries in the memory of the CPU, by DLPack.

    Attributes
    ----------
    blocks : tuple of arrays and CSR
    shape : (rows, columns)
    dtype : numpy.dtype
        float32 or float64: that of `tocsr` and `toarray`.

    Examples
    --------
    >>> import numpy as np
    >>> from cladist import FlatSVM, MixedRows
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> words = TfidfVectorizer().fit_transform(["red shoe", "blue shoe", "red hat"])
    >>> vectors = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1]], np.float32)
    >>> rows = MixedRows([words, vectors])
    >>> rows
    MixedRows of 3 rows: 4 sparse and 2 dense columns
    >>> FlatSVM().fit(rows, ["shoe", "shoe", "hat"]).predict(rows[2:]).tolist()
    ['hat']
    """

    ndim = 2

    def __init__(self, blocks: Sequence[object]) -> None:
        if not isinstance(blocks, (list, tuple)):
            kind = type(blocks).__name__
            raise DatasetError(f"MixedRows takes a list of blocks; got a {kind}: write MixedRows([block]).")
        self.blocks: tuple[Block, ...] = tuple(_as_block(block, k) for k, block in enumerate(blocks))
        if not self.blocks:
            raise DatasetError("MixedRows takes one block or more; got none.")
        lengths = [block.shape[0] for block in self.blocks]
        if len(set(lengths)) > 1:
            raise DatasetError(f"The blocks of MixedRows must have as many rows each; they have {lengths}.")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return int(self.blocks[0].shape[0]), int(sum(block.shape[1] for block in self.blocks))

    @property
    def size(self) -> int:
        """The number of entries that are stored."""
        return int(sum(block.nnz if sparse.issparse(block) else block.size for block in self.blocks))

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 if any block has more digits than float32, float32 otherwise."""
        return np.result_type(np.float32, *(block.dtype for block in self.blocks))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        widths = [0, 0]
        for block in self.blocks:
            widths[not sparse.issparse(block)] += block.shape[1]
        parts = [f"{width:,} {kind}" for width, kind in zip(widths, ("sparse", "dense"), strict=True) if width]
        return f"MixedRows of {len(self):,} rows: {' and '.join(parts) or 'no'} columns"

    def __getitem__(self, rows: Any) -> MixedRows:
        """Return some rows: of a slice, of numbers or of truths."""
        if isinstance(rows, tuple):
            rows, *columns = rows
            if any(part is not Ellipsis and part != slice(None) for part in columns):
                raise DatasetError("MixedRows are indexed by rows alone; select columns in the blocks.")
        if isinstance(rows, (int, np.integer)):
            rows = slice(rows, rows + 1 or None)
        return MixedRows([block[rows] for block in self.blocks])

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DatasetError(
            "MixedRows are no array, so that wide ones never fill the memory by accident; give rows.tocsr() to "
            "estimators of other libraries, or rows.toarray() if all columns fit into memory."
        )

    def __iter__(self) -> Iterator[MixedRows]:
        return (self[i] for i in range(len(self)))

    @property
    def starts(self) -> list[int]:
        """The first column of each block."""
        return np.cumsum([0, *(block.shape[1] for block in self.blocks[:-1])]).tolist()

    def tocsr(self) -> sparse.csr_array:
        """Return the same rows as one CSR matrix."""
        parts = [as_csr(block.astype(self.dtype, copy=False)) for block in self.blocks]
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.hstack(parts, format="csr"))

    def toarray(self) -> npt.NDArray[Any]:
        """Return the same rows as one array."""
        parts = [block.toarray() if sparse.issparse(block) else block for block in self.blocks]
        return np.hstack([part.astype(self.dtype, copy=False) for part in parts])


def _as_block(block: Any, k: int) -> Block:
    """Return a block as CSR in canonical form or as an array of numbers that shares its memory if possible."""
    where = f"Block {k} of MixedRows"
    if isinstance(block, MixedRows):
        raise DatasetError(f"{where} is MixedRows itself; write MixedRows([*rows.blocks, ...]).")
    if sparse.issparse(block):
        rows = sparse.csr_array(block)
        if rows.dtype.kind not in "fiub":
            raise DatasetError(f"{where} must be numbers; got {rows.dtype}.")
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32 if rows.dtype.itemsize <= 2 else np.float64)
        if not rows.has_canonical_format:
            rows = rows.copy()  # the caller's matrix stays unchanged
            rows.sum_duplicates()
    else:
        rows = as_array(block)
        if rows.ndim != 2:
            raise DatasetError(f"{where} must have rows and columns; got {rows.ndim} dimensions.")
        if rows.dtype.kind not in "fiub" or rows.dtype.itemsize > 8:
            raise DatasetError(f"{where} must be numbers; got {rows.dtype}.")
        if rows.dtype.kind != "f":
            rows = rows.astype(np.float32 if rows.dtype.itemsize <= 2 else np.float64)
    return rows


def array_of_library(X: Any) -> Any:
    """Return an array of another library, such as a tensor of torch, as numpy's, by DLPack; other rows as they are."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__") or hasattr(X, "columns"):
        return X
    return as_array(X)


def as_array(X: Any) -> npt.NDArray[Any]:
    """Return an array of any library that numpy or DLPack can read; those on a GPU are refused.

    Tensors that record gradients are read without them. bfloat16, which numpy does not have, becomes float32.
    """
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    if not hasattr(X, "__dlpack__"):
        return np.asarray(X)
    if hasattr(X, "detach"):
        X = X.detach()
    if str(getattr(X, "dtype", "")).endswith("bfloat16") and hasattr(X, "float"):
        X = X.float()
    device = X.__dlpack_device__() if hasattr(X, "__dlpack_device__") else (1, 0)
    if int(device[0]) not in CPU_DEVICES:
        raise DatasetError(
            "X is an array in the memory of another device than the CPU; move it there first, for instance with "
            "X.cpu() of torch or X.get() of cupy."
        )
    return np.from_dlpack(X)


CPU_DEVICES = (1, 3)  # of DLPack: kDLCPU, and kDLCUDAHost, the CPU's memory that a GPU may read


def as_csr(X: Any) -> sparse.csr_array:
    """Return an array or a matrix as CSR; where an array has no zeros, its values are shared."""
    if isinstance(X, np.ndarray) and np.count_nonzero(X) == X.size:  # in a fraction of the time
        index_type = np.int32 if X.size < 2**31 else np.int64
        columns, ends = np.tile(np.arange(X.shape[1], dtype=index_type), len(X)), np.arange(len(X) + 1) * X.shape[1]
        return sparse.csr_array((X.ravel(), columns, ends.astype(index_type)), shape=X.shape)
    return sparse.csr_array(X)


def csr_if_mixed(X: Any) -> Any:
    """Return `MixedRows` as CSR, and other rows as they are."""
    return X.tocsr() if isinstance(X, MixedRows) else X
