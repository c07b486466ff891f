"""Other taxonomies made from one: parts of it, stars, contractions, stop leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cladist.errors import TaxonomyError
from cladist.taxonomy.building import Draft

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Ids, Taxonomy


def kept(taxonomy: Taxonomy, ids: Ids, parent: Ids | None = None) -> Taxonomy:
    """Keep the nodes `ids` (ascending), each below its parent or, where given, below `parent`; else it is a root."""
    position = np.full(taxonomy.n_nodes + 1, -1, np.int64)
    position[ids] = np.arange(len(ids))
    above = position[(taxonomy.parent if parent is None else parent)[ids]]
    draft = Draft([taxonomy.names[v] for v in ids], above)
    if taxonomy._parts:
        parts = [taxonomy._parts[v] for v in ids]
        # Nodes that have become siblings may end in the same part; then only names tell them apart.
        if len(set(zip(above.tolist(), parts, strict=True))) == len(parts):
            draft.parts, draft.sep = parts, taxonomy._sep
    return type(taxonomy)(draft, titles=taxonomy._titles)


def contracted(taxonomy: Taxonomy) -> Taxonomy:
    """Leave out inner nodes with a single child."""
    removed = np.diff(taxonomy.child_start) == 1
    above = taxonomy.parent.copy()
    for v in range(taxonomy.n_nodes):  # parents first, so a parent's own link is final
        p = above[v]
        if p >= 0 and removed[p]:
            above[v] = above[p]
    return kept(taxonomy, np.flatnonzero(~removed), above)


def flattened(taxonomy: Taxonomy, keep: str) -> Taxonomy:
    """Hang the kept nodes below the only root (keep="nodes" on a tree) or make them all roots."""
    if keep not in ("nodes", "leaves"):
        raise TaxonomyError(f"flattened: keep must be 'nodes' or 'leaves'; got {keep!r}.")
    above = np.full(taxonomy.n_nodes, -1, np.int64)
    if keep == "leaves":
        return kept(taxonomy, taxonomy.leaves, above)
    if taxonomy.kind == "tree":
        above[1:] = 0
    return kept(taxonomy, np.arange(taxonomy.n_nodes), above)


def with_stop_leaves(taxonomy: Taxonomy, nodes: Iterable[str] | None) -> Taxonomy:
    """Add a leaf below each inner node among `nodes`, after its other children."""
    ids = np.arange(taxonomy.n_nodes) if nodes is None else sorted({taxonomy.index(n) for n in nodes})
    draft = taxonomy._draft()
    stops = {}
    inner = []
    for v in ids:
        if taxonomy.is_leaf[v]:
            continue
        part = "*"
        while f"{taxonomy.names[v]}/{part}" in taxonomy or (v, part) in taxonomy._child_of:
            part += "*"
        stops[f"{taxonomy.names[v]}/{part}"] = taxonomy.names[v]
        draft.names.append(f"{taxonomy.names[v]}/{part}")
        inner.append(v)
        if draft.parts is not None:
            draft.parts.append(part)
    draft.parent = np.concatenate([taxonomy.parent, np.array(inner, np.int64)])
    grown = type(taxonomy)(draft, titles=taxonomy._titles)
    grown.__dict__["_stop_leaves"] = {**taxonomy.stop_leaves, **stops}
    return grown
