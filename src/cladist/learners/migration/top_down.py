"""Migration of `TopDown` with classifiers of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cladist.labels import LabelMatrix
from cladist.learners.local.families import Family
from cladist.learners.local.top_down import VIRTUAL_ROOT, TopDown
from cladist.learners.migration.node_map import NodeMap
from cladist.learners.migration.vectors import Vector, average, combine, stack, turn_towards
from cladist.linear_model.sparse import SparseWeights


def migrate_top_down(model: TopDown, fitted: Any, nodes: NodeMap, texts: dict[int, Any]) -> Any:
    """Give a clone of a `TopDown` the families of the old tree, or what is nearest to them.

    A family whose children are those of an old one keeps its weights bit for bit. In other families, a child begins
    with the weights it had among its old siblings.
    """
    return _Families(model, nodes, texts).fill(fitted)


class _Families:
    """The families of the new tree, made from those of the old one."""

    def __init__(self, model: TopDown, nodes: NodeMap, texts: dict[int, Any]) -> None:
        self.model, self.nodes, self.texts = model, nodes, texts
        self.old_of: dict[int, tuple[int, int]] = {}  # old node → its parent, and its place in the family there
        for parent, family in model.decisions_.items():
            self.old_of.update((child, (parent, k)) for k, child in enumerate(family.children.tolist()))
        self.ends = self._ends()
        closed = LabelMatrix.from_nodes(np.array(self.ends, np.int64), nodes.new)
        self.reached = set(np.unique(closed.indices).tolist())

    def _ends(self) -> list[int]:
        """Return the labels of the new tree: those of old labels, and new ones beside them or with texts."""
        tree, labels = self.nodes.new, set(self.model.class_nodes_.tolist())
        found = {v for v, sources in self.nodes.sources.items() if labels.intersection(sources)}
        near = {int(tree.parent[v]) for v in found}
        for v in tree.leaves.tolist():
            if v not in self.nodes.sources and (v in self.texts or int(tree.parent[v]) in near):
                found.add(v)
        above = {int(a) for v in found for a in tree.ids_above(v)}
        return sorted(found - above)

    def fill(self, fitted: Any) -> Any:
        """Set all that the fit of a `TopDown` sets."""
        tree = self.nodes.new
        children: dict[int, list[int]] = {}
        for v in sorted(self.reached):
            children.setdefault(int(tree.parent[v]), []).append(v)
        fitted.walked_ = tree
        fitted.decisions_ = {parent: self._family(below) for parent, below in sorted(children.items())}
        fitted.end_nodes_ = np.array(self.ends, np.int64)
        fitted.set_classes(fitted.end_nodes_)
        return fitted

    def _family(self, children: list[int]) -> Family:
        ids = np.array(children, np.int64)
        if len(children) == 1:
            return Family(ids)
        same = self._same_family(children)
        if same is not None:
            return Family(ids, same)
        vectors = [self._vector(v, frozenset(children)) for v in children]
        if len(children) == 2:  # one classifier, whose sign decides
            (first, low), (second, high) = vectors
            vectors = [(sparse.csr_array(second - first), high - low)]
        matrix, intercepts = stack(vectors, self.model.n_features_in_)
        return Family(ids, SparseWeights.from_matrix(matrix, intercepts))

    def _same_family(self, children: list[int]) -> SparseWeights | None:
        """Return the weights of the old family whose children these are, in their order, or None."""
        if not all(self.nodes.is_whole(v) for v in children):
            return None
        sources = [self.nodes.sources[v][0] for v in children]
        parents = {self.old_of.get(u, (None, 0))[0] for u in sources}
        parent = parents.pop()
        if parents or parent is None:
            return None
        family = self.model.decisions_[parent]
        if not isinstance(family, Family) or family.weights is None or set(sources) != set(family.children.tolist()):
            return None
        if sources == family.children.tolist():
            return family.weights
        places = np.array([self.old_of[u][1] for u in sources], np.int64)
        if family.weights.n_classes == 1:  # two children that have changed places
            return SparseWeights.from_matrix(-family.weights.matrix(), -family.weights.intercepts)
        return SparseWeights.from_matrix(family.weights.matrix(places), family.weights.intercepts[places])

    def _vector(self, v: int, siblings: frozenset[int]) -> Vector:
        """Return the weights that a child begins with among its new siblings."""
        known = [vector for u in self.nodes.sources.get(v, ()) if (vector := self._old_vector(u)) is not None]
        if known:
            return combine(known)
        below = [int(w) for w in self.nodes.new.child_ids(v) if int(w) in self.reached]
        if below:
            return combine([self._vector(w, frozenset(below)) for w in below])
        others = [self._vector(w, frozenset()) for w in sorted(siblings - {v}) if w in self.nodes.sources]
        nothing = sparse.csr_array((1, self.model.n_features_in_), dtype=np.float32), 0.0
        begin = average(others) if others else nothing
        return turn_towards(begin, self.texts[v]) if v in self.texts else begin

    def _old_vector(self, u: int) -> Vector | None:
        """Return the weights of an old node, or of the nearest one above that has siblings; None without rows."""
        while u != VIRTUAL_ROOT and u in self.old_of:
            parent, place = self.old_of[u]
            family = self.model.decisions_[parent]
            if isinstance(family, Family) and family.has_choice:
                weights, intercepts = family.vectors(np.array([place]))
                return sparse.csr_array(weights), float(intercepts[0])
            u = parent
        return None
