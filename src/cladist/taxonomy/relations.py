"""`RelationGraph`: an undirected weighted graph of related labels."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from cladist.errors import TaxonomyError
from cladist.files import name_source, open_for_writing, read_text
from cladist.files.delimited import split_plain
from cladist.kernels import dag
from cladist.taxonomy.construction import Links, Where, as_name, import_networkx, is_sequence, iterate_rows, name_entry
from cladist.taxonomy.formats.reader import find_line, has_tabs, iterate_lines
from cladist.taxonomy.structure import Ids, NamedNodes, as_text, freeze, freeze_matrix

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy


class RelationGraph(NamedNodes):
    """An undirected graph over labels, such as related occupations or categories that link to each other.

    Build one with `from_edges`, `from_networkx`, `from_taxonomy` or `read`. It is frozen, equal by content, hashable,
    and copying returns itself. An edge given twice with the same weight counts once.

    Attributes
    ----------
    names : tuple of str
        The nodes, in order of first appearance.
    adjacency : CSR array (nodes × nodes)
        Symmetric, with the weight of each edge; the diagonal is empty.

    Examples
    --------
    >>> graph = RelationGraph.from_edges([("nurse", "midwife"), ("nurse", "medic", 0.5)], nodes=["baker"])
    >>> graph
    RelationGraph(4 nodes, 2 edges, 2 components)
    >>> graph.neighbours("nurse")
    {'midwife': 1.0, 'medic': 0.5}
    """

    adjacency: sparse.csr_array

    def __init__(self, names: Sequence[str], adjacency: sparse.csr_array) -> None:
        if not names:
            raise TaxonomyError("A label graph needs at least one node; none was given.")
        self.__dict__.update(names=tuple(names), adjacency=freeze_matrix(adjacency))

    @classmethod
    def from_edges(
        cls, edges: Iterable[Sequence[Any]], *, nodes: Iterable[Any] = (), where: Where = name_entry
    ) -> RelationGraph:
        """Build from undirected edges.

        Parameters
        ----------
        edges : iterable of (u, v) or (u, v, weight)
            The edges; a weight is a positive number, by default 1.
        nodes : iterable of names
            Nodes that come first, in this order; also the nodes without an edge.
        where : callable, optional
            Tells where the k-th edge stands, for messages.
        """
        if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
            raise TaxonomyError(f"from_edges wants (u, v) or (u, v, weight); got {type(edges).__name__}.")
        links, weights = Links(), array("d")
        for k, node in enumerate(nodes):
            links.node(as_name(node, f"node {k}"))
        for k, edge in enumerate(iterate_rows(edges)):
            if not is_sequence(edge) or len(edge) not in (2, 3):
                raise TaxonomyError(f"An edge is (u, v) or (u, v, weight); {where(k)} is {edge!r}.")
            plain = type(edge[0]) is type(edge[1]) is str and edge[0] and edge[1]
            u, v = edge[:2] if plain else (as_name(end, where(k)) for end in edge[:2])
            if u == v:
                raise TaxonomyError(f"An edge joins two labels; {where(k)} joins {u!r} to itself.")
            links.link(u, v, k)
            weights.append(_check_weight(edge[2], k, where) if len(edge) == 3 else 1.0)
        names = list(links.id_of)
        links.id_of.clear()  # as large as all the rest
        return cls(names, _build_adjacency(links, weights, len(names), where))

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> RelationGraph:
        """Build the undirected graph of the parents and children of a taxonomy.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> RelationGraph.from_taxonomy(Taxonomy.from_paths(["a/b", "a/c"]))
        RelationGraph(3 nodes, 2 edges, 1 component)
        """
        both = (taxonomy.parents + taxonomy.parents.T).astype(np.float64)
        both.sort_indices()
        return cls(taxonomy.names, both)

    @classmethod
    def from_networkx(cls, graph: Any) -> RelationGraph:
        """Build from an undirected networkx ``Graph``; its edge attribute ``weight`` is used where there is one."""
        if not hasattr(graph, "is_directed"):
            raise TaxonomyError(f"from_networkx needs a networkx Graph; got {type(graph).__name__}.")
        if graph.is_directed():
            raise TaxonomyError("from_networkx needs an undirected Graph; this one is directed, see to_undirected().")
        edges = ((u, v, data.get("weight", 1.0)) for u, v, data in graph.edges(data=True))
        return cls.from_edges(edges, nodes=graph.nodes, where=lambda k: f"edge {k}")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> RelationGraph:
        """Read a file of ``u v [weight]`` lines, with tabs if names have spaces; a line with one name is a node."""
        text = read_text(path, error=TaxonomyError)

        def where(k: int) -> str:
            return find_line(k, (row for row in _iterate_rows(text) if len(row[1]) > 1))

        with name_source(path):
            nodes = (fields[0] for _, fields in _iterate_rows(text) if len(fields) == 1)
            edges = (fields for _, fields in _iterate_rows(text) if len(fields) > 1)
            return cls.from_edges(edges, nodes=nodes, where=where)

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file from which `read` returns an equal graph: every node, so that their order stays, then edges."""
        for name in self.names:
            if name != name.strip() or any(c in name for c in "\t\n\r\0") or name.startswith(("#", "\ufeff")):
                raise TaxonomyError(
                    f"A file of relations cannot hold the name {name!r}: it has a tab, a line break, spaces at an end "
                    "or begins with '#'."
                )
        if self.n_edges == 0 and any(c.isspace() for name in self.names for c in name):
            raise TaxonomyError(
                "A file of relations without an edge cannot hold names with spaces; there is no tab in it."
            )
        rows = [*self.names, *(f"{u}\t{v}\t{weight!r}" for u, v, weight in self.edges())]
        try:
            content = "".join(row + "\n" for row in rows).encode("utf-8")
        except UnicodeEncodeError as problem:
            raise TaxonomyError(f"{os.fspath(path)}: a name cannot be written as UTF-8: {problem.reason}.") from None
        with open_for_writing(path, error=TaxonomyError) as stream:
            stream.write(content)

    def to_networkx(self) -> Any:
        """Return a networkx ``Graph`` whose edges have a ``weight``."""
        graph = import_networkx("RelationGraph.to_networkx").Graph()
        graph.add_nodes_from(self.names)
        graph.add_weighted_edges_from(self.edges())
        return graph

    @property
    def n_edges(self) -> int:
        """The number of undirected edges."""
        return int(self.adjacency.nnz) // 2

    @cached_property
    def degree(self) -> npt.NDArray[np.float64]:
        """The summed weight of each node's edges."""
        return freeze(np.asarray(self.adjacency.sum(axis=1)).ravel())

    @cached_property
    def components(self) -> Ids:
        """The number, from 0, of the connected component of each node."""
        return freeze(csgraph.connected_components(self.adjacency, directed=False)[1].astype(np.int64))

    def index(self, name: Any) -> int:
        """Return the id of the node with this name."""
        v = self._id_of.get(as_text(name))
        if v is None:
            raise TaxonomyError(f"{name!r} is not in the label graph.")
        return v

    def neighbours(self, name: Any) -> dict[str, float]:
        """Return the nodes that share an edge with a node, with the weights of these edges."""
        v = self.index(name)
        row = slice(self.adjacency.indptr[v], self.adjacency.indptr[v + 1])
        ids, weights = self.adjacency.indices[row].tolist(), self.adjacency.data[row].tolist()
        return {self.names[u]: weight for u, weight in zip(ids, weights, strict=True)}

    def edges(self) -> Iterator[tuple[str, str, float]]:
        """Yield (u, v, weight) of each edge once, u before v in `names`."""
        upper = sparse.triu(self.adjacency, k=1).tocsr().tocoo()
        for u, v, weight in zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True):
            yield self.names[u], self.names[v], weight

    def colouring(self) -> Ids:
        """Return a colour for each node, from 0, that differs from the colours of its neighbours.

        Nodes of one colour can be updated at the same time. Greedy in smallest-last order (Matula & Beck 1983): at
        most one colour more than the graph's degeneracy. Cost O(nodes + edges).

        Examples
        --------
        >>> RelationGraph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).colouring().max() + 1
        np.int64(3)
        """
        indptr, indices = self.adjacency.indptr, self.adjacency.indices
        return dag.coloured(indptr, indices, dag.smallest_last(indptr, indices))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names, self.adjacency)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RelationGraph):
            return NotImplemented
        if self.names != other.names or self.n_edges != other.n_edges:
            return False
        return (self.adjacency != other.adjacency).nnz == 0

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.adjacency.indices.tolist())))

    def __repr__(self) -> str:
        n_parts = int(self.components.max()) + 1
        counts = ((self.n_nodes, "node"), (self.n_edges, "edge"), (n_parts, "component"))
        return f"RelationGraph({', '.join(f'{n} {what}{chr(115) * (n != 1)}' for n, what in counts)})"


def _build_adjacency(links: Links, weights: array[float], n_nodes: int, where: Where) -> sparse.csr_array:
    """Return the symmetric matrix; an edge given twice must have the same weight."""
    u, v, weight = np.frombuffer(links.parents, np.int64), np.frombuffer(links.children, np.int64), np.array(weights)
    key = np.minimum(u, v) * n_nodes + np.maximum(u, v)
    order = np.argsort(key, kind="stable")
    repeated = np.flatnonzero(np.diff(key[order]) == 0) + 1
    differing = repeated[weight[order[repeated]] != weight[order[repeated - 1]]]
    if len(differing):
        k, before = (int(order[differing[0] - back]) for back in (0, 1))
        raise TaxonomyError(
            f"An edge has one weight; {where(k)} says {weight[k]:g} and {where(before)} {weight[before]:g}."
        )
    distinct = np.sort(np.delete(order, repeated))
    ends = u[distinct].astype(np.int32), v[distinct].astype(np.int32)
    upper = sparse.coo_array((weight[distinct], ends), shape=(n_nodes, n_nodes)).tocsr()
    return (upper + upper.T).tocsr()


def _check_weight(value: Any, k: int, where: Where) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError, OverflowError):
        weight = np.nan
    if not 0 < weight < np.inf:
        raise TaxonomyError(f"The weight of an edge is a finite number above 0; {where(k)} has {value!r}.")
    return weight


def _iterate_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and fields of each line, between tabs if any line has one, else between blanks."""
    for number, _, fields in split_plain(iterate_lines(text), tabbed=has_tabs(text)):
        if len(fields) > 3:
            raise TaxonomyError(
                f"line {number}: 'u v' or 'u v weight' is wanted, with tabs between them if names have spaces; there "
                f"are {len(fields)} fields."
            )
        yield number, fields
