"""The methods of the table, in the order of the paper's columns: one line each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import cladist
from benchmarks.papers.hr.data_sets import Source


@dataclass(frozen=True)
class Method:
    """A column of the paper's Table 3 and the learner that stands for it.

    Attributes
    ----------
    title : str
        The paper's name for it.
    learner : str
        The public name of its class, which need not be there yet.
    parameters : dict
        Beside `taxonomy` and `C`.
    of_sets : str
        The class where rows have several labels, if it is another.
    """

    title: str
    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    of_sets: str = ""

    def learner_for(self, source: Source | None) -> str:
        """Return the public name of the class that learns from this data."""
        return self.of_sets if self.of_sets and source is not None and source.multilabel else self.learner

    def is_there(self, source: Source | None) -> bool:
        """Tell whether this version of cladist has the class."""
        return getattr(cladist, self.learner_for(source), None) is not None

    def make(self, source: Source, taxonomy: Any, C: float) -> Any:
        """Return an unfitted learner; all are repeatable and work on one core."""
        learner = getattr(cladist, self.learner_for(source))
        known = inspect.signature(learner).parameters
        options = {"C": C, "random_state": 0} | ({"targets": "nodes"} if source.nodes == "all" else {})
        return learner(taxonomy, **{k: v for k, v in options.items() if k in known}, **self.parameters)


METHODS: dict[str, Method] = {
    "svm": Method("SVM", "FlatSVM", {"loss": "hinge"}),
    "hr-svm": Method("HR-SVM", "RecursiveSVM", {"loss": "hinge"}),
    "lr": Method("LR", "FlatLogistic"),
    "hr-lr": Method("HR-LR", "RecursiveLogistic"),
    "td": Method("TD", "TopDown", of_sets="NodewiseSVM"),
}
FLAT = {"hr-svm": "svm", "hr-lr": "lr"}  # a method that knows the tree → the same loss without it
