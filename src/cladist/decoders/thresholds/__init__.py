"""From scores to sets of labels: thresholds chosen from scores whose labels are known.

Every strategy has ``fit(scores, Z)`` and ``predict(scores)``. They work on columns and know no taxonomy: ancestors
of the labels chosen are added by the caller, such as `cladist.learners.thresholded.Thresholded`.
"""

from cladist.decoders.thresholds.cuts import FixedPCut, PCut, RCut, SCut, Strategy, Zero
from cladist.decoders.thresholds.global_cut import GlobalCut
from cladist.decoders.thresholds.instance import InstanceBased, instance_targets

__all__ = [
    "STRATEGIES",
    "FixedPCut",
    "GlobalCut",
    "InstanceBased",
    "PCut",
    "RCut",
    "SCut",
    "Strategy",
    "Zero",
    "instance_targets",
]

STRATEGIES: dict[str, type[Strategy]] = {
    kind.name: kind for kind in (Zero, GlobalCut, RCut, PCut, FixedPCut, SCut, InstanceBased)
}
