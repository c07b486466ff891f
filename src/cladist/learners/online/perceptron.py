"""PERC and H-PERC: a perceptron at every node.

Cesa-Bianchi, Gentile & Zaniboni, "Incremental Algorithms for Hierarchical Classification", JMLR 7, 2006, compare with
both.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, is_count
from cladist.labels import LabelMatrix
from cladist.learners.explanation import Explanation
from cladist.learners.kernel_functions import gamma_for, make_kernel
from cladist.learners.online.allowed_labels import Ids
from cladist.learners.online.base import Entry, OnlineClassifier
from cladist.learners.online.node_decisions import UNSEEN, Margins, NodeDecisions, check_decision_parameters
from cladist.learners.online.node_perceptrons import KernelPerceptrons, ShownRows, WeightPerceptrons
from cladist.learners.online.row_arrays import normalize_rows
from cladist.learners.row_lengths import check_lengths
from cladist.storage.array_groups import Arrays


class HierarchicalPerceptron(OnlineClassifier):
    """A perceptron at every node, trained on the rows of its parent and read from the roots down.

    Node v is on if w_v·x ≥ 0 and its parent is on. The true labels z ∈ {0, 1} are then revealed, and every node whose
    true parent is on (a root always) and whose own sign was wrong changes (H-PERC)::

        w_v += (2 z_v − 1) x    if  z_par(v) = 1  and  (w_v·x ≥ 0) ≠ z_v

    If a vector u separates the rows of a node with margin 1, the node makes at most ‖u‖² max ‖x‖² mistakes (Novikoff).

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes in y.
    average : bool
        Whether to predict by the average of a node's n + 1 vectors before and after the n rows it was shown, or by the
        last vector. In both cases a vector changes if the last one is wrong.
    gated : bool
        Whether a node is trained on the rows of its parent only. False: on all rows, and it is read alone (PERC); see
        `repair`.
    normalize : bool
        Whether rows are scaled to unit length, for kernels in the kernel's space.
    kernel : {"linear", "poly", "rbf"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values. With a kernel the model holds every row that
        changed it.
    degree : int
        Degree of the polynomial kernel (gamma ⟨x, z⟩ + coef0)^degree.
    coef0 : float
        Constant term of the polynomial kernel.
    gamma : {"scale", "auto"} or float
        Factor in "poly" and in "rbf", exp(−gamma ‖x − z‖²); the words mean the same as in scikit-learn's SVC.
    unseen : {"positive", "negative"}
        The prediction of a node that was shown no row. The score 0 is positive.
    repair : {"top_down", "bottom_up", "best"}
        With ``gated=False``, how sets are made consistent; see `HierarchicalRLS`.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        The labels that can be predicted if y has one label per row.
    max_iter : int
        Number of passes over the data in `fit`; the paper makes one.
    shuffle : bool
        Whether `fit` visits the rows in random order, a new one in each pass.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or a set; "auto" follows the form of y.
    random_state : int, RandomState or None
        Seed of the order of the rows.
    verbose : bool or int
        Whether to print the progress of a long run.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order; for sets all nodes.
    history_ : list of dict
        One entry per pass or call, the last thousand: `objective`, the mean uniform H-loss of the sets predicted before
        each update; `zero_one_loss`, the share of these sets that are not exactly right; `rounds`; `seconds`. If y has
        one label per row, `objective` is that of the nodes read from the roots down, and `multiclass_error` and
        `tree_induced_error` are those of the labels that `predict_then_learn` returned.
    converged_ : bool
        Whether the last pass or call changed no vector.
    rows_seen_, n_iter_ : int
        The number of rows, and of passes or calls.

    Notes
    -----
    A round costs O(nnz(x)) for every node that is shown the row: the roots and the children of its labels. Memory:
    N · d numbers of X's type, twice that for an average.

    Examples
    --------
    >>> from cladist import HierarchicalPerceptron, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 0], [2, 1, 0], [0, 0, 2], [0, 1, 2]]
    >>> model = HierarchicalPerceptron(taxonomy, max_iter=10, random_state=0)
    >>> model.fit(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}]).predict([[3, 0, 0], [0, 0, 3]])
    [{'tennis'}, {'art'}]
    """

    answers_sets: ClassVar[bool] = True
    perceptrons_: Any

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        average: bool = False,
        gated: bool = True,
        normalize: bool = True,
        kernel: Any = "linear",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: Any = "scale",
        unseen: str = "positive",
        repair: str = "top_down",
        allowed_labels: Any = "seen",
        max_iter: int = 1,
        shuffle: bool = True,
        decode: str = "auto",
        random_state: Any = None,
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.average = average
        self.gated = gated
        self.normalize = normalize
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.unseen = unseen
        self.repair = repair
        self.allowed_labels = allowed_labels
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.decode = decode
        self.random_state = random_state
        self.verbose = verbose

    # ---------------------------------------------------------------- training

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, from zero.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows to train on.
        y : labels in any form
            One label or a set of labels per row.
        """
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_labels(labels)
        self.begin(X)
        for order in self.row_orders(X.shape[0], self.max_iter):
            self.train_rows(X[order], labels[order])
        return self

    def run_rounds(self, X: Any, labels: LabelMatrix, *, predicting: bool) -> tuple[Entry, Any]:
        """Make one round per row: predict it, then change the nodes that were wrong."""

        def train(rows: Any, part: LabelMatrix, first_round: int, everywhere: bool) -> tuple[Margins | None, Ids]:
            margins, h_losses = self.perceptrons_.train(rows, part, everywhere=everywhere)
            return margins, h_losses

        n_before = self.perceptrons_.n_updates
        entry, predictions = self._decisions.run_rounds(self, train, X, labels, predicting=predicting)
        self.converged_ = self.perceptrons_.n_updates == n_before
        return entry, predictions

    def start(self, X: Any) -> None:
        """Make a vector of 0 for every node."""
        self.gamma_ = gamma_for(self.gamma, X)
        self._make_perceptrons(X.dtype)  # weights are of X's type, which halves the memory of float32 rows

    def _make_perceptrons(self, dtype: Any) -> None:
        shown = ShownRows(self.taxonomy_, gated=self.gated, empty=UNSEEN[self.unseen])
        if self.kernel == "linear":
            size = self.n_features_in_, dtype
            self.perceptrons_ = WeightPerceptrons(self.taxonomy_, shown, *size, average=self.average)
        else:
            options = self.gamma_, self.degree, self.coef0
            kernel = make_kernel(self.kernel, *options, normalize=self.normalize)
            self.perceptrons_ = KernelPerceptrons(shown, kernel, average=self.average)

    def move_nodes(self, new_id: Ids, node: int) -> None:
        """Move the state of each node to its new id."""
        self.perceptrons_.move_nodes(self.taxonomy_, new_id)

    # ---------------------------------------------------------------- validation

    def check_parameters(self) -> None:
        """Raise unless all parameters are valid."""
        who = type(self).__name__
        check_decision_parameters(who, vars(self), flags=("gated", "normalize", "shuffle", "average"))
        self._check_decode(self.decode)
        if not is_count(self.max_iter):
            raise ParameterError(f"{who}: max_iter must be a whole number from 1 up; got {self.max_iter!r}.")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return valid rows, scaled to unit length if `normalize` is set and the kernel is linear."""
        rows = super()._checked_rows(X, reset=reset)
        return normalize_rows(rows, rows.dtype) if self.normalize and self.kernel == "linear" else rows

    def _check_lengths(self, X: Any) -> None:
        if not (self.normalize and self.kernel == "linear"):
            check_lengths(type(self).__name__, X)

    # ---------------------------------------------------------------- prediction

    @property
    def _decisions(self) -> NodeDecisions:
        return NodeDecisions(self.taxonomy_, self.decodes_sets, self.gated, self.repair, 0.0)

    def _margins(self, X: Any) -> Margins:
        margins: Margins = self.perceptrons_.margins(X)
        return margins

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the predicted labels of every (validated) row."""
        decisions = self._decisions
        parts = [decisions.decode_sets(self._margins(chunk)) for chunk in self._chunks(X)]
        return LabelMatrix.from_parts(parts, self.taxonomy_)

    def class_scores(self, X: Any) -> Margins:
        """Return the score of every class for every (validated) row."""
        return self._decisions.class_scores(self._margins(X), self.class_nodes_)

    def explain_nodes(self, X: Any, nodes: Ids) -> list[Explanation]:
        """Explain node ``nodes[i]`` of every (validated) row i."""
        W, margins = self.node_coef_, self._margins(X)
        self._columns_of([self.taxonomy_.names[v] for v in nodes])
        names = getattr(self, "feature_names_in_", None)
        return self._decisions.explain(X, nodes, W, margins, margins, names)

    @property
    def node_coef_(self) -> npt.NDArray[np.float64]:
        """The vectors that predict, one row per node in `taxonomy_.names` order."""
        if self.kernel != "linear":
            raise AttributeError(f"node_coef_ needs weights, which kernel={self.kernel!r} does not have.")
        return np.asarray(self.perceptrons_.weights).T

    # ---------------------------------------------------------------- model files

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the plain values and the arrays of a model file."""
        return self.pack_counters(), self.perceptrons_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore the state of a model file."""
        self.unpack_counters(state)
        self.check_parameters()
        self._make_perceptrons(np.float64)
        if self.kernel == "linear":
            self.perceptrons_.unpack(arrays)
        else:
            self.perceptrons_.unpack(arrays, self.n_features_in_)
