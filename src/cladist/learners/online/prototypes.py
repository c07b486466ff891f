"""The two ways to hold Hieron's prototypes: weights, or kernel values against the rows that changed them.

Both run rounds of the same kernel code, answer node scores s_v, and can end as the average of their states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import ModelFormatError
from cladist.kernels import hieron as rounds
from cladist.labels import LabelMatrix
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.online.rows import csr_rows, stacked, zeros
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]

ROUNDS_PER_CALL = 4096  # how often long runs say how far they are
KERNEL_BLOCK = 512  # rows whose kernel values are held at once, against all supports


@dataclass(frozen=True)
class Rule:
    """How a round chooses its competitor and its step."""

    margin: Floats  # by tree distance
    by_margin: bool  # the max-loss rule; otherwise the prediction is the competitor
    since: Ids  # after which row each label can be predicted; −1: from the start
    C: float  # cap on α; infinite in the paper

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Return the fields in the order the kernels take them."""
        return self.margin, self.by_margin, self.since, self.C


class WeightPrototypes:
    """One weight vector a node, held as W (features × nodes).

    Memory: d · N numbers, and as many again while averaging.
    """

    def __init__(self, taxonomy: Taxonomy, W: Floats) -> None:
        self.tree = (taxonomy.parent, taxonomy.depth)
        self.W = W
        self.acc = np.empty((0, 0), W.dtype)  # Σ_t t Δw_t, empty unless averaging
        self.rounds_run = 0

    @classmethod
    def zero(cls, taxonomy: Taxonomy, n_features: int, dtype: Any) -> WeightPrototypes:
        """Return prototypes that are all 0."""
        return cls(taxonomy, zeros("Hieron", n_features, taxonomy.n_nodes, dtype))

    def start_averaging(self) -> None:
        """From now on keep what the average of the states needs."""
        self.acc = zeros("Hieron", self.W.shape[0], self.W.shape[1], self.W.dtype)
        self.rounds_run = 0

    def finish_averaging(self) -> None:
        """Replace the last state by the mean of the T + 1 states since `start_averaging`.

        w̄ = 1/(T+1) Σ_t (T+1−t) Δw_t = w − 1/(T+1) Σ_t t Δw_t (eq. 15, with its weights corrected: the state
        before round 1 is one of the T + 1, so round t is part of T+1−t of them).
        """
        rounds.subtract_nonzero(self.W, self.acc, self.rounds_run + 1)
        self.acc = np.empty((0, 0), self.W.dtype)

    def run(self, X: Any, labels: Ids, order: Ids, rule: Rule, tally: Floats, answers: Ids) -> None:
        """Make one round for each row in `order`; `answers`, unless it is empty, gets the predictions before each."""
        rows = csr_rows(X)
        with progress.task("Hieron", len(order)) as running:
            for start in range(0, len(order), ROUNDS_PER_CALL):
                part = order[start : start + ROUNDS_PER_CALL]
                now = self.rounds_run + 1
                told = answers[start : start + ROUNDS_PER_CALL]
                state = self.W, self.acc, self.tree
                rounds.run_rounds(rows, labels, part, *state, *rule.arguments, now, start, tally, told)
                self.rounds_run += len(part)
                running.advance(len(part))

    def scores(self, X: Any) -> Floats:
        """Return s_v = w_v·x for every row and node."""
        return np.asarray(X @ self.W)

    def predict(self, X: Any, allowed: npt.NDArray[np.bool_]) -> Ids:
        """Return the best allowed node of every row, without an array of all scores."""
        out = np.empty(X.shape[0], np.int64)
        rounds.predict_rows(csr_rows(X), self.W, self.tree[0], allowed, out)
        return out

    def grow(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move every node's vector to its new id; that of a new node is 0, so that it begins as its parent."""
        W = zeros("Hieron", self.W.shape[0], taxonomy.n_nodes, self.W.dtype)
        W[:, new_id] = self.W
        self.W, self.tree = W, (taxonomy.parent, taxonomy.depth)

    def pack(self) -> Arrays:
        """Return the arrays a model file holds."""
        return prefixed("weights", pack_matrix(self.W))

    @classmethod
    def unpack(cls, taxonomy: Taxonomy, n_features: int, arrays: Arrays) -> WeightPrototypes:
        """Restore what `pack` gave."""
        W = unpack_matrix(group("weights", arrays), taxonomy.n_nodes)
        if W.shape[0] != n_features:
            raise ModelFormatError(f"Its weights are for {W.shape[0]} features; {n_features} are wanted.")
        return cls(taxonomy, W)


class KernelPrototypes:
    """Prototypes as sums of kernel functions; every update is (support, α, y, r).

    s_v(x) = Σ_updates α K(x_support, x) ([v ∈ path(y)] − [v ∈ path(r)]), eq. (12). Memory: the support rows and
    four numbers an update; kernel values are computed for a block of rows at a time.
    """

    def __init__(self, taxonomy: Taxonomy, kernel: KernelFunction) -> None:
        self.taxonomy = taxonomy
        self.tree = (taxonomy.parent, taxonomy.depth)
        self.kernel = kernel
        self.vectors: Any = None  # the support rows
        self.support = np.zeros(0, np.int64)  # their numbers among all rows seen
        self.updates = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.round_of = np.zeros(0, np.int64)  # of each update since `start_averaging`; 0: before
        self.rounds_run = 0
        self.first_row = 0  # the number of X's first row among all rows seen

    def start_averaging(self) -> None:
        """Count rounds from here."""
        self.rounds_run = 0
        self.round_of = np.zeros(len(self.updates[0]), np.int64)

    def finish_averaging(self) -> None:
        """Scale every α by the share of the T + 1 states that its update is part of."""
        total = self.rounds_run + 1
        share = np.where(self.round_of == 0, 1.0, (total - self.round_of) / total)
        support, alpha, y, r = self.updates
        self.updates = (support, alpha * share, y, r)

    def run(self, X: Any, labels: Ids, order: Ids, rule: Rule, tally: Floats, answers: Ids) -> None:
        """Make one round for each row in `order`; `answers`, unless it is empty, gets the predictions before each."""
        place_of = {int(row) - self.first_row: k for k, row in enumerate(self.support)}
        with progress.task("Hieron", len(order)) as running:
            for start in range(0, len(order), KERNEL_BLOCK):
                part = slice(start, start + KERNEL_BLOCK)
                rows = order[part]
                self._run_block(X, labels, rows, rule, tally, place_of, start, answers[part])
                self.rounds_run += len(rows)
                running.advance(len(rows))

    def _run_block(
        self,
        X: Any,
        labels: Ids,
        rows: Ids,
        rule: Rule,
        tally: Floats,
        place_of: dict[int, int],
        place: int,
        answers: Ids,
    ) -> None:
        """Run a block of rounds from its kernel values against the supports and against itself."""
        n_support, n_updates = len(self.support), len(self.updates[0])
        block = X[rows]
        values = [self.kernel.between(block, block)]
        if n_support:
            values.insert(0, self.kernel.between(block, self.vectors))
        # A row that is a support already (from an earlier pass) keeps its place; others would come behind.
        column_of = np.array([place_of.get(int(row), n_support + k) for k, row in enumerate(rows)], np.int64)
        space = tuple(np.concatenate([u, np.zeros(len(rows), u.dtype)]) for u in (*self.updates, self.round_of))
        used = rounds.run_kernel_rounds(
            np.hstack(values),
            self.kernel.diagonal(block),
            column_of,
            labels[rows],
            space,
            n_updates,
            self.tree,
            *rule.arguments,
            self.rounds_run + 1,
            place,
            tally,
            answers,
        )
        support, alpha, positive, negative, self.round_of = (u[:used] for u in space)
        self.updates = (self._adopted(X, rows, support, n_support, place_of), alpha, positive, negative)

    def _adopted(self, X: Any, rows: Ids, support: Ids, n_support: int, place_of: dict[int, int]) -> Ids:
        """Make supports of the block's rows that updates refer to; returns the updates' supports renumbered."""
        new = np.unique(support[support >= n_support])
        if not len(new):
            return support
        chosen = rows[new - n_support]
        place_of.update((int(row), n_support + k) for k, row in enumerate(chosen))
        self.support = np.concatenate([self.support, self.first_row + chosen])
        self.vectors = X[chosen] if n_support == 0 else stacked(self.vectors, X[chosen])
        return np.where(support >= n_support, n_support + np.searchsorted(new, support), support)

    @property
    def dual_coef(self) -> sparse.csr_array:
        r"""α_i^v as CSR (nodes × supports): + on path(y) \ path(r), − on path(r) \ path(y)."""
        support, alpha, positive, negative = self.updates
        shape = (self.taxonomy.n_nodes, len(self.support))
        at_label = sparse.csr_array((alpha, (positive, support)), shape=shape)
        at_competitor = sparse.csr_array((alpha, (negative, support)), shape=shape)
        nodes = np.arange(self.taxonomy.n_nodes)
        is_ancestor = LabelMatrix.from_nodes(nodes, self.taxonomy).to_indicator().astype(np.float64)
        coef = sparse.csr_array(is_ancestor.T @ (at_label - at_competitor))
        coef.eliminate_zeros()
        return coef

    def scores(self, X: Any) -> Floats:
        """Return s_v for every row and node."""
        if self.vectors is None:
            return np.zeros((X.shape[0], self.taxonomy.n_nodes))
        return np.ascontiguousarray((self.dual_coef @ self.kernel.between(self.vectors, X)).T)

    def grow(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Follow every node to its new id."""
        support, alpha, positive, negative = self.updates
        self.updates = (support, alpha, new_id[positive], new_id[negative])
        self.taxonomy, self.tree = taxonomy, (taxonomy.parent, taxonomy.depth)

    def pack(self) -> Arrays:
        """Return the arrays a model file holds."""
        names = ("update_support", "update_alpha", "update_label", "update_competitor")
        arrays = {"support": self.support, **dict(zip(names, self.updates, strict=True))}
        return arrays if self.vectors is None else {**arrays, **prefixed("vectors", pack_matrix(self.vectors))}

    @classmethod
    def unpack(cls, taxonomy: Taxonomy, kernel: KernelFunction, n_columns: int, arrays: Arrays) -> KernelPrototypes:
        """Restore what `pack` gave, checking that every update points at a support and at nodes."""
        restored = cls(taxonomy, kernel)
        restored.support = arrays["support"]
        if group("vectors", arrays):
            restored.vectors = unpack_matrix(group("vectors", arrays), n_columns)
        names = ("update_support", "update_alpha", "update_label", "update_competitor")
        support, alpha, label, competitor = (arrays[name] for name in names)
        for ids, limit in (
            (support, len(restored.support)),
            (label, len(taxonomy)),
            (competitor, len(taxonomy)),
        ):
            if len(ids) != len(alpha) or np.any((ids < 0) | (ids >= limit)):
                raise ModelFormatError("Its updates do not fit its supports and its taxonomy.")
        restored.updates = (support, alpha, label, competitor)
        restored.round_of = np.zeros(len(alpha), np.int64)
        return restored
