"""The two forms of a perceptron at every node: weights, or the rows that changed them.

Both run rounds of `cladist.kernels.perceptron` and return margins (rows × nodes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import ModelFormatError
from cladist.kernels import perceptron as rounds
from cladist.labels import LabelMatrix
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.online import row_arrays
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_ids, unpack_matrix
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]
WHO = "HierarchicalPerceptron"
KERNEL_BLOCK = 256  # rows whose kernel values with each other are held at once
UPDATE_NAMES = ("update_support", "update_node", "update_sign", "update_when")


class ShownRows:
    """What both forms hold beside their vectors: the tree as the rounds take it, and the rows shown to each node."""

    def __init__(self, taxonomy: Taxonomy, *, gated: bool, empty: float) -> None:
        self.gated, self.empty = gated, empty
        self.seen = np.zeros(taxonomy.n_nodes, np.int64)
        self.move_nodes(taxonomy, np.arange(taxonomy.n_nodes))

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move counts to the nodes' new ids, and make scratch space for all nodes."""
        n_nodes = taxonomy.n_nodes
        self.seen = row_arrays.move_columns(WHO, self.seen[None], new_id, n_nodes)[0]
        self.tree = (taxonomy.child_start, len(taxonomy.roots))
        floats, booleans = np.zeros((3, n_nodes)), np.zeros((3, n_nodes), bool)
        self.scratch = (tuple(floats), np.zeros(n_nodes, np.int64), tuple(booleans))

    def margins(self, scores: Matrix, acc: Matrix | None) -> Matrix:
        """Return the margins of the vectors or, given acc·x, of their averages; `empty` for nodes without a row."""
        margins = scores if acc is None else scores - acc / (self.seen + 1)
        margins[:, self.seen == 0] = self.empty
        return margins

    def unpack_seen(self, counts: Any) -> None:
        """Restore the counts of a model file; raise if they are impossible."""
        counts = unpack_ids(counts)
        if counts.shape != self.seen.shape or np.any((counts < 0) | (counts > 2**62)):
            raise ModelFormatError("Its counts of rows do not fit its taxonomy.")
        self.seen = counts


class WeightPerceptrons:
    """One weight vector per node, W (features × nodes), and acc = Σ_t t Δw_t of the same shape for averages."""

    def __init__(self, taxonomy: Taxonomy, shown: ShownRows, n_features: int, dtype: Any, *, average: bool) -> None:
        self.shown, self.average, self.n_updates = shown, average, 0
        self.W = row_arrays.allocate_weights(WHO, n_features, taxonomy.n_nodes, dtype)
        self.acc = row_arrays.allocate_weights(WHO, n_features if average else 0, taxonomy.n_nodes, dtype)

    def train(self, X: Any, labels: LabelMatrix, *, everywhere: bool) -> tuple[Matrix | None, Ids]:
        """Make one round per row; returns the margins before each if `everywhere`, and the uniform H-losses."""
        shown, h_losses = self.shown, np.empty(X.shape[0], np.int64)
        margins = np.empty((X.shape[0] if everywhere else 0, len(shown.seen)))
        weights = self.W, self.acc, shown.seen, shown.empty, shown.scratch
        y = labels.indptr, labels.indices
        self.n_updates += rounds.run_rounds(
            row_arrays.to_csr_arrays(X), y, shown.tree, shown.gated, *weights, margins, h_losses
        )
        return (margins if everywhere else None), h_losses

    def margins(self, X: Any) -> Matrix:
        """Return the margin of every row and node."""
        acc = np.asarray(X @ self.acc, np.float64) if self.average else None
        return self.shown.margins(np.asarray(X @ self.W, np.float64), acc)

    @property
    def weights(self) -> Matrix:
        """The vectors that predict, features × nodes: the last, or their average."""
        return self.W - self.acc / (self.shown.seen + 1) if self.average else self.W

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move every node's vector to its new id."""
        self.shown.move_nodes(taxonomy, new_id)
        self.W, self.acc = (row_arrays.move_columns(WHO, part, new_id, taxonomy.n_nodes) for part in (self.W, self.acc))

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        arrays = {"seen": self.shown.seen, **prefixed("weights", pack_matrix(self.W))}
        return {**arrays, **prefixed("acc", pack_matrix(self.acc))} if self.average else arrays

    def unpack(self, arrays: Arrays) -> None:
        """Restore packed weights."""
        shape = self.W.shape
        self.shown.unpack_seen(arrays["seen"])
        self.W = _to_dense(unpack_matrix(group("weights", arrays), shape[1]))
        if self.average:
            self.acc = _to_dense(unpack_matrix(group("acc", arrays), shape[1]))
        if self.W.shape != shape or (self.average and self.acc.shape != shape):
            raise ModelFormatError("Its weights do not have one row per feature.")


class KernelPerceptrons:
    """The rows that changed some node, and for every update (row, node, sign, number of rows the node was shown)."""

    def __init__(self, shown: ShownRows, kernel: KernelFunction, *, average: bool) -> None:
        self.shown, self.kernel, self.average = shown, kernel, average
        self.vectors: Any = None  # the support rows
        self.updates = tuple(np.zeros(0, np.int64) for _ in UPDATE_NAMES)

    @property
    def n_updates(self) -> int:
        """The number of updates so far."""
        return len(self.updates[0])

    def train(self, X: Any, labels: LabelMatrix, *, everywhere: bool) -> tuple[Matrix | None, Ids]:
        """Make one round per row; returns the margins before each if `everywhere`, and the uniform H-losses."""
        h_losses = np.empty(X.shape[0], np.int64)
        margins = np.empty((X.shape[0] if everywhere else 0, len(self.shown.seen)))
        with progress.task(WHO, X.shape[0]) as running:
            for start in range(0, X.shape[0], KERNEL_BLOCK):
                at = slice(start, min(start + KERNEL_BLOCK, X.shape[0]))
                self._train_block(X[at], labels[at], margins[at], h_losses[at])
                running.advance(at.stop - at.start)
        return (margins if everywhere else None), h_losses

    def _train_block(self, X: Any, labels: LabelMatrix, margins: Matrix, h_losses: Ids) -> None:
        shown = self.shown
        base, base_acc = self._sum_updates(X)
        steps, when = np.zeros(base.shape), np.zeros(base.shape, np.int64)
        rounds.run_kernel_rounds(
            base,
            base[:0] if base_acc is None else base_acc,
            self.kernel.between(X, X),
            self.kernel.diagonal(X) > 0,
            (labels.indptr, labels.indices),
            shown.tree,
            shown.gated,
            shown.seen,
            shown.empty,
            shown.scratch,
            steps,
            when,
            margins,
            h_losses,
        )
        rows, nodes = np.nonzero(steps)
        if not len(rows):
            return
        supports = np.unique(rows)
        before = 0 if self.vectors is None else self.vectors.shape[0]
        self.vectors = row_arrays.append_rows(self.vectors, X[supports])
        places = before + np.searchsorted(supports, rows)
        new = (places, nodes, steps[rows, nodes].astype(np.int64), when[rows, nodes])
        self.updates = tuple(np.concatenate(pair) for pair in zip(self.updates, new, strict=True))

    def _sum_updates(self, X: Any) -> tuple[Matrix, Matrix | None]:
        """Return Σ ± K and, for an average, Σ ± K · when, by row and node."""
        n_nodes = len(self.shown.seen)
        if self.vectors is None:
            return np.zeros((X.shape[0], n_nodes)), np.zeros((X.shape[0], n_nodes)) if self.average else None
        support, node, sign, when = self.updates
        values = self.kernel.between(X, self.vectors)

        def weigh(weights: Ids) -> Matrix:
            shape = self.vectors.shape[0], n_nodes
            return np.asarray(values @ sparse.csr_array((weights, (support, node)), shape=shape, dtype=np.float64))

        return weigh(sign), weigh(sign * when) if self.average else None

    def margins(self, X: Any) -> Matrix:
        """Return the margin of every row and node."""
        return self.shown.margins(*self._sum_updates(X))

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Replace every node by its new id."""
        self.shown.move_nodes(taxonomy, new_id)
        support, node, sign, when = self.updates
        self.updates = (support, new_id[node], sign, when)

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        updates = dict(zip(UPDATE_NAMES, self.updates, strict=True))
        return {"seen": self.shown.seen, **updates, **row_arrays.pack_rows("vectors", self.vectors)}

    def unpack(self, arrays: Arrays, n_features: int) -> None:
        """Restore packed updates, checking that each refers to a support and to a node."""
        self.shown.unpack_seen(arrays["seen"])
        self.vectors = row_arrays.unpack_rows("vectors", arrays, n_features)
        support, node, sign, when = (unpack_ids(arrays[name]) for name in UPDATE_NAMES)
        n_supports = 0 if self.vectors is None else self.vectors.shape[0]
        for ids, limit in ((support, n_supports), (node, len(self.shown.seen))):
            shapes = {ids.shape, sign.shape, when.shape, (len(ids),)}
            if len(shapes) > 1 or np.any((ids < 0) | (ids >= limit)) or np.any(np.abs(sign) != 1):
                raise ModelFormatError("Its updates do not fit its supports and its taxonomy.")
        self.updates = (support, node, sign, when)


def _to_dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
