"""A `Dataset` → an ARFF-HMC file, which the reader turns back into an equal one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.arff.hierarchy import NO_LABELS, Hierarchy, list_hierarchy
from cladist.datasets.formats.svmlight.writer import number_texts
from cladist.errors import DatasetError, one_of
from cladist.files import open_for_writing
from cladist.taxonomy import Taxonomy

_BLOCK = 2**17  # numbers that are texts at a time


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
    X = _check_matrix(data.X)
    names = _column_names(data, X.shape[1])
    entries, node_labels = list_hierarchy(data.taxonomy, hierarchy)
    labels = _label_texts(data.y, data.taxonomy, node_labels)
    with open_for_writing(path) as file:
        file.write(b"@relation cladist\n\n")
        for name in names:
            file.write(f"@attribute {_quote(name)} numeric\n".encode())
        title = "class"
        while title in names:
            title += "_"
        file.write(f"@attribute {title} hierarchical {','.join(entries)}\n\n@data\n".encode())
        n_rows = max(1, _BLOCK // max(1, X.shape[1]))
        for start in range(0, len(labels), n_rows):
            rows = slice(start, start + n_rows)
            lines = _sparse_lines(X[rows], labels[rows]) if sparse.issparse(X) else _dense_lines(X[rows], labels[rows])
            file.write("".join(lines).encode())


def _check_matrix(X: Any) -> Any:
    """Return X as an array or canonical CSR matrix of numbers that can be written."""
    table: Any = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise DatasetError(
            f"write_arff_hmc: X must be a table of numbers; got {table.ndim} dimensions of {table.dtype}. "
            "Turn texts into numbers with text_features."
        )
    if not table.shape[0]:
        raise DatasetError("write_arff_hmc: the Dataset has no rows.")
    if sparse.issparse(table) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    if table.dtype.kind == "f" and np.isinf(table.data if sparse.issparse(table) else table).any():
        raise DatasetError("write_arff_hmc: X has an infinite value, which ARFF cannot hold.")
    return table


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
        if not name or any(c in "\n\r" or "\ud800" <= c <= "\udfff" for c in name):
            raise DatasetError(f"write_arff_hmc: ARFF cannot hold the column name {name!r}.")
        seen.add(name)
    return names


def _label_texts(y: Any, taxonomy: Taxonomy, node_labels: Sequence[str]) -> list[str]:
    """Return the label field of each row: ``label@label…``, or ``?`` where it has none."""
    if getattr(y, "ndim", 1) != 1:
        raise DatasetError("write_arff_hmc: y must be names of nodes, or lists of them; got a matrix.")
    texts = []
    for row, labels in enumerate(y):
        several = isinstance(labels, (list, tuple, set, frozenset, np.ndarray))
        nodes = [_find_node(label, taxonomy, row) for label in (labels if several else [labels])]
        nodes = sorted(nodes) if isinstance(labels, (set, frozenset)) else nodes
        texts.append("@".join(node_labels[v] for v in nodes) or NO_LABELS)
    return texts


def _find_node(label: Any, taxonomy: Taxonomy, row: int) -> int:
    node = taxonomy.find(label)
    if node is None:
        hint = taxonomy.suggestion(label)
        raise DatasetError(f"write_arff_hmc: row {row}: the label {label!r} is not in the taxonomy{hint}")
    return node


def _quote(name: str) -> str:
    """Return a name in quotes unless it is plain."""
    if all(c.isalnum() or c in "_.-=+:/" for c in name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _numbers(values: Any) -> list[str]:
    return ["?" if text == "nan" else text for text in number_texts(values)]


def _dense_lines(X: Any, labels: Sequence[str]) -> Iterator[str]:
    texts, n = _numbers(X.ravel()), X.shape[1]
    for row, label in enumerate(labels):
        yield ",".join([*texts[row * n : (row + 1) * n], label]) + "\n"


def _sparse_lines(X: sparse.csr_matrix, labels: Sequence[str]) -> Iterator[str]:
    pairs = [f"{index + 1} {text}" for index, text in zip(X.indices.tolist(), _numbers(X.data), strict=True)]
    ends = X.indptr.tolist()
    for label, start, end in zip(labels, ends[:-1], ends[1:], strict=True):
        yield "{" + ", ".join([*pairs[start:end], f"{X.shape[1] + 1} {label}"]) + "}\n"
