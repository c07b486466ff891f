"""RCV1-v2: 804,414 stories of Reuters with 103 topics, from the files that Lewis et al. 2004 published."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import Dataset, check_float
from cladist.datasets.formats.rcv1.documents import DocumentChoice, Documents
from cladist.datasets.formats.rcv1.judgements import Judgements
from cladist.datasets.formats.sparse_text import check_n_features
from cladist.errors import DatasetError, ParameterError, TaxonomyError, is_count, one_of
from cladist.files import PACKED_ENDINGS, Source, display_name, read_text
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.formats.reader import parse

JUDGEMENTS = "rcv1-v2.topics.qrels"
HIERARCHY = "rcv1.topics.hier"
_MOST_PARTS = 10  # of the test files; there are four
ROOT = "Root"


def read_rcv1(
    folder: str | PathLike[str],
    *,
    features: Literal["vectors", "tokens"] = "vectors",
    hierarchy: Literal["orig", "expanded"] = "orig",
    root: bool = False,
    family: str | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
) -> Dataset[Taxonomy]:
    """Read RCV1-v2 from a folder with its official files, under their official names.

    Parameters
    ----------
    folder : path
        Has ``rcv1-v2.topics.qrels``, ``rcv1.topics.hier.orig`` or ``.expanded``, and the documents:
        ``lyrl2004_vectors_train.dat`` and ``lyrl2004_vectors_test_pt0.dat`` … ``pt3.dat``, or ``lyrl2004_tokens_…``.
        Each may be packed (``.gz``, ``.xz``, ``.bz2``) and lie in a folder of its own, as the appendices do.
    features : {"vectors", "tokens"}
        The published TF-IDF vectors, or texts of stemmed words.
    hierarchy : {"orig", "expanded"}
        Which topic hierarchy; "expanded" has nodes between others that no document is labelled with.
    root : bool
        Whether the node ``Root`` above all topics is kept; without it the four families are roots of a forest.
    family : str, optional
        A topic, such as ``"CCAT"``: only documents with a topic at or below it, and only those topics, are kept.
    n_train, n_test : int, optional
        Keep the first documents of each part, by number, which is by date; None: all.
    n_features : int, optional
        The number of columns; None: as the highest feature requires. The published vectors have 47,236.
    dtype : float32 or float64
        The dtype of the vectors.

    Returns
    -------
    Dataset
        Split, unless there are no test files. Rows are sorted by document number within each part; `y` is a list of
        lists of topics, empty for documents without judgements. ``descriptions`` are those of the hierarchy.

    Examples
    --------
    >>> read_rcv1("no such folder")
    Traceback (most recent call last):
    cladist.errors.DatasetError: no such folder: there is no such folder.
    """
    one_of("read_rcv1", "features", features, ("vectors", "tokens"))
    one_of("read_rcv1", "hierarchy", hierarchy, ("orig", "expanded"))
    one_of("read_rcv1", "root", root, (True, False))
    check_n_features("read_rcv1", n_features)
    files = CorpusFiles(folder)
    parts = _document_parts(files, features, n_train, n_test)
    topics = read_topics(files.require(f"{HIERARCHY}.{hierarchy}"), root=root)
    taxonomy = topics if family is None else topics.subtree(family)
    judgements = Judgements(files.require(JUDGEMENTS), topics, None if family is None else taxonomy)
    documents = Documents(files.name, features, n_features, check_float("read_rcv1", dtype))
    for part, most, paths in parts:
        documents.add(part, paths, DocumentChoice(None if family is None else judgements, most))
    return _dataset(documents, judgements, taxonomy)


def _document_parts(
    files: CorpusFiles, features: str, n_train: int | None, n_test: int | None
) -> list[tuple[str, int | None, list[Path]]]:
    """Return name, wanted number of documents and files of the train part and, if there is one, the test part."""
    for name, count in (("n_train", n_train), ("n_test", n_test)):
        if count is not None and not is_count(count):
            raise ParameterError(f"read_rcv1: {name} must be a whole number from 1 up; got {count!r}.")
    parts = [("train", n_train, [files.require(documents_file(features, "train"))])]
    if tests := files.test_parts(features):
        parts.append(("test", n_test, tests))
    elif n_test is not None:
        raise DatasetError(f"{files.name}: n_test is {n_test}, but there are no test files.", file=files.name)
    return parts


def _dataset(documents: Documents, judgements: Judgements, taxonomy: Taxonomy) -> Dataset[Taxonomy]:
    numbers = np.concatenate(documents.numbers)
    in_order = np.sort(numbers)
    if (in_order[1:] == in_order[:-1]).any():
        raise DatasetError(f"{documents.where}: a document is in the train part and in the test part.")
    if not judgements.has(numbers).any():
        raise DatasetError(
            f"{display_name(judgements.source)}: none of the {len(numbers):,} documents is in this file; "
            "check that it belongs to them."
        )
    n_train = len(documents.numbers[0])
    parts: dict[str, Any] = {}
    if len(documents.numbers) > 1:
        parts = {"train_rows": slice(0, n_train), "test_rows": slice(n_train, len(numbers))}
    return Dataset(
        documents.X(),
        judgements.of(numbers),
        taxonomy,
        source=f"RCV1, {documents.where}",
        descriptions=taxonomy.titles,
        **parts,
    )


def read_topics(source: Source, *, root: bool = False) -> Taxonomy:
    r"""Read a topic hierarchy: ``parent: P child: C child-description: …`` per line.

    Without `root`, a node named Root above all others is left out.

    Examples
    --------
    >>> import io
    >>> file = b"parent: None child: Root\nparent: Root child: CCAT child-description: CORPORATE/INDUSTRIAL\n"
    >>> read_topics(io.BytesIO(file)).titles
    {'CCAT': 'CORPORATE/INDUSTRIAL'}
    """
    text = read_text(source, error=TaxonomyError)
    try:
        topics = parse(text, "rcv1")
        names = topics.names
        if root or ROOT not in names[:1] or len(topics.roots) > 1 or len(names) == 1:
            return topics
        parents = {names[v]: names[p] if p > 0 else None for v, p in enumerate(topics.parent.tolist()) if v > 0}
        return Taxonomy.from_parents(parents, titles=topics.titles)
    except TaxonomyError as problem:
        name = display_name(source)
        raise TaxonomyError(f"{name}: {problem}", file=name, line=problem.line, kind=problem.kind) from None


def documents_file(features: str, part: str) -> str:
    """Return the name of a file of documents.

    Examples
    --------
    >>> documents_file("vectors", "train"), documents_file("tokens", "test_pt0")
    ('lyrl2004_vectors_train.dat', 'lyrl2004_tokens_test_pt0.dat')
    """
    return f"lyrl2004_{features}_{part}.dat"


class CorpusFiles:
    """The files below a folder: in it, or in the folders directly in it; packed or not."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.name = os.fspath(folder)
        try:
            if not os.path.isdir(folder):
                raise DatasetError(f"{self.name}: there is no such folder.")
            self.folders = [Path(folder), *sorted(path for path in Path(folder).iterdir() if path.is_dir())]
        except (OSError, ValueError) as problem:  # a ValueError is a path that no folder can have
            if isinstance(problem, DatasetError):
                raise
            raise DatasetError(f"{self.name!r}: the folder cannot be read ({problem}).") from problem

    def find(self, file: str) -> Path | None:
        """Return the path of a file if it is there; an unpacked one comes first."""
        paths = (folder / f"{file}{ending}" for folder in self.folders for ending in ("", *PACKED_ENDINGS))
        return next((path for path in paths if path.is_file()), None)

    def require(self, file: str) -> Path:
        """Return the path of a file, or refuse the folder without it."""
        path = self.find(file)
        if path is None:
            raise DatasetError(f"{self.name}: there is no {file}, packed or not, in this folder or one in it.")
        return path

    def test_parts(self, features: str) -> list[Path]:
        """Return the test files in order, none if there are none; a gap between them is an error."""
        names = [documents_file(features, f"test_pt{k}") for k in range(_MOST_PARTS)]
        paths = [path for path in map(self.find, names) if path is not None]
        for name in names[: len(paths)]:
            self.require(name)
        return paths
