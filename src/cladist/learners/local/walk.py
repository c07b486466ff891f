"""`LocalClassifiers`: what `LocalPerNode` and `LocalPerLevel` share: the walk from the roots, and probabilities."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.checkpoints import resumable
from cladist.errors import ModelFormatError, one_of
from cladist.execution import executor_for
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier, take_rows
from cladist.learners.explanation import Explanation, rows_of_numbers
from cladist.learners.flat import FlatLogistic
from cladist.learners.label_warnings import warn_of_lost, without_label_warnings
from cladist.learners.local.choice_explanation import explain_by_leads, explain_by_margins, explained_paths, parents_on
from cladist.learners.local.linear_choice import LinearChoice
from cladist.learners.local.node_estimators import (
    check_estimators,
    check_takes_weights,
    input_tags,
    listed,
    map_fits,
    row_pieces,
    rows_for,
)
from cladist.solvers.problem import with_stops
from cladist.storage.array_groups import Arrays, check_nodes, group, prefixed, unpack_ids
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TINY = np.finfo(np.float64).tiny
PROBABILITIES_OF = ("classes", "all", "levels")
COMBINERS = ("multiply", "geometric", "arithmetic", None)


def _has_probabilities(model: Any) -> bool:
    return bool(model.has_probabilities)


class LocalClassifiers(HierarchicalClassifier):
    """Base of learners with a scikit-learn classifier per node or per level, which are followed from the roots down.

    They write `problems`, which says what to fit, and `local_scores`, the scores of the children of a node.
    """

    packs_estimators: ClassVar[bool] = True  # in a file, fitted classifiers are part of the state

    estimator: Any
    C: float
    tol: float
    combine: str | None
    stop: bool
    n_jobs: int | None
    executor: Any
    verbose: bool | int
    walked_: Taxonomy
    estimators_: dict[int, Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return tags if self.estimator is None else input_tags(tags, self.estimator)

    # ---------------------------------------------------------------- hooks

    def problems(self, labels: LabelMatrix) -> dict[int, tuple[Any, Ids, npt.NDArray[Any]]]:
        """Return, by node or level, the classifier to clone, its rows and their classes."""
        raise NotImplementedError

    def local_scores(self, parent: int, children: Ids, X: Any) -> Floats:
        """Return the probability, or another score from 0 to 1, of each child for all rows."""
        raise NotImplementedError

    @property
    def default(self) -> FlatLogistic:
        """The classifier where `estimator` has none."""
        return FlatLogistic(C=self.C, tol=self.tol)

    # ---------------------------------------------------------------- training

    @resumable
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the classifiers.

        Parameters
        ----------
        X : rows, as the classifiers take them
            Numbers (an array, CSR or a data frame), or what `estimator` takes: NaN, texts, categories.
        y : labels in any form
        sample_weight : array (rows,), optional
            Passed on to the classifiers; an error if they take none.
        """
        started, who = time.perf_counter(), type(self).__name__
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes(who)
        check_takes_weights(who, self.estimator, sample_weight)
        X, labels, weights = self._weighted(X, labels, sample_weight)
        self._fit_all(X, self._extended(labels), weights)
        self.history_ = [{"seconds": time.perf_counter() - started, "classifiers": len(self.estimators_)}]
        self.n_iter_ = max([1, *(int(np.max(getattr(m, "n_iter_", 1))) for m in self.estimators_.values())])
        self.converged_ = all(getattr(model, "converged_", True) for model in self.estimators_.values())
        if not self.decodes_sets:
            warn_of_lost(self, labels, "give stop=True (--param stop=true) to let rows end above other labels")
        return self

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_decode(self.decode)
        one_of(who, "stop", self.stop, (False, True))
        one_of(who, "combine", self.combine, COMBINERS)
        check_estimators(who, self.estimator, ("predict_proba", "decision_function"))
        self.default.check_parameters()

    def _extended(self, labels: LabelMatrix) -> LabelMatrix:
        """Return the labels in `walked_`, the taxonomy with stop leaves if `stop`, and set the classes."""
        self.walked_ = self.taxonomy_
        if self.decodes_sets:
            self.end_nodes_ = np.unique(labels.indices).astype(np.int64)
            self.set_classes(self.end_nodes_)
            return labels
        nodes = labels.nodes(type(self).__name__)
        if self.stop:
            stops, which = np.unique(nodes, return_inverse=True)
            self.walked_, places = with_stops(self.taxonomy_, stops)
            nodes = places[which]
        labels = LabelMatrix.from_nodes(nodes, self.walked_)
        reached = np.unique(labels.indices)
        ends = np.setdiff1d(reached, self.walked_.parent[reached])
        names = (self.walked_.names[v] for v in ends)
        inner_of = self.walked_.stop_leaves  # a stop leaf stands for its parent
        labels_at = np.array([self.taxonomy_.index(inner_of.get(name, name)) for name in names], np.int64)
        order = np.argsort(labels_at)
        self.end_nodes_ = ends[order].astype(np.int64)
        self.set_classes(labels_at[order])
        return labels

    def _fit_all(self, X: Any, labels: LabelMatrix, weights: Any) -> None:
        self.children_ = _children(labels)
        problems = self.problems(labels)
        with progress.show_lines(self.verbose), progress.task(type(self).__name__, len(problems)) as running:

            def fit(problem: tuple[Any, Ids, npt.NDArray[Any]]) -> Any:
                estimator, rows, classes = problem
                options = {} if weights is None else {"sample_weight": weights[rows]}
                with progress.hide():
                    return clone(estimator).fit(take_rows(X, rows), classes, **options)

            # A classifier of ours at a node has no hierarchy, and names of nodes may look like paths.
            with (
                without_label_warnings(),
                threadpool_limits(1, user_api="blas"),
            ):  # vectors are short; `n_jobs` is the way to use several cores
                models = map_fits(executor_for(self.n_jobs, self.executor), fit, problems.values())
                self.estimators_ = {}
                for node, model in zip(problems, models, strict=True):
                    self.estimators_[node] = model
                    running.advance()

    # ---------------------------------------------------------------- rows

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        if self.estimator is None:
            return super()._checked_rows(X, reset=reset)
        return rows_for(self, self.estimator, X, reset=reset)

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        return (
            row_pieces(X, self.walked_.n_nodes) if hasattr(self, "walked_") else super()._chunks(X, at_least=at_least)
        )

    # ---------------------------------------------------------------- prediction

    def predict_nodes(self, X: Any) -> Ids:
        """Return the node at which each row's walk from the roots ends: at each node the child of highest score."""
        parts = [self._walk(part) for part in self._chunks(X)]
        label_of = np.full(self.walked_.n_nodes, -1, np.int64)
        label_of[self.end_nodes_] = self.class_nodes_
        return label_of[np.concatenate([np.zeros(0, np.int64), *parts])]

    def _walk(self, X: Any) -> Ids:
        here = np.full(len(X) if isinstance(X, list) else X.shape[0], -1, np.int64)
        for parent, children in self.children_.items():  # parents before their children
            rows = np.flatnonzero(here == parent)
            if not len(rows):
                continue
            if len(children) == 1:
                here[rows] = children[0]
            else:
                here[rows] = children[self.local_scores(parent, children, take_rows(X, rows)).argmax(axis=1)]
        return here

    def class_scores(self, X: Any) -> Floats:
        """Return, summed along the path to each class, how far the logarithm of each score falls behind the best.

        For sets, the lowest score on the path, minus a half.
        """
        scores = self._node_scores(X)
        if self.decodes_sets:
            for v, parent in enumerate(self.walked_.parent):
                if parent >= 0:
                    scores[:, v] = np.minimum(scores[:, v], scores[:, parent])
            return scores[:, self.end_nodes_] - 0.5
        logs = np.full(scores.shape, -np.inf)
        for children in self.children_.values():
            part = np.log(np.maximum(scores[:, children], TINY))
            best = part.argmax(axis=1)[:, None]
            regrets = np.minimum(part - np.take_along_axis(part, best, axis=1), -TINY)
            np.put_along_axis(regrets, best, 0.0, axis=1)
            logs[:, children] = regrets
        tree.add_along_paths(logs, self.walked_.parent)
        return logs[:, self.end_nodes_]

    def _node_scores(self, X: Any) -> Floats:
        """Return the score of every node that has rows, given its parent; 0 of all others."""
        scores = np.zeros((X.shape[0], self.walked_.n_nodes))
        for parent, children in self.children_.items():
            scores[:, children] = self.local_scores(parent, children, X)
        return scores

    @property
    def has_probabilities(self) -> bool:
        """Whether all classifiers have `predict_proba`."""
        models = getattr(self, "estimators_", {}).values() or listed(self.estimator)
        return all(hasattr(model, "predict_proba") for model in models)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, nodes: str = "classes") -> Any:
        """Return the probability of every class.

        Parameters
        ----------
        X : rows, as the classifiers take them
        nodes : {"classes", "all", "levels"}
            Whether columns follow `classes_` or `taxonomy_.names`; a node has the probability of all classes at and
            below it. "levels": a list of one array per level, whose columns are the nodes of that level, as HiClass
            returns them.

        Returns
        -------
        array (rows × classes or nodes), or list of arrays
            The probabilities of siblings are divided by their sum, combined along paths by `combine`, and divided by
            their sum over all classes; with "levels", each sum is over a level. For sets of labels, products along
            paths. The class of highest probability need not be the one predicted, at which the walk ends.
        """
        rows = self._fitted_rows(X)
        one_of(type(self).__name__, "nodes", nodes, PROBABILITIES_OF)
        parts = [self._node_scores(part) for part in self._chunks(rows)]
        scores = np.concatenate([np.zeros((0, self.walked_.n_nodes)), *parts])
        if self.decodes_sets:
            for v in np.flatnonzero(self.walked_.parent >= 0):
                scores[:, v] *= scores[:, self.walked_.parent[v]]
            return scores if nodes == "all" else scores[:, self.end_nodes_]
        return combine_scores(self, scores, self.children_, nodes)

    def linear_choice(self, children: Ids) -> LinearChoice:
        """Return the weights by which children are chosen; refuse classifiers that are not linear."""
        raise NotImplementedError

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature, along the path of a label, to its lead over its siblings.

        For linear classifiers. At each node of the path, contributions sum to how far the score of its classifier, such
        as the log odds of `LogisticRegression`, is above the highest of its siblings'. `score` is the sum of the
        negative ones: 0 for the label predicted. It falls behind in the order of `decision_function`, which compares
        logarithms of probabilities. For sets of labels, contributions sum to the log odds of each node, and `score` is
        the lowest of them: a label is predicted if it is at least 0.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain for every row; the predicted one by default.
        """
        rows = self._fitted_rows(X)
        labels, paths = explained_paths(self, rows, nodes)
        families = {v: self.linear_choice(self.children_[v]) for v in parents_on(paths, self.walked_.parent)}
        if not self.decodes_sets:
            return explain_by_leads(self, rows_of_numbers(rows), families, self.walked_, labels, paths)
        return explain_by_margins(self, rows_of_numbers(rows), families, labels, paths)

    # ---------------------------------------------------------------- saving and loading

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        from cladist.persistence.models import pack_learner

        packed, arrays = {}, {"end_nodes": self.end_nodes_}
        for key, model in self.estimators_.items():
            packed[str(key)], own = pack_learner(model)
            arrays.update(prefixed(f"{key}/estimator", own))
        children = list(self.children_.values())
        arrays["children"] = np.concatenate([np.zeros(0, np.int64), *children])
        state = {
            "stops": list(self.walked_.stop_leaves.values()),
            "estimators": packed,
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "decisions": sorted(self.estimators_) if self.estimator is not None else [],
        }
        return state, arrays

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        from cladist.persistence.models import unpack_learner

        self.walked_ = self.taxonomy_.with_stop_leaves(state["stops"]) if state["stops"] else self.taxonomy_
        self.end_nodes_, children = unpack_ids(arrays["end_nodes"]), unpack_ids(arrays["children"])
        check_nodes(self.end_nodes_, self.walked_.n_nodes, len(self.class_nodes_))
        check_nodes(children, self.walked_.n_nodes)
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self.children_ = _grouped(children, self.walked_)
        self.estimators_ = {
            int(key): unpack_learner(packed, group(f"{key}/estimator", arrays))
            for key, packed in state["estimators"].items()
        }
        if state["decisions"]:
            self.estimator = self._estimators_by_key()
        reached = np.concatenate([np.zeros(0, np.int64), *self.children_.values()])
        if len(np.unique(reached)) < len(reached) or not np.all(np.isin(self.end_nodes_, reached)):
            raise ModelFormatError("Its choices do not lead to the nodes that it can predict.")

    def _estimators_by_key(self) -> Mapping[Any, Any]:
        """Return the parameter `estimator` that fits the classifiers of a loaded model."""
        raise NotImplementedError


def _children(labels: LabelMatrix) -> dict[int, Ids]:
    """Return the children with rows of each node with rows, parents first; −1 has the roots."""
    return _grouped(np.unique(labels.indices).astype(np.int64), labels.taxonomy)


def _grouped(nodes: Ids, taxonomy: Taxonomy) -> dict[int, Ids]:
    parents = taxonomy.parent[nodes]
    order = np.argsort(parents, kind="stable")
    starts = np.flatnonzero(np.diff(parents[order], prepend=-2))
    return {int(parents[part[0]]): nodes[part] for part in np.split(order, starts[1:]) if len(part)}


def combine_scores(model: Any, scores: Floats, children: Mapping[int, Ids], nodes: str) -> Any:
    """Return probabilities of classes, nodes or levels from those of nodes given their parents (rows × `walked_`)."""
    walked, parent = model.walked_, model.walked_.parent
    levels = [np.flatnonzero(walked.depth == k) for k in range(int(walked.depth.max()) + 1)]
    _normalise(scores, levels if nodes == "levels" else list(children.values()))
    reached = np.zeros(walked.n_nodes, bool)
    reached[np.concatenate(list(children.values()))] = True
    if model.combine is not None:
        is_mean = model.combine == "arithmetic"
        sums = scores if is_mean else np.log(np.maximum(scores, TINY))
        for v in np.flatnonzero(parent >= 0):
            sums[:, v] += sums[:, parent[v]]
        if model.combine != "multiply":
            sums /= walked.depth + 1
        scores = np.where(reached, sums if is_mean else np.exp(sums), 0.0)
    if nodes == "levels":
        return [_normalise(scores[:, level], [np.arange(len(level))]) for level in levels]
    of_classes = _normalise(scores[:, model.end_nodes_], [np.arange(len(model.end_nodes_))])
    if nodes == "classes":
        return of_classes
    return of_classes @ LabelMatrix.from_nodes(model.class_nodes_, model.taxonomy_).to_indicator()


def _normalise(scores: Floats, groups: list[Ids]) -> Floats:
    """Divide scores by their sums over each group of columns, in place; where the sum is 0, all become equal."""
    for columns in groups:
        part = scores[:, columns]
        total = part.sum(axis=1, keepdims=True)
        scores[:, columns] = np.divide(part, total, out=np.full_like(part, 1 / max(1, len(columns))), where=total > 0)
    return scores
