"""Relations of nodes, and the quadratic terms that pull the weights of related nodes together: on a tree or a graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property, partial
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import linalg
from sklearn.base import BaseEstimator

from cladist.errors import ParameterError, TaxonomyError, TooLargeError, is_count, is_positive, one_of
from cladist.execution import Executor
from cladist.execution.executors import local_executor
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.problem_tree import ROOTS, InnerVectors, ProblemTree
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import Weights
from cladist.solvers import OneVsRest, Settings, Solution
from cladist.solvers.cost import DescentLimit, SlowDescentError, product_steps
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import SCHEDULES, solve_graph
from cladist.solvers.problem import REPAIRS, TARGETS, with_stops
from cladist.solvers.tree.alternation import solve_alternating
from cladist.solvers.tree.dense_recursive import solve_recursive_directly
from cladist.solvers.tree.matrix_products import solve_by_products
from cladist.solvers.tree.recursive import is_flat, solve_recursive
from cladist.taxonomy import RelationGraph, Taxonomy

Ids = npt.NDArray[np.int64]


DENSE_FORMS = ("dense", "sparse")  # of weights that Newton steps find
INTERCEPTS = ("own", "pulled")
SMALLEST_SHARING, LARGEST_SHARING = 1e-9, 1e9  # except 0; beyond, sums in float32 lose one side


@dataclass(repr=False)
class Relations(BaseEstimator):
    """How the weights of nodes are related in `RecursiveSVM` and `RecursiveLogistic`.

    Without a graph, each node is related to its parent in the taxonomy; a DAG is read as the undirected graph of its
    edges. `root` and `blocks_per_round` are for trees; `targets`, `repair`, `schedule`, `ridge` and `intercept` are for
    graphs. In scikit-learn's notation ``relations__ridge`` is a parameter of the learner, for `set_params` and grids.

    Parameters
    ----------
    graph : RelationGraph, edges, path of a file, or None
        Labels that are related without one being above the other, instead of the taxonomy's own edges.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0 as nodes are to their parents, not pulled, or held at 0.
    blocks_per_round : int
        How many blocks of sixteen labels coordinate descent solves from one snapshot of the weights they share; threads
        divide these among them. More blocks need more sweeps. The model depends on it, not on the number of threads.
    targets : {"leaves", "nodes"}
        Which nodes of a graph are trained on a row: its labels, or its labels and all nodes above them.
    repair : {"top_down", "bottom_up", "best"}
        With ``targets="nodes"`` and sets of labels, how those of positive score are made consistent; see `FlatSVM`.
    schedule : {"coloured", "jacobi", "joint"}
        The order in which nodes of a graph are solved: one colour at a time; all at once, with shorter steps where
        the objective would rise; or joint sweeps over the dual in turn with coloured ones, for relations that pull
        more than rows do, with up to 8,000 nodes.
    ridge : float
        Pull of every node of a graph to 0: ½ ridge ‖w_n‖²; 0 in the paper.
    intercept : {"own", "pulled"}
        Whether the intercept of a node is its own, held by ½ S_n b_n², where S_n is the sum of its edges' weights and
        of the ridge; or pulled towards those of related nodes like all weights, as in the paper, so that labels share
        how frequent they are. `schedule="joint"` needs "pulled".

    Examples
    --------
    >>> from cladist import RecursiveSVM, RelationGraph, Relations
    >>> related = RelationGraph.from_edges([("nurse", "midwife")])
    >>> model = RecursiveSVM(relations=Relations(related, ridge=0.1))
    >>> model.fit([[0, 1], [1, 0], [1, 1]], ["nurse", "baker", "midwife"]).predict([[0, 2]]).tolist()
    ['nurse']
    """

    graph: Any = None
    _: KW_ONLY
    root: str = "zero"
    blocks_per_round: int = 1
    targets: str = "leaves"
    repair: str = "top_down"
    schedule: str = "coloured"
    ridge: Any = 0.0
    intercept: str = "own"

    def options(self) -> dict[str, Any]:
        """Return all but the graph, by name."""
        return {name: getattr(self, name) for name in DEFAULTS}

    def check(self, who: str, *, sharing: Any, empty_leaf: str, solver: str, warm_start: bool, weights: str) -> None:
        """Raise a `ParameterError` if an option, or a parameter of the learner that depends on it, has no meaning."""
        one_of(who, "empty_leaf", empty_leaf, ("skip", "negative", "text"))
        searched = isinstance(sharing, str) and sharing == "cv"
        in_range = is_positive(sharing) and SMALLEST_SHARING <= sharing <= LARGEST_SHARING
        if not (searched or in_range or (isinstance(sharing, Real) and sharing == 0)):
            raise ParameterError(
                f"{who}: sharing must be 0 or between {SMALLEST_SHARING:g} and {LARGEST_SHARING:g}, or 'cv' to choose "
                f"it; got {sharing!r}."
            )
        one_of(who, "root", self.root, ROOTS)
        one_of(who, "targets", self.targets, TARGETS)
        one_of(who, "repair", self.repair, REPAIRS)
        one_of(who, "schedule", self.schedule, SCHEDULES)
        one_of(who, "intercept", self.intercept, INTERCEPTS)
        if self.schedule == "joint" and self.intercept == "own":
            raise ParameterError(
                f"{who}: schedule='joint' pulls intercepts like all weights; add intercept='pulled', or leave the "
                "schedule at 'coloured'."
            )
        if not is_count(self.blocks_per_round):
            raise ParameterError(
                f"{who}: blocks_per_round must be a whole number from 1 up; got {self.blocks_per_round!r}."
            )
        if not (is_positive(self.ridge) or (isinstance(self.ridge, Real) and self.ridge == 0)):
            raise ParameterError(f"{who}: ridge must be 0 or positive; got {self.ridge!r}.")
        if solver == "alternating" and (weights not in ("auto", "dense") or warm_start):
            raise ParameterError(
                f"{who}: solver='alternating' has dense weights and starts anew; use another for "
                "weights='sparse', 'dual' or 'differences' and for warm_start."
            )
        if solver == "newton" and weights not in ("auto", *DENSE_FORMS):
            raise ParameterError(
                f"{who}: solver='newton' finds weights that are dense or sparse, not {weights!r}; leave one out."
            )

    def graph_for(
        self, who: str, taxonomy: Taxonomy, *, has_all_labels: bool, **parameters: Any
    ) -> RelationGraph | None:
        """Return the graph that relates labels, the given one or a DAG's edges; None for a tree.

        Options and parameters of the learner that have no meaning there are refused. A taxonomy that was read from y
        may lack labels without rows; one that was given has all labels.
        """
        graph = self.graph
        if graph is None and taxonomy.kind != "dag":
            self._check_for_tree(who)
            return None
        if graph is None:
            graph = RelationGraph.from_taxonomy(taxonomy)
        elif isinstance(graph, (str, PathLike)):
            graph = RelationGraph.read(graph)
        elif not isinstance(graph, RelationGraph):
            graph = RelationGraph.from_edges(graph)
        unknown = [name for name in graph.names if name not in taxonomy]
        if unknown and has_all_labels:
            raise TaxonomyError(
                f"{who}: relations join labels of the taxonomy, and {unknown[0]!r} is not one; leave it out, or add "
                "it to the taxonomy."
            )
        if len(unknown) == graph.n_nodes:
            raise TaxonomyError(f"{who}: relations join labels, and none of y's is among them; {unknown[0]!r} is one.")
        if self.targets == "nodes" and self.repair == "best":
            taxonomy.require_tree(f"{who} with repair='best'")
        self._check_for_graph(who, **parameters)
        return graph

    def couple(self, taxonomy: Taxonomy, labels: Ids, sharing: float, graph: RelationGraph | None) -> Coupling:
        """Return the first sum of the objective: that of eq. (2) and (3) on a tree, of eq. (10) on a graph."""
        if graph is not None:
            own = self.intercept == "own"
            return GraphCoupling(taxonomy, labels, graph, self.schedule, float(self.ridge), own)
        return TreeCoupling(taxonomy, labels, sharing, self.root, self.blocks_per_round)

    def _check_for_tree(self, who: str) -> None:
        for name in ("schedule", "ridge", "targets", "intercept"):
            if getattr(self, name) != DEFAULTS[name]:
                raise ParameterError(
                    f"{who}: {name}={getattr(self, name)!r} is for labels related by a graph; give "
                    "Relations(RelationGraph.from_taxonomy(taxonomy), …) to read the tree as one."
                )

    def _check_for_graph(self, who: str, *, sharing: Any, solver: str, warm_start: bool, weights: str) -> None:
        of_trees = {"root": self.root, "blocks_per_round": self.blocks_per_round, "sharing": sharing, "solver": solver}
        for name, value in of_trees.items():
            usual = {**DEFAULTS, "sharing": 1.0, "solver": "auto"}[name]
            if value != usual:
                raise ParameterError(
                    f"{who}: {name}={value!r} is for trees, and labels are related by a graph here; leave it at "
                    f"{usual!r}."
                )
        if warm_start or weights in ("dual", "differences"):
            raise ParameterError(
                f"{who}: on a graph every fit starts anew and weights are dense or sparse; leave warm_start and "
                f"weights={weights!r} out."
            )


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Relations) if field.name != "graph"}


def as_relations(relations: Any) -> Relations:
    """Return the parameter `relations` of a learner as `Relations`; a plain graph has the default options."""
    return relations if isinstance(relations, Relations) else Relations(relations)


@dataclass(frozen=True)
class TreeCoupling:
    """½ Σ_n ‖w_n − w_π(n)‖² / κ_n over the nodes of a tree, π(n) the parent of n: eq. (2) and (3) with all κ = 1.

    A label with others below it is a leaf of its own there. κ is `sharing` for nodes above labels and 1 for labels.
    """

    taxonomy: Taxonomy
    labels: Ids
    sharing: float
    root: str = "zero"
    blocks_per_round: int = 1
    prior: sparse.csr_array | None = None  # u (labels × features): labels are pulled to their parent's weights plus u

    @cached_property
    def tree(self) -> ProblemTree:
        """The tree above the labels."""
        extended, leaves = with_stops(self.taxonomy, self.labels)
        return ProblemTree(extended.parent.astype(np.int64), leaves, self.sharing)

    def tree_and_root(self) -> tuple[Any, ...]:
        """Return the tree that weights may be sums along, and the option for its root."""
        return self.tree, self.root

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
        tree, root, local = self.tree, self.root, local_executor(executor)
        if settings.solver == "alternating" and self.sharing > 0 and self.prior is None:
            return solve_alternating(problem, tree, settings, root=root, exact_inner=True, executor=local)
        options = {"form": form, "prune": prune, "state": state, "keep_state": keep_state, "executor": executor}
        descend = partial(solve_recursive, problem, tree, settings, root=root, blocks_per_round=self.blocks_per_round)
        if self.prior is not None:
            return descend(prior=self.prior, **options)
        if is_flat(tree, root):
            return descend(**options)
        dense = form in DENSE_FORMS and state is None and not keep_state
        solution = None
        if form in DENSE_FORMS and (state is None or isinstance(state, np.ndarray)):
            solution, options["state"] = self._solve_by_products(problem, settings, local, state, keep_state), None
        try:
            if solution is None:
                limit = DescentLimit(problem, tree, settings, can_be_dense=form in DENSE_FORMS)
                descended = descend(limit=limit, **options)
                if descended.converged or not dense or not limit.can_finish():
                    return descended
                solution = solve_recursive_directly(problem, tree, settings, root=root, executor=local)
                if descended.history[-1]["gap"] <= solution.history[-1]["gap"]:
                    return descended
        except SlowDescentError:
            solution = solve_recursive_directly(problem, tree, settings, root=root, executor=local)
        return solution if form == "dense" else _sparse(solution, prune)

    def _solve_by_products(
        self, problem: OneVsRest, settings: Settings, executor: Executor, start: Any, keep_state: bool
    ) -> Solution | None:
        """Return a solution found by products of matrices, if they are expected to cost least and converge."""
        steps = product_steps(problem, self.tree, settings) if self.root != "free" else 0
        if not steps:
            return None
        options = {"root": self.root, "executor": executor, "most_steps": steps, "start": start}
        solution = solve_by_products(problem, self.tree, settings, **options)
        if not solution.converged:
            return None
        return solution if keep_state else replace(solution, state=None)

    def node_vectors(self, weights: Weights) -> sparse.csr_array:
        """Return the weights of all nodes (in `taxonomy.names` order × features)."""
        if isinstance(weights, DifferenceWeights):
            return self._summed_differences(weights)
        tree, leaves = self.tree, _dense(weights.matrix())
        inner = InnerVectors(tree, self.root, leaves.shape[1])
        if self.sharing > 0:
            sums = np.zeros((len(inner.nodes) + 1, leaves.shape[1]), np.float32)
            shared = leaves if self.prior is None else leaves - self.prior.toarray()
            np.add.at(sums, inner.position[tree.parent[tree.leaves]], shared)
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
    """½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖², each edge once: eq. (10) with a = 1 and ridge = 0.

    With `own_intercepts`, intercepts are not part of w there, and each is held by itself.
    """

    taxonomy: Taxonomy
    labels: Ids
    edges: RelationGraph
    schedule: str = "coloured"
    ridge: float = 0.0
    own_intercepts: bool = True

    @cached_property
    def graph(self) -> Graph:
        """The solver's graph: the nodes of `edges`, then labels that are not among them, without an edge."""
        place = {name: v for v, name in enumerate(self.edges.names)}
        names = (self.taxonomy.names[v] for v in self.labels)
        nodes = np.array([place.setdefault(name, len(place)) for name in names], np.int64)
        known = self.edges.adjacency
        indptr = np.append(known.indptr, np.full(len(place) - self.edges.n_nodes, known.indptr[-1]))
        matrix = sparse.csr_array((known.data, known.indices, indptr), shape=(len(place), len(place)))
        return Graph(matrix, nodes, self.ridge, self.own_intercepts)

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
        solution = solve_graph(
            problem,
            self.graph,
            settings,
            schedule=self.schedule,
            executor=local_executor(executor),
            state=state,
            keep_state=keep_state,
        )
        return _sparse(solution, prune) if form == "sparse" else solution

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


def _sparse(solution: Solution, prune: float) -> Solution:
    return replace(solution, weights=SparseWeights.from_weights(solution.weights, prune))


def _dense(matrix: Any) -> npt.NDArray[Any]:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
