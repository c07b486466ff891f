"""Recursive least squares with kernel values: a Cholesky factor of the stored examples' Gram matrix a store.

Nothing of size d × d is held, so that this is the form for many features and for kernels. A block of rows costs one
triangular solve with all its right sides at once; what its rows say of each other, a small kernel does in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cladist.errors import ModelFormatError
from cladist.kernels.ridge import budget_rounds, dual_rounds
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.online.growing_factor import GrowingFactor, Panel, blas_threads
from cladist.learners.online.primal_ridge import checked_counts
from cladist.learners.online.ridge import BLOCK, Block, Ids, Mask, Matrix, Ridge, Rule
from cladist.learners.online.rows import stacked
from cladist.learners.online.stores import Stores
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_ids, unpack_matrix


class DualRidge(Ridge):
    """L, U = L⁻¹ s and the places of the stored examples among all rows kept; memory O(Q²) a store.

    With a budget B a store holds at most B examples: when one more is stored, the one of smallest dual weight goes.
    """

    def __init__(self, stores: Stores, rule: Rule, kernel: KernelFunction, budget: int | None) -> None:
        super().__init__(stores, rule)
        self.kernel, self.budget = kernel, budget
        self.kept: Any = None  # the rows that some store holds
        self.factors = [self._new_factor() for _ in self.counts]
        self.members: list[Ids] = [np.zeros(0, np.int64) for _ in self.counts]
        self.targets = [np.zeros((0, len(nodes))) for nodes in stores.nodes]  # U of every store
        self._duals: dict[int, Matrix] = {}  # L⁻ᵀ U, made when asked for
        self._most_kept = 2 * BLOCK  # rows, before those that no store holds are let go

    def _new_factor(self) -> GrowingFactor:
        factor = GrowingFactor()
        if self.budget is not None:
            factor.panels.append(Panel(0, self.budget + 1))
        return factor

    def add(self, node: int, gate: int) -> None:
        """Make an empty store for a new node."""
        super().add(node, gate)
        self.factors.append(self._new_factor())
        self.members.append(np.zeros(0, np.int64))
        self.targets.append(np.zeros((0, 1)))

    # ---------------------------------------------------------------- learning

    def learn(self, X: Any, on: Any, first_round: int, *, everywhere: bool) -> Matrix:
        """Make one round for each row; see `Ridge.learn`."""
        with blas_threads(max(self.counts)):
            return super().learn(X, on, first_round, everywhere=everywhere)

    def _squared_lengths(self, X: Any) -> Matrix:
        return self.kernel.diagonal(X)

    def _learn_block(self, block: Block, margins: Matrix, everywhere: bool) -> None:
        n_kept, n_rows = 0 if self.kept is None else self.kept.shape[0], block.X.shape[0]
        against_kept = self.kernel.between(block.X, self.kept) if n_kept else np.zeros((n_rows, 0))
        among = self.kernel.between(block.X, block.X)
        run = self._run_store if self.budget is None else self._run_budgeted
        changed = []
        for store, nodes in enumerate(self.stores.nodes):
            rows, learns = self._takes(block, store, everywhere)
            if not len(rows):
                continue
            known = against_kept[np.ix_(rows, self.members[store])]
            found = np.empty((len(rows), len(nodes)))
            stored = run(store, block, rows, learns, known, among[np.ix_(rows, rows)], found)
            margins[np.ix_(rows, nodes)] = found
            if stored is not None:
                self.members[store] = stored
                self.counts[store] = len(stored)
                self._duals.pop(store, None)
                changed.append(store)
        self._keep(block.X, n_kept, changed)

    def _run_store(
        self, store: int, block: Block, rows: Ids, learns: Mask, known: Matrix, among: Matrix, found: Matrix
    ) -> Ids | None:
        """Make the rounds of a store; returns its members, rows of the block numbered behind all rows kept."""
        factor, U, rule = self.factors[store], self.targets[store], self.rule
        Z = factor.solve(known.T)
        n_rows, n_nodes = found.shape
        LT, more, stored = np.zeros((n_rows, n_rows)), np.zeros((n_rows, n_nodes)), np.empty(n_rows, np.int64)
        n_new = dual_rounds(
            among - Z.T @ Z,
            Z.T @ U,
            block.targets(self.stores.nodes[store])[rows],
            learns,
            block.round_of[rows],
            self.counts[store],
            rule.alpha,
            rule.c,
            rule.current,
            rule.empty,
            LT,
            more,
            stored,
            found,
        )
        if not n_new:
            return None
        factor.append(Z[:, stored[:n_new]].T, LT[:n_new, :n_new].T)
        self.targets[store] = np.concatenate([U, more[:n_new]])
        return np.concatenate([self.members[store], self._behind(rows[stored[:n_new]])])

    def _run_budgeted(
        self, store: int, block: Block, rows: Ids, learns: Mask, known: Matrix, among: Matrix, found: Matrix
    ) -> Ids | None:
        """Make the rounds of a store that has a budget."""
        assert self.budget is not None
        panel, before, rule = self.factors[store].panels[0], self.counts[store], self.rule
        U = np.zeros((self.budget + 1, found.shape[1]))
        U[:before] = self.targets[store]
        place = np.arange(self.budget + 1)
        count = budget_rounds(
            np.concatenate([known, among], axis=1),
            np.diag(among).copy(),
            block.targets(self.stores.nodes[store])[rows],
            learns,
            block.round_of[rows],
            place,
            before,
            rule.alpha,
            rule.c,
            rule.current,
            rule.empty,
            panel.corner,
            U,
            found,
        )
        panel.n_rows = count
        self.targets[store] = U[:count]
        if count == before and np.array_equal(place[:count], np.arange(before)):
            return None
        return np.concatenate([self.members[store], self._behind(rows)])[place[:count]]

    def _behind(self, rows: Ids) -> Ids:
        """Return the numbers of rows of a block, as if all of them came behind the rows kept."""
        return rows + (0 if self.kept is None else self.kept.shape[0])

    def _keep(self, X: Any, n_kept: int, changed: list[int]) -> None:
        """Add the rows of a block that some store holds now, and let go those that none holds any more."""
        if changed:
            fresh = np.unique(np.concatenate([self.members[k][self.members[k] >= n_kept] for k in changed]))
            new = fresh - n_kept
            self.kept = X[new] if self.kept is None else stacked(self.kept, X[new])
            self._renumber(changed, n_kept + X.shape[0], fresh, n_kept + np.arange(len(new)))
        if self.budget is not None and self.kept is not None and self.kept.shape[0] > self._most_kept:
            held = np.unique(np.concatenate(self.members))
            n_kept, self.kept = self.kept.shape[0], self.kept[held]
            self._renumber(range(len(self.members)), n_kept, held, np.arange(len(held)))
            self._most_kept = 2 * len(held) + BLOCK

    def _renumber(self, stores: Iterable[int], n_before: int, before: Ids, after: Ids) -> None:
        place = np.arange(n_before)
        place[before] = after
        for store in stores:
            self.members[store] = place[self.members[store]]

    # ---------------------------------------------------------------- answering

    def margins(self, X: Any, *, signs_only: bool = False) -> Matrix:
        """Return the margin of every row and node; with `signs_only` their scale may be any, which costs less."""
        out = np.full((X.shape[0], sum(map(len, self.stores.nodes))), self.rule.empty)
        if self.kept is None:
            return out
        with blas_threads(max(self.counts)):
            self._fill(X, out, plain=signs_only or not self.rule.current)
        return out

    def _fill(self, X: Any, out: Matrix, *, plain: bool) -> None:
        for start in range(0, X.shape[0], BLOCK):
            rows = X[start : start + BLOCK]
            values, norms = self.kernel.between(rows, self.kept), self.kernel.diagonal(rows)
            for store, members in enumerate(self.members):
                if len(members):
                    scores = self._scores(store, values[:, members], norms, plain)
                    out[start : start + BLOCK, self.stores.nodes[store]] = scores

    def _scores(self, store: int, values: Matrix, norms: Matrix, plain: bool) -> Matrix:
        if plain:
            return values @ self.duals(store)
        Z = self.factors[store].solve(values.T)
        # With K positive definite a pivot is at least α, to rounding.
        pivots = np.maximum(self.rule.alpha + norms - np.einsum("ij,ij->j", Z, Z), self.rule.alpha)
        return (Z.T @ self.targets[store]) * (self.rule.alpha / pivots)[:, None]

    def duals(self, store: int) -> Matrix:
        """Return (αI + G)⁻¹ s of a store, one column a node."""
        if store not in self._duals:
            self._duals[store] = self.factors[store].solve_transposed(self.targets[store])
        return self._duals[store]

    def node_coef(self, n_nodes: int) -> Matrix:
        """Return w of every node (nodes × features), without the row itself in the inverse; linear kernels only."""
        out = np.zeros((n_nodes, self.kept.shape[1] if self.kept is not None else 0))
        for store, members in enumerate(self.members):
            if len(members):
                rows = self.kept[members]
                out[self.stores.nodes[store]] = (rows.T @ self.duals(store)).T
        return out

    # ---------------------------------------------------------------- being saved

    def pack(self) -> Arrays:
        """Return the arrays a model file holds."""
        factors = [factor.pack().get("factor", np.zeros(0)) for factor in self.factors]
        arrays = {
            **prefixed("stores", self.stores.pack()),
            "counts": np.array(self.counts, np.int64),
            "members": np.concatenate([np.zeros(0, np.int64), *self.members]),
            "targets": np.concatenate([np.zeros(0), *(U.ravel() for U in self.targets)]),
            "factors": np.concatenate([np.zeros(0), *factors]),
        }
        return arrays if self.kept is None else {**arrays, **prefixed("kept", pack_matrix(self.kept))}

    @classmethod
    def unpack(
        cls, rule: Rule, n_nodes: int, n_features: int, kernel: KernelFunction, budget: int | None, arrays: Arrays
    ) -> DualRidge:
        """Restore what `pack` gave."""
        made = cls(Stores.unpack(group("stores", arrays), n_nodes), rule, kernel, budget)
        if group("kept", arrays):
            made.kept = unpack_matrix(group("kept", arrays), n_features)
        made.counts = checked_counts(arrays["counts"], made.stores)
        counts = np.array(made.counts)
        sizes = counts * np.array([len(nodes) for nodes in made.stores.nodes])
        triangles = counts * (counts + 1) // 2
        wanted = {"members": counts, "targets": sizes, "factors": triangles}
        if any(arrays[name].shape != (ends.sum(),) for name, ends in wanted.items()):
            raise ModelFormatError("Its examples do not fit its stores.")
        members, values = unpack_ids(arrays["members"]), arrays["targets"].astype(np.float64)
        n_kept = 0 if made.kept is None else made.kept.shape[0]
        if np.any((members < 0) | (members >= n_kept)) or (budget is not None and np.any(counts > budget)):
            raise ModelFormatError("Its stores hold examples that are not there, or more than its budget.")
        made.members = [part.copy() for part in np.split(members, np.cumsum(counts)[:-1])]
        parts = np.split(values, np.cumsum(sizes)[:-1])
        made.targets = [U.reshape(n, -1) if n else V for U, n, V in zip(parts, made.counts, made.targets, strict=True)]
        for store, part in enumerate(np.split(arrays["factors"], np.cumsum(triangles)[:-1])):
            made.factors[store] = made._unpacked_factor(made.counts[store], part.astype(np.float64))
        return made

    def _unpacked_factor(self, count: int, values: Matrix) -> GrowingFactor:
        if self.budget is None:
            return GrowingFactor.unpack(count, {"factor": values})
        factor = self._new_factor()
        panel = factor.panels[0]
        panel.corner[np.tril_indices(count)] = values
        panel.n_rows = count
        if np.any(np.diag(panel.corner)[:count] <= 0):
            raise ModelFormatError("The factor of a store has a diagonal that is not positive.")
        return factor
