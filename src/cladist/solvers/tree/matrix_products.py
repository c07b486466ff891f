"""Recursive regularisation on a tree, for dense rows and smooth losses: products of matrices for all leaves at once.

Problem   min_W ½⟨W, M W⟩ + Σ_leaves k Σ_i c_ik ℓ(y_ik w_k·x_i). M is what the best inner nodes leave of the sum of
          ‖w_n − w_parent(n)‖² / κ_n: M⁻¹ = I + Σ_u κ b_u b_uᵀ over inner nodes u, b_u = 1 at the leaves below u.
          Roots are not free
Steps     along two directions of every leaf, the scaled gradient and the last step, each with a factor of its own:
          those that minimise the quadratic model. Gradients are scaled as if all leaves had the mean of their Hessians
Stops     with α_ik = −c_ik ℓ'(m_ik) the duality gap is ½⟨G, M⁻¹ G⟩, G the gradient. It is at most tol · primal, in
          float64 and at the float32 weights that are returned
Found by  Concus, Golub & O'Leary 1976 for scaled conjugate gradients; Knyazev 2001 for the best of two directions
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.execution import Executor, Serial
from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.training_rows import Floats64
from cladist.linear_model.weights import DenseWeights
from cladist.solvers.problem import SMALLEST_WEIGHT, OneVsRest, Settings, Solution, duality_gap
from cladist.surrogates import Surrogate

Matrix = npt.NDArray[Any]
LEAVES_AT_ONCE = 128  # in a product of matrices; fewer make it slower
RESCALED = 8  # steps after which Hessians are averaged anew
TOO_FAR = 0.7  # of the slope at the beginning of a step: if it rises as steeply at the end, the step is cut short
SHORTEST = 0.1  # share of a step that is cut short
DAMPING, SMALLEST = 1e-4, 1e-300  # of the model's diagonal: two directions may be the same within rounding
PRECISIONS = ((np.float32, 0.7), (np.float64, 0.2))  # and shares of tol; the rest is for rounding


def solve_by_products(
    problem: OneVsRest,
    tree: ProblemTree,
    settings: Settings,
    *,
    root: str = "zero",
    executor: Executor | None = None,
    most_steps: int = 100,
    start: Floats64 | None = None,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves Σ_i c_i ℓ(y_i w·x_i) for a smooth loss.

    The result does not depend on the executor. `history` has one entry. Where `most_steps` do not suffice, the solution
    has not converged. The search begins at the weights `start`, the `state` of an earlier solution. Memory: some ten
    arrays of 4 bytes per row and leaf, and the dense rows three times.
    """
    started, steps = time.perf_counter(), 0
    with (
        progress.task("recursive regularisation", most_steps, unit="steps") as running,
        threadpool_limits(1, user_api="blas"),
    ):
        losses, coupling = _Losses.of(problem, executor or Serial()), _Coupling.of(tree, root)
        W = _constant_weights(problem, losses) if start is None else start
        for precision, share in PRECISIONS:
            search = _Search(losses.astype(precision), coupling, W)
            while steps < most_steps and not search.is_done(share * settings.tol) and search.step():
                steps += 1
                running.advance()
            W = search.W.astype(np.float32).astype(np.float64)
            rounded = _Search(losses.astype(np.float64), coupling, W)
            if rounded.is_done(settings.tol) or steps >= most_steps:
                break
    bounds = duality_gap(rounded.primal, rounded.primal - rounded.gap)
    entry = {**bounds, "passes": steps, "seconds": time.perf_counter() - started}
    weights = DenseWeights.from_matrix(W, problem.rows)
    return Solution(weights, weights.intercepts, [entry], entry["gap"] <= settings.tol, state=W)


class _Coupling(NamedTuple):
    """M, its inverse, and its eigenvalues and eigenvectors."""

    M: Floats64
    inverse: Floats64
    values: Floats64
    vectors: Floats64

    @classmethod
    def of(cls, tree: ProblemTree, root: str) -> _Coupling:
        """Return the coupling of a tree's leaves."""
        n_leaves = len(tree.leaves)
        below, nodes = np.zeros((n_leaves, len(tree.parent))), tree.parent[tree.leaves]
        while np.any(nodes >= 0):
            below[np.flatnonzero(nodes >= 0), nodes[nodes >= 0]] = 1
            nodes = np.where(nodes >= 0, tree.parent[nodes], -1)
        if root == "fixed":
            below[:, tree.parent < 0] = 0
        inverse = np.eye(n_leaves) + tree.sharing * (below @ below.T)
        values, vectors = np.linalg.eigh(inverse)
        return cls((vectors / values) @ vectors.T, inverse, 1 / values, vectors)


def _constant_weights(problem: OneVsRest, losses: _Losses) -> Floats64:
    """Return weights to begin from: the best constant score of each leaf, or 0 if there is no constant feature."""
    W, surrogate = np.zeros((problem.n_classes, problem.rows.n_used)), problem.surrogate
    if problem.rows.has_constant:
        costs = np.broadcast_to(losses.costs, losses.signs.shape)
        positive = np.sum(costs, axis=1, where=losses.signs > 0, dtype=np.float64)
        negative, score = np.sum(costs, axis=1, dtype=np.float64) - positive, W[:, -1]
        for _ in range(20):  # Newton steps, of at most 1 where the slope is nearly constant
            slope = score + positive * surrogate.slope(score) - negative * surrogate.slope(-score)
            bend = 1 + positive * surrogate.curvature(score) + negative * surrogate.curvature(-score)
            score -= np.clip(slope / bend, -1, 1)
    return W


@dataclass(frozen=True)
class _Losses:
    """Losses of all leaves on dense rows, given their scores; all arrays are of one precision.

    Leaves are taken some at a time, so that results do not depend on the executor, which runs these parts.
    """

    surrogate: Surrogate
    executor: Executor
    X: Matrix
    signs: Matrix  # (leaves × rows)
    costs: Matrix  # as signs, or one per leaf

    @classmethod
    def of(cls, problem: OneVsRest, executor: Executor) -> _Losses:
        """Return the losses of a problem, rows and signs in float32."""
        rows, n_leaves = problem.rows, problem.n_classes
        X = rows.to_dense(np.float32)
        signs = np.full((n_leaves, len(rows)), -1, np.float32)
        signs[np.repeat(np.arange(n_leaves), np.diff(problem.members[0])), problem.members[1]] = 1
        costs = problem.costs[1][:, None]
        if problem.row_weights is not None or np.any(problem.costs[0] != problem.costs[1]):
            weights = 1 if problem.row_weights is None else np.maximum(problem.row_weights, SMALLEST_WEIGHT)
            costs = np.where(signs > 0, problem.costs[0][:, None], costs) * weights
        return cls(problem.surrogate, executor, X, signs, costs)

    def astype(self, precision: Any) -> _Losses:
        """Return the same losses in another precision."""
        arrays = {name: getattr(self, name).astype(precision, copy=False) for name in ("X", "signs", "costs")}
        return replace(self, **arrays)

    def over_leaves(self, function: Any) -> list[Any]:
        """Return the results of a function of some leaves, for all of them."""
        starts = range(0, len(self.signs), LEAVES_AT_ONCE)
        parts = self.executor.map(function, [slice(start, start + LEAVES_AT_ONCE) for start in starts])
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    def scores(self, W: Floats64, some: slice) -> Matrix:
        """Return w·x."""
        scores: Matrix = W[some].astype(self.X.dtype) @ self.X.T
        return scores

    def gradient(self, scores: Matrix, some: slice) -> Floats64:
        """Return the gradient of the losses."""
        signs = self.signs[some]
        slopes = self.surrogate.slope(signs * scores)
        slopes *= signs
        slopes *= self.costs[some]
        return np.asarray(slopes @ self.X, np.float64)

    def curvature(self, scores: Matrix, some: slice) -> Matrix:
        """Return c ℓ''."""
        curvature: Matrix = np.multiply(self.surrogate.curvature(self.signs[some] * scores), self.costs[some])
        return curvature.astype(self.X.dtype, copy=False)

    def lost(self, scores: Matrix, some: slice) -> Floats64:
        """Return Σ_i c_i ℓ."""
        losses = self.costs[some] * self.surrogate.value(self.signs[some] * scores)
        return np.asarray(np.sum(losses, axis=1, dtype=np.float64))


class _Search:
    """A point W, its scores and its gradient, and the step that led there."""

    def __init__(self, losses: _Losses, coupling: _Coupling, W: Floats64) -> None:
        self.losses, self.coupling, self.W, self.primal, self.done = losses, coupling, W, np.inf, 0
        self.scores = np.empty(losses.signs.shape, losses.X.dtype)
        self.directions: list[Floats64] = []  # the scaled gradient and the last step
        self.added: list[Matrix] = []  # the scores that they add

        def begin(some: slice) -> tuple[Floats64]:
            self.scores[some] = losses.scores(W, some)
            return (losses.gradient(self.scores[some], some),)

        self.gradient = coupling.M @ W + losses.over_leaves(begin)[0]

    @property
    def gap(self) -> float:
        """The duality gap."""
        return float(np.sum(self.gradient * (self.coupling.inverse @ self.gradient))) / 2

    def objective(self) -> float:
        """Return the objective."""
        lost = self.losses.over_leaves(lambda some: (self.losses.lost(self.scores[some], some),))[0]
        return float(np.sum(self.W * (self.coupling.M @ self.W))) / 2 + float(lost.sum())

    def is_done(self, tol: float) -> bool:
        """Tell whether the relative gap is small enough, and set the primal, unless an earlier one shows it is not."""
        if self.gap <= tol * self.primal:
            self.primal = self.objective()
        return self.gap <= tol * self.primal

    def step(self) -> bool:
        """Make one step; return whether it descends."""
        if self.done % RESCALED == 0:
            self._average_hessians()
        self.done += 1
        Q, U = self.coupling.vectors, self.basis
        scaled = (Q.T @ self.gradient @ U) / (self.coupling.values[:, None] + self.curvatures)
        self.directions[:1], self.added[:1] = [-(Q @ scaled @ U.T)], [np.empty_like(self.scores)]
        factors = self._best_factors()
        step = np.einsum("ak,akj->kj", factors, np.array(self.directions))
        slope, length = float(np.sum(self.gradient * step)), 1.0
        if not slope < 0:
            return False
        added = [factor.astype(self.scores.dtype)[:, None] for factor in factors]

        def move(some: slice) -> tuple[Floats64]:
            for total, (factor, one) in enumerate(zip(added, self.added, strict=True)):
                one[some] *= factor[some]
                if total:
                    one[some] += self.added[0][some]
            self.scores[some] += self.added[-1][some]
            return (self.losses.gradient(self.scores[some], some),)

        start, gradient = self.W, self.losses.over_leaves(move)[0]
        while True:
            self.W = start + length * step
            self.gradient = self.coupling.M @ self.W + gradient
            after = float(np.sum(self.gradient * step))
            if after <= -TOO_FAR * slope:
                break
            shorter = length * max(SHORTEST, slope / (slope - after))
            gradient, length = self._add(self.added[-1], shorter - length), shorter
        self.directions = [step, length * step]
        self.added = [self.added[0], self.added[-1] * self.scores.dtype.type(length)]
        return True

    def _add(self, added: Matrix, factor: float) -> Floats64:
        """Add multiples of other scores; return the gradient of the losses."""

        def move(some: slice) -> tuple[Floats64]:
            self.scores[some] += added[some] * self.scores.dtype.type(factor)
            return (self.losses.gradient(self.scores[some], some),)

        gradient: Floats64 = self.losses.over_leaves(move)[0]
        return gradient

    def _best_factors(self) -> Floats64:
        """Return the factors of all directions and leaves that minimise the quadratic model; set what they add."""
        losses, n = self.losses, len(self.directions)

        def products(some: slice) -> tuple[Floats64]:
            self.added[0][some] = losses.scores(self.directions[0], some)
            bent = losses.curvature(self.scores[some], some)
            sums = np.empty((len(bent), n, n))
            for a in range(n):
                weighted = bent * self.added[a][some]
                for b in range(a + 1):
                    sums[:, a, b] = sums[:, b, a] = np.einsum("ki,ki->k", weighted, self.added[b][some])
            return (sums,)

        sums, K = losses.over_leaves(products)[0], len(self.W)
        blocks, right = np.empty((n, K, n, K)), np.empty((n, K))
        for a in range(n):
            right[a] = -np.sum(self.gradient * self.directions[a], axis=1)
            for b in range(n):
                blocks[a, :, b] = self.coupling.M * (self.directions[a] @ self.directions[b].T) + np.diag(sums[:, a, b])
        system = blocks.reshape(n * K, n * K)
        scale = 1 / np.sqrt(np.maximum(np.diag(system), SMALLEST))
        system *= scale[:, None] * scale
        system[np.diag_indices_from(system)] += DAMPING
        factors: Floats64 = (scale * np.linalg.solve(system, scale * right.ravel())).reshape(n, K)
        return factors

    def _average_hessians(self) -> None:
        """Set the eigenvectors and eigenvalues of the leaves' mean Hessian."""
        losses = self.losses

        def total(some: slice) -> tuple[Matrix]:
            return (np.sum(losses.curvature(self.scores[some], some), axis=0, keepdims=True),)

        mean = np.sum(losses.over_leaves(total)[0], axis=0) / len(self.W)
        hessian = (losses.X * mean[:, None]).T @ losses.X
        values, self.basis = np.linalg.eigh(hessian.astype(np.float64))
        self.curvatures = np.maximum(values, 0.0)
