"""What `RecursiveSVM` and `RecursiveLogistic` share: all but the loss."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist.errors import ParameterError, is_count, one_of
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.choosing import warn_of_gap
from cladist.learners.flat.base import FlatLinear, Prepared
from cladist.learners.flat.targets import Targets, class_weights
from cladist.learners.stopping import with_stops
from cladist.solvers import Rows, Settings, Solution
from cladist.solvers.alternating import solve_alternating
from cladist.solvers.recursive import solve_recursive
from cladist.solvers.trees import Inner, Tree

ROOTS, SOLVERS = ("zero", "free", "fixed"), ("joint", "alternating")


class RecursiveLinear(FlatLinear):
    """Linear classifiers for labels, each pulled towards what lies above it; see `RecursiveSVM`."""

    _takes_dags = False
    targets, repair, weights, prune = "leaves", "bottom_up", "dense", 0.0  # what the flat learners leave to choose

    root: str
    solver: str
    blocks_per_round: int

    def _check_parameters(self) -> None:
        who = type(self).__name__
        self._check_linear()
        one_of(who, "root", self.root, ROOTS)
        one_of(who, "solver", self.solver, SOLVERS)
        if not is_count(self.blocks_per_round):
            raise ParameterError(
                f"{who}: blocks_per_round must be a whole number from 1 up; got {self.blocks_per_round!r}."
            )
        if self.root == "free" and self.solver == "joint":
            raise ParameterError(f"{who}: root='free' has no joint dual to climb; use solver='alternating'.")
        self._check_decode(self.decode)

    def _prepare(self, X: Any, labels: LabelMatrix, weights: Any) -> Prepared:
        targets = Targets.of(labels, all_nodes=False, sets=True)  # a problem for every label, also of two
        self.target_nodes_ = targets.nodes
        self._set_classes(targets.labels)
        factors = class_weights(type(self).__name__, self.class_weight, targets, self.taxonomy_, labels)
        return Prepared(Rows.of(X, constant=self.fit_intercept), targets, factors, weights)

    def _tree(self) -> Tree:
        """Return the tree above the labels; one that has others below it hangs there as a leaf of its own."""
        walked, leaves = with_stops(self.taxonomy_, self.class_nodes_)
        return Tree(walked.parent.astype(np.int64), leaves)

    def _solve(self, prepared: Prepared, C: float, state: Any, keep_state: bool) -> Solution:
        started = time.perf_counter()
        seed = int(random_generator(type(self).__name__, self.random_state).randint(2**31 - 1))
        problem = prepared.targets.problem(prepared.rows, self._loss, C, prepared.class_weights, prepared.row_weights)
        settings = Settings(self.tol, self.max_iter, seed)
        if self.solver == "joint":
            solution = solve_recursive(
                problem,
                self._tree(),
                settings,
                root=self.root,
                blocks_per_round=self.blocks_per_round,
                executor=self._executor(),
            )
        else:
            solution = solve_alternating(
                problem, self._tree(), settings, root=self.root, executor=self._executor(), exact_inner=True
            )
        self.weights_ = solution.weights
        self._remember(solution, time.perf_counter() - started)
        return solution

    def _remember(self, solution: Solution, seconds: float) -> None:
        self.history_ = [dict(entry) for entry in solution.history]
        self.history_[-1]["seconds"] = seconds
        self.n_iter_ = int(self.history_[-1].get("passes", len(self.history_)))
        self.converged_ = solution.converged
        if not solution.converged:
            warn_of_gap(self, self.history_[-1]["gap"], stacklevel=5)

    @property
    def _one_a_label(self) -> bool:
        return True

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row a node in `taxonomy_.names` order, as CSR; made when asked for.

        Of nodes above leaves they are what is best given the leaves. A label with others below it has the weights of
        the leaf that stands for it there; nodes above no label have none.
        """
        check_is_fitted(self)
        tree, leaves = self._tree(), self.weights_.matrix()
        inner = Inner(tree, self.root, leaves.shape[1])
        sums = np.zeros((len(inner.nodes) + 1, leaves.shape[1]), np.float32)
        np.add.at(sums, inner.place[tree.parent[tree.leaves]], leaves)
        inner.solve(sums[:-1])
        vectors = np.zeros((self.taxonomy_.n_nodes, leaves.shape[1]), np.float32)
        known = self._nodes_walked()
        for node, vector in inner.by_node().items():
            vectors[known[node]] = vector
        vectors[self.class_nodes_] = leaves
        return sparse.csr_array(vectors)

    def _nodes_walked(self) -> npt.NDArray[np.int64]:
        """Return the id in `taxonomy_` of each node of the tree, a stop leaf standing for its parent."""
        walked, _ = with_stops(self.taxonomy_, self.class_nodes_)
        found = [self.taxonomy_.index(walked.stop_leaves.get(name, name)) for name in walked.names]
        return np.array(found, np.int64)
