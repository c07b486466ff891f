"""Decisions about rows by the probabilities of a model, with a rule that is chosen after training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cladist.decisions import Confidence, Conformal, MinimumRisk
from cladist.errors import ParameterError
from cladist.labels import LabelMatrix, TopK
from cladist.learners.decision_classifier import DecisionClassifier
from cladist.learners.probability_classifier import ProbabilityClassifier

SHARE_OUT_OF_SCOPE = 0.05  # of rows of known classes that --abstain may mark


class DecisionOptions(NamedTuple):
    """What a caller asks for: probabilities, at most one rule, and no answer to rows unlike those of training."""

    proba: bool = False
    min_confidence: float | None = None
    minimise: str | None = None
    conformal: float | None = None
    abstain: bool = False

    def rule(self) -> Any:
        """Return the rule; by default the most probable label."""
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

    `calibration` holds the arrays that ``cladist train --calibrate`` saved with the model; others have none.
    """
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
