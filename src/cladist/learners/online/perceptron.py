"""PERC and H-PERC: a perceptron at every node, held as weights or as the rows that changed them.

Cesa-Bianchi, Gentile & Zaniboni, "Incremental Algorithms for Hierarchical Classification", JMLR 7, 2006, compare with
both.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.checkpoints import resumable
from cladist.errors import ModelFormatError, is_count
from cladist.kernels import perceptron as rounds
from cladist.labels import LabelMatrix
from cladist.learners import row_arrays
from cladist.learners.kernel_functions import Kernel, check_values, gamma_for
from cladist.learners.online.base import Entry, Ids, OnlineClassifier, progress_blocks
from cladist.learners.online.node_decisions import UNSEEN, Margins, NodeDecisions
from cladist.storage.array_groups import Arrays, pack_matrix, prefixed, unpack_ids
from cladist.taxonomy import Taxonomy

WHO = "HierarchicalPerceptron"
KERNEL_BLOCK = 256  # rows whose kernel values with each other are held at once
UPDATE_NAMES = ("update_support", "update_node", "update_sign", "update_when")


@dataclass(eq=False, repr=False)
class HierarchicalPerceptron(NodeDecisions, OnlineClassifier):
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
        Whether a node is trained on the rows of its parent only, or on all rows and read alone (PERC); see `repair`.
    normalize : bool
        Whether rows are scaled to unit length, for kernels in the kernel's space.
    kernel : {"linear", "poly", "rbf"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values. With a kernel the model holds every row that
        changed it.
    degree, coef0, gamma : int, float, {"scale", "auto"} or float
        Parameters of "poly", (gamma ⟨x, z⟩ + coef0)^degree, and "rbf", exp(−gamma ‖x − z‖²), as in scikit-learn's SVC.
    unseen : {"positive", "negative"}
        The prediction of a node that was shown no row. The score 0 is positive.
    repair : {"top_down", "bottom_up", "best"}
        With ``gated=False``, how sets are made consistent; see `HierarchicalRLS`.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        The labels that can be predicted if y has one label per row.
    max_iter, shuffle, random_state : int; bool; int, RandomState or None
        Number of passes of `fit`, one in the paper; whether each visits the rows in a new random order, and its seed.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order; for sets all nodes.
    history_ : list of dict
        One entry per pass or call, the last thousand: `objective`, the mean uniform H-loss of the sets predicted before
        each update; `zero_one_loss`, the share of these sets that are not exactly right; `rounds`; `seconds`. If y has
        one label per row, `objective` is that of the nodes read from the roots down, and `multiclass_error` and
        `tree_induced_error` are those of the labels that `predict_then_learn` returned.
    converged_, rows_seen_, n_iter_ : bool, int, int
        Whether the last pass or call changed no vector; the number of rows, and of passes or calls.

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
    threshold = 0.0  # the score 0 is positive
    taxonomy: Any = None
    _: KW_ONLY
    average: bool = False
    gated: bool = True
    normalize: bool = True
    kernel: Any = "linear"
    degree: int = 3
    coef0: float = 1.0
    gamma: Any = "scale"
    unseen: str = "positive"
    repair: str = "top_down"
    allowed_labels: Any = "seen"
    max_iter: int = 1
    shuffle: bool = True
    decode: str = "auto"
    random_state: Any = None
    checkpoint: Any = None
    verbose: bool | int = 0

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, from zero; y has one label or a set of labels per row."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_labels(labels)
        self.begin(X)
        for order in self.passes(X.shape[0], self.max_iter, (self.perceptrons_, self.perceptrons_.kept)):
            self.train_rows(X[order], labels[order])
        return self

    def run_rounds(self, X: Any, labels: LabelMatrix, *, predicting: bool) -> tuple[Entry, Any]:
        """Make one round per row: predict it, then change the nodes that were wrong."""

        def train(rows: Any, part: LabelMatrix, _: int, everywhere: bool) -> tuple[Margins | None, Ids]:
            h_losses = np.empty(rows.shape[0], np.int64)
            margins = np.empty((rows.shape[0] if everywhere else 0, self.taxonomy_.n_nodes))
            self.perceptrons_.train(rows, part, margins, h_losses)
            return (margins if everywhere else None), h_losses

        n_before = self.perceptrons_.n_updates
        entry, predictions = self.train_in_chunks(train, X, labels, predicting=predicting)
        self.converged_ = self.perceptrons_.n_updates == n_before
        return entry, predictions

    def start(self, X: Any) -> None:
        """Make a vector of 0 for every node."""
        self.gamma_ = gamma_for(self.gamma, X)
        self._make_perceptrons(X.dtype)  # weights are of X's type, which halves the memory of float32 rows

    def _make_perceptrons(self, dtype: Any) -> None:
        options: Any = {"gated": self.gated, "empty": UNSEEN[self.unseen], "average": self.average}
        size = self.taxonomy_, self.n_features_in_
        if self.kernel == "linear":
            self.perceptrons_: Any = WeightPerceptrons(*size, dtype, **options)
        else:
            self.perceptrons_ = KernelPerceptrons(*size, Kernel.of(self, normalize=self.normalize), **options)

    def move_nodes(self, new_id: Ids, node: int) -> None:
        self.perceptrons_.move_nodes(self.taxonomy_, new_id)

    def check_parameters(self) -> None:
        self.check_decision_parameters(flags=("gated", "normalize", "shuffle", "average"))
        check_values(self, is_count, "a whole number from 1 up", "max_iter")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return valid rows, scaled to unit length if `normalize` is set and the kernel is linear."""
        rows = super()._checked_rows(X, reset=reset)
        return row_arrays.normalize_rows(rows, rows.dtype) if self.scales_rows() else rows

    def node_margins(self, X: Any, *, signs_only: bool = False) -> Margins:
        margins: Margins = self.perceptrons_.margins(X)
        return margins

    @property
    def node_coef_(self) -> npt.NDArray[np.float64]:
        """The vectors that predict, one row per node in `taxonomy_.names` order."""
        if self.kernel != "linear":
            raise AttributeError(f"node_coef_ needs weights, which kernel={self.kernel!r} does not have.")
        return np.asarray(self.perceptrons_.weights).T

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        return self.pack_counters(), self.perceptrons_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.unpack_counters(state)
        self.check_parameters()
        self._make_perceptrons(np.float64)
        self.perceptrons_.unpack(arrays)


class NodePerceptrons:
    """What both forms hold beside their vectors: the tree as the rounds take it, and the rows shown to each node."""

    def __init__(self, taxonomy: Taxonomy, n_features: int, *, gated: bool, empty: float, average: bool) -> None:
        self.n_features, self.gated, self.empty, self.average = n_features, gated, empty, average
        self.seen = np.zeros(taxonomy.n_nodes, np.int64)
        self._set_tree(taxonomy)

    def _set_tree(self, taxonomy: Taxonomy) -> None:
        n_nodes = taxonomy.n_nodes
        self.tree = (taxonomy.child_start, len(taxonomy.roots))
        floats, booleans = np.zeros((3, n_nodes)), np.zeros((3, n_nodes), bool)
        self.scratch = (tuple(floats), np.zeros(n_nodes, np.int64), tuple(booleans))

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move counts to the nodes' new ids."""
        self.seen = row_arrays.move_columns(WHO, self.seen[None], new_id, taxonomy.n_nodes)[0]
        self._set_tree(taxonomy)

    def to_margins(self, scores: Margins, acc: Margins | None) -> Margins:
        """Return the margins of the vectors or, given acc·x, of their averages; `empty` for nodes without a row."""
        margins = scores if acc is None else scores - acc / (self.seen + 1)
        margins[:, self.seen == 0] = self.empty
        return margins

    def unpack_seen(self, counts: Any) -> None:
        """Restore the counts of a model file; raise if they are impossible."""
        counts = unpack_ids(counts)
        if counts.shape != self.seen.shape or np.any((counts < 0) | (counts > 2**62)):
            raise ModelFormatError("Its counts of rows do not fit its taxonomy.")
        self.seen = counts


class WeightPerceptrons(NodePerceptrons):
    """One weight vector per node, W (features × nodes), and acc = Σ_t t Δw_t of the same shape for averages."""

    kept = ("seen", "n_updates", "W", "acc")  # what changes from pass to pass

    def __init__(self, taxonomy: Taxonomy, n_features: int, dtype: Any, **options: Any) -> None:
        super().__init__(taxonomy, n_features, **options)
        self.n_updates = 0
        self.W = row_arrays.allocate_weights(WHO, n_features, taxonomy.n_nodes, dtype)
        self.acc = row_arrays.allocate_weights(WHO, n_features if self.average else 0, taxonomy.n_nodes, dtype)

    def train(self, X: Any, labels: LabelMatrix, margins: Margins, h_losses: Ids) -> None:
        """Make one round per row; writes the uniform H-losses and, unless it is empty, the margins before each."""
        y, weights = (labels.indptr, labels.indices), (self.W, self.acc, self.seen, self.empty, self.scratch)
        rows = row_arrays.to_csr_arrays(X)
        self.n_updates += rounds.run_rounds(rows, y, self.tree, self.gated, *weights, margins, h_losses)

    def margins(self, X: Any) -> Margins:
        """Return the margin of every row and node."""
        acc = np.asarray(X @ self.acc, np.float64) if self.average else None
        return self.to_margins(np.asarray(X @ self.W, np.float64), acc)

    @property
    def weights(self) -> Margins:
        """The vectors that predict, features × nodes: the last, or their average."""
        return self.W - self.acc / (self.seen + 1) if self.average else self.W

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move every node's vector to its new id."""
        super().move_nodes(taxonomy, new_id)
        self.W, self.acc = (row_arrays.move_columns(WHO, part, new_id, taxonomy.n_nodes) for part in (self.W, self.acc))

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        arrays = {"seen": self.seen, **prefixed("weights", pack_matrix(self.W))}
        return {**arrays, **prefixed("acc", pack_matrix(self.acc))} if self.average else arrays

    def unpack(self, arrays: Arrays) -> None:
        """Restore packed weights."""
        shape = self.W.shape
        self.unpack_seen(arrays["seen"])
        self.W = row_arrays.unpack_weights("weights", arrays, *shape)
        if self.average:
            self.acc = row_arrays.unpack_weights("acc", arrays, *shape)


class KernelPerceptrons(NodePerceptrons):
    """The rows that changed some node, and for every update (row, node, sign, number of rows the node was shown)."""

    kept = ("seen", "vectors", "updates")  # what changes from pass to pass

    def __init__(self, taxonomy: Taxonomy, n_features: int, kernel: Kernel, **options: Any) -> None:
        super().__init__(taxonomy, n_features, **options)
        self.kernel = kernel
        self.vectors: Any = None  # the support rows
        self.updates = tuple(np.zeros(0, np.int64) for _ in UPDATE_NAMES)

    @property
    def n_updates(self) -> int:
        """The number of updates so far."""
        return len(self.updates[0])

    def train(self, X: Any, labels: LabelMatrix, margins: Margins, h_losses: Ids) -> None:
        """Make one round per row; writes the uniform H-losses and, unless it is empty, the margins before each."""
        for at in progress_blocks(WHO, X.shape[0], KERNEL_BLOCK):
            self._train_block(X[at], labels[at], margins[at], h_losses[at])

    def _train_block(self, X: Any, labels: LabelMatrix, margins: Margins, h_losses: Ids) -> None:
        base, base_acc = self._sum_updates(X)
        steps, when = np.zeros(base.shape), np.zeros(base.shape, np.int64)
        values = base, base[:0] if base_acc is None else base_acc, self.kernel.between(X, X)
        round_arrays = self.kernel.diagonal(X) > 0, (labels.indptr, labels.indices), self.tree, self.gated
        state = self.seen, self.empty, self.scratch
        rounds.run_kernel_rounds(*values, *round_arrays, *state, steps, when, margins, h_losses)
        rows, nodes = np.nonzero(steps)
        if not len(rows):
            return
        supports = np.unique(rows)
        before = 0 if self.vectors is None else self.vectors.shape[0]
        self.vectors = row_arrays.append_rows(self.vectors, X[supports])
        places = before + np.searchsorted(supports, rows)
        new = (places, nodes, steps[rows, nodes].astype(np.int64), when[rows, nodes])
        self.updates = tuple(np.concatenate(pair) for pair in zip(self.updates, new, strict=True))

    def _sum_updates(self, X: Any) -> tuple[Margins, Margins | None]:
        """Return Σ ± K and, for an average, Σ ± K · when, by row and node."""
        n_nodes = len(self.seen)
        if self.vectors is None:
            return np.zeros((X.shape[0], n_nodes)), np.zeros((X.shape[0], n_nodes)) if self.average else None
        support, node, sign, when = self.updates
        values = self.kernel.between(X, self.vectors)

        def weigh(weights: Ids) -> Margins:
            shape = self.vectors.shape[0], n_nodes
            return np.asarray(values @ sparse.csr_array((weights, (support, node)), shape=shape, dtype=np.float64))

        return weigh(sign), weigh(sign * when) if self.average else None

    def margins(self, X: Any) -> Margins:
        """Return the margin of every row and node."""
        return self.to_margins(*self._sum_updates(X))

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Replace every node by its new id."""
        super().move_nodes(taxonomy, new_id)
        support, node, sign, when = self.updates
        self.updates = (support, new_id[node], sign, when)

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        updates = dict(zip(UPDATE_NAMES, self.updates, strict=True))
        return {"seen": self.seen, **updates, **row_arrays.pack_rows("vectors", self.vectors)}

    def unpack(self, arrays: Arrays) -> None:
        """Restore packed updates, checking that each refers to a support and to a node."""
        self.unpack_seen(arrays["seen"])
        self.vectors = row_arrays.unpack_rows("vectors", arrays, self.n_features)
        support, node, sign, when = (unpack_ids(arrays[name]) for name in UPDATE_NAMES)
        n_supports = 0 if self.vectors is None else self.vectors.shape[0]
        for ids, limit in ((support, n_supports), (node, len(self.seen))):
            shapes = {ids.shape, sign.shape, when.shape, (len(ids),)}
            if len(shapes) > 1 or np.any((ids < 0) | (ids >= limit)) or np.any(np.abs(sign) != 1):
                raise ModelFormatError("Its updates do not fit its supports and its taxonomy.")
        self.updates = (support, node, sign, when)
