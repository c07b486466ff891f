"""Comparison of methods, and evaluation of online learners, which predict every row before they are trained on it."""

from cladist.evaluation.comparison import Comparison, compare
from cladist.evaluation.progressive import Progress, progressive
from cladist.evaluation.ranks import Ranking, rank_methods
from cladist.evaluation.splits import splits

__all__ = ["Comparison", "Progress", "Ranking", "compare", "progressive", "rank_methods", "splits"]
