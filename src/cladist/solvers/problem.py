"""One-vs-rest problems, and how well they are to be solved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.linear_model.training_rows import TrainingRows

Members = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # where each class begins, and the rows that belong to it
SMALLEST_WEIGHT = 1e-18  # of a row; smaller ones, with a small C, would be 0 in float32


@dataclass(frozen=True)
class OneVsRest:
    """A problem for every class: rows, which of them belong to it, and what an error costs.

    Attributes
    ----------
    rows : TrainingRows
    members : (indptr, rows)
        The rows of each class.
    loss : {"hinge", "squared_hinge", "logistic"}
    costs : array (2 × classes)
        What the loss of a row counts: of one that belongs to the class, and of one that does not.
    row_weights : array (rows,), optional
        Positive factors of these.
    """

    rows: TrainingRows
    members: Members
    loss: str
    costs: npt.NDArray[Any]
    row_weights: npt.NDArray[Any] | None = None

    @property
    def n_classes(self) -> int:
        """How many problems there are."""
        return len(self.members[0]) - 1

    @property
    def weights32(self) -> npt.NDArray[np.float32]:
        """The rows' weights as kernels take them; 1 where none are given."""
        if self.row_weights is None:
            return np.ones(len(self.rows), np.float32)
        return np.maximum(self.row_weights, SMALLEST_WEIGHT).astype(np.float32)

    def taken(self, order: npt.NDArray[np.int64]) -> OneVsRest:
        """Return the same problems with the rows in another order."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        members = self.members[0], place[self.members[1]]
        weights = None if self.row_weights is None else self.row_weights[order]
        return replace(self, rows=self.rows.reorder(order), members=members, row_weights=weights)

    def members_of(self, k: int) -> npt.NDArray[np.int64]:
        """Return the rows of a class."""
        indptr, rows = self.members
        return rows[indptr[k] : indptr[k + 1]]


@dataclass(frozen=True)
class Settings:
    """How to solve: relative duality gap, most sweeps over all rows, seed of the orders in which rows are visited."""

    tol: float = 1e-3
    max_iter: int = 1000
    seed: int = 0


def members_by_class(classes: npt.NDArray[np.int64], n_classes: int) -> Members:
    """Return the rows of each class, given one class a row.

    Examples
    --------
    >>> indptr, rows = members_by_class(np.array([1, 0, 1]), 2)
    >>> indptr.tolist(), rows.tolist()
    ([0, 1, 3], [1, 0, 2])
    """
    counts = np.bincount(classes, minlength=n_classes)
    return np.concatenate([[0], np.cumsum(counts)]), np.argsort(classes, kind="stable")
