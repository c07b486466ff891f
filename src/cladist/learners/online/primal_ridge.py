"""Recursive least squares with weights: a d × d inverse a store, for few features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels.ridge import primal_rounds
from cladist.learners.online.ridge import Block, Matrix, Ridge, Rule
from cladist.learners.online.stores import Stores
from cladist.learners.row_lengths import squared_lengths
from cladist.storage.array_groups import Arrays, group, prefixed, unpack_ids

MOST_EXAMPLES = 2**31  # of a store in a file: sizes of arrays are products of them


class PrimalRidge(Ridge):
    """P = (αI + S Sᵀ)⁻¹ and w = P S s of every store that has stored something; memory O(d²) a store."""

    def __init__(self, stores: Stores, rule: Rule, n_features: int) -> None:
        super().__init__(stores, rule)
        self.n_features = n_features
        self.inverses: dict[int, Matrix] = {}
        self.weights: dict[int, Matrix] = {}

    def _squared_lengths(self, X: Any) -> Matrix:
        return squared_lengths(X)

    def _learn_block(self, block: Block, margins: Matrix, everywhere: bool) -> None:
        X = block.X.toarray() if sparse.issparse(block.X) else np.ascontiguousarray(block.X)
        rule = self.rule
        for store, nodes in enumerate(self.stores.nodes):
            rows, learns = self._takes(block, store, everywhere)
            if not len(rows):
                continue
            found = np.empty((len(rows), len(nodes)))
            P, W = self._state(store)
            count = primal_rounds(
                X[rows],
                block.targets(nodes)[rows],
                learns,
                block.round_of[rows],
                P,
                W,
                self.counts[store],
                rule.c,
                rule.current,
                rule.empty,
                found,
            )
            if count:
                self.counts[store], self.inverses[store], self.weights[store] = count, P, W
            margins[np.ix_(rows, nodes)] = found

    def _state(self, store: int) -> tuple[Matrix, Matrix]:
        """Return P and W of a store, as they begin if it has stored nothing."""
        if store in self.inverses:
            return self.inverses[store], self.weights[store]
        d = self.n_features
        return np.eye(d) / self.rule.alpha, np.zeros((len(self.stores.nodes[store]), d))

    def margins(self, X: Any, *, signs_only: bool = False) -> Matrix:
        """Return the margin of every row and node; with `signs_only` their scale may be any."""
        out = np.full((X.shape[0], sum(map(len, self.stores.nodes))), self.rule.empty)
        for store, W in self.weights.items():
            scores = np.asarray(X @ W.T)
            if self.rule.current and not signs_only:
                rows = X.toarray() if sparse.issparse(X) else X
                shrinkage = 1.0 + np.einsum("ij,ij->i", np.asarray(X @ self.inverses[store]), rows)
                scores /= np.maximum(shrinkage, 1.0)[:, None]  # an inverse is positive definite, to rounding
            out[:, self.stores.nodes[store]] = scores
        return out

    def node_coef(self, n_nodes: int) -> Matrix:
        """Return w of every node (nodes × features), without the row itself in the inverse."""
        out = np.zeros((n_nodes, self.n_features))
        for store, W in self.weights.items():
            out[self.stores.nodes[store]] = W
        return out

    # ---------------------------------------------------------------- being saved

    def pack(self) -> Arrays:
        """Return the arrays a model file holds; of the symmetric inverses the lower triangles."""
        low = np.tril_indices(self.n_features)
        used = sorted(self.inverses)
        inverses = [self.inverses[store][low] for store in used]
        weights = [self.weights[store].ravel() for store in used]
        return {
            **prefixed("stores", self.stores.pack()),
            "counts": np.array(self.counts, np.int64),
            "inverses": np.concatenate([np.zeros(0), *inverses]),
            "weights": np.concatenate([np.zeros(0), *weights]),
        }

    @classmethod
    def unpack(cls, rule: Rule, n_nodes: int, n_features: int, arrays: Arrays) -> PrimalRidge:
        """Restore what `pack` gave."""
        made = cls(Stores.unpack(group("stores", arrays), n_nodes), rule, n_features)
        made.counts = checked_counts(arrays["counts"], made.stores)
        used = [store for store, count in enumerate(made.counts) if count]
        own = n_features * (n_features + 1) // 2
        sizes = np.array([len(made.stores.nodes[store]) * n_features for store in used], np.int64)
        inverses, weights = (arrays[name].astype(np.float64) for name in ("inverses", "weights"))
        if inverses.shape != (own * len(used),) or weights.shape != (sizes.sum(),):
            raise ModelFormatError("Its inverses and weights do not fit its stores.")
        low, ends = np.tril_indices(n_features), np.cumsum(sizes)
        for k, store in enumerate(used):
            P = np.zeros((n_features, n_features))
            P[low] = inverses[k * own : (k + 1) * own]
            made.inverses[store] = P + np.tril(P, -1).T
            made.weights[store] = weights[ends[k] - sizes[k] : ends[k]].reshape(-1, n_features).copy()
        return made


def checked_counts(counts: Any, stores: Stores) -> list[int]:
    """Return how many examples each store holds, or refuse what cannot be that."""
    known = unpack_ids(counts)
    if known.shape != (len(stores),) or np.any((known < 0) | (known > MOST_EXAMPLES)):
        raise ModelFormatError("Its stores and their numbers of examples do not fit together.")
    return [int(count) for count in known]
