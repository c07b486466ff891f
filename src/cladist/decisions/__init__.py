"""From probabilities to answers: rules that choose a node, a set of nodes, or none.

A rule has ``fit(P, y, taxonomy)`` and ``decide(P)``. P holds the probabilities of classes, from any model, as an array
(rows × classes) or a `cladist.labels.TopK`.
"""

from cladist.decisions.confidence import Confidence, Specificity
from cladist.decisions.conformal import Conformal
from cladist.decisions.curves import AutomationCurve, automation_curve, risk_coverage_curve
from cladist.decisions.minimum_risk import MinimumRisk
from cladist.decisions.risk_control import RiskControl
from cladist.decisions.rule import Answers, Rule, sum_to_nodes

__all__ = [
    "RULES",
    "Answers",
    "AutomationCurve",
    "Confidence",
    "Conformal",
    "MinimumRisk",
    "RiskControl",
    "Rule",
    "Specificity",
    "automation_curve",
    "risk_coverage_curve",
    "sum_to_nodes",
]

RULES: dict[str, type[Rule]] = {
    kind.name: kind for kind in (MinimumRisk, Confidence, Specificity, RiskControl, Conformal)
}
