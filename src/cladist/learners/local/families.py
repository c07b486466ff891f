"""Families: the children of one node, separated by classifiers over the rows that reach the node.

`TopDown` and `NodewiseSVM` consist of these. Each family sees only its own rows and the features that occur in them,
so that a taxonomy of many small families costs no more than its rows on each level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import checkpoints, progress
from cladist.errors import ModelFormatError
from cladist.execution import Executor
from cladist.kernels.lanes import WIDTH
from cladist.learners.base import random_generator, take_rows
from cladist.learners.local.linear_choice import LinearChoice
from cladist.linear_model.sparse import SparseWeights, WeightLists
from cladist.persistence.model_schema import OLD_NODE
from cladist.solvers import OneVsRest, Settings, TrainingRows, solve_one_vs_rest
from cladist.solvers.problem import Members
from cladist.storage.array_groups import Arrays, check_arrays, group, prefixed, unpack_ids, unpack_matrix
from cladist.taxonomy import Taxonomy

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
        """Return the score of every child for some rows of a CSR matrix, or of `MixedRows`."""
        if self.weights is None:
            return np.zeros((len(rows), len(self.children)), np.float32)
        scores = self.weights.scores_of_rows(X, rows)
        if scores.shape[1] < len(self.children):  # the sign of one decides between two
            return np.hstack([-scores / 2, scores / 2])
        return scores

    def choices(self, X: Any, rows: Ids, scores: Any = None) -> Ids:
        """Return which child, by position, has the highest score; `scores` if they are known."""
        return (self.scores(X, rows) if scores is None else scores).argmax(axis=1)

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
    """A choice made by a scikit-learn classifier.

    Its classes are the last parts of the children's paths, and sorted: `children` are in their order. In models saved
    by earlier versions they are the children's ids.
    """

    children: Ids
    estimator: Any

    has_choice: ClassVar[bool] = True

    def scores(self, X: Any, rows: Ids) -> npt.NDArray[Any]:
        """Return one score per child from whatever the classifier offers."""
        part, estimator = take_rows(X, rows), self.estimator
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

    def probabilities(self, X: Any) -> npt.NDArray[Any]:
        """Return the probability of every child for all rows."""
        return np.asarray(self.estimator.predict_proba(X), dtype=np.float64)

    def choices(self, X: Any, rows: Ids, scores: Any = None) -> Ids:
        """Return the child that the classifier predicts, by position; it need not have the highest score."""
        return np.searchsorted(self.estimator.classes_, self.estimator.predict(take_rows(X, rows)))

    def fit_summary(self) -> dict[str, float]:
        """Return what the attributes of the classifier tell."""
        summary: dict[str, float] = {"converged": bool(getattr(self.estimator, "converged_", True))}
        if getattr(self.estimator, "n_iter_", None) is not None:
            summary["passes"] = int(np.max(self.estimator.n_iter_))
        if hasattr(self.estimator, "objective_"):
            summary["objective"] = float(self.estimator.objective_)
        return summary


Choice = Family | Decision


def linear(choice: Choice) -> Family | LinearChoice:
    """Return a choice by its weights; refuse a classifier that has none."""
    if isinstance(choice, Family):
        return choice
    return LinearChoice.of_classes(choice.children, choice.estimator, np.arange(len(choice.children)))


def weights_of_nodes(
    families: Iterable[Any], n_nodes: int, n_features: int
) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
    """Return the weights (nodes × features, CSR) and intercepts of all nodes; those without a classifier have none."""
    parts = [sparse.csr_array((0, n_features), dtype=np.float32)]
    nodes, intercepts = [np.zeros(0, np.int64)], np.zeros(n_nodes, np.float32)
    for family in families:
        if family.has_choice:
            vectors, intercepts[family.children] = family.vectors(np.arange(len(family.children)))
            parts.append(vectors)
            nodes.append(family.children)
    stacked, node_of_row = sparse.vstack(parts, format="csr"), np.concatenate(nodes)
    ones = np.ones(len(node_of_row), np.float32)
    place = sparse.csr_array((ones, (node_of_row, np.arange(len(node_of_row)))), shape=(n_nodes, len(node_of_row)))
    return sparse.csr_array(place @ stacked), intercepts


@dataclass(frozen=True)
class FamilyProblem:
    """The training set of a family.

    `members` are the positive rows of each problem, as (indptr, positions in `rows`): one problem per child, or with
    two children that exclude each other one in all, of the second.
    """

    parent: int  # −1 for the virtual root of a forest
    rows: Ids
    children: Ids  # what the classifiers separate
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
    settings = Settings(model.tol, model.max_iter, seed, model.solver)
    # Tasks move to other processes without the model, whose executor may be bound to this one.
    loss, constant, prune = model.loss, model.fit_intercept, float(model.prune)

    def fit(problem: FamilyProblem, inner: Executor | None = None) -> Family:
        rows = TrainingRows.from_matrix(X, constant=constant, chosen=problem.rows)
        weights = None if row_weights is None else row_weights[problem.rows]
        costs = np.full((2, problem.n_problems), C)
        one_vs_rest = OneVsRest(rows, problem.members, loss, costs, weights)
        solution = solve_one_vs_rest(one_vs_rest, settings, executor=inner, form="sparse", prune=prune)
        return Family(problem.children, solution.weights, solution.history)

    families: dict[int, Family] = {}
    with progress.task(who, len(problems), unit="nodes") as running:

        def fit_small(problem: FamilyProblem) -> Family:
            with progress.hide():
                return fit(problem)

        for problem in problems:
            if problem.n_problems > LARGE:
                families[problem.parent] = fit(problem, executor)
                running.advance()
        # The largest first, so that no worker is left with one at the end.
        small = [problem for problem in problems if problem.n_problems <= LARGE]
        small.sort(key=lambda problem: -len(problem.rows))
        fitted = checkpoints.scope("families").map(executor, fit_small, small, pack=_pack_family, unpack=_unpack_family)
        for problem, family in zip(small, fitted, strict=True):
            families[problem.parent] = family
            running.advance()
    return families


def _pack_family(family: Family) -> Any:
    if family.weights is None:
        return family.children, None, family.history
    return (
        family.children,
        (*family.weights.index, family.weights.intercepts, family.weights.n_features),
        family.history,
    )


def _unpack_family(packed: Any) -> Family:
    children, lists, history = packed
    if lists is None:
        return Family(children, None, history)
    *index, intercepts, n_features = lists
    return Family(children, SparseWeights(WeightLists(*index), intercepts, n_features), history)


# The arrays of a family and their types in a file, and which of them tells how many entries a family has.
_DTYPES: dict[str, Any] = {
    "children": np.int64,
    "features": np.int32,
    "indptr": np.int64,
    "classes": np.int32,
    "values": np.float32,
    "intercepts": np.float32,
}
_COUNTED_BY = {name: name for name in _DTYPES} | {"indptr": "features", "classes": "values"}


def pack_families(families: dict[int, Family]) -> Arrays:
    """Return all families as a few long arrays."""
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [np.zeros(0, dtype)] for name, dtype in _DTYPES.items()}
    for family in families.values():
        arrays: dict[str, Any] = {"children": family.children}
        if family.weights is not None:
            index = family.weights.index._asdict()
            arrays |= {**index, "indptr": np.diff(index["indptr"]), "intercepts": family.weights.intercepts}
        for name, dtype in _DTYPES.items():
            parts[name].append(arrays.get(name, np.zeros(0, dtype)))
    packed = {"parents": np.array(list(families), np.int64)}
    packed |= {name: np.concatenate(parts[name]).astype(dtype, copy=False) for name, dtype in _DTYPES.items()}
    for name in dict.fromkeys(_COUNTED_BY.values()):
        packed[f"n_{name}"] = np.array([len(part) for part in parts[name][1:]], np.int64)
    return {name: _shrink(array) for name, array in packed.items()}


def _shrink(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the smallest type that holds them: a file of many small families is half as large."""
    if array.dtype.kind != "i" or not len(array):
        return array
    return array.astype(np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


def unpack_families(arrays: Arrays, parent_of: Ids, n_features: int) -> dict[int, Family]:
    """Restore what `pack_families` returned, checked to fit a tree given by its parents."""
    arrays = {name: array if name in ("values", "intercepts") else unpack_ids(array) for name, array in arrays.items()}
    parents = arrays["parents"].tolist()
    parts = {name: _split(arrays[name], arrays[f"n_{count}"], len(parents)) for name, count in _COUNTED_BY.items()}
    if len(set(parents)) != len(parents):
        raise ModelFormatError("It has the children of a node twice.")
    families = {}
    for k, parent in enumerate(parents):
        lists = {name: part[k] for name, part in parts.items()}
        children, intercepts, lengths = lists.pop("children"), lists.pop("intercepts"), lists["indptr"]
        _check_children(parent, children, parent_of)
        n_problems, n_children = len(intercepts), len(children)
        if n_problems != n_children and (n_problems, n_children) not in ((0, 1), (1, 2)):
            raise ModelFormatError(f"Node {parent} has {n_children} children and {n_problems} classifiers.")
        if np.any((lengths < 0) | (lengths > len(lists["values"]))):  # before the sum, which could wrap
            raise ModelFormatError(f"What it keeps of the children of node {parent} does not fit.")
        index = {**lists, "indptr": np.concatenate([[0], np.cumsum(lengths)])}
        weights = SparseWeights.from_lists(index, intercepts, n_features)
        families[parent] = Family(children, weights if n_problems else None)
    return families


def _check_children(parent: int, children: Ids, parent_of: Ids) -> None:
    """Refuse nodes that are not different children of their parent."""
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


def pack_decisions(decisions: Mapping[int, Choice]) -> tuple[dict[str, Any], Arrays]:
    """Return the plain values of each estimator, and the arrays of all choices."""
    from cladist.persistence.models import pack_learner

    families = {v: decision for v, decision in decisions.items() if isinstance(decision, Family)}
    arrays = prefixed("families", pack_families(families))
    estimators: dict[str, Any] = {}
    for v, decision in decisions.items():
        if isinstance(decision, Decision):
            arrays[f"{v}/children"] = decision.children
            estimators[str(v)], packed = pack_learner(decision.estimator)
            arrays.update(prefixed(f"{v}/estimator", packed))
    return estimators, arrays


def last_parts(taxonomy: Taxonomy, nodes: Ids) -> npt.NDArray[np.str_]:
    """Return the last parts of the paths to some nodes."""
    return np.array([taxonomy.path_parts(int(v))[-1] for v in nodes], dtype=np.str_)


def unpack_decisions(
    state: dict[str, Any], arrays: Arrays, taxonomy: Taxonomy, ends: Ids, n_features: int
) -> dict[int, Choice]:
    """Restore what `pack_decisions` returned, for a tree in which paths end at these nodes."""
    from cladist.persistence.models import unpack_learner

    parent_of = taxonomy.parent

    is_old = "decisions" in state  # a file of the first versions, which held one estimator per node
    choices: dict[int, Choice] = {}
    if not is_old:
        choices.update(unpack_families(group("families", arrays), parent_of, n_features))
    for v in state["decisions"] if is_old else map(int, state["estimators"]):
        children, packed = unpack_ids(arrays[f"{v}/children"]), state["estimators"].get(str(v))
        inner = group(f"{v}/estimator", arrays)
        if packed is None:
            choices[v] = Family(children)
        elif is_old and packed["class"] == "LinearNode":
            old = group("state", inner)
            check_arrays(old, OLD_NODE, {"n_features": n_features})
            coef = unpack_matrix(group("coef", old), n_features)
            choices[v] = Family(children, SparseWeights.from_matrix(coef, old["intercept"]))
        else:
            choices[v] = Decision(children, unpack_learner(packed, inner))
        _check_children(v, children, parent_of)
    for v, decision in choices.items():
        if isinstance(decision, Decision) and not any(
            np.array_equal(decision.estimator.classes_, classes)
            for classes in (decision.children, last_parts(taxonomy, decision.children))
        ):
            raise ModelFormatError(f"The classifier at node {v} does not choose among its children.")
    reached = np.concatenate([[-1], *(decision.children for decision in choices.values())])
    nodes = np.concatenate([np.fromiter(choices, np.int64, len(choices)), ends])
    if len(np.unique(nodes)) < len(nodes) or not np.array_equal(np.sort(reached), np.sort(nodes)):
        raise ModelFormatError("Its choices do not lead to the nodes that it can predict.")
    return dict(sorted(choices.items()))
