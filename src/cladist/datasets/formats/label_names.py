"""Label tokens of svmlight, LSHTC and RCV1 files → names."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import as_lists, as_objects
from cladist.datasets.formats.sparse_text import LabelTokens, RowChunk, TextBlock
from cladist.files import Source, refuse
from cladist.taxonomy import Taxonomy

KEY_BYTES = 8  # a label of at most this length is its key; others are distinguished by their bytes
NO_LABEL = -1
UNKNOWN = -2


class LabelNames:
    """Gives each distinct label token an id, and checks it against the taxonomy when it is new.

    Python sees every distinct label once per chunk, not every label: files have millions of rows and far fewer
    distinct labels. A label spelled `nothing` that the taxonomy does not know stands for no label.
    """

    def __init__(self, taxonomy: Taxonomy | None, *, nothing: str | None = None) -> None:
        self.taxonomy = taxonomy
        self.names: list[str] = []
        self.id_of: dict[bytes, int] = {}
        self.ids: list[npt.NDArray[np.int32]] = []
        self.counts: list[npt.NDArray[np.int32]] = []
        self.first_unlabelled: tuple[Source, int, int] | None = None
        if nothing is not None and (taxonomy is None or nothing not in taxonomy):
            self.id_of[nothing.encode()] = NO_LABEL

    def add(self, chunk: RowChunk) -> None:
        """Add the labels of a chunk."""
        ids, ends = self.identify(chunk, chunk.labels), chunk.label_ends
        is_label = ids != NO_LABEL
        if not is_label.all():
            ids = ids[is_label]
            ends = np.concatenate([[0], np.cumsum(is_label)])[ends].astype(np.int32)
        counts = np.diff(ends, prepend=np.int32(0))
        self.ids.append(ids)
        self.counts.append(counts)
        empty = np.flatnonzero(counts == 0)
        if len(empty) and self.first_unlabelled is None:
            self.first_unlabelled = chunk.source, *chunk.place(int(chunk.row_starts[empty[0]]))

    def identify(self, block: TextBlock, labels: LabelTokens) -> npt.NDArray[np.int32]:
        """Return the id of each label of a block; the first one that is not in the taxonomy is refused."""
        starts, ends, keys = labels
        ids = np.full(len(starts), UNKNOWN, np.int32)
        is_short = ends - starts <= KEY_BYTES
        short, long = np.flatnonzero(is_short), np.flatnonzero(~is_short)
        different, which = np.unique(keys[short], return_inverse=True)
        known = [self._id(int(key).to_bytes(KEY_BYTES, "big").lstrip(b"\0")) for key in different]
        ids[short] = np.array(known, np.int32)[which]
        for i in long.tolist():
            ids[i] = self._id(block.text[starts[i] : ends[i]].tobytes())
            if ids[i] == UNKNOWN:
                break
        if (ids == UNKNOWN).any():
            first = int(np.argmax(ids == UNKNOWN))
            self._refuse(block, int(starts[first]), int(ends[first]))
        return ids

    def _id(self, token: bytes) -> int:
        """Return the id of a label, new or not, or `UNKNOWN` if it cannot be one."""
        known = self.id_of.get(token)
        if known is not None:
            return known
        try:
            name = token.decode("utf-8")
        except UnicodeDecodeError:
            return UNKNOWN
        if self.taxonomy is not None and name not in self.taxonomy:
            return UNKNOWN
        self.names.append(name)
        self.id_of[token] = len(self.names) - 1
        return len(self.names) - 1

    def _refuse(self, block: TextBlock, start: int, end: int) -> NoReturn:
        token = block.text[start:end].tobytes()
        try:
            name = token.decode("utf-8")
        except UnicodeDecodeError:
            block.refuse(start, f"the label {token!r} is not UTF-8.", "not-utf8")
        hint = "." if self.taxonomy is None else self.taxonomy.suggestion(name)
        block.refuse(start, f"{name!r} is not in the taxonomy{hint}", "unknown-label")

    def as_y(self, multilabel: bool | str) -> Any:
        """Return y: an array of names, or a list of lists of them; "auto" is decided by what was read."""
        counts = np.concatenate(self.counts)
        several = bool((counts > 1).any()) if multilabel == "auto" else multilabel
        if not several and self.first_unlabelled is not None:
            problem = "the row has no label; if that is meant, read with multilabel=True."
            refuse(*self.first_unlabelled, problem, kind="no-label")
        ids = np.concatenate(self.ids)
        self.ids.clear()  # each id is held once
        labels = as_objects(self.names)[ids]
        return as_lists(labels, counts) if several else labels
