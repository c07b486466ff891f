"""The initial point of regularisation on a graph: equal nodes in each component, and shares that cancel.

Problem   min_w Σ_i P_i ℓ(w·x_i) + N_i ℓ(−w·x_i), P_i and N_i being what row i costs in all nodes of a component that it
          is a positive and a negative row of; searched among the w that have a weight for the constant feature only
Dual      α of r_i times their cost for positive and q_i times it for negative rows, P_i r_i = N_i q_i: what a row adds
          to the shares of all nodes is 0, as the dual of a component that nothing pulls to 0 wants it
Where relations pull more than rows do this is nearly the optimum, which descent from 0 takes many sweeps to come to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.execution import Executor
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.problem import OneVsRest
from cladist.surrogates import Surrogate

FURTHEST, STEPS = 40.0, 60  # scores between which, and steps by which, the best common one is looked for
HOPELESS = 3.0  # times the gap wanted: where these shares leave more, descent will soon know better
PRECISION = 0.1  # of the gap wanted
Ids = npt.NDArray[np.int64]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class InitialPoint:
    """The initial scores of components, and lower bounds.

    Attributes
    ----------
    levels : array (components,)
        The score that all rows have in all nodes, by the weight of the constant feature; 0 where there is none.
    bounds : array (components,)
        Lower bounds of the objective, from shares that cancel; −∞ where nothing is known.
    """

    levels: Floats64
    bounds: Floats64

    @classmethod
    def of(cls, problem: OneVsRest, graph: Graph, tol: float, executor: Executor) -> InitialPoint:
        """Compute the point, with bounds for components of several nodes if they may be near the gap wanted."""
        sizes = np.bincount(graph.components)
        levels, bounds = np.zeros(len(sizes)), np.full(len(sizes), -np.inf)
        component, surrogate = graph.components[graph.nodes], problem.surrogate
        shares, lost = np.zeros((graph.n_nodes, problem.rows.n_used), np.float32), 0.0
        indptr, rows = problem.members
        weight = problem.weights32.astype(np.float64)
        members = sparse.csr_array((weight[rows], rows, indptr), shape=(problem.n_classes, len(weight)))
        for k in np.unique(component[sizes[component] > 1]).tolist():
            part = np.flatnonzero(component == k)
            costs, own = problem.costs[:, part].astype(np.float64), members[part]
            P = costs[0] @ own
            N = np.maximum(costs[1].sum() * weight - costs[1] @ own, 0)
            r, q = surrogate.balanced_shares(P, N)
            bounds[k] = float(P @ surrogate.gain(r) + N @ surrogate.gain(q))
            _add_shares(problem, costs, own, weight, (r, q), graph.nodes[part], shares)
            if problem.rows.has_constant:
                levels[k] = common_score(surrogate, float(P.sum()), float(N.sum()), graph.ridge * sizes[k])
            lost += float(P.sum() * surrogate.value(levels[k]) + N.sum() * surrogate.value(-levels[k]))
        known = np.isfinite(bounds)
        left = lost - bounds[known].sum()
        if not known.any() or left + graph.least_cost(shares, executor) > HOPELESS * tol * lost:
            return cls(levels, np.full(len(sizes), -np.inf))
        taken = graph.dual_cost_terms(shares, None, PRECISION * tol * lost, executor).fixed  # shares cancel: it is all
        return cls(levels, np.where(known, bounds - taken, -np.inf))


def _add_shares(
    problem: OneVsRest, costs: Floats64, own: Any, weight: Floats64, factors: Any, nodes: Ids, shares: Any
) -> None:
    """Write Σ α y x of some nodes into `shares`."""
    r, q = factors
    indptr, indices, data = problem.rows.arrays
    X = sparse.csr_array((data, indices.astype(np.int64), indptr), shape=(len(weight), problem.rows.n_used))
    alike = (weight * q) @ X
    pairs = sparse.diags_array(costs[0]) @ own @ sparse.diags_array(r)
    pairs = pairs + sparse.diags_array(costs[1]) @ own @ sparse.diags_array(q)
    different = sparse.csr_array(pairs @ X)
    for k, node in enumerate(nodes.tolist()):
        shares[node] = -costs[1, k] * alike
        ends = slice(different.indptr[k], different.indptr[k + 1])
        shares[node, different.indices[ends]] += different.data[ends]


def common_score(surrogate: Surrogate, P: float, N: float, ridge: float) -> float:
    """Return the score z that minimises P ℓ(z) + N ℓ(−z) + ½ ridge z², by bisection.

    Examples
    --------
    >>> from cladist.surrogates import Hinge, SquaredHinge
    >>> round(common_score(Hinge(), 1.0, 5.0, 0.0), 9), round(common_score(SquaredHinge(), 1.0, 3.0, 0.0), 9)
    (-1.0, -0.5)
    """
    low, high = np.float64(-FURTHEST), np.float64(FURTHEST)
    for _ in range(STEPS):
        z = (low + high) / 2
        if ridge * z + P * surrogate.slope(z) - N * surrogate.slope(-z) > 0:
            high = z
        else:
            low = z
    return float((low + high) / 2)
