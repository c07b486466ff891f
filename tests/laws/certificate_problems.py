"""Small problems whose optima are known to many digits, and the learners that certify how near to them they come."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from cladist import FlatLogistic, FlatSVM, NodewiseSVM, RecursiveLogistic, RecursiveSVM, Relations, Taxonomy, TopDown
from cladist.linear_model.problem_tree import ProblemTree
from tests.solvers.joint_reference import minimise_quadratic, regularizer

TREE = Taxonomy.from_parents(
    {"r": None, "a": "r", "b": "r", "c": "r", "a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "b3": "b"}
)
LABELS = np.array(["a1", "a2", "a3", "b1", "b2", "b3", "c"])
RELATIONS = [("a1", "a2"), ("a2", "a3"), ("b1", "b2"), ("b2", "b3"), ("a3", "c")]
RIDGE = 0.5
COSTS = (1e-6, 1e-2, 1.0, 1e2, 1e4)
TOLERANCES = (1e-2, 1e-4, 1e-6)
LOSSES = ("hinge", "squared_hinge", "logistic")


@cache
def rows_of(shape):
    """Rows and their labels' numbers: more features than rows, or few features, which other solvers take."""
    random, n_rows, n_features = np.random.default_rng(3), 35, 45 if shape == "wide" else 6
    y = np.arange(n_rows) % len(LABELS)
    kept = random.random((n_rows, n_features)) < (0.25 if shape == "wide" else 0.9)
    X = (random.normal(size=(n_rows, n_features)) + 0.8 * random.normal(size=(len(LABELS), n_features))[y]) * kept
    return X.astype(np.float32).astype(np.float64), y


def leaf_matrix(M, nodes, leaves):
    """Return the quadratic form over leaves that is left when all other nodes are the best given them."""
    inner = np.setdiff1d(nodes, leaves)
    above = np.linalg.solve(M[np.ix_(inner, inner)], M[np.ix_(inner, leaves)])
    return M[np.ix_(leaves, leaves)] - M[np.ix_(leaves, inner)] @ above


@cache
def quadratic_form(regularizer_name):
    """Return R: the labels' weights W cost ½ tr WᵀRW."""
    n = len(LABELS)
    if regularizer_name == "flat":
        return np.eye(n)
    if regularizer_name == "graph":
        R = RIDGE * np.eye(n)
        for u, v in ((LABELS.tolist().index(a), LABELS.tolist().index(b)) for a, b in RELATIONS):
            R[[u, v], [u, v]] += 1
            R[[u, v], [v, u]] -= 1
        return R
    leaves = np.array([TREE.index(name) for name in LABELS])
    return leaf_matrix(*regularizer(ProblemTree(TREE.parent.astype(np.int64), leaves), regularizer_name), leaves)


def losses_of(loss, margins):
    miss = np.maximum(0, 1 - margins)
    return {"hinge": miss, "squared_hinge": miss**2, "logistic": np.logaddexp(0, -margins)}[loss]


def loss_at(loss, C, shape, W):
    """C Σ_labels Σ_i ℓ by the definition, in float64."""
    X, y = rows_of(shape)
    margins = np.where(y[:, None] == np.arange(len(LABELS)), 1, -1) * (X @ W.T)
    return C * np.sum(losses_of(loss, margins))


def objective(regularizer_name, loss, C, shape, W):
    """½ tr WᵀRW + C Σ_labels Σ_i ℓ by the definition, in float64."""
    return 0.5 * np.sum(W * (quadratic_form(regularizer_name) @ W)) + loss_at(loss, C, shape, W)


@cache
def optimum(regularizer_name, loss, C, shape):
    """The lowest objective, to about ten digits."""
    X, y = rows_of(shape)
    n, d = X.shape
    A = np.zeros((len(LABELS) * n, len(LABELS) * d))
    for k in range(len(LABELS)):
        A[k * n : (k + 1) * n, k * d : (k + 1) * d] = np.where(y == k, 1, -1)[:, None] * X
    H = np.kron(quadratic_form(regularizer_name), np.eye(d))
    z, _ = minimise_quadratic(H, A, np.full(len(A), C), loss)
    return objective(regularizer_name, loss, C, shape, z.reshape(len(LABELS), d))


@dataclass(frozen=True)
class Certified:
    """A learner with options, the problem that it solves, and its shape of rows."""

    learner: type
    regularizer: str
    loss: str
    shape: str
    options: dict = field(default_factory=dict)

    def __str__(self):
        relations = self.options.get("relations")
        options = [] if relations is None else [relations.schedule if relations.graph is not None else relations.root]
        said = "-".join([*options, *(str(value) for key, value in self.options.items() if key != "relations")])
        return f"{self.learner.__name__}-{self.loss}-{said}-{self.shape}"

    @property
    def max_iter(self):
        """Sweeps: block descent takes long ones on few features, where it is not meant to be used."""
        slow = self.shape == "narrow" and (self.regularizer == "graph" or self.options.get("solver") == "alternating")
        return 10 if slow else 60

    def build(self, C, tol, **more):
        options = {"loss": self.loss} if "loss" in self.learner._get_param_names() else {}
        taxonomy = dict.fromkeys(LABELS) if self.regularizer == "graph" else TREE
        return self.learner(taxonomy, C=C, tol=tol, fit_intercept=False, **options, **self.options, **more)


def forms_of(loss):
    return ("dense", "sparse") if loss == "logistic" else ("dense", "sparse", "dual")


def linear_learners():
    for loss in LOSSES:
        flat, recursive = (FlatLogistic, RecursiveLogistic) if loss == "logistic" else (FlatSVM, RecursiveSVM)
        for shape in ("wide", "narrow"):
            for form in forms_of(loss):
                yield Certified(flat, "flat", loss, shape, {"weights": form})
            for root in ("zero", "fixed", "free"):
                for form in (*forms_of(loss), "differences"):
                    yield Certified(recursive, root, loss, shape, {"relations": Relations(root=root), "weights": form})
                alternating = {"relations": Relations(root=root), "solver": "alternating"}
                yield Certified(recursive, root, loss, shape, alternating)
            for schedule in ("coloured", "jacobi", "joint"):
                relations = Relations(RELATIONS, ridge=RIDGE, schedule=schedule, intercept="pulled")
                yield Certified(recursive, "graph", loss, shape, {"relations": relations})


def local_learners():
    for loss in ("hinge", "squared_hinge"):
        for shape in ("wide", "narrow"):
            for learner in (NodewiseSVM, TopDown):
                yield Certified(learner, "local", loss, shape)
