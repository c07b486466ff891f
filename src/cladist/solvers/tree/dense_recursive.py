"""Recursive regularisation on a tree, for dense rows of few features: Newton steps for all nodes at once.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves k Σ_i c_ik ℓ(m_ik), m_ik = y_ik w_k·x_i
Steps     Newton's method on the primal for the smooth losses, with halving; for the hinge Mehrotra's interior point
          method, as `cladist.solvers.linear.interior_point` has it for one problem. Either way a step solves
          (M + diag(Xᵀ D_k X at leaf k)) ΔW = R, M the Laplacian of the tree: leaves are eliminated first, then inner
          nodes from below, each a d × d system.
Stops     when (primal − dual) / primal ≤ tol
Cost      a step O(leaves · n d²), whatever C and the scale of features, where coordinate descent takes hundreds of
          sweeps
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.errors import one_of
from cladist.execution import Executor, Serial
from cladist.linear_model.dense import DenseWeights
from cladist.linear_model.problem_tree import ROOTS, ProblemTree
from cladist.solvers.linear.dense_solvers import dense_rows, suits_direct
from cladist.solvers.linear.rounding import EPSILON, ROUNDINGS
from cladist.solvers.problem import SMALLEST_WEIGHT, OneVsRest, Settings
from cladist.solvers.solution import Solution, duality_gap
from cladist.solvers.tree.linear_system import Factors, TreeSystem

MOST_ALPHAS = 5_000_000  # rows × leaves; some ten arrays of that many float64
MOST_ENTRIES = 2**27  # of all nodes' systems, each features × features in float64; there are two of each
MOST_STEPS = 200
STEP_TO_BOUND, CLOSEST = 0.995, 1e-15  # share of the way to a bound that a step goes, and how near, as a share of c
SHORTEST_STEP = 1e-10

Floats = npt.NDArray[np.float64]


def suits_direct_recursive(problem: OneVsRest, tree: ProblemTree) -> bool:
    """Tell whether rows are dense and low-dimensional, leaves few enough, and inner nodes shared."""
    few = len(problem.rows) * problem.n_classes <= MOST_ALPHAS
    few = few and (problem.n_classes + len(tree.inner)) * problem.rows.n_used**2 <= MOST_ENTRIES
    return bool(few and tree.sharing > 0 and len(tree.inner) and suits_direct(problem))


def solve_recursive_directly(
    problem: OneVsRest,
    tree: ProblemTree,
    settings: Settings | None = None,
    *,
    root: str = "zero",
    executor: Executor | None = None,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves Σ_i c_i ℓ(y_i w·x_i) by steps for all nodes.

    Parameters
    ----------
    problem : OneVsRest
        One problem per leaf.
    tree : ProblemTree
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the most steps.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0, pulled nowhere, or held at 0.
    executor : Executor, optional
        Runs the leaves of a step side by side; the result does not depend on it.

    Returns
    -------
    Solution
        `weights` are those of the leaves; `history` has one entry per step: the best `objective`, `dual` and `gap`.

    Notes
    -----
    With free roots `dual` is a bound as `cladist.solvers.tree.recursive` says. Memory: 8 bytes per pair of features
    at each node, twice, and some ten arrays of 8 bytes per row and leaf.
    """
    one_of("solve_recursive_directly", "root", root, ROOTS)
    settings = settings or Settings()
    started = time.perf_counter()
    most = min(settings.max_iter, MOST_STEPS)
    with progress.task("recursive regularisation", most) as running, threadpool_limits(1, user_api="blas"):
        search = (_Newton if problem.surrogate.smooth else _InteriorPoint)(problem, tree, root, executor or Serial())
        best, history = search.evaluate(), []
        for done in range(most + 1):
            history.append({**best.history_entry(), "passes": done, "seconds": time.perf_counter() - started})
            if best.gap <= settings.tol or done == most or not search.step():
                break
            running.advance()
            found = search.evaluate()
            best = found.better(best, anywhere=not np.any(search.system.free))
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
        found = duality_gap(self.primal, self.dual)
        return found if self.reach is None else {**found, "reach": self.reach}

    def better(self, before: _Bounds, *, anywhere: bool) -> _Bounds:
        """Return the lower primal and the higher dual of two, or the later one if duals do not hold `anywhere`."""
        lower = self if self.primal <= before.primal else before
        return _Bounds(lower.W, lower.primal, max(self.dual, before.dual) if anywhere else self.dual, self.reach)


class _Steps(ABC):
    """Steps for all leaves and inner nodes at once."""

    def __init__(self, problem: OneVsRest, tree: ProblemTree, root: str, executor: Executor) -> None:
        self.surrogate = problem.surrogate
        self.X = dense_rows(problem.rows)
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
        found: Floats = self.signs * (W @ self.X.T)
        return found

    def sums(self, alpha: Floats) -> Floats:
        """Return Σ α y x of every leaf."""
        found: Floats = (self.signs * alpha) @ self.X
        return found

    def factorise(self, curvature: Floats) -> Factors:
        """Factorise the system for given curvatures c ℓ''. O(leaves · n d²)."""
        return self.system.factorise(self._hessian, curvature, self.executor)

    def _hessian(self, curvature: Floats) -> Floats:
        bent = np.flatnonzero(curvature)
        some = self.X[bent]
        found: Floats = (some * curvature[bent, None]).T @ some
        return found

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
        found = self._with_weights(best, best.W.astype(np.float32))
        for roundings in () if self.surrogate.smooth else ROUNDINGS:
            if found.gap <= tol:
                break
            longer = self._with_weights(best, (best.W * (1 + roundings * EPSILON)).astype(np.float32))
            found = longer if longer.primal < found.primal else found
        return found

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

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
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
        wanted = 1 - self.margins(self.W) + zero_target / self.alpha - cost_target / self.room
        leaves, inner = self.solve(factors, self.sums(self.alpha + wanted / diagonal))
        alpha = (wanted - self.margins(leaves)) / diagonal
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
    """Return the mean product of a bound's room and its multiplier, a leaf: 0 at the optimum."""
    found: Floats = np.mean(alpha * at_zero + room * at_cost, axis=1, keepdims=True) / 2
    return found


def _lengths(values: tuple[Floats, ...], steps: tuple[Floats, ...]) -> Floats:
    """Return how much of a step keeps everything positive, a leaf."""
    found = np.ones((len(values[0]), 1))
    for value, step in zip(values, steps, strict=True):
        room = np.where(step < 0, -value / np.minimum(step, -1e-300), np.inf)
        found = np.minimum(found, room.min(axis=1, keepdims=True))
    return found
