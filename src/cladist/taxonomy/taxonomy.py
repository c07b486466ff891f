"""`Taxonomy`: a frozen tree, forest or DAG of names over arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.errors import TaxonomyError
from cladist.files import Source
from cladist.taxonomy import construction, drawing, transforms
from cladist.taxonomy.graphs import networkx
from cladist.taxonomy.names import Named
from cladist.taxonomy.structure import frozen


class Taxonomy(Named):
    """A tree, a forest or a DAG of named nodes.

    Build one with `from_parents`, `from_edges`, `from_paths`, `from_networkx` or `read`. It is frozen, equal
    by content, hashable, and copying returns itself.

    Inside, node ids are topological: ``parent[v] < v``, every level is one contiguous slice and the siblings of a tree
    stand side by side. `names`, `n_nodes`, indicator columns, losses and metrics all follow that order. Several
    roots hang below a virtual root that is in none of them; −1 stands for it. In a DAG a node's level is the longest
    path down to it.

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

    _titles: dict[str, str]
    dropped_edges: tuple[tuple[str, str], ...]

    def __init__(self, draft: construction.Draft, *, titles: Mapping[str, str] | None = None) -> None:
        if not draft.names:
            raise TaxonomyError("A taxonomy needs at least one node; none was given.")
        order = self._arrange(draft.indptr, draft.parents)
        fields = self.__dict__
        fields["names"] = _reordered(draft.names, order)
        fields["_parts"] = None if draft.parts is None else _reordered(draft.parts, order)
        fields["_sep"] = draft.sep
        by_name = {construction.as_text(name): title for name, title in (titles or {}).items()}
        fields["_titles"] = {name: by_name[name] for name in fields["names"] if name in by_name}
        fields["dropped_edges"] = tuple(draft.dropped_edges)

    # ---------------------------------------------------------------- builders

    @classmethod
    def from_parents(cls, parents: Mapping[Any, Any], *, titles: Mapping[str, str] | None = None) -> Taxonomy:
        """Build from ``{child: parent}``; a root has the parent None, or is named only as a parent.

        A list of parents makes a DAG.

        Examples
        --------
        >>> Taxonomy.from_parents({"b": "a", "c": "a"}).names
        ('a', 'b', 'c')
        >>> Taxonomy.from_parents({"b": "a", "c": ["a", "b"]}).kind
        'dag'
        """
        return cls(construction.from_parents(parents), titles=titles)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], *, on_cycle: Literal["error", "drop"] = "error") -> Taxonomy:
        """Build from (parent, child) pairs; a child with two parents makes a DAG.

        With ``on_cycle="drop"`` edges are left out that lead back on a walk down from the roots, through the edges in
        their order; they are listed in `dropped_edges`. Each of them closes a cycle with the edges that stay.

        Examples
        --------
        >>> Taxonomy.from_edges([("a", "b"), ("b", "a")])
        Traceback (most recent call last):
        cladist.errors.TaxonomyError: Taxonomy has a cycle: b → a → b (closed by entry 1). Remove ...
        >>> Taxonomy.from_edges([("a", "b"), ("b", "a")], on_cycle="drop").dropped_edges
        (('b', 'a'),)
        """
        return cls(construction.from_edges(edges, on_cycle=on_cycle))

    @classmethod
    def from_paths(cls, paths: Iterable[Any], *, sep: str = "/") -> Taxonomy:
        """Build from root-to-node paths, as texts joined by `sep` or as sequences; inner nodes come along.

        A node is its path. Its name is the last part where that is unique, the joined path otherwise.

        Examples
        --------
        >>> Taxonomy.from_paths(["phones/cases", "laptops/cases", "laptops/bags"]).names
        ('phones', 'laptops', 'phones/cases', 'laptops/cases', 'bags')
        """
        return cls(construction.from_paths(paths, sep=sep))

    @classmethod
    def from_networkx(cls, graph: Any, *, on_cycle: Literal["error", "drop"] = "error") -> Taxonomy:
        """Build from a networkx ``DiGraph`` whose edges point from parent to child."""
        if not hasattr(graph, "is_directed"):
            raise TaxonomyError(f"from_networkx wants a networkx DiGraph; got {type(graph).__name__}.")
        if not graph.is_directed():
            raise TaxonomyError(
                "from_networkx wants a DiGraph with edges from parent to child; this one has no directions."
            )
        links = construction.Links()
        for node in graph.nodes:
            links.node(construction.as_name(node, f"node {node!r}"))
        edges = construction.from_edges(graph.edges(), on_cycle=on_cycle, links=links, where=lambda k: f"edge {k}")
        return cls(edges)

    @classmethod
    def read(
        cls,
        path: Source,
        *,
        format: str | None = None,  # noqa: A002
        sep: str = "/",
        on_cycle: Literal["error", "drop"] = "error",
    ) -> Taxonomy:
        """Read a file of edges, paths, CSV, TSV, JSON, indented text, RCV1 or MeSH, recognised by its content.

        `path` may also be a binary stream.

        Examples
        --------
        >>> import io
        >>> Taxonomy.read(io.BytesIO(b"sport -> tennis"), format="edges").names
        ('sport', 'tennis')
        """
        from cladist.taxonomy.formats.files import read_taxonomy

        return read_taxonomy(path, format=format, sep=sep, on_cycle=on_cycle)

    def write(self, path: str | PathLike[str], *, format: str | None = None, sep: str = "/") -> None:  # noqa: A002
        """Write a file; its ending names the format (.json, .csv, .tsv, .paths, .indented, .rcv1; edges otherwise)."""
        from cladist.taxonomy.formats.files import write_taxonomy

        write_taxonomy(self, path, format=format, sep=sep)

    def to_networkx(self) -> Any:
        """Return a networkx ``DiGraph`` with edges from parent to child."""
        graph = networkx("Taxonomy.to_networkx").DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges())
        return graph

    def with_titles(self, titles: Mapping[str, str]) -> Taxonomy:
        """Return the same taxonomy with these titles, by name."""
        titled = Taxonomy(self._draft(), titles=titles)
        titled.__dict__["_stop_leaves"] = self.stop_leaves
        return titled

    def with_separator(self, sep: str) -> Taxonomy:
        """Return the same taxonomy, in which joined paths name nodes too.

        One that was built from paths has the separator of these already and keeps it. In a DAG several paths may lead
        to a node, so there names alone name it.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_edges([("sport", "tennis")]).with_separator(" > ")
        >>> taxonomy.index("sport > tennis"), taxonomy.joined_path(1)
        (1, 'sport > tennis')
        """
        if not sep:
            raise TaxonomyError("with_separator: sep must not be empty.")
        if self._sep is not None or self.kind == "dag":
            return self
        draft = self._draft()
        draft.sep = sep
        made = Taxonomy(draft, titles=self._titles)
        made.__dict__["_stop_leaves"] = self.stop_leaves
        return made

    @property
    def titles(self) -> dict[str, str]:
        """What nodes are called for people, where the source says so; not part of equality."""
        return dict(self._titles)

    # ---------------------------------------------------------------- other shapes

    def _draft(self) -> construction.Draft:
        parts = list(self._parts) if self._parts else None
        above = self.parents
        edges = above.indptr.astype(np.int64), above.indices.astype(np.int64)
        return construction.Draft(list(self.names), *edges, parts, self._sep, list(self.dropped_edges))

    def subtree(self, name: str) -> Taxonomy:
        """Return what is at and below a node, with the edges between these nodes."""
        v = self.index(name)
        return transforms.kept(self, np.concatenate([[v], self.ids_below(v)]))

    def spanning_forest(self) -> Taxonomy:
        """Return the nodes with one parent each, the deepest: a tree or forest of the same levels.

        Examples
        --------
        >>> dag = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "c")])
        >>> list(dag.spanning_forest().edges())
        [('a', 'b'), ('b', 'c')]
        """
        return transforms.with_parent(self, np.arange(self.n_nodes), self.deepest_parent)

    def contracted(self) -> Taxonomy:
        """Return the taxonomy without its single-child inner nodes; their children move up.

        In a DAG a child then hangs below the parents of the node that left, beside any others it has.

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

    def with_node(self, name: str, parent: str | None = None) -> Taxonomy:
        """Return the taxonomy with one more leaf, below `parent` or as a root; the other nodes keep their names.

        Examples
        --------
        >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "art"])
        >>> taxonomy.with_node("chess", "sport").names
        ('sport', 'art', 'tennis', 'chess')
        """
        return transforms.with_node(self, name, parent)

    @property
    def stop_leaves(self) -> dict[str, str]:
        """The stop leaves added by `with_stop_leaves`, each with the inner node that it stands for and hangs below."""
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
        kept = ("names", "parents", "depth", "dropped_edges", "_titles", "_parts", "_sep", "_stop_leaves")
        return {k: v for k, v in self.__dict__.items() if k in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.depth, self.parents.indptr, self.parents.indices, self.parents.data):
            frozen(array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        if self is other or self.names != other.names:
            return self is other
        mine, theirs = self.parents, other.parents
        return np.array_equal(mine.indptr, theirs.indptr) and np.array_equal(mine.indices, theirs.indices)

    @cached_property
    def _hash(self) -> int:
        # As Python integers, because equal taxonomies may hold them in arrays of different width.
        return hash((self.names, tuple(self.parents.indices.tolist())))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        counts = [(self.n_nodes, "node", "nodes"), (len(self.leaves), "leaf", "leaves")]
        if self.kind == "dag":
            counts.append((self.n_edges, "edge", "edges"))
        if len(self.roots) > 1:
            counts.append((len(self.roots), "root", "roots"))
        shown = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts)
        return f"Taxonomy({self.kind}, {shown}, depth {self.depth[-1]})"

    def __str__(self) -> str:
        return drawing.as_text(self)


def _reordered(texts: list[str], order: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return texts in another order, by way of an array: a list of a million ids would take more than the names."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return tuple(array[order])
