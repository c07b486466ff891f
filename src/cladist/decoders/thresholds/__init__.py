"""From scores to sets of labels: where to cut, learnt from scores whose labels are known.

Every strategy has ``fit(scores, Z)`` and ``predict(scores)``. They know columns, not a taxonomy: what is chosen is
closed under ancestors by whoever knows one, such as `cladist.learners.thresholded.Thresholded`.
"""

from cladist.decoders.thresholds.cuts import PCut, RCut, Zero
from cladist.decoders.thresholds.instance import InstanceBased, instance_targets
from cladist.decoders.thresholds.scut import SCut
from cladist.decoders.thresholds.strategy import Strategy

__all__ = ["STRATEGIES", "InstanceBased", "PCut", "RCut", "SCut", "Strategy", "Zero", "instance_targets"]

STRATEGIES: dict[str, type[Strategy]] = {kind.name: kind for kind in (Zero, RCut, PCut, SCut, InstanceBased)}
