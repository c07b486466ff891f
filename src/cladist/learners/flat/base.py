"""What `FlatSVM` and `FlatLogistic` share: all but the loss."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy.typing as npt
from sklearn.base import clone

from cladist import progress
from cladist.errors import ModelFormatError, ParameterError, TooLargeError, is_positive, one_of
from cladist.execution import Executor, executor_for
from cladist.kernels.lanes import WIDTH
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.flat.prediction import LinearAnswers
from cladist.learners.flat.targets import Targets, class_weights
from cladist.learners.flat.warm_start import LastFit
from cladist.learners.select_c import LARGEST_C, warn_of_gap
from cladist.linear_model.arrays import pack_weights, unpack_weights
from cladist.solvers import OneVsRest, Settings, Solution, TrainingRows, solve_one_vs_rest
from cladist.solvers.linear.one_vs_rest import growth, scaled
from cladist.storage.array_groups import Arrays, check_nodes, group, prefixed, unpack_ids

MOST_DENSE_BYTES = 2 * 2**30  # weights="auto" keeps them dense up to here
FORMS = ("auto", "dense", "sparse", "dual")
PRUNED = ("sparse", "differences")
REPAIRS = ("top_down", "bottom_up", "best")


@dataclass(frozen=True)
class Prepared:
    """Rows and targets, ready to be solved for any C."""

    rows: TrainingRows
    targets: Targets
    class_weights: Any
    row_weights: Any


class FlatLinear(LinearAnswers):
    """A linear classifier for every label; see `FlatSVM`."""

    takes_dags: ClassVar[bool] = True
    answers_sets: ClassVar[bool] = True
    _forms: ClassVar[tuple[str, ...]] = FORMS

    fit_intercept: bool
    class_weight: Any
    weights: str
    prune: float
    tol: float
    max_iter: int
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    executor: Any
    decode: str
    verbose: bool | int

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
        self.check_parameters()
        X, labels, weights = self._checked(X, y, sample_weight)
        with progress.show_lines(self.verbose):
            C = self._chosen(X, labels, weights)
            prepared = self._prepare(X, labels, weights)
            start = self._state_to_begin(prepared, C)
            solution = self._solve(prepared, C, start, keep_state=self.warm_start)
            if self.warm_start:
                self._last_fit = self._remembered(solution.state, prepared, C)
        return self

    def _state_to_begin(self, prepared: Prepared, C: float) -> Any:
        """Return where the last fit ended, with `warm_start` and where that fits; it is forgotten."""
        last = self.__dict__.pop("_last_fit", None)
        return last.state_for(self._problem(prepared, C)) if last is not None and self.warm_start else None

    def _remembered(self, state: Any, prepared: Prepared, C: float) -> Any:
        """Return what a later fit may begin from."""
        return LastFit.of(state, self._problem(prepared, C))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_last_fit"}

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
        self.check_parameters()
        try:
            iter(Cs)
        except TypeError:
            raise ParameterError(
                f"{type(self).__name__}: Cs must be a sequence of positive numbers; got {Cs!r}."
            ) from None
        wanted = [float(C) if is_positive(C) else C for C in Cs]
        for C in wanted:
            if not (is_positive(C) and C <= LARGEST_C):
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
            start = None if state is None else self._scaled(state, growth(self._loss, C / before))
            solution = fitted._solve(prepared, C, start, keep_state=True)
            state, before = solution.state, C
            yield fitted

    def _scaled(self, state: Any, factor: float) -> Any:
        """Return where to begin if C is so many times as large."""
        return scaled(state, factor)

    def _take_form(self, other: Self) -> None:
        """Take what `_checked` and `_prepare` have set on another model."""
        for name in ("n_features_in_", "feature_names_in_", "taxonomy_", "label_form_", "class_nodes_", "classes_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self.target_nodes_ = other.target_nodes_

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_linear()
        one_of(who, "targets", self.targets, ("leaves", "nodes"))
        one_of(who, "repair", self.repair, REPAIRS)
        self._check_forms()
        if self.weights == "dual" and self._loss == "logistic":
            raise ParameterError(f"{who}: every row supports a logistic classifier; use weights='dense' or 'sparse'.")
        self._check_decode(self.decode)

    def _check_forms(self) -> None:
        who = type(self).__name__
        one_of(who, "weights", self.weights, self._forms)
        one_of(who, "warm_start", self.warm_start, (False, True))
        if self.prune and self.weights not in PRUNED:
            which = " or ".join(f"'{form}'" for form in PRUNED if form in self._forms)
            raise ParameterError(f"{who}: prune={self.prune!r} needs weights={which}, which keeps what is larger.")

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        X, labels = self.validate_fit(X, y)
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes(type(self).__name__)
        if self.targets == "nodes" and self.repair == "best":
            self.taxonomy_.require_tree(f"{type(self).__name__} with repair='best'")
        return self._weighted(X, labels, sample_weight)

    def _prepare(self, X: Any, labels: LabelMatrix, weights: Any) -> Prepared:
        targets = Targets.of(labels, all_nodes=self.targets == "nodes", sets=self.decodes_sets)
        self.target_nodes_ = targets.nodes
        self.set_classes(targets.labels)
        factors = class_weights(type(self).__name__, self.class_weight, targets, self.taxonomy_, labels)
        return Prepared(TrainingRows.from_matrix(X, constant=self.fit_intercept), targets, factors, weights)

    def _solve(self, prepared: Prepared, C: float, state: Any, keep_state: bool) -> Solution:
        """Solve all problems and remember what came of them."""
        started = time.perf_counter()
        seed = int(random_generator(type(self).__name__, self.random_state).randint(2**31 - 1))
        problem = self._problem(prepared, C)
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

    def _problem(self, prepared: Prepared, C: float) -> OneVsRest:
        return prepared.targets.problem(prepared.rows, self._loss, C, prepared.class_weights, prepared.row_weights)

    def _executor(self) -> Executor:
        return executor_for(self.n_jobs, self.executor)

    def _form(self, n_classes: int, n_used: int) -> str:
        if self.weights != "auto":
            return self.weights
        if self._is_small(n_classes, n_used):
            return "dense"
        if self._loss == "logistic":
            raise TooLargeError(
                f"{type(self).__name__}: {n_classes} classes × {n_used} features are "
                f"{n_classes * n_used * 4 / 2**30:.1f} GiB of weights; use weights='sparse' with prune=0.01 or so, or "
                "weights='dense' if there is room."
            )
        return "dual"

    def _is_small(self, n_classes: int, n_used: int) -> bool:
        """Tell whether dense weights are few enough to be kept as they are."""
        return -(-n_classes // WIDTH) * WIDTH * n_used * 4 <= MOST_DENSE_BYTES

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

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            **self._pack_choice(),
        }
        return state, {"target_nodes": self.target_nodes_, **prefixed("weights", pack_weights(self.weights_))}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        self._unpack_choice(state)
        self.weights_ = unpack_weights(group("weights", arrays), self.n_features_in_, *self._tree_above())
        self.target_nodes_ = unpack_ids(arrays["target_nodes"])
        self._check_targets()

    def _tree_above(self) -> tuple[Any, ...]:
        """Return the tree that weights may be sums along, and its root; nothing where there is none."""
        return ()

    def _check_targets(self) -> None:
        check_nodes(self.target_nodes_, self.taxonomy_.n_nodes, self.weights_.n_classes)
        sizes = len(self.target_nodes_), len(self.class_nodes_)
        sums = not self.decodes_sets and (self.targets == "nodes" or sizes in ((1, 2), (0, 1)))
        if not self._one_a_label and not sums:
            raise ModelFormatError("Its classifiers are not those of its classes.")
