"""RCV1's documents: the wanted ones of each part, whether they come as vectors or as tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.datasets.formats.rcv1.judgements import Judgements, Numbers
from cladist.datasets.formats.rcv1.tokens import read_tokens
from cladist.datasets.formats.svmlight.chunks import Chunk, Layout, chunks
from cladist.datasets.formats.svmlight.reader import MOST_FEATURES, Rows
from cladist.errors import DatasetError
from cladist.files import Source, opened
from cladist.kernels import rcv1 as kernels

Features = Literal["vectors", "tokens"]


class Wanted:
    """Chooses the documents of one part: those with a topic in the family, if there is one, and the first `most`.

    Which are the first is decided by their numbers. While reading, a document is dropped as soon as `most` with lower
    numbers are known, so that what is held stays near what is kept.
    """

    def __init__(self, family: Judgements | None, most: int | None) -> None:
        self.family = family
        self.most = most
        self.documents: list[Numbers] = []
        self.n_chosen = 0
        self.highest = kernels.HIGHEST_DOCUMENT

    def choose(self, documents: Numbers) -> npt.NDArray[np.bool_]:
        """Tell which of the next documents are wanted, and remember those."""
        kept = documents <= self.highest
        if self.family is not None:
            kept &= self.family.has(documents)
        self.documents.append(documents[kept])
        self.n_chosen += int(kept.sum())
        if self.most is not None and self.n_chosen >= self.most and kept.any():
            known = np.concatenate(self.documents)
            self.highest = int(np.partition(known, self.most - 1)[self.most - 1])
        return kept

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

    def __init__(self, where: str, features: Features, n_features: int | None, dtype: np.dtype[Any]) -> None:
        self.where, self.features, self.n_features = where, features, n_features
        self.layout = Layout(1, n_features or MOST_FEATURES, dtype, several=False)
        self.rows = Rows()
        self.texts: list[str] = []
        self.orders: list[npt.NDArray[np.intp]] = []
        self.numbers: list[Numbers] = []

    def add(self, part: str, sources: Iterable[Source], wanted: Wanted) -> None:
        """Read the wanted documents of a part."""
        n_before = self.n_read
        for source in sources:
            if self.features == "vectors":
                self._add_vectors(source, wanted)
            else:
                read_tokens(source, wanted.choose, self.texts)
        order, numbers = wanted.order(self.where)
        if len(numbers) < (wanted.most or 1):
            chosen = "" if wanted.family is None else " with a topic of the family"
            raise DatasetError(
                f"{self.where}: at least {wanted.most or 1:,} documents of the {part} part are wanted{chosen}; "
                f"there are {len(numbers):,}."
            )
        self.orders.append(order + n_before)
        self.numbers.append(numbers)

    @property
    def n_read(self) -> int:
        """How many documents are held; some may not be kept."""
        return self.rows.n_rows + len(self.texts)

    def _add_vectors(self, source: Source, wanted: Wanted) -> None:
        with opened(source) as stream:
            for chunk in chunks(source, stream, self.layout):
                self.rows.add(chunk, wanted.choose(_numbers(chunk)))

    def X(self) -> Any:  # noqa: N802
        """Return what was kept: a CSR matrix, or an array of texts."""
        order = np.concatenate(self.orders)
        as_read = len(order) == self.n_read and bool((np.diff(order) > 0).all())
        if self.features == "vectors":
            rows = self.rows.matrix(self.where, False, self.n_features)
            return rows if as_read else rows[order]
        texts = np.empty(len(order), dtype=object)
        texts[:] = self.texts if as_read else [self.texts[i] for i in order]
        return texts


def _numbers(chunk: Chunk) -> Numbers:
    """Return the documents' numbers, which stand where svmlight has its labels."""
    documents = np.empty(chunk.n_rows, np.int32)
    bad = kernels.document_numbers(chunk.text, chunk.labels[0], documents)
    if bad >= 0:
        start = int(chunk.labels[0][bad])
        highest = f"{kernels.HIGHEST_DOCUMENT:,}"
        chunk.refuse(start, f"wanted the number of a document, at most {highest}, got {chunk.token(start)!r}.")
    return documents
