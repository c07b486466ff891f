"""From the node ids of ARFF rows to y."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.datasets.formats.arff.rows import LabelledRows
from cladist.files import Source, refuse
from cladist.kernels.arff import NO_LABEL, SEVERAL_LABELS, only_labels
from cladist.taxonomy import Taxonomy

NO_LABEL_PROBLEM = "the row has no label; if that is meant, read with multilabel=True."


class LabelRows:
    """Collects the labels of all rows, and finds out whether each row has one.

    A row has one label if that implies all the others: files may write ``2@2/1@2/1/3`` for ``2/1/3``.
    """

    def __init__(self, taxonomy: Taxonomy, multilabel: bool | str) -> None:
        self.taxonomy, self.multilabel = taxonomy, multilabel
        self.several = multilabel is True
        self.ids: list[npt.NDArray[np.int32]] = []
        self.counts: list[npt.NDArray[np.int64]] = []
        self.only: list[npt.NDArray[np.int32]] = []
        self.first_unlabelled: tuple[Source, int, int] | None = None
        parents = taxonomy.parents
        self.parents = parents.indptr.astype(np.int64), parents.indices.astype(np.int32)
        self.marks, self.stack = np.empty(taxonomy.n_nodes, np.int64), np.empty(taxonomy.n_nodes, np.int64)

    def add(self, rows: LabelledRows) -> None:
        """Take over the labels of some rows."""
        if self.multilabel is not False:
            self.ids.append(rows.ids.copy())
            self.counts.append(np.diff(rows.ends, prepend=0))
        if self.several:
            return
        only = np.empty(len(rows.ends), np.int32)
        self.marks.fill(-1)
        only_labels(rows.ids, rows.ends, *self.parents, self.marks, self.stack, only)
        if (only == SEVERAL_LABELS).any():
            if self.multilabel is False:
                self._refuse_several(rows, int(np.argmax(only == SEVERAL_LABELS)))
            self.several, self.only = True, []
            return
        self.only.append(only)
        empty = np.flatnonzero(only == NO_LABEL)
        if len(empty) and self.first_unlabelled is None:
            self.first_unlabelled = rows.chunk.source, *rows.chunk.place(int(rows.starts[empty[0]]))

    def _refuse_several(self, rows: LabelledRows, row: int) -> None:
        first = int(rows.ends[row - 1]) if row else 0
        shown = ", ".join(repr(self.taxonomy.names[v]) for v in rows.ids[first : rows.ends[row]][:3])
        rows.chunk.refuse(
            int(rows.starts[row]), f"the row has several labels ({shown} …); read the file with multilabel=True."
        )

    def as_y(self) -> Any:
        """Return y: an array of names, or a list of lists of them."""
        if not self.several and self.first_unlabelled is not None:
            refuse(*self.first_unlabelled, NO_LABEL_PROBLEM)
        names = np.empty(self.taxonomy.n_nodes, dtype=object)
        names[:] = self.taxonomy.names
        if not self.several:
            return names[np.concatenate(self.only)]
        labels = names[np.concatenate(self.ids)].tolist()
        ends = np.cumsum(np.concatenate(self.counts)).tolist()
        return [labels[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
