"""Hieron: large-margin hierarchical classification, online, in batch and with kernels.

Dekel, Keshet & Singer, "Large Margin Hierarchical Classification", ICML 2004. Equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from cladist.decoders import path_scores, prototype_argmax
from cladist.errors import DatasetError, ParameterError, is_count, is_positive, one_of
from cladist.kernels import hieron as rounds
from cladist.labels import LabelMatrix
from cladist.learners.explanation import Explanation, explain_rows
from cladist.learners.kernel_functions import KernelFunction, check_kernel, gamma_for, make_kernel
from cladist.learners.online.allowed_labels import NO_NODES, Ids
from cladist.learners.online.base import Entry, OnlineClassifier
from cladist.learners.online.prototypes import KernelPrototypes, Rule, WeightPrototypes
from cladist.learners.row_lengths import check_lengths
from cladist.storage.array_groups import Arrays

MARGINS: dict[str, Callable[[Any], Any]] = {"sqrt_distance": np.sqrt, "distance": np.asarray, "one": np.sign}


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
    update : {"max_loss", "prediction"}
        How `fit` chooses the competitor r. `partial_fit` always uses the prediction.
    average : bool
        Whether `fit` returns the average of all states (the paper's "Batch") or the last one.
    margin : {"sqrt_distance", "distance", "one"}
        The margin as a function of γ: √γ (the only one with the paper's loss bound), γ, or 1.
    C : float or None
        Upper bound of α, as in PA-I; None as in the paper. Useful for noisy labels.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values, as in scikit-learn's SVC.
    degree : int
        Degree of the polynomial kernel (gamma ⟨x, z⟩ + coef0)^degree.
    coef0 : float
        Constant term of the polynomial kernel.
    gamma : {"scale", "auto"} or float
        Factor in "poly" and in "rbf", exp(−gamma ‖x − z‖²); the words mean the same as in scikit-learn's SVC.
    max_iter : int
        Number of passes over the data; the paper makes one.
    shuffle : bool
        Whether `fit` visits the rows in random order. Sorted data would ruin a single pass.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        The labels that can be predicted.
    decode : {"auto", "single"}
        Both mean the same: Hieron predicts one label per row whatever the form of y.
    random_state : int, RandomState or None
        Seed of the order of the rows.
    verbose : bool or int
        Whether to print the progress of a long run.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order.
    taxonomy_ : Taxonomy
        The taxonomy of the labels.
    n_iter_ : int
        The number of passes, or of calls of `partial_fit`.
    converged_ : bool
        Whether the last pass changed nothing.
    history_ : list of dict
        One entry per pass or per call of `partial_fit` (the last thousand): `objective`, the mean loss ℓ over its
        rounds; `tree_induced_error` and `multiclass_error` of the predictions before each update; `squared_loss`, Σℓ²;
        `updates`; `rounds`; `seconds`.
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

    prototypes_: Any

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        update: str = "max_loss",
        average: bool = True,
        margin: str = "sqrt_distance",
        C: Any = None,
        kernel: Any = "linear",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: Any = "scale",
        max_iter: int = 1,
        shuffle: bool = True,
        allowed_labels: Any = "all",
        decode: str = "auto",
        random_state: Any = None,
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.update = update
        self.average = average
        self.margin = margin
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.allowed_labels = allowed_labels
        self.decode = decode
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # ---------------------------------------------------------------- training

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, from zero.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows; with ``kernel="precomputed"``, their kernel values (rows × rows).
        y : labels in any form
            One label per row.
        """
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        nodes = labels.nodes("Hieron")
        self.begin(X, nodes)  # every label of y can be predicted from the first round
        rule = self._rule(self.allow_labels(nodes), by_margin=self.update == "max_loss")
        rows = np.arange(X.shape[0])[:, None] if self.kernel == "precomputed" else X
        if self.average:
            self.prototypes_.start_averaging()
        for order in self.row_orders(X.shape[0], self.max_iter):
            self.record(self._run_order, rows, nodes, order, rule, NO_NODES)
        if self.average:
            self.prototypes_.finish_averaging()
        if self.kernel == "precomputed":
            self.prototypes_.kernel = self._kernel()
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
            self.prototypes_ = WeightPrototypes.zero(self.taxonomy_, X.shape[1], X.dtype)
        else:
            self.gamma_ = gamma_for(self.gamma, X)
            self.prototypes_ = KernelPrototypes(self.taxonomy_, self._kernel(gram=X))

    def _kernel(self, gram: Any = None) -> KernelFunction:
        return make_kernel(self.kernel, self.gamma_, self.degree, self.coef0, gram=gram)

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
        n = max(1.0, tally[rounds.ROUNDS])
        self.converged_ = bool(tally[rounds.UPDATES] == 0)
        entry = {
            "objective": float(tally[rounds.LOSS] / n),
            "tree_induced_error": float(tally[rounds.DISTANCE] / n),
            "multiclass_error": float(tally[rounds.ERRORS] / n),
            "squared_loss": float(tally[rounds.SQUARED_LOSS]),
            "updates": int(tally[rounds.UPDATES]),
            "rounds": int(tally[rounds.ROUNDS]),
        }
        return entry, predictions

    def move_nodes(self, new_id: Ids, node: int) -> None:
        """Move the state of each node to its new id."""
        self.prototypes_.move_nodes(self.taxonomy_, new_id)

    # ---------------------------------------------------------------- validation

    def check_parameters(self) -> None:
        """Raise unless all parameters are valid."""
        one_of("Hieron", "update", self.update, ("max_loss", "prediction"))
        one_of("Hieron", "margin", self.margin, tuple(MARGINS))
        check_kernel("Hieron", self.kernel, self.gamma, self.degree, self.coef0)
        if not is_count(self.max_iter):
            raise ParameterError(f"Hieron: max_iter must be a whole number from 1 up; got {self.max_iter!r}.")
        self._check_decode(self.decode)
        if self.C is not None and not is_positive(self.C):
            raise ParameterError(f"Hieron: C must be positive or None; got {self.C!r}.")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked_rows(X, reset=reset)
        if reset and self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ParameterError(f"Hieron: a precomputed kernel is a square matrix in fit; got shape {X.shape}.")
        return X

    def _check_lengths(self, X: Any) -> None:
        """Raise if a row is so long or short that α x, which divides by ‖x‖², is not finite."""
        if self.kernel != "precomputed":
            check_lengths("Hieron", X, divides=self.kernel == "linear")

    # ---------------------------------------------------------------- prediction

    def predict_nodes(self, X: Any) -> Ids:
        """Return the label of highest score of every (validated) row."""
        allowed = np.zeros(self.taxonomy_.n_nodes, bool)
        allowed[self.class_nodes_] = True
        if isinstance(self.prototypes_, WeightPrototypes):
            return self.prototypes_.predict(X, allowed)
        scores = (self.prototypes_.scores(chunk) for chunk in self._chunks(X))
        return np.concatenate([prototype_argmax(s, self.taxonomy_, allowed=allowed) for s in scores])

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return W^v·x of every class for every (validated) row."""
        return path_scores(self.prototypes_.scores(X), self.taxonomy_)[:, self.class_nodes_]

    def explain_nodes(self, X: Any, nodes: Ids) -> list[Explanation]:
        """Explain node ``nodes[i]`` of every (validated) row i."""
        names = getattr(self, "feature_names_in_", None)
        return explain_rows(X, nodes, self._weights("explain"), self.taxonomy_, names)

    def _weights(self, attribute: str) -> npt.NDArray[Any]:
        check_is_fitted(self)
        if isinstance(self.prototypes_, WeightPrototypes):
            return self.prototypes_.W
        raise AttributeError(f"{attribute} needs weights, which a Hieron with kernel={self.kernel!r} does not have.")

    def _supports(self, attribute: str) -> KernelPrototypes:
        check_is_fitted(self)
        if isinstance(self.prototypes_, KernelPrototypes):
            return self.prototypes_
        raise AttributeError(f"{attribute} belongs to a Hieron with a kernel; this one has weights.")

    @property
    def node_coef_(self) -> npt.NDArray[Any]:
        """The vectors w_v, one row per node in `taxonomy_.names` order; a view, not a copy."""
        return self._weights("node_coef_").T

    @property
    def coef_(self) -> npt.NDArray[Any]:
        """The prototypes W^v, one row per class; computed on access."""
        return path_scores(self._weights("coef_"), self.taxonomy_)[:, self.class_nodes_].T

    @property
    def support_(self) -> Ids:
        """The numbers of the rows whose α is positive."""
        return self._supports("support_").support

    @property
    def dual_coef_(self) -> Any:
        """α_i^v as CSR (nodes × supports)."""
        return self._supports("dual_coef_").dual_coef

    @property
    def support_vectors_(self) -> Any:
        """The rows whose α is positive; for a precomputed kernel their numbers."""
        return self._supports("support_vectors_").vectors

    # ---------------------------------------------------------------- model files

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the plain values and the arrays of a model file."""
        return self.pack_counters(), self.prototypes_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore the state of a model file."""
        self.unpack_counters(state)
        if state["gamma"] is None:
            self.prototypes_ = WeightPrototypes.unpack(self.taxonomy_, self.n_features_in_, arrays)
        else:
            n_columns = 1 if self.kernel == "precomputed" else self.n_features_in_
            self.prototypes_ = KernelPrototypes.unpack(self.taxonomy_, self._kernel(), n_columns, arrays)
