"""A `Dataset` → an ARFF-HMC file, which the reader turns back into an equal one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.arff.hierarchy import Hierarchy
from cladist.datasets.formats.arff.label_list import listed_hierarchy, spelled_labels
from cladist.errors import DatasetError, one_of
from cladist.files import written

_BLOCK = 2**12  # rows written at a time


def write_arff_hmc(data: Dataset, path: str | PathLike[str], *, hierarchy: Hierarchy = "auto") -> None:
    r"""Write features, labels and taxonomy as an ARFF file with a hierarchical attribute.

    Parameters
    ----------
    data : Dataset
        With numbers in `X` (an array, or a sparse matrix, which makes sparse rows with indices from 1, as Clus wants
        them) and a taxonomy. A split, texts and descriptions are not written.
    path : path
        An ending ``.gz``, ``.xz`` or ``.bz2`` packs it.
    hierarchy : {"auto", "tree", "dag"}
        Whether the taxonomy is written as paths or as edges. "auto": as paths if the nodes' names are paths, else as
        edges, so that names are kept. With "tree", nodes are named by their paths when the file is read.

    Notes
    -----
    NaN is written as ``?``. Columns without names are called x1, x2 ….

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cladist.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_parents({"1": None, "1/1": "1", "1/2": "1"})
    >>> path = pathlib.Path(tempfile.mkdtemp(), "genes.arff")
    >>> write_arff_hmc(Dataset(np.array([[0.5], [np.nan]]), ["1/1", "1/2"], taxonomy), path)
    >>> print(path.read_text())
    @relation cladist
    <BLANKLINE>
    @attribute x1 numeric
    @attribute class hierarchical 1,1/1,1/2
    <BLANKLINE>
    @data
    0.5,1/1
    ?,1/2
    <BLANKLINE>
    """
    one_of("write_arff_hmc", "hierarchy", hierarchy, ("auto", "tree", "dag"))
    if data.taxonomy is None:
        raise DatasetError("write_arff_hmc: the Dataset has no taxonomy, which the hierarchical attribute needs.")
    X = _numbers(data.X)
    if not X.shape[0]:
        raise DatasetError("write_arff_hmc: the Dataset has no rows.")
    names = _column_names(data, X.shape[1])
    entries, spelled = listed_hierarchy(data.taxonomy, hierarchy)
    labels = spelled_labels(data.y, data.taxonomy, spelled)
    with written(path) as file:
        file.write("".join(_header_lines(names, entries)).encode())
        rows = _sparse_rows(X, labels) if sparse.issparse(X) else _dense_rows(X, labels)
        for block in rows:
            file.write(block.encode())


def _numbers(X: Any) -> Any:
    """Return X as an array or canonical CSR matrix of integers, float32 or float64."""
    table: Any = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise DatasetError(
            f"write_arff_hmc: X must be a table of numbers; got {table.ndim} dimensions of {table.dtype}. "
            "Turn texts into numbers with text_features."
        )
    if sparse.issparse(table) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    if table.dtype.kind == "f" and np.isinf(table.data if sparse.issparse(table) else table).any():
        raise DatasetError("write_arff_hmc: X has an infinite value, which ARFF cannot hold.")
    if table.dtype.kind == "b":
        return table.astype(np.int8)
    return table if table.dtype in (np.float32, np.float64) or table.dtype.kind != "f" else table.astype(np.float64)


def _column_names(data: Dataset, n_columns: int) -> list[str]:
    if data.feature_names is None:
        return [f"x{k}" for k in range(1, n_columns + 1)]
    names = [str(name) for name in data.feature_names]
    if len(names) != n_columns:
        raise DatasetError(f"write_arff_hmc: there are {len(names)} feature_names for {n_columns} columns.")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DatasetError(f"write_arff_hmc: two columns are called {name!r}; ARFF wants different names.")
        if not name or not _is_text(name):
            raise DatasetError(f"write_arff_hmc: ARFF cannot hold the column name {name!r}.")
        seen.add(name)
    return names


def _is_text(name: str) -> bool:
    """Tell whether a name stays on its line and can be encoded."""
    return not any(c in "\n\r" or "\ud800" <= c <= "\udfff" for c in name)


def _header_lines(names: Sequence[str], entries: Iterable[str]) -> Iterator[str]:
    yield "@relation cladist\n\n"
    for name in names:
        yield f"@attribute {_quoted(name)} numeric\n"
    labels = "class"
    while labels in names:
        labels += "_"
    yield f"@attribute {labels} hierarchical {','.join(entries)}\n\n@data\n"


def _quoted(name: str) -> str:
    """Quote a name unless it is plain."""
    if all(c.isalnum() or c in "_.-=+:/" for c in name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _spelled_numbers(values: npt.NDArray[Any]) -> list[str]:
    """Return numbers as the shortest text that reads back to them, NaN as ``?``."""
    if values.dtype.kind != "f":
        return [str(value) for value in values.tolist()]
    texts = [repr(value) for value in values.tolist()]
    if values.dtype == np.float32:
        exact, texts = texts, [str(value) for value in values]
        # Read as a double and rounded again, the shortest text may, very rarely, miss.
        for k in np.flatnonzero((np.array(texts, np.float64).astype(np.float32) != values) & ~np.isnan(values)):
            texts[k] = exact[k]
    return ["?" if text == "nan" else text if text == "-0.0" else text.removesuffix(".0") for text in texts]


def _dense_rows(X: npt.NDArray[Any], labels: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(labels), _BLOCK):
        part = zip(X[start : start + _BLOCK], labels[start : start + _BLOCK], strict=True)
        yield "".join(",".join([*_spelled_numbers(row), label]) + "\n" for row, label in part)


def _sparse_rows(X: sparse.csr_matrix, labels: Sequence[str]) -> Iterator[str]:
    last = X.shape[1] + 1
    for start in range(0, len(labels), _BLOCK):
        lines = []
        for row, label in enumerate(labels[start : start + _BLOCK], start):
            stored = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip(X.indices[stored].tolist(), _spelled_numbers(X.data[stored]), strict=True)
            lines.append("{" + "".join(f"{index + 1} {text}, " for index, text in pairs) + f"{last} {label}}}\n")
        yield "".join(lines)
