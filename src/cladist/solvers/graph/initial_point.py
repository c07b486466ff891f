"""Where regularisation on a graph begins: all nodes of a component alike, and shares that cancel.

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

FURTHEST, STEPS = 40.0, 60  # scores between which, and steps by which, the best common one is looked for
HOPELESS = 3.0  # times the gap wanted: where these shares leave more, descent will soon know better
PRECISION = 0.1  # of the gap wanted
Ids = npt.NDArray[np.int64]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """Where components begin.

    Attributes
    ----------
    levels : array (components,)
        The score that all rows have in all nodes, by the weight of the constant feature; 0 where there is none.
    bounds : array (components,)
        What shares that cancel prove: no vectors have a lower objective. −∞ where nothing is known.
    """

    levels: Floats64
    bounds: Floats64

    @classmethod
    def of(cls, problem: OneVsRest, graph: Graph, tol: float, executor: Executor) -> Start:
        """Begin, with bounds for components of several nodes if they may be near the gap wanted."""
        sizes = np.bincount(graph.components)
        levels, bounds = np.zeros(len(sizes)), np.full(len(sizes), -np.inf)
        component = graph.components[graph.nodes]
        shares, lost = np.zeros((graph.n_nodes, problem.rows.n_used), np.float32), 0.0
        indptr, rows = problem.members
        weight = problem.weights32.astype(np.float64)
        members = sparse.csr_array((weight[rows], rows, indptr), shape=(problem.n_classes, len(weight)))
        for k in np.unique(component[sizes[component] > 1]).tolist():
            part = np.flatnonzero(component == k)
            costs, own = problem.costs[:, part].astype(np.float64), members[part]
            P = costs[0] @ own
            N = np.maximum(costs[1].sum() * weight - costs[1] @ own, 0)
            r, q = _balanced(problem.loss, P, N)
            bounds[k] = float(P @ _gain(problem.loss, r) + N @ _gain(problem.loss, q))
            _add_shares(problem, costs, own, weight, (r, q), graph.nodes[part], shares)
            if problem.rows.has_constant:
                levels[k] = _level(problem.loss, float(P.sum()), float(N.sum()), graph.ridge * sizes[k])
            lost += float(P.sum() * _lost(problem.loss, levels[k]) + N.sum() * _lost(problem.loss, -levels[k]))
        known = np.isfinite(bounds)
        left = lost - bounds[known].sum()
        if not known.any() or left + graph.least_cost(shares, executor) > HOPELESS * tol * lost:
            return cls(levels, np.full(len(sizes), -np.inf))
        taken = graph.taken(shares, None, PRECISION * tol * lost, executor).fixed  # shares cancel: it is all
        return cls(levels, np.where(known, bounds - taken, -np.inf))


def _add_shares(
    problem: OneVsRest, costs: Floats64, own: Any, weight: Floats64, factors: Any, nodes: Ids, shares: Any
) -> None:
    """Write Σ α y x of some nodes."""
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


def _balanced(loss: str, P: Floats64, N: Floats64) -> tuple[Floats64, Floats64]:
    """Return the shares of cost, for positives and negatives, that gain most of those for which P r = N q."""
    if loss == "hinge":
        both = np.minimum(P, N)
        return both / np.where(P > 0, P, 1), both / np.where(N > 0, N, 1)
    total = np.where(P + N > 0, P + N, 1)
    times = 4.0 if loss == "squared_hinge" else 1.0
    return times * N / total, times * P / total


def _gain(loss: str, share: Floats64) -> Floats64:
    """Return what a share of a cost of 1 gains in the dual."""
    if loss == "hinge":
        return share
    if loss == "squared_hinge":
        return share - share * share / 4
    inside = np.clip(share, 1e-300, 1 - 1e-16)
    entropy: Floats64 = -share * np.log(inside) - (1 - share) * np.log1p(-inside)
    return entropy


def _lost(loss: str, margin: float) -> float:
    if loss == "logistic":
        return float(np.logaddexp(0, -margin))
    return max(0.0, 1 - margin) ** (1 if loss == "hinge" else 2)


def _slope(loss: str, margin: float) -> float:
    """Return −ℓ'."""
    if loss == "logistic":
        return float(1 / (1 + np.exp(margin)))
    return float(margin < 1) if loss == "hinge" else 2 * max(0.0, 1 - margin)


def _level(loss: str, P: float, N: float, ridge: float) -> float:
    """Return the score z that makes P ℓ(z) + N ℓ(−z) + ½ ridge z² least, by bisection.

    Examples
    --------
    >>> round(_level("hinge", 1.0, 5.0, 0.0), 9), round(_level("squared_hinge", 1.0, 3.0, 0.0), 9)
    (-1.0, -0.5)
    """
    low, high = -FURTHEST, FURTHEST
    for _ in range(STEPS):
        z = (low + high) / 2
        if ridge * z - P * _slope(loss, z) + N * _slope(loss, -z) > 0:
            high = z
        else:
            low = z
    return (low + high) / 2
