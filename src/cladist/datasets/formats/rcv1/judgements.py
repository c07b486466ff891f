"""RCV1's judgements: which topics each document has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import as_lists, as_objects
from cladist.datasets.formats.label_names import LabelNames
from cladist.datasets.formats.sparse_text import text_blocks
from cladist.files import Source, refuse
from cladist.kernels import svmlight as kernels
from cladist.taxonomy import Taxonomy

Numbers = npt.NDArray[np.int32]

# Kind of each error of the kernel, and the words for what was wanted.
_WANTED = {
    kernels.BAD_TOPIC: ("bad-label", f"a topic of at most {kernels.LONGEST_LABEL:,} bytes"),
    kernels.BAD_DOCUMENT: ("document-number", f"the number of a document, at most {kernels.HIGHEST_DOCUMENT:,}"),
    kernels.NOT_ONE: ("bad-judgement", "a 1 at the end of the line"),
}


class Judgements:
    """Pairs of document and topic, sorted by document; the topics of a document keep the order of the file.

    Parameters
    ----------
    source : path or binary stream
        ``topic document 1`` per line.
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
        chosen = np.arange(counts.sum()) + np.repeat(first - starts, counts)
        return as_lists(self.names[self.topics[chosen]], counts)


def _read(source: Source, names: LabelNames) -> tuple[Numbers, Numbers]:
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
