"""The quadratic terms that pull the weights of related nodes together: along a tree, or along a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import linalg

from cladist.errors import TooLargeError
from cladist.execution import Executor
from cladist.learners.recursive.relations import Relations
from cladist.learners.stop_leaves import with_stops
from cladist.linear_model.difference_builder import differences_of_leaves
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.problem_tree import InnerVectors, ProblemTree
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import Weights
from cladist.solvers import OneVsRest, Settings, Solution
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import solve_graph
from cladist.solvers.problem import suits_direct_recursive
from cladist.solvers.tree.alternation import solve_alternating
from cladist.solvers.tree.dense_recursive import solve_recursive_directly
from cladist.solvers.tree.recursive import solve_recursive
from cladist.taxonomy import RelationGraph, Taxonomy

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TreeCoupling:
    """½ Σ_n ‖w_n − w_π(n)‖² / κ_n over the nodes of a tree, π(n) the parent of n: eq. (2) and (3) with all κ = 1.

    A label with others below it is a leaf of its own there. κ is `sharing` for nodes above labels and 1 for labels.
    """

    taxonomy: Taxonomy
    labels: Ids
    sharing: float
    relations: Relations

    @cached_property
    def tree(self) -> ProblemTree:
        """The tree above the labels."""
        extended, leaves = with_stops(self.taxonomy, self.labels)
        return ProblemTree(extended.parent.astype(np.int64), leaves, self.sharing)

    def tree_and_root(self) -> tuple[Any, ...]:
        """Return the tree that weights may be sums along, and the option for its root."""
        return self.tree, self.relations.root

    def compact_form(self, who: str, problem: OneVsRest) -> str:
        """Return the form of weights that are too many to be dense."""
        return "dual"

    def solve(
        self,
        problem: OneVsRest,
        settings: Settings,
        executor: Executor,
        *,
        form: str,
        prune: float,
        state: Any,
        keep_state: bool,
    ) -> Solution:
        """Minimise the coupled objective of all problems."""
        tree, options = self.tree, self.relations
        if options.solver == "alternating" and self.sharing > 0:
            return solve_alternating(problem, tree, settings, root=options.root, exact_inner=True, executor=executor)
        if form != "dual" and suits_direct_recursive(problem, tree):
            solution = solve_recursive_directly(problem, tree, settings, root=options.root, executor=executor)
            if form == "differences":
                return replace(solution, weights=differences_of_leaves(solution.weights, tree, options.root, prune))
            return (
                solution
                if form == "dense"
                else replace(solution, weights=SparseWeights.from_weights(solution.weights, prune))
            )
        rounds: dict[str, Any] = {"blocks_per_round": options.blocks_per_round, "form": form, "prune": prune}
        common: dict[str, Any] = {"root": options.root, "executor": executor, "state": state, "keep_state": keep_state}
        return solve_recursive(problem, tree, settings, **rounds, **common)

    def node_vectors(self, weights: Weights) -> sparse.csr_array:
        """Return the weights of all nodes (in `taxonomy.names` order × features)."""
        if isinstance(weights, DifferenceWeights):
            return self._summed_differences(weights)
        tree, leaves = self.tree, _dense(weights.matrix())
        inner = InnerVectors(tree, self.relations.root, leaves.shape[1])
        if self.sharing > 0:
            sums = np.zeros((len(inner.nodes) + 1, leaves.shape[1]), np.float32)
            np.add.at(sums, inner.position[tree.parent[tree.leaves]], leaves)
            inner.solve(sums[:-1])
        vectors = np.zeros((self.taxonomy.n_nodes, leaves.shape[1]), np.float32)
        node_of = self._taxonomy_nodes()
        for node, vector in inner.by_node().items():
            vectors[node_of[node]] = vector
        self._copy_from_parents(vectors, node_of[tree.in_use])
        vectors[self.labels] = leaves
        return sparse.csr_array(vectors)

    def _summed_differences(self, weights: DifferenceWeights) -> sparse.csr_array:
        order = weights.order
        place = np.full(self.taxonomy.n_nodes, -1, np.int64)
        node_of = self._taxonomy_nodes()[order.node_at]
        place[node_of[order.class_of < 0]] = np.flatnonzero(order.class_of < 0)
        self._copy_from_parents(place, node_of)
        place[self.labels] = order.leaf_positions  # a label's own vector is not that of the node others hang below
        sums = weights.sums(np.maximum(place, 0))
        return sparse.csr_array(sparse.diags_array((place >= 0).astype(np.float32)) @ sums).sorted_indices()

    def _copy_from_parents(self, values: npt.NDArray[Any], in_use: Ids) -> None:
        """Give nodes above no label the value of their parent, in place."""
        parent, has_value = self.taxonomy.parent, np.zeros(self.taxonomy.n_nodes, bool)
        has_value[in_use] = True
        for node in np.flatnonzero(~has_value & (parent >= 0)).tolist():  # parents come before their children
            values[node] = values[parent[node]]

    def _taxonomy_nodes(self) -> Ids:
        """Return the id in `taxonomy` of each node of the tree, a stop leaf standing for its parent."""
        extended, _ = with_stops(self.taxonomy, self.labels)
        stops = extended.stop_leaves
        return np.array([self.taxonomy.index(stops.get(name, name)) for name in extended.names], np.int64)


@dataclass(frozen=True)
class GraphCoupling:
    """½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖², each edge once: eq. (10) with a = 1 and ridge = 0."""

    taxonomy: Taxonomy
    labels: Ids
    edges: RelationGraph
    relations: Relations

    @cached_property
    def graph(self) -> Graph:
        """The solver's graph: the nodes of `edges`, then labels that are not among them, without an edge."""
        place = {name: v for v, name in enumerate(self.edges.names)}
        names = (self.taxonomy.names[v] for v in self.labels)
        nodes = np.array([place.setdefault(name, len(place)) for name in names], np.int64)
        known = self.edges.adjacency
        indptr = np.append(known.indptr, np.full(len(place) - self.edges.n_nodes, known.indptr[-1]))
        shape = (len(place), len(place))
        return Graph(
            sparse.csr_array((known.data, known.indices, indptr), shape=shape), nodes, float(self.relations.ridge)
        )

    def tree_and_root(self) -> tuple[Any, ...]:
        """Return nothing: weights are no sums along a tree."""
        return ()

    def compact_form(self, who: str, problem: OneVsRest) -> str:
        """Raise a `TooLargeError`: the solver needs dense weights."""
        raise TooLargeError(
            f"{who}: {problem.n_classes} labels × {problem.rows.n_used} features are too many weights to relate by a "
            "graph; use fewer features, or weights='dense' if there is room."
        )

    def solve(
        self,
        problem: OneVsRest,
        settings: Settings,
        executor: Executor,
        *,
        form: str,
        prune: float,
        state: Any,
        keep_state: bool,
    ) -> Solution:
        """Minimise the coupled objective of all problems."""
        schedule = self.relations.schedule
        solution = solve_graph(
            problem, self.graph, settings, schedule=schedule, executor=executor, state=state, keep_state=keep_state
        )
        return (
            replace(solution, weights=SparseWeights.from_weights(solution.weights, prune))
            if form == "sparse"
            else solution
        )

    def node_vectors(self, weights: Weights) -> sparse.csr_array:
        """Return the weights of all nodes (in `taxonomy.names` order × features).

        Nodes without rows have the best weights given the others; nodes that no label is connected to have none.
        """
        graph, labels = self.graph, _dense(weights.matrix())
        vectors = np.zeros((graph.n_nodes, labels.shape[1]), np.float32)
        vectors[graph.nodes] = labels
        without_rows = np.isin(graph.components, graph.components[graph.nodes])
        without_rows[graph.nodes] = False
        plain = np.flatnonzero(without_rows)
        if len(plain):
            pulled = graph.adjacency[plain][:, graph.nodes] @ labels.astype(np.float64)
            vectors[plain] = linalg.splu(sparse.csc_array(graph.matrix[plain][:, plain])).solve(pulled)
        node_vectors = np.zeros((self.taxonomy.n_nodes, labels.shape[1]), np.float32)
        for place, name in enumerate(self.edges.names):
            if name in self.taxonomy:
                node_vectors[self.taxonomy.index(name)] = vectors[place]
        node_vectors[self.labels] = labels
        return sparse.csr_array(node_vectors)


Coupling = TreeCoupling | GraphCoupling


def couple(
    relations: Relations, edges: RelationGraph | None, taxonomy: Taxonomy, labels: Ids, sharing: float
) -> Coupling:
    """Return the coupling of labels along a graph, or along the taxonomy if there is none.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["baker", "nurse", "midwife"])
    >>> edges = RelationGraph.from_edges([("nurse", "midwife")])
    >>> graph = couple(Relations(), edges, taxonomy, np.array([0, 1]), 1.0).graph
    >>> graph.n_nodes, graph.nodes.tolist(), graph.pull.tolist()
    (3, [2, 0], [1.0, 1.0, 1.0])
    """
    if edges is None:
        return TreeCoupling(taxonomy, labels, sharing, relations)
    return GraphCoupling(taxonomy, labels, edges, relations)


def _dense(matrix: Any) -> npt.NDArray[Any]:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
