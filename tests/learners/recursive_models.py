"""A tree of three levels, the recursive learners, and what they minimise, by its definition."""

import numpy as np
import pytest
from scipy import sparse

from cladist import LabelMatrix, RecursiveLogistic, RecursiveSVM, Taxonomy
from cladist.solvers.relations import as_relations
from tests.learners.flat_rows import TAXONOMY

DEEP = Taxonomy.from_edges([("all", name) for name in ("sport", "art", "food")] + list(TAXONOMY.edges()))
CLOSE = {"tol": 1e-5, "max_iter": 2000}
LEARNERS = {
    "hinge": (RecursiveSVM, {"loss": "hinge"}),
    "squared hinge": (RecursiveSVM, {"loss": "squared_hinge"}),
    "logistic": (RecursiveLogistic, {}),
}
every_learner = pytest.mark.parametrize(("learner", "loss"), LEARNERS.values(), ids=LEARNERS)
both = pytest.mark.parametrize("learner", [RecursiveSVM, RecursiveLogistic])
SOLVERS = [(root, solver) for root in ("zero", "fixed", "free") for solver in ("auto", "alternating")]
every_root = pytest.mark.parametrize(("root", "solver"), SOLVERS)


def for_sweeps(rows):
    """X and y with a feature of its own for every row: more features than rows, which are not solved directly."""
    X, y = rows
    return sparse.hstack([X, 0.1 * sparse.eye_array(X.shape[0])], format="csr"), y


def losses_of(model, margins):
    if isinstance(model, RecursiveLogistic):
        return np.logaddexp(0, -margins)
    return np.maximum(0, 1 - margins) ** (2 if model.loss == "squared_hinge" else 1)


def objective_of(model, X, y, weights=1.0, factor_of=None):
    """½ Σ_n ‖w_n − w_parent(n)‖² + C Σ_labels Σ_i c_i ℓ by the definition, for labels that are leaves; no intercept."""
    taxonomy, W = model.taxonomy_, model.node_coef_.toarray().astype(np.float64)
    above = np.vstack([W, np.zeros(W.shape[1])])[taxonomy.parent]
    counted = LabelMatrix.from_nodes(model.class_nodes_, taxonomy).to_indicator().toarray().any(axis=0)
    if as_relations(model.relations).root == "free":
        counted &= taxonomy.parent >= 0
    found = 0.5 * np.sum((W - above)[counted] ** 2)
    for label, w in zip(model.classes_, model.coef_, strict=True):
        positive = np.array([label in (y_i if isinstance(y_i, set) else {y_i}) for y_i in y])
        costs = weights * np.where(positive, (factor_of or {}).get(label, 1.0), 1.0)
        found += model.C * np.sum(costs * losses_of(model, np.where(positive, 1, -1) * (X @ w.astype(np.float64))))
    return found
