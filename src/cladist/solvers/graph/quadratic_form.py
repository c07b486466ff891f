"""A graph over the problems of a solver, and the quadratic form by which it pulls related ones together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from cladist.execution import Executor, Serial
from cladist.kernels import dag, graph_products
from cladist.linear_model.training_rows import Floats64, Ids
from cladist.storage.array_pool import storable

CHUNK_BYTES = 2**21  # of float64, for passes over features: what stays near the processor
CAUTION = 0.99  # eigenvalues are found to some digits only, and bounds must hold
CG_STEPS = 200
FEW_NODES = 500


class VectorSummary(NamedTuple):
    """The energy of vectors, the length of each component's mean, and the means of loose components."""

    energy: float
    lengths: Floats64
    means: Floats64


@storable
@dataclass(frozen=True)
class DualCost:
    """The cost of the quadratic form in the dual: `fixed` per component, and more where shares do not cancel.

    In a loose component, whose mean nothing pulls to 0, that is `sums`, those of its shares, times the mean.
    """

    fixed: Floats64
    sums: Floats64
    loose: Ids

    def within(self, means: Floats64, reach: Any) -> Floats64:
        """Return the largest cost over vectors whose components' means are no further than `reach` from `means`."""
        cost = self.fixed.copy()
        lengths = np.sqrt(np.sum(self.sums * self.sums, axis=1))
        cost[self.loose] += np.sum(means * self.sums, axis=1) + reach[self.loose] * lengths
        return cost


@dataclass(frozen=True)
class Graph:
    """An undirected graph, and the node that each problem belongs to.

    tr(WᵀMW) = Σ_edges a_uv ‖w_u − w_v‖² + ridge Σ_u ‖w_u‖², each edge once. A node without edges is pulled to 0 by
    ‖w‖² where there is no ridge: an ordinary problem.

    With `own_constant` the last feature, the constant, is not shared: its part of the form is Σ_u pull_u b_u². As the
    other weights of a node are held by `pull` too, the problem of a node given its neighbours is the same, with 0 for
    what b is pulled to.
    """

    adjacency: sparse.csr_array  # (nodes × nodes) symmetric, with the edges' weights; the diagonal is empty
    nodes: Ids  # (problems,) the node of each problem: different ones
    ridge: float = 0.0
    own_constant: bool = False

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return int(self.adjacency.shape[0])

    @cached_property
    def pull(self) -> Floats64:
        """The weight by which each node is pulled to the mean of its neighbours: S_n, and what pulls it to 0."""
        pull: Floats64 = np.asarray(self.adjacency.sum(axis=1), np.float64).ravel() + self.ridge
        return np.where(pull > 0, pull, 1.0)

    @cached_property
    def neighbours(self) -> sparse.csr_array:
        """The matrix that takes all vectors to what each node is pulled to: means of neighbours, less for a ridge."""
        return sparse.csr_array(sparse.diags_array(1 / self.pull) @ self.adjacency, dtype=np.float32)

    @cached_property
    def edges(self) -> tuple[Ids, Ids, Floats64]:
        """The adjacency as kernels take it."""
        indptr, indices = self.adjacency.indptr.astype(np.int64), self.adjacency.indices.astype(np.int64)
        return indptr, indices, self.adjacency.data.astype(np.float64)

    @cached_property
    def matrix(self) -> sparse.csc_array:
        """M."""
        return sparse.csc_array(sparse.diags_array(self.pull) - self.adjacency, dtype=np.float64)

    @cached_property
    def components(self) -> Ids:
        """The number, from 0, of the connected component of each node."""
        return csgraph.connected_components(self.adjacency, directed=False)[1].astype(np.int64)

    @cached_property
    def colours(self) -> Ids:
        """A colour for each node, from 0, that no neighbour has; all colours have about equally many nodes."""
        indptr, indices = self.adjacency.indptr, self.adjacency.indices
        order = dag.smallest_last(indptr, indices)
        n_colours = int(dag.coloured(indptr, indices, order).max()) + 1
        return dag.coloured(indptr, indices, order, n_colours)

    @cached_property
    def loose(self) -> list[Ids]:
        """The components that nothing pulls to 0: their nodes."""
        if self.ridge > 0:
            return []
        return [part for part in _components(self.components) if len(part) > 1]

    @cached_property
    def loose_components(self) -> Ids:
        """The numbers of the components that nothing pulls to 0."""
        return self.components[np.array([part[0] for part in self.loose], np.int64)]

    @cached_property
    def in_loose(self) -> Ids:
        """The nodes of the components that nothing pulls to 0."""
        return np.flatnonzero(np.isin(self.components, self.loose_components))

    @cached_property
    def _groups(self) -> sparse.csr_array:
        """The matrix that takes vectors to the means of their components."""
        counts = np.bincount(self.components)
        places = (self.components, np.arange(self.n_nodes))
        return sparse.csr_array((1 / counts[self.components], places), shape=(len(counts), self.n_nodes))

    @cached_property
    def stiffness(self) -> float:
        """A lower bound of the eigenvalues of M but those of vectors that are the same throughout a component."""
        least = np.inf
        for part in _components(self.components):
            if len(part) > 1:
                least = min(least, _second_eigenvalue(self.matrix[part][:, part], self.ridge))
        return CAUTION * least

    def times(self, V: Floats64) -> Floats64:
        """Return MV of vectors (nodes × features)."""
        product = np.empty_like(V)
        graph_products.multiply(self.edges, self.pull, V, product)
        return product

    def summarise(self, W: Any, executor: Executor | None = None) -> VectorSummary:
        """Return energy and means of vectors (nodes × features)."""
        means = np.zeros((len(self.loose), W.shape[1]))
        shared, own = self._split(W)

        def of_columns(columns: slice) -> tuple[float, Floats64]:
            part = W[:, columns].astype(np.float64)
            means_here = self._groups @ part
            means[:, columns] = means_here[self.loose_components]
            return float(np.sum(part * self.times(part))), np.sum(means_here * means_here, axis=1)

        parts = list((executor or Serial()).map(of_columns, chunks(shared)))
        squares = sum((part[1] for part in parts), np.zeros(self._groups.shape[0]))
        energy = sum(part[0] for part in parts) + float(self.pull @ (own * own))
        return VectorSummary(energy / 2, np.sqrt(squares), means)

    def dual_cost(self, shares: Any, W: Any, precision: float, executor: Executor | None = None) -> DualCost:
        """Return the cost of the form in the dual, up to `precision` more over all components.

        That is max_V tr(VᵀA) − ½ tr(VᵀMV), A being Σ α y x of each node (nodes × features); in a loose component it is
        ∞ unless A sums to 0, and hangs on where the mean of V is. W are vectors near the best V, or None.

        Notes
        -----
        Near the optimum A is nearly MW. With A = MW + E, it is ½ tr(WᵀMW) + tr(WᵀE) + ½ tr(EᵀM⁺E), and for any Z
        tr(EᵀM⁺E) = 2 tr(EᵀZ) − tr(ZᵀMZ) + tr(RᵀM⁺R), R = E − MZ, of which the last is at most ‖R‖² / `stiffness`.
        Conjugate gradients make R small; often Z = 0 will do.
        """
        sizes, loose = np.bincount(self.components), self.loose_components
        own = np.where((sizes == 1) & (self.ridge == 0), 1.0, self.ridge)  # pulls a component as a whole to 0, per node
        sums = np.zeros((len(loose), shares.shape[1]))
        shared, of_constant = self._split(shares)

        def of_columns(columns: slice) -> tuple[Floats64, Floats64]:
            E, by_node = shares[:, columns].astype(np.float64), np.zeros(self.n_nodes)
            if W is not None:
                V = W[:, columns].astype(np.float64)
                V[self.in_loose] -= (self._groups @ V)[self.components[self.in_loose]]
                MV = self.times(V)
                E -= MV
                by_node += np.sum(V * (MV / 2 + E), axis=1)
            means = self._groups @ E
            by_node += self._rest(E - means[self.components], precision * E.shape[1] / shares.shape[1])
            sums[:, columns] = sizes[loose, None] * means[loose]
            return np.bincount(self.components, by_node).astype(np.float64), np.sum(means * means, axis=1)

        parts = list((executor or Serial()).map(of_columns, chunks(shared)))
        total, apart = (sum((part[k] for part in parts), np.zeros(len(sizes))) for k in range(2))
        total = total + np.bincount(self.components, of_constant * of_constant / (2 * self.pull))
        return DualCost(total + np.where(own > 0, sizes * apart / np.where(own > 0, 2 * own, 1), 0), sums, loose)

    def least_cost(self, shares: Any, executor: Executor | None = None) -> float:
        """Return a lower bound of the form's cost in the dual, from a step along the scaled shares."""
        shared, own = self._split(shares)

        def of_columns(columns: slice) -> tuple[float, float]:
            E = shares[:, columns].astype(np.float64)
            E = self._centred(E)
            scaled = E / self.pull[:, None]
            return float(np.sum(E * scaled)), float(np.sum(scaled * self.times(scaled)))

        parts = list((executor or Serial()).map(of_columns, chunks(shared)))
        slope, curve = (sum(part[k] for part in parts) for k in range(2))
        return float(np.sum(own * own / (2 * self.pull))) + (slope * slope / (2 * curve) if curve > 0 else 0.0)

    def _split(self, W: Any) -> tuple[Any, Floats64]:
        """Return the weights of features that nodes share, and those of the constant that each has for itself, or 0."""
        if not self.own_constant:
            return W, np.zeros(self.n_nodes)
        return W[:, :-1], W[:, -1].astype(np.float64)

    def _centred(self, vectors: Floats64) -> Floats64:
        """Return vectors of nodes without the mean of their component."""
        return vectors - (self._groups @ vectors)[self.components]

    def _rest(self, E: Floats64, precision: float) -> Floats64:
        """Return the terms per node of ½ tr(EᵀM⁺E), or a little more, for E with means 0, by conjugate gradients.

        All steps have means 0, so that those of R stay 0: `stiffness` bounds M on such vectors alone.
        """
        if not np.isfinite(self.stiffness):
            return np.zeros(len(E))
        Z, R = np.zeros_like(E), E
        scaled = self._centred(R / self.pull[:, None])
        P, rho = scaled, float(np.sum(R * scaled))
        for _ in range(CG_STEPS):
            if float(np.sum(R * R)) / (2 * self.stiffness) <= precision or rho <= 0:
                break
            MP = self.times(P)
            step = rho / float(np.sum(P * MP))
            Z += step * P
            R = R - step * MP
            scaled = self._centred(R / self.pull[:, None])
            before, rho = rho, float(np.sum(R * scaled))
            P = scaled + (rho / before) * P
        terms: Floats64 = np.sum(Z * (E + R) + R * R / self.stiffness, axis=1) / 2
        return terms


def _components(numbers: Ids) -> list[Ids]:
    """Return the nodes of each component."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def _second_eigenvalue(matrix: sparse.csc_array, ridge: float) -> float:
    """Return the smallest eigenvalue of a component's M but that of equal vectors, which is the ridge."""
    if matrix.shape[0] <= FEW_NODES:
        return float(np.linalg.eigvalsh(matrix.toarray())[1])
    shift = ridge - 1e-3 * float(matrix.diagonal().mean())  # a little below all eigenvalues: not singular
    start = np.random.default_rng(0).normal(size=matrix.shape[0])
    return float(np.sort(linalg.eigsh(matrix, 2, sigma=shift, v0=start, return_eigenvectors=False))[1])


def chunks(W: Any) -> Iterator[slice]:
    """Yield the columns of a matrix in parts that take little memory in float64."""
    size = max(1, CHUNK_BYTES // (8 * max(1, W.shape[0])))
    for start in range(0, W.shape[1], size):
        yield slice(start, min(start + size, W.shape[1]))
