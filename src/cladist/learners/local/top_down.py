"""Top-down classification: a classifier at every inner node, followed from the root to a leaf.

The greedy baseline of Dekel, Keshet & Singer 2004 (with ``estimator=Hieron()``) and TD of Gopal & Yang 2013.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.checkpoints import resumable
from cladist.errors import ParameterError, one_of
from cladist.execution import executor_for
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier, take_rows
from cladist.learners.candidate_sets import fit_candidates
from cladist.learners.explanation import Explanation, rows_of_numbers
from cladist.learners.label_losses import path_losses
from cladist.learners.label_text import add_label_text, check_label_text, pack_label_text, unpack_label_text
from cladist.learners.label_warnings import warn_of_lost
from cladist.learners.linear_classifier import check_linear, check_values, warn_of_gap
from cladist.learners.local.choice_explanation import explain_by_leads, explained_paths, parents_on
from cladist.learners.local.families import (
    LOSSES,
    Choice,
    Decision,
    Family,
    FamilyProblem,
    fit_families,
    last_parts,
    linear,
    pack_decisions,
    unpack_decisions,
    weights_of_nodes,
)
from cladist.learners.local.node_estimators import (
    check_estimators,
    check_takes_weights,
    estimator_at,
    input_tags,
    listed,
    map_fits,
    row_pieces,
    rows_for,
)
from cladist.learners.local.walk import COMBINERS, PROBABILITIES_OF, combine_scores
from cladist.learners.select_c import choose_C, pack_choice, unpack_choice
from cladist.linear_model.dense_columns import read_rows
from cladist.mixed_rows import csr_if_mixed
from cladist.solvers.problem import members_by_class, with_stops
from cladist.storage.array_groups import Arrays, check_nodes, unpack_ids
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
VIRTUAL_ROOT = -1
LEAST_REGRET = -np.finfo(np.float64).tiny  # an equal score still loses to the class predicted


def _has_weights(model: Any) -> bool:
    """Tell whether a model has weights; raise an AttributeError that says why not."""
    if model.estimator is not None:
        raise AttributeError(
            "TopDown has weights only with its own classifiers; a classifier given as `estimator` keeps its own in "
            "`decisions_`."
        )
    return True


def _has_probabilities(model: Any) -> bool:
    """Tell whether all classifiers have probabilities; raise an AttributeError that says which have."""
    if not all(hasattr(estimator, "predict_proba") for estimator in listed(model.estimator) or [None]):
        raise AttributeError(
            "TopDown has predict_proba only if `estimator` has, such as LogisticRegression(); CalibratedClassifier "
            "gives probabilities to all methods."
        )
    return True


def _name(taxonomy: Taxonomy, v: int) -> str | None:
    return None if v < 0 else taxonomy.names[v]


@dataclass(eq=False, repr=False)
class TopDown(HierarchicalClassifier):
    """A classifier at every inner node chooses among its children, from the top down to a leaf.

    The classifier f_v at node v is trained on the rows whose label lies below v; its classes are the children of v.
    Prediction starts at the root and follows f_v to a leaf. A child without rows is never chosen; a node with one child
    that has rows passes all rows on to it.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen, or the paths in y where y has path columns.
    estimator : scikit-learn classifier, mapping or None
        Cloned for every node; `Hieron()` gives the greedy Hieron. A mapping has different ones by the name of a node,
        by level (0 for the choice among the roots), and under None for all others. None: our own linear SVM, one child
        against its siblings, to which the parameters from `C` to `random_state` belong.
    combine : {"multiply", "geometric", "arithmetic", None}
        How `predict_proba` combines the probabilities of the nodes on a path, if all classifiers have `predict_proba`:
        their product, geometric or arithmetic mean, or the last one alone.
    C : float or "cv"
        Weight of the losses. "cv": the best power of ten by cross-validation on the training rows.
    scoring : None, str, callable or Loss
        What "cv" maximises: a name ("accuracy", "micro_f1", "average_precision", …), a scorer of (model, X, y), or a
        loss, which is minimised. None: accuracy, for sets average precision.
    budget : float or None
        Seconds after which the search ends with the best value so far, when the fit under way is done.
    loss : {"squared_hinge", "hinge", "logistic"}
        The loss that is minimised.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1.
    prune : float
        Weights up to this size are dropped after training: smaller models, faster and slightly different predictions.
    tol, max_iter : float, int
        Relative duality gap that every classifier reaches, and the most sweeps over a node's rows; if they do not
        suffice, a ConvergenceWarning says so.
    solver : {"auto", "coordinate", "newton"}
        Dual coordinate descent; or Newton's method for smooth losses and an interior point method for the hinge, for
        dense rows of up to some hundred features. "auto": coordinate descent, and Newton steps as soon as it proves to
        cost more than they would, for instance where features have very different scales. All reach the same optimum.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    label_text : None or "rows"
        "rows": the text of each leaf is one more training row of it, at every node above.
    label_weight : float or "auto"
        The weight of that row, other rows having 1. "auto": chosen on rows held out.
    label_features : matrix (nodes × features) or None
        The features of the nodes' texts, in the order of ``taxonomy.names``, made by the transformer that made X; see
        `TextClassifier`, which makes them. Not saved with models.
    empty_leaf : {"skip", "text"}
        Leaves without rows are not predicted, or are known through their text, with `label_text`.
    stop : bool
        Whether inner nodes that are labels of rows get a class "stop here". Without it, prediction always goes on to a
        node below which no label was seen.
    n_jobs, executor : int or None, Executor or None
        Threads, or an executor of `cladist.execution`, that fit nodes in parallel. The model does not depend on it,
        unless the classifiers do: those over LIBLINEAR (LinearSVC) share its random numbers between threads and differ
        by their tolerance.
    decode : {"auto", "single"}
        Both mean the same: TopDown predicts one path per row, whatever the form of y.
    partial_labels : bool
        Whether y has a set of candidates per row, of which one is the label; see `candidate_probabilities_`.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels at which prediction can end, in taxonomy order.
    decisions_ : dict of int to Family or Decision
        The choice at each node id; −1 is the virtual root of a forest.
    C_, cv_results_
        With `C="cv"`, the C chosen and the score of each.
    candidate_probabilities_ : CSR (rows × classes)
        With `partial_labels`, the probability of each candidate of the training rows.
    n_iter_, converged_ : int, bool
        The most passes of any classifier that reports them; False if one reports that it did not converge.
    history_ : list of one dict
        `objective`, the sum over all classifiers (for our own SVM), `nodes` with a classifier, `seconds`.
    coef_, intercept_ : CSR, array
        One row per class, and `node_coef_`, CSR (nodes × features): of our own linear SVM.
    label_weight_, text_leaves_ : float, array
        With `label_text`, the weight used, and the names of the leaves that are known through their text alone.
    walked_ : Taxonomy
        `taxonomy_`, with stop leaves if `stop`.

    Notes
    -----
    Each row takes part in fitting once per level, and prediction evaluates one classifier per level and row.
    `decision_function` is the sum, over the nodes of a path, of how far each falls behind the sibling that is chosen: 0
    for the path predicted, negative for all others.

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

    takes_mixed_rows: ClassVar[bool] = True

    taxonomy: Any = None
    _: KW_ONLY
    estimator: Any = None
    combine: str | None = "multiply"
    C: Any = 1.0
    scoring: Any = None
    budget: float | None = None
    loss: str = "squared_hinge"
    fit_intercept: bool = True
    prune: float = 0.0
    tol: float = 1e-3
    max_iter: int = 1000
    solver: str = "auto"
    random_state: Any = 0
    label_text: str | None = None
    label_weight: Any = "auto"
    label_features: Any = None
    empty_leaf: str = "skip"
    stop: bool = False
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    partial_labels: bool = False
    checkpoint: Any = None
    verbose: bool | int = 0

    @resumable
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit a classifier at every node that has a choice.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form, one per row
        sample_weight : array (rows,), optional
            Passed on to the classifiers; an error if they take none.
        """
        started = time.perf_counter()
        self.check_parameters()
        if self.partial_labels:
            return fit_candidates(self, X, y, sample_weight)
        X, labels = self.validate_fit(X, y)
        labels.nodes("TopDown")
        check_takes_weights("TopDown", self.estimator, sample_weight)
        X, labels, weights = self._weighted(X, labels, sample_weight)
        with progress.show_lines(self.verbose):
            X, labels, weights = add_label_text(self, X, labels, weights)
            C = choose_C(self, X, labels, weights)
            self.walked_, nodes = self.taxonomy_, labels.nodes("TopDown")
            if self.stop:
                stops, which = np.unique(nodes, return_inverse=True)
                self.walked_, places = with_stops(self.taxonomy_, stops)
                nodes = places[which]
            problems = node_problems(self.walked_, nodes)
            decisions = self._fit_choices(X, weights, [p for p in problems if len(p.children) > 1], C)
        decisions.update((p.parent, Family(p.children)) for p in problems if len(p.children) == 1)
        self.decisions_: dict[int, Choice] = dict(sorted(decisions.items()))
        self.set_classes(self._ends(nodes))
        warn_of_lost(self, labels, "give stop=True (--param stop=true) to let rows end above other labels")
        self._keep_history(time.perf_counter() - started)
        return self

    def check_parameters(self) -> None:
        self._check_decode(self.decode)
        one_of("TopDown", "stop", self.stop, (False, True))
        check_linear(self)
        one_of("TopDown", "loss", self.loss, LOSSES)
        one_of("TopDown", "combine", self.combine, COMBINERS)
        check_estimators("TopDown", self.estimator)
        one_of("TopDown", "empty_leaf", self.empty_leaf, ("skip", "text"))
        check_label_text(self, ("rows",))
        if self.label_text is not None:
            check_takes_weights("TopDown", self.estimator, 1.0)
        if self.estimator is not None and isinstance(self.C, str):
            raise ParameterError("TopDown: C='cv' is for our own linear SVM; tune another estimator by GridSearchCV.")

    def _fit_choices(self, X: Any, weights: Any, problems: list[FamilyProblem], C: float) -> dict[int, Choice]:
        """Fit the classifiers of all nodes that have a choice."""
        executor = executor_for(self.n_jobs, self.executor)
        if self.estimator is None:
            return dict(fit_families(self, self._as_read(X), problems, weights, C, executor))
        taxonomy = self.walked_
        find = estimator_at("TopDown", self.estimator, taxonomy, taxonomy.names)
        estimators = {p.parent: find(_name(taxonomy, p.parent), int(taxonomy.depth[p.children[0]])) for p in problems}
        if any(estimator is None for estimator in estimators.values()):
            raise ParameterError(
                "TopDown: estimator has no classifier for some nodes; give one for the others under None."
            )
        # A node's vectors are short: threads inside BLAS would mostly wait for each other, on a busy machine 25 times
        # longer than the work takes. `n_jobs` is the way to use several cores.
        with progress.task("TopDown", len(problems), unit="nodes") as running, threadpool_limits(1, user_api="blas"):

            def fit_node(problem: FamilyProblem) -> Any:
                options = {} if weights is None else {"sample_weight": weights[problem.rows]}
                classes = last_parts(taxonomy, problem.children)[
                    np.searchsorted(problem.children, child_of_rows(problem))
                ]
                return clone(estimators[problem.parent]).fit(take_rows(X, problem.rows), classes, **options)

            decisions: dict[int, Choice] = {}
            for problem, estimator in zip(problems, map_fits(executor, fit_node, problems), strict=True):
                order = np.argsort(last_parts(taxonomy, problem.children))  # as classifiers sort their classes
                decisions[problem.parent] = Decision(problem.children[order], estimator)
                running.advance()
            return decisions

    def _keep_history(self, seconds: float) -> None:
        """Store what the classifiers report: their passes, objectives and whether they converged."""
        reports = [decision.fit_summary() for decision in self.decisions_.values() if decision.has_choice]
        self.n_iter_ = max((int(report["passes"]) for report in reports if "passes" in report), default=1)
        self.converged_ = all(r.get("converged", True) and r.get("gap", 0) <= self.tol for r in reports)
        entry: dict[str, float] = {"seconds": seconds, "nodes": len(reports)}
        if all("objective" in report for report in reports):
            entry = {"objective": float(sum(report["objective"] for report in reports)), **entry}
        if reports and all("gap" in report for report in reports):
            entry["gap"] = float(max(report["gap"] for report in reports))
        self.history_ = [entry]
        if not self.converged_ and self.estimator is None:
            warn_of_gap(self, entry["gap"])

    def _ends(self, nodes: Ids) -> Ids:
        """Return the labels at which prediction can end, nodes with rows and none below, and set `end_nodes_`."""
        reached = np.unique(LabelMatrix.from_nodes(nodes, self.walked_).indices)
        ends = np.array([v for v in reached if int(v) not in self.decisions_], dtype=np.int64)
        names = [self.walked_.names[v] for v in ends]
        # A stop leaf stands for its parent.
        label_of = [self.taxonomy_.index(self.walked_.stop_leaves.get(name, name)) for name in names]
        labels = np.array(label_of, dtype=np.int64)
        order = np.argsort(labels)
        self.end_nodes_ = ends[order]
        return labels[order]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return tags if self.estimator is None else input_tags(tags, self.estimator)

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        if self.estimator is None:
            return super()._checked_rows(X, reset=reset)
        return rows_for(self, self.estimator, X, reset=reset)

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        return super()._chunks(X, at_least=at_least) if self.estimator is None else row_pieces(X, self.walked_.n_nodes)

    def _fitted_rows(self, X: Any) -> Any:
        rows = super()._fitted_rows(X)
        if self.estimator is None:
            check_values("TopDown", rows)
        return rows

    def predict_nodes(self, X: Any) -> Ids:
        """Return the label at the end of every row's path, as a node id."""
        X = self._as_read(X)
        here = np.full(X.shape[0], VIRTUAL_ROOT, np.int64)
        active = np.arange(X.shape[0])
        while len(active):
            # Rows at the same node go on together; those at a node without a decision have arrived.
            active = active[np.argsort(here[active], kind="stable")]
            nodes, starts = np.unique(here[active], return_index=True)
            moved = []
            for v, rows in zip(nodes.tolist(), np.split(active, starts[1:]), strict=True):
                decision = self.decisions_.get(v)
                if decision is not None:
                    here[rows] = decision.children[decision.choices(X, rows)]
                    moved.append(rows)
            active = np.concatenate(moved) if moved else active[:0]
        label_of = np.full(self.walked_.n_nodes, -1, np.int64)
        label_of[self.end_nodes_] = self.class_nodes_
        return label_of[here]

    def _as_read(self, X: Any) -> Any:
        """Return rows as the classifiers read them: our own read CSR, and dense columns beside it."""
        return X if self.estimator is not None or sparse.issparse(X) else read_rows(X)

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the sum of regrets along the path to each class."""
        X = self._as_read(X)
        regrets = np.full((X.shape[0], self.walked_.n_nodes), -np.inf)
        for decision in self.decisions_.values():
            regrets[:, decision.children] = self._regrets(decision, X)
        tree.add_along_paths(regrets, self.walked_.parent)
        return regrets[:, self.end_nodes_]

    def _regrets(self, decision: Choice, X: Any) -> npt.NDArray[Any]:
        """Return how far each child's score falls behind that of the child chosen, which gets 0."""
        if not decision.has_choice:
            return np.zeros((X.shape[0], 1))
        rows = np.arange(X.shape[0])
        scores = decision.scores(X, rows)
        scores, choice = scores.astype(np.float64), decision.choices(X, rows, scores)[:, None]
        regrets = np.minimum(scores - np.take_along_axis(scores, choice, axis=1), LEAST_REGRET)
        np.put_along_axis(regrets, choice, 0.0, axis=1)
        return regrets

    def label_losses(self, X: Any, starts: Ids, nodes: Ids) -> npt.NDArray[np.float64]:
        """Return the losses of (validated) rows under labels they may have; see `path_losses`."""
        return path_losses(self, self._as_read(X), starts, nodes)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, nodes: str = "classes") -> Any:
        """Return the probability of every class; see `LocalPerNode.predict_proba`.

        Parameters
        ----------
        X, nodes
            As in `LocalPerNode.predict_proba`.
        """
        rows = self._fitted_rows(X)
        one_of("TopDown", "nodes", nodes, PROBABILITIES_OF)
        scores = np.zeros((rows.shape[0], self.walked_.n_nodes))
        for decision in self.decisions_.values():
            scores[:, decision.children] = decision.probabilities(rows) if isinstance(decision, Decision) else 1.0
        return combine_scores(self, scores, {v: d.children for v, d in self.decisions_.items()}, nodes)

    def _weights(self) -> tuple[Any, npt.NDArray[np.float32]]:
        """Return the weights and intercepts of all nodes of `walked_`."""
        _has_weights(self)
        check_is_fitted(self)
        return weights_of_nodes(self.decisions_.values(), self.walked_.n_nodes, self.n_features_in_)

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights of each node's classifier, one row per node in `taxonomy_.names` order, as CSR.

        Made on demand. Two children separated by one classifier have minus and plus half of its weights; nodes that
        are never chosen, or always, have none.
        """
        weights, _ = self._weights()
        return weights[[self.walked_.index(name) for name in self.taxonomy_.names]]

    @property
    def coef_(self) -> sparse.csr_array:
        """The weights of the last choice on the path to each class, one row per class, as CSR; made on demand.

        Those of its own node, or of its "stop here". Scores are not a linear function of them: see `explain`.
        """
        return self._weights()[0][self.end_nodes_]

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The intercepts that belong to `coef_`."""
        return self._weights()[1][self.end_nodes_]

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature, along the path of a label, to its lead over its siblings.

        At each node of the path, contributions sum to the node's part: how far its score is above the highest of its
        siblings', positive where the node is chosen. `score` is the sum of the negative parts, as in
        `decision_function`: 0 for the label predicted. A node without siblings to choose from has no contributions.
        Of classifiers given as `estimator`, linear ones can be explained.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain for every row; the predicted one by default.
        """
        rows = csr_if_mixed(self._fitted_rows(X))
        labels, paths = explained_paths(self, rows, nodes)
        families = {v: linear(self.decisions_[v]) for v in parents_on(paths, self.walked_.parent)}
        return explain_by_leads(self, rows_of_numbers(rows), families, self.walked_, labels, paths)

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        estimators, arrays = pack_decisions(self.decisions_)
        state = {
            "stops": list(self.walked_.stop_leaves.values()),
            "estimators": estimators,
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            **pack_choice(self),
            **pack_label_text(self),
        }
        return state, {"end_nodes": self.end_nodes_, **arrays}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.walked_ = self.taxonomy_.with_stop_leaves(state["stops"]) if state["stops"] else self.taxonomy_
        self.end_nodes_ = unpack_ids(arrays["end_nodes"])
        check_nodes(self.end_nodes_, self.walked_.n_nodes, len(self.class_nodes_))
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        unpack_choice(self, state)
        unpack_label_text(self, state)
        self.decisions_ = unpack_decisions(state, arrays, self.walked_, self.end_nodes_, self.n_features_in_)


def node_problems(taxonomy: Taxonomy, nodes: Ids) -> list[FamilyProblem]:
    """Return the problem of every node v with rows below it: these rows, and the child of v above each row's node.

    One sort of all (row, node on its path) pairs by parent; O(n · depth · log).
    """
    closed = LabelMatrix.from_nodes(nodes, taxonomy)
    rows = np.repeat(np.arange(len(closed)), np.diff(closed.indptr))
    parents = taxonomy.parent[closed.indices]
    order = np.argsort(parents, kind="stable")
    rows, parents, targets = rows[order], parents[order], closed.indices[order].astype(np.int64)
    starts = np.flatnonzero(np.diff(parents, prepend=-2))
    problems = []
    for first, last in zip(starts, [*starts[1:], len(parents)], strict=True):
        children, classes = np.unique(targets[first:last], return_inverse=True)
        indptr, members = members_by_class(classes, len(children))
        if len(children) == 2:  # one problem, whose sign decides
            indptr, members = indptr[1:] - indptr[1], members[indptr[1] :]
        problems.append(FamilyProblem(int(parents[first]), rows[first:last], children, (indptr, members)))
    return problems


def child_of_rows(problem: FamilyProblem) -> Ids:
    """Return the child to which each row of a problem belongs."""
    indptr, members = problem.members
    classes = np.zeros(len(problem.rows), np.int64)
    first = len(problem.children) - problem.n_problems  # 1 where the second of two children has the only problem
    classes[members] = np.repeat(np.arange(problem.n_problems) + first, np.diff(indptr))
    return problem.children[classes]
