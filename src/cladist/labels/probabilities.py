"""`TopK`: the most probable classes of every row, where a dense array of all would be too large."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class TopK(NamedTuple):
    """The k most probable classes of every row; the others have what is left of 1.

    Attributes
    ----------
    columns : int array (rows × k)
        Positions in the list of classes, such as `classes_` of a learner, each at most once per row.
    probabilities : float array (rows × k)
        Their probabilities, most probable first; 0 where there are fewer than k.

    Examples
    --------
    >>> top = TopK.of([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]], k=2)
    >>> top.columns.tolist(), top.probabilities.tolist()
    ([[1, 2], [0, 2]], [[0.7, 0.2], [0.5, 0.3]])
    """

    columns: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]

    @classmethod
    def of(cls, P: npt.ArrayLike, k: int) -> TopK:
        """Return the k most probable classes of every row of an array (rows × classes); ties go to the first column."""
        values: npt.NDArray[Any] = np.asarray(P, dtype=np.float64)
        columns = np.argsort(-values, axis=1, kind="stable")[:, :k]
        return cls(columns, np.take_along_axis(values, columns, axis=1))

    def __len__(self) -> int:
        return len(self.columns)
