"""Large-margin problems over structured outputs, by listing all outputs: what the solvers are held against."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import optimize

from cladist import Taxonomy
from cladist.labels import encode


def random_forest(rng, n_nodes, n_roots=1):
    """A taxonomy whose nodes hang below random earlier ones."""
    parents = {f"n{v}": None if v < n_roots else f"n{rng.integers(v)}" for v in range(n_nodes)}
    return Taxonomy.from_parents(parents)


def random_labels(rng, taxonomy, n_rows):
    """Consistent labels, some of them empty."""
    marks = rng.random((n_rows, taxonomy.n_nodes)) < 0.6
    for v, p in enumerate(taxonomy.parent):
        if p >= 0:
            marks[:, v] &= marks[:, p]
    marks[0] = False
    return encode(marks.astype(int), taxonomy).labels


def labellings(parent, *, consistent):
    """All 0/1 vectors over nodes, or those that respect the tree."""
    found = np.array(list(itertools.product((0, 1), repeat=len(parent))))
    if consistent:
        below = parent >= 0
        found = found[np.all(found[:, below] <= found[:, parent[below]], axis=1)]
    return found


def edge_states(z, parent):
    """The state 2s + t of every node's edge; above a root all is on."""
    return 2 * np.where(parent < 0, 1, z[..., parent]) + z


def edge_features(z, parent):
    """One-hot states of all edges, flat."""
    return np.eye(4)[edge_states(np.asarray(z), parent)].reshape(*np.shape(z)[:-1], -1)


def simple_loss(y, u, parent, cost, *, hierarchical):
    """ℓ_Δ with costs, or ℓ_H̃, straight from their definitions."""
    total = 0.0
    for v, p in enumerate(parent):
        parent_right = p < 0 or y[p] == u[p]
        if y[v] != u[v] and (parent_right or not hierarchical):
            total += cost[v]
    return total


def optimum(X, differences, losses, C, *, gap=1e-8):
    """Return the optimum of min_W ½‖W‖² + C Σ_i max(0, max_r [losses − ⟨W, differences ⊗ x_i⟩]), and W.

    differences and losses are lists, one array per row: (outputs × scores) and (outputs,). Over all outputs at once, by
    moving mass between two outputs of a row, until the gap to the primal certifies it.
    """
    owner = np.repeat(np.arange(len(X)), [len(loss) for loss in losses])
    vectors = np.concatenate(
        [np.einsum("rs,d->rsd", d, x).reshape(len(d), -1) for d, x in zip(differences, X, strict=True)]
    )
    linear, gram = np.concatenate(losses), vectors @ vectors.T
    masses = np.zeros(len(linear))
    gains = linear.copy()
    for _ in range(100_000):
        slacks = np.array([max(0.0, gains[owner == i].max()) for i in range(len(X))])
        open_gaps = C * slacks - np.bincount(owner, masses * gains, len(X))
        if open_gaps.sum() <= gap:
            W = masses @ vectors
            return 0.5 * W @ W + C * slacks.sum(), W.reshape(-1, X.shape[1])
        for i in range(len(X)):
            own = np.flatnonzero(owner == i)
            best = own[gains[own].argmax()]
            used = own[masses[own] > 0]
            left = C - masses[own].sum()
            worst = used[gains[used].argmin()] if len(used) else -1
            if worst >= 0 and (left <= 0 or gains[worst] < 0):
                least, most, column = gains[worst], masses[worst], gram[best] - gram[worst]
                curve = column[best] - column[worst]
            else:
                worst, least, most, column, curve = -1, 0.0, left, gram[best], gram[best, best]
            if gains[best] < 0 and worst >= 0:  # to the true output
                best, column, curve = -1, -gram[worst], gram[worst, worst]
            slope = (gains[best] if best >= 0 else 0.0) - least
            if slope <= 0:
                continue
            step = min(most, slope / curve) if curve > 0 else most
            if best >= 0:
                masses[best] += step
            if worst >= 0:
                masses[worst] -= step
            gains -= step * column
    raise AssertionError("the reference did not converge")


def optimum_by_scipy(X, differences, losses, C):
    """Return what `optimum` returns, from the primal with one constraint per output, by sequential least squares."""
    n_rows, n_scores = len(X), differences[0].shape[1]
    vectors = np.concatenate(
        [np.einsum("rs,d->rsd", d, x).reshape(len(d), -1) for d, x in zip(differences, X, strict=True)]
    )
    owner = np.repeat(np.eye(n_rows), [len(loss) for loss in losses], axis=0)
    constraint, linear = np.hstack([vectors, owner]), np.concatenate(losses)
    n_weights = vectors.shape[1]
    found = optimize.minimize(
        lambda z: 0.5 * z[:n_weights] @ z[:n_weights] + C * z[n_weights:].sum(),
        np.concatenate([np.zeros(n_weights), [loss.max() for loss in losses]]),
        jac=lambda z: np.concatenate([z[:n_weights], np.full(n_rows, C)]),
        constraints={"type": "ineq", "fun": lambda z: constraint @ z - linear, "jac": lambda z: constraint},
        bounds=[(None, None)] * n_weights + [(0, None)] * n_rows,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert found.success, found.message
    return found.fun, found.x[:n_weights].reshape(n_scores, X.shape[1])
