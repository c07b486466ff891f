"""The rows of the paper's tables: flat and hierarchical rivals, and H-M³ with each of its training losses; C = 1.

The flat SVM is read node by node and not made consistent, as in the comparison of Cesa-Bianchi et al. The SVMs have
intercepts; H-M³ has no bias of its own, so its rows get a feature that is always 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.papers.hrls.data_sets import Split
from benchmarks.papers.hrls.methods import flat, gated
from cladist import FlatSVM, HierarchicalRLS, MaxMarginMarkov, NodewiseSVM
from cladist.taxonomy import Taxonomy

C = 1.0  # in all of the paper's experiments
SVM = {"C": C, "loss": "hinge"}
PAPER_RIDGE: dict[str, Any] = {"alpha": 1.0, "fit_intercept": False}


@dataclass(frozen=True)
class Method:
    """A method: its name in Table 2 and 3, that of its training loss in Table 1, how it decides, and its settings."""

    title: str
    training_loss: str | None
    decide: Callable[[Split, Taxonomy], Any]
    settings: dict[str, Any]


def _hm3(title: str, training_loss: str, **options: Any) -> Method:
    settings = {"C": C, "tol": 1e-3, "train_space": "all", **options}
    decide = gated(MaxMarginMarkov, **settings)
    return Method(
        title,
        training_loss,
        lambda split, taxonomy: decide(with_constant(split), taxonomy),
        {**settings, "constant feature": 1},
    )


def with_constant(split: Split) -> Split:
    """Return the rows with one feature more, which is always 1."""

    def widened(X: Any) -> Any:
        return sparse.csr_array(sparse.hstack([X, np.ones((X.shape[0], 1), X.dtype)]))

    return replace(split, X_train=widened(split.X_train), X_test=widened(split.X_test))


METHODS: dict[str, Method] = {
    "svm": Method("SVM", None, flat(FlatSVM, targets="nodes", **SVM), SVM),
    "h-svm": Method("H-SVM", None, gated(NodewiseSVM, **SVM), SVM),
    "h-rls": Method("H-RLS", None, gated(HierarchicalRLS, random_state=0, **PAPER_RIDGE), {"passes": 1}),
    "delta": _hm3("H-M³-ℓ_Δ", "ℓ_Δ", loss="hamming"),
    "uniform": _hm3("H-M³-ℓ_H̃ uniform", "ℓ_H̃-unif", loss="hierarchical", node_weights="uniform"),
    "sibling": _hm3("H-M³-ℓ_H̃ sibling", "ℓ_H̃-sibl.", loss="hierarchical", node_weights="sibling"),
    # Of the three, Tables 2 and 3 have this one.
    "subtree": _hm3("H-M³-ℓ_H̃", "ℓ_H̃-subtree", loss="hierarchical", node_weights="subtree"),
}
