"""What `RecursiveSVM` and `RecursiveLogistic` share: all but the loss."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist.errors import ModelFormatError, ParameterError, TooLargeError, is_count, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.flat.base import FORMS, REPAIRS, Prepared
from cladist.learners.flat.targets import Targets, class_weights
from cladist.learners.recursive.beam_search import WalkingLinear
from cladist.learners.recursive.label_graph import (
    graph_of,
    refuse_graph_parameters,
    refuse_tree_parameters,
    related_vectors,
    relations_for,
)
from cladist.learners.recursive.warm_start import LastState, scaled_state
from cladist.learners.select_c import choose, folds_of, warn_of_gap
from cladist.learners.stop_leaves import with_stops
from cladist.linear_model.difference_builder import differences_of_leaves
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.problem_tree import ROOTS, InnerVectors, ProblemTree
from cladist.linear_model.sparse import SparseWeights
from cladist.persistence.taxonomies import pack_relations, unpack_relations
from cladist.solvers import OneVsRest, Settings, Solution, TrainingRows
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import SCHEDULES, solve_graph
from cladist.solvers.tree.alternation import solve_alternating
from cladist.solvers.tree.dense_recursive import solve_recursive_directly, suits_direct_recursive
from cladist.solvers.tree.recursive import solve_recursive
from cladist.storage.array_groups import Arrays, group, prefixed
from cladist.taxonomy import RelationGraph

SOLVERS, EMPTY_LEAVES = ("joint", "alternating"), ("skip", "negative")
SMALLEST_SHARING, LARGEST_SHARING = 1e-9, 1e9  # but for 0; beyond, sums in float32 lose one side
SHARINGS = (1.0, 0.1, 0.0)  # what "cv" chooses from: the paper's, a little, nothing


class RecursiveLinear(WalkingLinear):
    """Linear classifiers for labels, each pulled towards what lies above it; see `RecursiveSVM`."""

    takes_dags = True
    _forms = (*FORMS, "differences")

    relations: Any
    schedule: str
    ridge: Any
    relations_: RelationGraph | None
    root: str
    sharing: Any
    empty_leaf: str
    solver: str
    blocks_per_round: int
    sharing_: float

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_linear()
        one_of(who, "root", self.root, ROOTS)
        one_of(who, "empty_leaf", self.empty_leaf, EMPTY_LEAVES)
        one_of(who, "solver", self.solver, SOLVERS)
        self._check_forms()
        chosen = isinstance(self.sharing, str) and self.sharing == "cv"
        positive = is_positive(self.sharing) and SMALLEST_SHARING <= self.sharing <= LARGEST_SHARING
        if not (chosen or positive or (isinstance(self.sharing, Real) and self.sharing == 0)):
            raise ParameterError(
                f"{who}: sharing must be 0 or between {SMALLEST_SHARING:g} and {LARGEST_SHARING:g}, or 'cv' to choose "
                f"it; got {self.sharing!r}."
            )
        if not is_count(self.blocks_per_round):
            raise ParameterError(
                f"{who}: blocks_per_round must be a whole number from 1 up; got {self.blocks_per_round!r}."
            )
        if self.solver == "alternating" and (self.weights not in ("auto", "dense") or self.warm_start):
            raise ParameterError(
                f"{who}: solver='alternating' has dense weights and starts anew; use solver='joint' for "
                "weights='sparse', 'dual' or 'differences' and for warm_start."
            )
        self._check_decode(self.decode)
        one_of(who, "targets", self.targets, ("leaves", "nodes"))
        one_of(who, "repair", self.repair, REPAIRS)
        one_of(who, "schedule", self.schedule, SCHEDULES)
        if not (is_positive(self.ridge) or (isinstance(self.ridge, Real) and self.ridge == 0)):
            raise ParameterError(f"{who}: ridge must be 0 or positive; got {self.ridge!r}.")

    # ---------------------------------------------------------------- learning

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        found = super()._checked(X, y, sample_weight)
        self.relations_ = relations_for(self)
        if self.relations_ is None:
            refuse_graph_parameters(self)
        else:
            refuse_tree_parameters(self)
        return found

    def _take_form(self, other: Self) -> None:
        super()._take_form(other)
        self.relations_ = other.relations_

    def _chosen(self, X: Any, labels: LabelMatrix, weights: Any) -> float:
        """Return the C to learn with, and remember how it and `sharing` were chosen if they were."""
        if not isinstance(self.sharing, str):
            self.sharing_ = float(self.sharing)
            return super()._chosen(X, labels, weights)
        grid = {} if isinstance(self.C, str) else {"Cs": (float(self.C),)}
        found, folds = [], folds_of(self, X.shape[0])  # the same for all, also of a generator that goes on
        for sharing in SHARINGS:
            C, results = choose(self, X, labels, weights, folds=folds, sharing=sharing, **grid)
            best = max(entry["score"] for entry in results)
            found.append((best, sharing, C, [{**entry, "sharing": sharing} for entry in results]))
        _, self.sharing_, self.C_, _ = max(found, key=lambda entry: entry[0])  # the first of equals
        self.cv_results_ = [entry for *_, results in found for entry in results]
        return self.C_

    def _prepare(self, X: Any, labels: LabelMatrix, weights: Any) -> Prepared:
        # Of labels every one has a problem, also of two.
        all_nodes = self.targets == "nodes"
        targets = Targets.of(labels, all_nodes=all_nodes, sets=not all_nodes or self.decodes_sets)
        if self.empty_leaf == "negative":
            targets = targets.with_nodes(self.taxonomy_.leaves)
        self.target_nodes_ = targets.nodes
        self.set_classes(targets.labels)
        factors = class_weights(type(self).__name__, self.class_weight, targets, self.taxonomy_, labels)
        return Prepared(TrainingRows.from_matrix(X, constant=self.fit_intercept), targets, factors, weights)

    def _tree(self) -> ProblemTree:
        """Return the tree above the labels; one that has others below it hangs there as a leaf of its own."""
        walked, leaves = with_stops(self.taxonomy_, self.class_nodes_)
        return ProblemTree(walked.parent.astype(np.int64), leaves, self.sharing_)

    def _solve(self, prepared: Prepared, C: float, state: Any, keep_state: bool) -> Solution:
        started = time.perf_counter()
        if not hasattr(self, "sharing_"):
            self.sharing_ = self._sharing_as_given()
        problem = self._problem(prepared, C)
        if self.relations_ is None:
            solution = self._searched(problem, self._tree(), state, keep_state)
        else:
            solution = self._related(problem, state, keep_state)
        self.weights_ = solution.weights
        self._remember(solution, time.perf_counter() - started)
        return solution

    def _searched(self, problem: OneVsRest, tree: ProblemTree, state: Any, keep_state: bool) -> Solution:
        seed = int(random_generator(type(self).__name__, self.random_state).randint(2**31 - 1))
        settings = Settings(self.tol, self.max_iter, seed)
        common: dict[str, Any] = {"root": self.root, "executor": self._executor()}
        if self.solver == "alternating" and self.sharing_ > 0:
            return solve_alternating(problem, tree, settings, exact_inner=True, **common)
        form = self._form(problem.n_classes, problem.rows.n_used)
        if form != "dual" and suits_direct_recursive(problem, tree):
            solution = solve_recursive_directly(problem, tree, settings, **common)
            if form == "dense":
                return solution
            if form == "differences":
                return replace(solution, weights=differences_of_leaves(solution.weights, tree, self.root, self.prune))
            return replace(solution, weights=SparseWeights.from_weights(solution.weights, self.prune))
        rounds: dict[str, Any] = {"blocks_per_round": self.blocks_per_round, "form": form, "prune": self.prune}
        return solve_recursive(problem, tree, settings, **rounds, state=state, keep_state=keep_state, **common)

    def _related(self, problem: OneVsRest, state: Any, keep_state: bool) -> Solution:
        """Solve on the graph of relations."""
        seed = int(random_generator(type(self).__name__, self.random_state).randint(2**31 - 1))
        if self.weights == "auto" and not self._is_small(problem.n_classes, problem.rows.n_used):
            raise TooLargeError(
                f"{type(self).__name__}: {problem.n_classes} labels × {problem.rows.n_used} features are too many "
                "weights to relate by a graph; use fewer features, or weights='dense' if there is room."
            )
        solution = solve_graph(
            problem,
            self._graph(),
            Settings(self.tol, self.max_iter, seed),
            schedule=self.schedule,
            executor=self._executor(),
            state=state,
            keep_state=keep_state,
        )
        if self.weights != "sparse":
            return solution
        return replace(solution, weights=SparseWeights.from_weights(solution.weights, self.prune))

    def _graph(self) -> Graph:
        assert self.relations_ is not None
        labels = [self.taxonomy_.names[v] for v in self.target_nodes_]
        return graph_of(self.relations_, labels, float(self.ridge))

    def _sharing_as_given(self) -> float:
        if isinstance(self.sharing, str):
            raise ParameterError(f"{type(self).__name__}: C_path walks along C alone; give sharing as a number.")
        return float(self.sharing)

    def _form(self, n_classes: int, n_used: int) -> str:
        if self.weights == "auto" and self._is_small(n_classes, n_used):
            return "dense"
        return "dual" if self.weights == "auto" else self.weights

    def _scaled(self, state: Any, factor: float) -> Any:
        return scaled_state(state, factor)

    def _state_to_begin(self, prepared: Prepared, C: float) -> Any:
        last: LastState | None = self.__dict__.pop("_last_fit", None)
        if last is None or not self.warm_start:
            return None
        return last.state_for(self._problem(prepared, C), self._tree(), self.root, C)

    def _remembered(self, state: Any, prepared: Prepared, C: float) -> Any:
        return LastState.of(state, self._problem(prepared, C), self._tree(), self.root, C)

    def _remember(self, solution: Solution, seconds: float) -> None:
        self.history_ = [dict(entry) for entry in solution.history]
        self.history_[-1]["seconds"] = seconds
        self.n_iter_ = int(self.history_[-1].get("passes", len(self.history_)))
        self.converged_ = solution.converged
        if not solution.converged:
            warn_of_gap(self, self.history_[-1]["gap"], stacklevel=5)

    # ---------------------------------------------------------------- weights

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row a node in `taxonomy_.names` order, as CSR; made when asked for.

        Of nodes above leaves they are what is best given the leaves. A label with others below it has the weights of
        the leaf that stands for it there; nodes above no label have those of what lies above them. On a graph, nodes
        without rows have what is best given the others, and nodes that no label is related to have none.
        """
        check_is_fitted(self)
        if self.relations_ is not None:
            return related_vectors(self)
        if isinstance(self.weights_, DifferenceWeights):
            return self._sums_at_nodes(self.weights_)
        tree, leaves = self._tree(), self.weights_.matrix()
        leaves = leaves.toarray() if sparse.issparse(leaves) else leaves
        inner = InnerVectors(tree, self.root, leaves.shape[1])
        if self.sharing_ > 0:
            sums = np.zeros((len(inner.nodes) + 1, leaves.shape[1]), np.float32)
            np.add.at(sums, inner.position[tree.parent[tree.leaves]], leaves)
            inner.solve(sums[:-1])
        vectors = np.zeros((self.taxonomy_.n_nodes, leaves.shape[1]), np.float32)
        known = self._nodes_walked()
        for node, vector in inner.by_node().items():
            vectors[known[node]] = vector
        above = self.taxonomy_.parent
        in_use = np.zeros(len(vectors), bool)
        in_use[known[tree.in_use]] = True
        for node in np.flatnonzero(~in_use & (above >= 0)).tolist():  # parents come before their children
            vectors[node] = vectors[above[node]]
        vectors[self.class_nodes_] = leaves
        return sparse.csr_array(vectors)

    def _sums_at_nodes(self, weights: DifferenceWeights) -> sparse.csr_array:
        """Return the vectors of all nodes, those above no label having that of what lies above them."""
        order, above = weights.order, self.taxonomy_.parent
        place = np.full(self.taxonomy_.n_nodes, -1, np.int64)
        known = self._nodes_walked()[order.node_at]
        place[known[order.class_of < 0]] = np.flatnonzero(order.class_of < 0)
        in_use = np.zeros(len(place), bool)
        in_use[known] = True
        for node in np.flatnonzero(~in_use & (above >= 0)).tolist():  # parents come before their children
            place[node] = place[above[node]]
        place[self.class_nodes_] = (
            order.leaf_positions
        )  # a label's own vector is not that of the node others hang below
        found = weights.sums(np.maximum(place, 0))
        return sparse.csr_array(sparse.diags_array((place >= 0).astype(np.float32)) @ found).sorted_indices()

    def _nodes_walked(self) -> npt.NDArray[np.int64]:
        """Return the id in `taxonomy_` of each node of the tree, a stop leaf standing for its parent."""
        walked, _ = with_stops(self.taxonomy_, self.class_nodes_)
        found = [self.taxonomy_.index(walked.stop_leaves.get(name, name)) for name in walked.names]
        return np.array(found, np.int64)

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super().pack_state()
        state = {**state, "sharing": self.sharing_, "has_relations": self.relations is not None}
        return state, {**arrays, **prefixed("relations", pack_relations(self.relations_))}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.sharing_ = float(state.get("sharing", 1.0))
        if not 0 <= self.sharing_ <= LARGEST_SHARING:
            raise ModelFormatError(f"Its sharing is {self.sharing_!r}.")
        self.relations_ = unpack_relations(group("relations", arrays))
        if state.get("has_relations"):
            self.relations = self.relations_
        super().unpack_state(state, arrays)

    def _tree_above(self) -> tuple[Any, ...]:
        return (self._tree(), self.root) if self.relations_ is None else ()
