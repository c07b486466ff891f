"""H-M³, the maximum-margin Markov network on the tree of labels.

Rousu, Saunders, Szedmak & Shawe-Taylor, "Learning Hierarchical Multi-Category Text Classification Models", ICML 2005.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from cladist.decoders import node_probabilities, path_scores
from cladist.errors import ParameterError, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.structured.columns import columns_for
from cladist.learners.structured.kernel_rows import TakesKernels
from cladist.learners.structured.margin import SET_LOSSES, MarginClassifier
from cladist.learners.structured.models import WeightModel
from cladist.solvers.structured import KernelLabellings, LinearLabellings
from cladist.storage.array_groups import Arrays

Floats = npt.NDArray[np.float64]
SPACES = ("all", "consistent")


class MaxMarginMarkov(TakesKernels, MarginClassifier):
    """Weights for the states of edges, with a margin over all labellings that grows with their loss (H-M³).

    P(y | x) ∝ exp Σ_e w_e^{y_e}·x, e the edges of the tree, y_e the signs of parent and node (4 states), learnt by::

        min_w ½‖w‖² + C Σ_i max_u [ℓ(y_i, u) − Σ_e (w_e^{y_ie} − w_e^{u_e})·x_i]

    Solved in the marginals of edges, a row at a time, by steps between labellings that message passing finds, to a
    certified duality gap. Roots hang below a node that is always on, so that a forest is a tree.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest; a DAG is refused. None: a star of the classes seen.
    C : float
        What slack counts, summed over rows; 1 in the paper.
    loss : {"hamming", "hierarchical"}
        ℓ_Δ, which charges every wrong node; ℓ_H̃, which charges it only where its parent is right.
    node_weights : {"uniform", "sibling", "subtree"} or array of one cost a node
        What a wrong node costs; see `cladist.losses.node_costs`.
    train_space : {"all", "consistent"}
        Whether all 2^N labellings compete in learning, as in the paper, or those that respect the tree. Predictions
        always do.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        "linear" keeps weights; others keep rows, and scores of all rows while learning.
    degree, coef0, gamma
        Of the kernel, as in scikit-learn's SVC.
    tol : float
        Relative duality gap to stop at.
    max_iter : int
        Passes over the rows at most; if they do not suffice, a ConvergenceWarning says so.
    inner_iter : int
        Steps a row and visit, at most.
    sampling : {"permutation", "working_set", "gap"}
        Whether a pass visits all rows in random order, those whose gap is not closed, or rows drawn by their gaps.
    cache_size : float
        Kernel columns that are kept while learning, in MB.
    random_state : int, RandomState or None
        For the order of rows.
    n_jobs : int or None
        Threads that measure gaps; the model does not depend on it.
    executor : Executor, optional
        Runs them instead, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label a row or a set; "auto" goes by the form of y.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order: for sets all nodes, otherwise the labels seen.
    taxonomy_ : Taxonomy
    edge_coef_ : array (nodes × 4 × features)
        Weights of the states −−, −+, +−, ++ of (parent, node); linear only.
    support_, dual_coef_, support_vectors_, n_support_
        With a kernel: the rows the model is made of, and their coefficients as CSR (4 · nodes × rows).
    objective_, dual_objective_, gap_ : float
        Of the problem above, and their distance relative to the dual.
    n_iter_ : int
        Passes made.
    converged_ : bool
        Whether the gap is below `tol`.
    history_ : list of dict
        One entry a measurement: `passes`, `objective`, `dual`, `gap` (relative), `seconds`.
    model_size_ : int
        How many bytes the model takes.

    Notes
    -----
    There is no bias: append a constant feature if one is wanted. For single labels `decision_function` has the score
    of each label's path; for sets, the score of the best labelling with the node minus that of the best without.

    A pass costs O(rows · 4 nodes · nonzeros a row); memory is O(4 nodes · features + 33 bytes · rows · nodes). With a
    kernel, a row that moves costs a column and O(rows · states that moved).

    Examples
    --------
    >>> from cladist import MaxMarginMarkov
    >>> taxonomy = {"sport": None, "tennis": "sport", "chess": "sport", "art": None}
    >>> X = [[2, 0, 1], [0, 2, 1], [2, 2, 1], [0, 0, 1]] * 5
    >>> y = [{"tennis"}, {"art"}, {"tennis", "art"}, set()] * 5
    >>> model = MaxMarginMarkov(taxonomy).fit(X, y)
    >>> [sorted(labels) for labels in model.predict(X[:4])]
    [['tennis'], ['art'], ['art', 'tennis'], []]
    >>> model.gap_ <= 1e-3
    True
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: float = 1.0,
        loss: str = "hamming",
        node_weights: Any = "uniform",
        train_space: str = "all",
        kernel: Any = "linear",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: Any = "scale",
        tol: float = 1e-3,
        max_iter: int = 1000,
        inner_iter: int = 5,
        sampling: str = "permutation",
        cache_size: float = 200.0,
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.node_weights = node_weights
        self.train_space = train_space
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter
        self.inner_iter = inner_iter
        self.sampling = sampling
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    # ---------------------------------------------------------------- learning

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_margin()
        one_of(who, "loss", self.loss, SET_LOSSES)
        one_of(who, "train_space", self.train_space, SPACES)
        self._check_kernel()
        if not is_positive(self.cache_size):
            raise ParameterError(f"{who}: cache_size must be positive; got {self.cache_size!r}.")

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _learn(self, X: Any, labels: LabelMatrix) -> None:
        loss = self._labelling_loss(self.loss, consistent=self.train_space == "consistent", edges=True)
        if self._is_linear:
            self._refuse_weights_beyond(X.shape[1], loss.n_scores, "take a kernel, or fewer features")
            dual = LinearLabellings(X, labels, loss, float(self.C))
            self._ascend(dual)
            self.model_ = WeightModel(dual.W)
            return
        function = self._kernel_function(X)
        rows = np.arange(len(labels))[:, None] if self._is_precomputed else X
        columns = columns_for(rows, function, [(0, len(labels))])
        kernel_dual = KernelLabellings(columns, labels, loss, float(self.C), 1e6 * self.cache_size)
        self._ascend(kernel_dual)
        coefs = kernel_dual.coefficients()
        support = np.flatnonzero(np.diff(coefs.tocsc().indptr))
        self.model_ = self._support_model(X, support, sparse.csr_array(coefs[:, support]))

    # ---------------------------------------------------------------- answering

    @property
    def _n_scores(self) -> int:
        return 4 * self.taxonomy_.n_nodes

    def _node_scores(self, X: Any) -> Floats:
        """Return what switching a node on below its parent adds to the score of a labelling.

        Its edge goes from +− to ++, and those of its children from −− to +−; so a consistent labelling scores the sum
        over its nodes, and a constant.
        """
        states = self.model_.scores(X).reshape(X.shape[0], -1, 4)
        scores = states[:, :, 3] - states[:, :, 2]
        parent = self.taxonomy_.parent
        below = np.flatnonzero(parent >= 0)
        np.add.at(scores.T, parent[below], (states[:, below, 2] - states[:, below, 0]).T)
        return np.ascontiguousarray(scores)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class (rows × classes) under the model's P(y | x).

        For sets, that a node is on, over all labellings that respect the tree (sum-product). For single labels, that
        the labelling is this label's path, given that it is one of the classes'. The margin decides how steep they are:
        they are no estimates of frequencies.
        """
        rows = self._fitted_rows(X)
        parts = [self._probabilities(self._node_scores(chunk)) for chunk in self._chunks(rows)]
        return np.concatenate([np.zeros((0, len(self.class_nodes_))), *parts])

    def _probabilities(self, scores: Floats) -> Floats:
        if self.decodes_sets:
            return node_probabilities(scores, self.taxonomy_)[:, self.class_nodes_]
        return np.asarray(softmax(path_scores(scores, self.taxonomy_)[:, self.class_nodes_], axis=1))

    @property
    def edge_coef_(self) -> Floats:
        """Weights of the states −−, −+, +−, ++ of every node's edge (nodes × 4 × features)."""
        check_is_fitted(self)
        if not self._is_linear:
            raise AttributeError("edge_coef_ is there with kernel='linear' only; others have dual_coef_.")
        W: Floats = self.model_.W
        return W.T.reshape(self.taxonomy_.n_nodes, 4, -1)

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super().pack_state()
        return ({**state, "gamma": self.gamma_}, arrays) if not self._is_linear else (state, arrays)

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        super().unpack_state(state, arrays)
        if self._is_linear:
            self.model_ = WeightModel.unpack(self._n_scores, self.n_features_in_, arrays)
            return
        self.gamma_ = state["gamma"]
        self.model_ = self._unpacked_support(self._n_scores, arrays)
