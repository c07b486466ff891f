"""Comparison of methods, diagnosis of data, and progressive validation of online learners."""

from cladist.evaluation.comparison import Comparison, compare
from cladist.evaluation.diagnosis import Diagnosis, diagnose
from cladist.evaluation.edits import Edit, apply_edits, read_edits, write_edits
from cladist.evaluation.progressive import Progress, progressive
from cladist.evaluation.ranks import Ranking, rank_methods
from cladist.evaluation.splits import splits
from cladist.evaluation.structure import Finding
from cladist.evaluation.suggestion import Suggestion, suggest

__all__ = [
    "Comparison",
    "Diagnosis",
    "Edit",
    "Finding",
    "Progress",
    "Ranking",
    "Suggestion",
    "apply_edits",
    "compare",
    "diagnose",
    "progressive",
    "rank_methods",
    "read_edits",
    "splits",
    "suggest",
    "write_edits",
]
