"""The course of a comparison within a budget of time: cheap methods first, on more and more rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from cladist import progress
from cladist.errors import LabelWarning, ParameterError
from cladist.evaluation.contestants import Contestant, shuffled
from cladist.evaluation.splits import Split
from cladist.labels import LabelMatrix
from cladist.learners.candidates import preparation, scale_ratio
from cladist.learners.out_of_fold import last_step
from cladist.metrics import Counts

LEAST_ROWS, MOST_TUNED, ROWS_PER_LABEL = 1000, 4000, 5  # of the first stage, on which C is chosen too
GROWTH = 4  # from one stage to the next
SLOWER = 1.2  # seconds grow as rows to this power, as a guess
SHARE = 0.85  # of the time left that what is begun may take, by the guess
SEARCH = 8  # fits that a search for C takes, about
ENOUGH_HELD_OUT = 5000  # rows; further folds tell little more
MOST_CONTROLS = 3  # shuffled trees
WARM_UP_ROWS = 200


@dataclass
class Outcome:
    """What a method did: its predictions for the rows held out, its C, and what it took."""

    predicted: LabelMatrix
    C: float | None
    tuning_seconds: float
    fit_seconds: float
    predict_seconds: float
    model_bytes: int

    @property
    def seconds(self) -> float:
        """All of them."""
        return self.tuning_seconds + self.fit_seconds + self.predict_seconds


@dataclass
class Stage:
    """One split, of whose training rows `rows` were used: the outcomes by method, and those of shuffled taxonomies."""

    rows: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.int64]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    controls: list[LabelMatrix] = field(default_factory=list)

    @property
    def n_train(self) -> int:
        """The number of rows trained on."""
        return len(self.rows)


@dataclass
class Contest:
    """Methods on the same splits of rows.

    Attributes
    ----------
    failed : dict
        For methods that were left out, the reason.
    stages : list of Stage
        Those on the first split, each with more rows than the one before; then those on further splits.
    """

    X: Any
    labels: LabelMatrix
    is_multi: bool
    contestants: list[Contestant]
    splits: list[Split]
    budget: float
    score: Any  # of (rows, predicted labels), by which methods are dropped; more is better
    features: Any = None
    seed: int = 0
    control: bool = True
    failed: dict[str, str] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.random = np.random.default_rng(self.seed)

    @property
    def seconds_left(self) -> float:
        """What is left of the budget."""
        return self.budget - (time.perf_counter() - self.started)

    def run(self) -> list[Stage]:
        """Run the comparison; return the stages whose results count, all with the same methods and rows trained on."""
        with warnings.catch_warnings():
            for category in (LabelWarning, ConvergenceWarning, UserWarning):
                warnings.simplefilter("ignore", category)
            with progress.task("comparing methods", unit="fits") as self.task:
                self._warm_up()
                stage = self._grow()
                result = [stage, *self._further_folds(stage)]
                self._add_controls(result)
        for earlier in self.stages:
            for name in earlier.outcomes.keys() - stage.outcomes.keys() - self.failed.keys():
                most = max(other.n_train for other in self.stages if name in other.outcomes)
                self.failed[name] = f"there was time for it with {most:,} rows only"
        return result

    # ---------------------------------------------------------------- stages

    def _grow(self) -> Stage:
        """Run stages on the first split, until all its rows are trained on or there is no time; return the last."""
        train, out = self.splits[0]
        order = self.random.permutation(train)
        size = self.first_size = min(len(train), self._first_size())
        alive, last, tune_all = self.contestants, None, False
        while True:
            stage = self._run_stage(alive, order[:size], out, None if tune_all else self.first_size, last is not None)
            if stage is None:  # the guess was wrong: what was complete before counts
                assert last is not None
                return last
            self.stages.append(stage)
            last = stage
            alive = [one for one in alive if one.name in stage.outcomes]
            sizes = [n for n in self._next_sizes(size, len(train)) if self._survivors(alive, stage, n)]
            if not sizes:
                return last
            size = sizes[0]
            alive = self._survivors(alive, stage, size)
            tune_all = self._has_time(SEARCH * sum(self._fit_seconds(one, stage, size) for one in alive))

    def _first_size(self) -> int:
        n_labels = len(np.unique(self.labels.frontier[1]))
        return int(np.clip(ROWS_PER_LABEL * n_labels, LEAST_ROWS, MOST_TUNED))

    def _next_sizes(self, size: int, most: int) -> list[int]:
        """Return the numbers of rows to go on with, the best first: all, if that is not too far to guess."""
        if size == most:
            return []
        step = min(most, size * GROWTH)
        return [step, min(most, size * 2)] if step < most else [most, *([size * 2] if size * 2 < most else [])]

    def _survivors(self, alive: list[Contestant], stage: Stage, size: int) -> list[Contestant]:
        """Return the methods there is time for with more rows; [] if not even for the best with a tree and without.

        With half of the methods or fewer left, only those two have to fit in.
        """
        scores = {one.name: self.score(stage.held_out, stage.outcomes[one.name].predicted) for one in alive}
        ranked = sorted(alive, key=lambda one: -scores[one.name])
        chosen = [next(one for one in ranked if one.uses_tree is tree) for tree in {one.uses_tree for one in ranked}]
        seconds = {one.name: self._seconds(one, stage, size) for one in alive}
        control = max((seconds[one.name] for one in chosen if one.uses_tree), default=0.0) if self.control else 0.0
        if not self._has_time(control + sum(seconds[one.name] for one in chosen)):
            return []
        for one in ranked:
            if one not in chosen and self._has_time(control + sum(seconds[c.name] for c in [*chosen, one])):
                chosen.append(one)
        return [one for one in alive if one in chosen]

    @property
    def _tuning_time(self) -> float:
        """The seconds that a search for C may take before it stops with what it knows."""
        return max(1.0, self.seconds_left / (3 * len(self.contestants)))

    def _fit_seconds(self, one: Contestant, stage: Stage, size: int) -> float:
        outcome = stage.outcomes[one.name]
        return outcome.fit_seconds * (size / stage.n_train) ** SLOWER

    def _seconds(self, one: Contestant, stage: Stage, size: int) -> float:
        outcome = stage.outcomes[one.name]
        return outcome.tuning_seconds + outcome.predict_seconds + self._fit_seconds(one, stage, size)

    def _has_time(self, seconds: float) -> bool:
        return seconds <= SHARE * self.seconds_left

    def _run_stage(
        self, alive: list[Contestant], rows: Any, out: Any, most_tuned: int | None, can_stop: bool
    ) -> Stage | None:
        """Return the outcomes of all methods; None if time is over before, and those of an earlier stage can count."""
        X_train, X_out = self._prepare(rows, out)
        stage = Stage(rows, out)
        for one in alive:
            late = self.seconds_left < (0 if can_stop else self.first_ends)
            if late and can_stop:
                return None
            if late and stage.outcomes:
                self.failed[one.name] = "there was no time for it"
                continue
            progress.describe(self.task, f"comparing methods: {one.name}, {len(rows):,} rows")
            outcome = self._try(one, X_train, rows, X_out, most_tuned)
            if outcome is not None:
                stage.outcomes[one.name] = outcome
            self.task.advance()
        if not stage.outcomes:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
            raise ParameterError(f"compare: no method could be trained ({reasons}).")
        return stage

    def _try(self, one: Contestant, X: Any, rows: Any, X_out: Any, most_tuned: int | None) -> Outcome | None:
        """Return the outcome of a method; None, with the reason noted, if it refuses the data."""
        try:
            with progress.hide():
                return self._measure(one, X, self.labels[rows], X_out, most_tuned)
        except (ValueError, TypeError, NotImplementedError) as problem:
            self.failed[one.name] = " ".join(str(problem).split()) or type(problem).__name__
            return None

    def _measure(self, one: Contestant, X: Any, labels: LabelMatrix, X_out: Any, most_tuned: int | None) -> Outcome:
        """Choose C on the training rows, or on the first of them, fit with all of them, and predict."""
        C, began = None, time.perf_counter()
        n_tuned = len(labels) if most_tuned is None else min(len(labels), most_tuned)
        if one.searches and n_tuned >= 2:
            model = one.fit(X[:n_tuned], labels[:n_tuned], is_multi=self.is_multi, C="cv", seconds=self._tuning_time)
            C = float(last_step(model).C_)
        fitting = time.perf_counter()
        model = one.fit(X, labels, is_multi=self.is_multi, C=C)
        predicting = time.perf_counter()
        predicted = one.predict(model, X_out, labels.taxonomy)
        ended = time.perf_counter()
        return Outcome(predicted, C, fitting - began, predicting - fitting, ended - predicting, array_bytes(model))

    def _prepare(self, rows: Any, out: Any) -> tuple[Any, Any]:
        """Return the rows as numbers; what makes numbers of them is fitted to those that are trained on."""
        X_train, X_out = _safe_indexing(self.X, rows), _safe_indexing(self.X, out)
        for _, step in preparation(X_train, self.features):
            fitted = clone(step).fit(X_train)
            X_train, X_out = fitted.transform(X_train), fitted.transform(X_out)
        if not hasattr(X_train, "tocsr"):
            X_train, X_out = np.asarray(X_train), np.asarray(X_out)
            if scale_ratio(X_train) > 1:
                scaler = StandardScaler().fit(X_train)
                X_train, X_out = scaler.transform(X_train), scaler.transform(X_out)
        return X_train, X_out

    def _warm_up(self) -> None:
        """Fit each method to a few rows, so that kernels are compiled before times are measured."""
        train, out = self.splits[0]
        rows = self.random.permutation(train)[:WARM_UP_ROWS]
        X, X_out = self._prepare(rows, out[:2])
        for one in self.contestants:
            if self.seconds_left > self.budget / 4:
                self._try(one, X, rows, X_out, None)
        self.failed.clear()  # a method that needs more rows may be fine with them
        self.first_ends = self.seconds_left / 2

    # ---------------------------------------------------------------- further folds and controls

    def _further_folds(self, stage: Stage) -> Iterator[Stage]:
        """Yield stages on other splits with as many rows, while that tells more and there is time."""
        alive, n_out = [one for one in self.contestants if one.name in stage.outcomes], len(stage.held_out)
        if stage.n_train < len(self.splits[0][0]):
            return
        for train, out in self.splits[1:]:
            seconds = [self._seconds(one, stage, len(train)) for one in alive]
            if n_out >= ENOUGH_HELD_OUT or not self._has_time(sum(seconds) + (max(seconds) if self.control else 0.0)):
                return
            one_more = self._run_stage(alive, self.random.permutation(train), out, self.first_size, can_stop=True)
            if one_more is None or one_more.outcomes.keys() != stage.outcomes.keys():
                return
            self.stages.append(one_more)
            n_out += len(out)
            yield one_more

    def best(self, stages: list[Stage], *, uses_tree: bool) -> Contestant | None:
        """Return the method of the highest score among those with the taxonomy or without."""
        among = [c for c in self.contestants if c.name in stages[0].outcomes and c.uses_tree is uses_tree]

        def score(one: Contestant) -> float:
            return float(np.mean([self.score(s.held_out, s.outcomes[one.name].predicted) for s in stages]))

        return max(among, key=score, default=None)

    def _add_controls(self, stages: list[Stage]) -> None:
        """Train the best method with a tree on shuffled ones, once on each split, then again while there is time."""
        one = self.best(stages, uses_tree=True)
        if one is None or not self.control:
            return
        for _ in range(MOST_CONTROLS):
            for stage in stages:
                outcome = stage.outcomes[one.name]
                if not self._has_time(outcome.fit_seconds + outcome.predict_seconds):
                    return
                progress.describe(self.task, f"comparing methods: {one.name}, shuffled taxonomy")
                X, X_out = self._prepare(stage.rows, stage.held_out)
                other = replace(one, taxonomy=shuffled(self.labels.taxonomy, self.random))
                with progress.hide():
                    model = other.fit(X, self.labels[stage.rows], is_multi=self.is_multi, C=outcome.C)
                stage.controls.append(other.predict(model, X_out, self.labels.taxonomy))


def held_out_counts(labels: LabelMatrix, stages: list[Stage], name: str) -> Counts:
    """Return the counts of a method's predictions for all rows held out."""
    parts = [Counts.from_labels(labels[s.held_out], s.outcomes[name].predicted) for s in stages]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def array_bytes(model: Any) -> int:
    """Return the bytes of all arrays that a model holds."""
    seen: set[int] = set()

    def count(value: Any, depth: int) -> int:
        if id(value) in seen or depth > 8:
            return 0
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            return int(value.nbytes)
        if isinstance(value, dict):
            return sum(count(part, depth + 1) for part in value.values())
        if isinstance(value, (list, tuple)) and len(value) < 10_000:
            return sum(count(part, depth + 1) for part in value)
        return count(vars(value), depth + 1) if hasattr(value, "__dict__") and not isinstance(value, type) else 0

    return count(model, 0)
