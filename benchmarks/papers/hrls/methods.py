"""The six methods of the comparison, each as rows in → 0/1 decisions out.

The flat ones (PERC, S-RLS, SVM) are read node by node and not made consistent: the slides do not say that they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.papers.hrls.data_sets import Split
from cladist import FlatSVM, HierarchicalPerceptron, HierarchicalRLS, NodewiseSVM
from cladist.taxonomy import Taxonomy

C = 1.0  # Rousu et al. 2005 use 1; the slides say nothing


@dataclass(frozen=True)
class Method:
    """A method: how it learns, and what beyond the defaults it was told."""

    title: str
    decide: Callable[[Split, Taxonomy], Any]
    settings: dict[str, Any]


def gated(build: Callable[..., Any], **options: Any) -> Callable[[Split, Taxonomy], Any]:
    """Return what learns in the rows' order and answers from the roots down."""

    def decide(split: Split, taxonomy: Taxonomy) -> Any:
        model = build(taxonomy, **options).fit(split.X_train, split.y_train)
        return model.predict(split.X_test).to_indicator()

    return decide


def flat(build: Callable[..., Any], **options: Any) -> Callable[[Split, Taxonomy], Any]:
    """Return what answers at every node alone."""

    def decide(split: Split, taxonomy: Taxonomy) -> Any:
        model = build(taxonomy, **options).fit(split.X_train, split.y_train)
        on = np.zeros((split.X_test.shape[0], taxonomy.n_nodes), np.int8)
        scores = model.decision_function(split.X_test)
        on[:, model.class_nodes_] = scores > 0 if isinstance(model, FlatSVM) else scores >= 0
        return sparse.csr_array(on)

    return decide


ONLINE = {"shuffle": False}  # the rows are shuffled already, and one pass is made
RLS = {**ONLINE, "sparse": True, "alpha": 1.0, "fit_intercept": False}  # the paper's ridge
SVM = {"C": C, "loss": "hinge"}
METHODS = {
    "perc": Method("PERC", flat(HierarchicalPerceptron, gated=False, **ONLINE), {"passes": 1}),
    "h-perc": Method("H-PERC", gated(HierarchicalPerceptron, **ONLINE), {"passes": 1}),
    "s-rls": Method("S-RLS", flat(HierarchicalRLS, gated=False, **RLS), {"passes": 1, "margin_constant": 5.0}),
    "sh-rls": Method("SH-RLS", gated(HierarchicalRLS, **RLS), {"passes": 1, "margin_constant": 5.0}),
    "svm": Method("SVM", flat(FlatSVM, targets="nodes", **SVM), SVM),
    "h-svm": Method("H-SVM", gated(NodewiseSVM, **SVM), SVM),
}
