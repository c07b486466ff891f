"""Hieron: large-margin hierarchical classification, online, in batch and with kernels.

Dekel, Keshet & Singer, "Large Margin Hierarchical Classification", ICML 2004. Equation numbers are theirs. The vectors
w_v are held as weights, or with a kernel as the rows that changed them and their α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist.checkpoints import resumable
from cladist.decoders import path_scores, prototype_argmax
from cladist.errors import DatasetError, ModelFormatError, ParameterError, is_count, is_positive, one_of
from cladist.kernels import hieron as rounds
from cladist.labels import LabelMatrix
from cladist.learners import row_arrays
from cladist.learners.explanation import Explanation, explain_by_support, explain_rows
from cladist.learners.kernel_functions import Kernel, check_kernel, check_values, gamma_for
from cladist.learners.online.base import NO_NODES, Entry, Ids, OnlineClassifier, progress_blocks
from cladist.storage.array_groups import Arrays, pack_matrix, prefixed
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[Any]
Rule = tuple[Floats, bool, Ids, float]  # margin by distance, by_margin, since, C: see `cladist.kernels.hieron`
MARGINS: dict[str, Callable[[Any], Any]] = {"sqrt_distance": np.sqrt, "distance": np.asarray, "one": np.sign}
ROUNDS_PER_CALL = 4096  # rounds between two reports of progress
KERNEL_BLOCK = 512  # rows whose kernel values with all supports are held at once
UPDATE_NAMES = ("update_support", "update_alpha", "update_label", "update_competitor")


@dataclass(eq=False, repr=False)
class Hieron(OnlineClassifier):
    r"""Prototypes along the taxonomy's paths, trained by passive-aggressive rounds.

    Every node v has a vector w_v. Its prototype is W^v = Σ_{u ∈ path(v)} w_u (eq. 2), and the prediction is the label
    of largest W^v·x (eq. 3). A round with label y and competitor r makes the smallest change of w after which y beats r
    by the margin √γ, where γ is the tree distance of y and r (eq. 6)::

        ℓ = [W^r·x − W^y·x + √γ]₊                                                                   (5)
        α = ℓ / (γ ‖x‖²)                                                                            (8)
        w_v += α x  for v ∈ path(y) \ path(r),    w_v −= α x  for v ∈ path(r) \ path(y)             (7)

    Online (`partial_fit`, or ``update="prediction"``), r is the prediction (Algorithm 1). In batch (`fit`), r is the
    label of largest ℓ, and the model is the average of all states (eq. 13). With a kernel, W^v·x is a sum of kernel
    values with the rows that changed w (eq. 12).

    Every node can be a label and a prediction: leaves, inner nodes and a tree's root. The root's vector stays 0: it
    wins when every other prototype scores below 0. A forest's virtual root is never predicted.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes in y, or the paths in y if y has path columns.
    update, average : {"max_loss", "prediction"}, bool
        How `fit` chooses the competitor r, while `partial_fit` uses the prediction; whether `fit` returns the average
        of all states (the paper's "Batch") or the last one.
    margin, C : {"sqrt_distance", "distance", "one"}, float or None
        The margin as a function of γ: √γ (the only one with the paper's loss bound), γ, or 1. C is an upper bound of α,
        as in PA-I, for noisy labels; None as in the paper.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values, as in scikit-learn's SVC.
    degree, coef0, gamma : int, float, {"scale", "auto"} or float
        Parameters of "poly", (gamma ⟨x, z⟩ + coef0)^degree, and "rbf", exp(−gamma ‖x − z‖²), as in scikit-learn's SVC.
    max_iter, shuffle, random_state : int; bool; int, RandomState or None
        Number of passes of `fit`, one in the paper; whether they visit the rows in random order, and its seed. Sorted
        data would ruin a single pass.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        The labels that can be predicted.
    decode, verbose : {"auto", "single"}, bool or int
        Both values of `decode` mean one label per row, whatever the form of y; `verbose` prints the progress of a run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels that can be predicted, in taxonomy order, and their taxonomy.
    n_iter_, converged_ : int, bool
        The number of passes, or of calls of `partial_fit`; whether the last one changed nothing.
    history_ : list of dict
        One entry per pass or call (the last thousand): `objective`, the mean loss ℓ; `tree_induced_error` and
        `multiclass_error` of the predictions before each update; `squared_loss`, Σℓ²; `updates`; `rounds`; `seconds`.
    support_, dual_coef_ : arrays
        With a kernel: the numbers of the rows with α > 0, and α_i^v as CSR (nodes × supports).

    Notes
    -----
    A round costs O((N + γ) · nnz(x)) for N nodes. Memory: N · d numbers of X's type, twice that while averaging.
    There is no bias term; append a constant feature if one is needed.

    Examples
    --------
    >>> from cladist import Hieron
    >>> from cladist.datasets import make_hieron_synthetic
    >>> data = make_hieron_synthetic(noise_variance=0.04, random_state=0)
    >>> model = Hieron(data.taxonomy, random_state=0).fit(data.X_train, data.y_train)
    >>> bool(model.score(data.X_test, data.y_test) > 0.9)
    True
    """

    taxonomy: Any = None
    _: KW_ONLY
    update: str = "max_loss"
    average: bool = True
    margin: str = "sqrt_distance"
    C: Any = None
    kernel: Any = "linear"
    degree: int = 3
    coef0: float = 1.0
    gamma: Any = "scale"
    max_iter: int = 1
    shuffle: bool = True
    allowed_labels: Any = "all"
    decode: str = "auto"
    random_state: Any = None
    checkpoint: Any = None
    verbose: bool | int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, or on their kernel values if they are precomputed, from zero; y has one label per row."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        nodes = labels.nodes("Hieron")
        self.begin(X, nodes)  # every label of y can be predicted from the first round
        rule = self._rule(self.allow_labels(nodes), by_margin=self.update == "max_loss")
        rows = np.arange(X.shape[0])[:, None] if self.kernel == "precomputed" else X
        if self.average and self.kernel == "linear":
            self.prototypes_.acc = row_arrays.allocate_weights("Hieron", X.shape[1], self.taxonomy_.n_nodes, X.dtype)
        for order in self.passes(X.shape[0], self.max_iter, (self.prototypes_, self.prototypes_.kept)):
            self.record(self._run_order, rows, nodes, order, rule, NO_NODES)
        if self.average:
            self.prototypes_.finish_averaging()
        if self.kernel == "precomputed":
            self.prototypes_.kernel = Kernel.of(self)
        self.rows_seen_ = X.shape[0]
        return self

    def run_rounds(self, X: Any, labels: LabelMatrix, *, predicting: bool) -> tuple[Entry, Ids]:
        """Make one round of Algorithm 1 per row: the competitor is the prediction."""
        nodes = labels.nodes("Hieron")
        rule = self._rule(self.allow_labels(nodes), by_margin=False)
        if isinstance(self.prototypes_, KernelPrototypes):
            self.prototypes_.first_row = self.rows_seen_
        predictions = np.empty(len(nodes) if predicting else 0, np.int64)
        return self._run_order(X, nodes, np.arange(len(nodes)), rule, predictions)

    def start(self, X: Any) -> None:
        """Set all prototypes to 0."""
        if self.kernel == "linear":
            W = row_arrays.allocate_weights("Hieron", X.shape[1], self.taxonomy_.n_nodes, X.dtype)
            self.prototypes_: Any = WeightPrototypes(self.taxonomy_, W)
        else:
            self.gamma_ = gamma_for(self.gamma, X)
            gram = np.asarray(X, np.float64) if self.kernel == "precomputed" else None
            self.prototypes_ = KernelPrototypes(self.taxonomy_, Kernel.of(self, gram=gram))

    def _rule(self, since: Ids, *, by_margin: bool) -> Rule:
        """Return the margin by tree distance, the rule of the competitor, and C, as the rounds take them."""
        farthest = 2 * (int(self.taxonomy_.depth.max()) + 1)
        margin = MARGINS[self.margin](np.arange(farthest + 1, dtype=np.float64))
        return margin, by_margin, since, np.inf if self.C is None else float(self.C)

    def _run_order(self, X: Any, nodes: Ids, order: Ids, rule: Rule, predictions: Ids) -> tuple[Entry, Ids]:
        """Make one round for each row in `order`; returns their entry of `history_` and the predictions."""
        tally = np.zeros(rounds.TALLY)
        self.prototypes_.run(X, nodes, order, rule, tally, predictions)
        if not np.isfinite(tally).all():
            raise DatasetError(
                "Hieron: the weights have left the range of their type, since the lengths of rows differ by too much; "
                "scale the rows, with Normalizer for instance, and fit anew."
            )
        n_rounds, errors, distance, loss, squared_loss, updates = tally.tolist()
        n = max(1.0, n_rounds)
        self.converged_ = updates == 0
        entry = {"objective": loss / n, "tree_induced_error": distance / n, "multiclass_error": errors / n}
        entry |= {"squared_loss": squared_loss, "updates": int(updates), "rounds": int(n_rounds)}
        return entry, predictions

    def move_nodes(self, new_id: Ids, node: int) -> None:
        self.prototypes_.move_nodes(self.taxonomy_, new_id)

    def check_parameters(self) -> None:
        one_of("Hieron", "update", self.update, ("max_loss", "prediction"))
        one_of("Hieron", "margin", self.margin, tuple(MARGINS))
        check_kernel(self)
        check_values(self, is_count, "a whole number from 1 up", "max_iter")
        self._check_decode(self.decode)
        if self.C is not None:
            check_values(self, is_positive, "positive or None", "C")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked_rows(X, reset=reset)
        if reset and self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ParameterError(f"Hieron: a precomputed kernel is a square matrix in fit; got shape {X.shape}.")
        return X

    def _check_lengths(self, X: Any) -> None:
        """Raise if a row is so long or short that α x, which divides by ‖x‖², is not finite."""
        if self.kernel != "precomputed":
            row_arrays.check_lengths("Hieron", X, divides=self.kernel == "linear")

    def predict_nodes(self, X: Any) -> Ids:
        """Return the label of highest score of every (validated) row."""
        allowed = np.zeros(self.taxonomy_.n_nodes, bool)
        allowed[self.class_nodes_] = True
        if isinstance(self.prototypes_, WeightPrototypes):  # without an array of all scores
            nodes = np.empty(X.shape[0], np.int64)
            rows, W = row_arrays.to_csr_arrays(X), self.prototypes_.W
            rounds.predict_rows(rows, W, self.taxonomy_.parent, allowed, nodes)
            return nodes
        scores = (self.prototypes_.scores(chunk) for chunk in self._chunks(X))
        return np.concatenate([prototype_argmax(s, self.taxonomy_, allowed=allowed) for s in scores])

    def class_scores(self, X: Any) -> Floats:
        """Return W^v·x of every class for every (validated) row."""
        return path_scores(self.prototypes_.scores(X), self.taxonomy_)[:, self.class_nodes_]

    def explain_nodes(self, X: Any, nodes: Ids) -> list[Explanation]:
        if isinstance(self.prototypes_, KernelPrototypes):
            return explain_by_support(X, nodes, self.prototypes_, self.dual_coef_, self.taxonomy_)
        names = getattr(self, "feature_names_in_", None)
        return explain_rows(X, nodes, self._form(WeightPrototypes, "explain").W, self.taxonomy_, names)

    def _form(self, form: type, attribute: str) -> Any:
        """Return the prototypes if they have this form; otherwise there is no such attribute."""
        check_is_fitted(self)
        if isinstance(self.prototypes_, form):
            return self.prototypes_
        if form is KernelPrototypes:
            raise AttributeError(f"{attribute} belongs to a Hieron with a kernel; this one has weights.")
        raise AttributeError(f"{attribute} needs weights, which a Hieron with kernel={self.kernel!r} does not have.")

    @property
    def node_coef_(self) -> Floats:
        """The vectors w_v, one row per node in `taxonomy_.names` order; a view, not a copy."""
        return np.asarray(self._form(WeightPrototypes, "node_coef_").W.T)

    @property
    def coef_(self) -> Floats:
        """The prototypes W^v, one row per class; computed on access."""
        return path_scores(self._form(WeightPrototypes, "coef_").W, self.taxonomy_)[:, self.class_nodes_].T

    @property
    def support_(self) -> Ids:
        """The numbers of the rows whose α is positive."""
        return np.asarray(self._form(KernelPrototypes, "support_").support)

    @property
    def dual_coef_(self) -> Any:
        """α_i^v as CSR (nodes × supports)."""
        return self._form(KernelPrototypes, "dual_coef_").dual_coef

    @property
    def support_vectors_(self) -> Any:
        """The rows whose α is positive; for a precomputed kernel their numbers."""
        return self._form(KernelPrototypes, "support_vectors_").vectors

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        return self.pack_counters(), self.prototypes_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.unpack_counters(state)
        if state["gamma"] is None:
            self.prototypes_ = WeightPrototypes.unpack(self.taxonomy_, self.n_features_in_, arrays)
        else:
            n_columns = 1 if self.kernel == "precomputed" else self.n_features_in_
            self.prototypes_ = KernelPrototypes.unpack(self.taxonomy_, Kernel.of(self), n_columns, arrays)


class WeightPrototypes:
    """One weight vector per node, W (features × nodes). Memory: d · N numbers, twice that while averaging."""

    kept = ("W", "acc", "n_rounds")  # what changes from pass to pass

    def __init__(self, taxonomy: Taxonomy, W: Floats) -> None:
        self.tree = (taxonomy.parent, taxonomy.depth)
        self.W = W
        self.acc = np.empty((0, 0), W.dtype)  # Σ_t t Δw_t, empty unless averaging
        self.n_rounds = 0

    def finish_averaging(self) -> None:
        """Replace the last state by the mean of the T + 1 states.

        w̄ = 1/(T+1) Σ_t (T+1−t) Δw_t = w − 1/(T+1) Σ_t t Δw_t (eq. 15, with its weights corrected: the state
        before round 1 is one of the T + 1, so round t is part of T+1−t of them).
        """
        rounds.subtract_nonzero(self.W, self.acc, self.n_rounds + 1)
        self.acc = np.empty((0, 0), self.W.dtype)

    def run(self, X: Any, labels: Ids, order: Ids, rule: Rule, tally: Floats, predictions: Ids) -> None:
        """Make one round for each row in `order`; `predictions`, unless empty, receives the prediction before each."""
        rows = row_arrays.to_csr_arrays(X)
        for part in progress_blocks("Hieron", len(order), ROUNDS_PER_CALL):
            state, now = (self.W, self.acc, self.tree), self.n_rounds + 1
            rounds.run_rounds(rows, labels, order[part], *state, rule, now, part.start, tally, predictions[part])
            self.n_rounds += len(order[part])

    def scores(self, X: Any) -> Floats:
        """Return s_v = w_v·x for every row and node."""
        return np.asarray(X @ self.W)

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Move every node's vector to its new id; that of a new node is 0, so it begins as its parent's prototype."""
        self.W = row_arrays.move_columns("Hieron", self.W, new_id, taxonomy.n_nodes)
        self.tree = (taxonomy.parent, taxonomy.depth)

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        return prefixed("weights", pack_matrix(self.W))

    @classmethod
    def unpack(cls, taxonomy: Taxonomy, n_features: int, arrays: Arrays) -> WeightPrototypes:
        """Restore packed weights."""
        return cls(taxonomy, row_arrays.unpack_weights("weights", arrays, n_features, taxonomy.n_nodes))


class KernelPrototypes:
    """Prototypes as sums of kernel functions; every update is (support, α, y, r).

    s_v(x) = Σ_updates α K(x_support, x) ([v ∈ path(y)] − [v ∈ path(r)]), eq. (12). Memory: the support rows and
    four numbers per update; kernel values are computed for a block of rows at a time.
    """

    kept = ("vectors", "support", "updates", "round_of", "n_rounds")  # what changes from pass to pass

    def __init__(self, taxonomy: Taxonomy, kernel: Kernel) -> None:
        self.taxonomy = taxonomy
        self.kernel = kernel
        self.vectors: Any = None  # the support rows
        self.support = np.zeros(0, np.int64)  # their numbers among all rows seen
        self.updates = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.round_of = np.zeros(0, np.int64)  # of each update
        self.n_rounds = 0
        self.first_row = 0  # the number of X's first row among all rows seen

    def finish_averaging(self) -> None:
        """Scale every α by the share of the T + 1 states that its update is part of."""
        support, alpha, y, r = self.updates
        self.updates = (support, alpha * ((self.n_rounds + 1 - self.round_of) / (self.n_rounds + 1)), y, r)

    def run(self, X: Any, labels: Ids, order: Ids, rule: Rule, tally: Floats, predictions: Ids) -> None:
        """Make one round for each row in `order`; `predictions`, unless empty, receives the prediction before each."""
        place_of = {int(row) - self.first_row: k for k, row in enumerate(self.support)}
        tree = (self.taxonomy.parent, self.taxonomy.depth)
        for part in progress_blocks("Hieron", len(order), KERNEL_BLOCK):
            rows, n_support = order[part], len(self.support)
            # A row that is a support already, from an earlier pass, keeps its place; others would follow.
            column_of = np.array([place_of.get(int(row), n_support + k) for k, row in enumerate(rows)], np.int64)
            space = tuple(np.concatenate([u, np.zeros(len(rows), u.dtype)]) for u in (*self.updates, self.round_of))
            block = X[rows]
            values = self.kernel.between(block, block)
            if self.vectors is not None:
                values = np.hstack([self.kernel.between(block, self.vectors), values])
            block_arrays = values, self.kernel.diagonal(block), column_of, labels[rows], space, len(self.updates[0])
            counters = self.n_rounds + 1, part.start, tally, predictions[part]
            n_updates = rounds.run_kernel_rounds(*block_arrays, tree, rule, *counters)
            support, alpha, y, r, self.round_of = (u[:n_updates] for u in space)
            self.updates = (self._add_supports(X, rows, support, place_of), alpha, y, r)
            self.n_rounds += len(rows)

    def _add_supports(self, X: Any, rows: Ids, support: Ids, place_of: dict[int, int]) -> Ids:
        """Make supports of the block's rows that updates refer to; returns the updates' supports renumbered."""
        n_support = len(self.support)
        new = np.unique(support[support >= n_support])
        if not len(new):
            return support
        new_rows = rows[new - n_support]
        place_of.update((int(row), n_support + k) for k, row in enumerate(new_rows))
        self.support = np.concatenate([self.support, self.first_row + new_rows])
        self.vectors = row_arrays.append_rows(self.vectors, X[new_rows])
        return np.where(support >= n_support, n_support + np.searchsorted(new, support), support)

    @property
    def dual_coef(self) -> sparse.csr_array:
        r"""α_i^v as CSR (nodes × supports): + on path(y) \ path(r), − on path(r) \ path(y)."""
        support, alpha, y, r = self.updates
        shape = (self.taxonomy.n_nodes, len(self.support))
        at_label = sparse.csr_array((alpha, (y, support)), shape=shape)
        at_competitor = sparse.csr_array((alpha, (r, support)), shape=shape)
        nodes = np.arange(self.taxonomy.n_nodes)
        is_ancestor = LabelMatrix.from_nodes(nodes, self.taxonomy).to_indicator().astype(np.float64)
        coef = sparse.csr_array(is_ancestor.T @ (at_label - at_competitor))
        coef.eliminate_zeros()
        return coef

    def scores(self, X: Any) -> Floats:
        """Return s_v for every row and node."""
        if self.vectors is None:
            return np.zeros((X.shape[0], self.taxonomy.n_nodes))
        return np.ascontiguousarray((self.dual_coef @ self.kernel.between(self.vectors, X)).T)

    def move_nodes(self, taxonomy: Taxonomy, new_id: Ids) -> None:
        """Replace every node by its new id."""
        support, alpha, y, r = self.updates
        self.updates, self.taxonomy = (support, alpha, new_id[y], new_id[r]), taxonomy

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        updates = dict(zip(UPDATE_NAMES, self.updates, strict=True))
        return {"support": self.support, **updates, **row_arrays.pack_rows("vectors", self.vectors)}

    @classmethod
    def unpack(cls, taxonomy: Taxonomy, kernel: Kernel, n_columns: int, arrays: Arrays) -> KernelPrototypes:
        """Restore packed updates, checking that each refers to a support and to nodes."""
        restored = cls(taxonomy, kernel)
        restored.support, restored.vectors = arrays["support"], row_arrays.unpack_rows("vectors", arrays, n_columns)
        support, alpha, y, r = (arrays[name] for name in UPDATE_NAMES)
        n_vectors = 0 if restored.vectors is None else restored.vectors.shape[0]
        if restored.support.shape != (n_vectors,):
            raise ModelFormatError("Its supports are not as many as its support rows.")
        for ids, limit in ((support, n_vectors), (y, len(taxonomy)), (r, len(taxonomy))):
            if len(ids) != len(alpha) or np.any((ids < 0) | (ids >= limit)):
                raise ModelFormatError("Its updates do not fit its supports and its taxonomy.")
        restored.updates = (support, alpha, y, r)
        restored.round_of = np.zeros(len(alpha), np.int64)
        return restored
