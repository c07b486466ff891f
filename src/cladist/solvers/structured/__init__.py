"""What learners over all consistent labellings share.

The joint feature of a row and a labelling with signs y is Φ(x, y) = y ⊗ φ(x), so that a weight matrix W scores
⟨W, Φ(x, y)⟩ = Σ_v y_v a_v with node scores a = W φ(x). An `Expansion` is such a W as a sum of joint features, a
`ScoreBoard` the scores of the rows under it, kept up to date, with their margins against the runner-up.
"""

from cladist.solvers.structured.board import ScoreBoard
from cladist.solvers.structured.columns import Columns
from cladist.solvers.structured.expansion import Expansion
from cladist.solvers.structured.perceptron import PerceptronProblem, PerceptronSolution, Rounds, Start, solve_perceptron

__all__ = [
    "Columns",
    "Expansion",
    "PerceptronProblem",
    "PerceptronSolution",
    "Rounds",
    "ScoreBoard",
    "Start",
    "solve_perceptron",
]
