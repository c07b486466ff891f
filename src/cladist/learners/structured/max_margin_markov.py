"""H-M³, the maximum-margin Markov network on the tree of labels.

Rousu, Saunders, Szedmak & Shawe-Taylor, "Learning Hierarchical Multi-Category Text Classification Models", ICML 2005.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from cladist.checkpoints import resumable
from cladist.decoders import node_probabilities, path_scores
from cladist.errors import is_positive, one_of
from cladist.execution import executor_for
from cladist.execution.executors import local_executor
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.kernel_functions import check_kernel, check_values
from cladist.learners.select_c import choose
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import (
    KernelColumns,
    LabellingClassifier,
    SupportModel,
    WeightModel,
)
from cladist.losses import node_costs
from cladist.solvers.structured.ascent import KernelLabellings, LabellingLoss, LinearLabellings, ascend

Floats = npt.NDArray[np.float64]
SPACES = ("all", "consistent")


@dataclass(eq=False, repr=False)
class MaxMarginMarkov(LabellingClassifier):
    """Weights for the states of edges, with a margin over all labellings that grows with their loss (H-M³).

    P(y | x) ∝ exp Σ_e w_e^{y_e}·x, e the edges of the tree, y_e the signs of parent and node (4 states), trained by::

        min_w ½‖w‖² + C Σ_i max_u [ℓ(y_i, u) − Σ_e (w_e^{y_ie} − w_e^{u_e})·x_i]

    Solved in the marginals μ of edges, row by row, by steps between labellings that message passing finds (Algorithms 1
    and 2), to a certified duality gap. Roots are children of a node that is always on, so that a forest is a tree.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    C : float or "cv"
        The weight of the slacks, which are summed over rows; 1 in the paper. "cv": the best power of ten by
        cross-validation on the training rows.
    loss : {"hamming", "hierarchical"}
        ℓ_Δ, which charges every wrong node; or ℓ_H̃, which charges it only where its parent is right.
    node_weights : {"uniform", "sibling", "subtree"} or array of one cost per node
        The cost of a wrong node; see `cladist.losses.node_costs`. Only its ratio to C counts: smaller costs need a
        smaller C.
    train_space : {"all", "consistent"}
        Whether all 2^N labellings compete in training, as in the paper, or the consistent ones. Predictions are always
        consistent.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        The kernel. "linear" keeps weights; others keep rows, and the scores of all rows during training.
    degree, coef0, gamma : int, float, {"scale", "auto"} or float
        Parameters of "poly" and "rbf", as in scikit-learn's SVC.
    tol, max_iter : float, int
        The relative duality gap to stop at, and the largest number of passes over the rows; a ConvergenceWarning tells
        if they do not suffice.
    inner_iter : int
        The largest number of steps per row and visit.
    sampling : {"permutation", "working_set", "gap"}
        Whether a pass visits all rows in random order, those whose gap is not closed, or rows drawn by their gaps.
    cache_size : float
        Memory for kernel columns during training, in MB.
    random_state, n_jobs, executor : int, RandomState or None; int or None; Executor or None
        The seed of the order of rows; the threads that measure gaps, or what runs instead of them (see
        `cladist.execution`), on which the model does not depend.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen, in taxonomy order (for sets, all nodes), and the taxonomy in use.
    edge_coef_ : array (nodes × 4 × features)
        Weights of the states −−, −+, +−, ++ of (parent, node); linear only.
    support_, dual_coef_, support_vectors_, n_support_ : arrays, int
        With a kernel: the rows that the model keeps, and their coefficients as CSR (4 · nodes × rows).
    C_, cv_results_ : float, list of dict
        With `C="cv"`, the C chosen and the score of each value.
    objective_, dual_objective_, gap_ : float
        Both objectives of the problem above, and their difference relative to the dual.
    n_iter_, converged_, history_ : int, bool, list of dict
        The number of passes made; whether the gap is at most `tol`; one entry per measurement: `passes`, `objective`,
        `dual`, `gap` (relative), `seconds`.
    model_size_ : int
        The size of the model in bytes.

    Notes
    -----
    There is no bias: append a constant feature if one is needed. For single labels `decision_function` returns the
    score of each label's path; for sets, the score of the best labelling with the node minus that of the best without.

    A pass costs O(rows · 4 nodes · nonzeros per row); memory is O(4 nodes · features + 33 bytes · rows · nodes). With a
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

    _saved: ClassVar[tuple[str, ...]] = ("gamma_", "C_", "cv_results_")

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1.0
    loss: str = "hamming"
    node_weights: Any = "uniform"
    train_space: str = "all"
    kernel: Any = "linear"
    degree: int = 3
    coef0: float = 1.0
    gamma: Any = "scale"
    tol: float = 1e-3
    max_iter: int = 1000
    inner_iter: int = 5
    sampling: str = "permutation"
    cache_size: float = 200.0
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        parameters.check_margin(self)
        one_of("MaxMarginMarkov", "loss", self.loss, parameters.SET_LOSSES)
        one_of("MaxMarginMarkov", "train_space", self.train_space, SPACES)
        check_kernel(self)
        check_values(self, is_positive, "positive", "cache_size")

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, or on their kernel values, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        cost, consistent = node_costs(self.node_weights, self.taxonomy_), self.train_space == "consistent"
        loss = LabellingLoss(cost, self.loss == "hierarchical", consistent, edges=True, factor=np.ones(len(cost)))
        random, sweeps = random_generator("MaxMarginMarkov", self.random_state), parameters.sweeps_of(self)
        with self.training():
            C = choose(self, "C", X, labels)
            dual = self._new_dual(X, labels, loss, C)  # μ_i at y_i, so that w = 0 and g = ℓ
            # Passes over rows until the duality gap Σ_i (C ξ_i − ⟨μ_i, g_i⟩) is closed; for row i,
            # kernels.markov.ascend_row finds the best labelling by message passing and steps towards it (CSGA).
            ascent = ascend(dual, sweeps, random, local_executor(executor_for(self.n_jobs, self.executor)))
            self.model_ = self._trained_model(X, dual)
        parameters.set_certificate(self, ascent)
        return self

    def _new_dual(
        self, X: Any, labels: LabelMatrix, loss: LabellingLoss, C: float
    ) -> LinearLabellings | KernelLabellings:
        """Return the dual problem, with weights for the linear kernel, otherwise with the scores of all rows."""
        if not self._keeps_rows:
            instead = "take a kernel, or fewer features"
            parameters.refuse_large_weights("MaxMarginMarkov", X.shape[1], loss.n_scores, instead)
            return LinearLabellings(X, labels, loss, C)
        rows = np.arange(len(labels))[:, None] if self.is_precomputed else X
        columns = KernelColumns(rows, self.training_kernel(X), [(0, len(labels))])
        return KernelLabellings(columns, labels, loss, C, 1e6 * self.cache_size)

    def _trained_model(self, X: Any, dual: LinearLabellings | KernelLabellings) -> WeightModel | SupportModel:
        """Return w = Σ_i (C · states of y_i − μ_i) ⊗ φ(x_i), as weights or as support rows."""
        if isinstance(dual, LinearLabellings):
            return WeightModel(dual.W)
        coefs = dual.coefficients()
        support = np.flatnonzero(np.diff(coefs.tocsc().indptr))
        return self.support_model(X, support, sparse.csr_array(coefs[:, support]))

    # ---------------------------------------------------------------- prediction

    @property
    def _keeps_rows(self) -> bool:
        return not (isinstance(self.kernel, str) and self.kernel == "linear")

    @property
    def _n_scores(self) -> int:
        return 4 * self.taxonomy_.n_nodes

    def node_scores(self, X: Any) -> Floats:
        """Return the change of a labelling's score when a node is switched on below its parent.

        Its edge goes from +− to ++, and those of its children from −− to +−; so a consistent labelling scores the sum
        over its nodes, and a constant.
        """
        return np.ascontiguousarray((self._changes_of_states() @ self.model_.scores(X).T).T)

    def _changes_of_states(self) -> sparse.csr_array:
        """Return the matrix (nodes × 4 nodes) that makes node scores of the scores of states."""
        parent, n_nodes = self.taxonomy_.parent, self.taxonomy_.n_nodes
        nodes, below = np.arange(n_nodes), np.flatnonzero(parent >= 0)
        changes = (nodes, 3, 1.0), (nodes, 2, -1.0), (below, 2, 1.0), (below, 0, -1.0)
        rows = np.concatenate([nodes, nodes, parent[below], parent[below]])
        states = np.concatenate([4 * v + state for v, state, _ in changes])
        values = np.concatenate([np.full(len(v), sign) for v, _, sign in changes])
        return sparse.csr_array((values, (rows, states)), shape=(n_nodes, 4 * n_nodes))

    def explained_model(self) -> WeightModel | SupportModel:
        """Return the model of node scores, whose sum along a path is the score of a label."""
        changes, model = self._changes_of_states(), self.model_
        if isinstance(model, WeightModel):
            return WeightModel(np.ascontiguousarray((changes @ model.W.T).T))
        return SupportModel(model.kernel, model.support, model.vectors, sparse.csr_array(changes @ model.coefs))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class (rows × classes) under the model's P(y | x).

        For sets, the probability that a node is on, over all consistent labellings (sum-product). For single labels,
        that the labelling is this label's path, given that it is the path of a class. They are not calibrated: their
        scale is that of the margin.
        """
        rows = self._fitted_rows(X)
        parts = [self._probabilities(self.node_scores(chunk)) for chunk in self._chunks(rows)]
        return np.concatenate([np.zeros((0, len(self.class_nodes_))), *parts])

    def _probabilities(self, scores: Floats) -> Floats:
        if self.decodes_sets:
            return node_probabilities(scores, self.taxonomy_)[:, self.class_nodes_]
        return np.asarray(softmax(path_scores(scores, self.taxonomy_)[:, self.class_nodes_], axis=1))

    @property
    def edge_coef_(self) -> Floats:
        """Weights of the states −−, −+, +−, ++ of every node's edge (nodes × 4 × features)."""
        check_is_fitted(self)
        if self._keeps_rows:
            raise AttributeError("edge_coef_ exists with kernel='linear' only; other kernels have dual_coef_.")
        W: Floats = self.model_.W
        return W.T.reshape(self.taxonomy_.n_nodes, 4, -1)

    @property
    def n_support_(self) -> int:
        """The number of rows that the model keeps; with a kernel only."""
        return len(self.support_)
