"""Options of ``cladist predict`` that decide by probabilities, and the rows they write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from cladist.errors import ParameterError

SHARE_OUT_OF_SCOPE = 0.05  # of rows of known classes that --abstain may mark
HELD_OUT = 0.2  # of the rows of ``cladist train --calibrate``
MOST_HELD_OUT = 20_000  # rows whose probabilities are saved with a model
LISTED = 100  # classes of each


class DecisionOptions(NamedTuple):
    """What the command line asks for."""

    proba: bool = False
    min_confidence: float | None = None
    minimise: str | None = None
    conformal: float | None = None
    abstain: bool = False

    def rule(self) -> Any:
        """Return the rule; by default the most probable label."""
        from cladist.decisions import Confidence, Conformal, MinimumRisk

        rules = {
            "--min-confidence": self.min_confidence is not None and Confidence(self.min_confidence),
            "--minimise": self.minimise is not None and MinimumRisk(self.minimise),
            "--conformal": self.conformal is not None and Conformal(self.conformal),
        }
        given = [flag for flag, rule in rules.items() if rule]
        if len(given) > 1:
            raise ParameterError(f"{given[0]} and {given[1]} are two rules for the same rows; give one of them.")
        return rules[given[0]] if given else MinimumRisk("zero-one", over="nodes")


class DecidedRow(NamedTuple):
    """The labels of a row, the paths to them, their probability, and where and why it was decided."""

    labels: list[str]
    paths: list[list[str]]
    confidence: float
    decided_at: str
    reason: str


def new_decider(learner: Any, options: DecisionOptions, calibration: dict[str, Any]) -> Callable[[Any], Iterator[Any]]:
    """Return a function of rows, as a learner takes them, that yields a `DecidedRow` for each.

    `calibration` holds the arrays that `hold_out` made in training; models that were trained without have none.
    """
    from cladist.labels import LabelMatrix, TopK
    from cladist.learners.decision_classifier import DecisionClassifier
    from cladist.learners.probability_classifier import ProbabilityClassifier

    if not isinstance(learner, ProbabilityClassifier):
        raise ParameterError(
            "This model has no calibrated probabilities to decide by; train it again with cladist train --calibrate."
        )
    abstain = SHARE_OUT_OF_SCOPE if options.abstain else None
    P, y = None, None
    if calibration:
        y = LabelMatrix(calibration["indptr"], calibration["indices"], learner.taxonomy_)
        P = calibration["probabilities"]
        P = TopK(calibration["columns"], P) if "columns" in calibration else P
    elif options.conformal is not None or options.abstain:
        raise ParameterError("This model was saved without rows held out; train it with cladist train --calibrate.")
    decider = DecisionClassifier.around(learner, rule=options.rule(), abstain=abstain, P=P, y=y)
    taxonomy = decider.taxonomy_

    def decide(rows: Any) -> Iterator[DecidedRow]:
        for label, confidence, place, reason in zip(*decider.predict_decisions(rows), strict=True):
            found = set() if label is None else label if isinstance(label, set) else {label}
            nodes = sorted(map(taxonomy.index, found))
            labels = [decider.label_form_.spell(v, taxonomy) for v in nodes]
            paths = [list(taxonomy.shortest_path_parts(v)) for v in nodes]
            yield DecidedRow(labels, paths, float(confidence), place, reason)

    return decide


def hold_out(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return arrays of the probabilities and labels of rows that a model was not trained on."""
    from cladist.labels import encode
    from cladist.learners.out_of_fold import last_step, transformed

    learner, rows = last_step(model), transformed(model, X)
    labels = encode(y, learner.taxonomy_).labels
    arrays = {"indptr": labels.indptr, "indices": labels.indices}
    if learner.decodes_sets:
        return arrays | {"probabilities": learner.predict_proba(rows, nodes="all")}
    top = learner.predict_proba(rows, top_k=LISTED)
    return arrays | {"columns": top.columns, "probabilities": top.probabilities}


@dataclass(frozen=True)
class DecisionLayout:
    """The form of a decided row: labels and paths that `separator` joins in a cell, and the columns of decisions."""

    separator: str
    path_separator: str
    is_set: bool

    def header(self) -> list[str]:
        """Return the column names of a table."""
        names = ["labels", "paths"] if self.is_set else ["label", "path"]
        return [*names, "confidence", "decided_at", "reason"]

    def cells(self, row: DecidedRow) -> list[str]:
        """Return a row of a table."""
        from cladist.cli.predict import escape_formula

        paths = [self.path_separator.join(path) for path in row.paths]
        texts = [self.separator.join(map(escape_formula, part)) for part in (row.labels, paths)]
        return [*texts, f"{row.confidence:.6g}", row.decided_at, row.reason]

    def to_dict(self, row: DecidedRow) -> dict[str, Any]:
        """Return a row as a JSON object."""
        confidence = None if row.confidence != row.confidence else float(f"{row.confidence:.6g}")
        others = {"confidence": confidence, "decided_at": row.decided_at, "reason": row.reason}
        if self.is_set:
            return {"labels": row.labels, "paths": row.paths, **others}
        return {"label": next(iter(row.labels), None), "path": next(iter(row.paths), None), **others}
