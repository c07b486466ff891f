"""PERC and H-PERC: a perceptron at every node.

Cesa-Bianchi, Gentile & Zaniboni, "Incremental Algorithms for Hierarchical Classification", JMLR 7, 2006, compare with
both.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, is_count, one_of
from cladist.labels import LabelMatrix
from cladist.learners.online.base import Ids
from cladist.learners.online.node_decisions import UNSEEN, Margins, NodeDecisions
from cladist.learners.online.perceptron_state import KernelPerceptrons, WeightPerceptrons
from cladist.storage.array_groups import Arrays


class HierarchicalPerceptron(NodeDecisions):
    """A perceptron at every node, on the rows that belong to its parent, read from the roots down.

    Node v is on where w_v·x ≥ 0 and its parent is on. Once the true labels are seen, every node whose true parent is on
    (a root always) and whose own sign was wrong changes: w_v += x if it should have been on, w_v −= x if not. On rows
    that some vector of length ‖u‖ separates with margin 1, a node makes at most ‖u‖² max ‖x‖² mistakes.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen.
    average : bool
        Whether to predict by the average of a node's n + 1 vectors before and after the n rows it was shown, or by the
        last. A vector changes where the last one is wrong, in either case.
    gated : bool
        False: every node learns from all rows and is read alone (PERC); see `repair`.
    normalize : bool
        Whether rows are scaled to unit length, for other kernels in the kernel's space.
    kernel : {"linear", "poly", "rbf"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values. With a kernel the model holds every row that
        changed it.
    degree, coef0, gamma
        Of the kernel, as in scikit-learn's SVC.
    unseen : {"positive", "negative"}
        What a node says that was shown no row. The score 0 is positive.
    repair : {"top_down", "bottom_up", "best"}
        With ``gated=False``, how sets are made consistent; see `HierarchicalRLS`.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        Where y has one label a row, the labels that can be predicted.
    max_iter : int
        Passes over the data in `fit`; the paper makes one.
    shuffle : bool
        Whether `fit` visits the rows in random order, a new one each pass.
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
    history_ : list of dict
        One entry a pass or a call, the last thousand: `objective`, the mean uniform H-loss of the sets of labels
        predicted before each update; `zero_one_loss`, the share of these sets that are not exactly right; `rounds`;
        `seconds`. Where y has one label a row, `objective` is that of what the nodes say from the roots down, and
        `multiclass_error` and `tree_induced_error` are those of the labels that `predict_then_learn` returned.
    rows_seen_, n_iter_ : int
        Rows and passes or calls.

    Notes
    -----
    A round costs O(nnz(x)) a node that is shown the row: the roots and the children of its labels. Memory: N · d
    numbers, twice that for an average.

    Examples
    --------
    >>> from cladist import HierarchicalPerceptron, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 0], [2, 1, 0], [0, 0, 2], [0, 1, 2]]
    >>> model = HierarchicalPerceptron(taxonomy, max_iter=10, random_state=0)
    >>> model.fit(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}]).predict([[3, 0, 0], [0, 0, 3]])
    [{'tennis'}, {'art'}]
    """

    threshold: ClassVar[float] = 0.0  # type: ignore[misc]
    _row_type: ClassVar[Any] = None  # weights are of X's type, as Hieron's: half the memory to walk through

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

    # ---------------------------------------------------------------- learning

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_common()
        one_of(who, "average", self.average, (False, True))
        if not is_count(self.max_iter):
            raise ParameterError(f"{who}: max_iter must be a whole number from 1 up; got {self.max_iter!r}.")

    def _make_state(self, X: Any) -> None:
        options: dict[str, Any] = {"gated": self.gated, "average": self.average, "empty": UNSEEN[self.unseen]}
        self.perceptrons_: Any
        if self._is_linear:
            dtype = np.float64 if X is None else X.dtype
            self.perceptrons_ = WeightPerceptrons(self.taxonomy_, self.n_features_in_, dtype, **options)
        else:
            self.perceptrons_ = KernelPerceptrons(self.taxonomy_, self._kernel_function(), **options)

    def _round_margins(
        self, X: Any, labels: LabelMatrix, first_round: int, *, everywhere: bool
    ) -> tuple[Margins | None, Ids]:
        return self.perceptrons_.learn(X, labels, everywhere=everywhere)

    def _is_settled(self, n_mistaken: int) -> bool:
        return bool(self.perceptrons_.last_changes == 0)

    def _renumber_nodes(self, new_id: Ids, node: int) -> None:
        self.perceptrons_.grow(self.taxonomy_, new_id)

    # ---------------------------------------------------------------- answering

    def _margins(self, X: Any, *, signs_only: bool) -> Margins:
        return np.asarray(self.perceptrons_.margins(X))

    @property
    def node_coef_(self) -> npt.NDArray[np.float64]:
        """The vectors that answer, one row a node in `taxonomy_.names` order."""
        if not self._is_linear:
            raise AttributeError(f"node_coef_ needs weights, which kernel={self.kernel!r} does not have.")
        return np.asarray(self.perceptrons_.weights).T

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The vectors of the classes' own nodes, one row a class."""
        return self.node_coef_[self.class_nodes_]

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        return self._told_state(), self.perceptrons_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._take_state(state)
        self.check_parameters()
        self._make_state(None)
        if self._is_linear:
            self.perceptrons_.unpack(arrays)
        else:
            self.perceptrons_.unpack(arrays, self.n_features_in_)
