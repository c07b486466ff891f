"""`Structure`: the nodes of a taxonomy by name and by topological id, and every question about them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from cladist import registry
from cladist.errors import TaxonomyError, quoted
from cladist.kernels import dag, tree

Ids = npt.NDArray[np.int64]

SEPARATORS = (" > ", " / ", " | ", "->", "::", ">", "/", "|", "\u2192", "\u00bb", "\\")  # common ones of paths


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for "nothing here": None, NaN, pandas' NA or the empty string."""
    if value is None or isinstance(value, str):
        return not value
    is_float = isinstance(value, (float, np.floating))
    return (is_float and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def as_text(value: Any) -> str:
    """Return a name as text. 11.0 becomes 11: a missing value in a column of integers turns them into floats."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def split_at(text: str, sep: str) -> list[str]:
    """Return the parts of a text at a separator without the blanks around them; the whole text if one is empty."""
    parts = [part.strip() for part in text.split(sep)]
    return parts if all(parts) else [text]


def splits_back(part: str, sep: str) -> bool:
    """Tell whether splitting a joined path at `sep` gives this part back; "a/b" at "/" and "a:" at "::" do not."""
    return (part + sep).find(sep) == len(part)


def freeze(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


def freeze_matrix(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix, made read-only."""
    for array in (matrix.indptr, matrix.indices, matrix.data):
        freeze(array)
    return matrix


class NamedNodes:
    """Named nodes with ids from 0. The object is frozen: attributes cannot be set, and copying returns itself."""

    names: tuple[str, ...]

    @property
    def n_nodes(self) -> int:
        """The number of nodes; the virtual root of a taxonomy is not counted."""
        return len(self.names)

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def __contains__(self, name: object) -> bool:
        return name in self._id_of

    def __len__(self) -> int:
        return self.n_nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A {type(self).__name__} is frozen: {name!r} cannot be set; build another one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A {type(self).__name__} is frozen: {name!r} cannot be deleted.")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Structure(NamedNodes):
    """The parents of each node, and everything that follows from them.

    Ids are topological: a parent's id is below its children's. A level (the longest path from a root) is one slice,
    and siblings in a tree are adjacent. −1 stands for the virtual root above the roots.
    """

    parts: tuple[str, ...] | None
    sep: str | None

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
        self.__dict__["parents"] = self._square(np.concatenate([[0], np.cumsum(counts)]), above[by_child])
        self.__dict__["depth"] = freeze(depth)
        return order

    @staticmethod
    def _square(indptr: npt.NDArray[Any], indices: npt.NDArray[Any]) -> sparse.csr_array:
        """Return a frozen CSR matrix of ones (nodes × nodes)."""
        shape = (len(indptr) - 1, len(indptr) - 1)
        return freeze_matrix(sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=shape))

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
        return self._square(*closed)

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
        """Return the number of edges between each pair of ids through their nearest common ancestor; see `distance`."""
        return self._meetings(u, v)[1]

    def common_ancestors(self, u: Ids, v: Ids) -> Ids:
        """Return the nearest common ancestor of each pair of ids, −1 where there is none; see `common_ancestor`."""
        return self._meetings(u, v)[0]

    def _meetings(self, u: Ids, v: Ids) -> tuple[Ids, Ids]:
        for ids in (u, v):
            if len(ids) and (ids.min() < 0 or ids.max() >= self.n_nodes):
                raise TaxonomyError(f"Node ids run from 0 to {self.n_nodes - 1}; got {ids.min()} … {ids.max()}.")
        if self.kind == "dag":
            return dag.meetings(self.parents.indptr, self.parents.indices, self.depth, u, v)
        return tree.meetings(self.parent, self.depth, u, v)

    @cached_property
    def _child_of(self) -> dict[tuple[int, str], int]:
        parts = self.parts or self.names
        child_of = {(-1, parts[v]): v for v in self.roots.tolist()}
        child_of.update(((p, parts[v]), v) for p, v in zip(*self._edge_ids(), strict=True))
        return child_of

    @cached_property
    def _id_of_joined(self) -> dict[str, int]:
        """Nodes by their joined paths, where some parts contain the separator; empty otherwise."""
        if self.sep is None or all(splits_back(part, self.sep) for part in self.parts or ()):
            return {}
        return {self.joined_path(v): v for v in range(self.n_nodes)}

    def index(self, name: Any) -> int:
        """Return the id of the node with this name; an unknown name is a `TaxonomyError` with a near name.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> Taxonomy.from_paths(["art/music"]).index("musik")
        Traceback (most recent call last):
        cladist.errors.TaxonomyError: 'musik' is not in the taxonomy; did you mean 'music'?
        """
        v = self.find(name)
        if v is None:
            raise TaxonomyError(f"{quoted(name)} is not in the taxonomy{self.suggestion(name)}")
        return v

    def find(self, name: Any) -> int | None:
        """Return the id of the node with this name, or None.

        A number is looked up as its text. In a taxonomy built from paths, the joined path is a name too; blanks around
        its parts are ignored.
        """
        text = str(name)
        v = self._id_of.get(text)
        if v is None and self.sep is not None and self.sep in text:
            v = self._id_of_joined.get(text)
            if v is None:
                parts = text.split(self.sep)
                v = self.find_path(parts)
                v = self.find_path([part.strip() for part in parts]) if v is None else v
        if v is None and isinstance(name, (float, np.floating)):
            v = self._id_of.get(as_text(name))
        return v

    def find_child(self, parent: int, part: str) -> int | None:
        """Return the id of the child of a node (or the root, of −1) whose path ends in `part`, or None."""
        return self._child_of.get((parent, part))

    def find_path(self, parts: Sequence[str]) -> int | None:
        """Return the id of the node at the end of this path, or None.

        The path starts at a root, or, in a tree, at a child of its only root.
        """
        for root in (-1, 0) if len(self.roots) == 1 else (-1,):
            v: int | None = root
            for part in parts:
                v = None if v is None else self.find_child(v, part)
            if v is not None:
                return v
        return None

    def suggestion(self, name: Any) -> str:
        """Return the end of an error about an unknown name: the way to write it, or a near name if there is one."""
        for sep in SEPARATORS:
            parts = split_at(str(name), sep)
            if len(parts) > 1 and self.find_path(parts) is not None:
                joined = "" if self.sep is None else f", while the taxonomy's are joined by {self.sep!r}"
                return f", but its parts at {sep!r} are a path of it{joined}; split labels at {sep!r}."
        same = [v for v, part in enumerate(self.parts or ()) if part == str(name)]
        if same:
            shown = ", ".join(quoted(self.names[v]) for v in same[:3])
            return f"; {len(same):,} nodes end in it: {shown}{', …' if len(same) > 3 else ''}."
        n_compared = 20_000  # comparing more names takes longer than people wait for an error
        near = difflib.get_close_matches(str(name)[:100], self.names[:n_compared], n=1)
        return f"; did you mean {quoted(near[0])}?" if near else "."

    def path_ids(self, v: int) -> list[int]:
        """Return the ids from the root down to v; several such paths in a DAG are an error."""
        if isinstance(v, str):  # type: ignore[unreachable]
            raise TaxonomyError(
                f"A node's id is wanted, got the name {v!r}; use path({v!r}), or index({v!r}) for the id."
            )
        path: list[int] = []
        while v >= 0:
            if self.n_parents[v] > 1:
                several = ", ".join(repr(self.names[p]) for p in self.parent_ids(v)[:3])
                raise TaxonomyError(
                    f"In this DAG more than one path leads to {self.names[path[0] if path else v]!r}, since "
                    f"{self.names[v]!r} has the parents {several}; `ancestors` gives all nodes above."
                )
            path.append(v)
            v = int(self.deepest_parent[v])
        return path[::-1]

    def path_parts(self, v: int) -> list[str]:
        """Return the parts of the path of v."""
        parts = self.parts or self.names
        return [parts[u] for u in self.path_ids(v)]

    def shortest_path_parts(self, v: int) -> list[str]:
        """Return the parts of the shortest path to v; in a tree that is `path_parts`."""
        parts = self.parts or self.names
        return [parts[u] for u in self.shortest_path_ids(v)]

    def shortest_path_ids(self, v: int) -> list[int]:
        """Return the ids on the shortest path from a root to v; of several, the first in the order of ids."""
        path = []
        while v >= 0:
            path.append(v)
            v = int(self.shortest_parent[v])
        return path[::-1]

    def joined_path(self, v: int, *, below_root: bool = False, sep: str | None = None) -> str:
        """Return the path of v joined by `sep`, by default the taxonomy's separator ("/" if it has none).

        `below_root` leaves out the root, except of a path that is only the root.
        """
        parts = self.path_parts(v)
        return (sep or self.sep or "/").join(parts[1:] if below_root and len(parts) > 1 else parts)

    def _edge_ids(self) -> tuple[list[int], list[int]]:
        """Return the parents and the children of all edges, by child."""
        children = np.repeat(np.arange(self.n_nodes), self.n_parents)
        return self.parents.indices.tolist(), children.tolist()

    def require_tree(self, who: str) -> None:
        """Raise a `TaxonomyError` if this is a DAG, which `who` cannot handle, with the methods that can."""
        if self.kind != "dag":
            return
        v = int((self.n_parents > 1).argmax())
        first, second = (self.names[p] for p in self.parent_ids(v)[:2])
        *others, last = [method.class_name for method in registry.METHODS if method.takes_dags]
        raise TaxonomyError(
            f"{who} needs a tree or forest, and this taxonomy is a DAG: {self.names[v]!r} has the parents {first!r} "
            f"and {second!r}. {', '.join(others)} and {last} can learn on it; taxonomy.flattened() keeps the nodes "
            "without their order, and taxonomy.spanning_forest() the nodes with one parent each."
        )
