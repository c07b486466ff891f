"""Which nodes a measure looks at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, one_of
from cladist.taxonomy import Taxonomy

Nodes = str | Sequence[str]


def first_nonroot(taxonomy: Taxonomy) -> int:
    """Return the smallest id that is not the root of a tree.

    The only root of a tree is right in every non-empty row, so it says nothing; the roots of a forest are
    ordinary classes below the virtual root, which is in no label.
    """
    return 1 if len(taxonomy.roots) == 1 else 0


def select(nodes: Nodes, taxonomy: Taxonomy) -> npt.NDArray[np.int64]:
    """Return the ids that `nodes` stands for: "leaves", "all", "nonroot", or a list of names."""
    if isinstance(nodes, str):
        one_of("metrics", "nodes", nodes, ("leaves", "all", "nonroot"))
        if nodes == "leaves":
            return taxonomy.leaves
        return np.arange(first_nonroot(taxonomy) if nodes == "nonroot" else 0, taxonomy.n_nodes)
    ids = [taxonomy.index(name) for name in nodes]
    if not ids:
        raise ParameterError("metrics: nodes must name at least one node; the list is empty.")
    if len(set(ids)) < len(ids):
        twice = next(v for v in ids if ids.count(v) > 1)
        raise ParameterError(f"metrics: nodes must name each node once; {taxonomy.names[twice]!r} is repeated.")
    return np.array(ids, np.int64)
