"""SP, the stochastic perceptron: rows are drawn by weights that grow where margins are small.

Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron", AAAI 2013, Algorithm 2.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from cladist import progress
from cladist.learners.explanation import Explanation
from cladist.learners.kernel_functions import Kernel
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import LabellingClassifier, WeightModel
from cladist.solvers.structured import RowWeights


class StochasticPerceptron(LabellingClassifier):
    """Weights with a large margin over all other consistent labellings, from rows drawn at random (SP).

    As in `HardPerceptron`, every row's labelling y_i is compared with its runner-up Z_i. Row i, drawn with probability
    u_i / Σ u, changes the weights; after the draw all rows are reweighted by their margins v (Algorithm 2)::

        W̄ ← W̄ + step · (y_i − Z_i) x_iᵀ,    W = W̄ / max(1, ‖W̄‖),    u_j ← u_j (1 − η v_j + η² v_j²)

    The prediction is the best labelling, or, for single labels, the path of highest score. There is no bias term.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    max_iter, eps : int or None, float
        The number of rounds, T; None: ⌈log(n) / eps²⌉ for n rows. The paper's ε is the distance to the largest margin
        that is aimed at.
    step, average, init : {"1/sqrt(T)", "1/(R sqrt(T))"} or float; bool; {"zeros", "random", "class_mean"}
        The weight of an update in W̄, whether the model is the mean of all W_t or the last one, and W̄ of round 1;
        see `HardPerceptron`.
    eta, c : "auto" or float, float or "cv"
        η, the rate at which rows are reweighted; "auto": min(1/(2R), c √(log n / T)). c="cv": the best of 0.01, 0.1, 1
        and 10 by cross-validation on the training rows.
    n_chunks : int
        The number of random parts of the rows, which are trained on one after the other by an equal share of the
        rounds, each from where the one before ended. A round costs only the rows of its part.
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
    coef_, node_coef_ : arrays
        Weights, one row per class or per node. `explain` splits a path's score by features.
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
    >>> model = StochasticPerceptron(data.taxonomy, max_iter=2000).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8
    True
    """

    _saved: ClassVar[tuple[str, ...]] = ("radius_", "step_", "eta_", "n_support_", "c_", "cv_results_")

    def __init__(
        self,
        taxonomy: Any = None,
        *,
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
        """Refuse parameters that make no sense."""
        parameters.check_rounds(self)
        parameters.check_sampling(self)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        with self.training():
            state, order, draws = parameters.prepare_rounds(self, X, labels, Kernel("linear"))
            with progress.task("Perceptron", sum(map(len, draws))) as running:
                for chunk, uniforms in zip(state.windows, draws, strict=True):
                    state.open(*chunk)
                    u = RowWeights(chunk[1] - chunk[0])  # u_1 = 1
                    for uniform in uniforms:
                        v = state.margins  # 2. Z_i and v_t(i) of all rows under W_t = W̄_t / max(1, ‖W̄_t‖)
                        i = u.draw(uniform)  # 1, 3. i_t ~ p_t = u_t / Σ u_t, the weights before their update
                        u.update(v, self.eta_)  # 2. u_{t+1} = u_t (1 − η v_t + η² v_t²)
                        state.add(i)  # 3. W̄_{t+1} = W̄_t + step (y_i − Z_i) x_iᵀ
                        running.advance()
            solution = state.solution(averaged=bool(self.average))
        self.n_iter_, self.converged_, self.history_ = solution.n_rounds, solution.separated, solution.history
        rows, coefs = solution.by_number(order)
        self.n_support_ = len(rows)
        self.model_ = WeightModel.from_rows(X, rows, coefs)  # the mean of all W_t, or the last
        return self

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature to a label's score along its path; they sum to the score.

        Parameters
        ----------
        X, nodes : rows, sequence of labels or None
            The rows, and the label to explain of each; None: the predicted one.
        """
        return parameters.explain_paths(self, X, nodes)
