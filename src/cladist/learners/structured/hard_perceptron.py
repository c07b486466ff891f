"""HP, the hard perceptron: every round updates on the row of least margin.

Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron", AAAI 2013, Algorithm 1.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from cladist import progress
from cladist.learners.explanation import Explanation
from cladist.learners.kernel_functions import Kernel
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import LabellingClassifier, WeightModel


class HardPerceptron(LabellingClassifier):
    """Weights with a large margin over all other consistent labellings, from the worst row of each round (HP).

    With signs y ∈ {±1}^N over the nodes, a labelling scores Σ_v y_v w_v·x. In every round each row's labelling y_i is
    compared with its runner-up Z_i, the best other consistent labelling; the row i of least margin
    v_i = Σ_v (y_iv − Z_iv) w_v·x_i changes the weights (Algorithm 1)::

        W̄ ← W̄ + step · (y_i − Z_i) x_iᵀ,    W = W̄ / max(1, ‖W̄‖)

    The prediction is the best labelling, or, for single labels, the path of highest score. There is no bias term.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    max_iter, eps : int or None, float
        The number of rounds, T; None: ⌈log(n) / eps²⌉ for n rows. The paper's ε is the distance to the largest margin
        that is aimed at.
    step : {"1/sqrt(T)", "1/(R sqrt(T))"} or float
        The weight of an update in W̄, where R = max_i √(K(x_i, x_i) N). The first is the paper's; its regret is at most
        (1 + R²)√T / 2, that of the second at most a multiple of R√T.
    average : bool
        Whether the model is the mean of all W_t, which the theorems are about, or the last one.
    init : {"zeros", "random", "class_mean"}
        W̄ of the first round: 0; small random weights; or (1/n) Σ y_i φ(x_i)ᵀ, scaled down to norm 1 if it is longer.
    early_stopping : bool
        Whether to stop when all margins are positive, so that every row is right; the model is then that W.
    random_state : int, RandomState or None
        The seed of `init="random"`.
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
        One entry for about every hundredth round, and one for the model itself on all rows:
        `round`; `objective`, the least margin of a row; `bound`, which no W of norm 1 exceeds; `gap`, their difference;
        `errors`, the share of rows that are wrong; `norm`, ‖W̄‖; `seconds`.
    radius_, step_ : float
        R and the length of the step in use.
    n_support_, model_size_ : int
        The number of rows that the model is a sum of, and the size of the model in bytes.
    coef_, node_coef_ : arrays
        Weights, one row per class or per node. `explain` splits a path's score by features.

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

    _saved: ClassVar[tuple[str, ...]] = ("radius_", "step_", "n_support_")

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        max_iter: int | None = None,
        eps: float = 0.1,
        step: Any = "1/sqrt(T)",
        average: bool = True,
        init: str = "zeros",
        early_stopping: bool = True,
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
        self.early_stopping = early_stopping
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        parameters.check_rounds(self)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        with self.training():
            state, _, [rounds] = parameters.prepare_rounds(self, X, labels, Kernel("linear"))
            separated = False
            with progress.task("Perceptron", len(rounds)) as running:
                state.open(0, len(labels))
                for _ in rounds:
                    v = state.margins  # v_t(i) of all rows under W_t = W̄_t / max(1, ‖W̄_t‖)
                    i = int(v.argmin())  # i_t = argmin v_t
                    separated = bool(self.early_stopping and v[i] > 0)
                    if separated:
                        break
                    state.add(i)  # W̄_{t+1} = W̄_t + step (y_i − Z_i) x_iᵀ
                    running.advance()
            solution = state.solution(averaged=bool(self.average) and not separated)
        self.n_iter_, self.converged_, self.history_ = solution.n_rounds, solution.separated, solution.history
        self.n_support_ = len(solution.rows)
        self.model_ = WeightModel.from_rows(X, solution.rows, solution.coefs)  # W_t at the stop, or the mean of all
        return self

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature to a label's score along its path; they sum to the score.

        Parameters
        ----------
        X, nodes : rows, sequence of labels or None
            The rows, and the label to explain of each; None: the predicted one.
        """
        return parameters.explain_paths(self, X, nodes)
