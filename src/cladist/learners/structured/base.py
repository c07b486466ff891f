"""What the structured perceptrons share: the rounds."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError, is_count, is_positive, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.structured.columns import columns_for
from cladist.learners.structured.initial_weights import STARTS, start_for
from cladist.learners.structured.prediction import LabellingClassifier
from cladist.solvers.structured import PerceptronProblem, Rounds, solve_perceptron
from cladist.storage.array_groups import Arrays

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
STEPS = ("1/sqrt(T)", "1/(R sqrt(T))")
MOST_ROUNDS = 10**8


class StructuredPerceptron(LabellingClassifier):
    """Base of HP, SP and KSP; a subclass says which rows are chosen and what is kept of them."""

    max_iter: Any
    eps: float
    step: Any
    average: bool
    init: str
    decode: str
    random_state: Any
    n_jobs: Any
    executor: Any
    verbose: Any

    # ---------------------------------------------------------------- what differs

    @abstractmethod
    def _kernel_function(self, X: Any) -> KernelFunction:
        """Return the kernel, given the rows to learn from."""

    @abstractmethod
    def _kept(self, X: Any, rows: Ids, coefs: sparse.csr_array) -> Any:
        """Return what is kept of Σ_k coefs[:, k] ⊗ φ(x_rows[k]): a `WeightModel` or a `SupportModel`."""

    def _learning_rate(self, X: Any, labels: LabelMatrix, n_rounds: int, radius: float) -> float | None:
        """Return η, by which drawn rows are reweighed; None: the row of least margin is taken in every round."""
        return None

    # ---------------------------------------------------------------- learning

    def _learn(self, X: Any, labels: LabelMatrix) -> None:
        n_chunks = min(getattr(self, "n_chunks", 1), len(labels))
        random = random_generator(type(self).__name__, self.random_state)
        function = self._kernel_function(X)
        # A part must not be sorted by label, as data often are.
        order = random.permutation(len(labels)) if n_chunks > 1 else np.arange(len(labels))
        rows = order[:, None] if self._is_precomputed else (X[order] if n_chunks > 1 else X)
        ends = np.linspace(0, len(order), n_chunks + 1).astype(int).tolist()
        windows = list(pairwise(ends))
        columns = columns_for(rows, function, windows)
        ordered = labels[order] if n_chunks > 1 else labels
        n_rounds = self._n_rounds(len(labels))
        radius = float(np.sqrt(np.max(columns.diagonal) * self.taxonomy_.n_nodes))
        rounds = Rounds(
            n_rounds,
            self._step_length(n_rounds, radius),
            self._learning_rate(X, labels, n_rounds, radius),
            average=bool(self.average),
            stop_early=bool(getattr(self, "early_stopping", False)),
            windows=windows,
            cache_bytes=1e6 * getattr(self, "cache_size", 200),
        )
        problem = PerceptronProblem(columns, ordered, start_for(self.init, ordered, random))
        executor = executor_for(self.n_jobs, self.executor)
        found = solve_perceptron(problem, rounds, random.random_sample(n_rounds), executor)
        self.n_iter_, self.converged_, self.history_ = found.n_rounds, found.separated, found.history
        self.radius_, self.step_, self.eta_ = radius, rounds.step, rounds.rate
        by_number = np.argsort(order[found.rows])
        self.model_ = self._kept(X, order[found.rows][by_number], sparse.csr_array(found.coefs[:, by_number]))

    def _n_rounds(self, n_rows: int) -> int:
        if self.max_iter is not None:
            return int(self.max_iter)
        return int(np.clip(np.ceil(np.log(n_rows) / self.eps**2), 1, MOST_ROUNDS))

    def _step_length(self, n_rounds: int, radius: float) -> float:
        if not isinstance(self.step, str):
            return float(self.step)
        root = float(np.sqrt(n_rounds))
        return 1.0 / root if self.step == STEPS[0] else 1.0 / (root * (radius or 1.0))

    def check_parameters(self) -> None:
        who = type(self).__name__
        if self.max_iter is not None and not is_count(self.max_iter):
            raise ParameterError(f"{who}: max_iter must be a whole number from 1 up, or None; got {self.max_iter!r}.")
        if not is_positive(self.eps):
            raise ParameterError(f"{who}: eps must be positive; got {self.eps!r}.")
        if not is_positive(self.step):
            one_of(who, "step", self.step, STEPS)
        one_of(who, "init", self.init, STARTS)
        self._check_decode(self.decode)

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "radius": self.radius_,
            "step": self.step_,
            "eta": self.eta_,
        }
        return state, self.model_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self.radius_, self.step_, self.eta_ = state["radius"], state["step"], state["eta"]
