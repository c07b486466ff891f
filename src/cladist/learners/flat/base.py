"""What `FlatSVM` and `FlatLogistic` share: all but the loss."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from cladist import progress
from cladist.decoders import best_labelling, top_down
from cladist.errors import LabelError, ParameterError, TooLargeError, is_positive, one_of
from cladist.execution import Executor, executor_for
from cladist.kernels.lanes import WIDTH
from cladist.labels import LabelMatrix, encode
from cladist.learners.base import HierarchicalClassifier, random_generator
from cladist.learners.choosing import ChoosesC, warn_of_gap
from cladist.learners.explaining import Explanation, explain_by_vectors
from cladist.learners.flat.targets import Targets, class_weights
from cladist.learners.linear_packing import pack_weights, unpack_weights
from cladist.learners.packing import Arrays, check_nodes, group, prefixed
from cladist.solvers import Rows, Settings, Solution, solve_one_vs_rest
from cladist.solvers.one_vs_rest import scaled
from cladist.solvers.weights import Weights

MOST_DENSE_BYTES = 2 * 2**30  # weights="auto" keeps them dense up to here
REPAIRS = ("top_down", "bottom_up", "best")


@dataclass(frozen=True)
class Prepared:
    """Rows and targets, ready to be solved for any C."""

    rows: Rows
    targets: Targets
    class_weights: Any
    row_weights: Any


class FlatLinear(ChoosesC, HierarchicalClassifier):
    """A linear classifier for every label; see `FlatSVM`."""

    _takes_dags: ClassVar[bool] = True
    _answers_sets: ClassVar[bool] = True

    targets: str
    repair: str
    fit_intercept: bool
    class_weight: Any
    weights: str
    prune: float
    tol: float
    max_iter: int
    random_state: Any
    n_jobs: int | None
    executor: Any
    decode: str
    verbose: bool | int
    target_nodes_: npt.NDArray[np.int64]
    weights_: Weights

    @property
    def _loss(self) -> str:
        raise TypeError(f"{type(self).__name__} does not say which loss it minimises.")

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit all classifiers.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        sample_weight : array (rows,), optional
            Factors of C; a row of weight 0 is as good as absent.
        """
        self._check_parameters()
        X, labels, weights = self._checked(X, y, sample_weight)
        with progress.shown(self.verbose):
            C = self._chosen(X, labels, weights)
            prepared = self._prepare(X, labels, weights)
            self._solve(prepared, C, None, keep_state=False)
        return self

    def C_path(  # noqa: N802 - C is the papers' letter
        self, X: Any, y: Any, Cs: Iterable[float], sample_weight: npt.ArrayLike | None = None
    ) -> Iterator[Self]:
        """Yield a fitted model for each C, each solved from where the one before ended.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        Cs : sequence of float
            Best from small to large, which is also from easy to hard.

        Yields
        ------
        model
            A clone with that `C`, fitted. They come one by one, so that not all are in memory at once.
        """
        self._check_parameters()
        wanted = [float(C) if is_positive(C) else C for C in Cs]
        for C in wanted:
            if not (is_positive(C) and np.isfinite(C)):
                raise ParameterError(f"{type(self).__name__}: Cs must be positive numbers; got {C!r}.")
        return self._walk_path(X, y, wanted, sample_weight)

    def _walk_path(self, X: Any, y: Any, Cs: list[float], sample_weight: Any) -> Iterator[Self]:
        model = clone(self)
        rows, labels, weights = model._checked(X, y, sample_weight)
        prepared = model._prepare(rows, labels, weights)
        state, before = None, 1.0
        for C in Cs:
            fitted = clone(self).set_params(C=C)
            fitted._take_form(model)
            solution = fitted._solve(prepared, C, scaled(state, C / before) if state is not None else None, True)
            state, before = solution.state, C
            yield fitted

    def _take_form(self, other: Self) -> None:
        """Take what `_checked` and `_prepare` have set on another model."""
        for name in ("n_features_in_", "feature_names_in_", "taxonomy_", "label_form_", "class_nodes_", "classes_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self.target_nodes_ = other.target_nodes_

    def _check_parameters(self) -> None:
        who = type(self).__name__
        self._check_linear()
        one_of(who, "targets", self.targets, ("leaves", "nodes"))
        one_of(who, "repair", self.repair, REPAIRS)
        one_of(who, "weights", self.weights, ("auto", "dense", "sparse", "dual"))
        if self.weights == "dual" and self._loss == "logistic":
            raise ParameterError(f"{who}: every row supports a logistic classifier; use weights='dense' or 'sparse'.")
        if self.prune and self.weights != "sparse":
            raise ParameterError(f"{who}: prune={self.prune!r} needs weights='sparse', which keeps what is larger.")
        self._check_decode(self.decode)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        X, labels = self._enter(X, y)
        self._check_form(self.decode)
        if not self._decodes_sets:
            labels.nodes(type(self).__name__)
        if self.targets == "nodes" and self.repair == "best":
            self.taxonomy_.require_tree(f"{type(self).__name__} with repair='best'")
        return self._weighted(X, labels, sample_weight)

    def _prepare(self, X: Any, labels: LabelMatrix, weights: Any) -> Prepared:
        targets = Targets.of(labels, all_nodes=self.targets == "nodes", sets=self._decodes_sets)
        self.target_nodes_ = targets.nodes
        self._set_classes(targets.labels)
        factors = class_weights(type(self).__name__, self.class_weight, targets, self.taxonomy_, labels)
        return Prepared(Rows.of(X, constant=self.fit_intercept), targets, factors, weights)

    def _solve(self, prepared: Prepared, C: float, state: Any, keep_state: bool) -> Solution:
        """Solve all problems and remember what came of them."""
        started = time.perf_counter()
        seed = int(random_generator(type(self).__name__, self.random_state).randint(2**31 - 1))
        problem = prepared.targets.problem(prepared.rows, self._loss, C, prepared.class_weights, prepared.row_weights)
        solution = solve_one_vs_rest(
            problem,
            Settings(self.tol, self.max_iter, seed),
            executor=self._executor(),
            form=self._form(problem.n_classes, prepared.rows.n_used),
            prune=self.prune,
            state=state,
            keep_state=keep_state,
        )
        self.weights_ = solution.weights
        self._remember(solution, time.perf_counter() - started)
        return solution

    def _executor(self) -> Executor:
        return executor_for(self.n_jobs, self.executor)

    def _form(self, n_classes: int, n_used: int) -> str:
        if self.weights != "auto":
            return self.weights
        if -(-n_classes // WIDTH) * WIDTH * n_used * 4 <= MOST_DENSE_BYTES:
            return "dense"
        if self._loss == "logistic":
            raise TooLargeError(
                f"{type(self).__name__}: {n_classes} classes × {n_used} features are "
                f"{n_classes * n_used * 4 / 2**30:.1f} GiB of weights; use weights='sparse' with prune=0.01 or so, or "
                "weights='dense' if there is room."
            )
        return "dual"

    def _remember(self, solution: Solution, seconds: float) -> None:
        objective = float(sum(entry["objective"] for entry in solution.history))
        gap = sum(entry["gap"] * entry["objective"] for entry in solution.history)
        worst = max((entry["gap"] for entry in solution.history), default=0.0)
        self.n_iter_ = max((int(entry["passes"]) for entry in solution.history), default=0)
        self.converged_ = solution.converged
        self.history_ = [
            {
                "objective": objective,
                "gap": float(gap / objective) if objective > 0 else 0.0,
                "worst_gap": float(worst),
                "passes": self.n_iter_,
                "seconds": seconds,
            }
        ]
        if not solution.converged:
            warn_of_gap(self, worst, stacklevel=5)

    # ---------------------------------------------------------------- answering

    def _predict_nodes(self, X: Any) -> npt.NDArray[np.int64]:
        if len(self.class_nodes_) == 1:
            return np.repeat(self.class_nodes_, X.shape[0])
        if self._one_a_label:
            return self.class_nodes_[self.weights_.best(X)]
        parts = [self._class_scores(chunk).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    @property
    def _one_a_label(self) -> bool:
        """Whether there is exactly one problem a label, in the same order."""
        return np.array_equal(self.target_nodes_, self.class_nodes_) and (
            self.targets == "leaves" or self._decodes_sets
        )

    def _class_scores(self, X: Any) -> npt.NDArray[Any]:
        if not len(self.target_nodes_):
            return np.zeros((X.shape[0], len(self.class_nodes_)), np.float32)
        scores = self.weights_.scores(X)
        return scores if self._one_a_label else scores @ self._combination.T

    @property
    def _combination(self) -> npt.NDArray[np.float32]:
        """What the problems' scores add to the labels' (labels × problems): halves of the one, or sums over paths."""
        if len(self.target_nodes_) == 1 and len(self.class_nodes_) == 2 and self.targets == "leaves":
            return np.array([[-0.5], [0.5]], np.float32)
        paths = LabelMatrix.from_nodes(self.class_nodes_, self.taxonomy_).to_indicator()
        return paths[:, self.target_nodes_].toarray().astype(np.float32)

    def _predict_sets(self, X: Any) -> LabelMatrix:
        parts = [self._cut(self.weights_.scores(chunk)) for chunk in self._chunks(X)]
        chosen = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix.closing(chosen.indptr, chosen.indices, self.taxonomy_)

    def _cut(self, scores: npt.NDArray[Any]) -> sparse.csr_array:
        """Return the labels whose score is positive, made consistent."""
        if self.targets == "leaves" or self.repair == "bottom_up":
            rows, columns = np.nonzero(scores > 0)
            shape = (len(scores), self.taxonomy_.n_nodes)
            return sparse.csr_array((np.ones(len(rows), np.int8), (rows, self.target_nodes_[columns])), shape=shape)
        of_nodes = np.full((len(scores), self.taxonomy_.n_nodes), -np.inf)
        of_nodes[:, self.target_nodes_] = scores
        decode = top_down if self.repair == "top_down" else best_labelling
        return decode(of_nodes, self.taxonomy_).to_indicator()

    # ---------------------------------------------------------------- weights

    @property
    def coef_(self) -> Any:
        """The weights, one row a class; made when asked for. Dense, or CSR where they are kept sparse."""
        check_is_fitted(self)
        matrix = self.weights_.matrix()
        return matrix if self._one_a_label else _product(self._combination, matrix)

    @property
    def intercept_(self) -> npt.NDArray[Any]:
        """The intercepts, one a class."""
        check_is_fitted(self)
        intercepts = self.weights_.intercepts
        return intercepts if self._one_a_label else self._combination @ intercepts

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row a node in `taxonomy_.names` order, as CSR; nodes without a classifier have none."""
        check_is_fitted(self)
        matrix = sparse.csr_array(self.weights_.matrix())
        shape = (self.taxonomy_.n_nodes, self.n_features_in_)
        indptr = np.zeros(shape[0] + 1, np.int64)
        indptr[self.target_nodes_ + 1] = np.diff(matrix.indptr)
        return sparse.csr_array((matrix.data, matrix.indices, np.cumsum(indptr)), shape=shape)

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds to a label's score; the parts sum to the score.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row; the one of highest score by default.
        """
        rows = self._fitted_rows(X)
        if nodes is None:
            best = [self._class_scores(chunk).argmax(axis=1) for chunk in self._chunks(rows)]
            ids = self.class_nodes_[np.concatenate(best)]
        else:
            ids = encode(nodes, self.taxonomy_).labels.nodes("explain")
        if len(ids) != rows.shape[0]:
            raise LabelError(f"explain: {rows.shape[0]} rows need as many labels in `nodes`; got {len(ids)}.")
        columns = self._columns_of([self.taxonomy_.names[v] for v in ids])
        return explain_by_vectors(
            rows, ids, columns, self.coef_, self.intercept_, self.taxonomy_, getattr(self, "feature_names_in_", None)
        )

    # ---------------------------------------------------------------- being saved

    def _pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            **self._pack_choice(),
        }
        return state, {"target_nodes": self.target_nodes_, **prefixed("weights", pack_weights(self.weights_))}

    def _unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self._unpack_choice(state)
        self.weights_ = unpack_weights(group("weights", arrays), self.n_features_in_)
        self.target_nodes_ = arrays["target_nodes"].astype(np.int64)
        self._check_targets()

    def _check_targets(self) -> None:
        check_nodes(self.target_nodes_, self.taxonomy_.n_nodes, self.weights_.n_classes)


def _product(combination: npt.NDArray[Any], matrix: Any) -> Any:
    return sparse.csr_array(sparse.csr_array(combination) @ matrix) if sparse.issparse(matrix) else combination @ matrix
