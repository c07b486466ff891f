"""H-RLS and SH-RLS: hierarchical regularised least squares, online.

Cesa-Bianchi, Gentile & Zaniboni, "Incremental Algorithms for Hierarchical Classification", JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cladist.checkpoints import resumable
from cladist.errors import ParameterError, TooLargeError, is_count, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.kernel_functions import Kernel, check_values, gamma_for
from cladist.learners.online.base import Entry, Ids, OnlineClassifier
from cladist.learners.online.node_decisions import UNSEEN, Margins, NodeDecisions
from cladist.learners.online.ridge import EVERY_ROW, DualRidge, NodeGroups, PrimalRidge, RidgeRule
from cladist.learners.row_arrays import normalize_rows
from cladist.learners.select_c import choose
from cladist.storage.array_groups import Arrays

MOST_PRIMAL_FEATURES = 512  # solver="auto" uses d × d inverses up to this number of features
MOST_PRIMAL_BYTES = 2**30  # and while all of them fit into this
SOLVERS = ("auto", "primal", "dual")
ROUNDING = 1e-14  # rounding error of a margin, which is about 1 for rows of unit length


@dataclass(eq=False, repr=False)
class HierarchicalRLS(NodeDecisions, OnlineClassifier):
    """Regularised least squares at every node, trained row by row on the rows of its parent.

    Node v stores examples S_v (columns) with targets s_v = ±1 for whether they belong to v. A row x of unit length gets
    the margin m_v, with x itself in the inverse (H-RLS)::

        w_v = (αI + S_v S_vᵀ + x xᵀ)⁻¹ S_v s_v,    m_v = w_v·x

    and labels from the roots down: v is on if m_v ≥ 0 and its parent is on. The true labels are then revealed, and
    every node whose true parent is on (a root always) adds the row to its examples. Under the paper's label model,
    P(v | parent, x) = (1 + u_v·x) / 2, the regret against the classifier that knows u grows like the logarithm of the
    number of rows.

    With `sparse` (SH-RLS) node v adds the row only if its margin is small, or if it has no example yet::

        m_v² ≤ c ln t / Q_v

    where c is `margin_constant`, t the number of the row and Q_v the number of examples of v.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes in y.
    alpha : float or "cv"
        Weight of the ridge; 1 in the paper. "cv": the best power of ten by cross-validation on the rows given to `fit`.
    fit_intercept : bool
        Whether rows have one more feature, which is 1 after they were scaled; the paper has none.
    sparse, margin_constant : bool, float
        Whether to store only examples of small margin (SH-RLS), and c above; infinity stores every row.
    budget : int or None
        The largest number of examples that nodes with common examples may hold. When one more is stored, the one of
        smallest dual weight (its norm over these nodes) is removed exactly: the model is that of the others. None: no
        limit, and memory grows with the rows stored.
    gated : bool
        Whether a node is trained on the rows of its parent only. False: on all rows, and it is read alone (S-RLS with
        `sparse`); see `repair`.
    include_current : bool
        Whether the row itself is in the inverse. Without it, margins are plain ridge scores: larger, with equal signs.
    normalize : bool
        Whether rows are scaled to unit length, for kernels in the kernel's space; the paper's analysis needs it.
    solver : {"auto", "primal", "dual"}
        "primal" holds d × d inverses; "dual" holds factors of the stored examples' Gram matrices, and nothing of size
        d × d. "auto": primal for a linear kernel without a budget up to 512 features, if the inverses take at most
        1 GiB.
    kernel : {"linear", "poly", "rbf"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values.
    degree, coef0, gamma : int, float, {"scale", "auto"} or float
        Parameters of "poly", (gamma ⟨x, z⟩ + coef0)^degree, and "rbf", exp(−gamma ‖x − z‖²), as in scikit-learn's SVC.
    threshold : float
        The margin from which a node is on.
    unseen : {"positive", "negative"}
        The prediction of a node without examples. The paper's margin of 0 is positive.
    repair : {"top_down", "bottom_up", "best"}
        With ``gated=False``, how sets are made consistent: a node is on if all its ancestors are; or the ancestors of
        every node that is on are on as well; or the labelling of largest total margin.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        The labels that can be predicted if y has one label per row.
    shuffle, random_state : bool; int, RandomState or None
        Whether `fit` visits the rows in random order, and its seed. Without `sparse` and `budget` the model does not
        depend on it.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order; for sets all nodes.
    n_stored_ : array
        The number of examples of each node, in `taxonomy_.names` order.
    history_ : list of dict
        One entry per call, the last thousand: `objective`, the mean uniform H-loss of the sets predicted before each
        update; `zero_one_loss`, the share of these sets that are not exactly right; `stored`, the number of stored
        examples; `rounds`; `seconds`. If y has one label per row, `objective` is that of the nodes read from the roots
        down; `multiclass_error` and `tree_induced_error` are those of the labels that `predict_then_learn` returned.
    solver_ : {"primal", "dual"}
        The form that was chosen.
    alpha_, cv_results_ : float, list of dict
        With `alpha="cv"`, the alpha chosen and the score of each value.
    converged_, rows_seen_, n_iter_ : bool, int, int
        Whether no prediction of the last call was wrong; the number of rows and of calls.

    Notes
    -----
    Siblings are shown the same rows. Without `sparse` they therefore share one inverse, and one more node costs only
    its targets: O(d²) per row and family in primal form; in dual form all rows of a family together cost one Cholesky
    factorisation of the final size. With `sparse` every node has its own. Sets are predicted by signs, which plain
    ridge scores have as well; `decision_function` returns the margins. If y has one label per row, a label's score is
    the smaller of the lowest margin on its path and minus the highest margin of its children.

    Examples
    --------
    >>> from cladist import HierarchicalRLS, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 0], [2, 1, 0], [0, 0, 2], [0, 1, 2]]
    >>> model = HierarchicalRLS(taxonomy).fit(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}])
    >>> model.predict([[3, 0, 0], [0, 0, 3]])
    [{'tennis'}, {'art'}]
    """

    answers_sets: ClassVar[bool] = True
    taxonomy: Any = None
    _: KW_ONLY
    alpha: Any = 0.3
    fit_intercept: bool = True
    sparse: bool = False
    margin_constant: float = 5.0
    budget: int | None = None
    gated: bool = True
    include_current: bool = True
    normalize: bool = True
    solver: str = "auto"
    kernel: Any = "linear"
    degree: int = 3
    coef0: float = 1.0
    gamma: Any = "scale"
    threshold: float = 0.0
    unseen: str = "positive"
    repair: str = "top_down"
    allowed_labels: Any = "seen"
    shuffle: bool = True
    decode: str = "auto"
    random_state: Any = None
    checkpoint: Any = None
    verbose: bool | int = 0

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, in one pass; y has one label or a set of labels per row."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_labels(labels)
        choose(self, "alpha", X, labels)
        self.begin(X)
        [order] = self.row_orders(X.shape[0], 1)
        self.train_rows(X[order], labels[order])
        return self

    def run_rounds(self, X: Any, labels: LabelMatrix, *, predicting: bool) -> tuple[Entry, Any]:
        """Make one round per row: compute its margins, then add it to the examples of the nodes it is shown to."""

        def train(rows: Any, part: LabelMatrix, first_round: int, everywhere: bool) -> tuple[Margins | None, Ids]:
            margins = self.ridge_.train(rows, part.to_indicator(), first_round, everywhere=everywhere)
            margins = _round_to_zero(margins)
            return (margins if everywhere else None), self.count_first_mistakes(margins, part)

        entry, predictions = self.train_in_chunks(train, X, labels, predicting=predicting)
        self.converged_ = entry["objective"] == 0
        return {**entry, "stored": int(sum(self.ridge_.counts))}, predictions

    def start(self, X: Any) -> None:
        """Make an empty set of examples for every group of nodes."""
        self.gamma_ = gamma_for(self.gamma, X)
        groups = NodeGroups.of(self.taxonomy_, gated=self.gated, shared=not self.sparse)
        self.solver_ = self._choose_solver(len(groups), X.shape[1])
        if self.solver_ == "primal":
            self.ridge_: Any = PrimalRidge(groups, self._rule(), self._kernel(), X.shape[1])
        else:
            self.ridge_ = DualRidge(groups, self._rule(), self._kernel(), self.budget)

    def _kernel(self) -> Kernel:
        return Kernel.of(self, normalize=self.normalize, constant=float(self.fit_intercept))

    def _rule(self) -> RidgeRule:
        c = float(self.margin_constant) if self.sparse else np.inf
        alpha = getattr(self, "alpha_", self.alpha)
        if isinstance(alpha, str):
            raise ParameterError("HierarchicalRLS: alpha='cv' needs all rows at once; call fit, or give a number.")
        return RidgeRule(float(alpha), c, self.include_current, UNSEEN[self.unseen])

    def _choose_solver(self, n_groups: int, n_features: int) -> str:
        size = 8 * n_groups * n_features**2
        if self.solver == "primal" and size > 4 * MOST_PRIMAL_BYTES:
            raise TooLargeError(
                f"HierarchicalRLS: {n_groups} inverses of {n_features} × {n_features} are {size / 2**30:.1f} GiB; "
                "use solver='dual', or fewer features."
            )
        if self.solver != "auto":
            return self.solver
        is_small = n_features <= MOST_PRIMAL_FEATURES and size <= MOST_PRIMAL_BYTES
        return "primal" if is_small and self.kernel == "linear" and self.budget is None else "dual"

    def move_nodes(self, new_id: Ids, node: int) -> None:
        self.ridge_.add_node(new_id, node, int(self.taxonomy_.parent[node]) if self.gated else EVERY_ROW)

    def check_parameters(self) -> None:
        who = type(self).__name__
        self.check_decision_parameters(
            flags=("gated", "normalize", "fit_intercept", "shuffle", "sparse", "include_current")
        )
        one_of(who, "solver", self.solver, SOLVERS)
        check_values(self, is_positive, "positive", "margin_constant")
        if not (isinstance(self.alpha, str) and self.alpha == "cv"):
            check_values(self, is_positive, "positive, or 'cv' to choose it", "alpha")
            check_values(self, np.isfinite, "a finite number", "alpha")
        if self.budget is not None:
            check_values(self, is_count, "a whole number from 1 up, or None", "budget")
        if self.solver == "primal" and (self.budget is not None or self.kernel != "linear"):
            raise ParameterError(f"{who}: a budget and kernels need solver='dual', which holds examples.")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return valid rows, scaled to unit length if `normalize` is set and the kernel is linear."""
        rows = super()._checked_rows(X, reset=reset)
        return normalize_rows(rows) if self.scales_rows() else rows.astype(np.float64, copy=False)

    def node_margins(self, X: Any, *, signs_only: bool = False) -> Margins:
        return _round_to_zero(self.ridge_.margins(X, signs_only=signs_only))

    @property
    def n_stored_(self) -> Ids:
        """The number of examples of each node, in `taxonomy_.names` order."""
        counts = np.zeros(self.taxonomy_.n_nodes, np.int64)
        for nodes, count in zip(self.ridge_.groups.nodes, self.ridge_.counts, strict=True):
            counts[nodes] = count
        return counts

    @property
    def node_coef_(self) -> npt.NDArray[np.float64]:
        """The vectors (αI + S Sᵀ)⁻¹ S s, one row per node in `taxonomy_.names` order; computed on access."""
        return self._node_weights("node_coef_")[:, :-1]

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The intercepts of the classes' own nodes, which belong to `coef_`."""
        return self._node_weights("intercept_")[self.class_nodes_, -1]

    def _node_weights(self, name: str) -> npt.NDArray[np.float64]:
        if self.kernel != "linear":
            raise AttributeError(f"{name} needs weights, which kernel={self.kernel!r} does not have.")
        return np.asarray(self.ridge_.node_coef(self.taxonomy_.n_nodes, self.n_features_in_))

    @staticmethod
    def from_old_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a model file; those of the first versions have no intercept."""
        return {"fit_intercept": False, **parameters}

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        choice = {"alpha": getattr(self, "alpha_", None), "cv_results": getattr(self, "cv_results_", None)}
        return {**self.pack_counters(), **choice, "solver": self.solver_}, self.ridge_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.unpack_counters(state)
        self.solver_ = state["solver"]
        if state.get("alpha") is not None:
            self.alpha_, self.cv_results_ = float(state["alpha"]), state["cv_results"]
        self.check_parameters()
        one_of("HierarchicalRLS", "solver", self.solver_, SOLVERS[1:])
        size = self.taxonomy_.n_nodes, self.n_features_in_
        if self.solver_ == "primal":
            self.ridge_ = PrimalRidge.unpack(self._rule(), *size, self._kernel(), arrays)
        else:
            self.ridge_ = DualRidge.unpack(self._rule(), *size, self._kernel(), self.budget, arrays)


def _round_to_zero(margins: Margins) -> Margins:
    """Return margins with 0 in place of rounding errors: 0 is on, and -1e-17 would be off."""
    return np.where(np.abs(margins) < ROUNDING, 0.0, margins)
