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
from dataclasses import replace

import numpy as np

from cladist import checkpoints, progress
from cladist.errors import ParameterError, one_of
from cladist.execution import Executor, Serial
from cladist.linear_model.problem_tree import ROOTS, InnerVectors, ProblemTree, build_leaf_blocks, squared_norms
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros
from cladist.linear_model.weights import DenseWeights
from cladist.solvers.linear.block_prox import SHARE_OF_GAP, BlockProx, NodeBlock
from cladist.solvers.problem import History, OneVsRest, Settings, Solution, duality_gap, fill_lanes
from cladist.solvers.tree.duality_gap import leaf_energy


def solve_alternating(
    problem: OneVsRest,
    tree: ProblemTree,
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
        One problem per leaf.
    tree : ProblemTree
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
        `weights` are those of the leaves; `history` has one entry per sweep: `objective`, `dual`, `gap` (relative),
        `seconds` and, with free roots, `reach`.

    Notes
    -----
    With free roots, `dual` bounds the objective within `reach` of the present roots, as in `solve_recursive`. Turns
    move a root by little at a time, so that the optimum may lie beyond `reach` when they stop; joint descent goes
    further.

    A sweep takes O(leaves / 16 · passes · nonzeros) and O(nodes · features). Memory: 8 bytes per leaf and feature in
    use, 4 per leaf and row, 8 per inner node and feature in use.

    Examples
    --------
    >>> from cladist.solvers import TrainingRows, members_by_class
    >>> rows = TrainingRows.from_matrix(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> tree = ProblemTree(np.array([-1, 0, 0, 1, 1]), np.array([3, 4, 2]))
    >>> solution = solve_alternating(problem, tree)
    >>> solution.weights.best(np.eye(3)).tolist(), solution.converged
    ([0, 1, 2], True)
    """
    settings = settings or Settings()
    one_of("solve_alternating", "root", root, ROOTS)
    if not tree.sharing > 0:
        raise ParameterError(f"solve_alternating: inner nodes need a sharing over 0; got {tree.sharing!r}.")
    search = _Alternation(problem, tree, root, executor or Serial(), settings.seed)
    history: History = []
    started = time.perf_counter()
    kept = checkpoints.scope("sweeps")
    parts: list[checkpoints.Attributes] = [(search, ("blocks",)), (search.inner, ("vectors",)), (search.prox, ("eps",))]
    if (state := kept.load()) is not None:
        history, values = state
        checkpoints.restore(values, *parts)
    with progress.task("alternating", settings.max_iter, unit="sweeps") as running:
        if history:
            running.advance(len(history))
        for number in range(len(history), settings.max_iter):
            search.sweep(number, exact_inner)
            entry = search.evaluate()
            history.append({**entry, "seconds": time.perf_counter() - started})
            running.advance()
            if entry["gap"] <= settings.tol:
                break
            kept.save(lambda: [history, checkpoints.state_of(*parts)])
    weights = search.weights()
    history[-1] |= search.finish(leaf_energy(weights.columns(), tree, root), history[-1]["dual"])
    ended = {"inner": search.inner.by_node(), "alpha": search.alpha()} if keep_state else None
    return Solution(weights, weights.intercepts, history, history[-1]["gap"] <= settings.tol, ended)


class _Alternation:
    """Block descent over all nodes of a tree."""

    def __init__(self, problem: OneVsRest, tree: ProblemTree, root: str, executor: Executor, seed: int) -> None:
        self.problem, self.executor = problem, executor
        self.inner = InnerVectors(tree, root, problem.rows.n_used)
        self.inner_of = [tree.select_parity(self.inner.nodes, parity) for parity in (0, 1)]
        self.prox = BlockProx(problem, seed)
        self.blocks: list[NodeBlock] = []
        self.parents: list[Ids] = []  # of each block's lanes: places among the inner nodes, −1 for none
        self.blocks_of: list[range] = []
        for parity in (0, 1):
            first, chosen = len(self.blocks), tree.select_parity(tree.leaves, parity)
            for laid_out in build_leaf_blocks(replace(tree, leaves=tree.leaves[chosen]), "zero").blocks:
                classes = chosen[laid_out.classes]
                self.blocks.append(self.prox.initial_block(classes))
                self.parents.append(self.inner.position[tree.parent[tree.leaves[fill_lanes(classes)]]])
            self.blocks_of.append(range(first, len(self.blocks)))

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

    def _sums(self, blocks: range, what: Callable[[NodeBlock], Floats32]) -> Floats32:
        """Return the sums over each inner node's children that are leaves."""
        sums = np.zeros_like(self.inner.vectors)
        for b in blocks:
            block = self.blocks[b]
            for k, parent in enumerate(self.parents[b][: len(block)].tolist()):
                if parent >= 0:
                    sums[parent] += what(block)[:, k]
        return sums

    def _visit_all(self, blocks: range, number: int) -> None:
        """Solve the leaves of blocks around their parents."""

        def solve(b: int) -> NodeBlock:
            return self.prox.solve_block(self.blocks[b], self._above(b), b, number)

        for b, block in zip(blocks, self.executor.map(solve, blocks), strict=True):
            self.blocks[b] = block

    def _above(self, b: int) -> Floats32:
        """Return the vectors of a block's parents, side by side."""
        above, has = aligned_zeros(self.problem.rows.n_used), self.parents[b] >= 0
        above[:, has] = self.inner.vectors[self.parents[b][has]].T
        return above

    # ---------------------------------------------------------------- where it is

    def evaluate(self) -> dict[str, float]:
        """Return objective, dual and relative gap; solve leaves more exactly where their own gaps are most of it."""
        primal, dual, left, reach = self.inner.cost(), 0.0, 0.0, self.problem.rows.least_reach
        norms = self.executor.map(self._norms, range(len(self.blocks)))
        for block, (apart, shares, length) in zip(self.blocks, norms, strict=True):
            n = len(block)
            primal += np.sum(apart[:n] / 2 + block.lost[:n])
            dual += np.sum(block.gain[:n] - shares[:n] / 2)
            left += np.sum(np.maximum(block.left[:n], 0))
            reach = max(reach, float(np.sqrt(length.max())))
        dual -= self.inner.dual_cost(self._sums(range(len(self.blocks)), lambda block: block.sums), reach)
        # √(2 left) is how far the sum of all Σ α y x can be from where it belongs, which a free root multiplies.
        if left + np.any(self.inner.free) * reach * np.sqrt(2 * left) > SHARE_OF_GAP * (primal - dual):
            self.prox.tighten()
        entry = duality_gap(float(primal), float(dual))
        return {**entry, "reach": reach} if np.any(self.inner.free) else entry

    def finish(self, energy: float, dual: float) -> dict[str, float]:
        """Set inner nodes to the best given the leaves; return objective, dual and gap with them."""
        self.inner.solve(self._sums(range(len(self.blocks)), lambda block: block.weights))
        primal = energy / 2 + float(sum(np.sum(block.lost[: len(block)]) for block in self.blocks))
        return duality_gap(primal, dual)

    def _norms(self, b: int) -> tuple[Floats64, Floats64, Floats64]:
        """Return ‖w − w_parent‖², ‖Σ α y x‖² and ‖w‖² of the lanes."""
        block = self.blocks[b]
        return squared_norms(block.weights - self._above(b)), squared_norms(block.sums), squared_norms(block.weights)

    # ---------------------------------------------------------------- in the order of the problems

    def weights(self) -> DenseWeights:
        """Return the weights of the leaves."""
        blocks = ((block.classes, block.weights) for block in self.blocks)
        return DenseWeights.from_lanes(blocks, self.problem.n_classes, self.problem.rows)

    def alpha(self) -> Floats32:
        """Return α (rows × problems)."""
        alpha = np.zeros((len(self.problem.rows), self.problem.n_classes), np.float32)
        for block in self.blocks:
            alpha[:, block.classes] = block.alpha[:, : len(block)]
        return alpha
