"""Rows labelled with an old taxonomy, relabelled for a new one: by the crosswalk, by models, or left open for people.

Rows are read twice: to count them and to draw those that models are fitted to, then to relabel them. What is held in
memory does not grow with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from cladist import progress
from cladist.errors import DatasetError, ParameterError, quoted
from cladist.evaluation.candidate_models import (
    CandidateModel,
    choose,
    fit_candidates,
    group_labels,
    held_out_scores,
    text_matrix,
)
from cladist.evaluation.sureness import Threshold, find_threshold, fit_temperature
from cladist.taxonomy import Crosswalk

BATCH_ROWS = 4096
MOST_TEXTS = 200_000  # rows drawn for the models, of all labels together
MOST_OF_A_LABEL = 1_000
LONGEST_TEXT = 5_000  # characters of a drawn row that are kept
FEWEST_CHECKED = 10  # rows of a group with a known new label, below which none of its rows is decided
LEAST_CONFIDENCE = 0.5  # an entry of the crosswalk below it is a proposal for people

MAPPED, KNOWN, DECIDED, OPEN, RETIRED, UNKNOWN = "mapped", "known", "decided", "open", "retired", "unknown"


class Row(NamedTuple):
    """A row as it is read: its text, its old label, and its new label where people have given it one."""

    text: str
    old: str
    known: str | None = None


class Relabelled(NamedTuple):
    """What became of a row: how it was settled, its new label, how sure that is, and the candidates, best first."""

    status: str
    label: str | None
    confidence: float
    candidates: tuple[str, ...] = ()


@dataclass
class Drawn:
    """Rows drawn at random from those of one label, with their numbers from 1."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    n_seen: int = 0

    def add(self, number: int, row: Row, most: int, random: np.random.Generator) -> None:
        """Offer a row; every row offered is drawn with the same probability."""
        self.n_seen += 1
        place = len(self.rows) if self.n_seen <= most else int(random.integers(self.n_seen))
        if place < most:
            cut = (number, row._replace(text=row.text[:LONGEST_TEXT]))
            if place == len(self.rows):
                self.rows.append(cut)
            else:
                self.rows[place] = cut


@dataclass
class Group:
    """Old labels whose rows may belong to several new ones, and these, with the model that chooses among them."""

    olds: list[str]
    labels: list[str]
    n_rows: int = 0
    n_checked: int = 0
    share_right: float | None = None
    share_settled: float | None = None
    model: CandidateModel | None = None


class Migration:
    """The plan by which rows are relabelled.

    Parameters
    ----------
    crosswalk : Crosswalk
        What became of the old labels. With its new taxonomy, the words of the new nodes help to tell them apart.
    sure : float
        How often decisions of models have to be right, with 90 % certainty by the rows that people have checked.
    unknown : {"error", "open"}
        What happens to a label that the crosswalk does not have.
    random_state : int
        Draws the rows that models are fitted to.

    Attributes
    ----------
    groups : list of Group
        The groups of ambiguous labels, after `fit`.
    threshold : Threshold or None
        From which probability on rows are decided; None: no checked rows show that any decision is sure enough.

    Examples
    --------
    >>> rows = [Row("dark chocolate", "sweets"), Row("rye bread", "bread")]
    >>> migration = Migration(Crosswalk({"sweets": ["toffee", "chocolate"], "bread": "bakery"})).fit(lambda: rows)
    >>> for settled in migration.relabel(rows):
    ...     print(settled.status, settled.label, settled.candidates)
    open None ('chocolate', 'toffee')
    mapped bakery ()
    """

    def __init__(
        self, crosswalk: Crosswalk, *, sure: float = 0.95, unknown: str = "error", random_state: int = 0
    ) -> None:
        if not 0.5 <= sure < 1:
            raise ParameterError(f"Migration: sure must be at least 0.5 and below 1; got {sure!r}.")
        if unknown not in ("error", "open"):
            raise ParameterError(f"Migration: unknown must be 'error' or 'open'; got {unknown!r}.")
        self.crosswalk, self.sure, self.unknown = crosswalk, sure, unknown
        self.random_state = random_state
        self.groups: list[Group] = []
        self.threshold: Threshold | None = None
        self.temperature = 1.0
        self.candidates_of: dict[str, tuple[str, ...]] = {}
        self.rows_of: Counter[str] = Counter()
        self.known_of: Counter[str] = Counter()
        self.drawn: dict[str, Drawn] = {}  # open rows of ambiguous labels
        self.checked: dict[str, Drawn] = {}  # rows of ambiguous labels with a known new label
        self.settled: dict[str, Drawn] = {}  # rows of other labels, by a new label that is a candidate
        self._group_of: dict[str, int] = {}

    # ------------------------------------------------------------------ what the crosswalk says

    def candidates(self, old: str, number: int = 0) -> tuple[str, ...]:
        """Return the new labels that rows of an old one may have; none if it is retired or unknown."""
        if old not in self.candidates_of:
            self.candidates_of[old] = self._find_candidates(old, number)
        return self.candidates_of[old]

    def _find_candidates(self, old: str, number: int) -> tuple[str, ...]:
        walk = self.crosswalk
        if old not in walk:
            if self.unknown == "error":
                hint = "; complete the crosswalk, or keep such rows open"
                raise DatasetError(f"Row {number}: the crosswalk has no old label {quoted(old)}{hint}.")
            return ()
        targets = walk.targets(old)
        was_leaf = walk.old is None or old not in walk.old or bool(walk.old.is_leaf[walk.old.index(old)])
        if walk.new is None or not was_leaf or any(name not in walk.new for name in targets):
            return targets
        return walk.candidates(old)

    def _confidence(self, old: str) -> float:
        return max((entry.confidence for entry in self.crosswalk.entries_of(old)), default=0.0)

    # ------------------------------------------------------------------ first pass

    def fit(self, rows: Callable[[], Iterable[Row]]) -> Migration:
        """Count the rows, and fit models to some of them; `rows` is called once, and gives rows as `relabel` does."""
        random = np.random.default_rng(self.random_state)
        ambiguous = [old for old in self.crosswalk.old_names if len(self.candidates(old)) > 1]
        wanted = {label for old in ambiguous for label in self.candidates(old)}
        most = max(20, min(MOST_OF_A_LABEL, MOST_TEXTS // max(1, len(ambiguous) + len(wanted))))
        for number, row in enumerate(rows(), start=1):
            labels = self.candidates(row.old, number)
            self.rows_of[row.old] += 1
            if row.known is not None:
                self.known_of[row.old] += 1
            if len(labels) > 1:
                self._check_known(row, labels, number)
                if row.known is None or row.known in labels:  # an inner node says too little to learn from
                    store = self.drawn if row.known is None else self.checked
                    store.setdefault(row.old, Drawn()).add(number, row, most, random)
            elif len(labels) == 1 and labels[0] in wanted:
                self.settled.setdefault(labels[0], Drawn()).add(number, row, most, random)
        self._fit_groups([old for old in ambiguous if self.rows_of[old]])
        return self

    def _check_known(self, row: Row, labels: Sequence[str], number: int) -> None:
        if row.known is not None and row.known not in (*labels, *self._targets(row.old)):
            raise DatasetError(
                f"Row {number}: its new label {quoted(row.known)} is none of those that the crosswalk gives for "
                f"{quoted(row.old)}: {', '.join(map(quoted, labels[:5]))}; correct one of the two."
            )

    def _targets(self, old: str) -> tuple[str, ...]:
        return self.crosswalk.targets(old) if old in self.crosswalk else ()

    def _fit_groups(self, ambiguous: Sequence[str]) -> None:
        groups = group_labels((old, self.candidates(old)) for old in ambiguous)
        tests: list[_Test] = []
        with progress.task("Fitting models of the splits", total=len(groups), unit="groups") as running:
            for olds, labels in groups:
                group = Group(olds, labels)
                group.n_rows = sum(self.rows_of[old] - self.known_of[old] for old in olds)
                self._group_of.update(dict.fromkeys(olds, len(self.groups)))
                self.groups.append(group)
                tests += self._fit_group(group, len(self.groups) - 1)
                running.advance()
        self._find_threshold(tests)

    def _fit_group(self, group: Group, number: int) -> list[_Test]:
        """Fit the model of a group; return the results of its checked rows, each by a model that did not see it."""
        place = {label: k for k, label in enumerate(group.labels)}
        checked = [row for old in group.olds for _, row in self.checked.get(old, Drawn()).rows]
        plain = [(row.text, label) for label in group.labels for _, row in self.settled.get(label, Drawn()).rows]
        described = [(self._words(label), label) for label in group.labels]
        drawn = [row for old in group.olds for _, row in self.drawn.get(old, Drawn()).rows]
        if not any(row.text for row in (*checked, *drawn)):
            return []
        texts = [row.text for row in checked] + [text for text, _ in (*plain, *described)] + [r.text for r in drawn]
        known = [row.known or "" for row in checked] + [label for _, label in (*plain, *described)]
        sets: list[tuple[int, ...]] = [(place[label],) for label in known]
        sets += [tuple(place[label] for label in self.candidates(row.old)) for row in drawn]
        X = text_matrix(texts)
        group.model = fit_candidates(X, sets, group.labels)
        group.n_checked = len(checked)
        if len(checked) < FEWEST_CHECKED:
            return []
        asked = [tuple(place[label] for label in self.candidates(row.old)) for row in checked]
        scores = held_out_scores(X, sets, group.labels, np.arange(len(checked)), asked, self.random_state)
        weight = group.n_rows / len(checked)
        return [
            _Test(number, one[list(own)], own.index(place[row.known or ""]), weight)
            for one, own, row in zip(scores, asked, checked, strict=True)
        ]

    def _words(self, label: str) -> str:
        new = self.crosswalk.new
        return label if new is None or label not in new else new.words_of(label)

    def _find_threshold(self, tests: Sequence[_Test]) -> None:
        if not tests:
            return
        self.temperature = fit_temperature([test.scores for test in tests], [test.place for test in tests])
        confidence, is_right = np.zeros(len(tests)), np.zeros(len(tests), bool)
        for i, test in enumerate(tests):
            p = choose(test.scores[None], range(len(test.scores)), self.temperature)[0]
            confidence[i], is_right[i] = p.max(), p.argmax() == test.place
        weight = np.maximum([test.weight for test in tests], 1e-9)
        self.threshold = find_threshold(confidence, is_right, weight, self.sure)
        of_group = np.array([test.group for test in tests])
        for k in np.unique(of_group).tolist():
            own = of_group == k
            self.groups[k].share_right = float(is_right[own].mean())
            settled = 0.0 if self.threshold is None else float((confidence[own] >= self.threshold.at_least).mean())
            self.groups[k].share_settled = settled

    # ------------------------------------------------------------------ second pass

    def relabel(self, rows: Iterable[Row]) -> Iterator[Relabelled]:
        """Yield what became of every row, in order; rows are read and decided in batches."""
        numbered = enumerate(rows, start=1)
        while batch := list(islice(numbered, BATCH_ROWS)):
            yield from self._relabel_batch(batch)

    def _relabel_batch(self, batch: Sequence[tuple[int, Row]]) -> list[Relabelled]:
        settled: list[Relabelled | None] = [self._by_crosswalk(number, row) for number, row in batch]
        left: dict[int, list[int]] = {}
        for i, done in enumerate(settled):
            if done is None:
                left.setdefault(self._group_of[batch[i][1].old], []).append(i)
        if left:
            order = [i for own in left.values() for i in own]
            X = text_matrix([batch[i][1].text for i in order])
            start = 0
            for number, own in left.items():
                part = X[start : start + len(own)]
                start += len(own)
                for i, done in zip(own, self._by_model(number, [batch[i][1] for i in own], part), strict=True):
                    settled[i] = done
        return [done for done in settled if done is not None]

    def _by_crosswalk(self, number: int, row: Row) -> Relabelled | None:
        """Return what the crosswalk, or people, say about a row; None if a model is to decide."""
        labels = self.candidates(row.old, number)
        if row.known is not None:
            self._check_known(row, labels or (row.known,), number)
            return Relabelled(KNOWN, row.known, 1.0)
        if not labels:
            return Relabelled(RETIRED if row.old in self.crosswalk else UNKNOWN, None, 0.0)
        if len(labels) > 1:
            return None
        sure = self._confidence(row.old)
        return Relabelled(MAPPED, labels[0], sure) if sure >= LEAST_CONFIDENCE else Relabelled(OPEN, None, sure, labels)

    def _by_model(self, number: int, rows: Sequence[Row], X: Any) -> list[Relabelled]:
        group = self.groups[number]
        if group.model is None:
            return [Relabelled(OPEN, None, 0.0, self.candidates(row.old)) for row in rows]
        place = {label: k for k, label in enumerate(group.labels)}
        scores = group.model.scores(X)
        may_decide = self.threshold is not None and group.n_checked >= FEWEST_CHECKED
        result = []
        for row, own in zip(rows, scores, strict=True):
            labels = self.candidates(row.old)
            p = choose(own[None], [place[label] for label in labels], self.temperature)[0]
            ranked = tuple(labels[k] for k in np.argsort(-p, kind="stable"))
            best = float(p.max())
            if may_decide and self.threshold is not None and best >= self.threshold.at_least:
                result.append(Relabelled(DECIDED, ranked[0], best, ranked))
            else:
                result.append(Relabelled(OPEN, None, best, ranked))
        return result

    def relabel_texts(self, group: Group, rows: Sequence[Row]) -> list[Relabelled]:
        """Return what the model of a group says about some of its rows."""
        return self._by_model(self.groups.index(group), rows, text_matrix([row.text for row in rows])) if rows else []


class _Test(NamedTuple):
    """A checked row, decided by a model that did not see its label."""

    group: int
    scores: Any
    place: int  # of its label among its candidates
    weight: float
