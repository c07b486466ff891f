"""`LinearClassifier`: prediction, weights and explanations of learners with one linear model per label.

A learner adds `fit`, and two steps that `C_path` repeats: `prepare` makes the one-vs-rest problem, `solve` solves it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cladist.decoders import best_labelling, top_down
from cladist.errors import DatasetError, LabelError, ModelFormatError, ParameterError, is_count, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier, random_generator
from cladist.learners.explanation import Explanation, explain_by_vectors, nodes_to_explain, split_by_node
from cladist.learners.label_losses import one_vs_rest_losses
from cladist.learners.label_warnings import warn_caller
from cladist.learners.select_c import check_search, pack_choice, unpack_choice
from cladist.linear_model.arrays import pack_weights, unpack_weights
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.weights import Weights
from cladist.mixed_rows import MixedRows, csr_if_mixed
from cladist.solvers import OneVsRest, Settings, Solution
from cladist.solvers.linear.one_vs_rest import growth
from cladist.solvers.relations import Coupling
from cladist.solvers.warm_start import LastFit, scale_state
from cladist.solvers.weight_start import WeightStart
from cladist.storage.array_groups import Arrays, check_nodes, group, prefixed, unpack_ids

Ids = npt.NDArray[np.int64]
PIECE_BYTES = 2**29  # of scores for which weights that are made on demand are made once
MOST_SPLIT = 2**26  # weights of all nodes, up to which explanations are split by node
VECTORS_AT_ONCE = 16  # classes whose weights are held to explain their scores
FORMS = ("auto", "dense", "sparse", "dual")
SOLVERS = ("auto", "coordinate", "newton")
PRUNED = ("sparse", "differences")
LARGEST_C, LARGEST_VALUE = 1e12, 1e12  # float32 ends at 3e38, and squares of these are summed


def check_linear(model: Any) -> None:
    """Refuse values of `C`, `fit_intercept`, `tol`, `max_iter`, `solver` and `prune` that make no sense."""
    who = type(model).__name__
    if not isinstance(model.fit_intercept, (bool, np.bool_)):
        one_of(who, "fit_intercept", model.fit_intercept, (False, True))
    searched = isinstance(model.C, str) and model.C == "cv"
    if not searched and not (is_positive(model.C) and model.C <= LARGEST_C):
        raise ParameterError(f"{who}: C must be positive, or 'cv' to choose it; got {model.C!r}.")
    if not is_positive(model.tol):
        raise ParameterError(f"{who}: tol must be positive; got {model.tol!r}.")
    if not is_count(model.max_iter):
        raise ParameterError(f"{who}: max_iter must be a whole number from 1 up; got {model.max_iter!r}.")
    one_of(who, "solver", model.solver, getattr(model, "solvers", SOLVERS))
    if model.prune != 0 and not is_positive(model.prune):
        raise ParameterError(f"{who}: prune must be 0 or positive; got {model.prune!r}.")
    if model.scoring is not None or model.budget is not None:
        check_search(model)


def check_values(who: str, rows: Any) -> None:
    """Refuse rows with values so large that scores would overflow."""
    for block in rows.blocks if isinstance(rows, MixedRows) else [rows]:
        values = block.data if sparse.issparse(block) else block
        largest = max(float(np.max(values, initial=0)), -float(np.min(values, initial=0)))  # without a copy of all
        if not largest < LARGEST_VALUE:
            size = f"a value of {largest:.0e} is too large to compute with"
            raise DatasetError(f"{who}: {size}; scale the features as those of the training rows.")


def warn_of_gap(model: Any, worst: float) -> None:
    """Warn that a classifier did not reach its tolerance, and say what may help."""
    advice = "raise max_iter, or lower C" if model.n_iter_ >= model.max_iter else "scale the features, or raise tol"
    warn_caller(
        f"{type(model).__name__} stopped after {model.n_iter_} sweeps with a gap of {worst:.1e}, over "
        f"tol={model.tol:g}; {advice}.",
        ConvergenceWarning,
    )


class Agreement(NamedTuple):
    """Shares of rows, or of labels, where beam search and exact search agree.

    Attributes
    ----------
    first : float
        Rows whose best label is the same.
    shared : float
        Labels among the exact k best that the beam found, in any order.
    all : float
        Rows whose k labels are the same in the same order.
    """

    first: float
    shared: float
    all: float


class WarmFits:
    """Fits of clones of a model for one C after the other, each from the solution of the last call."""

    def __init__(self, model: LinearClassifier, X: Any, y: Any, sample_weight: Any) -> None:
        self.model, first = model, clone(model)
        self.problem = first.prepare(*first.validate_weighted(X, y, sample_weight))
        self.shared = {name: value for name, value in vars(first).items() if name.endswith("_") or name == "_coupling"}
        self.last: tuple[Any, float] = (None, 1.0)  # the state in which the last fit ended, and its C

    def __call__(self, C: float, **others: Any) -> Any:
        """Return a clone with this C, and other parameters, fitted."""
        started, fitted = time.perf_counter(), clone(self.model).set_params(C=C, **others)
        vars(fitted).update(self.shared)
        state, before = self.last
        start = None if state is None else scale_state(state, growth(self.model.loss, C / before))
        solution = fitted.solve(self.problem, C, start, keep_state=True)
        self.last = solution.state, C
        return fitted.keep(replace(solution, state=None), self.problem, C, started)


class LinearClassifier(HierarchicalClassifier):
    """Base of `FlatSVM`, `FlatLogistic`, `RecursiveSVM` and `RecursiveLogistic`; see the module."""

    takes_dags: ClassVar[bool] = True
    answers_sets: ClassVar[bool] = True
    forms: ClassVar[tuple[str, ...]] = FORMS
    has_probabilities: ClassVar[bool] = False
    takes_mixed_rows: ClassVar[bool] = True

    C: Any
    scoring: Any
    budget: float | None
    loss: str
    fit_intercept: bool
    class_weight: Any
    weights: str
    prune: float
    tol: float
    max_iter: int
    solver: str
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    executor: Any
    decode: str
    verbose: bool | int

    weights_: Weights
    target_nodes_: Ids
    _coupling: Coupling | None = None  # pulls the weights of related nodes together; None in flat learners

    # ---------------------------------------------------------------- training

    def prepare(self, X: Any, labels: LabelMatrix, sample_weight: Any) -> OneVsRest:
        """Return one binary problem per target node, with C = 1, and set the classes."""
        raise TypeError(f"{type(self).__name__} does not say what it trains on.")

    def solve(self, problem: OneVsRest, C: float, state: Any = None, *, keep_state: bool = False) -> Solution:
        """Solve a problem for one value of C, from the state of another solution if one is given."""
        raise TypeError(f"{type(self).__name__} does not say how it is trained.")

    @property
    def label_options(self) -> Any:
        """The object with the options `targets` and `repair`."""
        return self

    def check_parameters(self) -> None:
        """Refuse values of the parameters that all linear classifiers have."""
        who = type(self).__name__
        check_linear(self)
        one_of(who, "weights", self.weights, self.forms)
        one_of(who, "warm_start", self.warm_start, (False, True))
        one_of(who, "decode", self.decode, ("auto", "single", "multi"))
        if self.prune and self.weights not in PRUNED:
            allowed = " or ".join(f"'{form}'" for form in PRUNED if form in self.forms)
            raise ParameterError(f"{who}: prune={self.prune!r} needs weights={allowed}, which keeps what is larger.")

    def settings(self) -> Settings:
        """Return the tolerance, the limit of sweeps and the seed."""
        seed = random_generator(type(self).__name__, self.random_state).randint(2**31 - 1)
        return Settings(self.tol, self.max_iter, int(seed), self.solver)

    def last_state(self, problem: OneVsRest, C: float) -> Any:
        """Return the state of the last fit, to start from, if it fits this problem."""
        last: LastFit | WeightStart | None = self.__dict__.pop("_last_fit", None)
        if isinstance(last, WeightStart):
            known = last.taxonomy == self.taxonomy_
            return last.state_for(problem.at_C(C), self.target_nodes_, self._coupling) if known else None
        return None if last is None else last.state_for(problem.at_C(C), C, self._coupling)

    def keep(self, solution: Solution, problem: OneVsRest, C: float, started: float) -> Self:
        """Store the weights of a solution and its history; warn if it did not converge."""
        if not (isinstance(self.C, str) or isinstance(getattr(self, "sharing", None), str)):
            for name in ("C_", "cv_results_"):  # of an earlier fit
                self.__dict__.pop(name, None)
        self.__dict__.pop("_last_fit", None)
        history = [dict(entry) for entry in solution.history]
        history[-1]["seconds"] = time.perf_counter() - started
        self.weights_, self.history_, self.converged_ = solution.weights, history, solution.converged
        self.n_iter_ = int(history[-1].get("passes", len(history)))
        if self.warm_start and solution.state is not None:
            self._last_fit = LastFit.of(solution.state, problem.at_C(C), C, self._coupling)
        if not solution.converged:
            warn_of_gap(self, history[-1].get("worst_gap", history[-1]["gap"]))
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_last_fit"}

    def C_path(  # noqa: N802 - C is the papers' letter
        self, X: Any, y: Any, Cs: Iterable[float], sample_weight: npt.ArrayLike | None = None
    ) -> Iterator[Self]:
        """Yield a fitted model for each C, each solved from the solution for the C before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        Cs : sequence of float
            Best from small to large, which is also from easy to hard.

        Yields
        ------
        model
            A clone with that `C`, fitted. One at a time, so that not all are in memory at once.
        """
        who = type(self).__name__
        self.check_parameters()
        try:
            wanted = [float(C) if is_positive(C) else C for C in Cs]
        except TypeError:
            raise ParameterError(f"{who}: Cs must be a sequence of positive numbers; got {Cs!r}.") from None
        for C in wanted:
            if not (is_positive(C) and C <= LARGEST_C):
                raise ParameterError(f"{who}: Cs must be positive numbers; got {C!r}.")
        if isinstance(getattr(self, "sharing", None), str) and self.sharing == "cv":
            raise ParameterError(f"{who}: C_path varies C alone; give sharing as a number, or 'auto'.")
        return self._walk_path(X, y, wanted, sample_weight)

    def _walk_path(self, X: Any, y: Any, Cs: list[float], sample_weight: Any) -> Iterator[Self]:
        fit = self.with_sharing(X, y, sample_weight, Cs).warm_fits(X, y, sample_weight)
        for C in Cs:
            yield fit(C)

    def with_sharing(self, X: Any, y: Any, sample_weight: Any, Cs: list[float]) -> Self:
        """Return a clone in which `sharing` is a number, for several values of C; the model itself if it has none."""
        return self

    def warm_fits(self, X: Any, y: Any, sample_weight: Any = None) -> Callable[..., Any]:
        """Return a function of C, and of other parameters, that fits a clone from the solution of the last call."""
        return WarmFits(self, X, y, sample_weight)

    # ---------------------------------------------------------------- prediction

    def _fitted_rows(self, X: Any) -> Any:
        rows = super()._fitted_rows(X)
        check_values(type(self).__name__, rows)
        return rows

    @property
    def _one_per_label(self) -> bool:
        """Whether there is exactly one problem per label, in the same order."""
        sums_paths = self.label_options.targets == "nodes" and not self.decodes_sets
        return np.array_equal(self.target_nodes_, self.class_nodes_) and not sums_paths

    def predict_nodes(self, X: Any) -> Ids:
        """Return the label of highest score of every row, as a node id."""
        if len(self.class_nodes_) == 1:
            return np.repeat(self.class_nodes_, X.shape[0])
        if self._one_per_label:
            return self.class_nodes_[self.weights_.best(X)]
        parts = [scores.argmax(axis=1) for scores in self._scored(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the labels of positive score of every row, made consistent."""
        parts = [self._positive_nodes(scores) for scores in self._scored(X)]
        nodes = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix.from_ids(nodes.indptr, nodes.indices, self.taxonomy_)

    def _positive_nodes(self, scores: npt.NDArray[Any]) -> sparse.csr_array:
        options = self.label_options
        if options.targets == "leaves" or options.repair == "bottom_up":
            rows, columns = np.nonzero(scores > 0)
            shape = (len(scores), self.taxonomy_.n_nodes)
            return sparse.csr_array((np.ones(len(rows), np.int8), (rows, self.target_nodes_[columns])), shape=shape)
        node_scores = np.full((len(scores), self.taxonomy_.n_nodes), -np.inf)
        node_scores[:, self.target_nodes_] = scores
        decode = top_down if options.repair == "top_down" else best_labelling
        return decode(node_scores, self.taxonomy_).to_indicator()

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the score of every class for every row."""
        if not len(self.target_nodes_):
            return np.zeros((X.shape[0], len(self.class_nodes_)), np.float32)
        scores = self.weights_.scores(X)
        return scores if self._one_per_label else scores @ self._combination().T

    def _scored(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        piece_rows = PIECE_BYTES // (4 * max(1, len(self.class_nodes_)))
        for piece in self._chunks(X, at_least=max(1, piece_rows) if self.weights_.rebuilds_blocks(X.shape[0]) else 1):
            yield from self._chunks(self.class_scores(piece))

    def label_losses(self, X: Any, starts: Ids, nodes: Ids) -> npt.NDArray[np.float64]:
        """Return the losses of (validated) rows under labels they may have; see `one_vs_rest_losses`."""
        return one_vs_rest_losses(self, X, starts, nodes)

    def _combination(self, classes: Ids | None = None) -> npt.NDArray[np.float32]:
        """Return the linear map (labels × problems) from scores of problems to those of labels, some or all.

        Minus and plus half of the one problem that separates two labels, or sums over paths.
        """
        if len(self.target_nodes_) == 1 and len(self.class_nodes_) == 2 and self.label_options.targets == "leaves":
            halves = np.array([[-0.5], [0.5]], np.float32)
            return halves if classes is None else halves[classes]
        labels = self.class_nodes_ if classes is None else self.class_nodes_[classes]
        paths = LabelMatrix.from_nodes(labels, self.taxonomy_).to_indicator()
        return paths[:, self.target_nodes_].toarray().astype(np.float32)

    @available_if(lambda model: model.has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of every class (rows × classes).

        For sets of labels, σ(score) of each class by itself. For single labels these divided by their sum, as in
        LIBLINEAR; for two classes, σ and 1 − σ of the one classifier. With `targets="nodes"` and single labels there
        are none: the sum of scores along a path is not a log odds.
        """
        rows = self._fitted_rows(X)
        if self.label_options.targets == "nodes" and not self.decodes_sets:
            raise LabelError(
                f"{type(self).__name__}: predict_proba needs targets='leaves', or sets of labels; sums over paths are "
                "no probabilities."
            )
        parts = [self._probabilities(scores.astype(np.float64)) for scores in self._scored(rows)]
        return np.concatenate([np.zeros((0, len(self.class_nodes_))), *parts])

    def _probabilities(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if not self._one_per_label:
            scores = scores * 2  # halves of the score of the one classifier that separates two labels
        probabilities = expit(scores)
        if self.decodes_sets:
            return probabilities
        # Where all scores are far below 0, σ is 0 in float64; e^score still tells them apart.
        lost = probabilities.sum(axis=1) < np.finfo(np.float64).tiny
        probabilities[lost] = np.exp(scores[lost] - scores[lost].max(axis=1, keepdims=True))
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    # ---------------------------------------------------------------- the k best labels

    def _best_classes(self, X: Any, k: int, beam: int | None) -> tuple[Ids, npt.NDArray[Any]]:
        if self._one_per_label and self.weights_.can_rank(X.shape[0]):
            return self.weights_.top_k(X, k, beam)
        return super()._best_classes(X, k, beam)

    @property
    def _has_beam(self) -> bool:
        return isinstance(self.weights_, DifferenceWeights)

    @available_if(lambda model: "differences" in model.forms)  # type: ignore[untyped-decorator]
    def beam_agreement(self, X: Any, k: int = 1, *, beam: int) -> Agreement:
        """Return how often ``predict_top_k(X, k, beam=beam)`` equals ``predict_top_k(X, k)`` on a sample of rows.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            Rows like those to predict; some hundreds are enough.
        k : int
            Number of labels per row.
        beam : int
            Nodes followed per level.

        Examples
        --------
        >>> from cladist import RecursiveSVM
        >>> from cladist.datasets import make_topics
        >>> data = make_topics(n_samples=300, n_features=500, branching=(3, 3, 3), random_state=0)
        >>> model = RecursiveSVM(data.taxonomy, weights="differences").fit(data.X, data.y)
        >>> model.beam_agreement(data.X, 3, beam=9)
        Agreement(first=1.0, shared=1.0, all=1.0)
        """
        exact, beamed = self.predict_top_k(X, k)[0], self.predict_top_k(X, k, beam=beam)[0]
        shared, same = (exact[:, :, None] == beamed[:, None, :]).any(axis=2), exact == beamed
        return Agreement(*(float(np.mean(part)) for part in (same[:, 0], shared, same.all(axis=1))))

    # ---------------------------------------------------------------- weights

    @property
    def coef_(self) -> Any:
        """The weights, one row per class; made on demand. Dense, or CSR where they are kept sparse."""
        check_is_fitted(self)
        matrix = self.weights_.matrix()
        return matrix if self._one_per_label else _combine(self._combination(), matrix)

    @property
    def intercept_(self) -> npt.NDArray[Any]:
        """The intercepts, one per class."""
        check_is_fitted(self)
        intercepts = self.weights_.intercepts
        return intercepts if self._one_per_label else self._combination() @ intercepts

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row per node in `taxonomy_.names` order, as CSR; made on demand.

        In flat learners, nodes without a classifier have none. In recursive ones, nodes above leaves have the best
        weights given the leaves; a label with others below it has those of the leaf that stands for it there, and a
        node above no label those of its parent. On a graph, nodes without rows have the best weights given the
        others, and nodes that no label is related to have none.
        """
        check_is_fitted(self)
        if self._coupling is not None:
            return self._coupling.node_vectors(self.weights_)
        matrix = sparse.csr_array(self.weights_.matrix())
        shape = (self.taxonomy_.n_nodes, self.n_features_in_)
        indptr = np.zeros(shape[0] + 1, np.int64)
        indptr[self.target_nodes_ + 1] = np.diff(matrix.indptr)
        return sparse.csr_array((matrix.data, matrix.indices, np.cumsum(indptr)), shape=shape)

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature to a label's score; contributions sum to the score.

        With weights that are shared in a tree of moderate size, contributions are split by node: a node of the path has
        those of the difference between its weights and its parent's. Otherwise all are at the label.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain for every row; the one of highest score by default.
        """
        rows = csr_if_mixed(self._fitted_rows(X))
        if nodes is None and not len(self.class_nodes_):
            raise LabelError(f"{type(self).__name__}: there is no label to explain; the training rows had none.")
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        names = [self.taxonomy_.names[v] for v in ids]
        feature_names = getattr(self, "feature_names_in_", None)
        classes, place = np.unique(self._columns_of(names), return_inverse=True)
        explanations: dict[int, Explanation] = {}
        for first in range(0, len(classes), VECTORS_AT_ONCE):
            chosen = np.flatnonzero((place >= first) & (place < first + VECTORS_AT_ONCE))
            coef, intercepts = self._class_vectors(classes[first : first + VECTORS_AT_ONCE])
            labels = [names[i] for i in chosen]
            part = explain_by_vectors(rows[chosen], labels, place[chosen] - first, coef, intercepts, feature_names)
            explanations.update(zip(chosen.tolist(), part, strict=True))
        whys = [explanations[i] for i in range(len(names))]
        if not hasattr(self._coupling, "tree") or self.taxonomy_.n_nodes * self.n_features_in_ > MOST_SPLIT:
            return whys
        return split_by_node(whys, rows, ids, self.node_coef_, self.taxonomy_, feature_names)

    def _class_vectors(self, classes: Ids) -> tuple[Any, npt.NDArray[Any]]:
        """Return the weights and intercepts of some classes; making them is the cost of `explain`."""
        if self._one_per_label:
            return self.weights_.matrix(classes), self.weights_.intercepts[classes]
        combination = self._combination(classes)
        problems = np.flatnonzero(combination.any(axis=0))
        part = combination[:, problems]
        return _combine(part, self.weights_.matrix(problems)), part @ self.weights_.intercepts[problems]

    # ---------------------------------------------------------------- saving and loading

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return plain values and arrays that `unpack_state` reads."""
        state = {"history": self.history_, "n_iter": self.n_iter_, "converged": self.converged_, **pack_choice(self)}
        return state, {"target_nodes": self.target_nodes_, **prefixed("weights", pack_weights(self.weights_))}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore what `pack_state` returned."""
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        unpack_choice(self, state)
        self.target_nodes_ = unpack_ids(arrays["target_nodes"])
        check_nodes(self.target_nodes_, self.taxonomy_.n_nodes)
        self.unpack_coupling(state, arrays)
        above = () if self._coupling is None else self._coupling.tree_and_root()
        self.weights_ = unpack_weights(group("weights", arrays), self.n_features_in_, *above)
        check_nodes(self.target_nodes_, self.taxonomy_.n_nodes, self.weights_.n_classes)
        sizes = len(self.target_nodes_), len(self.class_nodes_)
        all_nodes = self.label_options.targets == "nodes"
        if not self._one_per_label and not (not self.decodes_sets and (all_nodes or sizes in ((1, 2), (0, 1)))):
            raise ModelFormatError("Its classifiers are not those of its classes.")

    def unpack_coupling(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore the coupling of a recursive learner."""


def _combine(combination: npt.NDArray[Any], matrix: Any) -> Any:
    if not sparse.issparse(matrix):
        return combination @ matrix
    return sparse.csr_array(sparse.csr_array(combination) @ matrix).sorted_indices()
