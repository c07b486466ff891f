"""Labels pulled towards those that a graph relates them to, for `RecursiveSVM` and `RecursiveLogistic`."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from cladist.errors import ParameterError, TaxonomyError
from cladist.solvers.graph.quadratic_form import Graph
from cladist.taxonomy import RelationGraph

# Parameters that speak of a tree, or of what its solvers can; with a graph they must be as they are by default.
OF_TREES: dict[str, Any] = {"root": "zero", "sharing": 1.0, "solver": "joint", "blocks_per_round": 1}


def relations_for(model: Any) -> RelationGraph | None:
    """Return the graph that a model's labels are related by: the one given, or a DAG's edges; None for a tree."""
    who, given, taxonomy = type(model).__name__, model.relations, model.taxonomy_
    if given is None:
        return RelationGraph.from_taxonomy(taxonomy) if taxonomy.kind == "dag" else None
    if isinstance(given, (str, PathLike)):
        given = RelationGraph.read(given)
    elif not isinstance(given, RelationGraph):
        given = RelationGraph.from_edges(given)
    unknown = [name for name in given.names if name not in taxonomy]
    if unknown and model.taxonomy is not None:  # labels alone do not tell of nodes without rows
        raise TaxonomyError(
            f"{who}: relations join labels of the taxonomy, and {unknown[0]!r} is not one; leave it out, or add it "
            "to the taxonomy."
        )
    if len(unknown) == given.n_nodes:
        raise TaxonomyError(f"{who}: relations join labels, and none of y's is among them; {unknown[0]!r} is one.")
    return given


def refuse_tree_parameters(model: Any) -> None:
    """Refuse what has no meaning on a graph."""
    who = type(model).__name__
    for name, usual in OF_TREES.items():
        if getattr(model, name) != usual:
            raise ParameterError(
                f"{who}: {name}={getattr(model, name)!r} is for trees, and labels are related by a graph here; leave "
                f"it at {usual!r}."
            )
    if model.warm_start or model.weights in ("dual", "differences"):
        raise ParameterError(
            f"{who}: on a graph every fit starts anew and weights are dense or sparse; leave warm_start and "
            f"weights={model.weights!r} out."
        )


def refuse_graph_parameters(model: Any) -> None:
    """Refuse what has no meaning on a tree."""
    who = type(model).__name__
    for name, usual in (("schedule", "coloured"), ("ridge", 0.0), ("targets", "leaves")):
        if getattr(model, name) != usual:
            raise ParameterError(
                f"{who}: {name}={getattr(model, name)!r} is for labels related by a graph; give "
                "relations=RelationGraph.from_taxonomy(taxonomy) to read the tree as one."
            )


def graph_of(relations: RelationGraph, labels: list[str], ridge: float) -> Graph:
    """Return the solver's graph: the nodes of `relations`, and labels that are not among them without an edge.

    Examples
    --------
    >>> relations = RelationGraph.from_edges([("nurse", "midwife")])
    >>> graph = graph_of(relations, ["baker", "nurse"], 0.0)
    >>> graph.n_nodes, graph.nodes.tolist(), graph.pull.tolist()
    (3, [2, 0], [1.0, 1.0, 1.0])
    """
    place = {name: v for v, name in enumerate(relations.names)}
    nodes = np.array([place.setdefault(name, len(place)) for name in labels], np.int64)
    known = relations.adjacency
    indptr = np.append(known.indptr, np.full(len(place) - relations.n_nodes, known.indptr[-1]))
    shape = (len(place), len(place))
    return Graph(sparse.csr_array((known.data, known.indices, indptr), shape=shape), nodes, ridge)


def related_vectors(model: Any) -> sparse.csr_array:
    """Return the weights of all nodes (in `taxonomy_.names` order × features); those without rows are the best given.

    Nodes that no node with rows is connected to have none.
    """
    graph, taxonomy = model._graph(), model.taxonomy_
    leaves = model.weights_.matrix()
    leaves = leaves.toarray() if sparse.issparse(leaves) else leaves
    names = {name: v for v, name in enumerate(model.relations_.names)}
    for name, v in zip([taxonomy.names[u] for u in model.target_nodes_], graph.nodes.tolist(), strict=True):
        names.setdefault(name, v)
    vectors = np.zeros((graph.n_nodes, leaves.shape[1]), np.float32)
    vectors[graph.nodes] = leaves
    has_rows = np.zeros(graph.n_nodes, bool)
    has_rows[graph.nodes] = True
    reached = np.isin(graph.components, graph.components[graph.nodes]) & ~has_rows
    plain = np.flatnonzero(reached)
    if len(plain):
        pulled = graph.adjacency[plain][:, graph.nodes] @ leaves.astype(np.float64)
        vectors[plain] = linalg.splu(sparse.csc_array(graph.matrix[plain][:, plain])).solve(pulled)
    known = [(taxonomy.index(name), v) for name, v in names.items() if name in taxonomy]
    ids, places = np.array(known, np.int64).T
    found = np.zeros((taxonomy.n_nodes, leaves.shape[1]), np.float32)
    found[ids] = vectors[places]
    return sparse.csr_array(found)
