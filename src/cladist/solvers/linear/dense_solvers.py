"""One-vs-rest linear classifiers on dense rows of few features, one class after the other.

Newton's method for the smooth losses, an interior point method for the hinge: both take a d × d system a step, and
few steps whatever the scale of features.
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
from cladist.solvers.linear.newton import Found, minimise_smooth
from cladist.solvers.problem import OneVsRest, Settings

FEW_FEATURES = 500  # up to here a d × d system costs less than the sweeps it saves
DENSE_ENTRIES = 20_000_000  # 160 MB: beyond this, rows are not made dense
DENSE_SHARE = 0.3


def suits_direct(problem: OneVsRest) -> bool:
    """Tell whether rows are dense in few features; sparse rows are coordinate descent's own ground."""
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
) -> list[Found]:
    """Solve every class's problem; `start` are weights to begin with (classes × features in use).

    The α of all rows and classes, 8 bytes each, are kept only where they are wanted.
    """
    X = dense_rows(problem.rows)
    weights = np.ones(len(X)) if problem.row_weights is None else problem.row_weights.astype(np.float64)
    # Threads inside BLAS would mostly wait for each other; classes side by side use the cores better.
    with progress.task("one-vs-rest", problem.n_classes) as running, threadpool_limits(1, user_api="blas"):

        def solve(k: int) -> Found:
            positive = np.zeros(len(X), bool)
            positive[problem.members_of(k)] = True
            costs = np.where(positive, problem.costs[0, k], problem.costs[1, k]) * weights
            signed = np.where(positive, 1.0, -1.0)[:, None] * X
            if problem.loss == "hinge":
                found = minimise_hinge(signed, costs, settings)
            else:
                found = minimise_smooth(signed, costs, problem.loss, settings, None if start is None else start[k])
            running.advance()
            return found if keep_alpha else replace(found, alpha=found.alpha[:0])

        return list((executor or Serial()).map(solve, range(problem.n_classes)))


def dense_rows(rows: TrainingRows) -> npt.NDArray[np.float64]:
    """Return rows as a plain matrix over the features in use."""
    X = np.zeros((len(rows), rows.n_used))
    X[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = rows.data
    return X
