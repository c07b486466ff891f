"""Regularisation on a graph of labels: block Gauss–Seidel on the joint dual.

Problem   min ½ tr(WᵀMW) + Σ_nodes with rows n Σ_i c_in ℓ(y_in w_n·x_i), M being that of the graph
Dual      W = KA, a_n = Σ_i α_in y_in x_i and K = M⁻¹: one problem in all α. Moving α_in by δ moves the weights of every
          node m by K[m, n] δ y x_i, however many edges lie between: block descent passes it on edge by edge
Stops     when (primal − dual) / primal ≤ tol; the primal point is a coloured sweep from W
Found by  coordinate descent on sixteen nodes at a time, `cladist.kernels.joint`, with K in place of a tree's overlap

In a component that nothing pulls to 0, M is singular and the dual wants s = Σ a_n = 0. Its mean is pulled to where it
was a sweep ago instead (Rockafellar's proximal point): K = M⁺ + 11ᵀ / ρ, and s goes to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from cladist.errors import TooLargeError
from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.training_rows import aligned_zeros
from cladist.solvers.graph.block_descent import PRECISION, Descent
from cladist.solvers.linear.lane_block import initial_alpha, lane_problem, random_generator
from cladist.solvers.problem import OneVsRest
from cladist.solvers.solution import duality_gap
from cladist.solvers.tree.joint_dual import FULL_EVERY, LEAST_NORM, PASSES, RESTING

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
SMALLEST_EPS = 1e-6
MOST_NODES = 8_000  # K takes 8 bytes for each pair of nodes


class JointGraph:
    """The state of the joint dual, and the block descent that computes primal points from it."""

    SWEEPS = 4  # a round, before the one that is coloured

    def __init__(self, problem: OneVsRest, descent: Descent, seed: int) -> None:
        graph = descent.graph
        if graph.n_nodes > MOST_NODES:
            raise TooLargeError(
                f"schedule='joint' holds a number for each pair of nodes, and there are {graph.n_nodes}; use "
                f"schedule='coloured' beyond {MOST_NODES}."
            )
        self.problem, self.graph, self.descent, self.seed = problem, graph, descent, seed
        self.surrogate = problem.surrogate
        self.norms = np.maximum(problem.rows.norms, LEAST_NORM)
        self.order = np.random.default_rng(seed).permutation(len(problem.rows)).astype(np.int32)
        self.blocks = self._blocks()
        self.alphas = [initial_alpha(self._lane_problem(block), self.surrogate) for block in self.blocks]
        self.active = [self.order] * len(self.blocks)
        self.A = np.zeros((problem.n_classes, problem.rows.n_used), np.float32)
        self.centres = np.zeros((int(graph.components.max()) + 1, problem.rows.n_used), np.float32)
        for b in range(len(self.blocks)):
            self._set_sums(b)
        self.eps = self.surrogate.first_violation(max(1.0, float(problem.costs.max())))

    def _blocks(self) -> list[Ids]:
        """Return the problems of each block, related ones side by side."""
        walk = np.empty(self.graph.n_nodes, np.int64)
        walk[csgraph.reverse_cuthill_mckee(self.graph.adjacency, symmetric_mode=True)] = np.arange(len(walk))
        order = np.argsort(walk[self.graph.nodes], kind="stable")
        return [order[start : start + WIDTH] for start in range(0, len(order), WIDTH)]

    @cached_property
    def K(self) -> Floats32:  # noqa: N802 - the docstring's letter
        """K (nodes × problems)."""
        M = self.graph.matrix.toarray()
        typical = float(np.mean(self.graph.pull))
        for part in self.graph.loose:
            M[np.ix_(part, part)] += typical / len(part) ** 2
        return np.linalg.inv(M)[:, self.graph.nodes].astype(np.float32)

    @cached_property
    def coupling(self) -> Floats32:
        """K among the problems."""
        return self.K[self.graph.nodes]

    # ---------------------------------------------------------------- blocks

    def _lane_problem(self, classes: Ids) -> LaneProblem:
        return lane_problem(self.problem, classes, self.norms)

    def _set_sums(self, b: int) -> None:
        classes, W = self.blocks[b], aligned_zeros(self.A.shape[1])
        lanes = self._lane_problem(classes)
        flat.weights_of(lanes.rows, lanes.mask, self.alphas[b], W)
        self.A[classes] = W[:, : len(classes)].T

    def _weights(self, b: int) -> Floats32:
        """Return the weights of a block's nodes, side by side."""
        classes, W = self.blocks[b], aligned_zeros(self.A.shape[1])
        W[:, : len(classes)] = (self.coupling[classes] @ self.A + self._centres(self.graph.nodes[classes])).T
        return W

    def _centres(self, nodes: Ids) -> Floats32:
        return self.centres[self.graph.components[nodes]]

    def _visit(self, b: int, sweep: int) -> None:
        classes = self.blocks[b]
        overlap = np.zeros((WIDTH, WIDTH), np.float32)
        overlap[: len(classes), : len(classes)] = self.coupling[np.ix_(classes, classes)]
        full = sweep % FULL_EVERY == 0
        active = kernels.visit_block(
            self._lane_problem(classes), self.surrogate, self.order if full else self.order[:0], self.active[b],
            self._weights(b), self.alphas[b], overlap, np.float32(self.eps), np.float32(RESTING), PASSES,
            random_generator(self.seed, b, sweep),
        )  # fmt: skip
        self.active[b] = active if full else self.active[b]
        self._set_sums(b)

    # ---------------------------------------------------------------- all nodes

    def sweep(self, sweep: int) -> None:
        """Visit every block; then components that nothing pulls to 0 are pulled to where they are now."""
        for b in range(len(self.blocks)):
            self._visit(b, sweep)
        for _, k, step in self._steps():
            self.centres[k] += step

    def _steps(self) -> Iterator[tuple[Ids, int, Floats32]]:
        """Yield the nodes of each component that nothing pulls to 0, its number, and how far s moves its mean."""
        components, pull = self.graph.components[self.graph.nodes], np.float32(1 / np.mean(self.graph.pull))
        for part in self.graph.loose:
            k = int(self.graph.components[part[0]])
            yield part, k, pull * self.A[components == k].sum(axis=0)

    def round(self, number: int, expected: float, n_sweeps: int, is_last: bool) -> dict[str, float]:
        """Sweep `n_sweeps` times, then once by colours from there; return objective, dual and gap of `descent.W`.

        Of the two α the better goes on: joint sweeps move what all nodes share, coloured ones bring each node to its
        optimum.
        """
        for k in range(n_sweeps):
            self.sweep(self.SWEEPS * number + k)
        self._start_descent()
        self.descent.coloured(number)
        found = self.descent.evaluate(expected)
        primal = found["objective"]
        dual = self._dual(PRECISION * expected * primal)
        if self.descent.own_dual > dual:
            self.take_from_descent()
        self.eps = max(self.eps / 2, SMALLEST_EPS)
        return duality_gap(primal, max(dual, found["dual"]))

    def _dual(self, precision: float) -> float:
        """Return the bound that the joint α give, for vectors near those of the descent."""
        shares = np.zeros_like(self.descent.W)
        shares[self.graph.nodes] = self.A
        gain = sum(self._gain(b) for b in range(len(self.blocks)))
        reach = self.descent.reach(self.graph.lengths_of_means(self.descent.W))
        return gain - self.graph.dual_cost(shares, self.descent.W, reach, precision)

    def _gain(self, b: int) -> float:
        rows = np.flatnonzero(self.alphas[b].any(axis=1)).astype(np.int32)
        lanes = self._lane_problem(self.blocks[b])
        return float(kernels.dual_gain(lanes, self.surrogate, rows, self.alphas[b]))

    @cached_property
    def _lanes(self) -> list[list[tuple[int, int]]]:
        """Where each lane of the descent's blocks is among ours: block and lane."""
        place = {c: (b, lane) for b, block in enumerate(self.blocks) for lane, c in enumerate(block.tolist())}
        return [[place[c] for c in block.classes.tolist()] for block in self.descent.blocks]

    def _start_descent(self) -> None:
        """Start the block descent at W and the present α."""
        self.descent.W = self.K @ self.A + self._centres(np.arange(self.graph.n_nodes))
        for k, block in enumerate(self.descent.blocks):
            alpha, pull = aligned_zeros(len(self.problem.rows)), self.descent.pull(k).astype(np.float32)
            for lane, (b, at) in enumerate(self._lanes[k]):
                alpha[:, lane] = self.alphas[b][:, at] / pull[lane]
            alpha[:, len(block) :] = alpha[:, len(block) - 1 : len(block)]
            self.descent.blocks[k] = replace(block, alpha=alpha)
        moved = self.descent.executor.map(self.descent.place_block, range(len(self.descent.blocks)))
        self.descent.blocks = list(moved)

    def take_from_descent(self) -> None:
        """Continue from the α of the block descent, and from its means of loose components."""
        for k, block in enumerate(self.descent.blocks):
            pull = self.descent.pull(k).astype(np.float32)
            for lane, (b, at) in enumerate(self._lanes[k]):
                self.alphas[b][:, at] = block.alpha[:, lane] * pull[lane]
        for b in range(len(self.blocks)):
            self._set_sums(b)
        for part, k, step in self._steps():
            self.centres[k] = self.descent.W[part].mean(axis=0) - step
