"""What learners of linear classifiers at nodes share: their parameters, and what these make."""

from __future__ import annotations

import math
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from cladist.errors import ParameterError, is_count, is_positive, one_of
from cladist.learners.base import random_generator
from cladist.learners.local.families import Plan
from cladist.solvers import Settings


def check_linear(model: Any, *, losses: tuple[str, ...]) -> None:
    """Refuse parameters that make no sense."""
    who = type(model).__name__
    one_of(who, "loss", model.loss, losses)
    one_of(who, "fit_intercept", model.fit_intercept, (False, True))
    if model.C != "cv" and not (is_positive(model.C) and math.isfinite(model.C)):
        raise ParameterError(f"{who}: C must be positive, or 'cv' to choose it; got {model.C!r}.")
    if not is_positive(model.tol):
        raise ParameterError(f"{who}: tol must be positive; got {model.tol!r}.")
    if not is_count(model.max_iter):
        raise ParameterError(f"{who}: max_iter must be a whole number from 1 up; got {model.max_iter!r}.")
    if model.prune != 0 and not is_positive(model.prune):
        raise ParameterError(f"{who}: prune must be 0 or positive; got {model.prune!r}.")


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
