"""Recursive least squares at every node, in primal form for few features and in dual form for many and for kernels.

Which rows a group of nodes stores depends only on true labels and on its own margins, so groups run independently;
within a group the rounds follow the order of the rows. In dual form nothing of size d × d is held, and a block of rows
costs one triangular solve with many right-hand sides; a small kernel then makes the rounds of the block in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels.ridge import budget_rounds, dual_rounds, primal_rounds
from cladist.learners.kernel_functions import Kernel
from cladist.learners.online.base import Ids, progress_blocks
from cladist.learners.online.growing_factor import GrowingFactor, limit_blas_threads
from cladist.learners.row_arrays import append_rows, pack_rows, unpack_rows
from cladist.storage.array_groups import Arrays, group, prefixed, unpack_ids
from cladist.taxonomy import Taxonomy

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rounds = tuple[Matrix, Mask, Ids]  # targets (rows × nodes), whether rows may be stored, the numbers of their rounds
GroupRounds = tuple[int, Ids, Rounds, Matrix]  # number of a group, rows of the block, their rounds, margins to write
EVERY_ROW = -1  # the gate of a group that is trained on all rows
BLOCK = 128  # rows per block: within a block rows go one by one, with earlier examples as matrix products
MOST_EXAMPLES = 2**31  # of a group in a model file: sizes of arrays are products of them


@dataclass
class NodeGroups:
    """Groups of nodes with common examples, and the gate of each: the node whose rows the group is trained on.

    Siblings are trained on the same rows, those of their parent. If every row is stored, they share one set of examples
    and one inverse, and only their targets differ. If a node's margin decides what is stored, each is a group.
    """

    gates: list[int]
    nodes: list[Ids]

    @classmethod
    def of(cls, taxonomy: Taxonomy, *, gated: bool, shared: bool) -> NodeGroups:
        """Return the groups of a taxonomy, parents before children."""
        gate_of = taxonomy.parent if gated else np.full(taxonomy.n_nodes, EVERY_ROW)
        if not shared:
            return cls(gate_of.tolist(), [np.array([v]) for v in range(taxonomy.n_nodes)])
        gates = np.unique(gate_of).tolist()
        return cls(gates, [np.flatnonzero(gate_of == gate) for gate in gates])

    def __len__(self) -> int:
        return len(self.gates)

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        sizes = np.array([len(nodes) for nodes in self.nodes], np.int64)
        return {"gates": np.array(self.gates, np.int64), "sizes": sizes, "nodes": np.concatenate(self.nodes)}

    @classmethod
    def unpack(cls, arrays: Arrays, n_nodes: int) -> NodeGroups:
        """Restore packed groups, checking that every node of the taxonomy is in exactly one."""
        gates, sizes, nodes = (unpack_ids(arrays[name]) for name in ("gates", "sizes", "nodes"))
        fits = len(gates) == len(sizes) and np.all(sizes > 0) and sizes.sum() == len(nodes)
        if not fits or not np.array_equal(np.sort(nodes), np.arange(n_nodes)):
            raise ModelFormatError("Its stores do not hold every node of its taxonomy once.")
        if np.any((gates < EVERY_ROW) | (gates >= n_nodes)):
            raise ModelFormatError("One of its stores is gated by a node that is not in its taxonomy.")
        return cls(gates.tolist(), np.split(nodes, np.cumsum(sizes)[:-1]))


class RidgeRule(NamedTuple):
    """The constants of a round."""

    alpha: float  # of the ridge αI
    c: float  # a row is stored if m² ≤ c ln t / Q; ∞ stores every row
    current: bool  # whether the row itself is in the inverse
    empty: float  # the margin of a node without examples


class Ridge:
    """The groups, the constants of a round, and the rounds block by block; the base of both forms."""

    counts: list[int]  # the number of examples of each group

    def __init__(self, groups: NodeGroups, rule: RidgeRule, kernel: Kernel) -> None:
        self.groups, self.rule, self.kernel = groups, rule, kernel

    def train(self, X: Any, on: Any, first_round: int, *, everywhere: bool) -> Matrix:
        """Make one round per row of X (float64), and return the margins before its update.

        `on` are true labels (rows × nodes, CSR); `first_round` counts from 1. Unless `everywhere`, margins of nodes
        that are not shown a row are 0.
        """
        margins = np.zeros((X.shape[0], on.shape[1]))
        for at in progress_blocks("HierarchicalRLS", X.shape[0], BLOCK):
            rounds, labels = first_round + np.arange(at.start, at.stop), on[at].toarray().astype(bool)
            self.train_block(X[at], self._group_rounds(X[at], labels, rounds, margins[at], everywhere))
        return margins

    def _group_rounds(
        self, X: Any, on: Mask, round_of: Ids, margins: Matrix, everywhere: bool
    ) -> Iterator[GroupRounds]:
        """Yield the rounds of each group that is shown rows of a block, and write its margins after them."""
        has_length = self.kernel.diagonal(X) > 0  # a row of length 0 has margin 0 everywhere and is never stored
        for k, (gate, nodes) in enumerate(zip(self.groups.gates, self.groups.nodes, strict=True)):
            is_shown = np.ones(len(on), bool) if gate == EVERY_ROW else on[:, gate]
            rows = np.arange(len(on)) if everywhere else np.flatnonzero(is_shown)
            if len(rows):
                # P(on | x) = (1 + u·x) / 2 makes u·x the mean of the targets ±1.
                targets = np.where(on[:, nodes], 1.0, -1.0)[rows]
                own = np.empty((len(rows), len(nodes)))
                yield k, rows, (targets, is_shown[rows] & has_length[rows], round_of[rows]), own
                margins[np.ix_(rows, nodes)] = own

    def train_block(self, X: Any, groups: Iterator[GroupRounds]) -> None:
        """Make the rounds of all groups on a block of rows."""
        raise NotImplementedError

    def group_coef(self, k: int) -> Matrix:
        """Return w of the nodes of a group that has examples, and last their intercepts (nodes × (features + 1))."""
        raise NotImplementedError

    def node_coef(self, n_nodes: int, n_features: int) -> Matrix:
        """Return w of every node, and last its intercept, without the row itself in the inverse; linear kernels only.

        The array has the shape nodes × (features + 1).
        """
        out = np.zeros((n_nodes, n_features + 1))
        for k, count in enumerate(self.counts):
            if count:
                out[self.groups.nodes[k]] = self.group_coef(k)
        return out

    def empty_margins(self, X: Any) -> Matrix:
        """Return margins (rows × nodes) of nodes without examples."""
        return np.full((X.shape[0], sum(map(len, self.groups.nodes))), self.rule.empty)

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        """Move nodes to their new ids, and make a group without examples for a new node."""
        groups = self.groups
        groups.gates = [old if old == EVERY_ROW else int(new_id[old]) for old in groups.gates] + [gate]
        groups.nodes = [new_id[nodes] for nodes in groups.nodes] + [np.array([node], np.int64)]

    def pack(self) -> Arrays:
        """Return the arrays of a model file that both forms have."""
        return {**prefixed("stores", self.groups.pack()), "counts": np.array(self.counts, np.int64)}


class PrimalRidge(Ridge):
    """P = (αI + S Sᵀ)⁻¹ and w = P S s of every group that has examples. Memory: O(d²) per group.

    If the linear kernel has a constant, its root is the last feature of every row.
    """

    def __init__(self, groups: NodeGroups, rule: RidgeRule, kernel: Kernel, n_features: int) -> None:
        super().__init__(groups, rule, kernel)
        self.n_features = n_features + bool(kernel.constant)
        self.counts = [0] * len(groups)
        self.inverses: dict[int, Matrix] = {}
        self.weights: dict[int, Matrix] = {}

    def train_block(self, X: Any, groups: Iterator[GroupRounds]) -> None:
        X = self._dense_rows(X)
        for k, rows, rounds, own in groups:
            P, W = self.state(k)
            count = primal_rounds(X[rows], *rounds, P, W, self.counts[k], *self.rule[1:], own)
            if count:
                self.counts[k], self.inverses[k], self.weights[k] = count, P, W

    def state(self, k: int) -> tuple[Matrix, Matrix]:
        """Return P and W of a group; without examples I / α and 0."""
        if k in self.inverses:
            return self.inverses[k], self.weights[k]
        d = self.n_features
        return np.eye(d) / self.rule.alpha, np.zeros((len(self.groups.nodes[k]), d))

    def margins(self, X: Any, *, signs_only: bool = False) -> Matrix:
        """Return the margin of every row and node; with `signs_only` only their signs are right."""
        out, X = self.empty_margins(X), self._dense_rows(X)
        for k, W in self.weights.items():
            scores = X @ W.T
            if self.rule.current and not signs_only:
                shrinkage = 1.0 + np.einsum("ij,ij->i", X @ self.inverses[k], X)
                scores /= np.maximum(shrinkage, 1.0)[:, None]  # x·P x ≥ 0 up to rounding
            out[:, self.groups.nodes[k]] = scores
        return out

    def _dense_rows(self, X: Any) -> Matrix:
        """Return rows as an array, with the constant feature if there is one."""
        X = X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X)
        constant = self.kernel.constant
        return np.column_stack([X, np.full(len(X), np.sqrt(constant))]) if constant else X

    def group_coef(self, k: int) -> Matrix:
        W, constant = self.weights[k], self.kernel.constant
        if not constant:
            return np.column_stack([W, np.zeros(len(W))])
        return np.column_stack([W[:, :-1], W[:, -1] * np.sqrt(constant)])

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        super().add_node(new_id, node, gate)
        self.counts.append(0)

    def pack(self) -> Arrays:
        """Return the arrays of a model file; of the symmetric inverses the lower triangles."""
        low, used = np.tril_indices(self.n_features), sorted(self.inverses)
        inverses = np.concatenate([np.zeros(0), *(self.inverses[k][low] for k in used)])
        weights = np.concatenate([np.zeros(0), *(self.weights[k].ravel() for k in used)])
        return {**super().pack(), "inverses": inverses, "weights": weights}

    @classmethod
    def unpack(cls, rule: RidgeRule, n_nodes: int, n_features: int, kernel: Kernel, arrays: Arrays) -> PrimalRidge:
        """Restore packed inverses and weights."""
        restored = cls(NodeGroups.unpack(group("stores", arrays), n_nodes), rule, kernel, n_features)
        n_features = restored.n_features
        restored.counts = _unpack_counts(arrays["counts"], restored.groups).tolist()
        used = [k for k, count in enumerate(restored.counts) if count]
        own = n_features * (n_features + 1) // 2
        sizes = np.array([len(restored.groups.nodes[k]) * n_features for k in used], np.int64)
        inverses, weights = (arrays[name].astype(np.float64) for name in ("inverses", "weights"))
        if inverses.shape != (own * len(used),) or weights.shape != (sizes.sum(),):
            raise ModelFormatError("Its inverses and weights do not fit its stores.")
        low = np.tril_indices(n_features)
        for k, triangle, W in zip(used, inverses.reshape(-1, own), _split(weights, sizes), strict=False):
            P = np.zeros((n_features, n_features))
            P[low] = triangle
            restored.inverses[k] = P + np.tril(P, -1).T
            restored.weights[k] = W.reshape(-1, n_features).copy()
        return restored


class DualRidge(Ridge):
    """αI + SᵀS = L Lᵀ and U = L⁻¹ s of every group, with S among the rows kept. Memory: O(Q²) per group.

    With a budget B a group holds at most B examples: when one more is stored, that of smallest dual weight is removed.
    """

    def __init__(self, groups: NodeGroups, rule: RidgeRule, kernel: Kernel, budget: int | None) -> None:
        super().__init__(groups, rule, kernel)
        self.budget = budget
        self.rows: Any = None  # the rows that some group holds
        self.factors = [GrowingFactor(budget) for _ in groups.nodes]  # L
        self.members: list[Ids] = [np.zeros(0, np.int64) for _ in groups.nodes]  # S, as places among `rows`
        self.targets = [np.zeros((0, len(nodes))) for nodes in groups.nodes]  # U
        self._duals: dict[int, Matrix] = {}  # L⁻ᵀ U, computed on demand
        self._most_rows = 2 * BLOCK  # number of rows from which those that no group holds are dropped

    @property
    def counts(self) -> list[int]:  # type: ignore[override]
        """The number of examples of each group."""
        return [len(members) for members in self.members]

    @property
    def n_rows(self) -> int:
        """The number of rows that some group holds."""
        return 0 if self.rows is None else int(self.rows.shape[0])

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        super().add_node(new_id, node, gate)
        self.factors.append(GrowingFactor(self.budget))
        self.members.append(np.zeros(0, np.int64))
        self.targets.append(np.zeros((0, 1)))

    def train(self, X: Any, on: Any, first_round: int, *, everywhere: bool) -> Matrix:
        """Make one round per row of X, and return the margins before its update."""
        with limit_blas_threads(max(self.counts)):
            return super().train(X, on, first_round, everywhere=everywhere)

    def train_block(self, X: Any, groups: Iterator[GroupRounds]) -> None:
        stored_values = self.kernel.between(X, self.rows) if self.n_rows else np.zeros((X.shape[0], 0))
        among = self.kernel.between(X, X)
        run_group = self._run_group if self.budget is None else self._run_group_on_budget
        changed = []
        for k, rows, rounds, own in groups:
            places = run_group(k, stored_values[np.ix_(rows, self.members[k])], among[np.ix_(rows, rows)], rounds, own)
            if places is not None:
                # Rows of the block are numbered after all rows kept, until `_keep_rows` renumbers them.
                self.members[k] = np.concatenate([self.members[k], rows + self.n_rows])[places]
                self._duals.pop(k, None)
                changed.append(k)
        self._keep_rows(X, changed)

    def _run_group(self, k: int, stored_values: Matrix, among: Matrix, rounds: Rounds, margins: Matrix) -> Ids | None:
        """Make the rounds of a group; returns its examples' places among the old ones and the rows, if they changed."""
        factor, U = self.factors[k], self.targets[k]
        Z = factor.solve(stored_values.T)
        n = len(among)
        LT, new_U, stored = np.zeros((n, n)), np.zeros(margins.shape), np.empty(n, np.int64)
        n_new = dual_rounds(among - Z.T @ Z, Z.T @ U, *rounds, len(U), *self.rule, LT, new_U, stored, margins)
        if not n_new:
            return None
        stored = stored[:n_new]
        factor.append(Z[:, stored].T, LT[:n_new, :n_new].T)
        self.targets[k] = np.concatenate([U, new_U[:n_new]])
        return np.concatenate([np.arange(len(U)), len(U) + stored])

    def _run_group_on_budget(
        self, k: int, stored_values: Matrix, among: Matrix, rounds: Rounds, margins: Matrix
    ) -> Ids | None:
        """Make the rounds of a group that has a budget; returns the same as `_run_group`."""
        panel, before = self.factors[k].panels[0], len(self.targets[k])
        U, place = np.zeros((panel.capacity, margins.shape[1])), np.arange(panel.capacity)
        U[:before] = self.targets[k]
        values = np.concatenate([stored_values, among], axis=1), np.diag(among).copy()
        count = budget_rounds(*values, *rounds, place, before, *self.rule, panel.corner, U, margins)
        panel.n_rows = count
        self.targets[k] = U[:count]
        is_same = count == before and np.array_equal(place[:count], np.arange(before))
        return None if is_same else place[:count]

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

    def margins(self, X: Any, *, signs_only: bool = False) -> Matrix:
        """Return the margin of every row and node; with `signs_only` only their signs are right, which costs less."""
        out = self.empty_margins(X)
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

    def group_coef(self, k: int) -> Matrix:
        duals = self.duals(k)
        return np.column_stack([(self.rows[self.members[k]].T @ duals).T, self.kernel.constant * duals.sum(axis=0)])

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        return {
            **super().pack(),
            "members": np.concatenate([np.zeros(0, np.int64), *self.members]),
            "targets": np.concatenate([np.zeros(0), *(U.ravel() for U in self.targets)]),
            "factors": np.concatenate([np.zeros(0), *(factor.pack() for factor in self.factors)]),
            **pack_rows("kept", self.rows),
        }

    @classmethod
    def unpack(
        cls, rule: RidgeRule, n_nodes: int, n_features: int, kernel: Kernel, budget: int | None, arrays: Arrays
    ) -> DualRidge:
        """Restore packed factors, targets and rows."""
        restored = cls(NodeGroups.unpack(group("stores", arrays), n_nodes), rule, kernel, budget)
        restored.rows = unpack_rows("kept", arrays, n_features)
        counts = _unpack_counts(arrays["counts"], restored.groups)
        sizes = counts * np.array([len(nodes) for nodes in restored.groups.nodes])
        triangles = counts * (counts + 1) // 2
        lengths = {"members": counts, "targets": sizes, "factors": triangles}
        if any(arrays[name].shape != (ends.sum(),) for name, ends in lengths.items()):
            raise ModelFormatError("Its examples do not fit its stores.")
        members = unpack_ids(arrays["members"])
        if np.any((members < 0) | (members >= restored.n_rows)) or (budget is not None and np.any(counts > budget)):
            raise ModelFormatError("Its stores hold examples that are not there, or more than its budget.")
        restored.members = [part.copy() for part in _split(members, counts)]
        targets = _split(arrays["targets"].astype(np.float64), sizes)
        factors = _split(arrays["factors"].astype(np.float64), triangles)
        for k, count in enumerate(counts.tolist()):
            if count:
                restored.targets[k] = targets[k].reshape(count, -1)
            restored.factors[k] = GrowingFactor.unpack(count, factors[k], budget)
        return restored


def _split(values: Any, sizes: Ids) -> list[Any]:
    """Return parts of these sizes."""
    return np.split(values, np.cumsum(sizes)[:-1])


def _unpack_counts(counts: Any, groups: NodeGroups) -> Ids:
    """Return the number of examples of each group; raise if it is impossible."""
    counts = unpack_ids(counts)
    if counts.shape != (len(groups),) or np.any((counts < 0) | (counts > MOST_EXAMPLES)):
        raise ModelFormatError("Its stores and their numbers of examples do not fit together.")
    return counts
