"""Hierarchical Bayesian logistic regression (HBLR).

Gopal, Yang, Bai & Niculescu-Mizil, *Bayesian models for large-scale hierarchical classification*, NIPS 2012.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import log_expit, logsumexp
from sklearn.exceptions import ConvergenceWarning

from cladist.checkpoints import resumable
from cladist.errors import TooLargeError, is_count, one_of
from cladist.execution import executor_for
from cladist.execution.executors import local_executor
from cladist.labels import LabelMatrix
from cladist.learners.kernel_functions import check_values, is_positive_finite
from cladist.learners.label_warnings import warn_caller
from cladist.learners.structured.labelling_classifier import LabellingClassifier, WeightModel
from cladist.solvers.bayesian import COVARIANCES, LIKELIHOODS, BayesianProblem, infer
from cladist.solvers.problem import with_stops

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
PRECISIONS = ("feature", "parent", "node")
MOST_BYTES = 8 * 2**30  # of arrays (rows × labels) and of full covariances


@dataclass(eq=False, repr=False)
class BayesianLogistic(LabellingClassifier):
    """Logistic regression over leaves whose weights are drawn around those of their parents (HBLR).

    ::

        p(n | x) ∝ exp(w_n·x),   w_v ~ N(w_π(v), diag(τ)⁻¹),   w_root ~ N(0, root_variance · I),   τ ~ Gamma(a0, b0)

    The posterior is approximated by q(w) q(τ), normal and gamma distributions, by variational inference (Gopal et al.
    2012). How much a family of nodes shares is thereby learned from the data, and there is no C to choose. Predictions
    are those of the mean weights.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    covariance : {"diagonal", "full", "none"}
        Of the weights of a leaf in the approximation; that of inner nodes is always diagonal. "full" takes 8 bytes ·
        labels · features². "none" is partial MAP, for many features: leaves have point estimates under the exact
        likelihood, inner nodes and τ distributions.
    likelihood : {"softmax", "one_vs_rest"}
        The model above, or one binary model per leaf. With "one_vs_rest", covariance="none" and a number as
        `precision` this is `RecursiveLogistic` with sharing=1 and C = 1 / precision.
    precision : {"feature", "parent", "node"} or float
        The τ that are estimated: one for each feature and parent, one for each parent, or one for each node; or the
        same fixed number for all, roots included.
    root_variance : float or "estimate"
        The prior variance of the weights of roots; "estimate": its inverse is one more τ.
    a0, b0 : float
        Shape and rate of the prior of τ, whose mean is a0 / b0.
    fit_intercept : bool
        Whether there is a constant feature of 1, whose weights are drawn like the others.
    tol, max_iter : float, int
        The relative rise of the lower bound in one iteration to stop at, and the most iterations; a ConvergenceWarning
        tells if they do not suffice.
    n_jobs, executor : int or None; Executor or None
        The threads that update leaves, or what runs instead of them (see `cladist.execution`), on which the model does
        not depend.
    decode, verbose : {"auto", "single"}, bool or int
        One label per row is predicted; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen, in taxonomy order, and the taxonomy in use. A label with others below it has a leaf of its own.
    coef_, intercept_ : arrays
        Mean weights, one row per class.
    node_coef_ : array (nodes × features)
        Mean weights of all nodes; 0 for nodes above no label.
    precision_ : array (groups × features, or groups × 1)
        The means of τ, in the order of the nodes, or of their parents, that share one; roots come first.
    n_iter_, converged_, history_ : int, bool, list of dict
        Iterations; whether the bound has settled; and by iteration `elbo`, which never falls, `objective`, its
        negative, and `seconds`.

    Notes
    -----
    An iteration costs O(nonzeros · labels) some twenty times, with full covariance O(labels · (rows · features² +
    features³)), in partial MAP some hundred times. Memory: 48 bytes for each row and label, 16 for each node and
    feature.

    Examples
    --------
    >>> from cladist import BayesianLogistic
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = BayesianLogistic(data.taxonomy).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8
    True
    >>> model.predict_proba(data.X_test).sum(axis=1).round(6).min()
    np.float64(1.0)
    """

    answers_sets: ClassVar[bool] = False
    _sums_paths: ClassVar[bool] = False

    taxonomy: Any = None
    _: KW_ONLY
    covariance: str = "diagonal"
    likelihood: str = "softmax"
    precision: Any = "feature"
    root_variance: Any = 1.0
    a0: float = 1.0
    b0: float = 1.0
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 5000
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        one_of("BayesianLogistic", "covariance", self.covariance, COVARIANCES)
        one_of("BayesianLogistic", "likelihood", self.likelihood, LIKELIHOODS)
        if isinstance(self.precision, str):
            one_of("BayesianLogistic", "precision", self.precision, PRECISIONS)
        else:
            check_values(self, is_positive_finite, f"positive, or one of {', '.join(PRECISIONS)}", "precision")
        if not (isinstance(self.root_variance, str) and self.root_variance == "estimate"):
            check_values(self, is_positive_finite, "positive or 'estimate'", "root_variance")
        check_values(self, is_positive_finite, "positive", "a0", "b0", "tol")
        check_values(self, lambda value: isinstance(value, bool), "True or False", "fit_intercept")
        check_values(self, is_count, "a whole number from 1 up", "max_iter")
        self._check_decode(self.decode)

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        self._check_size(*X.shape)
        extended, places = with_stops(self.taxonomy_, self.class_nodes_)
        in_use = np.unique(LabelMatrix.from_nodes(places, extended).indices).astype(np.int64)
        number = np.full(extended.n_nodes + 1, -1, np.int64)  # the last entry stands above the roots
        number[in_use] = np.arange(len(in_use))
        rows = X.astype(np.float64)
        if self.fit_intercept:
            ones = np.ones((X.shape[0], 1))
            rows = sparse.hstack([rows, ones], format="csr") if sparse.issparse(X) else np.hstack([rows, ones])
        parent, true = number[extended.parent[in_use]], np.searchsorted(self.class_nodes_, labels.nodes(""))
        problem = self._problem(rows, true, parent, number[places])
        executor = local_executor(executor_for(self.n_jobs, self.executor))
        with self.training():
            posterior, history, settled = infer(problem, tol=self.tol, max_iter=self.max_iter, executor=executor)
        names = self.taxonomy_.names
        own = number[[extended.index(name) for name in names]] if extended is not self.taxonomy_ else number[:-1].copy()
        own[self.class_nodes_] = number[places]
        W = np.where(own[:, None] >= 0, posterior.mean[own], 0.0).T
        self.model_ = WeightModel(W[: X.shape[1]].copy(), W[-1].copy() if self.fit_intercept else None)
        self.precision_ = posterior.shapes[:, None] / posterior.rates
        self.history_, self.n_iter_, self.converged_ = history, len(history), settled
        if not settled:
            warn_caller(
                f"BayesianLogistic stopped after {self.n_iter_} iterations, before its bound had settled within "
                f"tol={self.tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _problem(self, rows: Any, true: Ids, parent: Ids, leaves: Ids) -> BayesianProblem:
        """Return the problem, with the groups of nodes that share a precision."""
        by_node = isinstance(self.precision, str) and self.precision == "node"
        shared = np.where(parent < 0, -1, np.arange(len(parent)) if by_node else parent)
        groups, group = np.unique(shared, return_inverse=True)
        fixed = np.full(len(groups), np.nan if isinstance(self.precision, str) else float(self.precision))
        if isinstance(self.precision, str) and not isinstance(self.root_variance, str):
            fixed[0] = 1.0 / float(self.root_variance)
        by_feature = isinstance(self.precision, str) and self.precision == "feature"
        prior = float(self.a0), float(self.b0)
        names = self.covariance, self.likelihood
        return BayesianProblem(rows, true, parent, leaves, group, fixed, by_feature, *prior, *names)

    def _check_size(self, n_rows: int, n_features: int) -> None:
        """Refuse problems whose arrays would not fit into memory."""
        n_labels = len(self.class_nodes_)
        sizes = {f"scores of {n_rows:,} rows × {n_labels:,} labels": (48 * n_rows * n_labels, "RecursiveLogistic")}
        if self.covariance == "full":
            full = f"covariances of {n_labels:,} labels × {n_features:,}² features"
            sizes[full] = 8 * n_labels * n_features**2, "covariance='diagonal' or 'none'"
        for name, (needed, instead) in sizes.items():
            if needed > MOST_BYTES:
                raise TooLargeError(
                    f"BayesianLogistic: {name} need {needed / 2**30:.1f} GiB, over the limit of "
                    f"{MOST_BYTES / 2**30:.0f} GiB; use {instead}."
                )

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class at the mean weights (rows × classes).

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows. With ``likelihood="one_vs_rest"`` they are σ(score) of each class, divided by their sum.
        """
        parts = []
        for scores in self._scored(self._fitted_rows(X)):
            logs = log_expit(scores) if self.likelihood == "one_vs_rest" else scores
            parts.append(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))
        return np.concatenate([np.zeros((0, len(self.class_nodes_))), *parts])

    def explained_model(self) -> WeightModel:
        """Return each node's weights minus its parent's: their sum along a path is the score of a label."""
        W, intercepts, parent = self.model_.W.copy(), self.model_.intercepts.copy(), self.taxonomy_.parent
        below = np.flatnonzero(parent >= 0)
        W[:, below] -= self.model_.W[:, parent[below]]
        intercepts[below] -= self.model_.intercepts[parent[below]]
        return WeightModel(W, intercepts)

    def pack_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fitted attributes, and the arrays of the model."""
        state, arrays = super().pack_state()
        return state, {**arrays, "precision": self.precision_}

    def unpack_state(self, state: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Restore what `pack_state` returned."""
        super().unpack_state(state, arrays)
        self.precision_ = arrays["precision"]
