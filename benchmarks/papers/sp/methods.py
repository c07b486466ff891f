"""The columns of the tables: the learner of each, and what is chosen for it on a part of the training rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cladist import FlatSVM, HardPerceptron, KernelStochasticPerceptron, MaxMarginMarkov, StructuralSVM
from cladist.learners.structured.parameters import number_of_rounds

Stages = dict[str, tuple[Any, ...]]
ROUNDS = (1, 4, 16)  # times ⌈log(n) / 0.1²⌉
MARGIN_C = (1.0, 0.1, 10.0)
OF_DRAWS: Stages = {"rounds": ROUNDS, "average": (True, False), "c": (1.0, 0.1, 10.0)}
AS_PRINTED: dict[str, Any] = {"step": "1/sqrt(T)", "fit_intercept": False}  # not the defaults
DRAWN: dict[str, Any] = {**AS_PRINTED, "n_chunks": 1}


@dataclass(frozen=True)
class Method:
    """A method of the paper, or one to compare with.

    Attributes
    ----------
    title : str
        The paper's name for it.
    learner : type
    parameters : dict
        Beside the taxonomy.
    stages : dict
        Parameter → values, the first being the default; chosen one after the other, each with what was chosen before.
        `rounds` are multiples of the default number.
    """

    title: str
    learner: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    stages: Stages = field(default_factory=dict)

    def make(self, taxonomy: Any, chosen: dict[str, Any], n_rows: int) -> Any:
        """Return an unfitted learner that is to learn from so many rows; repeatable, on one core."""
        options = dict(chosen)
        if "rounds" in options:
            options["max_iter"] = options.pop("rounds") * number_of_rounds(None, HardPerceptron().eps, n_rows)
        return self.learner(taxonomy, random_state=0, **(self.parameters | options))


METHODS: dict[str, Method] = {
    "hp": Method(
        "HP",
        HardPerceptron,
        AS_PRINTED,
        stages={"rounds": ROUNDS, "average": (True, False), "init": ("zeros", "class_mean")},
    ),
    "ksp-linear": Method(
        "KSP-linear",
        KernelStochasticPerceptron,
        DRAWN,
        stages={**OF_DRAWS, "init": ("zeros", "random", "class_mean"), "step": ("1/sqrt(T)", "1/(R sqrt(T))")},
    ),
    "ksp-poly": Method(
        "KSP-polynomial",
        KernelStochasticPerceptron,
        {**DRAWN, "kernel": "poly", "gamma": 1.0, "coef0": 1.0},
        {"degree": (2, 3), **OF_DRAWS},
    ),
    "ksp-rbf": Method(
        "KSP-Gaussian", KernelStochasticPerceptron, {**DRAWN, "kernel": "rbf"}, {"gamma": (0.5, 1.0, 2.0), **OF_DRAWS}
    ),
    "lm-1": Method("LM-1", MaxMarginMarkov, {"max_iter": 3000}, {"C": MARGIN_C}),
    "lm-2": Method("LM-2", StructuralSVM, {"max_iter": 3000}, {"C": MARGIN_C}),
    "svm": Method("flat SVM", FlatSVM, {"targets": "nodes", "repair": "best"}, {"C": (1.0, 0.01, 0.1, 10.0, 100.0)}),
}
