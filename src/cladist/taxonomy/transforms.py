"""Other taxonomies made from one: parts of it, stars, contractions, stop leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.construction import Draft, as_name

if TYPE_CHECKING:
    from cladist.taxonomy.structure import Ids
    from cladist.taxonomy.taxonomy import Taxonomy


def kept(taxonomy: Taxonomy, ids: Ids) -> Taxonomy:
    """Keep the nodes `ids` (ascending) and the edges between them."""
    position = _positions(taxonomy, ids)
    child = np.repeat(np.arange(taxonomy.n_nodes), taxonomy.n_parents)
    above, below = position[taxonomy.parents.indices], position[child]
    both = (above >= 0) & (below >= 0)
    return _built(taxonomy, ids, above[both], below[both])


def with_parent(taxonomy: Taxonomy, ids: Ids, parent: Ids) -> Taxonomy:
    """Keep the nodes `ids` (ascending), each below `parent` of it if that is kept; else it is a root."""
    above = _positions(taxonomy, ids)[parent[ids]]
    return _built(taxonomy, ids, above[above >= 0], np.flatnonzero(above >= 0))


def _positions(taxonomy: Taxonomy, ids: Ids) -> Ids:
    """Return the place of each node among `ids`, −1 for the others; one entry more, so that −1 stays −1."""
    position = np.full(taxonomy.n_nodes + 1, -1, np.int64)
    position[ids] = np.arange(len(ids))
    return position


def _built(taxonomy: Taxonomy, ids: Ids, above: Ids, below: Ids) -> Taxonomy:
    draft = Draft.of_edges([taxonomy.names[v] for v in ids], above, below)
    if taxonomy._parts:
        parts = [taxonomy._parts[v] for v in ids]
        parent = np.full(len(ids), -1, np.int64)
        parent[below] = above
        # Nodes that have become siblings may end in the same part; then only names tell them apart.
        if len(set(zip(parent.tolist(), parts, strict=True))) == len(parts):
            draft.parts, draft.sep = parts, taxonomy._sep
    made = type(taxonomy)(draft, titles=taxonomy._titles)
    stops = taxonomy.stop_leaves.items()
    # A stop leaf that no longer hangs below its node is a leaf like others.
    still = {stop: inner for stop, inner in stops if stop in made and inner in made.parents_of(stop)}
    if still:
        made.__dict__["_stop_leaves"] = still
    return made


def contracted(taxonomy: Taxonomy) -> Taxonomy:
    """Leave out inner nodes with a single child."""
    if taxonomy.kind == "dag":
        return _contracted_dag(taxonomy)
    removed = taxonomy.n_children == 1
    above = taxonomy.parent.copy()
    for v in range(taxonomy.n_nodes):  # parents first, so a parent's own link is final
        p = above[v]
        if p >= 0 and removed[p]:
            above[v] = above[p]
    return with_parent(taxonomy, np.flatnonzero(~removed), above)


def _contracted_dag(taxonomy: Taxonomy) -> Taxonomy:
    """Take single-child nodes out until none is left: two edges may become one, and leave another such node."""
    above = [set(taxonomy.parent_ids(v).tolist()) for v in range(taxonomy.n_nodes)]
    below = [set(taxonomy.child_ids(v).tolist()) for v in range(taxonomy.n_nodes)]
    waiting = [v for v in range(taxonomy.n_nodes) if len(below[v]) == 1]
    gone = set()
    while waiting:
        v = waiting.pop()
        if v in gone or len(below[v]) != 1:
            continue
        gone.add(v)
        (child,) = below[v]
        above[child].remove(v)
        for p in above[v]:
            below[p].remove(v)
            below[p].add(child)
            above[child].add(p)
            if len(below[p]) == 1:
                waiting.append(p)
    ids = np.array([v for v in range(taxonomy.n_nodes) if v not in gone])
    edges = [(p, v) for v in ids.tolist() for p in sorted(above[v])]
    ends = _positions(taxonomy, ids)[np.array(edges, np.int64).reshape(-1, 2)]
    return _built(taxonomy, ids, ends[:, 0], ends[:, 1])


def flattened(taxonomy: Taxonomy, keep: str) -> Taxonomy:
    """Hang the kept nodes below the only root (keep="nodes", if there is one) or make them all roots."""
    if keep not in ("nodes", "leaves"):
        raise TaxonomyError(f"flattened: keep must be 'nodes' or 'leaves'; got {keep!r}.")
    above = np.full(taxonomy.n_nodes, -1, np.int64)
    if keep == "leaves":
        return with_parent(taxonomy, taxonomy.leaves, above)
    if len(taxonomy.roots) == 1:
        above[1:] = 0
    return with_parent(taxonomy, np.arange(taxonomy.n_nodes), above)


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
    draft.parents = np.concatenate([draft.parents, np.array(inner, np.int64)])
    draft.indptr = np.concatenate([draft.indptr, draft.indptr[-1] + 1 + np.arange(len(inner))])
    grown = type(taxonomy)(draft, titles=taxonomy._titles)
    grown.__dict__["_stop_leaves"] = {**taxonomy.stop_leaves, **stops}
    return grown


def with_node(taxonomy: Taxonomy, name: str, parent: str | None) -> Taxonomy:
    """Add a leaf below a node, after its other children; None: a root."""
    part = as_name(name, "the new node")
    above = -1 if parent is None else taxonomy.index(parent)
    if (above, part) in taxonomy._child_of:
        raise TaxonomyError(f"{quoted(part)} is there already{'' if above < 0 else f' below {quoted(parent)}'}.")
    draft = taxonomy._draft()
    unique = part
    if draft.parts is not None:
        draft.parts.append(part)
        if part in taxonomy:  # as `from_paths` names nodes whose last parts are the same
            unique = (taxonomy._sep or "/").join([*([] if above < 0 else taxonomy.path_parts(above)), part])
    if unique in taxonomy:
        raise TaxonomyError(f"{quoted(unique)} is in the taxonomy already; a node needs a name of its own.")
    draft.names.append(unique)
    draft.parents = np.concatenate([draft.parents, np.array([above] if above >= 0 else [], np.int64)])
    draft.indptr = np.append(draft.indptr, len(draft.parents))
    grown = type(taxonomy)(draft, titles=taxonomy._titles)
    grown.__dict__["_stop_leaves"] = taxonomy.stop_leaves
    return grown
