"""Frames of utterances, stacked: each row is a frame side by side with its neighbours in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cladist.errors import DatasetError
from cladist.files import Source, shown_name

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


class Stacked:
    """Collects utterances; single frames are kept, and stacked only in the end.

    Parameters
    ----------
    size : int
        How many frames make a row, an odd number.

    Examples
    --------
    >>> rows = Stacked(3)
    >>> rows.add("sa1", np.arange(5, dtype=np.float32)[:, None], np.array([0, 0, -1, 7, 7], np.int32))
    >>> rows.matrix(), rows.labels()
    (array([[0., 1., 2.],
           [2., 3., 4.]], dtype=float32), array([0, 7], dtype=int32))
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_rows = 0
        self.first: Source | None = None
        self.width = 0
        self.utterances: list[tuple[Floats, npt.NDArray[np.intp]]] = []
        self.middles: list[Ids] = []

    def add(self, source: Source, frames: Floats, labels: Ids) -> None:
        """Add the frames of one utterance; those labelled −1 are neighbours only."""
        if self.first is None:
            self.first, self.width = source, frames.shape[1]
        if frames.shape[1] != self.width:
            raise DatasetError(
                f"{shown_name(source)}: its vectors have {frames.shape[1]} entries, those of {shown_name(self.first)} "
                f"have {self.width}; all must be of one kind."
            )
        n_windows = max(0, len(frames) - self.size + 1)
        middles = labels[self.size // 2 :][:n_windows]
        kept = np.flatnonzero(middles >= 0)
        if len(kept):
            self.utterances.append((frames, kept))
            self.middles.append(middles[kept])
            self.n_rows += len(kept)

    def matrix(self) -> Floats:
        """Return all rows."""
        X = np.empty((self.n_rows, self.size * self.width), np.float32)
        start = 0
        for frames, kept in self.utterances:
            end = start + len(kept)
            for place in range(self.size):
                X[start:end, place * self.width : (place + 1) * self.width] = frames[kept + place]
            start = end
        return X

    def labels(self) -> Ids:
        """Return the label of each row."""
        return np.concatenate(self.middles)

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the stacked columns.

        Examples
        --------
        >>> Stacked(3).names(["c1"]), Stacked(1).names(["c1"])
        (['c1[-1]', 'c1[+0]', 'c1[+1]'], ['c1'])
        """
        if self.size == 1:
            return list(columns)
        half = self.size // 2
        return [f"{column}[{place:+d}]" for place in range(-half, half + 1) for column in columns]
