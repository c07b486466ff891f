"""One-vs-rest problems around given vectors, sixteen at a time: what block descent asks of nodes that have rows.

Problem   min_w ½‖w − p‖² + Σ_i c_i ℓ(y_i w·x_i) for each node, p being what its neighbours say
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
from cladist.linear_model.problem_tree import squared_norms
from cladist.linear_model.training_rows import aligned_zeros
from cladist.solvers.linear.one_vs_rest import LARGEST_VIOLATION, LOSSES, SMALLEST_FLOAT32, SMALLEST_FLOAT64
from cladist.solvers.problem import OneVsRest

SWEEPS = 100  # a visit; what is left to do is done at the next
# Nodes are solved just well enough: what they miss of their own optima stays a small share of the whole gap.
SHARE_OF_GAP, TIGHTER = 0.1, 0.3
ROUNDING = 1e-6  # relative rise of a node's objective that may be float32's and not the move's

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Sixteen problems; where there are fewer, the other lanes repeat the last.

    Attributes
    ----------
    classes : array
        The problems in the lanes in use.
    mask, costs
        As kernels take them.
    weights, shares, alpha
        w, Σ_i α_i y_i x_i and α, side by side. w is p and the shares, as they were at the last visit, unless that is
        worse than the w before.
    lost, gain, left : arrays (16,)
        Σ c ℓ at w, what α gain in the dual, and by how much α misses the problem's own optimum.
    """

    classes: Ids
    mask: npt.NDArray[np.uint32]
    costs: Floats32
    weights: Floats32
    shares: Floats32
    alpha: Floats32
    lost: Floats64
    gain: Floats64
    left: Floats64

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(frozen=True)
class Effort:
    """How much a visit may do: sweeps over all rows, and visits to active ones after each, in sweeps, too."""

    sweeps: int = SWEEPS
    active: int = kernels.ACTIVE_SWEEPS


class Around:
    """Solves blocks around vectors it is given, the better the smaller `eps` is."""

    def __init__(self, problem: OneVsRest, seed: int, order: npt.NDArray[np.int32] | None = None) -> None:
        self.problem, self.seed = problem, seed
        self.row_weights = problem.weights32
        random = np.random.default_rng(seed)
        self.order = random.permutation(len(problem.rows)).astype(np.int32) if order is None else order
        self.effort = Effort()
        self.eps = LARGEST_VIOLATION[problem.loss]

    def begin(self, classes: Ids) -> Block:
        """Return a block of up to sixteen problems where it begins."""
        problem = self.problem
        lanes = padded(classes)
        costs = np.ascontiguousarray(problem.costs[:, lanes], np.float32)
        mask, alpha = np.zeros(len(problem.rows), np.uint32), aligned_zeros(len(problem.rows))
        logistic = problem.loss == "logistic"
        if logistic:
            alpha[:] = kernels.SHARE_NEGATIVE * costs[1] * self.row_weights[:, None]
        for k, c in enumerate(lanes.tolist()):
            members = problem.members_of(c)
            mask[members] |= np.uint32(1 << k)
            alpha[members, k] = kernels.SHARE_POSITIVE * costs[0, k] * self.row_weights[members] if logistic else 0
        weights, nothing = aligned_zeros(problem.rows.n_used), np.full(WIDTH, np.inf)
        return Block(classes, mask, costs, weights, weights, alpha, nothing, nothing, nothing)

    def visited(self, block: Block, above: Floats32, *place: int) -> Block:
        """Solve a block around `above`; keep the weights that are the better, old or new.

        `place`, the block's number and the visit's, decides the order in which rows come.
        """
        alpha, weights, lost, left = self._solved(block, above, np.random.default_rng((self.seed, *place)))
        shares, terms = aligned_zeros(len(weights)), np.empty((3, WIDTH))
        graph_products.differences(weights, above, block.weights, shares, terms)
        gain = lost + terms[0] - left
        worse = terms[1] / 2 + lost > (terms[2] / 2 + block.lost) * (1 + ROUNDING)
        if worse.any():
            weights[:, worse], lost[worse] = block.weights[:, worse], block.lost[worse]
        return replace(block, weights=weights, shares=shares, alpha=alpha, lost=lost, gain=gain, left=left)

    def moved(self, block: Block, weights: Floats32) -> Block:
        """Return a block with other weights, and what these lose."""
        W, lost = aligned_zeros(len(weights)), np.zeros(WIDTH)
        W[:] = weights
        kernels.objectives(self._part(block), LOSSES[self.problem.loss], W, block.alpha, lost, np.zeros(WIDTH))
        return replace(block, weights=W, lost=lost - squared_norms(W) / 2)

    def tighten(self) -> None:
        """Ask more of the next visits, as long as rounding lets them tell what is more."""
        self.eps = max(self.eps * TIGHTER, SMALLEST_FLOAT64[self.problem.loss])

    def _part(self, block: Block) -> Any:
        rows = self.problem.rows
        return rows.arrays, rows.norms, block.mask, self.row_weights, block.costs

    def _solved(
        self, block: Block, above: Floats32, random: np.random.Generator
    ) -> tuple[Floats32, Floats32, Floats64, Floats64]:
        """Return α and weights, found from the α of the block, Σ c ℓ, and by how much α misses the optima.

        All is float64 on the way where float32 gradients would be noise.
        """
        rows, loss = self.problem.rows, LOSSES[self.problem.loss]
        precise: Any = np.float32 if self.eps >= SMALLEST_FLOAT32 else np.float64
        alpha, weights, lost, left = (
            aligned_zeros(len(block.alpha)),
            aligned_zeros(len(above)),
            np.zeros(WIDTH),
            np.zeros(WIDTH),
        )
        alpha[:] = block.alpha
        norms, costs, a, W = (array.astype(precise, copy=False) for array in (rows.norms, block.costs, alpha, weights))
        kernels.weights_of(rows.arrays, block.mask, a, W)
        W += above
        part = (rows.arrays, norms, block.mask, self.row_weights, costs)
        generator = random.integers(1, 2**63, 1, dtype=np.uint64)
        first = np.flatnonzero(block.mask).astype(np.int32)
        effort = self.effort
        kernels.descend(part, loss, self.order, first, W, a, self.eps, effort.sweeps, generator, effort.active)
        alpha[:], weights[:] = a, W
        W[:], a[:] = weights, alpha  # what is measured is what is kept
        kernels.objectives(part, loss, W, a, lost, left)
        return alpha, weights, lost - squared_norms(weights) / 2, left


def padded(classes: Ids) -> Ids:
    """Return sixteen numbers, the last one repeated.

    Examples
    --------
    >>> padded(np.array([3, 5])).tolist()[:4]
    [3, 5, 5, 5]
    """
    return np.append(classes, np.repeat(classes[-1:], WIDTH - len(classes)))
