"""How good a learner is, found by asking before telling."""

from cladist.evaluation.progressive import Progress, progressive

__all__ = ["Progress", "progressive"]
