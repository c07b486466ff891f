"""Orthogonal transfer (OT): top-down weights of siblings, nearly orthogonal to those of their ancestors.

Zhou, Xiao & Wu, *Hierarchical Classification via Orthogonal Transfer*, ICML 2011.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.checkpoints import resumable
from cladist.errors import ParameterError, is_count, is_positive, one_of
from cladist.execution import executor_for
from cladist.execution.executors import local_executor
from cladist.kernels import tree
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.explanation import Explanation, nodes_to_explain
from cladist.learners.kernel_functions import check_values, is_positive_finite
from cladist.learners.label_warnings import warn_of_lost
from cladist.learners.local.choice_explanation import explain_by_leads
from cladist.learners.local.linear_choice import LinearChoice
from cladist.learners.local.top_down import LEAST_REGRET
from cladist.learners.select_c import choose
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import LabellingClassifier, WeightModel
from cladist.solvers.structured.ascent import Sweeps, ascend
from cladist.solvers.structured.orthogonal import OrthogonalDual, RelatedNodes, competing_siblings

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
DIAGONALS = ("dominant", "spectral")
INNER_STEPS = 5  # per row and visit


@dataclass(eq=False, repr=False)
class OrthogonalTransfer(LabellingClassifier):
    """Weights of nodes, each with a margin over its siblings, and as orthogonal to its ancestors' as possible (OT).

    ::

        min_W ½ Σ_uv K_uv |w_u·w_v| + C/n Σ_i ξ_i,   ξ_i = max(0, max 1 − (w_u − w_v)·x_i)

    over nodes u on the path of row i and siblings v of u (Zhou, Xiao & Wu 2011). K_uv is `alpha` if one of the two is
    an ancestor of the other, and 0 if not. Rows go down from the root to the child of highest w·x, up to a leaf. The
    problem is convex if the comparison matrix of K, K_uu on its diagonal and −K_uv beside it, has no negative
    eigenvalue; other K are refused. It is solved to a certified duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y, where the problem is the
        SVM of Crammer & Singer.
    C : float or "cv"
        The weight of the mean slack. "cv": the best power of ten by cross-validation on the training rows.
    K : {"dominant", "spectral"} or array (nodes × nodes)
        K_uu, by which the problem is convex: `alpha` times the number of ancestors and descendants of u plus `lam`, or
        the same for all nodes, `alpha` times the largest eigenvalue of the matrix of related nodes plus `lam`. Or K
        itself in the taxonomy's order, symmetric, from 0 up and 0 between nodes that are not related.
    alpha : float
        The penalty of related nodes that are not orthogonal; 0 trains siblings for themselves.
    lam : float or "auto"
        By how much K_uu is above the limit of convexity; "auto": `alpha`, or 1 if that is 0.
    fit_intercept : bool
        Whether there is a constant feature of 1, penalised like the others.
    tol, max_iter : float, int
        The relative duality gap to stop at, and the largest number of passes over the rows; a ConvergenceWarning tells
        if they do not suffice.
    random_state, n_jobs, executor : int, RandomState or None; int or None; Executor or None
        The seed of the order of rows; the threads that measure gaps, or what runs instead of them (see
        `cladist.execution`), on which the model does not depend.
    decode, verbose : {"auto", "single"}, bool or int
        One label per row is predicted; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen that have no other below them, in taxonomy order, and the taxonomy in use.
    C_, cv_results_ : float, list of dict
        With `C="cv"`, the C chosen and the score of each value.
    node_coef_ : array (nodes × features)
        Weights; 0 for nodes without siblings and without rows.
    coef_, intercept_ : arrays
        Those of each class's own node.
    objective_, dual_objective_, gap_ : float
        Both objectives, and their difference relative to the dual.
    n_iter_, converged_, history_ : int, bool, list of dict
        Passes; whether the gap is within `tol`; and by measurement `passes`, `objective`, which never increases,
        `dual`, `gap` and `seconds`. The last entry is that of the weights returned.

    Notes
    -----
    Nodes without siblings in the training rows add no constraint and have weights 0. `decision_function` is the sum,
    over the nodes of a path, of how far each falls behind the sibling that is chosen: 0 for the path predicted.
    A pass costs O(nonzeros · nodes), and O(nodes² · (features + depth)) for the signs of the products; memory is 24
    bytes for each feature and node and 8 for each row and sibling of its path.

    Examples
    --------
    >>> from cladist import OrthogonalTransfer
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = OrthogonalTransfer(data.taxonomy).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8, model.gap_ <= 1e-2
    (True, True)
    """

    answers_sets: ClassVar[bool] = False
    _sums_paths: ClassVar[bool] = False
    _saved: ClassVar[tuple[str, ...]] = ("C_", "cv_results_")

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1000.0
    K: Any = "dominant"
    alpha: float = 1.0
    lam: Any = "auto"
    fit_intercept: bool = True
    tol: float = 1e-2
    max_iter: int = 1000
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        if not (isinstance(self.C, str) and self.C == "cv"):
            check_values(self, is_positive_finite, "positive, or 'cv' to choose it", "C")
        if isinstance(self.K, str):
            one_of("OrthogonalTransfer", "K", self.K, DIAGONALS)
        if not (isinstance(self.lam, str) and self.lam == "auto"):
            check_values(self, is_positive_finite, "positive or 'auto', or the problem is not convex", "lam")
        check_values(self, lambda value: value == 0 or is_positive(value), "0 or positive", "alpha")
        check_values(self, lambda value: isinstance(value, bool), "True or False", "fit_intercept")
        check_values(self, is_positive_finite, "positive", "tol")
        check_values(self, is_count, "a whole number from 1 up", "max_iter")
        self._check_decode(self.decode)

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        nodes, parent = labels.nodes("OrthogonalTransfer"), self.taxonomy_.parent
        reached = np.unique(LabelMatrix.from_nodes(np.unique(nodes), self.taxonomy_).indices).astype(np.int64)
        self.set_classes(np.setdiff1d(reached, parent[reached]))
        warn_of_lost(self, labels, "it predicts leaves; give labels above others a leaf of their own")
        n_nodes = self.taxonomy_.n_nodes
        parameters.refuse_large_weights("OrthogonalTransfer", X.shape[1], 3 * n_nodes, "take fewer features")
        C = choose(self, "C", X, labels)
        weighted, forest, *competitors = competing_siblings(parent, reached, np.unique(nodes))
        K = self._penalties(weighted, forest)
        rows = sparse.csr_array(X)
        if self.fit_intercept:
            rows = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr")
        place = np.searchsorted(np.unique(nodes), nodes)
        with self.training():
            dual = OrthogonalDual(rows, place, competitors, forest, K, C / len(nodes))
            sweeps = Sweeps(float(self.tol), int(self.max_iter), INNER_STEPS)
            random = random_generator("OrthogonalTransfer", self.random_state)
            ascent = ascend(dual, sweeps, random, local_executor(executor_for(self.n_jobs, self.executor)))
        W = np.zeros((rows.shape[1], n_nodes))
        W[:, weighted] = dual.W
        self.model_ = WeightModel(W[:-1].copy(), W[-1].copy()) if self.fit_intercept else WeightModel(W)
        parameters.set_certificate(self, ascent)
        return self

    def _penalties(self, weighted: Ids, forest: RelatedNodes) -> tuple[Floats, Floats]:
        """Return K_uu of the nodes with weights, and K_uv of those that are related."""
        if not isinstance(self.K, str):
            K = self._given_penalties()[np.ix_(weighted, weighted)]
            return np.diag(K).copy(), K[forest.nodes, forest.ancestors]
        alpha = float(self.alpha)
        lam = (alpha or 1.0) if isinstance(self.lam, str) else float(self.lam)
        return forest.convex_diagonal(alpha, spectral=self.K == "spectral") + lam, np.full(len(forest.nodes), alpha)

    def _given_penalties(self) -> Floats:
        """Return the parameter K, or refuse one by which the problem is not convex."""
        K, n = np.asarray(self.K, dtype=np.float64), self.taxonomy_.n_nodes
        forest = RelatedNodes(self.taxonomy_.parent)
        unrelated = forest.comparison(-1.0, np.ones(n)) == 0
        fits = K.shape == (n, n) and bool(np.all(np.isfinite(K) & (K >= 0)) and np.array_equal(K, K.T))
        if not fits or np.any(K[unrelated] != 0):
            raise ParameterError(
                f"OrthogonalTransfer: K must be 'dominant', 'spectral' or a symmetric matrix of {n} × {n} nodes with "
                "numbers from 0 up, and 0 between nodes of which none is an ancestor of the other; got "
                f"{self.K if isinstance(self.K, str) else f'an array of shape {np.shape(self.K)}'}."
            )
        least = float(np.linalg.eigvalsh(2.0 * np.diag(np.diag(K)) - K)[0])
        if least <= 1e-12 * float(np.diag(K).max()):
            raise ParameterError(
                "OrthogonalTransfer: with this K the problem is not strictly convex: its comparison matrix, K_uu on "
                f"the diagonal and −K_uv beside it, has an eigenvalue of {least:.3g}; raise the diagonal by more than "
                f"{-least:.3g}, or use K='dominant'."
            )
        return K

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature, along the path of a label, to its lead over its siblings.

        As in `TopDown`: `score` is the sum of the negative leads, 0 for the label predicted.

        Parameters
        ----------
        X, nodes : rows, sequence of labels or None
            The rows, and the label to explain of each; None: the predicted one.
        """
        rows = self._fitted_rows(X)
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        labels = [self.taxonomy_.names[v] for v in ids]
        self._columns_of(labels)
        families = {
            p: LinearChoice(children, self.model_.W.T[children], self.model_.intercepts[children])
            for p, children in self._reached_children().items()
        }
        paths = [self.taxonomy_.path_ids(v) for v in ids.tolist()]
        return explain_by_leads(self, sparse.csr_array(rows), families, self.taxonomy_, labels, paths)

    # ---------------------------------------------------------------- prediction

    def _reached_children(self) -> dict[int, Ids]:
        """Return the children on the paths of classes, by their parent."""
        parent = self.taxonomy_.parent
        reached = np.unique(LabelMatrix.from_nodes(self.class_nodes_, self.taxonomy_).indices).astype(np.int64)
        return {p: reached[parent[reached] == p] for p in np.unique(parent[reached]).tolist()}

    def class_scores(self, X: Any) -> Floats:
        """Return the sum of regrets along the path to each class."""
        scores = self.node_scores(X)
        regrets = np.full(scores.shape, -np.inf)
        for children in self._reached_children().values():
            own = scores[:, children]
            chosen = own.argmax(axis=1)[:, None]
            behind = np.minimum(own - np.take_along_axis(own, chosen, axis=1), LEAST_REGRET)
            np.put_along_axis(behind, chosen, 0.0, axis=1)
            regrets[:, children] = behind
        tree.add_along_paths(regrets, self.taxonomy_.parent)
        return regrets[:, self.class_nodes_]
