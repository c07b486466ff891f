"""`RelationGraph`: labels that are related without one being above the other, as an undirected weighted graph."""

from __future__ import annotations

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
from cladist.kernels import dag
from cladist.taxonomy import construction
from cladist.taxonomy.construction import Where, as_name, is_sequence, item
from cladist.taxonomy.graphs import networkx
from cladist.taxonomy.structure import Ids, frozen

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy


class RelationGraph:
    """An undirected graph over labels: related occupations, categories that link to each other.

    Build one with `from_edges`, `from_networkx`, `from_taxonomy` or `read`. It is frozen, equal by content, hashable,
    and copying returns itself. An edge given twice counts once if both say the same weight.

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

    names: tuple[str, ...]
    adjacency: sparse.csr_array

    def __init__(self, names: Sequence[str], adjacency: sparse.csr_array) -> None:
        if not names:
            raise TaxonomyError("A label graph needs at least one node; none was given.")
        for part in (adjacency.indptr, adjacency.indices, adjacency.data):
            frozen(part)
        self.__dict__.update(names=tuple(names), adjacency=adjacency)

    # ---------------------------------------------------------------- builders

    @classmethod
    def from_edges(
        cls, edges: Iterable[Sequence[Any]], *, nodes: Iterable[Any] = (), where: Where = item
    ) -> RelationGraph:
        """Build from (u, v) or (u, v, weight); a weight is a positive number, 1 where none is given.

        Parameters
        ----------
        edges : iterable of pairs or triples
        nodes : iterable of names
            Nodes to put first, in this order; those without an edge have no other way in.
        where : function, optional
            Says where the k-th edge stands, for messages.
        """
        if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
            raise TaxonomyError(f"from_edges wants (u, v) or (u, v, weight); got {type(edges).__name__}.")
        collected = _Edges()
        for k, node in enumerate(nodes):
            collected.node(as_name(node, f"node {k}"))
        collected.add(edges, where)
        names = list(collected.id_of)
        collected.id_of.clear()  # a table as large as all else
        return cls(names, collected.adjacency(len(names), where))

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> RelationGraph:
        """Read a taxonomy as the undirected graph of its parents and children.

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
        """Build from an undirected networkx ``Graph``; the edge attribute ``weight`` is used where there is one."""
        if not hasattr(graph, "is_directed"):
            raise TaxonomyError(f"from_networkx wants a networkx Graph; got {type(graph).__name__}.")
        if graph.is_directed():
            raise TaxonomyError("from_networkx wants an undirected Graph; this one is directed, see to_undirected().")
        edges = ((u, v, data.get("weight", 1.0)) for u, v, data in graph.edges(data=True))
        return cls.from_edges(edges, nodes=graph.nodes, where=lambda k: f"edge {k}")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> RelationGraph:
        """Read ``u v [weight]`` lines, with tabs between them if names have spaces; one name alone is a node."""
        from cladist.taxonomy.formats.relation_files import read_relations

        return read_relations(path)

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file that `read` gives back as an equal graph."""
        from cladist.taxonomy.formats.relation_files import write_relations

        write_relations(self, path)

    def to_networkx(self) -> Any:
        """Return a networkx ``Graph`` whose edges have a ``weight``."""
        graph = networkx("RelationGraph.to_networkx").Graph()
        graph.add_nodes_from(self.names)
        graph.add_weighted_edges_from(self.edges())
        return graph

    # ---------------------------------------------------------------- questions

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """The number of undirected edges."""
        return int(self.adjacency.nnz) // 2

    @cached_property
    def degree(self) -> npt.NDArray[np.float64]:
        """The summed weight of each node's edges."""
        return frozen(np.asarray(self.adjacency.sum(axis=1)).ravel())

    @cached_property
    def components(self) -> Ids:
        """The number, from 0, of the connected component of each node."""
        return frozen(csgraph.connected_components(self.adjacency, directed=False)[1].astype(np.int64))

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def __contains__(self, name: object) -> bool:
        return name in self._id_of

    def __len__(self) -> int:
        return self.n_nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def index(self, name: Any) -> int:
        """Return the id of the node with this name."""
        found = self._id_of.get(construction.as_text(name))
        if found is None:
            raise TaxonomyError(f"{name!r} is not in the label graph.")
        return found

    def neighbours(self, name: Any) -> dict[str, float]:
        """Return the nodes that share an edge with a node, and the weights of those edges."""
        v = self.index(name)
        row = slice(self.adjacency.indptr[v], self.adjacency.indptr[v + 1])
        ids, weights = self.adjacency.indices[row].tolist(), self.adjacency.data[row].tolist()
        return {self.names[u]: weight for u, weight in zip(ids, weights, strict=True)}

    def edges(self) -> Iterator[tuple[str, str, float]]:
        """Yield (u, v, weight) once an edge, u before v in `names`."""
        upper = sparse.triu(self.adjacency, k=1).tocsr().tocoo()
        for u, v, weight in zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True):
            yield self.names[u], self.names[v], weight

    def colouring(self) -> Ids:
        """Return a colour for each node, from 0, that no neighbour of it has.

        Nodes of one colour can be updated at the same time. Greedy in smallest-last order (Matula & Beck 1983): at
        most one colour more than the graph's degeneracy. Cost O(nodes + edges).

        Examples
        --------
        >>> RelationGraph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).colouring().max() + 1
        np.int64(3)
        """
        indptr, indices = self.adjacency.indptr, self.adjacency.indices
        return dag.coloured(indptr, indices, dag.smallest_last(indptr, indices))

    # ---------------------------------------------------------------- being a frozen value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A RelationGraph is frozen: {name!r} cannot be set; build another one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A RelationGraph is frozen: {name!r} cannot be deleted.")

    def __copy__(self) -> RelationGraph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> RelationGraph:
        return self

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


class _Edges:
    """Collects edges as arrays: their two ends, and their weights."""

    def __init__(self) -> None:
        self.id_of: dict[str, int] = {}
        self.u, self.v, self.weights = array("i"), array("i"), array("d")

    def node(self, name: str) -> int:
        """Return the id of a node, making it if it is new."""
        return self.id_of.setdefault(name, len(self.id_of))

    def add(self, edges: Iterable[Sequence[Any]], where: Where) -> None:
        """Take in edges, each checked."""
        values = edges.to_numpy() if hasattr(edges, "to_numpy") else edges
        for k, edge in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
            if not is_sequence(edge) or len(edge) not in (2, 3):
                raise TaxonomyError(f"An edge is (u, v) or (u, v, weight); {where(k)} is {edge!r}.")
            plain = type(edge[0]) is type(edge[1]) is str and edge[0] and edge[1]
            u, v = edge[:2] if plain else (as_name(end, where(k)) for end in edge[:2])
            if u == v:
                raise TaxonomyError(f"An edge joins two labels; {where(k)} joins {u!r} to itself.")
            self.u.append(self.node(u))
            self.v.append(self.node(v))
            self.weights.append(_weight(edge[2], k, where) if len(edge) == 3 else 1.0)

    def adjacency(self, n_nodes: int, where: Where) -> sparse.csr_array:
        """Return the symmetric matrix; an edge that comes again must come with the same weight."""
        u, v, weight = np.frombuffer(self.u, np.int32), np.frombuffer(self.v, np.int32), np.frombuffer(self.weights)
        key = np.minimum(u, v).astype(np.int64) * n_nodes + np.maximum(u, v)
        order = np.argsort(key, kind="stable")
        again = np.flatnonzero(np.diff(key[order]) == 0) + 1
        differing = again[weight[order[again]] != weight[order[again - 1]]]
        if len(differing):
            k, before = (int(order[differing[0] - back]) for back in (0, 1))
            raise TaxonomyError(
                f"An edge has one weight; {where(k)} says {weight[k]:g} and {where(before)} {weight[before]:g}."
            )
        del key
        once = np.sort(np.delete(order, again))
        shape = (n_nodes, n_nodes)
        upper = sparse.coo_array((weight[once], (u[once], v[once])), shape=shape).tocsr()
        return (upper + upper.T).tocsr()


def _weight(value: Any, k: int, where: Where) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError, OverflowError):
        weight = np.nan
    if not 0 < weight < np.inf:
        raise TaxonomyError(f"The weight of an edge is a finite number above 0; {where(k)} has {value!r}.")
    return weight
