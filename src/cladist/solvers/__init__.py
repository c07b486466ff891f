"""Solvers: they minimise a stated problem and return a `Solution`. They never see an estimator."""

from cladist.solvers.linear_svm import one_vs_rest_svm
from cladist.solvers.solution import Solution

__all__ = ["Solution", "one_vs_rest_svm"]
