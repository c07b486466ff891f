"""Families: the children of one node, told apart by linear classifiers over the rows that reach the node.

`TopDown` and `NodewiseSVM` are made of these. Each family sees only its own rows and the features that occur in them,
so that a taxonomy of many small families costs no more than its rows on each level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import ModelFormatError
from cladist.execution import Executor
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import csr_arrays
from cladist.solvers import OneVsRest, Settings, TrainingRows, solve_one_vs_rest
from cladist.solvers.problem import Members
from cladist.storage.array_groups import Arrays, unpack_ids

Ids = npt.NDArray[np.int64]
LARGE = 4 * WIDTH  # children; the blocks of such a family run side by side, smaller families do as a whole


@dataclass(frozen=True)
class Task:
    """What a family learns from.

    Attributes
    ----------
    parent : int
        The node, −1 for the virtual root of a forest.
    rows : array of row numbers
    children : array of node ids
        What the classifiers tell apart.
    members : (indptr, positions in `rows`)
        Of each problem: one a child, or with two children that exclude each other, of the second alone.
    """

    parent: int
    rows: Ids
    children: Ids
    members: Members

    @property
    def n_problems(self) -> int:
        """How many classifiers there are."""
        return len(self.members[0]) - 1


@dataclass(frozen=True)
class Family:
    """The children of a node and what tells them apart; without weights where there is no choice."""

    children: Ids
    weights: SparseWeights | None = None
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def has_choice(self) -> bool:
        """Whether there are several children, and weights that tell them apart."""
        return self.weights is not None

    def scores(self, X: Any, listed: Ids) -> npt.NDArray[np.float32]:
        """Return the score of every child for the rows listed of a CSR matrix."""
        if self.weights is None:
            return np.zeros((len(listed), len(self.children)), np.float32)
        scores = self.weights.scores_of(csr_arrays(X), listed)
        if scores.shape[1] < len(self.children):  # the sign of one decides between two
            return np.hstack([-scores / 2, scores / 2])
        return scores

    def choices(self, X: Any, listed: Ids) -> Ids:
        """Return which child, by position, has the highest score."""
        if self.weights is None:
            return np.zeros(len(listed), np.int64)
        return self.scores(X, listed).argmax(axis=1)

    def scored(self, X: Any, listed: Ids) -> tuple[npt.NDArray[np.float32], Ids]:
        """Return `scores` and `choices` of the rows listed, the scores computed once."""
        scores = self.scores(X, listed)
        return scores, scores.argmax(axis=1)

    def vectors(self, places: Ids) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
        """Return the weights (CSR, indices sorted) and intercepts that make the scores of some children.

        Of two that one classifier tells apart, minus and plus half of its own.
        """
        if self.weights is None:
            raise ValueError("a family without a choice has no weights")
        if self.weights.n_classes == len(self.children):
            return self.weights.matrix(places).sorted_indices(), self.weights.intercepts[places]
        halves = np.array([-0.5, 0.5], np.float32)[places]
        twice = self.weights.matrix(np.zeros(len(places), np.int64))
        return sparse.csr_array(sparse.diags_array(halves) @ twice).sorted_indices(), halves * self.weights.intercepts

    def told(self) -> dict[str, float]:
        """Return what is known of the fit: the sum of the objectives, the worst gap, the most passes."""
        if not self.history:
            return {}
        return {
            "objective": sum(entry["objective"] for entry in self.history),
            "gap": max(entry["gap"] for entry in self.history),
            "passes": max(entry["passes"] for entry in self.history),
        }


@dataclass(frozen=True)
class Plan:
    """How families are fitted: the loss, C, whether with intercepts, which weights are dropped, how exactly."""

    loss: str
    C: float
    constant: bool
    prune: float
    settings: Settings

    def fit(self, X: Any, task: Task, row_weights: Any, executor: Executor | None = None) -> Family:
        """Fit the classifiers of one family."""
        rows = TrainingRows.from_matrix(X, constant=self.constant, chosen=task.rows)
        weights = None if row_weights is None else row_weights[task.rows]
        problem = OneVsRest(rows, task.members, self.loss, np.full((2, task.n_problems), self.C), weights)
        solution = solve_one_vs_rest(problem, self.settings, executor=executor, form="sparse", prune=self.prune)
        return Family(task.children, solution.weights, solution.history)


def fit_families(
    X: Any, tasks: list[Task], plan: Plan, row_weights: Any, executor: Executor, description: str
) -> dict[int, Family]:
    """Fit all families; what comes out does not depend on the executor."""
    large = [task for task in tasks if task.n_problems > LARGE]
    small = [task for task in tasks if task.n_problems <= LARGE]
    families: dict[int, Family] = {}
    with progress.task(description, len(tasks)) as running:

        def fit(task: Task) -> Family:
            with progress.hide():
                family = plan.fit(X, task, row_weights)
            running.advance()
            return family

        for task in large:
            families[task.parent] = plan.fit(X, task, row_weights, executor)
            running.advance()
        # The largest first, so that no worker is left with one at the end.
        small.sort(key=lambda task: -len(task.rows))
        for task, family in zip(small, executor.map(fit, small), strict=True):
            families[task.parent] = family
    return families


# -------------------------------------------------------------------- being saved


def pack_families(families: dict[int, Family]) -> Arrays:
    """Return all families as a few long arrays."""
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _NAMES}
    for family in families.values():
        parts["children"].append(family.children)
        if family.weights is not None:
            for name, array in family.weights.index._asdict().items():
                parts[name].append(np.diff(array) if name == "indptr" else array)
            parts["intercepts"].append(family.weights.intercepts)
        for name in ("features", "values", "intercepts"):
            if family.weights is None:
                parts[name].append(np.zeros(0, _NAMES[name]))
    arrays = {name: _joined(listed, _NAMES[name]) for name, listed in parts.items()}
    for name in ("children", "features", "values", "intercepts"):
        arrays[f"n_{name}"] = np.array([len(part) for part in parts[name]], np.int64)
    return {name: _small(array) for name, array in {"parents": np.array(list(families), np.int64), **arrays}.items()}


def _small(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the smallest type that holds them: a file of many small families is half as large."""
    if array.dtype.kind != "i" or not len(array):
        return array
    return array.astype(np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


_NAMES: dict[str, Any] = {
    "children": np.int64,
    "features": np.int32,
    "indptr": np.int64,
    "classes": np.int32,
    "values": np.float32,
    "intercepts": np.float32,
}


def _joined(parts: list[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype, copy=False)


def unpack_families(arrays: Arrays, parent_of: Ids, n_features: int) -> dict[int, Family]:
    """Restore what `pack_families` gave, checking that everything fits a tree given by its parents."""
    arrays = {name: array if name in ("values", "intercepts") else unpack_ids(array) for name, array in arrays.items()}
    parents = arrays["parents"].tolist()
    children = _split(arrays["children"], arrays["n_children"], len(parents))
    features = _split(arrays["features"], arrays["n_features"], len(parents))
    lengths = _split(arrays["indptr"], arrays["n_features"], len(parents))
    classes = _split(arrays["classes"], arrays["n_values"], len(parents))
    values = _split(arrays["values"], arrays["n_values"], len(parents))
    intercepts = _split(arrays["intercepts"], arrays["n_intercepts"], len(parents))
    if len(set(parents)) != len(parents):
        raise ModelFormatError("It has the children of a node twice.")
    families = {}
    for k, parent in enumerate(parents):
        check_children(parent, children[k], parent_of)
        n_problems, n_children = len(intercepts[k]), len(children[k])
        if n_problems != n_children and (n_problems, n_children) not in ((0, 1), (1, 2)):
            raise ModelFormatError(f"Node {parent} has {n_children} children and {n_problems} classifiers.")
        if np.any((lengths[k] < 0) | (lengths[k] > len(values[k]))):  # before the sum, which could wrap
            raise ModelFormatError(f"What it keeps of the children of node {parent} does not fit.")
        index = {
            "features": features[k],
            "indptr": np.concatenate([[0], np.cumsum(lengths[k])]),
            "classes": classes[k],
            "values": values[k],
        }
        weights = SparseWeights.from_lists(index, intercepts[k], n_features)
        families[parent] = Family(children[k], weights if n_problems else None)
    return families


def check_children(parent: int, children: Ids, parent_of: Ids) -> None:
    """Refuse what are not different children of their parent."""
    n_nodes = len(parent_of)
    if not -1 <= parent < n_nodes or np.any((children < 0) | (children >= n_nodes)):
        raise ModelFormatError("Its families are not nodes of its taxonomy.")
    if not len(children) or np.any(parent_of[children] != parent) or len(np.unique(children)) < len(children):
        raise ModelFormatError(f"What it keeps of the children of node {parent} does not fit.")


def _split(array: npt.NDArray[Any], lengths: npt.NDArray[Any], n_parts: int) -> list[npt.NDArray[Any]]:
    wrong = np.any((lengths < 0) | (lengths > len(array)))  # before the sum, which could wrap
    if array.ndim != 1 or lengths.shape != (n_parts,) or wrong or lengths.sum() != len(array):
        raise ModelFormatError("Its families do not fit together.")
    return np.split(array, np.cumsum(lengths)[:-1]) if n_parts else []
