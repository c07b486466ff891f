"""How often beam search finds the labels that exact search finds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Agreement(NamedTuple):
    """Shares of rows, or of labels, where beam search and exact search agree.

    Attributes
    ----------
    first : float
        Rows whose best label is the same.
    shared : float
        Labels among the exact k best that the beam found, in any order.
    all : float
        Rows whose k labels are the same in the same order.
    """

    first: float
    shared: float
    all: float

    @classmethod
    def of(cls, exact: npt.NDArray[Any], beam: npt.NDArray[Any]) -> Agreement:
        """Compare the k labels per row of exact search with those of beam search.

        Examples
        --------
        >>> Agreement.of(np.array([["a", "b"], ["c", "d"]]), np.array([["a", "b"], ["d", "a"]]))
        Agreement(first=0.5, shared=0.75, all=0.5)
        """
        shared, same = (exact[:, :, None] == beam[:, None, :]).any(axis=2), exact == beam
        return cls(*(float(np.mean(part)) for part in (same[:, 0], shared, same.all(axis=1))))
