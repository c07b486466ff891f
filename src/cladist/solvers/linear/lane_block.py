"""Up to sixteen classes of a one-vs-rest problem, side by side in the lanes of a kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.training_rows import aligned_zeros
from cladist.solvers.problem import OneVsRest
from cladist.surrogates import Surrogate

UNUSED_COST = 1e-20  # in lanes without a class

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]


def lane_problem(problem: OneVsRest, classes: Ids, norms: Floats32 | None = None) -> LaneProblem:
    """Return the problems of some classes as kernels take them; `norms` replace those of the rows."""
    rows, mask = problem.rows, np.zeros(len(problem.rows), np.uint32)
    for lane, c in enumerate(classes.tolist()):
        mask[problem.members_of(c)] |= np.uint32(1 << lane)
    costs = np.full((2, WIDTH), UNUSED_COST, np.float32)
    costs[:, : len(classes)] = problem.costs[:, classes]
    return LaneProblem(
        rows.arrays, rows.norms if norms is None else norms, mask, problem.weights32, costs, len(classes)
    )


def initial_alpha(lanes: LaneProblem, surrogate: Surrogate) -> Floats32:
    """Return the α (rows × 16) that descent begins from."""
    alpha, n = aligned_zeros(len(lanes.mask)), lanes.n_lanes
    if surrogate.positive_share or surrogate.negative_share:
        positive = (lanes.mask[:, None] >> np.arange(n, dtype=np.uint32)) & 1
        shares = surrogate.positive_share * lanes.costs[0, :n], surrogate.negative_share * lanes.costs[1, :n]
        alpha[:, :n] = np.where(positive, *shares) * lanes.weight[:, None]
    return alpha


def fill_lanes(classes: Ids) -> Ids:
    """Return sixteen numbers, the last one repeated.

    Examples
    --------
    >>> fill_lanes(np.array([3, 5])).tolist()[:4]
    [3, 5, 5, 5]
    """
    return np.append(classes, np.repeat(classes[-1:], WIDTH - len(classes)))


def random_generator(*seed: int) -> npt.NDArray[np.uint64]:
    """Return the state of a kernel's own random numbers; never 0, which would stay 0."""
    return np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)
