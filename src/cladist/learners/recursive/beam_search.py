"""How often a walk down the tree with a beam answers what a look at all labels would."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.learners.flat.base import FlatLinear


class Agreement(NamedTuple):
    """Shares of rows, or of labels, where a beam and the exact answer agree.

    Attributes
    ----------
    first : float
        Rows whose best label is the same.
    shared : float
        Labels among the k best that the beam found, too, in any order.
    all : float
        Rows whose k labels are the same in the same order.
    """

    first: float
    shared: float
    all: float


class WalkingLinear(FlatLinear):
    """Linear classifiers whose nodes may have vectors that lead a beam; see `RecursiveSVM`."""

    def beam_agreement(self, X: Any, k: int = 1, *, beam: int) -> Agreement:
        """Return how often ``predict_top_k(X, k, beam=beam)`` is what ``predict_top_k(X, k)`` is, on a sample of rows.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            Such rows as are to be predicted; some hundreds tell enough.
        k : int
        beam : int

        Examples
        --------
        >>> from cladist import RecursiveSVM
        >>> from cladist.datasets import make_topics
        >>> data = make_topics(n_samples=300, n_features=500, branching=(3, 3, 3), random_state=0)
        >>> model = RecursiveSVM(data.taxonomy, weights="differences").fit(data.X, data.y)
        >>> model.beam_agreement(data.X, 3, beam=9)
        Agreement(first=1.0, shared=1.0, all=1.0)
        """
        exact, walked = self.predict_top_k(X, k)[0], self.predict_top_k(X, k, beam=beam)[0]
        shared = (exact[:, :, None] == walked[:, None, :]).any(axis=2)
        same = exact == walked
        return Agreement(*(float(np.mean(part)) for part in (same[:, 0], shared, same.all(axis=1))))
