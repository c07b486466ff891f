"""`Taxonomy`: a frozen tree or forest of names over arrays."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import TaxonomyError
from cladist.kernels import tree
from cladist.taxonomy import building, drawing, transforms

Ids = npt.NDArray[np.int64]


class Taxonomy:
    """A tree or forest of named nodes.

    Build one with `from_parents`, `from_edges`, `from_paths`, `from_networkx` or `read`. It is frozen, equal
    by content, hashable, and copying returns itself.

    Inside, node ids are topological: ``parent[v] < v``, every level is one contiguous slice and siblings stand
    side by side. `names`, `n_nodes`, indicator columns, losses and metrics all follow that order. A forest's
    roots hang below a virtual root that is in none of them; −1 stands for it.

    Attributes
    ----------
    names : tuple of str
        The nodes' names in topological order.
    dropped_edges : tuple of (str, str)
        Edges left out by ``from_edges(on_cycle="drop")``.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_parents({"sport": None, "tennis": "sport", "chess": "sport", "art": None})
    >>> taxonomy
    Taxonomy(forest, 4 nodes, 3 leaves, 2 roots, depth 1)
    >>> taxonomy.path("chess")
    ['sport', 'chess']
    >>> taxonomy.distance("chess", "art")
    3
    >>> print(taxonomy)
    sport
    ├── tennis
    └── chess
    art
    """

    names: tuple[str, ...]
    _titles: dict[str, str]
    dropped_edges: tuple[tuple[str, str], ...]
    _parts: tuple[str, ...] | None
    _sep: str | None

    def __init__(self, draft: building.Draft, *, titles: Mapping[str, str] | None = None) -> None:
        if not draft.names:
            raise TaxonomyError("A taxonomy needs at least one node; none was given.")
        given = draft.parent
        order = tree.breadth_first(given)
        new_id = np.empty(len(order) + 1, np.int64)
        new_id[order] = np.arange(len(order))
        new_id[-1] = -1  # so that "no parent" stays −1
        fields = self.__dict__
        fields["names"] = tuple(draft.names[v] for v in order)
        fields["_parts"] = tuple(draft.parts[v] for v in order) if draft.parts is not None else None
        fields["_sep"] = draft.sep
        fields["parent"] = _frozen(new_id[given[order]])
        by_name = {building.as_text(name): title for name, title in (titles or {}).items()}
        fields["_titles"] = {name: by_name[name] for name in fields["names"] if name in by_name}
        fields["dropped_edges"] = tuple(draft.dropped_edges)

    # ---------------------------------------------------------------- builders

    @classmethod
    def from_parents(cls, parents: Mapping[Any, Any], *, titles: Mapping[str, str] | None = None) -> Taxonomy:
        """Build from ``{child: parent}``; a root has the parent None, or is named only as a parent.

        Examples
        --------
        >>> Taxonomy.from_parents({"b": "a", "c": "a"}).names
        ('a', 'b', 'c')
        """
        return cls(building.from_parents(parents), titles=titles)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], *, on_cycle: Literal["error", "drop"] = "error") -> Taxonomy:
        """Build from (parent, child) pairs.

        With ``on_cycle="drop"`` the last edge of each cycle is left out and listed in `dropped_edges`.

        Examples
        --------
        >>> Taxonomy.from_edges([("a", "b"), ("b", "a")])
        Traceback (most recent call last):
        cladist.errors.TaxonomyError: Taxonomy has a cycle: b → a → b (closed by entry 1). Remove one of its edges.
        >>> Taxonomy.from_edges([("a", "b"), ("b", "a")], on_cycle="drop").dropped_edges
        (('b', 'a'),)
        """
        return cls(building.from_edges(edges, on_cycle=on_cycle))

    @classmethod
    def from_paths(cls, paths: Iterable[Any], *, sep: str = "/") -> Taxonomy:
        """Build from root-to-node paths, as texts joined by `sep` or as sequences; inner nodes come along.

        A node is its path. Its name is the last part where that is unique, the joined path otherwise.

        Examples
        --------
        >>> Taxonomy.from_paths(["phones/cases", "laptops/cases", "laptops/bags"]).names
        ('phones', 'laptops', 'phones/cases', 'laptops/cases', 'bags')
        """
        return cls(building.from_paths(paths, sep=sep))

    @classmethod
    def from_networkx(cls, graph: Any) -> Taxonomy:
        """Build from a networkx ``DiGraph`` whose edges point from parent to child."""
        if not hasattr(graph, "is_directed"):
            raise TaxonomyError(f"from_networkx wants a networkx DiGraph; got {type(graph).__name__}.")
        if not graph.is_directed():
            raise TaxonomyError(
                "from_networkx wants a DiGraph with edges from parent to child; this one has no directions."
            )
        links = building.Links()
        for node in graph.nodes:
            links.node(building.as_name(node, f"node {node!r}"))
        return cls(building.from_edges(graph.edges(), links=links, where=lambda k: f"edge {k}"))

    @classmethod
    def read(cls, path: str | PathLike[str], *, format: str | None = None, sep: str = "/") -> Taxonomy:  # noqa: A002
        """Read a file: edges, paths, CSV/TSV, JSON, indented text or RCV1's, recognised by content (see the guide)."""
        from cladist.taxonomy.files import read_taxonomy

        return read_taxonomy(path, format=format, sep=sep)

    def write(self, path: str | PathLike[str], *, format: str | None = None, sep: str = "/") -> None:  # noqa: A002
        """Write a file; its ending names the format (.json, .csv, .tsv, .paths, .indented, .rcv1; edges otherwise)."""
        from cladist.taxonomy.files import write_taxonomy

        write_taxonomy(self, path, format=format, sep=sep)

    def to_networkx(self) -> Any:
        """Return a networkx ``DiGraph`` with edges from parent to child."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from((self.names[p], self.names[v]) for v, p in enumerate(self.parent) if p >= 0)
        return graph

    def with_titles(self, titles: Mapping[str, str]) -> Taxonomy:
        """Return the same taxonomy with these titles, by name."""
        titled = Taxonomy(self._draft(), titles=titles)
        titled.__dict__["_stop_leaves"] = self.stop_leaves
        return titled

    # ---------------------------------------------------------------- arrays

    parent: Ids
    """Each node's parent, −1 at roots."""

    @property
    def n_nodes(self) -> int:
        """The number of nodes, without any virtual root."""
        return len(self.names)

    @property
    def titles(self) -> dict[str, str]:
        """What nodes are called for people, where the source says so; not part of equality."""
        return dict(self._titles)

    @property
    def kind(self) -> Literal["tree", "forest", "dag"]:
        """One root makes a tree, several a forest."""
        return "tree" if len(self.roots) == 1 else "forest"

    @cached_property
    def parents(self) -> sparse.csr_array:
        """A CSR matrix (nodes × nodes) with a 1 where the column is a parent of the row."""
        has = self.parent >= 0
        indptr = np.concatenate([[0], np.cumsum(has)])
        shape = (self.n_nodes, self.n_nodes)
        matrix = sparse.csr_array((np.ones(int(has.sum()), np.int8), self.parent[has], indptr), shape=shape)
        for array in (matrix.indptr, matrix.indices, matrix.data):
            array.flags.writeable = False
        return matrix

    @cached_property
    def depth(self) -> npt.NDArray[np.int32]:
        """The number of edges above each node; 0 at roots."""
        return _frozen(tree.depths(self.parent))

    @cached_property
    def level_start(self) -> Ids:
        """Level k is the slice ``level_start[k] : level_start[k + 1]`` of the node ids."""
        return _frozen(np.concatenate([[0], np.cumsum(np.bincount(self.depth))]))

    @cached_property
    def levels(self) -> tuple[Ids, ...]:
        """The node ids of each level, roots first."""
        ids = _frozen(np.arange(self.n_nodes))
        return tuple(ids[a:b] for a, b in zip(self.level_start[:-1], self.level_start[1:], strict=True))

    @cached_property
    def child_start(self) -> Ids:
        """The children of v are the ids ``child_start[v] : child_start[v + 1]``; siblings stand side by side."""
        first = len(self.roots)
        counts = np.bincount(self.parent[first:], minlength=self.n_nodes)
        return _frozen(first + np.concatenate([[0], np.cumsum(counts)]))

    @cached_property
    def leaves(self) -> Ids:
        """The ids of the nodes without children."""
        return _frozen(np.flatnonzero(np.diff(self.child_start) == 0))

    @cached_property
    def roots(self) -> Ids:
        """The ids of the nodes without a parent."""
        return _frozen(np.flatnonzero(self.parent < 0))

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return _frozen(np.diff(self.child_start) == 0)

    # ---------------------------------------------------------------- names

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    @cached_property
    def _child_of(self) -> dict[tuple[int, str], int]:
        parts = self._parts or self.names
        return {(int(p), part): v for v, (p, part) in enumerate(zip(self.parent, parts, strict=True))}

    @cached_property
    def _id_of_joined(self) -> dict[str, int]:
        """Joined paths that splitting does not give back; empty but for parts that contain the separator."""
        if self._parts is None or self._sep is None:
            return {}
        if all(building.splits_back(part, self._sep) for part in self._parts):
            return {}
        return {self.joined_path(v): v for v in range(self.n_nodes)}

    def __contains__(self, name: object) -> bool:
        return name in self._id_of

    def __len__(self) -> int:
        return self.n_nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def index(self, name: Any) -> int:
        """Return the id of the node with this name.

        Examples
        --------
        >>> Taxonomy.from_paths(["art/music"]).index("musik")
        Traceback (most recent call last):
        cladist.errors.TaxonomyError: 'musik' is not in the taxonomy; did you mean 'music'?
        """
        found = self.find(name)
        if found is None:
            raise TaxonomyError(f"{name!r} is not in the taxonomy{self.suggestion(name)}")
        return found

    def find(self, name: Any) -> int | None:
        """Return the id of the node with this name, or None.

        A number is looked up as its text. In a taxonomy built from paths, a node's joined path names it too.
        """
        text = str(name)
        found = self._id_of.get(text)
        if found is None and self._sep is not None and self._sep in text:
            found = self._id_of_joined.get(text)
            if found is None:
                found = self.find_path(text.split(self._sep))
        if found is None and isinstance(name, (float, np.floating)):
            found = self._id_of.get(building.as_text(name))
        return found

    def find_path(self, parts: Sequence[str]) -> int | None:
        """Return the id of the node at the end of this path, or None.

        The path starts at a root, or, in a tree, at a child of its only root.
        """
        found = self._walk(-1, parts)
        return self._walk(0, parts) if found is None and len(self.roots) == 1 else found

    def _walk(self, v: int, parts: Sequence[str]) -> int | None:
        """Follow a path down from v."""
        for part in parts:
            child = self._child_of.get((v, part))
            if child is None:
                return None
            v = child
        return v

    def suggestion(self, name: Any) -> str:
        """Return the end of a sentence about an unknown name: a near name if there is one."""
        most = 20_000  # beyond this, comparing with every name takes longer than a person waits for an error
        near = difflib.get_close_matches(str(name), self.names[:most], n=1)
        return f"; did you mean {near[0]!r}?" if near else "."

    def path_ids(self, v: int) -> list[int]:
        """Return the ids from the root down to v."""
        path = []
        while v >= 0:
            path.append(v)
            v = int(self.parent[v])
        return path[::-1]

    def path_parts(self, v: int) -> list[str]:
        """Return the path of v as a path file would spell it."""
        parts = self._parts or self.names
        return [parts[u] for u in self.path_ids(v)]

    def joined_path(self, v: int, *, below_root: bool = False) -> str:
        """Return the path of v joined by the separator the taxonomy was built with ("/" if by none).

        `below_root` leaves out the root, except where the path is nothing else.
        """
        parts = self.path_parts(v)
        return (self._sep or "/").join(parts[1:] if below_root and len(parts) > 1 else parts)

    def _named(self, ids: Iterable[int]) -> list[str]:
        return [self.names[v] for v in ids]

    def path(self, name: str) -> list[str]:
        """Return the names from the root down to the node."""
        return self._named(self.path_ids(self.index(name)))

    def ancestors(self, name: str) -> list[str]:
        """Return the names above the node, root first."""
        return self.path(name)[:-1]

    def children(self, name: str) -> list[str]:
        """Return the names right below the node."""
        v = self.index(name)
        return self._named(range(self.child_start[v], self.child_start[v + 1]))

    def descendants(self, name: str) -> list[str]:
        """Return all names below the node."""
        return self._named(tree.below(self.parent, self.index(name))[1:])

    def siblings(self, name: str) -> list[str]:
        """Return the other children of the node's parent (for a root: the other roots)."""
        v = self.index(name)
        p = int(self.parent[v])
        among = self.roots if p < 0 else range(self.child_start[p], self.child_start[p + 1])
        return self._named(u for u in among if u != v)

    def distance(self, u: str, v: str) -> int:
        """Return the number of edges between two nodes; two trees of a forest meet in the virtual root."""
        return int(self.distances(np.array([self.index(u)]), np.array([self.index(v)]))[0])

    def distances(self, u: Ids, v: Ids) -> Ids:
        """Return the number of edges between each pair of ids."""
        for ids in (u, v):
            if len(ids) and (ids.min() < 0 or ids.max() >= self.n_nodes):
                raise TaxonomyError(f"Node ids run from 0 to {self.n_nodes - 1}; got {ids.min()} … {ids.max()}.")
        return tree.distances(self.parent, self.depth, u, v)

    def common_ancestor(self, u: str, v: str) -> str | None:
        """Return the deepest node that is on both paths, or None where only the virtual root is."""
        pair = np.array([self.index(u)]), np.array([self.index(v)])
        meet = int(tree.common_ancestors(self.parent, self.depth, *pair)[0])
        return self.names[meet] if meet >= 0 else None

    # ---------------------------------------------------------------- other shapes

    def _draft(self) -> building.Draft:
        parts = list(self._parts) if self._parts else None
        return building.Draft(list(self.names), self.parent, parts, self._sep, list(self.dropped_edges))

    def subtree(self, name: str) -> Taxonomy:
        """Return the tree at and below a node."""
        return transforms.kept(self, tree.below(self.parent, self.index(name)))

    def contracted(self) -> Taxonomy:
        """Return the taxonomy without its single-child inner nodes; their children move up.

        Examples
        --------
        >>> Taxonomy.from_paths(["a/b/c", "a/b/d"]).contracted().names
        ('b', 'c', 'd')
        """
        return transforms.contracted(self)

    def flattened(self, *, keep: Literal["nodes", "leaves"] = "nodes") -> Taxonomy:
        """Return the star that flat methods see.

        Parameters
        ----------
        keep : {"nodes", "leaves"}
            "nodes" keeps every node, below the root label if there is one (Dekel et al. 2004);
            "leaves" keeps only the leaves (Gopal & Yang 2013). Measure errors on the original taxonomy.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["all/a/b", "all/c"])
        >>> taxonomy.flattened()
        Taxonomy(tree, 4 nodes, 3 leaves, depth 1)
        >>> taxonomy.flattened(keep="leaves").names
        ('c', 'b')
        """
        return transforms.flattened(self, keep)

    def with_stop_leaves(self, nodes: Iterable[str] | None = None) -> Taxonomy:
        """Return the taxonomy with a leaf ``<name>/*`` below each inner node among `nodes` (None: below all).

        It stands for "stop here". `stop_leaves` maps each new leaf's name to its inner node's.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["a/b", "a/c"]).with_stop_leaves(["a"])
        >>> taxonomy.names, taxonomy.stop_leaves
        (('a', 'b', 'c', 'a/*'), {'a/*': 'a'})
        """
        return transforms.with_stop_leaves(self, nodes)

    @property
    def stop_leaves(self) -> dict[str, str]:
        """The stop leaves added by `with_stop_leaves`, each with the inner node it stands for."""
        return dict(self.__dict__.get("_stop_leaves", {}))

    # ---------------------------------------------------------------- being a frozen value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A Taxonomy is frozen: {name!r} cannot be set; build another one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A Taxonomy is frozen: {name!r} cannot be deleted.")

    def __copy__(self) -> Taxonomy:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Taxonomy:
        return self

    def __getstate__(self) -> dict[str, Any]:
        kept = ("names", "parent", "dropped_edges", "_titles", "_parts", "_sep", "_stop_leaves")
        return {k: v for k, v in self.__dict__.items() if k in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _frozen(self.parent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return self is other or (self.names == other.names and np.array_equal(self.parent, other.parent))

    @cached_property
    def _hash(self) -> int:
        return hash((self.names, self.parent.tobytes()))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        counts = [(self.n_nodes, "node", "nodes"), (len(self.leaves), "leaf", "leaves")]
        if self.kind == "forest":
            counts.append((len(self.roots), "root", "roots"))
        shown = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts)
        return f"Taxonomy({self.kind}, {shown}, depth {self.depth[-1]})"

    def __str__(self) -> str:
        return drawing.as_text(self)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array
