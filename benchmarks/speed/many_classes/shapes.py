"""The sizes: trees in which every inner node has ten children, two rows and two features a leaf."""

from __future__ import annotations

from typing import Any

from benchmarks.speed.recursive_studies.shapes import Shape
from cladist import FlatSVM, RecursiveSVM, Relations

DOCUMENT = 20  # words: a title and a line, not a page
BRANCHING = 10
LEVELS = {100: 2, 10_000: 4, 100_000: 5}
N_TEST = 10_000
C, PRUNE = 1.0, 0.01
TOL = {"FlatSVM": 5e-2, "RecursiveSVM": 5e-2}
MEANS = "class means"


def shape_of(n_leaves: int) -> Shape:
    """Return how much data there is."""
    depth = LEVELS[n_leaves]
    inner = tuple(BRANCHING**level for level in range(depth))
    return Shape(
        2 * n_leaves, min(N_TEST, n_leaves), 2 * n_leaves, inner, (*(0,) * depth, n_leaves), DOCUMENT, even=True
    )


def learner(name: str, taxonomy: Any, workers: int) -> Any:
    """Return the learner to train: weights of 0.01 and less are dropped."""
    common: dict[str, Any] = {"C": C, "prune": PRUNE, "tol": TOL[name], "n_jobs": workers}
    if name == "FlatSVM":
        # Without an intercept every feature has a small negative weight, over 0.01: little could be dropped. Of a
        # recursive model these are in the root alone.
        return FlatSVM(taxonomy, loss="squared_hinge", weights="sparse", fit_intercept=True, **common)
    relations = Relations(blocks_per_round=8)
    return RecursiveSVM(
        taxonomy,
        loss="squared_hinge",
        sharing=1,
        weights="differences",
        fit_intercept=False,
        relations=relations,
        **common,
    )
