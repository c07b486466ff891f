"""Linear systems over a tree: (M + diag(H_k at leaf k)) W = R, M its Laplacian and what roots are pulled by.

Every node has d unknowns. Leaves are eliminated first, then inner nodes from below, and put in again from above:
O(nodes · d³).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from cladist.execution import Executor
from cladist.linear_model.problem_tree import ProblemTree

JITTER = 1e-12

Floats = npt.NDArray[np.float64]


Factor = tuple[Floats, Any]  # scales, and the Cholesky factor of what is scaled


class Factors(NamedTuple):
    """Of every leaf and inner node, what is left once all below are eliminated."""

    leaves: list[Factor]
    inner: list[Factor]


class TreeSystem:
    """The tree above some leaves; `inner` are its inner nodes, fixed roots left out, parents before their children."""

    def __init__(self, tree: ProblemTree, root: str, n_features: int) -> None:
        is_root = tree.parent[tree.inner] < 0
        self.inner = tree.inner[~is_root] if root == "fixed" else tree.inner
        self.d, self.identity = n_features, np.eye(n_features)
        place = np.full(len(tree.parent) + 1, -1, np.int64)  # the last one is that of what lies above roots
        place[self.inner] = np.arange(len(self.inner))
        self.above_leaves, self.above = place[tree.parent[tree.leaves]], place[tree.parent[self.inner]]
        self.pull = 1 / tree.sharing  # of inner nodes to their parents; that of leaves is 1
        self.free = (tree.parent[self.inner] < 0) & (root == "free")
        self.diagonal = np.where(self.free, 0.0, self.pull)
        np.add.at(self.diagonal, self.above[self.above >= 0], self.pull)
        np.add.at(self.diagonal, self.above_leaves[self.above_leaves >= 0], 1.0)

    def product(self, leaves: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """Return M W, of leaves and of inner nodes."""
        below, above = self._apart(leaves, inner)
        of_inner = np.where(self.free[:, None], 0.0, self.pull) * above
        of_inner_children = np.zeros((len(inner) + 1, self.d))
        np.add.at(of_inner_children, self.above, self.pull * above)
        np.add.at(of_inner_children, self.above_leaves, below)
        return below, of_inner - of_inner_children[:-1]

    def energy(self, leaves: Floats, inner: Floats) -> float:
        """Return WᵀM W = Σ ‖w_n − w_parent(n)‖² / κ_n."""
        below, above = self._apart(leaves, inner)
        return float(np.sum(below**2) + self.pull * np.sum(above[~self.free] ** 2))

    def _apart(self, leaves: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """Return w_n − w_parent(n), of leaves and of inner nodes."""
        padded = np.vstack([inner, np.zeros(self.d)])
        return leaves - padded[self.above_leaves], inner - padded[self.above]

    def best_above(self, leaves: Floats) -> Floats:
        """Return the inner nodes that are best given the leaves."""
        sums, found = np.zeros((2, len(self.inner) + 1, self.d))  # the last ones are of what lies above roots
        np.add.at(sums, self.above_leaves, leaves)
        weight = np.append(self.diagonal, 1.0)
        for u in range(len(self.inner) - 1, -1, -1):
            above, share = self.above[u], self.pull / weight[u]
            weight[above] -= self.pull * share
            sums[above] += share * sums[u]
        for u, above in enumerate(self.above.tolist()):
            found[u] = (sums[u] + self.pull * found[above]) / weight[u]
        return found[:-1]

    def dual_energy(self, sums: Floats, inner: Floats, reach: float) -> float:
        """Return what the regulariser takes from the dual, `sums` being Σ α y x of the leaves.

        Free roots take w·s + reach ‖s‖, s the sum below: no less than that as long as they stay within reach of w.
        """
        below = np.zeros((len(self.inner) + 1, self.d))
        np.add.at(below, self.above_leaves, sums)
        for u in range(len(self.inner) - 1, -1, -1):
            if self.above[u] >= 0:
                below[self.above[u]] += below[u]
        pulled = below[:-1][~self.free]
        found = np.sum(sums**2) / 2 + np.sum(pulled**2) / (2 * self.pull)
        for w, s in zip(inner[self.free], below[:-1][self.free], strict=True):
            found += w @ s + reach * np.sqrt(s @ s)
        return float(found)

    def factorise(self, hessian: Callable[[Any], Floats], bent: Iterable[Any], executor: Executor) -> Factors:
        """Factorise M + diag(H_k at leaf k), H_k = hessian(bent[k]), so that `solve` can take any right side."""

        def eliminate(given: Any) -> tuple[Factor, Floats]:
            factor = self._factor(hessian(given) + self.identity)
            return factor, solve_factored(factor, self.identity)

        A = self.diagonal[:, None, None] * self.identity
        leaves: list[Factor] = []
        for above, (factor, inverse) in zip(self.above_leaves.tolist(), executor.map(eliminate, bent), strict=True):
            leaves.append(factor)
            if above >= 0:
                A[above] -= inverse
        inner: list[Factor] = []
        for u in range(len(A) - 1, -1, -1):
            inner.append(self._factor(A[u]))
            if self.above[u] >= 0:
                A[self.above[u]] -= self.pull**2 * solve_factored(inner[-1], self.identity)
        return Factors(leaves, inner[::-1])

    def solve(self, factors: Factors, leaves: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """Solve (M + diag(H_k at leaf k)) W = R, R being given for leaves and inner nodes."""
        right = np.vstack([inner, np.zeros(self.d)])  # the last one takes what has no place above it
        for k, above in enumerate(self.above_leaves.tolist()):
            right[above] += solve_factored(factors.leaves[k], leaves[k])
        for u in range(len(inner) - 1, -1, -1):
            right[self.above[u]] += self.pull * solve_factored(factors.inner[u], right[u])
        found = np.zeros((len(inner) + 1, self.d))
        for u, above in enumerate(self.above.tolist()):
            found[u] = solve_factored(factors.inner[u], right[u] + self.pull * found[above])
        of_leaves = [
            solve_factored(factors.leaves[k], leaves[k] + found[above]) for k, above in enumerate(self.above_leaves)
        ]
        return np.stack(of_leaves), found[:-1]

    def _factor(self, matrix: Floats) -> Factor:
        """Factorise a matrix, its rows and columns scaled: features of very different sizes would cost digits."""
        scale = 1 / np.sqrt(np.maximum(np.diag(matrix), JITTER))
        scaled = matrix * (scale[:, None] * scale)
        scaled[np.diag_indices_from(scaled)] += JITTER
        return scale, cho_factor(scaled, overwrite_a=True)


def solve_factored(factor: Factor, right: Floats) -> Floats:
    """Solve a system that is factorised, for one right side or several side by side."""
    scale, cholesky = factor
    if right.ndim == 1:
        return scale * cho_solve(cholesky, scale * right)
    found: Floats = scale[:, None] * cho_solve(cholesky, scale[:, None] * right)
    return found
