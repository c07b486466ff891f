"""What the two forms of recursive least squares share: rows in blocks, shown to one store after the other.

Which rows a store keeps depends on true labels and on its own margins alone, so that stores run apart from each
other; within a store the rounds go in the rows' order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.learners.online.stores import Stores

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
BLOCK = 128  # rows taken together: among themselves they go one by one, against earlier ones as matrix products


@dataclass(frozen=True)
class Rule:
    """The constants of a round."""

    alpha: float  # of the ridge αI
    c: float  # how small a margin must be for its row to be stored; ∞: all are
    current: bool  # whether the row itself is part of the inverse
    empty: float  # the margin of a node that has stored nothing


@dataclass
class Block:
    """Some rows, in the order of their rounds."""

    X: Any
    on: Mask  # true labels (rows × nodes)
    round_of: Ids
    has_length: Mask  # whether K(x, x) > 0: a row of length 0 has margin 0 everywhere and teaches nothing

    def targets(self, nodes: Ids) -> Matrix:
        """Return +1 where a node is on and −1 where it is off: P(on | x) = (1 + u·x) / 2 makes u their expectation."""
        return np.where(self.on[:, nodes], 1.0, -1.0)


class Ridge:
    """All stores of a model in one form; see `PrimalRidge` and `DualRidge`."""

    def __init__(self, stores: Stores, rule: Rule) -> None:
        self.stores, self.rule = stores, rule
        self.counts = [0] * len(stores)

    def learn(self, X: Any, on: Any, first_round: int, *, everywhere: bool) -> Matrix:
        """Make one round for each row and return the margins before its update, of the nodes it was shown to.

        Parameters
        ----------
        X : rows, dense or CSR, float64
        on : CSR (rows × nodes)
            True labels, closed under ancestors.
        first_round : int
            The number of the first row's round, from 1.
        everywhere : bool
            Whether margins are wanted of all nodes, not only of those that are shown the row; others stay 0.
        """
        margins = np.zeros((X.shape[0], on.shape[1]))
        with progress.task(type(self).__name__, X.shape[0]) as running:
            for start in range(0, X.shape[0], BLOCK):
                at = slice(start, min(start + BLOCK, X.shape[0]))
                rows = X[at]
                block = Block(
                    rows,
                    on[at].toarray().astype(bool),
                    first_round + np.arange(at.start, at.stop),
                    self._squared_lengths(rows) > 0,
                )
                self._learn_block(block, margins[at], everywhere)
                running.advance(at.stop - at.start)
        return margins

    def _takes(self, block: Block, store: int, everywhere: bool) -> tuple[Ids, Mask]:
        """Return the rows of a block that a store gives margins for, and which of them it learns from."""
        shown = self.stores.shown(block.on, store)
        rows = np.arange(len(shown)) if everywhere else np.flatnonzero(shown)
        return rows, shown[rows] & block.has_length[rows]

    def _squared_lengths(self, X: Any) -> Matrix:
        """Return K(x, x) of every row."""
        raise TypeError(f"{type(self).__name__} does not say how long its rows are.")

    def _learn_block(self, block: Block, margins: Matrix, everywhere: bool) -> None:
        raise TypeError(f"{type(self).__name__} does not say how it learns.")

    def add(self, node: int, gate: int) -> None:
        """Make an empty store for a new node."""
        self.stores.add(node, gate)
        self.counts.append(0)
