"""The methods of the table, in the order of the paper's columns: one line each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import cladist
from benchmarks.papers.hr.data_sets import Source
from cladist.datasets import Dataset


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
    on_tree : bool
        Whether it learns from the taxonomy; labels are then leaves of it, unless it is a DAG.
    on_graph : bool
        Whether it learns from the label graph that comes with the data instead.
    chosen : str
        The parameter whose value is chosen among the Cs, C itself for nearly all.
    """

    title: str
    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    of_sets: str = ""
    on_tree: bool = False
    on_graph: bool = False
    chosen: str = "C"

    def learner_for(self, source: Source | None) -> str:
        """Return the public name of the class that learns from this data."""
        return self.of_sets if self.of_sets and source is not None and source.multilabel else self.learner

    def is_there(self, source: Source | None) -> bool:
        """Tell whether this version of cladist has the class."""
        return getattr(cladist, self.learner_for(source), None) is not None

    def make(self, source: Source, data: Dataset, C: float) -> Any:
        """Return an unfitted learner; all are repeatable and work on one core."""
        learner, taxonomy = getattr(cladist, self.learner_for(source)), data.taxonomy
        assert taxonomy is not None
        known = inspect.signature(learner).parameters
        options: dict[str, Any] = {self.chosen: C, "random_state": 0}
        if source.nodes == "all" and not (self.on_tree and taxonomy.kind != "dag"):
            options["targets"] = "nodes"
        if self.on_graph:
            options["relations"] = data.relations
        if "sharing" in known:
            options["sharing"] = 1.0  # the paper's problem
        return learner(taxonomy, **{k: v for k, v in options.items() if k in known}, **self.parameters)


METHODS: dict[str, Method] = {
    "svm": Method("SVM", "FlatSVM", {"loss": "hinge"}),
    "hr-svm": Method("HR-SVM", "RecursiveSVM", {"loss": "hinge"}, on_tree=True),
    "hr-svm-graph": Method("HR-SVM, graph", "RecursiveSVM", {"loss": "hinge", "tol": 2e-2}, on_graph=True),
    "lr": Method("LR", "FlatLogistic"),
    "hr-lr": Method("HR-LR", "RecursiveLogistic", on_tree=True),
    "hr-lr-graph": Method("HR-LR, graph", "RecursiveLogistic", {"tol": 2e-2}, on_graph=True),
    "td": Method("TD", "TopDown", of_sets="NodewiseSVM"),
    "hsvm": Method("HSVM", "StructuralSVM", {"tol": 1e-2, "max_iter": 3000}, on_tree=True),
    "ot": Method("OT", "OrthogonalTransfer", on_tree=True),
    "hblr": Method("HBLR", "BayesianLogistic", {"tol": 1e-3}, on_tree=True, chosen="b0"),
}
FLAT = {"hr-svm": "svm", "hr-lr": "lr"}  # a method that knows the tree → the same loss without it
