"""Datasets as RCV1 files: documents, judgements and topic hierarchy."""

from __future__ import annotations

import os
from itertools import accumulate, pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cladist.datasets.dataset import Dataset, length
from cladist.datasets.formats.rcv1 import HIERARCHY, JUDGEMENTS, ROOT, documents_file
from cladist.datasets.formats.svmlight import as_rows, write_rows
from cladist.errors import DatasetError
from cladist.files import open_for_writing
from cladist.kernels.svmlight import LONGEST_LABEL
from cladist.taxonomy import Taxonomy


def write_rcv1(data: Dataset, folder: str | PathLike[str]) -> None:
    """Write a Dataset as RCV1's files, which `read_rcv1` gives back to the last bit.

    Parameters
    ----------
    data : Dataset
        With a taxonomy. `X` is a matrix, written as vectors, or an array of texts, written as tokens. A split one is
        written as a train and a test file, any other as a train file.
    folder : path
        Made if it is not there; files of the same names are replaced.

    Notes
    -----
    Documents are numbered from 1, those to train on first. The node ``Root`` is written above the roots of the
    taxonomy, unless it has a node of that name; read such a one with ``root=True``. Not in the files are empty columns
    at the end (``n_features``) and that rows had single labels: topics always come back as lists.

    Examples
    --------
    >>> import tempfile
    >>> taxonomy = Taxonomy.from_edges([("CCAT", "C15"), ("CCAT", "C21")])
    >>> folder = tempfile.mkdtemp()
    >>> write_rcv1(Dataset(np.array([[0.5, 0.0], [0.0, 2.0]]), [["C15", "CCAT"], []], taxonomy), folder)
    >>> print(Path(folder, "lyrl2004_vectors_train.dat").read_text())
    1  1:0.5
    2  2:2
    <BLANKLINE>
    >>> print(Path(folder, "rcv1-v2.topics.qrels").read_text())
    C15 1 1
    CCAT 1 1
    <BLANKLINE>
    """
    where = os.fspath(folder)
    if data.taxonomy is None:
        raise DatasetError(f"{where}: the Dataset has no taxonomy to write.")
    if data.validation_rows is not None:
        raise DatasetError(f"{where}: RCV1 has a train and a test part, no validation part; leave it out.")
    names = ("train", "test") if data.is_split else ("",)
    Xs, ys = ([getattr(data, f"{what}_{name}" if name else what) for name in names] for what in ("X", "y"))
    ends = [0, *accumulate(map(length, Xs))]
    if not all(map(length, Xs)):
        raise DatasetError(f"{where}: a part without rows cannot be written.")
    _check_names(data.taxonomy, where)
    judgements = _judgements([labels for y in ys for labels in y], data.taxonomy, where)
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as problem:
        raise DatasetError(f"{where!r}: the folder cannot be made ({problem}).") from problem
    _with_root(data.taxonomy).write(Path(folder, f"{HIERARCHY}.orig"), format="rcv1")
    for X, (start, end), part in zip(Xs, pairwise(ends), ("train", "test_pt0"), strict=False):
        _write_documents(X, range(start + 1, end + 1), part, Path(folder))
    with open_for_writing(Path(folder, JUDGEMENTS)) as file:
        file.write(judgements)


def _check_names(taxonomy: Taxonomy, where: str) -> None:
    """Refuse topics that the judgements cannot hold; the hierarchy, which is written first, refuses some more."""
    for name in taxonomy.names:
        if any(c <= " " for c in name) or len(name.encode("utf-8", "surrogatepass")) > LONGEST_LABEL:
            raise DatasetError(
                f"{where}: the topic {name[:40]!r} cannot be written: it has a space or a control character, or more "
                f"than {LONGEST_LABEL:,} bytes; rename it."
            )


def _judgements(y: list[Any], taxonomy: Taxonomy, where: str) -> bytes:
    lines = []
    for document, labels in enumerate(y, start=1):
        topics = [labels] if isinstance(labels, str) else list(labels)
        for topic in topics:
            if topic not in taxonomy:
                raise DatasetError(f"{where}: the label {topic!r} of row {document - 1} is not in the taxonomy.")
            lines.append(f"{topic} {document} 1\n")
        if len(set(topics)) < len(topics):
            raise DatasetError(f"{where}: row {document - 1} has a label twice.")
    if not lines:
        raise DatasetError(f"{where}: no row has a label, and a file without judgements is not read.")
    return "".join(lines).encode("utf-8", "surrogatepass")  # the hierarchy, written first, refuses surrogates


def _write_documents(X: Any, numbers: range, part: str, folder: Path) -> None:
    if sparse.issparse(X) or np.ndim(X) == 2:
        path = folder / documents_file("vectors", part)
        rows = as_rows(X, os.fspath(path))
        labels = [f"{number} " for number in numbers]  # the official files have two blanks here
        write_rows(path, rows, labels, np.arange(rows.shape[1]) + 1)
    else:
        path = folder / documents_file("tokens", part)
        with open_for_writing(path) as file:
            for number, text in zip(numbers, X, strict=True):
                file.write(_tokens(number, text, os.fspath(path)))


def _tokens(number: int, text: Any, where: str) -> bytes:
    """Return the lines of a document; a text that would not be read back is refused."""
    try:
        words = text.encode("utf-8").split()
        if b" ".join(words) == text.encode("utf-8") and not text.startswith(".I"):
            return b".I %d\n.W\n%b\n\n" % (number, b" ".join(words))
    except (AttributeError, UnicodeEncodeError):
        pass
    raise DatasetError(
        f"{where}: the text {str(text)[:40]!r} cannot be written: words want single blanks between them, "
        "no others around them, and '.I' does not begin a text."
    )


def _with_root(taxonomy: Taxonomy) -> Taxonomy:
    if ROOT in taxonomy:
        return taxonomy
    names = taxonomy.names
    parents: dict[str, str | None] = {ROOT: None}
    parents.update((names[v], names[p] if p >= 0 else ROOT) for v, p in enumerate(taxonomy.parent.tolist()))
    return Taxonomy.from_parents(parents, titles={ROOT: ROOT, **taxonomy.titles})
