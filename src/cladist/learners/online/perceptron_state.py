"""The two ways to hold a perceptron a node: weights, or kernel values against the rows that changed them."""

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
from cladist.learners.online.rows import csr_rows, stacked, zeros
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_ids, unpack_matrix
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]
KERNEL_BLOCK = 256  # rows whose kernel values among each other are held at once


class Perceptrons:
    """What both forms share: the tree, and how many rows each node was shown."""

    def __init__(self, taxonomy: Taxonomy, *, gated: bool, average: bool, empty: float) -> None:
        self.gated, self.average, self.empty = gated, average, empty
        self.seen = np.zeros(taxonomy.n_nodes, np.int64)
        self.last_changes = 0  # vectors that the last call of `learn` changed
        self._settle(taxonomy)

    def _settle(self, taxonomy: Taxonomy) -> None:
        n_nodes = taxonomy.n_nodes
        self.tree = (taxonomy.child_start, len(taxonomy.roots))
        floats, truths = np.zeros((3, n_nodes)), np.zeros((3, n_nodes), bool)
        self.scratch = (tuple(floats), np.zeros(n_nodes, np.int64), tuple(truths))

    def _with_unseen(self, margins: Matrix) -> Matrix:
        """Put what a node says that has seen nothing."""
        margins[:, self.seen == 0] = self.empty
        return margins

    def _checked_seen(self, seen: Any) -> Ids:
        counts = unpack_ids(seen)
        if counts.shape != self.seen.shape or np.any((counts < 0) | (counts > 2**62)):
            raise ModelFormatError("Its counts of rows do not fit its taxonomy.")
        return counts


class WeightPerceptrons(Perceptrons):
    """One weight vector a node, held as W (features × nodes), and as much again for the average."""

    def __init__(
        self, taxonomy: Taxonomy, n_features: int, dtype: Any, *, gated: bool, average: bool, empty: float
    ) -> None:
        super().__init__(taxonomy, gated=gated, average=average, empty=empty)
        self.W = zeros("HierarchicalPerceptron", n_features, taxonomy.n_nodes, dtype)
        self.acc = zeros("HierarchicalPerceptron", n_features if average else 0, taxonomy.n_nodes, dtype)

    def learn(self, X: Any, labels: LabelMatrix, *, everywhere: bool) -> tuple[Matrix | None, Ids]:
        """Make one round for each row; returns the margins before each, if wanted, and the uniform H-losses."""
        charged = np.empty(X.shape[0], np.int64)
        margins = np.empty((X.shape[0] if everywhere else 0, len(self.seen)))
        self.last_changes = rounds.run_rounds(
            csr_rows(X),
            (labels.indptr, labels.indices),
            self.tree,
            self.gated,
            self.W,
            self.acc,
            self.seen,
            self.empty,
            self.scratch,
            margins,
            charged,
        )
        return (margins if everywhere else None), charged

    def margins(self, X: Any) -> Matrix:
        """Return what every node says of every row."""
        found = np.asarray(X @ self.W, np.float64)
        if self.average:
            found = found - np.asarray(X @ self.acc, np.float64) / (self.seen + 1)
        return self._with_unseen(found)

    @property
    def weights(self) -> Matrix:
        """The vectors that answer, features × nodes: the last, or their average."""
        return self.W - self.acc / (self.seen + 1) if self.average else self.W

    def grow(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move every node's vector to its new id."""
        self.seen = _moved(self.seen[None], new_id, taxonomy.n_nodes)[0]
        self.W, self.acc = (_moved(part, new_id, taxonomy.n_nodes) for part in (self.W, self.acc))
        self._settle(taxonomy)

    def pack(self) -> Arrays:
        """Return the arrays a model file holds."""
        arrays = {"seen": self.seen, **prefixed("weights", pack_matrix(self.W))}
        return {**arrays, **prefixed("acc", pack_matrix(self.acc))} if self.average else arrays

    def unpack(self, arrays: Arrays) -> None:
        """Restore what `pack` gave."""
        shape = self.W.shape
        self.seen = self._checked_seen(arrays["seen"])
        self.W = _dense(unpack_matrix(group("weights", arrays), shape[1]))
        if self.average:
            self.acc = _dense(unpack_matrix(group("acc", arrays), shape[1]))
        if self.W.shape != shape or (self.average and self.acc.shape != shape):
            raise ModelFormatError("Its weights do not have a row a feature.")


class KernelPerceptrons(Perceptrons):
    """The rows that changed some node, and by update its row, node, sign, and how many rows the node had been shown."""

    def __init__(self, taxonomy: Taxonomy, kernel: KernelFunction, *, gated: bool, average: bool, empty: float) -> None:
        super().__init__(taxonomy, gated=gated, average=average, empty=empty)
        self.kernel = kernel
        self.vectors: Any = None
        self.updates = tuple(np.zeros(0, np.int64) for _ in range(4))  # support, node, sign, when

    def learn(self, X: Any, labels: LabelMatrix, *, everywhere: bool) -> tuple[Matrix | None, Ids]:
        """Make one round for each row; returns the margins before each, if wanted, and the uniform H-losses."""
        charged = np.empty(X.shape[0], np.int64)
        margins = np.empty((X.shape[0] if everywhere else 0, len(self.seen)))
        n_before = len(self.updates[0])
        with progress.task("HierarchicalPerceptron", X.shape[0]) as running:
            for start in range(0, X.shape[0], KERNEL_BLOCK):
                at = slice(start, min(start + KERNEL_BLOCK, X.shape[0]))
                self._learn_block(X[at], labels[at], margins[at] if everywhere else margins, charged[at])
                running.advance(at.stop - at.start)
        self.last_changes = len(self.updates[0]) - n_before
        return (margins if everywhere else None), charged

    def _learn_block(self, X: Any, labels: LabelMatrix, margins: Matrix, charged: Ids) -> None:
        base, base_acc = self._sums(X)
        shape = base.shape
        steps, when = np.zeros(shape), np.zeros(shape, np.int64)
        rounds.run_kernel_rounds(
            base,
            base_acc,
            self.kernel.between(X, X),
            self.kernel.diagonal(X) > 0,
            (labels.indptr, labels.indices),
            self.tree,
            self.gated,
            self.seen,
            self.empty,
            self.scratch,
            steps,
            when,
            margins,
            charged,
        )
        rows, nodes = np.nonzero(steps)
        if not len(rows):
            return
        used = np.unique(rows)
        before = 0 if self.vectors is None else self.vectors.shape[0]
        self.vectors = X[used] if self.vectors is None else stacked(self.vectors, X[used])
        places = before + np.searchsorted(used, rows)
        new = (places, nodes, steps[rows, nodes].astype(np.int64), when[rows, nodes])
        self.updates = tuple(np.concatenate(pair) for pair in zip(self.updates, new, strict=True))

    def _sums(self, X: Any) -> tuple[Matrix, Matrix]:
        """Return Σ ± K and, for an average, Σ ± K · when, by row and node."""
        n_nodes = len(self.seen)
        if self.vectors is None:
            return np.zeros((X.shape[0], n_nodes)), np.zeros((X.shape[0] if self.average else 0, n_nodes))
        support, node, sign, when = self.updates
        values = self.kernel.between(X, self.vectors)
        shape = self.vectors.shape[0], n_nodes
        found = np.asarray(values @ sparse.csr_array((sign, (support, node)), shape=shape, dtype=np.float64))
        if not self.average:
            return found, found[:0]
        weighted = sparse.csr_array((sign * when, (support, node)), shape=shape, dtype=np.float64)
        return found, np.asarray(values @ weighted)

    def margins(self, X: Any) -> Matrix:
        """Return what every node says of every row."""
        found, acc = self._sums(X)
        return self._with_unseen(found - acc / (self.seen + 1) if self.average else found)

    def grow(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Follow every node to its new id."""
        self.seen = _moved(self.seen[None], new_id, taxonomy.n_nodes)[0]
        support, node, sign, when = self.updates
        self.updates = (support, new_id[node], sign, when)
        self._settle(taxonomy)

    def pack(self) -> Arrays:
        """Return the arrays a model file holds."""
        names = ("update_support", "update_node", "update_sign", "update_when")
        arrays = {"seen": self.seen, **dict(zip(names, self.updates, strict=True))}
        return arrays if self.vectors is None else {**arrays, **prefixed("vectors", pack_matrix(self.vectors))}

    def unpack(self, arrays: Arrays, n_features: int) -> None:
        """Restore what `pack` gave."""
        self.seen = self._checked_seen(arrays["seen"])
        if group("vectors", arrays):
            self.vectors = unpack_matrix(group("vectors", arrays), n_features)
        names = ("update_support", "update_node", "update_sign", "update_when")
        support, node, sign, when = (unpack_ids(arrays[name]) for name in names)
        n_supports = 0 if self.vectors is None else self.vectors.shape[0]
        for ids, limit in ((support, n_supports), (node, len(self.seen))):
            shapes = {ids.shape, sign.shape, when.shape, (len(ids),)}
            if len(shapes) > 1 or np.any((ids < 0) | (ids >= limit)) or np.any(np.abs(sign) != 1):
                raise ModelFormatError("Its updates do not fit its supports and its taxonomy.")
        self.updates = (support, node, sign, when)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _moved(columns: Any, new_id: Ids, n_nodes: int) -> Any:
    """Return columns by their nodes' new ids, zeros where a node is new."""
    moved = np.zeros((columns.shape[0], n_nodes), columns.dtype)
    moved[:, new_id] = columns
    return moved
