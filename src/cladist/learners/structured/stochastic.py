"""SP, the stochastic perceptron: rows are drawn by weights that grow where margins are small.

Liu, Tu, Qian & Zhang, "Large-Scale Hierarchical Classification via Stochastic Perceptron", AAAI 2013.
"""

from __future__ import annotations

from typing import Any

from cladist.learners.structured.linear import LinearPerceptron
from cladist.learners.structured.row_sampling import DrawsRows


class StochasticPerceptron(DrawsRows, LinearPerceptron):
    """Weights with as large a margin over all other consistent labellings as can be, from rows drawn at random.

    As in `HardPerceptron`, every row's labelling y_i is compared with its runner-up Z_i. Row i, drawn with probability
    u_i / Σ u, changes the weights; after the draw all rows are reweighed by their margins v (Algorithm 2)::

        W̄ ← W̄ + step · (y_i − Z_i) x_iᵀ,    W = W̄ / max(1, ‖W̄‖),    u_j ← u_j (1 − η v_j + η² v_j²)

    The prediction is the best labelling, or, for single labels, the path of highest score. There is no bias term.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest; a DAG is refused. None: a star of the classes seen.
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
    coef_, node_coef_ : arrays
        Weights, one row a class or a node. `explain` takes a path's score apart.
    c_, cv_results_
        With `c="cv"`, the c chosen and what each gave.

    Notes
    -----
    For single labels `decision_function` has the score of each label's path. For sets it has D_v, half the score of the
    best labelling with node v minus that of the best without: positive for the nodes predicted.

    A round costs a product of all rows with one and a pass over the scores, O(nnz + n N). Memory: O(n N + N d).
    `KernelStochasticPerceptron` is the same with kernels.

    Examples
    --------
    >>> from cladist import StochasticPerceptron
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = StochasticPerceptron(data.taxonomy, max_iter=2000).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8
    True
    """

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
