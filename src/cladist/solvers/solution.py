"""What a solver returns."""

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
        One entry a problem or an iteration: `objective`, `gap`, `passes`.
    converged : bool
        Whether every problem reached its tolerance.
    state : object
        Where the solver ended, to begin from another time; None unless it was asked for.
    """

    weights: Any
    intercepts: npt.NDArray[Any]
    history: list[dict[str, float]] = field(default_factory=list)
    converged: bool = True
    state: Any = None
