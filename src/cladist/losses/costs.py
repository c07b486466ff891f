"""The cost c_j of a mistake at each node, for the H-loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, one_of
from cladist.taxonomy import Taxonomy

Weights = str | Sequence[float] | npt.NDArray[Any]
NAMED_WEIGHTS = ("uniform", "sibling", "subtree")


def node_costs(weights: Weights, taxonomy: Taxonomy, *, virtual_root: bool = False) -> npt.NDArray[np.float64]:
    """Return the cost c_j of a first mistake at each node.

    Parameters
    ----------
    weights : {"uniform", "sibling", "subtree"} or array of shape (n_nodes,)
        "uniform": c_j = 1. "sibling": c = 1 at roots, and a node's cost is shared equally among its children; with
        several parents, c_j is the mean of its shares. "subtree": c_j is the fraction of nodes at or below j. An array
        gives the costs themselves, finite and not negative.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    virtual_root : bool
        For "sibling" in a forest: share a cost of 1 among the roots, as if they hung below one node.

    Returns
    -------
    array of shape (n_nodes,)

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> node_costs("sibling", taxonomy)
    array([1. , 1. , 0.5, 0.5])
    >>> node_costs("sibling", taxonomy, virtual_root=True)
    array([0.5 , 0.5 , 0.25, 0.25])
    >>> node_costs("subtree", taxonomy)
    array([0.75, 0.25, 0.25, 0.25])
    """
    if not isinstance(weights, str):
        return _check_costs(weights, taxonomy)
    one_of("node_costs", "weights", weights, NAMED_WEIGHTS)
    if weights == "uniform":
        return np.ones(taxonomy.n_nodes)
    if weights == "subtree":
        return taxonomy.subtree_sizes / taxonomy.n_nodes
    return _share_costs(taxonomy, virtual_root)


def _share_costs(taxonomy: Taxonomy, virtual_root: bool) -> npt.NDArray[np.float64]:
    cost = np.ones(taxonomy.n_nodes)
    if virtual_root:
        cost[taxonomy.roots] /= len(taxonomy.roots)
    above = taxonomy.parents
    for level in taxonomy.levels[1:]:  # the costs of parents are known
        rows = above[level]
        share = cost / np.maximum(taxonomy.n_children, 1)
        cost[level] = (rows @ share) / taxonomy.n_parents[level]
    return cost


def _check_costs(weights: Any, taxonomy: Taxonomy) -> npt.NDArray[np.float64]:
    try:
        cost = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"node_costs: weights must be a name or numbers; got {weights!r}.") from None
    if cost.shape != (taxonomy.n_nodes,):
        raise ParameterError(
            f"node_costs: weights must be one number per node, here {taxonomy.n_nodes}; got shape {cost.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(cost) & (cost >= 0)))
    if len(wrong):
        name, value = taxonomy.names[wrong[0]], cost[wrong[0]]
        raise ParameterError(f"node_costs: weights must be finite and at least 0; {name!r} has {value}.")
    return cost
