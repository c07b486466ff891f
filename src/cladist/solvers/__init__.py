"""Solvers: they minimise a stated problem and return a `Solution`. They never see an estimator."""

from cladist.linear_model.training_rows import TrainingRows
from cladist.solvers.linear.one_vs_rest import solve_one_vs_rest
from cladist.solvers.problem import OneVsRest, Settings, Solution, members_by_class

__all__ = ["OneVsRest", "Settings", "Solution", "TrainingRows", "members_by_class", "solve_one_vs_rest"]
