"""H-RLS and SH-RLS: hierarchical regularised least squares, online.

Cesa-Bianchi, Gentile & Zaniboni, "Incremental Algorithms for Hierarchical Classification", JMLR 7, 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, TooLargeError, is_count, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.online.base import Ids
from cladist.learners.online.dual_ridge import DualRidge
from cladist.learners.online.node_decisions import UNSEEN, Margins, NodeDecisions
from cladist.learners.online.primal_ridge import PrimalRidge
from cladist.learners.online.ridge import Rule
from cladist.learners.online.stores import EVERY_ROW, Stores
from cladist.storage.array_groups import Arrays

MOST_PRIMAL_FEATURES = 512  # solver="auto" takes d × d inverses up to here
MOST_PRIMAL_BYTES = 2**30  # and while all of them fit into this
SOLVERS = ("auto", "primal", "dual")
ROUNDING = 1e-14  # of a margin, which is about 1 for rows of unit length


class HierarchicalRLS(NodeDecisions):
    """Regularised least squares at every node, on the rows that belong to its parent, one row at a time.

    Node v keeps the examples S it was shown, with targets s = ±1 for whether they belong to v. A row x of unit length
    gets the margin (x itself is part of the inverse)::

        w_v = (αI + S Sᵀ + x xᵀ)⁻¹ S s,    m_v = w_v·x

    and labels from the roots down: v is on where m_v ≥ 0 and its parent is on. Then the true labels are seen, and
    every node whose true parent is on (a root always) adds the row to its examples. Under the paper's label model,
    P(v | parent, x) = (1 + u_v·x) / 2, the regret against the classifier that knows u grows like the logarithm of the
    number of rows.

    With `sparse` (SH-RLS) a node adds the row only where its margin is small, m_v² ≤ c ln t / Q, c being
    `margin_constant`, t the number of the row and Q how many examples the node has; without any it always does.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen.
    alpha : float
        Weight of the ridge; 1 in the paper.
    sparse : bool
        Whether to store only examples of small margin (SH-RLS).
    margin_constant : float
        c above. Infinity stores everything, as H-RLS does.
    budget : int or None
        How many examples a store may hold. When one more is stored, that of smallest dual weight (its norm over the
        nodes that share the store) goes, exactly: the model is then that of the others. None: no limit, and memory
        grows with the rows stored.
    gated : bool
        False: every node learns from all rows and is read alone (S-RLS with `sparse`); see `repair`.
    include_current : bool
        Whether the row itself is part of the inverse. Without, margins are plain ridge scores: larger, of equal sign.
    normalize : bool
        Whether rows are scaled to unit length, for other kernels in the kernel's space; the paper's analysis needs it.
    solver : {"auto", "primal", "dual"}
        "primal" holds a d × d inverse a store; "dual" a factor of the stored examples' Gram matrix, and nothing of
        size d × d. "auto": primal for a linear kernel without a budget up to 512 features, and while the inverses take
        at most 1 GiB.
    kernel : {"linear", "poly", "rbf"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values.
    degree, coef0, gamma
        Of the kernel, as in scikit-learn's SVC.
    threshold : float
        The margin from which a node is on.
    unseen : {"positive", "negative"}
        What a node without any example says. The paper's margin of 0 is positive.
    repair : {"top_down", "bottom_up", "best"}
        With ``gated=False``, how sets are made consistent: a node is on where all nodes above it are; or all nodes
        above one that is on are, too; or the labelling of largest total margin.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        Where y has one label a row, the labels that can be predicted.
    shuffle : bool
        Whether `fit` visits the rows in random order. Without `sparse` and `budget` the model does not depend on it.
    decode : {"auto", "single", "multi"}
        Whether to predict one label a row or a set; "auto" goes by the form of y.
    random_state : int, RandomState or None
        For the order of the rows.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order; for sets all nodes.
    n_stored_ : array
        How many examples each node holds, in `taxonomy_.names` order.
    history_ : list of dict
        One entry a call, the last thousand: `objective`, the mean uniform H-loss of the sets of labels predicted
        before each update; `zero_one_loss`, the share of these sets that are not exactly right; `stored`, the examples
        held in all stores; `rounds`; `seconds`. Where y has one label a row, `objective` is that of what the nodes say
        from the roots down, and `multiclass_error` and `tree_induced_error` are those of the labels that
        `predict_then_learn` returned.
    solver_ : {"primal", "dual"}
    rows_seen_, n_iter_ : int
        Rows and calls.

    Notes
    -----
    Siblings are shown the same rows. Without `sparse` they therefore share one inverse, and a node more costs only its
    own targets: O(d²) a row and family in primal form, and in dual form all rows of a family together cost what one
    Cholesky factorisation of its final size does. With `sparse` every node has its own. Sets are predicted by signs,
    which plain ridge scores have, too; `decision_function` has the margins. Where y has one label a row, a label's
    score is the lowest margin on its path and minus the highest of its children's.

    Examples
    --------
    >>> from cladist import HierarchicalRLS, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 0], [2, 1, 0], [0, 0, 2], [0, 1, 2]]
    >>> model = HierarchicalRLS(taxonomy).fit(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}])
    >>> model.predict([[3, 0, 0], [0, 0, 3]])
    [{'tennis'}, {'art'}]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        alpha: float = 1.0,
        sparse: bool = False,
        margin_constant: float = 5.0,
        budget: int | None = None,
        gated: bool = True,
        include_current: bool = True,
        normalize: bool = True,
        solver: str = "auto",
        kernel: Any = "linear",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: Any = "scale",
        threshold: float = 0.0,
        unseen: str = "positive",
        repair: str = "top_down",
        allowed_labels: Any = "seen",
        shuffle: bool = True,
        decode: str = "auto",
        random_state: Any = None,
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.alpha = alpha
        self.sparse = sparse
        self.margin_constant = margin_constant
        self.budget = budget
        self.gated = gated
        self.include_current = include_current
        self.normalize = normalize
        self.solver = solver
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.threshold = threshold
        self.unseen = unseen
        self.repair = repair
        self.allowed_labels = allowed_labels
        self.shuffle = shuffle
        self.decode = decode
        self.random_state = random_state
        self.verbose = verbose

    # ---------------------------------------------------------------- learning

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_common()
        one_of(who, "sparse", self.sparse, (False, True))
        one_of(who, "include_current", self.include_current, (False, True))
        one_of(who, "solver", self.solver, SOLVERS)
        for name in ("alpha", "margin_constant"):
            if not is_positive(getattr(self, name)):
                raise ParameterError(f"{who}: {name} must be positive; got {getattr(self, name)!r}.")
        if np.isinf(self.alpha):
            raise ParameterError(f"{who}: alpha must be a finite number; got {self.alpha!r}.")
        if self.budget is not None and not is_count(self.budget):
            raise ParameterError(f"{who}: budget must be a whole number from 1 up, or None; got {self.budget!r}.")
        if self.solver == "primal" and (self.budget is not None or not self._is_linear):
            raise ParameterError(f"{who}: a budget and kernels need solver='dual', which holds examples.")

    def _rule(self) -> Rule:
        c = float(self.margin_constant) if self.sparse else np.inf
        return Rule(float(self.alpha), c, self.include_current, UNSEEN[self.unseen])

    def _make_state(self, X: Any) -> None:
        stores = Stores.of(self.taxonomy_, gated=self.gated, shared=not self.sparse)
        self.solver_ = self._chosen_solver(len(stores), X.shape[1])
        self.ridge_: Any
        if self.solver_ == "primal":
            self.ridge_ = PrimalRidge(stores, self._rule(), X.shape[1])
        else:
            self.ridge_ = DualRidge(stores, self._rule(), self._kernel_function(), self.budget)

    def _chosen_solver(self, n_stores: int, n_features: int) -> str:
        needed = 8 * n_stores * n_features**2
        if self.solver == "primal" and needed > 4 * MOST_PRIMAL_BYTES:
            raise TooLargeError(
                f"HierarchicalRLS: {n_stores} inverses of {n_features} × {n_features} are {needed / 2**30:.1f} GiB; "
                "use solver='dual', or fewer features."
            )
        few = n_features <= MOST_PRIMAL_FEATURES and needed <= MOST_PRIMAL_BYTES
        if self.solver != "auto":
            return self.solver
        return "primal" if few and self._is_linear and self.budget is None else "dual"

    def _round_margins(
        self, X: Any, labels: LabelMatrix, first_round: int, *, everywhere: bool
    ) -> tuple[Margins | None, Ids]:
        margins = _settled(self.ridge_.learn(X, labels.to_indicator(), first_round, everywhere=everywhere))
        return (margins if everywhere else None), self._first_mistakes(margins, labels)

    def _more_history(self) -> dict[str, Any]:
        return {"stored": int(sum(self.ridge_.counts))}

    def _renumber_nodes(self, new_id: Ids, node: int) -> None:
        self.ridge_.stores.renumber(new_id)
        self.ridge_.add(node, int(self.taxonomy_.parent[node]) if self.gated else EVERY_ROW)

    # ---------------------------------------------------------------- answering

    def _margins(self, X: Any, *, signs_only: bool) -> Margins:
        return _settled(np.asarray(self.ridge_.margins(X, signs_only=signs_only)))

    @property
    def n_stored_(self) -> Ids:
        """How many examples each node holds, in `taxonomy_.names` order."""
        counts = np.zeros(self.taxonomy_.n_nodes, np.int64)
        for nodes, count in zip(self.ridge_.stores.nodes, self.ridge_.counts, strict=True):
            counts[nodes] = count
        return counts

    @property
    def node_coef_(self) -> npt.NDArray[np.float64]:
        """The vectors (αI + S Sᵀ)⁻¹ S s, one row a node in `taxonomy_.names` order; made when asked for."""
        if not self._is_linear:
            raise AttributeError(f"node_coef_ needs weights, which kernel={self.kernel!r} does not have.")
        if all(count == 0 for count in self.ridge_.counts):
            return np.zeros((self.taxonomy_.n_nodes, self.n_features_in_))
        return np.asarray(self.ridge_.node_coef(self.taxonomy_.n_nodes))

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The vectors of the classes' own nodes, one row a class."""
        return self.node_coef_[self.class_nodes_]

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        return {**self._told_state(), "solver": self.solver_}, self.ridge_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._take_state(state)
        self.solver_ = state["solver"]
        self.check_parameters()
        one_of("HierarchicalRLS", "solver", self.solver_, SOLVERS[1:])
        size = self.taxonomy_.n_nodes, self.n_features_in_
        if self.solver_ == "primal":
            self.ridge_ = PrimalRidge.unpack(self._rule(), *size, arrays)
        else:
            self.ridge_ = DualRidge.unpack(self._rule(), *size, self._kernel_function(), self.budget, arrays)


def _settled(margins: Margins) -> Margins:
    """Return margins with 0 where only rounding differs from it: 0 is on, and -1e-17 would be off."""
    return np.where(np.abs(margins) < ROUNDING, 0.0, margins)
