"""What all nodes of a component have in common, hurried along.

Problem   where nothing pulls a component to 0, or little does, its mean is held by rows alone: a sweep moves every node
          only as far as its neighbours let it, and the mean by a little, sweep after sweep in the same direction
Moves     each feature of the mean further by `pace` times what the last sweep moved it; the pace doubles while the
          direction stays, and is a quarter where it turns
Guard     whoever makes a move takes it back if the sweep after it ends higher than it began
Found by  Riedmiller & Braun 1993, Rprop, for the pace
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.solvers.graphs import Graph, chunks

SLOWEST, FASTEST = 1.0, 64.0  # of a feature that keeps its direction
FASTER, SLOWER = 2.0, 0.25
Floats32 = npt.NDArray[np.float32]


class Momentum:
    """How fast the mean of each component of several nodes moves, feature by feature.

    Memory: 12 bytes a component and feature.

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
        sizes = np.bincount(graph.components)
        self.nodes = np.flatnonzero(sizes[graph.components] > 1)
        self.part = np.unique(graph.components[self.nodes], return_inverse=True)[1]
        n_parts = int(self.part.max(initial=-1)) + 1
        share = 1 / sizes[graph.components[self.nodes]]
        self._means = sparse.csr_array((share, (self.part, self.nodes)), shape=(n_parts, graph.n_nodes))
        self.pace = np.zeros((n_parts, n_features), np.float32)
        self.drift, self.began = np.zeros_like(self.pace), np.zeros_like(self.pace)

    def move(self, W: Floats32) -> None:
        """Move the means as far again as the pace says."""
        for k, node in zip(self.part.tolist(), self.nodes.tolist(), strict=True):
            W[node] += self.pace[k] * self.drift[k]

    def begin(self, W: Floats32) -> None:
        """Remember where a sweep begins."""
        self.began = self._means_of(W)

    def end(self, W: Floats32) -> None:
        """See how far the sweep has moved the means, and set the pace by whether that is where they moved before."""
        drift = self._means_of(W) - self.began
        kept, turned = drift * self.drift > 0, drift * self.drift < 0
        self.pace[kept] = np.clip(FASTER * self.pace[kept], SLOWEST, FASTEST)
        self.pace[turned] *= SLOWER
        self.drift = drift

    def slow_down(self) -> None:
        """Go slower everywhere, and not where the last sweep went."""
        self.pace *= SLOWER
        self.drift[:] = 0

    def _means_of(self, W: Floats32) -> Floats32:
        found = np.empty_like(self.pace)
        for columns in chunks(W):
            found[:, columns] = self._means @ W[:, columns].astype(np.float64)
        return found
