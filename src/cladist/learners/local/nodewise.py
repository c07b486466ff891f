"""H-SVM (Cesa-Bianchi et al. 2006, Rousu et al. 2005): a linear SVM at every node, on rows that reach its parent."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist import progress
from cladist.checkpoints import resumable
from cladist.decoders import path_margins, top_down
from cladist.errors import LabelError, ModelFormatError, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.explanation import Explanation, nodes_to_explain
from cladist.learners.linear_classifier import check_linear, check_values, warn_of_gap
from cladist.learners.local.choice_explanation import CERTAIN, explain_by_margins
from cladist.learners.local.families import (
    LOSSES,
    FamilyProblem,
    fit_families,
    pack_families,
    unpack_families,
    weights_of_nodes,
)
from cladist.learners.select_c import choose_C, pack_choice, unpack_choice
from cladist.linear_model.dense_columns import read_rows
from cladist.mixed_rows import csr_if_mixed
from cladist.solvers.problem import members_by_class
from cladist.storage.array_groups import Arrays, check_nodes, group, prefixed, unpack_ids

Ids = npt.NDArray[np.int64]
ALWAYS, NEVER = np.inf, -np.inf  # scores of nodes that all rows of their parent belong to, or none


@dataclass(eq=False, repr=False)
class NodewiseSVM(HierarchicalClassifier):
    """A linear SVM at every node says whether rows that belong to its parent belong to it, too.

    Node v is trained on the rows whose labels include v's parent (a root on all rows); rows whose labels include v are
    positive. Prediction goes from the roots down: a node is on where its score is positive and its parent is on. A node
    to which all rows of its parent belong is always on there; a node without rows is never on.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen.
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
        Weights up to this size are dropped after training.
    tol, max_iter : float, int
        Relative duality gap that every classifier reaches, and the most sweeps over a node's rows; if they do not
        suffice, a ConvergenceWarning says so.
    solver : {"auto", "coordinate", "newton"}
        Dual coordinate descent; or Newton's method for smooth losses and an interior point method for the hinge, for
        dense rows of up to some hundred features. "auto": coordinate descent, and Newton steps as soon as it proves to
        cost more than they would, for instance where features have very different scales. All reach the same optimum.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    n_jobs, executor : int or None, Executor or None
        Threads, or an executor of `cladist.execution`, that fit families of siblings in parallel; the model does not
        depend on it.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or a set; "auto": as y has them.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order: for sets all nodes that rows belong to, otherwise the
        labels seen.
    families_ : dict of int to Family
        The classifiers of the children of each node id; −1 is the virtual root.
    coef_, intercept_ : CSR, array
        Of each class's own node, one row per class; `node_coef_`, CSR (nodes × features), of all nodes.
    C_, cv_results_
        With `C="cv"`, the C chosen and the score of each.
    n_iter_, converged_ : int, bool
        The most sweeps of any classifier; whether all gaps are within `tol`.
    history_ : list of one dict
        `objective` (the sum over all classifiers), `gap` (the worst), `seconds`.

    Notes
    -----
    The score of a label is its margin: the lowest score on its path, and for a label with nodes below it that could
    be on, also minus the highest of theirs. It is positive where prediction from the roots down ends at this label, so
    that the label of highest score is the one to predict where there must be one. For sets, `decision_function` has the
    lowest score on the path to each node.

    Each row takes part in fitting once for every node it belongs to.

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
    takes_mixed_rows: ClassVar[bool] = True

    taxonomy: Any = None
    _: KW_ONLY
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
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    @resumable
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train the classifiers of all nodes.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        sample_weight : array (rows,), optional
            Factors of C; a row of weight 0 counts as absent.
        """
        started = time.perf_counter()
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes("NodewiseSVM")
        X, labels, weights = self._weighted(X, labels, sample_weight)
        with progress.show_lines(self.verbose):
            C = choose_C(self, X, labels, weights)
            executor = executor_for(self.n_jobs, self.executor)
            problems, self.always_ = family_problems(labels)
            families = fit_families(self, read_rows(X), problems, weights, C, executor)
        self.families_ = dict(sorted(families.items()))
        self.set_classes(np.unique(labels.indices if self.decodes_sets else labels.frontier[1]).astype(np.int64))
        self._keep_history(time.perf_counter() - started)
        return self

    def check_parameters(self) -> None:
        check_linear(self)
        one_of("NodewiseSVM", "loss", self.loss, LOSSES)
        self._check_decode(self.decode)

    def _keep_history(self, seconds: float) -> None:
        summaries = [family.fit_summary() for family in self.families_.values()]
        worst = float(max((summary["gap"] for summary in summaries), default=0.0))
        self.n_iter_ = max((int(summary["passes"]) for summary in summaries), default=0)
        self.converged_ = worst <= self.tol
        objective = float(sum(summary["objective"] for summary in summaries))
        self.history_ = [{"objective": objective, "gap": worst, "seconds": seconds}]
        if not self.converged_:
            warn_of_gap(self, worst)

    def _fitted_rows(self, X: Any) -> Any:
        rows = super()._fitted_rows(X)
        check_values("NodewiseSVM", rows)
        return rows

    def _node_scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the score of every node, whatever its parent's."""
        X = X if sparse.issparse(X) else read_rows(X)
        scores = np.full((X.shape[0], self.taxonomy_.n_nodes), NEVER)
        scores[:, self.always_] = ALWAYS
        everything = np.arange(X.shape[0])
        for family in self.families_.values():
            scores[:, family.children] = family.scores(X, everything)
        return scores

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the margin of every class; for sets, the lowest score on the path to it."""
        return self._margins(X, ends=not self.decodes_sets)

    def _margins(self, X: Any, *, ends: bool) -> npt.NDArray[Any]:
        """Return the lowest score on the path to each class; with `ends`, the margin by which the path ends there."""
        lowest = path_margins(self._node_scores(X), self.taxonomy_, ends=ends)
        return np.where(np.isposinf(lowest), CERTAIN, lowest)[:, self.class_nodes_]

    def predict_nodes(self, X: Any) -> Ids:
        """Return the class of largest margin of every row, as a node id."""
        parts = [self._margins(chunk, ends=True).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the nodes that are on when prediction goes from the roots down."""
        parts = [top_down(self._node_scores(chunk), self.taxonomy_).to_indicator() for chunk in self._chunks(X)]
        indicator = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix.from_ids(indicator.indptr, indicator.indices, self.taxonomy_)

    def _weights(self) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
        """Return the weights and intercepts of all nodes."""
        check_is_fitted(self)
        return weights_of_nodes(self.families_.values(), self.taxonomy_.n_nodes, self.n_features_in_)

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row per node in `taxonomy_.names` order, as CSR; nodes without a classifier have none."""
        return self._weights()[0]

    @property
    def coef_(self) -> sparse.csr_array:
        """The weights of each class's own node, one row per class, as CSR; made on demand.

        A class to which all rows of its parent belong has no classifier, and a row of zeros. A score is the lowest on a
        path, and so not a linear function of `coef_`: see `explain`.
        """
        return self._weights()[0][self.class_nodes_]

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The intercepts that belong to `coef_`."""
        return self._weights()[1][self.class_nodes_]

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature to the scores on the path of a label; the lowest is the label's.

        At each node of the path that has a classifier, contributions sum to the node's score. `score` is the lowest of
        these sums, as in `decision_function`. With one label per row, a label with nodes below it that could be on has
        one more entry: of the child of highest score, with the signs reversed, since evidence for the child is
        evidence against ending here. A label whose path has no classifier has the constant score 1.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain for every row; that of the largest margin (see Notes) by default.
        """
        rows = sparse.csr_array(csr_if_mixed(self._fitted_rows(X)))
        if not len(self.class_nodes_):
            raise LabelError("NodewiseSVM: there is no label to explain; the training rows had none.")
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        labels = [self.taxonomy_.names[v] for v in ids]
        self._columns_of(labels)
        paths = [self.taxonomy_.path_ids(int(v)) for v in ids]
        return explain_by_margins(self, rows, self.families_, labels, paths, ends=not self.decodes_sets)

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {"history": self.history_, "n_iter": self.n_iter_, "converged": self.converged_, **pack_choice(self)}
        return state, {"always": self.always_, **prefixed("families", pack_families(self.families_))}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        unpack_choice(self, state)
        self.families_ = unpack_families(group("families", arrays), self.taxonomy_.parent, self.n_features_in_)
        self.always_ = unpack_ids(arrays["always"])
        nodes = np.concatenate([self.always_, *(family.children for family in self.families_.values())])
        check_nodes(nodes, self.taxonomy_.n_nodes)
        if not np.all(np.isin(LabelMatrix.from_nodes(self.class_nodes_, self.taxonomy_).indices, nodes)):
            raise ModelFormatError("It has no classifier for some nodes above its classes.")


def family_problems(labels: LabelMatrix) -> tuple[list[FamilyProblem], Ids]:
    """Return the problems of all families, and the nodes to which all rows of their parent belong.

    The rows of a family are those that belong to the parent, and it has one problem per child to which some of them
    belong, not all; those that do are positive.
    """
    parent, by_node = labels.taxonomy.parent, labels.to_indicator().tocsc()
    counts = np.diff(by_node.indptr)
    reaching = np.where(parent < 0, len(labels), counts[parent])
    children = np.flatnonzero((counts > 0) & (counts < reaching))
    children = children[np.argsort(parent[children], kind="stable")]
    problems = []
    for siblings in np.split(children, np.flatnonzero(np.diff(parent[children])) + 1) if len(children) else []:
        above = int(parent[siblings[0]])
        rows = np.arange(len(labels))
        if above >= 0:
            rows = by_node.indices[by_node.indptr[above] : by_node.indptr[above + 1]]
        members = [by_node.indices[by_node.indptr[c] : by_node.indptr[c + 1]] for c in siblings]
        classes = np.repeat(np.arange(len(siblings)), [len(part) for part in members])
        indptr, places = members_by_class(classes, len(siblings))
        positions = np.searchsorted(rows, np.concatenate(members)[places])
        problems.append(FamilyProblem(above, rows.astype(np.int64), siblings, (indptr, positions)))
    return problems, np.flatnonzero((counts > 0) & (counts == reaching))
