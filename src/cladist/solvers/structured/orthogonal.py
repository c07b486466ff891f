"""Orthogonal transfer: weights of siblings with a margin between them, nearly orthogonal to those of their ancestors.

    min_W Ω(W) + c Σ_i ξ_i,   Ω(W) = ½ Σ_uv K_uv |w_u·w_v|,   ξ_i = max(0, max_(u, v) 1 − (w_u − w_v)·x_i)

over nodes u on the path of row i and siblings v of u. Since |a| = max_{|s| ≤ 1} s a, Ω is the maximum of ½ tr WᵀM W
over the metrics M = K∘S with |S_uv| ≤ 1 and S_uu = 1. All of them are positive definite if the comparison matrix of K
is (K_uu on its diagonal, −K_uv beside it), and by the minimax theorem the dual is

    max_{S, α}  Σ α − ½ tr AᵀM(S)⁻¹A,   A = Σ_i Σ_(u, v) α_iuv (e_u − e_v) x_iᵀ,   α ≥ 0, Σ_(u, v) α_iuv ≤ c

jointly concave, with W = M(S)⁻¹A. Ascent over α goes row by row, and over S by L-BFGS-B on the matrix AᵀA; both raise
the dual. The best W so far is kept, so that the objective never increases; the gap between the two is certified.

Zhou, Xiao & Wu, ICML 2011, who minimise by dual averaging; the dual and its ascent are our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cladist.execution import Executor
from cladist.kernels import orthogonal as kernels
from cladist.solvers.structured.ascent import Objectives, RowDual

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
SIGN_STEPS = 20  # of L-BFGS-B between two sweeps over rows; S and α converge together


class RelatedNodes:
    """A forest of nodes with weights: the ancestors of each, and K between them.

    `parent` has parents before children, and −1 where no ancestor has weights.
    """

    def __init__(self, parent: Ids) -> None:
        n = len(parent)
        self.depth = np.zeros(n, np.int64)
        for v, p in enumerate(parent.tolist()):
            self.depth[v] = 0 if p < 0 else self.depth[p] + 1
        self.above = np.full((n, int(self.depth.max(initial=0))), -1, np.int64)
        for v, p in enumerate(parent.tolist()):
            if p >= 0:
                self.above[v, : self.depth[v]] = [*self.above[p, : self.depth[p]], p]
        self.nodes, self.places = np.nonzero(self.above >= 0)
        self.ancestors = self.above[self.nodes, self.places]

    @property
    def n_related(self) -> Ids:
        """The number of nodes above or below each node."""
        return np.asarray(self.depth + np.bincount(self.ancestors, minlength=len(self.depth)))

    def comparison(self, alpha: float, diagonal: Floats) -> Floats:
        """Return the comparison matrix of K: its diagonal, and −α between related nodes."""
        matrix = np.diag(diagonal)
        matrix[self.nodes, self.ancestors] = matrix[self.ancestors, self.nodes] = -alpha
        return matrix

    def convex_diagonal(self, alpha: float, *, spectral: bool) -> Floats:
        """Return the diagonal of K, for K = α between related nodes, from which on Ω is convex.

        α times the number of related nodes, or times the largest eigenvalue of the matrix of relations.

        Examples
        --------
        >>> chain = RelatedNodes(np.array([-1, 0, 1]))
        >>> [chain.convex_diagonal(0.5, spectral=spectral).round(6).tolist() for spectral in (False, True)]
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        """
        if not spectral:
            return np.asarray(alpha * self.n_related, dtype=np.float64)
        n = len(self.depth)
        largest = float(np.linalg.eigvalsh(self.comparison(-1.0, np.zeros(n)))[-1]) if n else 0.0
        return np.full(n, alpha * max(0.0, largest))


def competing_siblings(parent: Ids, reached: Ids, labels: Ids) -> tuple[Ids, RelatedNodes, Ids, Ids, Ids]:
    """Return the nodes with siblings, how they are related, and the competitors of each label.

    Only nodes in `reached` count. The pairs of label k are begin[k] … begin[k + 1] of the last two arrays: a node on
    its path and a sibling of that node, by their numbers among the nodes returned.
    """
    families: dict[int, list[int]] = {}
    for v in reached.tolist():
        families.setdefault(int(parent[v]), []).append(v)
    weighted = np.array([v for v in reached.tolist() if len(families[int(parent[v])]) > 1], np.int64)
    number = {v: k for k, v in enumerate(weighted.tolist())}

    def above(v: int) -> Iterator[int]:
        while v >= 0:
            if v in number:
                yield v
            v = int(parent[v])

    upper = [next((number[u] for u in above(int(parent[v]))), -1) for v in weighted.tolist()]
    pairs = [
        [(number[u], number[r]) for u in above(v) for r in families[int(parent[u])] if r != u] for v in labels.tolist()
    ]
    begin = np.concatenate([[0], np.cumsum([len(own) for own in pairs])]).astype(np.int64)
    own, rival = np.array([pair for of_label in pairs for pair in of_label], np.int64).reshape(-1, 2).T.copy()
    return weighted, RelatedNodes(np.array(upper, np.int64)), begin, own, rival


class OrthogonalDual(RowDual):
    """The dual over α and S, held by A (features × nodes); W is the best weights so far.

    `competitors` are, by label, where its pairs (u, v) begin, and the two nodes of all pairs; `labels` has one per row.
    K is `diagonal` and, between related nodes in the order of `nodes`, `coupling`. A sweep costs O(nonzeros · nodes),
    a measurement as much, and O(nodes² · (features + depth)) for S. Memory: 24 bytes for each feature and node.
    """

    kept = (*RowDual.kept, "A", "S", "masses", "primal")

    def __init__(
        self,
        X: Any,
        labels: Ids,
        competitors: Sequence[Ids],
        nodes: RelatedNodes,
        K: tuple[Floats, Floats],
        C: float,
    ) -> None:
        super().__init__(X.shape[0], C)
        self.hold_rows(X, len(nodes.depth))
        self.related, (self.diagonal, self.coupling) = nodes, K
        begin, own, rival = competitors
        self.start = np.concatenate([[0], np.cumsum(np.diff(begin)[labels])])
        self.competitors, self.masses = (begin[labels], own, rival), np.zeros(self.start[-1])
        self.A, self.S, self.primal = np.zeros_like(self.W), np.zeros(len(nodes.nodes)), np.inf

    def factors(self, S: Floats) -> tuple[Any, ...]:
        """Return the factors of M(S) as kernels take them."""
        below, diagonal = np.zeros(self.related.above.shape), self.diagonal.copy()
        below[self.related.nodes, self.related.places] = self.coupling * S
        kernels.factorise(self.related.above, self.related.depth, below, diagonal)
        return self.related.above, self.related.depth, below, diagonal

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over S, and then over the masses of these rows."""
        self._choose_signs()
        limits = self.C, n_steps, enough
        state = self.start, self.masses, self.competitors, self.factors(self.S)
        kernels.sweep_pairs(self.rows, self.A, order, *state, limits, self.squares, self.gaps)

    def _choose_signs(self) -> None:
        """Raise −½ tr AᵀM(S)⁻¹A over S; its gradient is K_uv w_u·w_v."""
        gram = self.A.T @ self.A
        scale = float(np.trace(gram / self.diagonal))
        if not len(self.S) or not scale > 0:
            return

        def loss(S: Floats) -> tuple[float, Floats]:
            factors, products = self.factors(S), gram / scale
            kernels.solve_rows(*factors, products)
            value, products = 0.5 * float(np.trace(products)), np.ascontiguousarray(products.T)
            kernels.solve_rows(*factors, products)
            return value, -self.coupling * products[self.related.nodes, self.related.ancestors]

        options = {"maxiter": SIGN_STEPS, "ftol": 1e-15, "gtol": 1e-12}
        self.S = minimize(loss, self.S, jac=True, method="L-BFGS-B", bounds=[(-1, 1)] * len(self.S), options=options).x

    def measure(self, executor: Executor) -> Objectives:
        """Return the lowest objective so far, whose weights are W, and the dual."""
        best, weights = self.W, self.A.copy()
        kernels.solve_rows(*self.factors(self.S), weights)
        dual = float(self.masses.sum()) - 0.5 * float((weights * self.A).sum())
        self.W = weights
        super().measure(executor)
        primal = self.penalty(weights) + self.C * float(self.slacks.sum())
        if primal < self.primal:
            self.primal = primal
        else:
            self.W = best
        return Objectives(self.primal, dual)

    def penalty(self, W: Floats) -> float:
        """Return Ω(W)."""
        products = np.einsum("fk,fk->k", W[:, self.related.nodes], W[:, self.related.ancestors])
        squares = np.einsum("fv,fv->v", W, W)
        return float(0.5 * self.diagonal @ squares + self.coupling @ np.abs(products))

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last under W."""
        state = self.start, self.masses, self.competitors
        kernels.measure_pairs(self.rows, self.W, first, last, *state, self.C, self.slacks, self.gaps)

    def linear_part(self) -> float:
        """Return Σ α."""
        return float(self.masses.sum())
