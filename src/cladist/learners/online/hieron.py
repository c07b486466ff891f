"""Hieron: large-margin hierarchical classification, online, in batch and with kernels.

Dekel, Keshet & Singer, "Large Margin Hierarchical Classification", ICML 2004. Equation numbers are theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from cladist import progress
from cladist.decoders import path_scores, prototype_argmax
from cladist.errors import DatasetError, LabelError, ParameterError, is_count, is_positive, one_of
from cladist.kernels import hieron as rounds
from cladist.labels import LabelMatrix, encode
from cladist.learners import kernel_functions as kernels
from cladist.learners.base import random_generator
from cladist.learners.explanation import Explanation, explain_rows
from cladist.learners.online.base import NEVER, Ids, OnlineClassifier
from cladist.learners.online.prototypes import KernelPrototypes, Rule, WeightPrototypes
from cladist.learners.row_lengths import check_lengths
from cladist.storage.array_groups import Arrays

MARGINS: dict[str, Callable[[Any], Any]] = {"sqrt_distance": np.sqrt, "distance": np.asarray, "one": np.sign}


class Hieron(OnlineClassifier):
    r"""Prototypes along the taxonomy's paths, learnt by passive-aggressive rounds.

    Every node v has a vector w_v; its prototype is W^v = Σ_{u ∈ path(v)} w_u, and the prediction is the label
    with the highest W^v·x (eq. 3). A round with label y and competitor r makes the least change to w after
    which y beats r by the margin √γ(y, r), γ the tree distance (eqs. 5–8)::

        ℓ = [W^r·x − W^y·x + √γ(y, r)]₊,    α = ℓ / (γ(y, r) ‖x‖²)
        w_v += α x  for v ∈ path(y) \ path(r),    w_v −= α x  for v ∈ path(r) \ path(y)

    Online (`partial_fit`, or ``update="prediction"``), r is the prediction. In batch (`fit`), r is the label that
    violates its margin most, and the model is the average of all states.

    Every label, inner nodes and a tree's root included, can be a label and a prediction. The root's vector stays 0:
    it wins when every other prototype scores below 0. A forest's virtual root is never predicted.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen, or the paths in y where y has path columns.
    update : {"max_loss", "prediction"}
        How `fit` picks the competitor r. `partial_fit` always uses the prediction.
    average : bool
        Whether `fit` ends with the average of all states (the paper's "Batch") or the last one.
    margin : {"sqrt_distance", "distance", "one"}
        The margin by tree distance γ: √γ (which alone has the paper's loss bound), γ, or 1.
    C : float or None
        Cap on α, as in PA-I; None as in the paper. Useful for noisy labels.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values, as in scikit-learn's SVC.
    degree, coef0 : int, float
        Of the polynomial kernel (gamma ⟨x, z⟩ + coef0)^degree.
    gamma : {"scale", "auto"} or float
        Of "poly" and of "rbf", exp(−gamma ‖x − z‖²); the words mean what they do in scikit-learn's SVC.
    max_iter : int
        Passes over the data; the paper makes one.
    shuffle : bool
        Whether `fit` visits the rows in random order. Sorted data would be disastrous for one pass.
    allowed_labels : {"all", "leaves", "seen"} or sequence of names
        The labels that can be predicted.
    decode : {"auto", "single"}
        Hieron predicts one label a row whatever the form of y, so that both mean the same.
    random_state : int, RandomState or None
        For the order of the rows.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order.
    taxonomy_ : Taxonomy
    n_iter_ : int
        Passes, or calls of `partial_fit`, made.
    converged_ : bool
        Whether the last pass changed nothing.
    history_ : list of dict
        One entry a pass (or a call of `partial_fit`, the last thousand): `objective`, the mean loss ℓ over its rounds;
        `tree_induced_error` and `multiclass_error` of the predictions made before each update; `squared_loss`, Σℓ²;
        `updates`; `rounds`; `seconds`.
    support_, dual_coef_ : arrays
        With a kernel: the rows with α > 0, and α_i^v as CSR (nodes × supports).

    Notes
    -----
    A round costs O((N + γ) · nnz(x)) for N nodes. Memory: N · d numbers of X's type, twice that while averaging.
    There is no bias term; append a constant feature if one is wanted.

    Examples
    --------
    >>> from cladist import Hieron
    >>> from cladist.datasets import make_hieron_synthetic
    >>> data = make_hieron_synthetic(noise_variance=0.04, random_state=0)
    >>> model = Hieron(data.taxonomy, random_state=0).fit(data.X_train, data.y_train)
    >>> bool(model.score(data.X_test, data.y_test) > 0.9)
    True
    """

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

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, starting anew.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features); with ``kernel="precomputed"``, rows × rows
        y : labels in any form, one a row

        Returns
        -------
        Hieron
            The model itself.
        """
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        nodes = labels.nodes("Hieron")
        since = self._allow(nodes)
        rule = self._rule(np.where(since == NEVER, NEVER, -1), by_margin=self.update == "max_loss")
        rows = self._start(X)
        self.rows_seen_, self.n_iter_, self.history_ = X.shape[0], self.max_iter, []
        if self.average:
            self.prototypes_.start_averaging()
        random = random_generator("Hieron", self.random_state)
        for _ in range(self.max_iter):
            started = time.perf_counter()
            n = X.shape[0]
            order = random.permutation(n) if self.shuffle else np.arange(n)
            with progress.show_lines(self.verbose):
                entry = self._run(rows, nodes, order, rule, np.zeros(0, np.int64))
            self.history_.append({**entry, "seconds": time.perf_counter() - started})
        if self.average:
            self.prototypes_.finish_averaging()
        if self.kernel == "precomputed":
            self.prototypes_.kernel = kernels.GivenGram()
        return self

    def _check_labels(self, labels: LabelMatrix) -> None:
        labels.nodes("Hieron")

    def _begin(self, X: Any) -> None:
        self._start(X)

    def _rounds(self, X: Any, labels: LabelMatrix, *, answers: bool) -> tuple[dict[str, Any], Any]:
        nodes = labels.nodes("Hieron")
        rule = self._rule(self._allow(nodes, grow=True), by_margin=False)
        if isinstance(self.prototypes_, KernelPrototypes):
            self.prototypes_.first_row = self.rows_seen_
        found = np.empty(len(nodes) if answers else 0, np.int64)
        return self._run(X, nodes, np.arange(len(nodes)), rule, found), found

    def _renumber_nodes(self, new_id: Ids, node: int) -> None:
        self.prototypes_.grow(self.taxonomy_, new_id)

    def check_parameters(self) -> None:
        one_of("Hieron", "update", self.update, ("max_loss", "prediction"))
        one_of("Hieron", "margin", self.margin, tuple(MARGINS))
        kernels.check_kernel("Hieron", self.kernel, self.gamma, self.degree, self.coef0)
        if not is_count(self.max_iter):
            raise ParameterError(f"Hieron: max_iter must be a whole number from 1 up; got {self.max_iter!r}.")
        self._check_decode(self.decode)
        if self.C is not None and not is_positive(self.C):
            raise ParameterError(f"Hieron: C must be positive or None; got {self.C!r}.")

    def _rule(self, since: Ids, *, by_margin: bool) -> Rule:
        farthest = 2 * (int(self.taxonomy_.depth.max()) + 1)
        margin = MARGINS[self.margin](np.arange(farthest + 1, dtype=np.float64))
        return Rule(margin, by_margin, since, np.inf if self.C is None else float(self.C))

    def _start(self, X: Any) -> Any:
        """Begin with all prototypes 0; returns the rows as the prototypes take them."""
        self.prototypes_: Any
        if isinstance(self.kernel, str) and self.kernel == "linear":
            self.prototypes_ = WeightPrototypes.zero(self.taxonomy_, X.shape[1], X.dtype)
            return X
        self.gamma_ = kernels.gamma_for(self.gamma, X)
        self.prototypes_ = KernelPrototypes(self.taxonomy_, self._kernel_function(X))
        return np.arange(X.shape[0])[:, None] if self.kernel == "precomputed" else X

    def _kernel_function(self, X: Any) -> kernels.KernelFunction:
        if callable(self.kernel):
            return kernels.CallableKernel(self.kernel)
        if self.kernel == "precomputed":
            return kernels.TrainingGram(np.asarray(X, dtype=np.float64))
        return kernels.NamedKernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _run(self, X: Any, nodes: Ids, order: Ids, rule: Rule, answers: Ids) -> dict[str, Any]:
        """Make a pass and return what it saw."""
        tally = np.zeros(rounds.TALLY)
        self.prototypes_.run(X, nodes, order, rule, tally, answers)
        if not np.isfinite(tally).all():
            raise DatasetError(
                "Hieron: the weights have left the range of their type, since the lengths of rows differ by too much; "
                "scale the rows, with Normalizer for instance, and fit anew."
            )
        n = max(1.0, tally[rounds.ROUNDS])
        self.converged_ = bool(tally[rounds.UPDATES] == 0)
        return {
            "objective": float(tally[rounds.LOSS] / n),
            "tree_induced_error": float(tally[rounds.DISTANCE] / n),
            "multiclass_error": float(tally[rounds.ERRORS] / n),
            "squared_loss": float(tally[rounds.SQUARED_LOSS]),
            "updates": int(tally[rounds.UPDATES]),
            "rounds": int(tally[rounds.ROUNDS]),
        }

    # ---------------------------------------------------------------- answering

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked_rows(X, reset=reset)
        if reset and self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ParameterError(f"Hieron: a precomputed kernel is a square matrix in fit; got shape {X.shape}.")
        return X

    def _check_lengths(self, X: Any) -> None:
        """Refuse rows so long or short that a step α x, which divides by ‖x‖², would be no finite number."""
        if not isinstance(self.kernel, str) or self.kernel != "precomputed":
            check_lengths("Hieron", X, divides=self.kernel == "linear")

    def predict_nodes(self, X: Any) -> Ids:
        if isinstance(self.prototypes_, WeightPrototypes):
            return self.prototypes_.predict(X, self._allowed)
        parts = [
            prototype_argmax(self.prototypes_.scores(chunk), self.taxonomy_, allowed=self._allowed)
            for chunk in self._chunks(X)
        ]
        return np.concatenate(parts)

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        return path_scores(self.prototypes_.scores(X), self.taxonomy_)[:, self.class_nodes_]

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds to a label's score along its path; the parts sum to the score.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row; the predicted one by default.
        """
        weights = self._weights("explain")
        rows = self._fitted_rows(X)
        ids = self.predict_nodes(rows) if nodes is None else encode(nodes, self.taxonomy_).labels.nodes("explain")
        if len(ids) != rows.shape[0]:
            raise LabelError(f"explain: {rows.shape[0]} rows need as many labels in `nodes`; got {len(ids)}.")
        return explain_rows(rows, ids, weights, self.taxonomy_, getattr(self, "feature_names_in_", None))

    def _weights(self, asked: str) -> npt.NDArray[Any]:
        check_is_fitted(self)
        if isinstance(self.prototypes_, WeightPrototypes):
            return self.prototypes_.W
        raise AttributeError(f"{asked} needs weights, which a Hieron with kernel={self.kernel!r} does not have.")

    @property
    def node_coef_(self) -> npt.NDArray[Any]:
        """The vectors w_v, one row a node in `taxonomy_.names` order; a view, not a copy."""
        return self._weights("node_coef_").T

    @property
    def coef_(self) -> npt.NDArray[Any]:
        """The prototypes W^v, one row a class; made when asked for."""
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

    def _supports(self, asked: str) -> KernelPrototypes:
        check_is_fitted(self)
        if isinstance(self.prototypes_, KernelPrototypes):
            return self.prototypes_
        raise AttributeError(f"{asked} belongs to a Hieron with a kernel; this one has weights.")

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        return self._told_state(), self.prototypes_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._take_state(state)
        if state["gamma"] is None:
            self.prototypes_ = WeightPrototypes.unpack(self.taxonomy_, self.n_features_in_, arrays)
            return
        precomputed = self.kernel == "precomputed"
        function = kernels.GivenGram() if precomputed else self._kernel_function(None)
        n_columns = 1 if precomputed else self.n_features_in_
        self.prototypes_ = KernelPrototypes.unpack(self.taxonomy_, function, n_columns, arrays)
