"""One-vs-rest problems, and the accuracy they are solved to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.training_rows import TrainingRows
from cladist.surrogates import SURROGATES, Surrogate

Members = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # where each class begins, and its rows
MOST_DENSE_BYTES = 2 * 2**30  # weights="auto" keeps dense weights up to this size
SMALLEST_WEIGHT = 1e-18  # of a row; smaller ones, with a small C, would be 0 in float32


@dataclass(frozen=True)
class OneVsRest:
    """One binary problem per class: rows, the members of each class, and the costs of their losses.

    Attributes
    ----------
    rows : TrainingRows
    members : (indptr, rows)
        The rows of each class.
    loss : str
        The name of a surrogate in `cladist.surrogates.SURROGATES`.
    costs : array (2 × classes)
        The factors of the losses of members and of other rows.
    row_weights : array (rows,), optional
        Positive factors of these.
    """

    rows: TrainingRows
    members: Members
    loss: str
    costs: npt.NDArray[Any]
    row_weights: npt.NDArray[Any] | None = None

    @property
    def surrogate(self) -> Surrogate:
        """The loss with its formulas."""
        return SURROGATES[self.loss]

    @property
    def n_classes(self) -> int:
        """The number of problems."""
        return len(self.members[0]) - 1

    @property
    def fits_dense(self) -> bool:
        """Whether ``weights="auto"`` keeps dense weights."""
        return -(-self.n_classes // WIDTH) * WIDTH * self.rows.n_used * 4 <= MOST_DENSE_BYTES

    @cached_property
    def weights32(self) -> npt.NDArray[np.float32]:
        """The rows' weights in float32, for kernels; 1 where none are given."""
        if self.row_weights is None:
            return np.ones(len(self.rows), np.float32)
        return np.maximum(self.row_weights, SMALLEST_WEIGHT).astype(np.float32)

    def reorder(self, order: npt.NDArray[np.int64]) -> OneVsRest:
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
    """How to solve: relative duality gap, maximal number of sweeps over all rows, and seed of the order of visits."""

    tol: float = 1e-3
    max_iter: int = 1000
    seed: int = 0


def members_by_class(classes: npt.NDArray[np.int64], n_classes: int) -> Members:
    """Return the rows of each class, given one class per row.

    Examples
    --------
    >>> indptr, rows = members_by_class(np.array([1, 0, 1]), 2)
    >>> indptr.tolist(), rows.tolist()
    ([0, 1, 3], [1, 0, 2])
    """
    counts = np.bincount(classes, minlength=n_classes)
    return np.concatenate([[0], np.cumsum(counts)]), np.argsort(classes, kind="stable")
