"""What the structured perceptrons share: the way in, the rounds, and the ways out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.decoders import best_labelling, node_margins, path_scores
from cladist.errors import ParameterError, is_count, is_positive, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import CHUNK_BYTES, HierarchicalClassifier, random_generator
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.packing import Arrays
from cladist.learners.structured.columns import columns_for
from cladist.learners.structured.starting import STARTS, start_for
from cladist.solvers.structured import PerceptronProblem, Rounds, solve_perceptron

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
STEPS = ("1/sqrt(T)", "1/(R sqrt(T))")
MOST_ROUNDS = 10**8


class StructuredPerceptron(HierarchicalClassifier):
    """Base of HP, SP and KSP; a subclass says which rows are chosen and what is kept of them."""

    _answers_sets: ClassVar[bool] = True

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
    model_: Any

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

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, starting anew.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        """
        self._check_parameters()
        X, labels = self._enter(X, y)
        self._check_form(self.decode)
        who = type(self).__name__
        nodes = np.arange(self.taxonomy_.n_nodes) if self._decodes_sets else np.unique(labels.nodes(who))
        self._set_classes(nodes)
        # Side by side, learners would undo each other's limits; and sums must not depend on the number of threads.
        with progress.shown(self.verbose), threadpool_limits(1, user_api="blas"):
            self._learn(X, labels)
        return self

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

    @property
    def _is_precomputed(self) -> bool:
        kernel = getattr(self, "kernel", "linear")
        return isinstance(kernel, str) and kernel == "precomputed"

    def _check_parameters(self) -> None:
        who = type(self).__name__
        if self.max_iter is not None and not is_count(self.max_iter):
            raise ParameterError(f"{who}: max_iter must be a whole number from 1 up, or None; got {self.max_iter!r}.")
        if not is_positive(self.eps):
            raise ParameterError(f"{who}: eps must be positive; got {self.eps!r}.")
        if not is_positive(self.step):
            one_of(who, "step", self.step, STEPS)
        one_of(who, "init", self.init, STARTS)
        self._check_decode(self.decode)

    # ---------------------------------------------------------------- answering

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        """Yield rows in pieces, so many that what their scores need is about `CHUNK_BYTES`."""
        rows = max(at_least, CHUNK_BYTES // (8 * self.model_.n_held(self.taxonomy_.n_nodes)))
        for start in range(0, X.shape[0], rows):
            yield X[start : start + rows]

    def _class_scores(self, X: Any) -> npt.NDArray[Any]:
        decoded = node_margins if self._decodes_sets else path_scores
        return decoded(self.model_.scores(X), self.taxonomy_)[:, self.class_nodes_]

    def _predict_nodes(self, X: Any) -> Ids:
        parts = [self._class_scores(chunk).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def _predict_sets(self, X: Any) -> LabelMatrix:
        parts = [best_labelling(self.model_.scores(chunk), self.taxonomy_).to_indicator() for chunk in self._chunks(X)]
        chosen = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix(chosen.indptr.astype(np.int64), chosen.indices.astype(np.int32), self.taxonomy_)

    @property
    def model_size_(self) -> int:
        """How many bytes the model takes: its weights, or its support rows and their coefficients."""
        return int(self.model_.n_bytes)

    # ---------------------------------------------------------------- being saved

    def _pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "radius": self.radius_,
            "step": self.step_,
            "eta": self.eta_,
        }
        return state, self.model_.pack()

    def _unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self.radius_, self.step_, self.eta_ = state["radius"], state["step"], state["eta"]
