"""The dual of a large-margin problem over labellings, in the marginals of edges.

    max_μ  Σ_i ⟨μ_i, ℓ_i⟩ − ½‖W‖²,   W = Σ_i b_i ⊗ φ(x_i)

μ_i are the marginals of a distribution of mass C over labellings, four states per edge; on a tree, these are all μ ≥ 0
whose edges agree on the nodes they share. With features of edges, b_i = C·(states of y_i) − μ_i; with those of nodes,
b_i = C·(signs of y_i) − (mean signs under μ_i), times the nodes' factors. A step moves mass from the worst labelling in
use to the best of all, both found by message passing, on each part where they differ by its own exact step.

Rousu, Saunders, Szedmak & Shawe-Taylor, "Learning Hierarchical Multi-Category Text Classification Models", ICML 2005
(conditional gradient); steps away from the worst labelling in use, without a list of them: Garber & Meshi, NIPS 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import markov
from cladist.labels import LabelMatrix
from cladist.solvers.structured.ascent import RowDual
from cladist.solvers.structured.columns import Columns, ColumnStore, blocks

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabellingLoss:
    """The loss of labellings, and how they are scored; arrays have one entry per node."""

    cost: Floats  # of a wrong node
    hierarchical: bool  # whether a node is charged only where its parent is right (ℓ_H̃), or always (ℓ_Δ)
    consistent: bool  # whether only consistent labellings compete
    edges: bool  # whether each of the four states of an edge has weights, or a node has them, times its sign
    factor: Floats  # of a node's feature; only without `edges`

    def arrays(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels."""
        return self.cost, self.hierarchical, self.consistent, self.edges, self.factor

    @property
    def n_scores(self) -> int:
        """The number of scores per row."""
        return len(self.cost) * (4 if self.edges else 1)


class LabellingDual(RowDual):
    """Marginals of all rows, at y to begin with (W = 0); the base of both forms of W.

    Memory: 33 bytes for each row and node, beside W.
    """

    def __init__(self, labels: LabelMatrix, loss: LabellingLoss, C: float) -> None:
        super().__init__(len(labels), C)
        self.loss, self.parent = loss, labels.taxonomy.parent
        self.marks = np.ascontiguousarray(labels.to_indicator().toarray()).astype(np.uint8)
        self.marginals = self._true_states()

    def _true_states(self) -> Floats:
        """Return C at the state of y on every edge (rows × nodes × 4)."""
        above = np.where(self.parent < 0, np.uint8(1), self.marks[:, self.parent])
        states = np.zeros((*self.marks.shape, 4))
        np.put_along_axis(states, (2 * above + self.marks).astype(np.int64)[:, :, None], self.C, axis=2)
        return states

    def state(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels that describe the problem."""
        return self.marginals, self.marks, self.parent, self.loss.arrays()

    def linear_part(self) -> float:
        """Return Σ_i ⟨μ_i, ℓ_i⟩."""
        cost, hierarchical = self.loss.cost, self.loss.hierarchical
        return float(markov.marginal_losses(self.marginals, self.marks, self.parent, cost, hierarchical))

    def coefficients(self) -> sparse.csr_array:
        """Return b_i of all rows (scores × rows)."""
        if self.loss.edges:
            b = (self._true_states() - self.marginals).reshape(len(self.marks), -1)
        else:
            on = self.marginals[:, :, 1] + self.marginals[:, :, 3]
            b = 2.0 * self.loss.factor * (self.C * self.marks - on)
        b[np.abs(b) <= markov.NEGLIGIBLE * self.C] = 0.0
        return sparse.csr_array(b.T)


class LinearLabellings(LabellingDual):
    """W as an array (features × scores), kept up to date."""

    def __init__(self, X: Any, labels: LabelMatrix, loss: LabellingLoss, C: float) -> None:
        super().__init__(labels, loss, C)
        self.hold_rows(X, loss.n_scores)

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits = self.C, n_steps, enough
        markov.sweep_rows(self.rows, self.W, order, *self.state(), limits, self.squares, self.gaps)

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last."""
        markov.measure_rows(self.rows, self.W, first, last, *self.state(), self.C, self.slacks, self.gaps)


class KernelLabellings(LabellingDual):
    """W by its scores on all rows (rows × scores), which a step changes by a kernel column."""

    def __init__(
        self, columns: Columns, labels: LabelMatrix, loss: LabellingLoss, C: float, cache_bytes: float = 200e6
    ) -> None:
        super().__init__(labels, loss, C)
        self.columns, self.store = columns, ColumnStore(len(labels), cache_bytes)
        self.scores = np.zeros((len(labels), loss.n_scores))

    def _column(self, i: int) -> Floats:
        column, is_filled = self.store.look(i)
        if not is_filled:
            for first, last in blocks(0, len(column)):
                self.columns.fill(i, first, last, column[first:last])
        return column

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits, room = (self.C, n_steps, enough), markov.working_room(len(self.parent))
        change, loss = np.empty(self.loss.n_scores), self.loss.arrays()
        for i in order.tolist():
            own, square = self.scores[i].copy(), float(self.columns.diagonal[i])
            state = own, self.marginals[i], self.marks[i], self.parent, loss
            self.gaps[i] = markov.ascend_row(*state, limits, square, room, change)
            places = np.flatnonzero(change)
            if len(places):
                markov.add_column(self.scores, places, change[places], self._column(i))

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last."""
        markov.measure_scores(self.scores, first, last, *self.state(), self.C, self.slacks, self.gaps)

    def squared_norm(self) -> float:
        """Return ‖W‖² = Σ_i ⟨b_i, scores of row i⟩."""
        return float(self.coefficients().multiply(self.scores.T).sum())
