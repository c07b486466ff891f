"""A `Dataset` → an ARFF-HMC file, which the reader turns back into an equal one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from cladist.datasets.dataset import SETS, Dataset
from cladist.datasets.formats.arff_header import ROOT, Hierarchy
from cladist.datasets.formats.svmlight import BLOCK_FEATURES, number_texts
from cladist.errors import DatasetError, one_of
from cladist.files import open_for_writing
from cladist.taxonomy import Taxonomy

_NODE_NAME = re.compile(r"""(?!['"\ufeff\s]|\?\Z)[^,@%{}/\x00-\x1f\ud800-\udfff]++(?<!\s)""", re.ASCII)
_COLUMN_NAME = re.compile("[^\n\r\ud800-\udfff]+")
_PLAIN_NAME = re.compile(r"[\w.=+:/-]+")  # others are quoted


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
    X, names = _check_features(data)
    if data.taxonomy is None or getattr(data.y, "ndim", 1) != 1:
        problem = "the Dataset must have a taxonomy, and in y its nodes' names or lists of them"
        raise DatasetError(f"write_arff_hmc: {problem}.")
    entries, node_labels = list_hierarchy(data.taxonomy, hierarchy)
    labels = [_label_text(row, entry, data.taxonomy, node_labels) for row, entry in enumerate(data.y)]
    title = "class"
    while title in names:
        title += "_"
    with open_for_writing(path) as file:
        file.write(b"@relation cladist\n\n")
        for name in names:
            shown = name if _PLAIN_NAME.fullmatch(name) else '"' + re.sub(r'([\\"])', r"\\\1", name) + '"'
            file.write(f"@attribute {shown} numeric\n".encode())
        file.write(f"@attribute {title} hierarchical {','.join(entries)}\n\n@data\n".encode())
        n_rows = max(1, BLOCK_FEATURES // max(1, X.shape[1]))
        for start in range(0, len(labels), n_rows):
            rows = slice(start, start + n_rows)
            file.write("".join(_lines(X[rows], labels[rows])).encode())


def _check_features(data: Dataset) -> tuple[Any, list[str]]:
    """Return X, an array or canonical CSR matrix of numbers that can be written, and the names of its columns."""
    X: Any = data.X.tocsr() if sparse.issparse(data.X) else np.asarray(data.X)
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.shape[0]:
        got = f"shape {X.shape} of {X.dtype}"
        raise DatasetError(f"write_arff_hmc: X must be a table of numbers with rows; got {got}. See text_features.")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if np.isinf(X.data if sparse.issparse(X) else X).any():
        raise DatasetError("write_arff_hmc: X has an infinite value, which ARFF cannot hold.")
    n = X.shape[1]
    names = [f"x{k}" for k in range(1, n + 1)] if data.feature_names is None else list(map(str, data.feature_names))
    if len(names) != n or len(set(names)) != n or not all(map(_COLUMN_NAME.fullmatch, names)):
        wanted = f"{n} different names, none empty or with a line break"
        raise DatasetError(f"write_arff_hmc: feature_names must be {wanted}; got {str(names)[:200]}.")
    return X, names


def list_hierarchy(taxonomy: Taxonomy, hierarchy: Hierarchy) -> tuple[list[str], list[str]]:
    """Return the entries of a hierarchical attribute, paths or edges, and the label by which rows name each node."""
    is_dag, names = taxonomy.kind == "dag", list(taxonomy.names)
    if hierarchy == "tree" and is_dag:
        raise DatasetError("write_arff_hmc: a DAG has no paths to name its nodes by; write it with hierarchy='dag'.")
    has_slashes = any("/" in name for name in names)
    if is_dag or hierarchy == "dag" or (hierarchy == "auto" and taxonomy.depth[-1] > 0 and not has_slashes):
        if ROOT in taxonomy:
            problem = f"the node {ROOT!r} would be lost among edges, where that name stands above all nodes"
            raise DatasetError(f"write_arff_hmc: {problem}; rename it, or write a tree with hierarchy='tree'.")
        _check_parts(names)
        above = [taxonomy.parents_of(name) or [ROOT] for name in names]
        return [f"{parent}/{name}" for name, row in zip(names, above, strict=True) for parent in row], names
    parents = taxonomy.parent.tolist()
    heads = ["" if p < 0 else names[p] + "/" for p in parents]
    parts = [name.removeprefix(head) for name, head in zip(names, heads, strict=True)]
    if any("/" in part or head + part != name for part, head, name in zip(parts, heads, names, strict=True)):
        parts = [taxonomy.path_parts(v)[-1] for v in range(taxonomy.n_nodes)]
    _check_parts(parts)
    paths = list[str]()
    for part, p in zip(parts, parents, strict=True):
        paths.append(part if p < 0 else f"{paths[p]}/{part}")
    return paths, paths


def _check_parts(parts: Sequence[str]) -> None:
    """Refuse nodes' names, or parts of their paths, that the format cannot hold."""
    for part in parts:
        if not _NODE_NAME.fullmatch(part):
            problem = f"the format cannot hold the name {part!r}: it is empty or '?', has one of , @ % {{ }} /, a"
            problem = f"{problem} control character or a blank at an end, or begins with a quote or a byte order mark"
            raise DatasetError(f"write_arff_hmc: {problem}.")


def _label_text(row: int, entry: Any, taxonomy: Taxonomy, node_labels: Sequence[str]) -> str:
    """Return the label field of a row: ``label@label…``, or ``?`` where it has none."""
    nodes = []
    for label in entry if isinstance(entry, (*SETS, np.ndarray)) else [entry]:
        node = taxonomy.find(label)
        if node is None:
            hint = taxonomy.suggestion(label)
            raise DatasetError(f"write_arff_hmc: row {row}: the label {label!r} is not in the taxonomy{hint}")
        nodes.append(node)
    nodes = sorted(nodes) if isinstance(entry, (set, frozenset)) else nodes
    return "@".join(node_labels[v] for v in nodes) or "?"


def _lines(X: Any, labels: Sequence[str]) -> Iterator[str]:
    """Yield the lines of some rows, dense or sparse."""
    n, is_sparse = X.shape[1], sparse.issparse(X)
    texts = ["?" if text == "nan" else text for text in number_texts(X.data if is_sparse else X.ravel())]
    ends = (X.indptr if is_sparse else np.arange(len(labels) + 1) * n).tolist()
    if is_sparse:
        texts = [f"{index + 1} {text}" for index, text in zip(X.indices.tolist(), texts, strict=True)]
    for label, start, end in zip(labels, ends[:-1], ends[1:], strict=True):
        if is_sparse:
            yield "{" + ", ".join([*texts[start:end], f"{n + 1} {label}"]) + "}\n"
        else:
            yield ",".join([*texts[start:end], label]) + "\n"
