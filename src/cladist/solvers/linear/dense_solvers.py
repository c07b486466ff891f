"""One-vs-rest linear classifiers on low-dimensional dense data, one class after the other.

Newton's method for the smooth losses, an interior point method for the hinge: each step solves a d × d system, and the
number of steps does not depend on the scale of features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.execution import Executor, Serial
from cladist.linear_model.training_rows import TrainingRows
from cladist.solvers.linear.interior_point import minimise_hinge
from cladist.solvers.linear.newton import BinarySolution, minimise_smooth
from cladist.solvers.problem import OneVsRest, Settings

FEW_FEATURES = 500  # up to here a d × d system costs less than the sweeps it saves
DENSE_ENTRIES = 20_000_000  # 160 MB: beyond this, rows are not made dense
DENSE_SHARE = 0.3


def suits_direct(problem: OneVsRest) -> bool:
    """Tell whether rows are dense and low-dimensional; coordinate descent suits sparse rows."""
    rows = problem.rows
    n_used = rows.n_used - rows.has_constant
    entries = len(rows) * n_used
    few = n_used < min(len(rows), FEW_FEATURES) and entries < DENSE_ENTRIES
    return few and len(rows.data) - rows.has_constant * len(rows) >= DENSE_SHARE * entries


def solve_directly(
    problem: OneVsRest,
    settings: Settings,
    *,
    executor: Executor | None = None,
    start: npt.NDArray[Any] | None = None,
    keep_alpha: bool = False,
) -> list[BinarySolution]:
    """Solve the problem of every class.

    Parameters
    ----------
    problem : OneVsRest
    settings : Settings
    executor : Executor, optional
        Runs the classes side by side.
    start : array (classes × features in use), optional
        Weights to begin with.
    keep_alpha : bool
        Whether to return the α of all rows and classes, 8 bytes each.
    """
    X, surrogate = dense_rows(problem.rows), problem.surrogate
    weights = np.ones(len(X)) if problem.row_weights is None else problem.row_weights.astype(np.float64)
    # Threads inside BLAS would mostly wait for each other; classes side by side use the cores better.
    with progress.task("one-vs-rest", problem.n_classes) as running, threadpool_limits(1, user_api="blas"):

        def solve(k: int) -> BinarySolution:
            positive = np.zeros(len(X), bool)
            positive[problem.members_of(k)] = True
            costs = np.where(positive, problem.costs[0, k], problem.costs[1, k]) * weights
            signed = np.where(positive, 1.0, -1.0)[:, None] * X
            if surrogate.smooth:
                solution = minimise_smooth(signed, costs, surrogate, settings, None if start is None else start[k])
            else:
                solution = minimise_hinge(signed, costs, settings)
            running.advance()
            return solution if keep_alpha else replace(solution, alpha=solution.alpha[:0])

        return list((executor or Serial()).map(solve, range(problem.n_classes)))


def dense_rows(rows: TrainingRows) -> npt.NDArray[np.float64]:
    """Return rows as a plain matrix over the features in use."""
    X = np.zeros((len(rows), rows.n_used))
    X[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = rows.data
    return X
