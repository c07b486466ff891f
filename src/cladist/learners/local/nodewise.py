"""H-SVM (Cesa-Bianchi et al. 2006, Rousu et al. 2005): a linear SVM at every node, on rows that reach its parent."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist import progress
from cladist.decoders import path_margins, top_down
from cladist.errors import LabelError, ModelFormatError, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.explanation import INTERCEPT, Explanation, nodes_to_explain
from cladist.learners.local.explanation import margins, weights_of_nodes
from cladist.learners.local.families import fit_families, pack_families, unpack_families
from cladist.learners.local.linear import LOSSES, make_plan
from cladist.learners.local.node_problems import always_on, nodewise_tasks
from cladist.learners.select_c import ChoosesC, warn_of_gap
from cladist.storage.array_groups import Arrays, check_nodes, group, prefixed, unpack_ids

Ids = npt.NDArray[np.int64]
ALWAYS, NEVER = np.inf, -np.inf  # scores of nodes that all rows of their parent belong to, or none
CERTAIN = 1.0  # the margin of a label to which all rows belong: ∞ is no score to compare


class NodewiseSVM(ChoosesC, HierarchicalClassifier):
    """A linear SVM at every node tells whether rows that belong to its parent belong to it, too.

    Node v learns from the rows whose labels include v's parent (a root from all rows); those that include v are
    positive. Prediction goes from the roots down: a node is on where its score is positive and its parent is on. A node
    to which all rows of its parent belong is always on there, one without rows never.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen.
    C : float or "cv"
        Weight of the losses. "cv": the best of 10⁻³ … 10³ by cross-validation on the rows given to `fit`.
    loss : {"squared_hinge", "hinge", "logistic"}
        What is minimised.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1.
    prune : float
        Weights up to this size are dropped after learning.
    tol : float
        Relative duality gap that every classifier reaches.
    max_iter : int
        Sweeps over a node's rows at most; if they do not suffice, a ConvergenceWarning says so.
    random_state : int, RandomState or None
        For the order in which rows are visited.
    n_jobs : int or None
        Threads that fit families of siblings side by side; the model does not depend on it.
    executor : Executor, optional
        Runs them instead, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label a row or a set; "auto" goes by the form of y.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order: for sets all nodes that rows belong to, otherwise the
        labels seen.
    families_ : dict of int to Family
        The classifiers of the children of each node id; −1 is the virtual root.
    coef_, intercept_ : CSR, array
        Of each class's own node, one row a class; `node_coef_`, CSR (nodes × features), of all nodes.
    C_, cv_results_
        With `C="cv"`, the C chosen and what each gave.
    n_iter_, converged_ : int, bool
    history_ : list of one dict
        `objective` (the sum over all classifiers), `gap` (the worst), `seconds`.

    Notes
    -----
    The score of a label is its margin: the lowest score on its path, and for a label with nodes below it that could
    be on, also minus the highest of theirs. It is positive where prediction from the roots down ends at this label, so
    that the label of highest score is the one to predict where there must be one. For sets, `decision_function` has the
    lowest score on the path to each node.

    Fitting costs what the families cost, each row taking part once for every node it belongs to.

    Examples
    --------
    >>> from cladist import NodewiseSVM, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2], [1, 2]]
    >>> model = NodewiseSVM(taxonomy, C=10).fit(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}])
    >>> model.predict([[0, 3]])
    [{'art'}]
    """

    answers_sets: ClassVar[bool] = True

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: Any = 1.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        prune: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the classifiers of all nodes.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        sample_weight : array (rows,), optional
            Factors of C; a row of weight 0 is as good as absent.
        """
        started = time.perf_counter()
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes("NodewiseSVM")
        X, labels, weights = self._weighted(X, labels, sample_weight)
        with progress.show_lines(self.verbose):
            C = self._chosen(X, labels, weights)
        seen = labels.indices if self.decodes_sets else labels.frontier[1]
        self.set_classes(np.unique(seen).astype(np.int64))
        tasks = nodewise_tasks(labels)
        with progress.show_lines(self.verbose):
            problems = [task for task in tasks if task.n_problems]
            executor = executor_for(self.n_jobs, self.executor)
            plan = make_plan(self, C)
            fitted = fit_families(sparse.csr_array(X), problems, plan, weights, executor, "NodewiseSVM")
        self.families_ = dict(sorted(fitted.items()))
        self.always_ = always_on(labels)
        self._remember(time.perf_counter() - started)
        return self

    def check_parameters(self) -> None:
        self._check_linear()
        one_of("NodewiseSVM", "loss", self.loss, LOSSES)
        self._check_decode(self.decode)

    def _remember(self, seconds: float) -> None:
        told = [family.told() for family in self.families_.values()]
        worst = float(max((entry["gap"] for entry in told), default=0.0))
        self.n_iter_ = max((int(entry["passes"]) for entry in told), default=0)
        self.converged_ = worst <= self.tol
        objective = float(sum(entry["objective"] for entry in told))
        self.history_ = [{"objective": objective, "gap": worst, "seconds": seconds}]
        if not self.converged_:
            warn_of_gap(self, worst)

    # ---------------------------------------------------------------- answering

    def _node_scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the score of every node, whatever its parent's."""
        X = X if sparse.issparse(X) else sparse.csr_array(X)
        scores = np.full((X.shape[0], self.taxonomy_.n_nodes), NEVER)
        scores[:, self.always_] = ALWAYS
        everything = np.arange(X.shape[0])
        for family in self.families_.values():
            scores[:, family.children] = family.scores(X, everything)
        return scores

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        return self._margins(X, ends=not self.decodes_sets)

    def _margins(self, X: Any, *, ends: bool) -> npt.NDArray[Any]:
        """Return the lowest score on the path to each class; with `ends`, the margin by which the path ends there."""
        found = path_margins(self._node_scores(X), self.taxonomy_, ends=ends)
        return np.where(np.isposinf(found), CERTAIN, found)[:, self.class_nodes_]

    def predict_nodes(self, X: Any) -> Ids:
        parts = [self._margins(chunk, ends=True).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def predict_sets(self, X: Any) -> LabelMatrix:
        parts = [top_down(self._node_scores(chunk), self.taxonomy_).to_indicator() for chunk in self._chunks(X)]
        chosen = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix.from_ids(chosen.indptr, chosen.indices, self.taxonomy_)

    # ---------------------------------------------------------------- weights

    def _weights(self) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
        """Return the weights and intercepts of all nodes."""
        check_is_fitted(self)
        return weights_of_nodes(self.families_.values(), self.taxonomy_.n_nodes, self.n_features_in_)

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row a node in `taxonomy_.names` order, as CSR; nodes without a classifier have none."""
        return self._weights()[0]

    @property
    def coef_(self) -> sparse.csr_array:
        """The weights of each class's own node, one row a class, as CSR; made when asked for.

        A class to which all rows of its parent belong has no classifier, and a row of zeros. Scores are lowest ones of
        paths, and so no linear function of `coef_` alone: see `explain`.
        """
        return self._weights()[0][self.class_nodes_]

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The intercepts that belong to `coef_`."""
        return self._weights()[1][self.class_nodes_]

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds to the scores on the path of a label; the lowest of them is the label's.

        At each node of the path that has a classifier, contributions sum to the node's score. `score` is the lowest of
        these sums, as `decision_function` has it. With one label a row, a label with nodes below it that could be on
        has one more: of the child of highest score, with the signs reversed, since what speaks for going on speaks
        against ending here. A label whose path has no classifier at all has the constant score of what is certain, 1.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row. By default the one to predict if there must be one: that of the largest
            margin (see Notes).
        """
        rows = sparse.csr_array(self._fitted_rows(X))
        if not len(self.class_nodes_):
            raise LabelError("NodewiseSVM: there is no label to explain; the rows learnt from had none.")
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        labels = [self.taxonomy_.names[v] for v in ids]
        self._columns_of(labels)
        explained: list[Explanation] = []
        for chunk in self._chunks(rows):
            start, ends = len(explained), not self.decodes_sets
            paths = [self.taxonomy_.path_ids(int(v)) for v in ids[start : start + chunk.shape[0]]]
            feature_names = getattr(self, "feature_names_in_", None)
            found = margins(self.families_, chunk, paths, self.taxonomy_.parent, feature_names, ends=ends)
            explained += [self._explanation(path[-1], parts) for path, parts in zip(paths, found, strict=True)]
        return explained

    def _explanation(self, v: int, parts: dict[int, dict[str, float]]) -> Explanation:
        names = self.taxonomy_.names
        certain = {} if parts else {names[v]: {INTERCEPT: CERTAIN}}
        return Explanation.of(names[v], {names[u]: part for u, part in parts.items()} or certain, "lowest")

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            **self._pack_choice(),
        }
        return state, {"always": self.always_, **prefixed("families", pack_families(self.families_))}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self._unpack_choice(state)
        self.families_ = unpack_families(group("families", arrays), self.taxonomy_.parent, self.n_features_in_)
        self.always_ = unpack_ids(arrays["always"])
        told = np.concatenate([self.always_, *(family.children for family in self.families_.values())])
        check_nodes(told, self.taxonomy_.n_nodes)
        if not np.all(np.isin(LabelMatrix.from_nodes(self.class_nodes_, self.taxonomy_).indices, told)):
            raise ModelFormatError("It cannot tell of some nodes above its classes whether they are on.")
