"""Orthogonal transfer: convexity, the optimum of a general solver, constraints of siblings only, edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from cladist import OrthogonalTransfer, StructuralSVM, Taxonomy
from cladist.errors import LabelWarning, ParameterError
from cladist.solvers.structured.orthogonal import RelatedNodes, competing_siblings

TREE = Taxonomy.from_parents({"a": None, "b": None, "a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b"})
LEAVES = np.array(["a1", "a2", "a3", "b1", "b2"])


def rows(seed=0, n=30, d=3):
    random = np.random.default_rng(seed)
    y = LEAVES[np.arange(n) % 5]
    return random.normal(size=(n, d)) + 1.5 * random.normal(size=(5, d))[np.arange(n) % 5], y


def penalties(taxonomy, alpha, lam):
    """K by its definition, over nodes with siblings: α between related ones, α · related + λ on the diagonal."""
    n = taxonomy.n_nodes
    K = np.zeros((n, n))
    for u in range(n):
        for v in taxonomy.path_ids(u):
            K[u, v] = K[v, u] = alpha
    np.fill_diagonal(K, 0)
    return K + np.diag(K.sum(axis=1) + lam)


def objective(W, X, y, taxonomy, K, C):
    """½ Σ K_uv |w_u·w_v| + C/n Σ ξ by its definition; W (nodes × features)."""
    slacks = 0.0
    for x, label in zip(X, y, strict=True):
        misses = [0.0]
        for u in taxonomy.path(label):
            for v in taxonomy.siblings(u):
                if v != u:
                    misses.append(1 - (W[taxonomy.index(u)] - W[taxonomy.index(v)]) @ x)
        slacks += max(misses)
    return 0.5 * np.sum(K * np.abs(W @ W.T)) + C / len(X) * slacks


def fitted(C, X, y, tol=1e-7, **options):
    return OrthogonalTransfer(TREE, C=C, tol=tol, fit_intercept=False, max_iter=20_000, **options).fit(X, y)


@pytest.mark.parametrize("C", [1.0, 30.0, 1000.0])
def test_the_optimum_of_a_general_solver(C):
    X, y = rows()
    K = penalties(TREE, 1.0, 1.0)
    model = fitted(C, X, y)
    W = np.asarray(model.node_coef_)
    assert model.objective_ == pytest.approx(objective(W, X, y, TREE, K, C), rel=1e-9)
    # Slacks as variables, and |w_u·w_v| smoothed by so little that the optimum moves by less than the tolerance below.
    n_weights, pairs = W.size, [(i, u, v) for i in range(len(X)) for u in TREE.path(y[i]) for v in TREE.siblings(u)]
    G = np.zeros((len(pairs), n_weights + len(X)))
    for row, (i, u, v) in zip(G, pairs, strict=True):
        shaped = row[:n_weights].reshape(W.shape)
        shaped[TREE.index(u)] += X[i]
        shaped[TREE.index(v)] -= X[i]
        row[n_weights + i] = 1.0
    kept = [k for k, (_, u, v) in enumerate(pairs) if u != v]
    G = G[kept]

    def smooth(z):
        V = z[:n_weights].reshape(W.shape)
        products = V @ V.T
        sizes = np.sqrt(products**2 + 1e-12)
        value = 0.5 * np.sum(K * sizes) + C / len(X) * z[n_weights:].sum()
        return value, np.concatenate([(K * products / sizes @ V).ravel(), np.full(len(X), C / len(X))])

    constraint = {"type": "ineq", "fun": lambda z: G @ z - 1, "jac": lambda z: G}
    bounds = [(None, None)] * n_weights + [(0, None)] * len(X)
    start = np.concatenate([np.full(n_weights, 0.01), np.ones(len(X))])
    options = {"maxiter": 2000, "ftol": 1e-12}
    best = minimize(smooth, start, jac=True, method="SLSQP", bounds=bounds, constraints=constraint, options=options)
    general = objective(best.x[:n_weights].reshape(W.shape), X, y, TREE, K, C)
    assert model.objective_ <= general * (1 + 1e-6)
    assert model.dual_objective_ <= general * (1 + 1e-9), "the dual bounds every point from below"
    assert model.objective_ == pytest.approx(general, rel=1e-3)


def test_the_objective_falls_and_the_gap_closes():
    X, y = rows(1, 60, 6)
    model = fitted(1000.0, X, y, tol=1e-6)
    objectives = [entry["objective"] for entry in model.history_]
    assert len(objectives) > 3
    assert np.all(np.diff(objectives) <= 0)
    duals = np.array([entry["dual"] for entry in model.history_])
    assert np.all(np.diff(duals) >= -1e-9 * duals[-1])
    assert 0 <= model.gap_ <= 1e-6


@given(st.lists(st.integers(-1, 20), min_size=1, max_size=20), st.floats(0.01, 10), st.booleans())
def test_the_default_penalties_are_convex(parents, alpha, spectral):
    parent = np.array([min(p, v - 1) for v, p in enumerate(parents)])
    forest = RelatedNodes(parent)
    limit = forest.convex_diagonal(alpha, spectral=spectral)
    eigenvalues = np.linalg.eigvalsh(forest.comparison(alpha, limit))
    assert eigenvalues[0] >= -1e-9 * (1 + alpha * len(parent))
    if spectral and len(forest.nodes):
        assert eigenvalues[0] == pytest.approx(0, abs=1e-9 * (1 + alpha * len(parent))), "and no larger than needed"


def test_the_penalty_is_convex_only_from_the_limit_on():
    """Midpoints of random pairs of weights, at the limit and at a fifth of it."""
    random, forest = np.random.default_rng(0), RelatedNodes(np.array([-1, 0, 0, 1, 1, 2]))
    limit = forest.convex_diagonal(1.0, spectral=True)
    relations = forest.comparison(-1.0, np.zeros(6))

    def violations(diagonal):
        K, count = relations + np.diag(diagonal), 0
        for _ in range(2000):
            V, W = random.normal(size=(2, 6, 2))
            middle, ends = (0.5 * np.sum(K * np.abs(U @ U.T)) for U in ((V + W) / 2, V)), W
            at_middle, at_first = middle
            count += at_middle > (at_first + 0.5 * np.sum(K * np.abs(ends @ ends.T))) / 2 + 1e-12
        return count

    assert violations(limit) == 0
    assert violations(0.2 * limit) > 0


def test_a_K_that_is_not_convex_is_refused():
    X, y = rows()
    K = penalties(TREE, 1.0, 1.0)
    given = fitted(30.0, X, y, K=K)
    assert given.objective_ == pytest.approx(fitted(30.0, X, y).objective_, rel=1e-6)
    with pytest.raises(ParameterError, match=r"not strictly convex.*eigenvalue of -"):
        fitted(30.0, X, y, K=K - np.diag(0.7 * np.diag(K)))
    for broken in (K[:2], K + np.triu(np.ones(K.shape), 1), np.where(K == 0, 1.0, K), -K):
        with pytest.raises(ParameterError, match="K must be 'dominant'"):
            fitted(30.0, X, y, K=broken)
    for parameter, value in {"lam": 0, "alpha": -1, "K": "other", "C": 0, "tol": 0, "decode": "multi"}.items():
        with pytest.raises(ParameterError, match=parameter):
            OrthogonalTransfer(TREE, **{parameter: value}).fit(X, y)


def test_only_siblings_compete():
    parent, labels = TREE.parent, np.sort([TREE.index(name) for name in LEAVES])
    weighted, forest, begin, own, rival = competing_siblings(parent, np.arange(len(parent)), labels)
    assert weighted.tolist() == list(range(7))
    for k, label in enumerate(labels):
        pairs = {(TREE.names[own[r]], TREE.names[rival[r]]) for r in range(begin[k], begin[k + 1])}
        name = TREE.names[label]
        assert pairs == {(u, v) for u in TREE.path(name) for v in TREE.siblings(u) if v != u}
    assert forest.n_related.tolist() == [3, 2, *[1] * 5]


def test_rows_reach_only_their_path_and_the_siblings_of_it():
    """Rows below a have the first three features, those below b the others."""
    X, y = rows()
    below_a = np.char.startswith(y, "a")[:, None]
    apart = np.hstack([X * below_a, X * ~below_a])
    W = fitted(30.0, apart, y, tol=1e-4, alpha=0.0).node_coef_
    for name in LEAVES:
        own, other = (W[TREE.index(name), :3], W[TREE.index(name), 3:])[:: 1 if name[0] == "a" else -1]
        assert own.any()
        assert not other.any()
    assert np.all(W[TREE.index("a")] != 0)


def test_related_weights_become_orthogonal():
    X, y = rows(2, 100, 8)
    angles = []
    for alpha in (0.0, 3.0):
        W = fitted(300.0, X, y, tol=1e-4, alpha=alpha, lam=1.0).node_coef_
        lengths = np.linalg.norm(W, axis=1)
        pairs = [(TREE.index(u), TREE.index(TREE.path(u)[0])) for u in LEAVES]
        angles.append(np.mean([abs(W[u] @ W[v]) / (lengths[u] * lengths[v]) for u, v in pairs]))
    assert angles[1] < 0.5 * angles[0]


def test_a_star_is_the_svm_of_crammer_and_singer():
    X, y = rows(3)
    star = OrthogonalTransfer(C=30.0 * 1.0, tol=1e-7, fit_intercept=False, max_iter=20_000).fit(X, y)
    svm = StructuralSVM(C=30.0 / len(X), loss="zero_one", tol=1e-7, max_iter=20_000).fit(X, y)
    assert star.objective_ == pytest.approx(svm.objective_, rel=1e-6)
    np.testing.assert_allclose(star.node_coef_, svm.node_coef_, atol=1e-2)


def test_nodes_without_siblings_have_no_weights():
    chains = Taxonomy.from_paths(["r/a/a1", "r/b/b1"])
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]] * 5), ["a1", "b1"] * 5
    model = OrthogonalTransfer(chains).fit(X, y)
    assert model.predict(X).tolist() == y
    for name in ("r", "a1", "b1"):
        assert not model.node_coef_[chains.index(name)].any()
    alone = OrthogonalTransfer(Taxonomy.from_paths(["r/a"])).fit(X, ["a"] * 10)
    assert set(alone.predict(X)) == {"a"}
    assert alone.converged_


def test_labels_above_others_are_trained_on_but_not_predicted():
    X, y = rows()
    labels = np.where(np.arange(len(y)) % 7 == 0, [name[0] for name in y], y)
    with pytest.warns(LabelWarning, match="can never predict 2 of the"):
        model = OrthogonalTransfer(TREE).fit(X, labels)
    assert set(model.classes_) == set(LEAVES)
    assert set(model.predict(X)) <= set(LEAVES)


def test_scores_are_regrets_and_the_path_predicted_has_none():
    X, y = rows()
    model = OrthogonalTransfer(TREE).fit(X, y)
    scores = model.decision_function(X)
    assert np.all(scores.max(axis=1) == 0)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    assert model.coef_.shape == (5, 3)
    assert model.intercept_.shape == (5,)
