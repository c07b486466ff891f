"""From probabilities to answers: rules that choose a node, a set of nodes, or none.

A rule has ``fit(P, y, taxonomy)`` and ``decide(P)``. P holds the probabilities of classes, from any model, as an array
(rows × classes) or a `cladist.labels.TopK`.
"""

from cladist.decisions.confidence import Confidence, Specificity
from cladist.decisions.conformal import Conformal
from cladist.decisions.minimum_risk import MinimumRisk
from cladist.decisions.risk_control import RiskControl
from cladist.decisions.rule import Answers, Rule, node_probabilities

__all__ = [
    "RULES",
    "Answers",
    "Confidence",
    "Conformal",
    "MinimumRisk",
    "RiskControl",
    "Rule",
    "Specificity",
    "node_probabilities",
]

RULES: dict[str, type[Rule]] = {
    kind.name: kind for kind in (MinimumRisk, Confidence, Specificity, RiskControl, Conformal)
}
