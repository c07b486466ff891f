"""From label tokens of svmlight rows to names."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.datasets.svmlight_chunks import Chunk
from cladist.files import Source, refuse
from cladist.taxonomy import Taxonomy

KEY_BYTES = 8  # a label this short is its key; the others are told apart by their bytes


class LabelNames:
    """Gives each different label token an id, and checks it against the taxonomy when it is new.

    Python sees every different label once a chunk, not every label: files have millions of rows and far fewer
    labels.
    """

    def __init__(self, taxonomy: Taxonomy | None) -> None:
        self.taxonomy = taxonomy
        self.id_of: dict[bytes, int] = {}
        self.names: list[str] = []
        self.ids: list[npt.NDArray[np.int64]] = []
        self.counts: list[npt.NDArray[np.int64]] = []
        self.first_unlabelled: tuple[Source, int, int] | None = None

    def add(self, chunk: Chunk) -> None:
        """Take over the labels of a chunk."""
        starts, ends, keys = chunk.labels
        ids = np.empty(len(starts), np.int64)
        is_short = ends - starts <= KEY_BYTES
        short, long = np.flatnonzero(is_short), np.flatnonzero(~is_short)
        different, first, which = np.unique(keys[short], return_index=True, return_inverse=True)
        tokens = [int(key).to_bytes(KEY_BYTES, "big").lstrip(b"\0") for key in different]
        known = [self._id(chunk, token, i) for token, i in zip(tokens, starts[short[first]].tolist(), strict=True)]
        ids[short] = np.array(known, np.int64)[which]
        ids[long] = [self._id(chunk, chunk.text[starts[i] : ends[i]].tobytes(), int(starts[i])) for i in long]
        counts = np.diff(chunk.label_ends, prepend=0)
        self.ids.append(ids)
        self.counts.append(counts)
        empty = np.flatnonzero(counts == 0)
        if len(empty) and self.first_unlabelled is None:
            self.first_unlabelled = chunk.source, *chunk.place(int(chunk.row_starts[empty[0]]))

    def _id(self, chunk: Chunk, token: bytes, position: int) -> int:
        found = self.id_of.get(token)
        if found is not None:
            return found
        try:
            name = token.decode("utf-8")
        except UnicodeDecodeError:
            chunk.refuse(position, f"the label {token!r} is not UTF-8.")
        if self.taxonomy is not None and name not in self.taxonomy:
            chunk.refuse(position, f"{name!r} is not in the taxonomy{self.taxonomy.suggestion(name)}")
        self.names.append(name)
        return self.id_of.setdefault(token, len(self.id_of))

    def as_y(self, multilabel: bool | str) -> Any:
        """Return y: an array of names, or a list of lists of them; "auto" is decided by what was read."""
        counts = np.concatenate(self.counts)
        several = bool((counts > 1).any()) if multilabel == "auto" else multilabel
        if not several and self.first_unlabelled is not None:
            refuse(*self.first_unlabelled, "the row has no label; if that is meant, read with multilabel=True.")
        names = np.empty(len(self.names), dtype=object)
        names[:] = self.names
        flat = names[np.concatenate(self.ids)]
        if not several:
            return flat
        ends = np.cumsum(counts).tolist()
        labels = flat.tolist()
        return [labels[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
