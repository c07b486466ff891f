"""Where a fit ended, for the next one to begin there: `warm_start=True`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.solvers import OneVsRest
from cladist.solvers.linear.dense_solvers import suits_direct


@dataclass(frozen=True)
class LastFit:
    """What a solver left, as it fits other costs, too.

    Attributes
    ----------
    kind : tuple
        How many rows, problems and features there were, and the loss: what must be the same.
    feature_of : array of int
        The features in use, in the solver's order.
    state : list of arrays (rows × 16), or array (problems × features in use)
        α / c_i, the share of its cost that each row's α is, in blocks of sixteen problems; or weights. A share keeps α
        feasible whatever C, class weights and row weights become; for the hinge and the logistic loss it is 1 at most.
    """

    kind: tuple[int, int, int, str]
    feature_of: npt.NDArray[np.int64]
    state: Any

    @classmethod
    def of(cls, state: Any, problem: OneVsRest) -> LastFit:
        """Take over the state that a solution of the problem ended with; it is changed in place."""
        if isinstance(state, list):
            for b, alpha in enumerate(state):
                costs = _costs(problem, b)
                np.divide(alpha, costs, out=alpha, where=costs > 0)
        return cls(_kind(problem), problem.rows.feature_of, state)

    def state_for(self, problem: OneVsRest) -> Any:
        """Return a state to begin this problem from, or None where it is not of the same kind; can be asked once."""
        if self.kind != _kind(problem) or isinstance(self.state, list) == suits_direct(problem):
            return None
        if isinstance(self.state, list):
            for b, shares in enumerate(self.state):
                shares *= _costs(problem, b)
            return self.state
        return self.state if np.array_equal(self.feature_of, problem.rows.feature_of) else None


def _kind(problem: OneVsRest) -> tuple[int, int, int, str]:
    return len(problem.rows), problem.n_classes, problem.rows.n_features, problem.loss


def _costs(problem: OneVsRest, b: int) -> npt.NDArray[np.float32]:
    """Return what an error of each row costs in the problems of a block (rows × 16), the last one repeated."""
    classes = np.minimum(np.arange(b * WIDTH, (b + 1) * WIDTH), problem.n_classes - 1)
    given, weights = problem.costs[:, classes].astype(np.float32), problem.weights32
    costs = np.multiply.outer(weights, given[1])
    for lane, k in enumerate(classes.tolist()):
        members = problem.members_of(k)
        costs[members, lane] = weights[members] * given[0, lane]
    return costs
