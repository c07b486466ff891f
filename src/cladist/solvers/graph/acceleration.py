"""Acceleration of the mean vector of each component of a graph.

Problem   where nothing pulls a component to 0, or little does, its mean is held by rows alone: a sweep moves every node
          only as far as its neighbours let it, and the mean by a little, sweep after sweep in the same direction
Anderson  for losses with a continuous slope: a sweep is nearly a linear map of the mean, whose fixed point is
          extrapolated from the last sweeps
Momentum  for the hinge, whose kinks mislead extrapolation: each feature of the mean moves further by `pace` times what
          the last sweep moved it; the pace doubles while the direction stays, and is a quarter where it turns
Guard     the caller takes a move back if the sweep after it ends higher than it began
Found by  Anderson 1965; Riedmiller & Braun 1993 (Rprop), for the pace
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.linear_model.training_rows import Floats32, Floats64
from cladist.solvers.graph.quadratic_form import Graph, chunks

SLOWEST, FASTEST = 1.0, 64.0  # of a feature that keeps its direction
FASTER, SLOWER = 2.0, 0.25
MEMORY = 5  # sweeps that a fixed point is extrapolated from
SINGULAR = 1e-10  # of the largest eigenvalue of their Gram matrix: what float32 weights cannot tell apart


class _ComponentMeans:
    """The mean vector of each component of two or more nodes, now and where a sweep began."""

    def __init__(self, graph: Graph, n_features: int) -> None:
        sizes = np.bincount(graph.components)
        self.nodes = np.flatnonzero(sizes[graph.components] > 1)
        self.part = np.unique(graph.components[self.nodes], return_inverse=True)[1]
        share = 1 / sizes[graph.components[self.nodes]]
        shape = int(self.part.max(initial=-1)) + 1, graph.n_nodes
        self._matrix = sparse.csr_array((share, (self.part, self.nodes)), shape=shape)
        self.began = np.zeros((shape[0], n_features))

    def means(self, W: Floats32) -> Floats64:
        """Return the means (components × features)."""
        means = np.empty(self.began.shape)
        for columns in chunks(W):
            means[:, columns] = self._matrix @ W[:, columns].astype(np.float64)
        return means

    def add(self, steps: npt.NDArray[np.floating], W: Floats32) -> None:
        """Add a step to all nodes of each component, in place."""
        for k, node in zip(self.part.tolist(), self.nodes.tolist(), strict=True):
            W[node] += steps[k]

    def begin(self, W: Floats32) -> None:
        """Remember where a sweep begins."""
        self.began = self.means(W)


class Anderson(_ComponentMeans):
    """The fixed point of sweeps, extrapolated from how the last of them changed the means.

    With residual f = (mean after a sweep) − (mean before it), the next mean is g − Σ γ_j Δg_j, g being the mean after
    the last sweep and γ what makes ‖f − Σ γ_j Δf_j‖ least, for each component by itself.

    Memory: 40 bytes per component and feature, and 8 while a move is made.
    """

    def __init__(self, graph: Graph, n_features: int) -> None:
        super().__init__(graph, n_features)
        self.reject()

    def reject(self) -> None:
        """Forget all sweeps."""
        self.last: tuple[Floats64, Floats64] | None = None
        self.changes: deque[tuple[Floats32, Floats32]] = deque(maxlen=MEMORY)

    def move(self, W: Floats32) -> None:
        """Move the means to where their sweeps tend."""
        if self.last is None or not self.changes:
            return
        residual, _ = self.last
        of_residual, of_mean = (np.array(changes) for changes in zip(*self.changes, strict=True))
        gram = np.einsum("ikd,jkd->kij", of_residual, of_residual, dtype=np.float64)
        right = np.einsum("ikd,kd->ki", of_residual, residual, dtype=np.float64)
        factors = np.einsum("kij,kj->ki", np.linalg.pinv(gram, rcond=SINGULAR, hermitian=True), right)
        self.add(-np.einsum("ki,ikd->kd", factors, of_mean).astype(np.float32), W)

    def end(self, W: Floats32) -> None:
        """Remember how this sweep's mean and residual differ from the last one's."""
        mean = self.means(W)
        now = mean - self.began, mean
        if self.last is not None:
            changed = [(a - b).astype(np.float32) for a, b in zip(now, self.last, strict=True)]
            self.changes.append((changed[0], changed[1]))
        self.last = now


class Momentum(_ComponentMeans):
    """How fast the mean of each component moves, feature by feature.

    Memory: 8 bytes per component and feature.
    """

    def __init__(self, graph: Graph, n_features: int) -> None:
        super().__init__(graph, n_features)
        self.pace, self.drift = np.zeros((2, *self.began.shape), np.float32)

    def move(self, W: Floats32) -> None:
        """Move the means as far again as the pace says."""
        self.add(self.pace * self.drift, W)

    def end(self, W: Floats32) -> None:
        """Record how far the sweep moved the means; features that keep their direction get faster, others slower."""
        drift = (self.means(W) - self.began).astype(np.float32)
        steady, turning = drift * self.drift > 0, drift * self.drift < 0
        self.pace[steady] = np.clip(FASTER * self.pace[steady], SLOWEST, FASTEST)
        self.pace[turning] *= SLOWER
        self.drift = drift

    def reject(self) -> None:
        """Go slower everywhere, and not where the last sweep went."""
        self.pace *= SLOWER
        self.drift[:] = 0


Acceleration = Anderson | Momentum
