"""The result of a solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class Solution:
    """Weights and how they were found.

    Attributes
    ----------
    weights : Weights
    intercepts : array (problems,)
    history : list of dict
        One entry per problem or per iteration: `objective`, `gap`, `passes`.
    converged : bool
        Whether every problem reached its tolerance.
    state : object
        Where the solver ended, for a warm start; None unless it was asked for.
    """

    weights: Any
    intercepts: npt.NDArray[Any]
    history: list[dict[str, float]] = field(default_factory=list)
    converged: bool = True
    state: Any = None


def duality_gap(primal: float, dual: float) -> dict[str, float]:
    """Return an entry of the history: objective, dual, which rounding alone puts above it, and the relative gap.

    Examples
    --------
    >>> duality_gap(8.0, 6.0)
    {'objective': 8.0, 'dual': 6.0, 'gap': 0.25}
    """
    gap = max(0.0, primal - dual) / primal if primal > 0 else 0.0
    return {"objective": primal, "dual": min(dual, primal), "gap": gap}
