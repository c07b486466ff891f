"""Families: the children of one node, separated by classifiers over the rows that reach the node.

`TopDown` and `NodewiseSVM` consist of these. Each family sees only its own rows and the features that occur in them,
so that a taxonomy of many small families costs no more than its rows on each level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.execution import Executor
from cladist.kernels.lanes import WIDTH
from cladist.learners.base import random_generator
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import csr_arrays
from cladist.solvers import OneVsRest, Settings, TrainingRows, solve_one_vs_rest
from cladist.solvers.problem import Members

Ids = npt.NDArray[np.int64]
LOSSES = ("squared_hinge", "hinge", "logistic")
LARGE = 4 * WIDTH  # problems; the blocks of larger families run in parallel, smaller families as a whole


@dataclass(frozen=True)
class Family:
    """Linear classifiers for the children of a node; without weights where there is no choice."""

    children: Ids
    weights: SparseWeights | None = None
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def has_choice(self) -> bool:
        """Whether there are several children, and weights that separate them."""
        return self.weights is not None

    def scores(self, X: Any, rows: Ids) -> npt.NDArray[np.float32]:
        """Return the score of every child for some rows of a CSR matrix."""
        if self.weights is None:
            return np.zeros((len(rows), len(self.children)), np.float32)
        scores = self.weights.scores_of(csr_arrays(X), rows)
        if scores.shape[1] < len(self.children):  # the sign of one decides between two
            return np.hstack([-scores / 2, scores / 2])
        return scores

    def choices(self, X: Any, rows: Ids) -> Ids:
        """Return which child, by position, has the highest score."""
        if self.weights is None:
            return np.zeros(len(rows), np.int64)
        return self.scores(X, rows).argmax(axis=1)

    def scores_and_choices(self, X: Any, rows: Ids) -> tuple[npt.NDArray[np.float32], Ids]:
        """Return `scores` and `choices`, the scores computed once."""
        scores = self.scores(X, rows)
        return scores, scores.argmax(axis=1)

    def vectors(self, places: Ids) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
        """Return the weights (CSR, indices sorted) and intercepts that make the scores of some children.

        Two children that one classifier separates have minus and plus half of its weights.
        """
        if self.weights is None:
            raise ValueError("a family without a choice has no weights")
        if self.weights.n_classes == len(self.children):
            return self.weights.matrix(places).sorted_indices(), self.weights.intercepts[places]
        halves = np.array([-0.5, 0.5], np.float32)[places]
        twice = self.weights.matrix(np.zeros(len(places), np.int64))
        return sparse.csr_array(sparse.diags_array(halves) @ twice).sorted_indices(), halves * self.weights.intercepts

    def fit_summary(self) -> dict[str, float]:
        """Return the sum of the objectives, the worst gap and the most passes."""
        if not self.history:
            return {}
        return {
            "objective": sum(entry["objective"] for entry in self.history),
            "gap": max(entry["gap"] for entry in self.history),
            "passes": max(entry["passes"] for entry in self.history),
        }


@dataclass(frozen=True)
class Decision:
    """A choice made by a scikit-learn classifier, whose classes are the children's ids."""

    children: Ids
    estimator: Any

    has_choice: ClassVar[bool] = True

    def scores(self, X: Any, rows: Ids) -> npt.NDArray[Any]:
        """Return one score per child from whatever the classifier offers."""
        part, estimator = X[rows], self.estimator
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(part), dtype=np.float64)
            if scores.ndim == 1:
                return np.column_stack([-scores / 2, scores / 2])
            if scores.shape[1] == len(estimator.classes_):
                return scores
        if hasattr(estimator, "predict_proba"):
            with np.errstate(divide="ignore"):
                return np.maximum(np.log(estimator.predict_proba(part)), np.log(np.finfo(np.float64).tiny))
        return (np.asarray(estimator.predict(part))[:, None] == estimator.classes_[None, :]).astype(np.float64)

    def choices(self, X: Any, rows: Ids) -> Ids:
        """Return the child that the classifier predicts, by position."""
        return np.searchsorted(self.children, self.estimator.predict(X[rows]))

    def scores_and_choices(self, X: Any, rows: Ids) -> tuple[npt.NDArray[Any], Ids]:
        """Return `scores` and `choices`; the classifier's own prediction need not be the highest score."""
        return self.scores(X, rows), self.choices(X, rows)

    def fit_summary(self) -> dict[str, float]:
        """Return what the attributes of the classifier tell."""
        summary: dict[str, float] = {"converged": bool(getattr(self.estimator, "converged_", True))}
        if getattr(self.estimator, "n_iter_", None) is not None:
            summary["passes"] = int(np.max(self.estimator.n_iter_))
        if hasattr(self.estimator, "objective_"):
            summary["objective"] = float(self.estimator.objective_)
        return summary


Choice = Family | Decision


@dataclass(frozen=True)
class FamilyProblem:
    """The training set of a family.

    Attributes
    ----------
    parent : int
        The node, −1 for the virtual root of a forest.
    rows : array of row numbers
    children : array of node ids
        What the classifiers separate.
    members : (indptr, positions in `rows`)
        The positive rows of each problem: one per child, or with two children that exclude each other one in all, of
        the second.
    """

    parent: int
    rows: Ids
    children: Ids
    members: Members

    @property
    def n_problems(self) -> int:
        """Number of classifiers."""
        return len(self.members[0]) - 1


def fit_families(
    model: Any, X: Any, problems: list[FamilyProblem], row_weights: Any, C: float, executor: Executor
) -> dict[int, Family]:
    """Fit the linear classifiers of all families by parent, with the parameters of a learner.

    The result does not depend on the executor.
    """
    who = type(model).__name__
    seed = int(random_generator(who, model.random_state).randint(2**31 - 1))
    settings = Settings(model.tol, model.max_iter, seed)

    def fit(problem: FamilyProblem, inner: Executor | None = None) -> Family:
        rows = TrainingRows.from_matrix(X, constant=model.fit_intercept, chosen=problem.rows)
        weights = None if row_weights is None else row_weights[problem.rows]
        costs = np.full((2, problem.n_problems), C)
        one_vs_rest = OneVsRest(rows, problem.members, model.loss, costs, weights)
        solution = solve_one_vs_rest(one_vs_rest, settings, executor=inner, form="sparse", prune=float(model.prune))
        return Family(problem.children, solution.weights, solution.history)

    families: dict[int, Family] = {}
    with progress.task(who, len(problems)) as running:

        def fit_small(problem: FamilyProblem) -> Family:
            with progress.hide():
                family = fit(problem)
            running.advance()
            return family

        for problem in problems:
            if problem.n_problems > LARGE:
                families[problem.parent] = fit(problem, executor)
                running.advance()
        # The largest first, so that no worker is left with one at the end.
        small = [problem for problem in problems if problem.n_problems <= LARGE]
        small.sort(key=lambda problem: -len(problem.rows))
        for problem, family in zip(small, executor.map(fit_small, small), strict=True):
            families[problem.parent] = family
    return families
