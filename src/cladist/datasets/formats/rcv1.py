"""RCV1-v2: 804,414 stories of Reuters with 103 topics, from the files that Lewis et al. 2004 published.

A file of vectors has svmlight rows with the document's number as label, a file of tokens ``.I number``, ``.W``, lines
of words and a blank line for each document, and the judgements are lines ``topic document 1``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import Dataset, as_lists, as_objects, check_float
from cladist.datasets.formats.sparse_text import (
    MOST_FEATURES,
    CsrRows,
    LabelNames,
    RowChunk,
    RowFormat,
    check_n_features,
    read_chunks,
    text_blocks,
)
from cladist.errors import DatasetError, ParameterError, TaxonomyError, is_count, one_of
from cladist.files import (
    LONGEST_LINE,
    PACKED_ENDINGS,
    Source,
    decode,
    display_name,
    iterate_byte_lines,
    name_source,
    open_for_reading,
    read_text,
    refuse,
)
from cladist.kernels import svmlight as kernels
from cladist.kernels.svmlight import HIGHEST_DOCUMENT
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.formats.reader import parse

Numbers = npt.NDArray[np.int32]

JUDGEMENTS = "rcv1-v2.topics.qrels"
HIERARCHY = "rcv1.topics.hier"
ROOT = "Root"
_MOST_PARTS = 10  # of the test files; there are four
_MOST_DIGITS = 18  # of a document's number with leading zeros
_LINE_COST = 64  # bytes of memory that a line takes beside its content
_AT_ONCE = 4096  # documents that are chosen together
_DOCUMENT = re.compile(rb"\.I[ \t]+([0-9]{1,10})")
# Kind of each error of the kernel in a judgement, and the words for what was wanted.
_WANTED = {
    kernels.BAD_TOPIC: ("bad-label", f"a topic of at most {kernels.LONGEST_LABEL:,} bytes"),
    kernels.BAD_DOCUMENT: ("document-number", f"the number of a document, at most {HIGHEST_DOCUMENT:,}"),
    kernels.NOT_ONE: ("bad-judgement", "a 1 at the end of the line"),
}


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
    for name, count in (("n_train", n_train), ("n_test", n_test)):
        if count is not None and not is_count(count):
            raise ParameterError(f"read_rcv1: {name} must be a whole number from 1 up; got {count!r}.")
    files = CorpusFiles(folder)
    parts = [("train", n_train, [files.require(documents_file(features, "train"))])]
    if tests := files.test_parts(features):
        parts.append(("test", n_test, tests))
    elif n_test is not None:
        raise DatasetError(f"{files.name}: n_test is {n_test}, but there are no test files.", file=files.name)
    topics = read_topics(files.require(f"{HIERARCHY}.{hierarchy}"), root=root)
    taxonomy = topics if family is None else topics.subtree(family)
    judgements = Judgements(files.require(JUDGEMENTS), topics, None if family is None else taxonomy)
    documents = Documents(files.name, features, n_features, check_float("read_rcv1", dtype))
    for part, most, paths in parts:
        documents.add(part, paths, DocumentChoice(None if family is None else judgements, most))
    return _dataset(documents, judgements, taxonomy)


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
    """Read a topic hierarchy: ``parent: P child: C child-description: …`` per line.

    Without `root`, a node named Root above all others is left out.
    """
    with name_source(source):
        topics = parse(read_text(source, error=TaxonomyError), "rcv1")
        names = topics.names
        if root or ROOT not in names[:1] or len(topics.roots) > 1 or len(names) == 1:
            return topics
        parents = {names[v]: names[p] if p > 0 else None for v, p in enumerate(topics.parent.tolist()) if v > 0}
        return Taxonomy.from_parents(parents, titles=topics.titles)


def documents_file(features: str, part: str) -> str:
    """Return the name of a file of documents, such as ``lyrl2004_tokens_test_pt0.dat``."""
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


class Judgements:
    """Pairs of document and topic, sorted by document; the topics of a document keep the order of the file.

    Every topic must be in `topics`; those that are not in the `family`, if there is one, are left out.
    """

    def __init__(self, source: Source, topics: Taxonomy, family: Taxonomy | None = None) -> None:
        self.source = source
        names = LabelNames(topics)
        documents, ids = _read_judgements(source, names)
        _check_unique(source, documents, ids, names)
        if family is not None:
            kept = np.array([name in family for name in names.names], bool)[ids]
            documents, ids = documents[kept], ids[kept]
            if not len(ids):
                problem = f"no document has a topic of the family {family.names[0]!r}."
                refuse(source, None, None, problem, kind="no-rows")
        if (np.diff(documents) < 0).any():
            order = np.argsort(documents, kind="stable")
            documents, ids = documents[order], ids[order]
        self.documents, self.topics = documents, ids
        self.names = as_objects(names.names)

    def has(self, documents: Numbers) -> npt.NDArray[np.bool_]:
        """Tell which of these documents have a topic."""
        at = np.searchsorted(self.documents, documents)
        return self.documents[np.minimum(at, len(self.documents) - 1)] == documents

    def of(self, documents: Numbers) -> list[list[str]]:
        """Return the topics of each of these documents."""
        first = np.searchsorted(self.documents, documents, side="left")
        counts = np.searchsorted(self.documents, documents, side="right") - first
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(first - starts, counts)
        return as_lists(self.names[self.topics[places]], counts)


def _read_judgements(source: Source, names: LabelNames) -> tuple[Numbers, Numbers]:
    documents, ids = [], []
    for block in text_blocks(source):
        starts, ends, numbers = (np.empty(block.sizes[0], np.int32) for _ in range(3))
        keys = np.empty(block.sizes[0], np.uint64)
        n, error, position = kernels.parse_judgements(block.text, (starts, ends, keys), numbers)
        if error != kernels.FINE:
            kind, wanted = _WANTED[error]
            problem = f"wanted {wanted}, got {block.token(position)!r}; a judgement is 'topic document 1'."
            block.refuse(position, problem, kind)
        ids.append(names.identify(block, (starts[:n], ends[:n], keys[:n])))
        documents.append(numbers[:n])
    if not sum(map(len, documents)):
        refuse(source, None, None, "the file has no judgements.", kind="no-rows")
    return np.concatenate(documents), np.concatenate(ids)


def _check_unique(source: Source, documents: Numbers, ids: Numbers, names: LabelNames) -> None:
    pairs = documents.astype(np.int64) * len(names.names) + ids
    pairs.sort()
    twice = np.flatnonzero(pairs[1:] == pairs[:-1])
    if len(twice):
        document, topic = divmod(int(pairs[twice[0]]), len(names.names))
        problem = f"document {document} has the topic {names.names[topic]!r} twice."
        refuse(source, None, None, problem, kind="repeated-label")


class DocumentChoice:
    """Chooses the documents of one part: those with a topic in the family, if there is one, and the first `most`.

    The first are those with the lowest numbers. While reading, a document is dropped as soon as `most` with lower
    numbers are known, so that little more is held than is kept.
    """

    def __init__(self, family: Judgements | None, most: int | None) -> None:
        self.family = family
        self.most = most
        self.documents: list[Numbers] = []
        self.n_chosen = 0
        self.highest = HIGHEST_DOCUMENT

    def choose(self, documents: Numbers) -> npt.NDArray[np.bool_]:
        """Tell which of the next documents are wanted, and remember those."""
        is_kept = documents <= self.highest
        if self.family is not None:
            is_kept &= self.family.has(documents)
        self.documents.append(documents[is_kept])
        self.n_chosen += int(is_kept.sum())
        if self.most is not None and self.n_chosen >= self.most and is_kept.any():
            all_documents = np.concatenate(self.documents)
            self.highest = int(np.partition(all_documents, self.most - 1)[self.most - 1])
        return is_kept

    def order(self, where: str) -> tuple[npt.NDArray[np.intp], Numbers]:
        """Return the positions of the documents to keep among those chosen, by number, and their numbers."""
        documents = np.concatenate([np.empty(0, np.int32), *self.documents])
        order = np.argsort(documents, kind="stable")
        documents = documents[order]
        twice = np.flatnonzero(documents[1:] == documents[:-1])
        if len(twice):
            raise DatasetError(f"{where}: the document {documents[twice[0]]} is there twice.")
        return order[: self.most], documents[: self.most]


class Documents:
    """The documents read so far, part by part."""

    def __init__(self, where: str, features: str, n_features: int | None, dtype: np.dtype[Any]) -> None:
        self.where, self.features, self.n_features = where, features, n_features
        self.form = RowFormat(1, n_features or MOST_FEATURES, dtype, several=False)
        self.rows = CsrRows()
        self.texts: list[str] = []
        self.orders: list[npt.NDArray[np.intp]] = []
        self.numbers: list[Numbers] = []

    def add(self, part: str, sources: list[Path], choice: DocumentChoice) -> None:
        """Read the wanted documents of a part."""
        n_before = self.rows.n_rows + len(self.texts)
        for source in sources:
            if self.features == "vectors":
                for chunk in read_chunks(source, self.form):
                    self.rows.add(chunk, choice.choose(_document_numbers(chunk)))
            else:
                numbered = read_tokens(source)
                while batch := list(islice(numbered, _AT_ONCE)):
                    kept = choice.choose(np.array([number for number, _ in batch], np.int32))
                    self.texts.extend(text for (_, text), is_kept in zip(batch, kept, strict=True) if is_kept)
        order, numbers = choice.order(self.where)
        if len(numbers) < (choice.most or 1):
            condition = "" if choice.family is None else " with a topic of the family"
            raise DatasetError(
                f"{self.where}: at least {choice.most or 1:,} documents of the {part} part are wanted{condition}; "
                f"there are {len(numbers):,}."
            )
        self.orders.append(order + n_before)
        self.numbers.append(numbers)

    def X(self) -> Any:  # noqa: N802
        """Return the chosen documents: a CSR matrix, or an array of texts."""
        order = np.concatenate(self.orders)
        as_read = len(order) == self.rows.n_rows + len(self.texts) and bool((np.diff(order) > 0).all())
        if self.features == "vectors":
            rows = self.rows.matrix(self.where, False, self.n_features)
            return rows if as_read else rows[order]
        return as_objects(self.texts if as_read else [self.texts[i] for i in order])


def _document_numbers(chunk: RowChunk) -> Numbers:
    """Return the documents' numbers, which stand where svmlight has its labels."""
    starts, ends, _ = chunk.labels
    text, numbers = chunk.block.text.tobytes(), list[int]()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        digits = text[start:end]
        is_number = digits.isdigit() and len(digits) <= _MOST_DIGITS
        if not is_number or int(digits) > HIGHEST_DOCUMENT:
            wanted = f"the number of a document, at most {HIGHEST_DOCUMENT:,}"
            chunk.block.refuse(start, f"wanted {wanted}, got {chunk.block.token(start)!r}.", "document-number")
        numbers.append(int(digits))
    return np.array(numbers, np.int32)


def read_tokens(source: Source) -> Iterator[tuple[int, str]]:
    """Yield number and text of each document; the lines of a text are joined by a blank."""
    number: int | None = None
    words: list[bytes] | None = None  # None until '.W'
    line = started = n_bytes = 0
    with open_for_reading(source) as stream:
        for line, raw in iterate_byte_lines(source, stream):
            content = raw.strip()
            if content.startswith(b".I"):
                if number is not None:
                    yield number, _text(source, line, words, started)
                number, words, started, n_bytes = _number(source, line, content), None, line, 0
            elif content == b".W" and number is not None and words is None:
                words = []
            elif content and words is None:
                wanted = "'.I' and the number of a document" if number is None else "'.W'"
                refuse(source, line, 1, f"wanted {wanted}, got {_show(content)!r}.", kind="bad-token-file")
            elif content and words is not None:
                words.append(content)
                n_bytes += len(content) + _LINE_COST
                if n_bytes > LONGEST_LINE:
                    problem = f"document {number} takes more than {LONGEST_LINE:,} bytes."
                    refuse(source, line, 1, problem, kind="too-large")
        if number is not None:
            yield number, _text(source, line + 1, words, started)


def _number(source: Source, line: int, content: bytes) -> int:
    match = _DOCUMENT.fullmatch(content)
    number = int(match[1]) if match else HIGHEST_DOCUMENT + 1
    if number > HIGHEST_DOCUMENT:
        wanted = f"'.I' and the number of a document, at most {HIGHEST_DOCUMENT:,}"
        refuse(source, line, 1, f"wanted {wanted}, got {_show(content)!r}.", kind="bad-token-file")
    return number


def _text(source: Source, line: int, words: list[bytes] | None, started: int) -> str:
    if words is None:
        refuse(source, line, 1, f"the document that begins on line {started} has no '.W'.", kind="bad-token-file")
    return decode(source, b"\n".join(words), started + 2).replace("\n", " ")  # so that it names the line


def _show(content: bytes) -> str:
    return content[:40].decode("utf-8", "backslashreplace")
