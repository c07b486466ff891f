"""Taxonomies made from another one: parts of it, stars, contractions, stop leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.construction import Draft, as_name

if TYPE_CHECKING:
    from cladist.taxonomy.structure import Ids
    from cladist.taxonomy.taxonomy import Taxonomy


def keep_nodes(taxonomy: Taxonomy, ids: Ids) -> Taxonomy:
    """Return the nodes `ids` (ascending) and the edges between them."""
    position = _positions(taxonomy, ids)
    child = np.repeat(np.arange(taxonomy.n_nodes), taxonomy.n_parents)
    above, below = position[taxonomy.parents.indices], position[child]
    both = (above >= 0) & (below >= 0)
    return _build(taxonomy, ids, above[both], below[both])


def keep_with_parent(taxonomy: Taxonomy, ids: Ids, parent: Ids) -> Taxonomy:
    """Return the nodes `ids` (ascending), each below its `parent` if that is among them, else as a root."""
    above = _positions(taxonomy, ids)[parent[ids]]
    return _build(taxonomy, ids, above[above >= 0], np.flatnonzero(above >= 0))


def _positions(taxonomy: Taxonomy, ids: Ids) -> Ids:
    """Return the position of each node among `ids`, −1 for the others; one entry more, so that −1 stays −1."""
    position = np.full(taxonomy.n_nodes + 1, -1, np.int64)
    position[ids] = np.arange(len(ids))
    return position


def _build(taxonomy: Taxonomy, ids: Ids, above: Ids, below: Ids) -> Taxonomy:
    names = [taxonomy.names[v] for v in ids]
    draft = Draft.of_edges(names, above, below)
    draft = draft.with_texts(taxonomy.titles, taxonomy.descriptions, taxonomy.synonyms)
    if taxonomy.parts:
        parts = [taxonomy.parts[v] for v in ids]
        parent = np.full(len(ids), -1, np.int64)
        parent[below] = above
        # Nodes that have become siblings may end in the same part; then only names distinguish them.
        if len(set(zip(parent.tolist(), parts, strict=True))) == len(parts):
            draft.parts, draft.sep = parts, taxonomy.sep
    # A stop leaf that no longer hangs below its node is an ordinary leaf.
    stops = taxonomy.stop_leaves
    edges = zip(above.tolist(), below.tolist(), strict=True) if stops else ()
    draft.stop_leaves = {names[b]: names[a] for a, b in edges if stops.get(names[b]) == names[a]}
    return type(taxonomy)(draft)


def contract(taxonomy: Taxonomy) -> Taxonomy:
    """Return the taxonomy without inner nodes that have a single child."""
    if taxonomy.kind == "dag":
        return _contract_dag(taxonomy)
    removed = taxonomy.n_children == 1
    above = taxonomy.parent.copy()
    for v in range(taxonomy.n_nodes):  # parents first, so a parent's own link is final
        p = above[v]
        if p >= 0 and removed[p]:
            above[v] = above[p]
    return keep_with_parent(taxonomy, np.flatnonzero(~removed), above)


def _contract_dag(taxonomy: Taxonomy) -> Taxonomy:
    """Remove single-child nodes until none is left: two edges may become one, which makes another such node."""
    above = [set(taxonomy.parent_ids(v).tolist()) for v in range(taxonomy.n_nodes)]
    below = [set(taxonomy.child_ids(v).tolist()) for v in range(taxonomy.n_nodes)]
    waiting = [v for v in range(taxonomy.n_nodes) if len(below[v]) == 1]
    removed = set()
    while waiting:
        v = waiting.pop()
        if v in removed or len(below[v]) != 1:
            continue
        removed.add(v)
        (child,) = below[v]
        above[child].remove(v)
        for p in above[v]:
            below[p].remove(v)
            below[p].add(child)
            above[child].add(p)
            if len(below[p]) == 1:
                waiting.append(p)
    ids = np.array([v for v in range(taxonomy.n_nodes) if v not in removed])
    edges = [(p, v) for v in ids.tolist() for p in sorted(above[v])]
    ends = _positions(taxonomy, ids)[np.array(edges, np.int64).reshape(-1, 2)]
    return _build(taxonomy, ids, ends[:, 0], ends[:, 1])


def flatten(taxonomy: Taxonomy, keep: str) -> Taxonomy:
    """Return all nodes below the only root, if there is one, or (keep="leaves") the leaves as roots."""
    if keep not in ("nodes", "leaves"):
        raise TaxonomyError(f"flattened: keep must be 'nodes' or 'leaves'; got {keep!r}.")
    above = np.full(taxonomy.n_nodes, -1, np.int64)
    if keep == "leaves":
        return keep_with_parent(taxonomy, taxonomy.leaves, above)
    if len(taxonomy.roots) == 1:
        above[1:] = 0
    return keep_with_parent(taxonomy, np.arange(taxonomy.n_nodes), above)


def add_stop_leaves(taxonomy: Taxonomy, nodes: Iterable[str] | None) -> Taxonomy:
    """Return the taxonomy with a leaf below each inner node among `nodes`, after its other children."""
    ids = range(taxonomy.n_nodes) if nodes is None else sorted({taxonomy.index(n) for n in nodes})
    inner = [v for v in ids if not taxonomy.is_leaf[v]]
    parts = [_stop_part(taxonomy, v) for v in inner]
    stops = {f"{taxonomy.names[v]}/{part}": taxonomy.names[v] for v, part in zip(inner, parts, strict=True)}
    draft = _append_leaves(taxonomy, list(stops), parts, inner)
    draft.stop_leaves = {**draft.stop_leaves, **stops}
    return type(taxonomy)(draft)


def _stop_part(taxonomy: Taxonomy, v: int) -> str:
    part = "*"
    while f"{taxonomy.names[v]}/{part}" in taxonomy or taxonomy.find_child(v, part) is not None:
        part += "*"
    return part


def _append_leaves(taxonomy: Taxonomy, names: list[str], parts: list[str], parents: list[int]) -> Draft:
    """Return a draft with more leaves at its end; −1 is the parent of a root."""
    draft = taxonomy.draft()
    draft.names += names
    if draft.parts is not None:
        draft.parts += parts
    above = np.array(parents, np.int64)
    draft.indptr = np.concatenate([draft.indptr, draft.indptr[-1] + np.cumsum(above >= 0)])
    draft.parents = np.concatenate([draft.parents, above[above >= 0]])
    return draft


def add_node(taxonomy: Taxonomy, name: str, parent: str | None) -> Taxonomy:
    """Return the taxonomy with a leaf below a node, after its other children; None: a root."""
    part = as_name(name, "the new node")
    above = -1 if parent is None else taxonomy.index(parent)
    if taxonomy.find_child(above, part) is not None:
        raise TaxonomyError(f"{quoted(part)} is there already{'' if above < 0 else f' below {quoted(parent)}'}.")
    unique = part
    if taxonomy.parts is not None and part in taxonomy:  # as `from_paths` names nodes that share their last part
        unique = (taxonomy.sep or "/").join([*([] if above < 0 else taxonomy.path_parts(above)), part])
    if unique in taxonomy:
        raise TaxonomyError(f"{quoted(unique)} is in the taxonomy already; a node needs a name of its own.")
    return type(taxonomy)(_append_leaves(taxonomy, [unique], [part], [above]))


def add_paths(taxonomy: Taxonomy, paths: Sequence[Sequence[str]]) -> tuple[Taxonomy, list[str]]:
    """Return the taxonomy with the nodes of these paths that it lacks, and the name of the node at each path's end."""
    names, parts, above, ends = list(taxonomy.names), [], [], []
    taken, new = set(names), dict[tuple[int, str], int]()
    for path in paths:
        has_root = len(taxonomy.roots) != 1 or taxonomy.find_child(-1, path[0]) is not None
        v = -1 if has_root or taxonomy.find_child(0, path[0]) is None else 0  # paths may leave the only root out
        for part in path:
            found = taxonomy.find_child(v, part) if v < taxonomy.n_nodes else None
            known = new.get((v, part)) if found is None else found
            if known is None:
                known = new[v, part] = len(names)
                prefix = "" if v < 0 else names[v] + (taxonomy.sep or "/")
                name = part if part not in taken else prefix + part
                while name in taken:
                    name += "*"
                names.append(name)
                taken.add(name)
                parts.append(part)
                above.append(v)
            v = known
        ends.append(names[v])
    return type(taxonomy)(_append_leaves(taxonomy, names[taxonomy.n_nodes :], parts, above)), ends
