"""The two forms of Hieron's prototypes: weights, or the rows that changed them and their α.

Both run rounds of `cladist.kernels.hieron`, return node scores s_v, and can end as the average of their states.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import ModelFormatError
from cladist.kernels import hieron as rounds
from cladist.labels import LabelMatrix
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.online import row_arrays
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
Rule = tuple[Floats, bool, Ids, float]  # margin by distance, by_margin, since, C: see `cladist.kernels.hieron`

ROUNDS_PER_CALL = 4096  # rounds between two reports of progress
KERNEL_BLOCK = 512  # rows whose kernel values with all supports are held at once
UPDATE_NAMES = ("update_support", "update_alpha", "update_label", "update_competitor")


class WeightPrototypes:
    """One weight vector per node, W (features × nodes). Memory: d · N numbers, twice that while averaging."""

    def __init__(self, taxonomy: Taxonomy, W: Floats) -> None:
        self.tree = (taxonomy.parent, taxonomy.depth)
        self.W = W
        self.acc = np.empty((0, 0), W.dtype)  # Σ_t t Δw_t, empty unless averaging
        self.n_rounds = 0

    @classmethod
    def zero(cls, taxonomy: Taxonomy, n_features: int, dtype: Any) -> WeightPrototypes:
        """Return prototypes that are all 0."""
        return cls(taxonomy, row_arrays.allocate_weights("Hieron", n_features, taxonomy.n_nodes, dtype))

    def start_averaging(self) -> None:
        """Accumulate the average of the states from now on."""
        self.acc = row_arrays.allocate_weights("Hieron", self.W.shape[0], self.W.shape[1], self.W.dtype)
        self.n_rounds = 0

    def finish_averaging(self) -> None:
        """Replace the last state by the mean of the T + 1 states since `start_averaging`.

        w̄ = 1/(T+1) Σ_t (T+1−t) Δw_t = w − 1/(T+1) Σ_t t Δw_t (eq. 15, with its weights corrected: the state
        before round 1 is one of the T + 1, so round t is part of T+1−t of them).
        """
        rounds.subtract_nonzero(self.W, self.acc, self.n_rounds + 1)
        self.acc = np.empty((0, 0), self.W.dtype)

    def run(self, X: Any, labels: Ids, order: Ids, rule: Rule, tally: Floats, predictions: Ids) -> None:
        """Make one round for each row in `order`; `predictions`, unless empty, receives the prediction before each."""
        rows = row_arrays.to_csr_arrays(X)
        with progress.task("Hieron", len(order)) as running:
            for start in range(0, len(order), ROUNDS_PER_CALL):
                part = slice(start, start + ROUNDS_PER_CALL)
                state, now = (self.W, self.acc, self.tree), self.n_rounds + 1
                rounds.run_rounds(rows, labels, order[part], *state, rule, now, start, tally, predictions[part])
                self.n_rounds += len(order[part])
                running.advance(len(order[part]))

    def scores(self, X: Any) -> Floats:
        """Return s_v = w_v·x for every row and node."""
        return np.asarray(X @ self.W)

    def predict(self, X: Any, allowed: npt.NDArray[np.bool_]) -> Ids:
        """Return the best allowed node of every row, without an array of all scores."""
        out = np.empty(X.shape[0], np.int64)
        rounds.predict_rows(row_arrays.to_csr_arrays(X), self.W, self.tree[0], allowed, out)
        return out

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move every node's vector to its new id; that of a new node is 0, so it begins as its parent's prototype."""
        self.W, self.tree = (
            row_arrays.move_columns("Hieron", self.W, new_id, taxonomy.n_nodes),
            (taxonomy.parent, taxonomy.depth),
        )

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        return prefixed("weights", pack_matrix(self.W))

    @classmethod
    def unpack(cls, taxonomy: Taxonomy, n_features: int, arrays: Arrays) -> WeightPrototypes:
        """Restore packed weights."""
        W = unpack_matrix(group("weights", arrays), taxonomy.n_nodes)
        if W.shape[0] != n_features:
            raise ModelFormatError(f"Its weights are for {W.shape[0]} features; {n_features} are wanted.")
        return cls(taxonomy, W)


class KernelPrototypes:
    """Prototypes as sums of kernel functions; every update is (support, α, y, r).

    s_v(x) = Σ_updates α K(x_support, x) ([v ∈ path(y)] − [v ∈ path(r)]), eq. (12). Memory: the support rows and
    four numbers per update; kernel values are computed for a block of rows at a time.
    """

    def __init__(self, taxonomy: Taxonomy, kernel: KernelFunction) -> None:
        self.taxonomy = taxonomy
        self.kernel = kernel
        self.vectors: Any = None  # the support rows
        self.support = np.zeros(0, np.int64)  # their numbers among all rows seen
        self.updates = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.round_of = np.zeros(0, np.int64)  # of each update since `start_averaging`; 0: before
        self.n_rounds = 0
        self.first_row = 0  # the number of X's first row among all rows seen

    def start_averaging(self) -> None:
        """Count rounds from now on."""
        self.n_rounds = 0
        self.round_of = np.zeros(len(self.updates[0]), np.int64)

    def finish_averaging(self) -> None:
        """Scale every α by the share of the T + 1 states that its update is part of."""
        total = self.n_rounds + 1
        share = np.where(self.round_of == 0, 1.0, (total - self.round_of) / total)
        support, alpha, y, r = self.updates
        self.updates = (support, alpha * share, y, r)

    def run(self, X: Any, labels: Ids, order: Ids, rule: Rule, tally: Floats, predictions: Ids) -> None:
        """Make one round for each row in `order`; `predictions`, unless empty, receives the prediction before each."""
        place_of = {int(row) - self.first_row: k for k, row in enumerate(self.support)}
        tree = (self.taxonomy.parent, self.taxonomy.depth)
        with progress.task("Hieron", len(order)) as running:
            for start in range(0, len(order), KERNEL_BLOCK):
                part = slice(start, start + KERNEL_BLOCK)
                rows, n_support = order[part], len(self.support)
                # A row that is a support already, from an earlier pass, keeps its place; others would follow.
                column_of = np.array([place_of.get(int(row), n_support + k) for k, row in enumerate(rows)], np.int64)
                space = tuple(np.concatenate([u, np.zeros(len(rows), u.dtype)]) for u in (*self.updates, self.round_of))
                n_updates = rounds.run_kernel_rounds(
                    *self._kernel_values(X[rows]),
                    column_of,
                    labels[rows],
                    space,
                    len(self.updates[0]),
                    tree,
                    rule,
                    self.n_rounds + 1,
                    start,
                    tally,
                    predictions[part],
                )
                support, alpha, y, r, self.round_of = (u[:n_updates] for u in space)
                self.updates = (self._add_supports(X, rows, support, place_of), alpha, y, r)
                self.n_rounds += len(rows)
                running.advance(len(rows))

    def _kernel_values(self, block: Any) -> tuple[Floats, Floats]:
        """Return the block's kernel values with the supports and with itself, and K(x, x) of its rows."""
        among = self.kernel.between(block, block)
        values = among if self.vectors is None else np.hstack([self.kernel.between(block, self.vectors), among])
        return values, self.kernel.diagonal(block)

    def _add_supports(self, X: Any, rows: Ids, support: Ids, place_of: dict[int, int]) -> Ids:
        """Make supports of the block's rows that updates refer to; returns the updates' supports renumbered."""
        n_support = len(self.support)
        new = np.unique(support[support >= n_support])
        if not len(new):
            return support
        chosen = rows[new - n_support]
        place_of.update((int(row), n_support + k) for k, row in enumerate(chosen))
        self.support = np.concatenate([self.support, self.first_row + chosen])
        self.vectors = row_arrays.append_rows(self.vectors, X[chosen])
        return np.where(support >= n_support, n_support + np.searchsorted(new, support), support)

    @property
    def dual_coef(self) -> sparse.csr_array:
        r"""α_i^v as CSR (nodes × supports): + on path(y) \ path(r), − on path(r) \ path(y)."""
        support, alpha, y, r = self.updates
        shape = (self.taxonomy.n_nodes, len(self.support))
        at_label = sparse.csr_array((alpha, (y, support)), shape=shape)
        at_competitor = sparse.csr_array((alpha, (r, support)), shape=shape)
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

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Replace every node by its new id."""
        support, alpha, y, r = self.updates
        self.updates, self.taxonomy = (support, alpha, new_id[y], new_id[r]), taxonomy

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        updates = dict(zip(UPDATE_NAMES, self.updates, strict=True))
        return {"support": self.support, **updates, **row_arrays.pack_rows("vectors", self.vectors)}

    @classmethod
    def unpack(cls, taxonomy: Taxonomy, kernel: KernelFunction, n_columns: int, arrays: Arrays) -> KernelPrototypes:
        """Restore packed updates, checking that each refers to a support and to nodes."""
        restored = cls(taxonomy, kernel)
        restored.support, restored.vectors = arrays["support"], row_arrays.unpack_rows("vectors", arrays, n_columns)
        support, alpha, y, r = (arrays[name] for name in UPDATE_NAMES)
        n_vectors = 0 if restored.vectors is None else restored.vectors.shape[0]
        if restored.support.shape != (n_vectors,):
            raise ModelFormatError("Its supports are not as many as its support rows.")
        for ids, limit in ((support, n_vectors), (y, len(taxonomy)), (r, len(taxonomy))):
            if len(ids) != len(alpha) or np.any((ids < 0) | (ids >= limit)):
                raise ModelFormatError("Its updates do not fit its supports and its taxonomy.")
        restored.updates = (support, alpha, y, r)
        restored.round_of = np.zeros(len(alpha), np.int64)
        return restored
