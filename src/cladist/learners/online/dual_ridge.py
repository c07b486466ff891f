"""Recursive least squares in dual form: for every group a Cholesky factor of its examples' Gram matrix.

Nothing of size d × d is held, so this is the form for many features and for kernels. A block of rows costs one
triangular solve with many right-hand sides; a small kernel then makes the rounds of the block in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cladist import progress
from cladist.errors import ModelFormatError
from cladist.kernels.ridge import budget_rounds, dual_rounds
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.online.growing_factor import GrowingFactor, limit_blas_threads
from cladist.learners.online.ridge import (
    BLOCK,
    Ids,
    Mask,
    Matrix,
    NodeGroups,
    RidgeRule,
    RowBlock,
    iterate_blocks,
    unpack_counts,
)
from cladist.learners.online.row_arrays import append_rows, pack_rows, unpack_rows
from cladist.storage.array_groups import Arrays, group, prefixed, unpack_ids


class DualRidge:
    """αI + SᵀS = L Lᵀ and U = L⁻¹ s of every group, with S among the rows kept. Memory: O(Q²) per group.

    With a budget B a group holds at most B examples: when one more is stored, that of smallest dual weight is removed.
    """

    def __init__(self, groups: NodeGroups, rule: RidgeRule, kernel: KernelFunction, budget: int | None) -> None:
        self.groups, self.rule, self.kernel, self.budget = groups, rule, kernel, budget
        self.rows: Any = None  # the rows that some group holds
        self.factors = [GrowingFactor(budget) for _ in groups.nodes]  # L
        self.members: list[Ids] = [np.zeros(0, np.int64) for _ in groups.nodes]  # S, as places among `rows`
        self.targets = [np.zeros((0, len(nodes))) for nodes in groups.nodes]  # U
        self._duals: dict[int, Matrix] = {}  # L⁻ᵀ U, computed on demand
        self._most_rows = 2 * BLOCK  # number of rows from which those that no group holds are dropped

    @property
    def counts(self) -> list[int]:
        """The number of examples of each group."""
        return [len(members) for members in self.members]

    @property
    def n_rows(self) -> int:
        """The number of rows that some group holds."""
        return 0 if self.rows is None else int(self.rows.shape[0])

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        """Move nodes to their new ids, and make a group without examples for a new node."""
        self.groups.add_node(new_id, node, gate)
        self.factors.append(GrowingFactor(self.budget))
        self.members.append(np.zeros(0, np.int64))
        self.targets.append(np.zeros((0, 1)))

    # ---------------------------------------------------------------- training

    def train(self, X: Any, on: Any, first_round: int, *, everywhere: bool) -> Matrix:
        """Make one round per row, and return the margins before its update; see `PrimalRidge.train`."""
        margins = np.zeros((X.shape[0], on.shape[1]))
        with limit_blas_threads(max(self.counts)), progress.task("HierarchicalRLS", X.shape[0]) as running:
            for at, block in iterate_blocks(X, on, first_round, self.kernel.diagonal):
                self._train_block(block, margins[at], everywhere)
                running.advance(at.stop - at.start)
        return margins

    def _train_block(self, block: RowBlock, margins: Matrix, everywhere: bool) -> None:
        known = self.kernel.between(block.X, self.rows) if self.n_rows else np.zeros((block.X.shape[0], 0))
        among = self.kernel.between(block.X, block.X)
        run_group = self._run_group if self.budget is None else self._run_group_on_budget
        changed = []
        for k, nodes in enumerate(self.groups.nodes):
            rows, learns = block.select_rows(self.groups.gates[k], everywhere=everywhere)
            if not len(rows):
                continue
            values = known[np.ix_(rows, self.members[k])], among[np.ix_(rows, rows)]
            margins[np.ix_(rows, nodes)], places = run_group(k, block, rows, learns, *values)
            if places is not None:
                # Rows of the block are numbered after all rows kept, until `_keep_rows` renumbers them.
                self.members[k] = np.concatenate([self.members[k], rows + self.n_rows])[places]
                self._duals.pop(k, None)
                changed.append(k)
        self._keep_rows(block.X, changed)

    def _run_group(
        self, k: int, block: RowBlock, rows: Ids, learns: Mask, known: Matrix, among: Matrix
    ) -> tuple[Matrix, Ids | None]:
        """Make the rounds of a group; returns the margins, and its examples' places among the old ones and `rows`."""
        factor, U, rule, nodes = self.factors[k], self.targets[k], self.rule, self.groups.nodes[k]
        Z = factor.solve(known.T)
        n = len(rows)
        LT, new_U, stored = np.zeros((n, n)), np.zeros((n, len(nodes))), np.empty(n, np.int64)
        margins = np.empty((n, len(nodes)))
        targets, round_of = block.targets(nodes)[rows], block.round_of[rows]
        constants = len(U), rule.alpha, rule.c, rule.current, rule.empty
        n_new = dual_rounds(among - Z.T @ Z, Z.T @ U, targets, learns, round_of, *constants, LT, new_U, stored, margins)
        if not n_new:
            return margins, None
        stored = stored[:n_new]
        factor.append(Z[:, stored].T, LT[:n_new, :n_new].T)
        self.targets[k] = np.concatenate([U, new_U[:n_new]])
        return margins, np.concatenate([np.arange(len(U)), len(U) + stored])

    def _run_group_on_budget(
        self, k: int, block: RowBlock, rows: Ids, learns: Mask, known: Matrix, among: Matrix
    ) -> tuple[Matrix, Ids | None]:
        """Make the rounds of a group that has a budget; returns the same as `_run_group`."""
        panel, rule, nodes = self.factors[k].panels[0], self.rule, self.groups.nodes[k]
        room, before = panel.capacity, len(self.targets[k])
        U, place = np.zeros((room, len(nodes))), np.arange(room)
        U[:before] = self.targets[k]
        margins = np.empty((len(rows), len(nodes)))
        targets, round_of = block.targets(nodes)[rows], block.round_of[rows]
        K, norms = np.concatenate([known, among], axis=1), np.diag(among).copy()
        constants = before, rule.alpha, rule.c, rule.current, rule.empty
        count = budget_rounds(K, norms, targets, learns, round_of, place, *constants, panel.corner, U, margins)
        panel.n_rows = count
        self.targets[k] = U[:count]
        is_same = count == before and np.array_equal(place[:count], np.arange(before))
        return margins, None if is_same else place[:count]

    def _keep_rows(self, X: Any, changed: list[int]) -> None:
        """Add the rows of a block that some group holds now, and drop rows that none holds any more."""
        before = self.n_rows
        if changed:
            members = np.unique(np.concatenate([self.members[k] for k in changed]))
            new = members[members >= before]
            self.rows = append_rows(self.rows, X[new - before])
            self._renumber(changed, before + X.shape[0], new, before + np.arange(len(new)))
        if self.budget is not None and self.n_rows > self._most_rows:
            held = np.unique(np.concatenate(self.members))
            before, self.rows = self.n_rows, self.rows[held]
            self._renumber(range(len(self.members)), before, held, np.arange(len(held)))
            self._most_rows = 2 * len(held) + BLOCK

    def _renumber(self, groups: Iterable[int], n_before: int, before: Ids, after: Ids) -> None:
        place = np.arange(n_before)
        place[before] = after
        for k in groups:
            self.members[k] = place[self.members[k]]

    # ---------------------------------------------------------------- prediction

    def margins(self, X: Any, *, signs_only: bool = False) -> Matrix:
        """Return the margin of every row and node; with `signs_only` only their signs are right, which costs less."""
        out = np.full((X.shape[0], self.groups.n_nodes), self.rule.empty)
        if self.rows is None:
            return out
        with limit_blas_threads(max(self.counts)):
            for start in range(0, X.shape[0], BLOCK):
                at = slice(start, start + BLOCK)
                values, norms = self.kernel.between(X[at], self.rows), self.kernel.diagonal(X[at])
                for k, members in enumerate(self.members):
                    if len(members):
                        out[at, self.groups.nodes[k]] = self._group_margins(k, values[:, members], norms, signs_only)
        return out

    def _group_margins(self, k: int, values: Matrix, norms: Matrix, signs_only: bool) -> Matrix:
        if signs_only or not self.rule.current:
            return values @ self.duals(k)
        Z = self.factors[k].solve(values.T)
        # The kernel is positive definite, so a pivot is at least α up to rounding.
        pivots = np.maximum(self.rule.alpha + norms - np.einsum("ij,ij->j", Z, Z), self.rule.alpha)
        return (Z.T @ self.targets[k]) * (self.rule.alpha / pivots)[:, None]

    def duals(self, k: int) -> Matrix:
        """Return (αI + G)⁻¹ s of a group, one column per node."""
        if k not in self._duals:
            self._duals[k] = self.factors[k].solve_transposed(self.targets[k])
        return self._duals[k]

    def node_coef(self, n_nodes: int, n_features: int) -> Matrix:
        """Return w of every node (nodes × features), without the row itself in the inverse; linear kernels only."""
        out = np.zeros((n_nodes, n_features))
        for k, members in enumerate(self.members):
            if len(members):
                out[self.groups.nodes[k]] = (self.rows[members].T @ self.duals(k)).T
        return out

    # ---------------------------------------------------------------- model files

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        return {
            **prefixed("stores", self.groups.pack()),
            "counts": np.array(self.counts, np.int64),
            "members": np.concatenate([np.zeros(0, np.int64), *self.members]),
            "targets": np.concatenate([np.zeros(0), *(U.ravel() for U in self.targets)]),
            "factors": np.concatenate([np.zeros(0), *(factor.pack() for factor in self.factors)]),
            **pack_rows("kept", self.rows),
        }

    @classmethod
    def unpack(
        cls, rule: RidgeRule, n_nodes: int, n_features: int, kernel: KernelFunction, budget: int | None, arrays: Arrays
    ) -> DualRidge:
        """Restore packed factors, targets and rows."""
        restored = cls(NodeGroups.unpack(group("stores", arrays), n_nodes), rule, kernel, budget)
        restored.rows = unpack_rows("kept", arrays, n_features)
        counts = np.array(unpack_counts(arrays["counts"], restored.groups))
        sizes = counts * np.array([len(nodes) for nodes in restored.groups.nodes])
        triangles = counts * (counts + 1) // 2
        lengths = {"members": counts, "targets": sizes, "factors": triangles}
        if any(arrays[name].shape != (ends.sum(),) for name, ends in lengths.items()):
            raise ModelFormatError("Its examples do not fit its stores.")
        members = unpack_ids(arrays["members"])
        if np.any((members < 0) | (members >= restored.n_rows)) or (budget is not None and np.any(counts > budget)):
            raise ModelFormatError("Its stores hold examples that are not there, or more than its budget.")
        restored.members = [part.copy() for part in np.split(members, np.cumsum(counts)[:-1])]
        targets = np.split(arrays["targets"].astype(np.float64), np.cumsum(sizes)[:-1])
        factors = np.split(arrays["factors"].astype(np.float64), np.cumsum(triangles)[:-1])
        for k, count in enumerate(counts.tolist()):
            if count:
                restored.targets[k] = targets[k].reshape(count, -1)
            restored.factors[k] = GrowingFactor.unpack(count, factors[k], budget)
        return restored
