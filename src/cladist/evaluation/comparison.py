"""`compare`: which method, and does the hierarchy help? `Comparison` is the answer."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, is_count, is_positive, one_of
from cladist.evaluation.contest import Contest, Stage, held_out_counts
from cladist.evaluation.contestants import contestants
from cladist.evaluation.resamples import MEASURES, Measure, Resamples, resampled_scores, simultaneous_intervals
from cladist.evaluation.splits import splits
from cladist.labels import LabelMatrix, encode
from cladist.metrics import Counts
from cladist.metrics.significance import Interval
from cladist.metrics.summary import text_table
from cladist.report.page import Table, html_table, plain_page
from cladist.taxonomy import as_taxonomy

Verdict = Literal["helps", "hurts", "no evidence"]
CONTROL = "shuffled hierarchy"
FREQUENCIES = ((1, 9), (10, 99), (100, None))  # rows per label, in the table of frequencies


class Row(NamedTuple):
    """A method in the table.

    `difference` is its score minus that of its flat twin, with an interval; None where it has no twin.
    """

    method: str
    twin: str
    uses_tree: bool
    C: float | None
    scores: dict[str, float]
    difference: Interval | None
    tuning_seconds: float
    fit_seconds: float
    predict_seconds: float
    model_bytes: int


class Contrast(NamedTuple):
    """The score of one method minus that of another, with an interval; all intervals hold together."""

    method: str
    other: str
    difference: Interval


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods on the same rows held out, and what that says about the hierarchy; printing it shows the tables.

    Attributes
    ----------
    verdict_ : {"helps", "hurts", "no evidence"}
        Whether the best method that is trained with the hierarchy is better than the best without, beyond chance, and
        better than itself with the leaves of the hierarchy shuffled.
    verdict : str
        The same as a sentence, with the difference and its interval.
    recommended : str
        The name of the method to use.
    rows : list of Row
        The methods, the best first.
    contrasts : list of Contrast
        Every method with the hierarchy minus every one without, and the best of the first minus itself with a shuffled
        hierarchy.
    measure : str
        What they are compared by.
    per_level, per_frequency : dict
        For each method its F1 of the counts added up over each level, and its macro F1 over labels by their number of
        rows.
    stages : list of dict
        The course: the methods' scores and seconds with fewer rows first.
    failed : dict
        For methods left out, the reason.
    n_train, n_rows, n_held_out, n_folds, seconds, budget, level
        Rows trained on in each fold, all rows, rows held out in all, folds, time used and given, and the probability
        of the intervals.
    """

    verdict_: Verdict
    verdict: str
    recommended: str
    rows: list[Row]
    contrasts: list[Contrast]
    measure: str
    per_level: dict[str, list[float]]
    per_frequency: dict[str, dict[str, float]]
    stages: list[dict[str, Any]]
    failed: dict[str, str] = field(default_factory=dict)
    n_train: int = 0
    n_rows: int = 0
    n_held_out: int = 0
    n_folds: int = 1
    seconds: float = 0.0
    budget: float = 0.0
    level: float = 0.95

    @property
    def table(self) -> Table:
        """One row per method, the best first; the best values are marked."""
        measures = {name: MEASURES[name] for name in self.rows[0].scores}
        first = MEASURES[self.measure]
        header = ["method", *(m.title for m in measures.values()), f"{first.title} − flat twin", "C"]
        header += ["tuning s", "fit s", "predict s", "model MiB"]
        cells = [
            [
                row.method,
                *(measure.shown(row.scores[name]) for name, measure in measures.items()),
                "" if row.difference is None else _interval(row.difference, first),
                "" if row.C is None else f"{row.C:g}",
                *(f"{value:.2f}" for value in (row.tuning_seconds, row.fit_seconds, row.predict_seconds)),
                f"{row.model_bytes / 2**20:.1f}",
            ]
            for row in self.rows
        ]
        best = set()
        for column, (name, measure) in enumerate(measures.items(), 1):
            values = [row.scores[name] for row in self.rows]
            top = max(values) if measure.more_is_better else min(values)
            best |= {(k, column) for k, value in enumerate(values) if value == top}
        return Table(header, cells, frozenset(best))

    @property
    def breakdowns(self) -> list[Table]:
        """The tables of F1 by level and of macro F1 by the number of rows of a label."""
        levels = range(len(next(iter(self.per_level.values()))))
        by_level = [[name, *(f"{100 * f1:.1f}" for f1 in values)] for name, values in self.per_level.items()]
        bins = list(next(iter(self.per_frequency.values())))
        by_bin = [
            [name, *(f"{100 * values[b]:.1f}" if b in values else "" for b in bins)]
            for name, values in self.per_frequency.items()
        ]
        return [
            Table(["F1 by level", *map(str, levels)], by_level),
            Table(["macro F1 by rows of a label", *bins], by_bin),
        ]

    @property
    def setup(self) -> str:
        """How the methods were compared, as a sentence."""
        folds = "" if self.n_folds == 1 else f" in {self.n_folds} folds"
        return (
            f"{self.n_held_out:,} of {self.n_rows:,} rows were held out{folds}, {self.n_train:,} trained on, with C "
            f"chosen on these; {self.seconds:.0f} s of {self.budget:.0f} s were used. Intervals hold together with a "
            f"probability of {self.level:.0%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        rows = []
        for row in self.rows:
            difference = None if row.difference is None else row.difference._asdict()
            rows.append({**row._asdict(), "difference": difference})
        contrasts = [{**c._asdict(), "difference": c.difference._asdict()} for c in self.contrasts]
        named = (
            "measure",
            "per_level",
            "per_frequency",
            "stages",
            "failed",
            "n_train",
            "n_rows",
            "n_held_out",
            "n_folds",
        )
        content = {name: getattr(self, name) for name in (*named, "seconds", "budget", "level")}
        answer = {"verdict": self.verdict_, "sentence": self.verdict, "recommended": self.recommended}
        return {**answer, "methods": rows, "contrasts": contrasts, **content}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_html(self, *, title: str = "Comparison of methods", advice: str = "") -> str:
        """Return a self-contained web page; `advice` is a line below the verdict."""
        from html import escape

        parts = [f"<section><h2>{escape(self.verdict)}</h2><p>{escape(advice)}</p>{html_table(self.table)}</section>"]
        parts += [f"<section>{html_table(table)}</section>" for table in self.breakdowns]
        if self.failed:
            items = "".join(f"<li>{escape(name)}: {escape(reason)}</li>" for name, reason in self.failed.items())
            parts.append(f"<section><h2>Left out</h2><ul>{items}</ul></section>")
        return plain_page(title, "\n".join(parts), self.setup)

    def __str__(self) -> str:
        tables = [text_table(table.header, table.rows) for table in (self.table, *self.breakdowns)]
        return "\n\n".join([self.verdict, *tables, self.setup])

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} methods, {self.verdict_}, recommended {self.recommended!r})"

    def _repr_html_(self) -> str:
        return html_table(self.table)


def compare(
    X: Any,
    y: Any,
    taxonomy: Any = None,
    *,
    methods: Any = None,
    measure: str = "macro_f1",
    features: Any = None,
    cv: int = 5,
    groups: Any = None,
    times: Any = None,
    budget: float = 600.0,
    control: bool = True,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Compare methods with the hierarchy and without it, and say whether it helps.

    Parameters
    ----------
    X : array-like, CSR or data frame (rows × features), or sequence of str
        Dense columns are standardised unless their scales are equal; missing values are replaced by means.
    y : labels in any form
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        None: read from y.
    methods : sequence or mapping, optional
        Names as in ``cladist methods``, also of methods of other packages; learners, classifiers of scikit-learn over
        labels, or pairs of a name and one of these. Each method that uses the taxonomy is compared with its flat twin:
        the flat method with the same loss, or the same method on a star. None: the methods that `cladist.auto` tries,
        and `Hieron` for single labels.
    measure : {"macro_f1", "micro_f1", "hierarchical_f1", "accuracy", "tree_induced_error"}
        What methods are compared by. F1 is over the labels that rows have, and over all nodes for sets of labels.
    features : transformer, optional
        What turns X into numbers. By default `cladist.features.text_features` for texts.
    cv : int
        The number of parts; one after the other is held out, until 5,000 rows were or the time is over.
    groups, times : sequence, optional
        One entry per row: rows of one group stay on one side; later rows are held out from training on earlier ones.
    budget : float
        Seconds. All methods begin with a part of the rows; with more rows go on, the best first, those that there is
        time for.
    control : bool
        Whether the best method is trained with shuffled leaves as well.
    level : float
        The probability with which all intervals together contain the differences over other test rows.
    n_resamples : int
        The number of bootstrap resamples of the rows held out, or of their groups.
    random_state : int
        The seed of the rows held out, of learners and of resamples.
    n_jobs : int or None
        Threads of the learners.

    Notes
    -----
    C is chosen by cross-validation inside the rows trained on, or on the first thousands of them where there is no time
    for all. A running fit is not interrupted: its time is guessed from that with fewer rows.

    Intervals describe other test rows, not other training rows.

    Examples
    --------
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=300, n_features=200, branching=(3, 3), random_state=0)
    >>> result = compare(data.X, data.y, data.taxonomy, methods=["top-down"], cv=2, budget=20)
    >>> sorted(row.method for row in result.rows)
    ['svm', 'top-down']
    >>> result.verdict_ in ("helps", "hurts", "no evidence")
    True
    """
    started = time.perf_counter()
    one_of("compare", "measure", measure, tuple(MEASURES))
    if not is_positive(budget):
        raise ParameterError(f"compare: budget must be a positive number of seconds; got {budget!r}.")
    if not 0 < level < 1 or not is_count(n_resamples):
        raise ParameterError("compare: level must lie between 0 and 1, and n_resamples be a whole number from 1 up.")
    encoded = encode(y, None if taxonomy is None else as_taxonomy(taxonomy))
    labels, is_multi = encoded.labels, encoded.form.is_multi and not encoded.labels.is_single
    if is_multi and measure == "tree_induced_error":
        raise ParameterError("compare: tree_induced_error needs one label per row; take another measure.")
    nodes = _counted_nodes(labels, is_multi)
    single = None if is_multi else labels.nodes("compare")

    def score(rows: Any, predicted: LabelMatrix) -> float:
        values = resampled_scores(labels[rows], {"": predicted}, measure, nodes, Resamples(len(rows), 0, 0))[""]
        return float(values[0]) * (1 if MEASURES[measure].more_is_better else -1)

    contest = Contest(
        X,
        labels,
        is_multi,
        contestants(methods, labels, encoded.form, random_state=random_state, n_jobs=n_jobs),
        splits(len(labels), cv=cv, groups=groups, times=times, labels=single, random_state=random_state),
        0.95 * budget,  # the rest is for the intervals
        score,
        features,
        random_state,
        control,
    )
    stages = contest.run()
    codes = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    judged = _Judge(contest, stages, measure, nodes, level, n_resamples, codes)
    return judged.comparison(len(labels), budget, lambda: time.perf_counter() - started)


def _counted_nodes(labels: LabelMatrix, is_multi: bool) -> npt.NDArray[np.int64]:
    """Return the nodes that F1 is over: the labels of rows; for sets all nodes but a tree's root."""
    if not is_multi:
        return np.unique(labels.frontier[1]).astype(np.int64)
    return np.arange(1 if len(labels.taxonomy.roots) == 1 else 0, labels.taxonomy.n_nodes)


class _Judge:
    """Scores, differences and the verdict of a contest that has been run."""

    def __init__(
        self,
        contest: Contest,
        stages: list[Stage],
        measure: str,
        nodes: Any,
        level: float,
        n_resamples: int,
        groups: Any,
    ) -> None:
        self.contest, self.stages, self.measure, self.nodes, self.level = contest, stages, measure, nodes, level
        self.held_out = np.concatenate([stage.held_out for stage in stages])
        self.true = contest.labels[self.held_out]
        codes = None if groups is None else np.unique(groups[self.held_out], return_inverse=True)[1]
        self.draws = Resamples(len(self.held_out), n_resamples, contest.seed, codes)
        self.names = [one.name for one in contest.contestants if one.name in stages[0].outcomes]
        self.predicted = {name: self._joined([s.outcomes[name].predicted for s in stages]) for name in self.names}
        self.scores = {
            name: {m: float(values[0]) for m, values in by_measure.items()}
            for name, by_measure in self._scores_of_all().items()
        }
        self.values = resampled_scores(self.true, self.predicted, measure, nodes, self.draws)
        sign = 1 if MEASURES[measure].more_is_better else -1
        self.order = sorted(self.names, key=lambda name: -sign * self.scores[name][measure])

    def _joined(self, parts: list[LabelMatrix]) -> LabelMatrix:
        return LabelMatrix.from_parts(parts, self.true.taxonomy)

    def _scores_of_all(self) -> dict[str, dict[str, Any]]:
        measures = [m for m in MEASURES if m != "tree_induced_error" or not self.contest.is_multi]
        none = Resamples(len(self.held_out), 0, 0)
        by_measure = {m: resampled_scores(self.true, self.predicted, m, self.nodes, none) for m in measures}
        return {name: {m: by_measure[m][name] for m in measures} for name in self.names}

    # ---------------------------------------------------------------- differences

    def contrasts(self) -> list[Contrast]:
        """Return the methods with the hierarchy minus those without, and the best one minus its control."""
        kinds = {one.name: one for one in self.contest.contestants}
        trees = [name for name in self.order if kinds[name].uses_tree]
        flats = [name for name in self.order if not kinds[name].uses_tree]
        pairs = [(tree, flat) for tree in trees for flat in flats]
        differences, extra = [self.values[a] - self.values[b] for a, b in pairs], [0.0] * len(pairs)
        n_controls = min(len(stage.controls) for stage in self.stages)
        if trees and n_controls:
            one = self.contest.best(self.stages, uses_tree=True)
            assert one is not None
            repeated = {str(k): self._joined([s.controls[k] for s in self.stages]) for k in range(n_controls)}
            values = resampled_scores(self.true, repeated, self.measure, self.nodes, self.draws)
            pairs.append((one.name, CONTROL))
            differences.append(self.values[one.name] - np.mean(list(values.values()), axis=0))
            found = [float(v[0]) for v in values.values()]  # shuffles differ, so another one would have another score
            extra.append(float(np.var(found, ddof=1)) * (1 + 1 / n_controls) if n_controls > 1 else 0.0)
        if not pairs:
            return []
        n_units = self.draws.n_rows if self.draws.groups is None else int(self.draws.groups.max()) + 1
        intervals = simultaneous_intervals(differences, n_units, self.level, extra)
        return [Contrast(*pair, interval) for pair, interval in zip(pairs, intervals, strict=True)]

    def comparison(self, n_rows: int, budget: float, seconds: Callable[[], float]) -> Comparison:
        """Return the result."""
        contrasts = self.contrasts()
        verdict, sentence, recommended = self._verdict(contrasts)
        stage = self.stages[0]
        if stage.n_train < len(self.contest.splits[0][0]):
            sentence += f" Measured with {stage.n_train:,} of {len(self.contest.splits[0][0]):,} rows to train on."
        counts = {name: held_out_counts(self.contest.labels, self.stages, name) for name in self.order}
        per_level = {name: [row.f1 for row in c.per_level_precision_recall()] for name, c in counts.items()}
        per_frequency = {name: self._by_frequency(c) for name, c in counts.items()}
        return Comparison(
            verdict, sentence, recommended, [self._row(name, contrasts) for name in self.order], contrasts,
            self.measure, per_level, per_frequency, self._course(), self.contest.failed, stage.n_train, n_rows,
            len(self.held_out), len(self.stages), seconds(), budget, self.level,
        )  # fmt: skip

    def _verdict(self, contrasts: list[Contrast]) -> tuple[Verdict, str, str]:
        """Return the verdict, as a word and as a sentence, and the method to use."""
        measure = MEASURES[self.measure]
        trees, flats = ([c for c in self.order if self._uses_tree(c) is kind] for kind in (True, False))
        if not trees or not flats:
            missing = "with the hierarchy" if not trees else "without it"
            if self.contest.labels.taxonomy.n_nodes == len(self.contest.labels.taxonomy.leaves):
                return "no evidence", "There is no hierarchy, so there is nothing to say about it.", self.order[0]
            return "no evidence", f"No method {missing} was compared, so nothing is known.", self.order[0]
        tree, flat = trees[0], flats[0]
        found = next(c.difference for c in contrasts if (c.method, c.other) == (tree, flat))
        control = next((c for c in contrasts if c.other == CONTROL and c.method == tree), None)
        gain = _gain(found, measure)
        shown = f"{measure.title} {_interval(found, measure, self.level)}, {tree} instead of {flat}, "
        shown += f"at {self._times(tree, flat)}"
        if gain.high < 0:
            return "hurts", f"The hierarchy hurts: {shown}.", flat
        if gain.low > 0 and (control is None or _gain(control.difference, measure).low > 0):
            return "helps", f"The hierarchy helps: {shown}.", tree
        sentence = f"There is no evidence that the hierarchy helps: {shown}."
        if gain.low > 0 and control is not None:
            by = _interval(control.difference, measure, self.level)
            sentence = f"{sentence[:-1]}, but {by} instead of {tree} with the leaves of the hierarchy shuffled."
            return "no evidence", sentence, tree
        return "no evidence", sentence, flat

    def _uses_tree(self, name: str) -> bool:
        return next(one.uses_tree for one in self.contest.contestants if one.name == name)

    def _times(self, tree: str, flat: str) -> str:
        seconds = [sum(s.outcomes[name].fit_seconds for s in self.stages) for name in (tree, flat)]
        return f"{seconds[0] / max(seconds[1], 1e-9):.1f} times the training time"

    # ---------------------------------------------------------------- the tables

    def _row(self, name: str, contrasts: list[Contrast]) -> Row:
        one = next(c for c in self.contest.contestants if c.name == name)
        outcomes = [stage.outcomes[name] for stage in self.stages]
        chosen = [outcome.C for outcome in outcomes if outcome.C is not None]
        difference = next((c.difference for c in contrasts if (c.method, c.other) == (name, one.twin)), None)
        tuning, fitting, predicting = (
            float(np.mean([getattr(outcome, f"{part}_seconds") for outcome in outcomes]))
            for part in ("tuning", "fit", "predict")
        )
        return Row(
            method=name,
            twin=one.twin,
            uses_tree=one.uses_tree,
            C=statistics.median_low(chosen) if chosen else None,
            scores=self.scores[name],
            difference=difference,
            tuning_seconds=tuning,
            fit_seconds=fitting,
            predict_seconds=predicting,
            model_bytes=max(outcome.model_bytes for outcome in outcomes),
        )

    def _by_frequency(self, counts: Counts) -> dict[str, float]:
        n_rows = np.bincount(self.contest.labels.frontier[1], minlength=counts.taxonomy.n_nodes)[self.nodes]
        f1, has_rows = counts.node_scores(self.nodes)[2], (counts.tp + counts.fn)[self.nodes] > 0
        found = {}
        for least, most in FREQUENCIES:
            inside = has_rows & (n_rows >= least) & (n_rows <= (most or np.inf))
            if inside.any():
                found[f"{least}–{most}" if most else f"{least} and more"] = float(f1[inside].mean())
        return found

    def _course(self) -> list[dict[str, Any]]:
        """Return the stages as plain values: rows trained on, and each method's score and seconds."""
        sign = 1 if MEASURES[self.measure].more_is_better else -1
        return [
            {
                "n_train": stage.n_train,
                "methods": {
                    name: {
                        self.measure: sign * self.contest.score(stage.held_out, outcome.predicted),
                        "C": outcome.C,
                        "seconds": round(outcome.seconds, 3),
                    }
                    for name, outcome in stage.outcomes.items()
                },
            }
            for stage in self.contest.stages
        ]


def _gain(found: Interval, measure: Measure) -> Interval:
    """Return a difference so that more is better."""
    return found if measure.more_is_better else Interval(-found.estimate, -found.high, -found.low)


def _interval(found: Interval, measure: Measure, level: float | None = None) -> str:
    """Return a difference with its interval in words."""
    value, low, high = (f"{measure.factor * part:+.{measure.digits}f}".replace("-", "−") for part in found)
    return f"{value} ({'' if level is None else f'{level:.0%} '}{low} … {high})"
