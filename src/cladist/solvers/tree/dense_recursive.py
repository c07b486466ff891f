"""Recursive regularisation on a tree, for dense rows of few features: Newton steps for all nodes at once.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves k Σ_i c_ik ℓ(m_ik), m_ik = y_ik w_k·x_i
Steps     Newton's method on the primal for the smooth losses, with halving; for the hinge Mehrotra's interior point
          method, as `cladist.solvers.linear.dense_solvers` has it for one problem. Either way a step solves
          (M + diag(Xᵀ D_k X at leaf k)) ΔW = R, M the Laplacian of the tree: leaves are eliminated first, then inner
          nodes from below, each a d × d system.
Stops     when (primal − dual) / primal ≤ tol
Cost      a step O(leaves · n d²), whatever C and the scale of features, where coordinate descent takes hundreds of
          sweeps
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.errors import one_of
from cladist.execution import Executor, Serial
from cladist.linear_model.problem_tree import ROOTS, ProblemTree
from cladist.linear_model.training_rows import Floats64 as Floats
from cladist.linear_model.weights import DenseWeights
from cladist.solvers.linear.dense_solvers import CLOSEST, MOST_STEPS, SHORTEST_STEP, STEP_TO_BOUND
from cladist.solvers.linear.one_vs_rest import EPSILON, ROUNDINGS
from cladist.solvers.problem import SMALLEST_WEIGHT, OneVsRest, Settings, Solution, duality_gap

JITTER = 1e-12


def solve_recursive_directly(
    problem: OneVsRest,
    tree: ProblemTree,
    settings: Settings | None = None,
    *,
    root: str = "zero",
    executor: Executor | None = None,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves Σ_i c_i ℓ(y_i w·x_i) by steps for all nodes.

    `settings.max_iter` is the most steps; the result does not depend on the executor. `history` has one entry per step:
    the best `objective`, `dual` and `gap`; with free roots `dual` is a bound as in `cladist.solvers.tree.recursive`.
    Memory: 8 bytes per pair of features at each node, twice, and some ten arrays of 8 bytes per row and leaf.
    """
    one_of("solve_recursive_directly", "root", root, ROOTS)
    settings = settings or Settings()
    started = time.perf_counter()
    most = min(settings.max_iter, MOST_STEPS)
    with (
        progress.task("recursive regularisation", most, unit="steps") as running,
        threadpool_limits(1, user_api="blas"),
    ):
        search = (_Newton if problem.surrogate.smooth else _InteriorPoint)(problem, tree, root, executor or Serial())
        best, history = search.evaluate(), []
        for done in range(most + 1):
            history.append({**best.history_entry(), "passes": done, "seconds": time.perf_counter() - started})
            if best.gap <= settings.tol or done == most or not search.step():
                break
            running.advance()
            best = search.evaluate().better(best, anywhere=not np.any(search.system.free))
    best = search.round_weights(best, settings.tol)
    history[-1] |= best.history_entry()
    weights = DenseWeights.from_matrix(best.W, problem.rows)
    return Solution(weights, weights.intercepts, history, best.gap <= settings.tol)


@dataclass(frozen=True)
class _Bounds:
    """Leaves' weights, their objective, and a lower bound."""

    W: Floats
    primal: float
    dual: float
    reach: float | None = None  # how far from where free roots are the bound holds; None: everywhere

    @property
    def gap(self) -> float:
        return duality_gap(self.primal, self.dual)["gap"]

    def history_entry(self) -> dict[str, float]:
        """Return an entry of the history."""
        entry = duality_gap(self.primal, self.dual)
        return entry if self.reach is None else {**entry, "reach": self.reach}

    def better(self, before: _Bounds, *, anywhere: bool) -> _Bounds:
        """Return the lower primal and the higher dual of two, or the later one if duals do not hold `anywhere`."""
        lower = self if self.primal <= before.primal else before
        return _Bounds(lower.W, lower.primal, max(self.dual, before.dual) if anywhere else self.dual, self.reach)


class _Steps(ABC):
    """Steps for all leaves and inner nodes at once."""

    def __init__(self, problem: OneVsRest, tree: ProblemTree, root: str, executor: Executor) -> None:
        self.surrogate = problem.surrogate
        self.X = problem.rows.to_dense()
        self.signs = np.full((problem.n_classes, len(self.X)), -1.0)
        self.costs = np.repeat(problem.costs[1].astype(np.float64)[:, None], len(self.X), axis=1)
        for k in range(problem.n_classes):
            members = problem.members_of(k)
            self.signs[k, members], self.costs[k, members] = 1.0, problem.costs[0, k]
        if problem.row_weights is not None:
            self.costs *= np.maximum(problem.row_weights, SMALLEST_WEIGHT)
        self.executor, self.least_reach = executor, problem.rows.least_reach
        self.system = TreeSystem(tree, root, self.X.shape[1])
        self.W = np.zeros((problem.n_classes, self.X.shape[1]))
        self.inner = np.zeros((len(self.system.inner), self.X.shape[1]))

    def margins(self, W: Floats) -> Floats:
        """Return m of every leaf and row."""
        margins: Floats = self.signs * (W @ self.X.T)
        return margins

    def sums(self, alpha: Floats) -> Floats:
        """Return Σ α y x of every leaf."""
        sums: Floats = (self.signs * alpha) @ self.X
        return sums

    def factorise(self, curvature: Floats) -> Factors:
        """Factorise the system for given curvatures c ℓ''. O(leaves · n d²)."""

        def hessian(of_leaf: Floats) -> Floats:
            bent = np.flatnonzero(of_leaf)
            rows = self.X[bent]
            product: Floats = (rows * of_leaf[bent, None]).T @ rows
            return product

        return self.system.factorise(hessian, curvature, self.executor)

    def solve(self, factors: Factors, leaves: Floats) -> tuple[Floats, Floats]:
        """Return the step for leaves and inner nodes, `leaves` being Σ α y x of the former."""
        pulled, above = self.system.product(self.W, self.inner)
        return self.system.solve(factors, leaves - pulled, -above)

    @abstractmethod
    def step(self) -> bool:
        """Move all nodes; return whether that was possible."""

    @abstractmethod
    def alphas(self) -> Floats:
        """Return the present α of every leaf and row."""

    def lost(self, W: Floats) -> float:
        """Return Σ c ℓ of all leaves and rows."""
        return float(np.sum(self.costs * self.surrogate.value(self.margins(W))))

    def round_weights(self, best: _Bounds, tol: float) -> _Bounds:
        """Return a point with float32 weights, measured as they are.

        Rounding puts rows that lie on the margin a little below it; under the hinge weights that are a few roundings
        longer may be better.
        """
        rounded = self._with_weights(best, best.W.astype(np.float32))
        for roundings in () if self.surrogate.smooth else ROUNDINGS:
            if rounded.gap <= tol:
                break
            longer = self._with_weights(best, (best.W * (1 + roundings * EPSILON)).astype(np.float32))
            rounded = longer if longer.primal < rounded.primal else rounded
        return rounded

    def _with_weights(self, best: _Bounds, W: npt.NDArray[np.float32]) -> _Bounds:
        wide = W.astype(np.float64)
        energy = self.system.energy(wide, self.system.best_above(wide))
        return replace(best, W=wide, primal=energy / 2 + self.lost(wide))

    def evaluate(self) -> _Bounds:
        """Return primal and dual; inner nodes are the best given the leaves."""
        inner, alpha = self.system.best_above(self.W), self.alphas()
        primal = self.system.energy(self.W, inner) / 2 + self.lost(self.W)
        reach = max(self.least_reach, float(np.sqrt(np.max(np.sum(self.W**2, axis=1)))))
        gain = float(np.sum(self.costs * self.surrogate.gain(alpha / self.costs)))
        dual = gain - self.system.dual_energy(self.sums(alpha), inner, reach)
        return _Bounds(self.W.copy(), primal, dual, reach if np.any(self.system.free) else None)


class _Newton(_Steps):
    """Newton's method for smooth losses."""

    def alphas(self) -> Floats:
        """Return −c ℓ'(m)."""
        alpha: Floats = -self.costs * self.surrogate.slope(self.margins(self.W))
        return alpha

    def step(self) -> bool:
        """Make one step, halved until it descends; return whether it moves anything."""
        here = self.system.energy(self.W, self.inner) / 2 + self.lost(self.W)
        curvature = self.costs * self.surrogate.curvature(self.margins(self.W))
        try:
            leaves, inner = self.solve(self.factorise(curvature), self.sums(self.alphas()))
        except (LinAlgError, ValueError):
            return False
        length = 1.0
        while length > SHORTEST_STEP:
            W, above = self.W + length * leaves, self.inner + length * inner
            if self.system.energy(W, above) / 2 + self.lost(W) <= here:
                gains = not np.array_equal(W, self.W)
                self.W, self.inner = W, above
                return gains
            length /= 2
        return False


class _InteriorPoint(_Steps):
    """Mehrotra's predictor and corrector for the hinge: α, its room below c, and the multipliers of both bounds."""

    def __init__(self, *problem: Any) -> None:
        super().__init__(*problem)
        self.alpha, self.room = self.costs / 2, self.costs / 2
        self.at_zero, self.at_cost = np.ones_like(self.costs), np.ones_like(self.costs)

    def alphas(self) -> Floats:
        """Return α."""
        return self.alpha

    def step(self) -> bool:
        """Make one step: predict without centring, and correct by what the prediction shows.

        Every leaf goes as far as its own bounds allow; inner nodes as far as leaves do on average.
        """
        diagonal = self.at_zero / self.alpha + self.at_cost / self.room
        values = self.alpha, self.room, self.at_zero, self.at_cost
        try:
            factors = self.factorise(1 / diagonal)
            predicted = self._towards(factors, diagonal, 0.0, 0.0)
            length = _lengths(values, predicted[2:])
            there = _products(*(v + length * s for v, s in zip(values, predicted[2:], strict=True)))
            now = _products(*values)
            target = now * (there / now) ** 3
            targets = target - predicted[2] * predicted[4], target - predicted[3] * predicted[5]
            step = self._towards(factors, diagonal, *targets)
        except (LinAlgError, ValueError):  # no longer positive definite, or not finite: as far as float64 goes
            return False
        self._move(STEP_TO_BOUND * _lengths(values, step[2:]), step)
        return True

    def _towards(self, factors: Factors, diagonal: Floats, zero_target: Any, cost_target: Any) -> tuple[Floats, ...]:
        """Return the step of W, inner nodes, α, room and multipliers to products of bounds and multipliers."""
        target = 1 - self.margins(self.W) + zero_target / self.alpha - cost_target / self.room
        leaves, inner = self.solve(factors, self.sums(self.alpha + target / diagonal))
        alpha = (target - self.margins(leaves)) / diagonal
        at_zero = (zero_target - self.at_zero * alpha) / self.alpha - self.at_zero
        at_cost = (cost_target + self.at_cost * alpha) / self.room - self.at_cost
        return leaves, inner, alpha, -alpha, at_zero, at_cost

    def _move(self, lengths: Floats, step: tuple[Floats, ...]) -> None:
        leaves, inner, alpha, room, at_zero, at_cost = step
        self.W, self.inner = self.W + lengths * leaves, self.inner + lengths.mean() * inner
        nearest, furthest = CLOSEST * self.costs, (1 - CLOSEST) * self.costs
        self.alpha = np.clip(self.alpha + lengths * alpha, nearest, furthest)
        self.room = np.maximum(self.room + lengths * room, nearest)
        self.at_zero, self.at_cost = self.at_zero + lengths * at_zero, self.at_cost + lengths * at_cost


def _products(alpha: Floats, room: Floats, at_zero: Floats, at_cost: Floats) -> Floats:
    """Return the mean product of a bound's room and its multiplier, per leaf: 0 at the optimum."""
    products: Floats = np.mean(alpha * at_zero + room * at_cost, axis=1, keepdims=True) / 2
    return products


def _lengths(values: tuple[Floats, ...], steps: tuple[Floats, ...]) -> Floats:
    """Return how much of a step keeps everything positive, per leaf."""
    longest = np.ones((len(values[0]), 1))
    for value, step in zip(values, steps, strict=True):
        room = np.where(step < 0, -value / np.minimum(step, -1e-300), np.inf)
        longest = np.minimum(longest, room.min(axis=1, keepdims=True))
    return longest


# ---------------------------------------------------------------- linear systems over a tree


Factor = tuple[Floats, Any]  # scales, and the Cholesky factor of what is scaled


class Factors(NamedTuple):
    """Of every leaf and inner node, what is left once all below are eliminated."""

    leaves: list[Factor]
    inner: list[Factor]


class TreeSystem:
    """(M + diag(H_k at leaf k)) W = R, M the Laplacian of a tree and what roots are pulled by; d unknowns per node.

    Leaves are eliminated first, then inner nodes from below, and put in again from above: O(nodes · d³). `inner` are
    the inner nodes, fixed roots left out, parents before their children.
    """

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
        sums, vectors = np.zeros((2, len(self.inner) + 1, self.d))  # the last ones are of what lies above roots
        np.add.at(sums, self.above_leaves, leaves)
        weight = np.append(self.diagonal, 1.0)
        for u in range(len(self.inner) - 1, -1, -1):
            above, share = self.above[u], self.pull / weight[u]
            weight[above] -= self.pull * share
            sums[above] += share * sums[u]
        for u, above in enumerate(self.above.tolist()):
            vectors[u] = (sums[u] + self.pull * vectors[above]) / weight[u]
        return vectors[:-1]

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
        energy = np.sum(sums**2) / 2 + np.sum(pulled**2) / (2 * self.pull)
        for w, s in zip(inner[self.free], below[:-1][self.free], strict=True):
            energy += w @ s + reach * np.sqrt(s @ s)
        return float(energy)

    def factorise(self, hessian: Callable[[Any], Floats], curvatures: Iterable[Any], executor: Executor) -> Factors:
        """Factorise M + diag(H_k at leaf k), H_k = hessian(curvatures[k]), so that `solve` can take any right side."""

        def eliminate(curvature: Any) -> tuple[Factor, Floats]:
            factor = self._factor(hessian(curvature) + self.identity)
            return factor, solve_factored(factor, self.identity)

        A = self.diagonal[:, None, None] * self.identity
        leaves: list[Factor] = []
        for above, (factor, inverse) in zip(
            self.above_leaves.tolist(), executor.map(eliminate, curvatures), strict=True
        ):
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
        vectors = np.zeros((len(inner) + 1, self.d))
        for u, above in enumerate(self.above.tolist()):
            vectors[u] = solve_factored(factors.inner[u], right[u] + self.pull * vectors[above])
        pulled = leaves + vectors[self.above_leaves]
        solved = [solve_factored(factor, each) for factor, each in zip(factors.leaves, pulled, strict=True)]
        return np.stack(solved), vectors[:-1]

    def _factor(self, matrix: Floats) -> Factor:
        """Factorise a matrix, its rows and columns scaled: features of very different sizes would cost digits."""
        scale = 1 / np.sqrt(np.maximum(np.diag(matrix), JITTER))
        scaled = matrix * (scale[:, None] * scale)
        scaled[np.diag_indices_from(scaled)] += JITTER
        return scale, cho_factor(scaled, overwrite_a=True)


def solve_factored(factor: Factor, right: Floats) -> Floats:
    """Solve a system that is factorised, for one right side or several side by side."""
    scale, cholesky = factor
    scale = scale if right.ndim == 1 else scale[:, None]
    solution: Floats = scale * cho_solve(cholesky, scale * right)
    return solution
