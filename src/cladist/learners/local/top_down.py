"""Top-down: a classifier at every inner node, followed from the root to a leaf.

The greedy baseline of Dekel, Keshet & Singer 2004 (with ``estimator=Hieron()``) and TD of Gopal & Yang 2013.
"""

from __future__ import annotations

import inspect
import time
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.errors import ParameterError, one_of
from cladist.execution import executor_for
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.explanation import Explanation, nodes_to_explain
from cladist.learners.label_warnings import warn_of_lost
from cladist.learners.local.decision_arrays import pack_decisions, unpack_decisions
from cladist.learners.local.decisions import Choosing, Decision, NodeTask, node_tasks
from cladist.learners.local.explanation import leads, weights_of_nodes
from cladist.learners.local.families import Family, fit_families
from cladist.learners.local.linear import LOSSES, make_plan
from cladist.learners.select_c import ChoosesC, warn_of_gap
from cladist.learners.stop_leaves import with_stops
from cladist.storage.array_groups import Arrays, check_nodes, unpack_ids
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
VIRTUAL_ROOT = -1
LEAST_REGRET = -np.finfo(np.float64).tiny  # so that an equal score still loses to the class predicted


def _has_weights(model: Any) -> bool:
    """Say why a model cannot explain itself, where it cannot."""
    if model.estimator is not None:
        raise AttributeError(
            "TopDown has weights, and explanations by them, only with its own classifiers; a classifier given as "
            "`estimator` keeps its own in `decisions_`."
        )
    return True


class TopDown(ChoosesC, HierarchicalClassifier):
    """A classifier at every inner node chooses among its children, from the top down to a leaf.

    The classifier at node v learns from the rows whose label lies below v; its classes are v's children. A child
    without rows is never chosen; a node with one child that has rows passes everything on to it.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen, or the paths in y where y has path columns.
    estimator : scikit-learn classifier, optional
        Cloned for every node; `Hieron()` gives the greedy Hieron. None: our own linear SVM, one child against its
        siblings, which the parameters from `C` to `random_state` are for.
    C : float or "cv"
        Weight of the losses. "cv": the best of 10⁻³ … 10³ by cross-validation on the rows given to `fit`.
    loss : {"squared_hinge", "hinge", "logistic"}
        What is minimised.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1.
    prune : float
        Weights up to this size are dropped after learning, which makes models smaller and predictions faster and a
        little different.
    tol : float
        Relative duality gap that every classifier reaches.
    max_iter : int
        Sweeps over a node's rows at most; if they do not suffice, a ConvergenceWarning says so.
    random_state : int, RandomState or None
        For the order in which rows are visited.
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
    decisions_ : dict of int to Family or Decision
        The choice at each node id; −1 is the virtual root of a forest.
    C_, cv_results_
        With `C="cv"`, the C chosen and what each gave.
    n_iter_ : int
        The most passes any classifier made, as far as they tell.
    converged_ : bool
        False if a classifier says that it did not converge.
    history_ : list of one dict
        `objective`, the sum over all classifiers (for our own SVM), `nodes` with a classifier, `seconds`.
    coef_, intercept_ : CSR, array
        One row a class, and `node_coef_`, CSR (nodes × features): of our own linear SVM.
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
        C: Any = 1.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        prune: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        stop: bool = False,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.estimator = estimator
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
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
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        labels.nodes("TopDown")
        self._check_takes_weights(sample_weight)
        X, labels, weights = self._weighted(X, labels, sample_weight)
        nodes = labels.nodes("TopDown")
        with progress.show_lines(self.verbose):
            C = self._chosen(X, labels, weights)
        self.walked_, nodes = self._walked_taxonomy(nodes)
        tasks = node_tasks(self.walked_, nodes)
        with progress.show_lines(self.verbose):
            choosing = [task for task in tasks if len(task.children) > 1]
            fitted = self._fit_nodes(X, weights, choosing, C)
        fitted.update((task.node, Family(task.children)) for task in tasks if len(task.children) == 1)
        self.decisions_: dict[int, Choosing] = dict(sorted(fitted.items()))
        self.set_classes(self._ends(nodes))
        warn_of_lost(self, labels, "give stop=True (--param stop=true) to let rows end above other labels")
        self._remember_fit(time.perf_counter() - started)
        return self

    def check_parameters(self) -> None:
        self._check_decode(self.decode)
        one_of("TopDown", "stop", self.stop, (False, True))
        self._check_linear()
        one_of("TopDown", "loss", self.loss, LOSSES)
        if self.estimator is not None and (is_regressor(self.estimator) or not hasattr(self.estimator, "predict")):
            raise ParameterError(f"TopDown: estimator must be a classifier; got {self.estimator!r}.")
        if self.estimator is not None and isinstance(self.C, str):
            raise ParameterError("TopDown: C='cv' is for our own linear SVM; tune another estimator by GridSearchCV.")

    def _fit_nodes(self, X: Any, weights: Any, tasks: list[NodeTask], C: float) -> dict[int, Choosing]:
        """Fit the classifiers of all nodes that have a choice."""
        executor = executor_for(self.n_jobs, self.executor)
        if self.estimator is None:
            rows = sparse.csr_array(X)
            families = [task.family() for task in tasks]
            return dict(fit_families(rows, families, make_plan(self, C), weights, executor, "TopDown"))
        # A node's vectors are short: threads inside BLAS would mostly wait for each other, on a busy machine 25 times
        # longer than the work takes. `n_jobs` is the way to use several cores.
        with progress.task("TopDown", len(tasks)) as running, threadpool_limits(1, user_api="blas"):

            def fit_node(task: NodeTask) -> Decision:
                options = {} if weights is None else {"sample_weight": weights[task.rows]}
                estimator = clone(self.estimator).fit(X[task.rows], task.targets, **options)
                running.advance()
                return Decision(task.children, estimator)

            done = executor.map(fit_node, tasks)
            return {task.node: decision for task, decision in zip(tasks, done, strict=True)}

    def _remember_fit(self, seconds: float) -> None:
        """Note what the classifiers tell of themselves: their passes, objectives and whether they converged."""
        told = [decision.told() for decision in self.decisions_.values() if decision.has_choice]
        self.n_iter_ = max((int(entry["passes"]) for entry in told if "passes" in entry), default=1)
        self.converged_ = all(entry.get("converged", True) and entry.get("gap", 0) <= self.tol for entry in told)
        entry: dict[str, float] = {"seconds": seconds, "nodes": len(told)}
        if all("objective" in inner for inner in told):
            entry = {"objective": float(sum(inner["objective"] for inner in told)), **entry}
        if told and all("gap" in inner for inner in told):
            entry["gap"] = float(max(inner["gap"] for inner in told))
        self.history_ = [entry]
        if not self.converged_ and self.estimator is None:
            warn_of_gap(self, max(inner["gap"] for inner in told))

    def _check_takes_weights(self, sample_weight: Any) -> None:
        if sample_weight is None or self.estimator is None:
            return
        if "sample_weight" not in inspect.signature(self.estimator.fit).parameters:
            name = type(self.estimator).__name__
            raise ParameterError(f"TopDown: {name} takes no sample_weight; leave it out or choose another classifier.")

    def _walked_taxonomy(self, nodes: Ids) -> tuple[Taxonomy, Ids]:
        """Return the taxonomy to walk and each row's node in it."""
        if not self.stop:
            return self.taxonomy_, nodes
        carrying, which = np.unique(nodes, return_inverse=True)
        walked, places = with_stops(self.taxonomy_, carrying)
        return walked, places[which]

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

    def predict_nodes(self, X: Any) -> Ids:
        X = self._as_read(X)
        here = np.full(X.shape[0], VIRTUAL_ROOT, np.int64)
        walking = np.arange(X.shape[0])
        while len(walking):
            # Rows at the same node go on together; those whose node leaves no choice have arrived.
            walking = walking[np.argsort(here[walking], kind="stable")]
            nodes, starts = np.unique(here[walking], return_index=True)
            going = []
            for v, rows in zip(nodes.tolist(), np.split(walking, starts[1:]), strict=True):
                decision = self.decisions_.get(v)
                if decision is not None:
                    here[rows] = decision.children[decision.choices(X, rows)]
                    going.append(rows)
            walking = np.concatenate(going) if going else walking[:0]
        label_of = np.full(self.walked_.n_nodes, -1, np.int64)
        label_of[self.end_nodes_] = self.class_nodes_
        return label_of[here]

    def _as_read(self, X: Any) -> Any:
        """Return rows as the classifiers read them: our own want CSR."""
        return X if self.estimator is not None or sparse.issparse(X) else sparse.csr_array(X)

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        X = self._as_read(X)
        regrets = np.full((X.shape[0], self.walked_.n_nodes), -np.inf)
        for decision in self.decisions_.values():
            regrets[:, decision.children] = self._regrets(decision, X)
        tree.add_along_paths(regrets, self.walked_.parent)
        return regrets[:, self.end_nodes_]

    def _regrets(self, decision: Choosing, X: Any) -> npt.NDArray[Any]:
        """Return how far each child's score falls behind that of the child chosen, which gets 0."""
        if not decision.has_choice:
            return np.zeros((X.shape[0], 1))
        found, chosen = decision.scored(X, np.arange(X.shape[0]))
        scores, chosen = found.astype(np.float64), chosen[:, None]
        regrets = np.minimum(scores - np.take_along_axis(scores, chosen, axis=1), LEAST_REGRET)
        np.put_along_axis(regrets, chosen, 0.0, axis=1)
        return regrets

    # ---------------------------------------------------------------- weights

    def _weights(self) -> tuple[Any, npt.NDArray[np.float32]]:
        """Return the weights and intercepts of all nodes walked."""
        _has_weights(self)
        check_is_fitted(self)
        return weights_of_nodes(self.decisions_.values(), self.walked_.n_nodes, self.n_features_in_)

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights of each node's classifier, one row a node in `taxonomy_.names` order, as CSR.

        Made when asked for. Two children told apart by one classifier have minus and plus half of its weights; nodes
        that are never chosen, or always, have none.
        """
        weights, _ = self._weights()
        return weights[[self.walked_.index(name) for name in self.taxonomy_.names]]

    @property
    def coef_(self) -> sparse.csr_array:
        """The weights of the last choice on the way to each class, one row a class, as CSR; made when asked for.

        Those of its own node, or of its "stop here". Scores are no linear function: see `explain`.
        """
        return self._weights()[0][self.end_nodes_]

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The intercepts that belong to `coef_`."""
        return self._weights()[1][self.end_nodes_]

    @available_if(_has_weights)  # type: ignore[untyped-decorator]
    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds along the path of a label to its lead over what else could be chosen.

        At each node of the path, contributions sum to the node's part: how far its score is above the highest of its
        siblings', positive where the node is chosen. `score` is the sum of the negative parts, as `decision_function`
        has it: 0 for the label predicted. A node without siblings to choose from has no contributions.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row; the predicted one by default.
        """
        rows = self._as_read(self._fitted_rows(X))
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        labels, names = [self.taxonomy_.names[v] for v in ids], self.walked_.names
        paths = [self.walked_.path_ids(int(end)) for end in self.end_nodes_[self._columns_of(labels)]]
        explained: list[Explanation] = []
        for chunk in self._chunks(rows):
            part = slice(len(explained), len(explained) + chunk.shape[0])
            feature_names = getattr(self, "feature_names_in_", None)
            found = leads(self.decisions_, chunk, paths[part], self.walked_.parent, feature_names)
            explained += [
                Explanation.of(label, {names[v]: by_feature for v, by_feature in of_nodes.items()}, "negative")
                for label, of_nodes in zip(labels[part], found, strict=True)
            ]
        return explained

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        estimators, arrays = pack_decisions(self.decisions_)
        state = {
            "stops": list(self.walked_.stop_leaves.values()),
            "estimators": estimators,
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            **self._pack_choice(),
        }
        return state, {"end_nodes": self.end_nodes_, **arrays}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.walked_ = self.taxonomy_.with_stop_leaves(state["stops"]) if state["stops"] else self.taxonomy_
        self.end_nodes_ = unpack_ids(arrays["end_nodes"])
        check_nodes(self.end_nodes_, self.walked_.n_nodes, len(self.class_nodes_))
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self._unpack_choice(state)
        self.decisions_ = unpack_decisions(state, arrays, self.walked_.parent, self.end_nodes_, self.n_features_in_)
