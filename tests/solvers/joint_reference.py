"""Recursive regularisation on small trees by the definition: dense, float64, all nodes in one Newton system.

½ Σ_n ‖w_n − w_parent(n)‖² is ½ tr WᵀMW, M the Laplacian of the tree and what the root adds. Inner nodes are eliminated:
what is left are the leaves with R, the Schur complement of M; the smooth losses go to Newton's method, the hinge to an
interior point method.
"""

from dataclasses import dataclass

import numpy as np

from cladist.linear_model.problem_tree import ProblemTree
from cladist.solvers import members_by_class
from tests.solvers.problems import case, gains, random_rows

ROOTS = ("zero", "free", "fixed")
TREES = {
    "nine nodes": ProblemTree(np.array([-1, 0, 0, 1, 1, 2, 2, 2, 5]), np.array([8, 3, 7, 4, 6])),
    "star": ProblemTree(np.array([-1, 0, 0, 0, 0]), np.array([1, 2, 3, 4])),
    "chains": ProblemTree(np.array([-1, 0, 1, 2, 0, 4, 0, 3]), np.array([7, 5, 6])),
    "forest": ProblemTree(np.array([-1, -1, 0, 0, 1, 1, 2, 2, -1]), np.array([4, 3, 6, 5, 7])),
    "forest and a leaf that is a root": ProblemTree(np.array([-1, -1, -1, 0, 0, 1, 1]), np.array([3, 2, 4, 5, 6])),
    "nodes above no leaf": ProblemTree(np.array([-1, 0, 0, 0, 1, 1, 3, -1]), np.array([2, 4, 5])),
}


@dataclass(frozen=True)
class Optimum:
    """The lowest objective, the weights of all nodes (0 where none is in use) and α (problems × rows) there."""

    objective: float
    weights: np.ndarray
    alpha: np.ndarray


def tree_case(seed, tree, loss, C=1.0, *, n_rows=40, n_features=7, constant=False, **options):
    """A problem a leaf over dense rows, every leaf having some."""
    random = np.random.default_rng(seed)
    n_classes = len(tree.leaves)
    y = np.append(np.arange(n_classes), random.integers(0, n_classes, n_rows - n_classes))
    X = random_rows(random, n_rows, n_features, 0.7) + 0.5 * np.sin(np.outer(y + 1, np.arange(1, n_features + 1)))
    costs = options.pop("costs", np.full((2, n_classes), C))
    return case(X, members_by_class(y, n_classes), loss, costs, constant=constant, **options)


def random_tree(seed, n_nodes=None):
    """A random forest with a problem at some or all of its leaves, their order mixed."""
    random = np.random.default_rng(seed)
    n_nodes = int(random.integers(1, 16)) if n_nodes is None else n_nodes
    parent = np.array([random.integers(-1 if random.random() < 0.2 else 0, v) if v else -1 for v in range(n_nodes)])
    ends = np.setdiff1d(np.arange(n_nodes), parent)
    return ProblemTree(parent, random.permutation(ends)[: max(1, len(ends) - int(random.integers(2)))])


def regularizer(tree, root):
    """Return M over all nodes and the nodes that take part in it; fixed roots do not.

    Inner nodes are pulled 1 / sharing times as much as leaves.
    """
    M, parent = np.zeros((len(tree.parent),) * 2), tree.parent
    for n in np.flatnonzero(tree.in_use):
        is_leaf = n in tree.leaves
        pull = 1 if is_leaf else 1 / tree.sharing
        if parent[n] >= 0:
            M[n, n] += pull
            M[parent[n], parent[n]] += pull
            M[n, parent[n]] -= pull
            M[parent[n], n] -= pull
        elif root == "zero" or is_leaf:
            M[n, n] += pull
    taking_part = tree.in_use.copy()
    if root == "fixed":
        taking_part[tree.inner[parent[tree.inner] < 0]] = False
    return M, np.flatnonzero(taking_part)


def objective(problem, tree, root, weights):
    """J of the weights of all nodes (nodes × features)."""
    M, _ = regularizer(tree, root)
    value = 0.5 * np.sum(weights * (M @ weights))
    for k, leaf in enumerate(tree.leaves):
        w = weights[leaf]
        value += problem.primal(k, w) - 0.5 * (w @ w)
    return value


def joint_dual(problem, tree, root, alpha):
    """The dual at α (problems × rows) for roots "zero" and "fixed", by counting the nodes that two paths share."""
    _, counted = regularizer(tree, root)
    paths = []
    for leaf in tree.leaves.tolist():
        path, n = set(), leaf
        while n >= 0:
            path |= {n} & set(counted.tolist())
            n = int(tree.parent[n])
        paths.append(path)
    shared = tree.sharing * np.array([[len(one & other) for other in paths] for one in paths], np.float64)
    np.fill_diagonal(shared, shared.diagonal() + 1 - tree.sharing)  # the leaves themselves
    sums = np.array([problem.weights_of(k, alpha[k]) for k in problem.classes])
    gained = sum(gains(problem.problem.loss, alpha[k], problem.costs(k)).sum() for k in problem.classes)
    return gained - 0.5 * np.sum(sums * (shared @ sums))


def joint_optimum(problem, tree, root):
    """Find the optimum; for a free root one of them."""
    M, nodes = regularizer(tree, root)
    weights, alpha = quadratic_optimum(problem, M, nodes, tree.leaves)
    return Optimum(objective(problem, tree, root, weights), weights, alpha)


def quadratic_optimum(problem, M, nodes, leaves, own=None):
    """Minimise ½ tr WᵀMW and the losses over `nodes`, those of `leaves` having a problem; return W and α.

    With `own`, by node, the last feature is not in W there: it has ½ Σ own_n b_n².
    """
    inner = np.setdiff1d(nodes, leaves)
    to_leaves = -np.linalg.solve(M[np.ix_(inner, inner)], M[np.ix_(inner, leaves)])
    R = M[np.ix_(leaves, leaves)] + M[np.ix_(leaves, inner)] @ to_leaves
    n_features = problem.X.shape[1]
    last = np.zeros(n_features)
    last[-1] = own is not None
    H = np.kron(R, np.diag(1 - last))
    if own is not None:
        H += np.kron(np.diag(own[leaves]), np.diag(last))
    A = np.zeros((len(leaves) * len(problem.X), len(H)))
    for k in problem.classes:
        rows, columns = (slice(k * size, (k + 1) * size) for size in problem.X.shape)
        A[rows, columns] = problem.signs(k)[:, None] * problem.X
    costs = np.concatenate([problem.costs(k) for k in problem.classes])
    z, alpha = minimise_quadratic(H, A, costs, problem.problem.loss)
    weights = np.zeros((len(M), n_features))
    weights[leaves] = z.reshape(len(leaves), n_features)
    weights[inner] = (to_leaves @ weights[leaves]) * (1 - last)
    return weights, alpha.reshape(len(leaves), -1)


def minimise_quadratic(H, A, costs, loss):
    """Minimise ½ zᵀHz + Σ c ℓ(Az); return z and α."""
    return (_interior if loss == "hinge" else _newton)(H, A, costs, loss)


def _newton(H, A, costs, loss):
    """Minimise ½ zᵀHz + Σ c ℓ(Az); return z and α = −c ℓ'."""

    def at(z):
        margins = A @ z
        if loss == "logistic":
            wrong = 1 / (1 + np.exp(margins))
            return np.logaddexp(0, -margins), costs * wrong, costs * wrong * (1 - wrong)
        miss = 1 - margins if loss == "squared" else np.maximum(0, 1 - margins)
        return miss**2, 2 * costs * miss, 2 * costs * (miss != 0)

    def value(z):
        return 0.5 * z @ H @ z + costs @ at(z)[0]

    z = np.zeros(len(H))
    for _ in range(200):
        _, alpha, curvature = at(z)
        slope = H @ z - A.T @ alpha
        step = -np.linalg.lstsq(H + A.T @ (curvature[:, None] * A), slope, rcond=None)[0]
        length = 1.0
        while value(z + length * step) > value(z) and length > 1e-12:
            length /= 2
        z = z + length * step
        if -slope @ step < 1e-14 * value(z):
            break
    return z, at(z)[1]


def _interior(H, A, costs, loss):
    """Minimise ½ zᵀHz + Σ c max(0, 1 − Az): s = Az + ξ − 1 ≥ 0 belongs to α, ξ ≥ 0 to c − α."""
    assert loss == "hinge"
    z, alpha, xi = np.zeros(len(H)), costs / 2, np.ones(len(A))
    s = np.ones(len(A))
    for _ in range(200):
        room = costs - alpha
        centre = (alpha @ s + xi @ room) / (2 * len(A))
        if centre < 1e-13 * costs.mean():
            break
        target = 0.1 * centre
        D = 1 / (xi / room + s / alpha)
        e = target / alpha - s - target / room + xi + (s - (A @ z + xi - 1))
        system = H + A.T @ (D[:, None] * A)
        dz = np.linalg.lstsq(system, A.T @ (alpha + D * e) - H @ z, rcond=None)[0]
        d_alpha = D * (e - A @ dz)
        d_xi = (target - xi * room + xi * d_alpha) / room
        d_s = (target - alpha * s - s * d_alpha) / alpha
        pairs = (alpha, d_alpha), (room, -d_alpha), (xi, d_xi), (s, d_s)
        length = min(1.0, *(0.99 * np.min(-v[d < 0] / d[d < 0], initial=np.inf) for v, d in pairs))
        z, alpha, xi, s = z + length * dz, alpha + length * d_alpha, xi + length * d_xi, s + length * d_s
    return z, alpha
