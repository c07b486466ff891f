"""The choice among the children of a node: what it is learnt from, and the classifier that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cladist.labels import LabelMatrix
from cladist.learners.local.families import Task
from cladist.solvers import members_by_class
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]


class Choosing(Protocol):
    """Whatever chooses among children."""

    @property
    def children(self) -> Ids:
        """The children that can be chosen, as node ids."""

    @property
    def has_choice(self) -> bool:
        """Whether there are several."""

    def scores(self, X: Any, listed: Ids) -> npt.NDArray[Any]:
        """Return a score for every child, of the rows listed; higher is better."""

    def choices(self, X: Any, listed: Ids) -> Ids:
        """Return which child, by position, each of the rows listed goes to."""

    def scored(self, X: Any, listed: Ids) -> tuple[npt.NDArray[Any], Ids]:
        """Return both."""

    def told(self) -> dict[str, float]:
        """Return what is known of the fit: `objective`, `gap`, `passes`, `converged`."""


@dataclass(frozen=True)
class Decision:
    """A choice made by a scikit-learn classifier, whose classes are the children's ids."""

    children: Ids
    estimator: Any

    @property
    def has_choice(self) -> bool:
        """Whether there are several children."""
        return True

    def scores(self, X: Any, listed: Ids) -> npt.NDArray[Any]:
        """Return one score a child from whatever the classifier offers."""
        rows, estimator = X[listed], self.estimator
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(rows), dtype=np.float64)
            if scores.ndim == 1:
                return np.column_stack([-scores / 2, scores / 2])
            if scores.shape[1] == len(estimator.classes_):
                return scores
        if hasattr(estimator, "predict_proba"):
            with np.errstate(divide="ignore"):
                return np.maximum(np.log(estimator.predict_proba(rows)), np.log(np.finfo(np.float64).tiny))
        return (np.asarray(estimator.predict(rows))[:, None] == estimator.classes_[None, :]).astype(np.float64)

    def choices(self, X: Any, listed: Ids) -> Ids:
        """Return which child, by position, the classifier predicts."""
        return np.searchsorted(self.children, self.estimator.predict(X[listed]))

    def scored(self, X: Any, listed: Ids) -> tuple[npt.NDArray[Any], Ids]:
        """Return `scores` and `choices`; the classifier's own prediction need not be the highest score."""
        return self.scores(X, listed), self.choices(X, listed)

    def told(self) -> dict[str, float]:
        """Return what the classifier's attributes say."""
        found: dict[str, float] = {"converged": bool(getattr(self.estimator, "converged_", True))}
        if getattr(self.estimator, "n_iter_", None) is not None:
            found["passes"] = int(np.max(self.estimator.n_iter_))
        if hasattr(self.estimator, "objective_"):
            found["objective"] = float(self.estimator.objective_)
        return found


@dataclass(frozen=True)
class NodeTask:
    """A node, the rows below it, its children that have rows, and each row's child."""

    node: int
    rows: Ids
    children: Ids
    targets: Ids

    def family(self) -> Task:
        """Return the problems of a linear SVM: one a child, or of two children one, whose sign decides."""
        starts, members = members_by_class(np.searchsorted(self.children, self.targets), len(self.children))
        if len(self.children) == 2:
            starts, members = starts[1:] - starts[1], members[starts[1] :]
        return Task(self.node, self.rows, self.children, (starts, members))


def node_tasks(taxonomy: Taxonomy, nodes: Ids) -> list[NodeTask]:
    """Return the task of every node with rows below it.

    One sort of all (row, node on its path) pairs by parent; O(n · depth · log).
    """
    closed = LabelMatrix.from_nodes(nodes, taxonomy)
    rows = np.repeat(np.arange(len(closed)), np.diff(closed.indptr))
    parents = taxonomy.parent[closed.indices]
    order = np.argsort(parents, kind="stable")
    rows, parents, children = rows[order], parents[order], closed.indices[order].astype(np.int64)
    starts = np.flatnonzero(np.diff(parents, prepend=-2))
    tasks = []
    for first, last in zip(starts, [*starts[1:], len(parents)], strict=True):
        targets = children[first:last]
        tasks.append(NodeTask(int(parents[first]), rows[first:last], np.unique(targets), targets))
    return tasks
