"""What learners of linear classifiers at nodes share: their parameters, and what these make."""

from __future__ import annotations

from typing import Any

from cladist.learners.base import random_generator
from cladist.learners.local.families import Plan
from cladist.solvers import Settings

LOSSES = ("squared_hinge", "hinge", "logistic")


def make_plan(model: Any, C: float) -> Plan:
    """Return how the families of a model are fitted."""
    seed = int(random_generator(type(model).__name__, model.random_state).randint(2**31 - 1))
    return Plan(model.loss, C, model.fit_intercept, float(model.prune), Settings(model.tol, model.max_iter, seed))
