"""Evaluation of online learners: every row is predicted before it is trained on."""

from cladist.evaluation.progressive import Progress, progressive

__all__ = ["Progress", "progressive"]
