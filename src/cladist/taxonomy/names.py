"""`NamedStructure`: nodes by name, and the questions about a node that take its name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cladist import registry
from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.construction import as_text
from cladist.taxonomy.paths import splits_back
from cladist.taxonomy.separators import SEPARATORS, split_at
from cladist.taxonomy.structure import Structure


class NamedStructure(Structure):
    """A structure whose nodes have names; one built from paths also has the parts and the separator of paths."""

    names: tuple[str, ...]
    parts: tuple[str, ...] | None
    sep: str | None

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    @cached_property
    def _child_of(self) -> dict[tuple[int, str], int]:
        parts = self.parts or self.names
        child_of = {(-1, parts[v]): v for v in self.roots.tolist()}
        child_of.update(((p, parts[v]), v) for p, v in zip(*self._edge_ids(), strict=True))
        return child_of

    @cached_property
    def _id_of_joined(self) -> dict[str, int]:
        """Nodes by their joined paths, where some parts contain the separator; empty otherwise."""
        if self.parts is None or self.sep is None:
            return {}
        if all(splits_back(part, self.sep) for part in self.parts):
            return {}
        return {self.joined_path(v): v for v in range(self.n_nodes)}

    def __contains__(self, name: object) -> bool:
        return name in self._id_of

    def __len__(self) -> int:
        return self.n_nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

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
        v = self._follow_path(-1, parts)
        return self._follow_path(0, parts) if v is None and len(self.roots) == 1 else v

    def _follow_path(self, v: int, parts: Sequence[str]) -> int | None:
        for part in parts:
            child = self.find_child(v, part)
            if child is None:
                return None
            v = child
        return v

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
        return self._parts_of(self.path_ids(v))

    def shortest_path_parts(self, v: int) -> list[str]:
        """Return the parts of the shortest path to v; in a tree that is `path_parts`.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> shop = Taxonomy.from_paths(["home/pots", "garden/pots"])
        >>> shop.names[3], shop.shortest_path_parts(3)
        ('garden/pots', ['garden', 'pots'])
        """
        return self._parts_of(self._shortest_ids(v))

    def _parts_of(self, ids: Iterable[int]) -> list[str]:
        parts = self.parts or self.names
        return [parts[u] for u in ids]

    def _shortest_ids(self, v: int) -> list[int]:
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

    def _names_of(self, ids: Iterable[int]) -> list[str]:
        return [self.names[v] for v in ids]

    def path(self, name: str) -> list[str]:
        """Return the names from the root down to the node.

        Nodes that share their last part are named by their whole paths; `path_parts` returns only the parts.
        """
        return self._names_of(self.path_ids(self.index(name)))

    def shortest_path(self, name: str) -> list[str]:
        """Return the names on the shortest path from a root down to the node; in a tree that is `path`.

        Of several shortest paths in a DAG, the first in the order of `names`, compared from the root down.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> dag = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c")])
        >>> dag.shortest_path("c"), dag.shortest_path("d")
        (['a', 'c'], ['a', 'b', 'd'])
        """
        return self._names_of(self._shortest_ids(self.index(name)))

    def ancestors(self, name: str) -> list[str]:
        """Return all names above the node, roots first."""
        return self._names_of(self.ids_above(self.index(name)))

    def children(self, name: str) -> list[str]:
        """Return the names of the children of the node."""
        return self._names_of(self.child_ids(self.index(name)))

    def parents_of(self, name: str) -> list[str]:
        """Return the names of the parents of the node: none at a root, perhaps several in a DAG."""
        return self._names_of(self.parent_ids(self.index(name)))

    def descendants(self, name: str) -> list[str]:
        """Return all names below the node."""
        return self._names_of(self.ids_below(self.index(name)))

    def siblings(self, name: str) -> list[str]:
        """Return the other children of the node's parents (for a root: the other roots)."""
        v = self.index(name)
        above = self.parent_ids(v).tolist() or [-1]
        among = np.unique(np.concatenate([self.child_ids(p) for p in above]))
        return self._names_of(u for u in among if u != v)

    def distance(self, u: str, v: str) -> int:
        """Return the number of edges between two nodes through their nearest common ancestor.

        Two nodes without a common ancestor, as in two trees of a forest, meet in the virtual root.
        """
        return int(self.distances(np.array([self.index(u)]), np.array([self.index(v)]))[0])

    def common_ancestor(self, u: str, v: str) -> str | None:
        """Return the nearest node at or above both; None if that is the virtual root.

        In a DAG the nearest is the one through which the fewest edges connect the two; among several, the deepest.
        """
        meet = int(self.common_ancestors(np.array([self.index(u)]), np.array([self.index(v)]))[0])
        return self.names[meet] if meet >= 0 else None

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield (parent, child) for every edge, children in the order of `names`.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> list(Taxonomy.from_paths(["a/b", "a/c"]).edges())
        [('a', 'b'), ('a', 'c')]
        """
        for p, c in zip(*self._edge_ids(), strict=True):
            yield self.names[p], self.names[c]

    def _edge_ids(self) -> tuple[list[int], list[int]]:
        """Return the parents and the children of all edges, by child."""
        children = np.repeat(np.arange(self.n_nodes), self.n_parents)
        return self.parents.indices.tolist(), children.tolist()

    def require_tree(self, who: str) -> None:
        """Raise a `TaxonomyError` if this is a DAG, which `who` cannot handle, with the methods that can.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> Taxonomy.from_edges([("a", "c"), ("b", "c")]).require_tree("Hieron")
        Traceback (most recent call last):
        cladist.errors.TaxonomyError: Hieron needs a tree or forest, and this taxonomy is a DAG: 'c' has the parents 'a'
        and 'b'. RecursiveSVM, RecursiveLogistic, FlatSVM and FlatLogistic can learn on it; ...
        """
        if self.kind != "dag":
            return
        v = int((self.n_parents > 1).argmax())
        first, second = self._names_of(self.parent_ids(v)[:2])
        able = [method.class_name for method in registry.METHODS if method.takes_dags]
        listing = f"{', '.join(able[:-1])} and {able[-1]}" if len(able) > 1 else "".join(able)
        others = f"{listing} can learn on it; " if able else ""
        raise TaxonomyError(
            f"{who} needs a tree or forest, and this taxonomy is a DAG: {self.names[v]!r} has the parents {first!r} "
            f"and {second!r}. {others}taxonomy.flattened() keeps the nodes without their order, and "
            "taxonomy.spanning_forest() the nodes with one parent each."
        )
