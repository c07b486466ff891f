"""A weight matrix as a sum of joint features, with its norm and the average of its states."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Expansion:
    """W = Σ_k c_k ⊗ φ(x_k), c_k ∈ R^N: terms are added one by one, and `last` and `average` return both forms of W.

    ‖W + c ⊗ φ(x)‖² = ‖W‖² + 2 Σ_v c_v a_v + ‖c‖² K(x, x), a = W φ(x), keeps the norm up to date (Algorithm 3, α).

    The average of the states W_t is Σ_t weight_t W_t / Σ_t 1. A term added in state t is part of all later states, so
    its weight is P_T − P_t, where P_t is the running sum of weights.

    Examples
    --------
    >>> W = Expansion(2)
    >>> W.add(7, np.array([0]), np.array([2.0]), margin=0.0, square=1.0)
    >>> W.count(0.5)
    >>> W.add(7, np.array([0, 1]), np.array([1.0, 1.0]), margin=2.0, square=1.0)
    >>> W.count(0.5)
    >>> W.squared_norm
    10.0
    >>> rows, last = W.last()
    >>> rows.tolist(), last.toarray().tolist()
    ([7], [[3.0], [1.0]])
    >>> W.average()[1].toarray().tolist()
    [[1.25], [0.25]]
    """

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        self.rows: list[int] = []
        self.nodes: list[Ids] = []
        self.values: list[Floats] = []
        self.counted_at: list[float] = []  # P when the term was added
        self.squared_norm = 0.0
        self.running = 0.0  # P
        self.states = 0

    def add(self, row: int, nodes: Ids, values: Floats, *, margin: float, square: float) -> None:
        """Add a term with entries `values` at `nodes`; margin is Σ_v c_v a_v before, square is K(x, x)."""
        self.rows.append(row)
        self.nodes.append(nodes)
        self.values.append(values)
        self.counted_at.append(self.running)
        growth = 2.0 * margin + float((values * values).sum()) * square
        self.squared_norm = max(0.0, self.squared_norm + growth)  # rounding must not make it negative

    def begin_with(self, rows: Ids, coefs: Floats, squared_norm: float) -> None:
        """Add the terms of initial weights, coefs (rows × nodes), whose norm is known."""
        for row, values in zip(rows.tolist(), coefs, strict=True):
            nodes = np.flatnonzero(values)
            self.add(row, nodes, values[nodes], margin=0.0, square=0.0)
        self.squared_norm = squared_norm

    def count(self, weight: float) -> None:
        """Count the present state in the average with this weight."""
        self.running += weight
        self.states += 1

    def last(self) -> tuple[Ids, sparse.csr_array]:
        """Return the rows of the present W, each once, and their coefficients (nodes × rows)."""
        return self._merge(np.ones(len(self.rows)))

    def average(self) -> tuple[Ids, sparse.csr_array]:
        """Return the rows of the average, each once, and their coefficients (nodes × rows)."""
        return self._merge((self.running - np.array(self.counted_at)) / max(1, self.states))

    def counted(self) -> tuple[Ids, sparse.csr_array]:
        """Return rows and coefficients of Σ_k P_k c_k ⊗ φ(x_k); the average is P_T W minus this, over the states."""
        return self._merge(np.array(self.counted_at))

    def _merge(self, factors: Floats) -> tuple[Ids, sparse.csr_array]:
        rows, place = np.unique(np.array(self.rows, np.int64), return_inverse=True)
        if not len(rows):
            return rows, sparse.csr_array((self.n_nodes, 0), dtype=np.float64)
        lengths = [len(nodes) for nodes in self.nodes]
        entries = np.concatenate(self.values) * np.repeat(factors, lengths)
        at: Any = (np.concatenate(self.nodes), np.repeat(place, lengths))
        total = sparse.csr_array(sparse.coo_array((entries, at), shape=(self.n_nodes, len(rows))))
        total.eliminate_zeros()
        return rows, total
