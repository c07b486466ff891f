"""From scores to sets of labels: thresholds chosen from scores whose labels are known.

Every strategy has ``fit(scores, Z)`` and ``predict(scores)``. They work on columns and know no taxonomy: ancestors
of the labels chosen are added by the caller, such as `cladist.learners.thresholded.Thresholded`.
"""

from cladist.decoders.thresholds.cuts import PCut, RCut, SCut, Strategy, Zero
from cladist.decoders.thresholds.instance import InstanceBased, instance_targets

__all__ = ["STRATEGIES", "InstanceBased", "PCut", "RCut", "SCut", "Strategy", "Zero", "instance_targets"]

STRATEGIES: dict[str, type[Strategy]] = {kind.name: kind for kind in (Zero, RCut, PCut, SCut, InstanceBased)}
