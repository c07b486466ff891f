"""Recursive regularisation on a tree, solved jointly and certified.

Sweeps over all blocks (`cladist.solvers.tree.joint_dual`) raise the joint dual; from time to time the leaves are solved
by themselves, the nodes above fixed, which gives a good primal point, and the two together a gap.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.errors import ParameterError, one_of
from cladist.execution import Executor
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.dense import DenseWeights
from cladist.linear_model.difference_builder import differences_of_leaves, differences_of_paths
from cladist.linear_model.leaf_blocks import LeafBlocks, build_leaf_blocks, schedule_rounds
from cladist.linear_model.path_sums import BlockAlphas, PathSumWeights, free_roots
from cladist.linear_model.problem_tree import ROOTS, ProblemTree
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.training_rows import aligned_zeros
from cladist.linear_model.weights import Weights
from cladist.solvers.linear.one_vs_rest import solve_one_vs_rest
from cladist.solvers.problem import OneVsRest, Settings
from cladist.solvers.solution import Solution, duality_gap
from cladist.solvers.tree.duality_gap import Finished, Measured, finished, measured, primal_of_differences
from cladist.solvers.tree.joint_dual import Joint
from cladist.solvers.tree.leaf_energy import leaf_energy

FORMS = ("dense", "sparse", "dual", "differences")
FIRST_CHECK, CHECK_EVERY = 8, 4  # sweeps
NEAR, SETTLED = 20.0, 3.0  # as multiples of tol: the last gap, or the dual's rise since, at which a check is worth it
# Violations of optimality that sweeps over blocks leave, at first; they are tightened with every check that fails.
EPS = {"hinge": 0.01, "squared_hinge": 0.01, "logistic": 0.001}
SMALLEST_EPS = 1e-6
LEAF_SWEEPS = 50
CLOSE, MANY_ROWS = 1e-4, 10_000  # for a wider gap, one sweep over so many rows and some over active ones do


@dataclass(frozen=True)
class State:
    """Where a search ended.

    Attributes
    ----------
    alphas : list of BlockAlphas
        Of each block.
    order : array
        The order of the rows that they speak of.
    centres : array (free roots × features in use)
    """

    alphas: list[BlockAlphas]
    order: npt.NDArray[np.int64]
    centres: npt.NDArray[np.float32]

    def scaled(self, factor: float) -> State:
        """Return where to begin if C is so many times as large."""
        alphas = [BlockAlphas(a.rows, a.values * np.float32(factor)) for a in self.alphas]
        return State(alphas, self.order, self.centres)


def solve_recursive(
    problem: OneVsRest,
    tree: ProblemTree,
    settings: Settings | None = None,
    *,
    root: str = "zero",
    blocks_per_round: int = 1,
    executor: Executor | None = None,
    form: str = "dense",
    prune: float = 0.0,
    state: Any = None,
    keep_state: bool = False,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves Σ_i c_i ℓ(y_i w·x_i), κ = 1 but for inner nodes `sharing`.

    Parameters
    ----------
    problem : OneVsRest
        One problem a leaf.
    tree : ProblemTree
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the most sweeps.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0, pulled nowhere, or held at 0. A leaf that is a root is always pulled to 0.
    blocks_per_round : int
        How many blocks are solved from one snapshot; part of the algorithm, whatever the number of workers.
    executor : Executor, optional
        Runs the blocks of a round; the result does not depend on it.
    form : {"dense", "sparse", "dual", "differences"}
        That of the weights returned; "dual" takes no more memory than the search. "differences" are those of all nodes
        from their parents, without which one cannot walk down the tree.
    prune : float
        With "sparse" weights, with "differences" those, up to this size are dropped.
    state : State, optional
        Where to begin, from an earlier call for the same rows and tree.
    keep_state : bool
        Whether to return that.

    Returns
    -------
    Solution
        `weights` are those of the leaves; `history` has an entry a check: `objective`, `dual`, `gap` (relative),
        `passes`, `seconds` and, with free roots, `reach`. The last entry is that of the weights returned: the nodes
        above them are those that "dual" and "differences" hold, and the best given the leaves in other forms.

    Notes
    -----
    Memory: 4 bytes a feature for each node whose leaves fill more than one block, 128 bytes a feature and 64 a row for
    each worker, 68 bytes for each row and block in which an α is not 0, five times at most, and 4 bytes a leaf and
    feature for dense weights.

    A free root makes the dual −∞ unless Σ α y x = 0 over the leaves below. `dual` is then what bounds the objective
    wherever no root is further than `reach` from where it is now: than the longest leaf is from 0, or than what moves
    the score of a row of usual length by 1, if that is further; the objective being convex, a point k times as far away
    is better by k times that gap at most. As roots move, such a bound may fall.
    """
    one_of("solve_recursive", "root", root, ROOTS)
    one_of("solve_recursive", "form", form, FORMS)
    if blocks_per_round < 1:
        raise ParameterError(f"solve_recursive: blocks_per_round must be 1 or more; got {blocks_per_round}.")
    settings = settings or Settings(max_iter=100)
    if tree.sharing == 0 or not len(tree.inner) or (root == "fixed" and np.all(tree.parent[tree.inner] < 0)):
        if form != "differences":
            return _flat(problem, settings, executor, form, prune, state, keep_state)
        apart = _flat(problem, settings, executor, "sparse", prune, state, keep_state)
        return replace(apart, weights=differences_of_leaves(apart.weights, replace(tree, sharing=0.0), root))
    search = _Search(problem, tree, settings, root, blocks_per_round, executor, state, dense=form == "dense")
    with progress.task("recursive regularisation", search.settings.max_iter) as running:
        for sweep in range(search.settings.max_iter):
            search.sweep(sweep)
            running.advance()
            if search.is_due(sweep) and search.check(sweep):
                break
    return search.solution(form, prune, keep_state)


def _flat(
    problem: OneVsRest, settings: Settings, executor: Any, form: str, prune: float, state: Any, keep_state: bool
) -> Solution:
    """Solve leaves that share nothing, each by itself."""
    started = time.perf_counter()
    solution = solve_one_vs_rest(
        problem, settings, executor=executor, form=form, prune=prune, state=state, keep_state=keep_state
    )
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


@dataclass(frozen=True)
class _Point:
    """Leaves, and the α that say what lies above them; None: as they are now."""

    finished: Finished
    alphas: list[BlockAlphas] | None = None
    centres: Any = None


class _Search:
    """Sweeps, checks, and the decision to stop."""

    def __init__(
        self,
        problem: OneVsRest,
        tree: ProblemTree,
        settings: Settings,
        root: str,
        blocks_per_round: int,
        executor: Executor | None,
        state: State | None,
        *,
        dense: bool,
    ) -> None:
        # In memory, too, rows are in a random order: see `cladist.solvers.linear.one_vs_rest`.
        self.order = np.random.default_rng(settings.seed).permutation(len(problem.rows))
        if state is not None:
            self.order = state.order
        self.problem, self.settings = problem.taken(self.order), settings
        self.layout = build_leaf_blocks(tree, root)
        roots = free_roots(self.layout, tree, root)
        self.tree, self.root = tree, root
        self.joint = Joint(self.problem, self.layout, executor, settings.seed, free=roots)
        self.rounds = schedule_rounds(len(self.layout.blocks), blocks_per_round)
        self.largest_cost = max(1.0, float(np.max(problem.costs, initial=0.0)))
        self.eps = EPS[problem.loss] / (1.0 if problem.loss == "logistic" else self.largest_cost)
        self.dense = dense
        self.best: _Point | None = None
        self.dual, self.reach = -np.inf, 0.0
        self.bound: tuple[Measured, npt.NDArray[np.float64]] | None = None  # the best, and where free roots were then
        self.kept: list[BlockAlphas] | None = None  # where the dual was highest
        self.history: list[dict[str, float]] = []
        self.started = time.perf_counter()
        if state is not None:
            self.joint.centres[:] = state.centres
            self.joint.start_from(state.alphas)

    def sweep(self, sweep: int) -> None:
        """Visit all blocks."""
        self.joint.sweep(sweep, self.rounds, self.eps)

    def is_due(self, sweep: int) -> bool:
        """Tell whether it is time to check."""
        done = sweep + 1
        return done >= self.settings.max_iter or (done >= FIRST_CHECK and (done - FIRST_CHECK) % CHECK_EVERY == 0)

    def check(self, sweep: int) -> bool:
        """Measure how far it is; return whether that is near enough."""
        tol, last = self.settings.tol, sweep + 1 >= self.settings.max_iter
        if last or not self.history or self.gap <= NEAR * tol:
            self._finish()
        else:
            now = self._risen(measured(self.joint))
            rise = now.dual(self.reach) - self.dual
            self._keep(now)
            if rise <= SETTLED * tol * abs(self.dual) or self.gap <= tol:  # what is returned has been measured
                self._finish()
        entry = {**duality_gap(self.primal, self.dual), "passes": sweep + 1}
        if len(self.joint.free):
            entry["reach"] = self.reach
        self.history.append({**entry, "seconds": time.perf_counter() - self.started})
        self.eps = max(self.eps / 2, SMALLEST_EPS)
        return self.gap <= tol

    @property
    def primal(self) -> float:
        """The lowest objective so far."""
        return self.best.finished.primal if self.best is not None else np.inf

    @property
    def gap(self) -> float:
        """The relative duality gap; an objective of 0 cannot be lowered."""
        return duality_gap(self.primal, self.dual)["gap"] if self.primal < np.inf else np.inf

    def _risen(self, now: Measured) -> Measured:
        """Go back to where the dual was highest if it has fallen, and take no longer steps than are safe from there."""
        if self.kept is None or len(self.joint.free) or now.dual(0.0) >= self.dual:
            return now
        self.joint.further = 1.0
        self.joint.start_from(self.kept)
        self.kept = None  # rounding alone lowers the dual from now on, and that is no reason to go back so far
        return measured(self.joint)

    def _keep(self, now: Measured) -> None:
        if len(self.joint.free):
            self.dual = self._bound_here(now)
        else:
            self.dual = max(self.dual, now.dual(self.reach))
        if self.joint.further > 1:
            self.kept = self._alphas()

    def _bound_here(self, now: Measured) -> float:
        """Return the higher of the present bound and the best before, both for what free roots can reach from here."""
        roots = self.joint.V[self.joint.free].astype(np.float64)
        if self.bound is not None:
            before, where = self.bound
            moved = float(np.sqrt(np.max(np.sum((roots - where) ** 2, axis=1))))
            if before.dual(self.reach + moved) > now.dual(self.reach):
                return before.dual(self.reach + moved)
        self.bound = now, roots
        return now.dual(self.reach)

    def _alphas(self) -> list[BlockAlphas]:
        return [state.alphas for state in self.joint.states]

    def _finish(self) -> None:
        """Solve the leaves by themselves, and keep what comes of it if it is the best."""
        tol = self.settings.tol
        eps = {"hinge": 0.1 * tol / self.largest_cost, "squared_hinge": min(0.01, 10 * tol), "logistic": 0.1 * tol}
        sweeps = LEAF_SWEEPS if tol < CLOSE or len(self.order) < MANY_ROWS else 1
        finish = partial(finished, self.joint, eps[self.problem.loss], sweeps, dense=self.dense)
        found = finish()
        if self._risen(found.measured) is not found.measured:
            found = finish()
        self.reach = max(found.longest, self.problem.rows.least_reach)
        self._keep(found.measured)
        if self.problem.loss == "logistic":  # all rows have α: a second set of them would be twice the memory
            self.best = _Point(found)
        elif found.primal < self.primal:
            self.best = _Point(found, self._alphas(), self.joint.centres.copy())

    # ---------------------------------------------------------------- what comes of it

    def solution(self, form: str, prune: float, keep_state: bool) -> Solution:
        """Return the best point."""
        assert self.best is not None
        state = None
        if keep_state:
            copies = [BlockAlphas(a.rows, a.values.copy()) for a in self._alphas()]
            state = State(copies, self.order, self.joint.centres.copy())
        weights = self._weights(self.best, form, prune)
        if (
            isinstance(weights, (DenseWeights, SparseWeights)) and not prune
        ):  # other forms hold the nodes above, which were measured
            energy = leaf_energy(weights.columns(), self.tree, self.root)
            self._tell(self.best, energy / 2 + self.best.finished.lost)
        return Solution(weights, weights.intercepts, self.history, self.gap <= self.settings.tol, state)

    def _tell(self, best: _Point, primal: float) -> None:
        """Put another objective into what was measured last: that of weights as they are returned."""
        self.best = replace(best, finished=replace(best.finished, primal=primal))
        self.history[-1] |= duality_gap(primal, self.dual)

    def _weights(self, best: _Point, form: str, prune: float) -> Weights:
        n_classes, rows = self.problem.n_classes, self.problem.rows
        if best.finished.weights is not None:
            return DenseWeights.from_blocks(
                in_class_order(best.finished.weights, self.layout, n_classes), n_classes, rows
            )
        if best.alphas is not None and any(a is not b for a, b in zip(self._alphas(), best.alphas, strict=True)):
            self.joint.centres[:] = best.centres
            self.joint.start_from(best.alphas)
        weights = PathSumWeights(self.joint.sums(best.finished.own), self.tree, self.root, self.joint.centres)
        if form == "dense":
            blocks = in_class_order(weights.sums.blocks(), self.layout, n_classes)
            return DenseWeights.from_blocks(blocks, n_classes, rows)
        if form == "differences":
            self._tell(best, primal_of_differences(weights, self.joint))
            return differences_of_paths(weights, prune)
        return SparseWeights.from_weights(weights, prune) if form == "sparse" else weights


def in_class_order(
    blocks: Iterable[npt.NDArray[np.float32]], layout: LeafBlocks, n_classes: int
) -> list[npt.NDArray[np.float32]]:
    """Return blocks whose lanes are in the order of the classes."""
    ordered: list[npt.NDArray[np.float32]] = []
    for block, lanes in zip(blocks, layout.blocks, strict=True):
        if not ordered:
            ordered = [aligned_zeros(len(block)) for _ in range(-(-n_classes // WIDTH))]
        for lane, c in enumerate(lanes.classes.tolist()):
            ordered[c // WIDTH][:, c % WIDTH] = block[:, lane]
    return ordered
