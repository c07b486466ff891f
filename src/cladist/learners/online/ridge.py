"""Recursive least squares at every node: groups of nodes, rows in blocks, and the primal form for few features.

Which rows a group of nodes stores depends only on true labels and on its own margins, so groups run independently;
within a group the rounds follow the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import ModelFormatError
from cladist.kernels.ridge import primal_rounds
from cladist.learners.row_lengths import squared_lengths
from cladist.storage.array_groups import Arrays, group, prefixed, unpack_ids
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
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

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all groups."""
        return sum(map(len, self.nodes))

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        """Move nodes to their new ids, and make a new group for a new node, which has no examples yet."""
        self.gates = [old if old == EVERY_ROW else int(new_id[old]) for old in self.gates] + [gate]
        self.nodes = [new_id[nodes] for nodes in self.nodes] + [np.array([node], np.int64)]

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        sizes = np.array([len(nodes) for nodes in self.nodes], np.int64)
        return {"gates": np.array(self.gates, np.int64), "sizes": sizes, "nodes": np.concatenate(self.nodes)}

    @classmethod
    def unpack(cls, arrays: Arrays, n_nodes: int) -> NodeGroups:
        """Restore packed groups, checking that every node of the taxonomy is in exactly one."""
        gates, sizes, nodes = (unpack_ids(arrays[name]) for name in ("gates", "sizes", "nodes"))
        fits = (
            gates.ndim == sizes.ndim == nodes.ndim == 1
            and len(gates) == len(sizes)
            and np.all(sizes > 0)
            and sizes.sum() == len(nodes)
        )
        if not fits or not np.array_equal(np.sort(nodes), np.arange(n_nodes)):
            raise ModelFormatError("Its stores do not hold every node of its taxonomy once.")
        if np.any((gates < EVERY_ROW) | (gates >= n_nodes)):
            raise ModelFormatError("One of its stores is gated by a node that is not in its taxonomy.")
        return cls(gates.tolist(), np.split(nodes, np.cumsum(sizes)[:-1]))


@dataclass(frozen=True)
class RidgeRule:
    """The constants of a round."""

    alpha: float  # of the ridge αI
    c: float  # a row is stored if m² ≤ c ln t / Q; ∞ stores every row
    current: bool  # whether the row itself is in the inverse
    empty: float  # the margin of a node without examples


@dataclass(frozen=True)
class RowBlock:
    """Some rows, in the order of their rounds."""

    X: Any
    on: Mask  # true labels (rows × nodes)
    round_of: Ids
    has_length: Mask  # K(x, x) > 0; a row of length 0 has margin 0 everywhere and is never stored

    def targets(self, nodes: Ids) -> Matrix:
        """Return +1 where a node is on and −1 where it is off: P(on | x) = (1 + u·x) / 2 makes u·x their mean."""
        return np.where(self.on[:, nodes], 1.0, -1.0)

    def select_rows(self, gate: int, *, everywhere: bool) -> tuple[Ids, Mask]:
        """Return the rows that a group with this gate computes margins of, and which of them it may store."""
        shown = np.ones(len(self.on), bool) if gate == EVERY_ROW else self.on[:, gate]
        rows = np.arange(len(shown)) if everywhere else np.flatnonzero(shown)
        return rows, shown[rows] & self.has_length[rows]


def iterate_blocks(
    X: Any, on: Any, first_round: int, diagonal: Callable[[Any], Matrix]
) -> Iterator[tuple[slice, RowBlock]]:
    """Yield the rows in blocks, each with its slice; `diagonal` returns K(x, x) of every row."""
    for start in range(0, X.shape[0], BLOCK):
        at = slice(start, min(start + BLOCK, X.shape[0]))
        rounds = first_round + np.arange(at.start, at.stop)
        yield at, RowBlock(X[at], on[at].toarray().astype(bool), rounds, diagonal(X[at]) > 0)


class PrimalRidge:
    """P = (αI + S Sᵀ)⁻¹ and w = P S s of every group that has examples. Memory: O(d²) per group."""

    def __init__(self, groups: NodeGroups, rule: RidgeRule, n_features: int) -> None:
        self.groups, self.rule, self.n_features = groups, rule, n_features
        self.counts = [0] * len(groups)
        self.inverses: dict[int, Matrix] = {}
        self.weights: dict[int, Matrix] = {}

    def train(self, X: Any, on: Any, first_round: int, *, everywhere: bool) -> Matrix:
        """Make one round per row, and return the margins before its update.

        Parameters
        ----------
        X : rows, dense or CSR, float64
            The rows, in the order of their rounds.
        on : CSR (rows × nodes)
            True labels, closed under ancestors.
        first_round : int
            The number of the first row's round, from 1.
        everywhere : bool
            Whether to compute the margins of all nodes; if not, those of nodes that are not shown the row are 0.
        """
        margins = np.zeros((X.shape[0], on.shape[1]))
        with progress.task("HierarchicalRLS", X.shape[0]) as running:
            for at, block in iterate_blocks(X, on, first_round, squared_lengths):
                dense = block.X.toarray() if sparse.issparse(block.X) else np.ascontiguousarray(block.X)
                for k, nodes in enumerate(self.groups.nodes):
                    rows, learns = block.select_rows(self.groups.gates[k], everywhere=everywhere)
                    if len(rows):
                        margins[at][np.ix_(rows, nodes)] = self._run_group(k, block, dense, rows, learns)
                running.advance(at.stop - at.start)
        return margins

    def _run_group(self, k: int, block: RowBlock, X: Matrix, rows: Ids, learns: Mask) -> Matrix:
        """Make the rounds of one group, and return the margins (rows × its nodes)."""
        rule, nodes = self.rule, self.groups.nodes[k]
        margins = np.empty((len(rows), len(nodes)))
        P, W = self.state(k)
        targets, round_of = block.targets(nodes)[rows], block.round_of[rows]
        constants = self.counts[k], rule.c, rule.current, rule.empty
        count = primal_rounds(X[rows], targets, learns, round_of, P, W, *constants, margins)
        if count:
            self.counts[k], self.inverses[k], self.weights[k] = count, P, W
        return margins

    def state(self, k: int) -> tuple[Matrix, Matrix]:
        """Return P and W of a group; without examples I / α and 0."""
        if k in self.inverses:
            return self.inverses[k], self.weights[k]
        d = self.n_features
        return np.eye(d) / self.rule.alpha, np.zeros((len(self.groups.nodes[k]), d))

    def margins(self, X: Any, *, signs_only: bool = False) -> Matrix:
        """Return the margin of every row and node; with `signs_only` only their signs are right."""
        out = np.full((X.shape[0], self.groups.n_nodes), self.rule.empty)
        for k, W in self.weights.items():
            scores = np.asarray(X @ W.T)
            if self.rule.current and not signs_only:
                rows = X.toarray() if sparse.issparse(X) else X
                shrinkage = 1.0 + np.einsum("ij,ij->i", np.asarray(X @ self.inverses[k]), rows)
                scores /= np.maximum(shrinkage, 1.0)[:, None]  # x·P x ≥ 0 up to rounding
            out[:, self.groups.nodes[k]] = scores
        return out

    def node_coef(self, n_nodes: int, n_features: int) -> Matrix:
        """Return w of every node (nodes × features), without the row itself in the inverse."""
        out = np.zeros((n_nodes, n_features))
        for k, W in self.weights.items():
            out[self.groups.nodes[k]] = W
        return out

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        """Move nodes to their new ids, and make a group without examples for a new node."""
        self.groups.add_node(new_id, node, gate)
        self.counts.append(0)

    def pack(self) -> Arrays:
        """Return the arrays of a model file; of the symmetric inverses the lower triangles."""
        low = np.tril_indices(self.n_features)
        used = sorted(self.inverses)
        return {
            **prefixed("stores", self.groups.pack()),
            "counts": np.array(self.counts, np.int64),
            "inverses": np.concatenate([np.zeros(0), *(self.inverses[k][low] for k in used)]),
            "weights": np.concatenate([np.zeros(0), *(self.weights[k].ravel() for k in used)]),
        }

    @classmethod
    def unpack(cls, rule: RidgeRule, n_nodes: int, n_features: int, arrays: Arrays) -> PrimalRidge:
        """Restore packed inverses and weights."""
        restored = cls(NodeGroups.unpack(group("stores", arrays), n_nodes), rule, n_features)
        restored.counts = unpack_counts(arrays["counts"], restored.groups)
        used = [k for k, count in enumerate(restored.counts) if count]
        own = n_features * (n_features + 1) // 2
        sizes = np.array([len(restored.groups.nodes[k]) * n_features for k in used], np.int64)
        inverses, weights = (arrays[name].astype(np.float64) for name in ("inverses", "weights"))
        if inverses.shape != (own * len(used),) or weights.shape != (sizes.sum(),):
            raise ModelFormatError("Its inverses and weights do not fit its stores.")
        low, ends = np.tril_indices(n_features), np.cumsum(sizes)
        for i, k in enumerate(used):
            P = np.zeros((n_features, n_features))
            P[low] = inverses[i * own : (i + 1) * own]
            restored.inverses[k] = P + np.tril(P, -1).T
            restored.weights[k] = weights[ends[i] - sizes[i] : ends[i]].reshape(-1, n_features).copy()
        return restored


def unpack_counts(counts: Any, groups: NodeGroups) -> list[int]:
    """Return the number of examples of each group; raise if it is impossible."""
    known = unpack_ids(counts)
    if known.shape != (len(groups),) or np.any((known < 0) | (known > MOST_EXAMPLES)):
        raise ModelFormatError("Its stores and their numbers of examples do not fit together.")
    return [int(count) for count in known]
