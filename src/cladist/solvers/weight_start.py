"""`WeightStart`: a start for flat solvers from weights, whatever rows they were trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.weights import Weights
from cladist.solvers.problem import OneVsRest
from cladist.solvers.relations import Coupling, TreeCoupling
from cladist.solvers.tree.recursive import is_flat
from cladist.solvers.warm_start import block_costs
from cladist.surrogates import Surrogate
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
RAMP = 0.1  # width of the margins around 1 at which α of the hinge goes from its cost to 0
SMALLEST_SHARE = 1e-6  # of its cost; a smaller α is left out
INTERCEPT_STEPS, LONGEST_STEP = 6, 0.5


@dataclass(frozen=True)
class WeightStart:
    """Weights of nodes, from which the α of a dual problem follow: α_i = −c_i ℓ'(y_i w·x_i) at its optimum.

    Where the weights are nearly those of the new optimum, so are the α, and little is left to do. Small errors of all
    margins together would sum up in the intercept, so its best value is found first.

    Attributes
    ----------
    taxonomy : Taxonomy
        That of the nodes; other problems start at zero.
    nodes : array of node ids
        Ascending, one per vector of weights.
    weights : Weights
    unchanged : array of bool
        Of which nodes the weights are those of an old optimum. Problems of the others start at the mean α of these,
        near the solution for a label without rows.
    """

    taxonomy: Taxonomy
    nodes: Ids
    weights: Weights
    unchanged: npt.NDArray[np.bool_]

    def state_for(self, problem: OneVsRest, targets: Ids, coupling: Coupling | None) -> Any:
        """Return α in blocks of sixteen problems, as flat solvers begin with; None if there is nothing to begin from.

        Where a tree couples labels, the errors of all leaves would sum up in its inner nodes, and the logistic loss has
        an α for every row: both start as usual.
        """
        is_flat_tree = isinstance(coupling, TreeCoupling) and is_flat(*coupling.tree_and_root())
        there = np.isin(targets, self.nodes[self.unchanged])
        fits = len(targets) == problem.n_classes and self.weights.n_features == problem.rows.n_features
        fits &= problem.surrogate.sparse_dual
        if not fits or not np.any(there) or (coupling is not None and not is_flat_tree):
            return None
        matrix = problem.rows.matrix(np.arange(len(problem.rows)))
        blocks, usual = [], None
        for first in range(0, problem.n_classes, WIDTH):
            classes = np.arange(first, min(first + WIDTH, problem.n_classes))
            alphas = np.zeros((len(problem.rows), WIDTH), np.float32)
            lanes = np.flatnonzero(there[classes])
            if len(lanes):
                places = np.searchsorted(self.nodes, targets[classes[lanes]])
                weights = self.weights.matrix(places)
                alphas[:, lanes] = _alphas(problem, classes, lanes, matrix @ weights.T, self.weights.intercepts[places])
                usual = alphas[:, lanes].mean(axis=1)
            if usual is not None:
                _begin_near(problem, classes, np.flatnonzero(~there[classes]), usual, alphas)
            blocks.append(alphas)
        return blocks


def _begin_near(problem: OneVsRest, classes: Ids, lanes: Ids, usual: Any, alphas: Any) -> None:
    """Set the α of lanes to usual ones; those of their own rows to where descent begins without a start."""
    alphas[:, lanes] = usual[:, None]
    for lane in lanes.tolist():
        members = problem.members_of(int(classes[lane]))
        cost = problem.costs[0, classes[lane]] * problem.weights32[members]
        alphas[members, lane] = problem.surrogate.positive_share * cost


def _alphas(problem: OneVsRest, classes: Ids, lanes: Ids, products: Any, intercepts: Any) -> Floats:
    """Return the α (rows × lanes) that belong to products w·x and intercepts, each between its bounds."""
    surrogate, costs = problem.surrogate, block_costs(problem, classes)[:, lanes].astype(np.float64)
    products = np.asarray(products.toarray() if hasattr(products, "toarray") else products, np.float64)
    signs = np.full(products.shape, -1.0)
    for lane, k in enumerate(classes[lanes].tolist()):
        signs[problem.members_of(k), lane] = 1.0
    b = np.asarray(intercepts, np.float64).copy()
    if problem.rows.has_constant:
        for _ in range(INTERCEPT_STEPS):  # Newton's method on ½ b² + Σ c ℓ(y (w·x + b))
            shares, curvatures = _slopes(surrogate, signs * (products + b))
            slope = b - np.sum(costs * shares * signs, axis=0)
            b -= np.clip(slope / (1 + np.sum(costs * curvatures, axis=0)), -LONGEST_STEP, LONGEST_STEP)
    shares = _slopes(surrogate, signs * (products + b))[0]
    return np.where(shares > SMALLEST_SHARE, costs * shares, 0.0)


def _slopes(surrogate: Surrogate, margins: Floats) -> tuple[Floats, Floats]:
    """Return −ℓ' and ℓ''; the step of the hinge at 1 is replaced by a ramp."""
    if surrogate.smooth:
        return -np.asarray(surrogate.slope(margins)), np.asarray(surrogate.curvature(margins))
    shares = np.clip(0.5 + (1 - margins) / RAMP, 0, 1)
    return shares, np.where((shares > 0) & (shares < 1), 1 / RAMP, 0.0)
