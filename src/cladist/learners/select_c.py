"""The choice of a parameter by cross-validation on the training rows: ``C="cv"``, and ``sharing="cv"`` with it.

Values are decades. The search begins where the lengths of the rows suggest, follows the scores up or down until they
fall, and goes beyond its usual range where the best value is at the end of it. Models are fitted to a loose tolerance,
each from the solution for the value before; as few folds are used as tell the best values apart.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cladist import checkpoints, progress
from cladist.errors import LabelWarning, ParameterError, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.label_warnings import warn_caller
from cladist.learners.row_arrays import squared_lengths
from cladist.losses import Loss
from cladist.metrics import scorers
from cladist.mixed_rows import MixedRows

GRID = tuple(10.0**k for k in range(-3, 4))  # as in Gopal & Yang 2013
LIMITS = (1e-6, 1e6)  # how far the grid is widened
SHARINGS = (1.0, 0.1, 0.0)  # what sharing="cv" chooses from: the paper's, a little, nothing
FOLDS = 5
ENOUGH_ROWS = {"C": 1000, "sharing": 2000}  # held out; with as many in one fold, others are not looked at
LEAST_ROWS = 200  # to compare what labels share; with fewer, sharing="auto" is 1
MOST_WORK = 2e9  # nonzeros × labels, about a minute per fit; beyond, sharing="auto" is 1
PIECES = 20  # into which the rows held out are split, to see how much a score varies
LEAST_PIECE = {"accuracy": 10, "other": 40}  # rows; the mean over rows is the mean over small pieces, too
CLOSE = 0.5  # standard errors from the best value of C within which values are compared on further folds
LIKELY, CLEAR = 1.5, 2.5  # standard errors by which sharing must be better than none, and that end the comparison
MOST_SCORES = 2**24  # of a piece, where all nodes are ranked
LOOSE = 0.05  # relative duality gap of models that are only compared
MORE_SWEEPS, LEAST_SWEEPS = 3, 10  # such models stop after so many times the sweeps for the value before, or so many
PATIENCE = 2  # values in a row without a gain that end a walk which has gained nothing yet
MOST_STATE_BYTES = 2**30  # α of all folds; beyond, each value is solved from scratch
SCORINGS = (
    "accuracy",
    "average_precision",
    "h_loss",
    "hierarchical_f1",
    "macro_f1",
    "micro_f1",
    "multiclass_error",
    "symmetric_difference_loss",
    "tree_induced_error",
    "zero_one_loss",
)
Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Key = tuple[float, tuple[tuple[str, float], ...]]  # a value, and the names and values of other parameters


# -------------------------------------------------------------------- for learners


def choose_C(model: Any, X: Any, labels: LabelMatrix, weights: Any) -> float:  # noqa: N802 - the papers' letter
    """Return the C to train with; with ``C="cv"`` search for it and set `C_` and `cv_results_`."""
    return choose(model, "C", X, labels, weights)


def choose(model: Any, name: str, X: Any, labels: LabelMatrix, weights: Any = None) -> float:
    """Return the value of a parameter to train with; if it is "cv", search for it and set it, with `cv_results_`."""
    forget_choice(model, name)
    value = getattr(model, name)
    if isinstance(value, str):
        search = Search(model, name, X, labels, weights)
        with search.running():
            value = search.choose_value()
        search.set_choice({name: value})
    return float(value)


def choose_C_and_sharing(model: Any, X: Any, labels: LabelMatrix, weights: Any) -> float:  # noqa: N802
    """Return the C to train with; if C or `sharing` is to be chosen, set `C_`, `sharing_` and `cv_results_`."""
    if not isinstance(model.sharing, str):
        return choose_C(model, X, labels, weights)
    if model.sharing == "auto" and not _can_compare(model, X, labels):
        model.sharing_ = 1.0
        return choose_C(model, X, labels, weights)
    forget_choice(model)
    search = Search(model, "C", X, labels, weights)
    given = None if isinstance(model.C, str) else float(model.C)
    search.title = "C and sharing" if given is None else "sharing"
    with search.running(len(SHARINGS) * (len(GRID) if given is None else 1)):
        C, sharing = search.choose_pair(given)
    search.set_choice({"sharing": sharing} if model.sharing == "auto" and given == C else {"C": C, "sharing": sharing})
    return C


def _can_compare(model: Any, X: Any, labels: LabelMatrix) -> bool:
    """Tell whether sharing can be chosen: labels below common nodes, enough rows for a comparison, and not too many."""
    has_inner_nodes = model.relations_ is None and labels.taxonomy.n_nodes > len(labels.taxonomy.leaves)
    n_values = X.nnz if sparse.issparse(X) else X.size
    work = n_values * len(np.unique(labels.frontier[1]))
    return bool(has_inner_nodes and len(labels) >= LEAST_ROWS and work <= MOST_WORK)


def forget_choice(model: Any, name: str = "C") -> None:
    """Delete the result of the search of an earlier fit."""
    for attribute in (f"{name}_", "cv_results_"):
        vars(model).pop(attribute, None)


def pack_choice(model: Any) -> dict[str, Any]:
    """Return the result of a search as plain values of a model file."""
    return {"C": getattr(model, "C_", None), "cv_results": getattr(model, "cv_results_", None)}


def unpack_choice(model: Any, state: dict[str, Any]) -> None:
    """Set `C_` and `cv_results_` as `pack_choice` returned them."""
    if state.get("C") is not None:
        model.C_ = float(state["C"])
    if state.get("cv_results") is not None:
        model.cv_results_ = state["cv_results"]


def check_search(model: Any) -> None:
    """Refuse values of `scoring` and `budget` that make no sense."""
    who, scoring = type(model).__name__, model.scoring
    if isinstance(scoring, str):
        one_of(who, "scoring", scoring, SCORINGS)
    elif scoring is not None and not callable(scoring):
        raise ParameterError(f"{who}: scoring must be a name, a scorer, a loss or None; got {scoring!r}.")
    if model.budget is not None and not is_positive(model.budget):
        raise ParameterError(f"{who}: budget must be a positive number of seconds, or None; got {model.budget!r}.")


# -------------------------------------------------------------------- folds and scores


def folds_of(model: Any, labels: LabelMatrix) -> list[tuple[Ids, Ids]]:
    """Return the training rows and the held-out rows of each fold.

    With single labels every label has about the same share of each fold, and its only row is never held out.
    """
    n_rows = len(labels)
    if n_rows < 2:
        raise ParameterError(f"{type(model).__name__}: choosing by 'cv' needs two rows at least; there is {n_rows}.")
    given = np.random.RandomState(0) if model.random_state is None else model.random_state
    random = random_generator(type(model).__name__, given)
    shuffled = random.permutation(n_rows)
    if model.decodes_sets:
        fold_of = np.empty(n_rows, np.int64)
        fold_of[shuffled] = np.arange(n_rows) % FOLDS
    else:
        nodes = labels.nodes("")
        order = shuffled[np.argsort(nodes[shuffled], kind="stable")]
        fold_of = np.empty(n_rows, np.int64)
        fold_of[order] = np.arange(n_rows) % FOLDS
        is_alone = np.bincount(nodes)[nodes] == 1
        if is_alone.mean() < 0.5:  # otherwise there is little else to look at
            fold_of[is_alone] = FOLDS
    folds = [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(FOLDS)]
    return [(rows, random.permutation(out)) for rows, out in folds if len(out) and len(rows)]


def scorer_of(model: Any) -> Callable[[Any, Any, LabelMatrix], float]:
    """Return the function of (fitted model, rows, labels) that a search maximises."""
    scoring: Any = getattr(model, "scoring", None)
    if scoring is None:
        scoring = "average_precision" if model.decodes_sets else "accuracy"
    if isinstance(scoring, Loss):
        return scorers.make_scorer(scoring, greater_is_better=False)
    for name in SCORINGS:
        scorer = getattr(scorers, name)
        if scoring in (name, scorer) or scoring is getattr(scorer, "metric", None):
            return scorer

    def score(fitted: Any, X: Any, labels: LabelMatrix) -> float:
        """Call a scorer of the user's with labels in the form of the user's y."""
        form = fitted.label_form_ = model.label_form_
        fitted.set_classes(fitted.class_nodes_)
        y = form.render(labels) if model.decodes_sets else form.render_nodes(labels.nodes(""), labels.taxonomy)
        return float(scoring(fitted, X, y))

    return score


# -------------------------------------------------------------------- the search


class Search:
    """Scores of models with different values of a parameter on rows held out, and the decision which to try next.

    All values are tried on the first fold; further folds are for those that it cannot tell apart.
    """

    def __init__(self, model: Any, name: str, X: Any, labels: LabelMatrix, weights: Any = None) -> None:
        self.model, self.name, self.X, self.labels, self.weights = model, name, X, labels, weights
        self.title = name
        self.folds = folds_of(model, labels)
        enough = ENOUGH_ROWS["sharing" if isinstance(getattr(model, "sharing", None), str) else "C"]
        self.most_folds = int(np.clip(np.ceil(enough / len(self.folds[0][1])), 1, len(self.folds)))
        self.score = scorer_of(model)
        self.budget = model.budget if hasattr(model, "scoring") else None
        self.scores: dict[Key, list[list[float]]] = {}  # by fold and piece
        self.fits: dict[Any, Any] = {}  # by fold and other parameters
        self.n_sweeps: dict[Any, int] = {}
        self.sweeps: dict[Key, int] = {}  # of the last fit with a value
        self.started = time.perf_counter()
        self.kept = checkpoints.scope("search")
        self.last: dict[Any, Any] = {}  # by fold and other parameters, where fits go on from
        if (state := self.kept.load()) is not None:
            scores, n_sweeps, sweeps, last = (dict(pairs) for pairs in state)
            self.scores, self.n_sweeps, self.sweeps, self.last = scores, n_sweeps, sweeps, last

    def _keep(self) -> None:
        """Keep the scores, and where further fits go on from."""
        last = {place: fits.last for place, fits in self.fits.items() if hasattr(fits, "last")}
        kept = self.scores, self.n_sweeps, self.sweeps, {**self.last, **last}
        self.kept.save(lambda: [list(pairs.items()) for pairs in kept])

    @contextmanager
    def running(self, n_values: int = len(GRID)) -> Iterator[None]:
        """Report the fits made, of about the most there can be, and withhold warnings about models of folds."""
        most = n_values * self.most_folds
        with progress.task(f"choosing {self.title}", most, unit="fits") as self.task, warnings.catch_warnings():
            for category in (LabelWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", category)
            yield

    @property
    def is_late(self) -> bool:
        """Whether the time for the search is over."""
        return self.budget is not None and time.perf_counter() - self.started >= self.budget

    def set_choice(self, chosen: dict[str, float]) -> None:
        """Set what was chosen and `cv_results_`; tell of a search that ended early, or at the end of its range."""
        for name, value in chosen.items():
            setattr(self.model, f"{name}_", value)
        order = sorted(self.scores, key=lambda key: ([-value for _, value in key[1]], key[0]))
        self.model.cv_results_ = [self._entry(key) for key in order]
        who, words = type(self.model).__name__, ", ".join(f"{name}={value:g}" for name, value in chosen.items())
        if self.is_late:
            tried = ", ".join(f"{value:g}" for value in sorted({key[0] for key in self.scores}))
            ended = f"ended after its budget of {self.budget:g} s with {words}"
            warn_caller(
                f"{who}: the search for {self.title} {ended}; values of {self.name} tried: {tried}.", UserWarning
            )
        elif chosen.get(self.name) in LIMITS:
            warn_caller(f"{who}: the best {words} is at the end of what was searched; scale the features.", UserWarning)

    def _entry(self, key: Key) -> dict[str, float]:
        scores = self.measure(key, len(self.scores[key]))
        error = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
        measured = {"score": _mean(scores), "standard_error": error, "folds": len(self.scores[key])}
        return {self.name: key[0], **measured, **dict(key[1])}

    # ---------------------------------------------------------------- fits and scores

    def measure(self, key: Key, n_folds: int = 1) -> Floats:
        """Return the scores of all pieces of the first folds; what is not known is found out by fitting."""
        scores = self.scores.setdefault(key, [])
        for fold in range(len(scores), n_folds):
            words = ", ".join(f"{name}={value:g}" for name, value in ((self.name, key[0]), *key[1]))
            progress.describe(self.task, f"choosing: {words}")
            number = sum(map(len, self.scores.values()))
            with progress.hide(), self.kept.child(str(number)).active():
                fitted = self._fit(fold, key)
                pieces = [(self._rows(fold, piece), self.labels[piece]) for piece in self._pieces(fold)]
                scores.append([self.score(fitted, *piece) if len(piece[1].indices) else 0.0 for piece in pieces])
            self.task.advance()
            self._keep()
        return np.concatenate(scores[:n_folds])

    def _pieces(self, fold: int) -> list[Ids]:
        """Return the rows held out in a few parts of equal size, so that the spread of a score is seen."""
        held_out = self.folds[fold][1]
        least = LEAST_PIECE["accuracy" if self.score is scorers.accuracy else "other"]
        n_pieces = int(np.clip(len(held_out) // least, 1, PIECES))
        most = max(1, MOST_SCORES // self.labels.taxonomy.n_nodes)
        return [np.asarray(piece[:most]) for piece in np.array_split(held_out, n_pieces)]

    def _rows(self, fold: int, rows: Ids) -> Any:
        """Return some rows of X, or their kernel values with the training rows of a fold."""
        part = self.X[rows]
        return part[:, self.folds[fold][0]] if getattr(self.model, "is_precomputed", False) else part

    def _fit(self, fold: int, key: Key) -> Any:
        value, others = key
        place = fold, others
        if place not in self.fits:
            self.fits[place] = self._fits_of(fold, dict(others))
            if place in self.last:
                self.fits[place].last = self.last[place]
        if place in self.n_sweeps:  # a value that needs many more sweeps is hardly better, and costs most of the search
            limit = min(self.model.max_iter, max(LEAST_SWEEPS, MORE_SWEEPS * self.n_sweeps[place]))
            fitted = self.fits[place](value, max_iter=limit)
        else:
            fitted = self.fits[place](value)
        if hasattr(self.model, "tol"):
            self.n_sweeps[place] = self.sweeps[key] = fitted.n_iter_
        return fitted

    def _fits_of(self, fold: int, others: dict[str, float]) -> Callable[..., Any]:
        """Return a function of the value, and of other parameters, that fits a model to the rows of a fold."""
        # As a LabelMatrix, y brings the whole taxonomy along: labels outside the fold keep their places.
        decode = "multi" if self.model.decodes_sets else "single"
        inner = clone(self.model).set_params(decode=decode, verbose=0, **others)
        if isinstance(getattr(inner, "sharing", None), str):  # there is nothing to compare
            inner.set_params(sharing=self.model.sharing_)
        if hasattr(inner, "tol"):
            inner.set_params(tol=max(inner.tol, LOOSE))
        rows = self.folds[fold][0]
        parts = self._rows(fold, rows), self.labels[rows]
        weights = None if self.weights is None else self.weights[rows]
        n_labels = len(np.unique(self.labels.frontier[1]))
        if hasattr(inner, "C_path") and self.most_folds * len(rows) * n_labels * 4 <= MOST_STATE_BYTES:
            return inner.warm_fits(*parts, weights)
        options = {} if weights is None else {"sample_weight": weights}
        return lambda value, **more: clone(inner).set_params(**{self.name: value}, **more).fit(*parts, **options)

    # ---------------------------------------------------------------- which value to try

    def choose_value(self) -> float:
        """Return the best value of the parameter."""
        return self.settle(self.walk(self.first_value()))[0]

    def choose_pair(self, C: float | None) -> tuple[float, float]:
        """Return the best C, or the one given, and the best sharing."""
        if C is not None:
            flat, joint = [(C, _sharing(0.0))], [(C, _sharing(1.0))]
        else:  # first what is cheap; where labels share something, the best C is near
            flat = self.walk(self.first_value(), _sharing(0.0))
            joint = self.walk(self.best(flat)[0], _sharing(1.0), (0.1, 10.0))
        between = (self.best([*joint, *flat])[0], _sharing(0.1))
        only_best = self.model.sharing == "cv"
        is_clear = not only_best and self._is_behind(self.best(flat), self.best(joint), errors=CLEAR)
        others = joint if is_clear or self.is_late else [*joint, between]
        C, ((_, sharing),) = self.settle([*others, *flat]) if only_best else self.prefer(flat, others)
        return C, sharing

    def first_value(self) -> float:
        """Return the decade at which a margin of 1 costs as much in ‖w‖² as in losses, or what is usual."""
        if self.name != "C":
            return 1.0
        X = self.X
        if isinstance(X, MixedRows):
            squares = np.sum(squared_lengths(X))
        elif sparse.issparse(X):
            squares = X.multiply(X).sum()
        else:
            squares = np.einsum("ij,ij->", X, X, dtype=np.float64)
        length = max(float(squares) / X.shape[0], np.finfo(np.float64).tiny)
        steepness = 0.1 if getattr(self.model, "loss", "") == "logistic" else 1.0  # its losses are flatter
        return float(np.clip(_decade(1.0 / (steepness * length)), GRID[0], GRID[-1]))

    def walk(
        self, first: float, others: tuple[tuple[str, float], ...] = (), factors: tuple[float, float] = (10.0, 0.1)
    ) -> list[Key]:
        """Try decades from the first up and, if that gains nothing, down, until scores fall; return all tried."""
        walked: list[Key] = [(first, others)]
        self.measure(walked[0])
        for factor in factors:
            steps: list[Key] = [walked[0]]
            for k in count(1):
                value = _decade(first * factor**k)
                if not LIMITS[0] <= value <= LIMITS[1] or self.is_late:
                    break
                steps.append((value, others))
                self.measure(steps[-1])
                if self._is_past(steps):
                    break
            walked += steps[1:]
            if self.best(sorted(walked))[0] != first:
                break
        return sorted(walked)

    def _is_past(self, steps: list[Key]) -> bool:
        """Tell whether the last step fell back, or gained nothing to speak of after others had."""
        *before, last = steps
        best = self.best(before)
        lead = _mean(self.measure(last)) - _mean(self.measure(best))
        if lead > 0:
            return best != steps[0] and not self._is_behind(best, last)
        is_slower = self.sweeps.get(last, 0) > self.sweeps.get(best, 0)  # as it is where C is large enough already
        return lead < 0 or best != steps[0] or len(before) >= PATIENCE or is_slower

    def best(self, keys: list[Key], n_folds: int = 1) -> Key:
        """Return the key of highest score, the first of equals."""
        return max(keys, key=lambda key: _mean(self.measure(key, n_folds)))

    def likely(self, keys: list[Key], n_folds: int = 1, errors: float = 1.0) -> list[Key]:
        """Return the keys whose scores are within some standard errors of the best."""
        best = self.best(keys, n_folds)
        return [key for key in keys if not self._is_behind(key, best, n_folds, errors)]

    def settle(self, keys: list[Key]) -> Key:
        """Return the best of keys that were tried; those close to it are compared on further folds first."""
        n_folds = 1
        while True:
            keys = self.likely(keys, n_folds, CLOSE)
            if len(keys) == 1 or n_folds == self.most_folds or self.is_late:
                return self.best(keys, n_folds)
            n_folds += 1
            for key in keys:
                self.measure(key, n_folds)

    def prefer(self, usual: list[Key], others: list[Key]) -> Key:
        """Return the best of some keys, unless one of the others leads it beyond chance."""
        one, other = self.best(usual), self.best(others)
        n_folds = 1
        while n_folds < self.most_folds and not self.is_late:
            if self._is_behind(one, other, n_folds, CLEAR) or self._is_behind(other, one, n_folds, CLEAR):
                break
            n_folds += 1
            self.measure(one, n_folds)
            self.measure(other, n_folds)
        return other if self._is_behind(one, other, n_folds, LIKELY) else one

    def _is_behind(self, key: Key, best: Key, n_folds: int = 1, errors: float = 1.0) -> bool:
        """Tell whether a score is below the best by more than the standard error of their difference."""
        gaps = self.measure(best, n_folds) - self.measure(key, n_folds)
        return len(gaps) > 1 and bool(np.mean(gaps) > errors * np.std(gaps, ddof=1) / np.sqrt(len(gaps)))


def _sharing(value: float) -> tuple[tuple[str, float], ...]:
    return (("sharing", value),)


def _mean(scores: Floats) -> float:
    """Return the mean, rounded so that equal scores stay equal in whatever order they are summed."""
    return round(float(np.mean(scores)), 12)


def _decade(value: float) -> float:
    return float(10.0 ** round(np.log10(value)))
