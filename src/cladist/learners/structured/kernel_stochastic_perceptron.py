"""KSP, the stochastic perceptron with kernels: the model keeps training rows.

Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron", AAAI 2013, Algorithm 3.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from cladist import progress
from cladist.learners.kernel_functions import check_kernel
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import LabellingClassifier
from cladist.solvers.structured import RowWeights


class KernelStochasticPerceptron(LabellingClassifier):
    """`StochasticPerceptron` with kernels: W is a sum over the rows drawn, and rows enter by K(x, x') alone (KSP).

    The scores a = W φ(x) of all rows are kept up to date: a round draws row i, finds its runner-up Z_i, and adds
    K(x_i, ·) (y_i − Z_i) to them; ‖W̄‖² follows by a recursion (Algorithm 3, whose β_1 is √T)::

        α ← α + K(x_i, x_i) ‖c‖² / T + (2/√T) max(1, √α) v_i,    β = √T max(1, √α),    c = y_i − Z_i

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        The kernel; a callable takes (X, Z) and returns the matrix of kernel values, as in scikit-learn's SVC.
    degree, coef0, gamma : int, float, {"scale", "auto"} or float
        Parameters of "poly", (gamma ⟨x, z⟩ + coef0)^degree, and "rbf", exp(−gamma ‖x − z‖²), as in scikit-learn's SVC.
        The paper's polynomial has gamma=1; its variance γ is gamma = 1/(2γ).
    max_iter, eps : int or None, float
        The number of rounds, T; None: ⌈log(n) / eps²⌉ for n rows. The paper's ε is the distance to the largest margin
        that is aimed at.
    step, average, init : {"1/sqrt(T)", "1/(R sqrt(T))"} or float; bool; {"zeros", "random", "class_mean"}
        The weight of an update in W̄, whether the model is the mean of all W_t or the last one, and W̄ of round 1;
        see `HardPerceptron`.
    eta, c, n_chunks : "auto" or float; float or "cv"; int
        The rate at which rows are reweighted, the factor in its formula, and the number of random parts that the rows
        are split into; see `StochasticPerceptron`.
    cache_size, random_state : float; int, RandomState or None
        Memory for kernel columns during training, in MB; the seed of the rows drawn.
    n_jobs, executor : int or None, Executor or None
        The number of threads, or what runs instead of them (see `cladist.execution`), for blocks of rows in every
        round; the model does not depend on it.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels that can be predicted, in taxonomy order (for sets all nodes, otherwise the labels seen), and the
        taxonomy in use.
    n_iter_, converged_ : int, bool
        The number of rounds made, and whether the model is right on all training rows.
    history_ : list of dict
        One entry for about every hundredth round, measured on its chunk, and one for the model itself on all rows; see
        `HardPerceptron`.
    radius_, step_, eta_ : float
        R, the length of the step and η in use.
    n_support_, model_size_ : int
        The number of rows that the model is a sum of, and the size of the model in bytes.
    support_, dual_coef_, support_vectors_ : arrays
        The numbers of these rows, their coefficients as CSR (nodes × rows), and the rows themselves.
    gamma_ : float
        The gamma in use.
    c_, cv_results_ : float, list of dict
        With `c="cv"`, the c chosen and the score of each value.

    Notes
    -----
    `decision_function` returns the same as in `HardPerceptron`.

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

    _saved: ClassVar[tuple[str, ...]] = ("radius_", "step_", "eta_", "gamma_", "c_", "cv_results_")

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

    @property
    def _keeps_rows(self) -> bool:
        return True

    @property
    def n_support_(self) -> int:
        """The number of rows that the model keeps."""
        return len(self.support_)

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        parameters.check_rounds(self)
        parameters.check_sampling(self)
        check_kernel(self)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, or on their kernel values, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        with self.training():
            state, order, draws = parameters.prepare_rounds(self, X, labels, self.training_kernel(X))
            with progress.task("Perceptron", sum(map(len, draws))) as running:
                for chunk, uniforms in zip(state.windows, draws, strict=True):
                    state.open(*chunk)  # 1. a = 0, α_1 = 0, β_1 = √T; further chunks go on from the a, α, β reached
                    u = RowWeights(chunk[1] - chunk[0])  # 1. u = 1
                    for uniform in uniforms:
                        v = state.margins  # a. Z_i = argmax_{z ≠ y_i} a_iᵀz, v(i) = a_iᵀ(y_i − Z_i) / β_t
                        i = u.draw(uniform)  # b, c. i_t ~ p = u / Σu, the weights before their update
                        u.update(v, self.eta_)  # b. u ← u (1 − ηv + η²v²)
                        state.add(i)  # c–f. c_t = y_i − Z_i; α, β; a_j ← a_j + K(x_i, x_j) c_t for all j
                        running.advance()
            solution = state.solution(averaged=bool(self.average))
        self.n_iter_, self.converged_, self.history_ = solution.n_rounds, solution.separated, solution.history
        rows, coefs = solution.by_number(order)
        self.model_ = self.support_model(X, rows, coefs)  # 3. pairs (i_t, c_t), repeated rows merged
        return self
