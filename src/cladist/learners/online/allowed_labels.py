"""The labels that an online learner can predict, which may grow while it is trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError, ParameterError, one_of
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max
NO_NODES = np.zeros(0, np.int64)


def check_allowed(who: str, allowed: Any) -> None:
    """Raise unless the parameter `allowed_labels` describes labels."""
    if isinstance(allowed, str):
        one_of(who, "allowed_labels", allowed, ("all", "leaves", "seen"))
    elif not isinstance(allowed, Iterable):
        raise ParameterError(
            f"{who}: allowed_labels must be 'all', 'leaves', 'seen' or a list of labels; got {allowed!r}."
        )


def find_since(who: str, allowed: Any, taxonomy: Taxonomy, nodes: Ids, classes: Ids) -> Ids:
    """Return, by node, the row after which it can be predicted: −1 for the start, `NEVER` if it cannot.

    `nodes` are the labels of some rows, `classes` those that can be predicted already. A row whose label is not allowed
    is an error.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["a", "b", "c"])
    >>> find_since("Hieron", "seen", taxonomy, np.array([1, 1, 0]), np.array([2])).tolist()
    [2, 0, -1]
    """
    check_allowed(who, allowed)
    since = np.full(taxonomy.n_nodes, NEVER)
    since[classes] = -1
    if not isinstance(allowed, str):
        since[[taxonomy.index(name) for name in allowed]] = -1
    elif allowed == "seen":
        np.minimum.at(since, nodes, np.arange(len(nodes)))
    else:
        since[taxonomy.leaves if allowed == "leaves" else slice(None)] = -1
    outside = np.flatnonzero(since[nodes] == NEVER)
    if len(outside):
        name = taxonomy.names[nodes[outside[0]]]
        raise LabelError(f"{who}: row {outside[0]} has the label {name!r}, which allowed_labels does not allow.")
    return since
