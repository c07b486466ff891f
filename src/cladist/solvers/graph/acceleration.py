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
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.solvers.graph.quadratic_form import Graph, chunks

SLOWEST, FASTEST = 1.0, 64.0  # of a feature that keeps its direction
FASTER, SLOWER = 2.0, 0.25
MEMORY = 5  # sweeps that a fixed point is extrapolated from
SINGULAR = 1e-10  # of the largest eigenvalue of their Gram matrix: what float32 weights cannot tell apart
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


class Acceleration(Protocol):
    """The steps of an acceleration, around a sweep."""

    def move(self, W: Floats32) -> None:
        """Move the means in place, before a sweep."""

    def begin(self, W: Floats32) -> None:
        """Remember where a sweep begins."""

    def end(self, W: Floats32) -> None:
        """Record where the sweep ended."""

    def reject(self) -> None:
        """Record that the last move was taken back."""


class ComponentMeans:
    """The mean vector of each component of two or more nodes.

    Examples
    --------
    >>> means = ComponentMeans(Graph(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])), np.arange(3)))
    >>> W = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    >>> means.of(W).tolist()
    [[2.0, 3.0]]
    >>> means.add(np.array([[10.0, 0.0]]), W)
    >>> W.tolist()
    [[11.0, 2.0], [13.0, 4.0], [5.0, 6.0]]
    """

    def __init__(self, graph: Graph) -> None:
        sizes = np.bincount(graph.components)
        self.nodes = np.flatnonzero(sizes[graph.components] > 1)
        self.part = np.unique(graph.components[self.nodes], return_inverse=True)[1]
        share = 1 / sizes[graph.components[self.nodes]]
        shape = int(self.part.max(initial=-1)) + 1, graph.n_nodes
        self._matrix = sparse.csr_array((share, (self.part, self.nodes)), shape=shape)

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def of(self, W: Floats32) -> Floats64:
        """Return the means (components × features)."""
        means = np.empty((len(self), W.shape[1]))
        for columns in chunks(W):
            means[:, columns] = self._matrix @ W[:, columns].astype(np.float64)
        return means

    def add(self, steps: npt.NDArray[np.floating], W: Floats32) -> None:
        """Add a step to all nodes of each component, in place."""
        for k, node in zip(self.part.tolist(), self.nodes.tolist(), strict=True):
            W[node] += steps[k]


class Anderson:
    """The fixed point of sweeps, extrapolated from how the last of them changed the means.

    With residual f = (mean after a sweep) − (mean before it), the next mean is g − Σ γ_j Δg_j, g being the mean after
    the last sweep and γ what makes ‖f − Σ γ_j Δf_j‖ least, for each component by itself.

    Memory: 40 bytes per component and feature, and 8 while a move is made.

    Examples
    --------
    A linear map is solved once its directions have been seen:

    >>> pair = Graph(sparse.csr_array(np.array([[0, 1], [1, 0]])), np.arange(2))
    >>> anderson, W = Anderson(pair, n_features=2), np.zeros((2, 2), np.float32)
    >>> for sweep in range(5):
    ...     anderson.move(W)
    ...     anderson.begin(W)
    ...     W += np.float32([0.01, 0.1]) * (np.float32([3, 5]) - W)
    ...     anderson.end(W)
    >>> W.round(3).tolist()
    [[3.0, 5.0], [3.0, 5.0]]
    """

    def __init__(self, graph: Graph, n_features: int) -> None:
        self.means = ComponentMeans(graph)
        self.began = np.zeros((len(self.means), n_features))
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
        self.means.add(-np.einsum("ki,ikd->kd", factors, of_mean).astype(np.float32), W)

    def begin(self, W: Floats32) -> None:
        """Remember where a sweep begins."""
        self.began = self.means.of(W)

    def end(self, W: Floats32) -> None:
        """Remember how this sweep's mean and residual differ from the last one's."""
        mean = self.means.of(W)
        now = mean - self.began, mean
        if self.last is not None:
            changed = [(a - b).astype(np.float32) for a, b in zip(now, self.last, strict=True)]
            self.changes.append((changed[0], changed[1]))
        self.last = now


class Momentum:
    """How fast the mean of each component moves, feature by feature.

    Memory: 8 bytes per component and feature.

    Examples
    --------
    >>> pair = Graph(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])), np.arange(3))
    >>> momentum = Momentum(pair, n_features=2)
    >>> W = np.zeros((3, 2), np.float32)
    >>> for step in ([1, 1], [1, 1], [1, -1], [1, -1]):
    ...     momentum.begin(W)
    ...     W += np.float32(step)
    ...     momentum.end(W)
    >>> momentum.pace.tolist()
    [[4.0, 1.0]]
    >>> momentum.move(W)
    >>> W.tolist()
    [[8.0, -1.0], [8.0, -1.0], [4.0, 0.0]]
    """

    def __init__(self, graph: Graph, n_features: int) -> None:
        self.means = ComponentMeans(graph)
        self.pace = np.zeros((len(self.means), n_features), np.float32)
        self.drift, self.began = np.zeros_like(self.pace), np.zeros(self.pace.shape)

    def move(self, W: Floats32) -> None:
        """Move the means as far again as the pace says."""
        self.means.add(self.pace * self.drift, W)

    def begin(self, W: Floats32) -> None:
        """Remember where a sweep begins."""
        self.began = self.means.of(W)

    def end(self, W: Floats32) -> None:
        """Record how far the sweep moved the means; features that keep their direction get faster, others slower."""
        drift = (self.means.of(W) - self.began).astype(np.float32)
        kept, turned = drift * self.drift > 0, drift * self.drift < 0
        self.pace[kept] = np.clip(FASTER * self.pace[kept], SLOWEST, FASTEST)
        self.pace[turned] *= SLOWER
        self.drift = drift

    def reject(self) -> None:
        """Go slower everywhere, and not where the last sweep went."""
        self.pace *= SLOWER
        self.drift[:] = 0
