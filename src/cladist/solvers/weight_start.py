"""`WeightStart`: a start for solvers from weights, whatever rows they were trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import BlockAlphas, build_leaf_blocks
from cladist.linear_model.weights import Weights
from cladist.solvers.problem import OneVsRest
from cladist.solvers.relations import Coupling, TreeCoupling
from cladist.solvers.tree.recursive import State, is_flat
from cladist.solvers.warm_start import block_costs
from cladist.taxonomy import Taxonomy

RAMP = 0.1  # width of the margins around 1 at which α of the hinge goes from its cost to 0
SMALLEST_SHARE = 1e-6  # of its cost; a smaller α is left out


@dataclass(frozen=True)
class WeightStart:
    """Weights of nodes, from which the α of a dual problem follow: α_i = −c_i ℓ'(y_i w·x_i) at its optimum.

    Where the weights are nearly those of the new optimum, so are the α, and little is left to do.

    Attributes
    ----------
    taxonomy : Taxonomy
        That of the nodes; other problems start at zero.
    nodes : array of node ids
        Ascending, one per vector of weights.
    weights : Weights
    """

    taxonomy: Taxonomy
    nodes: npt.NDArray[np.int64]
    weights: Weights

    def state_for(self, problem: OneVsRest, targets: npt.NDArray[np.int64], coupling: Coupling | None) -> Any:
        """Return the state to start from, for problems of these nodes; None if none of them has weights.

        As of solvers: α in blocks of sixteen problems, or the α of the blocks of a tree.
        """
        is_tree = isinstance(coupling, TreeCoupling)
        is_there = np.isin(targets, self.nodes)
        usable = len(targets) == problem.n_classes and np.any(is_there) and self.weights.n_features == problem.rows.n_features
        if not usable or (coupling is not None and not is_tree):
            return None
        scores = self._scores(problem, targets, is_there)
        if coupling is None or is_flat(*coupling.tree_and_root()):
            return [
                self._alphas(problem, scores, np.arange(first, min(first + WIDTH, problem.n_classes)))
                for first in range(0, problem.n_classes, WIDTH)
            ]
        tree, root = coupling.tree_and_root()
        if root == "free":  # the positions of its roots do not follow from the weights of leaves
            return None
        order = np.random.default_rng(0).permutation(len(problem.rows))
        parts = []
        for block in build_leaf_blocks(tree, root).blocks:
            alphas = self._alphas(problem, scores, block.classes)[order]
            rows = np.flatnonzero(alphas.any(axis=1)).astype(np.int32)
            parts.append(BlockAlphas(rows, np.ascontiguousarray(alphas[rows])))
        return State(parts, order, np.zeros((0, problem.rows.n_used), np.float32))

    def _scores(self, problem: OneVsRest, targets: npt.NDArray[np.int64], is_there: Any) -> npt.NDArray[np.float32]:
        """Return the scores (rows × problems); NaN for problems without weights."""
        scores = np.full((len(problem.rows), problem.n_classes), np.nan, np.float32)
        found = self.weights.scores(problem.rows.matrix(np.arange(len(problem.rows))))
        scores[:, is_there] = found[:, np.searchsorted(self.nodes, targets[is_there])]
        return scores

    @staticmethod
    def _alphas(problem: OneVsRest, scores: Any, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the α (rows × 16) of some problems, each between its bounds; 0 where there are no scores."""
        alphas, surrogate = np.zeros((len(problem.rows), WIDTH), np.float32), problem.surrogate
        costs = block_costs(problem, classes)[:, : len(classes)]
        signs = np.full((len(problem.rows), len(classes)), -1.0)
        for lane, k in enumerate(classes.tolist()):
            signs[problem.members_of(k), lane] = 1.0
        margins = signs * scores[:, classes]
        if surrogate.smooth:
            shares = -np.asarray(surrogate.slope(margins))
        else:
            shares = np.clip(0.5 + (1 - margins) / RAMP, 0, 1)
        shares[~(shares > SMALLEST_SHARE)] = 0  # and NaN
        alphas[:, : len(classes)] = costs * shares
        return alphas
