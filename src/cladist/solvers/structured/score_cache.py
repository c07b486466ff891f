"""The node scores of some rows, kept up to date, and the margin of each row's labelling over the best other one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.kernels import batch_perceptron, runner_up
from cladist.labels import LabelMatrix

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class RunnerUp(NamedTuple):
    """The difference y − z between a row's labelling and the best other one, with signs ±1, and its score."""

    nodes: Ids
    values: Floats  # at these nodes: −2 or 2
    margin: float  # Σ_v a_v (y_v − z_v)


class Update(NamedTuple):
    """W grows by c ⊗ φ(z), c having `values` at `nodes`; column is K(z, ·), and `counted_at` is P, see `Expansion`."""

    nodes: Ids
    values: Floats
    column: Floats
    counted_at: float

    def arrays(self) -> tuple[Ids, Floats, Floats, Floats]:
        """Return the arguments of the kernel."""
        return self.nodes, self.values, self.counted_at * self.values, self.column


_NOTHING = np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0)


class ScoreCache:
    """Node scores a = W φ(x) of some rows, nodes × rows, as W changes by joint features.

    Memory: 9 bytes for each row and node, 17 with the scores of the average.

    Parameters
    ----------
    labels : LabelMatrix
        y of these rows, in a tree or forest.
    scores : array (nodes × rows)
        Scores under the W to begin with; changed in place.
    counted : array (nodes × rows), optional
        Scores of Σ_k P_k c_k ⊗ φ(x_k), see `Expansion`, from which the average follows; changed in place.
    """

    def __init__(self, labels: LabelMatrix, scores: Floats, counted: Floats | None = None) -> None:
        parent = labels.taxonomy.parent
        self.parent = parent
        self.marks = np.ascontiguousarray(labels.to_indicator().toarray().T).astype(np.uint8)
        above = np.where((parent < 0)[:, None], np.uint8(1), self.marks[parent])
        self.side = np.where(self.marks == 1, np.int8(1), -above.astype(np.int8))
        self.scores = scores
        self.counted = np.zeros((0, 0)) if counted is None else counted
        self.margins = np.zeros(len(labels))

    def advance(self, update: Update | None, first: int, last: int) -> None:
        """Add an update to the scores of rows first … last, if there is one, and measure their margins."""
        change = _NOTHING if update is None else update.arrays()
        arrays = self.scores, self.counted, self.parent, self.side, self.margins
        batch_perceptron.advance_rows(arrays, change, first, last)

    def measure(self, first: int, last: int) -> None:
        """Write Σ_v a_v (y_v − z_v), z the runner-up, into `margins` for rows first … last."""
        runner_up.margin_rows(self.scores, self.parent, self.side, first, last, self.margins)

    def runner_up(self, i: int) -> RunnerUp:
        """Return the difference between row i's labelling and its runner-up."""
        difference = np.empty(len(self.parent))
        scores, marks = np.ascontiguousarray(self.scores[:, i]), np.ascontiguousarray(self.marks[:, i])
        margin = runner_up.runner_up_of(scores, self.parent, marks, difference)
        nodes = np.flatnonzero(difference)
        return RunnerUp(nodes, difference[nodes], float(margin))

    def margins_of(self, scores: Floats) -> Floats:
        """Return the margins of these rows under other scores (nodes × rows)."""
        margins = np.zeros(scores.shape[1])
        runner_up.margin_rows(scores, self.parent, self.side, 0, scores.shape[1], margins)
        return margins
