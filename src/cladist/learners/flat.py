"""One-vs-rest linear classifiers over the labels: SVM and LR of Gopal & Yang 2013, the flat baseline of all papers."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy.typing as npt

from cladist import progress
from cladist.checkpoints import resumable
from cladist.errors import ParameterError, TooLargeError, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.candidate_sets import fit_candidates
from cladist.learners.linear_classifier import LinearClassifier
from cladist.learners.select_c import choose_C
from cladist.solvers import OneVsRest, Solution, solve_one_vs_rest
from cladist.solvers.problem import REPAIRS, TARGETS, Targets

if TYPE_CHECKING:
    _Learner = LinearClassifier
else:
    _Learner = object


class _Training(_Learner):
    """The steps of `fit`, the same for both losses."""

    targets: str
    repair: str

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        super().check_parameters()
        one_of(type(self).__name__, "targets", self.targets, TARGETS)
        one_of(type(self).__name__, "repair", self.repair, REPAIRS)

    @resumable
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train all classifiers.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        sample_weight : array (rows,), optional
            Factors of C; a row of weight 0 counts as absent.
        """
        self.check_parameters()
        if self.partial_labels:
            return fit_candidates(self, X, y, sample_weight)
        X, labels, weights = self.validate_weighted(X, y, sample_weight)
        with progress.show_lines(self.verbose):
            C = choose_C(self, X, labels, weights)
            problem = self.prepare(X, labels, weights)
            started = time.perf_counter()
            state = self.last_state(problem, C) if self.warm_start else None
            solution = self.solve(problem, C, state, keep_state=self.warm_start)
            return self.keep(solution, problem, C, started)

    def prepare(self, X: Any, labels: LabelMatrix, sample_weight: Any) -> OneVsRest:
        """Return one binary problem per target node, with C = 1, and set the classes."""
        if self.targets == "nodes" and self.repair == "best":
            self.taxonomy_.require_tree(f"{type(self).__name__} with repair='best'")
        targets = Targets.of(labels, all_nodes=self.targets == "nodes", sets=self.decodes_sets)
        self.target_nodes_ = targets.nodes
        self.set_classes(targets.labels)
        shared = {"loss": self.loss, "fit_intercept": self.fit_intercept, "class_weight": self.class_weight}
        return targets.problem(type(self).__name__, X, labels, sample_weight, **shared)

    def solve(self, problem: OneVsRest, C: float, state: Any = None, *, keep_state: bool = False) -> Solution:
        """Solve all problems, sixteen at a time, each to its own duality gap."""
        form = self.weights
        if form == "auto":
            form = "dense" if problem.fits_dense(or_dual=True) else self.compact_form(problem)
        solution = solve_one_vs_rest(
            problem.at_C(C),
            self.settings(),
            executor=executor_for(self.n_jobs, self.executor),
            form=form,
            prune=self.prune,
            state=state,
            keep_state=keep_state,
        )
        return replace(solution, history=[sum_blocks(solution.history)])

    def compact_form(self, problem: OneVsRest) -> str:
        """Return the form of weights that are too many to be dense."""
        return "dual"


def sum_blocks(history: list[dict[str, float]]) -> dict[str, float]:
    """Return one entry of a history for independent blocks of problems."""
    objective = float(sum(entry["objective"] for entry in history))
    gap = sum(entry["gap"] * entry["objective"] for entry in history)
    return {
        "objective": objective,
        "gap": float(gap / objective) if objective > 0 else 0.0,
        "worst_gap": float(max((entry["gap"] for entry in history), default=0.0)),
        "passes": max((int(entry["passes"]) for entry in history), default=0),
    }


@dataclass(eq=False, repr=False)
class FlatSVM(_Training, LinearClassifier):
    """A linear SVM for every label against all others; the hierarchy only says which sets of labels are consistent.

    min_w ½‖w‖² + C Σ_i s_i ℓ(y_i w·x_i) for every label, ℓ(m) = max(0, 1 − m) or its square, s_i the `sample_weight`:
    the problem of LIBLINEAR and of scikit-learn's LinearSVC, solved for sixteen labels at a time to a certified
    duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG. None: a star of the classes seen.
    C : float or "cv"
        Weight of the losses. "cv": the best power of ten by cross-validation on the training rows.
    scoring : None, str, callable or Loss
        What "cv" maximises: a name ("accuracy", "micro_f1", "average_precision", …), a scorer of (model, X, y), or a
        loss, which is minimised. None: accuracy, for sets average precision.
    budget : float or None
        Seconds after which the search ends with the best value so far, when the fit under way is done.
    loss : {"squared_hinge", "hinge"}
        The loss ℓ.
    targets : {"leaves", "nodes"}
        Whether there is a classifier for each of the deepest labels of rows (SVM of Gopal & Yang 2013), or for every
        node that rows belong to (SVM of Rousu et al. 2005 and of Cesa-Bianchi et al. 2006). With single labels the
        second predicts the label whose path has the highest sum of scores.
    repair : {"top_down", "bottom_up", "best"}
        How sets of nodes become consistent with `targets="nodes"`: a node is dropped unless all nodes above it are
        chosen; or the nodes above are added; or the consistent set of highest total score is taken (not on a DAG).
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem, as in LIBLINEAR.
    weights : {"auto", "dense", "sparse", "dual"}
        How weights are stored: all of them; those that are not 0, listed by feature;
        or as the rows' shares in each, from which weights are made on demand. "auto" is dense up to 1 GiB, dual beyond.
    prune : float
        With `weights="sparse"`, weights up to this size are dropped after training. Predictions change slightly;
        `history_` is measured before pruning.
    tol : float
        Relative duality gap that every classifier reaches.
    max_iter : int
        Most sweeps over all rows; if they do not suffice, a ConvergenceWarning says so.
    solver : {"auto", "coordinate", "newton"}
        Dual coordinate descent; or Newton's method for smooth losses and an interior point method for the hinge, for
        dense rows of up to some hundred features. "auto": coordinate descent, and Newton steps as soon as it proves to
        cost more than they would, for instance where features have very different scales. All reach the same optimum.
    warm_start : bool
        Whether `fit` starts from the solution of this object's last `fit`, if the numbers of rows, problems and
        features and the loss are the same. The state for it takes 4 bytes per row and label, and is not saved.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    n_jobs : int or None
        Threads that solve blocks of sixteen labels in parallel; the model does not depend on it.
    executor : Executor, "ray" or None
        Runs the blocks instead of threads, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or the set of labels with positive scores; "auto": as y has them.
    partial_labels : bool
        Whether y has a set of candidates per row, of which one is the label; see `candidate_probabilities_`.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order.
    coef_, intercept_ : arrays
        One row per class.
    node_coef_ : CSR (nodes × features)
    C_, cv_results_
        With `C="cv"`, the C chosen and the score of each.
    candidate_probabilities_ : CSR (rows × classes)
        With `partial_labels`, the probability of each candidate of the training rows.
    n_iter_, converged_ : int, bool
        The most sweeps of any block; whether all gaps are within `tol`.
    history_ : list of one dict
        `objective` (the sum over all classifiers), `gap` (relative, of the sum), `worst_gap`, `passes`, `seconds`.

    Notes
    -----
    Fitting costs O(labels / 16 · sweeps · nonzeros) and 64 bytes per row and per feature for each worker, besides
    the weights: 4 bytes per label and feature if dense. Rows are held in float32; where that does not suffice for
    `tol`, the last digits are computed in float64.

    Examples
    --------
    >>> from cladist import FlatSVM, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = FlatSVM(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict_paths([[0, 3]])
    [['art']]
    """

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1.0
    scoring: Any = None
    budget: float | None = None
    loss: str = "squared_hinge"
    targets: str = "leaves"
    repair: str = "top_down"
    fit_intercept: bool = True
    class_weight: Any = None
    weights: str = "auto"
    prune: float = 0.0
    tol: float = 1e-3
    max_iter: int = 1000
    solver: str = "auto"
    warm_start: bool = False
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    partial_labels: bool = False
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        one_of("FlatSVM", "loss", self.loss, ("squared_hinge", "hinge"))
        super().check_parameters()


@dataclass(eq=False, repr=False)
class FlatLogistic(_Training, LinearClassifier):
    """Logistic regression for every label against all others.

    min_w ½‖w‖² + C Σ_i s_i log(1 + e^(−y_i w·x_i)) for every label, s_i the `sample_weight`: the problem of LIBLINEAR,
    solved for sixteen labels at a time to a certified duality gap. Costs are those of `FlatSVM`; there is no dual form
    of weights, since every row has a share in every classifier.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG. None: a star of the classes seen.
    C : float or "cv"
        Weight of the losses. "cv": the best power of ten by cross-validation on the training rows.
    scoring : None, str, callable or Loss
        What "cv" maximises: a name ("accuracy", "micro_f1", "average_precision", …), a scorer of (model, X, y), or a
        loss, which is minimised. None: accuracy, for sets average precision.
    budget : float or None
        Seconds after which the search ends with the best value so far, when the fit under way is done.
    targets : {"leaves", "nodes"}
        Whether there is a classifier for each of the deepest labels of rows (LR of Gopal & Yang 2013), or for every
        node that rows belong to. With single labels the
        second predicts the label whose path has the highest sum of scores.
    repair : {"top_down", "bottom_up", "best"}
        How sets of nodes become consistent with `targets="nodes"`: a node is dropped unless all nodes above it are
        chosen; or the nodes above are added; or the consistent set of highest total score is taken (not on a DAG).
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem, as in LIBLINEAR.
    weights : {"auto", "dense", "sparse"}
        How weights are stored: all of them; those that are not 0, listed by feature. "auto" is
        dense, up to 2 GiB.
    prune : float
        With `weights="sparse"`, weights up to this size are dropped after training. Predictions change slightly;
        `history_` is measured before pruning.
    tol : float
        Relative duality gap that every classifier reaches.
    max_iter : int
        Most sweeps over all rows; if they do not suffice, a ConvergenceWarning says so.
    solver : {"auto", "coordinate", "newton"}
        Dual coordinate descent; or Newton's method for smooth losses and an interior point method for the hinge, for
        dense rows of up to some hundred features. "auto": coordinate descent, and Newton steps as soon as it proves to
        cost more than they would, for instance where features have very different scales. All reach the same optimum.
    warm_start : bool
        Whether `fit` starts from the solution of this object's last `fit`, if the numbers of rows, problems and
        features and the loss are the same. The state for it takes 4 bytes per row and label, and is not saved.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    n_jobs : int or None
        Threads that solve blocks of sixteen labels in parallel; the model does not depend on it.
    executor : Executor, "ray" or None
        Runs the blocks instead of threads, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or the set of labels with positive scores; "auto": as y has them.
    partial_labels : bool
        Whether y has a set of candidates per row, of which one is the label; see `candidate_probabilities_`.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order.
    coef_, intercept_ : arrays
        One row per class.
    node_coef_ : CSR (nodes × features)
    C_, cv_results_
        With `C="cv"`, the C chosen and the score of each.
    candidate_probabilities_ : CSR (rows × classes)
        With `partial_labels`, the probability of each candidate of the training rows.
    n_iter_, converged_ : int, bool
        The most sweeps of any block; whether all gaps are within `tol`.
    history_ : list of one dict
        `objective` (the sum over all classifiers), `gap` (relative, of the sum), `worst_gap`, `passes`, `seconds`.

    Examples
    --------
    >>> from cladist import FlatLogistic, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = FlatLogistic(taxonomy, C=10, tol=1e-5).fit(X, ["tennis", "chess", "art"])
    >>> model.predict([[0, 3]]).tolist()
    ['art']
    >>> model.predict_proba([[0, 3]]).round(2).tolist()
    [[0.77, 0.0, 0.23]]
    """

    loss = "logistic"
    has_probabilities: ClassVar[bool] = True

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1.0
    scoring: Any = None
    budget: float | None = None
    targets: str = "leaves"
    repair: str = "top_down"
    fit_intercept: bool = True
    class_weight: Any = None
    weights: str = "auto"
    prune: float = 0.0
    tol: float = 1e-3
    max_iter: int = 1000
    solver: str = "auto"
    warm_start: bool = False
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    partial_labels: bool = False
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        super().check_parameters()
        if self.weights == "dual":
            raise ParameterError(
                "FlatLogistic: every row supports a logistic classifier; use weights='dense' or 'sparse'."
            )

    def compact_form(self, problem: OneVsRest) -> str:
        """Raise a `TooLargeError`: dual weights would be no smaller."""
        n_classes, n_used = problem.n_classes, problem.rows.n_used
        raise TooLargeError(
            f"FlatLogistic: {n_classes} classes × {n_used} features are {n_classes * n_used * 4 / 2**30:.1f} GiB "
            "of weights; use weights='sparse' with prune=0.01 or so, or weights='dense' if there is room."
        )
