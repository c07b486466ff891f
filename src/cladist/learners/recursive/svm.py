"""HR-SVM of Gopal & Yang 2013."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Self

import numpy.typing as npt

from cladist import progress
from cladist.errors import one_of
from cladist.labels import LabelMatrix
from cladist.learners.linear.classifier import FORMS, LinearClassifier
from cladist.learners.linear.targets import Targets, at_C
from cladist.learners.recursive.couplings import couple
from cladist.learners.recursive.relations import as_relations, gather_options, refuse_options
from cladist.learners.select_c import choose_C_and_sharing
from cladist.solvers import OneVsRest, Solution


class RecursiveSVM(LinearClassifier):
    """Linear SVMs of all labels, trained together: every node's weights are pulled towards its parent's.

    min_W ½ Σ_n ‖w_n − w_π(n)‖² / κ_n + C Σ_labels n Σ_i ℓ(y_in w_n·x_i)                       with all κ = 1 eq. (2)

    of Gopal & Yang 2013, π(n) the parent of n, w_π(root) = 0; κ = 1 for labels and κ = `sharing` for nodes above them.
    Labels with few rows borrow from their siblings. With `relations`, weights are pulled towards those of related
    nodes:

    min_W ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + C Σ_n Σ_i ℓ(y_in w_n·x_i)       with all a = 1 eq. (10)

    with each edge once and the last sum over nodes with rows. Both are solved to a certified duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG. None: a star of the classes seen, where labels share nothing: `FlatSVM`,
        if that has the same loss.
    C : float or "cv"
        Weight of the losses. "cv": the best of 10⁻³ … 10³ by cross-validation on the training rows.
    loss : {"hinge", "squared_hinge"}
        The loss ℓ; the paper's is the hinge.
    relations : Relations, RelationGraph, edges, path of a file, or None
        Other relations than those of the taxonomy, or other options of them, see `Relations`: for instance
        ``Relations(root="free")`` on a tree, or ``Relations(graph, ridge=0.1)``.
    sharing : float or "cv"
        κ, how freely nodes above labels move: 1 as in the paper, less where the tree says little about the features, 0
        if labels are to share nothing. "cv": the best of 1, 0.1 and 0, together with C if that is "cv", too.
    empty_leaf : {"skip", "negative"}
        Leaves without rows take no part and are not predicted, or all rows are negative for them, as in the paper's
        formula, and they are labels like others.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1, pulled like the others.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem.
    weights : {"auto", "dense", "sparse", "dual", "differences"}
        How weights are stored. "dual": vectors of nodes with more than sixteen labels, and the rows' shares in the
        others, from which weights are made on demand. "differences": of every node from its parent, sparse, for very
        many labels; `predict_top_k` can then use beam search, and `cladist.load` map the model. "auto": dense up to
        2 GiB, then dual.
    prune : float
        With "sparse" or "differences", weights or differences up to this size are dropped after training.
    tol : float
        Relative duality gap.
    max_iter : int
        Most sweeps over all labels; if they do not suffice, a ConvergenceWarning says so.
    warm_start : bool
        Whether `fit` starts from the last solution, if rows, features in use and tree are as they were.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    n_jobs : int or None
        Threads that solve the blocks of a round in parallel; the model does not depend on it.
    executor : Executor, optional
        Runs the blocks instead of threads, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or the set of labels with positive scores; "auto": as y has them.
    verbose : bool or int
        Whether to print the progress of a long run.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order. A label with others below it has a leaf of its own there.
    coef_, intercept_ : arrays
        One row per class.
    node_coef_ : CSR (nodes × features)
    sharing_ : float
        The κ used.
    relations_ : RelationGraph or None
        The graph that relates labels; None on a tree.
    C_, cv_results_
        With `C="cv"` or `sharing="cv"`, the C chosen and the score of each.
    n_iter_, converged_ : int, bool
        Sweeps made, and whether the gap is within `tol`.
    history_ : list of dict
        One entry per check: `objective`, `dual`, `gap` (relative), `seconds`; the last is of the weights returned.
        With ``root="free"`` also `reach`: the dual is a lower bound if no root is further than that from its optimum.

    Notes
    -----
    On a graph, nodes without rows are between their neighbours; labels without relations are trained by themselves, as
    `FlatSVM` with the same C. Memory: 12 bytes per node and feature, 4 per label and row.

    On a tree, a sweep costs O(labels / 16 · nonzeros) when it visits all rows, every fourth time, and less otherwise.
    Memory: 4 bytes per feature for each inner node whose labels fill more than one block of sixteen, 128 bytes per
    feature and 64 per row for each worker, 68 bytes for each row and block in which an α is not 0, up to five times;
    and 4 bytes per label and feature for dense weights.

    Examples
    --------
    >>> from cladist import RecursiveSVM, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = RecursiveSVM(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict_paths([[0, 3]])
    [['art']]
    """

    forms: ClassVar[tuple[str, ...]] = (*FORMS, "differences")
    from_old_parameters = staticmethod(gather_options)  # of model files from before `Relations`

    @refuse_options
    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: Any = 1.0,
        loss: str = "hinge",
        relations: Any = None,
        sharing: Any = 1.0,
        empty_leaf: str = "skip",
        fit_intercept: bool = True,
        class_weight: Any = None,
        weights: str = "auto",
        prune: float = 0.0,
        tol: float = 1e-2,
        max_iter: int = 200,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.relations = relations
        self.sharing = sharing
        self.empty_leaf = empty_leaf
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.weights = weights
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        one_of("RecursiveSVM", "loss", self.loss, ("hinge", "squared_hinge"))
        self.check_linear()
        others = {"sharing": self.sharing, "warm_start": self.warm_start, "weights": self.weights}
        as_relations(self.relations).check("RecursiveSVM", empty_leaf=self.empty_leaf, **others)

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train the classifiers of all labels together.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        sample_weight : array (rows,), optional
            Factors of C; a row of weight 0 counts as absent.
        """
        self.check_parameters()
        X, labels, weights = self.validate(X, y, sample_weight)
        with progress.show_lines(self.verbose):
            C = choose_C_and_sharing(self, X, labels, weights)
            problem = self.prepare(X, labels, weights)
            started = time.perf_counter()
            solution = self.solve(problem, C, self.last_state(problem, C), keep_state=self.warm_start)
            return self.keep(solution, problem, C, started)

    def validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        """Return rows, labels and weights, checked, and set `relations_`: the graph, or None for a tree."""
        data = super().validate(X, y, sample_weight)
        others = {"sharing": self.sharing, "warm_start": self.warm_start, "weights": self.weights}
        self.relations_ = as_relations(self.relations).graph_for(
            "RecursiveSVM", self.taxonomy_, has_all_labels=self.taxonomy is not None, **others
        )
        return data

    def prepare(self, X: Any, labels: LabelMatrix, sample_weight: Any) -> OneVsRest:
        """Return one binary problem per label, even with two labels, with C = 1; set the classes and the coupling."""
        relations = as_relations(self.relations)
        if not isinstance(self.sharing, str):
            self.sharing_ = float(self.sharing)
        all_nodes = relations.targets == "nodes"
        targets = Targets.of(labels, all_nodes=all_nodes, sets=not all_nodes or self.decodes_sets)
        if self.empty_leaf == "negative":
            targets = targets.with_nodes(self.taxonomy_.leaves)
        self._coupling = couple(relations, self.relations_, self.taxonomy_, targets.nodes, self.sharing_)
        return self.one_vs_rest(X, labels, sample_weight, targets)

    def solve(self, problem: OneVsRest, C: float, state: Any = None, *, keep_state: bool = False) -> Solution:
        """Minimise the objective over the weights of all nodes, to a certified duality gap."""
        assert self._coupling is not None
        form = self.weights
        if form == "auto":
            form = "dense" if self.fits_dense(problem) else self._coupling.compact_form("RecursiveSVM", problem)
        options: dict[str, Any] = {"form": form, "prune": self.prune, "state": state, "keep_state": keep_state}
        return self._coupling.solve(at_C(problem, C), self.settings(), self.pool(), **options)
