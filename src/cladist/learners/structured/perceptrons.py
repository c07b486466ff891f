"""HP, SP and KSP: perceptrons over all consistent labellings.

The hard perceptron updates on the row of least margin. The stochastic ones draw rows by weights that grow where margins
are small; with kernels the model keeps training rows. Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification
via Stochastic Perceptron", AAAI 2013, Algorithms 1 to 3.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from scipy import sparse

from cladist import checkpoints, progress
from cladist.checkpoints import resumable
from cladist.labels import LabelMatrix
from cladist.learners.kernel_functions import Kernel, check_kernel
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import Ids, LabellingClassifier, WeightModel
from cladist.solvers.structured.perceptron import PerceptronSolution, RowWeights


@dataclass(eq=False, repr=False)
class HardPerceptron(LabellingClassifier):
    """Weights with a large margin over all other consistent labellings, from the worst row of each round (HP).

    With signs y ∈ {±1}^N over the nodes, a labelling scores Σ_v y_v w_v·x. In every round each row's labelling y_i is
    compared with its runner-up Z_i, the best other consistent labelling; the row i of least margin
    v_i = Σ_v (y_iv − Z_iv) w_v·x_i changes the weights (Algorithm 1)::

        W̄ ← W̄ + step · (y_i − Z_i) x_iᵀ,    W = W̄ / max(1, ‖W̄‖)

    The prediction is the best labelling, or, for single labels, the path of highest score.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    max_iter, eps : "auto", int or None; float
        The number of rounds, T; None: ⌈log(n) / eps²⌉ for n rows, where the paper's ε is the distance to the largest
        margin that is aimed at; "auto": the larger of this and 4n.
    step : {"1/(R sqrt(T))", "1/sqrt(T)"} or float
        The weight of an update in W̄, where R = max_i √(K(x_i, x_i) N). The second is the paper's; its regret is at
        most (1 + R²)√T / 2, that of the first at most a multiple of R√T.
    fit_intercept : bool
        Whether rows have one more, constant feature, a tenth as long as they are in the mean. The paper has none.
    average : bool
        Whether the model is the mean of all W_t, which the theorems are about, or the last one.
    init : {"zeros", "random", "class_mean"}
        W̄ of the first round: 0; small random weights; or (1/n) Σ y_i φ(x_i)ᵀ, scaled down to norm 1 if it is longer.
    early_stopping : bool
        Whether to stop when all margins are positive, so that every row is right; the model is then that W.
    random_state : int, RandomState or None
        The seed of `init="random"`.
    n_jobs, executor : int or None, Executor or None
        The threads, or what runs instead of them (see `cladist.execution`); the model does not depend on it.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen, in taxonomy order (for sets, all nodes), and the taxonomy in use.
    n_iter_, converged_ : int, bool
        The number of rounds made, and whether the model is right on all training rows.
    history_ : list of dict
        One entry for about every hundredth round, and one for the model itself on all rows:
        `round`; `objective`, the least margin of a row; `bound`, which no W of norm 1 exceeds; `gap`, their difference;
        `errors`, the share of rows that are wrong; `norm`, ‖W̄‖; `seconds`.
    radius_, step_, constant_ : float
        R, the length of the step in use, and the square of the constant feature.
    n_support_, model_size_ : int
        The number of rows that the model is a sum of, and the size of the model in bytes.
    coef_, intercept_, node_coef_ : arrays
        Weights and intercepts, one row per class, and weights, one row per node. `explain` splits a path's score by
        features.

    Notes
    -----
    For single labels `decision_function` returns the score of each label's path. For sets it returns D_v, half the
    score of the best labelling with node v minus that of the best one without: positive for the nodes predicted.

    A round costs a product of all rows with one and a pass over the scores, O(nnz + n N). Memory: O(n N + N d).

    Examples
    --------
    >>> from cladist import HardPerceptron, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 1], [2, 1, 1], [0, 2, 1], [1, 2, 1]]
    >>> model = HardPerceptron(taxonomy).fit(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}])
    >>> model.converged_, model.score(X, [{"tennis"}, {"chess"}, {"art"}, {"art", "chess"}])
    (True, 1.0)
    """

    _saved: ClassVar[tuple[str, ...]] = ("radius_", "step_", "constant_", "n_support_")

    taxonomy: Any = None
    _: KW_ONLY
    max_iter: Any = "auto"
    eps: float = 0.1
    step: Any = "1/(R sqrt(T))"
    fit_intercept: bool = True
    average: bool = True
    init: str = "zeros"
    early_stopping: bool = True
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    from_old_parameters = staticmethod(parameters.fill_in_old)

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        parameters.check_rounds(self)

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        with self.training():
            state, _, [rounds] = parameters.prepare_rounds(self, X, labels, Kernel("linear"))
            separated = False
            kept = checkpoints.scope("rounds")
            with progress.task("Perceptron", len(rounds), unit="rounds") as running:
                state.open(0, len(labels))
                for _ in rounds[state.go_on(kept.load(), 0) :]:
                    v = state.margins  # v_t(i) of all rows under W_t = W̄_t / max(1, ‖W̄_t‖)
                    i = int(v.argmin())  # i_t = argmin v_t
                    separated = bool(self.early_stopping and v[i] > 0)
                    if separated:
                        break
                    state.add(i)  # W̄_{t+1} = W̄_t + step (y_i − Z_i) x_iᵀ
                    running.advance()
                    state.keep(kept, 0, state.n_rounds)
            solution = state.solution(averaged=bool(self.average) and not separated)
        _set_history(self, solution)
        self.n_support_ = len(solution.rows)
        self.model_ = WeightModel.from_rows(X, solution.rows, solution.coefs, self.constant_)  # W_t, or the mean
        return self


@dataclass(eq=False, repr=False)
class StochasticPerceptron(LabellingClassifier):
    """Weights with a large margin over all other consistent labellings, from rows drawn at random (SP).

    As in `HardPerceptron`, every row's labelling y_i is compared with its runner-up Z_i. Row i, drawn with probability
    u_i / Σ u, changes the weights; after the draw all rows are reweighted by their margins v (Algorithm 2)::

        W̄ ← W̄ + step · (y_i − Z_i) x_iᵀ,    W = W̄ / max(1, ‖W̄‖),    u_j ← u_j (1 − η v_j + η² v_j²)

    The prediction is the best labelling, or, for single labels, the path of highest score.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    max_iter, eps, step, fit_intercept, average, init : "auto", int or None; float; str or float; bool; bool; str
        The number of rounds, the weight of an update in W̄, whether rows have a constant feature, whether the model is
        the mean of all W_t or the last one, and W̄ of round 1; see `HardPerceptron`.
    eta, c : "auto" or float, float or "cv"
        η, the rate at which rows are reweighted; "auto": min(1/(2R), c √(log n / T)). c="cv": the best power of ten
        by cross-validation on the training rows.
    n_chunks : "auto" or int
        The number of random parts of the rows, which are trained on one after the other by an equal share of the
        rounds, each from where the one before ended. A round costs only the rows of its part. "auto": as few parts as
        have at most 4,096 rows each.
    cache_size, random_state : float; int, RandomState or None
        Memory for kernel columns during training, in MB; the seed of the rows drawn.
    n_jobs, executor : int or None, Executor or None
        The threads, or what runs instead of them (see `cladist.execution`); the model does not depend on it.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen, in taxonomy order (for sets, all nodes), and the taxonomy in use.
    n_iter_, converged_ : int, bool
        The number of rounds made, and whether the model is right on all training rows.
    history_ : list of dict
        One entry for about every hundredth round, measured on its chunk, and one for the model itself on all rows; see
        `HardPerceptron`.
    radius_, step_, eta_, constant_ : float
        R, the length of the step and η in use, and the square of the constant feature.
    n_support_, model_size_ : int
        The number of rows that the model is a sum of, and the size of the model in bytes.
    coef_, intercept_, node_coef_ : arrays
        Weights and intercepts, one row per class, and weights, one row per node. `explain` splits a path's score by
        features.
    c_, cv_results_ : float, list of dict
        With `c="cv"`, the c chosen and the score of each value.

    Notes
    -----
    `decision_function` returns the same as in `HardPerceptron`.

    A round costs a product of all rows with one and a pass over the scores, O(nnz + n N). Memory: O(n N + N d).
    `KernelStochasticPerceptron` is the same method with kernels.

    Examples
    --------
    >>> from cladist import StochasticPerceptron
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = StochasticPerceptron(data.taxonomy).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8
    True
    """

    _saved: ClassVar[tuple[str, ...]] = ("radius_", "step_", "constant_", "eta_", "n_support_", "c_", "cv_results_")

    taxonomy: Any = None
    _: KW_ONLY
    max_iter: Any = "auto"
    eps: float = 0.1
    step: Any = "1/(R sqrt(T))"
    fit_intercept: bool = True
    average: bool = True
    init: str = "zeros"
    eta: Any = "auto"
    c: Any = 1.0
    n_chunks: Any = "auto"
    cache_size: float = 200.0
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    from_old_parameters = staticmethod(parameters.fill_in_old)

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        parameters.check_rounds(self)
        parameters.check_sampling(self)

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        rows, coefs = _draw_rounds(self, X, labels, Kernel("linear"))
        self.n_support_ = len(rows)
        self.model_ = WeightModel.from_rows(X, rows, coefs, self.constant_)  # the mean of all W_t, or the last
        return self


@dataclass(eq=False, repr=False)
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
    max_iter, eps, step, fit_intercept, average, init : "auto", int or None; float; str or float; bool; bool; str
        The number of rounds, the weight of an update in W̄, whether rows have a constant feature, whether the model is
        the mean of all W_t or the last one, and W̄ of round 1; see `HardPerceptron`.
    eta, c, n_chunks : "auto" or float; float or "cv"; "auto" or int
        The rate at which rows are reweighted, the factor in its formula, and the number of random parts that the rows
        are split into; see `StochasticPerceptron`.
    cache_size, random_state : float; int, RandomState or None
        Memory for kernel columns during training, in MB; the seed of the rows drawn.
    n_jobs, executor : int or None, Executor or None
        The threads, or what runs instead of them (see `cladist.execution`); the model does not depend on it.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen, in taxonomy order (for sets, all nodes), and the taxonomy in use.
    n_iter_, converged_ : int, bool
        The number of rounds made, and whether the model is right on all training rows.
    history_ : list of dict
        One entry for about every hundredth round, measured on its chunk, and one for the model itself on all rows; see
        `HardPerceptron`.
    radius_, step_, eta_, constant_ : float
        R, the length of the step and η in use, and the square of the constant feature.
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
    >>> model = KernelStochasticPerceptron(data.taxonomy, kernel="rbf").fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8
    True
    """

    _saved: ClassVar[tuple[str, ...]] = ("radius_", "step_", "constant_", "eta_", "gamma_", "c_", "cv_results_")

    taxonomy: Any = None
    _: KW_ONLY
    kernel: Any = "linear"
    degree: int = 3
    coef0: float = 1.0
    gamma: Any = "scale"
    max_iter: Any = "auto"
    eps: float = 0.1
    step: Any = "1/(R sqrt(T))"
    fit_intercept: bool = True
    average: bool = True
    init: str = "zeros"
    eta: Any = "auto"
    c: Any = 1.0
    n_chunks: Any = "auto"
    cache_size: float = 200.0
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    from_old_parameters = staticmethod(parameters.fill_in_old)

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

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, or on their kernel values, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        rows, coefs = _draw_rounds(self, X, labels, self.training_kernel(X))
        self.model_ = self.support_model(X, rows, coefs)  # 3. pairs (i_t, c_t), repeated rows merged
        return self


def _draw_rounds(
    model: StochasticPerceptron | KernelStochasticPerceptron, X: Any, labels: LabelMatrix, kernel: Kernel
) -> tuple[Ids, sparse.csr_array]:
    """Make the rounds of Algorithms 2 and 3; returns the rows of the model and their coefficients (nodes × rows)."""
    with model.training():
        state, order, draws = parameters.prepare_rounds(model, X, labels, kernel)
        kept = checkpoints.scope("rounds")
        found = kept.load()
        with progress.task("Perceptron", sum(map(len, draws)), unit="draws") as running:
            for window, (chunk, uniforms) in enumerate(zip(state.windows, draws, strict=True)):
                if found is not None and window < found[0]:
                    continue
                state.open(*chunk)  # 1. a = 0, α_1 = 0, β_1 = √T; further chunks go on from the a, α, β reached
                u = RowWeights(chunk[1] - chunk[0])  # 1. u = 1
                drawn: checkpoints.Attributes = (u, ("u", "total"))
                first = state.go_on(found, window, drawn)
                for n_draws, uniform in enumerate(uniforms[first:], first + 1):
                    v = state.margins  # a. Z_i = argmax_{z ≠ y_i} a_iᵀz, v(i) = a_iᵀ(y_i − Z_i) / β_t
                    i = u.draw(uniform)  # b, c. i_t ~ p = u / Σu, the weights before their update
                    u.update(v, model.eta_)  # b. u ← u (1 − ηv + η²v²)
                    state.add(i)  # c–f. c_t = y_i − Z_i; α, β; a_j ← a_j + K(x_i, x_j) c_t for all j
                    running.advance()
                    state.keep(kept, window, n_draws, drawn)
        solution = state.solution(averaged=bool(model.average))
    _set_history(model, solution)
    return solution.by_number(order)


def _set_history(model: LabellingClassifier, solution: PerceptronSolution) -> None:
    model.n_iter_, model.converged_, model.history_ = solution.n_rounds, solution.separated, solution.history
