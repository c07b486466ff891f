"""The state in which a solver ended, for the next fit to start from: ``warm_start=True``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.solvers.linear.one_vs_rest import growth
from cladist.solvers.problem import OneVsRest
from cladist.solvers.relations import Coupling
from cladist.solvers.tree.recursive import State, is_flat


@dataclass(frozen=True)
class LastFit:
    """A solver's state and the kind of problem it belongs to.

    Attributes
    ----------
    kind : tuple
        What must be the same for the state to be of use: numbers of rows, problems and features, the loss, and the
        shape of the tree that couples the problems.
    feature_of : array of int
        The features in use, in the solver's order.
    C : float
    state : list of arrays (rows × 16), array (problems × features in use), or State
        Of uncoupled problems α / c_i, the share of its cost that each row's α is, in blocks of sixteen problems, or
        weights. A share keeps α feasible whatever C, class weights and row weights become. Of a tree the solver's own
        state, which cuts α to the feasible range, or weights.
    """

    kind: tuple[Any, ...]
    feature_of: npt.NDArray[np.int64]
    C: float
    state: Any

    @classmethod
    def of(cls, state: Any, problem: OneVsRest, C: float = 1.0, coupling: Coupling | None = None) -> LastFit | None:
        """Take over the state in which the solution of a problem ended, and change it in place.

        None for the states of coupled problems that share nothing.
        """
        is_matrix = isinstance(state, np.ndarray)
        if (
            coupling is not None
            and not isinstance(state, State)
            and (not is_matrix or is_flat(*coupling.tree_and_root()))
        ):
            return None
        if isinstance(state, list):
            for b, alpha in enumerate(state):
                costs = _block_costs(problem, b)
                np.divide(alpha, costs, out=alpha, where=costs > 0)
        return cls(_kind(problem, coupling), problem.rows.feature_of, C, state)

    def state_for(self, problem: OneVsRest, C: float = 1.0, coupling: Coupling | None = None) -> Any:
        """Return a state to start this problem from, or None where it is of another kind; to be called once."""
        if self.kind != _kind(problem, coupling):
            return None
        if isinstance(self.state, State):
            return self.state.scaled(growth(problem.loss, C / self.C))
        if isinstance(self.state, list):
            for b, shares in enumerate(self.state):
                shares *= _block_costs(problem, b)
            return self.state
        return self.state if np.array_equal(self.feature_of, problem.rows.feature_of) else None


def scale_state(state: Any, factor: float) -> Any:
    """Return the state to start from if C is multiplied by a factor."""
    if isinstance(state, list):  # α of flat learners, in blocks
        return [alpha * np.float32(factor) for alpha in state]
    return state.scaled(factor) if hasattr(state, "scaled") else state


def _kind(problem: OneVsRest, coupling: Coupling | None) -> tuple[Any, ...]:
    rows = problem.rows
    if coupling is None:
        return len(rows), problem.n_classes, rows.n_features, problem.loss
    tree, root = coupling.tree_and_root()
    shape = tree.parent.tobytes(), tree.leaves.tobytes()
    return len(rows), rows.n_used, problem.loss, root, tree.sharing == 0, *shape


def block_costs(problem: OneVsRest, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Return the cost of an error of each row in up to sixteen problems (rows × 16), the last problem repeated."""
    lanes = np.minimum(np.arange(WIDTH), len(classes) - 1)
    costs, weights = problem.costs[:, classes[lanes]].astype(np.float32), problem.weights32
    of_rows = np.multiply.outer(weights, costs[1])
    for lane, k in enumerate(classes[lanes].tolist()):
        members = problem.members_of(k)
        of_rows[members, lane] = weights[members] * costs[0, lane]
    return of_rows


def _block_costs(problem: OneVsRest, b: int) -> npt.NDArray[np.float32]:
    return block_costs(problem, np.arange(b * WIDTH, min((b + 1) * WIDTH, problem.n_classes)))
