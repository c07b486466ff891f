"""Recursive regularisation on a tree, solved jointly and certified.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves n Σ_i c_in ℓ(y_in w_n·x_i)
Moves     sweeps over all blocks raise the joint dual, `cladist.solvers.tree.joint_dual`
Stops     every few sweeps, leaves are solved given the nodes above, which gives a good primal point,
          `cladist.solvers.tree.duality_gap`; the search ends when (primal − dual) / primal ≤ tol
Found by  Gopal & Yang 2013, eqs. 2 and 3, for the problem
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from cladist import checkpoints, progress
from cladist.errors import ParameterError, one_of
from cladist.execution import Executor
from cladist.linear_model.path_sums import PathSumWeights, differences_of_leaves, differences_of_paths
from cladist.linear_model.problem_tree import ROOTS, BlockAlphas, ProblemTree, build_leaf_blocks, schedule_rounds
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.training_rows import Floats32, Floats64, Ids
from cladist.linear_model.weights import DenseWeights, Weights
from cladist.solvers.cost import DescentLimit
from cladist.solvers.linear.one_vs_rest import solve_one_vs_rest
from cladist.solvers.problem import History, OneVsRest, Settings, Solution, duality_gap
from cladist.solvers.tree.best_parents import energy_above
from cladist.solvers.tree.duality_gap import (
    LEAF_SWEEPS,
    DualValue,
    PrimalPoint,
    evaluate_dual,
    leaf_energy,
    primal_of_differences,
    primal_point,
)
from cladist.solvers.tree.joint_dual import LARGE_TERM
from cladist.solvers.tree.joint_workers import open_joint
from cladist.storage.array_pool import storable

FORMS = ("dense", "sparse", "dual", "differences")
FIRST_CHECK, CHECK_EVERY, LEAST_BETWEEN = 8, 4, 2  # sweeps
NEAR, SETTLED = 20.0, 3.0  # multiples of tol: a new primal point pays below this gap, or below this rise of the dual
SMALLEST_EPS = 1e-6
TIGHTER = 0.25  # times the violation that leaves are solved to, where the dual has settled and the gap has not closed
# Times tol, and at least: the part of the mean share by which optimality is violated in the first sweeps.
PART_OF_SHARE, LEAST_PART = 100.0, 0.15
FORM_GAP = 3e-8  # the gap that rounding may add in the weights returned
ROUNDING_GAP = 1e-6  # the gap that α in float32 may leave, over the largest α ‖x‖
KEPT = ("best", "dual", "reach", "root_bound", "highest_alphas", "history", "leaf_visits", "eps", "leaf_eps")
KEPT_OF_JOINT = ("roots", "states", "agreement", "relaxation", "sweeps_listed")  # stored vectors follow from α
CLOSE, MANY_ROWS = 1e-4, 10_000  # for a wider gap and this many rows, one sweep over all rows is enough


@storable
@dataclass(frozen=True)
class State:
    """Where a search ended, for a warm start."""

    alphas: list[BlockAlphas]  # of each block
    order: Ids  # of their rows
    centres: Floats32  # (free roots × features in use)

    def scaled(self, factor: float) -> State:
        """Return the state to begin from when all costs are multiplied by a factor."""
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
    limit: DescentLimit | None = None,
    prior: sparse.csr_array | None = None,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves Σ_i c_i ℓ(y_i w·x_i), κ = 1 but for inner nodes `sharing`.

    Parameters
    ----------
    problem : OneVsRest
        One problem per leaf.
    tree : ProblemTree
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the maximal number of sweeps.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0, pulled nowhere, or held at 0. A leaf that is a root is always pulled to 0.
    blocks_per_round : int
        The number of blocks solved from one snapshot; part of the algorithm, whatever the number of workers.
    executor : Executor, optional
        Runs the blocks of a round; the result does not depend on it.
    form : {"dense", "sparse", "dual", "differences"}
        The form of the weights returned; "dual" takes no more memory than the search. "differences" are those of all
        nodes from their parents, which beam search needs.
    prune : float
        Weights, or differences, up to this size are dropped in the forms "sparse" and "differences".
    state : State, optional
        Where to begin, from an earlier call for the same rows and tree.
    keep_state : bool
        Whether to return the state.
    limit : DescentLimit, optional
        Raises a `SlowDescentError` once Newton steps cost less than what remains to be done.
    prior : CSR (problems × columns), optional
        Vectors u known before training: the penalty of a leaf is ‖w_n − w_parent(n) − u_n‖². With v = w less the u of
        leaves it is the problem above, for rows whose margins begin at y u·x, and is certified as that is. Roots are
        not free then, and weights are "dense" or "sparse".

    Returns
    -------
    Solution
        `weights` are those of the leaves; `history` has one entry per check: `objective`, `dual`, `gap` (relative),
        `passes`, `seconds` and, with free roots, `reach`. The last entry is that of the weights returned, with the
        best inner nodes given the leaves; with those returned in the form "differences", and those of the search where
        roots are free.

    Notes
    -----
    Memory: 4 bytes per feature for each node whose leaves fill more than one block, 128 bytes per feature and 64 per
    row for each worker, 68 bytes for each row and block in which an α is not 0, at most five times, and 4 bytes per
    leaf and feature for dense weights.

    A free root makes the dual −∞ unless Σ α y x = 0 over the leaves below. `dual` then bounds the objective from below
    as long as no root is further than `reach` from its present position. `reach` is the length of the longest leaf, or
    the distance that moves the score of a row of usual length by 1, if that is larger; the objective being convex, a
    point k times as far away is better by at most k times that gap. As roots move, such a bound may fall.
    """
    one_of("solve_recursive", "root", root, ROOTS)
    one_of("solve_recursive", "form", form, FORMS)
    if blocks_per_round < 1:
        raise ParameterError(f"solve_recursive: blocks_per_round must be 1 or more; got {blocks_per_round}.")
    settings = settings or Settings(max_iter=100)
    if prior is not None:
        if root == "free" or form in ("dual", "differences"):
            raise ParameterError("solve_recursive: with a prior, root is not 'free' and form is 'dense' or 'sparse'.")
        tree = _as_star(tree) if is_flat(tree, root) else tree
    elif is_flat(tree, root):
        options = {"executor": executor, "prune": prune, "state": state, "keep_state": keep_state}
        if form != "differences":
            return _solve_flat(problem, settings, form=form, **options)
        flat = _solve_flat(problem, settings, form="sparse", **options)
        return replace(flat, weights=differences_of_leaves(flat.weights, replace(tree, sharing=0.0), root))
    search = _Search(problem, tree, settings, root, blocks_per_round, executor, state, form, prior)
    kept, parts = checkpoints.scope("sweeps"), search.kept_parts(limit)
    task = progress.task("recursive regularisation", settings.max_iter, unit="sweeps")
    with closing(search.joint), task as running:
        first = search.go_on(kept.load(), parts)
        if first:
            running.advance(first)
        for sweep in range(first, settings.max_iter):
            search.joint.sweep(sweep, search.rounds, search.eps)
            if sweep == 0:
                search.limit_violation()
            running.advance()
            if search.is_check_due(sweep) and search.check(sweep):
                break
            if limit is not None:
                limit.check(search.joint.visits, search.leaf_visits, search.gap, FIRST_CHECK - sweep - 1)
            if search.joint.is_fresh:
                kept.save(lambda: [sweep + 1, checkpoints.state_of(*parts)])  # noqa: B023 - called at once
        return search.solution(form, prune, keep_state)


def is_flat(tree: ProblemTree, root: str) -> bool:
    """Tell whether leaves share nothing."""
    held = root == "fixed" and bool(np.all(tree.parent[tree.inner] < 0))
    return tree.sharing == 0 or not len(tree.inner) or held


def _as_star(tree: ProblemTree) -> ProblemTree:
    """Return a tree whose leaves are all roots, which is what leaves that share nothing are."""
    n_leaves = len(tree.leaves)
    return ProblemTree(np.full(n_leaves, -1, np.int64), np.arange(n_leaves))


def _solve_flat(problem: OneVsRest, settings: Settings, **options: Any) -> Solution:
    """Solve leaves that share nothing independently, and sum up their objectives."""
    started = time.perf_counter()
    solution = solve_one_vs_rest(problem, settings, **options)
    objective = float(sum(entry["objective"] for entry in solution.history))
    gap = float(sum(entry["objective"] * entry["gap"] for entry in solution.history))
    entry = {
        "objective": objective,
        "dual": objective - gap,
        "gap": gap / objective if objective > 0 else 0.0,
        "passes": max((entry["passes"] for entry in solution.history), default=0),
        "seconds": time.perf_counter() - started,
    }
    return replace(solution, history=[entry])


class _Search:
    """The bounds found so far, and the decision to stop."""

    def __init__(
        self,
        problem: OneVsRest,
        tree: ProblemTree,
        settings: Settings,
        root: str,
        blocks_per_round: int,
        executor: Executor | None,
        state: State | None,
        form: str,
        prior: sparse.csr_array | None = None,
    ) -> None:
        # In memory, too, rows are in a random order: see `cladist.solvers.linear.one_vs_rest`.
        self.order = np.random.default_rng(settings.seed).permutation(len(problem.rows))
        if state is not None:
            self.order = state.order
        self.problem, self.settings = problem.reorder(self.order), settings
        self.tree, self.root = tree, root
        layout = build_leaf_blocks(tree, root)
        layout = layout if prior is None else layout.with_prior(prior, problem.rows.feature_of)
        self.rounds = schedule_rounds(len(layout.blocks), blocks_per_round)
        self.joint = open_joint(self.problem, layout, executor, settings.seed, blocks_per_round)
        self.largest_cost = max(1.0, float(np.max(problem.costs, initial=0.0)))
        # With large costs for the gap, leaves are solved in float64, and α in float32 would not give their weights.
        largest = self.largest_cost * self.joint.longest_row
        exact = largest > LARGE_TERM or ROUNDING_GAP * largest > settings.tol
        self.dense = form == "dense" and exact and problem.surrogate.sparse_dual
        # Differences are from the inner nodes of the search; other forms have the best ones given the leaves.
        self.has_best_parents = form != "differences" and root != "free"
        self.eps = problem.surrogate.first_violation(self.largest_cost)
        self.leaf_eps = problem.surrogate.leaf_violation(settings.tol, self.largest_cost)
        self.best: PrimalPoint | None = None  # the point with the lowest objective
        self.dual, self.reach = -np.inf, 0.0  # the best lower bound, and how far free roots may move for it to hold
        # With free roots, the dual value of the best bound, and the positions of the roots then.
        self.root_bound: tuple[DualValue, Floats64] | None = None
        # The α of the highest dual, while over-relaxed steps may lower it.
        self.highest_alphas: list[BlockAlphas] | None = None
        self.history: History = []
        self.leaf_visits = 0  # visits to rows, to compute primal points
        self.started = time.perf_counter()
        if state is not None:
            self.joint.centres[:] = state.centres
            self.joint.start_from(state.alphas)

    def kept_parts(self, limit: DescentLimit | None) -> list[checkpoints.Attributes]:
        """Return what changes from sweep to sweep."""
        parts: list[checkpoints.Attributes] = [(self, KEPT), (self.joint, KEPT_OF_JOINT)]
        return parts if limit is None else [*parts, (limit, ("costs", "before"))]

    def go_on(self, state: Any, parts: list[checkpoints.Attributes]) -> int:
        """Go back to where a checkpoint was written, if there is one; return how many sweeps were done by then."""
        if state is None:
            return 0
        done, values = state
        checkpoints.restore(values, *parts)
        self.joint.take_over()
        return int(done)

    @property
    def primal(self) -> float:
        """The lowest objective so far."""
        return self.best.primal if self.best is not None else np.inf

    @property
    def gap(self) -> float:
        """The relative duality gap; an objective of 0 cannot be lowered."""
        return duality_gap(self.primal, self.dual)["gap"] if self.primal < np.inf else np.inf

    def limit_violation(self) -> None:
        """Lower the violation that sweeps leave to a part of the mean α / c, where α are shares of c and never 0.

        The more leaves there are, the smaller are the shares of negative rows, and steps of that size count.
        """
        low, high = self.problem.surrogate.dual_bounds(1.0)
        if self.problem.surrogate.sparse_dual or low == -np.inf or high == np.inf:
            return
        weights = len(self.order) if self.problem.row_weights is None else float(np.sum(self.problem.row_weights))
        total = float(sum(np.sum(alphas.values, dtype=np.float64) for alphas in self.joint.alphas))
        share = total / (weights * float(np.sum(self.problem.costs[1])))
        part = min(1.0, max(PART_OF_SHARE * self.settings.tol, LEAST_PART))
        self.eps = min(self.eps, max(part * share, SMALLEST_EPS))

    # ---------------------------------------------------------------- checks

    def is_check_due(self, sweep: int) -> bool:
        """Tell whether to check after a sweep: every few, or as soon as the gap may be small enough."""
        done = sweep + 1
        if done >= self.settings.max_iter or not self.history:
            return done >= min(FIRST_CHECK, self.settings.max_iter)
        return done - self.history[-1]["passes"] >= self._sweeps_to_go()

    def _sweeps_to_go(self) -> int:
        """Return after how many sweeps to check, given how fast the gap has fallen between the last two checks."""
        if len(self.history) < 2:
            return CHECK_EVERY
        (before, then), (gap, now) = ((entry["gap"], entry["passes"]) for entry in self.history[-2:])
        if not 0 < gap < before < np.inf:
            return CHECK_EVERY
        needed = (now - then) * np.log(gap / self.settings.tol) / np.log(before / gap)
        return int(np.clip(np.ceil(needed), LEAST_BETWEEN, CHECK_EVERY))

    def check(self, sweep: int) -> bool:
        """Update the bounds and the history; return whether the gap is small enough.

        The dual is cheap to evaluate. A new primal point is worth its cost where the gap is nearly small enough, or
        where the dual has settled.
        """
        tol, last = self.settings.tol, sweep + 1 >= self.settings.max_iter
        if last or not self.history or self.gap <= NEAR * tol:
            self._update_primal()
        else:
            value = self._restore_if_fallen(evaluate_dual(self.joint))
            rise = value.bound(self.reach) - self.dual
            self._update_dual(value)
            if rise <= SETTLED * tol * abs(self.dual) or self.gap <= tol:  # the result needs a point of its own
                self._update_primal()
        entry = {**duality_gap(self.primal, self.dual), "passes": sweep + 1}
        if len(self.joint.free):
            entry["reach"] = self.reach
        self.history.append({**entry, "seconds": time.perf_counter() - self.started})
        self.eps = max(self.eps / 2, SMALLEST_EPS)
        ends = last or self.gap <= max(tol - FORM_GAP, tol / 2)
        if not (ends or self.problem.surrogate.sparse_dual) and self.best is not None:
            self.best = replace(self.best, own=None)  # nearly all rows: the last check finds them anew
        return ends

    def _update_primal(self) -> None:
        """Compute a primal point, and keep it if it is the best; update the dual."""
        tol, surrogate, dual = self.settings.tol, self.problem.surrogate, self.dual
        sweeps = LEAF_SWEEPS if tol < CLOSE or len(self.order) < MANY_ROWS else 1
        own = self.best.own if self.best is not None and surrogate.sparse_dual else None
        compute = partial(primal_point, self.joint, self.leaf_eps, sweeps, own, dense=self.dense)
        point = compute()
        if self._restore_if_fallen(point.dual) is not point.dual:
            point = compute()
        if self.has_best_parents and point.own is not None:
            saved = energy_above(self.joint, self.tree, self.root, point.own)
            point = replace(point, primal=point.primal - saved / 2)
        self.leaf_visits += point.visits
        self.reach = max(point.longest, self.problem.rows.least_reach)
        self._update_dual(point.dual)
        if not surrogate.sparse_dual:  # nearly all rows have α: those of an earlier point would take much memory
            self.best = point
        elif point.primal < self.primal:
            self.best = replace(point, alphas=self.joint.alphas, centres=self.joint.centres.copy())
        if self.gap > tol and self.dual - dual <= tol * abs(dual):  # what is left of the gap is in the leaves
            self.leaf_eps = max(self.leaf_eps * TIGHTER, SMALLEST_EPS)

    def _restore_if_fallen(self, value: DualValue) -> DualValue:
        """Return to the α of the highest dual if over-relaxed steps have lowered it, and end over-relaxation."""
        if self.highest_alphas is None or len(self.joint.free) or value.bound(0.0) >= self.dual:
            return value
        self.joint.relaxation = 1.0
        self.joint.start_from(self.highest_alphas)
        self.highest_alphas = None  # from now on only rounding lowers the dual, which is no reason to go back
        return evaluate_dual(self.joint)

    def _update_dual(self, value: DualValue) -> None:
        """Keep the best lower bound."""
        bound = value.bound(self.reach)
        self.dual = self._bound_with_free_roots(value) if len(self.joint.free) else max(self.dual, bound)
        if self.joint.relaxation > 1:
            self.highest_alphas = self.joint.alphas

    def _bound_with_free_roots(self, value: DualValue) -> float:
        """Return the higher of the present bound and the best before, both within reach of the present roots."""
        roots, bound = self.joint.V[self.joint.free].astype(np.float64), value.bound(self.reach)
        if self.root_bound is not None:
            best, positions = self.root_bound
            moved = float(np.sqrt(np.max(np.sum((roots - positions) ** 2, axis=1))))
            if best.bound(self.reach + moved) > bound:
                return best.bound(self.reach + moved)
        self.root_bound = value, roots
        return bound

    # ---------------------------------------------------------------- the result

    def solution(self, form: str, prune: float, keep_state: bool) -> Solution:
        """Return the best point in its final form."""
        assert self.best is not None
        state = None
        if keep_state:
            copies = [BlockAlphas(a.rows, a.values.copy()) for a in self.joint.alphas]
            state = State(copies, self.order, self.joint.centres.copy())
        weights = self._weights(self.best, form, prune)
        # Other forms hold the inner nodes of the search, with which the last entry was computed.
        if isinstance(weights, (DenseWeights, SparseWeights)) and not prune and not self.joint.layout.has_prior:
            self._replace_primal(leaf_energy(weights.columns(), self.tree, self.root) / 2 + self.best.lost)
        return Solution(weights, weights.intercepts, self.history, self.gap <= self.settings.tol, state)

    def _replace_primal(self, primal: float) -> None:
        """Put the objective of the weights returned into the last entry of the history."""
        assert self.best is not None
        self.best = replace(self.best, primal=primal)
        self.history[-1] |= duality_gap(primal, self.dual)

    def _weights(self, best: PrimalPoint, form: str, prune: float) -> Weights:
        if best.weights is not None:
            return self._dense_weights(best.weights)
        joint = self.joint
        if best.alphas is not None and any(a is not b for a, b in zip(joint.alphas, best.alphas, strict=True)):
            joint.centres[:] = best.centres
            joint.start_from(best.alphas)
        weights = PathSumWeights(joint.path_sums(best.own), self.tree, self.root, joint.centres)
        if form == "dense":
            return self._dense_weights(weights.sums.blocks())
        if form == "differences":
            self._replace_primal(primal_of_differences(weights, joint))
            return differences_of_paths(weights, prune)
        return SparseWeights.from_weights(weights, prune) if form == "sparse" else weights

    def _dense_weights(self, blocks: Iterable[Floats32]) -> DenseWeights:
        classes = (block.classes for block in self.joint.layout.blocks)
        return DenseWeights.from_lanes(zip(classes, blocks, strict=True), self.problem.n_classes, self.problem.rows)
