"""One-vs-rest support vector machines over the labels: the flat baseline of all five papers."""

from __future__ import annotations

from typing import Any

from cladist.errors import one_of
from cladist.learners.flat.base import FlatLinear


class FlatSVM(FlatLinear):
    """A linear SVM for every label against all others; the hierarchy only says which sets of labels are consistent.

    min_w ½‖w‖² + C Σ_i s_i ℓ(y_i w·x_i) for every label, ℓ(m) = max(0, 1 − m) or its square, the problem of LIBLINEAR
    and of scikit-learn's LinearSVC, solved for sixteen labels at a time to a certified duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG. None: a star of the classes seen.
    C : float or "cv"
        Weight of the losses. "cv": the best of 10⁻³ … 10³ by cross-validation on the rows given to `fit`.
    loss : {"squared_hinge", "hinge"}
        What is minimised.
    targets : {"leaves", "nodes"}
        Whether there is a classifier for each of the deepest labels of rows (SVM of Gopal & Yang 2013), or for every
        node that rows belong to (SVM of Rousu et al. 2005 and of Cesa-Bianchi et al. 2006). With single labels the
        second predicts the label whose path has the highest sum of scores.
    repair : {"top_down", "bottom_up", "best"}
        How sets of nodes become consistent, with `targets="nodes"`: a node goes unless all above it are on; or those
        above are added; or the consistent set of highest total score is taken (not on a DAG).
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem, as in LIBLINEAR.
    weights : {"auto", "dense", "sparse", "dual"}
        How weights are kept: all of them; those that are not 0, listed by feature; or as the rows' shares in each,
        from which they are made when scores are wanted. "auto" is dense up to 2 GiB, dual beyond.
    prune : float
        With `weights="sparse"`, weights up to this size are dropped after learning. Predictions change a little;
        `history_` tells of the weights before.
    tol : float
        Relative duality gap that every classifier reaches.
    max_iter : int
        Sweeps over all rows at most; if they do not suffice, a ConvergenceWarning says so.
    warm_start : bool
        Whether `fit` begins where this object's last `fit` ended, if rows, problems and features are as many as then
        and the loss is the same; otherwise it begins afresh. What is kept for it takes 4 bytes a row and label, and is
        not saved. The model is as exact as any; the time is less where the solution is near.
    random_state : int, RandomState or None
        For the order in which rows are visited.
    n_jobs : int or None
        Threads that solve blocks of sixteen labels side by side; the model does not depend on it.
    executor : Executor, optional
        Runs the blocks instead, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label a row or the set of labels with positive scores; "auto" goes by the form of y.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order.
    coef_, intercept_ : arrays
        One row a class.
    node_coef_ : CSR (nodes × features)
    C_, cv_results_
        With `C="cv"`, the C chosen and what each gave.
    n_iter_, converged_ : int, bool
        The most sweeps of any block; whether all gaps are within `tol`.
    history_ : list of one dict
        `objective` (the sum over all classifiers), `gap` (relative, of the sum), `worst_gap`, `passes`, `seconds`.

    Notes
    -----
    Fitting costs O(labels / 16 · sweeps · nonzeros) and 64 bytes a row and a feature for each worker, beside the
    weights: 4 bytes a label and feature if dense. Rows are held in float32; where that does not suffice for `tol`, the
    last digits are found in float64.

    Examples
    --------
    >>> from cladist import FlatSVM, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = FlatSVM(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict_paths([[0, 3]])
    [['art']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: Any = 1.0,
        loss: str = "squared_hinge",
        targets: str = "leaves",
        repair: str = "top_down",
        fit_intercept: bool = True,
        class_weight: Any = None,
        weights: str = "auto",
        prune: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
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
        self.targets = targets
        self.repair = repair
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

    @property
    def _loss(self) -> str:
        return self.loss

    def check_parameters(self) -> None:
        one_of("FlatSVM", "loss", self.loss, ("squared_hinge", "hinge"))
        super().check_parameters()
