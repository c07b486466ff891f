"""A `Dataset` → an ARFF-HMC file, which the reader turns back into an equal one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.arff_header import Hierarchy, list_hierarchy
from cladist.datasets.formats.svmlight import BLOCK_FEATURES, number_texts
from cladist.errors import DatasetError, one_of
from cladist.files import open_for_writing
from cladist.taxonomy import Taxonomy


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
    X, taxonomy = _check_matrix(data.X), data.taxonomy
    names = _column_names(data, X.shape[1])
    entries, node_labels = list_hierarchy(taxonomy, hierarchy)
    if getattr(data.y, "ndim", 1) != 1:
        raise DatasetError("write_arff_hmc: y must be names of nodes, or lists of them; got a matrix.")
    labels = [_label_text(row, entry, taxonomy, node_labels) for row, entry in enumerate(data.y)]
    title = "class"
    while title in names:
        title += "_"
    with open_for_writing(path) as file:
        file.write(b"@relation cladist\n\n")
        for name in names:
            file.write(f"@attribute {_quote(name)} numeric\n".encode())
        file.write(f"@attribute {title} hierarchical {','.join(entries)}\n\n@data\n".encode())
        n_rows = max(1, BLOCK_FEATURES // max(1, X.shape[1]))
        for start in range(0, len(labels), n_rows):
            rows = slice(start, start + n_rows)
            file.write("".join(_lines(X[rows], labels[rows])).encode())


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
    if np.isinf(table.data if sparse.issparse(table) else table).any():
        raise DatasetError("write_arff_hmc: X has an infinite value, which ARFF cannot hold.")
    return table


def _column_names(data: Dataset, n_columns: int) -> list[str]:
    if data.feature_names is None:
        return [f"x{k}" for k in range(1, n_columns + 1)]
    names = [str(name) for name in data.feature_names]
    if len(names) != n_columns:
        raise DatasetError(f"write_arff_hmc: there are {len(names)} feature_names for {n_columns} columns.")
    counts = Counter(names)
    for name in names:
        if counts[name] > 1:
            raise DatasetError(f"write_arff_hmc: two columns are called {name!r}; ARFF wants different names.")
        if not name or re.search("[\n\r\ud800-\udfff]", name):
            raise DatasetError(f"write_arff_hmc: ARFF cannot hold the column name {name!r}.")
    return names


def _label_text(row: int, entry: Any, taxonomy: Taxonomy, node_labels: Sequence[str]) -> str:
    """Return the label field of a row: ``label@label…``, or ``?`` where it has none."""
    nodes = []
    for label in entry if isinstance(entry, (list, tuple, set, frozenset, np.ndarray)) else [entry]:
        node = taxonomy.find(label)
        if node is None:
            hint = taxonomy.suggestion(label)
            raise DatasetError(f"write_arff_hmc: row {row}: the label {label!r} is not in the taxonomy{hint}")
        nodes.append(node)
    nodes = sorted(nodes) if isinstance(entry, (set, frozenset)) else nodes
    return "@".join(node_labels[v] for v in nodes) or "?"


def _quote(name: str) -> str:
    """Return a name in quotes unless it is plain."""
    if all(c.isalnum() or c in "_.-=+:/" for c in name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _lines(X: Any, labels: Sequence[str]) -> Iterator[str]:
    """Yield the lines of some rows, dense or sparse."""
    n, is_sparse = X.shape[1], sparse.issparse(X)
    texts = ["?" if text == "nan" else text for text in number_texts(X.data if is_sparse else X.ravel())]
    if is_sparse:
        texts = [f"{index + 1} {text}" for index, text in zip(X.indices.tolist(), texts, strict=True)]
    ends = X.indptr.tolist() if is_sparse else range(0, n * len(labels) + 1, n) if n else [0] * (len(labels) + 1)
    for label, start, end in zip(labels, ends[:-1], ends[1:], strict=True):
        if is_sparse:
            yield "{" + ", ".join([*texts[start:end], f"{n + 1} {label}"]) + "}\n"
        else:
            yield ",".join([*texts[start:end], label]) + "\n"
