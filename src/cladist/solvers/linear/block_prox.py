"""One-vs-rest problems around given vectors, sixteen at a time: the moves that block descent makes at nodes with rows.

Problem   min_w ½‖w − p‖² + Σ_i c_i ℓ(y_i w·x_i) for each node, p being the vector that its neighbours pull it to
Moves     dual coordinate descent from the α of the last visit, w = p + Σ_i α_i y_i x_i
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import graph_products
from cladist.kernels import one_vs_rest as kernels
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.problem_tree import squared_norms
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros
from cladist.solvers.cost import count_effort
from cladist.solvers.linear.one_vs_rest import SMALLEST_FLOAT32, widen
from cladist.solvers.problem import OneVsRest, fill_lanes, initial_alpha, random_generator
from cladist.storage.array_pool import storable

SWEEPS = 100  # per visit; the next visit continues
# Nodes are solved just well enough: their distance from their own optima stays a small share of the whole gap.
SHARE_OF_GAP, TIGHTER = 0.1, 0.3
ROUNDING = 1e-6  # relative rise of a node's objective that may be due to float32


@storable
@dataclass(frozen=True)
class NodeBlock:
    """Sixteen nodes; where there are fewer, the other lanes repeat the last. Vectors stand side by side.

    w is p and the sums of the last visit, unless that is worse than the w before.
    """

    classes: Ids  # the problems in the lanes in use
    mask: npt.NDArray[np.uint32]  # as in `LaneProblem`
    costs: Floats32
    weights: Floats32  # w
    sums: Floats32  # Σ_i α_i y_i x_i
    alpha: Floats32
    lost: Floats64  # (16,) Σ c ℓ at w
    gain: Floats64  # (16,) the gain of α in the dual
    left: Floats64  # (16,) the distance of α from the problem's own optimum

    def __len__(self) -> int:
        return len(self.classes)


class BlockProx:
    """Solves blocks around given vectors, to a violation of optimality of `eps`.

    A visit takes up to `sweeps` over all rows, and after each `active_sweeps` times as many visits to active rows.
    """

    def __init__(self, problem: OneVsRest, seed: int, order: npt.NDArray[np.int32] | None = None) -> None:
        self.problem, self.surrogate, self.seed = problem, problem.surrogate, seed
        random = np.random.default_rng(seed)
        self.order = random.permutation(len(problem.rows)).astype(np.int32) if order is None else order
        self.sweeps, self.active_sweeps = SWEEPS, kernels.ACTIVE_SWEEPS
        self.eps = self.surrogate.largest_violation

    def initial_block(self, classes: Ids) -> NodeBlock:
        """Return a block of up to sixteen problems before its first visit."""
        lanes = self.problem.lanes(fill_lanes(classes))
        weights, unknown = aligned_zeros(self.problem.rows.n_used), np.full(WIDTH, np.inf)
        alpha = initial_alpha(lanes, self.surrogate)
        return NodeBlock(classes, lanes.mask, lanes.costs, weights, weights, alpha, unknown, unknown, unknown)

    def solve_block(self, block: NodeBlock, above: Floats32, *visit: int) -> NodeBlock:
        """Solve a block around `above`; return it with the better weights, old or new.

        `visit`, the block's number and the visit's, seeds the order in which rows are visited.
        """
        alpha, weights, lost, left = self._descend(block, above, random_generator(self.seed, *visit))
        sums, terms = aligned_zeros(len(weights)), np.empty((3, WIDTH))
        graph_products.differences(weights, above, block.weights, sums, terms)
        gain = lost + terms[0] - left
        worse = terms[1] / 2 + lost > (terms[2] / 2 + block.lost) * (1 + ROUNDING)
        if worse.any():
            weights[:, worse], lost[worse] = block.weights[:, worse], block.lost[worse]
        return replace(block, weights=weights, sums=sums, alpha=alpha, lost=lost, gain=gain, left=left)

    def set_weights(self, block: NodeBlock, weights: Floats32) -> NodeBlock:
        """Return a block with other weights, and their losses."""
        W, primal = aligned_zeros(len(weights)), np.zeros(WIDTH)
        W[:] = weights
        kernels.primals(self._lanes(block), self.surrogate, W, primal)
        return replace(block, weights=W, lost=primal - squared_norms(W) / 2)

    def tighten(self) -> None:
        """Lower `eps` for the next visits, down to what rounding can distinguish."""
        self.eps = max(self.eps * TIGHTER, self.surrogate.smallest_violation)

    def _lanes(self, block: NodeBlock) -> LaneProblem:
        rows = self.problem.rows
        return LaneProblem(rows.arrays, rows.norms, block.mask, self.problem.weights32, block.costs)

    def _descend(
        self, block: NodeBlock, above: Floats32, generator: Any
    ) -> tuple[Floats32, Floats32, Floats64, Floats64]:
        """Return α and weights, found from the α of the block, Σ c ℓ, and the distances of α from the optima.

        Descent is in float64 where float32 gradients would be noise.
        """
        lanes, surrogate = self._lanes(block), self.surrogate
        precision: Any = np.float32
        if self.eps < SMALLEST_FLOAT32:
            lanes, precision = widen(lanes), np.float64
        alpha, weights = aligned_zeros(len(block.alpha)), aligned_zeros(len(above))
        primal, left = np.zeros(WIDTH), np.zeros(WIDTH)
        alpha[:] = block.alpha
        a, W = alpha.astype(precision, copy=False), weights.astype(precision, copy=False)
        kernels.weights_of(lanes.rows, lanes.mask, a, W)
        W += above
        first = np.flatnonzero(block.mask).astype(np.int32)
        kernels.descend(
            lanes, surrogate, self.order, first, W, a, self.eps, self.sweeps, generator, count_effort(),
            self.active_sweeps,
        )  # fmt: skip
        alpha[:], weights[:] = a, W
        W[:], a[:] = weights, alpha  # the objectives are those of the rounded values that are kept
        kernels.objectives(lanes, surrogate, W, a, primal, left)
        return alpha, weights, primal - squared_norms(weights) / 2, left
