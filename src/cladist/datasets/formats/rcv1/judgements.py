"""RCV1's judgements: which topics each document has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np
import numpy.typing as npt

from cladist.datasets.formats.svmlight.chunks import Labels
from cladist.datasets.formats.svmlight.labels import LabelNames, as_lists
from cladist.datasets.formats.text_blocks import Block
from cladist.errors import DatasetError
from cladist.files import Source, opened, shown_name, whole_lines
from cladist.kernels import rcv1 as kernels
from cladist.kernels.svmlight import LONGEST_LABEL
from cladist.taxonomy import Taxonomy

Numbers = npt.NDArray[np.int32]


class Judgements:
    """Pairs of document and topic, sorted by document; the topics of a document keep the order of the file.

    Parameters
    ----------
    source : path or binary stream
        ``topic document 1`` a line.
    topics : Taxonomy
        Every topic must be in it.
    family : Taxonomy, optional
        Only topics that are in it are kept.
    """

    def __init__(self, source: Source, topics: Taxonomy, family: Taxonomy | None = None) -> None:
        self.source = source
        names = LabelNames(topics)
        documents, ids = _read(source, names)
        _check_unique(source, documents, ids, names)
        if family is not None:
            kept = np.array([name in family for name in names.names], bool)[ids]
            documents, ids = documents[kept], ids[kept]
            if not len(ids):
                raise DatasetError(f"{shown_name(source)}: no document has a topic of the family {family.names[0]!r}.")
        if (np.diff(documents) < 0).any():
            order = np.argsort(documents, kind="stable")
            documents, ids = documents[order], ids[order]
        self.documents, self.topics = documents, ids
        self.names = np.empty(len(names.names), dtype=object)
        self.names[:] = names.names

    def has(self, documents: Numbers) -> npt.NDArray[np.bool_]:
        """Tell which of these documents have a topic."""
        at = np.searchsorted(self.documents, documents)
        return self.documents[np.minimum(at, len(self.documents) - 1)] == documents

    def of(self, documents: Numbers) -> list[list[str]]:
        """Return the topics of each of these documents."""
        first = np.searchsorted(self.documents, documents, side="left")
        counts = np.searchsorted(self.documents, documents, side="right") - first
        starts = np.cumsum(counts) - counts
        chosen = np.arange(counts.sum()) + np.repeat(first - starts, counts)
        return as_lists(self.names[self.topics[chosen]], counts)


def _read(source: Source, names: LabelNames) -> tuple[Numbers, Numbers]:
    documents, ids = [], []
    with opened(source) as stream:
        for block, labels, numbers in _chunks(source, stream):
            ids.append(names.identified(block, labels))
            documents.append(numbers)
    if not sum(map(len, documents)):
        raise DatasetError(f"{shown_name(source)}: the file has no judgements.")
    return np.concatenate(documents), np.concatenate(ids)


def _chunks(source: Source, stream: IO[bytes]) -> Iterator[tuple[Block, Labels, Numbers]]:
    lines_before = 0
    for content in whole_lines(source, stream):
        n_lines = content.count(b"\n")
        block = Block(source, np.frombuffer(content, np.uint8), lines_before)
        starts, ends, documents = (np.empty(n_lines, np.int32) for _ in range(3))
        keys = np.empty(n_lines, np.uint64)
        n, error, position = kernels.parse_judgements(block.text, LONGEST_LABEL, (starts, ends, keys), documents)
        if error != kernels.FINE:
            block.refuse(position, _problem(error, block.token(position)))
        yield block, (starts[:n], ends[:n], keys[:n]), documents[:n]
        lines_before += n_lines


def _problem(error: int, token: str) -> str:
    wanted = {
        kernels.BAD_TOPIC: f"a topic of at most {LONGEST_LABEL:,} bytes",
        kernels.BAD_DOCUMENT: f"the number of a document, at most {kernels.HIGHEST_DOCUMENT:,}",
        kernels.NOT_ONE: "a 1 at the end of the line",
    }[error]
    return f"wanted {wanted}, got {token!r}; a judgement is 'topic document 1'."


def _check_unique(source: Source, documents: Numbers, ids: Numbers, names: LabelNames) -> None:
    pairs = documents.astype(np.int64) * len(names.names) + ids
    pairs.sort()
    twice = np.flatnonzero(pairs[1:] == pairs[:-1])
    if len(twice):
        document, topic = divmod(int(pairs[twice[0]]), len(names.names))
        raise DatasetError(f"{shown_name(source)}: document {document} has the topic {names.names[topic]!r} twice.")
