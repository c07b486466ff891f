"""Top-down: a classifier at every inner node, followed from the root to a leaf.

The greedy baseline of Dekel, Keshet & Singer 2004 (with ``estimator=Hieron()``) and TD of Gopal & Yang 2013.
"""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import _check_sample_weight
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.errors import ParameterError, one_of
from cladist.execution import executor_for
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.local.linear_node import LinearNode
from cladist.learners.packing import Arrays, group, prefixed
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Task = tuple[int, Ids, Ids, Ids]  # a node, the rows below it, its children that have rows, each row's child
VIRTUAL_ROOT = -1
LEAST_REGRET = -np.finfo(np.float64).tiny  # so that an equal score still loses to the class predicted


@dataclass(frozen=True)
class Decision:
    """The choice at one node: the children that have examples, and the classifier if there are several."""

    children: Ids
    estimator: Any = None


class TopDown(HierarchicalClassifier):
    """A classifier at every inner node chooses among its children, from the top down to a leaf.

    The classifier at node v learns from the rows whose label lies below v; its classes are v's children. A child
    without rows is never chosen; a node with one child that has rows passes everything on to it.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen, or the paths in y where y has path columns.
    estimator : scikit-learn classifier, optional
        Cloned for every node; `Hieron()` gives the greedy Hieron. None: a linear SVM.
    stop : bool
        Whether inner nodes that carry labels themselves get a class "stop here". Without it the walk always
        goes on to a node below which no label was seen.
    n_jobs : int or None
        Threads that fit nodes side by side. The model does not depend on it, unless the classifiers do: those over
        LIBLINEAR (LinearSVC) share its random numbers between threads and differ by their tolerance.
    executor : Executor, optional
        Runs the nodes instead, see `cladist.execution`.
    decode : {"auto", "single"}
        TopDown predicts one path a row whatever the form of y, so that both mean the same.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels at which a walk can end, in taxonomy order.
    decisions_ : dict of int to Decision
        The choice at each node id; −1 is the virtual root of a forest.
    n_iter_ : int
        The most passes any classifier made, as far as they tell.
    converged_ : bool
        False if a classifier says that it did not converge.
    history_ : list of one dict
        `objective`, the sum over all classifiers (for our own SVM), `nodes` with a classifier, `seconds`.
    walked_ : Taxonomy
        The taxonomy walked: `taxonomy_`, with stop leaves if `stop`.

    Notes
    -----
    Fitting costs what the classifiers cost, each row taking part once a level. Prediction asks one classifier a
    level and row. `decision_function` gives a path the sum, over its nodes, of how far each falls behind the child
    chosen in its stead: 0 for the path predicted, negative for all others.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from cladist import Taxonomy, TopDown
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = TopDown(taxonomy, estimator=LogisticRegression()).fit(X, ["tennis", "chess", "art"])
    >>> model.predict_paths([[2, 2]])
    [['sport', 'chess']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        estimator: Any = None,
        stop: bool = False,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.estimator = estimator
        self.stop = stop
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit a classifier at every node that has a choice.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form, one a row
        sample_weight : array (rows,), optional
            Passed on to the classifiers; an error if they take none.
        """
        started = time.perf_counter()
        self._check_decode(self.decode)
        one_of("TopDown", "stop", self.stop, (False, True))
        if self.estimator is not None and (is_regressor(self.estimator) or not hasattr(self.estimator, "predict")):
            raise ParameterError(f"TopDown: estimator must be a classifier; got {self.estimator!r}.")
        X, labels = self._enter(X, y)
        nodes = labels.nodes("TopDown")
        weights = self._checked_weights(sample_weight, X)
        if weights is not None:  # a row of weight 0 is as good as absent: it must not make its label a class
            X, nodes, weights = X[weights != 0], nodes[weights != 0], weights[weights != 0]
        self.walked_, nodes = self._walked_taxonomy(nodes)
        tasks = _tasks(self.walked_, nodes)
        fitted = self._fit_nodes(X, weights, [task for task in tasks if len(task[2]) > 1])
        fitted.update((task[0], Decision(task[2])) for task in tasks if len(task[2]) == 1)
        self.decisions_ = dict(sorted(fitted.items()))
        self._set_classes(self._ends(nodes))
        self._remember_fit(time.perf_counter() - started)
        return self

    def _remember_fit(self, seconds: float) -> None:
        """Note what the classifiers tell of themselves: their passes, objectives and whether they converged."""
        inner = [decision.estimator for decision in self.decisions_.values() if decision.estimator is not None]
        passes = [int(np.max(e.n_iter_)) for e in inner if getattr(e, "n_iter_", None) is not None]
        self.n_iter_ = max(passes, default=1)
        self.converged_ = all(bool(getattr(e, "converged_", True)) for e in inner)
        entry: dict[str, float] = {"seconds": seconds, "nodes": len(inner)}
        if all(hasattr(e, "objective_") for e in inner):
            entry = {"objective": float(sum(e.objective_ for e in inner)), **entry}
        self.history_ = [entry]

    def _fit_nodes(self, X: Any, weights: Any, tasks: list[Task]) -> dict[int, Decision]:
        """Fit the classifiers of all nodes that have a choice."""
        # A node's vectors are short: threads inside BLAS would mostly wait for each other, on a busy machine 25 times
        # longer than the work takes. `n_jobs` is the way to use several cores.
        with (
            progress.shown(self.verbose),
            progress.task("TopDown", len(tasks)) as running,
            threadpool_limits(1, user_api="blas"),
        ):

            def fit_node(task: Task) -> Decision:
                _, rows, children, targets = task
                options = {} if weights is None else {"sample_weight": weights[rows]}
                decision = Decision(children, self._new_estimator().fit(X[rows], targets, **options))
                running.advance()
                return decision

            done = executor_for(self.n_jobs, self.executor).map(fit_node, tasks)
            return {task[0]: decision for task, decision in zip(tasks, done, strict=True)}

    def _new_estimator(self) -> Any:
        return LinearNode() if self.estimator is None else clone(self.estimator)

    def _checked_weights(self, sample_weight: Any, X: Any) -> npt.NDArray[Any] | None:
        if sample_weight is None:
            return None
        if "sample_weight" not in inspect.signature(self._new_estimator().fit).parameters:
            name = type(self.estimator).__name__
            raise ParameterError(f"TopDown: {name} takes no sample_weight; leave it out or choose another classifier.")
        weights = np.asarray(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
        if not weights.any():
            raise ParameterError("TopDown: all sample weights are 0, so there is nothing to learn from.")
        return weights

    def _walked_taxonomy(self, nodes: Ids) -> tuple[Taxonomy, Ids]:
        """Return the taxonomy to walk and each row's node in it."""
        if not self.stop:
            return self.taxonomy_, nodes
        names = self.taxonomy_.names
        carrying = np.unique(nodes)
        walked = self.taxonomy_.with_stop_leaves(names[v] for v in carrying)
        stop_of = {inner: stop for stop, inner in walked.stop_leaves.items()}
        place = {int(v): walked.index(stop_of.get(names[v], names[v])) for v in carrying}
        return walked, np.array([place[int(v)] for v in nodes], dtype=np.int64)

    def _ends(self, nodes: Ids) -> Ids:
        """Return the labels at which a walk can end: nodes with rows, and no rows below."""
        reached = np.unique(LabelMatrix.from_nodes(nodes, self.walked_).indices)
        ends = np.array([v for v in reached if int(v) not in self.decisions_], dtype=np.int64)
        labels = np.array([self._label_of(int(v)) for v in ends], dtype=np.int64)
        order = np.argsort(labels)
        self.end_nodes_ = ends[order]
        return labels[order]

    def _label_of(self, v: int) -> int:
        """Return the id in `taxonomy_` of a node walked; a stop leaf stands for its parent."""
        name = self.walked_.names[v]
        return self.taxonomy_.index(self.walked_.stop_leaves.get(name, name))

    # ---------------------------------------------------------------- answering

    def _predict_nodes(self, X: Any) -> Ids:
        here = np.full(X.shape[0], VIRTUAL_ROOT, np.int64)
        # Decisions are in topological order, so every row has arrived at a node before its turn comes.
        for v, decision in self.decisions_.items():
            rows = np.flatnonzero(here == v)
            if len(rows):
                here[rows] = decision.children[self._choices(decision, X[rows])]
        label_of = np.full(self.walked_.n_nodes, -1, np.int64)
        label_of[self.end_nodes_] = self.class_nodes_
        return label_of[here]

    def _choices(self, decision: Decision, X: Any) -> Ids:
        """Return which child, by position, each row goes to."""
        if decision.estimator is None:
            return np.zeros(X.shape[0], np.int64)
        return np.searchsorted(decision.children, decision.estimator.predict(X))

    def _class_scores(self, X: Any) -> npt.NDArray[Any]:
        regrets = np.full((X.shape[0], self.walked_.n_nodes), -np.inf)
        for decision in self.decisions_.values():
            regrets[:, decision.children] = self._regrets(decision, X)
        tree.add_along_paths(regrets, self.walked_.parent)
        return regrets[:, self.end_nodes_]

    def _regrets(self, decision: Decision, X: Any) -> npt.NDArray[Any]:
        """Return how far each child's score falls behind that of the child chosen, which gets 0."""
        if decision.estimator is None:
            return np.zeros((X.shape[0], 1))
        chosen = self._choices(decision, X)[:, None]
        scores = _local_scores(decision.estimator, X)
        regrets = np.minimum(scores - np.take_along_axis(scores, chosen, axis=1), LEAST_REGRET)
        np.put_along_axis(regrets, chosen, 0.0, axis=1)
        return regrets

    # ---------------------------------------------------------------- being saved

    def _pack_state(self) -> tuple[dict[str, Any], Arrays]:
        from cladist.learners.persistence import pack_learner

        arrays: Arrays = {"end_nodes": self.end_nodes_}
        estimators: dict[str, Any] = {}
        for v, decision in self.decisions_.items():
            arrays[f"{v}/children"] = decision.children
            if decision.estimator is not None:
                estimators[str(v)], packed = pack_learner(decision.estimator)
                arrays.update(prefixed(f"{v}/estimator", packed))
        state = {
            "stops": list(self.walked_.stop_leaves.values()),
            "decisions": list(self.decisions_),
            "estimators": estimators,
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
        }
        return state, arrays

    def _unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        from cladist.learners.persistence import unpack_learner

        self.walked_ = self.taxonomy_.with_stop_leaves(state["stops"]) if state["stops"] else self.taxonomy_
        self.end_nodes_ = arrays["end_nodes"]
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self.decisions_ = {}
        for v in state["decisions"]:
            packed = state["estimators"].get(str(v))
            inner = None if packed is None else unpack_learner(packed, group(f"{v}/estimator", arrays))
            self.decisions_[v] = Decision(arrays[f"{v}/children"], inner)


def _tasks(taxonomy: Taxonomy, nodes: Ids) -> list[Task]:
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
        tasks.append((int(parents[first]), rows[first:last], np.unique(targets), targets))
    return tasks


def _local_scores(estimator: Any, X: Any) -> npt.NDArray[Any]:
    """Return one score a class from whatever the classifier offers; higher is better."""
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            return np.column_stack([-scores / 2, scores / 2])
        if scores.shape[1] == len(estimator.classes_):
            return scores
    if hasattr(estimator, "predict_proba"):
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(estimator.predict_proba(X)), np.log(np.finfo(np.float64).tiny))
    return (np.asarray(estimator.predict(X))[:, None] == estimator.classes_[None, :]).astype(np.float64)
