"""What learners of linear classifiers at nodes share: their parameters, and what these make."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from cladist.learners.base import random_generator
from cladist.learners.local.families import Plan
from cladist.solvers import Settings

LOSSES = ("squared_hinge", "hinge", "logistic")


def make_plan(model: Any, C: float) -> Plan:
    """Return how the families of a model are fitted."""
    seed = int(random_generator(type(model).__name__, model.random_state).randint(2**31 - 1))
    return Plan(model.loss, C, model.fit_intercept, float(model.prune), Settings(model.tol, model.max_iter, seed))


def warn_of_gaps(model: Any, worst: float) -> None:
    """Say that a classifier did not reach its tolerance."""
    message = (
        f"{type(model).__name__} made max_iter={model.max_iter} sweeps at a node and still has a gap of {worst:.1e}, "
        f"over tol={model.tol:g}; raise max_iter, or lower C."
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
