"""`auto`: the method that does best on rows held out, with its C, trained on all rows.

Candidates are the linear methods that fit the labels. They are compared on part of the rows: the first, a flat SVM,
searches for its C there, which is the guess for the others. The better of the flat methods is used unless one that uses
the taxonomy is better beyond chance; where that is not clear and all rows are compared on, further folds are held out.
The C of the one chosen is then searched for on the same folds, and on all rows among values that a part of them cannot
tell apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from cladist import progress
from cladist.errors import ParameterError, is_positive
from cladist.labels import encode
from cladist.learners.base import random_generator
from cladist.learners.candidates import Candidate, candidates_for, fit_steps, preparation, scale_ratio
from cladist.learners.label_warnings import without_label_warnings
from cladist.learners.select_c import Key, Search
from cladist.learners.thresholded import Thresholded
from cladist.mixed_rows import MixedRows
from cladist.taxonomy import as_taxonomy

FEW_ROWS = 100  # with fewer, methods cannot be told apart
ENOUGH_VALUES, ROWS_PER_LABEL = 1_000_000, 10  # nonzeros of the rows that methods are compared on, or more for labels
MOST_WORK = 4e9  # nonzeros × labels of these rows; about a minute for each method
LEAD, CLEAR = 1.0, 1.5  # standard errors by which a method that uses the tree must be better, and that end doubt
OTHER_SCALES = 100.0  # the ratio of the largest to the smallest standard deviation of columns
HOPELESS = 2.0  # standard errors behind the best on the first fold: other folds are not looked at
SURE = 2.0  # standard errors by which a C is better than those around it: other methods of the same loss take it over
RECURSIVE = ("hr-svm", "hr-lr")
MOST_FOLDS = 3  # that the better flat method and the best of the others are compared on


@dataclass(frozen=True)
class Selection:
    """What `auto` chose, and what it compared.

    Attributes
    ----------
    method : str
        The name of the method on the command line.
    C : float
    measure : str
        What was maximised.
    n_held_out : int
        The number of rows that the method was scored on.
    results : list of dict
        For every method compared, the chosen one first: `method`, `C`, `score`, `standard_error`, `folds`, `seconds`.
    skipped : tuple of str
        Methods for which there was no time.
    """

    method: str
    C: float
    measure: str = ""
    n_held_out: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)
    skipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.results:
            return f"{self.method} with C={self.C:g}: there are too few rows to compare methods."
        best, *others = self.results
        words = f"{self.method}, with C={self.C:g}: its {self.measure} on {self.n_held_out:,} rows held out is "
        words += f"{best['score']:.3f} ± {best['standard_error']:.3f}"
        if others:
            words += ", that of " + ", ".join(f"{other['method']} {other['score']:.3f}" for other in others)
        late = f" There was no time for {', '.join(self.skipped)}." if self.skipped else ""
        return f"{words}.{late}"


def auto(
    X: Any,
    y: Any,
    taxonomy: Any = None,
    *,
    features: Any = None,
    scoring: Any = None,
    budget: float | None = 300.0,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | int = 0,
) -> Any:
    """Train the method that does best on rows held out.

    Compared are `FlatSVM` and `FlatLogistic`; on a tree also `RecursiveSVM`, `RecursiveLogistic` and `TopDown`, which
    may stop where labels have others below them, or for sets of labels `NodewiseSVM`. Their parameters other than C are
    the defaults. Sets of labels are predicted by `Thresholded`. With fewer than 100 rows it is `FlatSVM` with C = 1.

    Parameters
    ----------
    X : array-like, CSR or data frame (rows × features), or sequence of str
        Columns of a dense X are standardised if that helps, and its missing values are replaced by the means of their
        columns. Texts go through `features`.
    y : labels in any form
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG; None: read from y.
    features : transformer, optional
        What turns X into numbers, fitted to X. By default `cladist.features.text_features` for texts.
    scoring : None, str, callable or Loss
        The measure to maximise, as for ``C="cv"``. None: accuracy, for sets of labels average precision.
    budget : float or None
        Seconds for the comparison. When they are over, methods that were not tried are left out.
    random_state : int, RandomState or None
        Seed of the rows held out, and of the learners.
    n_jobs : int or None
        Threads of the learners.
    verbose : bool or int
        Whether to print the progress and the reason for the choice.

    Returns
    -------
    model
        A fitted learner or, if X needs preparation, a Pipeline that ends in one; its `selection_` is a `Selection`. It
        can be saved; `selection_` is not saved with it.

    Notes
    -----
    Methods are compared on rows with a million nonzeros or on ten rows per label, or on fewer if these make more than
    four billion pairs of a nonzero and a label; a fifth of them is held out, or more fifths if these are fewer than
    1,000 rows. The better of `FlatSVM` and `FlatLogistic` is chosen unless a method that uses the taxonomy is better by
    more than a standard error of their difference. If all rows are compared on, and it is better by less than 1.5
    standard errors, both are compared on up to three fifths. `TopDown` is chosen only if it is better than the
    recursive learners by 1.5 standard errors; where a part of the rows was compared on, also on a fifth of all rows, if
    `budget` allows it.
    `RecursiveLogistic`, which takes longest, is left out if `FlatLogistic` or `RecursiveSVM` is worse than `FlatSVM` by
    a standard error. C is chosen on the rows of the comparison; if these are a part, all rows decide between values
    that are within a standard error of the best, or the smallest of these is taken where `budget` does not allow it.
    Where the C of `FlatSVM` is better than values around it by two standard errors, methods with the same loss take it
    over.

    Examples
    --------
    >>> from cladist import auto
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 3), random_state=0)
    >>> model = auto(data.X, data.y, data.taxonomy)
    >>> model.selection_.measure
    'accuracy'
    >>> model.score(data.X, data.y) > 0.9
    True
    """
    if budget is not None and not is_positive(budget):
        raise ParameterError(f"auto: budget must be a positive number of seconds, or None; got {budget!r}.")
    started = time.perf_counter()
    if isinstance(random_state, np.random.RandomState):  # it would give every method other rows
        random_state = int(random_state.randint(2**31 - 1))
    with progress.show_lines(verbose), without_label_warnings():
        steps = preparation(X, features)
        rows = fit_steps(steps, X)
        encoded = encode(y, None if taxonomy is None else as_taxonomy(taxonomy))
        decode = "multi" if encoded.form.is_multi else "single"
        shared = {"C": "cv", "scoring": scoring, "random_state": random_state, "n_jobs": n_jobs, "decode": decode}
        candidates = list(candidates_for(encoded, {**shared, "taxonomy": taxonomy}))
        if rows.shape[0] < FEW_ROWS:
            best, selection = candidates[0], Selection(candidates[0].method, 1.0)
        else:
            comparison = _Comparison(rows, encoded.labels, budget, started, random_state)
            if comparison.scales(candidates[0]):
                steps = [*steps, ("scaler", StandardScaler())]
            best, selection = comparison.choose(candidates)
    learner = best.with_C(selection.C)
    if encoded.form.is_multi and selection.results:
        learner = Thresholded(learner, random_state=random_state)
    model = (Pipeline([*steps, ("model", learner)]) if steps else learner).fit(X, y)
    model.selection_ = selection
    if verbose:
        print(selection)
    return model


# -------------------------------------------------------------------- rows


def _part(rows: Any, labels: Any, random_state: Any) -> npt.NDArray[np.int64]:
    """Return the rows that methods are compared on."""
    n_rows, n_labels = rows.shape[0], len(np.unique(labels.frontier[1]))
    n_values = rows.nnz if sparse.issparse(rows) else rows.size
    row_length = max(1, n_values) / n_rows
    enough = max(int(ENOUGH_VALUES / row_length), ROWS_PER_LABEL * n_labels)
    size = max(FEW_ROWS, min(n_rows, enough, int(MOST_WORK / (row_length * n_labels))))
    return np.sort(random_generator("auto", random_state).permutation(n_rows)[:size])


# -------------------------------------------------------------------- the comparison


@dataclass
class _Scored:
    """A candidate with the search that scores it, its C, and the time that took."""

    candidate: Candidate
    search: Search
    key: Key
    guess: float  # of C for other methods
    seconds: float
    n_folds: int = 1

    def scores(self, n_folds: int | None = None) -> npt.NDArray[np.float64]:
        """Return the scores on parts of the rows held out, of the folds measured or of some."""
        return self.search.measure(self.key, n_folds or self.n_folds)

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores()))

    def lead(self, other: _Scored) -> float:
        """Return by how many standard errors scores are better than others on the folds that both know."""
        n_folds = min(self.n_folds, other.n_folds)
        gaps = self.scores(n_folds) - other.scores(n_folds)
        error = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
        return float(np.mean(gaps) / max(error, np.finfo(np.float64).tiny))

    def is_sure_of_C(self) -> bool:  # noqa: N802 - the papers' letter
        """Tell whether smaller and larger values of C were clearly worse."""
        tried = sorted(self.search.scores)
        return tried[0] < self.key < tried[-1] and self.search.likely(tried, errors=SURE) == [self.key]

    def add_fold(self) -> None:
        """Measure one more fold."""
        began = time.perf_counter()
        self.n_folds += 1
        with self.search.running():
            self.scores()
        self.seconds += time.perf_counter() - began

    def record(self) -> dict[str, Any]:
        """Return an entry of `Selection.results`."""
        scores = self.scores()
        error = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
        result = {"method": self.candidate.method, "C": self.key[0], "score": self.mean, "standard_error": error}
        return {**result, "folds": self.n_folds, "seconds": self.seconds}


class _Comparison:
    """Candidates on the same rows held out."""

    def __init__(self, rows: Any, labels: Any, budget: float | None, started: float, random_state: Any) -> None:
        self.rows, self.labels, self.budget, self.started = rows, labels, budget, started
        self.part = _part(rows, labels, random_state)
        self.has_all_rows = len(self.part) == rows.shape[0]
        self.first_search: Search | None = None  # of the first candidate, where scaling was tried

    @property
    def seconds_left(self) -> float:
        """The time left for the comparison."""
        return np.inf if self.budget is None else self.budget - (time.perf_counter() - self.started)

    @property
    def is_late(self) -> bool:
        """Whether the time for the comparison is over."""
        return self.seconds_left <= 0

    def scales(self, candidate: Candidate) -> bool:
        """Tell whether a method does better with standardised columns; if so, standardise them.

        Both are tried at the C that the lengths of their rows suggest. Columns of 0 and 1 are left as they are, and
        columns of very different scales, on which training takes long, are standardised without a trial.
        """
        if sparse.issparse(self.rows) or isinstance(self.rows, MixedRows):
            return False
        ratio = scale_ratio(self.rows)
        if ratio == 1:
            return False
        if ratio > OTHER_SCALES:
            self.rows = StandardScaler().fit_transform(self.rows)
            return True
        rows, plain = self.rows, self._search(candidate, self.part)
        self.rows = StandardScaler().fit_transform(rows)
        scaled = self._search(candidate, self.part)
        means = []
        for search in (plain, scaled):
            with search.running():
                means.append(np.mean(search.measure(candidate.key(search.first_value()))))
        is_better = bool(means[1] > means[0])
        self.first_search = scaled if is_better else plain
        self.rows = self.rows if is_better else rows
        return is_better

    def choose(self, candidates: list[Candidate]) -> tuple[Candidate, Selection]:
        """Return the first candidate, or the one of highest score that leads it beyond chance, and the reasons."""
        first, *others = candidates
        skipped = []
        with progress.task("comparing methods", len(candidates), unit="methods") as running:
            scored = [self._score(first)]
            for candidate in others:
                running.advance()
                behind = [one.candidate.method for one in scored if scored[0].lead(one) > LEAD]
                if self.is_late:
                    skipped.append(candidate.method)
                elif not set(behind) & set(candidate.after):
                    progress.describe(running, f"comparing methods: {candidate.method}")
                    scored.append(self._score(candidate, scored[0]))
                    for one in scored[1:]:
                        if one.mean < max(other.mean for other in scored):
                            one.search.fits.clear()  # solutions to start from, which take memory
            best = self._best_of(scored)
        C = self._choose_C(best, scored[0])
        n_held_out = sum(len(out) for _, out in best.search.folds[: best.n_folds])
        chosen = best.candidate.method, C, _measure(best.search.model), n_held_out
        results = [one.record() for one in sorted(scored, key=lambda one: (one is not best, -one.mean))]
        return best.candidate, Selection(*chosen, results, tuple(skipped))

    def _best_of(self, scored: list[_Scored]) -> _Scored:
        """Return the better flat method, or the best of the others if it leads; both get more folds if in doubt."""
        if self.has_all_rows:
            self._add_folds(scored)
        flat = max(_flat(scored), key=lambda one: one.mean)
        best = _best_with_taxonomy(scored, flat)
        most_folds = min(MOST_FOLDS, len(flat.search.folds)) if self.has_all_rows else 1
        while 0 < best.lead(flat) <= CLEAR and best.n_folds < most_folds and not self.is_late:
            flat.add_fold()
            best.add_fold()
        if best.lead(flat) <= LEAD:
            return flat
        recursive = _best_recursive(scored)
        if best.candidate.method == "top-down" and recursive is not None and not self.has_all_rows:
            return self._better_on_all_rows(best, recursive)
        return best

    def _better_on_all_rows(self, top_down: _Scored, recursive: _Scored) -> _Scored:
        """Return `TopDown` if it leads a recursive learner clearly on all rows too, or if there is no time to see.

        With few rows per label `TopDown` does better than the recursive learners, and this changes as rows are added.
        """
        growth = self.rows.shape[0] / len(self.part)
        if (top_down.seconds + recursive.seconds) * growth > self.seconds_left:
            return top_down
        on_all = [self._measured_on_all_rows(one) for one in (top_down, recursive)]
        return top_down if on_all[0].lead(on_all[1]) > CLEAR else recursive

    def _measured_on_all_rows(self, scored: _Scored) -> _Scored:
        """Return a candidate with its scores on one fold of all rows, at the C it has."""
        search = self._search(scored.candidate, np.arange(self.rows.shape[0]))
        with search.running():
            search.measure(scored.key)
        return replace(scored, search=search, n_folds=1)

    def _add_folds(self, scored: list[_Scored]) -> None:
        """Hold out enough rows for a comparison of the methods that may still be chosen.

        A method that uses the taxonomy is chosen only if it leads the better flat one, so it is left out if it is as
        far behind.
        """
        best, flat = (max(ones, key=lambda one: one.mean) for ones in (scored, _flat(scored)))
        likely = [one for one in scored if best.lead(one) <= HOPELESS]
        compared = [one for one in likely if one.candidate.is_flat or flat.lead(one) <= LEAD]
        compared = compared if flat in compared else [flat, *compared]
        for one in compared if len(compared) > 1 else []:
            while one.n_folds < one.search.most_folds and not self.is_late:
                one.add_fold()

    def _choose_C(self, best: _Scored, first: _Scored) -> float:  # noqa: N802 - the papers' letter
        """Return the best C: of the rows compared on or, where these are a part, of all rows among the likely ones."""
        search, began = best.search, time.perf_counter()
        with search.running():
            is_known = best is not first and best.candidate.factor == first.candidate.factor and first.is_sure_of_C()
            tried = [best.key] if is_known else search.walk(*best.key)
            if self.has_all_rows:
                return search.settle(tried)[0]
            likely = search.likely(tried)
        n_rows, seconds = self.rows.shape[0], best.seconds + time.perf_counter() - began
        if len(likely) > 1 and seconds * n_rows / len(self.part) <= self.seconds_left:
            search = self._search(best.candidate, np.arange(n_rows))
            with search.running():
                return search.settle(likely)[0]
        return min(likely)[0]  # a larger C than need be takes longer

    def _score(self, candidate: Candidate, first: _Scored | None = None) -> _Scored:
        """Score a candidate, at the best C that is found or, after another, at the C that corresponds to its."""
        began = time.perf_counter()
        search = (self.first_search if first is None else None) or self._search(candidate, self.part)
        with search.running():
            if first is None:
                tried = search.walk(search.first_value())
                key, guess = search.best(tried), min(search.likely(tried))[0]  # a larger C than need be takes longer
            else:
                guess = first.guess * candidate.factor
                key = candidate.key(guess)
            search.measure(key)
        return _Scored(candidate, search, key, guess, time.perf_counter() - began)

    def _search(self, candidate: Candidate, part: npt.NDArray[np.int64]) -> Search:
        learner = clone(candidate.learner)
        if candidate.sharing is not None:
            learner.set_params(sharing=candidate.sharing)
        learner.check_parameters()
        X, labels = learner.validate_fit(self.rows[part], self.labels[part])
        search = Search(learner, "C", X, labels)
        search.budget = self.seconds_left
        return search


def _flat(scored: list[_Scored]) -> list[_Scored]:
    return [one for one in scored if one.candidate.is_flat]


def _best_with_taxonomy(scored: list[_Scored], flat: _Scored) -> _Scored:
    """Return the best method that uses the taxonomy; the flat one if there is none.

    `TopDown` must lead the recursive learners clearly, since it is behind them on the test rows of most data sets.
    """
    ones = sorted((one for one in scored if not one.candidate.is_flat), key=lambda one: -one.mean)
    best = ones[0] if ones else flat
    if best.candidate.method != "top-down":
        return best
    recursive = (one for one in ones if one.candidate.method in RECURSIVE)
    return next((one for one in recursive if best.lead(one) <= CLEAR and one.lead(flat) > LEAD), best)


def _best_recursive(scored: list[_Scored]) -> _Scored | None:
    """Return the recursive learner of the highest score."""
    recursive = (one for one in scored if one.candidate.method in RECURSIVE)
    return max(recursive, key=lambda one: one.mean, default=None)


def _measure(learner: Any) -> str:
    """Return the name of what is maximised."""
    if learner.scoring is not None:
        return str(getattr(learner.scoring, "__name__", learner.scoring)).replace("_", " ")
    return "average precision" if learner.decodes_sets else "accuracy"
