"""`ListedScores`: the scores of every row that matter most, where all rows × classes would be too many to fit to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

MOST_LISTED = 128  # classes per row; up to here, all are listed
N_BEST = 64  # of them the best of the row, the others drawn from the rest


class ListedScores(NamedTuple):
    """Some classes of every row, with their scores, as rectangular arrays.

    Attributes
    ----------
    columns : int array (rows × listed)
        Positions in the list of classes.
    scores : float array (rows × listed)
        Their scores; −inf: the class cannot be chosen.
    log_counts : float array (rows × listed)
        The log of how many classes each stands for: 0 for the best and the true one, more for those drawn.
    """

    columns: Ids
    scores: Floats
    log_counts: Floats

    @classmethod
    def of(cls, scores: npt.NDArray[np.floating], true_columns: Ids) -> ListedScores:
        """List all classes if they are few; otherwise the best, the true one (−1: none) and some of the others."""
        n_classes = scores.shape[1]
        if n_classes <= MOST_LISTED:
            return cls.whole(scores)
        ranks, known = scores.copy(), np.flatnonzero(true_columns >= 0)
        ranks[known, true_columns[known]] = np.inf
        order = np.argpartition(-ranks, N_BEST, axis=1)
        # The same places for all rows: drawn without a look at the scores, they are a fair sample in each.
        drawn = N_BEST + np.random.default_rng(0).permutation(n_classes - N_BEST)[: MOST_LISTED - N_BEST]
        columns = order[:, np.concatenate([np.arange(N_BEST), drawn])]
        log_counts = np.zeros(MOST_LISTED)
        log_counts[N_BEST:] = np.log((n_classes - N_BEST) / len(drawn))
        taken = np.take_along_axis(scores, columns, axis=1).astype(np.float64)
        return cls(columns, taken, np.broadcast_to(log_counts, taken.shape))

    @classmethod
    def whole(cls, scores: npt.NDArray[np.floating]) -> ListedScores:
        """List all classes."""
        columns = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        return cls(columns, scores.astype(np.float64), np.broadcast_to(0.0, scores.shape))

    @classmethod
    def joined(cls, parts: Iterable[ListedScores]) -> ListedScores:
        """Return the rows of several parts, in their order."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def take(self, rows: Ids) -> ListedScores:
        """Return some of the rows."""
        return ListedScores(self.columns[rows], self.scores[rows], self.log_counts[rows])
