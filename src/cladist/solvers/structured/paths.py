"""The dual of a large-margin problem over single labels that share the nodes of their paths.

    min_W ½‖W‖² + C Σ_i ξ_i,   ξ_i = max_r [D(y_i, r) − κ (S_{y_i} − S_r)],   S_r = Σ_{u ∈ path(r)} λ_ru w_u·x_i

with κ = 1 (margin rescaling) or κ = D(y_i, r) (slack rescaling). The dual is in masses of labels, C per row. A step
moves mass from the worst label in use to the best of all. Cai & Hofmann, CIKM 2004; Tsochantaridis, Joachims, Hofmann &
Altun, JMLR 6, 2005; block-coordinate Frank–Wolfe: Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import path_margin
from cladist.solvers.structured.ascent import RowDual

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PathLoss:
    """The loss between labels, and how they are scored: λ_ru = size_r · factor_u."""

    losses: Floats  # D(y, r) (labels × labels), 0 on the diagonal
    parent: Ids  # of every node, −1 at roots; parents come first
    nodes: Ids  # of the labels
    size: Floats  # of the labels
    factor: Floats  # of the nodes
    slack: bool = False  # whether κ = D (slack rescaling); otherwise κ = 1

    def tree(self) -> tuple[Ids, Ids, Floats, Floats]:
        """Return the arguments of the kernels."""
        return self.parent, self.nodes, self.size, self.factor

    def features(self) -> Floats:
        """Return the features of all labels (labels × nodes)."""
        features = np.zeros((len(self.nodes), len(self.parent)))
        for r in range(len(self.nodes)):
            path_margin.add_path(self.tree(), r, 1.0, features[r])
        return features


class PathDual(RowDual):
    """Masses of all rows, at y to begin with (W = 0); memory 8 bytes for each row and label, beside W."""

    def __init__(self, X: Any, true: Ids, loss: PathLoss, C: float) -> None:
        super().__init__(len(true), C)
        self.hold_rows(X, len(loss.parent))
        self.loss, self.true, self.linear = loss, true, np.zeros(len(true))
        self.masses = np.zeros((len(true), len(loss.nodes)))
        self.masses[np.arange(len(true)), true] = C

    def state(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels that describe the problem."""
        return self.masses, self.true, self.loss.losses, self.loss.tree(), self.loss.slack

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits = self.C, n_steps, enough
        path_margin.sweep_labels(self.rows, self.W, order, *self.state(), limits, self.squares, self.gaps)

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks, gaps and ⟨α_i, D_i⟩ of rows first … last."""
        outputs = self.slacks, self.gaps, self.linear
        path_margin.measure_labels(self.rows, self.W, first, last, *self.state(), self.C, *outputs)

    def linear_part(self) -> float:
        """Return Σ_i ⟨α_i, D_i⟩."""
        return float(self.linear.sum())
