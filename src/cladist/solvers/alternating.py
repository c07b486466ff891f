"""Recursive regularisation on a tree, by turns: leaves given their parents, inner nodes given parents and children.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² + Σ_leaves n Σ_i c_in ℓ(y_in w_n·x_i)
Moves     a leaf: dual coordinate descent around its parent's vector p, w = p + Σ_i α_i y_i x_i
          an inner node: the mean of its parent and children; or all inner nodes at once, given the leaves
Dual      max Σ gain(α) − ½ Σ_n ‖v_n‖², v_n = Σ_{leaves m below n} Σ_i α_im y_im x_i: the joint one, at the leaves' α
Stops     when (primal − dual) / primal ≤ tol; no move raises the objective by more than rounding does
Found by  Gopal & Yang 2013, §3. It is slow where a node has many children: it moves by 1 / (children + 1) of what the
          leaves pull.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.errors import ParameterError, one_of
from cladist.execution import Executor, Serial
from cladist.kernels import one_vs_rest as kernels
from cladist.kernels.lanes import WIDTH
from cladist.solvers.layout import lay_out
from cladist.solvers.one_vs_rest import LARGEST_VIOLATION, LOSSES, SMALLEST_FLOAT32, SMALLEST_FLOAT64
from cladist.solvers.problem import OneVsRest, Settings
from cladist.solvers.rows import aligned
from cladist.solvers.solution import Solution
from cladist.solvers.trees import Inner, Tree, squared
from cladist.solvers.weights import DenseWeights

ROOTS = ("zero", "free", "fixed")
LEAF_SWEEPS = 100  # a visit; what is left to do is done at the next
# Leaves are solved just well enough: what they miss of their own optima stays a small share of the whole gap.
LEAVES_SHARE, TIGHTER = 0.1, 0.3
ROUNDING = 1e-6  # relative rise of a leaf's objective that may be float32's and not the move's

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


def solve_alternating(
    problem: OneVsRest,
    tree: Tree,
    settings: Settings | None = None,
    *,
    root: str = "zero",
    executor: Executor | None = None,
    exact_inner: bool = False,
    keep_state: bool = False,
) -> Solution:
    """Minimise ½ Σ_n ‖w_n − w_parent(n)‖² + Σ_leaves Σ_i c_i ℓ(y_i w·x_i) as Gopal & Yang 2013 do.

    Parameters
    ----------
    problem : OneVsRest
        One problem a leaf.
    tree : Tree
    settings : Settings, optional
        `tol` is the relative duality gap, `max_iter` the most sweeps over the tree.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0, pulled nowhere, or held at 0. A leaf that is a root is always pulled to 0.
    executor : Executor, optional
        Runs the blocks of sixteen leaves; the result does not depend on it.
    exact_inner : bool
        Whether a sweep solves for all inner nodes at once and then for the leaves, instead of odd levels and then even.
    keep_state : bool
        Whether to return the state: {"inner": {node: vector over the features in use}, "alpha": rows × problems}.

    Returns
    -------
    Solution
        `weights` are those of the leaves; `history` has an entry a sweep: `objective`, `dual`, `gap` (relative) and
        `seconds`.

    Notes
    -----
    A free root makes the dual −∞ unless Σ α y x = 0 over the leaves below. `dual` is then what bounds the objective
    wherever no root is further from where it is now than the longest leaf is from 0, or than what moves the score of
    a row of usual length by 1, if that is further. The objective being convex, a
    point k times as far away is better by k times that gap at most.

    A sweep takes O(leaves / 16 · passes · nonzeros) and O(nodes · features). Memory: 8 bytes a leaf and feature in use,
    4 a leaf and row, 8 an inner node and feature in use.

    Examples
    --------
    >>> from cladist.solvers.problem import members_by_class
    >>> from cladist.solvers.rows import Rows
    >>> rows = Rows.of(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> tree = Tree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
    >>> solution = solve_alternating(problem, tree)
    >>> solution.weights.best(np.eye(3)).tolist(), solution.converged
    ([0, 1, 2], True)
    """
    settings = settings or Settings()
    one_of("solve_alternating", "root", root, ROOTS)
    if not tree.sharing > 0:
        raise ParameterError(f"solve_alternating: inner nodes need a sharing over 0; got {tree.sharing!r}.")
    search = _Alternation(problem, tree, root, executor or Serial(), settings.seed)
    history: list[dict[str, float]] = []
    started = time.perf_counter()
    with progress.task("alternating", settings.max_iter) as running:
        for number in range(settings.max_iter):
            search.sweep(number, exact_inner)
            entry = search.measured()
            history.append({**entry, "seconds": time.perf_counter() - started})
            running.advance()
            if entry["gap"] <= settings.tol:
                break
    weights = search.weights()
    state = {"inner": search.inner.by_node(), "alpha": search.alpha()} if keep_state else None
    return Solution(weights, weights.intercepts, history, history[-1]["gap"] <= settings.tol, state)


@dataclass(frozen=True)
class _Block:
    """Sixteen leaves; where there are fewer, the other lanes repeat the last.

    Attributes
    ----------
    classes : array
        The problems in the lanes in use.
    parents : array (16,)
        Places of their parents among the inner nodes, −1 for none.
    mask, costs
        As kernels take them.
    weights, shares, alpha
        w, Σ_i α_i y_i x_i and α, side by side. w is the parent's vector and the shares, as it was at the last visit,
        unless that is worse than the w before.
    lost, gain, left : arrays (16,)
        Σ c ℓ at w, what α gain in the dual, and by how much α misses the leaf's own optimum.
    """

    classes: Ids
    parents: Ids
    mask: npt.NDArray[np.uint32]
    costs: Floats32
    weights: Floats32
    shares: Floats32
    alpha: Floats32
    lost: Floats64
    gain: Floats64
    left: Floats64


class _Alternation:
    """All nodes on their way to the optimum."""

    def __init__(self, problem: OneVsRest, tree: Tree, root: str, executor: Executor, seed: int) -> None:
        self.problem, self.executor, self.seed = problem, executor, seed
        self.inner = Inner(tree, root, problem.rows.n_used)
        self.inner_of = [tree.of_parity(self.inner.nodes, parity) for parity in (0, 1)]
        self.row_weights = problem.weights32
        self.blocks: list[_Block] = []
        self.blocks_of: list[range] = []
        for parity in (0, 1):
            first = len(self.blocks)
            self.blocks += self._blocks(tree, tree.of_parity(tree.leaves, parity))
            self.blocks_of.append(range(first, len(self.blocks)))
        self.order = np.random.default_rng(seed).permutation(len(problem.rows)).astype(np.int32)
        self.eps = LARGEST_VIOLATION[problem.loss]

    def _blocks(self, tree: Tree, chosen: Ids) -> list[_Block]:
        """Return blocks of the problems chosen, siblings side by side, where they begin."""
        problem, found = self.problem, []
        for laid in lay_out(tree.parent, tree.leaves[chosen], np.ones(len(tree.parent), bool)).blocks:
            classes = chosen[laid.classes]
            lanes = np.append(classes, np.repeat(classes[-1:], WIDTH - len(classes)))
            costs = np.ascontiguousarray(problem.costs[:, lanes], np.float32)
            mask, alpha = np.zeros(len(problem.rows), np.uint32), aligned(len(problem.rows))
            logistic = problem.loss == "logistic"
            if logistic:
                alpha[:] = kernels.SHARE_NEGATIVE * costs[1] * self.row_weights[:, None]
            for k, c in enumerate(lanes.tolist()):
                members = problem.members_of(c)
                mask[members] |= np.uint32(1 << k)
                alpha[members, k] = kernels.SHARE_POSITIVE * costs[0, k] * self.row_weights[members] if logistic else 0
            parents = self.inner.place[tree.parent[tree.leaves[lanes]]]
            weights, nothing = aligned(problem.rows.n_used), np.full(WIDTH, np.inf)
            found.append(_Block(classes, parents, mask, costs, weights, weights, alpha, nothing, nothing, nothing))
        return found

    # ---------------------------------------------------------------- one sweep

    def sweep(self, number: int, exact_inner: bool) -> None:
        """Move all nodes once."""
        everything = range(len(self.blocks))
        if exact_inner:
            self.inner.solve(self._sums(everything, lambda block: block.weights))
            self._visit_all(everything, number)
            return
        for parity in (1, 0):
            self._visit_all(self.blocks_of[parity], number)
            sums = self._sums(self.blocks_of[1 - parity], lambda block: block.weights)
            self.inner.average(self.inner_of[parity], sums)

    def _sums(self, blocks: range, what: Callable[[_Block], Floats32]) -> Floats32:
        """Return the sums over each inner node's children that are leaves."""
        sums = np.zeros_like(self.inner.vectors)
        for b in blocks:
            block = self.blocks[b]
            for k, parent in enumerate(block.parents[: len(block.classes)].tolist()):
                if parent >= 0:
                    sums[parent] += what(block)[:, k]
        return sums

    def _visit_all(self, blocks: range, number: int) -> None:
        for b, block in zip(blocks, self.executor.map(lambda b: self._visited(b, number), blocks), strict=True):
            self.blocks[b] = block

    def _visited(self, b: int, number: int) -> _Block:
        """Solve the leaves of a block around their parents; keep the weights that are the better, old or new."""
        block = self.blocks[b]
        above = self._above(block)
        alpha, weights, lost, left = self._solved(block, above, np.random.default_rng((self.seed, b, number)))
        shares = weights - above
        gain = lost + np.sum(np.multiply(shares, weights, dtype=np.float64), axis=0) - left
        before = squared(block.weights - above) / 2 + block.lost
        worse = squared(shares) / 2 + lost > before * (1 + ROUNDING)
        weights[:, worse], lost[worse] = block.weights[:, worse], block.lost[worse]
        return replace(block, weights=weights, shares=shares, alpha=alpha, lost=lost, gain=gain, left=left)

    def _above(self, block: _Block) -> Floats32:
        """Return the parents' vectors, side by side."""
        above, has = aligned(self.problem.rows.n_used), block.parents >= 0
        above[:, has] = self.inner.vectors[block.parents[has]].T
        return above

    def _solved(
        self, block: _Block, above: Floats32, random: np.random.Generator
    ) -> tuple[Floats32, Floats32, Floats64, Floats64]:
        """Return α and weights, found from the α of the block, Σ c ℓ, and by how much α misses the leaves' optima.

        All is float64 on the way where float32 gradients would be noise.
        """
        rows, loss = self.problem.rows, LOSSES[self.problem.loss]
        precise: Any = np.float32 if self.eps >= SMALLEST_FLOAT32 else np.float64
        alpha, weights, lost, left = aligned(len(block.alpha)), aligned(len(above)), np.zeros(WIDTH), np.zeros(WIDTH)
        alpha[:] = block.alpha
        norms, costs, a, W = (array.astype(precise, copy=False) for array in (rows.norms, block.costs, alpha, weights))
        kernels.weights_of(rows.arrays, block.mask, a, W)
        W += above
        part = (rows.arrays, norms, block.mask, self.row_weights, costs)
        generator = random.integers(1, 2**63, 1, dtype=np.uint64)
        first = np.flatnonzero(block.mask).astype(np.int32)
        kernels.descend(part, loss, self.order, first, W, a, self.eps, LEAF_SWEEPS, generator)
        alpha[:], weights[:] = a, W
        W[:], a[:] = weights, alpha  # what is measured is what is kept
        kernels.objectives(part, loss, W, a, lost, left)
        return alpha, weights, lost - squared(weights) / 2, left

    # ---------------------------------------------------------------- where it is

    def measured(self) -> dict[str, float]:
        """Return objective, dual and relative gap; ask more of the leaves where they are most of it."""
        primal, dual, left, reach = self.inner.cost(), 0.0, 0.0, self.problem.rows.least_reach
        for block, (apart, shares, length) in zip(
            self.blocks, self.executor.map(self._norms, self.blocks), strict=True
        ):
            n = len(block.classes)
            primal += np.sum(apart[:n] / 2 + block.lost[:n])
            dual += np.sum(block.gain[:n] - shares[:n] / 2)
            left += np.sum(np.maximum(block.left[:n], 0))
            reach = max(reach, float(np.sqrt(length.max())))
        dual -= self.inner.dual_cost(self._sums(range(len(self.blocks)), lambda block: block.shares), reach)
        # √(2 left) is how far the sum of all Σ α y x can be from where it belongs, which a free root multiplies.
        if left + np.any(self.inner.free) * reach * np.sqrt(2 * left) > LEAVES_SHARE * (primal - dual):
            self.eps = max(self.eps * TIGHTER, SMALLEST_FLOAT64)
        gap = (primal - dual) / primal if primal > 0 else 0.0
        return {"objective": float(primal), "dual": float(dual), "gap": float(gap)}

    def _norms(self, block: _Block) -> tuple[Floats64, Floats64, Floats64]:
        """Return ‖w − w_parent‖², ‖Σ α y x‖² and ‖w‖² of the lanes."""
        return squared(block.weights - self._above(block)), squared(block.shares), squared(block.weights)

    # ---------------------------------------------------------------- in the order of the problems

    def weights(self) -> DenseWeights:
        """Return the weights of the leaves."""
        ordered = [aligned(self.problem.rows.n_used) for _ in range(-(-self.problem.n_classes // WIDTH))]
        for block in self.blocks:
            for k, c in enumerate(block.classes.tolist()):
                ordered[c // WIDTH][:, c % WIDTH] = block.weights[:, k]
        return DenseWeights.of(ordered, self.problem.n_classes, self.problem.rows)

    def alpha(self) -> Floats32:
        """Return α (rows × problems)."""
        found = np.zeros((len(self.problem.rows), self.problem.n_classes), np.float32)
        for block in self.blocks:
            found[:, block.classes] = block.alpha[:, : len(block.classes)]
        return found
