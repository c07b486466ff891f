"""`Structure`: the shape of a taxonomy without its names, as frozen arrays over topological node ids."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from cladist.errors import TaxonomyError
from cladist.kernels import dag, tree

Ids = npt.NDArray[np.int64]


class Structure:
    """The parents of each node, and everything that follows from them.

    Ids are topological: a parent's id is below its children's. A level (the longest path from a root) is one slice,
    and siblings in a tree are adjacent. −1 stands for the virtual root above the roots.
    """

    parents: sparse.csr_array
    """A CSR matrix (nodes × nodes) with a 1 where the column is a parent of the row."""

    depth: npt.NDArray[np.int32]
    """The number of edges on the longest path down to each node; 0 at roots."""

    def _arrange(self, indptr: Ids, parents: Ids) -> Ids:
        """Store the parents of nodes given in any order; return their old ids in topological order."""
        order, depth = dag.by_level(indptr, parents)
        n_nodes = len(indptr) - 1
        if len(order) < n_nodes:
            raise TaxonomyError("Taxonomy has a cycle.")
        new_id = np.empty(n_nodes, np.int64)
        new_id[order] = np.arange(n_nodes)
        child = new_id[np.repeat(np.arange(n_nodes), np.diff(indptr))]
        above = new_id[parents]
        by_child = np.lexsort((above, child))
        counts = np.bincount(child, minlength=n_nodes)
        self.__dict__["parents"] = _parent_matrix(np.concatenate([[0], np.cumsum(counts)]), above[by_child])
        self.__dict__["depth"] = freeze(depth)
        return order

    @property
    def n_nodes(self) -> int:
        """The number of nodes, without the virtual root."""
        return int(self.parents.shape[0])

    @property
    def n_edges(self) -> int:
        """The number of edges between parents and children."""
        return int(self.parents.nnz)

    @cached_property
    def n_parents(self) -> Ids:
        """The number of parents of each node."""
        return freeze(np.diff(self.parents.indptr).astype(np.int64))

    @cached_property
    def kind(self) -> Literal["tree", "forest", "dag"]:
        """One root makes a tree, several a forest, a node with several parents a DAG."""
        if self.n_edges and self.n_parents.max() > 1:
            return "dag"
        return "tree" if len(self.roots) == 1 else "forest"

    @cached_property
    def parent(self) -> Ids:
        """Each node's parent, −1 at roots; a DAG has no such array, see `parents`."""
        if self.kind == "dag":
            raise TaxonomyError(
                "This taxonomy is a DAG, where a node may have several parents, so it has no array `parent`; `parents` "
                "holds them all."
            )
        return self.deepest_parent

    @cached_property
    def deepest_parent(self) -> Ids:
        """The deepest parent of each node, the last of several; −1 at roots.

        These edges alone are a tree or forest with the same levels, as which a DAG is drawn.
        """
        parent = np.full(self.n_nodes, -1, np.int64)
        has_parent = self.n_parents > 0
        parent[has_parent] = self.parents.indices[self.parents.indptr[1:][has_parent] - 1]
        return freeze(parent)

    @cached_property
    def shortest_parent(self) -> Ids:
        """The parent of each node on its shortest path from a root; −1 at roots.

        Of several shortest paths, the first in the order of ids, compared from the root down.
        """
        if self.kind != "dag":
            return self.parent
        indptr, children = self._children
        n_nodes, n_roots = self.n_nodes, len(self.roots)
        # A breadth-first walk from the virtual root finds each node first on that path.
        starts = np.append(indptr, indptr[-1] + n_roots).astype(np.int32)
        edges = np.concatenate([children, self.roots]).astype(np.int32)
        downwards = sparse.csr_array((np.ones(len(edges)), edges, starts), shape=(n_nodes + 1, n_nodes + 1))
        _, above = csgraph.breadth_first_order(downwards, n_nodes)
        return freeze(np.where(above[:-1] == n_nodes, -1, above[:-1]).astype(np.int64))

    @cached_property
    def level_start(self) -> Ids:
        """Level k is the slice ``level_start[k] : level_start[k + 1]`` of the node ids."""
        return freeze(np.concatenate([[0], np.cumsum(np.bincount(self.depth))]))

    @cached_property
    def levels(self) -> tuple[Ids, ...]:
        """The node ids of each level, roots first."""
        ids = freeze(np.arange(self.n_nodes))
        return tuple(ids[a:b] for a, b in zip(self.level_start[:-1], self.level_start[1:], strict=True))

    @cached_property
    def child_start(self) -> Ids:
        """The children of v are the ids ``child_start[v] : child_start[v + 1]``; only in a tree or forest."""
        first = len(self.roots)
        counts = np.bincount(self.parent[first:], minlength=self.n_nodes)
        return freeze(first + np.concatenate([[0], np.cumsum(counts)]))

    @cached_property
    def _children(self) -> tuple[Ids, Ids]:
        """The children of all nodes, as the two arrays of a CSR matrix."""
        indptr, indices = dag.transposed(self.parents.indptr, self.parents.indices)
        return freeze(indptr), freeze(indices)

    def child_ids(self, v: int) -> Ids:
        """Return the ids of the children of a node, ascending; the children of −1 are the roots."""
        if v < 0:
            return self.roots
        indptr, indices = self._children
        return indices[indptr[v] : indptr[v + 1]]

    def parent_ids(self, v: int) -> Ids:
        """Return the ids of the parents of a node, ascending."""
        indptr = self.parents.indptr
        return self.parents.indices[indptr[v] : indptr[v + 1]]

    @cached_property
    def n_children(self) -> Ids:
        """The number of children of each node."""
        return freeze(np.bincount(self.parents.indices, minlength=self.n_nodes).astype(np.int64))

    @cached_property
    def leaves(self) -> Ids:
        """The ids of the nodes without children."""
        return freeze(np.flatnonzero(self.n_children == 0))

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return freeze(self.n_children == 0)

    @cached_property
    def roots(self) -> Ids:
        """The ids of the nodes without a parent."""
        return freeze(np.flatnonzero(self.n_parents == 0))

    @cached_property
    def closure(self) -> sparse.csr_array:
        """A CSR matrix (nodes × nodes) with a 1 where the column is the row's node or above it."""
        ids = np.arange(self.n_nodes + 1, dtype=np.int64)
        closed = tree.close_rows(ids, ids[:-1].astype(np.int32), self.parents.indptr, self.parents.indices)
        return _parent_matrix(*closed)

    @cached_property
    def subtree_sizes(self) -> Ids:
        """The number of different nodes at and below each node."""
        if self.kind == "dag":
            return freeze(dag.subtree_sizes(self.parents.indptr, self.parents.indices))
        return freeze(tree.subtree_sizes(self.parent))

    def ids_above(self, v: int) -> Ids:
        """Return the ids of the nodes above a node, ascending, so that roots come first."""
        return dag.above(self.parents.indptr, self.parents.indices, v)[:-1]

    def ids_below(self, v: int) -> Ids:
        """Return the ids of the nodes below a node, ascending."""
        return dag.below(self.parents.indptr, self.parents.indices, v)[1:]

    def distances(self, u: Ids, v: Ids) -> Ids:
        """Return the number of edges between each pair of ids through their nearest common ancestor.

        A node is its own ancestor. Two nodes without a common ancestor meet in the virtual root.
        """
        return self._meetings(u, v)[1]

    def common_ancestors(self, u: Ids, v: Ids) -> Ids:
        """Return the nearest common ancestor of each pair of ids, −1 where there is none.

        In a DAG the nearest is the one through which the fewest edges connect the two; among several, the deepest.
        """
        return self._meetings(u, v)[0]

    def _meetings(self, u: Ids, v: Ids) -> tuple[Ids, Ids]:
        for ids in (u, v):
            if len(ids) and (ids.min() < 0 or ids.max() >= self.n_nodes):
                raise TaxonomyError(f"Node ids run from 0 to {self.n_nodes - 1}; got {ids.min()} … {ids.max()}.")
        if self.kind == "dag":
            return dag.meetings(self.parents.indptr, self.parents.indices, self.depth, u, v)
        return tree.meetings(self.parent, self.depth, u, v)

    def colouring(self) -> Ids:
        """Return a colour for each node, from 0, that no parent or child of it has: two for a tree, few for a DAG."""
        if self.kind != "dag":
            return (self.depth % 2).astype(np.int64)
        both = self.parents + self.parents.T
        return dag.coloured(both.indptr, both.indices, dag.smallest_last(both.indptr, both.indices))


def _parent_matrix(indptr: npt.NDArray[Any], indices: npt.NDArray[Any]) -> sparse.csr_array:
    """Return a frozen CSR matrix of ones."""
    n_nodes = len(indptr) - 1
    matrix = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n_nodes, n_nodes))
    for array in (matrix.indptr, matrix.indices, matrix.data):
        freeze(array)
    return matrix


def freeze(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array
