"""Recursive regularisation on a tree, solved jointly and certified.

Sweeps over all blocks (`cladist.solvers.joint`) raise the joint dual; from time to time the leaves are solved by
themselves, the nodes above fixed, which gives a good primal point, and the two together a gap.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.errors import ParameterError, one_of
from cladist.execution import Executor
from cladist.kernels.lanes import WIDTH
from cladist.solvers.joint import BlockState, Finished, Joint, Terms
from cladist.solvers.layout import Layout, by_turns, lay_out, rounds_of
from cladist.solvers.one_vs_rest import solve_one_vs_rest
from cladist.solvers.problem import OneVsRest, Settings
from cladist.solvers.rows import aligned
from cladist.solvers.solution import Solution
from cladist.solvers.trees import Tree
from cladist.solvers.weights import DenseWeights

FIRST_CHECK, CHECK_EVERY = 6, 4  # sweeps
PROMISING = 3.0  # relative rise of the dual between checks, as a multiple of tol, at which leaves are solved
# Violations of optimality that sweeps over blocks leave, at first; they are tightened with every check that fails.
EPS = {"hinge": 0.01, "squared_hinge": 0.01, "logistic": 0.001}
SMALLEST_EPS = 1e-6
LEAF_SWEEPS = 50


def solve_recursive(
    problem: OneVsRest,
    tree: Tree,
    settings: Settings | None = None,
    *,
    root: str = "zero",
    blocks_per_round: int = 1,
    executor: Executor | None = None,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² + Σ_leaves Σ_i c_i ℓ(y_i w·x_i).

    Parameters
    ----------
    problem : OneVsRest
        One problem a leaf.
    tree : Tree
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the most sweeps.
    root : {"zero", "fixed"}
        Whether inner roots are pulled to 0 or held there.
    blocks_per_round : int
        How many blocks are solved from one snapshot; part of the algorithm, whatever the number of workers.
    executor : Executor, optional
        Runs the blocks of a round; the result does not depend on it.

    Returns
    -------
    Solution
        `weights` are those of the leaves; `history` has an entry a check: `objective`, `dual`, `gap` (relative),
        `passes`, `seconds`.

    Notes
    -----
    Memory: 4 bytes a feature for each node whose leaves fill more than one block, 64 bytes a feature and row for each
    worker, 68 bytes for each row and block in which an α is not 0, and 4 bytes a leaf and feature for the result.
    """
    one_of("solve_recursive", "root", root, ("zero", "fixed"))
    if blocks_per_round < 1:
        raise ParameterError(f"solve_recursive: blocks_per_round must be 1 or more; got {blocks_per_round}.")
    settings = settings or Settings(max_iter=100)
    counted = _counted(tree, root)
    if not np.any(counted[tree.inner]):
        return _flat(problem, settings, executor)
    search = _Search(problem, tree, settings, counted, blocks_per_round, executor)
    with progress.task("recursive regularisation", search.settings.max_iter) as running:
        for sweep in range(search.settings.max_iter):
            search.sweep(sweep)
            running.advance()
            if search.is_due(sweep) and search.check(sweep):
                break
    return search.solution()


def _counted(tree: Tree, root: str) -> npt.NDArray[np.bool_]:
    """Return which nodes have a vector of their own; those of fixed roots are 0."""
    counted = np.ones(len(tree.parent), bool)
    if root == "fixed":
        counted[tree.parent < 0] = False
    return counted


def _flat(problem: OneVsRest, settings: Settings, executor: Executor | None) -> Solution:
    """Solve leaves that share nothing, each by itself."""
    started = time.perf_counter()
    solution = solve_one_vs_rest(problem, settings, executor=executor)
    objective = float(sum(entry["objective"] for entry in solution.history))
    lost = float(sum(entry["objective"] * entry["gap"] for entry in solution.history))
    entry = {
        "objective": objective,
        "dual": objective - lost,
        "gap": lost / objective if objective > 0 else 0.0,
        "passes": max((entry["passes"] for entry in solution.history), default=0),
        "seconds": time.perf_counter() - started,
    }
    return replace(solution, history=[entry])


@dataclass
class _Best:
    """The best primal point so far, and the best dual."""

    finished: Finished | None = None
    primal: float = np.inf
    dual: float = -np.inf

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / self.primal if 0 < self.primal < np.inf else np.inf


class _Search:
    """Sweeps, checks, and the decision to stop."""

    def __init__(
        self,
        problem: OneVsRest,
        tree: Tree,
        settings: Settings,
        counted: npt.NDArray[np.bool_],
        blocks_per_round: int,
        executor: Executor | None,
    ) -> None:
        # In memory, too, rows are in a random order: see `cladist.solvers.one_vs_rest`.
        order = np.random.default_rng(settings.seed).permutation(len(problem.rows))
        self.problem, self.settings = problem.taken(order), settings
        self.layout = lay_out(tree.parent, tree.leaves, counted)
        self.joint = Joint(self.problem, self.layout, executor, settings.seed)
        self.rounds = rounds_of(by_turns(self.layout, tree.tops), blocks_per_round)
        self.largest_cost = max(1.0, float(np.max(problem.costs, initial=0.0)))
        self.eps = EPS[problem.loss] / (1.0 if problem.loss == "logistic" else self.largest_cost)
        self.best = _Best()
        self.history: list[dict[str, float]] = []
        self.started = time.perf_counter()
        self.kept: tuple[list[BlockState], npt.NDArray[np.float32]] | None = None

    def sweep(self, sweep: int) -> None:
        """Visit all blocks."""
        self.joint.sweep(sweep, self.rounds, self.eps)

    def is_due(self, sweep: int) -> bool:
        """Tell whether it is time to check."""
        done = sweep + 1
        return done >= self.settings.max_iter or (done >= FIRST_CHECK and (done - FIRST_CHECK) % CHECK_EVERY == 0)

    def check(self, sweep: int) -> bool:
        """Measure how far it is; return whether that is near enough."""
        terms = self.joint.terms()
        dual = terms.primal - terms.gap
        if dual < self.best.dual and self.kept is not None:
            self._restore()
            terms = self.joint.terms()
            dual = terms.primal - terms.gap
        rise = (dual - self.best.dual) / abs(dual) if np.isfinite(self.best.dual) and dual else np.inf
        self.best.dual = max(self.best.dual, dual)
        self.kept = list(self.joint.states), self.joint.V.copy()
        near = terms.gap <= self.settings.tol * terms.primal or rise <= PROMISING * self.settings.tol
        if near or not self.history or sweep + 1 >= self.settings.max_iter:
            self._finish(terms)
        self.history.append(
            {
                "objective": self.best.primal,
                "dual": self.best.dual,
                "gap": self.best.gap,
                "passes": sweep + 1,
                "seconds": time.perf_counter() - self.started,
            }
        )
        self.eps = max(self.eps / 2, SMALLEST_EPS)
        return self.best.gap <= self.settings.tol

    def _restore(self) -> None:
        """Go back to where the dual was highest, and take no longer steps than are safe from there."""
        assert self.kept is not None
        states, V = self.kept
        self.joint.states, self.joint.V = list(states), V.copy()
        self.joint.further = 1.0

    def _finish(self, terms: Terms) -> None:
        """Solve the leaves by themselves, and keep what comes of it if it is the best."""
        tol = self.settings.tol
        eps = {"hinge": 0.5 * tol / self.largest_cost, "squared_hinge": min(0.01, 10 * tol), "logistic": 0.1 * tol}
        finished = self.joint.finished(max(eps[self.problem.loss], SMALLEST_EPS), LEAF_SWEEPS)
        primal = finished.primal(terms)
        if primal < self.best.primal:
            self.best.finished, self.best.primal = finished, primal

    def solution(self) -> Solution:
        """Return the best primal point."""
        assert self.best.finished is not None
        blocks = _in_class_order(self.best.finished.weights, self.layout, self.problem)
        weights = DenseWeights.of(blocks, self.problem.n_classes, self.problem.rows)
        return Solution(weights, weights.intercepts, self.history, self.best.gap <= self.settings.tol)


def _in_class_order(blocks: list[Any], layout: Layout, problem: OneVsRest) -> list[npt.NDArray[np.float32]]:
    """Return the blocks with their lanes in the order of the classes."""
    if all(np.array_equal(b.classes, k * WIDTH + np.arange(len(b.classes))) for k, b in enumerate(layout.blocks)):
        return blocks
    ordered = [aligned(problem.rows.n_used) for _ in range(-(-problem.n_classes // WIDTH))]
    for block, lanes in zip(blocks, layout.blocks, strict=True):
        for lane, c in enumerate(lanes.classes.tolist()):
            ordered[c // WIDTH][:, c % WIDTH] = block[:, lane]
    return ordered
