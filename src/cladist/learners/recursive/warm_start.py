"""Where a joint solver ended, for the next fit to begin there: `warm_start=True`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladist.linear_model.problem_tree import ProblemTree
from cladist.solvers import OneVsRest
from cladist.solvers.graph.block_descent import GraphState
from cladist.solvers.linear.one_vs_rest import growth, scaled
from cladist.solvers.tree.recursive import State


def scaled_state(state: Any, factor: float) -> Any:
    """Return where to begin if C is so many times as large, be it on a tree, on a graph or on neither."""
    return state.scaled(factor) if isinstance(state, (State, GraphState)) else scaled(state, factor)


@dataclass(frozen=True)
class LastState:
    """A solver's state, and what it fits: as many rows and features, the same tree, root and loss.

    Costs and labels may change: α are cut to what is feasible.
    """

    state: State
    kind: tuple[Any, ...]
    tree: ProblemTree
    C: float

    @classmethod
    def of(cls, state: Any, problem: OneVsRest, tree: ProblemTree, root: str, C: float) -> LastState | None:
        """Take over a state; leaves that share nothing have none that would fit."""
        return cls(state, _kind(problem, tree, root), tree, C) if isinstance(state, State) else None

    def state_for(self, problem: OneVsRest, tree: ProblemTree, root: str, C: float) -> Any:
        """Return a state to begin this problem from, or None where it is not of the same kind."""
        same_tree = np.array_equal(self.tree.parent, tree.parent) and np.array_equal(self.tree.leaves, tree.leaves)
        if not same_tree or self.kind != _kind(problem, tree, root):
            return None
        return self.state.scaled(growth(problem.loss, C / self.C))


def _kind(problem: OneVsRest, tree: ProblemTree, root: str) -> tuple[Any, ...]:
    return len(problem.rows), problem.rows.n_used, problem.loss, root, tree.sharing == 0
