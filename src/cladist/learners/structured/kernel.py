"""KSP, the stochastic perceptron with kernels: what it keeps are rows.

Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron", AAAI 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.learners.structured.kernel_rows import TakesKernels
from cladist.learners.structured.models import SupportModel
from cladist.learners.structured.row_sampling import DrawsRows
from cladist.storage.array_groups import Arrays


class KernelStochasticPerceptron(TakesKernels, DrawsRows):
    """`StochasticPerceptron` with kernels: W is a sum over the rows drawn, and rows enter by K(x, x') alone.

    The scores a of all rows are kept up to date: a round draws row i, finds its runner-up Z_i, and adds
    K(x_i, ·) (y_i − Z_i) to them. ‖W̄‖ follows by a recursion (Algorithm 3).

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest; a DAG is refused. None: a star of the classes seen.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values, as in scikit-learn's SVC.
    degree, coef0 : int, float
        Of the polynomial kernel (gamma ⟨x, z⟩ + coef0)^degree; the paper's has gamma=1.
    gamma : {"scale", "auto"} or float
        Of "poly" and of "rbf", exp(−gamma ‖x − z‖²); the words mean what they do in scikit-learn's SVC. The paper's
        variance γ is gamma = 1/(2γ).
    max_iter : int or None
        Rounds, T. None: ⌈log(n) / eps²⌉ for n rows.
    eps : float
        Of that default; the paper's ε, how far the margin may stay below the largest.
    step : {"1/sqrt(T)", "1/(R sqrt(T))"} or float
        How much an update counts in W̄. R = max_i √(K(x_i, x_i) N). The first is the paper's; its regret is bounded by
        (1 + R²)√T / 2, that of the second by a multiple of R√T.
    average : bool
        Whether the model is the mean of all W_t, of which the theorems speak, or the last.
    init : {"zeros", "random", "class_mean"}
        W̄ of the first round: 0; tiny and random; (1/n) Σ y_i φ(x_i)ᵀ, scaled to norm 1 where it is longer.
    eta : "auto" or float
        η, by which rows are reweighed; "auto": min(1/(2R), c √(log n / T)).
    c : float or "cv"
        Of that. "cv": the best of 0.01, 0.1, 1 and 10 by cross-validation on the rows given to `fit`.
    n_chunks : int
        Parts that the rows are dealt to at random. They are gone through one after the other, each from where the one
        before ended, for T / n_chunks rounds. A round costs only the rows of its part.
    cache_size : float
        Kernel columns that are kept while learning, in MB.
    random_state : int, RandomState or None
        For the rows drawn.
    n_jobs : int or None
        Threads that work on blocks of rows in every round; the model does not depend on it.
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
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether the model is right on all rows it learnt from.
    history_ : list of dict
        About a hundred rounds and, last, the model itself on all rows; with `n_chunks` the rounds speak of the rows of
        their chunk. Entries: `round`; `objective`, the least margin of a row; `bound`,
        which no W of norm 1 exceeds; `gap`, the difference of these; `errors`, the share of rows that are not right;
        `norm`, ‖W̄‖; `seconds`.
    radius_, step_, eta_ : float
        R, the length of the step and η, as used.
    n_support_ : int
        How many rows the model is made of.
    model_size_ : int
        How many bytes it takes.
    support_, dual_coef_, support_vectors_
        The numbers of these rows, their coefficients as CSR (nodes × rows), and the rows themselves.
    gamma_ : float
        As used.
    c_, cv_results_
        With `c="cv"`, the c chosen and what each gave.

    Notes
    -----
    For single labels `decision_function` has the score of each label's path. For sets it has D_v, half the score of the
    best labelling with node v minus that of the best without: positive for the nodes predicted.

    A round costs a kernel column, O(nnz), and a pass over the scores, O(n N). Memory: O(n N) beside the rows; there is
    no n × n matrix, unless you give one. ``init="class_mean"`` makes every row a support row, and costs n columns.

    Examples
    --------
    >>> from cladist import KernelStochasticPerceptron
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = KernelStochasticPerceptron(data.taxonomy, kernel="rbf", max_iter=2000).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8
    True
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        kernel: Any = "linear",
        degree: int = 3,
        coef0: float = 1.0,
        gamma: Any = "scale",
        max_iter: int | None = None,
        eps: float = 0.1,
        step: Any = "1/sqrt(T)",
        average: bool = True,
        init: str = "zeros",
        eta: Any = "auto",
        c: Any = 1.0,
        n_chunks: int = 1,
        cache_size: float = 200.0,
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.max_iter = max_iter
        self.eps = eps
        self.step = step
        self.average = average
        self.init = init
        self.eta = eta
        self.c = c
        self.n_chunks = n_chunks
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        self._check_kernel()

    def _kept(self, X: Any, rows: npt.NDArray[np.int64], coefs: sparse.csr_array) -> SupportModel:
        return self._support_model(X, rows, coefs)

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super().pack_state()
        return {**state, "gamma": self.gamma_}, arrays

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        super().unpack_state(state, arrays)
        self.gamma_ = state["gamma"]
        self.model_ = self._unpacked_support(self.taxonomy_.n_nodes, arrays)
