"""H-SVM (Cesa-Bianchi et al. 2006, Rousu et al. 2005): a linear SVM at every node, on rows that reach its parent."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist import progress
from cladist.decoders import top_down
from cladist.errors import one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.choosing import ChoosesC, warn_of_gap
from cladist.learners.local.families import Task, fit_families, pack_families, unpack_families
from cladist.learners.local.linear import LOSSES, make_plan
from cladist.learners.packing import Arrays, check_nodes, group, prefixed
from cladist.solvers.problem import members_by_class

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

    _answers_sets: ClassVar[bool] = True

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
        self._check_linear()
        one_of("NodewiseSVM", "loss", self.loss, LOSSES)
        self._check_decode(self.decode)
        X, labels = self._enter(X, y)
        self._check_form(self.decode)
        if not self._decodes_sets:
            labels.nodes("NodewiseSVM")
        X, labels, weights = self._weighted(X, labels, sample_weight)
        with progress.shown(self.verbose):
            C = self._chosen(X, labels, weights)
        seen = labels.indices if self._decodes_sets else labels.frontier[1]
        self._set_classes(np.unique(seen).astype(np.int64))
        tasks = _tasks(labels)
        with progress.shown(self.verbose):
            problems = [task for task in tasks if task.n_problems]
            executor = executor_for(self.n_jobs, self.executor)
            plan = make_plan(self, C)
            fitted = fit_families(sparse.csr_array(X), problems, plan, weights, executor, "NodewiseSVM")
        self.families_ = dict(sorted(fitted.items()))
        self.always_ = _always(labels)
        self._remember(time.perf_counter() - started)
        return self

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

    def _path_margins(self, X: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the lowest score on the path to every node, and the highest of its children's."""
        parent = self.taxonomy_.parent
        lowest = self._node_scores(X)
        below = np.full(lowest.shape, NEVER)
        for level in self.taxonomy_.levels[1:]:
            above = parent[level]
            np.maximum.at(below.T, above, lowest[:, level].T)
            lowest[:, level] = np.minimum(lowest[:, level], lowest[:, above])
        return lowest, below

    def _class_scores(self, X: Any) -> npt.NDArray[Any]:
        lowest, below = self._path_margins(X)
        margins = lowest if self._decodes_sets else np.minimum(lowest, -below)
        return np.where(np.isposinf(margins), CERTAIN, margins)[:, self.class_nodes_]

    def _predict_nodes(self, X: Any) -> Ids:
        parts = [self._class_scores(chunk).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def _predict_sets(self, X: Any) -> LabelMatrix:
        parts = [top_down(self._node_scores(chunk), self.taxonomy_).to_indicator() for chunk in self._chunks(X)]
        chosen = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix.closing(chosen.indptr, chosen.indices, self.taxonomy_)

    # ---------------------------------------------------------------- weights

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row a node in `taxonomy_.names` order, as CSR; nodes without a classifier have none."""
        check_is_fitted(self)
        parts = [sparse.csr_array((0, self.n_features_in_), dtype=np.float32)]
        nodes = [np.zeros(0, np.int64)]
        for family in self.families_.values():
            if family.weights is not None:
                parts.append(family.weights.matrix())
                nodes.append(family.children)
        stacked, of_row = sparse.vstack(parts, format="csr"), np.concatenate(nodes)
        place = sparse.csr_array(
            (np.ones(len(of_row), np.float32), (of_row, np.arange(len(of_row)))),
            shape=(self.taxonomy_.n_nodes, len(of_row)),
        )
        return sparse.csr_array(place @ stacked)

    # ---------------------------------------------------------------- being saved

    def _pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            **self._pack_choice(),
        }
        return state, {"always": self.always_, **prefixed("families", pack_families(self.families_))}

    def _unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self._unpack_choice(state)
        self.families_ = unpack_families(group("families", arrays), self.taxonomy_.parent, self.n_features_in_)
        self.always_ = arrays["always"].astype(np.int64)
        check_nodes(self.always_, self.taxonomy_.n_nodes)


def _tasks(labels: LabelMatrix) -> list[Task]:
    """Return the problems of every family with rows; children to which all rows or none belong have none."""
    taxonomy = labels.taxonomy
    counts, reaching = _counts(labels)
    by_node = labels.to_indicator().tocsc()
    parent = taxonomy.parent
    asked = np.flatnonzero((counts > 0) & (counts < reaching))
    if not len(asked):
        return []
    tasks = []
    order = asked[np.argsort(parent[asked], kind="stable")]
    starts = np.flatnonzero(np.diff(parent[order], prepend=-2))
    for first, last in zip(starts, [*starts[1:], len(order)], strict=True):
        children = order[first:last]
        above = int(parent[children[0]])
        rows = (
            np.arange(len(labels)) if above < 0 else by_node.indices[by_node.indptr[above] : by_node.indptr[above + 1]]
        )
        rows = rows.astype(np.int64)
        members = [by_node.indices[by_node.indptr[c] : by_node.indptr[c + 1]] for c in children]
        classes = np.repeat(np.arange(len(children)), [len(part) for part in members])
        indptr, places = members_by_class(classes, len(children))
        positions = np.searchsorted(rows, np.concatenate(members)[places])
        tasks.append(Task(above, rows, children, (indptr, positions)))
    return tasks


def _counts(labels: LabelMatrix) -> tuple[Ids, Ids]:
    """Return how many rows belong to each node, and how many reach it."""
    counts = np.bincount(labels.indices, minlength=labels.taxonomy.n_nodes)
    parent = labels.taxonomy.parent
    return counts, np.where(parent < 0, len(labels), counts[parent])


def _always(labels: LabelMatrix) -> Ids:
    """Return the nodes to which all rows belong that reach them."""
    counts, reaching = _counts(labels)
    return np.flatnonzero((counts > 0) & (counts == reaching))
