"""Datasets as LSHTC files: rows, and the hierarchy beside them."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.lshtc.reader import NO_LABEL
from cladist.datasets.formats.svmlight.writer import as_rows, check_label, check_lengths, label_texts, text_rows
from cladist.errors import DatasetError
from cladist.files import open_for_writing

Path = str | PathLike[str]


def write_lshtc(
    data: Dataset, path: Path, hierarchy: Path, *, test: Path | None = None, validation: Path | None = None
) -> None:
    r"""Write a Dataset as LSHTC files, which `read_lshtc` gives back to the last bit.

    Parameters
    ----------
    data : Dataset
        With a taxonomy. A column is written under its number, or under its feature name where all names are numbers,
        as those of ``read_lshtc(compact=True)`` are.
    path : path
        Gets all rows, or those to train on where `test` is given. An ending ``.gz``, ``.xz`` or ``.bz2`` packs it.
    hierarchy : path
        Gets the taxonomy, one edge ``parent child`` per line.
    test, validation : path, optional
        Get the other parts of a split Dataset.

    Notes
    -----
    A row without labels has the label 0. The files lack the same information as those of `write_svmlight`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cladist.taxonomy import Taxonomy
    >>> taxonomy = Taxonomy.from_edges([("1", "2"), ("1", "3")])
    >>> data = Dataset(np.array([[0, 0.5, 2], [0, 0, 1]]), [["2", "3"], []], taxonomy)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_lshtc(data, folder / "train.txt", folder / "hierarchy.txt")
    >>> print((folder / "train.txt").read_text())
    2,3 1:0.5 2:2
    0 2:1
    <BLANKLINE>
    """
    if data.taxonomy is None:
        raise DatasetError(f"{fspath(hierarchy)}: the Dataset has no taxonomy to write.")
    for name in data.taxonomy.names:
        check_label(name, fspath(hierarchy))
    parts = [("", path)] if test is None else [("train", path), ("test", test)]
    if validation is not None:
        parts.append(("validation", validation))
    prepared = []  # all is checked before anything is written
    for part, target in parts:
        X, y = (getattr(data, f"{name}_{part}" if part else name) for name in ("X", "y"))
        prepared.append((target, *_prepare(X, y, data, fspath(target))))
    data.taxonomy.write(hierarchy, format="edges")
    for target, rows, labels, numbers in prepared:
        with open_for_writing(target) as file:
            for block in text_rows(rows, labels, numbers, zero_last=True):
                file.write(block)


def _prepare(X: Any, y: Any, data: Dataset, where: str) -> tuple[sparse.csr_matrix, list[str], npt.NDArray[Any]]:
    """Return rows, label fields and the columns' numbers of a part, or refuse it."""
    rows, labels = as_rows(X, where), label_texts(y, where)
    check_lengths(rows, labels, where)
    if not all(labels):
        if data.taxonomy is not None and NO_LABEL in data.taxonomy:
            raise DatasetError(f"{where}: a row without labels is written as 0, which is a node of this taxonomy.")
        labels = [label or NO_LABEL for label in labels]
    numbers = _numbers(data, rows)
    first = numbers[rows.indices[: rows.indptr[1]]].tolist()
    if first == [0]:
        raise DatasetError(
            f"{where}: the first row has feature 0 alone, which would be read as the number of a document; "
            "put another row first."
        )
    return rows, labels, numbers


def _numbers(data: Dataset, rows: sparse.csr_matrix) -> npt.NDArray[Any]:
    """Return the number of each column in the file."""
    names = [] if data.feature_names is None else [str(name) for name in data.feature_names]
    if names and all(name.isascii() and name.isdigit() and len(name) <= 10 for name in names):
        numbers = np.array([int(name) for name in names])
        if len(np.unique(numbers)) == len(numbers):
            return numbers
    return np.arange(rows.shape[1])
